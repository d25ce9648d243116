// SPDX-License-Identifier: MIT
// Events: flags, recording, waiting, times.
#include "work.h"

static void
create(void)
{
    CUevent e = NULL;
    static const unsigned good[] = {0, CU_EVENT_BLOCKING_SYNC, CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING,
                                    CU_EVENT_INTERPROCESS | CU_EVENT_DISABLE_TIMING};
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        e = NULL;
        succeed(cuEventCreate, &e, good[i]);
        ok(e != NULL, "no event");
        succeed(cuEventQuery, e); // never recorded counts as done
        succeed(cuEventSynchronize, e);
        succeed(cuEventDestroy_v2, e);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuEventCreate, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventCreate, &e, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventCreate, &e, 0xffffffff);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventCreate, &e, CU_EVENT_INTERPROCESS);
    succeed(cuEventCreate, &e, 0);
    succeed(cuEventDestroy, e);
}

static void
null_handles(void)
{
    float ms = 1;
    CUevent e = NULL;
    succeed(cuEventCreate, &e, 0);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventRecord, NULL, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventRecordWithFlags, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventQuery, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventSynchronize, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventDestroy_v2, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, NULL, e);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, e, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuStreamWaitEvent, NULL, NULL, 0);
    if (HAVE(cuEventElapsedTime_v2))
        expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2, &ms, NULL, e);
}

static void
without_context(void)
{
    CUcontext c;
    CUevent e = NULL, f = NULL;
    succeed(cuEventCreate, &e, 0);
    succeed(cuEventRecord, e, NULL);
    succeed(cuCtxPopCurrent_v2, &c);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuEventCreate, &f, 0);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuEventRecord, e, NULL);
    succeed(cuEventSynchronize, e);
    succeed(cuEventQuery, e);
    succeed(cuEventDestroy_v2, e);
}

static void
states(void)
{
    struct gate g;
    CUevent e = NULL;
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &e, CU_EVENT_BLOCKING_SYNC);
    hold(s, &g);
    succeed(cuEventRecord, e, s);
    expect(CUDA_ERROR_NOT_READY, cuEventQuery, e);
    release(&g);
    succeed(cuEventSynchronize, e);
    succeed(cuEventQuery, e);
    hold(s, &g);
    succeed(cuEventQuery, e); // still the record of before
    succeed(cuEventRecord, e, s);
    expect(CUDA_ERROR_NOT_READY, cuEventQuery, e);
    release(&g);
    succeed(cuStreamSynchronize, s);
    succeed(cuEventQuery, e);
    succeed(cuEventDestroy_v2, e);
    succeed(cuStreamDestroy_v2, s);
}

static void
times(void)
{
    CUevent a = NULL, b = NULL, untimed = NULL, never = NULL;
    CUstream s = NULL;
    struct gate g;
    float ms = -1;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &a, 0);
    succeed(cuEventCreate, &b, 0);
    succeed(cuEventCreate, &never, 0);
    succeed(cuEventCreate, &untimed, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventRecord, a, s);
    succeed(cuStreamSynchronize, s);
    hold(s, &g);
    usleep(30000);
    succeed(cuEventRecord, b, s);
    succeed(cuEventRecord, untimed, s);
    expect(CUDA_ERROR_NOT_READY, cuEventElapsedTime, &ms, a, b);
    release(&g);
    succeed(cuEventSynchronize, b);
    succeed(cuEventSynchronize, untimed);
    succeed(cuEventElapsedTime, &ms, a, b);
    ok(ms >= 25 && ms < 5000, "%f ms", (double)ms);
    float back = 0, zero = 1;
    succeed(cuEventElapsedTime, &back, b, a);
    ok(back == -ms, "back %f, there %f", (double)back, (double)ms);
    succeed(cuEventElapsedTime, &zero, a, a);
    ok(zero == 0, "%f ms from an event to itself", (double)zero);
    if (HAVE(cuEventElapsedTime_v2)) {
        float v2 = -1;
        succeed(cuEventElapsedTime_v2, &v2, a, b);
        ok(v2 == ms, "versions differ: %f, %f", (double)v2, (double)ms);
        expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2, NULL, a, b);
        expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2, &ms, a, untimed);
    }
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, NULL, a, b);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, a, untimed);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, untimed, b);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, a, never);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime, &ms, never, b);
}

static void
record_flags(void)
{
    CUevent e = NULL;
    succeed(cuEventCreate, &e, 0);
    succeed(cuEventRecordWithFlags, e, NULL, CU_EVENT_RECORD_DEFAULT);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags, e, NULL, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventRecordWithFlags, e, NULL, 0xff);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent, NULL, e, 2);
    succeed(cuEventRecord_ptsz, e, NULL);
    succeed(cuEventRecordWithFlags_ptsz, e, NULL, 0);
    succeed(cuEventSynchronize, e);
    succeed(cuEventRecord, e, CU_STREAM_PER_THREAD);
    succeed(cuEventRecord, e, CU_STREAM_LEGACY);
    succeed(cuEventSynchronize, e);
    succeed(cuEventDestroy_v2, e);
}

static void
external_outside_capture(void)
{
    CUevent e = NULL;
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &e, 0);
    succeed(cuEventRecord, e, s);
    expect(CUDA_ERROR_ILLEGAL_STATE, cuEventRecordWithFlags, e, s, CU_EVENT_RECORD_EXTERNAL);
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamWaitEvent, s, e, CU_EVENT_WAIT_EXTERNAL);
}

// A wait is for the record that came before it, not for later ones.
static void
waits_for_the_past(void)
{
    struct gate g;
    CUevent e = NULL;
    CUstream s = NULL, t = NULL;
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuStreamCreate, &t, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamWaitEvent, t, e, 0); // never recorded: nothing to wait for
    succeed(cuStreamSynchronize, t);
    succeed(cuEventRecord, e, s);
    succeed(cuStreamWaitEvent, t, e, 0);
    hold(s, &g);
    succeed(cuEventRecord, e, s);
    STEP(t, p, 10, 1);
    succeed(cuStreamSynchronize, t);
    eq(word(p), 1);
    succeed(cuStreamWaitEvent, t, e, 0);
    succeed(cuStreamWaitEvent_ptsz, NULL, e, 0);
    STEP(t, p, 10, 2);
    expect(CUDA_ERROR_NOT_READY, cuStreamQuery, t);
    succeed(cuEventDestroy_v2, e); // while it is waited for
    release(&g);
    succeed(cuStreamSynchronize, t);
    eq(word(p), 12);
}

static void
destroyed_in_flight(void)
{
    struct gate g;
    CUevent e = NULL;
    CUstream s = NULL;
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    for (int i = 0; i < 50; i++) {
        succeed(cuEventCreate, &e, i & 1 ? CU_EVENT_DISABLE_TIMING : 0);
        if (i == 0)
            hold(s, &g);
        succeed(cuEventRecord, e, s);
        STEP(s, p, 1, 1);
        succeed(cuEventDestroy_v2, e);
    }
    release(&g);
    succeed(cuStreamSynchronize, s);
    eq(word(p), 50);
}

static void
destroyed_twice(void)
{
    CUevent e = NULL;
    succeed(cuEventCreate, &e, 0);
    succeed(cuEventDestroy_v2, e);
    if (on_nvidia()) // which follows the handle
        return;
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_CONTEXT_IS_DESTROYED, cuEventQuery, e);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_CONTEXT_IS_DESTROYED, cuEventDestroy_v2, e);
}

static void *
synchronize(void *e)
{
    return (void *)(intptr_t)CALL(cuEventSynchronize, e);
}

// Threads without a context wait for an event.
static void
waited_by_threads(void)
{
    enum { N = 8 };
    pthread_t th[N];
    struct gate g;
    CUevent e = NULL;
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventCreate, &e, CU_EVENT_BLOCKING_SYNC | CU_EVENT_DISABLE_TIMING);
    hold(s, &g);
    succeed(cuEventRecord, e, s);
    for (int i = 0; i < N; i++)
        pthread_create(&th[i], NULL, synchronize, e);
    usleep(10000);
    release(&g);
    for (int i = 0; i < N; i++) {
        void *r = NULL;
        pthread_join(th[i], &r);
        eq((intptr_t)r, CUDA_SUCCESS);
    }
}

API_MAIN(CASE(create), CASE(null_handles), CASE(without_context), CASE(states), CASE(times), CASE(record_flags), CASE(external_outside_capture),
    CASE(waits_for_the_past), CASE(destroyed_in_flight), CASE(destroyed_twice), CASE(waited_by_threads))
