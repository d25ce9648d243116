// SPDX-License-Identifier: MIT
// Directed rounding of f64 operations through the processor's rounding mode: MXCSR on x86, <fenv.h>
// elsewhere. The operands pass through the statement that sets the mode and the result through the
// one that restores it, so data flow keeps the operation between them. Never inlined: the calls
// stay scalar.
#include "devlib/devlib.h"

#define SCALAR __attribute__((noinline))

#if defined(__x86_64__)
enum { RZ = 0x6000, RM = 0x2000, RP = 0x4000, RC_MASK = 0x6000 };

static inline uint32_t
mxcsr(void)
{
    uint32_t v;
    __asm__ volatile("stmxcsr %0" : "=m"(v));
    return v;
}

#define ENTER(mode, ...)                                                                           \
    uint32_t old_ = mxcsr(), new_ = (old_ & ~(uint32_t)RC_MASK) | (mode);                          \
    __asm__ volatile("ldmxcsr %[m]" : __VA_ARGS__ : [m] "m"(new_))
#define HELD(v)  "+x"(v)
#define LEAVE(r) __asm__ volatile("ldmxcsr %[m]" : "+x"(r) : [m] "m"(old_))
#else
#include <fenv.h>
enum { RZ = FE_TOWARDZERO, RM = FE_DOWNWARD, RP = FE_UPWARD };

#define ENTER(mode, ...)                                                                           \
    int old_ = fegetround();                                                                       \
    fesetround(mode);                                                                              \
    __asm__ volatile("" : __VA_ARGS__ : : "memory")
#define HELD(v) "+m"(v)
#define LEAVE(r)                                                                                   \
    __asm__ volatile("" : "+m"(r) : : "memory");                                                   \
    fesetround(old_)
#endif

#define BINARY(name, rnd, R, op)                                                                   \
    SCALAR double pw_m_##name##_##rnd##_f64(double a, double b)                                    \
    {                                                                                              \
        ENTER(R, HELD(a), HELD(b));                                                                \
        double r = a op b;                                                                         \
        LEAVE(r);                                                                                  \
        return r;                                                                                  \
    }
#define F64(rnd, R)                                                                                \
    BINARY(add, rnd, R, +)                                                                         \
    BINARY(mul, rnd, R, *)                                                                         \
    BINARY(div, rnd, R, /)                                                                         \
    SCALAR double pw_m_rcp_##rnd##_f64(double a)                                                   \
    {                                                                                              \
        ENTER(R, HELD(a));                                                                         \
        double r = 1.0 / a;                                                                        \
        LEAVE(r);                                                                                  \
        return r;                                                                                  \
    }                                                                                              \
    SCALAR double pw_m_sqrt_##rnd##_f64(double a)                                                  \
    {                                                                                              \
        ENTER(R, HELD(a));                                                                         \
        double r = __builtin_sqrt(a);                                                              \
        LEAVE(r);                                                                                  \
        return r;                                                                                  \
    }                                                                                              \
    SCALAR double pw_m_fma_##rnd##_f64(double a, double b, double c)                               \
    {                                                                                              \
        ENTER(R, HELD(a), HELD(b), HELD(c));                                                       \
        double r = __builtin_fma(a, b, c);                                                         \
        LEAVE(r);                                                                                  \
        return r;                                                                                  \
    }
F64(rz, RZ)
F64(rm, RM)
F64(rp, RP)
