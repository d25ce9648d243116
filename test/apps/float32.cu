// IEEE single precision: all four roundings, fma, division, square root, min/max, against exact host arithmetic.
#include "app.h"
#include <cfenv>
#pragma STDC FENV_ACCESS ON
enum { OPS = 22 };
__global__ void run(const float *a, int n, float *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    float x = a[i / n], y = a[i % n], *r = o + (size_t)i * OPS;
    r[0] = __fadd_rn(x, y), r[1] = __fadd_rz(x, y), r[2] = __fadd_ru(x, y), r[3] = __fadd_rd(x, y);
    r[4] = __fmul_rn(x, y), r[5] = __fmul_rz(x, y), r[6] = __fmul_ru(x, y), r[7] = __fmul_rd(x, y);
    r[8] = __fdiv_rn(x, y), r[9] = __fdiv_rz(x, y), r[10] = __fdiv_ru(x, y), r[11] = __fdiv_rd(x, y);
    r[12] = __fsqrt_rn(x), r[13] = __fsqrt_rz(x), r[14] = __fsqrt_ru(x), r[15] = __fsqrt_rd(x);
    r[16] = __fmaf_rn(x, y, 1.5f), r[17] = __fmaf_rz(x, y, 1.5f), r[18] = __fmaf_ru(x, y, 1.5f);
    r[19] = __fmaf_rd(x, y, 1.5f);
    r[20] = fminf(x, y), r[21] = fmaxf(x, y);
}
static int mode[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
int main()
{
    std::vector<float> a = {0.f, -0.f, 1.f, -1.f, 0.1f, 3.f, 1e-30f, -2.5e-20f, 1e-40f, 3.4e38f, -3e38f, INFINITY, 1.17549435e-38f, 7.7e-39f, 16777217.f, 0.333333343f, 1e10f};
    uint32_t s = 1;
    for (int i = 0; i < 40; i++) {
        uint32_t b = rnd(s);
        float f;
        memcpy(&f, &b, 4);
        if (f == f)
            a.push_back(f);
    }
    int n = a.size();
    float *d = device_new<float>((size_t)n * n * OPS);
    run<<<(n * n + 127) / 128, 128>>>(to_device(a), n, d);
    auto r = to_host(d, (size_t)n * n * OPS);
    for (int i = 0; i < n * n; i++)
        for (int k = 0; k < 20; k++) {
            volatile float x = a[i / n], y = a[i % n], w;
            fesetround(mode[k % 4]);
            w = k < 4 ? x + y : k < 8 ? x * y : k < 12 ? x / y : k < 16 ? sqrtf(x) : fmaf(x, y, 1.5f);
            fesetround(FE_TONEAREST);
            float g = r[(size_t)i * OPS + k], v = w;
            uint32_t gb, vb;
            memcpy(&gb, &g, 4), memcpy(&vb, &v, 4);
            if (v != v)
                vb = 0x7fffffff; // what NVIDIA's units give for any NaN
            expect_bits("op", i * 100 + k, gb, vb);
        }
    for (int i = 0; i < n * n; i++) {
        float x = a[i / n], y = a[i % n];
        expect_eq("min", i, r[(size_t)i * OPS + 20], x < y ? x : y);
        expect_eq("max", i, r[(size_t)i * OPS + 21], x > y ? x : y);
    }
    return app_end();
}
