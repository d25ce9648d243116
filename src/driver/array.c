// SPDX-License-Identifier: MIT
// CUDA arrays, as linear memory without padding, and the copies of runs of bytes to and from them.
#include "driver/memory.h"
#include "api_impl.h"

enum {
    ARRAY_FLAGS = CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST | CUDA_ARRAY3D_CUBEMAP |
                  CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT
};

CUresult
array_get(CUarray handle, struct array **out)
{
    struct mem m;
    *out = object_get(handle, OBJ_ARRAY);
    if (!*out)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is not an array", (void *)handle);
    if (!mem_find((*out)->base, &m) || m.buffer_id != (*out)->buffer_id)
        return fail(CUDA_ERROR_CONTEXT_IS_DESTROYED, "the context of array %p", (void *)handle);
    return CUDA_SUCCESS;
}

// Bytes of one channel; 0 for a format that we do not store.
static size_t
channel_bytes(CUarray_format f)
{
    switch (f) {
    case CU_AD_FORMAT_UNSIGNED_INT8:
    case CU_AD_FORMAT_SIGNED_INT8:
    case CU_AD_FORMAT_UNORM_INT8X1:
    case CU_AD_FORMAT_UNORM_INT8X2:
    case CU_AD_FORMAT_UNORM_INT8X4:
    case CU_AD_FORMAT_SNORM_INT8X1:
    case CU_AD_FORMAT_SNORM_INT8X2:
    case CU_AD_FORMAT_SNORM_INT8X4:
        return 1;
    case CU_AD_FORMAT_UNSIGNED_INT16:
    case CU_AD_FORMAT_SIGNED_INT16:
    case CU_AD_FORMAT_HALF:
    case CU_AD_FORMAT_UNORM_INT16X1:
    case CU_AD_FORMAT_UNORM_INT16X2:
    case CU_AD_FORMAT_UNORM_INT16X4:
    case CU_AD_FORMAT_SNORM_INT16X1:
    case CU_AD_FORMAT_SNORM_INT16X2:
    case CU_AD_FORMAT_SNORM_INT16X4:
        return 2;
    case CU_AD_FORMAT_UNSIGNED_INT32:
    case CU_AD_FORMAT_SIGNED_INT32:
    case CU_AD_FORMAT_FLOAT:
        return 4;
    default:
        return 0;
    }
}

static CUresult
array_check(const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    if (d->Flags & ~(unsigned)ARRAY_FLAGS)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "array flags 0x%x", d->Flags);
    if (!d->Width || (d->NumChannels != 1 && d->NumChannels != 2 && d->NumChannels != 4))
        return fail(CUDA_ERROR_INVALID_VALUE, "width %zu, %u channels", d->Width, d->NumChannels);
    if (!channel_bytes(d->Format))
        return fail(CUDA_ERROR_NOT_SUPPORTED, "array format 0x%x", (int)d->Format);
    bool cube = d->Flags & CUDA_ARRAY3D_CUBEMAP, layered = d->Flags & CUDA_ARRAY3D_LAYERED;
    if (cube && (d->Width != d->Height || (layered ? !d->Depth || d->Depth % 6 : d->Depth != 6)))
        return fail(CUDA_ERROR_INVALID_VALUE, "cubemap of %zu x %zu x %zu", d->Width, d->Height,
                    d->Depth);
    if (layered ? !d->Depth : d->Depth && !d->Height)
        return fail(CUDA_ERROR_INVALID_VALUE, "array of %zu x %zu x %zu", d->Width, d->Height,
                    d->Depth);
    return CUDA_SUCCESS;
}

static bool
array_layout(struct array *a)
{
    const CUDA_ARRAY3D_DESCRIPTOR *d = &a->desc;
    a->element = channel_bytes(d->Format) * d->NumChannels;
    a->rows = d->Height ? d->Height : 1;
    a->slices = d->Depth ? d->Depth : 1;
    return !__builtin_mul_overflow(d->Width, a->element, &a->pitch) &&
           !__builtin_mul_overflow(a->pitch, a->rows, &a->slice) &&
           !__builtin_mul_overflow(a->slice, a->slices, &a->size);
}

// ---- life -----------------------------------------------------------------
CUresult
pw_cuArray3DCreate_v2(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR *d)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || !d)
        return fail(CUDA_ERROR_INVALID_VALUE, "handle %p, descriptor %p", (void *)out, (void *)d);
    r = array_check(d);
    if (!r)
        r = capture_check_unsafe_call();
    if (r)
        return r;
    struct array layout = {.desc = *d};
    if (!array_layout(&layout))
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "array of %zu x %zu x %zu", d->Width, d->Height,
                    d->Depth);
    void *base;
    r = mem_new(c, MK_DEVICE, layout.size, 0, &base);
    if (r)
        return r;
    struct array *a = object_new(OBJ_ARRAY, sizeof *a);
    layout.obj = a->obj;
    *a = layout;
    a->ctx = c;
    a->base = base;
    struct mem m;
    if (mem_find(base, &m))
        a->buffer_id = m.buffer_id;
    *out = (CUarray)a;
    return CUDA_SUCCESS;
}

CUresult
pw_cuArrayCreate_v2(CUarray *out, const CUDA_ARRAY_DESCRIPTOR *d)
{
    if (!d)
        return fail(CUDA_ERROR_INVALID_VALUE, "the descriptor is NULL");
    CUDA_ARRAY3D_DESCRIPTOR full = {
        .Width = d->Width, .Height = d->Height, .Format = d->Format, .NumChannels = d->NumChannels};
    return pw_cuArray3DCreate_v2(out, &full);
}

CUresult
pw_cuArrayDestroy(CUarray handle)
{
    struct array *a;
    CUresult r = array_get(handle, &a);
    if (r == CUDA_ERROR_CONTEXT_IS_DESTROYED)
        object_free(a);
    if (!r)
        r = capture_check_unsafe_call();
    if (r)
        return r;
    r = streams_wait(a->ctx);
    mem_delete(a->base);
    object_free(a);
    return r;
}

CUresult
pw_cuArray3DGetDescriptor_v2(CUDA_ARRAY3D_DESCRIPTOR *out, CUarray handle)
{
    struct array *a;
    CUresult r = array_get(handle, &a);
    if (r)
        return r;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    *out = a->desc;
    return CUDA_SUCCESS;
}

CUresult
pw_cuArrayGetDescriptor_v2(CUDA_ARRAY_DESCRIPTOR *out, CUarray handle)
{
    struct array *a;
    CUresult r = array_get(handle, &a);
    if (r)
        return r;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    *out =
        (CUDA_ARRAY_DESCRIPTOR){a->desc.Width, a->desc.Height, a->desc.Format, a->desc.NumChannels};
    return CUDA_SUCCESS;
}

// ---- copies: bytes [offset, offset + size) of the array's first row -------
struct run {
    CUmemorytype type;
    const void *host;
    CUdeviceptr device;
    CUarray array;
    size_t offset;
};
#define RUN_HOST(p)     ((struct run){.type = CU_MEMORYTYPE_HOST, .host = (p)})
#define RUN_DEVICE(p)   ((struct run){.type = CU_MEMORYTYPE_DEVICE, .device = (p)})
#define RUN_ARRAY(a, o) ((struct run){.type = CU_MEMORYTYPE_ARRAY, .array = (a), .offset = (o)})

static CUresult
copy_run(struct run dst, struct run src, size_t size, CUstream stream, enum submit_mode mode)
{
    CUDA_MEMCPY3D p = {.srcXInBytes = src.offset,
                       .srcMemoryType = src.type,
                       .srcHost = src.host,
                       .srcDevice = src.device,
                       .srcArray = src.array,
                       .dstXInBytes = dst.offset,
                       .dstMemoryType = dst.type,
                       .dstHost = (void *)dst.host,
                       .dstDevice = dst.device,
                       .dstArray = dst.array,
                       .WidthInBytes = size,
                       .Height = 1,
                       .Depth = 1};
    struct command *c;
    CUresult r = copy3d_command(&p, &c);
    return r ? r : copy_submit(stream, c, mode);
}

CUresult
pw_cuMemcpyDtoA_v2(CUarray dst, size_t offset, CUdeviceptr src, size_t size)
{
    return copy_run(RUN_ARRAY(dst, offset), RUN_DEVICE(src), size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyAtoD_v2(CUdeviceptr dst, CUarray src, size_t offset, size_t size)
{
    return copy_run(RUN_DEVICE(dst), RUN_ARRAY(src, offset), size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyHtoA_v2(CUarray dst, size_t offset, const void *src, size_t size)
{
    return copy_run(RUN_ARRAY(dst, offset), RUN_HOST(src), size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyAtoH_v2(void *dst, CUarray src, size_t offset, size_t size)
{
    return copy_run(RUN_HOST(dst), RUN_ARRAY(src, offset), size, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyAtoA_v2(CUarray dst, size_t dst_offset, CUarray src, size_t src_offset, size_t size)
{
    return copy_run(RUN_ARRAY(dst, dst_offset), RUN_ARRAY(src, src_offset), size, NULL,
                    SUBMIT_SYNC);
}

CUresult
pw_cuMemcpyHtoAAsync_v2(CUarray dst, size_t offset, const void *src, size_t size, CUstream stream)
{
    return copy_run(RUN_ARRAY(dst, offset), RUN_HOST(src), size, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemcpyAtoHAsync_v2(void *dst, CUarray src, size_t offset, size_t size, CUstream stream)
{
    return copy_run(RUN_HOST(dst), RUN_ARRAY(src, offset), size, stream, SUBMIT_ASYNC);
}
