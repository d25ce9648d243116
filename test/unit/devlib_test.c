// SPDX-License-Identifier: MIT
// The device library's maths against libm in double precision, the processor's rounding modes and
// long double.
#include <fenv.h>

#include "check.h"

#include "devlib/devlib.h"

enum { STEP = 997 }; // every STEP-th f32 pattern
static const int modes[3] = {FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};

static uint64_t random_state = 88172645463325252u;

static uint64_t
rnd(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    return random_state ^= random_state << 17;
}

static int
same(float a, float b)
{
    return bits32(a) == bits32(b) || (isnan(a) && isnan(b));
}

static int
same64(double a, double b)
{
    return bits64(a) == bits64(b) || (isnan(a) && isnan(b));
}

// ---- approximations -----------------------------------------------------------------------------
// The largest error over all sampled arguments in [lo, hi] in magnitude; relative or absolute.
// Results that are subnormal count in units of the smallest normal one's last place.
static double
worst(float (*f)(float), double (*ref)(double), float lo, float hi, int relative, int negative)
{
    double max = 0;
    for (uint32_t b = bits32(lo); b <= bits32(hi); b += STEP) {
        float x = negative ? -float32(b) : float32(b);
        double want = ref(x), scale = relative ? fmax(fabs(want), 0x1p-126) : 1;
        if (fabs(want) > 0x1.fffffep127)
            continue;
        double err = fabs(f(x) - want) / scale;
        max = err > max || isnan(err) ? err : max;
    }
    return max;
}

static double
ref_rcp(double x)
{
    return 1 / x;
}

static double
ref_rsqrt(double x)
{
    return 1 / sqrt(x);
}

#define BOUND(f, ref, lo, hi, relative, limit)                                                     \
    do {                                                                                           \
        for (int n_ = 0; n_ < 2; n_++) {                                                           \
            double w_ = worst(f, ref, lo, hi, relative, n_);                                       \
            ok(w_ <= exp2(limit), #f " in [%g, %g] sign %d: error %.3g = 2^%.2f", lo, hi, n_, w_,  \
               log2(w_));                                                                          \
        }                                                                                          \
    } while (0)

static void
approximations(void)
{
    BOUND(pw_m_ex2_approx_f32, exp2, 0x1p-149f, 128.0f, 1, -22.5);
    BOUND(pw_m_sin_approx_f32, sin, 0x1p-149f, 3.2f, 0, -22);
    BOUND(pw_m_cos_approx_f32, cos, 0x1p-149f, 3.2f, 0, -22);
    BOUND(pw_m_sin_approx_f32, sin, 3.2f, 1e6f, 0, -21);
    BOUND(pw_m_cos_approx_f32, cos, 3.2f, 1e6f, 0, -21);
    BOUND(pw_m_sin_approx_f32, sin, 0x1p-22f, 0x1p-3f, 1, -21);
    BOUND(pw_m_tanh_approx_f32, tanh, 0x1p-149f, 20.0f, 1, -20);
    BOUND(pw_m_rcp_approx_f32, ref_rcp, 0x1p-126f, 0x1p127f, 1, -23);
}

static void
approximations_of_positive(void)
{
    double w = worst(pw_m_lg2_approx_f32, log2, 0.5f, 2.0f, 0, 0);
    ok(w <= exp2(-22.6), "lg2 in [0.5, 2]: absolute error 2^%.2f", log2(w));
    w = fmax(worst(pw_m_lg2_approx_f32, log2, 0x1p-149f, 0.5f, 1, 0),
             worst(pw_m_lg2_approx_f32, log2, 2.0f, 0x1.fffffep127f, 1, 0));
    ok(w <= exp2(-22.6), "lg2 elsewhere: relative error 2^%.2f", log2(w));
    w = worst(pw_m_rsqrt_approx_f32, ref_rsqrt, 0x1p-149f, 0x1.fffffep127f, 1, 0);
    ok(w <= exp2(-22.9), "rsqrt: relative error 2^%.2f", log2(w));
    w = worst(pw_m_sqrt_approx_f32, sqrt, 0x1p-149f, 0x1.fffffep127f, 1, 0);
    ok(w <= exp2(-23), "sqrt: relative error 2^%.2f", log2(w));
}

static void
special_values(void)
{
    const float inf = INFINITY;
    static const struct {
        float (*f)(float);
        const char *name;
        float at_minus_inf, at_minus_0, at_0, at_inf;
    } table[] = {
        {pw_m_ex2_approx_f32, "ex2", 0, 1, 1, INFINITY},
        {pw_m_lg2_approx_f32, "lg2", NAN, -INFINITY, -INFINITY, INFINITY},
        {pw_m_sin_approx_f32, "sin", NAN, -0.0f, 0, NAN},
        {pw_m_cos_approx_f32, "cos", NAN, 1, 1, NAN},
        {pw_m_tanh_approx_f32, "tanh", -1, -0.0f, 0, 1},
        {pw_m_rcp_approx_f32, "rcp", -0.0f, -INFINITY, INFINITY, 0},
        {pw_m_sqrt_approx_f32, "sqrt", NAN, -0.0f, 0, INFINITY},
        {pw_m_rsqrt_approx_f32, "rsqrt", NAN, -INFINITY, INFINITY, 0},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        ok(same(table[k].f(-inf), table[k].at_minus_inf), "%s(-inf)", table[k].name);
        ok(same(table[k].f(-0.0f), table[k].at_minus_0), "%s(-0)", table[k].name);
        ok(same(table[k].f(0.0f), table[k].at_0), "%s(0)", table[k].name);
        ok(same(table[k].f(inf), table[k].at_inf), "%s(inf)", table[k].name);
        ok(isnan(table[k].f(NAN)), "%s(NaN)", table[k].name);
    }
    CHECK(isnan(pw_m_lg2_approx_f32(-1)));
    CHECK(isnan(pw_m_sqrt_approx_f32(-1)));
    CHECK_INT(bits32(pw_m_nan_f32(-NAN)), 0x7fffffff);
    CHECK_INT(bits32(pw_m_nan_f32(-0.0f)), 0x80000000);
    CHECK(pw_m_ex2_approx_f32(-149) == 0x1p-149f);
    CHECK(pw_m_ex2_approx_f32(-160) == 0);
    CHECK(pw_m_ex2_approx_f32(128) == INFINITY);
    CHECK(pw_m_lg2_approx_f32(0x1p-149f) == -149);
    CHECK(bits32(pw_m_sin_approx_f32(-0x1p-140f)) == 0x80000000);
    for (float x = 0x1p25f; x < inf; x *= 1.7f)
        ok(fabsf(pw_m_sin_approx_f32(x)) <= 1.0001f, "sin(%g) is bounded", x);
}

static void
minimum_maximum(void)
{
    static const float v[] = {0.0f, -0.0f, 1, -1, INFINITY, -INFINITY, NAN, 0x1p-149f};
    for (size_t k = 0; k < 64; k++) {
        float a = v[k % 8], b = v[k / 8], lo = a < b || (a == b && signbit(a)) ? a : b;
        float hi = a > b || (a == b && !signbit(a)) ? a : b;
        int some_nan = isnan(a) || isnan(b);
        lo = isnan(a) ? b : isnan(b) ? a : lo;
        hi = isnan(a) ? b : isnan(b) ? a : hi;
        ok(same(pw_m_min_f32(a, b), lo), "min %g %g", a, b);
        ok(same(pw_m_max_f32(a, b), hi), "max %g %g", a, b);
        ok(same64(pw_m_min_f64(a, b), lo), "min.f64 %g %g", a, b);
        ok(same64(pw_m_max_f64(a, b), hi), "max.f64 %g %g", a, b);
        ok(same(pw_m_min_nan_f32(a, b), some_nan ? NAN : lo), "min.nan %g %g", a, b);
        ok(same(pw_m_max_nan_f32(a, b), some_nan ? NAN : hi), "max.nan %g %g", a, b);
        ok(same64(pw_m_min_nan_f64(a, b), some_nan ? NAN : lo), "min.nan.f64 %g %g", a, b);
        ok(same64(pw_m_max_nan_f64(a, b), some_nan ? NAN : hi), "max.nan.f64 %g %g", a, b);
    }
    CHECK_INT(bits32(pw_m_ftz_f32(-0x1p-127f)), 0x80000000);
    CHECK(pw_m_ftz_f32(0x1p-126f) == 0x1p-126f);
    CHECK(isnan(pw_m_ftz_f32(NAN)));
}

static void
gross_f64(void)
{
    for (int k = 0; k < 100000; k++) {
        double x = ldexp(1 + (double)(rnd() >> 12) * 0x1p-52, (int)(rnd() % 2000) - 1000);
        double r = pw_m_rcp_approx_ftz_f64(x), s = pw_m_rsqrt_approx_ftz_f64(x);
        if (!(fabs(r * x - 1) < 0x1p-18 && fabs(s * s * x - 1) < 0x1p-17))
            ok(0, "rcp, rsqrt of %a: %a, %a", x, r, s);
        if ((bits64(r) | bits64(s)) & 0xffffffff)
            ok(0, "low words of rcp, rsqrt of %a", x);
    }
    CHECK(pw_m_rcp_approx_ftz_f64(INFINITY) == 0);
    CHECK(pw_m_rcp_approx_ftz_f64(-0x1p-1030) == -INFINITY);
    CHECK(pw_m_rcp_approx_ftz_f64(0x1p1023) == 0);
    CHECK(isnan(pw_m_rcp_approx_ftz_f64(NAN)));
    CHECK(isnan(pw_m_rsqrt_approx_ftz_f64(-1)));
    CHECK(pw_m_rsqrt_approx_ftz_f64(0) == INFINITY);
}

// ---- directed rounding --------------------------------------------------------------------------
// Patterns with many zeros, subnormals, ties, infinities and NaNs, and operands of similar
// magnitude.
static float
some_float(void)
{
    uint32_t r = (uint32_t)rnd(), sign = (uint32_t)(rnd() & 1) << 31;
    switch (rnd() % 8) {
    case 0:
        return float32(sign | (r & 0x00ffffff)); // subnormal and small
    case 1:
        return float32(sign | (0x7f000000 + (r & 0x0080ffff)));
    case 2:
        return float32(sign | (0x3f800000 + (r & 3)));
    case 3:
        return float32(sign | (uint32_t[]){0, 1, 0x7f800000, 0x7f7fffff, 0x00800000, 0x7fc00000,
                                           0x3f800000, 0x34000000}[r % 8]);
    case 4:
        return float32(sign | (0x3f000000 + (r & 0x00ffffff)));
    default:
        return float32(r);
    }
}

static double
some_double(void)
{
    return rnd() % 3 ? float64(rnd()) : (double)some_float() * (1 + (rnd() & 1) * 0x1p-52);
}

// The native operation in a rounding mode; volatile keeps it there.
#define NATIVE(type, mode, expr)                                                                   \
    ({                                                                                             \
        volatile double wide = x;                                                                  \
        volatile type a = x, b = y, c = z;                                                         \
        (void)a, (void)b, (void)c, (void)wide;                                                     \
        fesetround(mode);                                                                          \
        volatile type r_ = (expr);                                                                 \
        fesetround(FE_TONEAREST);                                                                  \
        r_;                                                                                        \
    })

#define ONE(name, type, eq, mode, call, expr)                                                      \
    do {                                                                                           \
        type got_ = (call), want_ = NATIVE(type, mode, expr);                                      \
        if (!eq(got_, want_))                                                                      \
            ok(0, name " of %a %a %a: got %a, want %a", x, y, z, got_, want_);                     \
        else                                                                                       \
            good++;                                                                                \
    } while (0)

#define SIX(rnd, suffix, type, eq, mode, fma, sqrt)                                                \
    do {                                                                                           \
        ONE("add." #rnd, type, eq, mode, pw_m_add_##rnd##_##suffix(x, y), a + b);                  \
        ONE("mul." #rnd, type, eq, mode, pw_m_mul_##rnd##_##suffix(x, y), a *b);                   \
        ONE("div." #rnd, type, eq, mode, pw_m_div_##rnd##_##suffix(x, y), a / b);                  \
        ONE("rcp." #rnd, type, eq, mode, pw_m_rcp_##rnd##_##suffix(x), 1 / a);                     \
        ONE("sqrt." #rnd, type, eq, mode, pw_m_sqrt_##rnd##_##suffix(x), sqrt(a));                 \
        ONE("fma." #rnd, type, eq, mode, pw_m_fma_##rnd##_##suffix(x, y, z), fma(a, b, c));        \
    } while (0)

static void
directed_f32(void)
{
    int good = 0;
    for (int k = 0; k < 400000; k++) {
        float x = some_float(), y = some_float(), z = k % 4 ? some_float() : -x * y;
        SIX(rz, f32, float, same, modes[0], fmaf, sqrtf);
        SIX(rm, f32, float, same, modes[1], fmaf, sqrtf);
        SIX(rp, f32, float, same, modes[2], fmaf, sqrtf);
        if (k % 5 == 0) {
            y = -x;
            ONE("add.rm", float, same, modes[1], pw_m_add_rm_f32(x, y), a + b);
            ONE("add.rp", float, same, modes[2], pw_m_add_rp_f32(x, y), a + b);
        }
    }
    ok(good == 400000 * 18 + 160000, "%d f32 results", good);
}

static void
directed_f64(void)
{
    int good = 0;
    for (int k = 0; k < 100000; k++) {
        double x = some_double(), y = some_double(), z = k % 4 ? some_double() : -x * y;
        SIX(rz, f64, double, same64, modes[0], fma, sqrt);
        SIX(rm, f64, double, same64, modes[1], fma, sqrt);
        SIX(rp, f64, double, same64, modes[2], fma, sqrt);
    }
    ok(good == 100000 * 18, "%d f64 results", good);
    CHECK(fegetround() == FE_TONEAREST);
}

static void
directed_conversions(void)
{
    int good = 0;
    for (int k = 0; k < 200000; k++) {
        double y = 0, z = 0, x = k & 1 ? some_double() : some_float() * (1 + 0x1p-40);
#define C(rnd, mode)                                                                               \
    ONE("f32.f64." #rnd, float, same, mode, pw_m_cvt_##rnd##_f32_f64(x), (float)wide)
        C(rz, modes[0]);
        C(rm, modes[1]);
        C(rp, modes[2]);
#undef C
        uint64_t i = rnd() >> (rnd() % 64);
        i &= k % 3 ? ~0ull : ~0ull << (rnd() % 64);
#define C(rnd, mode)                                                                               \
    ONE("f32.s64." #rnd, float, same, mode, pw_m_cvt_##rnd##_f32_s64((int64_t)i),                  \
        (float)(volatile int64_t){(int64_t)i});                                                    \
    ONE("f32.s32." #rnd, float, same, mode, pw_m_cvt_##rnd##_f32_s32((int32_t)i),                  \
        (float)(volatile int32_t){(int32_t)i});                                                    \
    ONE("f32.u32." #rnd, float, same, mode, pw_m_cvt_##rnd##_f32_u32((uint32_t)i),                 \
        (float)(volatile uint32_t){(uint32_t)i});                                                  \
    ONE("f64.s64." #rnd, double, same64, mode, pw_m_cvt_##rnd##_f64_s64((int64_t)i),               \
        (double)(volatile int64_t){(int64_t)i});                                                   \
    ONE("f32.u64." #rnd, float, same, mode, pw_m_cvt_##rnd##_f32_u64(i),                           \
        (float)(long double)(volatile uint64_t){i});                                               \
    ONE("f64.u64." #rnd, double, same64, mode, pw_m_cvt_##rnd##_f64_u64(i),                        \
        (double)(long double)(volatile uint64_t){i})
        C(rz, modes[0]);
        C(rm, modes[1]);
        C(rp, modes[2]);
#undef C
    }
    ok(good == 200000 * 21, "%d conversions", good);
}

// ---- small formats ------------------------------------------------------------------------------
enum { TO_NEAREST, TO_NEAREST_AWAY, TO_ZERO, TO_DOWN, TO_UP };

// x rounded to a format of `mbits` mantissa bits with least normal exponent `emin`, unlimited
// above.
static long double
rounded_to(long double x, int mbits, int emin, int how)
{
    int e;
    if (x == 0 || !isfinite(x))
        return x;
    frexpl(x, &e);
    int unit = (e - 1 > emin ? e - 1 : emin) - mbits;
    long double y = ldexpl(x, -unit);
    y = how == TO_NEAREST        ? rintl(y)
        : how == TO_NEAREST_AWAY ? roundl(y)
        : how == TO_ZERO         ? truncl(y)
        : how == TO_DOWN         ? floorl(y)
                                 : ceill(y);
    return ldexpl(y, unit);
}

// Value of a pattern of 1 + ebits + mbits bits, no special values.
static long double
value_of(uint32_t v, int ebits, int mbits)
{
    int bias = (1 << (ebits - 1)) - 1, e = (int)(v >> mbits & ((1u << ebits) - 1));
    long double m = v & ((1u << mbits) - 1);
    long double r = e ? ldexpl(m + (1 << mbits), e - bias - mbits) : ldexpl(m, 1 - bias - mbits);
    return v >> (ebits + mbits) & 1 ? -r : r;
}

struct half_case {
    uint16_t (*f)(float);
    const char *name;
    int ebits, mbits, how;
    double max;
};

static void
to_halves(void)
{
    static const struct half_case table[] = {
        {pw_m_cvt_rz_f16_f32, "rz.f16", 5, 10, TO_ZERO, 65504},
        {pw_m_cvt_rm_f16_f32, "rm.f16", 5, 10, TO_DOWN, 65504},
        {pw_m_cvt_rp_f16_f32, "rp.f16", 5, 10, TO_UP, 65504},
        {pw_m_cvt_rn_bf16_f32, "rn.bf16", 8, 7, TO_NEAREST, 0x1.fep127},
        {pw_m_cvt_rz_bf16_f32, "rz.bf16", 8, 7, TO_ZERO, 0x1.fep127},
        {pw_m_cvt_rm_bf16_f32, "rm.bf16", 8, 7, TO_DOWN, 0x1.fep127},
        {pw_m_cvt_rp_bf16_f32, "rp.bf16", 8, 7, TO_UP, 0x1.fep127},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        const struct half_case *c = &table[k];
        uint32_t inf = ((1u << c->ebits) - 1) << c->mbits;
        int bad = 0;
        for (uint32_t b = 0; b < 0xffffffff - STEP; b += STEP) {
            float x = b % 2 ? float32(b) : float32(b & 0xfffff000); // half of them with ties
            uint32_t got = c->f(x), mag = got & 0x7fff;
            long double want = rounded_to(x, c->mbits, 2 - (1 << (c->ebits - 1)), c->how);
            int to_max =
                c->how == TO_ZERO || (c->how == TO_DOWN && x > 0) || (c->how == TO_UP && x < 0);
            if (isnan(x))
                bad += got != 0x7fff;
            else if (fabsl(want) > c->max)
                bad +=
                    mag != (isfinite(x) && to_max ? inf - 1 : inf) || got >> 15 != bits32(x) >> 31;
            else
                bad += value_of(got, c->ebits, c->mbits) != want || got >> 15 != bits32(x) >> 31;
        }
        ok(!bad, "%s: %d wrong", c->name, bad);
    }
}

static void
to_tf32(void)
{
    int bad = 0;
    for (uint32_t b = 0; b < 0x7f7ff000 - STEP; b += STEP) {
        float x = float32(b % 2 ? b : b & ~0xfffu);
        bad += float32(pw_m_cvt_rn_tf32_f32(x)) != rounded_to(x, 10, -126, TO_NEAREST);
        bad += float32(pw_m_cvt_rna_tf32_f32(-x)) != rounded_to(-x, 10, -126, TO_NEAREST_AWAY);
        bad += float32(pw_m_cvt_rz_tf32_f32(x)) != rounded_to(x, 10, -126, TO_ZERO);
    }
    CHECK_INT(bad, 0);
    CHECK_INT(pw_m_cvt_rna_tf32_f32(NAN), 0x7fc00000);
    CHECK_INT(pw_m_cvt_rn_tf32_f32(NAN), 0x7fffe000);
    CHECK_INT(pw_m_cvt_rna_tf32_f32(-INFINITY), 0xff800000);
}

static void
small_formats(void)
{
    static const struct {
        uint32_t (*to)(float);
        float (*from)(uint32_t);
        const char *name;
        int ebits, mbits;
        float max;
        uint32_t nan;
    } table[] = {
        {pw_m_cvt_rn_e4m3_f32, pw_m_cvt_f32_e4m3, "e4m3", 4, 3, 448, 0x7f},
        {pw_m_cvt_rn_e5m2_f32, pw_m_cvt_f32_e5m2, "e5m2", 5, 2, 57344, 0x7f},
        {pw_m_cvt_rn_e3m2_f32, pw_m_cvt_f32_e3m2, "e3m2", 3, 2, 28, 0x1f},
        {pw_m_cvt_rn_e2m3_f32, pw_m_cvt_f32_e2m3, "e2m3", 2, 3, 7.5, 0x1f},
        {pw_m_cvt_rn_e2m1_f32, pw_m_cvt_f32_e2m1, "e2m1", 2, 1, 6, 0x07},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++) {
        int e = table[k].ebits, m = table[k].mbits, bad = 0;
        for (uint32_t b = 0; b < 0xffffffff - STEP; b += STEP) {
            float x = float32(b % 2 ? b : b & 0xfff80000);
            uint32_t got = table[k].to(x);
            long double want = rounded_to(x, m, 2 - (1 << (e - 1)), TO_NEAREST);
            want = fabsl(want) > table[k].max ? copysignl(table[k].max, want) : want;
            bad += isnan(x) ? got != table[k].nan
                            : value_of(got, e, m) != want || got >> (e + m) != bits32(x) >> 31;
        }
        ok(!bad, "to %s: %d wrong", table[k].name, bad);
        for (uint32_t v = 0; v < 2u << (e + m); v++)
            if (fabsl(value_of(v, e, m)) <= table[k].max)
                ok(table[k].from(v) == value_of(v, e, m), "from %s %#x", table[k].name, v);
    }
    CHECK(isnan(pw_m_cvt_f32_e4m3(0xff)));
    CHECK(pw_m_cvt_f32_e5m2(0xfc) == -INFINITY);
    CHECK(isnan(pw_m_cvt_f32_e5m2(0x7d)));
}

static void
ue8m0(void)
{
    CHECK_INT(pw_m_cvt_rz_ue8m0_f32(1.5f), 127);
    CHECK_INT(pw_m_cvt_rp_ue8m0_f32(1.5f), 128);
    CHECK_INT(pw_m_cvt_rp_ue8m0_f32(1.0f), 127);
    CHECK_INT(pw_m_cvt_rp_ue8m0_f32(0x1p-127f), 0);
    CHECK_INT(pw_m_cvt_rp_ue8m0_f32(0x1.1p-127f), 1);
    CHECK_INT(pw_m_cvt_rp_ue8m0_f32(INFINITY), 0xff);
    CHECK_INT(pw_m_cvt_rp_sat_ue8m0_f32(INFINITY), 0xfe);
    CHECK_INT(pw_m_cvt_rz_sat_ue8m0_f32(NAN), 0xff);
    CHECK(pw_m_cvt_f32_ue8m0(0) == 0x1p-127f);
    CHECK(pw_m_cvt_f32_ue8m0(254) == 0x1p127f);
    CHECK(isnan(pw_m_cvt_f32_ue8m0(255)));
}

// f16 and bf16 values with exponents near each other: their a * b + c is exact in long double.
static float
near_one(int mbits)
{
    int e = (int)(rnd() % 24) - 12;
    float m = 1 + ldexpf((float)(rnd() & ((1u << mbits) - 1)), -mbits);
    return ldexpf(rnd() & 1 ? -m : m, e);
}

static float
bf16(float x)
{
    return float32((uint32_t)pw_m_cvt_rn_bf16_f32(x) << 16);
}

static void
fused_halves(void)
{
    int bad = 0;
    for (int k = 0; k < 500000; k++) {
        float a = near_one(10), b = near_one(10), c = near_one(10);
        c = k % 3 ? c : ldexpf(c, -13); // around a tie
        _Float16 got = (_Float16)pw_m_fma_odd_f16(a, b, c);
        bad += isfinite((float)got) &&
               (float)got != rounded_to((long double)a * b + c, 10, -14, TO_NEAREST);
        a = near_one(7), b = near_one(7), c = near_one(7);
        bad += bf16(pw_m_fma_odd_bf16(a, b, c)) !=
               rounded_to((long double)a * b + c, 7, -126, TO_NEAREST);
    }
    CHECK_INT(bad, 0);
    // A tie that something far below decides; f64 alone would not see it.
    float a = 0x1.1p0f, b = 0x1.1p0f; // 1.21 in hexadecimal digits: 1 + 2^-3 + 2^-8
    CHECK(bf16(pw_m_fma_odd_bf16(a, b, 0)) == 0x1.2p0f);
    CHECK(bf16(pw_m_fma_odd_bf16(a, b, 0x1p-120f)) == 0x1.22p0f);
    CHECK(bf16(pw_m_fma_odd_bf16(a, b, -0x1p-120f)) == 0x1.2p0f);
    // The product alone overflows f32.
    CHECK(bf16(pw_m_fma_odd_bf16(0x1p64f, 0x1p64f, -0x1.fep127f)) == 0x1p120f);
    CHECK(bf16(pw_m_fma_odd_bf16(0x1p64f, 0x1p64f, 0)) == INFINITY);
    CHECK(isnan(pw_m_fma_odd_bf16(INFINITY, 0, 1)));
    CHECK(pw_m_fma_odd_f16(INFINITY, 1, 1) == INFINITY);
}

// ---- fns ----------------------------------------------------------------------------------------
static int32_t
ref_fns(uint32_t mask, int base, int offset)
{
    if (offset == 0)
        return mask >> base & 1 ? base : -1;
    int left = abs(offset), step = offset > 0 ? 1 : -1;
    for (int at = base; at >= 0 && at < 32; at += step)
        if (mask >> at & 1 && --left == 0)
            return at;
    return -1;
}

static void
find_nth_set(void)
{
    for (int k = 0; k < 2000; k++) {
        uint32_t mask = (uint32_t)(rnd() & rnd());
        mask = k % 5 ? mask : ~0u;
        int base = (int)(rnd() % 32), offset = (int)(rnd() % 41) - 20;
        ok(pw_m_fns_b32((int32_t)mask, base, offset) == ref_fns(mask, base, offset),
           "fns %#x from %d, %d", mask, base, offset);
    }
    CHECK_INT(pw_m_fns_b32(-1, 0, INT32_MIN), -1);
    CHECK_INT(pw_m_fns_b32(-1, 0, INT32_MAX), -1);
}

CHECK_MAIN(T(approximations), T(approximations_of_positive), T(special_values), T(minimum_maximum),
           T(gross_f64), T(directed_f32), T(directed_f64), T(directed_conversions), T(to_halves),
           T(to_tf32), T(small_formats), T(ue8m0), T(fused_halves), T(find_nth_set))
