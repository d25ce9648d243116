// SPDX-License-Identifier: MIT
// Streams: making them, what can be asked of them, order, waiting for words of memory, attributes, end with work in flight.
#include "work.h"

static CUstream
stream(unsigned flags)
{
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, flags);
    return s;
}

static void
create(void)
{
    CUstream s = NULL, t = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreate, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreate, &s, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreate, &s, 0xffffffff);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreateWithPriority, NULL, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamCreateWithPriority, &s, 4, 0);
    succeed(cuStreamCreate, &s, CU_STREAM_DEFAULT);
    succeed(cuStreamCreate, &t, CU_STREAM_NON_BLOCKING);
    ok(s && t && s != t, "two streams");
    succeed(cuStreamQuery, s);
    succeed(cuStreamSynchronize, t);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy, t);
}

static void
without_context(void)
{
    CUstream s = NULL;
    CUcontext c = NULL;
    unsigned flags = 0;
    succeed(cuCtxPopCurrent_v2, &c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreate, &s, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamCreateWithPriority, &s, 0, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamSynchronize, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamQuery, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuStreamGetFlags, NULL, &flags);
    succeed(cuCtxPushCurrent_v2, c);
}

static void
priorities(void)
{
    int least = 7, greatest = 7, p = 77;
    CUstream s = NULL;
    succeed(cuCtxGetStreamPriorityRange, &least, &greatest);
    eq(least, 0);
    ok(greatest < 0, "greatest %d", greatest);
    for (int want = least; want >= greatest; want--) {
        succeed(cuStreamCreateWithPriority, &s, CU_STREAM_NON_BLOCKING, want);
        succeed(cuStreamGetPriority, s, &p);
        eq(p, want);
        succeed(cuStreamDestroy_v2, s);
    }
    succeed(cuStreamCreateWithPriority, &s, 0, greatest - 100);
    succeed(cuStreamGetPriority, s, &p);
    eq(p, greatest);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamCreateWithPriority, &s, 0, 100);
    succeed(cuStreamGetPriority, s, &p);
    eq(p, least);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamGetPriority, NULL, &p);
    eq(p, 0);
    succeed(cuCtxGetStreamPriorityRange, NULL, &greatest);
    succeed(cuCtxGetStreamPriorityRange, &least, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetPriority, NULL, NULL);
}

static void
asked(void)
{
    CUstream s = stream(0), t = stream(CU_STREAM_NON_BLOCKING);
    unsigned flags = 99;
    CUcontext c = NULL;
    CUdevice d = -1;
    succeed(cuStreamGetFlags, s, &flags);
    eq(flags, CU_STREAM_DEFAULT);
    succeed(cuStreamGetFlags, t, &flags);
    eq(flags, CU_STREAM_NON_BLOCKING);
    succeed(cuStreamGetFlags, NULL, &flags);
    eq(flags, 0);
    succeed(cuStreamGetFlags, CU_STREAM_LEGACY, &flags);
    eq(flags, 0);
    succeed(cuStreamGetFlags, CU_STREAM_PER_THREAD, &flags);
    eq(flags, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetFlags, s, NULL);
    CUstream each[] = {s, t, NULL, CU_STREAM_LEGACY, CU_STREAM_PER_THREAD};
    for (size_t i = 0; i < sizeof each / sizeof *each; i++) {
        c = NULL;
        succeed(cuStreamGetCtx, each[i], &c);
        ok(c == primary, "stream %zu: another context", i);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetCtx, s, NULL);
    if (HAVE(cuStreamGetDevice)) {
        succeed(cuStreamGetDevice, s, &d);
        eq(d, device);
        d = -1;
        succeed(cuStreamGetDevice, NULL, &d);
        eq(d, device);
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetDevice, s, NULL);
    }
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
}

static void
green_asked(void)
{
    CUcontext c = NULL;
    CUgreenCtx g = (CUgreenCtx)(uintptr_t)8;
    CUstream s = stream(0);
    if (!HAVE(cuStreamGetCtx_v2)) {
        skip("the driver is older than 12.5");
        return;
    }
    succeed(cuStreamGetCtx_v2, s, &c, &g);
    ok(c == primary, "another context");
    ok(!g, "a green context");
    broken("takes NULL") expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetCtx_v2, s, NULL, &g);
    g = (CUgreenCtx)(uintptr_t)8;
    succeed(cuStreamGetGreenCtx, s, &g);
    ok(!g, "a green context");
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetGreenCtx, s, NULL);
    succeed(cuStreamDestroy_v2, s);
}

static void
ids(void)
{
    unsigned long long a = 0, b = 0, c = 0, again = 0, legacy = 0, thread = 0;
    CUstream s = stream(0), t = stream(0);
    succeed(cuStreamGetId, s, &a);
    succeed(cuStreamGetId, t, &b);
    succeed(cuStreamGetId, s, &again);
    ok(a == again, "an id changed");
    ok(a != b, "two streams of one id");
    succeed(cuStreamGetId, NULL, &legacy);
    succeed(cuStreamGetId, CU_STREAM_LEGACY, &again);
    ok(legacy == again, "NULL is not the legacy stream");
    succeed(cuStreamGetId, CU_STREAM_PER_THREAD, &thread);
    ok(thread != legacy && legacy != a && thread != a, "ids %llu %llu %llu", legacy, thread, a);
    succeed(cuStreamDestroy_v2, t);
    t = stream(0);
    succeed(cuStreamGetId, t, &c);
    ok(c != b && c != a, "an id was used again");
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetId, s, NULL);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
}

static void *
thread_id(void *out)
{
    CALL(cuCtxSetCurrent, primary);
    succeed(cuStreamGetId, CU_STREAM_PER_THREAD, out);
    return NULL;
}

static void
thread_streams(void)
{
    pthread_t t;
    unsigned long long mine = 0, other = 0;
    CUdeviceptr p = work_begin();
    succeed(cuStreamGetId, CU_STREAM_PER_THREAD, &mine);
    pthread_create(&t, NULL, thread_id, &other);
    pthread_join(t, NULL);
    ok(mine != other, "two threads, one default stream");
    STEP(CU_STREAM_PER_THREAD, p, 1, 5);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_READY, cuStreamQuery_ptsz, NULL);
    succeed(cuStreamSynchronize, CU_STREAM_PER_THREAD);
    succeed(cuStreamSynchronize_ptsz, NULL);
    eq(word(p), 5);
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2, CU_STREAM_PER_THREAD);
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy_v2, CU_STREAM_LEGACY);
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamDestroy, NULL);
}

// ---- order ------------------------------------------------------------------------------------------
static void
order(void)
{
    struct gate g;
    CUdeviceptr p = work_begin();
    CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
    CUevent e = NULL;
    succeed(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
    hold(s, &g);
    STEP(s, p, 10, 1);
    STEP(s, p, 10, 2);
    succeed(cuEventRecord, e, s);
    succeed(cuStreamWaitEvent, t, e, 0);
    STEP(t, p, 10, 3);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, s);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, t);
    expect(CUDA_ERROR_NOT_READY, cuEventQuery, e);
    release(&g);
    succeed(cuStreamSynchronize, t);
    succeed(cuStreamQuery, s);
    succeed(cuStreamQuery, t);
    eq(word(p), 123);
    succeed(cuEventDestroy_v2, e);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
}

// Work in the legacy stream waits for blocking streams and they for it; non-blocking ones do neither.
static void
legacy_order(void)
{
    struct gate g;
    CUdeviceptr p = work_begin();
    CUstream s = stream(0), t = stream(0), free_one = stream(CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 10, 1);
    STEP(NULL, p, 10, 2);
    STEP(t, p, 10, 3);
    STEP(CU_STREAM_PER_THREAD, p + 4, 1, 1);
    STEP(free_one, p + 8, 1, 7);
    succeed(cuStreamSynchronize, free_one);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, NULL);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, t);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, CU_STREAM_PER_THREAD);
    release(&g);
    succeed(cuStreamSynchronize, t);
    eq(word(p), 123);
    eq(word(p + 8), 7);
    succeed(cuCtxSynchronize, );
    eq(word(p + 4), 1);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
    succeed(cuStreamDestroy_v2, free_one);
}

static void
destroyed_in_flight(void)
{
    struct gate g;
    CUdeviceptr p = work_begin();
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 10, 1);
    STEP(s, p, 10, 2);
    succeed(cuStreamDestroy_v2, s); // returns at once; the work is finished
    release(&g);
    succeed(cuCtxSynchronize, );
    eq(word(p), 12);
}

static void
destroyed_twice(void)
{
    CUstream s = stream(0);
    unsigned flags;
    succeed(cuStreamDestroy_v2, s);
    if (on_nvidia()) // which follows the handle
        return;
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamQuery, s);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamGetFlags, s, &flags);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_CONTEXT_IS_DESTROYED, cuStreamDestroy_v2, s);
}

static void
other_context(void)
{
    CUcontext c = NULL, of = NULL;
    CUstream s = NULL;
    CUevent e = NULL;
    CUdeviceptr p = work_begin();
    succeed(cuCtxCreate_v2, &c, 0, device);
    s = stream(0);
    succeed(cuEventCreate, &e, 0);
    succeed(cuCtxSetCurrent, primary);
    succeed(cuStreamGetCtx, s, &of);
    ok(of == c, "the stream's own context");
    succeed(cuStreamSynchronize, s);
    succeed(cuStreamQuery, s);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventRecord, e, NULL);
    ok(launch_step(s, p, 1, 1) == CUDA_ERROR_INVALID_HANDLE, "a kernel of another context in a stream");
    succeed(cuEventRecord, e, s); // neither belongs to the current context
    succeed(cuStreamWaitEvent, NULL, e, 0);
    succeed(cuStreamSynchronize, NULL);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuEventDestroy_v2, e);
    succeed(cuCtxDestroy_v2, c);
}

// ---- host functions ---------------------------------------------------------------------------------
static void
note(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void
called_back(CUstream s, CUresult r, void *user)
{
    (void)s;
    if (r == CUDA_SUCCESS)
        atomic_fetch_add((atomic_int *)user, 100);
}

static void
host_functions(void)
{
    atomic_int n = 0;
    CUstream s = stream(0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLaunchHostFunc, s, NULL, &n);
    succeed(cuLaunchHostFunc, s, note, &n);
    succeed(cuLaunchHostFunc, NULL, note, &n);
    succeed(cuLaunchHostFunc_ptsz, NULL, note, &n);
    succeed(cuCtxSynchronize, );
    eq(atomic_load(&n), 3);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback, s, NULL, &n, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAddCallback, s, called_back, &n, 1);
    succeed(cuStreamAddCallback, s, called_back, &n, 0);
    succeed(cuStreamAddCallback, NULL, called_back, &n, 0);
    succeed(cuCtxSynchronize, );
    eq(atomic_load(&n), 203);
    succeed(cuStreamDestroy_v2, s);
}

static void
failed_callback(CUstream s, CUresult r, void *user)
{
    (void)s;
    *(CUresult *)user = r;
}

// After an error of the context callbacks are told, host functions are not called.
static void
host_after_error(void)
{
    atomic_int n = 0;
    CUresult told = CUDA_SUCCESS;
    struct gate g;
    work_begin();
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    succeed(cuLaunchKernel, api_function(work_module, "broken"), 1, 1, 1, 1, 1, 1, 0, s, NULL, NULL);
    succeed(cuLaunchHostFunc, s, note, &n);
    succeed(cuStreamAddCallback, s, failed_callback, &told, 0);
    release(&g);
    ok(CALL(cuStreamSynchronize, s) != CUDA_SUCCESS, "the trap went unnoticed");
    usleep(200000);
    eq(atomic_load(&n), 0);
    ok(told != CUDA_SUCCESS, "the callback was not told");
    ok(CALL(cuStreamQuery, s) != CUDA_SUCCESS, "the error does not stay");
    ok(CALL(cuStreamCreate, &s, 0) != CUDA_SUCCESS, "the error does not stay");
}

// ---- words of memory --------------------------------------------------------------------------------
static void
write_values(void)
{
    CUdeviceptr p = work_begin();
    cuuint64_t v = 0;
    succeed(cuStreamWriteValue32_v2, NULL, p, 0x12345678, 0);
    eq(word(p), 0x12345678);
    broken("an H200 does not take the flag") {
        succeed(cuStreamWriteValue32_v2, NULL, p + 4, 9, CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER);
        eq(word(p + 4), 9);
    }
    succeed(cuStreamWriteValue64_v2, NULL, p + 8, 0x123456789abcdef0ull, 0);
    succeed(cuMemcpyDtoH_v2, &v, p + 8, 8);
    eq(v, 0x123456789abcdef0ull);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2, NULL, p, 1, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2, NULL, p + 1, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2, NULL, p + 4, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue32_v2, NULL, 0, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWriteValue64_v2, NULL, 0, 1, 0);
    succeed(cuMemFree_v2, p);
}

// The stream waits until the word, written by another stream, fulfils the condition.
static void
wait_one(unsigned flags, unsigned before, unsigned want, unsigned after)
{
    CUdeviceptr p = 0;
    CUstream s = stream(CU_STREAM_NON_BLOCKING), t = stream(CU_STREAM_NON_BLOCKING);
    succeed(cuMemAlloc_v2, &p, 16);
    succeed(cuMemsetD32_v2, p, before, 4);
    succeed(cuStreamWaitValue32_v2, s, p, want, flags);
    succeed(cuStreamWriteValue32_v2, s, p + 4, 77, 0);
    usleep(20000);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, s);
    succeed(cuStreamWriteValue32_v2, t, p, after, 0);
    succeed(cuStreamSynchronize, s);
    eq(word(p + 4), 77);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
    succeed(cuMemFree_v2, p);
}

static void
wait_values(void)
{
    wait_one(CU_STREAM_WAIT_VALUE_GEQ, 4, 5, 6);
    wait_one(CU_STREAM_WAIT_VALUE_GEQ, 0xfffffff0, 3, 3); // cyclic: 0xfffffff0 is before 3
    wait_one(CU_STREAM_WAIT_VALUE_EQ, 6, 5, 5);
    wait_one(CU_STREAM_WAIT_VALUE_AND, 0xf0, 0x0f, 0xf8);
    wait_one(CU_STREAM_WAIT_VALUE_NOR, 0xffffff0f, 0xf0, 0);
}

static void
wait_values_met(void)
{
    CUdeviceptr p = work_begin();
    cuuint64_t big = 1ull << 40;
    succeed(cuMemcpyHtoD_v2, p, &big, 8);
    succeed(cuStreamWaitValue64_v2, NULL, p, big - 1, CU_STREAM_WAIT_VALUE_GEQ);
    succeed(cuStreamWaitValue64_v2, NULL, p, big, CU_STREAM_WAIT_VALUE_EQ);
    succeed(cuStreamWaitValue64_v2, NULL, p, big, CU_STREAM_WAIT_VALUE_AND);
    succeed(cuStreamWaitValue64_v2, NULL, p, 0, CU_STREAM_WAIT_VALUE_NOR);
    succeed(cuStreamWaitValue32_v2, NULL, p, 0, CU_STREAM_WAIT_VALUE_EQ);
    succeed(cuStreamSynchronize, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2, NULL, p, 0, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2, NULL, p + 2, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue64_v2, NULL, p + 4, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitValue32_v2, NULL, 0, 0, 0);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32_v2, NULL, p, 0, CU_STREAM_WAIT_VALUE_FLUSH);
}

// A word of host memory releases a stream.
static void
wait_host(void)
{
    unsigned *h = NULL;
    CUdeviceptr p = 0;
    CUstream s = stream(CU_STREAM_NON_BLOCKING);
    succeed(cuMemHostAlloc, (void **)&h, 64, CU_MEMHOSTALLOC_DEVICEMAP);
    succeed(cuMemHostGetDevicePointer_v2, &p, h, 0);
    h[0] = h[1] = 0;
    succeed(cuStreamWaitValue32_v2, s, p, 1, CU_STREAM_WAIT_VALUE_EQ);
    succeed(cuStreamWriteValue32_v2, s, p + 4, 42, 0);
    usleep(10000);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, s);
    eq(((volatile unsigned *)h)[1], 0);
    __atomic_store_n(&h[0], 1, __ATOMIC_RELEASE);
    succeed(cuStreamSynchronize, s);
    eq(h[1], 42);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuMemFreeHost, h);
}

static void
batches(void)
{
    CUdeviceptr p = work_begin();
    CUstreamBatchMemOpParams op[4];
    memset(op, 0, sizeof op);
    op[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op[0].writeValue.address = p;
    op[0].writeValue.value = 5;
    op[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op[1].waitValue.address = p;
    op[1].waitValue.value = 5;
    op[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    op[2].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_64;
    op[2].writeValue.address = p + 8;
    op[2].writeValue.value64 = 1ull << 33;
    op[3].memoryBarrier.operation = CU_STREAM_MEM_OP_BARRIER;
    succeed(cuStreamBatchMemOp_v2, NULL, 3, op, 0);
    succeed(cuStreamSynchronize, NULL);
    eq(word(p), 5);
    eq(word(p + 12), 2);
    expect2(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2, NULL, 4, op, 0);
    if (!on_nvidia()) // which follows NULL
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2, NULL, 3, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2, NULL, 257, op, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2, NULL, 3, op, 1);
    op[0].writeValue.operation = (CUstreamBatchMemOpType)99;
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBatchMemOp_v2, NULL, 1, op, 0);
}

static void
batch_none(void)
{
    CUstreamBatchMemOpParams op;
    memset(&op, 0, sizeof op);
    succeed(cuStreamBatchMemOp_v2, NULL, 0, &op, 0);
}

static void
first_versions(void)
{
    CUdeviceptr p = work_begin();
    CUstreamBatchMemOpParams op;
    memset(&op, 0, sizeof op);
    op.writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op.writeValue.address = p;
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamWriteValue32, NULL, p, 3, 0);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamWriteValue64, NULL, p + 8, 3, 0);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue32, NULL, p, 0, CU_STREAM_WAIT_VALUE_GEQ);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamWaitValue64, NULL, p + 8, 0, CU_STREAM_WAIT_VALUE_GEQ);
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuStreamBatchMemOp, NULL, 1, &op, 0);
    succeed(cuStreamSynchronize, NULL);
}

// ---- memory in streams ------------------------------------------------------------------------------
static void
attach(void)
{
    CUdeviceptr p = 0;
    CUstream s = stream(0);
    succeed(cuMemAllocManaged, &p, 4096, CU_MEM_ATTACH_GLOBAL);
    succeed(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_SINGLE);
    succeed(cuStreamAttachMemAsync, s, p, 4096, CU_MEM_ATTACH_SINGLE);
    succeed(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_HOST);
    succeed(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_GLOBAL);
    succeed(cuStreamAttachMemAsync, NULL, p, 0, CU_MEM_ATTACH_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 0, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 128, CU_MEM_ATTACH_GLOBAL);
    if (!on_nvidia()) { // which dies of one of these
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, 0, 0, CU_MEM_ATTACH_GLOBAL);
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, NULL, p, 0, CU_MEM_ATTACH_SINGLE);
    }
    succeed(cuStreamSynchronize, s);
    succeed(cuMemFree_v2, p);
    succeed(cuStreamDestroy_v2, s);
}

// ---- attributes -------------------------------------------------------------------------------------
static void
attributes(void)
{
    CUstream s = stream(0), t = stream(0);
    CUstreamAttrValue v, w;
    memset(&v, 0, sizeof v);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
    broken("answers -1 before anything was set") eq(v.syncPolicy, CU_SYNC_POLICY_AUTO);
    v.syncPolicy = CU_SYNC_POLICY_SPIN;
    succeed(cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
    memset(&w, 0, sizeof w);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &w);
    eq(w.syncPolicy, CU_SYNC_POLICY_SPIN);
    succeed(cuStreamCopyAttributes, t, s);
    memset(&w, 0, sizeof w);
    succeed(cuStreamGetAttribute, t, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &w);
    eq(w.syncPolicy, CU_SYNC_POLICY_SPIN);
    v.syncPolicy = (CUsynchronizationPolicy)77;
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, &v);
    succeed(cuStreamSynchronize, s);
    if (!on_nvidia()) { // which follows NULL
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL);
        expect(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY, NULL);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetAttribute, s, (CUstreamAttrID)999, &v);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuStreamDestroy_v2, t);
}

static void
windows(void)
{
    CUstream s = stream(0);
    CUdeviceptr p = 0;
    CUstreamAttrValue v, w;
    succeed(cuMemAlloc_v2, &p, 1 << 16);
    memset(&v, 0, sizeof v);
    memset(&w, 0xff, sizeof w);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w);
    eq(w.accessPolicyWindow.num_bytes, 0);
    v.accessPolicyWindow.base_ptr = (void *)(uintptr_t)p;
    v.accessPolicyWindow.num_bytes = 1 << 12;
    v.accessPolicyWindow.hitRatio = 0.5f;
    v.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_STREAMING;
    succeed(cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
    memset(&w, 0, sizeof w);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w);
    ok(w.accessPolicyWindow.base_ptr == (void *)(uintptr_t)p, "base");
    eq(w.accessPolicyWindow.num_bytes, 1 << 12);
    ok(w.accessPolicyWindow.hitRatio == 0.5f, "ratio");
    eq(w.accessPolicyWindow.hitProp, CU_ACCESS_PROPERTY_PERSISTING);
    eq(w.accessPolicyWindow.missProp, CU_ACCESS_PROPERTY_STREAMING);
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_PERSISTING; // not allowed for misses
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
    v.accessPolicyWindow.missProp = CU_ACCESS_PROPERTY_NORMAL;
    v.accessPolicyWindow.hitRatio = 1.5f;
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
    succeed(cuCtxResetPersistingL2Cache, );
    succeed(cuStreamDestroy_v2, s);
}

static void
more_attributes(void)
{
    CUstream s = NULL;
    CUstreamAttrValue v;
    succeed(cuStreamCreateWithPriority, &s, 0, -2);
    memset(&v, 0, sizeof v);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
    eq(v.priority, -2);
    memset(&v, 0, sizeof v);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
    eq(v.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_DEFAULT);
    v.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
    succeed(cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
    memset(&v, 0, sizeof v);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, &v);
    eq(v.memSyncDomain, CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE);
    memset(&v, 0xff, sizeof v);
    succeed(cuStreamGetAttribute, s, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP, &v);
    eq(v.memSyncDomainMap.default_, 0);
    eq(v.memSyncDomainMap.remote, 1);
    v.priority = -1;
    expect2(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, cuStreamSetAttribute, s, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
    succeed(cuStreamDestroy_v2, s);
}

API_MAIN(CASE(create), CASE(without_context), CASE(priorities), CASE(asked), CASE(green_asked), CASE(ids), CASE(thread_streams), CASE(order),
    CASE(legacy_order), CASE(destroyed_in_flight), CASE(destroyed_twice), CASE(other_context), CASE(host_functions), CASE(host_after_error),
    CASE(write_values), CASE(wait_values), CASE(wait_values_met), CASE(wait_host), CASE(batches), CASE(batch_none), CASE(first_versions), CASE(attach),
    CASE(attributes), CASE(windows), CASE(more_attributes))
