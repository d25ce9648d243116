// __syncthreads in loops and its counting forms, named barriers with thread counts, arrive without waiting.
#include "app.h"
__global__ void scan(const int *in, int *out, int n)
{
    __shared__ int b[2][256];
    int t = threadIdx.x, p = 0;
    b[0][t] = in[blockIdx.x * 256 + t];
    __syncthreads();
    for (int o = 1; o < 256; o *= 2) {
        b[1 - p][t] = b[p][t] + (t >= o ? b[p][t - o] : 0);
        p = 1 - p;
        __syncthreads();
    }
    out[blockIdx.x * 256 + t] = b[p][t];
}
__global__ void counting(int *o)
{
    int t = threadIdx.x;
    o[t] = __syncthreads_count(t % 3 == 0);
    o[t] += 1000 * __syncthreads_and(t < 100) + 2000 * __syncthreads_or(t == 5);
}
__global__ void pipeline(int *o) // warps 0-1 produce, warps 2-3 consume, through named barriers
{
    __shared__ int buf[64];
    int t = threadIdx.x;
    for (int r = 0; r < 5; r++)
        if (t < 64) {
            asm volatile("bar.sync 1, 128;" ::: "memory"); // buffer free
            buf[t] = r * 100 + t;
            asm volatile("bar.arrive 2, 128;" ::: "memory");
        } else {
            asm volatile("bar.arrive 1, 128;" ::: "memory");
            asm volatile("bar.sync 2, 128;" ::: "memory"); // buffer full
            o[r * 64 + t - 64] = buf[127 - t];
            asm volatile("bar.sync 3, 64;" ::: "memory");
        }
}
__global__ void early_exit(int *o)
{
    if (threadIdx.x % 2)
        return;
    __syncthreads();
    atomicAdd(o, 1);
}
int main()
{
    std::vector<int> in(1024);
    uint32_t s = 9;
    for (auto &x : in)
        x = rnd(s) % 100;
    int *d = device_new<int>(1024);
    scan<<<4, 256>>>(to_device(in), d, 1024);
    auto r = to_host(d, 1024);
    for (int b = 0; b < 4; b++)
        for (int i = 0, a = 0; i < 256; i++)
            expect_eq("scan", b * 256 + i, r[b * 256 + i], a += in[b * 256 + i]);
    int *c = device_new<int>(100), *p = device_new<int>(320), *e = device_new<int>(1);
    counting<<<1, 100>>>(c);
    auto rc = to_host(c, 100);
    for (int i = 0; i < 100; i++)
        expect_eq("count", i, rc[i], 34 + 3000);
    pipeline<<<1, 128>>>(p);
    auto rp = to_host(p, 320);
    for (int i = 0; i < 320; i++)
        expect_eq("pipe", i, rp[i], i / 64 * 100 + 63 - i % 64);
    early_exit<<<1, 200>>>(e);
    expect_eq("exit", 0, to_host(e, 1)[0], 100);
    return app_end();
}
