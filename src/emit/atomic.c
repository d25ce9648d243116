// SPDX-License-Identifier: MIT
// atom and red: a relaxed read-modify-write by the backend, between the fences that its order asks
// for.
#include <stdio.h>

#include "emit/core.h"

static const struct {
    enum ptx_mod mod;
    const char *name;
} ops[] = {
    {PTX_MOD_ADD, "add"},   {PTX_MOD_AND, "and"}, {PTX_MOD_OR, "or"},   {PTX_MOD_XOR, "xor"},
    {PTX_MOD_MIN, "min"},   {PTX_MOD_MAX, "max"}, {PTX_MOD_INC, "inc"}, {PTX_MOD_DEC, "dec"},
    {PTX_MOD_EXCH, "xchg"}, {PTX_MOD_CAS, "cas"},
};

struct rmw {
    enum ptx_type type;
    LLVMTypeRef travels; // the LLVM type of values in the call
    char name[48];       // pw name
    bool cas;
    unsigned n, bytes;
    enum em_order order;
    const char *scope;
};

// The type's name in pw.atom.*: floats for arithmetic only, else bits.
static const char *
type_name(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
        return "f16";
    case PTX_BF16:
        return "bf16";
    case PTX_F16X2:
        return "f16x2";
    case PTX_BF16X2:
        return "bf16x2";
    case PTX_F32:
        return "f32";
    case PTX_F64:
        return "f64";
    default:
        break;
    }
    switch (ptx_type_bits(t)) {
    case 16:
        return "i16";
    case 32:
        return "i32";
    case 64:
        return "i64";
    case 128:
        return "i128";
    default:
        return NULL;
    }
}

static const char *
op_name(const struct ptx_inst *i)
{
    for (size_t k = 0; k < sizeof ops / sizeof *ops; k++)
        if (ptx_has(i, ops[k].mod))
            return ops[k].name;
    return NULL;
}

static bool
is_minmax(const struct ptx_inst *i)
{
    return ptx_has(i, PTX_MOD_MIN) || ptx_has(i, PTX_MOD_MAX);
}

// Sums of f32 and f64 depend on the memory that they are formed in.
static const char *
memory_of_sum(const struct ptx_inst *i, enum ptx_type t)
{
    if (!ptx_has(i, PTX_MOD_ADD) || (t != PTX_F32 && t != PTX_F64) || i->space == PTX_SPACE_SHARED)
        return "";
    return i->space == PTX_SPACE_GLOBAL ? ".global" : ".generic";
}

static bool
describe(struct emitter *e, const struct ptx_inst *i, struct rmw *r)
{
    const char *op = op_name(i);
    r->type = i->ntype ? i->type[0] : PTX_NONE;
    r->cas = ptx_has(i, PTX_MOD_CAS);
    bool bits = r->cas || ptx_has(i, PTX_MOD_EXCH);
    const char *type = type_name(r->type);
    if (!op || !type || (bits && ptx_type_float(r->type)))
        return em_refuse(e, i, "is not supported on %s", ptx_type_name(r->type));
    const char *kind = ptx_type_float(r->type)                     ? "f"
                       : is_minmax(i) && !ptx_type_signed(r->type) ? "u"
                                                                   : "";
    r->travels = r->type == PTX_F16 ? e->i16 : em_type(e, r->type);
    r->n = i->vec ? i->vec : 1;
    r->bytes = ptx_type_bits(r->type) / 8;
    r->order = em_order(i, EM_RELAXED);
    r->scope = em_scope(i, "gpu");
    snprintf(r->name, sizeof r->name, "atom.%s%s%s.%s.%s", kind, op, memory_of_sum(i, r->type),
             type, r->scope);
    return true;
}

static LLVMValueRef
perform(struct emitter *e, const struct rmw *r, LLVMValueRef p, LLVMValueRef v, LLVMValueRef with)
{
    char name[64];
    unsigned as = LLVMGetPointerAddressSpace(LLVMTypeOf(p));
    LLVMValueRef arg[] = {p, v, with};
    if (as)
        snprintf(name, sizeof name, "%s.as%u", r->name, as);
    else
        snprintf(name, sizeof name, "%s", r->name);
    return em_pw(e, name, r->travels, arg, with ? 3 : 2);
}

static LLVMValueRef
element(struct emitter *e, LLVMValueRef p, const struct rmw *r, unsigned k)
{
    LLVMValueRef off = em_int(e, e->i64, (uint64_t)k * r->bytes);
    return k ? LLVMBuildGEP2(e->b, e->i8, p, &off, 1, "") : p;
}

// `dst`: NULL for red. Operands of atom and red are the same but for the destination in front: `at`
// is the address's place.
static bool
rmw(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *dst, unsigned at)
{
    struct rmw r = {0};
    struct ptx_operand d[EM_REG_PARTS_MAX], s[EM_REG_PARTS_MAX];
    if (!describe(e, i, &r))
        return false;
    if (i->noperand < at + (r.cas ? 3 : 2) || em_parts(e, &i->operand[at + 1], s) != r.n ||
        (dst && dst->kind != PTX_O_SINK && em_parts(e, dst, d) != r.n))
        return em_refuse(e, i, "is malformed");
    LLVMValueRef with = r.cas ? em_bits(e, em_src(e, i, at + 2, r.type), r.travels) : NULL;
    LLVMValueRef p = em_pointer(e, i, &i->operand[at], NULL);
    LLVMValueRef v[EM_REG_PARTS_MAX];
    for (unsigned k = 0; k < r.n; k++)
        v[k] = em_bits(e, em_operand(e, i, &s[k], r.type), r.travels);
    em_fence_before(e, r.order, r.scope);
    for (unsigned k = 0; k < r.n; k++)
        v[k] = perform(e, &r, element(e, p, &r, k), v[k], with);
    em_fence_after(e, r.order, r.scope);
    for (unsigned k = 0; dst && dst->kind != PTX_O_SINK && k < r.n; k++)
        em_write(e, i, &d[k], r.type, em_bits(e, v[k], em_type(e, r.type)));
    return true;
}

bool
emit_atom(struct emitter *e, const struct ptx_inst *i)
{
    return rmw(e, i, &i->operand[0], 1);
}

bool
emit_red(struct emitter *e, const struct ptx_inst *i)
{
    return rmw(e, i, NULL, 0);
}
