// SPDX-License-Identifier: MIT
// Kernels of libraries: handles without a context.
#include "driver/module.h"
#include "api_impl.h"

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")
#define NEED_KERNEL(k, handle)                                                                     \
    struct kernel *k = object_get(handle, OBJ_KERNEL);                                             \
    if (!k)                                                                                        \
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no kernel", (void *)handle)
#define NEED_DEVICE(d, n)                                                                          \
    struct device *d = device_get(n);                                                              \
    if (!d)                                                                                        \
    return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", n, process.ndevices)

static const struct ptx_kernel_info *
kernel_info(struct kernel *k)
{
    pthread_mutex_lock(&k->lib->lock);
    if (!k->have_info)
        ptx_kernel_info(k->lib->code->program, k->func, &k->info);
    k->have_info = true;
    pthread_mutex_unlock(&k->lib->lock);
    return &k->info;
}

CUresult
pw_cuKernelGetFunction(CUfunction *out, CUkernel kernel)
{
    NEED(out);
    NEED_KERNEL(k, kernel);
    struct context *c;
    struct function *f;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        r = function_resolve((CUfunction)kernel, c, &f);
    if (r == CUDA_SUCCESS)
        *out = (CUfunction)f;
    return r;
}

CUresult
pw_cuKernelGetLibrary(CUlibrary *out, CUkernel kernel)
{
    NEED(out);
    NEED_KERNEL(k, kernel);
    *out = (CUlibrary)k->lib;
    return CUDA_SUCCESS;
}

CUresult
pw_cuKernelGetName(const char **name, CUkernel kernel)
{
    NEED(name);
    NEED_KERNEL(k, kernel);
    *name = k->func->sym->name;
    return CUDA_SUCCESS;
}

CUresult
pw_cuKernelGetAttribute(int *value, CUfunction_attribute a, CUkernel kernel, CUdevice dev)
{
    NEED(value);
    NEED_KERNEL(k, kernel);
    NEED_DEVICE(d, dev);
    if ((unsigned)a < FUNC_ATTRIBUTES && k->attribute[a] != ATTRIBUTE_UNSET) {
        *value = k->attribute[a];
        return CUDA_SUCCESS;
    }
    return kernel_default_attribute(d, k->func, kernel_info(k), a, value);
}

// Functions made of the kernel follow what is set here, until it is set for them.
static void
forget_in_functions(struct kernel *k, CUfunction_attribute a)
{
    pthread_mutex_lock(&k->lib->lock);
    for (size_t m = 0; m < vec_len(k->lib->modules); m++) {
        struct function *f =
            __atomic_load_n(&k->lib->modules[m]->functions[k->index], __ATOMIC_ACQUIRE);
        if (f)
            f->attribute[a] = ATTRIBUTE_UNSET;
    }
    pthread_mutex_unlock(&k->lib->lock);
}

CUresult
pw_cuKernelSetAttribute(CUfunction_attribute a, int value, CUkernel kernel, CUdevice dev)
{
    NEED_KERNEL(k, kernel);
    NEED_DEVICE(d, dev);
    CUresult r = kernel_check_attribute(d, kernel_info(k), a, value);
    if (r != CUDA_SUCCESS)
        return r;
    k->attribute[a] = value;
    forget_in_functions(k, a);
    return CUDA_SUCCESS;
}

CUresult
pw_cuKernelSetCacheConfig(CUkernel kernel, CUfunc_cache config, CUdevice dev)
{
    NEED_KERNEL(k, kernel);
    NEED_DEVICE(d, dev);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "config %d on device %d", config, d->ordinal);
    return CUDA_SUCCESS;
}

CUresult
pw_cuKernelGetParamInfo(CUkernel kernel, size_t index, size_t *offset, size_t *size)
{
    NEED(offset);
    NEED_KERNEL(k, kernel);
    return kernel_param(k->func, index, offset, size);
}
