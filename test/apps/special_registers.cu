// Indices and dimensions in 3D, lane and warp numbers, clocks, dynamic shared memory size.
#include "app.h"
__global__ void run(unsigned *o, long long *clk)
{
    extern __shared__ int dyn[];
    unsigned b = (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x;
    unsigned t = (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x;
    unsigned n = blockDim.x * blockDim.y * blockDim.z, lane, warp, lt, size;
    asm("mov.u32 %0, %%laneid;" : "=r"(lane));
    asm("mov.u32 %0, %%warpid;" : "=r"(warp));
    asm("mov.u32 %0, %%lanemask_lt;" : "=r"(lt));
    asm("mov.u32 %0, %%dynamic_smem_size;" : "=r"(size));
    long long c = clock64();
    unsigned long long g0, g1;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g0));
    dyn[t] = t;
    __syncthreads();
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(g1));
    unsigned *r = o + (b * n + t) * 4;
    r[0] = b * 1000 + t, r[1] = (lane == t % 32) && warp < 64 && lt == (1u << lane) - 1;
    r[2] = size + dyn[n - 1 - t], r[3] = g1 >= g0 && clock64() >= c && warpSize == 32;
    clk[b * n + t] = clock64() - c;
}
int main()
{
    dim3 g(3, 2, 4), b(5, 4, 3);
    int n = 24 * 60;
    unsigned *o = device_new<unsigned>(n * 4);
    auto *c = device_new<long long>(n);
    run<<<g, b, 240>>>(o, c);
    auto r = to_host(o, n * 4);
    for (int i = 0; i < n; i++) {
        expect_eq("index", i, r[i * 4], i / 60 * 1000 + i % 60);
        expect_eq("ids", i, r[i * 4 + 1], 1);
        expect_eq("dyn", i, r[i * 4 + 2], 240 + 59 - i % 60);
        expect_eq("time", i, r[i * 4 + 3], 1);
    }
    return app_end();
}
