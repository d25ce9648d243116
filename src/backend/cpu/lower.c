// SPDX-License-Identifier: MIT
// Lowering of SIMT IR for thread mode: pw.* functions get the device library's bodies, shared
// variables become offsets.
#include "backend/cpu/lower.h"
#include "backend/cpu/devlib.h"
#include "backend/cpu/load.h"
#include "backend/cpu/rt.h"
#include "base/log.h"

#include <llvm-c/BitReader.h>
#include <llvm-c/Linker.h>
#include <llvm-c/Target.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *
name_of(LLVMValueRef v)
{
    size_t n;
    return LLVMGetValueName2(v, &n);
}

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

static void
set_name(LLVMValueRef v, const char *name)
{
    LLVMSetValueName2(v, name, strlen(name));
}

static void
add_enum(LLVMValueRef fn, unsigned index, const char *attribute, uint64_t value)
{
    unsigned kind = LLVMGetEnumAttributeKindForName(attribute, strlen(attribute));
    LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(fn));
    LLVMAddAttributeAtIndex(fn, index, LLVMCreateEnumAttribute(ctx, kind, value));
}

#define FOR_FUNCTIONS(f, m)                                                                        \
    for (LLVMValueRef f = LLVMGetFirstFunction(m), next_ = f ? LLVMGetNextFunction(f) : NULL; f;   \
         f = next_, next_ = f ? LLVMGetNextFunction(f) : NULL)
#define FOR_GLOBALS(g, m)                                                                          \
    for (LLVMValueRef g = LLVMGetFirstGlobal(m), next_ = g ? LLVMGetNextGlobal(g) : NULL; g;       \
         g = next_, next_ = g ? LLVMGetNextGlobal(g) : NULL)
#define FOR_INSTRUCTIONS(i, f)                                                                     \
    for (LLVMBasicBlockRef bb_ = LLVMGetFirstBasicBlock(f); bb_; bb_ = LLVMGetNextBasicBlock(bb_)) \
        for (LLVMValueRef i = LLVMGetFirstInstruction(bb_); i; i = LLVMGetNextInstruction(i))

// ---- functions
// ------------------------------------------------------------------------------------------------
// All but the kernel become private to the module, and none may take a name that the device library
// uses.
static bool
name_functions(LLVMModuleRef m, const char *kernel)
{
    LLVMValueRef k = LLVMGetNamedFunction(m, kernel);
    if (!k || LLVMIsDeclaration(k)) {
        log_error("kernel %s is not in its module", kernel);
        return false;
    }
    FOR_FUNCTIONS(f, m)
    {
        if (LLVMIsDeclaration(f))
            continue;
        char name[512];
        snprintf(name, sizeof name, "%.480s.user", name_of(f));
        if (f != k && (starts(name, "pw") || starts(name, "rt_")))
            set_name(f, name);
        LLVMSetLinkage(f, f == k ? LLVMExternalLinkage : LLVMInternalLinkage);
        LLVMSetVisibility(f, LLVMDefaultVisibility);
        if (LLVMCountParams(f) &&
            LLVMGetTypeKind(LLVMTypeOf(LLVMGetParam(f, 0))) == LLVMPointerTypeKind)
            add_enum(f, 1, "dereferenceable", sizeof(struct thread));
    }
    set_name(k, KERNEL_SYMBOL);
    return true;
}

// pw.atom.add.i32.gpu -> pw_atom_add_i32: the scope goes (and the address space's suffix), dots
// become underscores.
static void
library_name(const char *name, char *out, size_t size)
{
    snprintf(out, size, "%s", name);
    if (starts(name, "pw.atom.") || starts(name, "pw.fence.")) {
        char *dot = strrchr(out, '.');
        if (dot && dot[1] == 'a' && dot[2] == 's' && dot[3] >= '0' && dot[3] <= '9') {
            *dot = 0;
            dot = strrchr(out, '.');
        }
        if (dot)
            *dot = 0;
    }
    for (char *p = out; *p; p++)
        if (*p == '.')
            *p = '_';
}

static void
name_library_calls(LLVMModuleRef m)
{
    FOR_FUNCTIONS(f, m)
    {
        char name[256];
        if (!LLVMIsDeclaration(f) || !starts(name_of(f), "pw."))
            continue;
        library_name(name_of(f), name, sizeof name);
        LLVMValueRef same = LLVMGetNamedFunction(m, name);
        if (same) { // another scope of the same operation
            LLVMReplaceAllUsesWith(f, same);
            LLVMDeleteFunction(f);
        } else {
            set_name(f, name);
        }
    }
}

// ---- the device library
// ------------------------------------------------------------------------------------------ What
// these read never changes while a thread lives, so their loads may be moved over anything.
static bool
reads_identity(const char *name)
{
    return starts(name, "pw_sreg_") || starts(name, "pw_shared_") || starts(name, "pw_isspacep_");
}

static void
mark_invariant(LLVMContextRef ctx, LLVMValueRef f)
{
    unsigned kind = LLVMGetMDKindIDInContext(ctx, "invariant.load", 14);
    LLVMValueRef empty = LLVMMetadataAsValue(ctx, LLVMMDNodeInContext2(ctx, NULL, 0));
    FOR_INSTRUCTIONS(i, f)
    if (LLVMGetInstructionOpcode(i) == LLVMLoad)
        LLVMSetMetadata(i, kind, empty);
}

// The library with its bodies unread, and each function in it taken only where it is used: linking
// reads and copies what the kernel reaches.
static LLVMModuleRef
read_library(LLVMModuleRef m)
{
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    LLVMMemoryBufferRef bytes = LLVMCreateMemoryBufferWithMemoryRange(
        (const char *)devlib_cpu_bc, devlib_cpu_bc_size, "devlib", 0);
    LLVMModuleRef lib = NULL;
    if (LLVMGetBitcodeModuleInContext2(ctx, bytes, &lib)) { // else `lib` owns `bytes`
        log_error("the device library cannot be read");
        LLVMDisposeMemoryBuffer(bytes);
        return NULL;
    }
    LLVMSetTarget(lib, LLVMGetTarget(m));
    LLVMSetDataLayout(lib, LLVMGetDataLayoutStr(m));
    FOR_FUNCTIONS(f, lib)
    if (!LLVMIsDeclaration(f) && LLVMGetLinkage(f) == LLVMExternalLinkage)
        LLVMSetLinkage(f, LLVMLinkOnceODRLinkage);
    return lib;
}

static bool
link_library(LLVMModuleRef m)
{
    LLVMModuleRef lib = read_library(m);
    if (!lib || LLVMLinkModules2(m, lib)) // consumes lib
        return false;
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    static const char probe[] = "probe-stack", inline_asm[] = "inline-asm";
    FOR_FUNCTIONS(f, m)
    {
        if (LLVMIsDeclaration(f))
            continue;
        if (reads_identity(name_of(f)))
            mark_invariant(ctx, f);
        if (strcmp(name_of(f), KERNEL_SYMBOL))
            LLVMSetLinkage(f, LLVMInternalLinkage);
        add_enum(f, (unsigned)LLVMAttributeFunctionIndex, "nounwind", 0);
        // A large frame must not step over the guard page.
        LLVMAddAttributeAtIndex(f, (unsigned)LLVMAttributeFunctionIndex,
                                LLVMCreateStringAttribute(ctx, probe, sizeof probe - 1, inline_asm,
                                                          sizeof inline_asm - 1));
    }
    return true;
}

static bool
check_declarations(LLVMModuleRef m)
{
    bool ok = true;
    FOR_FUNCTIONS(f, m)
    {
        const char *name = name_of(f);
        if (!LLVMIsDeclaration(f) || !LLVMGetFirstUse(f) || starts(name, "llvm.") ||
            runtime_symbol(name))
            continue;
        LOG(LOG_UNSUPPORTED, "%s is not supported by the CPU backend", name);
        ok = false;
    }
    return ok;
}

// ---- variables
// ------------------------------------------------------------------------------------------------------
static uint32_t
align_up(uint32_t n, uint32_t to)
{
    return (n + to - 1) / to * to;
}

static uint64_t
type_size(
    LLVMTypeRef t) // shared variables are [N x i8], or arrays of plain types in hand-written IR
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMArrayTypeKind:
        return LLVMGetArrayLength2(t) * type_size(LLVMGetElementType(t));
    case LLVMIntegerTypeKind:
        return (LLVMGetIntTypeWidth(t) + 7) / 8;
    case LLVMFloatTypeKind:
        return 4;
    default:
        return 8;
    }
}

static void
replace_by_offset(LLVMValueRef g, uint32_t offset)
{
    LLVMContextRef ctx = LLVMGetModuleContext(LLVMGetGlobalParent(g));
    LLVMValueRef off = LLVMConstInt(LLVMInt32TypeInContext(ctx), offset, 0);
    LLVMReplaceAllUsesWith(g, LLVMConstIntToPtr(off, LLVMTypeOf(g)));
    LLVMDeleteGlobal(g);
}

enum { SHARED_SPACE = 3, DYNAMIC_ALIGN = 16 };

static uint32_t
alignment(LLVMValueRef g)
{
    unsigned a = LLVMGetAlignment(g);
    return a ? a : 1;
}

// Static variables first, in order; then dynamic shared memory, which all unsized variables name.
static bool
lay_out_shared(LLVMModuleRef m, struct shared_layout *out)
{
    uint64_t at = 0;
    uint32_t dynamic_align = DYNAMIC_ALIGN;
    FOR_GLOBALS(g, m)
    {
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != SHARED_SPACE)
            continue;
        uint64_t size = type_size(LLVMGlobalGetValueType(g));
        uint32_t align = alignment(g);
        if (!size) {
            dynamic_align = align > dynamic_align ? align : dynamic_align;
            continue;
        }
        at = align_up((uint32_t)at, align);
        if (at + size > CPU_MAX_SHARED_SM) {
            log_error("%llu bytes of static shared memory", (unsigned long long)(at + size));
            return false;
        }
        replace_by_offset(g, (uint32_t)at);
        at += size;
    }
    out->bytes = (uint32_t)at;
    out->dynamic_offset = align_up((uint32_t)at, dynamic_align);
    FOR_GLOBALS(g, m)
    if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) == SHARED_SPACE)
        replace_by_offset(g, out->dynamic_offset);
    return true;
}

static void
name_variables(LLVMModuleRef m)
{
    FOR_GLOBALS(g, m)
    {
        if (!LLVMIsDeclaration(g) || starts(name_of(g), "llvm."))
            continue;
        size_t n = strlen(name_of(g)) + sizeof VARIABLE_PREFIX;
        char *name = malloc(n);
        if (!name)
            abort();
        snprintf(name, n, "%s%s", VARIABLE_PREFIX, name_of(g));
        set_name(g, name);
        free(name);
    }
}

bool
lower(LLVMModuleRef m, const char *kernel, struct shared_layout *shared)
{
    if (!name_functions(m, kernel) || !lay_out_shared(m, shared))
        return false;
    name_library_calls(m);
    lower_matrix_calls(m);
    name_variables(m);
    if (!link_library(m) || !check_declarations(m))
        return false;
    lower_for_processor(m);
    return true;
}

// ---- facts
// ------------------------------------------------------------------------------------------------------------
static void
scan_function(LLVMModuleRef m, LLVMValueRef f, struct kernel_facts *facts)
{
    LLVMTargetDataRef data = LLVMGetModuleDataLayout(m);
    FOR_INSTRUCTIONS(i, f)
    {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (op == LLVMAlloca) {
            LLVMValueRef count = LLVMGetOperand(i, 0);
            if (LLVMIsAConstantInt(count))
                facts->local_bytes += (uint32_t)(LLVMABISizeOfType(data, LLVMGetAllocatedType(i)) *
                                                 LLVMConstIntGetZExtValue(count));
            else
                facts->recursive = 1;
        }
        if (op == LLVMCall && !LLVMIsAFunction(LLVMGetCalledValue(i)) &&
            !LLVMIsAInlineAsm(LLVMGetCalledValue(i)))
            facts->recursive = 1;
    }
}

enum { UNSEEN, OPEN, CLOSED };

struct visit {
    LLVMValueRef fn[4096];
    uint8_t state[4096];
    unsigned n;
};

static unsigned
visit_index(struct visit *v, LLVMValueRef f)
{
    for (unsigned i = 0; i < v->n; i++)
        if (v->fn[i] == f)
            return i;
    if (v->n == sizeof v->state)
        return v->n;
    v->fn[v->n] = f;
    return v->n++;
}

// Is there a cycle of direct calls from f?
static bool
has_cycle(struct visit *v, LLVMValueRef f)
{
    unsigned at = visit_index(v, f);
    if (at == sizeof v->state)
        return true; // too many functions to know
    if (v->state[at] != UNSEEN)
        return v->state[at] == OPEN;
    v->state[at] = OPEN;
    FOR_INSTRUCTIONS(i, f)
    {
        LLVMValueRef callee =
            LLVMGetInstructionOpcode(i) == LLVMCall ? LLVMGetCalledValue(i) : NULL;
        if (callee && LLVMIsAFunction(callee) && !LLVMIsDeclaration(callee) && has_cycle(v, callee))
            return true;
    }
    v->state[at] = CLOSED;
    return false;
}

static void
add_constant(LLVMModuleRef m, const struct kernel_facts *facts)
{
    enum { WORDS = sizeof *facts / 4 };
    LLVMTypeRef i32 = LLVMInt32TypeInContext(LLVMGetModuleContext(m));
    uint32_t word[WORDS];
    LLVMValueRef value[WORDS];
    memcpy(word, facts, sizeof word);
    for (int i = 0; i < WORDS; i++)
        value[i] = LLVMConstInt(i32, word[i], 0);
    LLVMValueRef g = LLVMAddGlobal(m, LLVMArrayType2(i32, WORDS), FACTS_SYMBOL);
    LLVMSetInitializer(g, LLVMConstArray2(i32, value, WORDS));
    LLVMSetGlobalConstant(g, 1);
    LLVMSetAlignment(g, 8);
}

void
lower_facts(LLVMModuleRef m, const struct shared_layout *shared, const struct kernel_facts *known)
{
    struct kernel_facts facts = *known;
    facts.version = RT_VERSION;
    facts.static_shared = shared->bytes;
    facts.dynamic_offset = shared->dynamic_offset;
    FOR_FUNCTIONS(f, m)
    {
        if (!LLVMIsDeclaration(f))
            scan_function(m, f, &facts);
        else if (LLVMGetFirstUse(f) && runtime_symbol_suspends(name_of(f)))
            facts.may_suspend = 1;
        else if (LLVMGetFirstUse(f) && !strcmp(name_of(f), "rt_exit"))
            facts.may_exit = 1;
    }
    struct visit *v = calloc(1, sizeof *v);
    if (!v)
        abort();
    if (has_cycle(v, LLVMGetNamedFunction(m, KERNEL_SYMBOL)))
        facts.recursive = 1;
    free(v);
    add_constant(m, &facts);
}
