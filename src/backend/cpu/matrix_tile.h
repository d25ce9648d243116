// SPDX-License-Identifier: MIT
// Multiplication of a tile, 16 x k by k x 8, by the kinds of matrix instructions.
#ifndef CPU_MATRIX_TILE_H
#define CPU_MATRIX_TILE_H

#include "backend/cpu/matrix.h"

// A tile's fragments: blocks of eight rows of four words, as a register of a warp holds them. NULL:
// nothing (zero) is there.
struct warp_tile {
    unsigned a_blocks, b_blocks; // along k
    const uint32_t *a[2][16];    // by row / 8 and k
    const uint32_t *b[32];       // rows are b's columns
    // Columns 2t and 2t + 1 of row g are lane 4g + t of two registers, or the halves of the first
    // one where they are f16.
    const uint32_t *c[2][2];
    uint32_t *d[2][2];
    const uint32_t *metadata; // of a sparse a
    const lanes_t *scales;    // of a: factors, byte, thread; of b: the same
};

// Reads a; then any number of times b and c, and writes d.
void tile_begin(struct matrix_room *room, struct matrix_form f, const struct warp_tile *x);
void tile_columns(struct matrix_room *room, struct matrix_form f, const struct warp_tile *x);
void tile_scale(struct tile *t, struct matrix_form f, const lanes_t *scales); // matrix_scale.c
unsigned matrix_k(struct matrix_form f);

// ---- the kinds of instructions
void matrix_f64(struct matrix_form f, const lanes_t *in, lanes_t *out);
void matrix_quads(struct matrix_form f, const lanes_t *in,
                  lanes_t *out); // m8n8k4 of f16
void matrix_wmma(struct matrix_room *room, struct matrix_form f, const lanes_t *in, lanes_t *out);
void matrix_wgmma(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in,
                  lanes_t *out);
// wmma.load, wmma.store
void matrix_fragment(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in,
                     lanes_t *out);
void matrix_move(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in,
                 lanes_t *out);

#endif
