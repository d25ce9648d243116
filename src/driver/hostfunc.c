// SPDX-License-Identifier: MIT
// Host functions and callbacks in stream order.
#include "driver/driver.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

CUresult
pw_cuLaunchHostFunc(CUstream stream, CUhostFn fn, void *user)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (!fn)
        return fail(CUDA_ERROR_INVALID_VALUE, "fn is NULL");
    struct command *c = command_new(CMD_HOST, 0);
    c->host.fn = fn;
    c->host.user = user;
    return stream_submit(s, c);
}

struct callback {
    CUstream handle;
    struct context *ctx;
    CUstreamCallback fn;
    void *user;
};

// Called also when the context has an error: the program is told which.
static void
callback_run(void *user)
{
    struct callback *b = user;
    b->fn(b->handle, (CUresult)b->ctx->dev->be->scope_error(b->ctx->scope), b->user);
    free(b);
}

CUresult
pw_cuStreamAddCallback(CUstream stream, CUstreamCallback fn, void *user, unsigned flags)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (!r)
        r = capture_check_stream(s);
    if (r)
        return r;
    if (!fn || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "callback %p, flags %u", (void *)(uintptr_t)fn,
                    flags);
    struct callback *b = malloc(sizeof *b);
    if (!b)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *b = (struct callback){stream, s->ctx, fn, user};
    struct command *c = command_new(CMD_HOST, 0);
    c->host.fn = callback_run;
    c->host.user = b;
    c->host.always = true;
    r = stream_submit(s, c);
    if (r)
        free(b);
    return r;
}
