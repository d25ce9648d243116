// SPDX-License-Identifier: MIT
// Functions: attributes, names, parameters, loading state, cache preferences.
#include "work.h"

static int
attribute(CUfunction f, CUfunction_attribute a)
{
    int v = -77;
    succeed(cuFuncGetAttribute, &v, a, f);
    return v;
}

static void
attributes(void)
{
    work_begin();
    CUfunction shared = api_function(work_module, "with_shared"), at_most = api_function(work_module, "at_most_64"),
               exactly = api_function(work_module, "exactly_32");
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 1024);
    eq(attribute(at_most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 64);
    broken("answers 1024 for .reqntid") eq(attribute(exactly, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK), 32);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 0);
    eq(attribute(shared, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES), 1024);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES), 0);
    ok(attribute(nothing, CU_FUNC_ATTRIBUTE_NUM_REGS) > 0, "no registers");
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_PTX_VERSION), 52);
    ok(attribute(nothing, CU_FUNC_ATTRIBUTE_BINARY_VERSION) >= 52, "binary version");
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_CACHE_MODE_CA), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 48 * 1024);
    eq(attribute(shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES), 47 * 1024);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT), -1);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED), 0);
    eq(attribute(nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE), 0);
    int v = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, NULL, CU_FUNC_ATTRIBUTE_NUM_REGS, nothing);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, &v, (CUfunction_attribute)99, nothing);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetAttribute, &v, (CUfunction_attribute)-1, nothing);
}

static void
set(CUfunction f, CUfunction_attribute a, int value, CUresult want)
{
    CUresult r = CALL(cuFuncSetAttribute, f, a, value);
    ok(r == want, "attribute %d to %d: got %s, want %s", (int)a, value, api_code(r), api_code(want));
    if (!want)
        eq(attribute(f, a), value);
}

static void
settable(void)
{
    work_begin();
    set(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 0, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 1 << 20, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 50, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 100, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -1, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 101, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, -2, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, 1, CUDA_SUCCESS);
    set(nothing, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_NUM_REGS, 8, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, 8, CUDA_ERROR_INVALID_VALUE);
    set(nothing, CU_FUNC_ATTRIBUTE_PTX_VERSION, 80, CUDA_ERROR_INVALID_VALUE);
    set(nothing, (CUfunction_attribute)99, 0, CUDA_ERROR_INVALID_VALUE);
}

static void
null_function(void)
{
    int v = 0;
    const char *name = NULL;
    CUmodule m = NULL;
    work_begin();
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_RESOURCE_TYPE, cuFuncGetAttribute, &v, CU_FUNC_ATTRIBUTE_NUM_REGS, NULL);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, NULL, CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, 1);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuFuncGetName, &name, NULL);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuFuncGetModule, &m, NULL);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig, NULL, CU_FUNC_CACHE_PREFER_L1);
}

static void
names(void)
{
    const char *name = NULL;
    CUmodule m = NULL;
    work_begin();
    succeed(cuFuncGetName, &name, nothing);
    ok(name && !strcmp(name, "nothing"), "name %s", name ? name : "NULL");
    succeed(cuFuncGetModule, &m, nothing);
    ok(m == work_module, "another module");
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetName, NULL, nothing);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetModule, NULL, nothing);
}

static void
parameters(void)
{
    static const size_t offset[] = {0, 8, 16, 24, 48}, size[] = {1, 8, 4, 24, 8};
    work_begin();
    CUfunction mixed = api_function(work_module, "mixed");
    size_t o = 99, n = 99;
    for (size_t i = 0; i < 5; i++) {
        succeed(cuFuncGetParamInfo, mixed, i, &o, &n);
        eq(o, offset[i]);
        eq(n, size[i]);
    }
    succeed(cuFuncGetParamInfo, mixed, 1, &o, NULL);
    eq(o, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, mixed, 5, &o, &n);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, nothing, 0, &o, &n);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncGetParamInfo, mixed, 0, NULL, &n);
}

static void
loading(void)
{
    CUfunctionLoadingState state = (CUfunctionLoadingState)77;
    work_begin();
    succeed(cuFuncIsLoaded, &state, nothing);
    ok(state == CU_FUNCTION_LOADING_STATE_UNLOADED || state == CU_FUNCTION_LOADING_STATE_LOADED, "state %d", (int)state);
    succeed(cuFuncLoad, nothing);
    succeed(cuFuncIsLoaded, &state, nothing);
    eq(state, CU_FUNCTION_LOADING_STATE_LOADED);
    succeed(cuFuncLoad, nothing);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncIsLoaded, NULL, nothing);
}

static void
preferences(void)
{
    work_begin();
    for (int c = CU_FUNC_CACHE_PREFER_NONE; c <= CU_FUNC_CACHE_PREFER_EQUAL; c++)
        succeed(cuFuncSetCacheConfig, nothing, (CUfunc_cache)c);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetCacheConfig, nothing, (CUfunc_cache)9);
    for (int c = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE; c <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE; c++)
        succeed(cuFuncSetSharedMemConfig, nothing, (CUsharedconfig)c);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetSharedMemConfig, nothing, (CUsharedconfig)9);
}

API_MAIN(CASE(attributes), CASE(settable), CASE(null_function), CASE(names), CASE(parameters), CASE(loading), CASE(preferences))
