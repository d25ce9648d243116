// cuda::atomic_ref with scopes and memory orders: message passing and a ticket lock across blocks.
#include "app.h"
#include <cuda/atomic>
__device__ int data, flag, ticket, serving, guarded;
__global__ void pass(int *out)
{
    cuda::atomic_ref<int, cuda::thread_scope_device> f(flag);
    if (blockIdx.x == 0 && threadIdx.x == 0) {
        data = 42;
        f.store(1, cuda::memory_order_release);
    } else if (threadIdx.x == 0) {
        while (f.load(cuda::memory_order_acquire) == 0)
            ;
        out[blockIdx.x] = data;
    }
}
__global__ void lock()
{
    cuda::atomic_ref<int, cuda::thread_scope_device> t(ticket), s(serving);
    int mine = t.fetch_add(1, cuda::memory_order_relaxed);
    while (s.load(cuda::memory_order_acquire) != mine)
        ;
    guarded = guarded + 1;
    s.store(mine + 1, cuda::memory_order_release);
}
int main()
{
    int *o = device_new<int>(4);
    pass<<<4, 32>>>(o);
    auto r = to_host(o, 4);
    for (int i = 1; i < 4; i++)
        expect_eq("passed", i, r[i], 42);
    lock<<<3, 40>>>(); // contended between lanes of one warp too
    CK(cudaDeviceSynchronize());
    int g;
    CK(cudaMemcpyFromSymbol(&g, guarded, 4));
    expect_eq("guarded", 0, g, 120);
    return app_end();
}
