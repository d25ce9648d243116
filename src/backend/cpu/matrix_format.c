// SPDX-License-Identifier: MIT
// Formats of the elements of matrices: how they stand in words, and tables of those of up to 8
// bits.
#include "backend/cpu/matrix.h"

#include <math.h>
#include <pthread.h>

// `special`: what the codes with all exponent bits set are.
enum special { NUMBERS, IEEE, LAST_IS_NAN };

static const struct format {
    uint8_t bits, exponent, mantissa, special;
    bool is_signed; // of integers: no exponent bits
} formats[MATRIX_TYPES] = {
    [MT_F16] = {16, 5, 10, IEEE, true},         [MT_BF16] = {16, 8, 7, IEEE, true},
    [MT_TF32] = {32, 8, 23, IEEE, true},        [MT_F32] = {32, 8, 23, IEEE, true},
    [MT_F64] = {64, 11, 52, IEEE, true},        [MT_E4M3] = {8, 4, 3, LAST_IS_NAN, true},
    [MT_E5M2] = {8, 5, 2, IEEE, true},          [MT_E3M2] = {6, 3, 2, NUMBERS, true},
    [MT_E2M3] = {6, 2, 3, NUMBERS, true},       [MT_E2M1] = {4, 2, 1, NUMBERS, true},
    [MT_UE4M3] = {8, 4, 3, LAST_IS_NAN, false}, // without its sign bit
    [MT_UE8M0] = {8, 0, 0, NUMBERS, false},     [MT_S32] = {32, 0, 0, NUMBERS, true},
    [MT_S8] = {8, 0, 0, NUMBERS, true},         [MT_U8] = {8, 0, 0, NUMBERS, false},
    [MT_S4] = {4, 0, 0, NUMBERS, true},         [MT_U4] = {4, 0, 0, NUMBERS, false},
    [MT_B1] = {1, 0, 0, NUMBERS, false},        [MT_B16] = {16, 0, 0, NUMBERS, false},
    [MT_B8] = {8, 0, 0, NUMBERS, false},        [MT_B8_B6] = {8, 0, 0, NUMBERS, false},
    [MT_B8_B4] = {8, 0, 0, NUMBERS, false},
};

struct element
matrix_element(enum matrix_type t, bool in_bytes)
{
    struct element e = {.type = t, .bits = formats[t].bits};
    if (in_bytes) {
        e.shift = t == MT_E2M1 ? 2 : 0; // four bits stand in the middle of the byte, six at its end
        e.bits = 8;
    }
    return e;
}

static struct code_table tables[MATRIX_TYPES];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void
make_code(struct code_table *t, const struct format *f, unsigned code)
{
    unsigned m = code & ((1u << f->mantissa) - 1), top = (1u << f->exponent) - 1,
             e = code >> f->mantissa & top;
    int bias = (int)(top >> 1);
    bool all = e == top && f->special != NUMBERS;
    t->special[code] = all && (f->special == IEEE || m == (1u << f->mantissa) - 1);
    t->exponent[code] = (int16_t)(e || m ? (int)(e ? e : 1) - bias : NO_EXPONENT);
    float v = ldexpf((float)(e ? m | 1u << f->mantissa : m), (int)(e ? e : 1) - bias - f->mantissa);
    if (t->special[code])
        v = f->special == IEEE && !m ? INFINITY : NAN;
    t->value[code] = code >> (f->exponent + f->mantissa) & 1 && f->is_signed ? -v : v;
}

static void
make_tables(void)
{
    for (int type = 0; type < MATRIX_TYPES; type++) {
        const struct format *f = &formats[type];
        struct code_table *t = &tables[type];
        if (f->bits == 0 || f->bits > 8)
            continue;
        for (unsigned code = 0; code < 1u << f->bits; code++) {
            if (f->exponent)
                make_code(t, f, code);
            else
                t->value[code] = f->is_signed && code >> (f->bits - 1)
                                     ? (float)code - (float)(1u << f->bits)
                                     : (float)code;
        }
    }
}

const struct code_table *
code_table(enum matrix_type t)
{
    pthread_once(&once, make_tables);
    return &tables[t];
}
