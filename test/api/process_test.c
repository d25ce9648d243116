// SPDX-License-Identifier: MIT
// The process around the driver: fork, exit with work in flight, threads.
#include "api.h"
#include "ptx.h"

#include <pthread.h>
#include <sys/wait.h>

// What the child of a fork after cuInit hears; told by its exit status.
static void
after_fork(void)
{
    int status = 0, n;
    CUdeviceptr p = 0;
    pid_t child = fork();
    if (child == 0) {
        CUresult alloc = CALL(cuMemAlloc_v2, &p, 64), count = CALL(cuDeviceGetCount, &n), again = CALL(cuInit, 0);
        _exit(alloc != CUDA_ERROR_NOT_INITIALIZED ? 1 : count != CUDA_ERROR_NOT_INITIALIZED ? 2 : again != CUDA_ERROR_NOT_INITIALIZED ? 3 : 0);
    }
    waitpid(child, &status, 0);
    ok(WIFEXITED(status), "the child died");
    eq(WEXITSTATUS(status), 0);
    succeed(cuMemAlloc_v2, &p, 64); // the parent is as before
    succeed(cuMemsetD32_v2, p, 1, 16);
    succeed(cuMemFree_v2, p);
}

// A fork before the first call leaves both free to use the driver.
static void
before_init(void)
{
    int status = 0, n = 0;
    pid_t child = fork();
    if (child == 0)
        _exit(CALL(cuInit, 0) != CUDA_SUCCESS || CALL(cuDeviceGetCount, &n) != CUDA_SUCCESS || n < 1);
    waitpid(child, &status, 0);
    eq(status, 0);
    succeed(cuInit, 0);
}

static void
exit_with_work(void)
{
    CUdeviceptr p = 0;
    CUstream s = NULL;
    CUfunction f = api_function(api_module(PTX_HEAD PTX_FILL), "fill");
    unsigned v = 1;
    unsigned long long n = 16 << 20;
    succeed(cuMemAlloc_v2, &p, 64 << 20);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    void *args[] = {&p, &v, &n};
    for (int i = 0; i < 20; i++)
        succeed(cuLaunchKernel, f, 16384, 1, 1, 1024, 1, 1, 0, s, args, NULL);
    // The case's process ends here, and must do so well and soon.
}

static void
at_the_end(void)
{
    int n;
    CUresult r = CALL(cuDeviceGetCount, &n);
    if (r != CUDA_SUCCESS && r != CUDA_ERROR_DEINITIALIZED)
        _exit(9);
}

static void
calls_at_exit(void)
{
    atexit(at_the_end);
    int n;
    succeed(cuDeviceGetCount, &n);
}

static void *
worker(void *user)
{
    CUdeviceptr p = 0;
    CUstream s = NULL;
    unsigned v = 0, seed = (unsigned)(uintptr_t)user;
    succeed(cuCtxSetCurrent, primary);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    for (unsigned i = 0; i < 20; i++) {
        succeed(cuMemAllocAsync, &p, 4096, s);
        succeed(cuMemsetD32Async, p, seed * 1000 + i, 1024, s);
        succeed(cuMemcpyDtoHAsync_v2, &v, p + 4092, 4, s);
        succeed(cuMemFreeAsync, p, s);
        succeed(cuStreamSynchronize, s);
        eq(v, seed * 1000 + i);
    }
    succeed(cuStreamDestroy_v2, s);
    return NULL;
}

static void
threads(void)
{
    pthread_t t[4];
    for (uintptr_t i = 0; i < 4; i++)
        pthread_create(&t[i], NULL, worker, (void *)i);
    for (int i = 0; i < 4; i++)
        pthread_join(t[i], NULL);
}

API_MAIN(CASE(after_fork), RAW(before_init), CASE(exit_with_work), CASE(calls_at_exit), CASE(threads))
