// SPDX-License-Identifier: MIT
// Verifier: operands against a form.
#include "ptx/verify.h"

#include <stdio.h>

struct check {
    const struct verifier *v;
    const struct ptx_inst *i;
    char *why;
    unsigned number; // of the operand, from 1
    bool wider;      // registers wider than the type will do
};

#define FAIL(c, ...) (snprintf((c)->why, 120, __VA_ARGS__), false)

static enum ptx_type
twice(enum ptx_type t)
{
    switch (t) {
    case PTX_U16:
        return PTX_U32;
    case PTX_S16:
        return PTX_S32;
    case PTX_U32:
        return PTX_U64;
    case PTX_S32:
        return PTX_S64;
    default:
        return PTX_NONE;
    }
}

// The type that the operand must have; PTX_NONE: any.
static enum ptx_type
wanted(const struct ptx_inst *i, unsigned code)
{
    if (code >= PTX_T_FIXED)
        return (enum ptx_type)(code - PTX_T_FIXED);
    if (code == PTX_T_WIDE)
        return twice(i->type[0]);
    if (code >= PTX_T_WIDER && code < PTX_T_WIDE)
        code -= PTX_T_WIDER;
    return code < i->ntype ? (enum ptx_type)i->type[code] : PTX_NONE;
}

static bool
is_bits(enum ptx_type t)
{
    return t >= PTX_B8 && t <= PTX_B128;
}

// Packed formats are written as integers.
static bool
is_packed(enum ptx_type t)
{
    return t != PTX_F16 && t != PTX_BF16 && t != PTX_F32 && t != PTX_F64;
}

// Registers of the same width go together, but for integers with floating-point numbers.
static bool
compatible(enum ptx_type reg, enum ptx_type t)
{
    if (reg == t || t == PTX_NONE)
        return true;
    if (reg == PTX_PRED || t == PTX_PRED || ptx_type_bits(reg) != ptx_type_bits(t))
        return false;
    return is_bits(reg) || is_bits(t) || ptx_type_float(reg) == ptx_type_float(t);
}

// For loads, stores and conversions: integers and bits go to and come from wider registers as well.
static bool
holds(enum ptx_type reg, enum ptx_type t)
{
    if (compatible(reg, t))
        return true;
    if (reg == PTX_PRED || t == PTX_PRED || ptx_type_bits(reg) < ptx_type_bits(t))
        return false;
    return is_bits(t) || (!ptx_type_float(t) && !ptx_type_float(reg));
}

static bool
check_register(struct check *c, const struct ptx_operand *o, enum ptx_type t, bool any)
{
    const struct ptx_reg *r = &c->v->f->reg[o->reg];
    if (o->neg && r->type != PTX_PRED && !(ptx_op_infos[c->i->op].flags & PTX_F_FREE))
        return FAIL(c, "operand %u: only predicates can be negated", c->number);
    if (any ? r->type != PTX_PRED : c->wider ? holds(r->type, t) : compatible(r->type, t))
        return true;
    if (any)
        return FAIL(c, "operand %u: a predicate has no place here", c->number);
    return FAIL(c, "operand %u: register of type %s where %s is needed", c->number,
                ptx_type_name(r->type), ptx_type_name(t));
}

static bool
check_vector(struct check *c, const struct ptx_operand *o, bool dst)
{
    for (unsigned k = 0; k < o->n; k++) {
        const struct ptx_operand *e = &o->elem[k];
        if (e->kind == PTX_O_REG || (dst && e->kind == PTX_O_SINK))
            continue;
        if (dst || (e->kind != PTX_O_INT && e->kind != PTX_O_FLT && e->kind != PTX_O_SYM &&
                    e->kind != PTX_O_SREG && e->kind != PTX_O_VEC))
            return FAIL(c, "operand %u: element %u of the vector is no register", c->number, k);
    }
    return true;
}

static bool
check_destination(struct check *c, const struct ptx_operand *o, enum ptx_type t, bool any, bool vec)
{
    if (o->kind == PTX_O_REG)
        return check_register(c, o, t, any);
    if (o->kind == PTX_O_SINK)
        return true;
    if (vec && o->kind == PTX_O_VEC)
        return check_vector(c, o, true);
    return FAIL(c, "operand %u: a register is needed", c->number);
}

static bool
check_source(struct check *c, const struct ptx_operand *o, enum ptx_type t, bool any, bool vec)
{
    switch (o->kind) {
    case PTX_O_REG:
        return check_register(c, o, t, any);
    case PTX_O_INT:
        return !ptx_type_float(t) || is_packed(t) ||
               FAIL(c, "operand %u: a floating-point constant is needed", c->number);
    case PTX_O_FLT:
    case PTX_O_SREG:
        return true;
    case PTX_O_SYM:
        return (o->sym && o->sym->kind != PTX_SYM_LABEL) ||
               FAIL(c, "operand %u: a label is no value", c->number);
    case PTX_O_VEC:
        if (vec)
            return check_vector(c, o, false);
        break;
    default:
        break;
    }
    return FAIL(c, "operand %u: a register or constant is needed", c->number);
}

static bool
check_kind(struct check *c, const struct ptx_operand *o, char kind, enum ptx_type t, bool any)
{
    switch (kind) {
    case 'd':
        return check_destination(c, o, t, any, false);
    case 'D':
        return check_destination(c, o, t, any, true);
    case 's':
        return check_source(c, o, t, any, false);
    case 'S':
        return check_source(c, o, t, any, true);
    case 'i':
        return o->kind == PTX_O_INT ||
               FAIL(c, "operand %u: an integer constant is needed", c->number);
    case 'p':
        if (o->kind == PTX_O_INT)
            return true;
        if (o->kind != PTX_O_REG)
            return FAIL(c, "operand %u: a predicate is needed", c->number);
        return check_register(c, o, PTX_PRED, false);
    case 'q':
        return check_destination(c, o, PTX_PRED, false, false);
    case 'm':
        return o->kind == PTX_O_ADDR || FAIL(c, "operand %u: an address is needed", c->number);
    case 't':
        return o->kind == PTX_O_ADDR || o->kind == PTX_O_TEX ||
               FAIL(c, "operand %u: a texture is needed", c->number);
    case 'l':
        return (o->kind == PTX_O_SYM && o->sym && o->sym->kind == PTX_SYM_LABEL) ||
               FAIL(c, "operand %u: a label is needed", c->number);
    default:
        return true;
    }
}

static bool
check_operand(struct check *c, const struct ptx_operand *o, const struct ptx_form_operand *f)
{
    enum ptx_type t = wanted(c->i, f->type);
    bool any = f->type == PTX_T_ANY;
    c->wider = f->type >= PTX_T_WIDER && f->type < PTX_T_WIDE;
    if (o->kind != PTX_O_PAIR)
        return check_kind(c, o, f->kind, t, any);
    if (!f->kind2)
        return FAIL(c, "operand %u: no second destination here", c->number);
    return check_kind(c, &o->elem[0], f->kind, t, any) &&
           check_kind(c, &o->elem[1], f->kind2, PTX_PRED, false);
}

bool
verify_operands(const struct verifier *v, const struct ptx_inst *i, const struct ptx_form *form,
                char why[120])
{
    struct check c = {.v = v, .i = i, .why = why};
    if (form->flags & PTX_F_FREE)
        return true;
    unsigned least = 0;
    for (unsigned k = 0; k < form->noperand; k++)
        least += !ptx_form_operands[form->operand + k].optional;
    if (i->noperand < least || i->noperand > form->noperand)
        return FAIL(&c, "%u operands where %u are needed", i->noperand,
                    i->noperand < least ? least : form->noperand);
    for (unsigned k = 0; k < i->noperand; k++) {
        c.number = k + 1;
        if (!check_operand(&c, &i->operand[k], &ptx_form_operands[form->operand + k]))
            return false;
    }
    return true;
}
