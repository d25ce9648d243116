// SPDX-License-Identifier: MIT
// The .approx functions. Errors stay below the maxima of the PTX ISA with a wide margin
// (test/unit/devlib_test.c); special values are those of its tables. Polynomials interpolate at
// Chebyshev nodes. No branches, no tables.
#include "devlib/devlib.h"

#define INFINITE float32(0x7f800000)
#define A_NAN    float32(0x7fffffff)

DEV float
pw_m_nan_f32(float x)
{
    return pick(x == x, x, A_NAN);
}

static inline double
quieted(double nan)
{
    return float64(bits64(nan) | 0x0008000000000000);
}

// `nan`, quiet, if it is one, else r.
DEV double
pw_m_nan_f64(double r, double nan)
{
    return pick64(nan != nan, quieted(nan), r);
}

DEV float
pw_m_ftz_f32(float x)
{
    uint32_t b = bits32(x);
    return pick((b & 0x7f800000) == 0, float32(b & 0x80000000), x);
}

// Of equal operands only zeros differ: the sign is both signs' and for max, their or for min. A
// comparison with a NaN picks b; the last step repairs a NaN in b or, in the nan form, in a.
#define MINMAX(name, type, bits, make, choose, order, join, suspect)                               \
    DEV type pw_m_##name(type a, type b)                                                           \
    {                                                                                              \
        type r = choose(a order b, a, b);                                                          \
        r = choose(a == b, make(bits(a) join bits(b)), r);                                         \
        return choose(suspect != suspect, a, r);                                                   \
    }
#define MINMAX_F64(name, order, join)                                                              \
    DEV double pw_m_##name(double a, double b)                                                     \
    {                                                                                              \
        double r = pick64(a order b, a, b);                                                        \
        r = pick64(a == b, float64(bits64(a) join bits64(b)), r);                                  \
        r = pick64(b != b, a, r);                                                                  \
        return pick64((a != a) & (b != b), quieted(b), r);                                         \
    }
MINMAX(min_f32, float, bits32, float32, pick, <, |, b)
MINMAX(max_f32, float, bits32, float32, pick, >, &, b)
MINMAX(min_nan_f32, float, bits32, float32, pick, <, |, a)
MINMAX(max_nan_f32, float, bits32, float32, pick, >, &, a)
MINMAX_F64(min_f64, <, |)
MINMAX_F64(max_f64, >, &)
MINMAX(min_nan_f64, double, bits64, float64, pick64, <, |, a)
MINMAX(max_nan_f64, double, bits64, float64, pick64, >, &, a)

// (2^f - 1) / f for |f| <= 1/2, relative error 2^-26.
static inline float
ex2_minus_1_over(float f)
{
    float p = 0x1.44138ap-13f;
    p = __builtin_fmaf(p, f, 0x1.5f089p-10f);
    p = __builtin_fmaf(p, f, 0x1.3b2a54p-7f);
    p = __builtin_fmaf(p, f, 0x1.c6af6cp-5f);
    p = __builtin_fmaf(p, f, 0x1.ebfbep-3f);
    return __builtin_fmaf(p, f, 0x1.62e43p-1f);
}

// 2^n for -126 <= n <= 127.
static inline float
power_of_2(int32_t n)
{
    return float32((uint32_t)(n + 127) << 23);
}

// p 2^n for an integral n, -152 <= n <= 129, or NaN, and 1/2 < p < 2. A function of its own: some processors have an
// instruction for it.
REPLACEABLE float
pw_m_scale_f32(float p, float n)
{
    int32_t k = (int32_t)pick(n == n, n, 0.0f), half = k >> 1; // two steps: results may be subnormal or infinite
    return p * power_of_2(half) * power_of_2(k - half);
}

DEV float
pw_m_ex2_approx_f32(float x)
{
    float c = pick(x < -152.0f, -152.0f, x);
    c = pick(c > 129.0f, 129.0f, c);
    float whole = __builtin_rintf(c), f = c - whole;
    return pw_m_scale_f32(__builtin_fmaf(ex2_minus_1_over(f), f, 1.0f), whole);
}

DEV float
pw_m_lg2_approx_f32(float x)
{
    const uint32_t sqrt_half = 0x3f3504f3;
    uint32_t subnormal = x < 0x1p-126f;
    uint32_t b = bits32(pick(subnormal, x * 0x1p23f, x)) - sqrt_half;
    float e = (float)(((int32_t)b >> 23) - (int32_t)(23 * subnormal));
    float m = float32((b & 0x7fffff) + sqrt_half); // x = 2^e m, sqrt(1/2) <= m < sqrt(2)
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;  // log2(m) = 2 artanh(s) / ln 2
    float p = 0x1.ba1f7cp-2f;
    p = __builtin_fmaf(p, z, 0x1.274702p-1f);
    p = __builtin_fmaf(p, z, 0x1.ec70e6p-1f);
    p = __builtin_fmaf(p, z, 0x1.715476p+1f);
    float r = __builtin_fmaf(s, p, e);
    r = pick(x < INFINITE, r, x); // +inf and NaN
    r = pick(x == 0.0f, -INFINITE, r);
    return pick(x < 0.0f, A_NAN, r);
}

struct reduced {
    float u; // in quarters of a turn, |u| <= 1/2
    int32_t quadrant;
};

// x = (quadrant + u) pi/2 modulo 2 pi: exact to 2^-24 turns up to |x| = 2^25, and bounded beyond.
static inline struct reduced
reduce(float x)
{
    const float per_turn = 0x1.45f306p-3f, rest = 0x1.b93910p-28f; // 1 / (2 pi)
    float t = x * per_turn;
    float low = __builtin_fmaf(x, rest, __builtin_fmaf(x, per_turn, -t));
    float f = (t - __builtin_rintf(t)) + low; // NaN for an infinite x
    f -= __builtin_rintf(f);
    f = 4.0f * f;
    float q = __builtin_rintf(f);
    return (struct reduced){f - q, (int32_t)pick(q == q, q, 0.0f)};
}

// The sine of the angle: of odd quadrants the cosine of u, of the upper half turn negated.
static inline float
sine(float u, int32_t quadrant)
{
    float z = u * u;
    float s = -0x1.2d9b4p-8f;
    s = __builtin_fmaf(s, z, 0x1.465ec4p-4f);
    s = __builtin_fmaf(s, z, -0x1.4abbbap-1f);
    s = __builtin_fmaf(s, z, 0x1.921fb6p+0f) * u;
    float c = 0x1.db6492p-11f;
    c = __builtin_fmaf(c, z, -0x1.55cb98p-6f);
    c = __builtin_fmaf(c, z, 0x1.03c1eap-2f);
    c = __builtin_fmaf(c, z, -0x1.3bd3ccp+0f);
    c = __builtin_fmaf(c, z, 1.0f);
    float r = pick(quadrant & 1, c, s);
    return float32(bits32(r) ^ (uint32_t)(quadrant & 2) << 30);
}

DEV float
pw_m_sin_approx_f32(float x)
{
    // The hardware's angle is a multiple of 2^-25 turns, cut off.
    float a = __builtin_fabsf(x), small = pick(a < 0x1.921fb6p-23f, __builtin_copysignf(0.0f, x), x);
    struct reduced r = reduce(x);
    return pick(a < 0x1p-12f, small, sine(r.u, r.quadrant));
}

DEV float
pw_m_cos_approx_f32(float x)
{
    struct reduced r = reduce(x);
    return sine(r.u, r.quadrant + 1);
}

DEV float
pw_m_tanh_approx_f32(float x)
{
    float a = __builtin_fabsf(x), z = a * 0x1.715476p+1f; // e^(2a) = 2^z
    z = pick(z < 40.0f, z, 40.0f);
    float whole = __builtin_rintf(z), f = z - whole, scale = power_of_2((int32_t)whole);
    float t = __builtin_fmaf(ex2_minus_1_over(f) * f, scale, scale - 1.0f); // e^(2a) - 1
    float r = __builtin_copysignf(t / (t + 2.0f), x);
    r = pick(a < 0x1p-12f, x, r);
    return pick(x == x, r, x);
}

DEV float
pw_m_rcp_approx_f32(float x)
{
    return 1.0f / x;
}

DEV float
pw_m_sqrt_approx_f32(float x)
{
    return __builtin_sqrtf(x);
}

// About 1 / sqrt(x), with its special values. A function of its own: some processors have an instruction that is good for 14
// bits.
REPLACEABLE float
pw_m_rsqrt_seed_f32(float x)
{
    return 1.0f / __builtin_sqrtf(x);
}

DEV float
pw_m_rsqrt_approx_f32(float x)
{
    float y = pw_m_rsqrt_seed_f32(x), e = __builtin_fmaf(-(x * y), y, 1.0f);
    return pick(e == e, __builtin_fmaf(0.5f * y, e, y), y); // 0 and infinity have no e
}

// The upper 32 bits of a double with subnormals flushed: all that rcp.approx.ftz.f64 and its like
// read and write.
static inline double
upper_half(double x)
{
    uint64_t b = bits64(x) & 0xffffffff00000000;
    return float64(upick64(__builtin_fabs(x) < 0x1p-1022, b & 0x8000000000000000, b));
}

DEV double
pw_m_rcp_approx_ftz_f64(double x)
{
    double h = upper_half(x);
    return pick64(h == h, upper_half(1.0 / h), float64(0x7fffffff00000000));
}

DEV double
pw_m_rsqrt_approx_ftz_f64(double x)
{
    double r = upper_half(1.0 / __builtin_sqrt(upper_half(x)));
    return pick64(r == r, r, float64(0x7fffffff00000000));
}

// Position of set bit number n, counted from 0 at the low end; m has more than n of them.
static inline uint32_t
nth_bit(uint32_t m, uint32_t n)
{
    uint32_t at = 0, c, more;
#define STEP(width)                                                                                \
    c = (uint32_t)__builtin_popcount(m >> at & ((1u << width) - 1));                               \
    more = n >= c;                                                                                 \
    at += more * width;                                                                            \
    n -= more * c
    STEP(16);
    STEP(8);
    STEP(4);
    STEP(2);
    STEP(1);
#undef STEP
    return at;
}

static inline uint32_t
reverse(uint32_t v)
{
    v = (v >> 1 & 0x55555555) | (v & 0x55555555) << 1;
    v = (v >> 2 & 0x33333333) | (v & 0x33333333) << 2;
    v = (v >> 4 & 0x0f0f0f0f) | (v & 0x0f0f0f0f) << 4;
    return __builtin_bswap32(v);
}

DEV int32_t
pw_m_fns_b32(int32_t mask, int32_t base, int32_t offset)
{
    // Downwards is upwards in the mirrored word; offset 0 asks for the base bit itself.
    uint32_t down = offset < 0, from = (uint32_t)base & 31;
    uint32_t m = upick(down, reverse((uint32_t)mask), (uint32_t)mask);
    m &= ~0u << upick(down, 31 - from, from);
    m &= upick(offset != 0, ~0u, 1u << from);
    uint32_t n = upick(down, ~(uint32_t)offset, (uint32_t)offset - (offset != 0));
    uint32_t at = nth_bit(m, n);
    at = upick(down, 31 - at, at);
    uint32_t found = ((uint32_t)base < 32) & (n < (uint32_t)__builtin_popcount(m));
    return (int32_t)upick(found, at, ~0u);
}
