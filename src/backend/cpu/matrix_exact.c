// SPDX-License-Identifier: MIT
// Sums of products as tensor cores add them (matrix_simd.c), for operands of any size, infinities
// and NaNs.
#include "backend/cpu/matrix.h"

#include <math.h>
#include <string.h>

typedef __int128 wide;

// A finite number: significand * 2^(exponent - 46).
struct number {
    uint64_t significand;
    int exponent;
    bool negative;
};

// What infinities and NaNs among the terms make of a sum.
struct outcome {
    bool nan, plus, minus;
};

static float
as_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t
as_bits(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    return u;
}

static uint64_t
significand_of(const struct tile *t, float v, int exponent) // of 24 bits
{
    return (uint64_t)ldexpf(fabsf(v), t->apart ? 23 : 23 - exponent);
}

// False: the product is not a finite number, or none; then it is in *o.
static bool
product(const struct tile *t, int i, int j, int k, struct number *p, struct outcome *o)
{
    float a = t->a[k][i], b = t->b[j][k];
    if (t->ea[k][i] == ABSENT)
        return false;
    p->negative = signbit(a) != signbit(b);
    if (isnan(a) || isnan(b) || (isinf(a) && b == 0) || (a == 0 && isinf(b))) {
        o->nan = true;
    } else if (isinf(a) || isinf(b)) {
        *(p->negative ? &o->minus : &o->plus) = true;
    } else if (a != 0 && b != 0) {
        p->significand = significand_of(t, a, t->ea[k][i]) * significand_of(t, b, t->eb[j][k]);
        p->exponent = t->ea[k][i] + t->eb[j][k];
        return true;
    }
    return false;
}

static bool
accumulator(bool half, uint32_t c, struct number *n, struct outcome *o)
{
    unsigned digits = half ? 10 : 23, bits = half ? 5 : 8, top = (1u << bits) - 1;
    uint32_t e = c >> digits & top, m = c & ((1u << digits) - 1);
    n->negative = c >> (digits + bits) & 1;
    if (e == top) {
        if (m)
            o->nan = true;
        else
            *(n->negative ? &o->minus : &o->plus) = true;
        return false;
    }
    n->significand = (uint64_t)(e ? m | 1u << digits : m) << (46 - digits);
    n->exponent = (int)(e ? e : 1) - (int)(top >> 1);
    return n->significand != 0;
}

// The number in units of 2^(largest - fraction), cut.
static wide
cut(struct number n, int largest, int fraction)
{
    int shift = fraction - 46 + n.exponent - largest;
    wide v = shift >= 0     ? (wide)n.significand << shift
             : shift <= -64 ? 0
                            : (wide)(n.significand >> -shift);
    return n.negative ? -v : v;
}

static int
top_bit(wide v) // v > 0
{
    uint64_t high = (uint64_t)(v >> 64);
    return high ? 127 - __builtin_clzll(high) : 63 - __builtin_clzll((uint64_t)v);
}

// sum * 2^unit, toward zero
static uint32_t
round_f32(wide sum, int unit)
{
    uint32_t sign = sum < 0 ? 0x80000000 : 0;
    wide v = sum < 0 ? -sum : sum;
    if (!v)
        return 0;
    int e = top_bit(v) + unit, drop = (e < -126 ? -126 : e) - 23 - unit;
    if (e > 127)
        return sign | 0x7f800000;
    uint32_t m = drop > 126 ? 0 : (uint32_t)(drop >= 0 ? v >> drop : v << -drop);
    return sign | (e < -126 ? m : (uint32_t)(e + 127) << 23 | (m & 0x7fffff));
}

// sum * 2^unit, to nearest
static uint32_t
round_f16(wide sum, int unit)
{
    uint32_t sign = sum < 0 ? 0x8000 : 0;
    wide v = sum < 0 ? -sum : sum;
    if (!v)
        return 0;
    int e = top_bit(v) + unit, drop = (e < -14 ? -14 : e) - 10 - unit;
    if (e > 15)
        return sign | 0x7c00;
    if (drop > 126)
        return sign;
    wide m = drop >= 0 ? v >> drop : v << -drop;
    if (drop > 0) {
        wide rest = v & (((wide)1 << drop) - 1), half = (wide)1 << (drop - 1);
        m += rest > half || (rest == half && (m & 1));
    }
    uint32_t r = e < -14 ? (uint32_t)m : ((uint32_t)(e + 14) << 10) + (uint32_t)m;
    return sign | (r > 0x7c00 ? 0x7c00 : r);
}

static uint32_t
exact(const struct tile *t, int i, int j, int from, int to)
{
    struct number n[MATRIX_K + 1];
    struct outcome o = {0};
    int count = 0, largest = NO_EXPONENT;
    count += accumulator(t->half, t->c[j][i], &n[count], &o);
    for (int k = from; k < to; k++)
        count += product(t, i, j, k, &n[count], &o);
    if (o.nan || (o.plus && o.minus))
        return t->half ? 0x7fff : 0x7fffffff;
    if (o.plus || o.minus)
        return (t->half ? 0x7c00 : 0x7f800000) | (o.minus ? t->half ? 0x8000 : 0x80000000 : 0);
    for (int k = 0; k < count; k++)
        largest = n[k].exponent > largest ? n[k].exponent : largest;
    wide sum = 0;
    for (int k = 0; k < count; k++)
        sum += cut(n[k], largest, t->fraction);
    int unit = largest - t->fraction;
    return t->half ? round_f16(sum, unit) : round_f32(sum, unit) & t->kept;
}

void
tile_exact(struct tile *t, int from, int to)
{
    for (int j = 0; j < MATRIX_COLUMNS; j++)
        for (int i = 0; i < MATRIX_ROWS; i++)
            t->c[j][i] = exact(t, i, j, from, to);
}

uint32_t
matrix_add_f32(uint32_t a, uint32_t b)
{
    float sum = as_float(a) + as_float(b);
    return isnan(sum) ? 0x7fffffff : as_bits(sum);
}

// Two halves have less than 64 bits from the first to the last.
uint32_t
matrix_add_f16(uint32_t a, uint32_t b)
{
    struct number n[2] = {{0}};
    struct outcome o = {0};
    wide sum = 0;
    const uint32_t x[] = {a, b};
    for (int k = 0; k < 2; k++)
        if (accumulator(true, x[k], &n[k], &o))
            sum += cut(n[k], 16, 60);
    if (o.nan || (o.plus && o.minus))
        return 0x7fff;
    if (o.plus || o.minus)
        return o.minus ? 0xfc00 : 0x7c00;
    if (!sum)
        return a & b & 0x8000;
    return round_f16(sum, 16 - 60);
}

uint32_t
matrix_to_f16(uint32_t f32)
{
    struct number n = {0};
    struct outcome o = {0};
    bool finite = accumulator(false, f32, &n, &o);
    if (o.nan)
        return 0x7fff;
    if (o.plus || o.minus)
        return o.minus ? 0xfc00 : 0x7c00;
    if (!finite)
        return f32 >> 16 & 0x8000;
    return round_f16(n.negative ? -(wide)n.significand : (wide)n.significand, n.exponent - 46) |
           (f32 >> 16 & 0x8000);
}

uint32_t
matrix_to_f32(uint32_t f16)
{
    struct number n = {0};
    struct outcome o = {0};
    bool finite = accumulator(true, f16, &n, &o);
    if (o.nan)
        return 0x7fffffff;
    if (o.plus || o.minus)
        return o.minus ? 0xff800000 : 0x7f800000;
    uint32_t r = finite ? round_f32((wide)n.significand, n.exponent - 46) : 0;
    return r | (f16 & 0x8000) << 16;
}
