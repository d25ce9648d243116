// SPDX-License-Identifier: MIT
// Device printf, then a reduction with warp shuffles: the sum of 1..n.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void hello()
{
    printf("hello from thread %d of block %d\n", threadIdx.x, blockIdx.x);
}

__global__ void sum(unsigned n, unsigned long long *out)
{
    unsigned long long s = 0;
    for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        s += i + 1;
    for (int k = 16; k; k >>= 1)
        s += __shfl_down_sync(0xffffffffu, s, k);
    if (threadIdx.x % 32 == 0)
        atomicAdd(out, s);
}

int main()
{
    const unsigned n = 1000000;
    unsigned long long *out, got = 0, want = (unsigned long long)n * (n + 1) / 2;
    hello<<<2, 2>>>();
    if (cudaMallocManaged(&out, sizeof *out) != cudaSuccess) {
        fprintf(stderr, "no memory: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    *out = 0;
    sum<<<64, 256>>>(n, out);
    cudaError_t e = cudaDeviceSynchronize();
    got = *out;
    printf("1 + 2 + ... + %u = %llu (%s)\n", n, got, e != cudaSuccess ? cudaGetErrorString(e) : got == want ? "right" : "wrong");
    return e != cudaSuccess || got != want;
}
