// SPDX-License-Identifier: MIT
// Block scaling: each row of a and column of b has 1, 2 or 4 scale factors, which divide k among
// themselves. The ISA says which lanes hold them; how the hardware adds the scaled products is not
// measured: as others.
#include "backend/cpu/matrix_tile.h"

#include <math.h>
#include <stdlib.h>

// An f32 holds products of values scaled by so much.
enum { MODERATE = 30 };

struct factor {
    float significand; // with exponent
    int exponent;
    bool nan;
};

static struct factor
factor_of(uint32_t code, bool is_e4m3)
{
    struct factor f = {.significand = 1};
    if (!is_e4m3) {
        f.exponent = (int)code - 127;
        f.nan = code == 255;
        return f;
    }
    const struct code_table *t = code_table(MT_UE4M3);
    f.significand = t->value[code & 127];
    f.nan = t->special[code & 127];
    return f;
}

static struct factor
factor_at(struct matrix_form f, const lanes_t *operand, unsigned lane, unsigned which)
{
    unsigned byte = (operand[1][lane] & 3) + which;
    return factor_of(operand[0][lane] >> (byte & 3) * 8 & 255, f.scale_e4m3);
}

static void
apply(float *v, int16_t *e, struct factor s, bool normalise, bool *special)
{
    if (s.nan) {
        *v = NAN;
        *special = true;
        return;
    }
    if (*e <= NO_EXPONENT)
        return;
    *v *= s.significand;
    if (*v == 0)
        *e = NO_EXPONENT;
    else
        *e = (int16_t)((normalise && isfinite(*v) ? ilogbf(*v) : *e) + s.exponent);
}

// Multiplies the values by their factors' powers of two, or leaves them next to their exponents if
// that might overflow.
static void
finish(struct tile *t, bool moderate, const int exponent_a[][MATRIX_ROWS],
       const int exponent_b[][MATRIX_K])
{
    t->apart = !moderate;
    for (int k = 0; k < t->k; k++) {
        for (int i = 0; i < MATRIX_ROWS; i++)
            t->a[k][i] =
                ldexpf(t->a[k][i], moderate ? exponent_a[k][i] : exponent_a[k][i] - t->ea[k][i]);
        for (int j = 0; j < MATRIX_COLUMNS; j++)
            t->b[j][k] =
                ldexpf(t->b[j][k], moderate ? exponent_b[j][k] : exponent_b[j][k] - t->eb[j][k]);
    }
}

// Factors of a row m come from lane 4 * (m % 8) + 2 * thread + m / 8, of column n from lane 4n +
// thread.
void
tile_scale(struct tile *t, struct matrix_form f, const lanes_t *scales)
{
    int exponent_a[MATRIX_K][MATRIX_ROWS], exponent_b[MATRIX_COLUMNS][MATRIX_K];
    bool moderate = true;
    const lanes_t *b = scales + 3;
    unsigned each = (unsigned)t->k / f.scales, thread_a = scales[2][0] & 1, thread_b = b[2][0] & 3;
    for (unsigned k = 0; k < (unsigned)t->k; k++) {
        for (unsigned i = 0; i < MATRIX_ROWS; i++) {
            struct factor s = factor_at(f, scales, 4 * (i % 8) + 2 * thread_a + i / 8, k / each);
            apply(&t->a[k][i], &t->ea[k][i], s, f.scale_e4m3, &t->special);
            exponent_a[k][i] = s.exponent;
            moderate &= abs(s.exponent) <= MODERATE;
        }
        for (unsigned j = 0; j < MATRIX_COLUMNS; j++) {
            struct factor s = factor_at(f, b, 4 * j + thread_b, k / each);
            apply(&t->b[j][k], &t->eb[j][k], s, f.scale_e4m3, &t->special);
            exponent_b[j][k] = s.exponent;
            moderate &= abs(s.exponent) <= MODERATE;
        }
    }
    finish(t, moderate, exponent_a, exponent_b);
}
