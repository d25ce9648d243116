// Occupancy and function attributes.
#include "app.h"
__global__ void __launch_bounds__(256) bounded(float *p) { __shared__ float s[512]; s[threadIdx.x] = p[threadIdx.x]; __syncthreads(); p[threadIdx.x] = s[255 - threadIdx.x]; }
__global__ void dyn(int *p) { extern __shared__ int big[]; big[threadIdx.x + 20000] = threadIdx.x; __syncthreads(); p[threadIdx.x] = big[20000 + (threadIdx.x ^ 1)]; }
int main()
{
    cudaFuncAttributes a;
    CK(cudaFuncGetAttributes(&a, bounded));
    expect_eq("shared", 0, a.sharedSizeBytes, 2048), expect_eq("threads", 0, a.maxThreadsPerBlock, 256);
    EXPECT(a.ptxVersion >= 50 && a.numRegs > 0);
    int blocks, grid, block;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, bounded, 256, 0));
    EXPECT(blocks >= 1 && blocks <= 64);
    CK(cudaOccupancyMaxPotentialBlockSize(&grid, &block, bounded, 0, 0));
    EXPECT(grid >= 1 && block >= 32 && block <= 256);
    float *f = device_new<float>(512);
    bounded<<<1, 512>>>(f); // more than its bound
    expect_eq("beyond its bound", 0, (int)cudaGetLastError(), (int)cudaErrorInvalidValue);
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    EXPECT(p.sharedMemPerBlockOptin >= 96 * 1024);
    int *o = device_new<int>(64);
    dyn<<<1, 64, 90000>>>(o); // above 48 KiB without opting in
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    CK(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 90000));
    dyn<<<1, 64, 90000>>>(o);
    CK(cudaGetLastError());
    auto r = to_host(o, 64);
    for (int i = 0; i < 64; i++)
        expect_eq("dyn", i, r[i], i ^ 1);
    EXPECT(cudaFuncSetAttribute(dyn, cudaFuncAttributeMaxDynamicSharedMemorySize, 1 << 24) == cudaErrorInvalidValue);
    cudaGetLastError();
    dyn<<<dim3(1, 70000), 64>>>(o);
    expect_eq("grid too large", 0, (int)cudaGetLastError(), (int)cudaErrorInvalidValue);
    dyn<<<1, 2048>>>(o);
    expect_eq("block too large", 0, (int)cudaGetLastError(), (int)cudaErrorInvalidValue);
    return app_end();
}
