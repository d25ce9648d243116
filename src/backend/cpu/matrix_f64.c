// SPDX-License-Identifier: MIT
// Matrix multiplication in double precision: one fma after the other along k. And m8n8k4 on f16:
// four multiplications by eight lanes each.
#include "backend/cpu/matrix_tile.h"

#include <fenv.h>
#include <string.h>

// ---- double precision
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

// ---- m8n8k4
// The lanes of quad q: 4q .. 4q + 3 and those 16 further on.
static unsigned
quad_lane(unsigned q, unsigned i)
{
    return 4 * q + i % 4 + i / 4 * 16;
}

// a's row (b's column) i: two words of two halves.
static void
quad_words(uint32_t *block, const lanes_t *reg, unsigned q, bool turned)
{
    for (unsigned i = 0; i < 8; i++)
        for (unsigned k = 0; k < 4; k++) {
            unsigned lane = turned ? quad_lane(q, i / 4 * 4 + k) : quad_lane(q, i),
                     at = turned ? i % 4 : k;
            uint32_t v = reg[at / 2][lane] >> at % 2 * 16 & 0xffff;
            block[4 * i + k / 2] |= v << k % 2 * 16;
        }
}

// Where element (row, column) of an accumulator stands.
struct spot {
    unsigned lane, reg, shift;
};

static struct spot
quad_spot(enum matrix_type t, unsigned q, unsigned row, unsigned column)
{
    if (t == MT_F16)
        return (struct spot){quad_lane(q, row), column / 2, column % 2 * 16};
    unsigned lane = quad_lane(q, (row & 1) | (column & 2) | (row & 4));
    return (struct spot){lane, (row & 2) | (column & 4) | (column & 1), 0};
}

static void
run_quad(struct matrix_room *room, struct matrix_form f, unsigned q, const lanes_t *in,
         lanes_t *out)
{
    uint32_t a[MATRIX_LANES] = {0}, b[MATRIX_LANES] = {0}, c[2][MATRIX_LANES] = {{0}};
    struct warp_tile x = {.a_blocks = 1,
                          .b_blocks = 1,
                          .a = {{a}},
                          .b = {b},
                          .c = {{c[0], c[1]}},
                          .d = {{c[0], c[1]}}};
    struct matrix_form wide = f;
    wide.d = wide.c = MT_F32;
    quad_words(a, in, q, f.a_turned);
    quad_words(b, in + 2, q, f.b_turned);
    for (unsigned i = 0; i < 64; i++) {
        struct spot s = quad_spot(f.c, q, i / 8, i % 8);
        uint32_t v = in[4 + s.reg][s.lane] >> s.shift;
        c[i % 2][i / 8 * 4 + i % 8 / 2] = f.c == MT_F16 ? matrix_to_f32(v & 0xffff) : v;
    }
    tile_begin(room, wide, &x);
    tile_columns(room, wide, &x);
    for (unsigned i = 0; i < 64; i++) {
        struct spot s = quad_spot(f.d, q, i / 8, i % 8);
        uint32_t v = c[i % 2][i / 8 * 4 + i % 8 / 2];
        out[s.reg][s.lane] |= (f.d == MT_F16 ? matrix_to_f16(v) : v) << s.shift;
    }
}

void
matrix_quads(struct matrix_room *room, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    memset(out, 0, (f.d == MT_F16 ? 4 : 8) * sizeof *out);
    for (unsigned q = 0; q < 4; q++)
        run_quad(room, f, q, in, out);
}
