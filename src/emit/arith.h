// SPDX-License-Identifier: MIT
// What the arithmetic handlers share among each other.
#ifndef EMIT_ARITH_H
#define EMIT_ARITH_H

#include "emit/handlers.h"
#include "emit/ir.h"

enum arith_op { AR_ADD, AR_SUB, AR_MUL, AR_FMA, AR_MIN, AR_MAX, AR_NEG, AR_ABS, AR_EX2, AR_TANH };

static inline enum ptx_type
ar_type(const struct ptx_inst *i)
{
    return i->ntype ? (enum ptx_type)i->type[0] : PTX_NONE;
}

// f16 bf16 and their pairs (half.c).
static inline bool
ar_is_half(enum ptx_type t)
{
    return t == PTX_F16 || t == PTX_F16X2 || t == PTX_BF16 || t == PTX_BF16X2;
}

// ---- float.c ------------------------------------------------------------------------------------
// "rn", "rz", "rm" or "rp": the rounding modifier, rn if there is none.
const char *ar_rounding(const struct ptx_inst *i);
// NaN of any sign and payload to 0x7fffffff, which is what NVIDIA's f32 units deliver. Other types
// pass.
LLVMValueRef ar_canonical(struct emitter *e, LLVMValueRef v);
// `v` flushed if it is f32 and the instruction says .ftz.
LLVMValueRef ar_ftz(struct emitter *e, const struct ptx_inst *i, LLVMValueRef v);
// min or max of floats by the ISA's rule: the operand that is no NaN (with `nan`: NaN), -0 < +0.
LLVMValueRef ar_minmax(struct emitter *e, bool max, bool nan, LLVMValueRef a, LLVMValueRef b);
bool float_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op);

// ---- half.c -------------------------------------------------------------------------------------
// 16-bit formats are computed on as f32. A lane is the i16 pattern of an f16 or bf16.
LLVMValueRef half_to_float(struct emitter *e, LLVMValueRef lane, bool bf16);
LLVMValueRef half_from_float(struct emitter *e, LLVMValueRef v, bool bf16, const char *rounding);
// Lane `k` (0: low) of operand `n` read as t.
LLVMValueRef half_lane(struct emitter *e, const struct ptx_inst *i, unsigned n, enum ptx_type t,
                       unsigned k);
LLVMValueRef half_pack(struct emitter *e, LLVMValueRef lo, LLVMValueRef hi); // i16, i16 -> i32
static inline unsigned
half_lanes(enum ptx_type t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2 ? 2 : 1;
}
static inline bool
half_is_bf16(enum ptx_type t)
{
    return t == PTX_BF16 || t == PTX_BF16X2;
}
// f16 subnormals to zero of the same sign, on the value as f32.
LLVMValueRef half_flush(struct emitter *e, LLVMValueRef v);
bool half_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op);

// ---- convert_small.c ----------------------------------------------------------------------------
bool convert_small(struct emitter *e, const struct ptx_inst *i, enum ptx_type d, enum ptx_type s);

// ---- video.c ------------------------------------------------------------------------------------
// Of vset and its like, on extended operands.
LLVMIntPredicate video_comparison(const struct ptx_inst *i);

// ---- integer.c ----------------------------------------------------------------------------------
bool emit_int_div(struct emitter *e, const struct ptx_inst *i);
bool int_arith(struct emitter *e, const struct ptx_inst *i, enum arith_op op);
// v, of a signed or unsigned type, clamped to the range of integers of `bits`.
LLVMValueRef int_clamp(struct emitter *e, LLVMValueRef v, bool from_signed, unsigned bits,
                       bool to_signed);

#endif
