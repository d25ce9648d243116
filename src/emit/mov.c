// SPDX-License-Identifier: MIT
// mov: scalars, addresses, special registers, and packing and unpacking of vectors.
#include "emit/core.h"

static bool
is_vector(const struct ptx_operand *o)
{
    return o->kind == PTX_O_VEC;
}

// A register {a, b, ...} of n parts that make `bits` bits together: the type of one part.
static enum ptx_type
part_type(unsigned bits, unsigned n)
{
    switch (n ? bits / n : 0) {
    case 8:
        return PTX_B8;
    case 16:
        return PTX_B16;
    case 32:
        return PTX_B32;
    case 64:
        return PTX_B64;
    default:
        return PTX_NONE;
    }
}

static bool
unpack(struct emitter *e, const struct ptx_inst *i, enum ptx_type t)
{
    const struct ptx_operand *d = &i->operand[0];
    enum ptx_type pt = part_type(ptx_type_bits(t), d->n);
    if (!pt)
        return em_refuse(e, i, "cannot take %s apart into %u", ptx_type_name(t), d->n);
    LLVMValueRef v = em_as_int(e, em_src(e, i, 1, t));
    for (unsigned k = 0; k < d->n; k++) {
        LLVMValueRef shift = em_int(e, LLVMTypeOf(v), (uint64_t)k * ptx_type_bits(pt));
        em_write(e, i, &d->elem[k], pt,
                 LLVMBuildTrunc(e->b, ir_lshr(e, v, shift), em_type(e, pt), ""));
    }
    return true;
}

static bool
pack(struct emitter *e, const struct ptx_inst *i, enum ptx_type t)
{
    const struct ptx_operand *s = &i->operand[1];
    enum ptx_type pt = part_type(ptx_type_bits(t), s->n);
    if (!pt)
        return em_refuse(e, i, "cannot make %s of %u", ptx_type_name(t), s->n);
    LLVMTypeRef all = em_int_type(e, ptx_type_bits(t));
    LLVMValueRef v = NULL;
    for (unsigned k = 0; k < s->n; k++) {
        LLVMValueRef part = em_resize(e, em_operand(e, i, &s->elem[k], pt), all, false);
        part = ir_shl(e, part, em_int(e, all, (uint64_t)k * ptx_type_bits(pt)));
        v = v ? ir_or(e, v, part) : part;
    }
    em_dst(e, i, 0, t, em_bits(e, v, em_type(e, t)));
    return true;
}

// Vector to vector, element by element: mov.v4.u32 %v, %tid in old code.
static bool
move_parts(struct emitter *e, const struct ptx_inst *i, enum ptx_type t)
{
    struct ptx_operand d[EM_REG_PARTS_MAX], s[EM_REG_PARTS_MAX];
    LLVMValueRef v[EM_REG_PARTS_MAX];
    unsigned n = em_parts(e, &i->operand[0], d);
    bool special = i->operand[1].kind == PTX_O_SREG;
    if (!n || (!special && em_parts(e, &i->operand[1], s) != n))
        return em_refuse(e, i, "has vectors of different lengths");
    for (unsigned k = 0; k < n; k++) {
        if (special) {
            s[k] = i->operand[1];
            s[k].comp = (uint8_t)(k + 1);
        }
        v[k] = em_operand(e, i, &s[k], t);
    }
    for (unsigned k = 0; k < n; k++)
        em_write(e, i, &d[k], t, v[k]);
    return true;
}

static bool
is_vector_register(struct emitter *e, const struct ptx_operand *o)
{
    return o->kind == PTX_O_REG && !o->comp && e->func->reg[o->reg].vec > 1;
}

bool
emit_mov(struct emitter *e, const struct ptx_inst *i)
{
    if (!i->ntype || i->noperand != 2)
        return em_refuse(e, i, "is malformed");
    enum ptx_type t = i->type[0];
    if (i->vec > 1 || is_vector_register(e, &i->operand[0]))
        return move_parts(e, i, t);
    if (is_vector(&i->operand[0]))
        return unpack(e, i, t);
    if (is_vector(&i->operand[1]))
        return pack(e, i, t);
    em_dst(e, i, 0, t, em_src(e, i, 1, t));
    return true;
}
