// SPDX-License-Identifier: MIT
// Any call from any thread, destruction of everything while work is in flight, exit with work in flight.
#include "work.h"

struct worker {
    int index;
    CUdeviceptr p;
    bool ok;
};

enum { THREADS = 8 };

static void
run_all(void *(*fn)(void *), CUdeviceptr p)
{
    pthread_t th[THREADS];
    struct worker w[THREADS];
    for (int i = 0; i < THREADS; i++) {
        w[i] = (struct worker){i, p + 4 * (unsigned)i, true};
        pthread_create(&th[i], NULL, fn, &w[i]);
    }
    for (int i = 0; i < THREADS; i++) {
        pthread_join(th[i], NULL);
        ok(w[i].ok, "thread %d", i);
    }
}

static void *
streams_and_events(void *user)
{
    struct worker *w = user;
    w->ok = CALL(cuCtxSetCurrent, primary) == CUDA_SUCCESS;
    for (int round = 0; round < 30 && w->ok; round++) {
        CUstream s, t;
        CUevent e;
        w->ok &= CALL(cuStreamCreate, &s, round & 1 ? CU_STREAM_NON_BLOCKING : 0) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamCreateWithPriority, &t, CU_STREAM_NON_BLOCKING, -1) == CUDA_SUCCESS;
        w->ok &= CALL(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING) == CUDA_SUCCESS;
        w->ok &= launch_step(s, w->p, 1, 1) == CUDA_SUCCESS;
        w->ok &= CALL(cuEventRecord, e, s) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamWaitEvent, t, e, 0) == CUDA_SUCCESS;
        w->ok &= launch_step(t, w->p, 1, 1) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamDestroy_v2, s) == CUDA_SUCCESS;
        w->ok &= CALL(cuEventDestroy_v2, e) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamSynchronize, t) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamDestroy_v2, t) == CUDA_SUCCESS;
    }
    return NULL;
}

static void
shared_context(void)
{
    CUdeviceptr p = work_begin();
    run_all(streams_and_events, p);
    for (unsigned i = 0; i < THREADS; i++)
        eq(word(p + 4 * i), 60);
}

static void *
default_stream(void *user)
{
    struct worker *w = user;
    w->ok = CALL(cuCtxSetCurrent, primary) == CUDA_SUCCESS;
    for (int i = 0; i < 100 && w->ok; i++)
        w->ok &= launch_step(i & 1 ? NULL : CU_STREAM_PER_THREAD, w->p, 1, 1) == CUDA_SUCCESS;
    w->ok &= CALL(cuCtxSynchronize, ) == CUDA_SUCCESS;
    return NULL;
}

static void
default_streams(void)
{
    CUdeviceptr p = work_begin();
    run_all(default_stream, p);
    for (unsigned i = 0; i < THREADS; i++)
        eq(word(p + 4 * i), 100);
}

static void *
own_context(void *user)
{
    struct worker *w = user;
    for (int round = 0; round < 3 && w->ok; round++) {
        CUcontext c;
        CUmodule m;
        CUfunction f;
        CUdeviceptr p = 0;
        unsigned v = (unsigned)(round + w->index), got = 77;
        void *args[] = {&p, &v};
        w->ok &= CALL(cuCtxCreate_v2, &c, 0, device) == CUDA_SUCCESS;
        w->ok &= CALL(cuModuleLoadData, &m, WORK_PTX) == CUDA_SUCCESS;
        w->ok &= CALL(cuModuleGetFunction, &f, m, "store") == CUDA_SUCCESS;
        w->ok &= CALL(cuMemAlloc_v2, &p, 4) == CUDA_SUCCESS;
        w->ok &= CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS;
        w->ok &= CALL(cuMemcpyDtoH_v2, &got, p, 4) == CUDA_SUCCESS && got == v;
        w->ok &= CALL(cuCtxDestroy_v2, c) == CUDA_SUCCESS;
    }
    return NULL;
}

static void
own_contexts(void)
{
    run_all(own_context, 0);
}

static CUmodule race_module;

static void *
first_use(void *user)
{
    struct worker *w = user;
    CUfunction f = NULL;
    unsigned v = 5;
    void *args[] = {&w->p, &v};
    w->ok &= CALL(cuCtxSetCurrent, primary) == CUDA_SUCCESS;
    w->ok &= CALL(cuModuleGetFunction, &f, race_module, "store") == CUDA_SUCCESS;
    w->ok &= CALL(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL) == CUDA_SUCCESS;
    w->ok &= CALL(cuCtxSynchronize, ) == CUDA_SUCCESS;
    return NULL;
}

// The first use of a kernel by several threads at once.
static void
first_uses(void)
{
    CUdeviceptr p = work_begin();
    race_module = api_module(WORK_PTX);
    run_all(first_use, p);
    for (unsigned i = 0; i < THREADS; i++)
        eq(word(p + 4 * i), 5);
}

static void *
graph_launches(void *user)
{
    struct worker *w = user;
    CUgraph g;
    CUgraphNode n;
    CUgraphExec e;
    unsigned m = 1, a = 1;
    void *args[3];
    CUDA_KERNEL_NODE_PARAMS k = step_params(&w->p, &m, &a, args);
    w->ok = CALL(cuCtxSetCurrent, primary) == CUDA_SUCCESS;
    for (int i = 0; i < 20 && w->ok; i++) {
        w->ok &= CALL(cuGraphCreate, &g, 0) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphAddKernelNode_v2, &n, g, NULL, 0, &k) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphInstantiateWithFlags, &e, g, 0) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphLaunch, e, CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphExecDestroy, e) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphDestroy, g) == CUDA_SUCCESS;
    }
    w->ok &= CALL(cuStreamSynchronize, CU_STREAM_PER_THREAD) == CUDA_SUCCESS;
    return NULL;
}

static void
graphs(void)
{
    CUdeviceptr p = work_begin();
    run_all(graph_launches, p);
    for (unsigned i = 0; i < THREADS; i++)
        eq(word(p + 4 * i), 20);
}

// ---- destruction in flight --------------------------------------------------------------------------
static void *
open_later(void *gate)
{
    usleep(50000);
    release(gate);
    return NULL;
}

static void
memory_freed(void)
{
    struct gate g;
    pthread_t th;
    CUdeviceptr p = work_begin();
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 1, 1);
    pthread_create(&th, NULL, open_later, &g);
    succeed(cuMemFree_v2, p); // waits for the work
    succeed(cuStreamQuery, s);
    pthread_join(th, NULL);
}

static void
module_unloaded(void)
{
    struct gate g;
    pthread_t th;
    CUdeviceptr p = work_begin();
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 1, 7);
    pthread_create(&th, NULL, open_later, &g);
    succeed(cuModuleUnload, work_module);
    succeed(cuStreamSynchronize, s);
    pthread_join(th, NULL);
    eq(word(p), 7);
}

static void
context_destroyed(void)
{
    struct gate g;
    pthread_t th;
    CUcontext c = NULL;
    CUstream s = NULL;
    succeed(cuCtxCreate_v2, &c, 0, device);
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 1, 7);
    pthread_create(&th, NULL, open_later, &g);
    succeed(cuCtxDestroy_v2, c);
    pthread_join(th, NULL);
    succeed(cuCtxSetCurrent, primary);
    succeed(cuCtxSynchronize, );
}

static void
primary_reset(void)
{
    struct gate g;
    pthread_t th;
    CUdeviceptr p = work_begin();
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    hold(s, &g);
    STEP(s, p, 1, 7);
    pthread_create(&th, NULL, open_later, &g);
    succeed(cuDevicePrimaryCtxReset_v2, device);
    pthread_join(th, NULL);
}

// ---- exit in flight: the process must end well ------------------------------------------------------
static void
spin_kernels(CUstream s)
{
    CUdeviceptr p = work_begin();
    for (int i = 0; i < 200; i++)
        launch_step(s, p, 1, 1);
    void *args[] = {&p};
    for (int i = 0; i < 20; i++)
        CALL(cuLaunchKernel, count, 4096, 1, 1, 256, 1, 1, 0, s, args, NULL);
}

static void
exits_at_once(void)
{
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    spin_kernels(s);
    exit(0);
}

static void *
busy_thread(void *unused)
{
    (void)unused;
    CALL(cuCtxSetCurrent, primary);
    spin_kernels(CU_STREAM_PER_THREAD);
    sleep(60);
    return NULL;
}

static void
exits_beside_threads(void)
{
    pthread_t th;
    pthread_create(&th, NULL, busy_thread, NULL);
    usleep(50000);
    exit(0);
}

static void
exits_with_objects(void)
{
    CUgraph g = NULL;
    CUgraphExec e = NULL;
    CUevent ev = NULL;
    CUcontext c = NULL;
    CUdeviceptr p = work_begin();
    succeed(cuGraphCreate, &g, 0);
    add_step(g, NULL, 0, p, 1, 1);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphLaunch, e, NULL);
    succeed(cuEventCreate, &ev, 0);
    succeed(cuEventRecord, ev, NULL);
    succeed(cuCtxCreate_v2, &c, 0, device);
}

API_MAIN(CASE(shared_context), CASE(default_streams), CASE(own_contexts), CASE(first_uses), CASE(graphs), CASE(memory_freed), CASE(module_unloaded),
    CASE(context_destroyed), CASE(primary_reset), CASE(exits_at_once), CASE(exits_beside_threads), CASE(exits_with_objects))
