// SPDX-License-Identifier: MIT
// Directed rounding to f32 by way of f64, and of integers to f64. Every f32 operation has an f64
// result that is exact or whose order relative to all f32 values is that of the exact one; the f32
// nearest to it is then moved by one place.
#include "devlib/devlib.h"

enum rounding { RZ, RM, RP, ODD };

// f, the f32 nearest to d, replaced by d's neighbour in the direction asked for. Infinities from
// overflow included.
static inline float
direct(double d, enum rounding r)
{
    float f = (float)d;
    double g = f;
    uint32_t b = bits32(f), negative = b >> 31;
    uint32_t too_far = upick(negative, g<d, g> d), too_near = upick(negative, g > d, g < d);
    // One place in magnitude, up or down.
    uint32_t down = r == RZ   ? too_far
                    : r == RM ? too_far & !negative
                    : r == RP ? too_far & negative
                              : too_far & ~b;
    uint32_t up = r == RZ   ? 0
                  : r == RM ? too_near & negative
                  : r == RP ? too_near & !negative
                            : too_near & ~b;
    return float32(b + (up & 1) - (down & 1));
}

// a + b rounded to odd in f64: the order relative to any value of fewer bits is kept.
static inline double
add_odd(double a, double b)
{
    double s = a + b, t = s - a;
    double rest = (a - (s - t)) + (b - t); // exact; NaN beside infinities
    uint64_t v = bits64(s);
    int inexact = (rest < 0.0) | (rest > 0.0);
    int away = (rest > 0.0) == (s > 0.0);
    uint64_t step = upick64(away, 1, ~0ull);
    return float64(v + upick64(inexact & ~(int)v, step, 0));
}

// An exact sum of zero is -0 when rounding down, unless both terms are +0.
static inline float
signed_zero(double sum, double a, double b, float f, enum rounding r)
{
    uint32_t sign = (uint32_t)((bits64(a) | bits64(b)) >> 32) & 0x80000000;
    return pick((r == RM) & (sum == 0.0), float32(sign), f);
}

static inline float
add(double a, double b, enum rounding r)
{
    double s = add_odd(a, b);
    return signed_zero(s, a, b, direct(s, r), r);
}

// An integer of 64 bits as a double, odd where more than 53 bits are needed.
static inline double
odd_double(uint64_t m)
{
    uint64_t kept = (m & ~0xfffull) | ((m & 0xfff) != 0) << 12;
    return (double)upick64(m >> 53 != 0, kept, m);
}

static inline uint64_t
magnitude(int64_t a)
{
    return upick64(a < 0, 0 - (uint64_t)a, (uint64_t)a);
}

static inline double
whole(uint64_t m, int negative, enum rounding r)
{
    double high = (double)(uint32_t)(m >> 32) * 0x1p32, low = (double)(uint32_t)m;
    double s = high + low, rest = low - (s - high); // exact: high is 0 or not below low
    int down = r == RZ ? 1 : r == RP ? negative : !negative;
    uint64_t v = bits64(s);
    v -= down & (rest < 0.0);
    v += !down & (rest > 0.0);
    return float64(v | (uint64_t)negative << 63);
}

#define TO_F32(rnd, R)                                                                             \
    DEV float pw_m_cvt_##rnd##_f32_f64(double a)                                                   \
    {                                                                                              \
        return direct(a, R);                                                                       \
    }                                                                                              \
    DEV float pw_m_cvt_##rnd##_f32_s32(int32_t a)                                                  \
    {                                                                                              \
        return direct((double)a, R);                                                               \
    }                                                                                              \
    DEV float pw_m_cvt_##rnd##_f32_u32(uint32_t a)                                                 \
    {                                                                                              \
        return direct((double)a, R);                                                               \
    }                                                                                              \
    DEV float pw_m_cvt_##rnd##_f32_s64(int64_t a)                                                  \
    {                                                                                              \
        double m = odd_double(magnitude(a));                                                       \
        return direct(pick64(a < 0, -m, m), R);                                                    \
    }                                                                                              \
    DEV float pw_m_cvt_##rnd##_f32_u64(uint64_t a)                                                 \
    {                                                                                              \
        return direct(odd_double(a), R);                                                           \
    }
TO_F32(rz, RZ)
TO_F32(rm, RM)
TO_F32(rp, RP)
TO_F32(odd, ODD)

// mul: 48 bits are exact in f64. div, sqrt: a quotient or root of f32 values lies no closer than
// 2^-48 to another f32.
#define F32(rnd, R)                                                                                \
    DEV float pw_m_add_##rnd##_f32(float a, float b)                                               \
    {                                                                                              \
        return add(a, b, R);                                                                       \
    }                                                                                              \
    DEV float pw_m_fma_##rnd##_f32(float a, float b, float c)                                      \
    {                                                                                              \
        return add((double)a * b, c, R);                                                           \
    }                                                                                              \
    DEV float pw_m_mul_##rnd##_f32(float a, float b)                                               \
    {                                                                                              \
        return direct((double)a * b, R);                                                           \
    }                                                                                              \
    DEV float pw_m_div_##rnd##_f32(float a, float b)                                               \
    {                                                                                              \
        return direct((double)a / b, R);                                                           \
    }                                                                                              \
    DEV float pw_m_rcp_##rnd##_f32(float a)                                                        \
    {                                                                                              \
        return direct(1.0 / a, R);                                                                 \
    }                                                                                              \
    DEV float pw_m_sqrt_##rnd##_f32(float a)                                                       \
    {                                                                                              \
        return direct(__builtin_sqrt((double)a), R);                                               \
    }                                                                                              \
    DEV double pw_m_cvt_##rnd##_f64_s32(int32_t a)                                                 \
    {                                                                                              \
        return (double)a;                                                                          \
    }                                                                                              \
    DEV double pw_m_cvt_##rnd##_f64_u32(uint32_t a)                                                \
    {                                                                                              \
        return (double)a;                                                                          \
    }                                                                                              \
    DEV double pw_m_cvt_##rnd##_f64_s64(int64_t a)                                                 \
    {                                                                                              \
        return whole(magnitude(a), a < 0, R);                                                      \
    }                                                                                              \
    DEV double pw_m_cvt_##rnd##_f64_u64(uint64_t a)                                                \
    {                                                                                              \
        return whole(a, 0, R);                                                                     \
    }
F32(rz, RZ)
F32(rm, RM)
F32(rp, RP)
