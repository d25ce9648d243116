// SPDX-License-Identifier: MIT
// The shortest whole driver-API program: PTX text, memory, launch by array and by packed buffer.
#include "drv.h"

int
main(void)
{
    enum { N = 1000 };
    int h[N], v = 5, n = N;
    drv_start();
    CUfunction f = drv_kernel(PTX_HEAD PTX_ADD, "add");
    CUdeviceptr d;
    CK(cuMemAlloc(&d, sizeof h));
    for (int i = 0; i < N; i++)
        h[i] = i * i;
    CK(cuMemcpyHtoD(d, h, sizeof h));
    void *args[] = {&d, &v, &n};
    CK(cuLaunchKernel(f, 8, 1, 1, 128, 1, 1, 0, 0, args, 0));
    struct {
        CUdeviceptr p;
        int v, n;
    } packed = {d, 100, 10};
    size_t size = sizeof packed;
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    CK(cuLaunchKernel(f, 1, 1, 1, 32, 1, 1, 0, 0, 0, extra));
    CK(cuMemcpyDtoH(h, d, sizeof h));
    for (int i = 0; i < N; i++)
        EXPECT(h[i], i * i + 5 + (i < 10 ? 100 : 0));
    CK(cuMemFree(d));
    return app_end();
}
