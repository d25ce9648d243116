// SPDX-License-Identifier: MIT
// Conversions to and from formats of 16 bits and less (tf32 too), and the fused multiply-add of f16
// and bf16.
#include "devlib/devlib.h"

enum rounding { RN, RNA, RZ, RM, RP };

// The magnitude of a finite x in a format of `ebits` exponent and `mbits` mantissa bits with the
// usual bias; subnormals included. What is too large has an exponent beyond the format's.
static inline uint32_t
narrow(float x, uint32_t ebits, uint32_t mbits, enum rounding r)
{
    uint32_t b = bits32(x), negative = b >> 31, field = b >> 23 & 0xff;
    uint32_t e = field + (field == 0), sig = (b & 0x7fffff) | (uint32_t)(field != 0) << 23;
    uint32_t emin = 129 - (1u << (ebits - 1)); // the least normal exponent, biased as in f32
    uint32_t below = upick(e < emin, emin - e, 0), s = 23 - mbits + below;
    s = upick(s < 26, s, 26); // sig has 24 bits: nothing but a rest is left
    uint32_t q = sig >> s, rest = sig & ((1u << s) - 1), half = 1u << (s - 1);
    uint32_t up = r == RN    ? (rest > half) | ((rest == half) & q)
                  : r == RNA ? rest >= half
                  : r == RZ  ? 0
                  : r == RM  ? (rest != 0) & negative
                             : (rest != 0) & ~negative;
    return q + (up & 1) + (upick(below != 0, 0, e - emin) << mbits);
}

static inline uint32_t
sign_at(float x, uint32_t bit)
{
    return (bits32(x) >> 31) << bit;
}

// f16 and bf16: overflow gives infinity or, rounding toward zero, the largest finite value. NaN is
// 0x7fff.
static inline uint16_t
to_half(float x, uint32_t ebits, uint32_t mbits, enum rounding r)
{
    uint32_t inf = ((1u << ebits) - 1) << mbits, negative = bits32(x) >> 31;
    uint32_t q = narrow(x, ebits, mbits, r);
    uint32_t toward_zero = r == RZ ? 1 : r == RM ? !negative : negative;
    uint32_t over = inf - (toward_zero & (__builtin_fabsf(x) < float32(0x7f800000)));
    q = upick(q < inf, q, over);
    return (uint16_t)upick(x == x, q | sign_at(x, 15), 0x7fff);
}

DEV uint16_t
pw_m_cvt_rn_bf16_f32(float x)
{
    uint32_t b = bits32(x);
    return (uint16_t)upick(x == x, (b + 0x7fff + (b >> 16 & 1)) >> 16, 0x7fff);
}

#define TO_HALF(format, rnd, ebits, mbits, R)                                                      \
    DEV uint16_t pw_m_cvt_##rnd##_##format##_f32(float x)                                          \
    {                                                                                              \
        return to_half(x, ebits, mbits, R);                                                        \
    }
TO_HALF(f16, rz, 5, 10, RZ)
TO_HALF(f16, rm, 5, 10, RM)
TO_HALF(f16, rp, 5, 10, RP)
TO_HALF(bf16, rz, 8, 7, RZ)
TO_HALF(bf16, rm, 8, 7, RM)
TO_HALF(bf16, rp, 8, 7, RP)

// tf32 is an f32 whose low 13 bits are 0. All NaNs become one.
static inline uint32_t
to_tf32(float x, uint32_t add)
{
    uint32_t b = bits32(x), finite = __builtin_fabsf(x) < float32(0x7f800000);
    uint32_t v = (b + upick(finite, add, 0)) & ~0x1fffu;
    return upick(x == x, v, 0x7fffe000);
}

DEV uint32_t
pw_m_cvt_rn_tf32_f32(float x)
{
    return to_tf32(x, 0xfff + (bits32(x) >> 13 & 1));
}

DEV uint32_t
pw_m_cvt_rna_tf32_f32(float x)
{
    return (bits32(x) + upick(x == x, 0x1000, 0)) & ~0x1fffu; // some NaNs become infinite
}

DEV uint32_t
pw_m_cvt_rz_tf32_f32(float x)
{
    return to_tf32(x, 0);
}

// ---- formats of 8 bits and less -----------------------------------------------------------------
// Clamped to the magnitude `max`; `nan` is the pattern for a NaN.
static inline uint32_t
to_small(float x, uint32_t ebits, uint32_t mbits, uint32_t max, uint32_t nan)
{
    uint32_t q = narrow(x, ebits, mbits, RN);
    q = upick(q < max, q, max);
    return upick(x == x, q | sign_at(x, ebits + mbits), nan);
}

// ebits + mbits magnitude bits to f32. No infinities or NaNs.
static inline float
from_small(uint32_t v, uint32_t ebits, uint32_t mbits)
{
    uint32_t bias = (1u << (ebits - 1)) - 1, mag = v & ((1u << (ebits + mbits)) - 1);
    uint32_t normal = (mag << (23 - mbits)) + ((127 - bias) << 23);
    float subnormal = (float)(int32_t)mag * float32((128 - bias - mbits) << 23);
    uint32_t b = upick(mag >> mbits != 0, normal, bits32(subnormal));
    return float32(b | (v >> (ebits + mbits) & 1) << 31);
}

#define TO_SMALL(format, ebits, mbits, max, nan)                                                   \
    DEV uint32_t pw_m_cvt_rn_##format##_f32(float x)                                               \
    {                                                                                              \
        return to_small(x, ebits, mbits, max, nan);                                                \
    }
TO_SMALL(e4m3, 4, 3, 0x7e, 0x7f)
TO_SMALL(e5m2, 5, 2, 0x7b, 0x7f)
TO_SMALL(e3m2, 3, 2, 0x1f, 0x1f)
TO_SMALL(e2m3, 2, 3, 0x1f, 0x1f)
TO_SMALL(e2m1, 2, 1, 0x07, 0x07)

DEV float
pw_m_cvt_f32_e4m3(uint32_t v)
{
    return pick((v & 0x7f) == 0x7f, float32(0x7fffffff), from_small(v, 4, 3));
}

DEV float
pw_m_cvt_f32_e5m2(uint32_t v)
{
    uint32_t special = upick((v & 3) != 0, 0x7fffffff, 0x7f800000 | (v >> 7 & 1) << 31);
    return pick((v & 0x7c) == 0x7c, float32(special), from_small(v, 5, 2));
}

DEV float
pw_m_cvt_f32_e3m2(uint32_t v)
{
    return from_small(v, 3, 2);
}

DEV float
pw_m_cvt_f32_e2m3(uint32_t v)
{
    return from_small(v, 2, 3);
}

DEV float
pw_m_cvt_f32_e2m1(uint32_t v)
{
    return from_small(v, 2, 1);
}

// 2^(v - 127) of the magnitude; v = 0xff is NaN, v = 0 is 2^-127, which also stands for all that is
// smaller.
static inline uint32_t
to_ue8m0(float x, uint32_t up, uint32_t saturate)
{
    uint32_t mag = bits32(x) & 0x7fffffff, e = mag >> 23;
    uint32_t rest =
        upick(e != 0, mag & 0x7fffff, mag > 0x400000); // 2^-127 is the subnormal 0x400000
    uint32_t v = e + (up & (rest != 0));
    v = upick((v > 0xfe) & saturate, 0xfe, v);
    return upick(x == x, v, 0xff);
}

DEV uint32_t
pw_m_cvt_rz_ue8m0_f32(float x)
{
    return to_ue8m0(x, 0, 0);
}

DEV uint32_t
pw_m_cvt_rp_ue8m0_f32(float x)
{
    return to_ue8m0(x, 1, 0);
}

DEV uint32_t
pw_m_cvt_rz_sat_ue8m0_f32(float x)
{
    return to_ue8m0(x, 0, 1);
}

DEV uint32_t
pw_m_cvt_rp_sat_ue8m0_f32(float x)
{
    return to_ue8m0(x, 1, 1);
}

DEV float
pw_m_cvt_f32_ue8m0(uint32_t v)
{
    v &= 0xff;
    uint32_t power = upick(v != 0, v << 23, 0x400000);
    return float32(upick(v == 0xff, 0x7fffffff, power));
}

// ---- fused multiply-add -------------------------------------------------------------------------
DEV float
pw_m_fma_odd_f16(float a, float b, float c)
{
    float p = a * b, s = p + c, t = s - p; // p: 22 bits from 2^-48 to 2^32, exact
    float rest = (p - (s - t)) + (c - t);  // exact; NaN beside infinities
    uint32_t v = bits32(s);
    uint32_t inexact = (rest < 0.0f) | (rest > 0.0f);
    uint32_t away = (rest > 0.0f) == (s > 0.0f);
    return float32(v + upick(inexact & ~v, upick(away, 1, ~0u), 0));
}

// The product of two bf16 may lie outside f32's range and the sum may cancel it, hence f64; a rest
// beyond its 53 bits makes the sum odd, and so does the step to f32.
DEV float
pw_m_fma_odd_bf16(float a, float b, float c)
{
    double p = (double)a * b, s = p + c, t = s - p;
    double rest = (p - (s - t)) + (c - t);
    uint64_t v = bits64(s);
    uint32_t inexact = (rest < 0.0) | (rest > 0.0), away = (rest > 0.0) == (s > 0.0);
    uint64_t step = upick64(away, 1, ~0ull);
    return pw_m_cvt_odd_f32_f64(float64(v + upick64(inexact & ~(uint32_t)v, step, 0)));
}
