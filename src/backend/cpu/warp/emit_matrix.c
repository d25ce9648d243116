// SPDX-License-Identifier: MIT
// Matrix instructions: one call for the warp. Operands and results are vectors in memory, one after
// the other.
#include "backend/cpu/warp/warp.h"

static LLVMValueRef
slot(struct warp_build *w, LLVMValueRef base, unsigned k)
{
    LLVMValueRef index = LLVMConstInt(w->i64, k, 0);
    return LLVMBuildGEP2(w->b, vector_type(w, w->i32), base, &index, 1, "");
}

static LLVMValueRef
slots(struct warp_build *w, unsigned n)
{
    LLVMValueRef a = entry_alloca(w, LLVMArrayType2(vector_type(w, w->i32), n ? n : 1));
    LLVMSetAlignment(a, 64);
    return a;
}

void
emit_matrix(struct warp_build *w, LLVMValueRef call)
{
    LLVMTypeRef t = LLVMTypeOf(call), v = vector_type(w, w->i32);
    unsigned in = LLVMGetNumArgOperands(call) - 2, out = 0;
    if (LLVMGetTypeKind(t) == LLVMStructTypeKind)
        out = LLVMCountStructElementTypes(t);
    LLVMValueRef from = slots(w, in), to = slots(w, out);
    for (unsigned k = 0; k < in; k++)
        LLVMBuildStore(w->b, vector_of(w, LLVMGetOperand(call, k + 2)), slot(w, from, k));
    LLVMValueRef arg[] = {w->thread, scalar_of(w, LLVMGetOperand(call, 1)), from, to,
                          mask_bits(w, block_mask(w))};
    call_runtime(w, "rt_matrix_warp", LLVMVoidTypeInContext(w->ctx), arg, 5);
    if (!out)
        return;
    LLVMValueRef all = LLVMGetPoison(vector_type(w, t));
    for (unsigned k = 0; k < out; k++)
        all = LLVMBuildInsertValue(w->b, all, LLVMBuildLoad2(w->b, v, slot(w, to, k), ""), k, "");
    define_vector(w, call, all);
}
