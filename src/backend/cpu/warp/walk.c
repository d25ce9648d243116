// SPDX-License-Identifier: MIT
// Threads of a block one after another in one loop. Better than lanes where each thread walks through memory of its own for as
// long as it likes: gathers would touch a cache line for each lane, and most lanes would wait for the longest walk.
#include "backend/cpu/load.h"
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <stddef.h>
#include <string.h>

// ---- when
static bool
constant(LLVMValueRef v, int64_t *out)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *out = LLVMConstIntGetSExtValue(v);
    return true;
}

static bool step_of(struct warp_build *w, const struct wloop *l, LLVMValueRef v, int depth, int64_t *step);

static bool
sum_of_steps(struct warp_build *w, const struct wloop *l, LLVMValueRef i, int64_t a, int64_t b, int depth, int64_t *step)
{
    int64_t s, t;
    if (!step_of(w, l, LLVMGetOperand(i, 0), depth, &s) || !step_of(w, l, LLVMGetOperand(i, 1), depth, &t))
        return false;
    *step = s * a + t * b;
    return true;
}

static bool
phi_step(struct warp_build *w, const struct wloop *l, LLVMValueRef phi, int depth, int64_t *step)
{
    if (value_of(w, phi)->block != l->header)
        return false;
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, k);
        if (LLVMGetIncomingBlock(phi, k) != w->block[l->latch].bb)
            continue;
        if (LLVMIsAGetElementPtrInst(v) && LLVMGetNumOperands(v) == 2 && LLVMGetOperand(v, 0) == phi) {
            *step = (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(v));
            int64_t n;
            return constant(LLVMGetOperand(v, 1), &n) && (*step *= n, true);
        }
        return LLVMIsABinaryOperator(v) && LLVMGetInstructionOpcode(v) == LLVMAdd && LLVMGetOperand(v, 0) == phi &&
               constant(LLVMGetOperand(v, 1), step);
    }
    (void)depth;
    return false;
}

// By how much v grows from one round of the loop to the next, where that is a constant.
static bool
step_of(struct warp_build *w, const struct wloop *l, LLVMValueRef v, int depth, int64_t *step)
{
    struct value *x = value_of(w, v);
    int64_t k;
    *step = 0;
    if (!x || !bit(l->blocks, x->block))
        return true;
    if (depth == 0)
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMPHI:
        return phi_step(w, l, v, depth - 1, step);
    case LLVMAdd:
        return sum_of_steps(w, l, v, 1, 1, depth - 1, step);
    case LLVMSub:
        return sum_of_steps(w, l, v, 1, -1, depth - 1, step);
    case LLVMMul:
        return constant(LLVMGetOperand(v, 1), &k) && step_of(w, l, LLVMGetOperand(v, 0), depth - 1, step) && (*step *= k, true);
    case LLVMShl:
        return constant(LLVMGetOperand(v, 1), &k) && k >= 0 && k < 32 &&
               step_of(w, l, LLVMGetOperand(v, 0), depth - 1, step) && (*step *= (int64_t)1 << k, true);
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMFreeze:
    case LLVMIntToPtr:
    case LLVMPtrToInt:
        return step_of(w, l, LLVMGetOperand(v, 0), depth - 1, step);
    case LLVMGetElementPtr:
        if (LLVMGetNumOperands(v) != 2)
            return false;
        k = (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(v));
        return sum_of_steps(w, l, v, 1, k, depth - 1, step);
    default:
        return false;
    }
}

// Most of the loop's loads that differ between lanes go through memory step by step, each lane on its own.
static bool
is_walk(struct warp_build *w, const struct wloop *l)
{
    enum { NEAR = 64, DEPTH = 8 }; // bytes from round to round: within a cache line
    unsigned walks = 0, others = 0;
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); bit(l->blocks, b) && i; i = LLVMGetNextInstruction(i)) {
            if (!LLVMIsALoadInst(i) || shape_of(w, LLVMGetOperand(i, 0)).kind == SHAPE_LINEAR)
                continue;
            int64_t step;
            bool near = step_of(w, l, LLVMGetOperand(i, 0), DEPTH, &step) && step && step >= -NEAR && step <= NEAR;
            walks += near;
            others += !near;
        }
    return walks > others;
}

bool
prefers_walk(struct warp_build *w)
{
    if (!w->any_width || w->has_barrier)
        return false;
    for (int l = 0; l < w->nloops; l++)
        if (w->loop[l].divergent && is_walk(w, &w->loop[l]))
            return true;
    return false;
}

// ---- the loop
enum { X, Y, Z, INDEX, STATE };

struct walk {
    LLVMValueRef at[STATE], first[STATE], phi[STATE]; // addresses, values at the start, of this round
};

static LLVMValueRef
field_at(struct warp_build *w, LLVMValueRef p, size_t offset)
{
    LLVMValueRef n = LLVMConstInt(w->i64, offset, 0);
    return LLVMBuildGEP2(w->b, w->i8, p, &n, 1, "");
}

static LLVMValueRef
block_dim(struct warp_build *w, int axis)
{
    LLVMValueRef block = LLVMBuildLoad2(w->b, w->ptr, field_at(w, w->thread, offsetof(struct thread, block)), "");
    LLVMValueRef grid = LLVMBuildLoad2(w->b, w->ptr, field_at(w, block, offsetof(struct block, grid)), "");
    return LLVMBuildLoad2(w->b, w->i32, field_at(w, grid, offsetof(struct grid, block) + 4 * (size_t)axis), "");
}

static void
begin_state(struct warp_build *w, struct walk *k)
{
    static const size_t offset[STATE] = {offsetof(struct thread, tid[0]), offsetof(struct thread, tid[1]),
                                         offsetof(struct thread, tid[2]), offsetof(struct thread, index)};
    for (int i = 0; i < STATE; i++) {
        k->at[i] = field_at(w, w->thread, offset[i]);
        k->first[i] = LLVMBuildLoad2(w->b, w->i32, k->at[i], "");
    }
}

static void
store_state(struct warp_build *w, const struct walk *k, LLVMValueRef *v)
{
    for (int i = 0; i < STATE; i++)
        LLVMBuildStore(w->b, v[i], k->at[i]);
    LLVMValueRef lane = LLVMBuildAnd(w->b, v[INDEX], LLVMConstInt(w->i32, WARP - 1, 0), "");
    LLVMBuildStore(w->b, lane, field_at(w, w->thread, offsetof(struct thread, lane)));
}

// The next thread: x runs fastest.
static void
next_state(struct warp_build *w, const struct walk *k, LLVMValueRef nx, LLVMValueRef ny, LLVMValueRef *next)
{
    LLVMValueRef one = LLVMConstInt(w->i32, 1, 0), zero = LLVMConstInt(w->i32, 0, 0);
    LLVMValueRef x = LLVMBuildAdd(w->b, k->phi[X], one, ""), row = LLVMBuildICmp(w->b, LLVMIntEQ, x, nx, "");
    LLVMValueRef y = LLVMBuildAdd(w->b, k->phi[Y], LLVMBuildZExt(w->b, row, w->i32, ""), "");
    LLVMValueRef plane = LLVMBuildICmp(w->b, LLVMIntEQ, y, ny, "");
    next[X] = LLVMBuildSelect(w->b, row, zero, x, "");
    next[Y] = LLVMBuildSelect(w->b, plane, zero, y, "");
    next[Z] = LLVMBuildAdd(w->b, k->phi[Z], LLVMBuildZExt(w->b, plane, w->i32, ""), "");
    next[INDEX] = LLVMBuildAdd(w->b, k->phi[INDEX], one, "");
}

static void
emit_loop(struct warp_build *w, LLVMBasicBlockRef entry, LLVMBasicBlockRef loop, LLVMBasicBlockRef end)
{
    struct walk k;
    LLVMPositionBuilderAtEnd(w->b, entry);
    begin_state(w, &k);
    LLVMValueRef nx = block_dim(w, 0), ny = block_dim(w, 1), next[STATE];
    LLVMValueRef last = LLVMBuildAdd(w->b, k.first[INDEX], LLVMGetParam(w->fn, 2), "");
    LLVMBuildBr(w->b, loop);
    LLVMPositionBuilderAtEnd(w->b, loop);
    for (int i = 0; i < STATE; i++) {
        k.phi[i] = LLVMBuildPhi(w->b, w->i32, "");
        LLVMAddIncoming(k.phi[i], &k.first[i], &entry, 1);
    }
    store_state(w, &k, k.phi);
    LLVMValueRef arg[] = {w->thread, w->params};
    LLVMBuildCall2(w->b, LLVMGlobalGetValueType(w->old), w->old, arg, 2, "");
    next_state(w, &k, nx, ny, next);
    for (int i = 0; i < STATE; i++)
        LLVMAddIncoming(k.phi[i], &next[i], &loop, 1);
    LLVMBuildCondBr(w->b, LLVMBuildICmp(w->b, LLVMIntULT, next[INDEX], last, ""), loop, end);
    LLVMPositionBuilderAtEnd(w->b, end);
    store_state(w, &k, k.first); // the group's first thread is what it was
    LLVMBuildRetVoid(w->b);
}

void
emit_walk(struct warp_build *w)
{
    begin_function(w, KERNEL_SYMBOL);
    LLVMBasicBlockRef b[3];
    for (int i = 0; i < 3; i++)
        b[i] = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
    w->b = LLVMCreateBuilderInContext(w->ctx);
    emit_loop(w, b[0], b[1], b[2]);
    LLVMDisposeBuilder(w->b);
    LLVMSetLinkage(w->old, LLVMInternalLinkage);
    unsigned kind = LLVMGetEnumAttributeKindForName("alwaysinline", 12);
    LLVMAddAttributeAtIndex(w->old, (unsigned)LLVMAttributeFunctionIndex, LLVMCreateEnumAttribute(w->ctx, kind, 0));
}
