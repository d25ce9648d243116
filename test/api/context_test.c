// SPDX-License-Identifier: MIT
// Contexts: creation in every version, the stack, flags, limits, preferences, primary contexts.
#include "api.h"

#include <pthread.h>

static CUcontext
current(void)
{
    CUcontext c = (CUcontext)-1;
    CALL(cuCtxGetCurrent, &c);
    return c;
}

static void
create_versions(void)
{
    CUcontext c2 = NULL, c3 = NULL, c4 = NULL, popped = NULL;
    CUctxCreateParams params;
    memset(&params, 0, sizeof params);
    succeed(cuCtxCreate_v2, &c2, 0, device);
    ok(c2 && current() == c2, "the new context is not current");
    succeed(cuCtxCreate_v3, &c3, NULL, 0, 0, device);
    ok(c3 && c3 != c2 && current() == c3, "the second context is not current");
    succeed(cuCtxCreate_v4, &c4, &params, 0, device);
    ok(current() == c4, "the third context is not current");
    succeed(cuCtxPopCurrent_v2, &popped);
    ok(popped == c4, "popped another context");
    succeed(cuCtxDestroy_v2, c4);
    ok(current() == c3, "below lies another context");
    succeed(cuCtxDestroy_v2, c3);
    ok(current() == c2, "destroying the current context pops it");
    succeed(cuCtxDestroy_v2, c2);
    ok(current() == primary, "the first one is back");
    succeed(cuCtxCreate_v4, &c4, NULL, CU_CTX_SCHED_BLOCKING_SYNC, device);
    succeed(cuCtxDestroy_v2, c4);
}

static void
create_misuse(void)
{
    CUcontext c = NULL;
    CUexecAffinityParam affinity;
    memset(&affinity, 0, sizeof affinity);
    affinity.type = CU_EXEC_AFFINITY_TYPE_SM_COUNT;
    affinity.param.smCount.val = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, NULL, 0, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, &c, 0x100, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, &c, 0xffffffff, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v2, &c, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2, &c, 0, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v2, &c, 0, -1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxCreate_v4, NULL, NULL, 0, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuCtxCreate_v4, &c, NULL, 0, 99);
    expect(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxCreate_v3, &c, &affinity, 1, 0, device);
    ok(!c, "a refused call wrote a context");
    ok(current() == primary, "a refused call changed the current context");
}

static void
destroy_misuse(void)
{
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuCtxDestroy_v2, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, primary);
    ok(current() == primary, "the primary context is still current");
}

static void
destroyed(void)
{
    CUcontext c = NULL;
    if (!succeed(cuCtxCreate_v2, &c, 0, device) || on_nvidia()) // NVIDIA's driver does not survive what follows
        return;
    succeed(cuCtxDestroy_v2, c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxDestroy_v2, c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxPushCurrent_v2, c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCurrent, c);
}

static void
stack(void)
{
    CUcontext c = NULL, p = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    for (int i = 0; i < 3; i++)
        succeed(cuCtxPushCurrent_v2, primary);
    ok(current() == primary, "the pushed one is current");
    for (int i = 0; i < 3; i++) {
        succeed(cuCtxPopCurrent_v2, &p);
        ok(p == primary, "pop %d gave another", i);
    }
    ok(current() == c, "the created one is current again");
    succeed(cuCtxPopCurrent_v2, NULL);
    succeed(cuCtxPopCurrent_v2, &p);
    ok(p == primary, "the first of all comes last");
    ok(!current(), "the stack is not empty");
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2, &p);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxPopCurrent_v2, NULL);
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuCtxPushCurrent_v2, NULL);
    succeed(cuCtxSetCurrent, c);
    ok(current() == c, "set on an empty stack");
    succeed(cuCtxSetCurrent, primary);
    ok(current() == primary, "set replaces the top");
    succeed(cuCtxSetCurrent, NULL);
    ok(!current(), "NULL takes it off");
    succeed(cuCtxSetCurrent, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetCurrent, NULL);
    succeed(cuCtxDestroy_v2, c);
}

static void
without(void)
{
    CUdevice d;
    unsigned u;
    size_t z;
    int i;
    CUdeviceptr p;
    CUstream s;
    CUevent e;
    CUfunc_cache cache;
    unsigned long long id;
    succeed(cuCtxSetCurrent, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice, &d);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetFlags, &u);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSynchronize, );
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetLimit, &z, CU_LIMIT_STACK_SIZE);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetLimit, CU_LIMIT_STACK_SIZE, 4096);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetStreamPriorityRange, &i, &i);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetCacheConfig, &cache);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetCacheConfig, CU_FUNC_CACHE_PREFER_L1);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxResetPersistingL2Cache, );
    expect(CUDA_ERROR_INVALID_CONTEXT, cuMemAlloc_v2, &p, 64);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuMemGetInfo_v2, &z, &z);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate, &s, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuEventCreate, &e, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetId, NULL, &id);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetApiVersion, NULL, &u);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxSetFlags, 0);
}

static void
flags(void)
{
    CUcontext c = NULL;
    unsigned f = 0;
    succeed(cuCtxCreate_v2, &c, CU_CTX_SCHED_BLOCKING_SYNC | CU_CTX_MAP_HOST, device);
    succeed(cuCtxGetFlags, &f);
    ok((f & CU_CTX_SCHED_MASK) == CU_CTX_SCHED_BLOCKING_SYNC, "flags 0x%x", f);
    ok(f & CU_CTX_MAP_HOST, "flags 0x%x", f);
    succeed(cuCtxSetFlags, CU_CTX_SYNC_MEMOPS);
    succeed(cuCtxGetFlags, &f);
    ok(f & CU_CTX_SYNC_MEMOPS, "flags 0x%x", f);
    succeed(cuCtxSetFlags, CU_CTX_SCHED_YIELD);
    succeed(cuCtxGetFlags, &f);
    eq(f & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetFlags, 0x100);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetFlags, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetFlags, NULL);
    succeed(cuCtxDestroy_v2, c);
}

static void
says(void)
{
    CUcontext c = NULL;
    CUdevice d = -1;
    unsigned v = 0, pv = 0;
    unsigned long long id = 0, id2 = 0, again = 0;
    int least = -99, greatest = 99;
    succeed(cuCtxCreate_v2, &c, 0, device);
    succeed(cuCtxGetDevice, &d);
    eq(d, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetDevice, NULL);
    d = -1;
    succeed(cuCtxGetDevice_v2, &d, primary);
    eq(d, device);
    d = -1;
    succeed(cuCtxGetDevice_v2, &d, NULL);
    eq(d, device);
    succeed(cuCtxGetApiVersion, c, &v);
    eq(v, 3020);
    succeed(cuCtxGetApiVersion, primary, &pv);
    ok(pv >= 3020, "version %u", pv);
    succeed(cuCtxGetApiVersion, NULL, &pv);
    eq(pv, v);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetApiVersion, c, NULL);
    succeed(cuCtxGetId, c, &id);
    succeed(cuCtxGetId, primary, &id2);
    ok(id != id2, "two contexts with one id");
    succeed(cuCtxGetId, NULL, &again);
    ok(again == id, "the current one's id differs");
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetId, c, NULL);
    succeed(cuCtxGetStreamPriorityRange, &least, &greatest);
    eq(least, 0);
    ok(greatest < 0, "the greatest priority is %d", greatest);
    succeed(cuCtxGetStreamPriorityRange, NULL, &greatest);
    succeed(cuCtxGetStreamPriorityRange, &least, NULL);
    succeed(cuCtxGetStreamPriorityRange, NULL, NULL);
    succeed(cuCtxResetPersistingL2Cache, );
    succeed(cuCtxDestroy_v2, c);
}

static void
limits(void)
{
    static const struct {
        CUlimit limit;
        size_t set;
    } settable[] = {{CU_LIMIT_STACK_SIZE, 8192}, {CU_LIMIT_PRINTF_FIFO_SIZE, 2 << 20}, {CU_LIMIT_MALLOC_HEAP_SIZE, 32 << 20},
        {CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT, 4096}, {CU_LIMIT_MAX_L2_FETCH_GRANULARITY, 128}};
    CUcontext c = NULL;
    size_t v;
    succeed(cuCtxCreate_v2, &c, 0, device);
    v = 0;
    succeed(cuCtxGetLimit, &v, CU_LIMIT_STACK_SIZE);
    eq(v, 1024);
    succeed(cuCtxGetLimit, &v, CU_LIMIT_MALLOC_HEAP_SIZE);
    eq(v, 8 << 20);
    succeed(cuCtxGetLimit, &v, CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT);
    eq(v, 2048);
    for (size_t i = 0; i < sizeof settable / sizeof *settable; i++) {
        succeed(cuCtxSetLimit, settable[i].limit, settable[i].set);
        v = 0;
        succeed(cuCtxGetLimit, &v, settable[i].limit);
        ok(v >= settable[i].set, "limit %d is %zu", (int)settable[i].limit, v);
    }
    succeed(cuCtxGetLimit, &v, CU_LIMIT_PERSISTING_L2_CACHE_SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit, NULL, CU_LIMIT_STACK_SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit, &v, CU_LIMIT_MAX);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetLimit, &v, (CUlimit)-1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit, CU_LIMIT_MAX, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit, (CUlimit)-1, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetLimit, CU_LIMIT_STACK_SIZE, (size_t)1 << 40);
    expect(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxSetLimit, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH, 4);
    expect(CUDA_ERROR_UNSUPPORTED_LIMIT, cuCtxGetLimit, &v, CU_LIMIT_DEV_RUNTIME_SYNC_DEPTH);
    succeed(cuCtxDestroy_v2, c);
}

static void
preferences(void)
{
    CUfunc_cache cache = (CUfunc_cache)-1;
    CUsharedconfig config = (CUsharedconfig)-1;
    succeed(cuCtxGetCacheConfig, &cache);
    eq(cache, CU_FUNC_CACHE_PREFER_NONE);
    for (int i = CU_FUNC_CACHE_PREFER_NONE; i <= CU_FUNC_CACHE_PREFER_EQUAL; i++) {
        succeed(cuCtxSetCacheConfig, (CUfunc_cache)i);
        succeed(cuCtxGetCacheConfig, &cache);
        eq(cache, i);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetCacheConfig, (CUfunc_cache)4);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetCacheConfig, (CUfunc_cache)-1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetCacheConfig, NULL);
    succeed(cuCtxGetSharedMemConfig, &config);
    eq(config, CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE);
    for (int i = 0; i <= CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE; i++)
        succeed(cuCtxSetSharedMemConfig, (CUsharedconfig)i);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxSetSharedMemConfig, (CUsharedconfig)3);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetSharedMemConfig, NULL);
}

static void
affinity(void)
{
    CUexecAffinityParam a;
    memset(&a, 0, sizeof a);
    expect(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxGetExecAffinity, &a, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetExecAffinity, NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT);
    expect(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, cuCtxGetExecAffinity, &a, (CUexecAffinityType)55);
}

static void
attach(void)
{
    CUcontext c = NULL, same = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    succeed(cuCtxAttach, &same, 0);
    ok(same == c, "attached to another");
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxAttach, &same, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxAttach, NULL, 0);
    succeed(cuCtxDetach, c);
    todo("cuCtxAttach does not count") ok(current() == c, "one of two uses ended: it lives");
    todo("cuCtxAttach does not count") succeed(cuCtxDetach, c);
    ok(current() != c, "the last use ended");
}

static void
synchronize(void)
{
    CUcontext c = NULL;
    succeed(cuCtxSynchronize, );
    succeed(cuCtxCreate_v2, &c, 0, device);
    succeed(cuCtxSynchronize_v2, primary);
    succeed(cuCtxSynchronize_v2, NULL);
    ok(current() == c, "synchronising another context changed the current one");
    succeed(cuCtxDestroy_v2, c);
}

// Events that stand for all the work of a context.
static void
context_events(void)
{
    CUevent e = NULL;
    CUstream s = NULL;
    CUcontext c = NULL;
    if (!HAVE(cuCtxRecordEvent)) {
        skip("the driver is older than 12.5");
        return;
    }
    succeed(cuEventCreate, &e, 0);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    CUdeviceptr p = 0;
    unsigned value = 0;
    succeed(cuMemAlloc_v2, &p, 4 << 20);
    for (int i = 0; i < 20; i++)
        CALL(cuMemsetD32Async, p, (unsigned)i, 1 << 20, s);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuCtxRecordEvent, primary, e);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuCtxWaitEvent, primary, e);
    succeed(cuEventSynchronize, e);
    succeed(cuCtxSynchronize, );
    succeed(cuMemcpyDtoH_v2, &value, p + (4 << 20) - 4, 4);
    eq(value, 19);
    expect(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent, primary, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuCtxWaitEvent, primary, NULL);
    succeed(cuCtxCreate_v2, &c, 0, device);
    expect(CUDA_ERROR_INVALID_HANDLE, cuCtxRecordEvent, c, e);
    succeed(cuCtxDestroy_v2, c);
    succeed(cuEventDestroy_v2, e);
    succeed(cuStreamDestroy_v2, s);
}

// ---- primary contexts -------------------------------------------------------------------------------
static void
primary_life(void)
{
    CUcontext c = NULL, again = NULL;
    unsigned f = 77;
    int active = -1;
    succeed(cuInit, 0);
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(active, 0);
    eq(f, 0);
    succeed(cuDevicePrimaryCtxSetFlags_v2, 0, CU_CTX_SCHED_BLOCKING_SYNC);
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(f & CU_CTX_SCHED_MASK, CU_CTX_SCHED_BLOCKING_SYNC);
    succeed(cuDevicePrimaryCtxRetain, &c, 0);
    ok(c, "no context");
    ok(!current(), "retaining does not make it current");
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(active, 1);
    succeed(cuDevicePrimaryCtxRetain, &again, 0);
    ok(again == c, "a second primary context");
    succeed(cuDevicePrimaryCtxRelease_v2, 0);
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(active, 1);
    succeed(cuDevicePrimaryCtxRelease_v2, 0);
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(active, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuDevicePrimaryCtxRelease_v2, 0);
    succeed(cuDevicePrimaryCtxRetain, &again, 0);
    ok(again == c, "retained anew it has another handle");
    succeed(cuCtxSetCurrent, again);
    succeed(cuDevicePrimaryCtxReset_v2, 0);
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(active, 0);
}

static void
primary_misuse(void)
{
    CUcontext c;
    unsigned f;
    int active;
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain, &c, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRetain, &c, -1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxRetain, NULL, 0);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxRelease_v2, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxReset_v2, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxSetFlags_v2, 99, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags_v2, 0, 0x100);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevicePrimaryCtxSetFlags_v2, 0, CU_CTX_SCHED_SPIN | CU_CTX_SCHED_YIELD);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDevicePrimaryCtxGetState, 99, &f, &active);
    succeed(cuDevicePrimaryCtxSetFlags_v2, 0, CU_CTX_SCHED_YIELD); // also while it is active
    succeed(cuDevicePrimaryCtxGetState, 0, &f, &active);
    eq(f & CU_CTX_SCHED_MASK, CU_CTX_SCHED_YIELD);
}

static void
primary_null_state(void)
{
    unsigned f;
    int active;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, cuDevicePrimaryCtxGetState, 0, NULL, &active);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_SUCCESS, cuDevicePrimaryCtxGetState, 0, &f, NULL);
}

// The primary context current in a thread while it was reset.
static void
primary_reset_current(void)
{
    CUdeviceptr p = 0;
    CUcontext again = NULL;
    succeed(cuMemAlloc_v2, &p, 64);
    succeed(cuDevicePrimaryCtxReset_v2, 0);
    expect(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuMemAlloc_v2, &p, 64);
    expect(CUDA_ERROR_CONTEXT_IS_DESTROYED, cuCtxSynchronize, );
    ok(current() == primary, "it is still the current one");
    succeed(cuDevicePrimaryCtxRetain, &again, 0);
    ok(again == primary, "another handle");
    succeed(cuMemAlloc_v2, &p, 64);
    succeed(cuMemFree_v2, p);
}

// ---- threads ----------------------------------------------------------------------------------------
static void *
other_thread(void *user)
{
    CUcontext c = user;
    CUdevice d = -1;
    ok(!current(), "a new thread has a context");
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevice, &d);
    succeed(cuCtxPushCurrent_v2, c);
    ok(current() == c, "pushed here too");
    succeed(cuCtxGetDevice, &d);
    succeed(cuCtxSynchronize, );
    succeed(cuCtxPopCurrent_v2, &c);
    succeed(cuCtxSetCurrent, primary);
    return NULL;
}

static void
threads(void)
{
    pthread_t t;
    CUcontext c = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    pthread_create(&t, NULL, other_thread, c);
    pthread_join(t, NULL);
    ok(current() == c, "the other thread changed ours");
    succeed(cuCtxDestroy_v2, c);
}

API_MAIN(CASE(create_versions), CASE(create_misuse), CASE(destroy_misuse), CASE(destroyed), CASE(stack), CASE(without), CASE(flags), CASE(says), CASE(limits),
    CASE(preferences), CASE(affinity), CASE(attach), CASE(synchronize), CASE(context_events), RAW(primary_life), CASE(primary_misuse),
    CASE(primary_null_state), CASE(primary_reset_current), CASE(threads))
