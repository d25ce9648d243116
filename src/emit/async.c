// SPDX-License-Identifier: MIT
// Asynchronous copies, done at once where they are written: their groups are complete when they are made, and mbarriers are
// told at once. docs/emit.md says why no program can tell.
#include "emit/async.h"

// ---- cp.async [dst], [src], size {, src-size} {, policy}: what lies beyond src-size is zero. A predicate instead of src-size
// says that the source is ignored.
static LLVMValueRef
bytes_to_read(struct emitter *e, const struct ptx_inst *i, uint64_t size)
{
    const struct ptx_operand *o = i->noperand > 3 ? &i->operand[3] : NULL;
    LLVMValueRef all = em_int(e, e->i32, size);
    if (!o || (o->kind == PTX_O_REG && e->func->reg[o->reg].type == PTX_B64))
        return all;
    bool predicate = o->kind == PTX_O_REG && e->func->reg[o->reg].type == PTX_PRED;
    if (predicate)
        return ir_select(e, em_operand(e, i, o, PTX_PRED), em_int(e, e->i32, 0), all);
    return ir_call2(e, "llvm.umin", em_operand(e, i, o, PTX_B32), all);
}

static LLVMValueRef
pointer_in(struct emitter *e, const struct ptx_inst *i, unsigned operand, enum ptx_space space)
{
    struct ptx_inst access = *i;
    access.space = (uint8_t)space;
    return em_pointer(e, &access, &i->operand[operand], NULL);
}

static bool
copy(struct emitter *e, const struct ptx_inst *i)
{
    uint64_t size = i->operand[2].kind == PTX_O_INT ? i->operand[2].ival : 0;
    if (size != 4 && size != 8 && size != 16)
        return em_refuse(e, i, "copies %llu bytes", (unsigned long long)size);
    LLVMValueRef to = pointer_in(e, i, 0, PTX_SPACE_SHARED),
                 from = pointer_in(e, i, 1, PTX_SPACE_GLOBAL);
    LLVMValueRef n = bytes_to_read(e, i, size);
    uint64_t known;
    if (ir_constant(n, &known) && known == size) {
        LLVMBuildMemCpy(e->b, to, (unsigned)size, from, (unsigned)size, em_int(e, e->i64, size));
        return true;
    }
    LLVMBuildMemSet(e->b, to, em_int(e, e->i8, 0), em_int(e, e->i64, size), (unsigned)size);
    LLVMBuildMemCpy(e->b, to, (unsigned)size, from, 1, em_resize(e, n, e->i64, false));
    return true;
}

// The thread's copies are complete. With .noinc that is one of the arrivals that the barrier expects; without, one that is
// counted in and out.
static bool
arrive(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef arg[] = {em_generic_barrier(e, i, 0, em_names_cluster(i, 0)), em_int(e, e->i32, 1),
                          em_int(e, e->i32, 0)};
    if (!ptx_has(i, PTX_MOD_NOINC))
        return true;
    em_fence(e, "release", "cta");
    em_pw(e, "mbarrier.arrive", e->i64, arg, 3);
    return true;
}

bool
emit_cp_async(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_MBARRIER))
        return arrive(e, i);
    if (ptx_has(i, PTX_MOD_COMMIT_GROUP) || ptx_has(i, PTX_MOD_WAIT_GROUP) ||
        ptx_has(i, PTX_MOD_WAIT_ALL))
        return true;
    return i->noperand >= 3 ? copy(e, i) : em_refuse(e, i, "is malformed");
}

// ---- cp.async.bulk and cp.reduce.async.bulk [dst], [src], size {, [mbarrier] {, cluster mask}} {, policy} {, byte mask}
bool
em_describe_bulk(struct emitter *e, const struct ptx_inst *i, struct bulk *b)
{
    unsigned shared = 0;
    b->to = i->space;
    b->from = i->space2;
    b->on_barrier = ptx_has(i, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
    b->to_cluster = b->to == PTX_SPACE_SHARED && em_names_cluster(i, shared++);
    b->from_cluster = b->from == PTX_SPACE_SHARED && em_names_cluster(i, shared);
    b->multicast = ptx_has(i, PTX_MOD_MULTICAST_CLUSTER);
    if (b->from_cluster || (b->multicast && !b->to_cluster))
        return em_refuse(e, i, "copies between spaces for which there is no form");
    return true;
}

LLVMValueRef
em_bulk_operand(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_space space,
                bool cluster)
{
    if (!cluster)
        return em_generic_operand(e, i, k, space);
    LLVMValueRef a = em_cluster_operand(e, i, k);
    return em_pw(e, "cluster.to_generic", e->i64, &a, 1);
}

static bool
multicast(struct emitter *e, const struct ptx_inst *i, const struct bulk *b)
{
    LLVMValueRef arg[] = {em_cluster_operand(e, i, 0), em_generic_operand(e, i, 1, b->from),
                          em_src(e, i, 2, PTX_U32), em_cluster_operand(e, i, 3),
                          em_resize(e, em_src(e, i, 4, PTX_B16), e->i32, false)};
    em_pw(e, "bulk.multicast", e->void_, arg, 5);
    return true;
}

static bool
bulk_copy(struct emitter *e, const struct ptx_inst *i)
{
    struct bulk b = {0};
    if (!em_describe_bulk(e, i, &b))
        return false;
    if (ptx_has(i, PTX_MOD_IGNORE_OOB))
        return em_refuse(e, i, "with .ignore_oob is not supported");
    if (i->noperand < 3u + b.on_barrier + b.multicast)
        return em_refuse(e, i, "is malformed");
    if (b.multicast)
        return multicast(e, i, &b);
    bool masked = ptx_has(i, PTX_MOD_CP_MASK);
    LLVMValueRef arg[] = {em_bulk_operand(e, i, 0, b.to, b.to_cluster),
                          em_bulk_operand(e, i, 1, b.from, false), em_src(e, i, 2, PTX_U32),
                          masked ? em_resize(e, em_src(e, i, i->noperand - 1u, PTX_B16), e->i32, false)
                                 : em_int(e, e->i32, 0xffff)};
    em_pw(e, "bulk.copy", e->void_, arg, 4);
    if (b.on_barrier)
        em_complete_tx(e, em_bulk_operand(e, i, 3, PTX_SPACE_SHARED, b.to_cluster), arg[2]);
    return true;
}

bool
emit_cp_async_bulk(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_TENSOR))
        return em_tensor_copy(e, i);
    if (ptx_has(i, PTX_MOD_COMMIT_GROUP) || ptx_has(i, PTX_MOD_WAIT_GROUP) ||
        ptx_has(i, PTX_MOD_PREFETCH))
        return true;
    return bulk_copy(e, i);
}

static const struct {
    enum ptx_mod mod;
    enum emit_red op;
} reductions[] = {
    {PTX_MOD_ADD, EMIT_RED_ADD}, {PTX_MOD_MIN, EMIT_RED_MIN}, {PTX_MOD_MAX, EMIT_RED_MAX},
    {PTX_MOD_INC, EMIT_RED_INC}, {PTX_MOD_DEC, EMIT_RED_DEC}, {PTX_MOD_AND, EMIT_RED_AND},
    {PTX_MOD_OR, EMIT_RED_OR},   {PTX_MOD_XOR, EMIT_RED_XOR},
};

unsigned
em_reduction(const struct ptx_inst *i)
{
    for (unsigned k = 0; k < sizeof reductions / sizeof *reductions; k++)
        if (ptx_has(i, reductions[k].mod))
            return reductions[k].op;
    return EMIT_REDS;
}

static int
number_kind(enum ptx_type t)
{
    static const int8_t kind[PTX_TYPES] = {
        [PTX_U32] = 1 + EMIT_U32,   [PTX_B32] = 1 + EMIT_U32,   [PTX_S32] = 1 + EMIT_S32,
        [PTX_U64] = 1 + EMIT_U64,   [PTX_B64] = 1 + EMIT_U64,   [PTX_S64] = 1 + EMIT_S64,
        [PTX_F16] = 1 + EMIT_F16,   [PTX_BF16] = 1 + EMIT_BF16, [PTX_F32] = 1 + EMIT_F32,
        [PTX_F64] = 1 + EMIT_F64,
    };
    return kind[t] - 1;
}

bool
emit_cp_reduce(struct emitter *e, const struct ptx_inst *i)
{
    struct bulk b = {0};
    if (ptx_has(i, PTX_MOD_TENSOR))
        return em_tensor_copy(e, i);
    if (!em_describe_bulk(e, i, &b))
        return false;
    unsigned op = em_reduction(i);
    int kind = number_kind(i->type[0]);
    if (op == EMIT_REDS || kind < 0 || i->noperand < 3u + b.on_barrier)
        return em_refuse(e, i, "is malformed");
    LLVMValueRef arg[] = {em_int(e, e->i32, op), em_int(e, e->i32, (unsigned)kind),
                          em_bulk_operand(e, i, 0, b.to, b.to_cluster),
                          em_bulk_operand(e, i, 1, b.from, false), em_src(e, i, 2, PTX_U32)};
    em_pw(e, "bulk.reduce", e->void_, arg, 5);
    if (b.on_barrier)
        em_complete_tx(e, em_bulk_operand(e, i, 3, PTX_SPACE_SHARED, b.to_cluster), arg[4]);
    return true;
}

// st.bulk [dst], size, 0
bool
emit_st_bulk(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef p = em_pointer(e, i, &i->operand[0], NULL), n = em_src(e, i, 1, PTX_U64);
    LLVMBuildMemSet(e->b, p, em_int(e, e->i8, 0), n, 8);
    return true;
}
