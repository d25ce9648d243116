// SPDX-License-Identifier: MIT
// Matrices between memory and registers: ldmatrix, stmatrix, movmatrix.
#include "backend/cpu/matrix_tile.h"

#include <string.h>

static char *
address(const lanes_t *in, unsigned lane)
{
    return (char *)(uintptr_t)(in[0][lane] | (uint64_t)in[1][lane] << 32);
}

// Rows of 16 bytes, whose addresses lanes `first` and following hold. A lane that is not there has
// none: zeros.
static void
read_rows(uint8_t rows[][16], unsigned n, unsigned first, const struct matrix_warp *w,
          const lanes_t *in)
{
    for (unsigned i = 0; i < n; i++) {
        if (w->active >> (first + i) & 1)
            memcpy(rows[i], address(in, first + i), 16);
        else
            memset(rows[i], 0, 16);
    }
}

static void
write_rows(uint8_t rows[][16], unsigned n, unsigned first, const struct matrix_warp *w,
           const lanes_t *in)
{
    for (unsigned i = 0; i < n; i++)
        if (w->active >> (first + i) & 1)
            memcpy(address(in, first + i), rows[i], 16);
}

// 16 elements of 4 or 6 bits to the low bits of bytes.
static void
unpack(uint8_t row[16], unsigned bits)
{
    uint8_t packed[16];
    memcpy(packed, row, sizeof packed);
    for (unsigned i = 0; i < 16; i++) {
        unsigned at = i * bits, word = packed[at / 8] | (unsigned)packed[(at + 7) / 8] << 8;
        row[i] = (uint8_t)(word >> at % 8 & ((1u << bits) - 1));
    }
}

static uint16_t
half_at(const lanes_t reg, unsigned row, unsigned column)
{
    return (uint16_t)(reg[4 * row + column / 2] >> column % 2 * 16);
}

static void
put_half(lanes_t reg, unsigned row, unsigned column, uint16_t v)
{
    uint32_t *w = &reg[4 * row + column / 2];
    *w = column % 2 ? (*w & 0xffff) | (uint32_t)v << 16 : (*w & 0xffff0000) | v;
}

static void
transpose(const lanes_t in, lanes_t out)
{
    lanes_t r = {0};
    for (unsigned i = 0; i < 8; i++)
        for (unsigned j = 0; j < 8; j++)
            put_half(r, j, i, half_at(in, i, j));
    memcpy(out, r, sizeof r);
}

// Bytes (row 4t + i, column g and g + 8) of 16 x 16 are byte i of lane 4g + t's two registers.
static void
load_16x16(uint8_t rows[][16], lanes_t *out)
{
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned h = 0; h < 2; h++) {
            uint32_t v = 0;
            for (unsigned i = 0; i < 4; i++)
                v |= (uint32_t)rows[4 * (lane % 4) + i][lane / 4 + 8 * h] << 8 * i;
            out[h][lane] = v;
        }
}

static void
load(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    unsigned rows = f.m8 * 8u, bits = f.a == MT_B8_B6 ? 6 : f.a == MT_B8_B4 ? 4 : 8;
    for (unsigned q = 0; q < 1u << f.log_k; q++) {
        uint8_t row[16][16];
        read_rows(row, rows, q * rows, w, in);
        for (unsigned i = 0; i < rows && bits < 8; i++)
            unpack(row[i], bits);
        if (rows == 16) {
            load_16x16(row, out + 2 * q);
            continue;
        }
        memcpy(out[q], row, sizeof out[q]);
        if (f.a_turned)
            transpose(out[q], out[q]);
    }
}

// 16 x 8 bytes, column j to the row at the j-th address: column 2t + b of rows g and g + 8 are
// bytes b and b + 2 of lane 4g + t.
static void
store_16x8(const lanes_t in, uint8_t rows[][16])
{
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned i = 0; i < 4; i++)
            rows[2 * (lane % 4) + i % 2][lane / 4 + i / 2 * 8] = (uint8_t)(in[lane] >> 8 * i);
}

static void
store(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in)
{
    for (unsigned q = 0; q < 1u << f.log_k; q++) {
        uint8_t row[8][16];
        lanes_t reg;
        memcpy(reg, in[2 + q], sizeof reg);
        if (f.m8 == 2) {
            store_16x8(reg, row);
        } else {
            if (f.a_turned)
                transpose(reg, reg);
            memcpy(row, reg, sizeof row);
        }
        write_rows(row, 8, 8 * q, w, in);
    }
}

void
matrix_move(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    switch (f.op) {
    case MATRIX_LDMATRIX:
        load(w, f, in, out);
        break;
    case MATRIX_STMATRIX:
        store(w, f, in);
        break;
    case MATRIX_TRANSPOSE:
        transpose(in[0], out[0]);
        break;
    default:
        matrix_fragment(w, f, in, out);
    }
}
