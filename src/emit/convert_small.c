// SPDX-License-Identifier: MIT
// cvt to and from the formats of 8 bits and less: e4m3 e5m2 e3m2 e2m3 e2m1 ue8m0, always in pairs.
#include <stdio.h>

#include "emit/arith.h"

struct small_format {
    const char *name;
    enum ptx_type pair;
    unsigned bits; // of one element in the packed pair
};

static const struct small_format formats[] = {
    {"e4m3", PTX_E4M3X2, 8}, {"e5m2", PTX_E5M2X2, 8}, {"e3m2", PTX_E3M2X2, 8},
    {"e2m3", PTX_E2M3X2, 8}, {"e2m1", PTX_E2M1X2, 4}, {"ue8m0", PTX_UE8M0X2, 8},
};

static const struct small_format *
find_format(enum ptx_type t)
{
    for (size_t k = 0; k < sizeof formats / sizeof *formats; k++)
        if (formats[k].pair == t)
            return &formats[k];
    return NULL;
}

static enum ptx_type
pair_container(const struct small_format *f)
{
    return f->bits == 4 ? PTX_B8 : PTX_B16;
}

// Element l (1: upper) of the source, as f32: operand 1 is the upper of two f32, or holds both
// halves.
static LLVMValueRef
element(struct emitter *e, const struct ptx_inst *i, enum ptx_type s, unsigned l)
{
    LLVMValueRef zero = em_flt(e, e->f32, 0), v;
    if (s == PTX_F32)
        v = em_src(e, i, 2 - l, s);
    else
        v = half_to_float(e, half_lane(e, i, 1, s, l), half_is_bf16(s));
    if (ptx_has(i, PTX_MOD_RELU))
        v = ir_select(e, ir_fcmp(e, LLVMRealUGT, v, zero), v, zero);
    return v;
}

// pw.m.cvt.<rounding>.<format>.f32 delivers the element's pattern as i32. All but ue8m0 clamp to
// the largest value
// (.satfinite is mandatory).
static bool
to_small(struct emitter *e, const struct ptx_inst *i, const struct small_format *f, enum ptx_type s)
{
    char name[48];
    const char *finite = f->pair == PTX_UE8M0X2 && ptx_has(i, PTX_MOD_SATFINITE) ? "sat." : "";
    snprintf(name, sizeof name, "pw.m.cvt.%s.%s%s.f32", ar_rounding(i), finite, f->name);
    LLVMValueRef lo = element(e, i, s, 0), hi = element(e, i, s, 1);
    lo = em_math(e, name, e->i32, &lo, 1);
    hi = em_math(e, name, e->i32, &hi, 1);
    LLVMValueRef r = ir_or(e, ir_shl(e, hi, em_int(e, e->i32, f->bits)), lo);
    enum ptx_type container = pair_container(f);
    em_dst(e, i, 0, container, ir_trunc(e, r, em_type(e, container)));
    return true;
}

// Widening is exact: every small value is an f16 (ue8m0: a bf16).
static bool
from_small(struct emitter *e, const struct ptx_inst *i, enum ptx_type d,
           const struct small_format *f)
{
    char name[48];
    LLVMValueRef pair = ir_zext(e, em_src(e, i, 1, pair_container(f)), e->i32), lane[2];
    LLVMValueRef zero = em_flt(e, e->f32, 0), mask = em_int(e, e->i32, (1u << f->bits) - 1);
    snprintf(name, sizeof name, "pw.m.cvt.f32.%s", f->name);
    for (unsigned l = 0; l < 2; l++) {
        LLVMValueRef v = ir_lshr(e, pair, em_int(e, e->i32, f->bits * l));
        v = ir_and(e, v, mask);
        v = em_math(e, name, e->f32, &v, 1);
        if (ptx_has(i, PTX_MOD_RELU))
            v = ir_select(e, ir_fcmp(e, LLVMRealUGT, v, zero), v, zero);
        lane[l] = half_from_float(e, v, half_is_bf16(d), "rn");
    }
    em_dst(e, i, 0, PTX_B32, half_pack(e, lane[0], lane[1]));
    return true;
}

bool
convert_small(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s)
{
    const struct small_format *to = find_format(d), *from = find_format(s);
    if (to && (s == PTX_F32 || half_lanes(s) == 2))
        return to_small(e, i, to, s);
    if (from && half_lanes(d) == 2)
        return from_small(e, i, d, from);
    return em_refuse(e, i, "from %s to %s is not supported", ptx_type_name(s), ptx_type_name(d));
}
