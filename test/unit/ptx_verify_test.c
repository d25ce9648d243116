// SPDX-License-Identifier: MIT
// Verifier: what is accepted, what is refused and with which words.
#include "check.h"

#include "base/vec.h"
#include "ptx/tables.h"

static char message[300];

// First message about one line in a kernel of the version and target, without its position; "" if
// it is accepted.
static const char *
verdict_at(const char *version, const char *target, const char *line)
{
    static const char body[] =
        "\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n.reg .f32 %f<20>;\n.reg .f64 %fd<9>;\n.reg .b16 "
        "%rs<9>;\n.reg .u32 u;\n"
        ".reg .pred %p<9>;\n.reg .b128 %rq<3>;\n.reg .f16 h;\n.shared .b32 sh;\n";
    char text[8192];
    int n = snprintf(
        text, sizeof text,
        ".version %s\n.target %s\n.address_size 64\n.func (.param .b32 r) f(.param .b64 a, .param "
        ".b32 b);\n"
        ".entry other() { ret; }\n.global .u32 g;\n.global .texref t;\n.entry k(.param .u64 p0)\n{",
        version, target);
    n += snprintf(text + n, sizeof text - (size_t)n, "%s", body);
    n += snprintf(text + n, sizeof text - (size_t)n, "%s\nL:\nret;\n}\n", line);
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse(text, (size_t)n, "t", &d);
    snprintf(message, sizeof message, "%s",
             m                 ? ""
             : vec_len(d.list) ? d.list[0].text
                               : "refused without a word");
    ptx_module_free(m);
    ptx_diags_free(&d);
    return message;
}

static const char *
verdict(const char *line)
{
    return verdict_at("9.0", "sm_100a", line);
}

#define ACCEPT(line) CHECK_STR(verdict(line), "")

static void
accepted(void)
{
    ACCEPT("add.s32 %r1, %r2, -1;");
    ACCEPT("add.sat.s32 %r1, u, %r2;");
    ACCEPT("add.rn.ftz.sat.f32 %f1, %r2, 0f3F800000;");
    ACCEPT("add.cc.u32 %r1, %r2, %r3; addc.u32 %r1, %r2, %r3;");
    ACCEPT("fma.rn.relu.bf16x2 %r1, %r2, %r3, %r4;");
    ACCEPT("add.f16 h, %rs1, h;");
    ACCEPT("mul.wide.u16 u, %rs1, %rs2;");
    ACCEPT("mad.wide.s32 %rd1, %r1, 4, %rd2;");
    ACCEPT("min.NaN.f32 %f1, %f2, %f3;");
    ACCEPT("setp.nan.f32 %p1, %f2, %f3;");
    ACCEPT("set.lt.or.u32.f32 %r1, %f1, %f2, !%p1;");
    ACCEPT("and.pred %p1, %p2, %p3;");
    ACCEPT("lop3.b32 %r1, %r2, %r3, %r4, 0x3c;");
    ACCEPT("lop3.or.b32 %r1|%p1, %r2, %r3, %r4, 0x3c, %p2;");
    ACCEPT("lop3.or.b32 _|%p1, %r2, %r3, %r4, 0x3c, %p2;");
    ACCEPT("mov.b128 %rq1, {%rd1, %rd2};");
    ACCEPT("mov.u64 %rd1, g; mov.u64 %rd2, f; mov.u32 %r1, %tid.x; mov.b64 {_, %r1}, %rd1;");
    ACCEPT("ld.global.u8 %r1, [%rd1];");
    ACCEPT("ld.global.L2::cache_hint.v2.f32 {%f1, %f2}, [%rd1], %rd2;");
    ACCEPT("ld.relaxed.gpu.global.u64 %rd1, [g];");
    ACCEPT("st.shared.v2.b32 [sh+4], {%r1, 3};");
    ACCEPT("cvt.rzi.s32.f32 %r1, %f1; cvt.u8.u32 %rs1, %r1; cvt.rn.satfinite.e4m3x2.f32 %rs1, %f1, "
           "%f2;");
    ACCEPT("cvta.to.global.u64 %rd1, %rd2; cvta.shared.u64 %rd1, sh;");
    ACCEPT("shfl.sync.down.b32 %r1|%p1, %r2, 1, 31, -1;");
    ACCEPT("vote.sync.ballot.b32 %r1, !%p1, 0xffffffff;");
    ACCEPT("match.all.sync.b64 %r1|%p1, %rd1, %r2;");
    ACCEPT("redux.sync.add.s32 %r1, %r2, -1;");
    ACCEPT("elect.sync %r1|%p1, -1;");
    ACCEPT("bar.sync 0; barrier.sync.aligned %r1, 64; bar.red.popc.u32 %r1, 0, %p1; bar.warp.sync "
           "-1;");
    ACCEPT("atom.shared.add.u32 %r1, [sh], 1; red.global.add.f32 [%rd1], %f1;");
    ACCEPT("atom.global.v2.f32.add {%f1, %f2}, [%rd1], {%f3, %f4};");
    ACCEPT("mbarrier.init.shared::cta.b64 [sh], 1; mbarrier.try_wait.parity.shared.b64 %p1, [sh], "
           "%r1;");
    ACCEPT("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f1,%f2,%f3,%f4}, "
           "{%r1,%r2,%r3,%r4}, {%r5,%r6}, {%f1,%f2,%f3,%f4};");
    ACCEPT("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r1,%r2,%r3,%r4}, [%r5];");
    ACCEPT("tex.2d.v4.f32.f32 {%f1,%f2,%f3,%f4}, [t, {%f5, %f6}];");
    ACCEPT("fence.proxy.async.shared::cta; fence.acq_rel.gpu; membar.gl;");
    ACCEPT("cp.async.ca.shared.global [sh], [%rd1], 16; cp.async.commit_group; cp.async.wait_group "
           "0;");
    ACCEPT("wgmma.fence.sync.aligned; griddepcontrol.wait; nanosleep.u32 100;");
    ACCEPT("prefetch.global.L1 [%rd1]; prefetchu.L1 [%rd1]; "
           "createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;");
    ACCEPT("ld.mmio.relaxed.sys.global.u32 %r1, [%rd1]; st.async.weak.shared::cluster.b32 [%r1], "
           "%r2, [%r3];");
    ACCEPT("tcgen05.wait::ld.sync.aligned; tcgen05.fence::before_thread_sync;");
    ACCEPT("cvt.u8.u32 %rd1, %r2; ld.global.f32 %r1, [%rd1]; mov.b32 %f1, %r1;");
    ACCEPT("{ .param .b32 x; .param .b64 y; call (x), f, (y, x); }");
}

static void
operands(void)
{
    CHECK_STR(verdict("add.u32 %r1, %r2;"), "add: 2 operands where 3 are needed");
    CHECK_STR(verdict("add.u32 %r1, %r2, 1, 2;"), "add: 4 operands where 3 are needed");
    CHECK_STR(verdict("add.u32 %r1, %rd1, 1;"),
              "add: operand 2: register of type .b64 where .u32 is needed");
    CHECK_STR(verdict("add.f32 %f1, u, %f2;"),
              "add: operand 2: register of type .u32 where .f32 is needed");
    CHECK_STR(verdict("add.u32 5, %r1, 1;"), "add: operand 1: a register is needed");
    CHECK_STR(verdict("selp.b32 %r1, 1, 0, %r2;"),
              "selp: operand 4: register of type .b32 where .pred is needed");
    CHECK_STR(verdict("ld.global.u32 %r1, %rd1;"), "ld: operand 2: an address is needed");
    CHECK_STR(verdict("ld.global.u32 %p1, [%rd1];"),
              "ld: operand 1: register of type .pred where .u32 is needed");
    CHECK_STR(verdict("ld.global.u64 %r1, [%rd1];"),
              "ld: operand 1: register of type .b32 where .u64 is needed");
    CHECK_STR(verdict("ld.global.u32 %f1, [%rd1];"),
              "ld: operand 1: register of type .f32 where .u32 is needed");
    CHECK_STR(verdict("st.global.v2.b32 [%rd1], {%r1, _};"),
              "st: operand 2: element 1 of the vector is no register");
    CHECK_STR(verdict("add.f32 %f1, %f2, 1;"),
              "add: operand 3: a floating-point constant is needed");
    CHECK_STR(verdict("ld.shared.u32 %r1, [g];"), "ld: 'g' lies in another state space");
    CHECK_STR(verdict("neg.s32 %r1, -%r2;"), "neg: operand 2: only predicates can be negated");
    CHECK_STR(verdict("M: mov.u64 %rd1, M;"), "mov: operand 2: a label is no value");
    CHECK_STR(verdict("bra g;"), "bra: operand 1: a label is needed");
    CHECK_STR(verdict("lop3.b32 %r1, %r2, %r3, %r4, %r5;"),
              "lop3: operand 5: an integer constant is needed");
}

static void
opcodes(void)
{
    CHECK_STR(verdict("mul.u32 %r1, %r2, %r3;"), "mul: a modifier such as '.lo' is missing");
    CHECK_STR(verdict("add.u8 %r1, %r2, %r3;"), "add: type '.u8' is not allowed");
    CHECK_STR(verdict("add %r1, %r2, %r3;"), "add: a type is missing");
    CHECK_STR(verdict("add.wide.u32 %r1, %r2, %r3;"), "add: modifier '.wide' is not allowed");
    CHECK_STR(verdict("sin.rn.approx.f32 %f1, %f2;"), "sin: modifier '.rn' is not allowed");
    CHECK_STR(verdict("fma.rn.rz.f32 %f1, %f2, %f3, %f4;"), "fma: contradicting modifiers");
    CHECK_STR(verdict("atom.const.add.u32 %r1, [%rd1], 1;"),
              "atom: state space is not allowed or missing");
    CHECK_STR(verdict("add.v2.u32 %r1, %r2, %r3;"), "add: takes no vector");
}

static void
versions(void)
{
    CHECK_STR(verdict_at("7.0", "sm_100", "elect.sync %r1|%p1, -1;"),
              "elect: needs PTX ISA version 8.0, the module says .version 7.0");
    CHECK_STR(verdict_at("8.0", "sm_80", "elect.sync %r1|%p1, -1;"),
              "elect: needs target sm_90, the module says sm_80");
    CHECK_STR(verdict_at("4.1", "sm_53", "add.f16 h, h, h;"),
              "add: needs PTX ISA version 4.2, the module says .version 4.1");
    CHECK_STR(verdict_at("4.2", "sm_53", "add.f16 h, h, h;"), "");
    CHECK_STR(verdict_at("3.2", "sm_30", "vote.ballot.b32 %r1, %p1; shfl.up.b32 %r1, %r2, 1, 0;"),
              "");
}

static void
calls(void)
{
    CHECK_STR(verdict("{ .param .b64 y; call f, (y); }"),
              "call: 0 results where the prototype has 1");
    CHECK_STR(verdict("{ .param .b32 x; .param .b64 y; call (x), f, (y); }"),
              "call: 1 arguments where the prototype has 2");
    CHECK_STR(verdict("{ .param .b32 x; .param .b64 y; call (x), f, (y, y); }"),
              "call: argument 2 has 8 bytes where the prototype has 4");
    CHECK_STR(verdict("call other;"), "call: 'other' is a kernel");
    CHECK_STR(verdict("call g;"), "call of what is no function");
    CHECK_STR(verdict("call %rd1, ();"), "call: an indirect call needs a prototype");
    CHECK_STR(verdict("call %rd1, (), L;"), "call: 'L' is no prototype");
    CHECK_STR(verdict("p: .callprototype _ (.param .b32 _);\ncall %rd1, (), p;"),
              "call: 0 arguments where the prototype has 1");
    CHECK_STR(verdict("M: brx.idx %r1, M;"), "brx: the second operand must be .branchtargets");
}

// Each op has forms, and each form's requirements can be met.
static void
tables(void)
{
    for (unsigned op = 1; op < PTX_OPS; op++) {
        const struct ptx_op_info *info = &ptx_op_infos[op];
        ok(info->nform > 0 && info->nform <= 64, "%s: %u forms", ptx_op_name(op), info->nform);
        for (unsigned k = 0; k < info->nform; k++) {
            const struct ptx_form *f = &ptx_forms[info->form + k];
            ok(f->isa >= 10 && f->sm >= 1 && f->spaces, "%s, form %u", ptx_op_name(op), k);
            for (unsigned g = 0; g < f->ngroup; g++)
                ok(ptx_form_groups[f->group + g].least <= ptx_form_groups[f->group + g].most,
                   "%s, form %u", ptx_op_name(op), k);
        }
    }
}

CHECK_MAIN(T(accepted), T(operands), T(opcodes), T(versions), T(calls), T(tables))
