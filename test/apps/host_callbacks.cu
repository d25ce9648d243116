// cudaLaunchHostFunc and stream callbacks run in stream order.
#include "app.h"
#include <atomic>
static std::atomic<int> order;
static int at[3];
static int *host;
__global__ void add(int *p, int v) { *p += v; }
static void CUDART_CB fn(void *u) { at[(intptr_t)u] = ++order, host[1] = host[0]; }
static void CUDART_CB cb(cudaStream_t, cudaError_t e, void *u) { at[(intptr_t)u] = ++order, host[2] = e == cudaSuccess; }
int main()
{
    CK(cudaMallocHost(&host, 64));
    memset(host, 0, 64);
    cudaStream_t s;
    CK(cudaStreamCreate(&s));
    add<<<1, 1, 0, s>>>(host, 5);
    CK(cudaLaunchHostFunc(s, fn, (void *)0));
    add<<<1, 1, 0, s>>>(host, 6);
    CK(cudaStreamAddCallback(s, cb, (void *)1, 0));
    CK(cudaLaunchHostFunc(s, [](void *u) { at[(intptr_t)u] = ++order, host[3] = host[0]; }, (void *)2));
    CK(cudaStreamSynchronize(s));
    expect_eq("first", 0, at[0], 1), expect_eq("second", 0, at[1], 2), expect_eq("third", 0, at[2], 3);
    expect_eq("saw", 0, host[1], 5), expect_eq("saw", 1, host[2], 1), expect_eq("saw", 2, host[3], 11);
    return app_end();
}
