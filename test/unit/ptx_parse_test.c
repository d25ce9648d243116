// SPDX-License-Identifier: MIT
// Parser: each construct of the grammar, and what it becomes.
#include "check.h"

#include "base/vec.h"
#include "ptx/ptx.h"

static struct ptx_module *
parse(const char *text)
{
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), "t", &d);
    if (!m) {
        struct arena a = {0};
        ok(0, "does not parse: %s", ptx_diags_text(&d, &a, "t"));
        arena_free(&a);
    }
    ptx_diags_free(&d);
    return m;
}

#define HEAD ".version 9.0\n.target sm_90\n.address_size 64\n"
// A kernel with some registers of each kind around `body`.
#define BODY(body)                                                                                 \
    HEAD ".visible .entry k(.param .u64 p0, .param .u32 p1)\n{\n.reg .b32 %r<20>;\n.reg .b64 "     \
         "%rd<20>;\n"                                                                              \
         ".reg .f32 %f<20>;\n.reg .f64 %fd<9>;\n.reg .b16 %rs<9>;\n.reg .pred %p<9>;\n" body       \
         "\nret;\n}\n"

static struct ptx_func *
kernel(struct ptx_module *m)
{
    return m && m->nfunc ? m->func[m->nfunc - 1] : NULL;
}

// Parses one instruction in a kernel.
static const struct ptx_inst *
one(const char *text, struct ptx_module **out)
{
    char whole[4096] = BODY("@");
    char *at = strrchr(whole, '@');
    snprintf(at, sizeof whole - (size_t)(at - whole), "%s\nret;\n}\n", text);
    *out = parse(whole);
    struct ptx_func *f = kernel(*out);
    return f && f->ninst ? &f->inst[0] : NULL;
}

// First message for a text that must be refused: "line:col: text".
static const char *
refusal(const char *text)
{
    static char message[300];
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), "t", &d);
    snprintf(message, sizeof message, "accepted");
    if (!m && vec_len(d.list))
        snprintf(message, sizeof message, "%d:%d: %s", d.list[0].line, d.list[0].col,
                 d.list[0].text);
    ptx_module_free(m);
    ptx_diags_free(&d);
    return message;
}

static void
header(void)
{
    struct ptx_module *m =
        parse(".version 8.7\n.target sm_100a, texmode_independent, debug\n.address_size 64\n");
    CHECK_INT(m->version, 87);
    CHECK_INT(m->target, 100);
    CHECK_INT(m->target_suffix, 'a');
    CHECK(m->debug && m->texmode_independent);
    CHECK_INT(m->address_size, 64);
    ptx_module_free(m);
    m = parse(".version 3.2\n.target sm_20, map_f64_to_f32\n");
    CHECK_INT(m->address_size, 32);
    ptx_module_free(m);
    CHECK_STR(refusal(""), "1:1: empty module");
    CHECK_STR(refusal(".target sm_20"), "1:1: module does not start with .version");
    CHECK_STR(refusal(".version 3.2\n.target foo"), "2:9: unknown target 'foo'");
}

static void
arithmetic(void)
{
    struct ptx_module *m;
    const struct ptx_inst *i = one("mad.lo.s32 %r1, %r2, -3, 0x10;", &m);
    CHECK_INT(i->op, PTX_OP_MAD);
    CHECK_INT(i->ntype, 1);
    CHECK_INT(i->type[0], PTX_S32);
    CHECK(ptx_has(i, PTX_MOD_LO) && !ptx_has(i, PTX_MOD_HI));
    CHECK_INT(i->nmod, 1);
    CHECK_INT(i->mod[0], PTX_MOD_LO);
    CHECK_INT(i->noperand, 4);
    CHECK_INT(i->operand[0].kind, PTX_O_REG);
    CHECK_STR(ptx_reg_name(kernel(m), i->operand[0].reg), "%r1");
    CHECK_INT(i->operand[2].kind, PTX_O_INT);
    CHECK_INT(i->operand[2].ival, -3);
    CHECK_INT(i->operand[3].ival, 16);
    CHECK_INT(i->line, 12);
    CHECK_INT(i->col, 1);
    CHECK_INT(i->vec, 1);
    ptx_module_free(m);

    i = one("@!%p3 cvt.rn.ftz.f32.f64 %f1, %fd2;", &m);
    CHECK(i->guarded && i->guard_neg);
    CHECK_STR(ptx_reg_name(kernel(m), i->guard), "%p3");
    CHECK_INT(i->type[0], PTX_F32);
    CHECK_INT(i->type[1], PTX_F64);
    CHECK_INT(i->mod[0], PTX_MOD_RN);
    CHECK_INT(i->mod[1], PTX_MOD_FTZ);
    ptx_module_free(m);

    i = one("setp.lt.and.f32 %p1|%p2, %f1, 0f3F800000, !%p3;", &m);
    CHECK_INT(i->operand[0].kind, PTX_O_PAIR);
    CHECK_INT(i->operand[0].n, 2);
    CHECK_INT(i->operand[2].kind, PTX_O_FLT);
    CHECK(i->operand[2].f32_bits);
    CHECK_FLT(i->operand[2].fval, 1.0, 0);
    CHECK(i->operand[3].neg);
    CHECK(ptx_has(i, PTX_MOD_LT) && ptx_has(i, PTX_MOD_AND));
    ptx_module_free(m);
}

static void
memory(void)
{
    struct ptx_module *m;
    const struct ptx_inst *i =
        one("ld.global.nc.L1::no_allocate.v4.f32 {%f1, %f2, _, %f4}, [%rd1+-16];", &m);
    CHECK_INT(i->space, PTX_SPACE_GLOBAL);
    CHECK_INT(i->vec, 4);
    CHECK(ptx_has(i, PTX_MOD_NC) && ptx_has(i, PTX_MOD_L1_NO_ALLOCATE));
    CHECK_INT(i->operand[0].kind, PTX_O_VEC);
    CHECK_INT(i->operand[0].n, 4);
    CHECK_INT(i->operand[0].elem[2].kind, PTX_O_SINK);
    CHECK_INT(i->operand[1].kind, PTX_O_ADDR);
    CHECK_INT(i->operand[1].off, -16);
    CHECK(i->operand[1].sym == NULL && i->operand[1].reg != PTX_NO_REG);
    ptx_module_free(m);

    i = one("ld.param.u64 %rd1, [p0];", &m);
    CHECK_INT(i->space, PTX_SPACE_PARAM);
    CHECK_STR(i->operand[1].sym->name, "p0");
    CHECK_INT(i->operand[1].reg, PTX_NO_REG);
    ptx_module_free(m);

    i = one("ld.shared::cluster.u32 %r1, [%r2+4-8];", &m);
    CHECK_INT(i->space, PTX_SPACE_SHARED);
    CHECK(ptx_has(i, PTX_MOD_SHARED_CLUSTER));
    CHECK_INT(i->operand[1].off, -4);
    ptx_module_free(m);

    i = one("st.global.u32 [64], %r1;", &m);
    CHECK_INT(i->operand[0].kind, PTX_O_ADDR);
    CHECK_INT(i->operand[0].reg, PTX_NO_REG);
    CHECK_INT(i->operand[0].off, 64);
    ptx_module_free(m);

    i = one("atom.global.acq_rel.gpu.cas.b32 %r1, [%rd1], %r2, %r3;", &m);
    CHECK_INT(i->op, PTX_OP_ATOM);
    CHECK(ptx_has(i, PTX_MOD_ACQ_REL) && ptx_has(i, PTX_MOD_GPU) && ptx_has(i, PTX_MOD_CAS));
    ptx_module_free(m);

    i = one("cp.async.bulk.tensor.2d.shared::cluster.global.tile.mbarrier::complete_tx::bytes "
            "[%r1], [%rd1, {%r2, %r3}], [%r4];",
            &m);
    CHECK_INT(i->op, PTX_OP_CP_ASYNC_BULK);
    CHECK_INT(i->space, PTX_SPACE_SHARED);
    CHECK_INT(i->space2, PTX_SPACE_GLOBAL);
    CHECK_INT(i->operand[1].kind, PTX_O_TEX);
    CHECK_INT(i->operand[1].n, 2);
    CHECK_INT(i->operand[1].elem[0].kind, PTX_O_REG);
    CHECK_INT(i->operand[1].elem[1].kind, PTX_O_VEC);
    ptx_module_free(m);
}

static void
operands(void)
{
    struct ptx_module *m;
    const struct ptx_inst *i = one("mov.u32 %r1, %ctaid.y;", &m);
    CHECK_INT(i->operand[1].kind, PTX_O_SREG);
    CHECK_INT(i->operand[1].sreg, PTX_SREG_CTAID);
    CHECK_INT(i->operand[1].comp, 2);
    ptx_module_free(m);
    i = one("mov.u32 %r1, %envreg2;", &m);
    CHECK_INT(i->operand[1].sreg, PTX_SREG_ENVREG2);
    CHECK_INT(i->operand[1].comp, 0);
    ptx_module_free(m);
    i = one("mov.b64 {%r1, %r2}, %rd1;", &m);
    CHECK_INT(i->operand[0].kind, PTX_O_VEC);
    ptx_module_free(m);
    i = one("vadd4.u32.u32.u32.b210 %r1, %r2.b3210, %r3.b7654, %r4;", &m);
    CHECK_INT(i->operand[1].sel, 0x3210);
    CHECK_INT(i->operand[2].sel, 0x7654);
    CHECK(ptx_has(i, PTX_MOD_B210));
    ptx_module_free(m);
    i = one("vadd4.u32.u32.u32.b32 %r1, %r2, %r3, %r4;", &m);
    CHECK_INT(i->ntype, 3);
    CHECK(ptx_has(i, PTX_MOD_B32));
    ptx_module_free(m);
    i = one("vadd.s32.u32.s32.sat %r1, %r2.b1, -%r3.h1, %r4;", &m);
    CHECK_INT(i->operand[1].comp, 6);
    CHECK_INT(i->operand[2].comp, 10);
    CHECK(i->operand[2].neg);
    ptx_module_free(m);
    i = one("mov.u32 %r1, WARP_SZ;", &m);
    CHECK_INT(i->operand[1].ival, 32);
    ptx_module_free(m);
    i = one("add .u32 %r1, %r2, 1;", &m);
    CHECK_INT(i->op, PTX_OP_ADD);
    CHECK_INT(i->type[0], PTX_U32);
    ptx_module_free(m);
}

static void
expressions(void)
{
    static const struct {
        const char *text;
        long long value;
    } cases[] = {
        {"(1+2)*3", 9},
        {"1+2*3", 7},
        {"-5/2", -2},
        {"-5%3", -2},
        {"1<<4|1", 17},
        {"~0", -1},
        {"!3", 0},
        {"1?2:3", 2},
        {"0?2:3?4:5", 4},
        {"(.u64)-1 > 5", 1},
        {"-1 > 5", 0},
        {"-8>>1", -4},
        {"(.u64)-8>>60", 15},
        {"7&3^1", 2},
        {"1&&0||1", 1},
        {"3==3", 1},
        {"3!=3", 0},
        {"10-4-3", 3},
        {"WARP_SZ*2", 64},
        {"0x7fffffffffffffff+1U", (long long)0x8000000000000000ull},
        {"1.5 < 2.5", 1},
    };
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
        char text[200];
        struct ptx_module *m;
        snprintf(text, sizeof text, "mov.u64 %%rd1, (%s);", cases[k].text);
        const struct ptx_inst *i = one(text, &m);
        ok(i && (long long)i->operand[1].ival == cases[k].value, "%s: got %lld, want %lld",
           cases[k].text, i ? (long long)i->operand[1].ival : 0, cases[k].value);
        ptx_module_free(m);
    }
    CHECK_STR(refusal(BODY("mov.u32 %r1, 1/0;")), "12:17: division by zero");
}

static void
scopes(void)
{
    struct ptx_module *m = parse(BODY(
        "mov.b32 %r1, 1;\n"
        "{ .reg .f64 %r1, t; .reg .b64 %rd<2>; mov.f64 %r1, t; mov.b64 %rd1, %rd5; bra L; L: }\n"
        "mov.b32 %r1, 2;\nbra L;\n{ bra L; }\nL: @%p1 bra L;"));
    struct ptx_func *f = kernel(m);
    CHECK_INT(f->reg[f->inst[0].operand[0].reg].type, PTX_B32);
    CHECK_INT(f->reg[f->inst[1].operand[0].reg].type, PTX_F64);
    CHECK_STR(ptx_reg_name(f, f->inst[1].operand[1].reg), "t");
    CHECK(f->inst[2].operand[0].reg != f->inst[2].operand[1].reg);
    CHECK_STR(ptx_reg_name(f, f->inst[2].operand[1].reg), "%rd5");
    CHECK_INT(f->inst[4].operand[0].reg, f->inst[0].operand[0].reg);
    CHECK_INT(f->nlabel, 2);
    // Each branch goes to the label of its own block, or else of the block around it.
    CHECK_INT(f->inst[3].operand[0].sym->label, 4);
    CHECK_INT(f->inst[5].operand[0].sym->label, 7);
    CHECK_INT(f->inst[6].operand[0].sym->label, 7);
    CHECK_INT(f->inst[7].operand[0].sym->label, 7);
    ptx_module_free(m);
    CHECK_STR(refusal(BODY("bra L;\n{ L: }")), "12:5: undefined label 'L'");
    CHECK_STR(refusal(BODY("L:\nL:")), "13:1: redefinition of 'L'");
    CHECK_STR(refusal(BODY(".reg .b32 %r<3>;")), "12:11: redefinition of '%r'");
}

static void
register_names(void)
{
    struct ptx_module *m =
        parse(HEAD ".entry k()\n{\n.reg .b32 a, r1, x2y<4>, %q7<11>;\n.reg .v4 .f32 v;\n"
                   "add.u32 a, r1, x2y3;\nadd.u32 a, %q70, %q710;\nmov.f32 v.y, v.w;\n}\n");
    struct ptx_func *f = kernel(m);
    CHECK_STR(ptx_reg_name(f, f->inst[0].operand[1].reg), "r1");
    CHECK_STR(ptx_reg_name(f, f->inst[0].operand[2].reg), "x2y3");
    CHECK_STR(ptx_reg_name(f, f->inst[1].operand[1].reg), "%q70");
    CHECK_STR(ptx_reg_name(f, f->inst[1].operand[2].reg), "%q710");
    CHECK_INT(f->inst[2].operand[0].comp, 2);
    CHECK_INT(f->inst[2].operand[1].comp, 4);
    CHECK_INT(f->reg[f->inst[2].operand[0].reg].vec, 4);
    ptx_module_free(m);
    CHECK_STR(refusal(BODY("mov.b32 %r01, 1;")), "12:9: unknown register '%r01'");
    CHECK_STR(refusal(BODY("mov.b32 %r20, 1;")), "12:9: unknown register '%r20'");
}

static void
functions(void)
{
    struct ptx_module *m =
        parse(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);\n"
                   ".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 s[12]);\n"
                   ".visible .entry k(.param .u8 a, .param .u64 .ptr .global .align 16 b, .param "
                   ".align 16 .b8 c[20], .param .u16 d)\n"
                   ".maxntid 256, 2\n.minnctapersm 3\n.maxnreg 64\n.reqnctapercluster 2,1,1\n"
                   "{\n.reg .b32 %r<3>; .reg .b64 %rd<3>;\n"
                   "{ .param .b64 x; .param .align 8 .b8 y[12]; .param .b32 z;\n"
                   "call.uni (z), f, (x, y);\n"
                   "proto: .callprototype (.param .b32 _) _ (.param .b64 _, .param .align 8 .b8 "
                   "_[12]) .noreturn;\n"
                   "call (z), %rd1, (x, y), proto;\n}\n ret;\n}\n"
                   ".func (.param .b32 r) f(.param .b64 a, .param .align 8 .b8 s[12])\n{ ret; }\n"
                   ".func g .noreturn { trap; }\n");
    CHECK_INT(m->nfunc, 4);
    struct ptx_func *k = m->func[2];
    CHECK(k->is_entry && k->has_body);
    CHECK_INT(k->sym->linkage, PTX_VISIBLE);
    CHECK_INT(k->maxntid[0], 256);
    CHECK_INT(k->maxntid[1], 2);
    CHECK_INT(k->maxntid[2], 1);
    CHECK_INT(k->minnctapersm, 3);
    CHECK_INT(k->maxnreg, 64);
    CHECK_INT(k->reqnctapercluster[0], 2);
    CHECK_INT(k->proto.nparam, 4);
    CHECK_INT(k->proto.param[0].offset, 0);
    CHECK_INT(k->proto.param[1].offset, 8);
    CHECK_INT(k->proto.param[1].ptr_space, PTX_SPACE_GLOBAL);
    CHECK_INT(k->proto.param[1].ptr_align, 16);
    CHECK_INT(k->proto.param[2].offset, 16);
    CHECK_INT(k->proto.param[2].align, 16);
    CHECK_INT(k->proto.param[3].offset, 36);
    CHECK_INT(k->param_size, 38);
    const struct ptx_call *c = k->inst[0].call;
    CHECK_INT(c->target.kind, PTX_O_SYM);
    CHECK(c->target.sym->func == m->func[1] && m->func[1]->has_body);
    CHECK_INT(c->nret, 1);
    CHECK_INT(c->narg, 2);
    c = k->inst[1].call;
    CHECK_INT(c->target.kind, PTX_O_REG);
    CHECK_STR(c->proto->name, "proto");
    CHECK(c->proto->proto->noreturn);
    CHECK_INT(c->proto->proto->nparam, 2);
    CHECK_INT(c->proto->proto->param[1].size, 12);
    CHECK_INT(k->nvar, 3);
    CHECK(m->func[3]->proto.noreturn);
    CHECK_INT(m->func[0]->has_body, 0);
    ptx_module_free(m);
}

static void
variables(void)
{
    struct ptx_module *m =
        parse(HEAD ".global .align 4 .b8 a[6] = {1, 2, 0xff};\n"
                   ".const .f32 f[2] = {0f3F800000, 2.0};\n"
                   ".global .u16 g[2][3] = {{1}, {2, 3}};\n"
                   ".extern .shared .align 16 .b8 dyn[];\n"
                   ".visible .global .v2 .f32 v = {1.0, -1};\n"
                   ".global .u64 p[4] = {a, a+4, generic(a), generic(f)+8};\n"
                   ".global .b8 mask[3] = {0xFF(p), 0xFF00(p+1), 0xFF00000000000000(generic(p))};\n"
                   ".global .attribute(.managed) .u32 man;\n"
                   ".global .u32 open[] = {1, 2, 3};\n"
                   ".global .texref t;\n"
                   ".global .samplerref s = { addr_mode_0 = wrap, filter_mode = nearest };\n"
                   ".const[3] .f64 d = 1.0;\n"
                   ".global .u64 fwd = later;\n.global .u32 later, more;\n.global .f16 h = 1.0;\n");
    struct ptx_var **v = m->var;
    CHECK_INT(m->nvar, 16);
    CHECK_INT(v[0]->size, 6);
    CHECK_INT(v[0]->align, 4);
    CHECK_INT(v[0]->init_size, 3);
    CHECK_INT(v[0]->init[2], 255);
    CHECK_INT(v[1]->space, PTX_SPACE_CONST);
    CHECK_INT(((uint32_t *)v[1]->init)[1], 0x40000000);
    CHECK_INT(v[2]->size, 12);
    CHECK_INT(((uint16_t *)v[2]->init)[3], 2);
    CHECK_INT(((uint16_t *)v[2]->init)[4], 3);
    CHECK(v[3]->unsized && v[3]->size == 0);
    CHECK_INT(v[3]->align, 16);
    CHECK_INT(v[4]->align, 8);
    CHECK_INT(((uint32_t *)v[4]->init)[1], 0xbf800000);
    CHECK_INT(v[4]->sym->linkage, PTX_VISIBLE);
    CHECK_INT(v[5]->nreloc, 4);
    CHECK_STR(v[5]->reloc[1].sym->name, "a");
    CHECK_INT(v[5]->reloc[1].addend, 4);
    CHECK_INT(v[5]->reloc[1].offset, 8);
    CHECK_INT(v[5]->reloc[1].size, 8);
    CHECK(v[5]->reloc[2].generic && !v[5]->reloc[0].generic);
    CHECK_INT(v[5]->reloc[3].addend, 8);
    CHECK_INT(v[6]->reloc[1].shift, 8);
    CHECK_INT(v[6]->reloc[1].size, 1);
    CHECK_INT(v[6]->reloc[1].addend, 1);
    CHECK_INT(v[6]->reloc[2].shift, 56);
    CHECK(v[6]->reloc[2].generic);
    CHECK(v[7]->managed);
    CHECK_INT(v[8]->size, 12);
    CHECK(!v[8]->unsized);
    CHECK(v[9]->opaque && v[9]->type == PTX_TEXREF);
    CHECK_INT(v[11]->bank, 3);
    CHECK_STR(v[12]->reloc[0].sym->name, "later");
    CHECK_INT(*(uint16_t *)v[15]->init, 0x3c00);
    ptx_module_free(m);
    CHECK_STR(refusal(HEAD ".global .u8 x[2] = {1,2,3};"), "4:25: too many initialisers for 'x'");
    CHECK_STR(refusal(HEAD ".global .u8 x[1<<60][1<<60];"), "4:28: array too large");
    CHECK_STR(refusal(HEAD ".global .u64 x = nowhere;"), "4:18: unknown symbol 'nowhere'");
    CHECK_STR(refusal(HEAD ".global .u32 x;\n.global .u32 x;"), "5:14: redefinition of 'x'");
}

static void
branches(void)
{
    struct ptx_module *m =
        parse(BODY("ts: .branchtargets A, B;\nbrx.idx %r1, ts;\nA: bra.uni B;\nB:"));
    const struct ptx_func *f = kernel(m);
    const struct ptx_operand *o = &f->inst[0].operand[1];
    CHECK_INT(f->inst[0].op, PTX_OP_BRX);
    CHECK_INT(o->sym->kind, PTX_SYM_TARGETS);
    CHECK_INT(o->sym->targets->n, 2);
    CHECK_INT(o->sym->targets->sym[0]->label, 1);
    CHECK_INT(o->sym->targets->sym[1]->label, 2);
    CHECK(ptx_has(&f->inst[1], PTX_MOD_UNI));
    ptx_module_free(m);
}

static void
debug_directives(void)
{
    struct ptx_module *m = parse(HEAD ".file 1 \"a b.cu\", 12, 13\n.section .debug_abbrev\n{\n.b8 "
                                      "1\n$L: { }\n.b32 .debug_str\n}\n"
                                      "@@DWARF .section .debug_info\n.pragma \"nounroll\";\n"
                                      ".entry k\n{\n.loc 1 2 3\n.loc 1 2 3, function_name "
                                      "$L__info_string0, inlined_at 1 5 6\n.pragma \"x\";\n"
                                      "@@DWARF byte\nret;\n}\n");
    CHECK_INT(m->nfunc, 1);
    CHECK_INT(kernel(m)->ninst, 1);
    ptx_module_free(m);
}

static void
alias(void)
{
    struct ptx_module *m = parse(HEAD ".func f() { ret; }\n.func g();\n.alias g, f;\n");
    CHECK(m->func[1]->sym->func == m->func[0]);
    ptx_module_free(m);
}

// Old forms, and registers as parameters.
static void
old_forms(void)
{
    struct ptx_module *m = parse(".version 3.2\n.target sm_30\n.entry k(.param .u32 p)\n{\n.reg "
                                 ".u32 %r<5>; .reg .pred %p<3>;\n"
                                 "vote.ballot.b32 %r1, %p1;\nshfl.up.b32 %r1|%p1, %r2, 1, "
                                 "0;\nbar.sync 0;\nld.param.u32 %r1, [p];\n}\n"
                                 ".func (.reg .u32 d) f(.reg .u32 a) { add.u32 d, a, 1; ret; }\n");
    CHECK_INT(m->func[1]->proto.param[0].space, PTX_SPACE_REG);
    CHECK_INT(m->func[1]->inst[0].operand[1].reg, m->func[1]->proto.param[0].offset);
    ptx_module_free(m);
}

static void
errors(void)
{
    CHECK_STR(refusal(BODY("foo.u32 %r1;")), "12:1: unknown instruction 'foo.u32'");
    CHECK_STR(refusal(BODY("cp.nothing;")), "12:1: unknown instruction 'cp.nothing'");
    CHECK_STR(refusal(BODY("  add.qq.u32 %r1, %r2, 3;")), "12:7: unknown modifier '.qq' of 'add'");
    CHECK_STR(refusal(BODY("mov.u32 %r1, nowhere;")), "12:14: unknown symbol 'nowhere'");
    CHECK_STR(refusal(BODY("mov.u32 %r1 %r2;")), "12:13: expected ';' before '%r2'");
    CHECK_STR(refusal(HEAD ".entry k() { ret;"), "4:18: missing '}'");
    // Parsing goes on behind a wrong statement; at most 20 errors are collected.
    struct ptx_diags d = {0};
    char text[4000] = HEAD ".entry k() {\n";
    for (int i = 0; i < 40; i++)
        strcat(text, "foo;\n");
    strcat(text, "}");
    CHECK(!ptx_parse(text, strlen(text), "t", &d));
    CHECK_INT(vec_len(d.list), 20);
    CHECK_INT(d.list[19].line, 24);
    ptx_diags_free(&d);
}

// Nesting is bounded, sizes are checked: none of these may exhaust the stack or memory.
static void
hostile(void)
{
    static const char *const open[] = {"{", "(", "[", "-", "!", "~", "{{", "@", "1?", "1+("};
    for (size_t k = 0; k < sizeof open / sizeof *open; k++)
        for (int where = 0; where < 3; where++) {
            size_t n = 200000, used;
            char *text = malloc(n + 200);
            used = (size_t)sprintf(text, where == 0   ? HEAD ".entry k() {"
                                         : where == 1 ? HEAD ".entry k() { mov.u32 "
                                                      : HEAD ".global .u32 x[] = ");
            while (used < n)
                used += (size_t)sprintf(text + used, "%s", open[k]);
            struct ptx_diags d = {0};
            CHECK(!ptx_parse(text, used, "t", &d));
            CHECK(d.errors > 0);
            ptx_diags_free(&d);
            free(text);
        }
    CHECK_STR(refusal(HEAD ".entry k() { .reg .b32 %r<4000000000>; }"),
              "4:27: number out of range");
    CHECK_STR(refusal(HEAD "\x01"), "4:1: expected a directive");
}

CHECK_MAIN(T(header), T(arithmetic), T(memory), T(operands), T(expressions), T(scopes),
           T(register_names), T(functions), T(variables), T(branches), T(debug_directives),
           T(alias), T(old_forms), T(errors), T(hostile))
