// Stack memory of run-time size, and deep recursion with local arrays.
#include "app.h"
__device__ __noinline__ int fill(int n)
{
    int *p = (int *)alloca(n * sizeof(int)), s = 0;
    for (int i = 0; i < n; i++)
        p[i] = i * n;
    for (int i = n - 1; i >= 0; i--)
        s += p[i];
    return s;
}
__device__ __noinline__ int deep(int n, int k)
{
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = n * i + k;
    int r = n ? deep(n - 1, a[n % 16] % 7) : 0;
    return (r + a[(n + k) % 16]) & 0xffff;
}
static int deep_host(int n, int k)
{
    int a[16];
    for (int i = 0; i < 16; i++)
        a[i] = n * i + k;
    int r = n ? deep_host(n - 1, a[n % 16] % 7) : 0;
    return (r + a[(n + k) % 16]) & 0xffff;
}
__global__ void run(int *o) { o[threadIdx.x] = fill(threadIdx.x + 1); o[64 + threadIdx.x] = deep(60, threadIdx.x); }
int main()
{
    CK(cudaDeviceSetLimit(cudaLimitStackSize, 32 << 10));
    int *o = device_new<int>(128);
    run<<<1, 64>>>(o);
    auto r = to_host(o, 128);
    for (int t = 0; t < 64; t++) {
        int n = t + 1;
        expect_eq("fill", t, r[t], n * n * (n - 1) / 2);
        expect_eq("deep", t, r[64 + t], deep_host(60, t));
    }
    return app_end();
}
