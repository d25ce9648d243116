// SPDX-License-Identifier: MIT
// The forms from before CUDA 3.2, with addresses and sizes of 32 bits. Each converts and calls the
// newest. An allocation that does not lie in the low 4 GiB cannot be told in them and is given
// back.
#include "driver/memory.h"
#include "api_impl.h"

#include <stdint.h>

static CUresult
narrow(CUdeviceptr p, CUdeviceptr_v1 *out)
{
    if (p > UINT32_MAX) {
        pw_cuMemFree_v2(p);
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "memory below 4 GiB: use the call's _v2 form");
    }
    *out = (CUdeviceptr_v1)p;
    return CUDA_SUCCESS;
}

static unsigned
saturate(size_t n)
{
    return n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
}

CUresult
pw_cuMemAlloc(CUdeviceptr_v1 *out, unsigned size)
{
    CUdeviceptr p;
    CUresult r = out ? pw_cuMemAlloc_v2(&p, size) : CUDA_ERROR_INVALID_VALUE;
    return r ? r : narrow(p, out);
}

CUresult
pw_cuMemAllocPitch(CUdeviceptr_v1 *out, unsigned *pitch, unsigned width, unsigned height,
                   unsigned element)
{
    CUdeviceptr p;
    size_t row;
    CUresult r = out && pitch ? pw_cuMemAllocPitch_v2(&p, &row, width, height, element)
                              : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        r = narrow(p, out);
    if (!r)
        *pitch = saturate(row);
    return r;
}

CUresult
pw_cuMemFree(CUdeviceptr_v1 p)
{
    return pw_cuMemFree_v2(p);
}

CUresult
pw_cuMemGetInfo(unsigned *free_bytes, unsigned *total)
{
    size_t f, t;
    CUresult r = pw_cuMemGetInfo_v2(&f, &t);
    if (!r && free_bytes)
        *free_bytes = saturate(f);
    if (!r && total)
        *total = saturate(t);
    return r;
}

CUresult
pw_cuMemGetAddressRange(CUdeviceptr_v1 *base, unsigned *size, CUdeviceptr_v1 p)
{
    CUdeviceptr b;
    size_t n;
    CUresult r = pw_cuMemGetAddressRange_v2(&b, &n, p);
    if (!r && base)
        *base = (CUdeviceptr_v1)b;
    if (!r && size)
        *size = saturate(n);
    return r;
}

CUresult
pw_cuMemAllocHost(void **out, unsigned size)
{
    return pw_cuMemAllocHost_v2(out, size);
}

CUresult
pw_cuMemHostGetDevicePointer(CUdeviceptr_v1 *out, void *p, unsigned flags)
{
    CUdeviceptr d;
    CUresult r = out ? pw_cuMemHostGetDevicePointer_v2(&d, p, flags) : CUDA_ERROR_INVALID_VALUE;
    if (!r && d > UINT32_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "an address above 4 GiB: use the call's _v2 form");
    if (!r)
        *out = (CUdeviceptr_v1)d;
    return r;
}

// ---- copies ---------------------------------------------------------------
CUresult
pw_cuMemcpyHtoD(CUdeviceptr_v1 dst, const void *src, unsigned size)
{
    return pw_cuMemcpyHtoD_v2(dst, src, size);
}

CUresult
pw_cuMemcpyHtoDAsync(CUdeviceptr_v1 dst, const void *src, unsigned size, CUstream stream)
{
    return pw_cuMemcpyHtoDAsync_v2(dst, src, size, stream);
}

CUresult
pw_cuMemcpyDtoH(void *dst, CUdeviceptr_v1 src, unsigned size)
{
    return pw_cuMemcpyDtoH_v2(dst, src, size);
}

CUresult
pw_cuMemcpyDtoHAsync(void *dst, CUdeviceptr_v1 src, unsigned size, CUstream stream)
{
    return pw_cuMemcpyDtoHAsync_v2(dst, src, size, stream);
}

CUresult
pw_cuMemcpyDtoD(CUdeviceptr_v1 dst, CUdeviceptr_v1 src, unsigned size)
{
    return pw_cuMemcpyDtoD_v2(dst, src, size);
}

CUresult
pw_cuMemcpyDtoDAsync(CUdeviceptr_v1 dst, CUdeviceptr_v1 src, unsigned size, CUstream stream)
{
    return pw_cuMemcpyDtoDAsync_v2(dst, src, size, stream);
}

CUresult
pw_cuMemcpyDtoA(CUarray dst, unsigned offset, CUdeviceptr_v1 src, unsigned size)
{
    return pw_cuMemcpyDtoA_v2(dst, offset, src, size);
}

CUresult
pw_cuMemcpyAtoD(CUdeviceptr_v1 dst, CUarray src, unsigned offset, unsigned size)
{
    return pw_cuMemcpyAtoD_v2(dst, src, offset, size);
}

CUresult
pw_cuMemcpyHtoA(CUarray dst, unsigned offset, const void *src, unsigned size)
{
    return pw_cuMemcpyHtoA_v2(dst, offset, src, size);
}

CUresult
pw_cuMemcpyHtoAAsync(CUarray dst, unsigned offset, const void *src, unsigned size, CUstream stream)
{
    return pw_cuMemcpyHtoAAsync_v2(dst, offset, src, size, stream);
}

CUresult
pw_cuMemcpyAtoH(void *dst, CUarray src, unsigned offset, unsigned size)
{
    return pw_cuMemcpyAtoH_v2(dst, src, offset, size);
}

CUresult
pw_cuMemcpyAtoHAsync(void *dst, CUarray src, unsigned offset, unsigned size, CUstream stream)
{
    return pw_cuMemcpyAtoHAsync_v2(dst, src, offset, size, stream);
}

CUresult
pw_cuMemcpyAtoA(CUarray dst, unsigned dst_offset, CUarray src, unsigned src_offset, unsigned size)
{
    return pw_cuMemcpyAtoA_v2(dst, dst_offset, src, src_offset, size);
}

static CUDA_MEMCPY2D
widen_2d(const CUDA_MEMCPY2D_v1 *p)
{
    return (CUDA_MEMCPY2D){p->srcXInBytes, p->srcY,          p->srcMemoryType, p->srcHost,
                           p->srcDevice,   p->srcArray,      p->srcPitch,      p->dstXInBytes,
                           p->dstY,        p->dstMemoryType, p->dstHost,       p->dstDevice,
                           p->dstArray,    p->dstPitch,      p->WidthInBytes,  p->Height};
}

static CUDA_MEMCPY3D
widen_3d(const CUDA_MEMCPY3D_v1 *p)
{
    return (CUDA_MEMCPY3D){
        p->srcXInBytes,   p->srcY,        p->srcZ,         p->srcLOD,   p->srcMemoryType,
        p->srcHost,       p->srcDevice,   p->srcArray,     NULL,        p->srcPitch,
        p->srcHeight,     p->dstXInBytes, p->dstY,         p->dstZ,     p->dstLOD,
        p->dstMemoryType, p->dstHost,     p->dstDevice,    p->dstArray, NULL,
        p->dstPitch,      p->dstHeight,   p->WidthInBytes, p->Height,   p->Depth};
}

CUresult
pw_cuMemcpy2D(const CUDA_MEMCPY2D_v1 *p)
{
    return p ? pw_cuMemcpy2D_v2((CUDA_MEMCPY2D[]){widen_2d(p)}) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
pw_cuMemcpy2DUnaligned(const CUDA_MEMCPY2D_v1 *p)
{
    return p ? pw_cuMemcpy2DUnaligned_v2((CUDA_MEMCPY2D[]){widen_2d(p)}) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
pw_cuMemcpy3D(const CUDA_MEMCPY3D_v1 *p)
{
    return p ? pw_cuMemcpy3D_v2((CUDA_MEMCPY3D[]){widen_3d(p)}) : CUDA_ERROR_INVALID_VALUE;
}

CUresult
pw_cuMemcpy2DAsync(const CUDA_MEMCPY2D_v1 *p, CUstream stream)
{
    return p ? pw_cuMemcpy2DAsync_v2((CUDA_MEMCPY2D[]){widen_2d(p)}, stream)
             : CUDA_ERROR_INVALID_VALUE;
}

CUresult
pw_cuMemcpy3DAsync(const CUDA_MEMCPY3D_v1 *p, CUstream stream)
{
    return p ? pw_cuMemcpy3DAsync_v2((CUDA_MEMCPY3D[]){widen_3d(p)}, stream)
             : CUDA_ERROR_INVALID_VALUE;
}

// ---- fills ----------------------------------------------------------------
CUresult
pw_cuMemsetD8(CUdeviceptr_v1 dst, unsigned char v, unsigned n)
{
    return pw_cuMemsetD8_v2(dst, v, n);
}

CUresult
pw_cuMemsetD2D8(CUdeviceptr_v1 dst, unsigned pitch, unsigned char v, unsigned width,
                unsigned height)
{
    return pw_cuMemsetD2D8_v2(dst, pitch, v, width, height);
}

CUresult
pw_cuMemsetD16(CUdeviceptr_v1 dst, unsigned short v, unsigned n)
{
    return pw_cuMemsetD16_v2(dst, v, n);
}

CUresult
pw_cuMemsetD2D16(CUdeviceptr_v1 dst, unsigned pitch, unsigned short v, unsigned width,
                 unsigned height)
{
    return pw_cuMemsetD2D16_v2(dst, pitch, v, width, height);
}

CUresult
pw_cuMemsetD32(CUdeviceptr_v1 dst, unsigned v, unsigned n)
{
    return pw_cuMemsetD32_v2(dst, v, n);
}

CUresult
pw_cuMemsetD2D32(CUdeviceptr_v1 dst, unsigned pitch, unsigned v, unsigned width, unsigned height)
{
    return pw_cuMemsetD2D32_v2(dst, pitch, v, width, height);
}

// ---- arrays ---------------------------------------------------------------
CUresult
pw_cuArrayCreate(CUarray *out, const CUDA_ARRAY_DESCRIPTOR_v1 *d)
{
    if (!d)
        return fail(CUDA_ERROR_INVALID_VALUE, "the descriptor is NULL");
    return pw_cuArrayCreate_v2(
        out, &(CUDA_ARRAY_DESCRIPTOR){d->Width, d->Height, d->Format, d->NumChannels});
}

CUresult
pw_cuArray3DCreate(CUarray *out, const CUDA_ARRAY3D_DESCRIPTOR_v1 *d)
{
    if (!d)
        return fail(CUDA_ERROR_INVALID_VALUE, "the descriptor is NULL");
    return pw_cuArray3DCreate_v2(out,
                                 &(CUDA_ARRAY3D_DESCRIPTOR){d->Width, d->Height, d->Depth,
                                                            d->Format, d->NumChannels, d->Flags});
}

CUresult
pw_cuArrayGetDescriptor(CUDA_ARRAY_DESCRIPTOR_v1 *out, CUarray a)
{
    CUDA_ARRAY_DESCRIPTOR d;
    CUresult r = out ? pw_cuArrayGetDescriptor_v2(&d, a) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *out = (CUDA_ARRAY_DESCRIPTOR_v1){saturate(d.Width), saturate(d.Height), d.Format,
                                          d.NumChannels};
    return r;
}

CUresult
pw_cuArray3DGetDescriptor(CUDA_ARRAY3D_DESCRIPTOR_v1 *out, CUarray a)
{
    CUDA_ARRAY3D_DESCRIPTOR d;
    CUresult r = out ? pw_cuArray3DGetDescriptor_v2(&d, a) : CUDA_ERROR_INVALID_VALUE;
    if (!r)
        *out =
            (CUDA_ARRAY3D_DESCRIPTOR_v1){saturate(d.Width), saturate(d.Height), saturate(d.Depth),
                                         d.Format,          d.NumChannels,      d.Flags};
    return r;
}
