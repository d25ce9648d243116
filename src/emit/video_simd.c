// SPDX-License-Identifier: MIT
// SIMD video instructions on two halves or four bytes: vadd2 ... vset4. The lanes of a source are
// picked from both source registers, lanes 0.. of a, then those of b.
#include "emit/arith.h"

struct simd {
    unsigned lanes, bits;
    bool a_signed, b_signed, d_signed;
    LLVMValueRef pair; // b:a
};

static bool
is_signed(enum ptx_type t)
{
    return ptx_type_signed(t);
}

static struct simd
describe(struct emitter *e, const struct ptx_inst *i, unsigned lanes)
{
    bool set = i->ntype == 2; // has no type of d
    LLVMValueRef a = ir_zext(e, em_src(e, i, 1, PTX_B32), e->i64);
    LLVMValueRef b = ir_zext(e, em_src(e, i, 2, PTX_B32), e->i64);
    return (struct simd){
        .lanes = lanes,
        .bits = 32 / lanes,
        .d_signed = !set && is_signed(i->type[0]),
        .a_signed = is_signed(i->type[!set]),
        .b_signed = is_signed(i->type[1 + !set]),
        .pair = ir_or(e, a, ir_shl(e, b, em_int(e, e->i64, 32))),
    };
}

// Lane of the pair that operand k (1 or 2) has as its lane l.
static unsigned
picked(const struct simd *s, const struct ptx_inst *i, unsigned k, unsigned l)
{
    const struct ptx_operand *o = &i->operand[k];
    if (o->comp == PTX_COMP_LANES)
        return o->sel >> 4 * l & 7;
    return (k - 1) * s->lanes + l;
}

static LLVMValueRef
lane(struct emitter *e, const struct simd *s, const struct ptx_inst *i, unsigned k, unsigned l)
{
    LLVMTypeRef t = s->bits == 8 ? e->i8 : e->i16;
    unsigned at = s->bits * picked(s, i, k, l);
    LLVMValueRef v = ir_trunc(e, ir_lshr(e, s->pair, em_int(e, e->i64, at)), t);
    return ir_ext(e, v, e->i32, k == 1 ? s->a_signed : s->b_signed);
}

// Lanes that the destination's mask names, as bits.
static unsigned
mask_of(const struct simd *s, const struct ptx_operand *d)
{
    unsigned mask = 0;
    if (d->comp >= 9 && d->comp <= 10)
        return 1u << (d->comp - 9);
    if (d->comp >= 5 && d->comp <= 8)
        return 1u << (d->comp - 5);
    if (d->comp != PTX_COMP_LANES)
        return (1u << s->lanes) - 1;
    for (unsigned digit = 0; digit < d->n; digit++)
        mask |= 1u << (d->sel >> 4 * digit & 3);
    return mask;
}

// ---- one lane -----------------------------------------------------------------------------------
typedef LLVMValueRef lane_fn(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a,
                             LLVMValueRef b);

static LLVMValueRef
lane_add(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    (void)i;
    return ir_add(e, a, b);
}

static LLVMValueRef
lane_sub(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    (void)i;
    return ir_sub(e, a, b);
}

// Halves are rounded away from zero.
static LLVMValueRef
lane_avrg(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    (void)i;
    LLVMValueRef sum = ir_add(e, a, b), one = em_int(e, e->i32, 1);
    LLVMValueRef up = ir_zext(e, ir_icmp(e, LLVMIntSGE, sum, em_int(e, e->i32, 0)), e->i32);
    return ir_ashr(e, ir_add(e, sum, up), one);
}

static LLVMValueRef
lane_min(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    (void)i;
    return ir_call2(e, "llvm.smin", a, b);
}

static LLVMValueRef
lane_max(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    (void)i;
    return ir_call2(e, "llvm.smax", a, b);
}

static LLVMValueRef
lane_absdiff(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    return ir_sub(e, lane_max(e, i, a, b), lane_min(e, i, a, b));
}

static LLVMValueRef
lane_set(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a, LLVMValueRef b)
{
    return ir_zext(e, ir_icmp(e, video_comparison(i), a, b), e->i32);
}

// ---- all lanes ----------------------------------------------------------------------------------
// .add: c and the lanes of the mask, summed up.
static LLVMValueRef
accumulate(struct emitter *e, LLVMValueRef c, const LLVMValueRef *v, unsigned mask)
{
    for (unsigned l = 0; mask >> l; l++)
        if (mask >> l & 1)
            c = ir_add(e, c, v[l]);
    return c;
}

// c with the lanes of the mask replaced.
static LLVMValueRef
merge(struct emitter *e, const struct simd *s, LLVMValueRef c, const LLVMValueRef *v, unsigned mask)
{
    uint32_t ones = (1u << s->bits) - 1;
    for (unsigned l = 0; l < s->lanes; l++) {
        if (!(mask >> l & 1))
            continue;
        LLVMValueRef field = ir_and(e, v[l], em_int(e, e->i32, ones));
        field = ir_shl(e, field, em_int(e, e->i32, s->bits * l));
        c = ir_or(e, ir_and(e, c, em_int(e, e->i32, ~(ones << s->bits * l))), field);
    }
    return c;
}

static bool
simd(struct emitter *e, const struct ptx_inst *i, unsigned lanes, lane_fn *fn)
{
    struct simd s = describe(e, i, lanes);
    unsigned mask = mask_of(&s, &i->operand[0]);
    LLVMValueRef v[4], c = em_src(e, i, 3, PTX_B32);
    for (unsigned l = 0; l < lanes; l++) {
        v[l] = fn(e, i, lane(e, &s, i, 1, l), lane(e, &s, i, 2, l));
        if (ptx_has(i, PTX_MOD_SAT))
            v[l] = int_clamp(e, v[l], true, s.bits, s.d_signed);
    }
    c = ptx_has(i, PTX_MOD_ADD) ? accumulate(e, c, v, mask) : merge(e, &s, c, v, mask);
    em_dst(e, i, 0, PTX_B32, c);
    return true;
}

#define SIMD_HANDLERS(name)                                                                        \
    bool emit_v##name##2(struct emitter * e, const struct ptx_inst *i)                             \
    {                                                                                              \
        return simd(e, i, 2, lane_##name);                                                         \
    }                                                                                              \
    bool emit_v##name##4(struct emitter * e, const struct ptx_inst *i)                             \
    {                                                                                              \
        return simd(e, i, 4, lane_##name);                                                         \
    }
SIMD_HANDLERS(add)
SIMD_HANDLERS(sub)
SIMD_HANDLERS(avrg)
SIMD_HANDLERS(absdiff)
SIMD_HANDLERS(min)
SIMD_HANDLERS(max)
SIMD_HANDLERS(set)
