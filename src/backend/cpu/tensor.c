// SPDX-License-Identifier: MIT
// Copies of boxes of tensors between global and shared memory (TMA). In shared memory a box lies densely, first dimension
// innermost, 16 bytes at a time where the swizzle puts them. Elements outside of the tensor are read as a fill value and not
// written. Copies are complete when they return.
#include "backend/cpu/bulk.h"
#include "backend/tensormap.h"
#include "emit/emit.h"

#include <string.h>

enum { CHUNK = 16, MOST_ROW = 256 * 8 + CHUNK }; // bytes

struct copy {
    const struct tensor_map *map;
    const struct tensor_call *call;
    unsigned direction, size; // enum emit_tensor; bytes of an element
    uint32_t rows, row;       // of the box: rows, elements of a row
    char *shared;             // the box
    uint32_t offset;          // of it in its block's shared memory
};

// ---- shared memory
// The swizzle is a function of the address: bits of the line's number go into those of the place in the line.
static uint32_t
swizzled(const struct tensor_map *m, uint32_t at)
{
    if (m->swizzle == TENSOR_LINEAR)
        return at;
    if (m->atomicity == TENSOR_ATOM_16)
        return at ^ (at >> 3 & ((1u << m->swizzle) - 1) << 4);
    if (m->atomicity == TENSOR_ATOM_64)
        return at ^ (at >> 1 & 1u << 6);
    return at ^ (at >> 2 & 3u << 5);
}

static void
move_row(const struct copy *c, uint32_t row, char *buffer, bool to_shared)
{
    uint32_t bytes = c->row * c->size, start = c->offset + row * bytes;
    for (uint32_t i = 0; i < bytes; i += CHUNK) {
        char *p = c->shared - c->offset + swizzled(c->map, start + i);
        uint32_t n = bytes - i < CHUNK ? bytes - i : CHUNK;
        memcpy(to_shared ? p : buffer + i, to_shared ? buffer + i : p, n);
    }
}

// ---- elements
static void
fill(const struct tensor_map *m, char *row, uint32_t bytes)
{
    static const uint8_t nan[TENSOR_TYPES] = {[TENSOR_F16] = 2,  [TENSOR_BF16] = 2, [TENSOR_F32] = 4,
                                              [TENSOR_TF32] = 4, [TENSOR_F64] = 8,  [TENSOR_F32_FTZ] = 4,
                                              [TENSOR_TF32_FTZ] = 4};
    memset(row, 0, bytes);
    unsigned n = m->nan_fill ? nan[m->type] : 0;
    for (uint32_t i = 0; n && i < bytes; i += n) {
        memset(row + i, 0xff, n);
        row[i + n - 1] = 0x7f;
    }
}

static uint32_t
converted(unsigned type, uint32_t u)
{
    bool subnormal = !(u & 0x7f800000), nan = (u & 0x7fffffff) > 0x7f800000;
    if (subnormal && (type == TENSOR_F32_FTZ || type == TENSOR_TF32_FTZ))
        u &= 0x80000000;
    if (nan || type == TENSOR_F32_FTZ)
        return u;
    return (u + 0xfff + (u >> 13 & 1)) & ~0x1fffu;
}

static void
convert(const struct tensor_map *m, char *row, uint32_t elements)
{
    if (m->type != TENSOR_F32_FTZ && m->type != TENSOR_TF32 && m->type != TENSOR_TF32_FTZ)
        return;
    for (uint32_t i = 0; i < elements; i++) {
        uint32_t u;
        memcpy(&u, row + 4 * i, 4);
        u = converted(m->type, u);
        memcpy(row + 4 * i, &u, 4);
    }
}

static unsigned
number_of(unsigned type)
{
    static const uint8_t number[TENSOR_TYPES] = {
        [TENSOR_U32] = EMIT_U32,  [TENSOR_S32] = EMIT_S32,   [TENSOR_U64] = EMIT_U64,
        [TENSOR_S64] = EMIT_S64,  [TENSOR_F16] = EMIT_F16,   [TENSOR_BF16] = EMIT_BF16,
        [TENSOR_F32] = EMIT_F32,  [TENSOR_F64] = EMIT_F64,   [TENSOR_F32_FTZ] = EMIT_F32,
        [TENSOR_TF32] = EMIT_F32, [TENSOR_TF32_FTZ] = EMIT_F32};
    return number[type];
}

// One row: elements x .. of dimension 0 at the other coordinates, of which `inside` says whether they are in the tensor.
static void
copy_row(const struct copy *c, uint32_t row, const int64_t *at, bool inside)
{
    const struct tensor_map *m = c->map;
    char buffer[MOST_ROW];
    int64_t x = at[0], end = (int64_t)m->last[0] + 1, first = x < 0 ? -x : 0, n = end - x;
    n = n < (int64_t)c->row ? n : (int64_t)c->row;
    n = inside && n > first ? n - first : 0;
    char *global = (char *)(uintptr_t)m->address + (x + first) * (int64_t)c->size;
    for (unsigned d = 1; n && d < m->rank; d++)
        global += at[d] * (int64_t)m->stride[d - 1];
    char *part = buffer + (n ? first : 0) * (int64_t)c->size;
    uint32_t bytes = (uint32_t)n * c->size;
    if (c->direction == EMIT_TENSOR_LOAD) {
        if (n < (int64_t)c->row)
            fill(m, buffer, c->row * c->size);
        memcpy(part, global, bytes);
        convert(m, part, (uint32_t)n);
        move_row(c, row, buffer, true);
        return;
    }
    move_row(c, row, buffer, false);
    if (c->direction == EMIT_TENSOR_STORE)
        memcpy(global, part, bytes);
    else
        reduce_elements(c->call->what >> EMIT_TENSOR_RED_SHIFT, number_of(m->type), global, part, bytes);
}

static bool
inside(const struct tensor_map *m, const int64_t *at)
{
    bool in = true;
    for (unsigned d = 1; d < m->rank; d++)
        in &= at[d] >= 0 && at[d] <= (int64_t)m->last[d];
    return in;
}

// ---- boxes
static uint32_t
box_extent(const struct tensor_map *m, unsigned d)
{
    uint32_t step = d ? m->element_stride[d] : 1;
    return (m->box[d] + step - 1) / step;
}

static void
copy_tile(const struct copy *c)
{
    const struct tensor_map *m = c->map;
    uint32_t index[TENSOR_DIMS] = {0};
    for (uint32_t row = 0; row < c->rows; row++) {
        int64_t at[TENSOR_DIMS];
        for (unsigned d = 0; d < m->rank; d++)
            at[d] = (int64_t)c->call->at[d] + (int64_t)index[d] * m->element_stride[d];
        copy_row(c, row, at, inside(m, at));
        for (unsigned d = 1; d < m->rank && ++index[d] == box_extent(m, d); d++)
            index[d] = 0;
    }
}

// Four rows of a matrix, each anywhere.
static void
copy_rows(const struct copy *c)
{
    for (uint32_t row = 0; row < c->rows; row++) {
        int64_t at[TENSOR_DIMS] = {c->call->at[0], c->call->at[1 + row]};
        copy_row(c, row, at, inside(c->map, at));
    }
}

// Pixels one after another through the bounding box, whose corners are relative to the tensor's first and last pixel.
static void
copy_im2col(const struct copy *c)
{
    const struct tensor_map *m = c->map;
    unsigned images = m->rank - 1u;
    int64_t base[TENSOR_DIMS];
    for (unsigned d = 0; d < m->rank; d++)
        base[d] = c->call->at[d];
    for (uint32_t row = 0; row < c->rows; row++) {
        int64_t at[TENSOR_DIMS];
        for (unsigned d = 0; d < m->rank; d++)
            at[d] = base[d] + (d && d < images ? c->call->offset[d - 1] : 0);
        copy_row(c, row, at, inside(m, at));
        unsigned d = 1;
        for (; d < images; d++) {
            base[d] += m->element_stride[d];
            if (base[d] <= (int64_t)m->last[d] + m->upper[d - 1])
                break;
            base[d] = m->lower[d - 1];
        }
        if (d == images)
            base[images]++;
    }
}

static void
measure(struct copy *c)
{
    const struct tensor_map *m = c->map;
    unsigned mode = c->call->what & EMIT_TENSOR_MODE;
    c->row = m->im2col ? m->box[0] : box_extent(m, 0);
    c->rows = mode == EMIT_TENSOR_ROWS ? 4 : 1;
    if (m->im2col)
        c->rows = m->box[1];
    for (unsigned d = 1; mode == EMIT_TENSOR_TILE && d < m->rank; d++)
        c->rows *= box_extent(m, d);
}

static void
run(struct copy *c, struct thread *t, uint32_t rank)
{
    struct worker *w = thread_cta(t)->worker;
    c->shared = cluster_address(t, c->call->shared, rank);
    c->offset = c->call->shared & ((1u << RT_RANK_SHIFT) - 1);
    w->user_access = true;
    if (c->map->im2col)
        copy_im2col(c);
    else if ((c->call->what & EMIT_TENSOR_MODE) == EMIT_TENSOR_ROWS)
        copy_rows(c);
    else
        copy_tile(c);
    w->user_access = false;
}

static void
load(struct copy *c, struct thread *t)
{
    uint32_t bytes = c->rows * c->row * c->size, barrier = c->call->barrier;
    if (!c->call->ranks) {
        run(c, t, address_rank(t, c->call->shared));
        uint32_t rank = address_rank(t, barrier);
        pw_mbarrier_complete(t, (uint64_t)(uintptr_t)cluster_address(t, barrier, rank), bytes);
        return;
    }
    for (uint32_t left = c->call->ranks & 0xffff; left; left &= left - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(left);
        run(c, t, rank);
        pw_mbarrier_complete(t, (uint64_t)(uintptr_t)cluster_address(t, barrier, rank), bytes);
    }
}

// A map's contents may be anything.
static bool
good_map(const struct tensor_map *m, unsigned what)
{
    unsigned rank = what >> EMIT_TENSOR_RANK_SHIFT & 15, mode = what & EMIT_TENSOR_MODE;
    bool good = m->magic == TENSOR_MAP_MAGIC && m->rank == rank && rank >= 1 && rank <= TENSOR_DIMS &&
                m->type < TENSOR_TYPES && m->swizzle <= TENSOR_SWIZZLE_128 &&
                (m->atomicity == TENSOR_ATOM_16 || m->swizzle == TENSOR_SWIZZLE_128) &&
                (m->atomicity <= TENSOR_ATOM_64 && m->atomicity != TENSOR_ATOM_32_FLIP_8);
    if (!good || (m->im2col != 0) != (mode == EMIT_TENSOR_IM2COL) || (m->im2col && rank < 3))
        return false;
    if (mode == EMIT_TENSOR_ROWS && rank != 2)
        return false;
    for (unsigned d = 0; d < rank; d++)
        good &= m->element_stride[d] != 0 && (m->im2col || (m->box[d] >= 1 && m->box[d] <= 256));
    return good && m->box[0] <= 256;
}

void
rt_tensor(struct thread *t, const struct tensor_call *call)
{
    struct worker *w = thread_cta(t)->worker;
    struct tensor_map map; // others may change it meanwhile
    w->user_access = true;
    memcpy(&map, (const void *)(uintptr_t)call->map, sizeof map);
    w->user_access = false;
    if (!good_map(&map, call->what)) {
        report_stop(t, "tensor map that is none, or not one for this instruction",
                    __builtin_return_address(0));
        thread_stop(t, BE_ILLEGAL_INSTRUCTION);
    }
    struct copy c = {.map = &map, .call = call, .size = tensor_element_bytes(map.type)};
    c.direction = call->what & EMIT_TENSOR_DIRECTION;
    measure(&c);
    if (c.direction == EMIT_TENSOR_LOAD)
        load(&c, t);
    else
        run(&c, t, address_rank(t, call->shared));
}

// ---- changes of a map
static void
replace(struct tensor_map *m, uint32_t field, uint32_t index, uint64_t v)
{
    switch (field) {
    case EMIT_MAP_ADDRESS:
        m->address = v;
        break;
    case EMIT_MAP_RANK:
        m->rank = (uint8_t)(v + 1);
        break;
    case EMIT_MAP_BOX:
        m->box[index] = (uint16_t)v;
        break;
    case EMIT_MAP_DIM:
        m->last[index] = (uint32_t)v - 1;
        break;
    case EMIT_MAP_STRIDE:
        if (index < TENSOR_DIMS - 1)
            m->stride[index] = v;
        break;
    case EMIT_MAP_ELEMENT_STRIDE:
        m->element_stride[index] = (uint8_t)v;
        break;
    case EMIT_MAP_TYPE:
        m->type = (uint8_t)v;
        break;
    case EMIT_MAP_INTERLEAVE: // only none is had: copies through another one are refused
        m->magic = v ? 0 : TENSOR_MAP_MAGIC;
        break;
    case EMIT_MAP_SWIZZLE:
        m->swizzle = (uint8_t)v;
        break;
    case EMIT_MAP_ATOMICITY:
        m->atomicity = (uint8_t)v;
        break;
    case EMIT_MAP_FILL:
        m->nan_fill = (uint8_t)v;
        break;
    }
}

void
rt_tensormap_replace(struct thread *t, uint32_t field, uint32_t index, uint64_t map, uint64_t value)
{
    struct worker *w = thread_cta(t)->worker;
    w->user_access = true;
    if (index < TENSOR_DIMS)
        replace((struct tensor_map *)(uintptr_t)map, field, index, value);
    w->user_access = false;
}
