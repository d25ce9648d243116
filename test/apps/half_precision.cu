// nvcc: -arch=compute_80 -code=compute_80
// f16 and bf16: conversions both ways over every value, arithmetic against single precision, packed forms.
#include "app.h"
#include <cuda_fp16.h>
#include <cuda_bf16.h>
__global__ void conv(float *h, float *b, uint16_t *hh, uint16_t *bb)
{
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    h[i] = __half2float(__ushort_as_half(i)), b[i] = __bfloat162float(__ushort_as_bfloat16(i));
    hh[i] = __half_as_ushort(__float2half_rn(h[i])), bb[i] = __bfloat16_as_ushort(__float2bfloat16_rn(b[i]));
}
__global__ void arith(const float *x, int n, float *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    __half a = __float2half(x[i]), b = __float2half(x[(i + 7) % n]);
    __nv_bfloat16 c = __float2bfloat16(x[i]), d = __float2bfloat16(x[(i + 7) % n]);
    float *r = o + i * 10;
    r[0] = __half2float(__hadd(a, b)), r[1] = __half2float(__hmul(a, b)), r[2] = __half2float(__hfma(a, b, a));
    r[3] = __bfloat162float(__hadd(c, d)), r[4] = __bfloat162float(__hmul(c, d)), r[5] = __bfloat162float(__hfma(c, d, c));
    __half2 p = __hfma2(__halves2half2(a, b), __halves2half2(b, a), __halves2half2(a, a));
    r[6] = __low2float(p), r[7] = __high2float(p);
    r[8] = __half2float(__hmax(a, b)), r[9] = __hgt(a, b) ? 1 : 0;
}
static float h2f(uint16_t v)
{
    int e = v >> 10 & 31, m = v & 1023;
    float f = e == 31 ? (m ? NAN : INFINITY) : e ? ldexpf(1024 + m, e - 25) : ldexpf(m, -24);
    return v >> 15 ? -f : f;
}
static float b2f(uint16_t v)
{
    uint32_t u = (uint32_t)v << 16;
    float f;
    memcpy(&f, &u, 4);
    return f;
}
static float round_to(double x, int bits, int emin) // to `bits` significant bits, ties to even
{
    if (x == 0 || !std::isfinite(x))
        return x;
    int e;
    frexp(x, &e);
    int q = e - bits < emin ? emin : e - bits;
    return ldexp(nearbyint(ldexp(x, -q)), q);
}
int main()
{
    float *h = device_new<float>(65536), *b = device_new<float>(65536);
    uint16_t *hh = device_new<uint16_t>(65536), *bb = device_new<uint16_t>(65536);
    conv<<<256, 256>>>(h, b, hh, bb);
    auto vh = to_host(h, 65536), vb = to_host(b, 65536);
    auto rh = to_host(hh, 65536), rb = to_host(bb, 65536);
    for (int i = 0; i < 65536; i++) {
        float w = h2f(i), z = b2f(i);
        EXPECT(w != w ? vh[i] != vh[i] : vh[i] == w);
        EXPECT(z != z ? vb[i] != vb[i] : vb[i] == z);
        expect_bits("f16", i, rh[i], w != w ? 0x7fff : i);
        expect_bits("bf16", i, rb[i], z != z ? 0x7fff : i);
    }
    std::vector<float> x;
    uint32_t s = 5;
    for (int i = 0; i < 2000; i++)
        x.push_back(ldexpf((int)(rnd(s) % 4096) - 2048, -(int)(rnd(s) % 16)));
    int n = x.size();
    float *o = device_new<float>(n * 10);
    arith<<<(n + 63) / 64, 64>>>(to_device(x), n, o);
    auto r = to_host(o, n * 10);
    for (int i = 0; i < n; i++) {
        double a = round_to(x[i], 11, -24), c = round_to(x[(i + 7) % n], 11, -24);
        double p = round_to(x[i], 8, -133), q = round_to(x[(i + 7) % n], 8, -133);
        double w[10] = {round_to(a + c, 11, -24), round_to(a * c, 11, -24), round_to(a * c + a, 11, -24),
                        round_to(p + q, 8, -133), round_to(p * q, 8, -133), round_to(p * q + p, 8, -133),
                        round_to(a * c + a, 11, -24), round_to(c * a + a, 11, -24), a > c ? a : c, a > c ? 1. : 0.};
        for (int k = 0; k < 10; k++) {
            double v = k < 3 || k == 6 || k == 7 ? (fabs(w[k]) >= 65520 ? copysign(INFINITY, w[k]) : w[k]) : w[k];
            expect_eq("half", i * 10 + k, (double)r[i * 10 + k], v);
        }
    }
    return app_end();
}
