// Comparisons and selections, ordered and unordered, over special values.
#include "app.h"
__global__ void run(const float *a, int n, unsigned *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    float x = a[i / n], y = a[i % n];
    unsigned m = 0;
    m |= (x < y) << 0 | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5;
    m |= (!(x < y)) << 6 | (isnan(x) || isnan(y)) << 7 | (signbit(x) != 0) << 8 | (isinf(y) != 0) << 9;
    double p = x, q = y;
    m |= (p < q) << 10 | (p >= q) << 11;
    m |= (unsigned)(x < y ? 3 : 5) << 12;
    m |= (fabsf(x) > 1 && (y < 0 || x == 2)) << 16;
    o[i] = m;
}
int main()
{
    std::vector<float> a = {0.f, -0.f, 1.f, -1.f, 2.f, INFINITY, -INFINITY, NAN, 1e-45f, 3.4e38f};
    int n = a.size();
    unsigned *d = device_new<unsigned>(n * n);
    run<<<4, 32>>>(to_device(a), n, d);
    auto r = to_host(d, n * n);
    for (int i = 0; i < n * n; i++) {
        volatile float x = a[i / n], y = a[i % n];
        unsigned m = (x < y) << 0 | (x <= y) << 1 | (x > y) << 2 | (x >= y) << 3 | (x == y) << 4 | (x != y) << 5;
        m |= (!(x < y)) << 6 | (x != x || y != y) << 7 | (std::signbit(x) != 0) << 8 | (std::isinf(y) != 0) << 9;
        m |= (x < y) << 10 | (x >= y) << 11 | (unsigned)(x < y ? 3 : 5) << 12;
        m |= (fabsf(x) > 1 && (y < 0 || x == 2)) << 16;
        expect_bits("m", i, r[i], m);
    }
    return app_end();
}
