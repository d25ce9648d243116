// Many host threads launch, copy and allocate at once.
#include "app.h"
#include <thread>
__global__ void inc(int *p, int n, int k) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] += k; }
static void work(int id, int *bad)
{
    cudaStream_t s;
    CK(cudaStreamCreate(&s));
    for (int r = 0; r < 10; r++) {
        const int n = 1000 + id * 10;
        int *p;
        std::vector<int> h(n, id);
        CK(cudaMalloc(&p, n * 4));
        CK(cudaMemcpyAsync(p, h.data(), n * 4, cudaMemcpyHostToDevice, s));
        for (int k = 0; k < 5; k++)
            inc<<<(n + 63) / 64, 64, 0, s>>>(p, n, k);
        CK(cudaMemcpyAsync(h.data(), p, n * 4, cudaMemcpyDeviceToHost, s));
        CK(cudaStreamSynchronize(s));
        for (int v : h)
            *bad += v != id + 10;
        CK(cudaFree(p));
    }
    CK(cudaStreamDestroy(s));
}
int main()
{
    std::vector<std::thread> t;
    int bad[8] = {};
    for (int i = 0; i < 8; i++)
        t.emplace_back(work, i, bad + i);
    for (auto &x : t)
        x.join();
    for (int i = 0; i < 8; i++)
        expect_eq("bad", i, bad[i], 0);
    return app_end();
}
