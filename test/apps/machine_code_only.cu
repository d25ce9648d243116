// An executable with machine code for one other GPU and no PTX: an error of its own, and the rest of the API goes on.
// nvcc: -arch=compute_80 -code=sm_80
#include "app.h"
__global__ void one(int *p) { *p = 1; }
int main()
{
    int *p = device_new<int>(1);
    one<<<1, 1>>>(p);
    expect_eq("launch", 0, (int)cudaGetLastError(), (int)cudaErrorNoKernelImageForDevice);
    cudaFuncAttributes a;
    expect_eq("attributes", 0, (int)cudaFuncGetAttributes(&a, one), (int)cudaErrorNoKernelImageForDevice);
    cudaGetLastError();
    CK(cudaMemset(p, 0, 4));
    CK(cudaDeviceSynchronize());
    return app_end();
}
