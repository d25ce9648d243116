// Grid-stride vector addition with a tail.
#include "app.h"
__global__ void add(const float *a, const float *b, float *c, int n)
{
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
        c[i] = a[i] + b[i];
}
int main()
{
    const int n = 100003;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; i++)
        a[i] = i, b[i] = 0.5f * i;
    float *da = to_device(a), *db = to_device(b), *dc = device_new<float>(n);
    add<<<37, 129>>>(da, db, dc, n);
    CK(cudaGetLastError());
    auto c = to_host(dc, n);
    for (int i = 0; i < n; i++)
        expect_eq("c", i, c[i], 1.5f * i);
    return app_end();
}
