// SPDX-License-Identifier: MIT
// Matrix instructions: what their files share. A warp's registers come and go as arrays of 32
// lanes, one array a register, so that eight rows of a fragment, four words each, are consecutive.
#ifndef CPU_MATRIX_H
#define CPU_MATRIX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "emit/matrix_form.h"

enum {
    MATRIX_LANES = 32,
    MATRIX_ROWS = 16, // of a tile: a warp multiplies 16 x k by k x 8
    MATRIX_COLUMNS = 8,
    MATRIX_K = 128, // at most
    MATRIX_REGISTERS =
        148 // words of operands of a lane at most: wgmma's 128 accumulators, a, descriptors, ...
};

typedef uint32_t lanes_t[MATRIX_LANES];

struct matrix_room;
struct matrix_room *matrix_room_new(void); // free() ends it; NULL: no memory

struct matrix_warp {
    struct matrix_room *room;
    char *shared;    // the block's window of shared memory
    uint32_t index;  // of the warp in its block
    uint32_t active; // lanes that are there; what others hold must not be used as an address
};

// Runs the instruction for a warp. False: the form is not known (logged).
bool matrix_run(const struct matrix_warp *w, uint64_t form, const lanes_t *in, lanes_t *out);

// ---- tiles: 16 x k by k x 8 numbers
// Exponents as the tensor cores have them: those of denormals are the least of the format. Zeros
// have none.
enum {
    NO_EXPONENT = -8000,
    ABSENT = -16000 // not multiplied at all, whatever stands opposite
};

struct tile {
    int k;
    int fraction;  // bits kept below the largest exponent
    uint32_t kept; // bits of a finite f32 result
    bool half;     // accumulators are f16
    bool special, a_special,
        b_special; // infinities or NaNs are among the operands, among those of a, of b
    bool apart; // a and b hold value / 2^exponent, in [0, 2): the values may be out of f32's range
    bool in_order;           // place[k] is k
    uint8_t place[MATRIX_K]; // where column k of a and row k of b stand in the order of addition
    float a[MATRIX_K][MATRIX_ROWS] __attribute__((aligned(64)));
    int16_t ea[MATRIX_K][MATRIX_ROWS] __attribute__((aligned(64)));
    float b[MATRIX_COLUMNS][MATRIX_K] __attribute__((aligned(64)));
    int16_t eb[MATRIX_COLUMNS][MATRIX_K] __attribute__((aligned(64)));
    uint32_t c[MATRIX_COLUMNS][MATRIX_ROWS]
        __attribute__((aligned(64))); // patterns of f32, f16 or s32
};

// Words of a fragment: those of a column by column, those of b (columns of the matrix) row by row.
typedef uint32_t a_words[MATRIX_K][MATRIX_ROWS] __attribute__((aligned(64)));
typedef uint32_t b_words[MATRIX_COLUMNS][MATRIX_K + 16] __attribute__((aligned(64)));

// An element as it stands in a word.
struct element {
    enum matrix_type type;
    unsigned bits;  // that it takes
    unsigned shift; // and where its own begin
    bool normal;    // denormals have their values' exponents: they became normal in a wider format
};
struct element matrix_element(enum matrix_type t, bool in_bytes);

// matrix_simd.c is compiled for several processors.
struct matrix_simd {
    // Fragments (struct warp_tile) to words, to accumulators, and back.
    void (*split_a)(a_words w, const uint32_t *const a[2][16], unsigned blocks);
    void (*split_c)(struct tile *t, const uint32_t *const c[2][2]);
    void (*join_c)(const struct tile *t, uint32_t *const d[2][2]);
    // Elements of `n` words a row to the tile's a and b.
    void (*read_a)(struct tile *t, struct element e, const a_words w, unsigned n);
    void (*read_b)(struct tile *t, struct element e, const b_words w, unsigned n);
    // c += the products from .. to - 1. False: some need tile_exact; nothing is done.
    bool (*sum)(struct tile *t, int from, int to);
    void (*sum_integers)(struct tile *t, bool saturate);
    // c += a * b, one fma a k, in the rounding mode that is set
    void (*sum_doubles)(double c[][MATRIX_ROWS], const double a[][MATRIX_ROWS],
                        const double b[][MATRIX_ROWS], int k);
};
extern const struct matrix_simd matrix_base, matrix_avx2, matrix_avx512;
const struct matrix_simd *matrix_simd(void); // the best for this processor

// Values and exponents of all codes of the formats of up to 8 bits.
struct code_table {
    float value[256];
    int16_t exponent[256];
    bool special[256];
};
const struct code_table *code_table(enum matrix_type t);

// matrix_exact.c: any operands
void tile_exact(struct tile *t, int from, int to);
uint32_t matrix_add_f32(uint32_t a, uint32_t b); // to nearest; every NaN is 0x7fffffff
uint32_t matrix_add_f16(uint32_t a, uint32_t b); // 0x7fff
uint32_t matrix_to_f16(uint32_t f32);            // to nearest
uint32_t matrix_to_f32(uint32_t f16);

#endif
