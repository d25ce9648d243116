// SPDX-License-Identifier: MIT
// Streams: creation, the one way for work into a queue, the rule of the legacy default stream,
// waiting.
//
// Legacy rule: work in a context's legacy stream waits for all earlier work of its blocking
// streams, and later work of a blocking stream waits for the legacy stream's. It is applied as work
// is submitted, by a CMD_SIGNAL at the end of the queue waited for and a CMD_WAIT in the queue that
// waits; nothing is added where the other queue is idle or has been waited for already.
#include "driver/driver.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

static bool
blocking(const struct stream *s)
{
    return !(s->flags & CU_STREAM_NON_BLOCKING);
}

static const struct backend *
backend_of(const struct stream *s)
{
    return s->ctx->dev->be;
}

static struct command *
signal_command(enum command_kind kind, struct signal *sig)
{
    struct command *c = command_new(kind, 0);
    c->signal = signal_ref(sig);
    return c;
}

// ---- life -----------------------------------------------------------------
struct stream *
stream_new(struct context *c, unsigned flags, int priority, bool legacy)
{
    struct backend_queue *q = c->dev->be->queue_new(c->scope, priority);
    if (!q) {
        log_error("the backend has no queue for another stream");
        return NULL;
    }
    struct stream *s = object_new(OBJ_STREAM, sizeof *s);
    s->ctx = c;
    s->queue = q;
    s->flags = flags;
    s->priority = priority;
    s->legacy = legacy;
    s->attribute[CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP].memSyncDomainMap.remote = 1;
    pthread_mutex_lock(&c->order);
    vec_push(c->streams, s);
    pthread_mutex_unlock(&c->order);
    LOG(LOG_STREAM, "stream %p: flags %u, priority %d", (void *)s, flags, priority);
    return s;
}

// The end of the stream's work as something to wait for, NULL if it is idle.
static struct signal *
mark_end(struct stream *s)
{
    if (backend_of(s)->queue_idle(s->queue))
        return NULL;
    struct signal *end = signal_new();
    backend_of(s)->submit(s->queue, signal_command(CMD_SIGNAL, end));
    return end;
}

// Forgets orphans that have ended. Holds c->order.
static void
orphan_add(struct context *c, struct signal *end)
{
    for (size_t i = vec_len(c->orphans); i-- > 0;) {
        if (!signal_done(c->orphans[i]))
            continue;
        signal_unref(c->orphans[i]);
        vec_swap_remove(c->orphans, i);
    }
    vec_push(c->orphans, end);
}

void
stream_free(struct stream *s)
{
    struct context *c = s->ctx;
    capture_forget_stream(s);
    object_retire(s);
    pthread_mutex_lock(&c->order);
    for (size_t i = 0; i < vec_len(c->streams); i++) {
        if (c->streams[i] == s) {
            vec_swap_remove(c->streams, i);
            break;
        }
    }
    struct signal *end = mark_end(s);
    if (end) {
        if (blocking(s) && c->legacy && c->legacy != s)
            backend_of(s)->submit(c->legacy->queue, signal_command(CMD_WAIT, end));
        orphan_add(c, end);
    }
    pthread_mutex_unlock(&c->order);
    backend_of(s)->queue_free(s->queue);
    vec_free(s->frontier);
    vec_free(s->frontier_edges);
    object_free(s);
}

void
streams_free(struct context *c)
{
    struct stream *legacy = c->legacy;
    for (;;) {
        pthread_mutex_lock(&c->order);
        struct stream *s = NULL;
        for (size_t i = 0; i < vec_len(c->streams); i++)
            if (c->streams[i] != legacy)
                s = c->streams[i];
        pthread_mutex_unlock(&c->order);
        if (!s)
            break;
        stream_free(s);
    }
    if (legacy) {
        c->legacy = NULL;
        stream_free(legacy);
    }
    for (size_t i = 0; i < vec_len(c->orphans); i++) {
        signal_wait(c->orphans[i], false);
        signal_unref(c->orphans[i]);
    }
    vec_free(c->orphans);
    vec_free(c->streams);
}

// ---- submission -----------------------------------------------------------
// Makes what comes next in `s` wait for what was submitted to `on`.
static void
wait_for(struct stream *s, struct stream *on)
{
    struct signal *end = mark_end(on);
    if (!end)
        return;
    backend_of(s)->submit(s->queue, signal_command(CMD_WAIT, end));
    signal_unref(end);
}

// Holds ctx->order.
static void
legacy_rule(struct stream *s)
{
    struct context *c = s->ctx;
    if (!s->legacy) {
        if (c->legacy && s->joined != c->legacy->work) {
            s->joined = c->legacy->work;
            wait_for(s, c->legacy);
        }
        return;
    }
    for (size_t i = 0; i < vec_len(c->streams); i++) {
        struct stream *o = c->streams[i];
        if (o != s && blocking(o) && o->seen != o->work) {
            o->seen = o->work;
            wait_for(s, o);
        }
    }
}

void
stream_enqueue(struct stream *s, struct command *c)
{
    if (!blocking(s)) {
        backend_of(s)->submit(s->queue, c);
        return;
    }
    pthread_mutex_lock(&s->ctx->order);
    legacy_rule(s);
    s->work++;
    backend_of(s)->submit(s->queue, c);
    pthread_mutex_unlock(&s->ctx->order);
}

CUresult
stream_submit(struct stream *s, struct command *c)
{
    if (__atomic_load_n(&s->capture, __ATOMIC_ACQUIRE))
        return capture_append(s, c);
    CUresult r = s->legacy ? capture_check_legacy(s->ctx) : CUDA_SUCCESS;
    if (r) {
        command_free(c);
        return r;
    }
    stream_enqueue(s, c);
    return CUDA_SUCCESS;
}

bool
stream_idle(struct stream *s)
{
    struct context *c = s->ctx;
    if (!backend_of(s)->queue_idle(s->queue))
        return false;
    if (!blocking(s))
        return true;
    if (!s->legacy)
        return !c->legacy || backend_of(s)->queue_idle(c->legacy->queue);
    bool idle = true;
    pthread_mutex_lock(&c->order);
    for (size_t i = 0; idle && i < vec_len(c->streams); i++)
        if (blocking(c->streams[i]))
            idle = backend_of(s)->queue_idle(c->streams[i]->queue);
    pthread_mutex_unlock(&c->order);
    return idle;
}

// ---- waiting --------------------------------------------------------------
// Spinning answers fastest; a context made for yielding or blocking, and a device whose workers
// need the CPU, block.
static bool
spins(const struct context *c)
{
    return (c->flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_SPIN;
}

static CUresult
settled(struct context *c)
{
    const struct backend *be = c->dev->be;
    if (be->flush_printf)
        be->flush_printf(c->scope);
    pools_trim(c->dev);
    return (CUresult)be->scope_error(c->scope);
}

// What was submitted is done. Other than stream_idle this leaves out what only later work would
// have to wait for; the legacy stream answers for the blocking streams too.
static bool
finished(struct stream *s)
{
    return s->legacy ? stream_idle(s) : backend_of(s)->queue_idle(s->queue);
}

CUresult
stream_wait(struct stream *s)
{
    struct context *c = s->ctx;
    if (!finished(s)) {
        struct signal *end = signal_new();
        struct command *mark = signal_command(CMD_SIGNAL, end);
        if (s->legacy)
            stream_enqueue(s, mark);
        else
            backend_of(s)->submit(s->queue, mark);
        signal_wait(end, spins(c));
        signal_unref(end);
    }
    return settled(c);
}

struct signal **
streams_mark(struct context *c)
{
    struct signal **ends = NULL;
    pthread_mutex_lock(&c->order);
    for (size_t i = 0; i < vec_len(c->streams); i++) {
        struct signal *end = mark_end(c->streams[i]);
        if (end)
            vec_push(ends, end);
    }
    for (size_t i = 0; i < vec_len(c->orphans); i++)
        vec_push(ends, signal_ref(c->orphans[i]));
    pthread_mutex_unlock(&c->order);
    return ends;
}

CUresult
streams_wait(struct context *c)
{
    struct signal **ends = streams_mark(c);
    for (size_t i = 0; i < vec_len(ends); i++) {
        signal_wait(ends[i], spins(c));
        signal_unref(ends[i]);
    }
    vec_free(ends);
    return settled(c);
}

// ---- handles --------------------------------------------------------------
struct ptds_entry {
    struct stream *stream;
    uint64_t stream_id, ctx_id; // of objects that may be gone
};

static pthread_key_t ptds_key;
static pthread_once_t ptds_once = PTHREAD_ONCE_INIT;

// A thread ends: so do its default streams.
static void
ptds_end(void *unused)
{
    (void)unused;
    for (size_t i = 0; i < vec_len(tls.ptds) && !process.deinitialised; i++) {
        struct stream *s = object_get(tls.ptds[i].stream, OBJ_STREAM);
        if (s && s->obj.id == tls.ptds[i].stream_id)
            stream_free(s);
    }
    vec_free(tls.ptds);
}

static void
ptds_init(void)
{
    pthread_key_create(&ptds_key, ptds_end);
}

// The calling thread's default stream in context c, made at first use.
static struct stream *
ptds_get(struct context *c)
{
    for (size_t i = 0; i < vec_len(tls.ptds); i++) {
        if (tls.ptds[i].ctx_id != c->obj.id)
            continue;
        struct stream *s = object_get(tls.ptds[i].stream, OBJ_STREAM);
        if (s && s->obj.id == tls.ptds[i].stream_id)
            return s;
        vec_swap_remove(tls.ptds, i);
        break;
    }
    struct stream *s = stream_new(c, CU_STREAM_DEFAULT, 0, false);
    if (!s)
        return NULL;
    s->per_thread = true;
    pthread_once(&ptds_once, ptds_init);
    pthread_setspecific(ptds_key, &tls);
    vec_push(tls.ptds, ((struct ptds_entry){s, s->obj.id, c->obj.id}));
    return s;
}

static CUresult
default_stream(CUstream handle, struct stream **out)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    bool per_thread = handle ? handle == CU_STREAM_PER_THREAD : tls.per_thread_stream;
    struct stream *s = per_thread ? ptds_get(c) : c->legacy;
    if (!s)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "no default stream");
    *out = s;
    return CUDA_SUCCESS;
}

CUresult
stream_resolve(CUstream handle, struct stream **out)
{
    if (!handle || handle == CU_STREAM_LEGACY || handle == CU_STREAM_PER_THREAD)
        return default_stream(handle, out);
    struct stream *s = object_get(handle, OBJ_STREAM);
    if (!s)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream", (void *)handle);
    if (!s->ctx->alive)
        return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context of stream %p", (void *)handle);
    int sticky = s->ctx->dev->be->scope_error(s->ctx->scope);
    if (sticky)
        return (CUresult)sticky;
    *out = s;
    return CUDA_SUCCESS;
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuStreamCreateWithPriority(CUstream *out, unsigned flags, int priority)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || flags & ~(unsigned)CU_STREAM_NON_BLOCKING)
        return fail(CUDA_ERROR_INVALID_VALUE, "phStream %p, flags 0x%x", (void *)out, flags);
    priority = priority > STREAM_PRIORITY_LEAST      ? STREAM_PRIORITY_LEAST
               : priority < STREAM_PRIORITY_GREATEST ? STREAM_PRIORITY_GREATEST
                                                     : priority;
    struct stream *s = stream_new(c, flags, priority, false);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUstream)s;
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamCreate(CUstream *out, unsigned flags)
{
    return pw_cuStreamCreateWithPriority(out, flags, 0);
}

CUresult
pw_cuStreamDestroy_v2(CUstream handle)
{
    struct stream *s = object_get(handle, OBJ_STREAM);
    if (!s || s->legacy || s->per_thread)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is not a stream that was created",
                    (void *)handle);
    stream_free(s);
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamDestroy(CUstream handle)
{
    return pw_cuStreamDestroy_v2(handle);
}

CUresult
pw_cuStreamQuery(CUstream handle)
{
    struct stream *s;
    CUresult r = stream_resolve(handle, &s);
    if (!r)
        r = capture_check_stream(s);
    if (r)
        return r;
    if (!finished(s))
        return CUDA_ERROR_NOT_READY;
    return settled(s->ctx);
}

CUresult
pw_cuStreamSynchronize(CUstream handle)
{
    struct stream *s;
    CUresult r = stream_resolve(handle, &s);
    if (!r)
        r = capture_check_stream(s);
    return r ? r : stream_wait(s);
}
