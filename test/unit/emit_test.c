// SPDX-License-Identifier: MIT
// emit/: small PTX texts become modules that verify, name the right pw.* functions, and compute the right values when
// run by LLVM's JIT with a few C definitions of pw.*.
#include <setjmp.h>
#include <stdbool.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>

#include "base/arena.h"
#include "emit/emit.h"
#include "test/check.h"

#define HEAD ".version 8.7\n.target sm_90\n.address_size 64\n"
#define KERNEL(params, body) HEAD ".visible .entry k(" params ")\n{\n" body "\nret;\n}\n"
#define OUT ".param .u64 out"
// Registers that all bodies may use; %out is the output pointer.
#define REGS                                                                                       \
    ".reg .b16 %h<9>; .reg .b32 %r<20>; .reg .b64 %d<20>; .reg .f32 %f<9>; .reg .pred %p<9>;\n"    \
    ".reg .b64 %out; ld.param.u64 %out, [out];\n"

// ---- the machine that runs a kernel ---------------------------------------------------------------
enum end { END_RETURN, END_BAD_CALL, END_TRAP, END_EXIT, END_ASSERT };

static struct {
    uint32_t tid, spins, line, fences;
    uint64_t fmt, args;
    jmp_buf stop;
    _Alignas(64) char shared[4096];
} m;

#define SHARED_WINDOW 0x7000000000000000ull
enum { DYNAMIC_SHARED = 2048 };

static uint32_t tid_x(void *pw) { (void)pw; return m.tid; }
static void spin(void *pw) { (void)pw; m.spins++; }
static void fence(void *pw) { (void)pw; m.fences++; }
static void *shared_ptr(void *pw, uint32_t off) { (void)pw; return m.shared + off % sizeof m.shared; }
static uint64_t shared_generic(void *pw, uint32_t off) { (void)pw; return (uintptr_t)m.shared + off; }
static uint32_t shared_offset(void *pw, uint64_t a) { (void)pw; return (uint32_t)(a - (uintptr_t)m.shared); }
static uint64_t same(void *pw, uint64_t a) { (void)pw; return a; }
static uint32_t is_shared(void *pw, uint64_t a) { (void)pw; return a - (uintptr_t)m.shared < sizeof m.shared; }
static uint32_t atom_add(void *pw, uint32_t *p, uint32_t v) { (void)pw; uint32_t old = *p; *p += v; return old; }
static uint64_t atom_cas(void *pw, uint64_t *p, uint64_t c, uint64_t v) { (void)pw; uint64_t old = *p; *p = old == c ? v : old; return old; }
static void bad_call(void *pw) { (void)pw; longjmp(m.stop, END_BAD_CALL); }
static void trap(void *pw) { (void)pw; longjmp(m.stop, END_TRAP); }
static void leave(void *pw) { (void)pw; longjmp(m.stop, END_EXIT); }
static uint64_t shfl(void *pw, uint32_t a, uint32_t b, uint32_t c, uint32_t mask)
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
assertfail(void *pw, uint64_t message, uint64_t file, uint32_t line, uint64_t function, uint64_t size)
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

// ---- compiling --------------------------------------------------------------------------------------
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
        .data_layout = "e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128",
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

// ---- running ----------------------------------------------------------------------------------------
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

// Compiles and runs `threads` threads of kernel k one after the other; `variable` is where all global variables live.
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

// ---- memory -------------------------------------------------------------------------------------------
static void
test_subword(void)
{
    struct {
        uint8_t in[8];
        int32_t u8, s8, u16, s16;
        int64_t s8w;
    } x = {.in = {0xff, 0x80, 0xfe, 0xff}};
    CHECK_INT(run(KERNEL(OUT, REGS "ld.global.u8 %r1, [%out]; st.global.u32 [%out+8], %r1;"
                                   "ld.global.s8 %r2, [%out+1]; st.global.u32 [%out+12], %r2;"
                                   "ld.global.u16 %r3, [%out+2]; st.global.u32 [%out+16], %r3;"
                                   "ld.global.s16 %r4, [%out+2]; st.global.u32 [%out+20], %r4;"
                                   "ld.global.s8 %d1, [%out+1]; st.global.u64 [%out+24], %d1;"
                                   "st.global.u8 [%out+7], %r2;"),
                  &x), END_RETURN);
    CHECK_INT(x.u8, 255);
    CHECK_INT(x.s8, -128);
    CHECK_INT(x.u16, 0xfffe);
    CHECK_INT(x.s16, -2);
    CHECK_INT(x.s8w, -128);
    CHECK_INT(x.in[7], 0x80);
    CHECK_INT(x.in[6], 0);
}

static void
test_vectors(void)
{
    _Alignas(16) uint32_t x[16] = {1, 2, 3, 4};
    CHECK_INT(run(KERNEL(OUT, REGS "ld.global.v4.u32 {%r1, %r2, %r3, %r4}, [%out];"
                                   "st.global.v4.u32 [%out+16], {%r4, %r3, %r2, %r1};"
                                   "mov.b64 %d1, {%r1, %r2}; st.global.u64 [%out+32], %d1;"
                                   "mov.b64 {%r5, _}, %d1; st.global.u32 [%out+40], %r5;"
                                   "mov.b32 {%h1, %h2}, 0x00070009; st.global.u16 [%out+44], %h2;"
                                   "ld.volatile.global.v2.u32 {%r6, %r7}, [%out+8];"
                                   "st.global.v2.b32 [%out+48], {%r7, 5};"),
                  x), END_RETURN);
    static const uint32_t want[14] = {1, 2, 3, 4, 4, 3, 2, 1, 1, 2, 1, 7, 4, 5};
    for (int k = 0; k < 14; k++)
        CHECK_INT(x[k], want[k]);
}

static void
test_parameters(void)
{
    uint32_t x[4] = {0};
    struct {
        _Alignas(16) void *out;
        uint8_t c;
        uint16_t s[3];
    } params = {x, 200, {1, 2, 0xffff}};
    CHECK_INT(run_threads(KERNEL(OUT ", .param .u8 c, .param .align 2 .b8 s[6]",
                                 REGS "ld.param.u8 %r1, [c]; st.global.u32 [%out], %r1;"
                                      "ld.param.s16 %r2, [s+4]; st.global.u32 [%out+4], %r2;"
                                      "mov.b64 %d1, s; ld.param.u16 %r3, [%d1+2]; st.global.u32 [%out+8], %r3;"),
                          &params, 1, NULL), END_RETURN);
    (void)params;
    CHECK_INT(x[0], 200);
    CHECK_INT((int32_t)x[1], -1);
    CHECK_INT(x[2], 2);
}

static void
test_local(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(KERNEL(OUT, ".local .align 8 .b8 depot[64];\n" REGS
                              "mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; mov.u32 %r1, 0;\n"
                              "L: mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; st.local.u32 [%d4], %r1;\n"
                              "add.s32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 16; @%p1 bra L;\n"
                              "ld.u32 %r2, [%d2+60]; ld.local.u32 %r3, [depot+28];\n"
                              "st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r3;"),
                  x), END_RETURN);
    CHECK_INT(x[0], 15);
    CHECK_INT(x[1], 7);
}

static void
test_shared(void)
{
    uint32_t x[5] = {0};
    memset(m.shared, 0, sizeof m.shared);
    CHECK_INT(run(HEAD ".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 first[12];\n"
                  ".visible .entry k(" OUT ")\n{\n.shared .align 4 .u32 second;\n" REGS
                  "mov.u32 %r1, second; st.shared.u32 [%r1], 5; mov.u32 %r2, first; st.shared.u32 [%r2+4], 6;\n"
                  "st.shared.u32 [second+0], 7; st.shared.u32 [dyn+8], 9; ld.shared.u32 %r3, [%r1];\n"
                  "mov.u64 %d1, dyn; cvta.shared.u64 %d2, %d1; ld.u32 %r4, [%d2+8]; cvta.to.shared.u64 %d3, %d2;\n"
                  "sub.s32 %r5, %r2, 16; ld.shared.u32 %r6, [%r5+20];\n"
                  "isspacep.shared %p1, %d2; selp.b32 %r7, 1, 0, %p1;\n"
                  "st.global.u32 [%out], %r3; st.global.u32 [%out+4], %r4; st.global.u32 [%out+8], %r6;\n"
                  "st.global.u32 [%out+12], %d3; st.global.u32 [%out+16], %r7; ret;\n}\n",
                  x), END_RETURN);
    CHECK_INT(x[0], 7);
    CHECK_INT(x[1], 9);
    CHECK_INT(x[2], 6);
    CHECK_INT(x[3], DYNAMIC_SHARED);
    CHECK_INT(x[4], 1);
}

static void
test_variables(void)
{
    static uint32_t v[4] = {10, 20, 30, 40};
    uint32_t x[2] = {0};
    void *params = x;
    const char *text = HEAD ".global .align 4 .u32 mine[4];\n.visible .entry k(" OUT ")\n{\n" REGS
                            "ld.global.u32 %r1, [mine+8]; st.global.u32 [%out], %r1;\n"
                            "mov.u64 %d1, mine; ld.global.u32 %r2, [%d1+4]; st.global.u32 [%out+4], %r2;\nret;\n}\n";
    CHECK_INT(run_threads(text, &params, 1, v), END_RETURN);
    CHECK_INT(x[0], 30);
    CHECK_INT(x[1], 20);
    struct compiled c = compile(text, false);
    CHECK(has(&c, "mine$0"));
    release(&c);
}

static void
test_atomics(void)
{
    struct {
        uint32_t sum, old;
        uint64_t word, seen;
    } x = {.sum = 5, .word = 3};
    m.fences = 0;
    CHECK_INT(run(KERNEL(OUT, REGS "atom.global.add.u32 %r1, [%out], 4; st.global.u32 [%out+4], %r1;"
                                   "red.acq_rel.gpu.global.add.u32 [%out], 1;"
                                   "atom.cas.relaxed.sys.b64 %d1, [%out+8], 3, 8; st.global.u64 [%out+16], %d1;"),
                  &x), END_RETURN);
    CHECK_INT(x.sum, 10);
    CHECK_INT(x.old, 5);
    CHECK_INT(x.word, 8);
    CHECK_INT(x.seen, 3);
    CHECK_INT(m.fences, 2);
}

// ---- control flow ---------------------------------------------------------------------------------------
static void
test_guards_and_zero(void)
{
    uint32_t x[4] = {9, 9, 9, 9};
    CHECK_INT(run(KERNEL(OUT, REGS "setp.eq.u32 %p1, 1, 1; @%p1 st.global.u32 [%out], 1; @!%p1 st.global.u32 [%out+4], 1;"
                                   "st.global.u32 [%out+8], %r9; @!%p1 exit; @%p1 exit; st.global.u32 [%out+12], 1;"),
                  x), END_RETURN);
    CHECK_INT(x[0], 1);
    CHECK_INT(x[1], 9);
    CHECK_INT(x[2], 0);
    CHECK_INT(x[3], 9);
}

static void
test_switch(void)
{
    const char *text = KERNEL(".param .u32 n, " OUT,
                              REGS "ld.param.u32 %r1, [n];\nlist: .branchtargets A, B, C;\nbrx.idx %r1, list;\n"
                                   "A: mov.u32 %r2, 10; bra E;\nB: mov.u32 %r2, 20; bra E;\nC: mov.u32 %r2, 30;\n"
                                   "E: st.global.u32 [%out], %r2;");
    for (uint32_t k = 0; k < 4; k++) {
        uint32_t x = 0;
        struct {
            _Alignas(16) uint64_t n;
            void *out;
        } params = {k, &x};
        CHECK_INT(run_threads(text, &params, 1, NULL), k < 3 ? END_RETURN : END_BAD_CALL);
        CHECK_INT(x, k < 3 ? 10 * (k + 1) : 0);
    }
}

static void
test_spin(void)
{
    uint32_t x[2] = {0};
    const char *text = KERNEL(OUT, REGS "L: ld.volatile.global.u32 %r1, [%out]; add.s32 %r1, %r1, 1;"
                                        "st.volatile.global.u32 [%out], %r1; setp.lt.u32 %p1, %r1, 10; @%p1 bra L;");
    m.spins = 0;
    CHECK_INT(run(text, x), END_RETURN);
    CHECK_INT(m.spins, 9);
    CHECK_INT(x[0], 10);
    struct compiled c = compile(text, false);
    CHECK(has(&c, "load atomic volatile i32"));
    release(&c);
}

// ---- calls ----------------------------------------------------------------------------------------------
#define FIB                                                                                        \
    ".func (.param .b32 res) fib(.param .b32 n)\n{\n.reg .b32 %r<9>; .reg .pred %p<2>;\n"          \
    "ld.param.u32 %r1, [n]; st.param.b32 [res], %r1; setp.lt.u32 %p1, %r1, 2; @%p1 ret;\n"         \
    "sub.s32 %r2, %r1, 1;\n{\n.param .b32 a; .param .b32 b; st.param.b32 [a], %r2;\n"              \
    "call.uni (b), fib, (a); ld.param.b32 %r3, [b];\n}\nsub.s32 %r4, %r1, 2;\n"                    \
    "{\n.param .b32 a; .param .b32 b; st.param.b32 [a], %r4;\n"                                    \
    "call.uni (b), fib, (a); ld.param.b32 %r5, [b];\n}\nadd.s32 %r6, %r3, %r5;\n"                  \
    "st.param.b32 [res], %r6;\nret;\n}\n"

static void
test_recursion(void)
{
    uint32_t x = 0;
    CHECK_INT(run(HEAD FIB ".visible .entry k(" OUT ")\n{\n" REGS "{\n.param .b32 a; .param .b32 b;\n"
                           "st.param.b32 [a], 15; call.uni (b), fib, (a); ld.param.b32 %r1, [b];\n}\n"
                           "st.global.u32 [%out], %r1;\nret;\n}\n",
                  &x), END_RETURN);
    CHECK_INT(x, 610);
}

static void
test_struct_by_value(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(HEAD ".func (.param .align 4 .b8 res[8]) swap(.param .align 4 .b8 s[8])\n{\n.reg .b32 %r<3>;\n"
                       "ld.param.u32 %r1, [s]; ld.param.u32 %r2, [s+4];\n"
                       "st.param.b32 [res+0], %r2; st.param.b32 [res+4], %r1;\nret;\n}\n"
                       ".visible .entry k(" OUT ")\n{\n" REGS
                       "{\n.param .align 4 .b8 a[8]; .param .align 4 .b8 b[8];\n"
                       "st.param.b32 [a+0], 11; st.param.b32 [a+4], 22; call.uni (b), swap, (a);\n"
                       "ld.param.b32 %r1, [b+0]; ld.param.b32 %r2, [b+4];\n}\n"
                       "st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;\nret;\n}\n",
                  x), END_RETURN);
    CHECK_INT(x[0], 22);
    CHECK_INT(x[1], 11);
}

// add1 and add2 are address-taken in this order, `other` has another type.
#define INDIRECT                                                                                   \
    HEAD ".func (.param .b32 res) add1(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\n" \
         "add.s32 %r2, %r1, 1; st.param.b32 [res], %r2;\nret;\n}\n"                                \
         ".func (.param .b32 res) add2(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, [n];\n" \
         "add.s32 %r2, %r1, 2; st.param.b32 [res], %r2;\nret;\n}\n"                                \
         ".func other(.param .b64 n)\n{\nret;\n}\n"                                                \
         ".visible .entry k(" OUT ", .param .u64 fn)\n{\n" REGS                                    \
         "mov.u64 %d1, add1; mov.u64 %d2, add2; mov.u64 %d3, other;\n"                             \
         "st.global.u64 [%out+8], %d1; st.global.u64 [%out+16], %d2; st.global.u64 [%out+24], %d3;\n" \
         "ld.param.u64 %d4, [fn];\n"                                                               \
         "{\n.param .b32 a; .param .b32 b; st.param.b32 [a], 40;\n"                                \
         "proto: .callprototype (.param .b32 _) _ (.param .b32 _);\n"                              \
         "call (b), %d4, (a), proto; ld.param.b32 %r1, [b];\n}\n"                                  \
         "st.global.u32 [%out], %r1;\nret;\n}\n"

static enum end
call_indirectly(uint64_t fn, uint64_t *x)
{
    struct {
        _Alignas(16) void *out;
        uint64_t fn;
    } params = {x, fn};
    return run_threads(INDIRECT, &params, 1, NULL);
}

static void
test_indirect(void)
{
    uint64_t x[4] = {0};
    CHECK_INT(call_indirectly(0, x), END_BAD_CALL);
    for (int k = 1; k <= 3; k++)
        ok(x[k] >= PTX_FUNC_HANDLE_BASE && x[k] % 16 == 0, "handle %d is %llx", k, (unsigned long long)x[k]);
    uint64_t add1 = x[1], add2 = x[2], other = x[3];
    CHECK_INT(call_indirectly(add1, x), END_RETURN);
    CHECK_INT((uint32_t)x[0], 41);
    CHECK_INT(call_indirectly(add2, x), END_RETURN);
    CHECK_INT((uint32_t)x[0], 42);
    CHECK_INT(call_indirectly(other, x), END_BAD_CALL);
    CHECK_INT(call_indirectly(add1 + 1, x), END_BAD_CALL);
    CHECK_INT(call_indirectly(PTX_FUNC_HANDLE_BASE + 16 * 3, x), END_BAD_CALL);
    CHECK_INT(call_indirectly(UINT64_MAX, x), END_BAD_CALL);
}

static void
test_builtins(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 f, .param .b64 a);\n"
                       ".visible .entry k(" OUT ")\n{\n" REGS
                       "{\n.param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], 100; st.param.b64 [b], 200;\n"
                       "call.uni (c), vprintf, (a, b); ld.param.b32 %r1, [c];\n}\nst.global.u32 [%out], %r1;\nret;\n}\n",
                  x), END_RETURN);
    CHECK_INT(x[0], 7);
    CHECK_INT(m.fmt, 100);
    CHECK_INT(m.args, 200);
}

static void
test_ends(void)
{
    uint32_t x = 0;
    CHECK_INT(run(KERNEL(OUT, REGS "trap; st.global.u32 [%out], 1;"), &x), END_TRAP);
    CHECK_INT(run(HEAD ".func f()\n{\nexit;\n}\n.visible .entry k(" OUT ")\n{\n" REGS
                       "call.uni f, (); st.global.u32 [%out], 1; ret;\n}\n", &x), END_EXIT);
    CHECK_INT(x, 0);
}

static void
test_shfl(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(KERNEL(OUT, REGS "mov.u32 %r1, 100; shfl.sync.bfly.b32 %r2|%p1, %r1, 10, 31, 5;"
                                   "selp.b32 %r3, 1, 0, %p1; st.global.v2.u32 [%out], {%r2, %r3};"),
                  x), END_RETURN);
    CHECK_INT(x[0], 146);
    CHECK_INT(x[1], 1);
}

// ---- names and refusals -----------------------------------------------------------------------------------
static void
test_names(void)
{
    static const char *const want[] = {
        "call i32 @pw.vote.ballot(", "call i32 @pw.vote.all.active(", "call i64 @pw.match.all.b64(",
        "call i32 @pw.redux.umax(", "call void @pw.barrier.sync(", "call void @pw.barrier.arrive(",
        "call i32 @pw.barrier.red.popc(", "call void @pw.warp.sync(", "call i64 @pw.sreg.clock64(",
        "call i32 @pw.sreg.ctaid.y(", "call float @pw.atom.fadd.f32.gpu(", "call i16 @pw.atom.fadd.f16.cta(",
        "call i32 @pw.atom.umin.i32.gpu(", "call void @pw.fence.sc.gpu(", "call void @pw.fence.acq_rel.cluster(",
        "call i64 @pw.elect(", "call i32 @pw.activemask(", "call void @pw.nanosleep(", "call void @pw.prefetch(",
    };
    struct compiled c = compile(
        KERNEL(OUT, REGS "setp.eq.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r1, %p1, -1; vote.all.pred %p2, %p1;\n"
                         "match.all.sync.b64 %r2|%p3, %d1, -1; redux.sync.max.u32 %r3, %r1, -1; bar.sync 0;\n"
                         "barrier.arrive 1, 64; bar.red.popc.u32 %r4, 0, %p1; bar.warp.sync -1; mov.u64 %d2, %clock64;\n"
                         "mov.u32 %r5, %ctaid.y; atom.global.add.f32 %f1, [%out], %f2;\n"
                         "red.relaxed.cta.global.add.noftz.f16 [%out], %h1; atom.min.u32 %r6, [%out], 4; membar.gl;\n"
                         "fence.acq_rel.cluster; elect.sync %r7|%p4, -1; activemask.b32 %r8; nanosleep.u32 20;\n"
                         "prefetch.global.L2 [%out];"),
        false);
    ok(c.mod, "refused: %s", first_error(&c));
    for (size_t k = 0; k < sizeof want / sizeof *want; k++)
        ok(has(&c, want[k]), "no %s", want[k]);
    ok(!has(&c, "mustprogress"), "mustprogress is set");
    release(&c);
}

static void
test_reachable_only(void)
{
    struct compiled c = compile(HEAD FIB ".visible .entry k()\n{\nret;\n}\n", false);
    CHECK(c.mod && !has(&c, "fib"));
    release(&c);
}

static void
test_refusals(void)
{
    struct compiled c = compile(HEAD ".extern .func missing();\n.visible .entry k()\n{\ncall.uni missing, ();\nret;\n}\n", false);
    CHECK(!c.mod);
    CHECK(strstr(first_error(&c), "missing") != NULL);
    CHECK_INT(c.diags.errors ? c.diags.list[0].line : 0, 7);
    release(&c);
    c = compile(KERNEL(OUT, REGS "mov.u32 %r1, %pm0;"), false);
    CHECK(!c.mod);
    CHECK(strstr(first_error(&c), "pm0") != NULL);
    release(&c);
}

static void
test_lines(void)
{
    struct compiled c = compile(HEAD FIB ".visible .entry k(" OUT ")\n{\n" REGS "{\n.param .b32 a; .param .b32 b;\n"
                                "st.param.b32 [a], 15; call.uni (b), fib, (a);\n}\nret;\n}\n", true);
    CHECK(has(&c, "!DIFile(filename: \"t.ptx\""));
    CHECK(has(&c, "!DILocation(line: 10,"));
    release(&c);
}

static void
start_llvm(void)
{
    LLVMLinkInMCJIT();
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
}

CHECK_MAIN(T(start_llvm), T(test_subword), T(test_vectors), T(test_parameters), T(test_local), T(test_shared),
           T(test_variables), T(test_atomics), T(test_guards_and_zero), T(test_switch), T(test_spin),
           T(test_recursion), T(test_struct_by_value), T(test_indirect), T(test_builtins), T(test_ends),
           T(test_shfl), T(test_names), T(test_reachable_only), T(test_refusals), T(test_lines))
