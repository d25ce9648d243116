// SPDX-License-Identifier: MIT
// Verifier: walks a module after parsing. Where ptxas is lenient, so is this: a wrong refusal is
// worse than a late one.
#include "ptx/verify.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_ERRORS = 20 };

bool
verify_error(struct verifier *v, const struct ptx_inst *i, const char *fmt, ...)
{
    char text[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    ptx_diag_add(v->d, true, (int)i->line, (int)i->col, "%s: %s", ptx_op_name(i->op), text);
    return false;
}

// ---- calls -------------------------------------------------------------------------------------
static const struct ptx_proto *
proto_of(const struct ptx_call *c)
{
    if (c->target.kind == PTX_O_SYM)
        return &ptx_def(c->target.sym)->func->proto;
    if (!c->proto)
        return NULL;
    if (c->proto->kind == PTX_SYM_PROTO)
        return c->proto->proto;
    if (c->proto->kind == PTX_SYM_TARGETS && c->proto->targets->n &&
        c->proto->targets->sym[0]->kind == PTX_SYM_FUNC)
        return &c->proto->targets->sym[0]->func->proto;
    return NULL;
}

static bool
check_list(struct verifier *v, const struct ptx_inst *i, const struct ptx_operand *arg, unsigned n,
           const struct ptx_var *param, unsigned nparam, bool variadic, const char *what)
{
    if (n != nparam && !(variadic && n + 1 >= nparam))
        return verify_error(v, i, "%u %ss where the prototype has %u", n, what, nparam);
    for (unsigned k = 0; k < n && k < nparam; k++) {
        const struct ptx_operand *o = &arg[k];
        bool var =
            o->kind == PTX_O_SYM && (o->sym->kind == PTX_SYM_VAR || o->sym->kind == PTX_SYM_PARAM);
        if (var && !param[k].unsized && param[k].space == PTX_SPACE_PARAM &&
            o->sym->var->size != param[k].size)
            return verify_error(v, i, "%s %u has %llu bytes where the prototype has %llu", what,
                                k + 1, (unsigned long long)o->sym->var->size,
                                (unsigned long long)param[k].size);
    }
    return true;
}

static bool
verify_call(struct verifier *v, const struct ptx_inst *i)
{
    const struct ptx_call *c = i->call;
    if (c->target.kind == PTX_O_REG && c->proto && c->proto->kind != PTX_SYM_PROTO &&
        c->proto->kind != PTX_SYM_TARGETS)
        return verify_error(v, i, "'%s' is no prototype", c->proto->name);
    if (c->target.kind == PTX_O_SYM && c->target.sym->func->is_entry)
        return verify_error(v, i, "'%s' is a kernel", c->target.sym->name);
    const struct ptx_proto *p = proto_of(c);
    if (!p)
        return c->target.kind != PTX_O_REG || c->proto ||
               verify_error(v, i, "an indirect call needs a prototype");
    return check_list(v, i, c->ret, c->nret, p->ret, p->nret, false, "result") &&
           check_list(v, i, c->arg, c->narg, p->param, p->nparam, p->variadic, "argument");
}

// ---- instructions ------------------------------------------------------------------------------
static bool
verify_vector(struct verifier *v, const struct ptx_inst *i)
{
    if (i->vec != 1 && !(ptx_op_infos[i->op].flags & PTX_F_VEC))
        return verify_error(v, i, "takes no vector");
    return true;
}

// A variable named in an address lies in the instruction's state space.
static bool
verify_space(struct verifier *v, const struct ptx_inst *i)
{
    if (i->op != PTX_OP_LD && i->op != PTX_OP_ST && i->op != PTX_OP_ATOM && i->op != PTX_OP_RED)
        return true;
    for (unsigned k = 0; k < i->noperand; k++) {
        const struct ptx_operand *o = &i->operand[k];
        bool var = o->kind == PTX_O_ADDR && o->sym &&
                   (o->sym->kind == PTX_SYM_VAR || o->sym->kind == PTX_SYM_PARAM);
        if (var && i->space != PTX_SPACE_GENERIC && o->sym->var->space != i->space)
            return verify_error(v, i, "'%s' lies in another state space", o->sym->name);
    }
    return true;
}

static bool
verify_branches(struct verifier *v, const struct ptx_inst *i)
{
    if (i->op != PTX_OP_BRX)
        return true;
    const struct ptx_operand *o = &i->operand[1];
    if (o->kind != PTX_O_SYM || o->sym->kind != PTX_SYM_TARGETS)
        return verify_error(v, i, "the second operand must be .branchtargets");
    for (uint32_t k = 0; k < o->sym->targets->n; k++)
        if (!o->sym->targets->sym[k] || o->sym->targets->sym[k]->kind != PTX_SYM_LABEL)
            return verify_error(v, i, "a branch target is no label");
    return true;
}

static bool
verify_inst(struct verifier *v, const struct ptx_inst *i)
{
    const struct verify_opcode *o = verify_forms(v, i);
    if (!o->forms)
        return verify_form_error(v, i, o);
    char why[120] = "";
    bool right = false;
    for (uint64_t left = o->forms; left && !right; left &= left - 1) {
        unsigned k = ptx_op_infos[i->op].form + (unsigned)__builtin_ctzll(left);
        right = verify_operands(v, i, &ptx_forms[k], why);
    }
    if (!right)
        return verify_error(v, i, "%s", why);
    return verify_vector(v, i) && verify_space(v, i) &&
           (i->call ? verify_call(v, i) : verify_branches(v, i));
}

static void
verify_function(struct verifier *v, struct ptx_func *f)
{
    v->f = f;
    for (uint32_t k = 0; k < f->ninst && v->d->errors < MAX_ERRORS; k++)
        verify_inst(v, &f->inst[k]);
}

bool
ptx_verify(struct ptx_module *m, struct ptx_diags *d)
{
    unsigned before = d->errors;
    struct verifier *v = calloc(1, sizeof *v);
    if (!v)
        abort();
    v->m = m;
    v->d = d;
    for (uint32_t k = 0; k < m->nfunc && d->errors < MAX_ERRORS; k++)
        verify_function(v, m->func[k]);
    free(v);
    return d->errors == before;
}
