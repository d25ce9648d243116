// Separable compilation: kernel, functions and variables in two objects linked at load time.
// nvcc: -rdc=true parts/separable_b.cu
#include "app.h"
extern __device__ int shared_counter;
extern __constant__ int shared_table[4];
__device__ int helper(int x);
__device__ int local_only(int x) { return x + 1; }
extern __device__ int (*indirect)(int);
__global__ void run(int *o)
{
    int t = threadIdx.x;
    o[t] = helper(t) + local_only(t) * 1000 + indirect(t) * 100000;
    atomicAdd(&shared_counter, shared_table[t % 4]);
}
int read_counter();
int main()
{
    int *o = device_new<int>(32);
    run<<<1, 32>>>(o);
    auto r = to_host(o, 32);
    for (int t = 0; t < 32; t++)
        expect_eq("o", t, r[t], t * 2 + 7 + (t + 1) * 1000 + (t % 5) * 100000);
    expect_eq("counter", 0, read_counter(), 100 + 8 * (1 + 2 + 3 + 4));
    return app_end();
}
