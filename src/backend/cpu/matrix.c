// SPDX-License-Identifier: MIT
// Matrix multiplication by a warp: from registers to a tile, through the sums, and back.
#include "backend/cpu/matrix_tile.h"
#include "base/log.h"

#include <stdlib.h>
#include <string.h>

// What a multiplication works in; of a worker.
struct matrix_room {
    struct tile t;
    a_words a;
    b_words b;
    float packed[MATRIX_K][MATRIX_ROWS];
    int16_t packed_exponent[MATRIX_K][MATRIX_ROWS];
    // What the tile's a and b were read from: programs multiply the same a by several b, or several
    // a by the same b.
    uint64_t form;
    bool a_known, b_known;
    lanes_t a_blocks[2][16], b_blocks[32];
};

struct matrix_room *
matrix_room_new(void)
{
    struct matrix_room *r = aligned_alloc(64, (sizeof(struct matrix_room) + 63) / 64 * 64);
    if (r)
        r->a_known = r->b_known = false;
    return r;
}

const struct matrix_simd *
matrix_simd(void)
{
    static const struct matrix_simd *best;
    const struct matrix_simd *s = __atomic_load_n(&best, __ATOMIC_RELAXED);
    if (s)
        return s;
    __builtin_cpu_init();
    s = &matrix_base;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
        s = &matrix_avx2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        s = &matrix_avx512;
    __atomic_store_n(&best, s, __ATOMIC_RELAXED);
    return s;
}

unsigned
matrix_k(struct matrix_form f)
{
    return 1u << f.log_k;
}

// ---- words
static const lanes_t nothing;

// Makes *kept a copy of the block. True: it was one before.
static bool
keep(lanes_t kept, const uint32_t *block)
{
    if (!memcmp(kept, block, sizeof(lanes_t)))
        return true;
    memcpy(kept, block, sizeof(lanes_t));
    return false;
}

static bool
words_of_a(struct matrix_room *room, const struct warp_tile *x)
{
    const uint32_t *a[2][16];
    bool same = true;
    for (unsigned s = 0; s < x->a_blocks; s++)
        for (unsigned r = 0; r < 2; r++) {
            a[r][s] = x->a[r][s] ? x->a[r][s] : nothing;
            same &= keep(room->a_blocks[r][s], a[r][s]);
        }
    if (same && room->a_known)
        return false;
    matrix_simd()->split_a(room->a, a, x->a_blocks);
    return true;
}

// Readers take 16 elements at a time.
static bool
words_of_b(struct matrix_room *room, const struct warp_tile *x)
{
    bool same = true;
    for (unsigned s = 0; s < x->b_blocks; s++)
        same &= keep(room->b_blocks[s], x->b[s]);
    if (same && room->b_known)
        return false;
    for (unsigned g = 0; g < 8; g++) {
        for (unsigned s = 0; s < x->b_blocks; s++)
            memcpy(&room->b[g][4 * s], &x->b[s][4 * g], 16);
        for (unsigned s = x->b_blocks; s % 4; s++)
            memset(&room->b[g][4 * s], 0, 16);
    }
    return true;
}

static void
read_accumulators(struct tile *t, const struct warp_tile *x)
{
    const uint32_t *c[2][2];
    for (unsigned r = 0; r < 2; r++)
        for (unsigned h = 0; h < 2; h++)
            c[r][h] = x->c[r][h] ? x->c[r][h] : nothing;
    matrix_simd()->split_c(t, c);
}

// ---- how the products of a form are added
struct plan {
    int group, fraction;
    uint32_t kept; // as in struct tile
    bool pairs;    // the k of which the second-lowest bit (sparse: the third) is 0 come first
    bool late;     // from zero; the accumulator is added at the end, to nearest
};

static bool
is_integer(enum matrix_type t)
{
    return t >= MT_S32 && t <= MT_U4;
}

static bool
is_eight_bit_float(enum matrix_type t)
{
    return t == MT_E4M3 || t == MT_E5M2;
}

// An H200's mma of 8-bit floats is two of f16.
static bool
by_halves(struct matrix_form f)
{
    return f.op == MATRIX_MMA && is_eight_bit_float(f.a) && !f.bytes;
}

static struct element
element_of(struct matrix_form f, enum matrix_type t)
{
    struct element e = matrix_element(t, f.bytes);
    e.normal = t == MT_E4M3 && by_halves(f);
    return e;
}

// What was measured of an H200.
static struct plan
plan_of(struct matrix_form f)
{
    int k = (int)matrix_k(f);
    struct plan p = {.group = k, .fraction = 25, .kept = UINT32_MAX};
    if (f.op == MATRIX_WMMA && f.a == MT_TF32)
        p.group = 4;
    else if (f.op == MATRIX_WGMMA && is_eight_bit_float(f.a))
        p.fraction = 13, p.kept = ~0x3ffu;
    else if (by_halves(f))
        p.group = k / 2, p.pairs = p.late = true;
    return p;
}

static void
set_order(struct tile *t, bool pairs, unsigned unit)
{
    t->in_order = !pairs;
    for (unsigned k = 0; k < MATRIX_K; k++)
        t->place[k] =
            (uint8_t)(pairs ? k / (2 * unit) * unit + k % unit + k / unit % 2 * (unsigned)(t->k / 2)
                            : k);
}

// ---- sparse a
// Bits of metadata of a row, and which lanes of four hold it.
static uint64_t
row_metadata(const uint32_t *meta, unsigned row, unsigned bits, unsigned selector, bool wide)
{
    const uint32_t *quad = meta + row % 8 * 4;
    unsigned high = row / 8, first = bits == 16 ? selector : bits == 32 ? 2 * selector : 0;
    uint64_t v = 0;
    if (!wide) { // elements of 16 bits and more: rows g and g + 8 share the words
        for (unsigned part = 0; part < bits / 16; part++)
            v |= (uint64_t)(quad[first + part] >> 16 * high & 0xffff) << 16 * part;
        return v;
    }
    for (unsigned part = 0; part < bits / 32; part++)
        v |= (uint64_t)quad[first + 2 * part + high] << 32 * part;
    return v;
}

// Column of the matrix at which element c of a packed row stands.
static unsigned
full_column(enum matrix_type t, bool bytes, uint64_t metadata, unsigned c)
{
    if (t == MT_TF32)
        return 2 * c + ((metadata >> 4 * c & 15) == 0xe);
    if ((t == MT_S4 || t == MT_U4 || t == MT_E2M1) && !bytes)
        return 8 * (c / 4) + 2 * (unsigned)(metadata >> c / 2 * 2 & 3) + c % 2;
    return 4 * (c / 2) + (unsigned)(metadata >> 2 * c & 3);
}

static unsigned
metadata_bits(enum matrix_type t, bool bytes, unsigned k)
{
    if (t == MT_TF32)
        return 2 * k;
    return (t == MT_S4 || t == MT_U4 || t == MT_E2M1) && !bytes ? k / 2 : k;
}

static void
spread(struct matrix_room *room, struct matrix_form f, const uint32_t *meta)
{
    struct tile *t = &room->t;
    unsigned half = (unsigned)t->k / 2;
    memcpy(room->packed, t->a, half * sizeof *t->a);
    memcpy(room->packed_exponent, t->ea, half * sizeof *t->ea);
    for (int k = 0; k < t->k; k++)
        for (int i = 0; i < MATRIX_ROWS; i++) {
            t->a[k][i] = 0;
            t->ea[k][i] = ABSENT;
        }
    for (unsigned i = 0; i < MATRIX_ROWS; i++) {
        uint64_t m = row_metadata(meta, i, metadata_bits(f.a, f.bytes, (unsigned)t->k), f.selector,
                                  matrix_element(f.a, f.bytes).bits <= 8);
        for (unsigned c = 0; c < half; c++) {
            unsigned k = t->place[full_column(f.a, f.bytes, m, c)];
            t->a[k][i] = room->packed[c][i];
            t->ea[k][i] = room->packed_exponent[c][i];
        }
    }
}

// ---- products
static void
negate(struct tile *t, struct matrix_form f)
{
    if (f.a_negated != f.b_negated)
        for (int k = 0; k < t->k; k++)
            for (int i = 0; i < MATRIX_ROWS; i++)
                t->a[k][i] = -t->a[k][i];
}

static void
sum_floats(struct tile *t, const struct plan *p)
{
    static const uint32_t zero[MATRIX_COLUMNS][MATRIX_ROWS];
    uint32_t late[MATRIX_COLUMNS][MATRIX_ROWS];
    if (p->late) {
        memcpy(late, t->c, sizeof late);
        memcpy(t->c, zero, sizeof zero);
    }
    for (int k = 0; k < t->k; k += p->group)
        if (!matrix_simd()->sum(t, k, k + p->group))
            tile_exact(t, k, k + p->group);
    for (int j = 0; j < MATRIX_COLUMNS && p->late; j++)
        for (int i = 0; i < MATRIX_ROWS; i++)
            t->c[j][i] = t->half ? matrix_add_f16(late[j][i], t->c[j][i])
                                 : matrix_add_f32(late[j][i], t->c[j][i]);
}

static void
sum_bits(struct matrix_room *room, const struct warp_tile *x, bool xor_)
{
    struct tile *t = &room->t;
    for (unsigned j = 0; j < MATRIX_COLUMNS; j++)
        for (unsigned i = 0; i < MATRIX_ROWS; i++)
            for (unsigned k = 0; k < x->b_blocks * 4; k++) {
                uint32_t a = room->a[k][i], b = room->b[j][k];
                t->c[j][i] += (uint32_t)__builtin_popcount(xor_ ? a ^ b : a & b);
            }
}

// A tile's properties that follow from the form alone.
static void
set_form(struct matrix_room *room, struct matrix_form f, const struct plan *p)
{
    struct tile *t = &room->t;
    uint64_t form = matrix_pack(f);
    if (room->form == form && (room->a_known || room->b_known))
        return;
    room->form = form;
    room->a_known = room->b_known = false;
    t->k = (int)matrix_k(f);
    t->fraction = p->fraction;
    t->kept = p->kept;
    t->half = f.d == MT_F16;
    set_order(t, p->pairs && !f.sparse, 2);
}

static void
read_a(struct matrix_room *room, struct matrix_form f, const struct plan *p,
       const struct warp_tile *x)
{
    struct tile *t = &room->t;
    t->special = t->apart = false;
    matrix_simd()->read_a(t, element_of(f, f.a), room->a, 4 * x->a_blocks);
    if (f.sparse) {
        set_order(t, p->pairs, 4);
        spread(room, f, x->metadata);
    }
    negate(t, f);
    t->a_special = t->special;
}

void
tile_begin(struct matrix_room *room, struct matrix_form f, const struct warp_tile *x)
{
    struct plan p = plan_of(f);
    set_form(room, f, &p);
    bool changes = f.sparse || f.scales; // by more than a's own words
    if (words_of_a(room, x) && f.a != MT_B1)
        read_a(room, f, &p, x);
    room->a_known = !changes;
}

static void
read_b(struct matrix_room *room, struct matrix_form f, const struct warp_tile *x)
{
    struct tile *t = &room->t;
    t->special = false;
    matrix_simd()->read_b(t, element_of(f, f.b), room->b, 4 * x->b_blocks);
    t->b_special = t->special;
}

void
tile_columns(struct matrix_room *room, struct matrix_form f, const struct warp_tile *x)
{
    struct tile *t = &room->t;
    struct plan p = plan_of(f);
    bool read = words_of_b(room, x);
    room->b_known = !f.sparse && !f.scales;
    read_accumulators(t, x);
    if (f.a == MT_B1) {
        sum_bits(room, x, f.xor_);
    } else {
        if (read)
            read_b(room, f, x);
        t->special = t->a_special || t->b_special;
        if (f.scales)
            tile_scale(t, f, x->scales);
        if (is_integer(f.a))
            matrix_simd()->sum_integers(t, f.saturate);
        else
            sum_floats(t, &p);
    }
    matrix_simd()->join_c(t, x->d);
}

// ---- mma
// Registers: a, b, c, metadata, scale factors.
static void
run_mma(struct matrix_room *room, struct matrix_form f, const lanes_t *in, lanes_t *out)
{
    struct warp_tile x = {.b_blocks = matrix_k(f) * matrix_element(f.b, f.bytes).bits / 128};
    unsigned rows = f.m8 > 1 ? 2 : 1, each = f.d == MT_F16 ? 1 : 2, at = 0;
    x.a_blocks = matrix_k(f) / (f.sparse ? 2 : 1) * matrix_element(f.a, f.bytes).bits / 128;
    for (unsigned s = 0; s < x.a_blocks; s++)
        for (unsigned r = 0; r < rows; r++)
            x.a[r][s] = in[at++];
    for (unsigned s = 0; s < x.b_blocks; s++)
        x.b[s] = in[at++];
    for (unsigned r = 0; r < rows; r++)
        for (unsigned h = 0; h < each; h++) {
            x.c[r][h] = in[at++];
            x.d[r][h] = out[r * each + h];
        }
    if (f.sparse)
        x.metadata = in[at++];
    x.scales = in + at;
    tile_begin(room, f, &x);
    tile_columns(room, f, &x);
}

bool
matrix_run(const struct matrix_warp *w, uint64_t word, const lanes_t *in, lanes_t *out)
{
    struct matrix_form f = matrix_unpack(word);
    switch ((enum matrix_op)f.op) {
    case MATRIX_MMA:
        if (f.a == MT_F64)
            matrix_f64(f, in, out);
        else if (f.a == MT_F16 && matrix_k(f) == 4)
            matrix_quads(f, in, out);
        else
            run_mma(w->room, f, in, out);
        return true;
    case MATRIX_WMMA:
        matrix_wmma(w->room, f, in, out);
        return true;
    case MATRIX_WGMMA:
        matrix_wgmma(w, f, in, out);
        return true;
    case MATRIX_LOAD:
    case MATRIX_STORE:
    case MATRIX_LDMATRIX:
    case MATRIX_STMATRIX:
    case MATRIX_TRANSPOSE:
        matrix_move(w, f, in, out);
        return true;
    }
    log_error("matrix instruction %llx is not known", (unsigned long long)word);
    return false;
}
