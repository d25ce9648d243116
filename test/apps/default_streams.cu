// The legacy default stream waits for blocking streams and they for it; non-blocking ones do not.
#include "app.h"
__global__ void slow_add(int *p, int v)
{
    long long until = clock64() + 2000000;
    while (clock64() < until)
        ;
    *p = *p * 10 + v;
}
int main()
{
    int *p = device_new<int>(1), r;
    cudaStream_t a, b;
    CK(cudaStreamCreate(&a)), CK(cudaStreamCreate(&b));
    slow_add<<<1, 1, 0, a>>>(p, 1);
    slow_add<<<1, 1>>>(p, 2); // after a
    slow_add<<<1, 1, 0, b>>>(p, 3); // after the default stream
    slow_add<<<1, 1>>>(p, 4);
    slow_add<<<1, 1, 0, a>>>(p, 5);
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(&r, p, 4, cudaMemcpyDeviceToHost));
    expect_eq("order", 0, r, 12345);
    CK(cudaMemset(p, 0, 4));
    slow_add<<<1, 1, 0, cudaStreamPerThread>>>(p, 7);
    slow_add<<<1, 1, 0, cudaStreamLegacy>>>(p, 8);
    CK(cudaMemcpy(&r, p, 4, cudaMemcpyDeviceToHost));
    expect_eq("per thread, legacy", 0, r, 78);
    return app_end();
}
