// SPDX-License-Identifier: MIT
// Comparison and selection: set setp selp slct.
#include "emit/arith.h"

struct comparison {
    enum ptx_mod mod;
    LLVMIntPredicate sint, uint;
    LLVMRealPredicate real;
};

static const struct comparison comparisons[] = {
    {PTX_MOD_EQ, LLVMIntEQ, LLVMIntEQ, LLVMRealOEQ},
    {PTX_MOD_NE, LLVMIntNE, LLVMIntNE, LLVMRealONE},
    {PTX_MOD_LT, LLVMIntSLT, LLVMIntULT, LLVMRealOLT},
    {PTX_MOD_LE, LLVMIntSLE, LLVMIntULE, LLVMRealOLE},
    {PTX_MOD_GT, LLVMIntSGT, LLVMIntUGT, LLVMRealOGT},
    {PTX_MOD_GE, LLVMIntSGE, LLVMIntUGE, LLVMRealOGE},
    {PTX_MOD_LO, LLVMIntULT, LLVMIntULT, LLVMRealOLT}, // lo ls hi hs: unsigned integers only
    {PTX_MOD_LS, LLVMIntULE, LLVMIntULE, LLVMRealOLE},
    {PTX_MOD_HI, LLVMIntUGT, LLVMIntUGT, LLVMRealOGT},
    {PTX_MOD_HS, LLVMIntUGE, LLVMIntUGE, LLVMRealOGE},
    {PTX_MOD_EQU, LLVMIntEQ, LLVMIntEQ, LLVMRealUEQ}, // from here on floats only
    {PTX_MOD_NEU, LLVMIntNE, LLVMIntNE, LLVMRealUNE},
    {PTX_MOD_LTU, LLVMIntULT, LLVMIntULT, LLVMRealULT},
    {PTX_MOD_LEU, LLVMIntULE, LLVMIntULE, LLVMRealULE},
    {PTX_MOD_GTU, LLVMIntUGT, LLVMIntUGT, LLVMRealUGT},
    {PTX_MOD_GEU, LLVMIntUGE, LLVMIntUGE, LLVMRealUGE},
    {PTX_MOD_NUM, LLVMIntEQ, LLVMIntEQ, LLVMRealORD},
    {PTX_MOD_NAN, LLVMIntNE, LLVMIntNE, LLVMRealUNO},
};

static const struct comparison *
find_comparison(const struct ptx_inst *i)
{
    for (size_t k = 0; k < sizeof comparisons / sizeof *comparisons; k++)
        if (ptx_has(i, comparisons[k].mod))
            return &comparisons[k];
    return NULL;
}

// Operand k of type t, halves (lane l) as f32, flushed if the instruction says so.
static LLVMValueRef
operand(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t, unsigned l)
{
    if (!ar_is_half(t))
        return ar_ftz(e, i, em_src(e, i, k, t));
    LLVMValueRef v = half_to_float(e, half_lane(e, i, k, t, l), half_is_bf16(t));
    return ptx_has(i, PTX_MOD_FTZ) && !half_is_bf16(t) ? half_flush(e, v) : v;
}

static LLVMValueRef
compare(struct emitter *e, const struct ptx_inst *i, const struct comparison *c, enum ptx_type t,
        unsigned l)
{
    LLVMValueRef a = operand(e, i, 1, t, l), b = operand(e, i, 2, t, l);
    if (ptx_type_float(t))
        return ir_fcmp(e, c->real, a, b);
    return ir_icmp(e, ptx_type_signed(t) ? c->sint : c->uint, a, b);
}

// v BoolOp operand 3, or v where the instruction has none.
static LLVMValueRef
combine(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v)
{
    if (i->noperand < 4)
        return v;
    LLVMValueRef c = em_src(e, i, 3, PTX_PRED);
    if (ptx_has(i, PTX_MOD_AND))
        return ir_and(e, v, c);
    return ptx_has(i, PTX_MOD_OR) ? ir_or(e, v, c) : ir_xor(e, v, c);
}

bool
emit_setp(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    const struct comparison *c = find_comparison(i);
    const struct ptx_operand *d = &i->operand[0];
    if (!c)
        return em_refuse(e, i, "without a comparison");
    LLVMValueRef p = compare(e, i, c, t, 0);
    if (d->kind != PTX_O_PAIR || d->n != 2) {
        em_dst(e, i, 0, PTX_PRED, combine(e, i, p));
        return true;
    }
    // The second destination is the complement; of pairs it is the high lane's result.
    LLVMValueRef q = half_lanes(t) == 2 ? compare(e, i, c, t, 1) : ir_not(e, p);
    p = combine(e, i, p);
    q = combine(e, i, q);
    em_write(e, i, &d->elem[0], PTX_PRED, p);
    em_write(e, i, &d->elem[1], PTX_PRED, q);
    return true;
}

// What `set` delivers for true: all ones, or 1.0 of a float type.
static uint64_t
true_pattern(enum ptx_type t)
{
    switch (t) {
    case PTX_F32:
        return 0x3f800000;
    case PTX_F16:
    case PTX_F16X2:
        return 0x3c00;
    case PTX_BF16:
    case PTX_BF16X2:
        return 0x3f80;
    default:
        return ~0ull;
    }
}

bool
emit_set(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type d = ar_type(i), t = i->ntype > 1 ? (enum ptx_type)i->type[1] : d;
    const struct comparison *c = find_comparison(i);
    unsigned bits = ptx_type_bits(d);
    if (!c || (bits != 16 && bits != 32))
        return em_refuse(e, i, "without a comparison or of this type");
    LLVMTypeRef ty = half_lanes(t) == 2 || bits == 16 ? e->i16 : e->i32;
    LLVMValueRef yes = em_int(e, ty, true_pattern(d)), no = em_int(e, ty, 0), r;
    r = ir_select(e, combine(e, i, compare(e, i, c, t, 0)), yes, no);
    if (half_lanes(t) == 2) {
        LLVMValueRef high = combine(e, i, compare(e, i, c, t, 1));
        r = half_pack(e, r, ir_select(e, high, yes, no));
    }
    em_dst(e, i, 0, bits == 16 ? PTX_B16 : PTX_B32, r);
    return true;
}

bool
emit_selp(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    em_dst(e, i, 0, t, ir_select(e, em_src(e, i, 3, PTX_PRED), a, b));
    return true;
}

// a if c >= 0 (-0 included), b if not or if c is a NaN.
bool
emit_slct(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i), ct = i->ntype > 1 ? (enum ptx_type)i->type[1] : PTX_S32;
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t), c = em_src(e, i, 3, ct), pick;
    if (ct == PTX_F32)
        pick = ir_fcmp(e, LLVMRealOGE, ar_ftz(e, i, c), em_flt(e, e->f32, 0));
    else
        pick = ir_icmp(e, LLVMIntSGE, c, em_int(e, em_type(e, ct), 0));
    em_dst(e, i, 0, t, ir_select(e, pick, a, b));
    return true;
}
