// SPDX-License-Identifier: MIT
// wmma: fragments are made of the same blocks as those of mma, eight rows of four words each.
#include "backend/cpu/matrix_tile.h"

#include <string.h>

// Blocks of a fragment: rows / 8 by words / 4. Registers of a block stand together.
struct shape {
    unsigned rows, words; // in blocks
    unsigned bits;        // of an element
    unsigned registers;   // of a block
};

static unsigned
rows_of(struct matrix_form f, enum matrix_part part)
{
    return part == MATRIX_B ? f.n8 : f.m8;
}

static struct shape
shape_of(struct matrix_form f, enum matrix_part part, enum matrix_type t)
{
    struct shape s = {
        .rows = rows_of(f, part), .bits = matrix_element(t, false).bits, .registers = 1};
    if (part == MATRIX_C) {
        s.words = f.n8;
        s.registers = s.bits / 16;
    } else {
        s.words = matrix_k(f) * s.bits / 128;
    }
    if (s.bits == 64) {
        s.registers = part == MATRIX_C ? 4 : 2;
        s.words = 1;
    }
    return s;
}

// First register of block (r, s).
static unsigned
register_of(const struct shape *x, enum matrix_part part, unsigned r, unsigned s)
{
    if (part == MATRIX_B)
        return (r * x->words + s) * x->registers;
    unsigned pair = x->rows > 1 ? 2 : 1;
    return ((r / pair * x->words + s) * pair + r % pair) * x->registers;
}

static unsigned
registers(struct matrix_form f, enum matrix_part part, enum matrix_type t)
{
    struct shape s = shape_of(f, part, t);
    unsigned n = s.rows * s.words * s.registers;
    return (t == MT_F16 && part != MATRIX_C) || t == MT_TF32 ? n < 8 && t == MT_F16 ? 8 : n : n;
}

// Of m8n32k16 the hardware multiplies the transposes: b's fragment is like a's of m32n8k16.
static bool
is_flat(struct matrix_form f)
{
    return f.m8 == 1 && f.n8 == 4;
}

static struct matrix_form
transposed(struct matrix_form f)
{
    struct matrix_form g = f;
    g.m8 = f.n8, g.n8 = f.m8;
    g.part = f.part == MATRIX_A ? MATRIX_B : f.part == MATRIX_B ? MATRIX_A : MATRIX_C;
    g.a_turned = !f.a_turned;
    return g;
}

// ---- multiplication
static void
set_a(struct warp_tile *x, const struct shape *a, unsigned tile, const lanes_t *in)
{
    x->a_blocks = a->words;
    for (unsigned r = 0; r < 2; r++)
        for (unsigned s = 0; s < a->words; s++)
            x->a[r][s] =
                2 * tile + r < a->rows ? in[register_of(a, MATRIX_A, 2 * tile + r, s)] : NULL;
}

static void
set_b(struct warp_tile *x, const struct shape *b, unsigned column, const lanes_t *in)
{
    x->b_blocks = b->words;
    for (unsigned s = 0; s < b->words; s++)
        x->b[s] = in[register_of(b, MATRIX_B, column, s)];
}

// The accumulators of a tile that are f16 on one side and f32 on the other go through `wide`.
struct accumulators {
    struct shape c, d;
    enum matrix_type from, to;
    const lanes_t *in;
    lanes_t *out;
    lanes_t wide[2][2];
};

static void
set_c(struct warp_tile *x, struct accumulators *a, unsigned tile, unsigned column)
{
    memset(x->c, 0, sizeof x->c);
    memset(x->d, 0, sizeof x->d);
    for (unsigned r = 0; r < 2 && 2 * tile + r < a->c.rows; r++) {
        const lanes_t *c = a->in + register_of(&a->c, MATRIX_C, 2 * tile + r, column);
        lanes_t *d = a->out + register_of(&a->d, MATRIX_C, 2 * tile + r, column);
        for (unsigned h = 0; h < (a->from == MT_F16 && a->to == MT_F16 ? 1 : 2); h++) {
            x->c[r][h] = a->from == MT_F16 && a->to != MT_F16 ? a->wide[r][h] : c[h];
            x->d[r][h] = a->from != MT_F16 && a->to == MT_F16 ? a->wide[r][h] : d[h];
        }
        for (unsigned lane = 0; lane < MATRIX_LANES && a->from == MT_F16 && a->to != MT_F16; lane++)
            for (unsigned h = 0; h < 2; h++)
                a->wide[r][h][lane] = matrix_to_f32(c[0][lane] >> 16 * h & 0xffff);
    }
}

static void
narrow(struct accumulators *a, unsigned tile, unsigned column)
{
    if (a->from == MT_F16 || a->to != MT_F16)
        return;
    for (unsigned r = 0; r < 2 && 2 * tile + r < a->d.rows; r++)
        for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
            a->out[register_of(&a->d, MATRIX_C, 2 * tile + r, column)][lane] =
                matrix_to_f16(a->wide[r][0][lane]) | matrix_to_f16(a->wide[r][1][lane]) << 16;
}

void
matrix_wmma(struct matrix_room *room, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    if (f.a == MT_F64) {
        matrix_f64(f, in, out);
        return;
    }
    const lanes_t *in_a = in, *in_b = in + registers(f, MATRIX_A, f.a),
                  *in_c = in_b + registers(f, MATRIX_B, f.b);
    if (is_flat(f)) { // a and b have the same type
        f = transposed(f);
        in_a = in_b;
        in_b = in;
    }
    struct shape a = shape_of(f, MATRIX_A, f.a), b = shape_of(f, MATRIX_B, f.b);
    struct accumulators acc = {.c = shape_of(f, MATRIX_C, f.c),
                               .d = shape_of(f, MATRIX_C, f.d),
                               .from = f.c,
                               .to = f.d,
                               .in = in_c,
                               .out = out};
    struct matrix_form g = f;
    if (f.c != f.d)
        g.d = MT_F32;
    for (unsigned tile = 0; 2 * tile < a.rows; tile++) {
        struct warp_tile x = {0};
        set_a(&x, &a, tile, in_a);
        tile_begin(room, g, &x);
        for (unsigned column = 0; column < b.rows; column++) {
            set_b(&x, &b, column, in_b);
            set_c(&x, &acc, tile, column);
            tile_columns(room, g, &x);
            narrow(&acc, tile, column);
        }
    }
}

// ---- loads and stores
// The matrix in memory: row r, element c is at base + (r * stride + c) elements, or turned.
struct memory {
    char *base;
    int64_t stride; // elements
    unsigned bits;
    bool turned;
};

static uint64_t
get(const struct memory *m, unsigned row, unsigned column)
{
    int64_t at = m->turned ? column * m->stride + row : row * m->stride + column;
    if (m->bits < 8)
        return (uint8_t)m->base[at * m->bits / 8] >> at * m->bits % 8 & ((1u << m->bits) - 1);
    uint64_t v = 0;
    memcpy(&v, m->base + at * (m->bits / 8), m->bits / 8);
    return v;
}

static void
put(const struct memory *m, unsigned row, unsigned column, uint64_t v)
{
    int64_t at = m->turned ? column * m->stride + row : row * m->stride + column;
    memcpy(m->base + at * (m->bits / 8), &v, m->bits / 8);
}

// Words of a block of a or b, of which b's rows are the matrix's columns.
static void
load_words(lanes_t *out, const struct memory *m, unsigned r, unsigned s)
{
    unsigned each = m->bits == 64 ? 1 : 32 / m->bits;
    for (unsigned g = 0; g < 8; g++)
        for (unsigned t = 0; t < 4; t++) {
            unsigned column = (4 * s + t) * each;
            uint64_t v = 0;
            if (!m->turned && m->bits < 64)
                memcpy(&v, m->base + ((int64_t)(8 * r + g) * m->stride + column) * m->bits / 8, 4);
            else
                for (unsigned i = 0; i < each; i++)
                    v |= get(m, 8 * r + g, column + i) << m->bits * i;
            out[0][4 * g + t] = (uint32_t)v;
            if (m->bits == 64)
                out[1][4 * g + t] = (uint32_t)(v >> 32);
        }
}

static void
load_accumulators(lanes_t *out, const struct memory *m, unsigned r, unsigned s)
{
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned h = 0; h < 2; h++) {
            uint64_t v = get(m, 8 * r + lane / 4, 8 * s + 2 * (lane % 4) + h);
            if (m->bits == 16) {
                out[0][lane] = (h ? out[0][lane] : 0) | (uint32_t)v << 16 * h;
            } else if (m->bits == 32) {
                out[h][lane] = (uint32_t)v;
            } else {
                out[2 * h][lane] = (uint32_t)v;
                out[2 * h + 1][lane] = (uint32_t)(v >> 32);
            }
        }
}

static void
store_accumulators(const lanes_t *in, const struct memory *m, unsigned r, unsigned s)
{
    for (unsigned lane = 0; lane < MATRIX_LANES; lane++)
        for (unsigned h = 0; h < 2; h++) {
            uint64_t v = m->bits == 16   ? in[0][lane] >> 16 * h
                         : m->bits == 32 ? in[h][lane]
                                         : in[2 * h][lane] | (uint64_t)in[2 * h + 1][lane] << 32;
            put(m, 8 * r + lane / 4, 8 * s + 2 * (lane % 4) + h, v);
        }
}

// Registers: address, stride; of a store then the accumulators. All lanes hold the same address.
void
matrix_fragment(const struct matrix_warp *w, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    if (!w->active)
        return;
    unsigned lane = (unsigned)__builtin_ctz(w->active);
    if (f.op == MATRIX_STORE)
        f.part = MATRIX_C;
    if (is_flat(f))
        f = transposed(f);
    enum matrix_part part = (enum matrix_part)f.part;
    struct shape x = shape_of(f, part, f.a);
    struct memory m = {(char *)(uintptr_t)(in[0][lane] | (uint64_t)in[1][lane] << 32),
                       (int32_t)in[2][lane], x.bits, f.a_turned};
    if (part == MATRIX_B)
        m.turned = !m.turned;
    for (unsigned r = 0; r < x.rows; r++)
        for (unsigned s = 0; s < x.words; s++) {
            unsigned reg = register_of(&x, part, r, s);
            if (f.op == MATRIX_STORE)
                store_accumulators(in + 3 + reg, &m, r, s);
            else if (part == MATRIX_C)
                load_accumulators(out + reg, &m, r, s);
            else
                load_words(out + reg, &m, r, s);
        }
    unsigned have = x.rows * x.words * x.registers, all = registers(f, part, f.a);
    for (unsigned i = have; i < all && f.op == MATRIX_LOAD; i++)
        memcpy(out[i], out[i - have], sizeof *out);
}
