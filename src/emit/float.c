// SPDX-License-Identifier: MIT
// Arithmetic of f32, f64 and f32x2, and the handlers that serve integers and floats alike.
#include <stdio.h>

#include "emit/contract.h"

// ---- rounding, flushing, NaNs -------------------------------------------------------------------
const char *
ar_rounding(const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_RZ))
        return "rz";
    if (ptx_has(i, PTX_MOD_RM))
        return "rm";
    return ptx_has(i, PTX_MOD_RP) ? "rp" : "rn";
}

LLVMValueRef
em_flush(struct emitter *e, LLVMValueRef v)
{
    return em_math(e, "pw.m.ftz.f32", e->f32, &v, 1);
}

LLVMValueRef
em_saturate(struct emitter *e, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef zero = em_flt(e, t, 0), one = em_flt(e, t, 1);
    v = ir_select(e, ir_fcmp(e, LLVMRealOGT, v, zero), v, zero);
    return ir_select(e, ir_fcmp(e, LLVMRealOLT, v, one), v, one);
}

LLVMValueRef
ar_canonical(struct emitter *e, LLVMValueRef v)
{
    return LLVMTypeOf(v) == e->f32 ? em_math(e, "pw.m.nan.f32", e->f32, &v, 1) : v;
}

LLVMValueRef
ar_ftz(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v)
{
    return LLVMTypeOf(v) == e->f32 && ptx_has(i, PTX_MOD_FTZ) ? em_flush(e, v) : v;
}

// Result of an operation: flush, saturate or make its NaN canonical.
static LLVMValueRef
finish(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v)
{
    v = ar_ftz(e, i, v);
    return ptx_has(i, PTX_MOD_SAT) ? em_saturate(e, v) : ar_canonical(e, v);
}

// pw.m.<op>.<rounding>.<type of the first argument>
static LLVMValueRef
directed(struct emitter *e, const char *op, const char *rounding, LLVMValueRef *arg, unsigned n)
{
    char name[48];
    LLVMTypeRef t = LLVMTypeOf(arg[0]);
    snprintf(name, sizeof name, "pw.m.%s.%s.%s", op, rounding, t == e->f32 ? "f32" : "f64");
    return em_math(e, name, t, arg, n);
}

static LLVMValueRef
rounded_any_nan(struct emitter *e, enum arith_op op, const char *rounding, LLVMValueRef *a)
{
    static const char *const name[] = {
        [AR_ADD] = "add", [AR_SUB] = "add", [AR_MUL] = "mul", [AR_FMA] = "fma"};
    if (rounding[1] != 'n') {
        LLVMValueRef arg[] = {a[0], a[1], a[2]};
        if (op == AR_SUB)
            arg[1] = LLVMBuildFNeg(e->b, a[1], "");
        return directed(e, name[op], rounding, arg, op == AR_FMA ? 3 : 2);
    }
    switch (op) {
    case AR_ADD:
        return ir_fadd(e, a[0], a[1]);
    case AR_SUB:
        return ir_fsub(e, a[0], a[1]);
    case AR_MUL:
        return ir_fmul(e, a[0], a[1]);
    default:
        return ir_call3(e, "llvm.fma", a[0], a[1], a[2]);
    }
}

// Of several NaN operands f64 units deliver the second, else the third. A lone one the CPU passes
// on in the same way: quiet, and else unchanged.
static LLVMValueRef
rounded(struct emitter *e, enum arith_op op, const char *rounding, LLVMValueRef *a)
{
    LLVMValueRef r = rounded_any_nan(e, op, rounding, a);
    if (LLVMTypeOf(r) != e->f64)
        return r;
    for (unsigned k = op == AR_FMA ? 2 : 1; k; k--) {
        LLVMValueRef arg[] = {r, a[k]};
        if (!LLVMIsAConstantFP(a[k]))
            r = em_math(e, "pw.m.nan.f64", e->f64, arg, 2);
    }
    return r;
}

// ---- minimum and maximum ------------------------------------------------------------------------
LLVMValueRef
ar_minmax(struct emitter *e, bool max, bool nan, LLVMValueRef a, LLVMValueRef b)
{
    char name[32];
    LLVMTypeRef t = LLVMTypeOf(a);
    LLVMValueRef arg[] = {a, b};
    snprintf(name, sizeof name, "pw.m.%s%s.%s", max ? "max" : "min", nan ? ".nan" : "",
             t == e->f32 ? "f32" : "f64");
    return em_math(e, name, t, arg, 2);
}

static bool
float_minmax(struct emitter *e, const struct ptx_inst *i, enum ptx_type t, bool max)
{
    bool nan = ptx_has(i, PTX_MOD_NAN), xorsign = ptx_has(i, PTX_MOD_XORSIGN);
    LLVMValueRef sign = NULL, r = NULL;
    for (unsigned k = 1; k < i->noperand; k++) {
        LLVMValueRef v = ar_ftz(e, i, em_src(e, i, k, t));
        if (xorsign) {
            LLVMValueRef bits = em_bits(e, v, e->i32);
            sign = sign ? ir_xor(e, sign, bits) : bits;
        }
        if (ptx_has(i, PTX_MOD_ABS))
            v = ir_call1(e, "llvm.fabs", v);
        r = r ? ar_minmax(e, max, nan, r, v) : v;
    }
    if (xorsign)
        r = ir_call2(e, "llvm.copysign", r, em_bits(e, sign, e->f32));
    em_dst(e, i, 0, t, ar_canonical(e, r));
    return true;
}

// ---- add sub mul fma abs neg --------------------------------------------------------------------
// Operand k; the mixed forms (add.f32.f16 d, a, c; fma.f32.bf16 d, a, b, c) have halves before the
// addend.
static LLVMValueRef
float_src(struct emitter *e, const struct ptx_inst *i, enum arith_op op, unsigned k)
{
    enum ptx_type t = ar_type(i), narrow = i->ntype > 1 ? (enum ptx_type)i->type[1] : PTX_NONE;
    if (ar_is_half(narrow) && k <= (op == AR_FMA ? 2u : 1u))
        return half_to_float(e, half_lane(e, i, k, narrow, 0), narrow == PTX_BF16);
    return ar_ftz(e, i, em_src(e, i, k, t));
}

static LLVMValueRef
pair_lane(struct emitter *e, LLVMValueRef v, unsigned lane)
{
    LLVMValueRef low = ir_trunc(e, ir_lshr(e, v, em_int(e, e->i64, 32 * lane)), e->i32);
    return em_bits(e, low, e->f32);
}

static bool
float_pair(struct emitter *e, const struct ptx_inst *i, enum arith_op op, unsigned n)
{
    LLVMValueRef src[3] = {0}, lane[2];
    for (unsigned k = 0; k < n; k++)
        src[k] = em_src(e, i, k + 1, PTX_F32X2);
    for (unsigned l = 0; l < 2; l++) {
        LLVMValueRef a[3] = {0};
        for (unsigned k = 0; k < n; k++)
            a[k] = ar_ftz(e, i, pair_lane(e, src[k], l));
        enum arith_op what = em_contract(e, op, l, a);
        LLVMValueRef r = finish(e, i, rounded(e, what, ar_rounding(i), a));
        lane[l] = ir_zext(e, em_bits(e, r, e->i32), e->i64);
    }
    em_dst(e, i, 0, PTX_F32X2, ir_or(e, lane[0], ir_shl(e, lane[1], em_int(e, e->i64, 32))));
    return true;
}

static bool
float_sign(struct emitter *e, const struct ptx_inst *i, enum ptx_type t, bool negate)
{
    LLVMValueRef v = ar_ftz(e, i, em_src(e, i, 1, t));
    LLVMValueRef r = negate ? LLVMBuildFNeg(e->b, v, "") : ir_call1(e, "llvm.fabs", v);
    LLVMValueRef arg[] = {r, v}; // the sign of a NaN stays
    r = t == PTX_F64 ? em_math(e, "pw.m.nan.f64", e->f64, arg, 2) : ar_canonical(e, r);
    em_dst(e, i, 0, t, r);
    return true;
}

bool
float_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op)
{
    enum ptx_type t = ar_type(i);
    unsigned n = op == AR_FMA ? 3 : 2;
    if (op == AR_MIN || op == AR_MAX)
        return float_minmax(e, i, t, op == AR_MAX);
    if (op == AR_NEG || op == AR_ABS)
        return float_sign(e, i, t, op == AR_NEG);
    if (t == PTX_F32X2)
        return float_pair(e, i, op, n);
    LLVMValueRef a[3] = {0};
    for (unsigned k = 0; k < n; k++)
        a[k] = float_src(e, i, op, k + 1);
    op = em_contract(e, op, 0, a);
    em_dst(e, i, 0, t, finish(e, i, rounded(e, op, ar_rounding(i), a)));
    return true;
}

static bool
arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op)
{
    enum ptx_type t = ar_type(i);
    if (ar_is_half(t))
        return half_arith(e, i, op);
    if (t == PTX_F32 || t == PTX_F64 || t == PTX_F32X2)
        return float_arith(e, i, op);
    return int_arith(e, i, op);
}

#define ARITH_HANDLER(name, op)                                                                    \
    bool emit_##name(struct emitter *e, const struct ptx_inst *i)                                  \
    {                                                                                              \
        return arith(e, i, op);                                                                    \
    }
ARITH_HANDLER(add, AR_ADD)
ARITH_HANDLER(sub, AR_SUB)
ARITH_HANDLER(mul, AR_MUL)
ARITH_HANDLER(mad, AR_FMA) // mad.rn.f32 has been fma since sm_20
ARITH_HANDLER(fma, AR_FMA)
ARITH_HANDLER(neg, AR_NEG)
ARITH_HANDLER(abs, AR_ABS)
ARITH_HANDLER(min, AR_MIN)
ARITH_HANDLER(max, AR_MAX)

bool
emit_copysign(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef sign = em_src(e, i, 1, t), magnitude = em_src(e, i, 2, t);
    em_dst(e, i, 0, t, ir_call2(e, "llvm.copysign", magnitude, sign));
    return true;
}

// ---- testp --------------------------------------------------------------------------------------
// Each property is a range of the magnitude's bit pattern: from <= |x| < from + count. Zero counts
// as normal, too.
struct fp_range {
    uint64_t from, count;
};

static bool
property(const struct ptx_inst *i, uint64_t inf, uint64_t normal, struct fp_range *out)
{
    uint64_t end = inf | (normal - 1); // largest magnitude
    const struct {
        enum ptx_mod mod;
        struct fp_range range;
    } table[] = {
        {PTX_MOD_FINITE, {0, inf}},
        {PTX_MOD_INFINITE, {inf, 1}},
        {PTX_MOD_NUMBER, {0, inf + 1}},
        {PTX_MOD_NOTANUMBER, {inf + 1, end - inf}},
        {PTX_MOD_NORMAL, {normal, inf - normal}},
        {PTX_MOD_SUBNORMAL, {1, normal - 1}},
    };
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (ptx_has(i, table[k].mod)) {
            *out = table[k].range;
            return true;
        }
    return false;
}

bool
emit_testp(struct emitter *e, const struct ptx_inst *i)
{
    bool wide = ar_type(i) == PTX_F64;
    uint64_t inf = wide ? 0x7ff0000000000000 : 0x7f800000;
    struct fp_range r;
    if (!property(i, inf, wide ? 1ull << 52 : 1ull << 23, &r))
        return em_refuse(e, i, "without a property");
    LLVMTypeRef it = wide ? e->i64 : e->i32;
    LLVMValueRef bits = em_src(e, i, 1, wide ? PTX_B64 : PTX_B32);
    LLVMValueRef mag = ir_and(e, bits, em_int(e, it, wide ? INT64_MAX : INT32_MAX));
    LLVMValueRef offset = ir_sub(e, mag, em_int(e, it, r.from));
    LLVMValueRef p = ir_icmp(e, LLVMIntULT, offset, em_int(e, it, r.count));
    if (ptx_has(i, PTX_MOD_NORMAL))
        p = ir_or(e, p, ir_icmp(e, LLVMIntEQ, mag, em_int(e, it, 0)));
    em_dst(e, i, 0, PTX_PRED, p);
    return true;
}

// ---- div rcp sqrt rsqrt and the approximations --------------------------------------------------
// a, b or both scaled by `by` where the magnitude of b is beyond `limit` in the sense of `order`.
static void
scale_quotient(struct emitter *e, LLVMRealPredicate order, double limit, double by, LLVMValueRef *a,
               LLVMValueRef *b)
{
    LLVMValueRef beyond = ir_fcmp(e, order, ir_call1(e, "llvm.fabs", *b), em_flt(e, e->f32, limit));
    LLVMValueRef factor = ir_select(e, beyond, em_flt(e, e->f32, by), em_flt(e, e->f32, 1));
    *a = ir_fmul(e, *a, factor);
    *b = ir_fmul(e, *b, factor);
}

// a * (1 / b). div.approx takes the reciprocal of a divisor above 2^126 as 0; div.full scales.
static LLVMValueRef
div_approx(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    if (ptx_has(i, PTX_MOD_FULL))
        scale_quotient(e, LLVMRealOGT, 0x1p126, 0x1p-2, &a, &b);
    if (!ptx_has(i, PTX_MOD_FTZ))
        scale_quotient(e, LLVMRealOLT, 0x1p-126, 0x1p24, &a, &b);
    LLVMValueRef r = em_math(e, "pw.m.rcp.approx.f32", e->f32, &b, 1);
    return ir_fmul(e, a, em_flush(e, r));
}

// With .ftz, division and its kin flush what is below the normal numbers before rounding, where
// rounding up would make it one.
static LLVMValueRef
flush_tiny(struct emitter *e, const struct ptx_inst *i, const char *op, LLVMValueRef *arg,
           unsigned n, LLVMValueRef r)
{
    if (!ptx_has(i, PTX_MOD_FTZ) || ptx_has(i, PTX_MOD_RZ))
        return r;
    LLVMValueRef cut = ir_call1(e, "llvm.fabs", directed(e, op, "rz", arg, n));
    LLVMValueRef tiny = ir_fcmp(e, LLVMRealOLT, cut, em_flt(e, e->f32, 0x1p-126));
    return ir_select(e, tiny, ir_call2(e, "llvm.copysign", em_flt(e, e->f32, 0), r), r);
}

static LLVMValueRef
float_div(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    LLVMValueRef arg[] = {a, b};
    const char *rounding = ar_rounding(i);
    if (ptx_has(i, PTX_MOD_APPROX) || ptx_has(i, PTX_MOD_FULL))
        return div_approx(e, i, a, b);
    if (rounding[1] == 'n')
        return ir_fdiv(e, a, b);
    return flush_tiny(e, i, "div", arg, 2, directed(e, "div", rounding, arg, 2));
}

bool
emit_div(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    if (t != PTX_F32 && t != PTX_F64)
        return emit_int_div(e, i);
    LLVMValueRef a = ar_ftz(e, i, em_src(e, i, 1, t)), b = ar_ftz(e, i, em_src(e, i, 2, t));
    em_dst(e, i, 0, t, finish(e, i, float_div(e, i, a, b)));
    return true;
}

static LLVMValueRef
reciprocal(struct emitter *e, LLVMValueRef v)
{
    return ir_fdiv(e, em_flt(e, LLVMTypeOf(v), 1), v);
}

// rcp sqrt rsqrt of one value: pw.m.<op>.approx[.ftz].<ty> for the approximations that have one.
static LLVMValueRef
root(struct emitter *e, const struct ptx_inst *i, const char *op, LLVMValueRef v)
{
    char name[48];
    const char *rounding = ar_rounding(i);
    bool wide = LLVMTypeOf(v) == e->f64, ftz = ptx_has(i, PTX_MOD_FTZ);
    if (ptx_has(i, PTX_MOD_APPROX) && (!wide || ftz)) {
        snprintf(name, sizeof name, "pw.m.%s.approx%s", op, wide ? ".ftz.f64" : ".f32");
        return em_math(e, name, LLVMTypeOf(v), &v, 1);
    }
    if (rounding[1] != 'n')
        return flush_tiny(e, i, op, &v, 1, directed(e, op, rounding, &v, 1));
    if (op[0] == 'r' && op[1] == 'c')
        return reciprocal(e, v);
    LLVMValueRef r = ir_call1(e, "llvm.sqrt", v);
    return op[0] == 'r' ? reciprocal(e, r) : r;
}

static bool
float_root(struct emitter *e, const struct ptx_inst *i, const char *op)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef v = ar_ftz(e, i, em_src(e, i, 1, t));
    em_dst(e, i, 0, t, finish(e, i, root(e, i, op, v)));
    return true;
}

static bool
float_approx(struct emitter *e, const struct ptx_inst *i, const char *name)
{
    LLVMValueRef v = ar_ftz(e, i, em_src(e, i, 1, PTX_F32));
    em_dst(e, i, 0, PTX_F32, finish(e, i, em_math(e, name, e->f32, &v, 1)));
    return true;
}

bool
emit_rcp(struct emitter *e, const struct ptx_inst *i)
{
    return float_root(e, i, "rcp");
}

bool
emit_sqrt(struct emitter *e, const struct ptx_inst *i)
{
    return float_root(e, i, "sqrt");
}

bool
emit_rsqrt(struct emitter *e, const struct ptx_inst *i)
{
    return float_root(e, i, "rsqrt");
}

bool
emit_sin(struct emitter *e, const struct ptx_inst *i)
{
    return float_approx(e, i, "pw.m.sin.approx.f32");
}

bool
emit_cos(struct emitter *e, const struct ptx_inst *i)
{
    return float_approx(e, i, "pw.m.cos.approx.f32");
}

bool
emit_lg2(struct emitter *e, const struct ptx_inst *i)
{
    return float_approx(e, i, "pw.m.lg2.approx.f32");
}

bool
emit_ex2(struct emitter *e, const struct ptx_inst *i)
{
    return ar_is_half(ar_type(i)) ? half_arith(e, i, AR_EX2)
                                  : float_approx(e, i, "pw.m.ex2.approx.f32");
}

bool
emit_tanh(struct emitter *e, const struct ptx_inst *i)
{
    return ar_is_half(ar_type(i)) ? half_arith(e, i, AR_TANH)
                                  : float_approx(e, i, "pw.m.tanh.approx.f32");
}
