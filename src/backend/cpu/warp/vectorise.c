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
        return op == LLVMInsertValue || (op == LLVMCall && is_elementwise(i));
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
lanes_meet(LLVMValueRef i)
{
    if (!LLVMIsACallInst(i))
        return false;
    enum warp_call k = classify_call(i);
    return k == CALL_WARP || k == CALL_BARRIER || k == CALL_BARRIER_RED || k == CALL_BARRIER_ARRIVE;
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

static bool
can_progress(struct warp_build *w)
{
    for (int l = 0; l < w->nloops; l++)
        if (w->loop[l].divergent && may_wait_for_lane(w, &w->loop[l]))
            return refuse(w, "lanes of one warp may wait for each other in a loop");
    bool *meeting = arena_array(&w->arena, bool, w->nblocks), any = false;
    FOR_ALL_INSTRUCTIONS(w, b, i)
    any |= meeting[b] |= lanes_meet(i);
    if (any && meets_across_arms(w, meeting))
        return refuse(w, "lanes may meet from both sides of a branch");
    return true;
}

static void
look_around(struct warp_build *w)
{
    FOR_ALL_INSTRUCTIONS(w, b, i)
    {
        enum pw_field f = LLVMIsALoadInst(i) ? pw_field(w, LLVMGetOperand(i, 0)) : PW_NONE;
        w->reads_rows |= f == PW_TID_X || f == PW_TID_Y || f == PW_TID_Z;
        w->has_barrier |= is_call_of(i, "rt_barrier");
    }
}

// ---- variants
static void
emit_variant(struct warp_build *w, const char *name, bool rows, bool full)
{
    w->rows = rows;
    w->full = full;
    diverge(w);
    plan(w);
    warp_emit(w, name);
}

static void
call_variant(struct warp_build *w, LLVMBuilderRef b, LLVMValueRef chooser, const char *name)
{
    LLVMValueRef f = LLVMGetNamedFunction(w->m, name);
    LLVMValueRef arg[] = {LLVMGetParam(chooser, 0), LLVMGetParam(chooser, 1), LLVMGetParam(chooser, 2)};
    LLVMBuildCall2(b, LLVMGlobalGetValueType(f), f, arg, 3, "");
    LLVMBuildRetVoid(b);
}

// pw.kernel(first thread, parameters, lanes, whether the warp spans rows)
static void
emit_chooser(struct warp_build *w)
{
    LLVMTypeRef arg[] = {w->ptr, w->ptr, w->i32, w->i32};
    LLVMValueRef f =
        LLVMAddFunction(w->m, KERNEL_SYMBOL, LLVMFunctionType(LLVMVoidTypeInContext(w->ctx), arg, 4, 0));
    LLVMBuilderRef b = LLVMCreateBuilderInContext(w->ctx);
    LLVMBasicBlockRef entry = LLVMAppendBasicBlockInContext(w->ctx, f, ""),
                      fast = LLVMAppendBasicBlockInContext(w->ctx, f, ""),
                      any = LLVMAppendBasicBlockInContext(w->ctx, f, "");
    LLVMPositionBuilderAtEnd(b, entry);
    LLVMValueRef full = LLVMBuildICmp(b, LLVMIntEQ, LLVMGetParam(f, 2), LLVMConstAllOnes(w->i32), "");
    LLVMValueRef row = LLVMBuildICmp(b, LLVMIntEQ, LLVMGetParam(f, 3), LLVMConstNull(w->i32), "");
    LLVMBuildCondBr(b, LLVMBuildAnd(b, full, row, ""), fast, any);
    LLVMPositionBuilderAtEnd(b, fast);
    call_variant(w, b, f, "pw.warp.full");
    LLVMPositionBuilderAtEnd(b, any);
    call_variant(w, b, f, "pw.warp.any");
    LLVMDisposeBuilder(b);
}

static bool
vectorise(struct warp_build *w, void *target_machine)
{
    if (!warp_prepare(w, target_machine) || !cfg_build(w))
        return false;
    look_around(w);
    w->rows = w->reads_rows; // with less known than in the other variant
    diverge(w);
    if (!has_known_forms(w) || !can_progress(w))
        return false;
    LLVMSetValueName2(w->old, "pw.thread", 9);
    LLVMSetLinkage(w->old, LLVMInternalLinkage);
    emit_variant(w, "pw.warp.any", w->reads_rows, false);
    emit_variant(w, "pw.warp.full", false, true);
    if (w->broken) {
        LLVMDeleteFunction(LLVMGetNamedFunction(w->m, "pw.warp.any"));
        LLVMDeleteFunction(LLVMGetNamedFunction(w->m, "pw.warp.full"));
        LLVMSetValueName2(w->old, KERNEL_SYMBOL, sizeof KERNEL_SYMBOL - 1);
        LLVMSetLinkage(w->old, LLVMExternalLinkage);
        return refuse(w, "a value is used before it is defined");
    }
    emit_chooser(w);
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
    w->mask_type = LLVMVectorType(w->i1, LANES);
}

struct warp_result
warp_vectorise(LLVMModuleRef m, const char *kernel, void *target_machine)
{
    struct warp_build w = {.m = m, .kernel = kernel, .old = LLVMGetNamedFunction(m, KERNEL_SYMBOL)};
    struct warp_result r = {false, false};
    init(&w);
    r.vectorised = vectorise(&w, target_machine);
    r.needs_threads = w.needs_threads;
    if (!r.vectorised)
        LOG(LOG_COMPILE, "kernel %s: thread mode: %s", kernel, w.refused ? w.refused : "no reason");
    intmap_free(&w.values);
    intmap_free(&w.block_at);
    arena_free(&w.arena);
    return r;
}
