// SPDX-License-Identifier: MIT
// The inner loops of matrix multiplication, compiled once for each kind of processor
// (src/meson.build): plain loops over the 16 rows of a tile, which the compiler makes vectors of.
//
// A tensor core adds products this way: all are exact; they and the accumulator are cut to
// `fraction` bits below the largest exponent (that of a product being the sum of its factors'),
// toward zero; the sum is exact and is rounded once, toward zero to f32 or to nearest to f16.
#include "backend/cpu/matrix.h"

#include <math.h>
#include <string.h>

#ifdef __AVX2__
#include <immintrin.h>
#endif

#ifndef MATRIX_TARGET
#define MATRIX_TARGET matrix_base
#endif

enum { ROWS = MATRIX_ROWS, COLUMNS = MATRIX_COLUMNS };
// Exponents at which neither products nor results leave f32's range.
enum { LEAST = -70, GREATEST = 120 };

// A value for each row of a tile, or for 16 k.
typedef float vfloat __attribute__((vector_size(64)));
typedef int32_t vint __attribute__((vector_size(64)));
typedef uint32_t vbits __attribute__((vector_size(64)));
typedef int16_t vshort __attribute__((vector_size(32)));
typedef uint16_t vhalves __attribute__((vector_size(32)));
typedef uint8_t vbytes __attribute__((vector_size(16)));
// Eight rows.
typedef double vdouble __attribute__((vector_size(64)));
typedef uint64_t vlong __attribute__((vector_size(64)));
typedef int32_t vint8 __attribute__((vector_size(32)));
typedef float vfloat8 __attribute__((vector_size(32)));

#define CONVERT __builtin_convertvector
#define FN      static inline __attribute__((always_inline))

FN vint
choose(vint mask, vint yes, vint no)
{
    return (yes & mask) | (no & ~mask);
}

FN bool
any(vint mask)
{
    vlong v = (vlong)mask;
    uint64_t all = 0;
    for (int i = 0; i < 8; i++)
        all |= v[i];
    return all != 0;
}

FN vshort
larger(vshort a, vshort b)
{
#ifdef __AVX2__
    return (vshort)_mm256_max_epi16((__m256i)a, (__m256i)b);
#else
    vshort mask = a > b;
    return (a & mask) | (b & ~mask);
#endif
}

FN vfloat
power(vint e) // 2^e, a normal number
{
    return (vfloat)((e + 127) << 23);
}

// ---- blocks and columns
// Column t of two blocks of eight rows of four words.
FN vint
block_column(const uint32_t *upper, const uint32_t *lower, int t)
{
    vint r;
    for (int g = 0; g < 8; g++) {
        r[g] = (int)upper[4 * g + t];
        r[8 + g] = (int)lower[4 * g + t];
    }
    return r;
}

static void
split_a(a_words w, const uint32_t *const a[2][16], unsigned blocks)
{
    for (unsigned s = 0; s < blocks; s++)
        for (int t = 0; t < 4; t++) {
            vint column = block_column(a[0][s], a[1][s], t);
            memcpy(w[4 * s + (unsigned)t], &column, sizeof column);
        }
}

// Columns 2p and 2p + 1 come from two registers, or (half) from the halves of one.
static void
split_c(struct tile *t, const uint32_t *const c[2][2])
{
    for (int p = 0; p < 4; p++) {
        vint even = block_column(c[0][0], c[1][0], p), odd;
        if (t->half) {
            odd = even >> 16 & 0xffff;
            even &= 0xffff;
        } else {
            odd = block_column(c[0][1], c[1][1], p);
        }
        memcpy(t->c[2 * p], &even, sizeof even);
        memcpy(t->c[2 * p + 1], &odd, sizeof odd);
    }
}

FN void
store_block(uint32_t *block, const vint column[4], int first)
{
    for (int g = 0; g < 8; g++)
        for (int t = 0; t < 4; t++)
            block[4 * g + t] = (uint32_t)column[t][first + g];
}

static void
join_c(const struct tile *t, uint32_t *const d[2][2])
{
    vint even[4], odd[4];
    for (int p = 0; p < 4; p++) {
        memcpy(&even[p], t->c[2 * p], sizeof *even);
        memcpy(&odd[p], t->c[2 * p + 1], sizeof *odd);
        if (t->half)
            even[p] |= odd[p] << 16;
    }
    for (int r = 0; r < 2 && d[r][0]; r++) {
        store_block(d[r][0], even, 8 * r);
        if (!t->half)
            store_block(d[r][1], odd, 8 * r);
    }
}

// ---- elements to values
struct values {
    vfloat v;
    vshort e;
    vint special;
};

// Formats that are narrower than f32 in every way.
FN struct values
read_narrow(vint x, int exponent, int mantissa, int bits)
{
    int top = (1 << exponent) - 1, bias = top >> 1;
    vint sign = (x << (32 - bits)) >> 31, e = x >> mantissa & top, m = x & ((1 << mantissa) - 1);
    vint normal = e != 0, effective = e - (e == 0);
    m |= normal & 1 << mantissa;
    vint zero = m == 0;
    struct values r;
    r.v = CONVERT((m ^ sign) - sign, vfloat) * power(effective - (bias + mantissa));
    r.e = CONVERT(choose(zero, (vint){0} + NO_EXPONENT, effective - bias), vshort);
    r.special = e == top;
    return r;
}

FN struct values
infinities(struct values r, vint x, int mantissa, int bits)
{
    if (!any(r.special))
        return r;
    vint m = x & ((1 << mantissa) - 1), infinity = 0x7f800000 | (x >> (bits - 1) & 1) << 31;
    r.v = (vfloat)choose(r.special, choose(m == 0, infinity, (vint){0} + 0x7fffffff), (vint)r.v);
    return r;
}

// f32 patterns
FN struct values
read_wide(vint x)
{
    vint e = x >> 23 & 255, zero = (x & 0x7fffffff) == 0;
    struct values r = {.v = (vfloat)x, .special = e == 255};
    r.e = CONVERT(choose(zero, (vint){0} + NO_EXPONENT, e - (e == 0) - 127), vshort);
    return r;
}

FN struct values
read_integers(vint x)
{
    struct values r = {.v = CONVERT(x, vfloat)};
    return r;
}

FN struct values
read_values(enum matrix_type t, vint x)
{
    struct values r;
    switch (t) {
    case MT_F16:
        return infinities(read_narrow(x, 5, 10, 16), x, 10, 16);
    case MT_BF16:
        return read_wide(x << 16);
    case MT_TF32:
        return read_wide(x & ~0x1fff);
    case MT_E4M3:
        r = read_narrow(x, 4, 3, 8);
        r.special = (x & 127) == 127;
        return infinities(r, x, 3, 8);
    case MT_E5M2:
        return infinities(read_narrow(x, 5, 2, 8), x, 2, 8);
    case MT_E3M2:
        r = read_narrow(x & 63, 3, 2, 6);
        break;
    case MT_E2M3:
        r = read_narrow(x & 63, 2, 3, 6);
        break;
    case MT_E2M1:
        r = read_narrow(x & 15, 2, 1, 4);
        break;
    case MT_S8:
        return read_integers((x << 24) >> 24);
    case MT_S4:
        return read_integers((x << 28) >> 28);
    default:
        return read_integers(x);
    }
    r.special = (vint){0}; // these have none
    return r;
}

FN vint
element_mask(struct element e)
{
    return (vint){0} + (e.bits == 32 ? -1 : (1 << e.bits) - 1);
}

FN void
read_rows(enum matrix_type type, struct tile *t, struct element e, const a_words w, unsigned n)
{
    unsigned each = 32 / e.bits;
    vint mask = element_mask(e) >> (int)e.shift, special = {0};
    for (unsigned k = 0; k < n * each; k++) {
        vbits word;
        memcpy(&word, w[k / each], sizeof word);
        struct values r = read_values(type, (vint)(word >> (k % each * e.bits + e.shift)) & mask);
        if (e.normal)
            r.e = read_wide((vint)r.v).e;
        memcpy(t->a[t->place[k]], &r.v, sizeof r.v);
        memcpy(t->ea[t->place[k]], &r.e, sizeof r.e);
        special |= r.special;
    }
    t->special |= any(special);
}

// 16 elements from k on of a row of words.
FN vint
elements_at(struct element e, const uint32_t *w, unsigned k)
{
    vint x;
    if (e.bits == 16) {
        vhalves h;
        memcpy(&h, w + k / 2, sizeof h);
        return CONVERT(h, vint);
    }
    if (e.bits == 8) {
        vbytes b;
        memcpy(&b, w + k / 4, sizeof b);
        return CONVERT(b, vint) >> (int)e.shift;
    }
    if (e.bits == 32) {
        memcpy(&x, w + k, sizeof x);
        return x;
    }
    for (unsigned i = 0; i < ROWS; i++)
        x[i] = w[(k + i) / 8] >> (k + i) % 8 * 4 & 15;
    return x;
}

FN void
read_columns(enum matrix_type type, struct tile *t, struct element e, const b_words w, unsigned n)
{
    unsigned count = n * (32 / e.bits);
    vint special = {0};
    for (int j = 0; j < COLUMNS; j++)
        for (unsigned k = 0; k < count; k += ROWS) {
            struct values r = read_values(type, elements_at(e, w[j], k));
            if (e.normal)
                r.e = read_wide((vint)r.v).e;
            special |= r.special;
            if (t->in_order) {
                memcpy(&t->b[j][k], &r.v, sizeof r.v);
                memcpy(&t->eb[j][k], &r.e, sizeof r.e);
                continue;
            }
            for (unsigned i = 0; i < ROWS && k + i < count; i++) {
                t->b[j][t->place[k + i]] = r.v[i];
                t->eb[j][t->place[k + i]] = r.e[i];
            }
        }
    t->special |= any(special);
}

// One copy of `reader` for each type.
#define FOR_TYPE(reader)                                                                           \
    switch (e.type) {                                                                              \
        CASE(reader, MT_F16)                                                                       \
        CASE(reader, MT_BF16)                                                                      \
        CASE(reader, MT_TF32)                                                                      \
        CASE(reader, MT_E4M3)                                                                      \
        CASE(reader, MT_E5M2)                                                                      \
        CASE(reader, MT_E3M2)                                                                      \
        CASE(reader, MT_E2M3)                                                                      \
        CASE(reader, MT_E2M1)                                                                      \
        CASE(reader, MT_S8)                                                                        \
        CASE(reader, MT_S4)                                                                        \
    default:                                                                                       \
        reader(MT_U8, t, e, w, n);                                                                 \
    }
#define CASE(reader, type)                                                                         \
    case type:                                                                                     \
        reader(type, t, e, w, n);                                                                  \
        break;

static void
read_a(struct tile *t, struct element e, const a_words w, unsigned n)
{
    FOR_TYPE(read_rows)
}

static void
read_b(struct tile *t, struct element e, const b_words w, unsigned n){FOR_TYPE(read_columns)}

// ---- sums
// Products of at most 8 k, cut and added: less than 2^31 / 2.
FN vint cut_products(const struct tile *t, int j, int from, int count, vfloat scale, vint sum)
{
    for (int k = from; k < from + count; k++) {
        vfloat a;
        memcpy(&a, t->a[k], sizeof a);
        sum += CONVERT(a * t->b[j][k] * scale, vint);
    }
    return sum;
}

FN vint
to_half(vint f)
{
    vint sign = f >> 16 & 0x8000, magnitude = f & 0x7fffffff;
    vint normal = (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13;
    vint tiny = (vint)((vfloat)magnitude + 0.5f) - 0x3f000000;
    vint r = choose(magnitude < 0x38800000, tiny, normal);
    return choose(magnitude >= 0x47800000, (vint){0} + 0x7c00, r) | sign;
}

#define LOW_HALF(v)  __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7)
#define HIGH_HALF(v) __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15)
#define JOIN(low, high)                                                                            \
    __builtin_shufflevector(low, high, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)

// Eight sums times 2^-e, to f32: toward zero, or (odd) to the neighbour with an odd pattern if
// inexact.
FN vfloat8
round_sums(vdouble v, vint8 e, bool odd)
{
    v *= (vdouble)(CONVERT(1023 - e, vlong) << 52);
    vlong bits = (vlong)v, rest = bits & 0x1fffffff;
    bits ^= rest;
    if (odd)
        bits |= (vlong)(rest != 0) & 1u << 29;
    return CONVERT((vdouble)bits, vfloat8);
}

// One column; *out: the rows whose exponents are out of range.
FN vint
sum_column(const struct tile *t, int j, int from, int count, bool half, vint *out)
{
    vdouble low = {0}, high = {0};
    vint c;
    memcpy(&c, t->c[j], sizeof c);
    struct values start = half ? read_narrow(c, 5, 10, 16) : read_wide(c);
    vshort largest = start.e;
    for (int k = from; k < from + count; k++) {
        vshort a;
        memcpy(&a, t->ea[k], sizeof a);
        largest = larger(largest, a + t->eb[j][k]);
    }
    vint e = CONVERT(largest, vint);
    e &= e > NO_EXPONENT / 2; // nothing but zeros: any will do
    *out |= (e < LEAST) | (e > GREATEST);
    e = t->fraction - e;
    vfloat scale = power(e);
    vint sum = CONVERT(start.v * scale, vint);
    for (int k = 0; k < count; k += 8, sum = (vint){0}) {
        sum = cut_products(t, j, from + k, count - k < 8 ? count - k : 8, scale, sum);
        low += CONVERT(LOW_HALF(sum), vdouble);
        high += CONVERT(HIGH_HALF(sum), vdouble);
    }
    c = (vint)JOIN(round_sums(low, LOW_HALF(e), half), round_sums(high, HIGH_HALF(e), half));
    return half ? to_half(c) : c & (int)t->kept;
}

// `count` and `half` are constants where it matters.
FN bool
sum_columns(struct tile *t, int from, int count, bool half)
{
    vint r[COLUMNS], out = {0};
    for (int j = 0; j < COLUMNS; j++)
        r[j] = sum_column(t, j, from, count, half, &out);
    if (any(out))
        return false;
    memcpy(t->c, r, sizeof r);
    return true;
}

static bool
accumulators_special(const struct tile *t)
{
    vint top = (vint){0} + (t->half ? 0x7c00 : 0x7f800000), c, found = {0};
    for (int j = 0; j < COLUMNS; j++) {
        memcpy(&c, t->c[j], sizeof c);
        found |= (c & top) == top;
    }
    return any(found);
}

static bool
sum(struct tile *t, int from, int to)
{
    int count = to - from;
    if (t->special || t->apart || accumulators_special(t))
        return false;
    if (t->half)
        return count == 16 ? sum_columns(t, from, 16, true) : sum_columns(t, from, count, true);
    return count == 16  ? sum_columns(t, from, 16, false)
           : count == 8 ? sum_columns(t, from, 8, false)
                        : sum_columns(t, from, count, false);
}

// Sums of integer products are exact in f32: less than 2^24.
static void
sum_integers(struct tile *t, bool saturate)
{
    for (int j = 0; j < COLUMNS; j++) {
        vfloat total = {0}, a;
        vbits c;
        for (int k = 0; k < t->k; k++) {
            memcpy(&a, t->a[k], sizeof a);
            total += a * t->b[j][k];
        }
        memcpy(&c, t->c[j], sizeof c);
        vint s = CONVERT(total, vint), r = (vint)(c + (vbits)s);
        vint over = (((vint)c ^ r) & (s ^ r)) >> 31;
        if (saturate)
            r = choose(over, ((vint)c >> 31) ^ 0x7fffffff, r);
        memcpy(t->c[j], &r, sizeof r);
    }
}

static void
sum_doubles(double c[][ROWS], const double a[][ROWS], const double b[][ROWS], int count)
{
    for (int j = 0; j < COLUMNS; j++)
        for (int k = 0; k < count; k++)
            for (int i = 0; i < ROWS; i++)
                c[j][i] = __builtin_fma(a[k][i], b[j][k], c[j][i]);
}

const struct matrix_simd MATRIX_TARGET = {split_a, split_c, join_c,       read_a,
                                          read_b,  sum,     sum_integers, sum_doubles};
