// SPDX-License-Identifier: MIT
// Makes a kernel one function with one exit, in the form that the analyses want: everything inlined but what acts on the
// warp or lane after lane, no switches, loops in simple and closed form. What this leaves is good for thread mode too.
#include "backend/cpu/load.h"
#include "backend/cpu/warp/warp.h"
#include "base/log.h"

#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <string.h>

const char *
warp_name(LLVMValueRef v)
{
    size_t n;
    return LLVMGetValueName2(v, &n);
}

LLVMValueRef
called_function(LLVMValueRef call)
{
    return LLVMIsAFunction(LLVMGetCalledValue(call));
}

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static unsigned
attribute(const char *name)
{
    return LLVMGetEnumAttributeKindForName(name, strlen(name));
}

static bool
has_attribute(LLVMValueRef f, const char *name)
{
    return LLVMGetEnumAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex, attribute(name)) != NULL;
}

static void
set_attribute(LLVMValueRef f, const char *name, bool on)
{
    LLVMAttributeIndex at = (unsigned)LLVMAttributeFunctionIndex;
    LLVMRemoveEnumAttributeAtIndex(f, at, attribute(name));
    if (on) {
        LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(f));
        LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(ctx, attribute(name), 0));
    }
}

// These stay calls until the warp's form exists.
static bool
stays_a_call(const struct warp_build *w, const char *name)
{
    if (starts(name, "pw_mbarrier_")) // changes of one object follow each other; a test only reads
        return !starts(name, "pw_mbarrier_test");
    return has_instruction(w, name) || starts(name, "pw_atom_") || starts(name, "pw_mma_") || starts(name, "pw_matrix_") ||
           starts(name, "pw_spin") || starts(name, "pw_nanosleep") || starts(name, "pw_prefetch");
}

static bool
run(struct warp_build *w, void *tm, const char *passes)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(w->m, passes, tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (!e)
        return true;
    char *text = LLVMGetErrorMessage(e);
    log_error("kernel %s: %s", w->kernel, text);
    LLVMDisposeErrorMessage(text);
    w->refused = "a pass failed";
    return false;
}

static unsigned
count_instructions(LLVMValueRef f)
{
    unsigned n = 0;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(f); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            n++;
    return n;
}

static void
set_inlining(struct warp_build *w)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(w->m); f; f = LLVMGetNextFunction(f)) {
        if (LLVMIsDeclaration(f) || f == w->old)
            continue;
        if (stays_a_call(w, warp_name(f))) {
            set_attribute(f, "alwaysinline", false);
            set_attribute(f, "noinline", true);
        } else if (!has_attribute(f, "noinline") || !starts(warp_name(f), "pw_")) {
            set_attribute(f, "noinline", false);
            set_attribute(f, "optnone", false);
            set_attribute(f, "alwaysinline", true);
        }
    }
}

static void
restore_inlining(struct warp_build *w)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(w->m); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f) && stays_a_call(w, warp_name(f))) {
            set_attribute(f, "noinline", false);
            set_attribute(f, "alwaysinline", true);
        }
}

// A lane that does not come back from a call goes to the exit instead: others may go on.
static void
forget_noreturn(struct warp_build *w)
{
    LLVMAttributeIndex at = (unsigned)LLVMAttributeFunctionIndex;
    for (LLVMValueRef f = LLVMGetFirstFunction(w->m); f; f = LLVMGetNextFunction(f)) {
        if (!starts(warp_name(f), "rt_"))
            continue;
        set_attribute(f, "noreturn", false);
        set_attribute(f, "convergent", true);
        for (LLVMUseRef u = LLVMGetFirstUse(f); u; u = LLVMGetNextUse(u))
            if (LLVMIsACallInst(LLVMGetUser(u)))
                LLVMRemoveCallSiteEnumAttribute(LLVMGetUser(u), at, attribute("noreturn"));
    }
}

static void
remove_exit_calls(struct warp_build *w)
{
    LLVMValueRef f = LLVMGetNamedFunction(w->m, "rt_exit");
    for (LLVMUseRef u = f ? LLVMGetFirstUse(f) : NULL, next; u; u = next) {
        LLVMValueRef call = LLVMGetUser(u);
        next = LLVMGetNextUse(u);
        if (LLVMIsACallInst(call) && LLVMGetBasicBlockParent(LLVMGetInstructionParent(call)) == w->old)
            LLVMInstructionEraseFromParent(call);
    }
}

static void
one_exit(struct warp_build *w)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(w->ctx);
    LLVMBasicBlockRef exit = LLVMAppendBasicBlockInContext(w->ctx, w->old, "exit");
    bool used = false;
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(w->old); bb; bb = LLVMGetNextBasicBlock(bb)) {
        LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
        if (!t || (LLVMGetInstructionOpcode(t) != LLVMRet && LLVMGetInstructionOpcode(t) != LLVMUnreachable))
            continue;
        LLVMPositionBuilderAtEnd(b, bb);
        LLVMSetCurrentDebugLocation2(b, LLVMInstructionGetDebugLoc(t));
        LLVMInstructionEraseFromParent(t);
        LLVMBuildBr(b, exit);
        used = true;
    }
    LLVMPositionBuilderAtEnd(b, exit);
    LLVMSetCurrentDebugLocation2(b, NULL);
    if (used)
        LLVMBuildRetVoid(b);
    else
        LLVMDeleteBasicBlock(exit);
    LLVMDisposeBuilder(b);
}

// ---- accesses of short vectors, one for each element
static LLVMTypeRef
accessed_vector(LLVMValueRef i)
{
    LLVMTypeRef t = LLVMIsALoadInst(i) ? LLVMTypeOf(i) : LLVMIsAStoreInst(i) ? LLVMTypeOf(LLVMGetOperand(i, 0)) : NULL;
    return t && LLVMGetTypeKind(t) == LLVMVectorTypeKind ? t : NULL;
}

static void
split_access(struct warp_build *w, LLVMBuilderRef b, LLVMValueRef i, LLVMTypeRef t)
{
    LLVMTypeRef e = LLVMGetElementType(t);
    uint64_t size = LLVMABISizeOfType(w->data, e), align = LLVMGetAlignment(i);
    bool load = LLVMIsALoadInst(i) != NULL;
    LLVMValueRef p = LLVMGetOperand(i, load ? 0 : 1), all = LLVMGetPoison(t);
    LLVMPositionBuilderBefore(b, i);
    for (unsigned k = 0; k < LLVMGetVectorSize(t); k++) {
        LLVMValueRef n = LLVMConstInt(w->i64, k * size, 0), index = LLVMConstInt(w->i64, k, 0);
        LLVMValueRef at = LLVMBuildGEP2(b, w->i8, p, &n, 1, ""), x;
        if (load)
            x = LLVMBuildLoad2(b, e, at, "");
        else
            x = LLVMBuildStore(b, LLVMBuildExtractElement(b, LLVMGetOperand(i, 0), index, ""), at);
        LLVMSetAlignment(x, (unsigned)(k * size % align ? size : align));
        if (load)
            all = LLVMBuildInsertElement(b, all, x, index, "");
    }
    if (load)
        LLVMReplaceAllUsesWith(i, all);
    LLVMInstructionEraseFromParent(i);
}

static void
split_accesses(struct warp_build *w)
{
    LLVMBuilderRef b = LLVMCreateBuilderInContext(w->ctx);
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(w->old); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb), next; i; i = next) {
            next = LLVMGetNextInstruction(i);
            LLVMTypeRef t = accessed_vector(i);
            uint64_t bits = t ? LLVMSizeOfTypeInBits(w->data, LLVMGetElementType(t)) : 0;
            if (t && bits % 8 == 0 && !LLVMGetVolatile(i) && LLVMGetOrdering(i) == LLVMAtomicOrderingNotAtomic)
                split_access(w, b, i, t);
        }
    LLVMDisposeBuilder(b);
}

static const char *
objection(LLVMValueRef i)
{
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca:
        return LLVMIsAConstantInt(LLVMGetOperand(i, 0)) ? NULL : "an alloca of variable size";
    case LLVMInvoke:
    case LLVMCallBr:
    case LLVMIndirectBr:
    case LLVMVAArg:
        return "an instruction without a warp form";
    case LLVMCall:
        break;
    default:
        return NULL;
    }
    LLVMValueRef f = called_function(i);
    if (!f)
        return LLVMIsAInlineAsm(LLVMGetCalledValue(i)) ? "inline assembly" : "an indirect call";
    const char *name = warp_name(f);
    if (!LLVMIsDeclaration(f) && !starts(name, "pw_"))
        return "a recursive call";
    if (starts(name, "llvm.stack") || starts(name, "llvm.frame"))
        return "an alloca of variable size";
    return NULL;
}

static bool
acceptable(struct warp_build *w)
{
    if (LLVMCountParams(w->old) != 2 || count_instructions(w->old) > MAX_INSTRUCTIONS) {
        w->refused = "too large";
        return false;
    }
    for (LLVMBasicBlockRef bb = LLVMGetFirstBasicBlock(w->old); bb; bb = LLVMGetNextBasicBlock(bb))
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb); i; i = LLVMGetNextInstruction(i))
            if ((w->refused = objection(i)))
                return false;
    return true;
}

bool
warp_prepare(struct warp_build *w, void *tm)
{
    unsigned total = 0;
    for (LLVMValueRef f = LLVMGetFirstFunction(w->m); f; f = LLVMGetNextFunction(f))
        if (!starts(warp_name(f), "pw_"))
            total += count_instructions(f);
    if (total > MAX_INSTRUCTIONS) {
        w->refused = "too large";
        return false;
    }
    set_inlining(w);
    bool ok = run(w, tm, "always-inline,globaldce");
    if (ok) {
        forget_noreturn(w);
        remove_exit_calls(w);
        one_exit(w);
        split_accesses(w);
        ok = run(w, tm,
                 "function(sroa,early-cse<memssa>,instcombine<no-verify-fixpoint>,simplifycfg,loop-mssa(licm),gvn,"
                 "instcombine<no-verify-fixpoint>,simplifycfg,adce,scalarizer,instcombine<no-verify-fixpoint>,dce,lower-switch,fix-irreducible)");
    }
    if (ok) {
        one_exit(w);
        ok = run(w, tm, "function(simplifycfg<no-switch-to-lookup;no-switch-range-to-icmp>,lower-switch,loop-simplify,lcssa)");
    }
    restore_inlining(w);
    return ok && acceptable(w);
}
