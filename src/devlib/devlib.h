// SPDX-License-Identifier: MIT
// The device library's maths: pw.m.* of emit/pw.md with '.' replaced by '_'. Compiled once to
// bitcode that a backend links into each kernel (see the flags in docs or the build file), and
// natively for its tests. Everything is pure and, but for round_x86.c, straight-line code that
// vectorises. No file includes a header of the C library other than stdint.h.
#ifndef DEVLIB_DEVLIB_H
#define DEVLIB_DEVLIB_H

#include <stdint.h>

// Inlined into each caller, whose target features it then has.
#ifdef __clang__
#define DEV __attribute__((always_inline))
#else
#define DEV
#endif
// Not inlined before the backend has had its look.
#define REPLACEABLE __attribute__((weak))

static inline uint32_t
bits32(float v)
{
    return (union {
               float f;
               uint32_t u;
           }){v}
        .u;
}
static inline float
float32(uint32_t v)
{
    return (union {
               uint32_t u;
               float f;
           }){v}
        .f;
}
static inline uint64_t
bits64(double v)
{
    return (union {
               double f;
               uint64_t u;
           }){v}
        .u;
}
static inline double
float64(uint64_t v)
{
    return (union {
               uint64_t u;
               double f;
           }){v}
        .f;
}

// Selection of values already computed: `c ? a : b` with operations in its arms becomes a branch.
#define DEV_PICK(name, type)                                                                       \
    static inline type name(uint32_t c, type a, type b)                                            \
    {                                                                                              \
        return c ? a : b;                                                                          \
    }
DEV_PICK(pick, float)
DEV_PICK(pick64, double)
DEV_PICK(upick, uint32_t)
DEV_PICK(upick64, uint64_t)
#undef DEV_PICK

// ---- math.c -------------------------------------------------------------------------------------
float pw_m_nan_f32(float x); // NaN of any kind to 0x7fffffff
double pw_m_nan_f64(double r, double nan); // `nan`, quiet, if it is one, else r
float pw_m_ftz_f32(float x); // subnormals to zero of the same sign
// The operand that is no NaN (nan: the NaN); -0 < +0.
float pw_m_min_f32(float a, float b);
float pw_m_max_f32(float a, float b);
float pw_m_min_nan_f32(float a, float b);
float pw_m_max_nan_f32(float a, float b);
double pw_m_min_f64(double a, double b);
double pw_m_max_f64(double a, double b);
double pw_m_min_nan_f64(double a, double b);
double pw_m_max_nan_f64(double a, double b);
float pw_m_ex2_approx_f32(float x);
float pw_m_lg2_approx_f32(float x);
float pw_m_sin_approx_f32(float x);
float pw_m_cos_approx_f32(float x);
float pw_m_tanh_approx_f32(float x);
float pw_m_rcp_approx_f32(float x);
float pw_m_rsqrt_approx_f32(float x);
float pw_m_sqrt_approx_f32(float x);
double pw_m_rcp_approx_ftz_f64(double x);
double pw_m_rsqrt_approx_ftz_f64(double x);
int32_t pw_m_fns_b32(int32_t mask, int32_t base, int32_t offset);

// ---- round.c: f32 results, rounded toward zero, down, up or to odd ------------------------------
#define DEV_DECLARE_F32(rnd)                                                                       \
    float pw_m_add_##rnd##_f32(float a, float b);                                                  \
    float pw_m_mul_##rnd##_f32(float a, float b);                                                  \
    float pw_m_div_##rnd##_f32(float a, float b);                                                  \
    float pw_m_fma_##rnd##_f32(float a, float b, float c);                                         \
    float pw_m_rcp_##rnd##_f32(float a);                                                           \
    float pw_m_sqrt_##rnd##_f32(float a);                                                          \
    double pw_m_cvt_##rnd##_f64_s32(int32_t a);                                                    \
    double pw_m_cvt_##rnd##_f64_u32(uint32_t a);                                                   \
    double pw_m_cvt_##rnd##_f64_s64(int64_t a);                                                    \
    double pw_m_cvt_##rnd##_f64_u64(uint64_t a);
#define DEV_DECLARE_TO_F32(rnd)                                                                    \
    float pw_m_cvt_##rnd##_f32_f64(double a);                                                      \
    float pw_m_cvt_##rnd##_f32_s32(int32_t a);                                                     \
    float pw_m_cvt_##rnd##_f32_u32(uint32_t a);                                                    \
    float pw_m_cvt_##rnd##_f32_s64(int64_t a);                                                     \
    float pw_m_cvt_##rnd##_f32_u64(uint64_t a);
DEV_DECLARE_F32(rz)
DEV_DECLARE_F32(rm)
DEV_DECLARE_F32(rp)
DEV_DECLARE_TO_F32(rz)
DEV_DECLARE_TO_F32(rm)
DEV_DECLARE_TO_F32(rp)
DEV_DECLARE_TO_F32(odd)

// ---- round_x86.c: f64 ---------------------------------------------------------------------------
#define DEV_DECLARE_F64(rnd)                                                                       \
    double pw_m_add_##rnd##_f64(double a, double b);                                               \
    double pw_m_mul_##rnd##_f64(double a, double b);                                               \
    double pw_m_div_##rnd##_f64(double a, double b);                                               \
    double pw_m_fma_##rnd##_f64(double a, double b, double c);                                     \
    double pw_m_rcp_##rnd##_f64(double a);                                                         \
    double pw_m_sqrt_##rnd##_f64(double a);
DEV_DECLARE_F64(rz)
DEV_DECLARE_F64(rm)
DEV_DECLARE_F64(rp)

// ---- half.c: formats of 16 bits and less --------------------------------------------------------
// a * b + c rounded to odd in f32, for operands that are values of the format: rounding that to the
// format is exact.
float pw_m_fma_odd_f16(float a, float b, float c);
float pw_m_fma_odd_bf16(float a, float b, float c);
uint16_t pw_m_cvt_rz_f16_f32(float x);
uint16_t pw_m_cvt_rm_f16_f32(float x);
uint16_t pw_m_cvt_rp_f16_f32(float x);
uint16_t pw_m_cvt_rn_bf16_f32(float x);
uint16_t pw_m_cvt_rz_bf16_f32(float x);
uint16_t pw_m_cvt_rm_bf16_f32(float x);
uint16_t pw_m_cvt_rp_bf16_f32(float x);
uint32_t pw_m_cvt_rn_tf32_f32(float x);
uint32_t pw_m_cvt_rna_tf32_f32(float x);
uint32_t pw_m_cvt_rz_tf32_f32(float x);
// Saturating at the largest finite value; the pattern in the low bits.
uint32_t pw_m_cvt_rn_e4m3_f32(float x);
uint32_t pw_m_cvt_rn_e5m2_f32(float x);
uint32_t pw_m_cvt_rn_e3m2_f32(float x);
uint32_t pw_m_cvt_rn_e2m3_f32(float x);
uint32_t pw_m_cvt_rn_e2m1_f32(float x);
// Powers of two; sat: infinity and what rounds beyond to the largest, else to NaN (0xff).
uint32_t pw_m_cvt_rz_ue8m0_f32(float x);
uint32_t pw_m_cvt_rp_ue8m0_f32(float x);
uint32_t pw_m_cvt_rz_sat_ue8m0_f32(float x);
uint32_t pw_m_cvt_rp_sat_ue8m0_f32(float x);
float pw_m_cvt_f32_e4m3(uint32_t v);
float pw_m_cvt_f32_e5m2(uint32_t v);
float pw_m_cvt_f32_e3m2(uint32_t v);
float pw_m_cvt_f32_e2m3(uint32_t v);
float pw_m_cvt_f32_e2m1(uint32_t v);
float pw_m_cvt_f32_ue8m0(uint32_t v);

#endif
