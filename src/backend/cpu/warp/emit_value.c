// SPDX-License-Identifier: MIT
// One instruction: once where it is uniform, its base where it is linear, on vectors otherwise; what has no vector form runs
// lane after lane.
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <stddef.h>
#include <string.h>

// What is built: the base that all lanes share, the rows' bases, or the lanes' values.
enum form { SCALAR, ROWS, VECTOR };

static LLVMValueRef
value_as(struct warp_build *w, LLVMValueRef v, enum form f)
{
    return f == VECTOR ? vector_of(w, v) : f == ROWS ? rows_of(w, v) : scalar_of(w, v);
}

static LLVMValueRef
operand(struct warp_build *w, LLVMValueRef i, unsigned k, enum form f)
{
    return value_as(w, LLVMGetOperand(i, k), f);
}

static LLVMTypeRef
type_as(struct warp_build *w, LLVMTypeRef t, enum form f)
{
    return f == VECTOR ? vector_type(w, t) : f == ROWS ? rows_type(w, t) : t;
}

// A division must not see what lanes that are not here hold.
static LLVMValueRef
safe_divisor(struct warp_build *w, LLVMValueRef d, enum form f)
{
    LLVMValueRef m = block_mask(w);
    if (f != VECTOR || mask_is_full(m))
        return d;
    return LLVMBuildSelect(w->b, m, d, const_vector(w, LLVMGetElementType(LLVMTypeOf(d)), 1, 0), "");
}

static LLVMValueRef
build_binary(struct warp_build *w, LLVMValueRef i, LLVMOpcode op, enum form f)
{
    LLVMValueRef a = operand(w, i, 0, f), b = operand(w, i, 1, f);
    if (op == LLVMUDiv || op == LLVMSDiv || op == LLVMURem || op == LLVMSRem) {
        b = safe_divisor(w, b, f);
        if (f == VECTOR && !mask_is_full(block_mask(w)))
            a = LLVMBuildFreeze(w->b, a, "");
    }
    return LLVMBuildBinOp(w->b, op, a, b, "");
}

static LLVMValueRef
build_call(struct warp_build *w, LLVMValueRef i, enum form form)
{
    LLVMValueRef f = called_function(i), arg[8];
    unsigned n = LLVMGetNumArgOperands(i), id = LLVMGetIntrinsicID(f);
    LLVMTypeRef over[2];
    unsigned nover = 0;
    for (unsigned k = 0; k < n && k < 8; k++) {
        LLVMValueRef v = LLVMGetOperand(i, k);
        // ctlz, cttz, abs and is.fpclass end in an immediate.
        bool immediate = k == 1 && LLVMIsAConstantInt(v) && LLVMTypeOf(v) != LLVMTypeOf(LLVMGetOperand(i, 0));
        immediate |= k == 1 && (!strncmp(warp_name(f), "llvm.ct", 7) || !strncmp(warp_name(f), "llvm.abs", 8)) && n == 2;
        arg[k] = form == VECTOR && !immediate ? vector_of(w, v) : scalar_of(w, v);
    }
    if (form != VECTOR) {
        LLVMTypeRef type = LLVMGlobalGetValueType(f);
        return LLVMBuildCall2(w->b, type, f, arg, n, "");
    }
    LLVMTypeRef result = type_as(w, LLVMTypeOf(i), form);
    if (strstr(warp_name(f), ".with.") || strstr(warp_name(f), "is.fpclass")) {
        over[nover++] = LLVMTypeOf(arg[0]);
    } else {
        over[nover++] = result;
        if (!strncmp(warp_name(f), "llvm.fpto", 9))
            over[nover++] = LLVMTypeOf(arg[0]);
    }
    LLVMValueRef g = LLVMGetIntrinsicDeclaration(w->m, id, over, nover);
    return LLVMBuildCall2(w->b, LLVMIntrinsicGetType(w->ctx, id, over, nover), g, arg, n, "");
}

static LLVMValueRef
build_gep(struct warp_build *w, LLVMValueRef i, enum form f)
{
    LLVMValueRef index[16];
    unsigned n = (unsigned)LLVMGetNumOperands(i) - 1;
    for (unsigned k = 0; k < n && k < 16; k++) {
        LLVMValueRef v = LLVMGetOperand(i, k + 1);
        // A linear base is taken as far as it can wrap: sign-extended.
        index[k] = f != SCALAR && !is_uniform(shape_of(w, v)) ? value_as(w, v, f) : scalar_of(w, v);
    }
    LLVMValueRef p = LLVMGetOperand(i, 0);
    p = f != SCALAR && !is_uniform(shape_of(w, p)) ? value_as(w, p, f) : scalar_of(w, p);
    return LLVMBuildGEP2(w->b, LLVMGetGEPSourceElementType(i), p, index, n, "");
}

static LLVMValueRef
constant_like(LLVMTypeRef t, int64_t n)
{
    LLVMValueRef e[MAX_LANES];
    if (LLVMGetTypeKind(t) != LLVMVectorTypeKind)
        return LLVMConstInt(t, (uint64_t)n, 1);
    for (unsigned i = 0; i < LLVMGetVectorSize(t); i++)
        e[i] = LLVMConstInt(LLVMGetElementType(t), (uint64_t)n, 1);
    return LLVMConstVector(e, LLVMGetVectorSize(t));
}

static LLVMValueRef
build_cast(struct warp_build *w, LLVMValueRef i, LLVMOpcode op, enum form f)
{
    LLVMValueRef v = operand(w, i, 0, f);
    LLVMTypeRef to = type_as(w, LLVMTypeOf(i), f);
    struct shape s = shape_of(w, LLVMGetOperand(i, 0));
    bool guess = f != VECTOR && !is_uniform(s);
    // The base of a warp that straddles 0 counts as negative: its lanes below are not there or are not valid addresses.
    if (op == LLVMZExt && guess) {
        int64_t span = s.stride * (w->row - 1) + (f == ROWS ? 0 : s.rise * (w->lanes / w->row - 1));
        LLVMValueRef last = LLVMBuildAdd(w->b, v, constant_like(LLVMTypeOf(v), span), "");
        LLVMValueRef wraps = span >= 0 ? LLVMBuildICmp(w->b, LLVMIntULT, last, v, "")
                                       : LLVMConstNull(type_as(w, w->i1, f));
        return LLVMBuildSelect(w->b, wraps, LLVMBuildSExt(w->b, v, to, ""), LLVMBuildZExt(w->b, v, to, ""), "");
    }
    return LLVMBuildCast(w->b, op, v, to, "");
}

// NULL: there is no such form.
static LLVMValueRef
build(struct warp_build *w, LLVMValueRef i, enum form f)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (LLVMIsABinaryOperator(i))
        return build_binary(w, i, op, f);
    if (LLVMIsACastInst(i))
        return build_cast(w, i, op, f);
    switch (op) {
    case LLVMICmp:
        return LLVMBuildICmp(w->b, LLVMGetICmpPredicate(i), operand(w, i, 0, f), operand(w, i, 1, f), "");
    case LLVMFCmp:
        return LLVMBuildFCmp(w->b, LLVMGetFCmpPredicate(i), operand(w, i, 0, f), operand(w, i, 1, f), "");
    case LLVMFNeg:
        return LLVMBuildFNeg(w->b, operand(w, i, 0, f), "");
    case LLVMFreeze:
        return LLVMBuildFreeze(w->b, operand(w, i, 0, f), "");
    case LLVMSelect: {
        LLVMValueRef c = LLVMGetOperand(i, 0);
        if (f != SCALAR && LLVMGetTypeKind(LLVMTypeOf(i)) == LLVMStructTypeKind)
            return NULL;
        c = f == VECTOR && !is_uniform(shape_of(w, c)) ? vector_of(w, c) : scalar_of(w, c);
        return LLVMBuildSelect(w->b, c, operand(w, i, 1, f), operand(w, i, 2, f), "");
    }
    case LLVMGetElementPtr:
        return build_gep(w, i, f);
    case LLVMExtractValue:
        if (LLVMGetNumIndices(i) != 1)
            return NULL;
        return LLVMBuildExtractValue(w->b, operand(w, i, 0, f), LLVMGetIndices(i)[0], "");
    case LLVMInsertValue:
        if (LLVMGetNumIndices(i) != 1)
            return NULL;
        return LLVMBuildInsertValue(w->b, operand(w, i, 0, f), operand(w, i, 1, f), LLVMGetIndices(i)[0], "");
    case LLVMCall:
        return is_elementwise(i) ? build_call(w, i, f) : NULL;
    default:
        return NULL;
    }
}

static void
keep_flags(LLVMValueRef from, LLVMValueRef to)
{
    if (LLVMIsAInstruction(to) && LLVMCanValueUseFastMathFlags(from) && LLVMCanValueUseFastMathFlags(to))
        LLVMSetFastMathFlags(to, LLVMGetFastMathFlags(from));
}

// As it is, once, on uniform operands.
static void
emit_once(struct warp_build *w, LLVMValueRef i)
{
    LLVMValueRef c = LLVMInstructionClone(i);
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        LLVMSetOperand(c, (unsigned)k, scalar_of(w, LLVMGetOperand(i, (unsigned)k)));
    LLVMInstructionSetDebugLoc(c, NULL);
    LLVMInsertIntoBuilder(w->b, c);
    if (LLVMGetTypeKind(LLVMTypeOf(c)) != LLVMVoidTypeKind)
        define_scalar(w, i, c);
}

static void
emit_alloca(struct warp_build *w, LLVMValueRef i)
{
    struct shape s = shape_of(w, i);
    LLVMValueRef a = entry_alloca(w, LLVMArrayType2(w->i8, (uint64_t)s.stride * (uint64_t)w->lanes));
    unsigned align = LLVMGetAlignment(i);
    LLVMSetAlignment(a, align > 64 ? align : 64);
    define_scalar(w, i, a);
}

static LLVMValueRef
field(struct warp_build *w, LLVMValueRef p, int64_t offset, LLVMTypeRef t)
{
    LLVMValueRef off = LLVMConstInt(w->i64, (uint64_t)offset, 0);
    LLVMValueRef v = LLVMBuildLoad2(w->b, t, LLVMBuildGEP2(w->b, w->i8, p, &off, 1, ""), "");
    unsigned kind = LLVMGetMDKindIDInContext(w->ctx, "invariant.load", 14);
    LLVMSetMetadata(v, kind, LLVMMetadataAsValue(w->ctx, LLVMMDNodeInContext2(w->ctx, NULL, 0)));
    return v;
}

static void
emit_context_load(struct warp_build *w, LLVMValueRef i, enum pw_field f)
{
    if (shape_of(w, i).kind == SHAPE_LINEAR) {
        emit_once(w, i);
        return;
    }
    if (f == PW_LANE) {
        LLVMValueRef e[MAX_LANES];
        for (int k = 0; k < w->lanes; k++)
            e[k] = LLVMConstInt(w->i32, (uint64_t)(k % WARP), 0);
        define_vector(w, i, LLVMConstVector(e, (unsigned)w->lanes));
        return;
    }
    // block->grid->tids[axis][index ...]
    int64_t axis = f == PW_TID_X ? 0 : f == PW_TID_Y ? 1 : 2;
    LLVMValueRef block = field(w, w->thread, offsetof(struct thread, block), w->ptr);
    LLVMValueRef grid = field(w, block, offsetof(struct block, grid), w->ptr);
    LLVMValueRef table = field(w, grid, (int64_t)offsetof(struct grid, tids) + 8 * axis, w->ptr);
    LLVMValueRef index = field(w, w->thread, offsetof(struct thread, index), w->i32);
    LLVMValueRef v = LLVMBuildLoad2(w->b, LLVMVectorType(w->i32, (unsigned)w->lanes), LLVMBuildGEP2(w->b, w->i32, table, &index, 1, ""), "");
    LLVMSetAlignment(v, 4);
    define_vector(w, i, v);
}

static void
emit_call(struct warp_build *w, LLVMValueRef i)
{
    enum warp_call kind = classify_call(i);
    const char *name = warp_name(called_function(i));
    if (kind == CALL_IGNORE)
        return;
    if (kind == CALL_UNIFORM || (kind == CALL_OTHER && is_uniform(shape_of(w, i)) &&
                                 LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMVoidTypeKind &&
                                 (!strncmp(name, "llvm.", 5) || !strncmp(name, "pw_m_", 5)))) {
        emit_once(w, i);
        return;
    }
    if (kind != CALL_OTHER) {
        emit_cross(w, i, kind);
        return;
    }
    if ((!strncmp(name, "pw_atom_", 8) && emit_atomic(w, i)) || (!strncmp(name, "pw_m_", 5) && emit_by_instruction(w, i)))
        return;
    emit_by_lane(w, i);
}

void
emit_instruction(struct warp_build *w, LLVMValueRef i)
{
    struct shape s = shape_of(w, i);
    enum pw_field f;
    switch (LLVMGetInstructionOpcode(i)) {
    case LLVMAlloca:
        emit_alloca(w, i);
        return;
    case LLVMLoad:
        if ((f = pw_field(w, LLVMGetOperand(i, 0))) != PW_NONE)
            emit_context_load(w, i, f);
        else
            emit_load(w, i);
        return;
    case LLVMStore:
        emit_store(w, i);
        return;
    case LLVMFence:
        emit_once(w, i);
        return;
    case LLVMCall:
        if (!is_elementwise(i)) {
            emit_call(w, i);
            return;
        }
        break;
    default:
        break;
    }
    LLVMValueRef r = NULL;
    if ((s.kind == SHAPE_LINEAR || s.kind == SHAPE_ROWS) && (r = build(w, i, s.kind == SHAPE_ROWS ? ROWS : SCALAR))) {
        keep_flags(i, r);
        define_scalar(w, i, r);
        if (!s.guess)
            return;
    } else if (is_uniform(s) && LLVMGetInstructionOpcode(i) != LLVMAtomicRMW) {
        emit_once(w, i);
        return;
    }
    if (!(r = build(w, i, VECTOR))) {
        emit_by_lane(w, i);
        return;
    }
    keep_flags(i, r);
    define_vector(w, i, r);
}
