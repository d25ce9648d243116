// SPDX-License-Identifier: MIT
// printf and assert of kernels. A call's text is made in the worker's scratch memory and appended
// as a whole to the scope's buffer, which goes to stdout at synchronisation, or earlier when it is
// full.
//
// Arguments lie packed in memory, each aligned to its size, promoted as C promotes them: 4 bytes
// for int and smaller, 8 for long, double and pointers.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct printf_buffer {
    pthread_mutex_t lock;
    size_t used, size;
    char text[];
};

// ---- the scope's buffer
// ------------------------------------------------------------------------------------------
static struct printf_buffer *
scope_buffer(struct backend_scope *s)
{
    enum { LEAST = 4096 };
    pthread_mutex_lock(&s->lock);
    if (!s->out) {
        size_t size = atomic_load(&s->printf_limit);
        size = size < LEAST ? LEAST : size;
        s->out = malloc(sizeof *s->out + size);
        if (s->out) {
            pthread_mutex_init(&s->out->lock, NULL);
            s->out->used = 0;
            s->out->size = size;
        }
    }
    struct printf_buffer *p = s->out;
    pthread_mutex_unlock(&s->lock);
    return p;
}

static void
show(const char *text, size_t n)
{
    fwrite(text, 1, n, stdout);
    fflush(stdout);
}

static void
append(struct printf_buffer *p, const char *text, size_t n)
{
    pthread_mutex_lock(&p->lock);
    if (n > p->size - p->used) {
        show(p->text, p->used);
        p->used = 0;
    }
    if (n > p->size) {
        show(text, n);
    } else {
        memcpy(p->text + p->used, text, n);
        p->used += n;
    }
    pthread_mutex_unlock(&p->lock);
}

void
cpu_flush_printf(struct backend_scope *s)
{
    pthread_mutex_lock(&s->lock);
    struct printf_buffer *p = s->out;
    pthread_mutex_unlock(&s->lock);
    if (!p)
        return;
    pthread_mutex_lock(&p->lock);
    if (p->used)
        show(p->text, p->used);
    p->used = 0;
    pthread_mutex_unlock(&p->lock);
}

void
printf_free(struct printf_buffer *p)
{
    if (!p)
        return;
    if (p->used)
        show(p->text, p->used);
    pthread_mutex_destroy(&p->lock);
    free(p);
}

// ---- formatting
// -----------------------------------------------------------------------------------------------------
struct out {
    struct worker *w;
    size_t n;
};

static bool
reserve(struct out *o, size_t more)
{
    if (o->n + more <= o->w->scratch_size)
        return true;
    size_t size = (o->n + more) * 2 + 1024;
    char *p = realloc(o->w->scratch, size);
    if (!p)
        return false;
    o->w->scratch = p;
    o->w->scratch_size = size;
    return true;
}

static void
put(struct out *o, const char *text, size_t n)
{
    if (!reserve(o, n))
        return;
    memcpy(o->w->scratch + o->n, text, n);
    o->n += n;
}

static void
put_format(struct out *o, const char *fmt, ...)
{
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    if (n > 0 && reserve(o, (size_t)n + 1)) {
        vsnprintf(o->w->scratch + o->n, (size_t)n + 1, fmt, again);
        o->n += (size_t)n;
    }
    va_end(again);
    va_end(ap);
}

struct spec {
    char text[48]; // "%-08.3ll" as given, without the conversion
    size_t n;
    int stars, star[2]; // * for width and precision
    bool wide;          // l, ll, j, z, t: 8 bytes
    char conversion;
};

static const char *
next_arg(const char **args, size_t size)
{
    uintptr_t a = ((uintptr_t)*args + size - 1) & ~(uintptr_t)(size - 1);
    *args = (const char *)a + size;
    return (const char *)a;
}

static int32_t
next_int(const char **args)
{
    int32_t v;
    memcpy(&v, next_arg(args, 4), sizeof v);
    return v;
}

static uint64_t
next_wide(const char **args)
{
    uint64_t v;
    memcpy(&v, next_arg(args, 8), sizeof v);
    return v;
}

// Reads a conversion after its %; returns what follows it, or NULL if it is none.
static const char *
read_spec(const char *f, struct spec *s, const char **args)
{
    *s = (struct spec){.text = "%", .n = 1};
    for (; *f && strchr("-+ #0123456789.*hljztL", *f); f++) {
        if (s->n + 8 > sizeof s->text)
            return NULL;
        if (*f == '*') {
            if (s->stars == 2)
                return NULL;
            s->star[s->stars++] = next_int(args);
        }
        s->wide |= *f == 'l' || *f == 'j' || *f == 'z' || *f == 't';
        if (!strchr("ljztL", *f)) // sizes are ours to choose; h and hh cut the value and stay
            s->text[s->n++] = *f;
    }
    s->conversion = *f;
    return *f ? f + 1 : NULL;
}

#define PUT_STARS(value)                                                                           \
    (s->stars == 0   ? put_format(o, s->text, value)                                               \
     : s->stars == 1 ? put_format(o, s->text, s->star[0], value)                                   \
                     : put_format(o, s->text, s->star[0], s->star[1], value))

static void
end_spec(struct spec *s, const char *length)
{
    snprintf(s->text + s->n, sizeof s->text - s->n, "%s%c", length, s->conversion);
}

#pragma GCC diagnostic ignored "-Wformat-nonliteral"
static bool
put_conversion(struct out *o, struct spec *s, const char **args)
{
    switch (s->conversion) {
    case 'd':
    case 'i':
    case 'u':
    case 'x':
    case 'X':
    case 'o':
        end_spec(s, s->wide ? "ll" : "");
        if (s->wide)
            PUT_STARS((unsigned long long)next_wide(args));
        else
            PUT_STARS((unsigned)next_int(args));
        return true;
    case 'c':
        end_spec(s, "");
        PUT_STARS(next_int(args));
        return true;
    case 'p':
        end_spec(s, "");
        PUT_STARS((void *)(uintptr_t)next_wide(args));
        return true;
    case 's': {
        const char *text = (const char *)(uintptr_t)next_wide(args);
        end_spec(s, "");
        PUT_STARS(text ? text : "(null)");
        return true;
    }
    case 'f':
    case 'F':
    case 'e':
    case 'E':
    case 'g':
    case 'G':
    case 'a':
    case 'A': {
        uint64_t bits = next_wide(args);
        double d;
        memcpy(&d, &bits, sizeof d);
        end_spec(s, "");
        PUT_STARS(d);
        return true;
    }
    }
    return false;
}

// Returns the number of arguments shown.
static int
format(struct out *o, const char *f, const char *args)
{
    int shown = 0;
    while (*f) {
        size_t plain = strcspn(f, "%");
        put(o, f, plain);
        f += plain;
        if (!*f)
            break;
        if (f[1] == '%') {
            put(o, "%", 1);
            f += 2;
            continue;
        }
        struct spec s;
        const char *after = read_spec(f + 1, &s, &args);
        if (after && put_conversion(o, &s, &args)) {
            shown++;
            f = after;
        } else { // not a conversion: shown as it is
            put(o, f++, 1);
        }
    }
    return shown;
}

int32_t
rt_vprintf(struct thread *t, uint64_t fmt, uint64_t args)
{
    struct worker *w = thread_cta(t)->worker;
    struct printf_buffer *p = scope_buffer(thread_launch(t)->scope);
    struct out o = {.w = w};
    if (!fmt || !p)
        return -1;
    // The C library's code reads the program's strings; a fault in here abandons the block. No lock
    // is held.
    w->user_access = true;
    int n = format(&o, (const char *)(uintptr_t)fmt, (const char *)(uintptr_t)args);
    w->user_access = false;
    append(p, w->scratch, o.n);
    return n;
}

void
rt_assertfail(struct thread *t, uint64_t message, uint64_t file, uint32_t line, uint64_t function,
              uint64_t charsize)
{
    struct cta *c = thread_cta(t);
    struct out o = {.w = c->worker};
    (void)charsize;
    c->worker->user_access = true;
    put_format(&o, "%s:%u: %s: block: [%u,%u,%u], thread: [%u,%u,%u] Assertion `%s` failed.\n",
               file ? (const char *)(uintptr_t)file : "?", line,
               function ? (const char *)(uintptr_t)function : "?", c->b.ctaid[0], c->b.ctaid[1],
               c->b.ctaid[2], t->tid[0], t->tid[1], t->tid[2],
               message ? (const char *)(uintptr_t)message : "?");
    c->worker->user_access = false;
    cpu_flush_printf(thread_launch(t)->scope);
    fwrite(c->worker->scratch, 1, o.n, stderr);
    thread_stop(t, BE_ASSERT);
}

void
rt_stop(struct thread *t, uint32_t why)
{
    static const struct {
        const char *text;
        int error;
    } table[] = {
        [RT_TRAP] = {"trap", BE_LAUNCH_FAILED},
        [RT_BRKPT] = {"breakpoint without a debugger", BE_LAUNCH_FAILED},
        [RT_BAD_CALL] = {"indirect call of what is no function", BE_ILLEGAL_INSTRUCTION},
    };
    report_stop(t, table[why].text, __builtin_return_address(0));
    thread_stop(t, table[why].error);
}
