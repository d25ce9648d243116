// SPDX-License-Identifier: MIT
// cvt between integers and floats of 16 bits and more. Small formats: convert_small.c.
#include <stdio.h>
#include <string.h>

#include "emit/arith.h"

static bool
is_scalar_float(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_BF16 || t == PTX_F32 || t == PTX_F64;
}

static bool
is_scalar_int(enum ptx_type t)
{
    return (t >= PTX_U8 && t <= PTX_S64) || (t >= PTX_B8 && t <= PTX_B64);
}

// A float operand as LLVM float or double: halves widened, f32 flushed for .ftz, but not on its way
// to an f16, all of whose bits can tell.
static LLVMValueRef
float_source(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t)
{
    if (t == PTX_F16 || t == PTX_BF16)
        return half_to_float(e, half_lane(e, i, k, t, 0), t == PTX_BF16);
    LLVMValueRef v = em_src(e, i, k, t);
    return ar_type(i) == PTX_F16 ? v : ar_ftz(e, i, v);
}

// Rounds to an integral value if the instruction says so (rni rzi rmi rpi).
static LLVMValueRef
round_integral(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v, const char *otherwise)
{
    static const struct {
        enum ptx_mod mod;
        const char *intrinsic;
    } table[] = {{PTX_MOD_RNI, "llvm.roundeven"},
                 {PTX_MOD_RZI, "llvm.trunc"},
                 {PTX_MOD_RMI, "llvm.floor"},
                 {PTX_MOD_RPI, "llvm.ceil"}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (ptx_has(i, table[k].mod))
            return ir_call1(e, table[k].intrinsic, v);
    return otherwise ? ir_call1(e, otherwise, v) : v;
}

// ---- to integers --------------------------------------------------------------------------------
static bool
int_to_int(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    LLVMValueRef v = em_src(e, i, 1, s);
    bool is_signed = ptx_type_signed(s);
    if (ptx_has(i, PTX_MOD_SAT))
        v = int_clamp(e, v, is_signed, ptx_type_bits(d), ptx_type_signed(d));
    em_dst(e, i, 0, d, LLVMBuildIntCast2(e->b, v, em_type(e, d), is_signed, ""));
    return true;
}

// Saturating, NaN to 0: an intrinsic overloaded on both types.
static LLVMValueRef
saturating_int(struct emitter *e, LLVMValueRef v, LLVMTypeRef to, bool is_signed)
{
    const char *name = is_signed ? "llvm.fptosi.sat" : "llvm.fptoui.sat";
    LLVMTypeRef from = LLVMTypeOf(v), over[] = {to, from};
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(e->mod, id, over, 2);
    return LLVMBuildCall2(e->b, LLVMFunctionType(to, &from, 1, 0), f, &v, 1, "");
}

static bool
float_to_int(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    LLVMTypeRef to = em_type(e, d);
    unsigned bits = ptx_type_bits(d);
    LLVMValueRef v = float_source(e, i, 1, s);
    LLVMValueRef r =
        saturating_int(e, round_integral(e, i, v, "llvm.trunc"), to, ptx_type_signed(d));
    if (s == PTX_F64 || bits == 64) // NaN: only the highest bit set, elsewhere 0
        r = ir_select(e, ir_isnan(e, v), em_int(e, to, 1ull << (bits - 1)), r);
    em_dst(e, i, 0, d, r);
    return true;
}

// ---- to floats ----------------------------------------------------------------------------------
static LLVMValueRef
named_conversion(struct emitter *e, const char *rounding, const char *to, const char *from,
                 LLVMTypeRef result, LLVMValueRef v)
{
    char name[48];
    snprintf(name, sizeof name, "pw.m.cvt.%s.%s.%s", rounding, to, from);
    return em_math(e, name, result, &v, 1);
}

// The largest finite value of a format, for .satfinite.
static double
largest(enum ptx_type t)
{
    switch (t) {
    case PTX_F16:
    case PTX_F16X2:
        return 65504;
    default:
        return 0x1.fep127; // bf16
    }
}

static LLVMValueRef
relu(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v)
{
    LLVMValueRef zero = em_flt(e, e->f32, 0);
    return ptx_has(i, PTX_MOD_RELU) ? ir_select(e, ir_fcmp(e, LLVMRealUGT, v, zero), v, zero) : v;
}

// .relu and .satfinite on an f32 value; NaN stays.
static LLVMValueRef
limit(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v, enum ptx_type t)
{
    LLVMValueRef max = em_flt(e, e->f32, largest(t));
    v = relu(e, i, v);
    if (!ptx_has(i, PTX_MOD_SATFINITE))
        return v;
    LLVMValueRef over = ir_fcmp(e, LLVMRealOGT, ir_call1(e, "llvm.fabs", v), max);
    return ir_select(e, over, ir_call2(e, "llvm.copysign", max, v), v);
}

// An f32 value rounded to the i16 pattern of f16 or bf16.
static LLVMValueRef
to_half(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v, bool bf16)
{
    return half_from_float(e, limit(e, i, v, bf16 ? PTX_BF16 : PTX_F16), bf16, ar_rounding(i));
}

// An f64 that an f32 must not hold as a subnormal: zero of its sign. Decided before rounding.
static LLVMValueRef
flush_for_float(struct emitter *e, LLVMValueRef v)
{
    LLVMValueRef tiny =
        ir_fcmp(e, LLVMRealOLT, ir_call1(e, "llvm.fabs", v), em_flt(e, e->f64, 0x1p-126));
    return ir_select(e, tiny, ir_call2(e, "llvm.copysign", em_flt(e, e->f64, 0), v), v);
}

// f64 to f32. A NaN keeps its sign and the upper bits of its payload.
static LLVMValueRef
narrow(struct emitter *e, const struct ptx_inst *i, const char *rounding, LLVMValueRef v)
{
    if (ptx_has(i, PTX_MOD_FTZ))
        v = flush_for_float(e, v);
    return rounding[1] == 'n' ? ir_fptrunc(e, v, e->f32)
                              : named_conversion(e, rounding, "f32", "f64", e->f32, v);
}

// The half that an f64 becomes; a NaN as in `narrow`.
static LLVMValueRef
half_of_double(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v, bool bf16)
{
    LLVMValueRef f = narrow(e, i, "odd", v), number = to_half(e, i, f, bf16);
    LLVMValueRef bits = em_bits(e, v, e->i64);
    LLVMValueRef sign =
        ir_and(e, ir_lshr(e, bits, em_int(e, e->i64, 48)), em_int(e, e->i64, 0x8000));
    LLVMValueRef payload = ir_lshr(e, bits, em_int(e, e->i64, bf16 ? 45 : 42));
    payload = ir_and(e, payload, em_int(e, e->i64, bf16 ? 0x7f : 0x3ff));
    LLVMValueRef quiet = ir_or(e, payload, em_int(e, e->i64, bf16 ? 0x7fc0 : 0x7e00));
    LLVMValueRef nan = ir_trunc(e, ir_or(e, sign, quiet), e->i16);
    return ir_select(e, ir_isnan(e, v), nan, number);
}

static LLVMValueRef
double_of_float(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v)
{
    if (ptx_has(i, PTX_MOD_FTZ))
        v = ar_canonical(e, v);
    return ir_fpext(e, v, e->f64);
}

// Writes v (float or double) as type d, rounded.
static bool
write_float(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, LLVMValueRef v)
{
    bool from_double = LLVMTypeOf(v) == e->f64, half = d == PTX_F16 || d == PTX_BF16;
    if (ptx_has(i, PTX_MOD_SAT))
        v = em_saturate(e, v);
    if (half)
        v = from_double ? half_of_double(e, i, v, d == PTX_BF16) : to_half(e, i, v, d == PTX_BF16);
    else if (d == PTX_F64)
        v = from_double ? v : double_of_float(e, i, v);
    else
        v = from_double ? narrow(e, i, ar_rounding(i), v) : ar_canonical(e, ar_ftz(e, i, v));
    em_dst(e, i, 0, half ? PTX_B16 : d, v);
    return true;
}

// f32 with the exact value or, if that needs more bits, an odd one beside it: rounding again is
// then exact.
static LLVMValueRef
int_to_odd_float(struct emitter *e, LLVMValueRef v, bool is_signed)
{
    bool wide = LLVMTypeOf(v) == e->i64;
    const char *from = is_signed ? wide ? "s64" : "s32" : wide ? "u64" : "u32";
    return named_conversion(e, "odd", "f32", from, e->f32, v);
}

static bool
int_to_float(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    bool is_signed = ptx_type_signed(s), wide = ptx_type_bits(s) == 64;
    LLVMTypeRef to = d == PTX_F64 ? e->f64 : e->f32;
    LLVMValueRef v = ir_ext(e, em_src(e, i, 1, s), wide ? e->i64 : e->i32, is_signed);
    const char *rounding = ar_rounding(i);
    if (d == PTX_F16 || d == PTX_BF16)
        return write_float(e, i, d, int_to_odd_float(e, v, is_signed));
    if (rounding[1] == 'n')
        v = is_signed ? ir_sitofp(e, v, to) : ir_uitofp(e, v, to);
    else
        v = named_conversion(e, rounding, d == PTX_F64 ? "f64" : "f32",
                             is_signed ? wide ? "s64" : "s32"
                             : wide    ? "u64"
                                       : "u32",
                             to, v);
    return write_float(e, i, d, v);
}

// cvt to f32 of an f32 or a bf16 without flushing, saturating or rounding to an integer: a move.
static bool
is_move(const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    return d == PTX_F32 && (s == PTX_F32 || s == PTX_BF16) && !ptx_has(i, PTX_MOD_FTZ) &&
           !ptx_has(i, PTX_MOD_SAT) && !ptx_has(i, PTX_MOD_RNI) && !ptx_has(i, PTX_MOD_RZI) &&
           !ptx_has(i, PTX_MOD_RMI) && !ptx_has(i, PTX_MOD_RPI);
}

static bool
float_to_float(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    if (is_move(i, d, s)) {
        em_dst(e, i, 0, d, float_source(e, i, 1, s));
        return true;
    }
    return write_float(e, i, d, round_integral(e, i, float_source(e, i, 1, s), NULL));
}

static bool
float_to_tf32(struct emitter *e, const struct ptx_inst *i)
{
    const char *rounding = ptx_has(i, PTX_MOD_RNA) ? "rna" : ar_rounding(i);
    LLVMValueRef v = relu(e, i, em_src(e, i, 1, PTX_F32));
    v = named_conversion(e, rounding, "tf32", "f32", e->i32, v);
    if (ptx_has(i, PTX_MOD_SATFINITE)) {
        // One place down from what is no finite number: also from a NaN.
        LLVMValueRef exponent = em_int(e, e->i32, 0x7f800000);
        LLVMValueRef full = ir_icmp(e, LLVMIntEQ, ir_and(e, v, exponent), exponent);
        v = ir_select(e, full, ir_sub(e, v, em_int(e, e->i32, 0x2000)), v);
    }
    em_dst(e, i, 0, PTX_B32, v);
    return true;
}

// cvt.rn.f16x2.f32 d, a, b: a goes to the upper half.
static bool
floats_to_pair(struct emitter *e, const struct ptx_inst *i, enum ptx_type d)
{
    LLVMValueRef hi = to_half(e, i, em_src(e, i, 1, PTX_F32), half_is_bf16(d));
    LLVMValueRef lo = to_half(e, i, em_src(e, i, 2, PTX_F32), half_is_bf16(d));
    em_dst(e, i, 0, PTX_B32, half_pack(e, lo, hi));
    return true;
}

bool
emit_cvt(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type d = ar_type(i), s = i->ntype > 1 ? (enum ptx_type)i->type[1] : PTX_NONE;
    if (ptx_has(i, PTX_MOD_RS))
        return em_refuse(e, i, "with stochastic rounding is not supported");
    if (is_scalar_int(d) && is_scalar_int(s))
        return int_to_int(e, i, d, s);
    if (is_scalar_int(d) && is_scalar_float(s))
        return float_to_int(e, i, d, s);
    if (is_scalar_float(d) && is_scalar_int(s))
        return int_to_float(e, i, d, s);
    if (is_scalar_float(d) && is_scalar_float(s))
        return float_to_float(e, i, d, s);
    if (d == PTX_TF32 && s == PTX_F32)
        return float_to_tf32(e, i);
    if (half_lanes(d) == 2 && s == PTX_F32 && i->noperand == 3)
        return floats_to_pair(e, i, d);
    return convert_small(e, i, d, s);
}

// ---- cvt.pack -----------------------------------------------------------------------------------
bool
emit_cvt_pack(struct emitter *e, const struct ptx_inst *i)
{
    static const unsigned char width[PTX_TYPES] = {
        [PTX_U16] = 16, [PTX_S16] = 16, [PTX_U8] = 8, [PTX_S8] = 8,
        [PTX_U4] = 4,   [PTX_S4] = 4,   [PTX_U2] = 2, [PTX_S2] = 2};
    enum ptx_type t = ar_type(i);
    unsigned bits = width[t];
    bool is_signed = t == PTX_S16 || t == PTX_S8 || t == PTX_S4 || t == PTX_S2;
    if (!bits)
        return em_refuse(e, i, "of type %s", ptx_type_name(t));
    LLVMValueRef mask = em_int(e, e->i32, (1u << bits) - 1), r[2];
    for (unsigned k = 0; k < 2; k++)
        r[k] = ir_and(e, int_clamp(e, em_src(e, i, k + 1, PTX_S32), true, bits, is_signed), mask);
    LLVMValueRef d = ir_or(e, ir_shl(e, r[0], em_int(e, e->i32, bits)), r[1]);
    if (i->noperand > 3)
        d = ir_or(e, d, ir_shl(e, em_src(e, i, 3, PTX_B32), em_int(e, e->i32, 2 * bits)));
    em_dst(e, i, 0, PTX_B32, d);
    return true;
}
