// SPDX-License-Identifier: MIT
// Contexts: create, stack, threads, primary state, limits, use after destruction.
#include "drv.h"
#include <pthread.h>

static void *
other_thread(void *c)
{
    CUcontext now = (CUcontext)1;
    CUdeviceptr d;
    CK(cuCtxGetCurrent(&now));
    IS_TRUE(now == NULL);
    EXPECT(cuMemAlloc(&d, 16), CUDA_ERROR_INVALID_CONTEXT);
    CK(cuCtxSetCurrent(c));
    CK(cuMemAlloc(&d, 16));
    CK(cuMemFree(d));
    return NULL;
}

int
main(void)
{
    CUdevice dev, got;
    CUcontext a, b, c, p;
    CUdeviceptr d;
    unsigned flags, version;
    int active;
    size_t limit;
    EXPECT(cuDeviceGet(&dev, 0), CUDA_ERROR_NOT_INITIALIZED);
    CK(cuInit(0));
    EXPECT(cuInit(1), CUDA_ERROR_INVALID_VALUE);
    CK(cuDeviceGet(&dev, 0));
    EXPECT(cuDeviceGet(&got, 99), CUDA_ERROR_INVALID_DEVICE);
    EXPECT(cuMemAlloc(&d, 16), CUDA_ERROR_INVALID_CONTEXT);
    CK(cuDevicePrimaryCtxGetState(dev, &flags, &active));
    EXPECT(active, 0);
    CK(cuCtxCreate(&a, NULL, CU_CTX_SCHED_BLOCKING_SYNC, dev));
    CK(cuCtxGetCurrent(&c));
    IS_TRUE(c == a);
    CK(cuCtxCreate(&b, NULL, 0, dev));
    CK(cuCtxGetCurrent(&c));
    IS_TRUE(c == b);
    CK(cuCtxPopCurrent(&c));
    IS_TRUE(c == b);
    CK(cuCtxGetCurrent(&c));
    IS_TRUE(c == a);
    CK(cuCtxPushCurrent(b));
    CK(cuCtxGetDevice(&got));
    EXPECT(got, dev);
    CK(cuCtxGetFlags(&flags));
    EXPECT(flags & CU_CTX_SCHED_MASK, 0);
    CK(cuCtxGetApiVersion(b, &version));
    IS_TRUE(version >= 3020);
    CK(cuMemAlloc(&d, 64));
    CK(cuCtxDestroy(b));
    CK(cuCtxGetCurrent(&c));
    IS_TRUE(c == a);
    CK(cuCtxSetLimit(CU_LIMIT_STACK_SIZE, 4096));
    CK(cuCtxGetLimit(&limit, CU_LIMIT_STACK_SIZE));
    IS_TRUE(limit >= 4096);
    pthread_t t;
    pthread_create(&t, NULL, other_thread, a);
    pthread_join(t, NULL);
    CK(cuDevicePrimaryCtxRetain(&p, dev));
    CK(cuDevicePrimaryCtxGetState(dev, &flags, &active));
    EXPECT(active, 1);
    CK(cuDevicePrimaryCtxRelease(dev));
    EXPECT(cuDevicePrimaryCtxRelease(dev), CUDA_ERROR_INVALID_CONTEXT);
    CK(cuCtxDestroy(a));
    CK(cuCtxGetCurrent(&c));
    IS_TRUE(c == NULL);
    return app_end();
}
