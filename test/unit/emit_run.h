// SPDX-License-Identifier: MIT
// For the tests of emit/: compiles small PTX texts and runs them by LLVM's JIT, one thread after
// the other, with a few C definitions of pw.*.
#ifndef TEST_UNIT_EMIT_RUN_H
#define TEST_UNIT_EMIT_RUN_H

#include <setjmp.h>
#include <stdbool.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "base/arena.h"
#include "emit/emit.h"
#include "check.h"

#define HEAD                 ".version 8.7\n.target sm_90\n.address_size 64\n"
#define KERNEL(params, body) HEAD ".visible .entry k(" params ")\n{\n" body "\nret;\n}\n"
#define OUT                  ".param .u64 out"
// Registers that all bodies may use; %out is the output pointer.
#define REGS                                                                                       \
    ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"    \
    ".reg .b64 %out; ld.param.u64 %out, [out];\n"

// ---- the machine that runs a kernel -------------------------------------------------------------
enum end { END_RETURN, END_BAD_CALL, END_TRAP, END_EXIT, END_ASSERT };

static struct {
    uint32_t tid, spins, line, fences;
    uint64_t fmt, args;
    jmp_buf stop;
    _Alignas(64) char shared[4096];
} m;

enum { DYNAMIC_SHARED = 2048 };

static uint32_t
tid_x(void *pw)
{
    (void)pw;
    return m.tid;
}

static void
spin(void *pw)
{
    (void)pw;
    m.spins++;
}

static void
fence(void *pw)
{
    (void)pw;
    m.fences++;
}

static void *
shared_ptr(void *pw, uint32_t off)
{
    (void)pw;
    return m.shared + off % sizeof m.shared;
}

static uint64_t
shared_generic(void *pw, uint32_t off)
{
    (void)pw;
    return (uintptr_t)m.shared + off;
}

static uint32_t
shared_offset(void *pw, uint64_t a)
{
    (void)pw;
    return (uint32_t)(a - (uintptr_t)m.shared);
}

static uint64_t
same(void *pw, uint64_t a)
{
    (void)pw;
    return a;
}

static uint32_t
is_shared(void *pw, uint64_t a)
{
    (void)pw;
    return a - (uintptr_t)m.shared < sizeof m.shared;
}

static uint32_t
atom_add(void *pw, uint32_t *p, uint32_t v)
{
    (void)pw;
    uint32_t old = *p;
    *p += v;
    return old;
}

static uint64_t
atom_cas(void *pw, uint64_t *p, uint64_t c, uint64_t v)
{
    (void)pw;
    uint64_t old = *p;
    *p = old == c ? v : old;
    return old;
}

static void
bad_call(void *pw)
{
    (void)pw;
    longjmp(m.stop, END_BAD_CALL);
}

static void
trap(void *pw)
{
    (void)pw;
    longjmp(m.stop, END_TRAP);
}

static void
leave(void *pw)
{
    (void)pw;
    longjmp(m.stop, END_EXIT);
}

static uint64_t
shfl(void *pw, uint32_t a, uint32_t b, uint32_t c, uint32_t mask)
{
    (void)pw;
    return (a + b + c + mask) | 1ull << 32;
}

static uint32_t
print(void *pw, uint64_t fmt, uint64_t args)
{
    (void)pw;
    m.fmt = fmt;
    m.args = args;
    return 7;
}

static void
assertfail(void *pw, uint64_t message, uint64_t file, uint32_t line, uint64_t function,
           uint64_t size)
{
    (void)pw, (void)message, (void)file, (void)function, (void)size;
    m.line = line;
    longjmp(m.stop, END_ASSERT);
}

static const struct {
    const char *name;
    void *fn;
} natives[] = {
    {"pw.sreg.tid.x", tid_x},
    {"pw.spin", spin},
    {"pw.fence.acquire.gpu", fence},
    {"pw.fence.release.gpu", fence},
    {"pw.fence.sc.gpu", fence},
    {"pw.shared.ptr", shared_ptr},
    {"pw.shared.to_generic", shared_generic},
    {"pw.shared.from_generic", shared_offset},
    {"pw.local.to_generic", same},
    {"pw.local.from_generic", same},
    {"pw.isspacep.shared", is_shared},
    {"pw.atom.add.i32.gpu", atom_add},
    {"pw.atom.cas.i64.sys", atom_cas},
    {"pw.bad_call", bad_call},
    {"pw.trap", trap},
    {"pw.exit", leave},
    {"pw.vprintf", print},
    {"pw.assertfail", assertfail},
    {"pw.shfl.bfly", shfl},
};

// ---- compiling ----------------------------------------------------------------------------------
struct compiled {
    LLVMContextRef ctx;
    LLVMModuleRef mod; // NULL: refused
    struct ptx_program *prog;
    struct ptx_diags diags;
    char *ir;
};

static const char *
first_error(struct compiled *c)
{
    return c->diags.errors ? c->diags.list[0].text : "";
}

static struct emit_target
target(bool line_info)
{
    return (struct emit_target){
        .triple = "x86_64-unknown-linux-gnu",
        .data_layout =
            "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
        .sm = 121,
        .line_info = line_info,
    };
}

static struct compiled
compile(const char *text, bool line_info)
{
    struct compiled c = {.ctx = LLVMContextCreate()};
    struct emit_target t = target(line_info);
    struct ptx_module *m1 = ptx_parse(text, strlen(text), "t.ptx", &c.diags);
    ok(m1, "parse: %s", first_error(&c));
    c.prog = m1 ? ptx_link(&m1, 1, true, &c.diags) : NULL;
    struct ptx_func *k = c.prog ? ptx_find_kernel(c.prog, "k") : NULL;
    c.mod = k ? emit_kernel(c.ctx, c.prog, k, &t, &c.diags) : NULL;
    if (!c.mod)
        return c;
    char *why = NULL;
    bool bad = LLVMVerifyModule(c.mod, LLVMReturnStatusAction, &why);
    c.ir = LLVMPrintModuleToString(c.mod);
    ok(!bad, "does not verify: %s\n%s", why, c.ir);
    LLVMDisposeMessage(why);
    return c;
}

static void
release(struct compiled *c)
{
    if (c->mod)
        LLVMDisposeModule(c->mod);
    if (c->ir)
        LLVMDisposeMessage(c->ir);
    if (c->prog)
        ptx_program_free(c->prog);
    ptx_diags_free(&c->diags);
    LLVMContextDispose(c->ctx);
}

static bool
has(const struct compiled *c, const char *text)
{
    return c->ir && strstr(c->ir, text);
}

// ---- running ------------------------------------------------------------------------------------
// Shared variables get offsets in the order of the module, as a backend would give them.
static void
lay_out_shared(LLVMContextRef ctx, LLVMModuleRef mod)
{
    uint64_t at = 0;
    LLVMValueRef next;
    for (LLVMValueRef g = LLVMGetFirstGlobal(mod); g; g = next) {
        next = LLVMGetNextGlobal(g);
        if (LLVMGetPointerAddressSpace(LLVMTypeOf(g)) != 3)
            continue;
        uint64_t size = LLVMGetArrayLength2(LLVMGlobalGetValueType(g));
        LLVMValueRef off = LLVMConstInt(LLVMInt32TypeInContext(ctx), size ? at : DYNAMIC_SHARED, 0);
        LLVMReplaceAllUsesWith(g, LLVMConstIntToPtr(off, LLVMTypeOf(g)));
        LLVMDeleteGlobal(g);
        at += (size + 15) / 16 * 16;
    }
}

static void *
native(const char *name)
{
    for (size_t k = 0; k < sizeof natives / sizeof *natives; k++)
        if (!strcmp(name, natives[k].name))
            return natives[k].fn;
    return NULL;
}

static void
map_symbols(LLVMExecutionEngineRef ee, LLVMModuleRef mod, void *variable)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        const char *name = LLVMGetValueName2(f, &n);
        if (!LLVMIsDeclaration(f) || strncmp(name, "pw.", 3))
            continue;
        ok(native(name), "the test has no %s", name);
        LLVMAddGlobalMapping(ee, f, native(name));
    }
    for (LLVMValueRef g = LLVMGetFirstGlobal(mod); g; g = LLVMGetNextGlobal(g))
        if (LLVMIsDeclaration(g))
            LLVMAddGlobalMapping(ee, g, variable);
}

static enum end
call_kernel(void *fn, void *params)
{
    int how = setjmp(m.stop);
    if (how)
        return (enum end)how;
    ((void (*)(void *, void *))fn)(&m, params);
    return END_RETURN;
}

// Compiles and runs `threads` threads of kernel k one after the other; `variable` is where all
// global variables live.
static enum end
run_threads(const char *text, void *params, unsigned threads, void *variable)
{
    struct compiled c = compile(text, false);
    enum end end = END_RETURN;
    ok(c.mod, "refused: %s", first_error(&c));
    if (c.mod) {
        LLVMExecutionEngineRef ee;
        struct LLVMMCJITCompilerOptions o;
        char *why = NULL;
        LLVMInitializeMCJITCompilerOptions(&o, sizeof o);
        o.CodeModel = LLVMCodeModelLarge;
        lay_out_shared(c.ctx, c.mod);
        bool bad = LLVMCreateMCJITCompilerForModule(&ee, c.mod, &o, sizeof o, &why);
        ok(!bad, "no JIT: %s", why);
        map_symbols(ee, c.mod, variable);
        void *fn = (void *)(uintptr_t)LLVMGetFunctionAddress(ee, "k");
        for (m.tid = 0; m.tid < threads && end == END_RETURN; m.tid++)
            end = call_kernel(fn, params);
        LLVMDisposeExecutionEngine(ee);
        c.mod = NULL;
    }
    release(&c);
    return end;
}

static enum end
run(const char *text, void *out)
{
    struct {
        _Alignas(16) void *out;
    } params = {out};
    return run_threads(text, &params, 1, NULL);
}

static void
start_llvm(void)
{
    LLVMLinkInMCJIT();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

#endif
