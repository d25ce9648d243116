// SPDX-License-Identifier: MIT
// Matrix multiplication in double precision: one fma after the other along k.
#include "backend/cpu/matrix_tile.h"

#include <fenv.h>
#include <string.h>

// Registers are pairs of words. Element (row g, column t) of a block of 8 x 4 is lane 4g + t.
static double
element(const lanes_t *reg, unsigned lane)
{
    uint64_t u = reg[0][lane] | (uint64_t)reg[1][lane] << 32;
    double v;
    memcpy(&v, &u, sizeof v);
    return v;
}

static void
put(lanes_t *reg, unsigned lane, double v)
{
    uint64_t u;
    memcpy(&u, &v, sizeof u);
    reg[0][lane] = (uint32_t)u;
    reg[1][lane] = (uint32_t)(u >> 32);
}

struct f64_tile {
    double a[MATRIX_ROWS][MATRIX_ROWS]; // by k and row
    double b[MATRIX_COLUMNS][MATRIX_ROWS];
    double c[MATRIX_COLUMNS][MATRIX_ROWS];
};

static void
read_f64(struct f64_tile *t, const lanes_t *in, unsigned rows, unsigned k)
{
    const lanes_t *a = in, *b = a + 2 * rows * k / 4, *c = b + 2 * k / 4;
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++) {
        unsigned g = lane / 4, q = lane % 4;
        for (unsigned s = 0; s < k / 4; s++) {
            for (unsigned r = 0; r < rows; r++)
                t->a[4 * s + q][8 * r + g] = element(a + 2 * (s * rows + r), lane);
            t->b[g][4 * s + q] = element(b + 2 * s, lane);
        }
        for (unsigned r = 0; r < rows; r++)
            for (unsigned h = 0; h < 2; h++)
                t->c[2 * q + h][8 * r + g] = element(c + 2 * (2 * r + h), lane);
    }
}

void
matrix_f64(struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    static const int modes[] = {FE_TONEAREST, FE_TOWARDZERO, FE_DOWNWARD, FE_UPWARD};
    unsigned rows = f.m8 > 1 ? 2 : 1, k = matrix_k(f);
    struct f64_tile t = {0};
    read_f64(&t, in, rows, k);
    int before = fegetround();
    fesetround(modes[f.rounding]);
    matrix_simd()->sum_doubles(t.c, t.a, t.b, (int)k);
    fesetround(before);
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned r = 0; r < rows; r++)
            for (unsigned h = 0; h < 2; h++)
                put(out + 2 * (2 * r + h), lane, t.c[2 * (lane % 4) + h][8 * r + lane / 4]);
}
