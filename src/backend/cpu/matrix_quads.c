// SPDX-License-Identifier: MIT
// m8n8k4 on f16: four multiplications, each by eight lanes (a quad and the one 16 lanes further
// on). GPUs after Volta compute it with ordinary arithmetic: four products by fma, then the
// accumulator.
#include "backend/cpu/matrix_tile.h"

#include <math.h>
#include <string.h>

static unsigned
quad_lane(unsigned q, unsigned i)
{
    return 4 * q + i % 4 + i / 4 * 16;
}

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
    return isnan(f) ? 0x7fffffff : u;
}

// a's rows, or b's columns.
static void
read_quad(float v[8][4], const lanes_t *reg, unsigned q, bool turned)
{
    for (unsigned i = 0; i < 8; i++)
        for (unsigned k = 0; k < 4; k++) {
            unsigned lane = turned ? quad_lane(q, i / 4 * 4 + k) : quad_lane(q, i);
            unsigned at = turned ? i % 4 : k;
            v[i][k] = as_float(matrix_to_f32(reg[at / 2][lane] >> at % 2 * 16 & 0xffff));
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

static float
sum(const float a[4], const float b[4], float c, bool half)
{
    float low = fmaf(a[1], b[1], a[0] * b[0]);
    if (half)
        return c + low + fmaf(a[3], b[3], a[2] * b[2]);
    return c + fmaf(a[3], b[3], fmaf(a[2], b[2], low));
}

static void
run_quad(struct matrix_form f, unsigned q, const lanes_t *in, lanes_t *out)
{
    float a[8][4], b[8][4];
    read_quad(a, in, q, f.a_turned);
    read_quad(b, in + 2, q, f.b_turned);
    for (unsigned i = 0; i < 64; i++) {
        struct spot s = quad_spot(f.c, q, i / 8, i % 8), d = quad_spot(f.d, q, i / 8, i % 8);
        uint32_t v = in[4 + s.reg][s.lane] >> s.shift;
        float c = as_float(f.c == MT_F16 ? matrix_to_f32(v & 0xffff) : v);
        v = as_bits(sum(a[i / 8], b[i % 8], c, f.d == MT_F16));
        out[d.reg][d.lane] |= (f.d == MT_F16 ? matrix_to_f16(v) : v) << d.shift;
    }
}

void
matrix_quads(struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    memset(out, 0, (f.d == MT_F16 ? 4 : 8) * sizeof *out);
    for (unsigned q = 0; q < 4; q++)
        run_quad(f, q, in, out);
}
