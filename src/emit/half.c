// SPDX-License-Identifier: MIT
// Arithmetic of f16, bf16 and their pairs. Every operation is done in f32 and rounded once: f32 has
// more than 2p + 2 bits of either format, so rounding its nearest result again is exact for add,
// sub and mul; fma needs a round-to-odd intermediate (pw.m.fma.odd.*). LLVM's bfloat type is never
// used: truncation to it is a libcall on most CPUs.
#include <stdio.h>
#include <string.h>

#include "emit/contract.h"

LLVMValueRef
half_to_float(struct emitter *e, LLVMValueRef lane, bool bf16)
{
    if (!bf16)
        return ir_fpext(e, em_bits(e, lane, e->f16), e->f32);
    LLVMValueRef bits = ir_shl(e, ir_zext(e, lane, e->i32), em_int(e, e->i32, 16));
    return em_bits(e, bits, e->f32);
}

LLVMValueRef
half_from_float(struct emitter *e, LLVMValueRef v, bool bf16, const char *rounding)
{
    char name[48];
    if (!bf16 && !strcmp(rounding, "rn")) {
        LLVMValueRef r = em_bits(e, ir_fptrunc(e, v, e->f16), e->i16);
        return ir_select(e, ir_isnan(e, v), em_int(e, e->i16, 0x7fff), r);
    }
    snprintf(name, sizeof name, "pw.m.cvt.%s.%s.f32", rounding, bf16 ? "bf16" : "f16");
    return em_math(e, name, e->i16, &v, 1);
}

LLVMValueRef
half_lane(struct emitter *e, const struct ptx_inst *i, unsigned n, enum ptx_type t, unsigned k)
{
    if (half_lanes(t) == 1)
        return em_src(e, i, n, half_is_bf16(t) ? PTX_BF16 : PTX_B16);
    LLVMValueRef v = em_src(e, i, n, PTX_B32);
    return ir_trunc(e, ir_lshr(e, v, em_int(e, e->i32, 16 * k)), e->i16);
}

LLVMValueRef
half_pack(struct emitter *e, LLVMValueRef lo, LLVMValueRef hi)
{
    LLVMValueRef high = ir_shl(e, ir_zext(e, hi, e->i32), em_int(e, e->i32, 16));
    return ir_or(e, high, ir_zext(e, lo, e->i32));
}

LLVMValueRef
half_flush(struct emitter *e, LLVMValueRef v)
{
    LLVMValueRef mag = ir_call1(e, "llvm.fabs", v);
    LLVMValueRef zero = ir_call2(e, "llvm.copysign", em_flt(e, e->f32, 0), v);
    return ir_select(e, ir_fcmp(e, LLVMRealOLT, mag, em_flt(e, e->f32, 0x1p-14)), zero, v);
}

static LLVMValueRef
minmax_lane(struct emitter *e, const struct ptx_inst *i, bool max, LLVMValueRef *a)
{
    LLVMValueRef x = a[0], y = a[1];
    if (ptx_has(i, PTX_MOD_ABS)) {
        x = ir_call1(e, "llvm.fabs", x);
        y = ir_call1(e, "llvm.fabs", y);
    }
    LLVMValueRef r = ar_minmax(e, max, ptx_has(i, PTX_MOD_NAN), x, y);
    if (!ptx_has(i, PTX_MOD_XORSIGN))
        return r;
    LLVMValueRef sign = ir_xor(e, em_bits(e, a[0], e->i32), em_bits(e, a[1], e->i32));
    return ir_call2(e, "llvm.copysign", r, em_bits(e, sign, e->f32));
}

// The operation on f32 values, not yet rounded to the format.
static LLVMValueRef
half_op(struct emitter *e, const struct ptx_inst *i, enum arith_op op, bool bf16, LLVMValueRef *a)
{
    switch (op) {
    case AR_ADD:
        return ir_fadd(e, a[0], a[1]);
    case AR_SUB:
        return ir_fsub(e, a[0], a[1]);
    case AR_MUL:
        return ir_fmul(e, a[0], a[1]);
    case AR_FMA:
        return em_math(e, bf16 ? "pw.m.fma.odd.bf16" : "pw.m.fma.odd.f16", e->f32, a, 3);
    case AR_MIN:
    case AR_MAX:
        return minmax_lane(e, i, op == AR_MAX, a);
    case AR_NEG:
        return LLVMBuildFNeg(e->b, a[0], "");
    case AR_ABS:
        return ir_call1(e, "llvm.fabs", a[0]);
    case AR_EX2:
        return em_math(e, "pw.m.ex2.approx.f32", e->f32, a, 1);
    case AR_TANH:
        return em_math(e, "pw.m.tanh.approx.f32", e->f32, a, 1);
    }
    return a[0];
}

// ex2.f16 is cut off, not rounded; infinite from 2^16 on all the same.
static LLVMValueRef
ex2_lane(struct emitter *e, LLVMValueRef v)
{
    LLVMValueRef over = ir_fcmp(e, LLVMRealOGE, v, em_flt(e, e->f32, 0x1p16));
    return ir_select(e, over, em_int(e, e->i16, 0x7c00), half_from_float(e, v, false, "rz"));
}

// f16 results below the normal numbers to zero. What 11 bits would round up to 2^-14 stays.
static LLVMValueRef
flush_result(struct emitter *e, LLVMValueRef v)
{
    LLVMValueRef mag = ir_call1(e, "llvm.fabs", v);
    LLVMValueRef zero = ir_call2(e, "llvm.copysign", em_flt(e, e->f32, 0), v);
    return ir_select(e, ir_fcmp(e, LLVMRealOLT, mag, em_flt(e, e->f32, 0x1.ffep-15)), zero, v);
}

static LLVMValueRef
half_result(struct emitter *e, const struct ptx_inst *i, enum arith_op op, LLVMValueRef v,
            bool bf16)
{
    LLVMValueRef zero = em_flt(e, e->f32, 0);
    if (ptx_has(i, PTX_MOD_RELU)) // NaN stays
        v = ir_select(e, ir_fcmp(e, LLVMRealUGT, v, zero), v, zero);
    if (ptx_has(i, PTX_MOD_SAT))
        v = em_saturate(e, v);
    if (ptx_has(i, PTX_MOD_FTZ))
        v = bf16 ? em_flush(e, v) : flush_result(e, v);
    return op == AR_EX2 && !bf16 ? ex2_lane(e, v) : half_from_float(e, v, bf16, "rn");
}

static const unsigned char half_sources[] = {
    [AR_ADD] = 2, [AR_SUB] = 2, [AR_MUL] = 2, [AR_FMA] = 3, [AR_MIN] = 2,
    [AR_MAX] = 2, [AR_NEG] = 1, [AR_ABS] = 1, [AR_EX2] = 1, [AR_TANH] = 1,
};

bool
half_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op)
{
    enum ptx_type t = ar_type(i);
    bool bf16 = half_is_bf16(t), ftz = ptx_has(i, PTX_MOD_FTZ);
    LLVMValueRef lane[2] = {0};
    for (unsigned l = 0; l < half_lanes(t); l++) {
        LLVMValueRef a[3] = {0};
        for (unsigned k = 0; k < half_sources[op]; k++) {
            a[k] = half_to_float(e, half_lane(e, i, k + 1, t, l), bf16);
            if (ftz)
                a[k] = bf16 ? em_flush(e, a[k]) : half_flush(e, a[k]);
        }
        enum arith_op what = em_contract(e, op, l, a);
        lane[l] = half_result(e, i, what, half_op(e, i, what, bf16, a), bf16);
    }
    if (half_lanes(t) == 2)
        em_dst(e, i, 0, PTX_B32, half_pack(e, lane[0], lane[1]));
    else
        em_dst(e, i, 0, PTX_B16, lane[0]);
    return true;
}
