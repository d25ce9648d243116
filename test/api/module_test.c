// SPDX-License-Identifier: MIT
// Modules: loading with and without options, logs of the compiler, functions and their attributes, global variables.
#include "api.h"
#include "ptx.h"

static const char text[] = PTX_HEAD PTX_NOTHING PTX_FILL PTX_READ;
static const char wrong[] = PTX_HEAD ".visible .entry bad()\n{\n\t.reg .b32 %r1;\n\tadd.u32 %r1, %r1;\n\tret;\n}\n";
static const char unresolved[] = PTX_HEAD ".extern .func away();\n.visible .entry calls()\n{\n\tcall away;\n\tret;\n}\n";
static const char future[] = ".version 99.0\n.target sm_52\n.address_size 64\n" PTX_NOTHING;
static const char future_target[] = ".version 7.0\n.target sm_999\n.address_size 64\n" PTX_NOTHING;

static CUdeviceptr
alloc(size_t n)
{
    CUdeviceptr p = 0;
    succeed(cuMemAlloc_v2, &p, n);
    return p;
}

static void
load(void)
{
    CUmodule m = api_module(text), again = api_module(text);
    ok(m != again, "loaded twice it is one module");
    CUfunction f = api_function(m, "fill"), g = api_function(again, "fill"), same = api_function(m, "fill");
    ok(f && g && f != g, "functions of two modules are different");
    ok(f == same, "asked twice the function is the same");
    CUdeviceptr p = alloc(400);
    unsigned v = 7, out[100] = {0};
    unsigned long long n = 100;
    void *args[] = {&p, &v, &n};
    succeed(cuLaunchKernel, f, 4, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, out, p, sizeof out);
    ok(out[0] == 7 && out[99] == 7, "the kernel did not run: %u, %u", out[0], out[99]);
    succeed(cuModuleUnload, m);
    v = 8;
    succeed(cuLaunchKernel, g, 4, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, out, p, sizeof out);
    eq(out[50], 8);
    succeed(cuModuleUnload, again);
    succeed(cuMemFree_v2, p);
}

static void
load_misuse(void)
{
    CUmodule m = NULL;
    CUfunction f = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData, NULL, text);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadData, &m, NULL);
    expect(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData, &m, "neither PTX nor a binary");
    expect(CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData, &m, "");
    expect(CUDA_ERROR_INVALID_PTX, cuModuleLoadData, &m, wrong);
    expect2(CUDA_ERROR_INVALID_PTX, CUDA_ERROR_INVALID_IMAGE, cuModuleLoadData, &m, unresolved);
    todo("versions above ours are tried") expect(CUDA_ERROR_UNSUPPORTED_PTX_VERSION, cuModuleLoadData, &m, future);
    todo("unknown targets are tried") expect2(CUDA_ERROR_INVALID_PTX, CUDA_ERROR_NO_BINARY_FOR_GPU, cuModuleLoadData, &m, future_target);
    expect(CUDA_ERROR_FILE_NOT_FOUND, cuModuleLoad, &m, "/nonexistent/file.ptx");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoad, &m, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoad, NULL, "/nonexistent/file.ptx");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadFatBinary, &m, NULL);
    todo("see above") ok(!m, "a refused call wrote a module");
    m = api_module(text);
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &f, m, "absent");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction, NULL, m, "fill");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunction, &f, m, NULL);
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetFunction, &f, m, "");
    ok(!f, "a refused call wrote a function");
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction, &f, NULL, "fill");
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, NULL);
}

static void
file(void)
{
    char path[] = "/tmp/api_module_XXXXXX";
    int fd = mkstemp(path);
    CUmodule m = NULL;
    ok(write(fd, text, sizeof text - 1) == (ssize_t)sizeof text - 1, "no file written");
    close(fd);
    succeed(cuModuleLoad, &m, path);
    ok(api_function(m, "nothing"), "no function in the file");
    unlink(path);
    succeed(cuModuleUnload, m);
}

static void
options(void)
{
    char info[4096] = "", error[4096] = "";
    float ms = -1;
    CUjit_option o[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_MAX_REGISTERS, CU_JIT_LOG_VERBOSE, CU_JIT_GENERATE_LINE_INFO, CU_JIT_WALL_TIME};
    void *v[] = {info, (void *)sizeof info, error, (void *)sizeof error, (void *)2, (void *)64, (void *)1, (void *)1, NULL};
    CUmodule m = NULL;
    (void)ms;
    succeed(cuModuleLoadDataEx, &m, text, 9, o, v);
    ok(api_function(m, "fill"), "no function");
    ok((size_t)v[1] < sizeof info, "the info log's size was not written: %zu", (size_t)v[1]);
    eq((size_t)v[3], strlen(error));
    eq(strlen(error), 0);
    succeed(cuModuleUnload, m);
    succeed(cuModuleLoadDataEx, &m, text, 0, NULL, NULL);
    succeed(cuModuleUnload, m);
}

static void
error_log(void)
{
    char error[2048], little[16];
    CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *v[] = {error, (void *)sizeof error};
    CUmodule m = NULL;
    memset(error, 'x', sizeof error);
    expect(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx, &m, wrong, 2, o, v);
    size_t n = strnlen(error, sizeof error);
    ok(n > 0 && n < sizeof error, "a log of %zu bytes", n);
    todo("the line is told as NAME:LINE") ok(strstr(error, "line 7"), "the log names no line: %.200s", n < sizeof error ? error : "");
    eq((size_t)v[1], n);
    memset(little, 'x', sizeof little);
    v[0] = little;
    v[1] = (void *)8;
    expect(CUDA_ERROR_INVALID_PTX, cuModuleLoadDataEx, &m, wrong, 2, o, v);
    ok(memchr(little, 0, 8), "a cut log has no end");
    eq(little[8], 'x');
}

static void
option_misuse(void)
{
    CUjit_option o = (CUjit_option)999;
    void *v = NULL;
    CUmodule m = NULL;
    todo("the option is not checked") expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx, &m, text, 1, &o, &v);
    o = CU_JIT_OPTIMIZATION_LEVEL;
    v = (void *)9;
    succeed(cuModuleLoadDataEx, &m, text, 1, &o, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx, &m, text, 1, NULL, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleLoadDataEx, &m, text, 1, &o, NULL);
}

static void
globals(void)
{
    CUmodule m = api_module(text);
    CUdeviceptr p = 0, q = 0, only = 0, out = alloc(4);
    size_t n = 0, k = 0;
    unsigned v[4] = {0}, sum = 0;
    void *args[] = {&out};
    succeed(cuModuleGetGlobal_v2, &p, &n, m, "numbers");
    eq(n, 16);
    succeed(cuMemcpyDtoH_v2, v, p, 16);
    ok(v[0] == 11 && v[3] == 44, "initial values %u, %u", v[0], v[3]);
    succeed(cuModuleGetGlobal_v2, &q, &k, m, "offset");
    eq(k, 4);
    succeed(cuLaunchKernel, api_function(m, "read"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &sum, out, 4);
    eq(sum, 1011);
    v[0] = 5;
    succeed(cuMemcpyHtoD_v2, p, v, 4);
    succeed(cuMemsetD32_v2, q, 2000, 1);
    succeed(cuLaunchKernel, api_function(m, "read"), 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &sum, out, 4);
    eq(sum, 2005);
    succeed(cuModuleGetGlobal_v2, &only, NULL, m, "numbers");
    ok(only == p, "another address");
    succeed(cuModuleGetGlobal_v2, NULL, &k, m, "numbers");
    todo("not refused") expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal_v2, NULL, NULL, m, "numbers");
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2, &p, &n, m, "absent");
    expect(CUDA_ERROR_NOT_FOUND, cuModuleGetGlobal_v2, &p, &n, m, "fill");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetGlobal_v2, &p, &n, m, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleGetGlobal_v2, &p, &n, NULL, "numbers");
}

static void
enumerate(void)
{
    CUmodule m = api_module(text);
    unsigned n = 0;
    CUfunction f[4] = {NULL};
    const char *name = NULL;
    int seen = 0;
    succeed(cuModuleGetFunctionCount, &n, m);
    eq(n, 3);
    succeed(cuModuleEnumerateFunctions, f, 3, m);
    for (int i = 0; i < 3; i++) {
        succeed(cuFuncGetName, &name, f[i]);
        seen |= !name ? 0 : !strcmp(name, "nothing") ? 1 : !strcmp(name, "fill") ? 2 : !strcmp(name, "read") ? 4 : 8;
    }
    eq(seen, 7);
    memset(f, 0, sizeof f);
    succeed(cuModuleEnumerateFunctions, f, 2, m);
    ok(f[1] && !f[2], "two were asked for");
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetFunctionCount, NULL, m);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleEnumerateFunctions, NULL, 3, m);
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunctionCount, &n, NULL);
}

static void
loading_mode(void)
{
    CUmoduleLoadingMode mode = (CUmoduleLoadingMode)0;
    CUfunctionLoadingState state = (CUfunctionLoadingState)9;
    CUmodule m = api_module(text);
    CUfunction f = api_function(m, "nothing");
    succeed(cuModuleGetLoadingMode, &mode);
    ok(mode == CU_MODULE_LAZY_LOADING || mode == CU_MODULE_EAGER_LOADING, "mode %d", (int)mode);
    expect(CUDA_ERROR_INVALID_VALUE, cuModuleGetLoadingMode, NULL);
    succeed(cuFuncIsLoaded, &state, f);
    ok(state == CU_FUNCTION_LOADING_STATE_LOADED || state == CU_FUNCTION_LOADING_STATE_UNLOADED, "state %d", (int)state);
    succeed(cuFuncLoad, f);
    succeed(cuFuncIsLoaded, &state, f);
    eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
    succeed(cuFuncLoad, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncIsLoaded, NULL, f);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncIsLoaded, &state, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncLoad, NULL);
}

static void
eager(void)
{
    CUmoduleLoadingMode mode = (CUmoduleLoadingMode)0;
    CUfunctionLoadingState state = (CUfunctionLoadingState)9;
    setenv("CUDA_MODULE_LOADING", "EAGER", 1);
    CUcontext c = NULL;
    succeed(cuInit, 0);
    succeed(cuDevicePrimaryCtxRetain, &c, 0);
    succeed(cuCtxSetCurrent, c);
    succeed(cuModuleGetLoadingMode, &mode);
    todo("the mode is lazy always") eq(mode, CU_MODULE_EAGER_LOADING);
    succeed(cuFuncIsLoaded, &state, api_function(api_module(text), "nothing"));
    todo("the mode is lazy always") eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
}

static void
params(void)
{
    CUmodule m = api_module(text);
    CUfunction f = api_function(m, "fill"), none = api_function(m, "nothing");
    static const size_t want[3][2] = {{0, 8}, {8, 4}, {16, 8}};
    size_t offset, size;
    for (size_t i = 0; i < 3; i++) {
        offset = size = 99;
        succeed(cuFuncGetParamInfo, f, i, &offset, &size);
        eq(offset, want[i][0]);
        eq(size, want[i][1]);
    }
    offset = 99;
    succeed(cuFuncGetParamInfo, f, 1, &offset, NULL);
    eq(offset, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, f, 3, &offset, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, f, (size_t)-1, &offset, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, none, 0, &offset, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, f, 0, NULL, &size);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncGetParamInfo, NULL, 0, &offset, &size);
}

static int
attribute(CUfunction f, CUfunction_attribute a)
{
    int v = -999;
    succeed(cuFuncGetAttribute, &v, a, f);
    return v;
}

static void
attributes(void)
{
    static const char shaped[] = PTX_HEAD
        ".shared .align 16 .b8 room[1536];\n"
        ".visible .entry shaped(.param .u64 p)\n.maxntid 128, 1, 1\n{\n\t.local .align 8 .b8 mine[40];\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<4>;\n"
        "\tld.param.u64 %rd1, [p];\n\tmov.u32 %r1, %tid.x;\n\tmov.u32 %r3, room;\n\tst.shared.u32 [room+16], %r1;\n\tld.shared.u32 %r2, [room+20];\n"
        "\tst.global.u32 [%rd1], %r2;\n\tret;\n}\n";
    CUmodule m = api_module(text), m2 = api_module(shaped);
    CUfunction f = api_function(m, "fill"), s = api_function(m2, "shaped");
    int v;
    eq(attribute(f, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    eq(attribute(s, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 1536);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    eq(attribute(s, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 128);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_PTX_VERSION), 52);
    ok(attribute(f, CU_FUNC_ATTRIBUTE_BINARY_VERSION) >= 52, "binary version");
    ok(attribute(f, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0, "no registers");
    ok(attribute(f, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) >= 0, "local memory");
    ok(attribute(f, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES) >= 0, "constant memory");
    eq(attribute(f, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA), 0);
    ok(attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) == 49152, "dynamic shared memory");
    eq(attribute(s, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 49152 - 1536);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 0);
    succeed(cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 60000);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 60000);
    succeed(cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), 50);
    succeed(cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
    eq(attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 24);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_NUM_REGS, 32);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, f, CU_FUNC_ATTRIBUTE_MAX, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, &v, CU_FUNC_ATTRIBUTE_MAX, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, &v, (CUfunction_attribute)-1, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, f);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncGetAttribute, &v, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncSetAttribute, NULL, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0);
}

static void
functions(void)
{
    CUmodule m = api_module(text), of = NULL;
    CUfunction f = api_function(m, "fill");
    const char *name = NULL;
    succeed(cuFuncGetModule, &of, f);
    ok(of == m, "another module");
    succeed(cuFuncGetName, &name, f);
    ok(name && !strcmp(name, "fill"), "name %s", name ? name : "(null)");
    for (int i = CU_FUNC_CACHE_PREFER_NONE; i <= CU_FUNC_CACHE_PREFER_EQUAL; i++)
        succeed(cuFuncSetCacheConfig, f, (CUfunc_cache)i);
    succeed(cuFuncSetSharedMemConfig, f, CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig, f, (CUfunc_cache)9);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetSharedMemConfig, f, (CUsharedconfig)9);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetModule, NULL, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetName, NULL, f);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncGetModule, &of, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncGetName, &name, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncSetCacheConfig, NULL, CU_FUNC_CACHE_PREFER_L1);
}

static void
other_context(void)
{
    CUmodule m = api_module(text);
    CUfunction f = api_function(m, "nothing");
    CUcontext c = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_CONTEXT, cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    CUfunction g = NULL;
    expect2(CUDA_SUCCESS, CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction, &g, m, "fill");
    succeed(cuCtxDestroy_v2, c);
}

static void
unloaded(void)
{
    CUmodule m = api_module(text);
    CUfunction f = NULL;
    succeed(cuModuleUnload, m);
    if (on_nvidia()) // follows the stale pointer
        return;
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleGetFunction, &f, m, "fill");
    expect(CUDA_ERROR_INVALID_HANDLE, cuModuleUnload, m);
}

API_MAIN(CASE(load), CASE(load_misuse), CASE(file), CASE(options), CASE(error_log), CASE(option_misuse), CASE(globals), CASE(enumerate), CASE(loading_mode),
    RAW(eager), CASE(params), CASE(attributes), CASE(functions), CASE(other_context), CASE(unloaded))
