// SPDX-License-Identifier: MIT
// What has no vector form: a loop over the lanes that are here. Operands that differ between lanes go through the stack, and so
// does the result.
#include "backend/cpu/warp/warp.h"

#include <string.h>

static bool
is_bool_vector(LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMVectorTypeKind && LLVMGetTypeKind(LLVMGetElementType(t)) == LLVMIntegerTypeKind &&
           LLVMGetIntTypeWidth(LLVMGetElementType(t)) == 1;
}

LLVMValueRef
spill(struct warp_build *w, LLVMValueRef vector)
{
    if (is_bool_vector(LLVMTypeOf(vector)))
        vector = LLVMBuildZExt(w->b, vector, LLVMVectorType(w->i8, (unsigned)w->lanes), "");
    LLVMValueRef slot = entry_alloca(w, LLVMTypeOf(vector));
    LLVMBuildStore(w->b, vector, slot);
    return slot;
}

LLVMValueRef
reload(struct warp_build *w, LLVMValueRef slot, LLVMTypeRef vector)
{
    if (!is_bool_vector(vector))
        return LLVMBuildLoad2(w->b, vector, slot, "");
    LLVMValueRef v = LLVMBuildLoad2(w->b, LLVMVectorType(w->i8, (unsigned)w->lanes), slot, "");
    return LLVMBuildTrunc(w->b, v, vector, "");
}

struct lane_loop
lane_loop_begin(struct warp_build *w, LLVMValueRef mask)
{
    struct lane_loop l;
    LLVMBasicBlockRef before = LLVMGetInsertBlock(w->b);
    LLVMValueRef bits = mask_bits(w, mask);
    l.body = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "lane");
    l.after = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
    LLVMBuildBr(w->b, l.body);
    LLVMPositionBuilderAtEnd(w->b, l.body);
    l.left = LLVMBuildPhi(w->b, w->bits_type, "");
    LLVMAddIncoming(l.left, &bits, &before, 1);
    l.lane = first_lane(w, l.left);
    return l;
}

void
lane_loop_end(struct warp_build *w, struct lane_loop *l)
{
    LLVMValueRef less = LLVMBuildSub(w->b, l->left, LLVMConstInt(w->bits_type, 1, 0), "");
    LLVMValueRef rest = LLVMBuildAnd(w->b, l->left, less, "");
    LLVMBasicBlockRef from = LLVMGetInsertBlock(w->b);
    LLVMAddIncoming(l->left, &rest, &from, 1);
    LLVMValueRef more = LLVMBuildICmp(w->b, LLVMIntNE, rest, LLVMConstNull(w->bits_type), "");
    LLVMBuildCondBr(w->b, more, l->body, l->after);
    LLVMPositionBuilderAtEnd(w->b, l->after);
}

static LLVMValueRef
lane_slot(struct warp_build *w, LLVMValueRef slot, LLVMValueRef lane, LLVMTypeRef element)
{
    LLVMValueRef index = LLVMBuildZExt(w->b, lane, w->i64, "");
    return LLVMBuildGEP2(w->b, element, slot, &index, 1, "");
}

static LLVMTypeRef
stored_type(struct warp_build *w, LLVMTypeRef t)
{
    return LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == 1 ? w->i8 : t;
}

// What a lane adds to the base of a linear value.
static LLVMValueRef
lane_offset(struct warp_build *w, LLVMValueRef lane, LLVMTypeRef t, struct shape s)
{
    LLVMValueRef n = LLVMGetIntTypeWidth(t) < 32 ? LLVMBuildTrunc(w->b, lane, t, "") : LLVMBuildZExtOrBitCast(w->b, lane, t, "");
    if (is_straight(w, s))
        return LLVMBuildMul(w->b, n, LLVMConstInt(t, (uint64_t)s.stride, 1), "");
    LLVMValueRef row = LLVMConstInt(t, (uint64_t)w->row, 0);
    LLVMValueRef x = LLVMBuildMul(w->b, LLVMBuildURem(w->b, n, row, ""), LLVMConstInt(t, (uint64_t)s.stride, 1), "");
    LLVMValueRef y = LLVMBuildMul(w->b, LLVMBuildUDiv(w->b, n, row, ""), LLVMConstInt(t, (uint64_t)s.rise, 1), "");
    return LLVMBuildAdd(w->b, x, y, "");
}

// A lane's value of v; `spilled` is what spill() gave for a varying one.
LLVMValueRef
lane_value(struct warp_build *w, LLVMValueRef v, LLVMValueRef lane, LLVMValueRef spilled)
{
    struct shape s = shape_of(w, v);
    LLVMTypeRef t = LLVMTypeOf(v);
    if (spilled) {
        LLVMTypeRef st = stored_type(w, t);
        LLVMValueRef x = LLVMBuildLoad2(w->b, st, lane_slot(w, spilled, lane, st), "");
        return st == t ? x : LLVMBuildTrunc(w->b, x, t, "");
    }
    LLVMValueRef base = scalar_of(w, v);
    if (is_uniform(s))
        return base;
    bool pointer = LLVMGetTypeKind(t) == LLVMPointerTypeKind;
    LLVMValueRef d = lane_offset(w, lane, pointer ? w->i64 : t, s);
    return pointer ? LLVMBuildGEP2(w->b, w->i8, base, &d, 1, "") : LLVMBuildAdd(w->b, base, d, "");
}

void
emit_by_lane(struct warp_build *w, LLVMValueRef i)
{
    enum { MOST = 24 };
    LLVMValueRef spilled[MOST] = {NULL};
    int n = LLVMGetNumOperands(i);
    for (int k = 0; k < n && k < MOST; k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        struct shape s = shape_of(w, v);
        if (s.kind != SHAPE_LINEAR || s.guess)
            spilled[k] = spill(w, vector_of(w, v));
        if (v == LLVMGetParam(w->old, 0))
            w->needs_threads = true;
    }
    LLVMTypeRef t = LLVMTypeOf(i);
    bool result = LLVMGetTypeKind(t) != LLVMVoidTypeKind && LLVMGetFirstUse(i);
    LLVMTypeRef st = result ? stored_type(w, t) : NULL;
    LLVMValueRef out = result ? entry_alloca(w, LLVMVectorType(st, (unsigned)w->lanes)) : NULL;
    struct lane_loop l = lane_loop_begin(w, block_mask(w));
    LLVMValueRef c = LLVMInstructionClone(i);
    for (int k = 0; k < n; k++)
        LLVMSetOperand(c, (unsigned)k, lane_value(w, LLVMGetOperand(i, (unsigned)k), l.lane, k < MOST ? spilled[k] : NULL));
    LLVMInstructionSetDebugLoc(c, NULL);
    LLVMInsertIntoBuilder(w->b, c);
    if (result) {
        LLVMValueRef x = st == t ? c : LLVMBuildZExt(w->b, c, st, "");
        LLVMBuildStore(w->b, x, lane_slot(w, out, l.lane, st));
    }
    lane_loop_end(w, &l);
    if (result)
        define_vector(w, i, reload(w, out, vector_type(w, t)));
}
