// SPDX-License-Identifier: MIT
// emit/: small PTX texts become modules that verify, name the right pw.* functions, and compute the
// right values.
#include "emit_run.h"

// ---- memory -------------------------------------------------------------------------------------
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
                  &x),
              END_RETURN);
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
                  x),
              END_RETURN);
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
    CHECK_INT(run_threads(
                  KERNEL(OUT ", .param .u8 c, .param .align 2 .b8 s[6]", REGS
                         "ld.param.u8 %r1, [c]; st.global.u32 [%out], %r1;"
                         "ld.param.s16 %r2, [s+4]; st.global.u32 [%out+4], %r2;"
                         "mov.b64 %d1, s; ld.param.u16 %r3, [%d1+2]; st.global.u32 [%out+8], %r3;"),
                  &params, 1, NULL),
              END_RETURN);
    (void)params;
    CHECK_INT(x[0], 200);
    CHECK_INT((int32_t)x[1], -1);
    CHECK_INT(x[2], 2);
}

static void
test_local(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(
        run(KERNEL(OUT,
                   ".local .align 8 .b8 depot[64];\n" REGS
                   "mov.u64 %d1, depot; cvta.local.u64 %d2, %d1; mov.u32 %r1, 0;\n"
                   "L: mul.wide.u32 %d3, %r1, 4; add.s64 %d4, %d1, %d3; st.local.u32 [%d4], %r1;\n"
                   "add.s32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 16; @%p1 bra L;\n"
                   "ld.u32 %r2, [%d2+60]; ld.local.u32 %r3, [depot+28];\n"
                   "st.global.u32 [%out], %r2; st.global.u32 [%out+4], %r3;"),
            x),
        END_RETURN);
    CHECK_INT(x[0], 15);
    CHECK_INT(x[1], 7);
}

static void
test_shared(void)
{
    uint32_t x[5] = {0};
    memset(m.shared, 0, sizeof m.shared);
    CHECK_INT(
        run(HEAD
            ".extern .shared .align 16 .b8 dyn[];\n.shared .align 4 .b8 first[12];\n"
            ".visible .entry k(" OUT ")\n{\n.shared .align 4 .u32 second;\n" REGS
            "mov.u32 %r1, second; st.shared.u32 [%r1], 5; mov.u32 %r2, first; st.shared.u32 "
            "[%r2+4], 6;\n"
            "st.shared.u32 [second+0], 7; st.shared.u32 [dyn+8], 9; ld.shared.u32 %r3, [%r1];\n"
            "mov.u64 %d1, dyn; cvta.shared.u64 %d2, %d1; ld.u32 %r4, [%d2+8]; cvta.to.shared.u64 "
            "%d3, %d2;\n"
            "sub.s32 %r5, %r2, 16; ld.shared.u32 %r6, [%r5+20];\n"
            "isspacep.shared %p1, %d2; selp.b32 %r7, 1, 0, %p1;\n"
            "st.global.u32 [%out], %r3; st.global.u32 [%out+4], %r4; st.global.u32 [%out+8], %r6;\n"
            "st.global.u32 [%out+12], %d3; st.global.u32 [%out+16], %r7; ret;\n}\n",
            x),
        END_RETURN);
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
    const char *text = HEAD
        ".global .align 4 .u32 mine[4];\n.visible .entry k(" OUT ")\n{\n" REGS
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
    CHECK_INT(
        run(KERNEL(OUT, REGS
                   "atom.global.add.u32 %r1, [%out], 4; st.global.u32 [%out+4], %r1;"
                   "atom.acq_rel.gpu.global.add.u32 %r2, [%out], 1;"
                   "atom.cas.relaxed.sys.b64 %d1, [%out+8], 3, 8; st.global.u64 [%out+16], %d1;"),
            &x),
        END_RETURN);
    CHECK_INT(x.sum, 10);
    CHECK_INT(x.old, 5);
    CHECK_INT(x.word, 8);
    CHECK_INT(x.seen, 3);
    CHECK_INT(m.fences, 2);
}

// ---- control flow -------------------------------------------------------------------------------
static void
test_guards_and_zero(void)
{
    uint32_t x[4] = {9, 9, 9, 9};
    CHECK_INT(
        run(KERNEL(
                OUT, REGS
                "setp.eq.u32 %p1, 1, 1; @%p1 st.global.u32 [%out], 1; @!%p1 st.global.u32 "
                "[%out+4], 1;"
                "st.global.u32 [%out+8], %r9; @!%p1 exit; @%p1 exit; st.global.u32 [%out+12], 1;"),
            x),
        END_RETURN);
    CHECK_INT(x[0], 1);
    CHECK_INT(x[1], 9);
    CHECK_INT(x[2], 0);
    CHECK_INT(x[3], 9);
}

static void
test_switch(void)
{
    const char *text =
        KERNEL(".param .u32 n, " OUT,
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
    const char *text = KERNEL(
        OUT, REGS "L: ld.volatile.global.u32 %r1, [%out]; add.s32 %r1, %r1, 1;"
                  "st.volatile.global.u32 [%out], %r1; setp.lt.u32 %p1, %r1, 10; @%p1 bra L;");
    m.spins = 0;
    CHECK_INT(run(text, x), END_RETURN);
    CHECK_INT(m.spins, 9);
    CHECK_INT(x[0], 10);
    struct compiled c = compile(text, false);
    CHECK(has(&c, "load atomic volatile i32"));
    release(&c);
}

// ---- calls --------------------------------------------------------------------------------------
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
    CHECK_INT(run(HEAD FIB
                  ".visible .entry k(" OUT ")\n{\n" REGS "{\n.param .b32 a; .param .b32 b;\n"
                  "st.param.b32 [a], 15; call.uni (b), fib, (a); ld.param.b32 %r1, [b];\n}\n"
                  "st.global.u32 [%out], %r1;\nret;\n}\n",
                  &x),
              END_RETURN);
    CHECK_INT(x, 610);
}

static void
test_struct_by_value(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(HEAD ".func (.param .align 4 .b8 res[8]) swap(.param .align 4 .b8 s[8])\n{\n.reg "
                       ".b32 %r<3>;\n"
                       "ld.param.u32 %r1, [s]; ld.param.u32 %r2, [s+4];\n"
                       "st.param.b32 [res+0], %r2; st.param.b32 [res+4], %r1;\nret;\n}\n"
                       ".visible .entry k(" OUT ")\n{\n" REGS
                       "{\n.param .align 4 .b8 a[8]; .param .align 4 .b8 b[8];\n"
                       "st.param.b32 [a+0], 11; st.param.b32 [a+4], 22; call.uni (b), swap, (a);\n"
                       "ld.param.b32 %r1, [b+0]; ld.param.b32 %r2, [b+4];\n}\n"
                       "st.global.u32 [%out], %r1; st.global.u32 [%out+4], %r2;\nret;\n}\n",
                  x),
              END_RETURN);
    CHECK_INT(x[0], 22);
    CHECK_INT(x[1], 11);
}

// Old code passes registers, and may have several results.
static void
test_register_parameters(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(HEAD ".func (.reg .u32 q, .reg .u32 r) f(.reg .u32 a, .reg .u32 b)\n{\n"
                       "div.u32 q, a, b; rem.u32 r, a, b;\nret;\n}\n"
                       ".visible .entry k(" OUT ")\n{\n" REGS
                       "mov.u32 %r1, 47; call.uni (%r2, %r3), f, (%r1, 10);\n"
                       "st.global.v2.u32 [%out], {%r2, %r3};\nret;\n}\n",
                  x),
              END_RETURN);
    CHECK_INT(x[0], 4);
    CHECK_INT(x[1], 7);
}

// add1 and add2 are address-taken in this order, `other` has another type.
#define INDIRECT                                                                                   \
    HEAD ".func (.param .b32 res) add1(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, "    \
         "[n];\n"                                                                                  \
         "add.s32 %r2, %r1, 1; st.param.b32 [res], %r2;\nret;\n}\n"                                \
         ".func (.param .b32 res) add2(.param .b32 n)\n{\n.reg .b32 %r<3>;\nld.param.u32 %r1, "    \
         "[n];\n"                                                                                  \
         "add.s32 %r2, %r1, 2; st.param.b32 [res], %r2;\nret;\n}\n"                                \
         ".func other(.param .b64 n)\n{\nret;\n}\n"                                                \
         ".visible .entry k(" OUT ", .param .u64 fn)\n{\n" REGS                                    \
         "mov.u64 %d1, add1; mov.u64 %d2, add2; mov.u64 %d3, other;\n"                             \
         "st.global.u64 [%out+8], %d1; st.global.u64 [%out+16], %d2; st.global.u64 [%out+24], "    \
         "%d3;\n"                                                                                  \
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
        ok(x[k] >= PTX_FUNC_HANDLE_BASE && x[k] % 16 == 0, "handle %d is %llx", k,
           (unsigned long long)x[k]);
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
                       "{\n.param .b64 a; .param .b64 b; .param .b32 c; st.param.b64 [a], 100; "
                       "st.param.b64 [b], 200;\n"
                       "call.uni (c), vprintf, (a, b); ld.param.b32 %r1, [c];\n}\nst.global.u32 "
                       "[%out], %r1;\nret;\n}\n",
                  x),
              END_RETURN);
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
                       "call.uni f, (); st.global.u32 [%out], 1; ret;\n}\n",
                  &x),
              END_EXIT);
    CHECK_INT(x, 0);
}

static void
test_shfl(void)
{
    uint32_t x[2] = {0};
    CHECK_INT(run(KERNEL(OUT, REGS "mov.u32 %r1, 100; shfl.sync.bfly.b32 %r2|%p1, %r1, 10, 31, 5;"
                                   "selp.b32 %r3, 1, 0, %p1; st.global.v2.u32 [%out], {%r2, %r3};"),
                  x),
              END_RETURN);
    CHECK_INT(x[0], 146);
    CHECK_INT(x[1], 1);
}

// ---- names and refusals -------------------------------------------------------------------------
static void
test_names(void)
{
    static const char *const want[] = {
        "call i32 @pw.vote.ballot(",
        "call i32 @pw.vote.all.active(",
        "call i64 @pw.match.all.b64(",
        "call i32 @pw.redux.umax(",
        "call void @pw.barrier.sync(",
        "call void @pw.barrier.arrive(",
        "call i32 @pw.barrier.red.popc(",
        "call void @pw.warp.sync(",
        "call i64 @pw.sreg.clock64(",
        "call i32 @pw.sreg.ctaid.y(",
        "call float @pw.atom.fadd.global.f32.gpu(",
        "call i16 @pw.atom.fadd.f16.cta(",
        "call i32 @pw.atom.umin.i32.gpu(",
        "call void @pw.fence.sc.gpu(",
        "call void @pw.fence.acq_rel.cluster(",
        "call i64 @pw.elect(",
        "call i32 @pw.activemask(",
        "call void @pw.nanosleep(",
        "call void @pw.prefetch(",
    };
    struct compiled c = compile(
        KERNEL(
            OUT, REGS
            "setp.eq.u32 %p1, %r1, 0; vote.sync.ballot.b32 %r1, %p1, -1; vote.all.pred %p2, %p1;\n"
            "match.all.sync.b64 %r2|%p3, %d1, -1; redux.sync.max.u32 %r3, %r1, -1; bar.sync 0;\n"
            "barrier.arrive 1, 64; bar.red.popc.u32 %r4, 0, %p1; bar.warp.sync -1; mov.u64 %d2, "
            "%clock64;\n"
            "mov.u32 %r5, %ctaid.y; atom.global.add.f32 %f1, [%out], %f2;\n"
            "red.relaxed.cta.global.add.noftz.f16 [%out], %h1; atom.min.u32 %r6, [%out], 4; "
            "membar.gl;\n"
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
    struct compiled c = compile(
        HEAD ".extern .func missing();\n.visible .entry k()\n{\ncall.uni missing, ();\nret;\n}\n",
        false);
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
    struct compiled c =
        compile(HEAD FIB ".visible .entry k(" OUT ")\n{\n" REGS "{\n.param .b32 a; .param .b32 b;\n"
                         "st.param.b32 [a], 15; call.uni (b), fib, (a);\n}\nret;\n}\n",
                true);
    CHECK(has(&c, "!DIFile(filename: \"t.ptx\""));
    CHECK(has(&c, "!DILocation(line: 10,"));
    release(&c);
}

CHECK_MAIN(T(start_llvm), T(test_subword), T(test_vectors), T(test_parameters), T(test_local),
           T(test_shared), T(test_variables), T(test_atomics), T(test_guards_and_zero),
           T(test_switch), T(test_spin), T(test_recursion), T(test_struct_by_value),
           T(test_register_parameters), T(test_indirect), T(test_builtins), T(test_ends),
           T(test_shfl), T(test_names), T(test_reachable_only), T(test_refusals), T(test_lines))
