// A lock taken by every lane of every warp: needs independent progress of the lanes.
#include "app.h"
__device__ int lock, total;
__global__ void run()
{
    bool done = false;
    while (!done)
        if (atomicCAS(&lock, 0, 1) == 0) {
            total = *(volatile int *)&total + 1;
            __threadfence();
            atomicExch(&lock, 0);
            done = true;
        }
}
__global__ void greedy()
{
    while (atomicCAS(&lock, 0, 1) != 0)
        __nanosleep(20);
    *(volatile int *)&total = *(volatile int *)&total + 1;
    __threadfence();
    atomicExch(&lock, 0);
}
int main()
{
    int r;
    run<<<4, 64>>>();
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpyFromSymbol(&r, total, 4));
    expect_eq("total", 0, r, 256);
    greedy<<<4, 64>>>();
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpyFromSymbol(&r, total, 4));
    expect_eq("total", 1, r, 512);
    return app_end();
}
