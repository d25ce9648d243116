// SPDX-License-Identifier: MIT
// From a kernel in SIMT IR to its warp form: eligibility, variants, and the function that chooses among them.
#include "backend/cpu/load.h"
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"
#include "base/log.h"

#include <llvm-c/Target.h>
#include <string.h>

static bool
refuse(struct warp_build *w, const char *why)
{
    w->refused = why;
    return false;
}

#define FOR_ALL_INSTRUCTIONS(w, b, i)                                                                                  \
    for (int b = 0; b < (w)->nblocks; b++)                                                                             \
        for (LLVMValueRef i = LLVMGetFirstInstruction((w)->block[b].bb); i; i = LLVMGetNextInstruction(i))

// ---- eligibility
static bool
is_call_of(LLVMValueRef i, const char *prefix)
{
    LLVMValueRef f = LLVMIsACallInst(i) ? called_function(i) : NULL;
    return f && !strncmp(warp_name(f), prefix, strlen(prefix));
}

static bool
has_vector_form(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMVoidTypeKind:
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMIntegerTypeKind:
    case LLVMLabelTypeKind:
    case LLVMMetadataTypeKind:
        return true;
    case LLVMPointerTypeKind:
        return LLVMGetPointerAddressSpace(t) == 0;
    default:
        return false;
    }
}

static bool
good_types(LLVMValueRef i)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMStructTypeKind)
        return op == LLVMInsertValue || (op == LLVMCall && (is_elementwise(i) || classify_call(i) == CALL_MATRIX));
    if (!has_vector_form(LLVMTypeOf(i)))
        return false;
    if (op == LLVMExtractValue || op == LLVMCall)
        return true;
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        if (!has_vector_form(LLVMTypeOf(LLVMGetOperand(i, (unsigned)k))))
            return false;
    return true;
}

static bool
has_known_forms(struct warp_build *w)
{
    uint64_t op;
    FOR_ALL_INSTRUCTIONS(w, b, i)
    {
        if (!good_types(i))
            return refuse(w, "a value of a vector or structure type");
        if (LLVMIsACallInst(i)) {
            enum warp_call kind = classify_call(i);
            if ((kind == CALL_WARP || kind == CALL_WARP_ACTIVE) && !constant_operand(i, 1, &op))
                return refuse(w, "a warp operation that is not known");
        }
    }
    return true;
}

// Does the value come, within the loop, from memory that other lanes may be about to change? Compare-and-swap with what was
// last read is retried, not waited for: each round one lane succeeds.
static bool
reads_others(struct warp_build *w, const struct wloop *l, LLVMValueRef v, struct intmap *seen)
{
    struct value *x = value_of(w, v);
    if (!x || !bit(l->blocks, x->block) || intmap_get(seen, (uint64_t)(uintptr_t)v))
        return false;
    intmap_put(seen, (uint64_t)(uintptr_t)v, v);
    if (is_call_of(v, "pw_atom_cas_")) {
        struct value *cmp = value_of(w, LLVMGetOperand(v, 2));
        if (!cmp || !bit(l->blocks, cmp->block))
            return true;
    } else if (is_call_of(v, "pw_atom_")) {
        return true;
    } else if (LLVMIsALoadInst(v) && (LLVMGetVolatile(v) || LLVMGetOrdering(v) != LLVMAtomicOrderingNotAtomic)) {
        return true;
    }
    for (int k = 0; k < LLVMGetNumOperands(v); k++)
        if (reads_others(w, l, LLVMGetOperand(v, (unsigned)k), seen))
            return true;
    return false;
}

// A lane that waits in a loop for another lane of its warp waits forever, if lanes that left the loop stand still.
static bool
may_wait_for_lane(struct warp_build *w, const struct wloop *l)
{
    bool spins = false, waits = false;
    struct intmap seen = {0};
    FOR_ALL_INSTRUCTIONS(w, b, i)
    spins |= bit(l->blocks, b) && (is_call_of(i, "pw_spin") || is_call_of(i, "pw_nanosleep") || is_call_of(i, "rt_spin"));
    for (int b = 0; b < w->nblocks && spins; b++)
        if (bit(l->blocks, b) && w->block[b].cond)
            waits |= reads_others(w, l, w->block[b].cond, &seen);
    intmap_free(&seen);
    return spins && waits;
}

static bool
of_cluster(enum warp_call k)
{
    return k == CALL_CLUSTER_ARRIVE || k == CALL_CLUSTER_WAIT;
}

static bool
lanes_meet(LLVMValueRef i)
{
    if (!LLVMIsACallInst(i))
        return false;
    enum warp_call k = classify_call(i);
    return k == CALL_WARP || k == CALL_MATRIX || k == CALL_BARRIER || k == CALL_BARRIER_RED || k == CALL_BARRIER_ARRIVE || of_cluster(k);
}

static void
reach(struct warp_build *w, int from, int end, bool *seen)
{
    for (int b = from; b < w->nblocks; b++) {
        if (b == from && from != end)
            seen[b] = true;
        for (int k = 0; seen[b] && k < w->block[b].nsucc; k++)
            if (w->block[b].succ[k] > b && w->block[b].succ[k] != end)
                seen[w->block[b].succ[k]] = true;
    }
}

// Lanes that meet from both arms of a divergent branch may be meant to meet each other.
static bool
meets_across_arms(struct warp_build *w, const bool *meeting)
{
    for (int x = 0; x < w->nblocks; x++) {
        const struct wblock *b = &w->block[x];
        if (!b->divergent || b->succ[0] <= x || b->succ[1] <= x)
            continue;
        bool *arm[2], meets[2] = {false, false};
        for (int k = 0; k < 2; k++) {
            arm[k] = arena_array(&w->arena, bool, w->nblocks);
            reach(w, b->succ[k], b->ipdom, arm[k]);
        }
        for (int i = x; i < w->nblocks; i++)
            for (int k = 0; k < 2; k++)
                meets[k] |= meeting[i] && arm[k][i] && !arm[!k][i];
        if (meets[0] && meets[1])
            return true;
    }
    return false;
}

// Lanes that did not come into the loop stand still meanwhile.
static bool
is_aside(struct warp_build *w, const struct wloop *l)
{
    return bit_first(w, w->block[l->header].influence) != NONE;
}

static bool
can_progress(struct warp_build *w)
{
    bool mbarriers = false;
    FOR_ALL_INSTRUCTIONS(w, b, i)
    mbarriers |= is_call_of(i, "pw_mbarrier_") || is_call_of(i, "rt_tensor") || is_call_of(i, "rt_bulk_multicast");
    for (int l = 0; l < w->nloops; l++)
        if ((w->loop[l].divergent || (mbarriers && is_aside(w, &w->loop[l]))) && may_wait_for_lane(w, &w->loop[l]))
            return refuse(w, "lanes of one warp may wait for each other in a loop");
    bool *meeting = arena_array(&w->arena, bool, w->nblocks), any = false;
    FOR_ALL_INSTRUCTIONS(w, b, i)
    any |= meeting[b] |= lanes_meet(i);
    if (any && meets_across_arms(w, meeting))
        return refuse(w, "lanes may meet from both sides of a branch");
    return true;
}

static bool
is_plain_barrier(LLVMValueRef i, enum warp_call kind)
{
    uint64_t count;
    return kind == CALL_BARRIER && constant_operand(i, 2, &count) && !count;
}

// A shuffle, or a wait, of all lanes: each warp of a wider group does it by itself.
static bool
is_whole_shuffle(LLVMValueRef call)
{
    uint64_t op, members;
    return constant_operand(call, 1, &op) && constant_operand(call, 5, &members) && (uint32_t)members == UINT32_MAX &&
           ((op & 0xff00) == RT_SYNC || (op & 0xff00) == (RT_SHFL_UP & 0xff00));
}

// Does anything tell that the group is not one warp, or need the state of one?
static bool
knows_warp(struct warp_build *w, LLVMValueRef i)
{
    if (LLVMIsALoadInst(i)) {
        enum pw_field f = pw_field(w, LLVMGetOperand(i, 0));
        return f == PW_WARP;
    }
    if (!LLVMIsACallInst(i))
        return false;
    enum warp_call k = classify_call(i);
    bool meets = k == CALL_MATRIX || (k == CALL_WARP && !is_whole_shuffle(i)) || k == CALL_WARP_ACTIVE || k == CALL_BARRIER_RED || k == CALL_BARRIER_ARRIVE ||
                 of_cluster(k);
    return meets || (k == CALL_BARRIER && !is_plain_barrier(i, k));
}

static void
look_around(struct warp_build *w)
{
    bool shuffles = false;
    w->plain_barriers = w->any_width = true;
    FOR_ALL_INSTRUCTIONS(w, b, i)
    {
        enum pw_field f = LLVMIsALoadInst(i) ? pw_field(w, LLVMGetOperand(i, 0)) : PW_NONE;
        w->reads_rows |= f == PW_TID_X || f == PW_TID_Y || f == PW_TID_Z;
        if (LLVMIsACallInst(i) && is_call_of(i, "rt_barrier")) {
            w->has_barrier = true;
            w->plain_barriers &= is_plain_barrier(i, classify_call(i));
        }
        if (LLVMIsACallInst(i) && of_cluster(classify_call(i))) {
            w->has_barrier = true;
            w->plain_barriers = false;
        }
        w->any_width &= !knows_warp(w, i);
        shuffles |= LLVMIsACallInst(i) && classify_call(i) == CALL_WARP;
    }
    // A warp that works by itself, without barriers, addresses memory by its number: uniform only within one warp.
    w->any_width &= !shuffles || w->has_barrier;
}

// ---- the variant
static void
set_width(struct warp_build *w, int lanes, int row)
{
    w->lanes = lanes;
    w->log_lanes = __builtin_ctz((unsigned)lanes);
    w->row = row;
    w->mask_type = LLVMVectorType(w->i1, (unsigned)lanes);
    w->bits_type = LLVMIntTypeInContext(w->ctx, (unsigned)lanes);
}

static bool
vectorise(struct warp_build *w, const struct warp_request *r)
{
    set_width(w, WARP, WARP);
    if (!warp_prepare(w, r->target_machine) || !cfg_build(w))
        return false;
    look_around(w);
    w->rows = w->reads_rows; // with less known than in any variant
    diverge(w);
    if (!has_known_forms(w) || !can_progress(w))
        return false;
    for (int l = 0; l < w->nloops; l++) // nor may warps of a group wait for each other
        w->any_width &= !may_wait_for_lane(w, &w->loop[l]);
    LLVMSetValueName2(w->old, "pw.thread", 9);
    if (prefers_walk(w)) {
        w->variant.lanes = RT_MAX_THREADS;
        emit_walk(w);
        return true;
    }
    w->variant = choose_variant(w, r->shape);
    set_width(w, w->variant.lanes, w->variant.row);
    w->rows = w->variant.rows;
    diverge(w);
    find_borders(w);
    w->on_borders = r->params && w->nborders &&
                    on_borders(w->border, w->nborders, (uint32_t)w->lanes, r->params, r->param_size);
    if (w->on_borders)
        diverge(w);
    plan(w);
    warp_emit(w, KERNEL_SYMBOL);
    if (w->broken) {
        LLVMDeleteFunction(w->fn);
        LLVMSetValueName2(w->old, KERNEL_SYMBOL, sizeof KERNEL_SYMBOL - 1);
        return refuse(w, "a value is used before it is defined");
    }
    LLVMDeleteFunction(w->old);
    return true;
}

static void
init(struct warp_build *w)
{
    w->ctx = LLVMGetModuleContext(w->m);
    w->data = LLVMGetModuleDataLayout(w->m);
    w->i1 = LLVMInt1TypeInContext(w->ctx);
    w->i8 = LLVMInt8TypeInContext(w->ctx);
    w->i32 = LLVMInt32TypeInContext(w->ctx);
    w->i64 = LLVMInt64TypeInContext(w->ctx);
    w->ptr = LLVMPointerTypeInContext(w->ctx, 0);
}

struct warp_result
warp_vectorise(LLVMModuleRef m, const char *kernel, const struct warp_request *r)
{
    struct warp_build w = {.m = m, .kernel = kernel, .old = LLVMGetNamedFunction(m, KERNEL_SYMBOL), .registers = r->registers};
    init(&w);
    bool done = vectorise(&w, r);
    if (!done)
        LOG(LOG_COMPILE, "kernel %s: thread mode: %s", kernel, w.refused ? w.refused : "no reason");
    else if (w.variant.lanes == RT_MAX_THREADS)
        LOG(LOG_COMPILE, "kernel %s: thread after thread", kernel);
    else
        LOG(LOG_COMPILE, "kernel %s: %d lanes in rows of %d%s", kernel, w.variant.lanes, w.variant.row, w.variant.full ? w.on_borders ? ", sizes are multiples" : "" : ", masked");
    intmap_free(&w.values);
    intmap_free(&w.block_at);
    arena_free(&w.arena);
    struct warp_result result = {.lanes = done ? (uint32_t)w.variant.lanes : 0,
                                 .rows = w.variant.rows,
                                 .threads = w.needs_threads,
                                 .nborders = done ? w.nborders : 0,
                                 .on_borders = w.on_borders};
    memcpy(result.border, w.border, sizeof result.border);
    return result;
}
