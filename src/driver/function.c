// SPDX-License-Identifier: MIT
// Functions: kernels of a module in a context.
#include "driver/module.h"
#include "api_impl.h"

#include <stdlib.h>

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")
// The function of a CUfunction, or of a CUkernel given as one, in the current context.
#define NEED_FUNCTION(f, handle)                                                                   \
    struct function *f;                                                                            \
    CUresult need_ = of_handle(handle, &f);                                                        \
    if (need_ != CUDA_SUCCESS)                                                                     \
    return need_

void
function_free(struct function *f)
{
    object_retire(f);
    for (size_t i = 0; i < vec_len(f->kernels); i++)
        f->mod->ctx->dev->be->kernel_free(f->kernels[i]);
    vec_free(f->kernels);
    pthread_mutex_destroy(&f->lock);
    free(f->old);
    object_free(f);
}

CUresult
function_resolve(CUfunction handle, struct context *c, struct function **out)
{
    struct function *f = object_get(handle, OBJ_FUNCTION);
    if (f) {
        if (f->mod->ctx != c)
            return fail(CUDA_ERROR_INVALID_HANDLE, "%s is a function of another context",
                        f->func->sym->name);
        *out = f;
        return CUDA_SUCCESS;
    }
    struct kernel *k = object_get(handle, OBJ_KERNEL);
    if (!k)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no function", (void *)handle);
    struct module *m;
    CUresult r = library_module(k->lib, c, &m);
    if (r == CUDA_SUCCESS)
        *out = module_function(m, k->index);
    return r;
}

static CUresult
of_handle(CUfunction handle, struct function **out)
{
    struct function *f = object_get(handle, OBJ_FUNCTION);
    if (f) {
        *out = f;
        return CUDA_SUCCESS;
    }
    struct context *c;
    CUresult r = ctx_need(&c);
    return r == CUDA_SUCCESS ? function_resolve(handle, c, out) : r;
}

CUresult
function_attribute(struct function *f, CUfunction_attribute a, int *value)
{
    if ((unsigned)a < FUNC_ATTRIBUTES) {
        *value = f->attribute[a];
        if (*value == ATTRIBUTE_UNSET && f->kernel)
            *value = f->kernel->attribute[a];
        if (*value != ATTRIBUTE_UNSET)
            return CUDA_SUCCESS;
    }
    return kernel_default_attribute(f->mod->ctx->dev, f->func, &f->info, a, value);
}

CUresult
pw_cuFuncGetAttribute(int *value, CUfunction_attribute a, CUfunction func)
{
    NEED(value);
    NEED_FUNCTION(f, func);
    CUresult r = function_attribute(f, a, value);
    return r == CUDA_SUCCESS ? r : fail(r, "attribute %d", a);
}

CUresult
pw_cuFuncSetAttribute(CUfunction func, CUfunction_attribute a, int value)
{
    NEED_FUNCTION(f, func);
    CUresult r = kernel_check_attribute(f->mod->ctx->dev, &f->info, a, value);
    if (r == CUDA_SUCCESS)
        f->attribute[a] = value;
    return r;
}

CUresult
pw_cuFuncSetCacheConfig(CUfunction func, CUfunc_cache config)
{
    NEED_FUNCTION(f, func);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "config %d", config);
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncSetSharedMemConfig(CUfunction func, CUsharedconfig config)
{
    NEED_FUNCTION(f, func);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return fail(CUDA_ERROR_INVALID_VALUE, "config %d", config);
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncGetModule(CUmodule *out, CUfunction func)
{
    NEED(out);
    NEED_FUNCTION(f, func);
    *out = (CUmodule)f->mod;
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncGetName(const char **name, CUfunction func)
{
    NEED(name);
    NEED_FUNCTION(f, func);
    *name = f->func->sym->name;
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncGetParamInfo(CUfunction func, size_t index, size_t *offset, size_t *size)
{
    NEED(offset);
    NEED_FUNCTION(f, func);
    return kernel_param(f->func, index, offset, size);
}

CUresult
pw_cuFuncIsLoaded(CUfunctionLoadingState *state, CUfunction func)
{
    NEED(state);
    NEED_FUNCTION(f, func);
    bool compiled = __atomic_load_n(&f->compiled, __ATOMIC_ACQUIRE);
    *state = compiled ? CU_FUNCTION_LOADING_STATE_LOADED : CU_FUNCTION_LOADING_STATE_UNLOADED;
    return CUDA_SUCCESS;
}

CUresult
pw_cuFuncLoad(CUfunction func)
{
    NEED_FUNCTION(f, func);
    return function_compile(f);
}
