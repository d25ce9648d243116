// SPDX-License-Identifier: MIT
// Libraries and their kernels: code without a context.
#include "api.h"
#include "ptx.h"

static const char text[] = PTX_HEAD PTX_NOTHING PTX_FILL PTX_READ ".visible .global .attribute(.managed) .align 4 .u32 shared_number = 77;\n";

static CUlibrary
library(void)
{
    CUlibrary l = NULL;
    succeed(cuLibraryLoadData, &l, text, NULL, NULL, 0, NULL, NULL, 0);
    return l;
}

static CUkernel
kernel(CUlibrary l, const char *name)
{
    CUkernel k = NULL;
    succeed(cuLibraryGetKernel, &k, l, name);
    return k;
}

static void
load(void)
{
    CUlibrary l = NULL, of = NULL;
    CUlibraryOption option[] = {CU_LIBRARY_BINARY_IS_PRESERVED};
    void *value[] = {(void *)1};
    succeed(cuLibraryLoadData, &l, text, NULL, NULL, 0, option, value, 1);
    CUkernel k = kernel(l, "fill"), same = kernel(l, "fill");
    ok(k && k == same, "asked twice the kernel is the same");
    const char *name = NULL;
    succeed(cuKernelGetName, &name, k);
    ok(name && !strcmp(name, "fill"), "name %s", name ? name : "(null)");
    succeed(cuKernelGetLibrary, &of, k);
    ok(of == l, "of another library");
    succeed(cuLibraryUnload, l);
}

static void
load_misuse(void)
{
    CUlibrary l = NULL;
    CUkernel k = NULL;
    unsigned n;
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData, NULL, text, NULL, NULL, 0, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData, &l, NULL, NULL, NULL, 0, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData, &l, text, NULL, NULL, 1, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadData, &l, text, NULL, NULL, 0, NULL, NULL, 1);
    expect(CUDA_ERROR_INVALID_IMAGE, cuLibraryLoadData, &l, "neither PTX nor a binary", NULL, NULL, 0, NULL, NULL, 0);
    expect(CUDA_ERROR_FILE_NOT_FOUND, cuLibraryLoadFromFile, &l, "/nonexistent/file.ptx", NULL, NULL, 0, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryLoadFromFile, &l, NULL, NULL, NULL, 0, NULL, NULL, 0);
    ok(!l, "a refused call wrote a library");
    l = library();
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetKernel, &k, l, "absent");
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernel, NULL, l, "fill");
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernel, &k, l, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel, &k, NULL, "fill");
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernelCount, &n, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryGetKernelCount, NULL, l);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuLibraryUnload, NULL);
}

static void
file(void)
{
    char path[] = "/tmp/api_library_XXXXXX";
    int fd = mkstemp(path);
    CUlibrary l = NULL;
    ok(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "no file written");
    close(fd);
    succeed(cuLibraryLoadFromFile, &l, path, NULL, NULL, 0, NULL, NULL, 0);
    ok(kernel(l, "read"), "no kernel in the file");
    unlink(path);
    succeed(cuLibraryUnload, l);
}

static void
jit_options(void)
{
    char error[1024];
    static const char wrong[] = PTX_HEAD ".visible .entry bad()\n{\n\tnonsense;\n}\n";
    CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *v[] = {error, (void *)sizeof error};
    CUlibrary l = NULL;
    memset(error, 0, sizeof error);
    CUresult r = CALL(cuLibraryLoadData, &l, wrong, o, v, 2, NULL, NULL, 0);
    if (r == CUDA_SUCCESS) { // loaded lazily: the error comes with the first kernel
        CUkernel k;
        expect(CUDA_ERROR_INVALID_PTX, cuLibraryGetKernel, &k, l, "bad");
    } else {
        eq(r, CUDA_ERROR_INVALID_PTX);
        ok(strnlen(error, sizeof error) > 0, "no log");
    }
}

static void
launch(void)
{
    CUlibrary l = library();
    CUkernel k = kernel(l, "fill");
    CUfunction f = NULL;
    CUdeviceptr p = 0;
    unsigned v = 21, out = 0;
    unsigned long long n = 32;
    void *args[] = {&p, &v, &n};
    succeed(cuMemAlloc_v2, &p, 128);
    succeed(cuLaunchKernel, (CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &out, p + 124, 4);
    eq(out, 21);
    succeed(cuKernelGetFunction, &f, k);
    v = 22;
    succeed(cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &out, p + 124, 4);
    eq(out, 22);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetFunction, NULL, k);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetFunction, &f, NULL);
    CUcontext c = NULL;
    CUfunction g = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    succeed(cuKernelGetFunction, &g, k);
    ok(g && g != f, "the function of another context is another");
    succeed(cuMemAlloc_v2, &p, 128);
    succeed(cuLaunchKernel, (CUfunction)k, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &out, p + 124, 4);
    eq(out, 22);
    succeed(cuCtxDestroy_v2, c);
    succeed(cuLibraryUnload, l);
}

static void
modules(void)
{
    CUlibrary l = library();
    CUmodule m = NULL, again = NULL;
    CUfunction f = NULL, g = NULL;
    succeed(cuLibraryGetModule, &m, l);
    succeed(cuLibraryGetModule, &again, l);
    ok(m && m == again, "asked twice the module is the same");
    succeed(cuModuleGetFunction, &f, m, "fill");
    succeed(cuKernelGetFunction, &g, kernel(l, "fill"));
    ok(f == g, "the module's function is not the kernel's");
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryGetModule, NULL, l);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetModule, &m, NULL);
    expect(CUDA_ERROR_NOT_PERMITTED, cuModuleUnload, m);
}

static void
variables(void)
{
    CUlibrary l = library();
    CUdeviceptr p = 0, q = 0;
    size_t n = 0;
    unsigned v = 0;
    void *unified = NULL;
    succeed(cuLibraryGetGlobal, &p, &n, l, "numbers");
    eq(n, 16);
    succeed(cuMemcpyDtoH_v2, &v, p + 8, 4);
    eq(v, 33);
    succeed(cuLibraryGetManaged, &q, &n, l, "shared_number");
    eq(n, 4);
    succeed(cuCtxSynchronize, );
    eq(*(unsigned *)(uintptr_t)q, 77);
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetGlobal, &p, &n, l, "absent");
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged, &p, &n, l, "absent");
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetManaged, &p, &n, l, "numbers");
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryGetGlobal, &p, &n, l, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetGlobal, &p, &n, NULL, "numbers");
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetManaged, &p, &n, NULL, "numbers");
    expect(CUDA_ERROR_NOT_FOUND, cuLibraryGetUnifiedFunction, &unified, l, "absent");
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetUnifiedFunction, &unified, NULL, "fill");
}

static void
enumerate(void)
{
    CUlibrary l = library();
    unsigned n = 0;
    CUkernel k[4] = {NULL};
    const char *name;
    int seen = 0;
    succeed(cuLibraryGetKernelCount, &n, l);
    eq(n, 3);
    succeed(cuLibraryEnumerateKernels, k, 3, l);
    for (int i = 0; i < 3; i++) {
        name = NULL;
        succeed(cuKernelGetName, &name, k[i]);
        seen |= !name ? 0 : !strcmp(name, "nothing") ? 1 : !strcmp(name, "fill") ? 2 : !strcmp(name, "read") ? 4 : 8;
    }
    eq(seen, 7);
    memset(k, 0, sizeof k);
    succeed(cuLibraryEnumerateKernels, k, 1, l);
    ok(k[0] && !k[1], "one was asked for");
    expect(CUDA_ERROR_INVALID_VALUE, cuLibraryEnumerateKernels, NULL, 3, l);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryEnumerateKernels, k, 3, NULL);
}

static void
kernel_attributes(void)
{
    CUlibrary l = library();
    CUkernel k = kernel(l, "fill");
    CUfunction f = NULL;
    int v = -1;
    size_t offset = 99, size = 99;
    succeed(cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, device);
    eq(v, 1024);
    succeed(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000, k, device);
    succeed(cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, k, device);
    eq(v, 60000);
    succeed(cuKernelGetFunction, &f, k);
    succeed(cuFuncGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, f);
    eq(v, 60000);
    succeed(cuKernelSetCacheConfig, k, CU_FUNC_CACHE_PREFER_L1, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelSetCacheConfig, k, (CUfunc_cache)9, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetAttribute, NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, k, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX, k, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_NUM_REGS, k, 99);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_NUM_REGS, 3, k, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24, k, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, k, 99);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, NULL, device);
    succeed(cuKernelGetParamInfo, k, 2, &offset, &size);
    eq(offset, 16);
    eq(size, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo, k, 3, &offset, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetParamInfo, k, 0, NULL, &size);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetParamInfo, NULL, 0, &offset, &size);
    const char *name;
    CUlibrary of;
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetName, NULL, k);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName, &name, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuKernelGetLibrary, NULL, k);
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetLibrary, &of, NULL);
}

// Libraries need no context.
static void
without_context(void)
{
    CUlibrary l = NULL;
    CUkernel k = NULL;
    CUfunction f;
    unsigned n = 0;
    int v = 0;
    succeed(cuInit, 0);
    succeed(cuLibraryLoadData, &l, text, NULL, NULL, 0, NULL, NULL, 0);
    succeed(cuLibraryGetKernel, &k, l, "fill");
    succeed(cuLibraryGetKernelCount, &n, l);
    eq(n, 3);
    succeed(cuKernelGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, k, 0);
    eq(v, 1024);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuKernelGetFunction, &f, k);
    succeed(cuLibraryUnload, l);
}

static void
unloaded(void)
{
    CUlibrary l = library();
    CUkernel k = kernel(l, "fill");
    succeed(cuLibraryUnload, l);
    if (on_nvidia()) // follows the stale pointer
        return;
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryGetKernel, &k, l, "fill");
    expect(CUDA_ERROR_INVALID_HANDLE, cuLibraryUnload, l);
    const char *name;
    expect(CUDA_ERROR_INVALID_HANDLE, cuKernelGetName, &name, k);
}

API_MAIN(CASE(load), CASE(load_misuse), CASE(file), CASE(jit_options), CASE(launch), CASE(modules), CASE(variables), CASE(enumerate), CASE(kernel_attributes),
    RAW(without_context), CASE(unloaded))
