// SPDX-License-Identifier: MIT
// wgmma: a warp's 16 rows of a warpgroup's 64. Each warp computes its own: what it reads of shared
// memory was written before by the program's own barriers, and its results are in registers at
// once, so that fence, commit and wait have nothing to do.
#include "backend/cpu/matrix_tile.h"

#include <string.h>

// A matrix in shared memory, in units of 16 bytes ("chunks").
struct descriptor {
    const char *shared;
    uint32_t start, lead, stride; // bytes
    uint32_t phase;               // base offset
    uint32_t width;               // chunks of a swizzled row: 8, 4 or 2; 1: none
};

static struct descriptor
describe(const struct matrix_warp *w, const lanes_t *in)
{
    unsigned lane = w->active ? (unsigned)__builtin_ctz(w->active) : 0;
    uint64_t d = in[0][lane] | (uint64_t)in[1][lane] << 32;
    static const uint8_t widths[] = {1, 8, 4, 2};
    return (struct descriptor){w->shared,
                               (uint32_t)(d & 0x3fff) << 4,
                               (uint32_t)(d >> 16 & 0x3fff) << 4,
                               (uint32_t)(d >> 32 & 0x3fff) << 4,
                               (uint32_t)(d >> 49 & 7),
                               widths[d >> 62]};
}

static const char *
chunk(const struct descriptor *d, uint32_t offset)
{
    uint32_t at = d->start + offset;
    if (d->width > 1)
        at ^= (((at >> 7) - d->phase) & (d->width - 1)) << 4;
    return d->shared + at;
}

// Chunk `c` along k of row `row` of a matrix with k as the faster index.
static const char *
chunk_along_k(const struct descriptor *d, unsigned row, unsigned c)
{
    if (d->width == 1)
        return chunk(d, row % 8 * 16 + row / 8 * d->stride + c * d->lead);
    return chunk(d, row % 8 * d->width * 16 + row / 8 * d->stride + c % d->width * 16 +
                        c / d->width * d->lead);
}

// Eight rows from 8 * r on at index k, of a matrix with the rows as the faster index.
static const char *
chunk_across(const struct descriptor *d, unsigned r, unsigned k)
{
    if (d->width == 1)
        return chunk(d, r * d->stride + k % 8 * 16 + k / 8 * d->lead);
    return chunk(d, r % d->width * 16 + r / d->width * d->lead + k % 8 * d->width * 16 +
                        k / 8 * d->stride);
}

// Rows 8r .. 8r + 7, words 4s .. 4s + 3, as a register holds them.
static void
read_block(lanes_t out, const struct descriptor *d, unsigned r, unsigned s, bool turned)
{
    if (!turned) {
        for (unsigned g = 0; g < 8; g++)
            memcpy(&out[4 * g], chunk_along_k(d, 8 * r + g, s), 16);
        return;
    }
    for (unsigned i = 0; i < 8; i++) { // elements of 16 bits
        uint16_t v[8];
        memcpy(v, chunk_across(d, r, 8 * s + i), sizeof v);
        for (unsigned g = 0; g < 8; g++) {
            uint32_t *w = &out[4 * g + i / 2];
            *w = i % 2 ? *w | (uint32_t)v[g] << 16 : v[g];
        }
    }
}

// A warp's rows of a, which is 32 bytes wide.
static const lanes_t *
read_a(struct warp_tile *x, lanes_t room[4], const struct matrix_warp *w, struct matrix_form f,
       const lanes_t *in)
{
    if (f.a_registers) {
        for (unsigned i = 0; i < 4; i++)
            x->a[i % 2][i / 2] = in[i];
        return in + 4;
    }
    struct descriptor d = describe(w, in);
    for (unsigned i = 0; i < 4; i++) {
        read_block(room[i], &d, w->index % 4 * 2 + i % 2, i / 2, f.a_turned);
        x->a[i % 2][i / 2] = room[i];
    }
    return in + 2;
}

// Registers: accumulators, a or its descriptor, b's descriptor, metadata, scale-d.
void
matrix_wgmma(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    unsigned each = f.d == MT_F16 ? 1 : 2, columns = f.n8;
    lanes_t a[4], b[4], zero = {0};
    const lanes_t *at = in + columns * 2 * each;
    struct warp_tile x = {.a_blocks = 2, .b_blocks = f.sparse ? 4 : 2};
    at = read_a(&x, a, w, f, at);
    struct descriptor d = describe(w, at);
    at += 2;
    if (f.sparse)
        x.metadata = *at++;
    bool add = at[0][w->active ? (unsigned)__builtin_ctz(w->active) : 0] != 0;
    tile_begin(w->room, f, &x);
    for (unsigned j = 0; j < columns; j++) {
        for (unsigned s = 0; s < x.b_blocks; s++) {
            read_block(b[s], &d, j, s, f.b_turned);
            x.b[s] = b[s];
        }
        for (unsigned r = 0; r < 2; r++)
            for (unsigned h = 0; h < each; h++) {
                unsigned reg = (2 * j + r) * each + h;
                x.c[r][h] = add ? in[reg] : zero;
                x.d[r][h] = out[reg];
            }
        tile_columns(w->room, f, &x);
    }
}
