// Conversions between integers and floats: every rounding, saturation, narrow types.
#include "app.h"
#include <cfenv>
__global__ void run(const float *f, const double *g, const int *i, const long long *l, int n, long long *o)
{
    int t = threadIdx.x;
    if (t >= n)
        return;
    long long *r = o + t * 20;
    r[0] = __float2int_rn(f[t]), r[1] = __float2int_rz(f[t]), r[2] = __float2int_ru(f[t]), r[3] = __float2int_rd(f[t]);
    r[4] = __float2uint_rz(f[t]), r[5] = __float2ll_rn(f[t]), r[6] = __double2int_rd(g[t]), r[7] = __double2ll_ru(g[t]);
    r[8] = __float_as_int(__int2float_rn(i[t])), r[9] = __float_as_int(__int2float_rz(i[t]));
    r[10] = __float_as_int(__int2float_ru(i[t])), r[11] = __float_as_int(__ll2float_rd(l[t]));
    r[12] = __double_as_longlong(__ll2double_rn(l[t])), r[13] = __double_as_longlong(__ll2double_rz(l[t]));
    r[14] = __float_as_int(__double2float_rn(g[t])), r[15] = __float_as_int(__double2float_rz(g[t]));
    r[16] = (signed char)i[t], r[17] = (unsigned short)i[t], r[18] = (int)rintf(f[t]);
    int sat;
    asm("cvt.sat.s8.s32 %0, %1;" : "=r"(sat) : "r"(i[t]));
    r[19] = sat;
}
static long long clampd(double x, double lo, double hi)
{
    return x != x ? 0 : x <= lo ? (long long)lo : x >= hi ? (long long)hi : (long long)x;
}
static long long fbits(float f)
{
    int b;
    memcpy(&b, &f, 4);
    return b;
}
static long long dbits(double f)
{
    long long b;
    memcpy(&b, &f, 8);
    return b;
}
template <class F> static auto with(int mode, F f)
{
    fesetround(mode);
    volatile auto r = f(); // converted before the mode changes back
    fesetround(FE_TONEAREST);
    return r;
}
int main()
{
    std::vector<float> f = {0.f, 0.5f, 1.5f, 2.5f, -0.5f, -1.5f, 1e9f, -3e9f, 5e9f, 1e-20f, -2.49f, 2147483648.f, 123456.789f};
    std::vector<double> g = {0., 0.5, -0.5, 1e300, -7.25, 3.0000001, 1e-320, 2147483647.5, -2147483648.5, 0.1, 1. / 3, 1e17, -1e18};
    std::vector<int> i = {0, 1, -1, 16777217, -16777219, INT32_MAX, INT32_MIN, 127, 128, -129, 40000, 70000, 1000000007};
    std::vector<long long> l = {0, 1, -1, 9007199254740993LL, -9007199254740995LL, INT64_MAX, INT64_MIN, 33554433, -33554435, 123456789012345678LL, 5, 7, 1LL << 40};
    int n = f.size();
    auto *o = device_new<long long>(n * 20);
    run<<<1, 32>>>(to_device(f), to_device(g), to_device(i), to_device(l), n, o);
    auto r = to_host(o, n * 20);
    for (int t = 0; t < n; t++) {
        volatile float vf = f[t];
        volatile double vg = g[t];
        volatile int vi = i[t];
        volatile long long vl = l[t];
        long long w[20] = {
            clampd(nearbyint(vf), INT32_MIN, INT32_MAX), clampd(trunc(vf), INT32_MIN, INT32_MAX),
            clampd(ceil(vf), INT32_MIN, INT32_MAX), clampd(floor(vf), INT32_MIN, INT32_MAX),
            clampd(trunc(vf), 0, UINT32_MAX), clampd(nearbyint(vf), -9.3e18, 9.2e18),
            clampd(floor(vg), INT32_MIN, INT32_MAX), vg > 9.2e18 ? INT64_MAX : (long long)ceil(vg),
            fbits((float)vi), fbits(with(FE_TOWARDZERO, [&] { return (float)vi; })),
            fbits(with(FE_UPWARD, [&] { return (float)vi; })), fbits(with(FE_DOWNWARD, [&] { return (float)vl; })),
            dbits((double)vl), dbits(with(FE_TOWARDZERO, [&] { return (double)vl; })),
            fbits((float)vg), fbits(with(FE_TOWARDZERO, [&] { return (float)vg; })),
            (signed char)vi, (unsigned short)vi, (int)clampd(nearbyint(vf), INT32_MIN, INT32_MAX),
            vi > 127 ? 127 : vi < -128 ? -128 : vi};
        for (int k = 0; k < 20; k++)
            expect_bits("cvt", t * 100 + k, r[t * 20 + k], w[k]);
    }
    return app_end();
}
