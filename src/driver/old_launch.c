// SPDX-License-Identifier: MIT
// The launch calls of before CUDA 4: block shape, shared memory and parameters are set one by one
// and kept with the function.
#include "driver/module.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

enum { OLD_PARAM_SIZE = 4096 }; // bytes

struct old_launch {
    uint32_t block[3];
    uint32_t dynamic_shared;
    size_t size; // bytes of params that count
    char params[OLD_PARAM_SIZE];
};

// The function and its state; not locked, as these calls never were safe from several threads.
static CUresult
state_of(CUfunction handle, struct function **f)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        r = function_resolve(handle, c, f);
    if (r != CUDA_SUCCESS)
        return r;
    if (!(*f)->old)
        (*f)->old = calloc(1, sizeof *(*f)->old);
    return (*f)->old ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}

CUresult
pw_cuFuncSetBlockShape(CUfunction func, int x, int y, int z)
{
    struct function *f;
    CUresult r = state_of(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    if (x <= 0 || y <= 0 || z <= 0)
        return fail(CUDA_ERROR_INVALID_VALUE, "block %d x %d x %d", x, y, z);
    f->old->block[0] = (uint32_t)x;
    f->old->block[1] = (uint32_t)y;
    f->old->block[2] = (uint32_t)z;
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncSetSharedSize(CUfunction func, unsigned bytes)
{
    struct function *f;
    CUresult r = state_of(func, &f);
    if (r == CUDA_SUCCESS)
        f->old->dynamic_shared = bytes;
    return r;
}

CUresult
pw_cuParamSetSize(CUfunction func, unsigned bytes)
{
    struct function *f;
    CUresult r = state_of(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    if (bytes > OLD_PARAM_SIZE)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u bytes of parameters", bytes);
    f->old->size = bytes;
    return CUDA_SUCCESS;
}

CUresult
pw_cuParamSetv(CUfunction func, int offset, void *p, unsigned bytes)
{
    struct function *f;
    CUresult r = state_of(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    if (offset < 0 || offset > OLD_PARAM_SIZE || bytes > OLD_PARAM_SIZE - (unsigned)offset ||
        (bytes && !p))
        return fail(CUDA_ERROR_INVALID_VALUE, "%u bytes at offset %d", bytes, offset);
    if (bytes)
        memcpy(f->old->params + offset, p, bytes);
    return CUDA_SUCCESS;
}

CUresult
pw_cuParamSeti(CUfunction func, int offset, unsigned value)
{
    return pw_cuParamSetv(func, offset, &value, sizeof value);
}

CUresult
pw_cuParamSetf(CUfunction func, int offset, float value)
{
    return pw_cuParamSetv(func, offset, &value, sizeof value);
}

CUresult
pw_cuLaunchGridAsync(CUfunction func, int width, int height, CUstream stream)
{
    struct function *f;
    CUresult r = state_of(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    if (width <= 0 || height <= 0)
        return fail(CUDA_ERROR_INVALID_VALUE, "grid %d x %d", width, height);
    struct old_launch *o = f->old;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, o->params, CU_LAUNCH_PARAM_BUFFER_SIZE,
                     &o->size, CU_LAUNCH_PARAM_END};
    return pw_cuLaunchKernel(func, (unsigned)width, (unsigned)height, 1, o->block[0], o->block[1],
                             o->block[2], o->dynamic_shared, stream, NULL, extra);
}

CUresult
pw_cuLaunchGrid(CUfunction func, int width, int height)
{
    return pw_cuLaunchGridAsync(func, width, height, NULL);
}

CUresult
pw_cuLaunch(CUfunction func)
{
    return pw_cuLaunchGrid(func, 1, 1);
}
