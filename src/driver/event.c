// SPDX-License-Identifier: MIT
// Events: an event stands for the signal of its latest record, or, inside a capture, for nodes of
// the graph.
#include "driver/driver.h"
#include "driver/graph.h"
#include "driver/ipc_event.h"
#include "api_impl.h"

enum { CREATE_FLAGS = CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS };

static CUresult
event_get(CUevent handle, struct event **out)
{
    *out = object_get(handle, OBJ_EVENT);
    if (!*out)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is not an event", (void *)handle);
    return CUDA_SUCCESS;
}

struct signal *
event_signal(struct event *e)
{
    pthread_mutex_lock(&e->lock);
    struct signal *s = e->signal ? signal_ref(e->signal) : NULL;
    pthread_mutex_unlock(&e->lock);
    return s;
}

struct command *
event_record_command(struct event *e)
{
    struct signal *s = signal_new();
    struct command *c = command_new(CMD_SIGNAL, 0);
    c->signal = signal_ref(s);
    pthread_mutex_lock(&e->lock);
    struct signal *old = e->signal;
    e->signal = s;
    pthread_mutex_unlock(&e->lock);
    signal_unref(old);
    if (e->ipc)
        ipc_event_record(e->ipc, s);
    return c;
}

struct command *
event_wait_command(struct event *e)
{
    if (e->ipc)
        return ipc_event_wait_command(e->ipc);
    struct signal *s = event_signal(e);
    if (!s || signal_done(s)) {
        signal_unref(s);
        return NULL;
    }
    struct command *c = command_new(CMD_WAIT, 0);
    c->signal = s;
    return c;
}

// The context that the event was made in, NULL if it is gone.
static struct context *
event_context(const struct event *e)
{
    struct context *c = object_get(e->ctx, OBJ_CONTEXT);
    return c && c->obj.id == e->ctx_id && c->alive ? c : NULL;
}

// ---- life -----------------------------------------------------------------
CUresult
event_new(struct context *c, unsigned flags, struct ipc_event *ipc, CUevent *out)
{
    struct event *e = object_new(OBJ_EVENT, sizeof *e);
    e->ctx = c;
    e->ctx_id = c->obj.id;
    e->spin =
        !(flags & CU_EVENT_BLOCKING_SYNC) && (c->flags & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_SPIN;
    e->flags = flags;
    e->ipc = ipc;
    pthread_mutex_init(&e->lock, NULL);
    *out = (CUevent)e;
    return CUDA_SUCCESS;
}

CUresult
pw_cuEventCreate(CUevent *out, unsigned flags)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || flags & ~(unsigned)CREATE_FLAGS ||
        (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    struct ipc_event *ipc = flags & CU_EVENT_INTERPROCESS ? ipc_event_new() : NULL;
    if (flags & CU_EVENT_INTERPROCESS && !ipc)
        return fail(CUDA_ERROR_OPERATING_SYSTEM, "no shared memory for the event");
    return event_new(c, flags, ipc, out);
}

CUresult
pw_cuEventDestroy_v2(CUevent handle)
{
    struct event *e;
    CUresult r = event_get(handle, &e);
    if (r)
        return r;
    object_retire(e);
    capture_forget_event(e);
    signal_unref(e->signal); // a pending record keeps its own reference
    ipc_event_free(e->ipc);
    pthread_mutex_destroy(&e->lock);
    object_free(e);
    return CUDA_SUCCESS;
}

CUresult
pw_cuEventDestroy(CUevent handle)
{
    return pw_cuEventDestroy_v2(handle);
}

// ---- record and wait ------------------------------------------------------
CUresult
pw_cuEventRecordWithFlags(CUevent handle, CUstream stream, unsigned flags)
{
    struct stream *s;
    struct event *e;
    CUresult r = event_get(handle, &e);
    if (!r)
        r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (flags & ~(unsigned)CU_EVENT_RECORD_EXTERNAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    if (event_context(e) != s->ctx)
        return fail(CUDA_ERROR_INVALID_HANDLE, "event %p and stream are of different contexts",
                    (void *)e);
    if (stream_capturing(s))
        return capture_record(s, e, flags & CU_EVENT_RECORD_EXTERNAL);
    if (flags & CU_EVENT_RECORD_EXTERNAL)
        return fail(CUDA_ERROR_ILLEGAL_STATE, "an external record outside of a capture");
    if (s->legacy)
        r = capture_check_legacy(s->ctx);
    if (r)
        return r;
    capture_forget_event(e);
    stream_enqueue(s, event_record_command(e));
    return CUDA_SUCCESS;
}

CUresult
pw_cuEventRecord(CUevent handle, CUstream stream)
{
    return pw_cuEventRecordWithFlags(handle, stream, 0);
}

CUresult
pw_cuStreamWaitEvent(CUstream stream, CUevent handle, unsigned flags)
{
    struct stream *s;
    struct event *e;
    CUresult r = event_get(handle, &e);
    if (!r)
        r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (flags & ~(unsigned)CU_EVENT_WAIT_EXTERNAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    if (__atomic_load_n(&e->captured, __ATOMIC_ACQUIRE) || stream_capturing(s))
        return capture_wait(s, e, flags & CU_EVENT_WAIT_EXTERNAL);
    if (flags & CU_EVENT_WAIT_EXTERNAL)
        return fail(CUDA_ERROR_ILLEGAL_STATE, "an external wait outside of a capture");
    struct command *c = event_wait_command(e);
    return c ? stream_submit(s, c) : CUDA_SUCCESS;
}

// ---- host side ------------------------------------------------------------
// An event that the host may ask about, and its signal (NULL: never recorded).
static CUresult
event_ask(CUevent handle, struct event **e, struct signal **s)
{
    CUresult r = event_get(handle, e);
    if (r)
        return r;
    r = capture_check_event(*e);
    if (!r)
        r = capture_check_unsafe_call();
    if (!r)
        *s = event_signal(*e);
    return r;
}

CUresult
pw_cuEventQuery(CUevent handle)
{
    struct event *e;
    struct signal *s;
    CUresult r = event_ask(handle, &e, &s);
    if (!r && e->ipc) {
        int error;
        bool done = ipc_event_done(e->ipc, &error);
        signal_unref(s);
        return done ? (CUresult)error : CUDA_ERROR_NOT_READY;
    }
    if (r || !s)
        return r;
    r = signal_done(s) ? (CUresult)signal_wait(s, false) : CUDA_ERROR_NOT_READY;
    signal_unref(s);
    return r;
}

CUresult
pw_cuEventSynchronize(CUevent handle)
{
    struct event *e;
    struct signal *s;
    CUresult r = event_ask(handle, &e, &s);
    if (!r && e->ipc) {
        int error;
        ipc_event_wait(e->ipc, &error);
        r = (CUresult)error;
    } else if (r || !s) {
        return r;
    } else {
        r = (CUresult)signal_wait(s, e->spin);
    }
    signal_unref(s);
    struct context *c = event_context(e);
    if (c && c->dev->be->flush_printf)
        c->dev->be->flush_printf(c->scope);
    if (c)
        pools_trim(c->dev);
    return r;
}

// The time of an event's completion in ns.
static CUresult
event_time(CUevent handle, uint64_t *ns)
{
    struct event *e;
    struct signal *s;
    CUresult r = event_get(handle, &e);
    if (!r)
        r = capture_check_event(e);
    if (r)
        return r;
    if (e->flags & CU_EVENT_DISABLE_TIMING)
        return fail(CUDA_ERROR_INVALID_HANDLE, "event %p was made without timing", (void *)e);
    s = event_signal(e);
    if (!s)
        return fail(CUDA_ERROR_INVALID_HANDLE, "event %p was never recorded", (void *)e);
    r = signal_done(s) ? (CUresult)signal_wait(s, false) : CUDA_ERROR_NOT_READY;
    *ns = signal_time(s);
    signal_unref(s);
    return r;
}

CUresult
pw_cuEventElapsedTime_v2(float *ms, CUevent start, CUevent end)
{
    if (!ms) // the code that NVIDIA's driver gives
        return fail(CUDA_ERROR_INVALID_HANDLE, "the output pointer is NULL");
    uint64_t from, to;
    CUresult r1 = event_time(start, &from), r2 = event_time(end, &to);
    CUresult r = r1 && r1 != CUDA_ERROR_NOT_READY ? r1 : r2 ? r2 : r1;
    if (!r)
        *ms = (float)((double)(int64_t)(to - from) * 1e-6);
    return r;
}

CUresult
pw_cuEventElapsedTime(float *ms, CUevent start, CUevent end)
{
    return pw_cuEventElapsedTime_v2(ms, start, end);
}
