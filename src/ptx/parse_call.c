// SPDX-License-Identifier: MIT
// Parser: call {(results),} target {, (arguments)} {, prototype or targets}.
#include "ptx/parser.h"

// A list in parentheses, behind the opening one.
static bool
parse_list(struct parser *ps, struct ptx_operand **out, uint16_t *n)
{
    uint32_t count;
    if (!parse_operands(ps, ')', out, &count) || !parse_expect(ps, ')'))
        return false;
    if (count > UINT16_MAX)
        return parse_error(ps, "too many arguments");
    *n = (uint16_t)count;
    return true;
}

static bool
parse_target(struct parser *ps, struct ptx_call *c)
{
    lex_space(&ps->lx);
    const char *at = ps->lx.p;
    c->target = (struct ptx_operand){.reg = PTX_NO_REG};
    if (!parse_operand(ps, &c->target))
        return false;
    bool function = c->target.kind == PTX_O_SYM && c->target.sym->kind == PTX_SYM_FUNC;
    return function || c->target.kind == PTX_O_REG ||
           parse_error_at(ps, at, "call of what is no function");
}

// The prototype's label; it may come later.
static bool
parse_label(struct parser *ps, struct ptx_call *c)
{
    lex_space(&ps->lx);
    size_t n = lex_ident(ps->lx.p);
    if (!n)
        return parse_error(ps, "expected a prototype");
    parse_label_ref(ps, &c->proto, ps->lx.p, n);
    ps->lx.p += n;
    return true;
}

bool
parse_call(struct parser *ps, struct ptx_inst *in)
{
    struct ptx_call *c = in->call = arena_new(ps->a, struct ptx_call);
    if (lex_take(&ps->lx, '(') && (!parse_list(ps, &c->ret, &c->nret) || !parse_expect(ps, ',')))
        return false;
    if (!parse_target(ps, c))
        return false;
    bool arguments = false;
    while (lex_take(&ps->lx, ',')) {
        if (!arguments && lex_take(&ps->lx, '(')) {
            if (!parse_list(ps, &c->arg, &c->narg))
                return false;
        } else if (c->proto || !parse_label(ps, c)) {
            return false;
        }
        arguments = true;
    }
    return true;
}
