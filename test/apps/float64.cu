// Double precision with all roundings, and the library functions built on it.
#include "app.h"
#include <cfenv>
enum { OPS = 20 };
__global__ void run(const double *a, int n, double *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    double x = a[i / n], y = a[i % n], *r = o + (size_t)i * OPS;
    r[0] = __dadd_rn(x, y), r[1] = __dadd_rz(x, y), r[2] = __dadd_ru(x, y), r[3] = __dadd_rd(x, y);
    r[4] = __dmul_rn(x, y), r[5] = __dmul_rz(x, y), r[6] = __dmul_ru(x, y), r[7] = __dmul_rd(x, y);
    r[8] = __ddiv_rn(x, y), r[9] = __ddiv_rz(x, y), r[10] = __ddiv_ru(x, y), r[11] = __ddiv_rd(x, y);
    r[12] = __dsqrt_rn(x), r[13] = __dsqrt_rz(x), r[14] = __dsqrt_ru(x), r[15] = __dsqrt_rd(x);
    r[16] = __fma_rn(x, y, 1.5), r[17] = __fma_rz(x, y, 1.5), r[18] = __fma_ru(x, y, 1.5);
    r[19] = __fma_rd(x, y, 1.5);
}
__global__ void lib(const double *a, int n, double *o)
{
    int i = threadIdx.x;
    if (i >= n)
        return;
    double x = a[i];
    o[i * 6] = exp(x), o[i * 6 + 1] = log(fabs(x) + 1), o[i * 6 + 2] = sin(x), o[i * 6 + 3] = atan(x);
    o[i * 6 + 4] = pow(fabs(x) + 0.5, 1.7), o[i * 6 + 5] = cbrt(x);
}
static int mode[4] = {FE_TONEAREST, FE_TOWARDZERO, FE_UPWARD, FE_DOWNWARD};
int main()
{
    std::vector<double> a = {0., -0., 1., -1., 0.1, 3., 1e-300, -2.5e-200, 5e-324, 1.7e308, INFINITY, 2.2250738585072014e-308, 1e-310, 9007199254740993., 1. / 3};
    int n = a.size();
    double *d = device_new<double>((size_t)n * n * OPS);
    run<<<(n * n + 127) / 128, 128>>>(to_device(a), n, d);
    auto r = to_host(d, (size_t)n * n * OPS);
    for (int i = 0; i < n * n; i++)
        for (int k = 0; k < OPS; k++) {
            volatile double x = a[i / n], y = a[i % n], w;
            fesetround(mode[k % 4]);
            w = k < 4 ? x + y : k < 8 ? x * y : k < 12 ? x / y : k < 16 ? sqrt(x) : fma(x, y, 1.5);
            fesetround(FE_TONEAREST);
            double g = r[(size_t)i * OPS + k], v = w;
            uint64_t gb, vb;
            memcpy(&gb, &g, 8), memcpy(&vb, &v, 8);
            if (v != v)
                EXPECT(g != g);
            else
                expect_bits("op", i * 100 + k, gb, vb);
        }
    std::vector<double> b = {0.1, -1.5, 2.25, 10., -20., 0.001, 100., 3.14159, 1e-5, -7.};
    double *e = device_new<double>(b.size() * 6);
    lib<<<1, 32>>>(to_device(b), b.size(), e);
    auto l = to_host(e, b.size() * 6);
    for (size_t i = 0; i < b.size(); i++) {
        double x = b[i], w[6] = {exp(x), log(fabs(x) + 1), sin(x), atan(x), pow(fabs(x) + 0.5, 1.7), cbrt(x)};
        for (int k = 0; k < 6; k++)
            expect_near("lib", i * 10 + k, l[i * 6 + k], w[k], 4e-15 * (fabs(w[k]) + 1e-300) + 1e-300);
    }
    return app_end();
}
