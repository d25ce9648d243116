// SPDX-License-Identifier: MIT
// Launches: every form of parameters, attributes, cooperative launches, the calls of before CUDA 4, every misuse.
#include "work.h"

static CUfunction mixed, at_most_64, exactly_32, with_shared;

static CUdeviceptr
begin(void)
{
    CUdeviceptr p = work_begin();
    mixed = api_function(work_module, "mixed");
    at_most_64 = api_function(work_module, "at_most_64");
    exactly_32 = api_function(work_module, "exactly_32");
    with_shared = api_function(work_module, "with_shared");
    return p;
}

#define LAUNCH(want, f, gx, gy, gz, bx, by, bz, shared) expect(want, cuLaunchKernel, f, gx, gy, gz, bx, by, bz, shared, NULL, NULL, NULL)
#define BAD(gx, gy, gz, bx, by, bz) LAUNCH(CUDA_ERROR_INVALID_VALUE, nothing, gx, gy, gz, bx, by, bz, 0)
#define GOOD(gx, gy, gz, bx, by, bz) LAUNCH(CUDA_SUCCESS, nothing, gx, gy, gz, bx, by, bz, 0)

static void
shapes(void)
{
    begin();
    BAD(0, 1, 1, 1, 1, 1);
    BAD(1, 0, 1, 1, 1, 1);
    BAD(1, 1, 0, 1, 1, 1);
    BAD(1, 1, 1, 0, 1, 1);
    BAD(1, 1, 1, 1, 0, 1);
    BAD(1, 1, 1, 1, 1, 0);
    BAD(0x80000000u, 1, 1, 1, 1, 1);
    BAD(0xffffffffu, 1, 1, 1, 1, 1);
    BAD(1, 65536, 1, 1, 1, 1);
    BAD(1, 1, 65536, 1, 1, 1);
    BAD(1, 1, 1, 1025, 1, 1);
    BAD(1, 1, 1, 1, 1025, 1);
    BAD(1, 1, 1, 1, 1, 65);
    BAD(1, 1, 1, 32, 33, 1);
    BAD(1, 1, 1, 1024, 2, 1);
    BAD(1, 1, 1, 0xffffffffu, 1, 1);
    BAD(1, 1, 1, 65536, 65536, 1);
    GOOD(1, 1, 1, 1024, 1, 1);
    GOOD(1, 1, 1, 1, 1024, 1);
    GOOD(1, 1, 1, 1, 1, 64);
    GOOD(1, 1, 1, 16, 16, 4);
    GOOD(3, 5, 7, 3, 5, 7);
    GOOD(1, 65535, 1, 1, 1, 1);
    GOOD(1, 1, 65535, 1, 1, 1);
    succeed(cuCtxSynchronize, );
}

static void
limited_blocks(void)
{
    begin();
    LAUNCH(CUDA_SUCCESS, at_most_64, 1, 1, 1, 64, 1, 1, 0);
    LAUNCH(CUDA_SUCCESS, at_most_64, 1, 1, 1, 8, 8, 1, 0);
    LAUNCH(CUDA_ERROR_INVALID_VALUE, at_most_64, 1, 1, 1, 65, 1, 1, 0);
    LAUNCH(CUDA_SUCCESS, exactly_32, 1, 1, 1, 32, 1, 1, 0);
    LAUNCH(CUDA_ERROR_INVALID_VALUE, exactly_32, 1, 1, 1, 64, 1, 1, 0);
    succeed(cuCtxSynchronize, );
}

static void
required_block(void)
{
    begin();
    LAUNCH(CUDA_ERROR_INVALID_VALUE, exactly_32, 1, 1, 1, 16, 1, 1, 0);
    LAUNCH(CUDA_ERROR_INVALID_VALUE, exactly_32, 1, 1, 1, 16, 2, 1, 0);
    succeed(cuCtxSynchronize, );
}

static void
shared_memory(void)
{
    CUdeviceptr p = begin();
    void *args[] = {&p};
    int optin = 0, fixed = 0;
    succeed(cuDeviceGetAttribute, &optin, CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, device);
    succeed(cuFuncGetAttribute, &fixed, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, with_shared);
    eq(fixed, 1024);
    succeed(cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 2048, NULL, args, NULL);
    succeed(cuCtxSynchronize, );
    eq(word(p), 2048);
    succeed(cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 48 * 1024 - 1024, NULL, args, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 48 * 1024, NULL, args, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 0x7fffffff, NULL, args, NULL);
    succeed(cuFuncSetAttribute, with_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 64 * 1024);
    succeed(cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 64 * 1024, NULL, args, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, 64 * 1024 + 1, NULL, args, NULL);
    succeed(cuFuncSetAttribute, with_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin - fixed);
    succeed(cuLaunchKernel, with_shared, 1, 1, 1, 1, 1, 1, (unsigned)(optin - fixed), NULL, args, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, with_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, optin - fixed + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetAttribute, with_shared, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, -1);
    succeed(cuCtxSynchronize, );
    eq(word(p), optin - fixed);
}

// ---- parameters -------------------------------------------------------------------------------------
struct __attribute__((packed)) mixed_params {
    unsigned char a;
    unsigned char pad[7];
    unsigned long long b;
    float c;
    unsigned char pad2[4];
    unsigned long long d[3];
    CUdeviceptr out;
};

static void
check_mixed(CUdeviceptr p)
{
    struct {
        unsigned a, pad;
        unsigned long long b;
        float c;
        unsigned pad2;
        unsigned long long d0, d2;
    } got;
    memset(&got, 0, sizeof got);
    succeed(cuMemcpyDtoH_v2, &got, p, sizeof got);
    eq(got.a, 200);
    eq(got.b, 0x123456789abcdefll);
    ok(got.c == 2.5f, "%f", (double)got.c);
    eq(got.d0, 11);
    eq(got.d2, 33);
    succeed(cuMemsetD32_v2, p, 0, 16);
}

static void
parameters(void)
{
    CUdeviceptr p = begin();
    struct mixed_params m = {.a = 200, .b = 0x123456789abcdefll, .c = 2.5f, .d = {11, 22, 33}, .out = p};
    size_t size = sizeof m;
    void *args[] = {&m.a, &m.b, &m.c, m.d, &m.out};
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &m, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    succeed(cuLaunchKernel, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    check_mixed(p);
    succeed(cuLaunchKernel, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
    check_mixed(p);
    succeed(cuLaunchKernel_ptsz, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuStreamSynchronize, CU_STREAM_PER_THREAD);
    check_mixed(p);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, args, extra);
    void *unknown[] = {(void *)(uintptr_t)7, &m, CU_LAUNCH_PARAM_END};
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, unknown);
    size = sizeof m - 8;
    if (!on_nvidia()) // which reads behind the buffer
        expect2(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, CUDA_ERROR_INVALID_VALUE, cuLaunchKernel, mixed, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, extra);
    m.a = 1; // the arguments of launches before were copied
    succeed(cuLaunchKernel, nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    succeed(cuLaunchKernel, nothing, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuCtxSynchronize, );
}

static void
copied_at_once(void)
{
    struct gate g;
    CUdeviceptr p = begin();
    CUstream s = NULL;
    unsigned m = 10, a = 1;
    void *args[] = {&p, &m, &a};
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    succeed(cuLaunchKernel, step, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
    a = 2;
    succeed(cuLaunchKernel, step, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
    a = 9;
    args[0] = NULL;
    release(&g);
    succeed(cuStreamSynchronize, s);
    eq(word(p), 12);
}

static void
handles(void)
{
    begin();
    CUcontext c = NULL;
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_RESOURCE_TYPE, cuLaunchKernel, NULL, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    succeed(cuCtxPopCurrent_v2, &c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuLaunchKernel, nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL);
    succeed(cuCtxCreate_v2, &c, 0, device);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLaunchKernel, nothing, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL); // of another context
    succeed(cuCtxDestroy_v2, c);
}

static void
counted(void)
{
    CUdeviceptr p = begin();
    void *args[] = {&p};
    succeed(cuLaunchKernel, count, 7, 3, 2, 13, 2, 3, 0, NULL, args, NULL);
    succeed(cuLaunchKernel, count, 1000, 1, 1, 256, 1, 1, 0, NULL, args, NULL);
    eq(word(p), 7 * 3 * 2 * 13 * 2 * 3 + 256000);
}

// ---- attributes -------------------------------------------------------------------------------------
static CUlaunchConfig
config_of(CUlaunchAttribute *a, unsigned n)
{
    CUlaunchConfig c;
    memset(&c, 0, sizeof c);
    c.gridDimX = c.gridDimY = c.gridDimZ = c.blockDimX = c.blockDimY = c.blockDimZ = 1;
    c.attrs = a;
    c.numAttrs = n;
    return c;
}

static void
with_attribute(CUlaunchAttributeID id, CUlaunchAttributeValue v, CUresult want)
{
    CUlaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = id;
    a.value = v;
    CUlaunchConfig c = config_of(&a, 1);
    CUresult r = CALL(cuLaunchKernelEx, &c, nothing, NULL, NULL);
    ok(r == want, "attribute %d: got %s, want %s", (int)id, api_code(r), api_code(want));
}

static void
extended(void)
{
    CUdeviceptr p = begin();
    unsigned m = 10, v = 3;
    void *args[] = {&p, &m, &v};
    CUlaunchConfig c = config_of(NULL, 0);
    succeed(cuLaunchKernelEx, &c, step, args, NULL);
    succeed(cuLaunchKernelEx_ptsz, &c, nothing, NULL, NULL);
    succeed(cuCtxSynchronize, );
    eq(word(p), 3);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx, NULL, step, args, NULL);
    c.numAttrs = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx, &c, step, args, NULL);
    c.numAttrs = 0;
    c.blockDimX = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx, &c, nothing, NULL, NULL);
    c.blockDimX = 1025;
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchKernelEx, &c, nothing, NULL, NULL);
}

static void
attributes(void)
{
    begin();
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    with_attribute(CU_LAUNCH_ATTRIBUTE_IGNORE, v, CUDA_SUCCESS);
    v.cooperative = 1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, v, CUDA_SUCCESS);
    v.cooperative = 0;
    with_attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.priority = -1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.clusterDim.x = v.clusterDim.y = v.clusterDim.z = 1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.clusterSchedulingPolicyPreference = CU_CLUSTER_SCHEDULING_POLICY_SPREAD;
    with_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.programmaticStreamSerializationAllowed = 1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    with_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.memSyncDomainMap.default_ = 0;
    v.memSyncDomainMap.remote = 1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    v.sharedMemCarveout = 50;
    with_attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT, v, CUDA_SUCCESS);
    memset(&v, 0, sizeof v);
    succeed(cuCtxSynchronize, );
}

static void
unknown_attribute(void)
{
    begin();
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    with_attribute((CUlaunchAttributeID)999, v, CUDA_ERROR_INVALID_VALUE);
}

static void
bad_clusters(void)
{
    begin();
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    v.clusterDim.x = 2; // does not divide the grid of one block
    v.clusterDim.y = v.clusterDim.z = 1;
    with_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, v, CUDA_ERROR_INVALID_CLUSTER_SIZE);
    memset(&v, 0, sizeof v); // as if it were not given
    with_attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, v, CUDA_SUCCESS);
}

static void
synchronization_policy(void)
{
    begin();
    CUlaunchAttributeValue v;
    memset(&v, 0, sizeof v);
    v.syncPolicy = CU_SYNC_POLICY_AUTO; // of streams only
    with_attribute(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, v, CUDA_ERROR_INVALID_VALUE);
}

static void
event_attributes(void)
{
    CUdeviceptr p = begin();
    CUevent e = NULL, f = NULL;
    CUlaunchAttribute a[2];
    unsigned m = 10, v = 4;
    void *args[] = {&p, &m, &v};
    CUstream s = NULL;
    struct gate g;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventCreate, &f, CU_EVENT_DISABLE_TIMING);
    memset(a, 0, sizeof a);
    a[0].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT;
    a[0].value.programmaticEvent.event = e;
    a[1].id = CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT;
    a[1].value.launchCompletionEvent.event = f;
    CUlaunchConfig c = config_of(a, 2);
    c.hStream = s;
    hold(s, &g);
    succeed(cuLaunchKernelEx, &c, step, args, NULL);
    expect(CUDA_ERROR_NOT_READY, cuEventQuery, e);
    expect(CUDA_ERROR_NOT_READY, cuEventQuery, f);
    release(&g);
    succeed(cuEventSynchronize, e);
    succeed(cuEventSynchronize, f);
    succeed(cuStreamSynchronize, s);
    eq(word(p), 4);
}

// Programmatic dependent launch: the second kernel may begin early, but a plain one sees the first one's result.
static void
serialization(void)
{
    CUdeviceptr p = begin();
    CUlaunchAttribute a;
    unsigned m = 1, v = 1;
    void *args[] = {&p};
    CUstream s = NULL;
    memset(&a, 0, sizeof a);
    a.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
    a.value.programmaticStreamSerializationAllowed = 1;
    CUlaunchConfig c = config_of(&a, 1);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    c.hStream = s;
    (void)m, (void)v;
    for (int i = 0; i < 20; i++)
        succeed(cuLaunchKernelEx, &c, count, args, NULL);
    STEP(s, p, 2, 0);
    succeed(cuStreamSynchronize, s);
    eq(word(p), 40);
}

// ---- cooperative ------------------------------------------------------------------------------------
static void
cooperative(void)
{
    CUdeviceptr p = begin();
    void *args[] = {&p};
    int blocks = 0, sms = 0, can = 0;
    succeed(cuDeviceGetAttribute, &can, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device);
    eq(can, 1);
    succeed(cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, count, 64, 0);
    unsigned most = (unsigned)(blocks * sms);
    succeed(cuLaunchCooperativeKernel, count, most, 1, 1, 64, 1, 1, 0, NULL, args);
    succeed(cuLaunchCooperativeKernel_ptsz, count, 1, 1, 1, 64, 1, 1, 0, NULL, args);
    succeed(cuCtxSynchronize, );
    eq(word(p), (most + 1) * 64);
    expect(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchCooperativeKernel, count, most + 1, 1, 1, 64, 1, 1, 0, NULL, args);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernel, count, 0, 1, 1, 64, 1, 1, 0, NULL, args);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_RESOURCE_TYPE, cuLaunchCooperativeKernel, NULL, 1, 1, 1, 64, 1, 1, 0, NULL, args);
    CUlaunchAttribute a;
    memset(&a, 0, sizeof a);
    a.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    a.value.cooperative = 1;
    CUlaunchConfig c = config_of(&a, 1);
    c.gridDimX = most + 1;
    c.blockDimX = 64;
    expect(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, cuLaunchKernelEx, &c, count, args, NULL);
}

static void
cooperative_devices(void)
{
    CUdeviceptr p = begin();
    void *args[] = {&p};
    CUDA_LAUNCH_PARAMS l;
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    memset(&l, 0, sizeof l);
    l.function = count;
    l.gridDimX = 2;
    l.gridDimY = l.gridDimZ = l.blockDimY = l.blockDimZ = 1;
    l.blockDimX = 32;
    l.hStream = s;
    l.kernelParams = args;
    succeed(cuLaunchCooperativeKernelMultiDevice, &l, 1, 0);
    succeed(cuLaunchCooperativeKernelMultiDevice, &l, 1,
            CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_PRE_LAUNCH_SYNC | CUDA_COOPERATIVE_LAUNCH_MULTI_DEVICE_NO_POST_LAUNCH_SYNC);
    succeed(cuCtxSynchronize, );
    eq(word(p), 128);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice, NULL, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice, &l, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice, &l, 1, 4);
    CUDA_LAUNCH_PARAMS two[2] = {l, l};
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchCooperativeKernelMultiDevice, two, 2, 0); // one device twice
}

static void
cooperative_default_stream(void)
{
    CUdeviceptr p = begin();
    void *args[] = {&p};
    CUDA_LAUNCH_PARAMS l;
    memset(&l, 0, sizeof l);
    l.function = count;
    l.gridDimX = l.gridDimY = l.gridDimZ = l.blockDimX = l.blockDimY = l.blockDimZ = 1;
    l.kernelParams = args;
    expect(CUDA_ERROR_INVALID_HANDLE, cuLaunchCooperativeKernelMultiDevice, &l, 1, 0); // no default streams
}

// ---- of before CUDA 4 -------------------------------------------------------------------------------
static void
old_calls(void)
{
    CUdeviceptr p = begin();
    unsigned long long address = p;
    succeed(cuFuncSetBlockShape, count, 16, 2, 1);
    succeed(cuParamSetSize, count, 8);
    succeed(cuParamSetv, count, 0, &address, 8);
    succeed(cuFuncSetSharedSize, count, 64);
    succeed(cuLaunchGrid, count, 3, 2);
    succeed(cuLaunchGridAsync, count, 1, 1, NULL);
    succeed(cuLaunch, count);
    succeed(cuCtxSynchronize, );
    eq(word(p), 32 * 8);
    succeed(cuFuncSetBlockShape, step, 1, 1, 1);
    succeed(cuParamSetSize, step, 16);
    succeed(cuParamSetv, step, 0, &address, 8);
    succeed(cuParamSeti, step, 8, 2);
    succeed(cuParamSeti, step, 12, 5);
    succeed(cuLaunch, step);
    eq(word(p), 32 * 8 * 2 + 5);
    succeed(cuFuncSetBlockShape, mixed, 1, 1, 1);
    float f = 2.5f;
    succeed(cuParamSetf, mixed, 16, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuFuncSetBlockShape, count, 0, 1, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchGrid, count, 0, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuParamSetv, count, 0, NULL, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuParamSetSize, count, 1 << 20);
}

static void
old_null_function(void)
{
    begin();
    expect(CUDA_ERROR_INVALID_HANDLE, cuFuncSetBlockShape, NULL, 1, 1, 1);
    expect(CUDA_ERROR_INVALID_HANDLE, cuLaunch, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuParamSetSize, NULL, 8);
}

// ---- failing kernels --------------------------------------------------------------------------------
static void
trapped(void)
{
    begin();
    CUfunction broken = api_function(work_module, "broken");
    CUdeviceptr q;
    LAUNCH(CUDA_SUCCESS, broken, 1, 1, 1, 1, 1, 1, 0);
    CUresult r = CALL(cuCtxSynchronize, );
    ok(r == CUDA_ERROR_LAUNCH_FAILED || r == CUDA_ERROR_ILLEGAL_INSTRUCTION, "a trap gives %s", api_code(r));
    expect(r, cuCtxSynchronize, ); // it stays
    expect(r, cuMemAlloc_v2, &q, 64);
    LAUNCH(r, nothing, 1, 1, 1, 1, 1, 1, 0);
}

static void
wild_address(void)
{
    begin();
    CUdeviceptr nowhere = 0x10;
    unsigned v = 1;
    void *args[] = {&nowhere, &v};
    succeed(cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuCtxSynchronize, );
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamSynchronize, NULL);
    expect(CUDA_ERROR_ILLEGAL_ADDRESS, cuStreamQuery, NULL);
}

static void
misaligned(void)
{
    CUdeviceptr p = begin() + 2;
    unsigned v = 1;
    void *args[] = {&p, &v};
    succeed(cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    todo("the processor does not mind, and nothing checks") expect(CUDA_ERROR_MISALIGNED_ADDRESS, cuCtxSynchronize, );
}

API_MAIN(CASE(shapes), CASE(limited_blocks), CASE(required_block), CASE(shared_memory), CASE(parameters), CASE(copied_at_once), CASE(handles),
    CASE(counted), CASE(extended), CASE(attributes), CASE(unknown_attribute), CASE(bad_clusters), CASE(synchronization_policy), CASE(event_attributes),
    CASE(serialization), CASE(cooperative), CASE(cooperative_devices), CASE(cooperative_default_stream), CASE(old_calls), CASE(old_null_function),
    CASE(trapped), CASE(wild_address), CASE(misaligned))
