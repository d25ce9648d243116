// SPDX-License-Identifier: MIT
// Copies of rectangles: boxes of one slice.
#include "driver/memory.h"
#include "api_impl.h"

static CUresult
copy2d(const CUDA_MEMCPY2D *p, CUstream stream, enum submit_mode mode)
{
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "the copy's description is NULL");
    CUDA_MEMCPY3D q = {.srcXInBytes = p->srcXInBytes,
                       .srcY = p->srcY,
                       .srcMemoryType = p->srcMemoryType,
                       .srcHost = p->srcHost,
                       .srcDevice = p->srcDevice,
                       .srcArray = p->srcArray,
                       .srcPitch = p->srcPitch,
                       .dstXInBytes = p->dstXInBytes,
                       .dstY = p->dstY,
                       .dstMemoryType = p->dstMemoryType,
                       .dstHost = p->dstHost,
                       .dstDevice = p->dstDevice,
                       .dstArray = p->dstArray,
                       .dstPitch = p->dstPitch,
                       .WidthInBytes = p->WidthInBytes,
                       .Height = p->Height,
                       .Depth = 1};
    struct command *c;
    CUresult r = copy3d_command(&q, &c);
    return r ? r : copy_submit(stream, c, mode);
}

CUresult
pw_cuMemcpy2D_v2(const CUDA_MEMCPY2D *p)
{
    return copy2d(p, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpy2DUnaligned_v2(const CUDA_MEMCPY2D *p)
{
    return copy2d(p, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *p, CUstream stream)
{
    return copy2d(p, stream, SUBMIT_ASYNC);
}
