// SPDX-License-Identifier: MIT
// Linking of modules, facts of kernels, functions whose address is taken.
#include "check.h"

#include "base/vec.h"
#include "ptx/ptx.h"

#define HEAD ".version 8.0\n.target sm_80\n.address_size 64\n"

static struct ptx_module *
parse(const char *text, const char *name)
{
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse(text, strlen(text), name, &d);
    ok(m != NULL, "%s: %s", name, ptx_diags_text(&d, &d.arena, name));
    ptx_diags_free(&d);
    return m;
}

static char message[300];

static struct ptx_program *
link2(const char *a, const char *b, bool allow_undefined)
{
    struct ptx_module *m[2] = {parse(a, "a"), b ? parse(b, "b") : NULL};
    struct ptx_diags d = {0};
    struct ptx_program *p = ptx_link(m, b ? 2 : 1, allow_undefined, &d);
    snprintf(message, sizeof message, "%s", p ? "" : vec_len(d.list) ? d.list[0].text : "?");
    ptx_diags_free(&d);
    return p;
}

static void
resolve(void)
{
    struct ptx_program *p =
        link2(HEAD ".extern .func f();\n.extern .global .u32 g;\n.extern .shared .b8 dyn[];\n"
                   ".visible .entry k() { .reg .u32 r; ld.global.u32 r, [g]; call f; ret; }\n",
              HEAD ".visible .func f() { ret; }\n.visible .global .u32 g = 7;\n", false);
    CHECK_STR(message, "");
    if (!p)
        return;
    struct ptx_func *k = ptx_find_kernel(p, "k");
    CHECK(k && k->ninst == 3);
    struct ptx_sym *g = k->inst[0].operand[1].sym, *f = k->inst[1].call->target.sym;
    CHECK_STR(ptx_def(g)->module->name, "b");
    CHECK_INT(ptx_def(g)->var->init[0], 7);
    CHECK(ptx_def(f)->func->has_body && ptx_def(f)->module == p->module[1]);
    CHECK(ptx_find_var(p, "g") == ptx_def(g)->var);
    CHECK(!ptx_find_var(p, "f") && !ptx_find_kernel(p, "f") && !ptx_find_kernel(p, "none"));
    ptx_program_free(p);
}

static void
conflicts(void)
{
    CHECK(!link2(HEAD ".visible .func f() { ret; }", HEAD ".visible .func f() { ret; }", false));
    CHECK_STR(message, "multiple definition of 'f' (first in a, line 4)");
    CHECK(!link2(HEAD ".extern .func f();", NULL, false));
    CHECK_STR(message, "undefined reference to 'f'");
    struct ptx_program *p = link2(HEAD ".extern .func f();", NULL, true);
    CHECK(p != NULL);
    ptx_program_free(p);
    p = link2(HEAD ".extern .func (.param .b32 r) vprintf(.param .b64 a, .param .b64 b);", NULL,
              false);
    CHECK(p != NULL);
    ptx_program_free(p);
}

static void
strengths(void)
{
    struct ptx_program *p = link2(
        HEAD ".weak .global .u32 w = 1;\n.common .global .b8 c[4];\n.global .u32 s = 1;\n",
        HEAD ".visible .global .u32 w = 2;\n.common .global .b8 c[16];\n.global .u32 s = 2;\n",
        false);
    CHECK_STR(message, "");
    if (!p)
        return;
    CHECK_INT(ptx_find_var(p, "w")->init[0], 2);
    CHECK_INT(ptx_find_var(p, "c")->size, 16);
    CHECK(!ptx_find_var(p, "s")); // private to its module
    CHECK(p->module[0]->var[2]->sym->def == p->module[0]->var[2]->sym);
    CHECK(p->module[0]->var[0]->sym->def == p->module[1]->var[0]->sym);
    ptx_program_free(p);
}

static void
facts(void)
{
    struct ptx_program *p = link2(
        HEAD ".const .u32 c[3];\n.shared .b8 used[5];\n.shared .align 8 .u64 unused;\n"
             ".func leaf() { .local .align 8 .b8 x[24]; ret; }\n"
             ".func mid() { .local .b32 x; .shared .align 4 .b8 own[8]; call leaf; ret; }\n"
             ".func rec() { .local .b32 x; call rec; ret; }\n"
             ".visible .entry k() { .local .b64 x; .reg .u32 r; mov.u32 r, used; call mid; ret; }\n"
             ".visible .entry r() { call rec; ret; }\n"
             ".visible .entry i() { .reg .b64 a; .reg .u32 b; mov.u64 a, leaf; p: .callprototype _ "
             "(); call a, (), p;"
             " mov.u32 b, %envreg2; ret; }\n",
        NULL, false);
    CHECK_STR(message, "");
    if (!p)
        return;
    struct ptx_kernel_info info;
    ptx_kernel_info(p, ptx_find_kernel(p, "k"), &info);
    CHECK_INT(info.local_bytes, 8 + 4 + 24);
    CHECK_INT(info.static_shared, 16); // 5 bytes, then 8 at an alignment of 4
    CHECK_INT(info.const_bytes, 12);
    CHECK(!info.recursive && !info.indirect_calls && !info.uses_cooperative);
    CHECK(info.num_regs >= 1 && info.num_regs <= 255);
    ptx_kernel_info(p, ptx_find_kernel(p, "r"), &info);
    CHECK(info.recursive);
    CHECK_INT(info.local_bytes, 4);
    ptx_kernel_info(p, ptx_find_kernel(p, "i"), &info);
    CHECK(info.indirect_calls && info.uses_cooperative);
    CHECK_INT(info.local_bytes, 24);
    ptx_program_free(p);
}

static void
addresses(void)
{
    struct ptx_program *p =
        link2(HEAD ".extern .func far();\n.func a() { ret; }\n.func b() { ret; }\n"
                   ".global .u64 table[2] = {0, b};\n"
                   ".visible .entry k() { .reg .b64 x; mov.u64 x, far; call a; ret; }\n",
              HEAD ".visible .func far() { ret; }\n", false);
    CHECK_STR(message, "");
    if (!p)
        return;
    struct ptx_func **taken = ptx_address_taken(p);
    CHECK_INT(vec_len(taken), 2);
    if (vec_len(taken) == 2) {
        CHECK_STR(taken[0]->sym->name, "b");
        CHECK_STR(taken[1]->sym->name, "far");
    }
    vec_free(taken);
    ptx_program_free(p);
}

CHECK_MAIN(T(resolve), T(conflicts), T(strengths), T(facts), T(addresses))
