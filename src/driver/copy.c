// SPDX-License-Identifier: MIT
// Copies of one run of bytes, and how every copy goes into a stream.
//
// Unified addressing: an argument is judged by what the table of allocations says of it, not by the
// call's name. Memory that the table does not know is pageable host memory: it is read or written
// before an asynchronous call returns, as CUDA says.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <string.h>

enum {
    STAGE_LIMIT =
        1 << 20, // bytes of a pageable source that are copied aside rather than waited for
    INLINE_SYNC =
        1 << 20, // bytes copied by the calling thread when nothing is pending: a waiting caller
    INLINE_ASYNC = 64 << 10 // ... and one that would go on
};

// ---- submission -----------------------------------------------------------
static size_t
bytes_of(const struct command *c)
{
    return c->copy.width * c->copy.height * c->copy.depth;
}

static void
copy_now(const struct command *c)
{
    for (size_t z = 0; z < c->copy.depth; z++)
        for (size_t y = 0; y < c->copy.height; y++)
            memmove(c->copy.dst + z * c->copy.dst_slice + y * c->copy.dst_pitch,
                    c->copy.src + z * c->copy.src_slice + y * c->copy.src_pitch, c->copy.width);
}

// The same copy from a private image of the source; frees c.
static struct command *
staged(struct command *c)
{
    struct command *d = command_new(CMD_COPY, bytes_of(c));
    d->copy = c->copy;
    d->copy.src = (char *)(d + 1);
    d->copy.src_pitch = c->copy.width;
    d->copy.src_slice = c->copy.width * c->copy.height;
    c->copy.dst = (char *)(d + 1);
    c->copy.dst_pitch = d->copy.src_pitch;
    c->copy.dst_slice = d->copy.src_slice;
    copy_now(c);
    command_free(c);
    return d;
}

static bool
pageable(const void *p)
{
    struct mem m;
    return !mem_find(p, &m);
}

static bool
on_device(const void *p)
{
    struct mem m;
    return mem_find(p, &m) && m.kind != MK_HOST && m.kind != MK_REGISTERED && m.kind != MK_MANAGED;
}

static CUresult
copy_sync(struct stream *s, struct command *c)
{
    CUresult r = capture_check_stream(s); // captures of other streams do not mind, as on NVIDIA's driver
    if (r) {
        command_free(c);
        return r;
    }
    if (s->ctx->dev->props->integrated && bytes_of(c) <= INLINE_SYNC && stream_idle(s)) {
        copy_now(c);
        command_free(c);
        return CUDA_SUCCESS;
    }
    bool wait = !on_device(c->copy.dst) || !on_device(c->copy.src);
    r = stream_submit(s, c);
    return r || !wait ? r : stream_wait(s);
}

static CUresult
copy_async(struct stream *s, struct command *c, bool read_source)
{
    bool from = read_source || pageable(c->copy.src), to = pageable(c->copy.dst);
    if (s->ctx->dev->props->integrated &&
        bytes_of(c) <= (from || to ? INLINE_SYNC : INLINE_ASYNC) && stream_idle(s)) {
        copy_now(c);
        command_free(c);
        return CUDA_SUCCESS;
    }
    bool wait = to || (from && bytes_of(c) > STAGE_LIMIT);
    if (from && !wait && !on_device(c->copy.src))
        c = staged(c);
    CUresult r = stream_submit(s, c);
    return r || !wait ? r : stream_wait(s);
}

CUresult
copy_submit(CUstream handle, struct command *c, enum submit_mode mode)
{
    struct stream *s;
    CUresult r = stream_resolve(handle, &s);
    if (r || !c) {
        command_free(c);
        return r;
    }
    if (mode == SUBMIT_SYNC)
        return copy_sync(s, c);
    if (s->legacy)
        r = capture_check_legacy(s->ctx);
    if (r) {
        command_free(c);
        return r;
    }
    if (stream_capturing(s))
        return stream_submit(s, c);
    return copy_async(s, c, mode == SUBMIT_READ_SOURCE);
}

// ---- one run of bytes -----------------------------------------------------
CUresult
side_check(const void *p, size_t size, enum side side, bool write)
{
    const char *role = write ? "destination" : "source";
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s is NULL", role);
    if (mem_covers(p, size)) {
        if (mem_allows(p, size, write))
            return CUDA_SUCCESS;
        return fail(CUDA_ERROR_INVALID_VALUE, "%s %p: the mapping does not allow it", role, p);
    }
    struct mem m;
    if (mem_find(p, &m))
        return fail(CUDA_ERROR_INVALID_VALUE, "%s %p: %zu bytes exceed the allocation of %zu at %p",
                    role, p, size, m.size, (void *)m.addr);
    if (side == SIDE_DEVICE)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s %p is in no allocation", role, p);
    if ((uintptr_t)p + size < (uintptr_t)p)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s %p: %zu bytes pass the end of memory", role, p,
                    size);
    return CUDA_SUCCESS;
}

static CUresult
copy1d(void *dst, enum side dst_side, const void *src, enum side src_side, size_t size,
       CUstream stream, enum submit_mode mode)
{
    if (!size)
        return copy_submit(stream, NULL, mode);
    CUresult r = side_check(dst, size, dst_side, true);
    if (!r)
        r = side_check(src, size, src_side, false);
    if (r)
        return r;
    struct command *c = command_new(CMD_COPY, 0);
    c->copy.dst = dst;
    c->copy.src = src;
    c->copy.width = c->copy.dst_pitch = c->copy.src_pitch = size;
    c->copy.dst_slice = c->copy.src_slice = size;
    c->copy.height = c->copy.depth = 1;
    return copy_submit(stream, c, mode);
}

static void *
ptr(CUdeviceptr p)
{
    return (void *)(uintptr_t)p;
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuMemcpyHtoD_v2(CUdeviceptr dst, const void *src, size_t size)
{
    return copy1d(ptr(dst), SIDE_DEVICE, src, SIDE_HOST, size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyDtoH_v2(void *dst, CUdeviceptr src, size_t size)
{
    return copy1d(dst, SIDE_HOST, ptr(src), SIDE_DEVICE, size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyDtoD_v2(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    return copy1d(ptr(dst), SIDE_DEVICE, ptr(src), SIDE_DEVICE, size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpy(CUdeviceptr dst, CUdeviceptr src, size_t size)
{
    return copy1d(ptr(dst), SIDE_HOST, ptr(src), SIDE_HOST, size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyHtoDAsync_v2(CUdeviceptr dst, const void *src, size_t size, CUstream stream)
{
    return copy1d(ptr(dst), SIDE_DEVICE, src, SIDE_HOST, size, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemcpyDtoHAsync_v2(void *dst, CUdeviceptr src, size_t size, CUstream stream)
{
    return copy1d(dst, SIDE_HOST, ptr(src), SIDE_DEVICE, size, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemcpyDtoDAsync_v2(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
    return copy1d(ptr(dst), SIDE_DEVICE, ptr(src), SIDE_DEVICE, size, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemcpyAsync(CUdeviceptr dst, CUdeviceptr src, size_t size, CUstream stream)
{
    return copy1d(ptr(dst), SIDE_HOST, ptr(src), SIDE_HOST, size, stream, SUBMIT_ASYNC);
}

static CUresult
peer_check(CUcontext dst, CUcontext src)
{
    struct context *c;
    CUresult r = ctx_from_handle(dst, &c);
    return r ? r : ctx_from_handle(src, &c);
}

CUresult
pw_cuMemcpyPeer(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx, size_t size)
{
    struct context *c, *on[2];
    CUresult r = peer_check(dst_ctx, src_ctx);
    if (!r)
        r = ctx_need(&c);
    for (int i = 0; i < 2 && !r; i++) { // in order with all work of both contexts
        r = ctx_from_handle(i ? src_ctx : dst_ctx, &on[i]);
        r = r ? r : streams_wait(on[i]);
    }
    r = r ? r : pw_cuMemcpyDtoD_v2(dst, src, size);
    return r ? r : streams_wait(c);
}

CUresult
pw_cuMemcpyPeerAsync(CUdeviceptr dst, CUcontext dst_ctx, CUdeviceptr src, CUcontext src_ctx,
                     size_t size, CUstream stream)
{
    CUresult r = peer_check(dst_ctx, src_ctx);
    return r ? r : pw_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
}
