// SPDX-License-Identifier: MIT
// Events that stand for all the work of a context, and contexts whose later work waits for an event.
#include "driver/driver.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

// Completes `end` when the last of several signals has.
struct join {
    atomic_uint left;
    struct signal *end;
    struct context *ctx;
};

static void
joined(void *user)
{
    struct join *j = user;
    if (atomic_fetch_sub(&j->left, 1) != 1)
        return;
    signal_complete(j->end, 0);
    signal_unref(j->end);
    free(j);
}

// The event's new signal completes when all that was submitted to the context so far is done.
static void
record(struct context *c, struct event *e)
{
    struct command *mark = event_record_command(e);
    struct signal **ends = streams_mark(c);
    struct join *j = malloc(sizeof *j);
    if (!j)
        abort();
    *j = (struct join){.left = (unsigned)vec_len(ends) + 1, .end = signal_ref(mark->signal), .ctx = c};
    command_free(mark);
    for (size_t i = 0; i < vec_len(ends); i++) {
        signal_then(ends[i], joined, j);
        signal_unref(ends[i]);
    }
    vec_free(ends);
    joined(j);
}

static CUresult
check(CUcontext ctx, CUevent event, struct context **c, struct event **e)
{
    CUresult r = ctx_from_handle(ctx, c);
    if (r)
        return fail(r, "%p", (void *)ctx);
    *e = object_get(event, OBJ_EVENT);
    if (!*e)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no event", (void *)event);
    return capture_check_context(*c);
}

CUresult
pw_cuCtxRecordEvent(CUcontext ctx, CUevent event)
{
    struct context *c;
    struct event *e;
    CUresult r = check(ctx, event, &c, &e);
    if (r)
        return r;
    if (e->ctx != c || e->ctx_id != c->obj.id)
        return fail(CUDA_ERROR_INVALID_HANDLE, "event %p is of another context", (void *)event);
    record(c, e);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxWaitEvent(CUcontext ctx, CUevent event)
{
    struct context *c;
    struct event *e;
    CUresult r = check(ctx, event, &c, &e);
    if (r)
        return r;
    pthread_mutex_lock(&c->order);
    for (size_t i = 0; i < vec_len(c->streams); i++) {
        struct command *wait = event_wait_command(e);
        if (wait)
            c->dev->be->submit(c->streams[i]->queue, wait);
    }
    pthread_mutex_unlock(&c->order);
    return CUDA_SUCCESS;
}
