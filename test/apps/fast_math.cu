// Compiled with fast maths: approximate division and roots, denormals flushed to zero.
// nvcc: -use_fast_math
#include "app.h"
__global__ void run(const float *a, int n, float *o)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    o[i * 5] = a[i] * 0.5f, o[i * 5 + 1] = 1.0f / a[i], o[i * 5 + 2] = sqrtf(fabsf(a[i])), o[i * 5 + 3] = sinf(a[i]), o[i * 5 + 4] = powf(fabsf(a[i]) + 1, 2.5f);
}
int main()
{
    std::vector<float> a = {1.f, -2.5f, 1.2e-38f, -1e-39f, 0.3f, 3.f, 1e10f};
    int n = a.size();
    float *o = device_new<float>(n * 5);
    run<<<1, 32>>>(to_device(a), n, o);
    auto r = to_host(o, n * 5);
    expect_eq("flushed result", 0, r[2 * 5], 0.f);
    expect_eq("flushed operand", 0, r[3 * 5], 0.f);
    EXPECT(std::isinf(r[3 * 5 + 1]));
    for (int i = 0; i < n; i++) {
        if (i == 2 || i == 3)
            continue;
        double x = a[i];
        expect_near("half", i, r[i * 5], x / 2, 0);
        expect_near("rcp", i, r[i * 5 + 1], 1 / x, fabs(1 / x) * 3e-7);
        expect_near("sqrt", i, r[i * 5 + 2], sqrt(fabs(x)), sqrt(fabs(x)) * 4e-7);
        if (fabs(x) < 4)
            expect_near("sin", i, r[i * 5 + 3], sin(x), 2e-6);
        if (fabs(x) < 1e5)
            expect_near("pow", i, r[i * 5 + 4], pow(fabs(x) + 1, 2.5), pow(fabs(x) + 1, 2.5) * 2e-5);
    }
    return app_end();
}
