// SPDX-License-Identifier: MIT
// Misuse gets the documented code: launches, handles, nulls, sticky errors and recovery in a new context.
#include "drv.h"

int
main(void)
{
    CUdevice dev;
    CUcontext a, b;
    CUdeviceptr d = 0;
    CUevent ev, ev2;
    float ms;
    int v = 1, n = 1;
    const char *text;
    CK(cuInit(0));
    CK(cuDeviceGet(&dev, 0));
    CK(cuCtxCreate(&a, NULL, 0, dev));
    CUfunction f = drv_kernel(PTX_HEAD PTX_ADD, "add");
    void *args[] = {&d, &v, &n};
    EXPECT(cuLaunchKernel(f, 0, 1, 1, 1, 1, 1, 0, 0, args, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(f, 1, 1, 1, 1025, 1, 1, 0, 0, args, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuLaunchKernel(NULL, 1, 1, 1, 1, 1, 1, 0, 0, args, 0), CUDA_ERROR_INVALID_HANDLE);
    EXPECT(cuMemcpyHtoD(0, &v, 4), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuEventCreate(NULL, 0), CUDA_ERROR_INVALID_VALUE);
    CK(cuEventCreate(&ev, 0));
    CK(cuEventCreate(&ev2, CU_EVENT_DISABLE_TIMING));
    EXPECT(cuEventElapsedTime(&ms, ev, ev2), CUDA_ERROR_INVALID_HANDLE);
    CK(cuEventQuery(ev));
    CK(cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &text));
    IS_TRUE(!strcmp(text, "an illegal memory access was encountered"));
    EXPECT(cuGetErrorString((CUresult)12345, &text), CUDA_ERROR_INVALID_VALUE);
    d = 64; // not mapped
    CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(cuCtxSynchronize(), CUDA_ERROR_ILLEGAL_ADDRESS);
    EXPECT(cuMemAlloc(&d, 4), CUDA_ERROR_ILLEGAL_ADDRESS);
    cuCtxDestroy(a);
    CUresult again = cuCtxCreate(&b, NULL, 0, dev);
    char name[256];
    CK(cuDeviceGetName(name, sizeof name, dev));
    if (!strncmp(name, "NVIDIA", 6) && again)
        return app_end(); // NVIDIA's driver gives the process no new context
    CK(again);
    f = drv_kernel(PTX_HEAD PTX_ADD, "add");
    CK(cuMemAlloc(&d, 4));
    CK(cuMemcpyHtoD(d, &v, 4));
    CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    CK(cuMemcpyDtoH(&v, d, 4));
    EXPECT(v, 2);
    CK(cuCtxDestroy(b));
    return app_end();
}
