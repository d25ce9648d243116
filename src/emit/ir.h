// SPDX-License-Identifier: MIT
// Short names for the LLVM builder's unnamed instructions: ir_add(e, a, b).
#ifndef EMIT_IR_H
#define EMIT_IR_H

#include "emit/internal.h"

#define IR_BINARY(name, Build)                                                                     \
    static inline LLVMValueRef ir_##name(struct emitter *e, LLVMValueRef a, LLVMValueRef b)        \
    {                                                                                              \
        return LLVMBuild##Build(e->b, a, b, "");                                                   \
    }
IR_BINARY(add, Add)
IR_BINARY(sub, Sub)
IR_BINARY(mul, Mul)
IR_BINARY(udiv, UDiv)
IR_BINARY(sdiv, SDiv)
IR_BINARY(urem, URem)
IR_BINARY(srem, SRem)
IR_BINARY(and, And)
IR_BINARY(or, Or)
IR_BINARY(xor, Xor)
IR_BINARY(shl, Shl)
IR_BINARY(lshr, LShr)
IR_BINARY(ashr, AShr)
IR_BINARY(fadd, FAdd)
IR_BINARY(fsub, FSub)
IR_BINARY(fmul, FMul)
IR_BINARY(fdiv, FDiv)
#undef IR_BINARY

#define IR_CAST(name, Build)                                                                       \
    static inline LLVMValueRef ir_##name(struct emitter *e, LLVMValueRef v, LLVMTypeRef to)        \
    {                                                                                              \
        return LLVMBuild##Build(e->b, v, to, "");                                                  \
    }
IR_CAST(zext, ZExtOrBitCast)
IR_CAST(sext, SExtOrBitCast)
IR_CAST(trunc, TruncOrBitCast)
IR_CAST(fpext, FPExt)
IR_CAST(fptrunc, FPTrunc)
IR_CAST(sitofp, SIToFP)
IR_CAST(uitofp, UIToFP)
#undef IR_CAST

static inline LLVMValueRef
ir_not(struct emitter *e, LLVMValueRef v)
{
    return LLVMBuildNot(e->b, v, "");
}

static inline LLVMValueRef
ir_icmp(struct emitter *e, LLVMIntPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildICmp(e->b, p, a, b, "");
}

static inline LLVMValueRef
ir_fcmp(struct emitter *e, LLVMRealPredicate p, LLVMValueRef a, LLVMValueRef b)
{
    return LLVMBuildFCmp(e->b, p, a, b, "");
}

static inline LLVMValueRef
ir_select(struct emitter *e, LLVMValueRef c, LLVMValueRef yes, LLVMValueRef no)
{
    return LLVMBuildSelect(e->b, c, yes, no, "");
}

static inline LLVMValueRef
ir_isnan(struct emitter *e, LLVMValueRef v)
{
    return ir_fcmp(e, LLVMRealUNO, v, v);
}

// Zero- or sign-extension.
static inline LLVMValueRef
ir_ext(struct emitter *e, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
    return is_signed ? ir_sext(e, v, to) : ir_zext(e, v, to);
}

// Intrinsics overloaded on the type of their first argument.
static inline LLVMValueRef
ir_call1(struct emitter *e, const char *name, LLVMValueRef a)
{
    return em_intrinsic(e, name, LLVMTypeOf(a), &a, 1);
}

static inline LLVMValueRef
ir_call2(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef arg[] = {a, b};
    return em_intrinsic(e, name, LLVMTypeOf(a), arg, 2);
}

static inline LLVMValueRef
ir_call3(struct emitter *e, const char *name, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    LLVMValueRef arg[] = {a, b, c};
    return em_intrinsic(e, name, LLVMTypeOf(a), arg, 3);
}

// True if v is an integer constant; *out gets it zero-extended.
static inline bool
ir_constant(LLVMValueRef v, uint64_t *out)
{
    if (!LLVMIsAConstantInt(v))
        return false;
    *out = LLVMConstIntGetZExtValue(v);
    return true;
}

#endif
