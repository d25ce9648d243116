// SPDX-License-Identifier: MIT
// Integer arithmetic: add sub mul mad, their carry and saturating forms, 24-bit products, division,
// minimum and maximum, packed u16x2 and s16x2.
#include "emit/arith.h"

static LLVMValueRef
shift_down(struct emitter *e, LLVMValueRef v, unsigned bits, LLVMTypeRef to)
{
    return ir_trunc(e, ir_lshr(e, v, em_int(e, LLVMTypeOf(v), bits)), to);
}

static LLVMTypeRef
int_type(struct emitter *e, unsigned bits)
{
    return LLVMIntTypeInContext(e->ctx, bits);
}

// ---- products -----------------------------------------------------------------------------------
// The product of 2n bits of two values of type t.
static LLVMValueRef
wide_product(struct emitter *e, enum ptx_type t, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef wide = int_type(e, 2 * ptx_type_bits(t));
    bool s = ptx_type_signed(t);
    return ir_mul(e, ir_ext(e, a, wide, s), ir_ext(e, b, wide, s));
}

static LLVMValueRef
high_product(struct emitter *e, enum ptx_type t, LLVMValueRef a, LLVMValueRef b)
{
    return shift_down(e, wide_product(e, t, a, b), ptx_type_bits(t), LLVMTypeOf(a));
}

static enum ptx_type
widened(enum ptx_type t)
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

// The product that .lo, .hi or .wide selects; *result is its type.
static LLVMValueRef
product(struct emitter *e, const struct ptx_inst *i, enum ptx_type *result)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    *result = t;
    if (ptx_has(i, PTX_MOD_WIDE)) {
        *result = widened(t);
        return *result ? wide_product(e, t, a, b) : NULL;
    }
    return ptx_has(i, PTX_MOD_HI) ? high_product(e, t, a, b) : ir_mul(e, a, b);
}

static LLVMValueRef
saturating_add(struct emitter *e, LLVMValueRef a, LLVMValueRef b)
{
    return ir_call2(e, "llvm.sadd.sat", a, b);
}

// ---- carry --------------------------------------------------------------------------------------
static LLVMValueRef
carry_in(struct emitter *e, LLVMTypeRef t)
{
    return ir_zext(e, LLVMBuildLoad2(e->b, e->i1, em_carry_slot(e), ""), t);
}

// a + b + in, or a - b - in; in may be NULL. Writes CC.CF (the carry or the borrow) if the
// instruction says .cc.
static LLVMValueRef
carry_sum(struct emitter *e, const struct ptx_inst *i, bool subtract, LLVMValueRef a,
          LLVMValueRef b, LLVMValueRef in)
{
    LLVMValueRef r = subtract ? ir_sub(e, a, b) : ir_add(e, a, b);
    LLVMValueRef carry = subtract ? ir_icmp(e, LLVMIntULT, a, b) : ir_icmp(e, LLVMIntULT, r, a);
    if (in) {
        LLVMValueRef r2 = subtract ? ir_sub(e, r, in) : ir_add(e, r, in);
        LLVMValueRef again =
            subtract ? ir_icmp(e, LLVMIntULT, r, in) : ir_icmp(e, LLVMIntULT, r2, in);
        carry = ir_or(e, carry, again);
        r = r2;
    }
    if (ptx_has(i, PTX_MOD_CC))
        LLVMBuildStore(e->b, carry, em_carry_slot(e));
    return r;
}

static bool
emit_carry(struct emitter *e, const struct ptx_inst *i, bool subtract, bool with_in)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    LLVMValueRef in = with_in ? carry_in(e, em_type(e, t)) : NULL;
    em_dst(e, i, 0, t, carry_sum(e, i, subtract, a, b, in));
    return true;
}

bool
emit_addc(struct emitter *e, const struct ptx_inst *i)
{
    return emit_carry(e, i, false, true);
}

bool
emit_subc(struct emitter *e, const struct ptx_inst *i)
{
    return emit_carry(e, i, true, true);
}

bool
emit_madc(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t;
    LLVMValueRef p = product(e, i, &t);
    if (!p)
        return em_refuse(e, i, "has no wide type");
    LLVMValueRef c = em_src(e, i, 3, t);
    em_dst(e, i, 0, t, carry_sum(e, i, false, p, c, carry_in(e, em_type(e, t))));
    return true;
}

// ---- operations on scalars ----------------------------------------------------------------------
static LLVMValueRef
int_minmax(struct emitter *e, bool max, bool is_signed, LLVMValueRef a, LLVMValueRef b)
{
    static const char *const name[2][2] = {{"llvm.umin", "llvm.umax"}, {"llvm.smin", "llvm.smax"}};
    return ir_call2(e, name[is_signed][max], a, b);
}

static LLVMValueRef
int_op(struct emitter *e, const struct ptx_inst *i, enum arith_op op, bool is_signed,
       LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    bool sat = ptx_has(i, PTX_MOD_SAT);
    switch (op) {
    case AR_ADD:
        return sat ? saturating_add(e, a, b) : ir_add(e, a, b);
    case AR_SUB:
        return sat ? ir_call2(e, "llvm.ssub.sat", a, b) : ir_sub(e, a, b);
    case AR_MIN:
    case AR_MAX:
        a = int_minmax(e, op == AR_MAX, is_signed, a, b);
        return ptx_has(i, PTX_MOD_RELU) ? ir_call2(e, "llvm.smax", a, em_int(e, t, 0)) : a;
    default:
        return NULL;
    }
}

static bool
int_packed(struct emitter *e, const struct ptx_inst *i, enum arith_op op, bool is_signed)
{
    LLVMValueRef a = em_src(e, i, 1, PTX_B32), b = em_src(e, i, 2, PTX_B32), r[2];
    for (unsigned l = 0; l < 2; l++) {
        r[l] = int_op(e, i, op, is_signed, shift_down(e, a, 16 * l, e->i16),
                      shift_down(e, b, 16 * l, e->i16));
        if (!r[l])
            return em_refuse(e, i, "is not defined on packed integers");
    }
    em_dst(e, i, 0, PTX_B32, half_pack(e, r[0], r[1]));
    return true;
}

static bool
int_multiply(struct emitter *e, const struct ptx_inst *i, bool add)
{
    enum ptx_type t;
    LLVMValueRef r = product(e, i, &t);
    if (!r)
        return em_refuse(e, i, "has no wide type");
    if (add) {
        LLVMValueRef c = em_src(e, i, 3, t);
        r = ptx_has(i, PTX_MOD_SAT) ? saturating_add(e, r, c) : carry_sum(e, i, false, r, c, NULL);
    }
    em_dst(e, i, 0, t, r);
    return true;
}

static bool
int_sign(struct emitter *e, const struct ptx_inst *i, enum ptx_type t, bool only_negative)
{
    LLVMValueRef v = em_src(e, i, 1, t), zero = em_int(e, em_type(e, t), 0);
    LLVMValueRef r = ir_sub(e, zero, v);
    if (only_negative)
        r = ir_select(e, ir_icmp(e, LLVMIntSLT, v, zero), r, v);
    em_dst(e, i, 0, t, r);
    return true;
}

bool
int_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op)
{
    enum ptx_type t = ar_type(i);
    bool is_signed = ptx_type_signed(t) || t == PTX_S16X2;
    if (t == PTX_U16X2 || t == PTX_S16X2)
        return int_packed(e, i, op, is_signed);
    if (op == AR_MUL || op == AR_FMA)
        return int_multiply(e, i, op == AR_FMA);
    if (op == AR_NEG || op == AR_ABS)
        return int_sign(e, i, t, op == AR_ABS);
    if (ptx_has(i, PTX_MOD_CC))
        return emit_carry(e, i, op == AR_SUB, false);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    em_dst(e, i, 0, t, int_op(e, i, op, is_signed, a, b));
    return true;
}

LLVMValueRef
int_clamp(struct emitter *e, LLVMValueRef v, bool from_signed, unsigned bits, bool to_signed)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    unsigned have = LLVMGetIntTypeWidth(t);
    uint64_t max = ~0ull >> (64 - bits + to_signed);
    if (from_signed && !to_signed)
        v = int_minmax(e, true, true, v, em_int(e, t, 0));
    else if (from_signed && bits < have)
        v = int_minmax(e, true, true, v, em_int(e, t, ~max));
    if (bits > have || (bits == have && from_signed >= to_signed))
        return v; // nothing above max
    return int_minmax(e, false, from_signed, v, em_int(e, t, max));
}

// ---- 24-bit products, sad -----------------------------------------------------------------------
// The low 24 bits of operand k, extended to 64.
static LLVMValueRef
operand24(struct emitter *e, const struct ptx_inst *i, unsigned k)
{
    LLVMValueRef n8 = em_int(e, e->i32, 8), v = ir_shl(e, em_src(e, i, k, ar_type(i)), n8);
    bool s = ptx_type_signed(ar_type(i));
    return ir_ext(e, s ? ir_ashr(e, v, n8) : ir_lshr(e, v, n8), e->i64, s);
}

// Bits 0-31 or 16-47 of the 48-bit product of the operands' low 24 bits.
static LLVMValueRef
product24(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef p = ir_mul(e, operand24(e, i, 1), operand24(e, i, 2));
    return shift_down(e, p, ptx_has(i, PTX_MOD_HI) ? 16 : 0, e->i32);
}

bool
emit_mul24(struct emitter *e, const struct ptx_inst *i)
{
    em_dst(e, i, 0, ar_type(i), product24(e, i));
    return true;
}

bool
emit_mad24(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef p = product24(e, i), c = em_src(e, i, 3, ar_type(i));
    em_dst(e, i, 0, ar_type(i),
           ptx_has(i, PTX_MOD_SAT) ? saturating_add(e, p, c) : ir_add(e, p, c));
    return true;
}

bool
emit_sad(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    bool s = ptx_type_signed(t);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t), c = em_src(e, i, 3, t);
    LLVMValueRef less = ir_icmp(e, s ? LLVMIntSLT : LLVMIntULT, a, b);
    LLVMValueRef d = ir_select(e, less, ir_sub(e, b, a), ir_sub(e, a, b));
    em_dst(e, i, 0, t, ir_add(e, c, d));
    return true;
}

// ---- division -----------------------------------------------------------------------------------
// A divisor that neither traps nor overflows: 1 in place of 0, and of -1 for the smallest dividend.
static LLVMValueRef
safe_divisor(struct emitter *e, bool is_signed, LLVMValueRef a, LLVMValueRef b)
{
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef bad = ir_icmp(e, LLVMIntEQ, b, em_int(e, t, 0));
    if (is_signed) {
        LLVMValueRef min = em_int(e, t, 1ull << (LLVMGetIntTypeWidth(t) - 1));
        LLVMValueRef over =
            ir_and(e, ir_icmp(e, LLVMIntEQ, b, em_int(e, t, ~0ull)), ir_icmp(e, LLVMIntEQ, a, min));
        bad = ir_or(e, bad, over);
    }
    return ir_select(e, bad, em_int(e, t, 1), b);
}

// The ISA leaves division by zero open; hardware answers all ones, for the remainder too.
static bool
int_divide(struct emitter *e, const struct ptx_inst *i, bool remainder)
{
    enum ptx_type t = ar_type(i);
    bool s = ptx_type_signed(t);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t), d = safe_divisor(e, s, a, b), r;
    if (remainder)
        r = s ? ir_srem(e, a, d) : ir_urem(e, a, d);
    else
        r = s ? ir_sdiv(e, a, d) : ir_udiv(e, a, d);
    LLVMValueRef by_zero = ir_icmp(e, LLVMIntEQ, b, em_int(e, LLVMTypeOf(b), 0));
    em_dst(e, i, 0, t, ir_select(e, by_zero, em_int(e, LLVMTypeOf(a), ~0ull), r));
    return true;
}

bool
emit_int_div(struct emitter *e, const struct ptx_inst *i)
{
    return int_divide(e, i, false);
}

bool
emit_rem(struct emitter *e, const struct ptx_inst *i)
{
    return int_divide(e, i, true);
}
