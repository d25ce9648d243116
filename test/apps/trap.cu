// __trap ends the launch with an error that sticks until the device is reset; the process goes on.
#include "app.h"
__global__ void boom(int *p) { if (threadIdx.x == 3) __trap(); *p = 1; }
__global__ void fine(int *p) { *p = 7; }
int main()
{
    int *p = device_new<int>(1), v = 0;
    boom<<<1, 32>>>(p);
    cudaError_t e = cudaDeviceSynchronize();
    EXPECT(e == cudaErrorLaunchFailure || e == cudaErrorIllegalInstruction);
    EXPECT(cudaMalloc(&p, 4) == e);
    app_reset();
    p = device_new<int>(1);
    fine<<<1, 1>>>(p);
    CK(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost));
    expect_eq("after reset", 0, v, 7);
    return app_end();
}
