// SPDX-License-Identifier: MIT
// What the files of emit/ share. emit_<op> functions write the IR of one PTX instruction; em_* are the helpers they use.
#ifndef EMIT_INTERNAL_H
#define EMIT_INTERNAL_H

#include <llvm-c/Core.h>

#include "emit/emit.h"
#include "ptx/ptx.h"

struct emit_func; // per-function state (function.c)
struct emit_unit; // per-module state (core.h)

struct emitter {
    LLVMContextRef ctx;
    LLVMModuleRef mod;
    LLVMBuilderRef b;
    const struct emit_target *target;
    struct ptx_program *prog;
    struct ptx_module *ptx;       // module of the function being emitted
    struct ptx_func *func;
    struct emit_func *fs;
    struct emit_unit *unit;
    LLVMValueRef pw;              // the execution context, first parameter of the function being emitted
    struct ptx_diags *diags;
    // cached types
    LLVMTypeRef i1, i8, i16, i32, i64, i128, f16, f32, f64, ptr, void_;
};

// One instruction. Guards (@p) have been turned into control flow before. False: refused or failed, with a diagnostic.
typedef bool emit_fn(struct emitter *e, const struct ptx_inst *i);
extern emit_fn *const emit_table[]; // by enum ptx_op; NULL: refused by name (dispatch.c)

// Reports "<op> <why>" at the instruction's line; returns false.
bool em_refuse(struct emitter *e, const struct ptx_inst *i, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

// ---- values (value.c) ---------------------------------------------------------------------------------------------------
// LLVM type that holds a PTX type: pred i1; b/u/s N iN; f32 float; f64 double; f16 half; bf16 i16; f16x2 bf16x2 and all packed formats i32; f32x2 i64; tf32 i32.
LLVMTypeRef em_type(struct emitter *e, enum ptx_type t);
// Operand k (of i->operand) read as type t. Registers are reinterpreted bit for bit: a wider register is truncated, a narrower one zero-extended (signed t: sign-extended);
// immediates are converted (an integer literal read as f32 or f64 is its bit pattern only for 0f/0d literals, else refused).
LLVMValueRef em_src(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t);
LLVMValueRef em_operand(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o, enum ptx_type t);
// Writes operand k. The value has em_type(t). A destination register wider than t gets it sign-extended for signed t, else zero-extended; PTX_O_SINK discards; PTX_O_VEC is not for here.
void em_dst(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_type t, LLVMValueRef v);
void em_write(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o, enum ptx_type t, LLVMValueRef v);
// Reinterprets between types of the same width (i32 <-> float, i16 <-> half, ...).
LLVMValueRef em_bits(struct emitter *e, LLVMValueRef v, LLVMTypeRef to);
LLVMValueRef em_int(struct emitter *e, LLVMTypeRef t, uint64_t v);
LLVMValueRef em_flt(struct emitter *e, LLVMTypeRef t, double v);

// ---- calls of what the backend gives ------------------------------------------------------------------------------------------
// Calls pw.<name> (the "pw." may be written or not): declares it on demand with the types of the arguments. em_pw puts e->pw in front; em_math does not and marks it as reading no memory.
LLVMValueRef em_pw(struct emitter *e, const char *name, LLVMTypeRef ret, LLVMValueRef *arg, unsigned n);
LLVMValueRef em_math(struct emitter *e, const char *name, LLVMTypeRef ret, LLVMValueRef *arg, unsigned n);
// Calls an LLVM intrinsic overloaded on one type, for instance em_intrinsic(e, "llvm.fma", e->f32, args, 3).
LLVMValueRef em_intrinsic(struct emitter *e, const char *name, LLVMTypeRef overload, LLVMValueRef *arg, unsigned n);

// ---- floating point (float.c) ---------------------------------------------------------------------------------------------
// Denormals of f32 (float) to zero of the same sign.
LLVMValueRef em_flush(struct emitter *e, LLVMValueRef v);
// Clamp to [0, 1], NaN to +0.
LLVMValueRef em_saturate(struct emitter *e, LLVMValueRef v);

// ---- carry flag CC.CF (integer.c uses it, function.c makes it) ---------------------------------------------------------------
LLVMValueRef em_carry_slot(struct emitter *e); // alloca of i1, one a function

#endif
