// SPDX-License-Identifier: MIT
// Copies of boxes between pitched memories and arrays.
#include "driver/memory.h"
#include "api_impl.h"

// One end of the copy, as the program gives it, then as addresses.
struct end {
    const char *role;
    CUmemorytype type;
    void *host;
    CUdeviceptr device;
    CUarray array;
    size_t x, y, z, pitch, height; // bytes, rows, slices; bytes, rows
    char *at;                      // first byte that is copied
    size_t slice;                  // bytes from slice to slice
};

// First byte and last byte of the box are inside the address space: *span is their distance plus
// one.
static bool
layout(struct end *e, char *base, size_t w, size_t h, size_t d, size_t *span)
{
    size_t z, y, at, dz, dy;
    if (__builtin_mul_overflow(e->z, e->slice, &z) || __builtin_mul_overflow(e->y, e->pitch, &y) ||
        __builtin_add_overflow(z, y, &at) || __builtin_add_overflow(at, e->x, &at) ||
        __builtin_mul_overflow(d - 1, e->slice, &dz) ||
        __builtin_mul_overflow(h - 1, e->pitch, &dy) || __builtin_add_overflow(dz, dy, span) ||
        __builtin_add_overflow(*span, w, span))
        return false;
    e->at = (char *)((uintptr_t)base + at);
    return (uintptr_t)base + at >= (uintptr_t)base && (uintptr_t)e->at + *span >= (uintptr_t)e->at;
}

static CUresult
place_in_array(struct end *e, size_t w, size_t h, size_t d)
{
    struct array *a;
    CUresult r = array_get(e->array, &a);
    if (r)
        return r;
    if (e->x > a->pitch || w > a->pitch - e->x || e->y > a->rows || h > a->rows - e->y ||
        e->z > a->slices || d > a->slices - e->z)
        return fail(CUDA_ERROR_INVALID_VALUE,
                    "%s: box %zu x %zu x %zu at %zu, %zu, %zu exceeds the array %zu x %zu x %zu",
                    e->role, w, h, d, e->x, e->y, e->z, a->pitch, a->rows, a->slices);
    e->pitch = a->pitch;
    e->slice = a->slice;
    size_t span;
    layout(e, a->base, w, h, d, &span);
    return CUDA_SUCCESS;
}

static CUresult
place(struct end *e, size_t w, size_t h, size_t d, bool write)
{
    if (e->type == CU_MEMORYTYPE_ARRAY)
        return place_in_array(e, w, h, d);
    if (e->type != CU_MEMORYTYPE_HOST && e->type != CU_MEMORYTYPE_DEVICE &&
        e->type != CU_MEMORYTYPE_UNIFIED)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: memory type %d", e->role, (int)e->type);
    void *base = e->type == CU_MEMORYTYPE_HOST ? e->host : (void *)(uintptr_t)e->device;
    if (!base)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s is NULL", e->role);
    size_t row, span;
    bool ok = !__builtin_add_overflow(e->x, w, &row);
    // A pitch matters, and is checked, only where there is a second row.
    if (ok && e->pitch < row) {
        if (e->pitch && (h > 1 || d > 1 || e->y || e->z))
            return fail(CUDA_ERROR_INVALID_VALUE, "%s: pitch %zu < %zu bytes", e->role, e->pitch,
                        row);
        e->pitch = row;
    }
    if (e->height && e->height < h && d > 1)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: height %zu < %zu rows", e->role, e->height, h);
    ok = ok && !__builtin_mul_overflow(e->pitch, e->height ? e->height : h, &e->slice);
    if (!ok || !layout(e, base, w, h, d, &span))
        return fail(CUDA_ERROR_INVALID_VALUE, "%s: the box exceeds the address space", e->role);
    return side_check(e->at, span, e->type == CU_MEMORYTYPE_DEVICE ? SIDE_DEVICE : SIDE_HOST,
                      write);
}

CUresult
copy3d_command(const CUDA_MEMCPY3D *p, struct command **out)
{
    *out = NULL;
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "the copy's description is NULL");
    if (p->srcLOD || p->dstLOD)
        return fail(CUDA_ERROR_INVALID_VALUE, "a level of detail is given");
    if (!p->WidthInBytes || !p->Height || !p->Depth)
        return CUDA_SUCCESS;
    size_t w = p->WidthInBytes, h = p->Height, d = p->Depth;
    struct end src = {
        "source", p->srcMemoryType, (void *)p->srcHost, p->srcDevice, p->srcArray, p->srcXInBytes,
        p->srcY,  p->srcZ,          p->srcPitch,        p->srcHeight, NULL,        0};
    struct end dst = {"destination", p->dstMemoryType, p->dstHost, p->dstDevice,
                      p->dstArray,   p->dstXInBytes,   p->dstY,    p->dstZ,
                      p->dstPitch,   p->dstHeight,     NULL,       0};
    CUresult r = place(&src, w, h, d, false);
    if (!r)
        r = place(&dst, w, h, d, true);
    if (r)
        return r;
    struct command *c = command_new(CMD_COPY, 0);
    c->copy.dst = dst.at;
    c->copy.src = src.at;
    c->copy.width = w;
    c->copy.height = h;
    c->copy.depth = d;
    c->copy.dst_pitch = dst.pitch;
    c->copy.src_pitch = src.pitch;
    c->copy.dst_slice = dst.slice;
    c->copy.src_slice = src.slice;
    *out = c;
    return CUDA_SUCCESS;
}

// ---- calls ----------------------------------------------------------------
static CUresult
copy3d(const CUDA_MEMCPY3D *p, CUstream stream, enum submit_mode mode)
{
    struct command *c;
    CUresult r = copy3d_command(p, &c);
    return r ? r : copy_submit(stream, c, mode);
}

CUresult
pw_cuMemcpy3D_v2(const CUDA_MEMCPY3D *p)
{
    return copy3d(p, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpy3DAsync_v2(const CUDA_MEMCPY3D *p, CUstream stream)
{
    return copy3d(p, stream, SUBMIT_ASYNC);
}

// The peer form names a context for each end, which unified addressing does not need.
static CUresult
peer3d(const CUDA_MEMCPY3D_PEER *p, CUstream stream, enum submit_mode mode)
{
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "the copy's description is NULL");
    struct context *c;
    CUresult r = ctx_from_handle(p->dstContext, &c);
    if (!r)
        r = ctx_from_handle(p->srcContext, &c);
    if (r)
        return r;
    CUDA_MEMCPY3D q = {
        p->srcXInBytes,   p->srcY,        p->srcZ,         p->srcLOD,   p->srcMemoryType,
        p->srcHost,       p->srcDevice,   p->srcArray,     NULL,        p->srcPitch,
        p->srcHeight,     p->dstXInBytes, p->dstY,         p->dstZ,     p->dstLOD,
        p->dstMemoryType, p->dstHost,     p->dstDevice,    p->dstArray, NULL,
        p->dstPitch,      p->dstHeight,   p->WidthInBytes, p->Height,   p->Depth};
    return copy3d(&q, stream, mode);
}

CUresult
pw_cuMemcpy3DPeer(const CUDA_MEMCPY3D_PEER *p)
{
    return peer3d(p, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *p, CUstream stream)
{
    return peer3d(p, stream, SUBMIT_ASYNC);
}
