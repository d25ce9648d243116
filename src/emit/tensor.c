// SPDX-License-Identifier: MIT
// Copies of boxes of tensors (TMA), and changes of tensor maps in memory.
#include "emit/async.h"

enum { MOST_COORDINATES = 5, MOST_OFFSETS = 3 };

struct tensor {
    unsigned rank, mode, ncoord, noffset;
    bool load, prefetch, on_barrier, multicast, cluster;
    unsigned map, shared, barrier, next; // operands
};

static const struct {
    enum ptx_mod mod;
    int mode; // enum emit_tensor; negative: refused
} modes[] = {
    {PTX_MOD_TILE_GATHER4, EMIT_TENSOR_ROWS}, {PTX_MOD_TILE_SCATTER4, EMIT_TENSOR_ROWS},
    {PTX_MOD_IM2COL_W_128, -1},               {PTX_MOD_IM2COL_W, -1},
    {PTX_MOD_IM2COL_NO_OFFS, EMIT_TENSOR_IM2COL}, {PTX_MOD_IM2COL, EMIT_TENSOR_IM2COL},
    {PTX_MOD_TILE, EMIT_TENSOR_TILE},
};

static unsigned
dimensions(const struct ptx_inst *i)
{
    static const enum ptx_mod dim[] = {PTX_MOD_1D, PTX_MOD_2D, PTX_MOD_3D, PTX_MOD_4D, PTX_MOD_5D};
    for (unsigned k = 0; k < 5; k++)
        if (ptx_has(i, dim[k]))
            return k + 1;
    return 0;
}

static bool
find_mode(struct emitter *e, const struct ptx_inst *i, struct tensor *t)
{
    t->mode = EMIT_TENSOR_TILE;
    for (unsigned k = 0; k < sizeof modes / sizeof *modes; k++)
        if (ptx_has(i, modes[k].mod)) {
            if (modes[k].mode < 0)
                return em_refuse(e, i, "with %s is not supported", ptx_mod_name(modes[k].mod));
            t->mode = (unsigned)modes[k].mode;
            break;
        }
    return true;
}

// Where the operands are: load [dst], [map, at], [barrier] ...; store [map, at], [src]; prefetch [map, at].
static bool
describe(struct emitter *e, const struct ptx_inst *i, struct tensor *t)
{
    t->rank = dimensions(i);
    t->prefetch = ptx_has(i, PTX_MOD_PREFETCH);
    t->on_barrier = ptx_has(i, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
    t->load = t->on_barrier;
    t->multicast = ptx_has(i, PTX_MOD_MULTICAST_CLUSTER);
    t->cluster = t->load && em_names_cluster(i, 0);
    t->map = t->load ? 1 : 0;
    t->shared = t->load ? 0 : 1;
    t->barrier = 2;
    t->next = t->load ? 3 : t->prefetch ? 1 : 2;
    if (!find_mode(e, i, t))
        return false;
    if (t->multicast && ptx_has(i, PTX_MOD_CTA_GROUP_2))
        return em_refuse(e, i, "with .multicast::cluster and .cta_group::2 is not supported");
    bool offsets = t->mode == EMIT_TENSOR_IM2COL && !ptx_has(i, PTX_MOD_IM2COL_NO_OFFS) && t->load;
    t->noffset = offsets && t->rank > 2 ? t->rank - 2 : 0;
    t->ncoord = t->mode == EMIT_TENSOR_ROWS ? 5 : t->rank;
    return true;
}

static bool
read_numbers(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o, enum ptx_type t,
             unsigned n, LLVMValueRef *out)
{
    struct ptx_operand part[EM_REG_PARTS_MAX];
    if (em_parts(e, o, part) != n)
        return em_refuse(e, i, "needs %u numbers", n);
    for (unsigned k = 0; k < n; k++)
        out[k] = em_resize(e, em_operand(e, i, &part[k], t), e->i32, false);
    return true;
}

static LLVMValueRef
map_address(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o)
{
    if (o->kind != PTX_O_SYM)
        return em_operand(e, i, o, PTX_B64);
    return em_to_generic(e, em_symbol_value(e, i, o->sym, o->off), em_symbol_space(ptx_def(o->sym)));
}

// A shared address as one in shared::cluster; a generic address of a barrier or buffer becomes one.
static LLVMValueRef
shared_operand(struct emitter *e, const struct ptx_inst *i, unsigned k)
{
    return em_cluster_operand(e, i, k);
}

// pw.tensor(what, map, shared, at[5], offset[3], barrier, mask)
bool
em_tensor_copy(struct emitter *e, const struct ptx_inst *i)
{
    struct tensor t = {0};
    if (!describe(e, i, &t))
        return false;
    if (t.prefetch)
        return true;
    unsigned more = t.next + (t.noffset != 0);
    const struct ptx_operand *map = &i->operand[t.map];
    if (!t.rank || i->noperand < more + t.multicast || map->kind != PTX_O_TEX || map->n != 2)
        return em_refuse(e, i, "is malformed");
    LLVMValueRef none = em_int(e, e->i32, 0);
    LLVMValueRef arg[] = {NULL, NULL, NULL, none, none, none, none, none, none, none, none, none, none};
    if (!read_numbers(e, i, &map->elem[1], PTX_B32, t.ncoord, &arg[3]) ||
        (t.noffset && !read_numbers(e, i, &i->operand[t.next], PTX_B16, t.noffset, &arg[8])))
        return false;
    bool reduce = i->op == PTX_OP_CP_REDUCE_ASYNC_BULK;
    unsigned what = t.load ? EMIT_TENSOR_LOAD : reduce ? EMIT_TENSOR_REDUCE : EMIT_TENSOR_STORE;
    what |= t.mode | t.rank << EMIT_TENSOR_RANK_SHIFT;
    what |= reduce ? em_reduction(i) << EMIT_TENSOR_RED_SHIFT : 0;
    arg[0] = em_int(e, e->i32, what);
    arg[1] = map_address(e, i, &map->elem[0]);
    arg[2] = shared_operand(e, i, t.shared);
    if (t.on_barrier)
        arg[11] = shared_operand(e, i, t.barrier);
    if (t.multicast)
        arg[12] = em_resize(e, em_src(e, i, more, PTX_B16), e->i32, false);
    em_pw(e, "tensor", e->void_, arg, 13);
    return true;
}

// ---- tensormap.replace.tile.FIELD [map] {, index}, value
static const struct {
    enum ptx_mod mod;
    enum emit_tensormap_field field;
    bool indexed;
} fields[] = {
    {PTX_MOD_GLOBAL_ADDRESS, EMIT_MAP_ADDRESS, false},
    {PTX_MOD_RANK, EMIT_MAP_RANK, false},
    {PTX_MOD_BOX_DIM, EMIT_MAP_BOX, true},
    {PTX_MOD_GLOBAL_DIM, EMIT_MAP_DIM, true},
    {PTX_MOD_GLOBAL_STRIDE, EMIT_MAP_STRIDE, true},
    {PTX_MOD_ELEMENT_STRIDE, EMIT_MAP_ELEMENT_STRIDE, true},
    {PTX_MOD_ELEMTYPE, EMIT_MAP_TYPE, false},
    {PTX_MOD_INTERLEAVE_LAYOUT, EMIT_MAP_INTERLEAVE, false},
    {PTX_MOD_SWIZZLE_MODE, EMIT_MAP_SWIZZLE, false},
    {PTX_MOD_SWIZZLE_ATOMICITY, EMIT_MAP_ATOMICITY, false},
    {PTX_MOD_FILL_MODE, EMIT_MAP_FILL, false},
};

bool
emit_tensormap_replace(struct emitter *e, const struct ptx_inst *i)
{
    unsigned k = 0;
    while (k < sizeof fields / sizeof *fields && !ptx_has(i, fields[k].mod))
        k++;
    if (k == sizeof fields / sizeof *fields || i->noperand != 2u + fields[k].indexed)
        return em_refuse(e, i, "is malformed");
    bool wide = i->type[0] == PTX_B64;
    unsigned last = i->noperand - 1u;
    LLVMValueRef value = em_src(e, i, last, wide ? PTX_B64 : PTX_B32);
    LLVMValueRef arg[] = {em_int(e, e->i32, fields[k].field),
                          fields[k].indexed ? em_src(e, i, 1, PTX_B32) : em_int(e, e->i32, 0),
                          em_generic_operand(e, i, 0, i->space), em_resize(e, value, e->i64, false)};
    em_pw(e, "tensormap.replace", e->void_, arg, 4);
    return true;
}

// Copies a map from shared to global memory and lets others use it.
bool
emit_tensormap_cp_fenceproxy(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef arg[] = {em_generic_operand(e, i, 0, PTX_SPACE_GLOBAL),
                          em_generic_operand(e, i, 1, PTX_SPACE_SHARED), em_src(e, i, 2, PTX_U32),
                          em_int(e, e->i32, 0xffff)};
    em_pw(e, "bulk.copy", e->void_, arg, 4);
    em_fence(e, "release", em_scope(i, "sys"));
    return true;
}
