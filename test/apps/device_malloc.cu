// malloc and free in kernels: a linked list per thread, memory that outlives the kernel, exhaustion gives NULL.
#include "app.h"
struct Node { int v; Node *next; };
__device__ Node *heads[64];
__global__ void build()
{
    int t = threadIdx.x;
    Node *h = nullptr;
    for (int i = 0; i <= t % 7; i++) {
        Node *n = (Node *)malloc(sizeof(Node));
        n->v = t * 10 + i, n->next = h, h = n;
    }
    heads[t] = h;
}
__global__ void walk(int *o)
{
    int t = threadIdx.x, s = 0;
    for (Node *n = heads[t], *k; n; n = k)
        k = n->next, s += n->v, free(n);
    o[t] = s;
}
__global__ void exhaust(int *o)
{
    void *p = malloc((size_t)1 << 40);
    o[0] = p == nullptr;
    int *a = new int[100];
    for (int i = 0; i < 100; i++)
        a[i] = i;
    o[1] = a[99];
    delete[] a;
}
int main()
{
    CK(cudaDeviceSetLimit(cudaLimitMallocHeapSize, 32 << 20));
    int *o = device_new<int>(64);
    build<<<1, 64>>>();
    walk<<<1, 64>>>(o);
    auto r = to_host(o, 64);
    for (int t = 0; t < 64; t++) {
        int w = 0;
        for (int i = 0; i <= t % 7; i++)
            w += t * 10 + i;
        expect_eq("sum", t, r[t], w);
    }
    exhaust<<<1, 1>>>(o);
    auto e = to_host(o, 2);
    expect_eq("too much", 0, e[0], 1);
    expect_eq("new", 0, e[1], 99);
    return app_end();
}
