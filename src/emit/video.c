// SPDX-License-Identifier: MIT
// Scalar video instructions: vadd vsub vabsdiff vmin vmax vshl vshr vset vmad. Sources are bytes,
// halves or words of registers, extended to 64 bits. GPUs since sm_50 have none of these: NVIDIA's
// compiler writes them out, and what that answers where it departs from the ISA is followed here,
// as recorded (docs/conformance.md): the width of intermediate results, saturation, and .h1.
#include "emit/arith.h"

static unsigned
part_bits(const struct ptx_operand *d)
{
    return d->comp >= 9 ? 16 : d->comp >= 5 ? 8 : 32;
}

// Operand k without its unary minus, extended by the sign of t.
static LLVMValueRef
source(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t)
{
    struct ptx_operand o = i->operand[k];
    o.neg = false;
    return ir_ext(e, em_operand(e, i, &o, t), e->i64, ptx_type_signed(t));
}

static LLVMValueRef
low32(struct emitter *e, LLVMValueRef v)
{
    return ir_trunc(e, v, e->i32);
}

// The low `bits` bits as a signed number.
static LLVMValueRef
signed_of(struct emitter *e, LLVMValueRef v, unsigned bits)
{
    LLVMValueRef room = em_int(e, e->i64, 64 - bits);
    return ir_ashr(e, ir_shl(e, v, room), room);
}

static LLVMValueRef
clamp(struct emitter *e, LLVMValueRef v, int64_t min, int64_t max)
{
    v = ir_call2(e, "llvm.smax", v, em_int(e, e->i64, (uint64_t)min));
    return ir_call2(e, "llvm.smin", v, em_int(e, e->i64, (uint64_t)max));
}

// To 32 bits.
static LLVMValueRef
clamp_word(struct emitter *e, LLVMValueRef v, bool is_signed)
{
    return is_signed ? clamp(e, v, INT32_MIN, INT32_MAX) : clamp(e, v, 0, UINT32_MAX);
}

// ---- from the intermediate result to d ----------------------------------------------------------
// d.part: c with the part replaced. Of a result for .h1 the upper half counts.
static LLVMValueRef
merge(struct emitter *e, const struct ptx_operand *d, LLVMValueRef v, LLVMValueRef c)
{
    unsigned bits = part_bits(d), shift = bits == 8 ? 8 * (d->comp - 5u) : 16 * (d->comp - 9u);
    uint32_t mask = ((1u << bits) - 1) << shift;
    if (bits == 8)
        v = ir_shl(e, v, em_int(e, e->i32, shift));
    v = ir_and(e, v, em_int(e, e->i32, mask));
    return ir_or(e, v, ir_and(e, c, em_int(e, e->i32, ~mask)));
}

// .min and .max with c: of signed or of unsigned 64-bit numbers, `tmp` being the same for both.
static LLVMValueRef
lesser_or_greater(struct emitter *e, bool max, bool is_signed, LLVMValueRef tmp, LLVMValueRef c)
{
    static const char *const order[2][2] = {{"llvm.umin", "llvm.umax"}, {"llvm.smin", "llvm.smax"}};
    return low32(e, ir_call2(e, order[is_signed][max], tmp, ir_ext(e, c, e->i64, is_signed)));
}

static bool
finish(struct emitter *e, const struct ptx_inst *i, LLVMValueRef tmp, bool is_signed)
{
    const struct ptx_operand *d = &i->operand[0];
    bool min = ptx_has(i, PTX_MOD_MIN), max = ptx_has(i, PTX_MOD_MAX);
    LLVMValueRef v = low32(e, tmp);
    if (part_bits(d) < 32)
        v = merge(e, d, v, em_src(e, i, 3, PTX_B32));
    else if (min || max)
        v = lesser_or_greater(e, max, is_signed, tmp, em_src(e, i, 3, PTX_B32));
    else if (ptx_has(i, PTX_MOD_ADD))
        v = ir_add(e, v, em_src(e, i, 3, PTX_B32));
    em_dst(e, i, 0, PTX_B32, v);
    return true;
}

// ---- vadd vsub vabsdiff vmin vmax ---------------------------------------------------------------
enum video_op { VIDEO_ADD, VIDEO_SUB, VIDEO_ABSDIFF, VIDEO_MIN, VIDEO_MAX };

static LLVMValueRef
combine(struct emitter *e, enum video_op op, LLVMValueRef a, LLVMValueRef b)
{
    switch (op) {
    case VIDEO_ADD:
        return ir_add(e, a, b);
    case VIDEO_SUB:
        return ir_sub(e, a, b);
    case VIDEO_ABSDIFF:
        return ir_sub(e, ir_call2(e, "llvm.smax", a, b), ir_call2(e, "llvm.smin", a, b));
    case VIDEO_MIN:
        return ir_call2(e, "llvm.smin", a, b);
    case VIDEO_MAX:
        return ir_call2(e, "llvm.smax", a, b);
    }
    return a;
}

// A part has an upper limit alone, which negative numbers are above; an unsigned word a lower one.
static LLVMValueRef
saturate(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v, bool is_signed)
{
    unsigned bits = part_bits(&i->operand[0]);
    if (!ptx_has(i, PTX_MOD_SAT))
        return v;
    if (bits < 32)
        return ir_call2(e, "llvm.umin", v, em_int(e, e->i64, (1ull << (bits - is_signed)) - 1));
    return is_signed ? clamp(e, v, INT32_MIN, INT32_MAX)
                     : ir_call2(e, "llvm.smax", v, em_int(e, e->i64, 0));
}

// The sum or difference has 32 bits, the others have what they need.
static bool
video(struct emitter *e, const struct ptx_inst *i, enum video_op op)
{
    bool is_signed = ptx_type_signed(i->type[0]);
    LLVMValueRef a = source(e, i, 1, i->type[1]), b = source(e, i, 2, i->type[2]);
    LLVMValueRef v = saturate(e, i, combine(e, op, a, b), is_signed);
    if (op == VIDEO_ADD || op == VIDEO_SUB)
        v = signed_of(e, v, 32);
    return finish(e, i, v, is_signed);
}

#define VIDEO_HANDLER(name, op)                                                                    \
    bool emit_##name(struct emitter *e, const struct ptx_inst *i)                                  \
    {                                                                                              \
        return video(e, i, op);                                                                    \
    }
VIDEO_HANDLER(vadd, VIDEO_ADD)
VIDEO_HANDLER(vsub, VIDEO_SUB)
VIDEO_HANDLER(vabsdiff, VIDEO_ABSDIFF)
VIDEO_HANDLER(vmin, VIDEO_MIN)
VIDEO_HANDLER(vmax, VIDEO_MAX)

// ---- shifts -------------------------------------------------------------------------------------
// Saturation is to a word whatever the part, and looks at the lowest 34 bits.
static bool
video_shift(struct emitter *e, const struct ptx_inst *i, bool left)
{
    bool is_signed = ptx_type_signed(i->type[0]);
    LLVMValueRef v = source(e, i, 1, i->type[1]), n = source(e, i, 2, PTX_U32);
    if (ptx_has(i, PTX_MOD_WRAP))
        n = ir_and(e, n, em_int(e, e->i64, 31));
    else
        n = ir_call2(e, "llvm.umin", n, em_int(e, e->i64, 32));
    v = left ? ir_shl(e, v, n) : ir_ashr(e, v, n);
    if (ptx_has(i, PTX_MOD_SAT))
        v = signed_of(e, clamp_word(e, signed_of(e, v, 34), is_signed), 32);
    return finish(e, i, v, is_signed);
}

bool
emit_vshl(struct emitter *e, const struct ptx_inst *i)
{
    return video_shift(e, i, true);
}

bool
emit_vshr(struct emitter *e, const struct ptx_inst *i)
{
    return video_shift(e, i, false);
}

// ---- vset ---------------------------------------------------------------------------------------
LLVMIntPredicate
video_comparison(const struct ptx_inst *i)
{
    static const struct {
        enum ptx_mod mod;
        LLVMIntPredicate predicate;
    } table[] = {{PTX_MOD_NE, LLVMIntNE},
                 {PTX_MOD_LT, LLVMIntSLT},
                 {PTX_MOD_LE, LLVMIntSLE},
                 {PTX_MOD_GT, LLVMIntSGT},
                 {PTX_MOD_GE, LLVMIntSGE}};
    for (size_t k = 0; k < sizeof table / sizeof *table; k++)
        if (ptx_has(i, table[k].mod))
            return table[k].predicate;
    return LLVMIntEQ;
}

bool
emit_vset(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef a = source(e, i, 1, i->type[0]), b = source(e, i, 2, i->type[1]);
    LLVMValueRef p = ir_icmp(e, video_comparison(i), a, b);
    return finish(e, i, ir_zext(e, p, e->i64), ptx_type_signed(i->type[0]));
}

// ---- vmad ---------------------------------------------------------------------------------------
// A factor: words are signed whatever their type.
static LLVMValueRef
factor(struct emitter *e, const struct ptx_inst *i, unsigned k)
{
    bool word = part_bits(&i->operand[k]) == 32;
    return source(e, i, k, word ? PTX_S32 : (enum ptx_type)i->type[k]);
}

// An unsigned result below zero is 0, but large once it has been scaled.
static LLVMValueRef
saturate_product(struct emitter *e, LLVMValueRef v, unsigned scale, bool is_signed)
{
    LLVMValueRef n = em_int(e, e->i64, scale);
    if (is_signed || !scale)
        return clamp_word(e, ir_ashr(e, v, n), is_signed);
    return ir_call2(e, "llvm.umin", ir_lshr(e, v, n), em_int(e, e->i64, UINT32_MAX));
}

bool
emit_vmad(struct emitter *e, const struct ptx_inst *i)
{
    bool minus = i->operand[1].neg != i->operand[2].neg, minus_c = i->operand[3].neg;
    bool is_signed = ptx_type_signed(i->type[1]) || ptx_type_signed(i->type[2]) || minus || minus_c;
    unsigned scale = ptx_has(i, PTX_MOD_SHR7) ? 7 : ptx_has(i, PTX_MOD_SHR15) ? 15 : 0;
    LLVMValueRef p = ir_mul(e, factor(e, i, 1), factor(e, i, 2)), c = source(e, i, 3, PTX_S32);
    LLVMValueRef v = minus ? ir_sub(e, c, p) : minus_c ? ir_sub(e, p, c) : ir_add(e, p, c);
    if (ptx_has(i, PTX_MOD_PO))
        v = ir_add(e, v, em_int(e, e->i64, 1));
    v = ptx_has(i, PTX_MOD_SAT) ? saturate_product(e, v, scale, is_signed)
                                : ir_ashr(e, v, em_int(e, e->i64, scale));
    em_dst(e, i, 0, PTX_B32, low32(e, v));
    return true;
}
