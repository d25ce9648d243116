// SPDX-License-Identifier: MIT
// Streams, events, host functions, pools: order and rules, on queues that stand still until told to
// run.
#include "../check.h"
#include "null_backend.h"
#include "driver/memory.h"
#include "api_impl.h"

static char trace[64];

static void
note(void *letter)
{
    size_t n = strlen(trace);
    if (n + 1 < sizeof trace)
        trace[n] = *(const char *)letter, trace[n + 1] = 0;
}

static void
say(CUstream s, const char *letter)
{
    CHECK_INT(pw_cuLaunchHostFunc(s, note, (void *)letter), CUDA_SUCCESS);
}

static void
legacy_stream_orders_blocking_ones(void)
{
    CUstream a, b, free_one;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&b, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&a, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&free_one, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    trace[0] = 0;
    null_hold = true;
    say(a, "1");
    say(NULL, "2"); // after a
    say(b, "3");    // after the legacy stream, although its queue is looked at first
    say(free_one, "x");
    null_run();
    char without_x[64] = "";
    size_t kept = 0;
    for (char *p = trace; *p && kept < sizeof without_x - 1; p++)
        if (*p != 'x')
            without_x[kept++] = *p;
    CHECK_STR(without_x, "123");
    CHECK_INT(strlen(trace), 4);
    null_end();
}

static void
one_stream_waits_for_nothing(void)
{
    CUstream s;
    null_begin();
    null_waits = 0;
    null_hold = true;
    say(NULL, "a");
    say(NULL, "b");
    CHECK_INT(null_waits, 0);
    null_run();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    say(s, "c"); // the legacy stream is idle
    say(s, "d");
    CHECK_INT(null_waits, 0);
    say(NULL, "e");
    say(NULL, "f"); // waits once
    CHECK_INT(null_waits, 1);
    null_end();
}

static void
events_order_streams(void)
{
    CUstream a, b;
    CUevent e;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&e, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventQuery(e), CUDA_SUCCESS); // never recorded
    trace[0] = 0;
    null_hold = true;
    say(a, "1");
    CHECK_INT(pw_cuEventRecord(e, a), CUDA_SUCCESS);
    say(a, "3");
    CHECK_INT(pw_cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
    say(b, "2");
    CHECK_INT(pw_cuEventQuery(e), CUDA_ERROR_NOT_READY);
    CHECK_INT(pw_cuStreamQuery(a), CUDA_ERROR_NOT_READY);
    null_run();
    CHECK(strchr(trace, '2') > strchr(trace, '1'));
    CHECK_INT(pw_cuEventQuery(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamQuery(b), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(e), CUDA_ERROR_INVALID_HANDLE);
    null_end();
}

static void
times_and_their_errors(void)
{
    CUevent a, b, untimed;
    float ms = -1;
    null_begin();
    CHECK_INT(pw_cuEventCreate(&a, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&b, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&untimed, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&untimed, CU_EVENT_INTERPROCESS), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuEventElapsedTime_v2(&ms, a, b), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(pw_cuEventRecord(a, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventRecord(b, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventRecord(untimed, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventElapsedTime_v2(&ms, a, b), CUDA_SUCCESS);
    CHECK(ms >= 0 && ms < 1000);
    CHECK_INT(pw_cuEventElapsedTime_v2(&ms, a, untimed), CUDA_ERROR_INVALID_HANDLE);
    null_hold = true;
    CHECK_INT(pw_cuEventRecord(b, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventElapsedTime_v2(&ms, a, b), CUDA_ERROR_NOT_READY);
    null_run();
    CHECK_INT(pw_cuEventDestroy_v2(a), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(b), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(untimed), CUDA_SUCCESS);
    null_end();
}

static void
destroyed_stream_still_counts(void)
{
    CUstream s;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    trace[0] = 0;
    null_hold = true;
    say(s, "1");
    CHECK_INT(pw_cuStreamDestroy_v2(s), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamDestroy_v2(s), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(pw_cuStreamSynchronize(s), CUDA_ERROR_INVALID_HANDLE);
    say(NULL, "2");
    null_run();
    CHECK_STR(trace, "12");
    CHECK_INT(pw_cuStreamDestroy_v2(NULL), CUDA_ERROR_INVALID_HANDLE);
    null_end();
}

static CUresult callback_status;

static void
callback(CUstream s, CUresult status, void *user)
{
    (void)s;
    callback_status = status;
    note(user);
}

static void
callbacks_and_questions(void)
{
    CUstream s;
    unsigned flags = 9;
    int priority = 9;
    unsigned long long id1 = 0, id2 = 0;
    null_begin();
    CHECK_INT(pw_cuStreamCreateWithPriority(&s, CU_STREAM_NON_BLOCKING, -100), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamGetPriority(s, &priority), CUDA_SUCCESS);
    CHECK_INT(priority, STREAM_PRIORITY_GREATEST);
    CHECK_INT(pw_cuStreamGetFlags(s, &flags), CUDA_SUCCESS);
    CHECK_INT(flags, CU_STREAM_NON_BLOCKING);
    CHECK_INT(pw_cuStreamGetId(s, &id1), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamGetId(NULL, &id2), CUDA_SUCCESS);
    CHECK(id1 != id2);
    CHECK_INT(pw_cuStreamCreate(&s, 2), CUDA_ERROR_INVALID_VALUE);
    trace[0] = 0;
    CHECK_INT(pw_cuStreamAddCallback(s, callback, "k", 0), CUDA_SUCCESS);
    CHECK_STR(trace, "k");
    CHECK_INT(callback_status, CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamAddCallback(s, callback, "k", 1), CUDA_ERROR_INVALID_VALUE);
    null_scope.error = CUDA_ERROR_ILLEGAL_ADDRESS;
    CHECK_INT(pw_cuStreamSynchronize(s), CUDA_ERROR_ILLEGAL_ADDRESS);
    null_scope.error = 0;
    null_end();
}

static void
per_thread_streams(void)
{
    struct stream *a, *b, *legacy;
    null_begin();
    CHECK_INT(stream_resolve(NULL, &legacy), CUDA_SUCCESS);
    CHECK(legacy->legacy);
    CHECK_INT(stream_resolve(CU_STREAM_PER_THREAD, &a), CUDA_SUCCESS);
    CHECK(!a->legacy && a->per_thread);
    tls.per_thread_stream = true;
    CHECK_INT(stream_resolve(NULL, &b), CUDA_SUCCESS);
    CHECK(a == b);
    CHECK_INT(stream_resolve(CU_STREAM_LEGACY, &b), CUDA_SUCCESS);
    CHECK(b == legacy);
    tls.per_thread_stream = false;
    CHECK_INT(stream_resolve((CUstream)&b, &b), CUDA_ERROR_INVALID_HANDLE);
    null_end();
}

static void
values_are_waited_for(void)
{
    CUdeviceptr word;
    CUstream s;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAlloc_v2(&word, 8), CUDA_SUCCESS);
    *(uint32_t *)(uintptr_t)word = 0;
    trace[0] = 0;
    CHECK_INT(pw_cuStreamWaitValue32_v2(s, word, 7, CU_STREAM_WAIT_VALUE_EQ), CUDA_SUCCESS);
    say(s, "w");
    CHECK_STR(trace, "");
    CHECK_INT(pw_cuStreamWriteValue32_v2(NULL, word, 7, 0), CUDA_SUCCESS);
    CHECK_STR(trace, "w");
    CHECK_INT(pw_cuStreamWriteValue32_v2(s, word + 1, 7, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuStreamWriteValue64_v2(s, word + 8, 7, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuStreamWaitValue32_v2(s, word, 7, 0x100), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemFree_v2(word), CUDA_SUCCESS);
    null_end();
}

static void
pageable_sources_are_copied_aside(void)
{
    CUdeviceptr d;
    CUstream s;
    char text[8] = "before";
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAlloc_v2(&d, 8), CUDA_SUCCESS);
    null_hold = true;
    CHECK_INT(pw_cuMemcpyHtoDAsync_v2(d, text, 8, s), CUDA_SUCCESS);
    strcpy(text, "after");
    null_run();
    CHECK_STR((char *)(uintptr_t)d, "before");
    null_hold = false;
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    null_end();
}

static uint64_t
pool_value(CUmemoryPool p, CUmemPool_attribute a)
{
    cuuint64_t v = 0;
    CHECK_INT(pw_cuMemPoolGetAttribute(p, a, &v), CUDA_SUCCESS);
    return v;
}

static void
pools_reuse(void)
{
    CUmemoryPool pool;
    CUstream s, other;
    CUdeviceptr a, b, c;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuDeviceGetDefaultMemPool(&pool, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAllocAsync(&a, 1000, s), CUDA_SUCCESS);
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 1024);
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 2 << 20);
    null_hold = true;
    say(s, "x");
    CHECK_INT(pw_cuMemFreeAsync(a, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFreeAsync(a, s), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemAllocAsync(&b, 1000, other), CUDA_SUCCESS);
    CHECK(b != a); // the other stream may not have it yet
    CHECK_INT(pw_cuMemAllocAsync(&c, 1000, s), CUDA_SUCCESS);
    CHECK(c == a); // this one may
    null_run();
    null_hold = false;
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 2048);
    CHECK_INT(pw_cuMemFreeAsync(b, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(c), CUDA_SUCCESS);
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 2048);
    CHECK_INT(pw_cuStreamSynchronize(s), CUDA_SUCCESS); // the threshold is 0
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    CHECK_INT(null_allocated, 0);
    null_end();
}

static void
pool_thresholds_and_limits(void)
{
    CUmemoryPool pool;
    CUdeviceptr a, b;
    CUstream s, other;
    cuuint64_t keep = 4 << 20;
    CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                            .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}};
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&other, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemPoolCreate(&pool, &props), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemPoolSetAttribute(pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &keep),
              CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAllocFromPoolAsync(&a, 3 << 20, pool, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFreeAsync(a, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamSynchronize(s), CUDA_SUCCESS);
    CHECK_INT(pool_value(pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 4 << 20);
    CHECK_INT(pw_cuMemAllocFromPoolAsync(&b, 3 << 20, pool, s), CUDA_SUCCESS);
    CHECK(a == b);
    // No memory is left, but what another stream is about to free can be waited for.
    null_limit = null_allocated;
    null_hold = true;
    null_waits = 0;
    say(s, "x");
    CHECK_INT(pw_cuMemFreeAsync(b, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAllocFromPoolAsync(&a, 3 << 20, pool, other), CUDA_SUCCESS);
    CHECK(a == b);
    CHECK_INT(null_waits, 1);
    CHECK_INT(pw_cuMemAllocFromPoolAsync(&b, 3 << 20, pool, other), CUDA_ERROR_OUT_OF_MEMORY);
    null_hold = false;
    null_run();
    null_limit = SIZE_MAX;
    CHECK_INT(pw_cuMemPoolDestroy(pool), CUDA_SUCCESS); // `a` stays
    CHECK_INT(pw_cuMemFreeAsync(a, other), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamSynchronize(other), CUDA_SUCCESS);
    CHECK_INT(null_allocated, 0);
    null_end();
}

CHECK_MAIN(T(legacy_stream_orders_blocking_ones), T(one_stream_waits_for_nothing),
           T(events_order_streams), T(times_and_their_errors), T(destroyed_stream_still_counts),
           T(callbacks_and_questions), T(per_thread_streams), T(values_are_waited_for),
           T(pageable_sources_are_copied_aside), T(pools_reuse), T(pool_thresholds_and_limits))
