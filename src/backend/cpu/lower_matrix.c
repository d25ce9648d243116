// SPDX-License-Identifier: MIT
// Bodies of the calls of pw.mma and pw.matrix, which have as many words as their names say: words
// to memory, rt_matrix, words back. Warp mode takes the calls before these are inlined
// (warp/emit_matrix.c).
#include "backend/cpu/lower.h"

#include <string.h>

static LLVMValueRef
word_pointer(LLVMBuilderRef b, LLVMTypeRef i32, LLVMValueRef base, unsigned k)
{
    LLVMValueRef index = LLVMConstInt(LLVMInt64TypeInContext(LLVMGetTypeContext(i32)), k, 0);
    return LLVMBuildGEP2(b, i32, base, &index, 1, "");
}

static LLVMValueRef
runtime_function(LLVMModuleRef m, LLVMTypeRef *type)
{
    static const char name[] = "rt_matrix";
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMTypeRef ptr = LLVMPointerTypeInContext(c, 0), i32 = LLVMInt32TypeInContext(c);
    LLVMTypeRef param[] = {ptr, LLVMInt64TypeInContext(c), ptr, i32, ptr, i32};
    *type = LLVMFunctionType(LLVMVoidTypeInContext(c), param, 6, 0);
    LLVMValueRef f = LLVMGetNamedFunction(m, name);
    return f ? f : LLVMAddFunction(m, name, *type);
}

static void
define(LLVMModuleRef m, LLVMValueRef f)
{
    LLVMContextRef c = LLVMGetModuleContext(m);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(c);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(c), type,
                result = LLVMGetReturnType(LLVMGlobalGetValueType(f));
    LLVMValueRef run = runtime_function(m, &type);
    unsigned in = LLVMCountParams(f) - 2, out = 0;
    if (LLVMGetTypeKind(result) == LLVMStructTypeKind)
        out = LLVMCountStructElementTypes(result);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(c, f, ""));
    LLVMValueRef from = LLVMBuildAlloca(b, LLVMArrayType2(i32, in ? in : 1), "");
    LLVMValueRef to = LLVMBuildAlloca(b, LLVMArrayType2(i32, out ? out : 1), "");
    for (unsigned k = 0; k < in; k++)
        LLVMBuildStore(b, LLVMGetParam(f, k + 2), word_pointer(b, i32, from, k));
    LLVMValueRef arg[] = {
        LLVMGetParam(f, 0),       LLVMGetParam(f, 1), from, LLVMConstInt(i32, in, 0), to,
        LLVMConstInt(i32, out, 0)};
    LLVMBuildCall2(b, type, run, arg, 6, "");
    if (!out) {
        LLVMBuildRetVoid(b);
    } else {
        LLVMValueRef all = LLVMGetPoison(result);
        for (unsigned k = 0; k < out; k++)
            all = LLVMBuildInsertValue(
                b, all, LLVMBuildLoad2(b, i32, word_pointer(b, i32, to, k), ""), k, "");
        LLVMBuildRet(b, all);
    }
    LLVMDisposeBuilder(b);
}

static void
inline_always(LLVMValueRef f)
{
    static const char name[] = "alwaysinline", memory[] = "memory";
    LLVMContextRef c = LLVMGetModuleContext(LLVMGetGlobalParent(f));
    LLVMAttributeIndex at = (unsigned)LLVMAttributeFunctionIndex;
    unsigned kind = LLVMGetEnumAttributeKindForName(name, sizeof name - 1);
    LLVMAddAttributeAtIndex(f, at, LLVMCreateEnumAttribute(c, kind, 0));
    // What holds for a declaration (mma touches no memory that the module sees) need not for this
    // body.
    LLVMRemoveEnumAttributeAtIndex(f, at,
                                   LLVMGetEnumAttributeKindForName(memory, sizeof memory - 1));
}

void
lower_matrix_calls(LLVMModuleRef m)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(m); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (!LLVMIsDeclaration(f) ||
            (strncmp(name, "pw_mma_", 7) && strncmp(name, "pw_matrix_", 10)))
            continue;
        inline_always(f);
        define(m, f);
    }
}
