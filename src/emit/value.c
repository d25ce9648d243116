// SPDX-License-Identifier: MIT
// Operands as LLVM values, and the calls of what a backend gives.
#include <stdio.h>
#include <string.h>

#include "emit/core.h"

bool
em_refuse(struct emitter *e, const struct ptx_inst *i, const char *fmt, ...)
{
    char why[256];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(why, sizeof why, fmt, ap);
    va_end(ap);
    bool several = e->prog->nmodule > 1;
    ptx_diag_add(e->diags, true, (int)i->line, (int)i->col, "%s %s%s%s", ptx_op_name(i->op), why,
                 several ? " in " : "", several ? e->ptx->name : "");
    return false;
}

// ---- types --------------------------------------------------------------------------------------
LLVMTypeRef
em_int_type(struct emitter *e, unsigned bits)
{
    return LLVMIntTypeInContext(e->ctx, bits);
}

LLVMTypeRef
em_type(struct emitter *e, enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
        return e->f16;
    case PTX_F32:
        return e->f32;
    case PTX_F64:
        return e->f64;
    default:
        // Opaque types travel as handles of 64 bits.
        return em_int_type(e, ptx_type_bits(t) ? ptx_type_bits(t) : 64);
    }
}

enum ptx_type
em_bits_type(unsigned bytes)
{
    return bytes <= 1   ? PTX_B8
           : bytes <= 2 ? PTX_B16
           : bytes <= 4 ? PTX_B32
           : bytes <= 8 ? PTX_B64
                        : PTX_B128;
}

enum ptx_type
em_address_type(const struct ptx_inst *i)
{
    return i->ntype && ptx_type_bits(i->type[0]) == 32 ? PTX_U32 : PTX_U64;
}

unsigned
em_bits_of(struct emitter *e, LLVMTypeRef t)
{
    if (t == e->f32)
        return 32;
    if (t == e->f64)
        return 64;
    if (t == e->f16)
        return 16;
    return LLVMGetIntTypeWidth(t);
}

LLVMValueRef
em_int(struct emitter *e, LLVMTypeRef t, uint64_t v)
{
    (void)e;
    return LLVMConstInt(t, v, 0);
}

LLVMValueRef
em_flt(struct emitter *e, LLVMTypeRef t, double v)
{
    (void)e;
    return LLVMConstReal(t, v);
}

// ---- conversions --------------------------------------------------------------------------------
LLVMValueRef
em_bits(struct emitter *e, LLVMValueRef v, LLVMTypeRef to)
{
    return LLVMTypeOf(v) == to ? v : LLVMBuildBitCast(e->b, v, to, "");
}

LLVMValueRef
em_as_int(struct emitter *e, LLVMValueRef v)
{
    return em_bits(e, v, em_int_type(e, em_bits_of(e, LLVMTypeOf(v))));
}

LLVMValueRef
em_resize(struct emitter *e, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
    unsigned from = LLVMGetIntTypeWidth(LLVMTypeOf(v)), want = LLVMGetIntTypeWidth(to);
    if (from == want)
        return v;
    if (from > want)
        return LLVMBuildTrunc(e->b, v, to, "");
    return is_signed ? LLVMBuildSExt(e->b, v, to, "") : LLVMBuildZExt(e->b, v, to, "");
}

// Reinterprets `v` as a value of type `to`, an LLVM type of any width.
static LLVMValueRef
reinterpret(struct emitter *e, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
    if (LLVMTypeOf(v) == to)
        return v;
    v = em_resize(e, em_as_int(e, v), em_int_type(e, em_bits_of(e, to)), is_signed);
    return em_bits(e, v, to);
}

LLVMValueRef
em_truth(struct emitter *e, LLVMValueRef v)
{
    return ir_icmp(e, LLVMIntNE, v, em_int(e, LLVMTypeOf(v), 0));
}

LLVMValueRef
em_from_bool(struct emitter *e, LLVMValueRef v)
{
    return LLVMBuildZExt(e->b, v, e->i32, "");
}

LLVMValueRef
em_packed_value(struct emitter *e, LLVMValueRef packed)
{
    return LLVMBuildTrunc(e->b, packed, e->i32, "");
}

LLVMValueRef
em_packed_predicate(struct emitter *e, LLVMValueRef packed)
{
    return LLVMBuildTrunc(e->b, ir_lshr(e, packed, em_int(e, e->i64, 32)), e->i1, "");
}

unsigned
em_align_of(unsigned bytes)
{
    unsigned a = 1;
    while (a * 2 <= bytes && a < 32)
        a *= 2;
    return a;
}

// ---- reading ------------------------------------------------------------------------------------
static LLVMValueRef
nothing(struct emitter *e, enum ptx_type t)
{
    return LLVMConstNull(em_type(e, t));
}

// comp 5..8 are .b0-.b3, 9 and 10 .h0 and .h1: a part of a 32-bit register.
static LLVMValueRef
select_part(struct emitter *e, LLVMValueRef v, unsigned comp, bool is_signed)
{
    unsigned width = comp < 9 ? 8 : 16, shift = comp < 9 ? (comp - 5) * 8 : (comp - 9) * 16;
    v = em_as_int(e, v);
    v = LLVMBuildLShr(e->b, v, em_int(e, LLVMTypeOf(v), shift), "");
    return em_resize(e, em_resize(e, v, em_int_type(e, width), false), e->i32, is_signed);
}

static LLVMValueRef
read_register(struct emitter *e, const struct ptx_operand *o, enum ptx_type t)
{
    unsigned part = o->comp >= 1 && o->comp <= 4 ? o->comp - 1u : 0;
    LLVMValueRef slot = em_slot(e, o->reg, part);
    LLVMValueRef v = LLVMBuildLoad2(e->b, e->fs->slot_type[o->reg], slot, "");
    if (o->comp >= 5 && o->comp < PTX_COMP_LANES)
        v = select_part(e, v, o->comp, ptx_type_signed(t));
    v = reinterpret(e, v, em_type(e, t), ptx_type_signed(t));
    if (!o->neg)
        return v;
    if (t == PTX_PRED)
        return LLVMBuildNot(e->b, v, "");
    return ptx_type_float(t) && LLVMGetTypeKind(em_type(e, t)) != LLVMIntegerTypeKind
               ? LLVMBuildFNeg(e->b, v, "")
               : LLVMBuildNeg(e->b, v, "");
}

static LLVMValueRef
integer_literal(struct emitter *e, const struct ptx_inst *i, uint64_t v, enum ptx_type t)
{
    if (t == PTX_F32 || t == PTX_F64) {
        em_refuse(e, i, "has an integer literal where a %s is needed", ptx_type_name(t));
        return nothing(e, t);
    }
    LLVMTypeRef ty = em_type(e, t);
    unsigned bits = em_bits_of(e, ty);
    if (bits == 1)
        return em_int(e, ty, v != 0);
    LLVMValueRef c = bits > 64 ? LLVMConstInt(ty, v, 1) : LLVMConstInt(em_int_type(e, bits), v, 0);
    return em_bits(e, c, ty);
}

// A float literal where bits are wanted gives the pattern of the float as wide as them; 32 bits
// where none fits.
static LLVMValueRef
float_literal(struct emitter *e, const struct ptx_operand *o, enum ptx_type t)
{
    LLVMTypeRef ty = em_type(e, t);
    if (ty == e->f32 || ty == e->f64 || ty == e->f16)
        return em_flt(e, ty, o->fval);
    if (ptx_type_bits(t) == 64) {
        uint64_t bits;
        memcpy(&bits, &o->fval, sizeof bits);
        return em_int(e, ty, bits);
    }
    float f = (float)o->fval;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    return em_int(e, ty, bits);
}

LLVMValueRef
em_operand(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
           enum ptx_type t)
{
    switch (o->kind) {
    case PTX_O_REG:
        return read_register(e, o, t);
    case PTX_O_INT:
        return integer_literal(e, i, o->ival, t);
    case PTX_O_FLT:
        return float_literal(e, o, t);
    case PTX_O_SYM:
        return reinterpret(e, em_symbol_value(e, i, o->sym, o->off), em_type(e, t), false);
    case PTX_O_SREG:
        return reinterpret(e, em_sreg(e, i, o->sreg, o->comp), em_type(e, t), false);
    default:
        em_refuse(e, i, "has an operand that is no value");
        return nothing(e, t);
    }
}

LLVMValueRef
em_src(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t)
{
    if (k < i->noperand)
        return em_operand(e, i, &i->operand[k], t);
    em_refuse(e, i, "lacks an operand");
    return nothing(e, t);
}

// ---- writing ------------------------------------------------------------------------------------
void
em_write(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o, enum ptx_type t,
         LLVMValueRef v)
{
    if (o->kind == PTX_O_SINK)
        return;
    if (o->kind != PTX_O_REG) {
        em_refuse(e, i, "has a destination that is no register");
        return;
    }
    unsigned part = o->comp >= 1 && o->comp <= 4 ? o->comp - 1u : 0;
    v = reinterpret(e, v, e->fs->slot_type[o->reg], ptx_type_signed(t));
    LLVMBuildStore(e->b, v, em_slot(e, o->reg, part));
}

void
em_dst(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t, LLVMValueRef v)
{
    if (k < i->noperand)
        em_write(e, i, &i->operand[k], t, v);
    else
        em_refuse(e, i, "lacks a destination");
}

void
em_write_packed(struct emitter *e, const struct ptx_inst *i, enum ptx_type t, LLVMValueRef packed)
{
    const struct ptx_operand *d = &i->operand[0];
    LLVMValueRef v = em_bits(e, em_packed_value(e, packed), em_type(e, t));
    if (d->kind != PTX_O_PAIR || d->n != 2) {
        em_write(e, i, d, t, v);
        return;
    }
    em_write(e, i, &d->elem[0], t, v);
    em_write(e, i, &d->elem[1], PTX_PRED, em_packed_predicate(e, packed));
}

static unsigned
register_parts(struct emitter *e, const struct ptx_operand *o)
{
    if (o->kind == PTX_O_REG && !o->comp && e->func->reg[o->reg].vec > 1)
        return e->func->reg[o->reg].vec;
    return 1;
}

unsigned
em_parts(struct emitter *e, const struct ptx_operand *o, struct ptx_operand *out)
{
    unsigned n = o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR ? o->n : register_parts(e, o);
    if (n > EM_REG_PARTS_MAX)
        return 0;
    for (unsigned k = 0; k < n; k++) {
        out[k] = o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR ? o->elem[k] : *o;
        if (n > 1 && o->kind == PTX_O_REG)
            out[k].comp = (uint8_t)(k + 1);
    }
    return n;
}

// ---- calls --------------------------------------------------------------------------------------
enum { CALL_ARGS_MAX = 160 }; // pw.matrix has most

// `name` with or without its "pw."
static LLVMValueRef
call_named(struct emitter *e, const char *name, LLVMTypeRef ret, LLVMValueRef *arg, unsigned n)
{
    LLVMTypeRef type[CALL_ARGS_MAX];
    char full[96];
    for (unsigned k = 0; k < n; k++)
        type[k] = LLVMTypeOf(arg[k]);
    LLVMTypeRef ft = LLVMFunctionType(ret, type, n, 0);
    name += strncmp(name, "pw.", 3) ? 0 : 3;
    snprintf(full, sizeof full, "pw.%s", name);
    LLVMValueRef fn = LLVMGetNamedFunction(e->mod, full);
    if (!fn) {
        fn = LLVMAddFunction(e->mod, full, ft);
        em_pw_attributes(e, fn, name);
    }
    return LLVMBuildCall2(e->b, ft, fn, arg, n, "");
}

LLVMValueRef
em_pw(struct emitter *e, const char *name, LLVMTypeRef ret, LLVMValueRef *arg, unsigned n)
{
    LLVMValueRef all[CALL_ARGS_MAX] = {e->pw};
    for (unsigned k = 0; k < n && k + 1 < CALL_ARGS_MAX; k++)
        all[k + 1] = arg[k];
    return call_named(e, name, ret, all, n + 1);
}

LLVMValueRef
em_math(struct emitter *e, const char *name, LLVMTypeRef ret, LLVMValueRef *arg, unsigned n)
{
    return call_named(e, name, ret, arg, n);
}

LLVMValueRef
em_intrinsic(struct emitter *e, const char *name, LLVMTypeRef overload, LLVMValueRef *arg,
             unsigned n)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMTypeRef ft = LLVMIntrinsicGetType(e->ctx, id, &overload, overload ? 1 : 0);
    LLVMValueRef fn = LLVMGetIntrinsicDeclaration(e->mod, id, &overload, overload ? 1 : 0);
    return LLVMBuildCall2(e->b, ft, fn, arg, n, "");
}
