// SPDX-License-Identifier: MIT
// What becomes of mul and add without a rounding modifier: bodies of PTX and what they must give, as seen in the machine code
// that ptxas 13.0 makes for sm_90 (docs/emit.md). Registers a b c d e are inputs (do not write them), r s results (s: e at first), p q t
// u v w free, g a true predicate, h a false one. Values are computed by M(x, y) = x * y, A(x, y) = x + y, F(x, y, z) = x * y + z,
// each rounded once.
// X(T, B, body, r, s); T: type, B: .bN of its width.
#ifndef CONTRACTION_CASES_H
#define CONTRACTION_CASES_H

#define CONTRACTION_ALL(X, T, B)                                                                                                           \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c;", F(a, b, c), e)                                                                            \
    X(T, B, "mul." T " p,a,b; add." T " r,c,p;", F(a, b, c), e)                                                                            \
    X(T, B, "mul." T " p,a,b; sub." T " r,p,c;", F(a, b, -c), e)                                                                           \
    X(T, B, "mul." T " p,a,b; sub." T " r,c,p;", F(-a, b, c), e)                                                                           \
    X(T, B, "mul." T " p,a,a; add." T " r,p,c;", F(a, a, c), e)                                                                            \
    X(T, B, "mul." T " p,a,b; add." T " r,p,a;", F(a, b, a), e)                                                                            \
    X(T, B, "add." T " p,a,b; mul." T " r,p,c;", M(A(a, b), c), e)                                                                         \
    /* an explicit rounding mode stays */                                                                                                  \
    X(T, B, "mul.rn." T " p,a,b; add." T " r,p,c;", A(M(a, b), c), e)                                                                      \
    X(T, B, "mul." T " p,a,b; add.rn." T " r,p,c;", A(M(a, b), c), e)                                                                      \
    X(T, B, "mul.rn." T " p,a,b; add.rn." T " r,p,c;", A(M(a, b), c), e)                                                                   \
    X(T, B, "mul.rn." T " p,a,b; mul." T " q,c,d; add." T " r,p,q;", F(c, d, M(a, b)), e)                                                  \
    /* the product has another use */                                                                                                      \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; mov." B " s,p;", A(M(a, b), c), M(a, b))                                                    \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; mul." T " s,p,d;", A(M(a, b), c), M(M(a, b), d))                                            \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; add.rn." T " s,p,d;", A(M(a, b), c), A(M(a, b), d))                                         \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; fma.rn." T " s,d,e,p;", A(M(a, b), c), F(d, e, M(a, b)))                                    \
    X(T, B, "mul." T " p,a,b; add." T " r,p,p;", A(M(a, b), M(a, b)), e)                                                                   \
    X(T, B, "mul." T " p,a,b; add." T " r,p,p; add." T " s,p,c;", A(M(a, b), M(a, b)), A(M(a, b), c))                                      \
    X(T, B, "mul." T " p,a,b; mul." T " q,p,c; add." T " r,q,d;", F(M(a, b), c, d), e)                                                     \
    /* several additions */                                                                                                                \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; add." T " s,p,d;", F(a, b, c), F(a, b, d))                                                  \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; sub." T " s,d,p;", F(a, b, c), F(-a, b, d))                                                 \
    /* copies */                                                                                                                           \
    X(T, B, "mul." T " p,a,b; mov." B " q,p; add." T " r,q,c;", F(a, b, c), e)                                                             \
    X(T, B, "mul." T " p,a,b; mov." B " q,p; add." T " r,p,c; mov." B " s,q;", A(M(a, b), c), M(a, b))                                     \
    X(T, B, "mov." B " t,a; mul." T " p,t,b; mov." B " t,e; add." T " r,p,t;", F(a, b, e), e)                                              \
    X(T, B, "mul." T " p,a,b; add." T " p,p,c; mov." B " r,p;", F(a, b, c), e)                                                             \
    /* two products: the first operand, unless that has other uses */                                                                      \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q;", F(a, b, M(c, d)), e)                                                     \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,q,p;", F(c, d, M(a, b)), e)                                                     \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; sub." T " r,p,q;", F(a, b, -M(c, d)), e)                                                    \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; sub." T " r,q,p;", F(c, d, -M(a, b)), e)                                                    \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; mov." B " s,p;", F(c, d, M(a, b)), M(a, b))                                \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; mov." B " s,q;", F(a, b, M(c, d)), M(c, d))                                \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,q,p; add." T " s,q,e;", F(a, b, M(c, d)), A(M(c, d), e))                        \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; add." T " s,q,e;", F(a, b, M(c, d)), A(M(c, d), e))                        \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; add." T " s,p,e;", F(c, d, M(a, b)), A(M(a, b), e))                        \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; sub." T " s,p,q;", F(a, b, M(c, d)), F(a, b, -M(c, d)))                    \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " r,p,q; sub." T " s,q,p;", F(a, b, M(c, d)), F(-a, b, M(c, d)))                    \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; mul." T " t,a,e; add." T " u,q,t; add." T " r,p,u;", F(a, b, F(c, d, M(a, e))), e)          \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; mul." T " t,a,e; add." T " u,p,q; add." T " v,q,t; add." T " s,t,p; mul." T " r,u,v;",      \
      M(F(a, b, M(c, d)), F(a, e, M(c, d))), F(a, e, M(a, b)))                                                                             \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; sub." T " r,p,q; mul." T " t,a,d; mul." T " u,b,c; add." T " s,t,u;",                       \
      F(a, b, -M(c, d)), F(a, d, M(b, c)))                                                                                                 \
    X(T, B, "mul." T " p,a,b; add." T " q,p,c; mul." T " t,q,d; add." T " r,t,e;", F(F(a, b, c), d, e), e)                                 \
    /* basic blocks */                                                                                                                     \
    X(T, B, "mul." T " p,a,b; L: add." T " r,p,c;", F(a, b, c), e)                                                                         \
    X(T, B, "mul." T " p,a,b; bra L; L: add." T " r,p,c;", F(a, b, c), e)                                                                  \
    X(T, B, "mul." T " p,a,b; mov." B " r,d; @h bra L; add." T " r,p,c; L:", A(M(a, b), c), e)                                             \
    X(T, B, "mov." B " r,d; @h bra L; mul." T " p,a,b; add." T " r,p,c; L:", F(a, b, c), e)                                                \
    X(T, B, "mul." T " p,a,b; mov." B " t,d; @g bra L; mov." B " t,e; L: add." T " r,p,t;", A(M(a, b), d), e)                              \
    X(T, B, "mul." T " p,a,b; add." T " s,p,d; mov." B " r,d; @h bra L; add." T " r,p,c; L:", A(M(a, b), c), A(M(a, b), d))                \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; @h bra L; mul." T " p,c,d; add." T " s,p,r; L:", F(a, b, c), F(c, d, F(a, b, c)))           \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; mov." B " p,a; @h bra L; add." T " s,r,p; L:", F(a, b, c), A(F(a, b, c), a))                \
    /* guards */                                                                                                                           \
    X(T, B, "mul." T " p,a,b; mov." B " r,a; @g add." T " r,p,c;", F(a, b, c), e)                                                          \
    X(T, B, "mul." T " p,a,b; mov." B " r,a; @h add." T " r,p,c;", a, e)                                                                   \
    X(T, B, "mov." B " p,e; @g mul." T " p,a,b; add." T " r,p,c;", A(M(a, b), c), e)                                                       \
    X(T, B, "mov." B " r,e; mov." B " p,e; @g mul." T " p,a,b; @g add." T " r,p,c;", A(M(a, b), c), e)                                     \
    X(T, B, "mul." T " p,a,b; mov." B " t,c; @g mov." B " t,p; add." T " r,t,d;", A(M(a, b), d), e)                                        \
    X(T, B, "mul." T " p,a,b; mov." B " r,a; @g add." T " r,p,c; @!g add." T " s,p,d;", F(a, b, c), e)

// All but bf16x2, whose pairs have no negation in an operand.
#define CONTRACTION_NEG(X, T, B)                                                                                                           \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; add." T " r,q,c;", F(-a, b, c), e)                                                            \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; sub." T " r,c,q;", F(a, b, c), e)                                                             \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; neg." T " t,q; add." T " r,t,c;", F(a, b, c), e)                                              \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; mov." B " t,q; sub." T " r,c,t;", F(a, b, c), e)                                              \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; add." T " r,q,c; add." T " s,q,d;", F(-a, b, c), F(-a, b, d))                                 \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; add." T " r,q,c; add." T " s,p,d;", F(-a, b, c), F(a, b, d))                                  \
    X(T, B, "mul." T " p,a,b; neg." T " q,p; add." T " r,q,c; mov." B " s,q;", A(-M(a, b), c), -M(a, b))                                   \
    X(T, B, "neg." T " q,a; mul." T " p,q,b; add." T " r,p,c;", F(-a, b, c), e)                                                            \
    X(T, B, "mul." T " p,a,b; neg." T " q,c; add." T " r,q,p;", F(a, b, -c), e)

// Where uses are counted: single values and pairs of f16 or bf16 differ.
#define CONTRACTION_SINGLE(X, T, B)                                                                                                        \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; mul." T " q,d,e; add." T " s,q,p;", A(M(a, b), c), F(d, e, M(a, b)))                        \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " s,q,e; add." T " r,p,q;", F(a, b, M(c, d)), A(M(c, d), e))
#define CONTRACTION_PAIR(X, T, B)                                                                                                          \
    X(T, B, "mul." T " p,a,b; add." T " r,p,c; mul." T " q,d,e; add." T " s,q,p;", F(a, b, c), F(d, e, M(a, b)))                           \
    X(T, B, "mul." T " p,a,b; mul." T " q,c,d; add." T " s,q,e; add." T " r,p,q;", F(a, b, M(c, d)), F(c, d, e))

// Flushing must agree, saturation only ends a chain. For f32, and inputs without subnormals.
#define CONTRACTION_F32(X, T, B)                                                                                                           \
    X(T, B, "mul.ftz.f32 p,a,b; add.f32 r,p,c;", A(M(a, b), c), e)                                                                         \
    X(T, B, "mul.f32 p,a,b; add.ftz.f32 r,p,c;", A(M(a, b), c), e)                                                                         \
    X(T, B, "mul.ftz.f32 p,a,b; add.ftz.f32 r,p,c;", F(a, b, c), e)                                                                        \
    X(T, B, "mul.ftz.f32 p,a,b; neg.f32 q,p; add.ftz.f32 r,q,c;", F(-a, b, c), e)                                                          \
    X(T, B, "mul.ftz.f32 p,a,b; neg.ftz.f32 q,p; add.ftz.f32 r,q,c;", F(-a, b, c), e)                                                      \
    X(T, B, "mul.f32 p,a,b; neg.ftz.f32 q,p; add.f32 r,q,c;", A(-M(a, b), c), e)                                                           \
    X(T, B, "mul.sat.f32 p,a,b; add.f32 r,p,c;", A(SAT(M(a, b)), c), e)                                                                    \
    X(T, B, "mul.f32 p,a,b; add.sat.f32 r,p,c;", SAT(F(a, b, c)), e)                                                                       \
    X(T, B, "mul.f32 p,a,b; sub.sat.f32 r,c,p;", SAT(F(-a, b, c)), e)                                                                      \
    X(T, B, "mul.f32 p,a,0f40490fdb; sub.f32 r,0f3f000000,p;", F(-a, 3.14159274101257324, 0.5), e)                                         \
    X(T, B, "mul.f32 p,a,b; abs.f32 q,p; add.f32 r,q,c;", A(fabs(M(a, b)), c), e)                                                          \
    X(T, B, "mul.f32 p,a,b; abs.f32 q,c; add.f32 r,q,p;", F(a, b, fabs(c)), e)                                                             \
    X(T, B, "mul.f32 p,a,b; selp.f32 q,p,d,g; add.f32 r,q,c;", A(M(a, b), c), e)                                                           \
    X(T, B, "mul.f32 p,a,b; add.f32 q,p,c; max.f32 r,p,q;", fmax(M(a, b), A(M(a, b), c)), e)

#define CONTRACTION_SCALAR(X, T, B) CONTRACTION_ALL(X, T, B) CONTRACTION_NEG(X, T, B) CONTRACTION_SINGLE(X, T, B)
#define CONTRACTION_f32(X)          CONTRACTION_SCALAR(X, "f32", "b32") CONTRACTION_F32(X, "f32", "b32")
#define CONTRACTION_f64(X)          CONTRACTION_SCALAR(X, "f64", "b64")
#define CONTRACTION_f16(X)          CONTRACTION_SCALAR(X, "f16", "b16")
#define CONTRACTION_bf16(X)         CONTRACTION_SCALAR(X, "bf16", "b16")
#define CONTRACTION_f16x2(X)        CONTRACTION_ALL(X, "f16x2", "b32") CONTRACTION_NEG(X, "f16x2", "b32") CONTRACTION_PAIR(X, "f16x2", "b32")
#define CONTRACTION_bf16x2(X)       CONTRACTION_ALL(X, "bf16x2", "b32") CONTRACTION_PAIR(X, "bf16x2", "b32")

// ---- arithmetic of the host ---------------------------------------------------------------------
#include <math.h>
#include <stdint.h>
#include <string.h>

// x rounded to `bits` significant bits, to nearest even; for values far from the ends of a format's range.
static inline double
contraction_round(double x, int bits)
{
    int e;
    double m = frexp(x, &e);
    return ldexp(nearbyint(ldexp(m, bits)), e - bits);
}

static inline double
contraction_fma(int bits, double x, double y, double z)
{
    return bits == 53 ? fma(x, y, z) : bits == 24 ? (double)fmaf((float)x, (float)y, (float)z) : contraction_round(x * y + z, bits);
}

static inline double
contraction_mul(int bits, double x, double y)
{
    return bits == 53 ? x * y : contraction_round(x * y, bits);
}

static inline double
contraction_add(int bits, double x, double y)
{
    return bits == 53 ? x + y : contraction_round(x + y, bits);
}

// Input k (0..4) of test number i: of either sign, between 1/2 and 2, with up to `bits` significant bits.
static inline double
contraction_input(int bits, unsigned i, unsigned k)
{
    uint64_t z = (i * 5u + k + 1u) * 0x9e3779b97f4a7c15ull;
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    z ^= z >> 31;
    double m = ldexp((double)(z >> (64 - bits) | 1ull << (bits - 1)), -bits + (int)(z & 1));
    return z & 2 ? -m : m;
}

// The sum of two doubles that have at most 24 bits each may round in double, but not so as to change the second rounding; products of
// such are exact.
#define M(x, y)    contraction_mul(bits, x, y)
#define A(x, y)    contraction_add(bits, x, y)
#define F(x, y, z) contraction_fma(bits, x, y, z)
#define SAT(x)     fmin(fmax(x, 0.0), 1.0)

#define CONTRACTION_WANT(T, B, body, want_r, want_s) r[n] = want_r, s[n++] = want_s;
#define CONTRACTION_MODEL(type)                                                                                                            \
    static inline unsigned contraction_want_##type(int bits, unsigned i, double *r, double *s)                                             \
    {                                                                                                                                      \
        unsigned n = 0;                                                                                                                    \
        double a = contraction_input(bits, i, 0), b = contraction_input(bits, i, 1), c = contraction_input(bits, i, 2);                    \
        double d = contraction_input(bits, i, 3), e = contraction_input(bits, i, 4);                                                       \
        CONTRACTION_##type(CONTRACTION_WANT) return n;                                                                                     \
    }
CONTRACTION_MODEL(f32)
CONTRACTION_MODEL(f64)
CONTRACTION_MODEL(f16)
CONTRACTION_MODEL(bf16)
CONTRACTION_MODEL(f16x2)
CONTRACTION_MODEL(bf16x2)

enum { CONTRACTION_CASES_MAX = 96 };

// Patterns of values that the formats can hold: f16 and bf16 of this size are normal numbers or zero.
static inline uint64_t
contraction_pattern(int bits, double x)
{
    uint64_t d;
    uint32_t f;
    float narrow = (float)x;
    memcpy(&d, &x, 8);
    memcpy(&f, &narrow, 4);
    if (bits == 53)
        return d;
    if (bits == 24)
        return f;
    if (bits == 8)
        return f >> 16;
    int e = (int)(f >> 23 & 255) - 112;
    uint32_t sign = f >> 16 & 0x8000;
    return e > 0 ? sign | (uint32_t)e << 10 | (f >> 13 & 0x3ff) : sign | (uint32_t)fabs(ldexp(x, 24));
}

#undef M
#undef A
#undef F
#undef SAT

#endif
