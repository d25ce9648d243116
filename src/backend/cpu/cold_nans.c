// SPDX-License-Identifier: MIT
// pw.m.nan.f64 (emit/pw.md) follows every f64 operation and matters only where the result is a NaN.
// After optimisation each is a selection
//     m = fcmp uno b ? bitcast(or(bitcast b, quiet)) : r    or the other way round with ord
// This pass takes r for m in a run of instructions without side effects and looks, at the run's
// end, if any r was a NaN: then, and only then, a copy of the run with its selections is executed.
// What is not recognised stays as it is, which is right as well.
#include "backend/cpu/cold_nans.h"

#include <llvm-c/Core.h>
#include <stdbool.h>
#include <string.h>

#include "base/map.h"
#include "base/vec.h"

enum { COLD = 1, HOT = 1 << 20 };          // weights of the branch
static const char exact_name[] = "pw.nan"; // of blocks with copies

struct run {
    LLVMContextRef ctx;
    LLVMBuilderRef b;
    LLVMValueRef fn;
    LLVMBasicBlockRef block, exact, rest;
    LLVMValueRef *inst;   // vec: from the first selection up to what must not be repeated
    struct intmap member; // instructions of the run -> 1 + index in `inst`
    struct intmap result; // r of the run's selections -> the selection
    struct intmap copy;   // instructions of the run -> their copies
};

// ---- recognition --------------------------------------------------------------------------------
static bool
is_op(LLVMValueRef v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

static bool
is_f64(LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) == LLVMVectorTypeKind)
        t = LLVMGetElementType(t);
    return LLVMGetTypeKind(t) == LLVMDoubleTypeKind;
}

// v is bitcast(or(bitcast b, constant)).
static bool
is_quieted(LLVMValueRef v, LLVMValueRef b)
{
    if (!is_op(v, LLVMBitCast) || !is_op(LLVMGetOperand(v, 0), LLVMOr))
        return false;
    LLVMValueRef bits = LLVMGetOperand(LLVMGetOperand(v, 0), 0);
    return LLVMIsConstant(LLVMGetOperand(LLVMGetOperand(v, 0), 1)) && is_op(bits, LLVMBitCast) &&
           LLVMGetOperand(bits, 0) == b;
}

static bool
is_arithmetic(LLVMValueRef v)
{
    if (!LLVMIsAInstruction(v))
        return false;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMFAdd:
    case LLVMFSub:
    case LLVMFMul:
    case LLVMFDiv:
        return true;
    case LLVMCall: {
        size_t n;
        LLVMValueRef f = LLVMGetCalledValue(v);
        return LLVMIsAFunction(f) && !strncmp(LLVMGetValueName2(f, &n), "llvm.fma.", 9);
    }
    default:
        return false;
    }
}

// r of a selection, NULL of all else.
static LLVMValueRef
selected(LLVMValueRef v)
{
    if (!is_op(v, LLVMSelect) || !is_f64(LLVMTypeOf(v)))
        return NULL;
    LLVMValueRef c = LLVMGetOperand(v, 0);
    LLVMRealPredicate p = is_op(c, LLVMFCmp) ? LLVMGetFCmpPredicate(c) : LLVMRealPredicateTrue;
    if (p != LLVMRealUNO && p != LLVMRealORD)
        return NULL;
    unsigned nan = p == LLVMRealUNO ? 1 : 2;
    return is_quieted(LLVMGetOperand(v, nan), LLVMGetOperand(c, 0)) ? LLVMGetOperand(v, 3 - nan)
                                                                    : NULL;
}

// May an instruction be executed once more?
static bool
is_pure(LLVMValueRef v)
{
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMLoad:
        return !LLVMGetVolatile(v) && LLVMGetOrdering(v) == LLVMAtomicOrderingNotAtomic;
    case LLVMCall: {
        size_t n;
        LLVMValueRef f = LLVMGetCalledValue(v);
        const char *name = LLVMIsAFunction(f) ? LLVMGetValueName2(f, &n) : "";
        static const char *const pure[] = {"llvm.fma.", "llvm.sqrt.", "llvm.fabs.",
                                           "llvm.vector.reduce."};
        for (size_t k = 0; k < sizeof pure / sizeof *pure; k++)
            if (!strncmp(name, pure[k], strlen(pure[k])))
                return true;
        return false;
    }
    case LLVMStore:
    case LLVMFence:
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
    case LLVMAlloca:
    case LLVMVAArg:
        return false;
    default:
        return !LLVMIsATerminatorInst(v);
    }
}

// Fills `inst` with the first run of the block that has selections; false: there is none.
static bool
find_run(struct run *r, LLVMBasicBlockRef block)
{
    LLVMValueRef i = LLVMGetFirstInstruction(block);
    while (i && !selected(i))
        i = LLVMGetNextInstruction(i);
    for (; i && is_pure(i); i = LLVMGetNextInstruction(i)) {
        vec_push(r->inst, i);
        intmap_put(&r->member, (uintptr_t)i, (void *)vec_len(r->inst));
        LLVMValueRef v = selected(i);
        if (v && is_arithmetic(v))
            intmap_put(&r->result, (uintptr_t)v, i);
    }
    r->block = block;
    return r->result.live > 0;
}

static bool
in_run(const struct run *r, LLVMValueRef v)
{
    return intmap_get(&r->member, (uintptr_t)v) != NULL;
}

// ---- the copy -----------------------------------------------------------------------------------
static LLVMValueRef
copy_of(const struct run *r, LLVMValueRef v)
{
    LLVMValueRef c = intmap_get(&r->copy, (uintptr_t)v);
    return c ? c : v;
}

static void
copy_run(struct run *r)
{
    LLVMPositionBuilderAtEnd(r->b, r->exact);
    for (size_t k = 0; k < vec_len(r->inst); k++) {
        LLVMValueRef c = LLVMInstructionClone(r->inst[k]);
        LLVMInsertIntoBuilder(r->b, c);
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(c); o++)
            LLVMSetOperand(c, o, copy_of(r, LLVMGetOperand(c, o)));
        intmap_put(&r->copy, (uintptr_t)r->inst[k], c);
    }
    LLVMBuildBr(r->b, r->rest);
}

// ---- the rest of the block ----------------------------------------------------------------------
// phi with `from` replaced by `to` among its blocks.
static void
rename_incoming(struct run *r, LLVMValueRef phi, LLVMBasicBlockRef from, LLVMBasicBlockRef to)
{
    LLVMPositionBuilderBefore(r->b, phi);
    LLVMValueRef fresh = LLVMBuildPhi(r->b, LLVMTypeOf(phi), "");
    for (unsigned k = 0; k < LLVMCountIncoming(phi); k++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, k);
        LLVMBasicBlockRef b = LLVMGetIncomingBlock(phi, k);
        v = v == phi ? fresh : v;
        b = b == from ? to : b;
        LLVMAddIncoming(fresh, &v, &b, 1);
    }
    LLVMReplaceAllUsesWith(phi, fresh);
    LLVMInstructionEraseFromParent(phi);
}

static void
rename_in_successors(struct run *r)
{
    LLVMValueRef end = LLVMGetBasicBlockTerminator(r->rest);
    for (unsigned s = 0; s < LLVMGetNumSuccessors(end); s++) {
        LLVMValueRef i = LLVMGetFirstInstruction(LLVMGetSuccessor(end, s)), next;
        for (; i && LLVMIsAPHINode(i); i = next) {
            next = LLVMGetNextInstruction(i);
            rename_incoming(r, i, r->block, r->rest);
        }
    }
}

// Moves what stands behind the run to a block of its own.
static void
split(struct run *r)
{
    LLVMValueRef i = LLVMGetNextInstruction(r->inst[vec_len(r->inst) - 1]), next;
    LLVMPositionBuilderAtEnd(r->b, r->rest);
    for (; i; i = next) {
        next = LLVMGetNextInstruction(i);
        LLVMInstructionRemoveFromParent(i);
        LLVMInsertIntoBuilder(r->b, i);
    }
    rename_in_successors(r);
}

// Does an operation whose own result is looked at take v? Then that one is a NaN as well.
static bool
feeds_result(const struct run *r, LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (intmap_get(&r->result, (uintptr_t)LLVMGetUser(u)))
            return true;
    return false;
}

static LLVMValueRef
any_lane(struct run *r, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return v;
    static const char name[] = "llvm.vector.reduce.or";
    unsigned id = LLVMLookupIntrinsicID(name, sizeof name - 1);
    LLVMModuleRef m = LLVMGetGlobalParent(r->fn);
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(m, id, &t, 1);
    return LLVMBuildCall2(r->b, LLVMIntrinsicGetType(r->ctx, id, &t, 1), f, &v, 1, "");
}

static LLVMValueRef
either(struct run *r, LLVMValueRef a, LLVMValueRef b)
{
    return !a ? b : !b ? a : LLVMBuildOr(r->b, a, b, "");
}

// Whether any of the results is a NaN: compared two of a type at a time.
static LLVMValueRef
any_nan(struct run *r, LLVMValueRef *sink)
{
    LLVMValueRef any = NULL, lanes = NULL; // lanes: of the results so far of one type
    for (size_t k = 0; k < vec_len(sink); k++) {
        LLVMValueRef x = sink[k], y = x;
        if (k + 1 < vec_len(sink) && LLVMTypeOf(sink[k + 1]) == LLVMTypeOf(x))
            y = sink[++k];
        LLVMValueRef c = LLVMBuildFCmp(r->b, LLVMRealUNO, x, y, "");
        if (lanes && LLVMTypeOf(lanes) != LLVMTypeOf(c)) {
            any = either(r, any, any_lane(r, lanes));
            lanes = NULL;
        }
        lanes = either(r, lanes, c);
    }
    return either(r, any, any_lane(r, lanes));
}

static void
replace_outside(const struct run *r, LLVMValueRef v, LLVMValueRef by)
{
    LLVMValueRef *user = NULL;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        vec_push(user, LLVMGetUser(u));
    for (size_t k = 0; k < vec_len(user); k++) {
        if (in_run(r, user[k]) || user[k] == by)
            continue;
        for (unsigned o = 0; o < (unsigned)LLVMGetNumOperands(user[k]); o++)
            if (LLVMGetOperand(user[k], o) == v)
                LLVMSetOperand(user[k], o, by);
    }
    vec_free(user);
}

static bool
is_used_outside(const struct run *r, LLVMValueRef v)
{
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u))
        if (!in_run(r, LLVMGetUser(u)))
            return true;
    return false;
}

// Values that leave the run come from it or from its copy.
static void
join_values(struct run *r)
{
    LLVMValueRef first = LLVMGetFirstInstruction(r->rest);
    for (size_t k = 0; k < vec_len(r->inst); k++) {
        LLVMValueRef v = r->inst[k];
        if (!is_used_outside(r, v) || LLVMIsAPHINode(v))
            continue;
        LLVMPositionBuilderBefore(r->b, first);
        LLVMValueRef phi = LLVMBuildPhi(r->b, LLVMTypeOf(v), "");
        replace_outside(r, v, phi);
        LLVMValueRef in[] = {v, copy_of(r, v)};
        LLVMBasicBlockRef from[] = {r->block, r->exact};
        LLVMAddIncoming(phi, in, from, 2);
    }
}

static void
take_results(struct run *r)
{
    for (size_t k = 0; k < vec_len(r->inst); k++) {
        LLVMValueRef v = selected(r->inst[k]);
        if (v && intmap_get(&r->result, (uintptr_t)v))
            LLVMReplaceAllUsesWith(r->inst[k], v);
    }
}

static void
branch(struct run *r, LLVMValueRef any)
{
    LLVMTypeRef i32 = LLVMInt32TypeInContext(r->ctx);
    LLVMMetadataRef part[] = {
        LLVMMDStringInContext2(r->ctx, "branch_weights", 14),
        LLVMValueAsMetadata(LLVMConstInt(i32, COLD, 0)),
        LLVMValueAsMetadata(LLVMConstInt(i32, HOT, 0)),
    };
    LLVMValueRef br = LLVMBuildCondBr(r->b, any, r->exact, r->rest);
    unsigned prof = LLVMGetMDKindIDInContext(r->ctx, "prof", 4);
    LLVMSetMetadata(br, prof, LLVMMetadataAsValue(r->ctx, LLVMMDNodeInContext2(r->ctx, part, 3)));
}

// Results that are looked at: of those that depend on each other, the last.
static LLVMValueRef *
sinks(const struct run *r)
{
    LLVMValueRef *sink = NULL;
    for (size_t k = 0; k < vec_len(r->inst); k++) {
        LLVMValueRef v = selected(r->inst[k]);
        bool seen = false;
        for (size_t s = 0; v && s < vec_len(sink); s++)
            seen |= sink[s] == v;
        if (v && !seen && intmap_get(&r->result, (uintptr_t)v) && !feeds_result(r, v))
            vec_push(sink, v);
    }
    return sink;
}

static void
transform(struct run *r)
{
    r->exact = LLVMAppendBasicBlockInContext(r->ctx, r->fn, exact_name);
    r->rest = LLVMAppendBasicBlockInContext(r->ctx, r->fn, "pw.number");
    LLVMMoveBasicBlockAfter(r->rest, r->block);
    split(r);
    copy_run(r);
    join_values(r);
    take_results(r);
    LLVMPositionBuilderAtEnd(r->b, r->block);
    LLVMValueRef *sink = sinks(r);
    branch(r, any_nan(r, sink));
    vec_free(sink);
    for (size_t k = vec_len(r->inst); k--;)
        if (!LLVMGetFirstUse(r->inst[k]))
            LLVMInstructionEraseFromParent(r->inst[k]);
}

static void
run_free(struct run *r)
{
    vec_free(r->inst);
    intmap_free(&r->member);
    intmap_free(&r->result);
    intmap_free(&r->copy);
}

void
cold_nans(LLVMModuleRef m)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        // Blocks made on the way come behind the one they are made of, or at the end.
        for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb)) {
            struct run r = {.ctx = ctx, .b = b, .fn = f};
            bool exact = !strncmp(LLVMGetBasicBlockName(bb), exact_name, sizeof exact_name - 1);
            if (!exact && find_run(&r, bb))
                transform(&r);
            run_free(&r);
        }
    }
    LLVMDisposeBuilder(b);
}
