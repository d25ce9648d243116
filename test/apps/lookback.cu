// Blocks that wait for earlier blocks (decoupled look-back), as CUB's scan does, and CUB itself.
#include "app.h"
#include <cub/cub.cuh>
__global__ void chain(volatile int *ready, volatile int *sum, int *out)
{
    int b = blockIdx.x;
    if (threadIdx.x == 0) {
        if (b)
            while (!ready[b - 1])
                ;
        __threadfence();
        int s = (b ? sum[b - 1] : 0) + b;
        sum[b] = s;
        __threadfence();
        ready[b] = 1;
        out[b] = s;
    }
}
int main()
{
    const int blocks = 300;
    int *ready = device_new<int>(blocks), *sum = device_new<int>(blocks), *o = device_new<int>(blocks);
    chain<<<blocks, 64>>>(ready, sum, o);
    auto r = to_host(o, blocks);
    for (int i = 0; i < blocks; i++)
        expect_eq("chain", i, r[i], i * (i + 1) / 2);
    const int n = 50000;
    std::vector<int> in(n);
    uint32_t s = 77;
    for (auto &x : in)
        x = rnd(s) % 1000 - 500;
    int *di = to_device(in), *dx = device_new<int>(n);
    void *tmp = nullptr;
    size_t bytes = 0;
    CK(cub::DeviceScan::InclusiveSum(tmp, bytes, di, dx, n));
    CK(cudaMalloc(&tmp, bytes));
    CK(cub::DeviceScan::InclusiveSum(tmp, bytes, di, dx, n));
    auto x = to_host(dx, n);
    for (int i = 0, a = 0; i < n; i++)
        expect_eq("scan", i, x[i], a += in[i]);
    return app_end();
}
