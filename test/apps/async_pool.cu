// Stream-ordered allocation, reuse, pools with attributes.
#include "app.h"
__global__ void fill(int *p, int v, int n) { int i = blockIdx.x * blockDim.x + threadIdx.x; if (i < n) p[i] = v + i; }
int main()
{
    cudaStream_t s;
    CK(cudaStreamCreate(&s));
    const int n = 10000;
    std::vector<int> h(n);
    for (int r = 0; r < 20; r++) {
        int *p;
        CK(cudaMallocAsync(&p, n * 4, s));
        fill<<<(n + 255) / 256, 256, 0, s>>>(p, r, n);
        CK(cudaMemcpyAsync(h.data(), p, n * 4, cudaMemcpyDeviceToHost, s));
        CK(cudaFreeAsync(p, s));
        CK(cudaStreamSynchronize(s));
        expect_eq("value", r, h[n - 1], r + n - 1);
    }
    cudaMemPoolProps props = {};
    props.allocType = cudaMemAllocationTypePinned, props.location.type = cudaMemLocationTypeDevice;
    cudaMemPool_t pool, dflt;
    CK(cudaMemPoolCreate(&pool, &props));
    uint64_t keep = 1 << 20, used = 1;
    CK(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &keep));
    int *q;
    CK(cudaMallocFromPoolAsync(&q, 4096, pool, s));
    CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    EXPECT(used >= 4096);
    CK(cudaFreeAsync(q, s)), CK(cudaStreamSynchronize(s));
    CK(cudaMemPoolGetAttribute(pool, cudaMemPoolAttrUsedMemCurrent, &used));
    expect_eq("used", 0, used, 0);
    CK(cudaMemPoolTrimTo(pool, 0)), CK(cudaMemPoolDestroy(pool));
    CK(cudaDeviceGetDefaultMemPool(&dflt, 0));
    return app_end();
}
