// SPDX-License-Identifier: MIT
// The call tracer: one line a call, `name(arguments) = RESULT (what was written) duration`,
// indented by how deep calls nest on their thread.
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "driver/export.h"

static _Thread_local unsigned depth;

// A line under construction; what does not fit is cut.
struct line {
    char text[2048];
    size_t len;
};

__attribute__((format(printf, 2, 3))) static void
put(struct line *l, const char *fmt, ...)
{
    size_t room = sizeof l->text - l->len;
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(l->text + l->len, room, fmt, ap);
    va_end(ap);
    if (n > 0)
        l->len += (size_t)n < room ? (size_t)n : room - 1;
}

enum { TEXT_SHOWN = 200 }; // bytes of a string that are shown

static void
put_text(struct line *l, const char *s)
{
    if (!s) {
        put(l, "NULL");
        return;
    }
    put(l, "\"");
    for (unsigned i = 0; s[i]; i++) {
        if (i == TEXT_SHOWN) {
            put(l, "\"...");
            return;
        }
        unsigned char c = (unsigned char)s[i];
        if (c == '\n')
            put(l, "\\n");
        else if (c == '"' || c == '\\')
            put(l, "\\%c", c);
        else
            put(l, c < ' ' || c == 127 ? "\\x%02x" : "%c", c);
    }
    put(l, "\"");
}

static void
put_pointer(struct line *l, const void *p)
{
    if (p)
        put(l, "0x%llx", (unsigned long long)(uintptr_t)p);
    else
        put(l, "NULL");
}

static void
put_enum(struct line *l, const struct enum_info *e, int value)
{
    const char *name = enum_find(e, value);
    if (name)
        put(l, "%s", name);
    else
        put(l, "%s %d", e->type, value);
}

static void
put_uuid(struct line *l, const void *p)
{
    const unsigned char *b = p;
    for (int i = 0; i < 16; i++)
        put(l, "%s%02x", i == 4 || i == 6 || i == 8 || i == 10 ? "-" : "", b[i]);
}

// Reads any alignment.
#define READ(type, p) (*(const struct { type v; } __attribute__((packed)) *)(p)).v

static unsigned long long
read_unsigned(uint8_t type, const void *p)
{
    switch (type) {
    case TRACE_U8:
        return READ(uint8_t, p);
    case TRACE_U16:
        return READ(uint16_t, p);
    case TRACE_I32:
    case TRACE_U32:
    case TRACE_ENUM:
    case TRACE_ADDRESS32:
    case TRACE_F32:
        return READ(uint32_t, p);
    default:
        return READ(uint64_t, p);
    }
}

// The value at p, of the parameter's type.
static void
put_value(struct line *l, const struct trace_param *param, const void *p)
{
    unsigned long long u = param->type == TRACE_UUID ? 0 : read_unsigned(param->type, p);
    switch (param->type) {
    case TRACE_I32:
        put(l, param->role == ROLE_FLAGS ? "0x%x" : "%d", (int)u);
        break;
    case TRACE_F32:
        put(l, "%g", (double)READ(float, p));
        break;
    case TRACE_ADDRESS:
    case TRACE_ADDRESS32:
        put(l, "0x%llx", u);
        break;
    case TRACE_POINTER:
        put_pointer(l, READ(void *, p));
        break;
    case TRACE_STRING:
        put_text(l, READ(const char *, p));
        break;
    case TRACE_ENUM:
        put_enum(l, param->names, (int)u);
        break;
    case TRACE_UUID:
        put_uuid(l, p);
        break;
    default:
        put(l, param->role == ROLE_FLAGS ? "0x%llx" : "%llu", u);
    }
}

static void
put_argument(struct line *l, const struct trace *t, unsigned i)
{
    const struct trace_param *param = &t->call->params[i];
    const void *p = t->values[i];
    put(l, "%s%s=", i ? ", " : "", param->name);
    switch (param->role) {
    case ROLE_VAL:
    case ROLE_FLAGS:
    case ROLE_STR:
        put_value(l, param, p);
        break;
    case ROLE_STRUCT:
        put(l, "{...}");
        break;
    case ROLE_INOUT:
        put_pointer(l, READ(void *, p));
        if (READ(void *, p)) {
            put(l, "[");
            put_value(l, param, &t->before);
            put(l, "]");
        }
        break;
    default:
        put_pointer(l, READ(void *, p));
    }
}

static bool
written(const struct trace_param *param)
{
    return param->role == ROLE_OUT || param->role == ROLE_INOUT || param->role == ROLE_BUF;
}

// What a successful call wrote: ` (*dptr=0x..., *bytes=64)`.
static void
put_results(struct line *l, const struct trace *t)
{
    unsigned shown = 0;
    for (unsigned i = 0; i < t->call->count; i++) {
        const struct trace_param *param = &t->call->params[i];
        const void *target = written(param) ? READ(void *, t->values[i]) : NULL;
        if (!target)
            continue;
        put(l, "%s*%s=", shown++ ? ", " : " (", param->name);
        if (param->role == ROLE_BUF)
            put_text(l, target);
        else
            put_value(l, param, target);
    }
    if (shown)
        put(l, ")");
}

static uint64_t
now(void)
{
    struct timespec ts;
    clock_gettime(CLOCK_MONOTONIC, &ts);
    return (uint64_t)ts.tv_sec * 1000000000u + (uint64_t)ts.tv_nsec;
}

// Calls before cuInit are traced too.
__attribute__((constructor)) static void
loaded(void)
{
    log_init();
}

void
trace_begin(struct trace *t, const struct trace_call *call, const void *const *values)
{
    *t = (struct trace){.call = call, .values = values};
    for (unsigned i = 0; i < call->count; i++) {
        const void *target = call->params[i].role == ROLE_INOUT ? READ(void *, values[i]) : NULL;
        if (target)
            t->before = read_unsigned(call->params[i].type, target);
    }
    depth++;
    t->start = now();
}

CUresult
trace_end(struct trace *t, CUresult result)
{
    uint64_t ns = now() - t->start;
    struct line l = {.len = 0};
    depth--;
    put(&l, "%*s%s(", (int)(2 * depth), "", t->call->name);
    for (unsigned i = 0; i < t->call->count; i++)
        put_argument(&l, t, i);
    put(&l, ") = %s", error_name(result));
    if (result == CUDA_SUCCESS)
        put_results(&l, t);
    log_write(LOG_API, "%s %.1f us", l.text, (double)ns / 1000);
    return result;
}
