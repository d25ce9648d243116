// SPDX-License-Identifier: MIT
// Every f32 result passes through pw.m.nan.f32, since NVIDIA's units know one NaN. Most uses cannot
// tell NaNs apart: this pass moves the calls to those that can (stores, integer operations, calls),
// which keeps them out of chains of arithmetic and off the accumulators of loops. Values are
// followed through phi, select and the i32 registers that hold floats.
#include <string.h>

#include "base/map.h"
#include "base/vec.h"
#include "emit/emit.h"

struct sink {
    LLVMBuilderRef b;
    LLVMValueRef nan; // the function
    LLVMTypeRef f32, i32, fn_type;
    struct intmap member; // values whose NaN may be any NaN and need be none in particular
    LLVMValueRef *value;  // vec of them: arithmetic, and phi select bitcast of it
};

static bool
has_prefix(LLVMValueRef call, const char *const *prefix, size_t n)
{
    size_t len;
    LLVMValueRef f = LLVMGetCalledValue(call);
    const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &len) : "";
    for (size_t k = 0; k < n; k++)
        if (!strncmp(name, prefix[k], strlen(prefix[k])))
            return true;
    return false;
}

// Computes on floats: whatever NaN comes in, some NaN or none comes out.
static bool
is_arithmetic(LLVMValueRef v)
{
    static const char *const maths[] = {"pw.m.",       "llvm.fma.",   "llvm.sqrt.",  "llvm.fabs.",
                                        "llvm.round",  "llvm.trunc.", "llvm.floor.", "llvm.ceil.",
                                        "llvm.fptosi", "llvm.fptoui"};
    if (!LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
    case LLVMFNeg:
    case LLVMFPTrunc:
        return true;
    case LLVMCall:
        return has_prefix(v, maths, sizeof maths / sizeof *maths);
    default:
        return false;
    }
}

// Conversion of an f64, whose NaN keeps its sign and payload.
static bool
narrows_double(LLVMValueRef v)
{
    return LLVMIsAInstruction(v) && LLVMGetNumOperands(v) > 0 &&
           LLVMGetTypeKind(LLVMTypeOf(LLVMGetOperand(v, 0))) == LLVMDoubleTypeKind;
}

// Makes a float without a NaN of its own or, from a half, one that is replaced anyway.
static bool
is_source(const struct sink *s, LLVMValueRef v)
{
    LLVMOpcode op = LLVMIsAInstruction(v) ? LLVMGetInstructionOpcode(v) : LLVMRet;
    if (LLVMTypeOf(v) != s->f32 || narrows_double(v))
        return false;
    return is_arithmetic(v) || op == LLVMSIToFP || op == LLVMUIToFP || op == LLVMFPExt;
}

static bool
cannot_tell(LLVMValueRef user)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(user);
    return is_arithmetic(user) || op == LLVMFCmp || op == LLVMFPToSI || op == LLVMFPToUI;
}

static bool
is_member(const struct sink *s, LLVMValueRef v)
{
    return intmap_get(&s->member, (uintptr_t)v) != NULL;
}

static void
add_member(struct sink *s, LLVMValueRef v)
{
    if (intmap_put(&s->member, (uintptr_t)v, v))
        return;
    vec_push(s->value, v);
}

// phi, select, or a bitcast between float and i32: hands a value on.
static bool
hands_on(const struct sink *s, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMOpcode op = LLVMGetInstructionOpcode(v);
    if (t != s->f32 && t != s->i32)
        return false;
    return op == LLVMPHI || op == LLVMSelect || op == LLVMBitCast;
}

// ---- which values -------------------------------------------------------------------------------
static void
collect(struct sink *s)
{
    for (LLVMUseRef u = LLVMGetFirstUse(s->nan), next; u; u = next) {
        next = LLVMGetNextUse(u);
        LLVMValueRef call = LLVMGetUser(u), v = LLVMGetOperand(call, 0);
        if (!LLVMIsACallInst(call) || !is_source(s, v))
            continue; // of a loaded NaN the bits are known: stays
        if (!LLVMIsACallInst(v) || LLVMGetCalledValue(v) != s->nan)
            add_member(s, v);
        LLVMReplaceAllUsesWith(call, v);
        LLVMInstructionEraseFromParent(call);
    }
    for (size_t k = 0; k < vec_len(s->value); k++)
        for (LLVMUseRef u = LLVMGetFirstUse(s->value[k]); u; u = LLVMGetNextUse(u))
            if (hands_on(s, LLVMGetUser(u)))
                add_member(s, LLVMGetUser(u));
}

static bool
is_nan_constant(const struct sink *s, LLVMValueRef v)
{
    LLVMBool loses;
    if (LLVMIsAConstantFP(v)) {
        double d = LLVMConstRealGetDouble(v, &loses);
        return d != d;
    }
    if (LLVMTypeOf(v) != s->i32 || !LLVMIsAConstantInt(v))
        return true;
    return (LLVMConstIntGetZExtValue(v) & 0x7fffffff) > 0x7f800000;
}

static bool
is_harmless(const struct sink *s, LLVMValueRef v)
{
    if (is_member(s, v) || is_source(s, v) || LLVMIsUndef(v))
        return true;
    return LLVMIsConstant(v) && !is_nan_constant(s, v);
}

// All that v may hand on comes from arithmetic: no integer or loaded NaN could be changed.
static bool
only_hands_on_arithmetic(const struct sink *s, LLVMValueRef v)
{
    if (LLVMGetInstructionOpcode(v) == LLVMPHI) {
        for (unsigned k = 0; k < LLVMCountIncoming(v); k++)
            if (!is_harmless(s, LLVMGetIncomingValue(v, k)))
                return false;
        return true;
    }
    for (unsigned k = LLVMIsASelectInst(v) ? 1 : 0; k < (unsigned)LLVMGetNumOperands(v); k++)
        if (!is_harmless(s, LLVMGetOperand(v, k)))
            return false;
    return true;
}

static void
drop_mixed(struct sink *s)
{
    for (bool changed = true; changed;) {
        changed = false;
        for (size_t k = 0; k < vec_len(s->value); k++) {
            LLVMValueRef v = s->value[k];
            if (is_source(s, v) || !is_member(s, v) || only_hands_on_arithmetic(s, v))
                continue;
            intmap_del(&s->member, (uintptr_t)v);
            changed = true;
        }
    }
}

// ---- where the calls go -------------------------------------------------------------------------
static LLVMValueRef
canonical(struct sink *s, LLVMValueRef before, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMPositionBuilderBefore(s->b, before);
    if (t == s->i32)
        v = LLVMBuildBitCast(s->b, v, s->f32, "");
    v = LLVMBuildCall2(s->b, s->fn_type, s->nan, &v, 1, "");
    return t == s->i32 ? LLVMBuildBitCast(s->b, v, s->i32, "") : v;
}

static void
canonicalise_incoming(struct sink *s, LLVMValueRef phi, LLVMValueRef v)
{
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++)
        if (LLVMGetIncomingValue(phi, k) == v) {
            LLVMValueRef end = LLVMGetBasicBlockTerminator(LLVMGetIncomingBlock(phi, k));
            LLVMSetOperand(phi, k, canonical(s, end, v));
        }
}

static void
canonicalise_use(struct sink *s, LLVMValueRef user, LLVMValueRef v)
{
    if (is_member(s, user) || cannot_tell(user))
        return;
    if (LLVMIsAPHINode(user)) {
        canonicalise_incoming(s, user, v);
        return;
    }
    LLVMValueRef c = NULL;
    for (unsigned k = 0; k < (unsigned)LLVMGetNumOperands(user); k++)
        if (LLVMGetOperand(user, k) == v)
            LLVMSetOperand(user, k, c = c ? c : canonical(s, user, v));
}

static void
place(struct sink *s, LLVMValueRef v)
{
    LLVMValueRef *user = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        vec_push(user, LLVMGetUser(u));
    for (size_t k = 0; k < vec_len(user); k++)
        canonicalise_use(s, user[k], v);
    vec_free(user);
}

void
emit_sink_nans(LLVMModuleRef m)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    struct sink s = {.nan = LLVMGetNamedFunction(m, "pw.m.nan.f32")};
    if (!s.nan)
        return;
    s.b = LLVMCreateBuilderInContext(ctx);
    s.f32 = LLVMFloatTypeInContext(ctx);
    s.i32 = LLVMInt32TypeInContext(ctx);
    s.fn_type = LLVMFunctionType(s.f32, &s.f32, 1, 0);
    collect(&s);
    drop_mixed(&s);
    for (size_t k = 0; k < vec_len(s.value); k++)
        if (is_member(&s, s.value[k]))
            place(&s, s.value[k]);
    LLVMDisposeBuilder(s.b);
    vec_free(s.value);
    intmap_free(&s.member);
}
