// SPDX-License-Identifier: MIT
// Operations across lanes. Lanes that name the same members meet where they are: in a warp that means all lanes at this
// instruction. The common forms are vector code; the rest is rt_lanes().
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <string.h>

static LLVMValueRef
number(struct warp_build *w, uint64_t n)
{
    return LLVMConstInt(w->i32, n, 0);
}

static LLVMValueRef
numbers(struct warp_build *w, int64_t n)
{
    return const_vector(w, w->i32, n, 0);
}

static LLVMValueRef
value32(struct warp_build *w, LLVMValueRef v)
{
    return LLVMBuildTrunc(w->b, vector_of(w, v), vector_type(w, w->i32), "");
}

// ---- shuffles
struct shuffle {
    LLVMValueRef lane, in; // <32 x i32> source lane, <32 x i1> whether it exists
};

// The lanes' numbers, some of their bits.
static LLVMValueRef
lane_numbers(struct warp_build *w, int bits)
{
    LLVMValueRef e[MAX_LANES];
    for (int i = 0; i < w->lanes; i++)
        e[i] = number(w, (uint64_t)(i & bits));
    return LLVMConstVector(e, (unsigned)w->lanes);
}

static struct shuffle
source_lanes(struct warp_build *w, unsigned op, LLVMValueRef b, LLVMValueRef c)
{
    LLVMBuilderRef x = w->b;
    LLVMValueRef lane = lane_numbers(w, WARP - 1), j = NULL, low = numbers(w, WARP - 1);
    b = LLVMBuildAnd(x, b, low, "");
    LLVMValueRef clamp = LLVMBuildAnd(x, c, low, "");
    LLVMValueRef segment = LLVMBuildAnd(x, LLVMBuildLShr(x, c, numbers(w, 8), ""), low, "");
    LLVMValueRef min = LLVMBuildAnd(x, lane, segment, "");
    LLVMValueRef inside = LLVMBuildXor(x, segment, numbers(w, -1), "");
    LLVMValueRef max = LLVMBuildOr(x, min, LLVMBuildAnd(x, clamp, inside, ""), "");
    switch (op) {
    case RT_SHFL_UP:
        j = LLVMBuildSub(x, lane, b, "");
        break;
    case RT_SHFL_DOWN:
        j = LLVMBuildAdd(x, lane, b, "");
        break;
    case RT_SHFL_BFLY:
        j = LLVMBuildXor(x, lane, b, "");
        break;
    default:
        j = LLVMBuildOr(x, min, LLVMBuildAnd(x, b, inside, ""), "");
    }
    struct shuffle s;
    s.in = LLVMBuildICmp(x, op == RT_SHFL_UP ? LLVMIntSGE : LLVMIntSLE, j, max, "");
    s.lane = LLVMBuildAnd(x, LLVMBuildSelect(x, s.in, j, lane, ""), low, "");
    if (w->lanes > WARP) // of its own warp
        s.lane = LLVMBuildOr(x, s.lane, lane_numbers(w, -WARP), "");
    return s;
}

static LLVMValueRef
permute(struct warp_build *w, LLVMValueRef v, LLVMValueRef index)
{
    bool constant = LLVMIsAConstant(index);
    for (unsigned i = 0; constant && i < (unsigned)w->lanes; i++) {
        LLVMValueRef e = LLVMGetAggregateElement(index, i);
        constant = e && LLVMIsAConstantInt(e);
    }
    if (constant)
        return LLVMBuildShuffleVector(w->b, v, LLVMGetPoison(LLVMTypeOf(v)), index, "");
    LLVMValueRef slot = spill(w, v);
    LLVMValueRef p = LLVMBuildGEP2(w->b, w->i32, slot, &index, 1, "");
    LLVMTypeRef t = LLVMTypeOf(v), over[] = {t, LLVMTypeOf(p)};
    LLVMValueRef arg[] = {p, number(w, 4), LLVMConstAllOnes(w->mask_type), LLVMGetPoison(t)};
    return call_intrinsic(w, "llvm.masked.gather", over, 2, arg, 4);
}

static LLVMValueRef
packed(struct warp_build *w, LLVMValueRef value, LLVMValueRef pred)
{
    LLVMTypeRef t = vector_type(w, w->i64);
    LLVMValueRef hi = LLVMBuildShl(w->b, LLVMBuildZExt(w->b, pred, t, ""), const_vector(w, w->i64, 32, 0), "");
    return LLVMBuildOr(w->b, LLVMBuildZExt(w->b, value, t, ""), hi, "");
}

static void
emit_shuffle(struct warp_build *w, LLVMValueRef call, unsigned op)
{
    struct shuffle s = source_lanes(w, op, vector_of(w, LLVMGetOperand(call, 3)), vector_of(w, LLVMGetOperand(call, 4)));
    LLVMValueRef v = permute(w, value32(w, LLVMGetOperand(call, 2)), s.lane);
    define_vector(w, call, packed(w, v, s.in));
}

// ---- votes
static void
emit_vote(struct warp_build *w, LLVMValueRef call, unsigned op, LLVMValueRef set)
{
    LLVMValueRef v = LLVMGetOperand(call, 2), p, ballot;
    p = vector_of(w, v);
    p = LLVMBuildICmp(w->b, LLVMIntNE, p, LLVMConstNull(LLVMTypeOf(p)), "");
    ballot = LLVMBuildAnd(w->b, mask_bits(w, LLVMBuildFreeze(w->b, p, "")), set, "");
    LLVMValueRef all = LLVMBuildICmp(w->b, LLVMIntEQ, ballot, set, "");
    LLVMValueRef none = LLVMBuildICmp(w->b, LLVMIntEQ, ballot, number(w, 0), "");
    LLVMValueRef r = ballot;
    if (op == RT_VOTE_ALL)
        r = all;
    else if (op == RT_VOTE_ANY)
        r = LLVMBuildNot(w->b, none, "");
    else if (op == RT_VOTE_UNI)
        r = LLVMBuildOr(w->b, all, none, "");
    define_scalar(w, call, LLVMBuildZExt(w->b, r, w->i64, ""));
}

static bool
emit_redux(struct warp_build *w, LLVMValueRef call, unsigned op, LLVMValueRef set)
{
    static const struct {
        const char *name;
        uint32_t identity;
    } table[] = {
        {"llvm.vector.reduce.add", 0},          {"llvm.vector.reduce.and", ~0u},
        {"llvm.vector.reduce.or", 0},           {"llvm.vector.reduce.xor", 0},
        {"llvm.vector.reduce.smin", INT32_MAX}, {"llvm.vector.reduce.smax", (uint32_t)INT32_MIN},
        {"llvm.vector.reduce.umin", ~0u},       {"llvm.vector.reduce.umax", 0},
    };
    unsigned k = op - RT_REDUX_ADD;
    if (k >= sizeof table / sizeof *table)
        return false;
    LLVMValueRef m = LLVMBuildBitCast(w->b, set, w->mask_type, ""), v = value32(w, LLVMGetOperand(call, 2));
    v = LLVMBuildSelect(w->b, m, v, splat(w, number(w, table[k].identity)), "");
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef r = call_intrinsic(w, table[k].name, &t, 1, &v, 1);
    define_scalar(w, call, LLVMBuildZExt(w->b, r, w->i64, ""));
    return true;
}

// ---- everything else, through memory
static LLVMValueRef
spill_as(struct warp_build *w, LLVMValueRef v, LLVMTypeRef element)
{
    LLVMValueRef x = vector_of(w, v);
    return spill(w, LLVMBuildZExtOrBitCast(w->b, x, LLVMVectorType(element, WARP), ""));
}

static void
emit_general(struct warp_build *w, LLVMValueRef call, LLVMValueRef members)
{
    LLVMValueRef out = entry_alloca(w, LLVMVectorType(w->i64, WARP));
    LLVMValueRef arg[] = {
        w->thread,
        scalar_of(w, LLVMGetOperand(call, 1)),
        spill_as(w, LLVMGetOperand(call, 2), w->i64),
        spill_as(w, LLVMGetOperand(call, 3), w->i32),
        spill_as(w, LLVMGetOperand(call, 4), w->i32),
        spill(w, members),
        mask_bits(w, block_mask(w)),
        out,
    };
    call_runtime(w, "rt_lanes", LLVMVoidTypeInContext(w->ctx), arg, 8);
    if (is_uniform(shape_of(w, call)))
        define_scalar(w, call, LLVMBuildExtractElement(w->b, reload(w, out, LLVMVectorType(w->i64, WARP)),
                                                       first_lane(w, mask_bits(w, block_mask(w))), ""));
    else
        define_vector(w, call, reload(w, out, LLVMVectorType(w->i64, WARP)));
}

static void
emit_warp_call(struct warp_build *w, LLVMValueRef call, bool active)
{
    uint64_t op = 0;
    LLVMValueRef here = mask_bits(w, block_mask(w)), mask = LLVMGetOperand(call, 5);
    bool one_group = active || is_uniform(shape_of(w, mask));
    constant_operand(call, 1, &op);
    LLVMValueRef set = here;
    if (!active && one_group && w->lanes == WARP) // at other widths all lanes are members
        set = LLVMBuildAnd(w->b, here, scalar_of(w, mask), "");
    unsigned class_ = (unsigned)op & 0xff00;
    if (class_ == RT_SYNC) {
        define_scalar(w, call, LLVMConstInt(w->i64, 0, 0));
    } else if (class_ == (RT_SHFL_UP & 0xff00)) {
        emit_shuffle(w, call, (unsigned)op);
    } else if (class_ == RT_VOTE_ALL && one_group) {
        emit_vote(w, call, (unsigned)op, set);
    } else if (class_ == RT_ACTIVEMASK) {
        define_scalar(w, call, LLVMBuildZExt(w->b, here, w->i64, ""));
    } else if (class_ != RT_REDUX_ADD || !one_group || !emit_redux(w, call, (unsigned)op, set)) {
        emit_general(w, call, active ? splat(w, number(w, ~0u)) : vector_of(w, mask));
    }
}

// ---- barriers
// Lanes that wait where no barrier comes any more count as ended.
LLVMValueRef
ended_lanes(struct warp_build *w)
{
    LLVMValueRef all = LLVMConstNull(w->bits_type);
    for (int b = w->at + 1; b < w->nblocks; b++) {
        const struct wblock *p = &w->block[b];
        if (bit(w->block[w->at].deferred, b) && !p->reaches_barrier && p->pending)
            all = LLVMBuildOr(w->b, all, mask_bits(w, LLVMBuildLoad2(w->b, w->mask_type, p->pending, "")), "");
    }
    return all;
}

static LLVMValueRef
predicates(struct warp_build *w, LLVMValueRef v)
{
    LLVMValueRef p = vector_of(w, v);
    p = LLVMBuildICmp(w->b, LLVMIntNE, p, LLVMConstNull(LLVMTypeOf(p)), "");
    return mask_bits(w, LLVMBuildFreeze(w->b, p, ""));
}

static void
emit_plain_barrier(struct warp_build *w, LLVMValueRef call)
{
    LLVMValueRef arg[] = {w->thread, first_active(w, LLVMGetOperand(call, 1)),
                          count_lanes(w, mask_bits(w, block_mask(w))), count_lanes(w, ended_lanes(w))};
    call_runtime(w, "rt_barrier_group", LLVMVoidTypeInContext(w->ctx), arg, 4);
}

static void
emit_barrier(struct warp_build *w, LLVMValueRef call, enum warp_call kind)
{
    if (w->plain_barriers) {
        emit_plain_barrier(w, call);
        return;
    }
    LLVMValueRef red = number(w, RT_RED_NONE), votes = number(w, 0);
    if (kind == CALL_BARRIER_RED) {
        red = scalar_of(w, LLVMGetOperand(call, 3));
        votes = predicates(w, LLVMGetOperand(call, 4));
    } else if (kind == CALL_BARRIER_ARRIVE) {
        red = number(w, RT_RED_ARRIVE);
    }
    LLVMValueRef arg[] = {w->thread,
                          first_active(w, LLVMGetOperand(call, 1)),
                          first_active(w, LLVMGetOperand(call, 2)),
                          mask_bits(w, block_mask(w)),
                          ended_lanes(w),
                          red,
                          votes};
    LLVMValueRef r = call_runtime(w, "rt_barrier_warp", w->i32, arg, 7);
    if (kind == CALL_BARRIER_RED)
        define_scalar(w, call, r);
}

static void
emit_cluster(struct warp_build *w, enum warp_call kind)
{
    LLVMTypeRef none = LLVMVoidTypeInContext(w->ctx);
    LLVMValueRef arg[] = {w->thread, mask_bits(w, block_mask(w)), ended_lanes(w)};
    if (kind == CALL_CLUSTER_ARRIVE)
        call_runtime(w, "rt_cluster_arrive_warp", none, arg, 3);
    else
        call_runtime(w, "rt_cluster_wait", none, arg, 1);
}

void
emit_cross(struct warp_build *w, LLVMValueRef call, enum warp_call kind)
{
    if (kind == CALL_MATRIX)
        emit_matrix(w, call);
    else if (kind == CALL_CLUSTER_ARRIVE || kind == CALL_CLUSTER_WAIT)
        emit_cluster(w, kind);
    else if (kind == CALL_WARP || kind == CALL_WARP_ACTIVE)
        emit_warp_call(w, call, kind == CALL_WARP_ACTIVE);
    else
        emit_barrier(w, call, kind);
}
