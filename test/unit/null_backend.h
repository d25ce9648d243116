// SPDX-License-Identifier: MIT
// A backend without a device, for tests of the driver's objects: one thread, queues run as commands
// are submitted, or, while null_hold is set, when null_run is called. Launches only count. Also the
// little of a driver around the objects: one device, one current context.
#ifndef TEST_UNIT_NULL_BACKEND_H
#define TEST_UNIT_NULL_BACKEND_H

#include "driver/driver.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

struct backend_scope {
    int error;
};

struct backend_queue {
    struct command *head, **tail;
    bool running;
};

static struct backend_queue *null_queues[64];
static int null_nqueues;
static bool null_hold; // queues stand still
static int null_launches;
static uint32_t null_grid[256]; // grid.x of each launch, in order
static size_t null_allocated;   // bytes
static size_t null_limit = SIZE_MAX;
static int null_waits; // CMD_WAIT commands submitted

static void
null_fill(const struct command *c)
{
    for (size_t y = 0; y < c->fill.height; y++)
        for (size_t x = 0; x < c->fill.width; x++)
            memcpy(c->fill.dst + y * c->fill.pitch + x * c->fill.element, &c->fill.pattern,
                   c->fill.element);
}

static void
null_copy(const struct command *c)
{
    for (size_t z = 0; z < c->copy.depth; z++)
        for (size_t y = 0; y < c->copy.height; y++)
            memmove(c->copy.dst + z * c->copy.dst_slice + y * c->copy.dst_pitch,
                    c->copy.src + z * c->copy.src_slice + y * c->copy.src_pitch, c->copy.width);
}

// False: the command cannot go on yet.
static bool
null_execute(struct command *c)
{
    switch (c->kind) {
    case CMD_LAUNCH:
        null_grid[null_launches++ % 256] = c->launch.grid[0];
        return true;
    case CMD_COPY:
        null_copy(c);
        return true;
    case CMD_FILL:
        null_fill(c);
        return true;
    case CMD_HOST:
        c->host.fn(c->host.user);
        return true;
    case CMD_SIGNAL:
        signal_complete(c->signal, 0);
        return true;
    case CMD_WAIT:
        return signal_done(c->signal);
    case CMD_VALUE_WAIT:
        return *(uint32_t *)c->value.addr == (uint32_t)c->value.value;
    case CMD_VALUE_WRITE:
        memcpy(c->value.addr, &c->value.value, c->value.bytes);
        return true;
    case CMD_EXPAND: // null_step puts what it gives in its place
        return true;
    }
    return true;
}

static bool
null_step(struct backend_queue *q)
{
    struct command *c = q->head;
    if (!c || q->running)
        return false;
    q->running = true;
    bool done = null_execute(c);
    q->running = false;
    if (!done)
        return false;
    struct command *more = c->kind == CMD_EXPAND ? c->expand.fn(c->expand.user) : NULL, **at = &more;
    while (*at)
        at = &(*at)->next;
    *at = c->next;
    q->head = more;
    for (q->tail = &q->head; *q->tail;)
        q->tail = &(*q->tail)->next;
    command_free(c);
    return true;
}

// Runs all queues as far as they get.
static void
null_run(void)
{
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < null_nqueues; i++)
            while (null_queues[i] && null_step(null_queues[i]))
                any = true;
    }
}

static struct backend_queue *
null_queue_new(struct backend_scope *s, int priority)
{
    (void)s, (void)priority;
    struct backend_queue *q = calloc(1, sizeof *q);
    q->tail = &q->head;
    null_queues[null_nqueues++] = q;
    return q;
}

static void
null_queue_free(struct backend_queue *q)
{
    null_run();
    for (int i = 0; i < null_nqueues; i++)
        if (null_queues[i] == q)
            null_queues[i] = null_queues[--null_nqueues];
    free(q);
}

static void
null_submit(struct backend_queue *q, struct command *c)
{
    null_waits += c->kind == CMD_WAIT;
    c->next = NULL;
    *q->tail = c;
    q->tail = &c->next;
    if (!null_hold)
        null_run();
}

static bool
null_idle(struct backend_queue *q)
{
    return !q->head;
}

static int
null_scope_error(struct backend_scope *s)
{
    return s->error;
}

static int
null_alloc(struct backend_scope *s, enum backend_memory kind, size_t size, void **out)
{
    (void)s, (void)kind;
    if (size > null_limit || null_allocated > null_limit - size)
        return BE_OUT_OF_MEMORY;
    *out = aligned_alloc(512, (size + 511) / 512 * 512);
    if (!*out)
        return BE_OUT_OF_MEMORY;
    null_allocated += size;
    return BE_OK;
}

static void
null_free(struct backend_scope *s, enum backend_memory kind, void *p, size_t size)
{
    (void)s, (void)kind;
    null_allocated -= size;
    free(p);
}

static void
null_mem_info(struct backend_device *d, size_t *free_bytes, size_t *total)
{
    (void)d;
    *total = 1 << 30;
    *free_bytes = *total - null_allocated;
}

static const struct backend null_backend = {
    .name = "null",
    .queue_new = null_queue_new,
    .queue_free = null_queue_free,
    .submit = null_submit,
    .queue_idle = null_idle,
    .scope_error = null_scope_error,
    .alloc = null_alloc,
    .free = null_free,
    .mem_info = null_mem_info,
};

// ---- the driver around ----------------------------------------------------
static struct backend_props null_props = {.name = "null", .integrated = false};
static struct backend_scope null_scope;
static struct context *null_context;
struct process process;
_Thread_local struct tls tls;
uint32_t log_mask_;

void
log_write(enum log_channel c, const char *fmt, ...)
{
    (void)c, (void)fmt;
}

CUresult
fail_(CUresult code, const char *func, const char *fmt, ...)
{
    if (getenv("TEST_VERBOSE")) {
        va_list ap;
        va_start(ap, fmt);
        fprintf(stderr, "%s: ", func);
        vfprintf(stderr, fmt, ap);
        fprintf(stderr, " (%d)\n", (int)code);
        va_end(ap);
    }
    return code;
}

struct device *
device_get(CUdevice d)
{
    return d == 0 ? &process.device[0] : NULL;
}

struct context *
ctx_current(void)
{
    return null_context;
}

CUresult
ctx_need(struct context **out)
{
    *out = null_context;
    return null_context ? (CUresult)null_scope.error : CUDA_ERROR_INVALID_CONTEXT;
}

CUgreenCtx
green_of(const struct context *c)
{
    (void)c;
    return NULL;
}

void
ctx_ref(struct context *c)
{
    (void)c;
}

void
ctx_unref(struct context *c)
{
    (void)c;
}

CUresult
ctx_from_handle(CUcontext handle, struct context **out)
{
    *out = handle ? object_get(handle, OBJ_CONTEXT) : null_context;
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

CUresult
ctx_primary(struct device *d, struct context **out)
{
    (void)d;
    return ctx_need(out);
}

CUresult
function_resolve(CUfunction handle, struct context *c, struct function **out)
{
    (void)c;
    *out = object_get(handle, OBJ_FUNCTION);
    return *out ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

CUresult
launch_command(struct function *f, const struct launch_shape *shape, void **params, void **extra,
               struct command **out)
{
    (void)extra;
    struct command *c = command_new(CMD_LAUNCH, f->func->param_size);
    memcpy(c->launch.grid, shape->grid, sizeof shape->grid);
    memcpy(c->launch.block, shape->block, sizeof shape->block);
    for (uint32_t i = 0; i < f->func->proto.nparam; i++)
        memcpy((char *)c->launch.params + f->func->proto.param[i].offset, params[i],
               f->func->proto.param[i].size);
    c->launch.owner = f;
    *out = c;
    return CUDA_SUCCESS;
}

// The one device and a current context.
static inline void
null_begin(void)
{
    process.ndevices = 1;
    process.initialised = true;
    process.device[0] = (struct device){
        .be = &null_backend, .props = &null_props, .lock = PTHREAD_MUTEX_INITIALIZER};
    struct context *c = object_new(OBJ_CONTEXT, sizeof *c);
    c->dev = &process.device[0];
    c->scope = &null_scope;
    c->alive = true;
    null_context = c;
    c->legacy = stream_new(c, 0, 0, true);
}

static inline void
null_end(void)
{
    null_hold = false;
    streams_wait(null_context);
    streams_free(null_context);
    mem_forget_context(null_context);
    object_free(null_context);
    null_context = NULL;
}

#endif
