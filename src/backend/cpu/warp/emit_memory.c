// SPDX-License-Identifier: MIT
// Loads, stores and atomics by the shape of the address: one access where it is the same in all lanes, a vector where lanes
// are neighbours, gather and scatter or a loop over the lanes elsewhere.
#include "backend/cpu/warp/warp.h"

#include <string.h>

// Element types for which there are gather and scatter instructions.
static bool
gathers(struct warp_build *w, LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
        return true;
    case LLVMIntegerTypeKind:
        return LLVMGetIntTypeWidth(t) == 32 || LLVMGetIntTypeWidth(t) == 64;
    default:
        (void)w;
        return false;
    }
}

static bool
is_vector_element(LLVMTypeRef t)
{
    switch (LLVMGetTypeKind(t)) {
    case LLVMHalfTypeKind:
    case LLVMBFloatTypeKind:
    case LLVMFloatTypeKind:
    case LLVMDoubleTypeKind:
    case LLVMPointerTypeKind:
        return true;
    case LLVMIntegerTypeKind: {
        unsigned bits = LLVMGetIntTypeWidth(t);
        return bits == 8 || bits == 16 || bits == 32 || bits == 64;
    }
    default:
        return false;
    }
}

static int64_t
size_of(struct warp_build *w, LLVMTypeRef t)
{
    return (int64_t)LLVMABISizeOfType(w->data, t);
}

static LLVMValueRef
align_of(struct warp_build *w, LLVMValueRef i)
{
    return LLVMConstInt(w->i32, LLVMGetAlignment(i), 0);
}

static LLVMValueRef
masked_load(struct warp_build *w, LLVMValueRef p, LLVMTypeRef t, LLVMValueRef align, LLVMValueRef mask)
{
    LLVMTypeRef over[] = {t, w->ptr};
    LLVMValueRef arg[] = {p, align, mask, LLVMGetPoison(t)};
    return call_intrinsic(w, "llvm.masked.load", over, 2, arg, 4);
}

static void
masked_store(struct warp_build *w, LLVMValueRef v, LLVMValueRef p, LLVMValueRef align, LLVMValueRef mask)
{
    LLVMTypeRef over[] = {LLVMTypeOf(v), w->ptr};
    LLVMValueRef arg[] = {v, p, align, mask};
    call_intrinsic(w, "llvm.masked.store", over, 2, arg, 4);
}

static LLVMValueRef
reversed(struct warp_build *w, LLVMValueRef v)
{
    return LLVMBuildShuffleVector(w->b, v, LLVMGetPoison(LLVMTypeOf(v)), const_vector(w, w->i32, w->lanes - 1, -1), "");
}

// The address of the last lane, which is the lowest where the stride is negative.
static LLVMValueRef
last_address(struct warp_build *w, LLVMValueRef p, int64_t stride)
{
    LLVMValueRef off = LLVMConstInt(w->i64, (uint64_t)(stride * (w->lanes - 1)), 1);
    return LLVMBuildGEP2(w->b, w->i8, p, &off, 1, "");
}

// A 64-bit address that is a uniform base plus sign-extended 32 bits, times a scale: gathers take those directly.
static LLVMValueRef
gather_addresses(struct warp_build *w, LLVMValueRef p)
{
    LLVMValueRef a = LLVMIsAIntToPtrInst(p) ? LLVMGetOperand(p, 0) : NULL;
    if (!a || !LLVMIsAInstruction(a) || LLVMGetInstructionOpcode(a) != LLVMAdd)
        return vector_of(w, p);
    LLVMValueRef base = LLVMGetOperand(a, 0), off = LLVMGetOperand(a, 1);
    if (!is_uniform(shape_of(w, base))) {
        LLVMValueRef t = base;
        base = off;
        off = t;
    }
    if (!is_uniform(shape_of(w, base)))
        return vector_of(w, p);
    LLVMValueRef b = LLVMBuildIntToPtr(w->b, scalar_of(w, base), w->ptr, "");
    static const unsigned bits[] = {8, 16, 32, 64};
    unsigned scale = 0;
    if (LLVMIsAInstruction(off) && LLVMGetInstructionOpcode(off) == LLVMShl && LLVMIsAConstantInt(LLVMGetOperand(off, 1)) &&
        LLVMConstIntGetZExtValue(LLVMGetOperand(off, 1)) <= 3) {
        scale = (unsigned)LLVMConstIntGetZExtValue(LLVMGetOperand(off, 1));
        off = LLVMGetOperand(off, 0);
    }
    LLVMValueRef index = vector_of(w, off);
    if (LLVMIsAInstruction(off) && LLVMGetInstructionOpcode(off) == LLVMSExt &&
        LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(off, 0))) == 32)
        index = vector_of(w, LLVMGetOperand(off, 0));
    return LLVMBuildGEP2(w->b, LLVMIntTypeInContext(w->ctx, bits[scale]), b, &index, 1, "");
}

void
emit_load(struct warp_build *w, LLVMValueRef i)
{
    LLVMValueRef p = LLVMGetOperand(i, 0), m = block_mask(w);
    LLVMTypeRef t = LLVMTypeOf(i), v = vector_type(w, t);
    struct shape s = shape_of(w, p);
    if (is_uniform(s)) {
        LLVMValueRef c = LLVMInstructionClone(i);
        LLVMSetOperand(c, 0, scalar_of(w, p));
        LLVMInstructionSetDebugLoc(c, NULL);
        LLVMInsertIntoBuilder(w->b, c);
        define_scalar(w, i, c);
    } else if (!is_plain(i) || !is_vector_element(t)) {
        emit_by_lane(w, i);
    } else if (is_straight(w, s) && s.stride == size_of(w, t)) {
        define_vector(w, i, masked_load(w, scalar_of(w, p), v, align_of(w, i), m));
    } else if (is_straight(w, s) && s.stride == -size_of(w, t)) {
        LLVMValueRef low = last_address(w, scalar_of(w, p), s.stride);
        define_vector(w, i, reversed(w, masked_load(w, low, v, align_of(w, i), reversed(w, m))));
    } else if (emit_row_load(w, i, size_of(w, t))) {
        return;
    } else if (gathers(w, t)) {
        LLVMValueRef a = gather_addresses(w, p);
        LLVMTypeRef over[] = {v, LLVMTypeOf(a)};
        LLVMValueRef arg[] = {a, align_of(w, i), m, LLVMGetPoison(v)};
        define_vector(w, i, call_intrinsic(w, "llvm.masked.gather", over, 2, arg, 4));
    } else {
        emit_by_lane(w, i);
    }
}

static LLVMValueRef
last_lane(struct warp_build *w)
{
    LLVMValueRef arg[] = {mask_bits(w, block_mask(w)), LLVMConstInt(w->i1, 0, 0)};
    LLVMValueRef zeros = call_intrinsic(w, "llvm.ctlz", &w->bits_type, 1, arg, 2);
    LLVMValueRef lane = LLVMBuildSub(w->b, LLVMConstInt(w->bits_type, (uint64_t)w->lanes - 1, 0), zeros, "");
    return w->lanes > 64 ? LLVMBuildTrunc(w->b, lane, w->i64, "") : lane;
}

// Several lanes write one place: the last one's value stays, as good as any.
static void
store_uniform(struct warp_build *w, LLVMValueRef i, LLVMValueRef value)
{
    LLVMValueRef c = LLVMInstructionClone(i), x;
    if (is_uniform(shape_of(w, value))) {
        x = scalar_of(w, value);
    } else {
        x = LLVMBuildExtractElement(w->b, vector_of(w, value), last_lane(w), "");
    }
    LLVMSetOperand(c, 0, x);
    LLVMSetOperand(c, 1, scalar_of(w, LLVMGetOperand(i, 1)));
    LLVMInstructionSetDebugLoc(c, NULL);
    LLVMInsertIntoBuilder(w->b, c);
}

void
emit_store(struct warp_build *w, LLVMValueRef i)
{
    LLVMValueRef value = LLVMGetOperand(i, 0), p = LLVMGetOperand(i, 1), m = block_mask(w);
    LLVMTypeRef t = LLVMTypeOf(value);
    struct shape s = shape_of(w, p);
    if (is_uniform(s)) {
        store_uniform(w, i, value);
    } else if (!is_plain(i) || !is_vector_element(t)) {
        emit_by_lane(w, i);
    } else if (is_straight(w, s) && s.stride == size_of(w, t)) {
        masked_store(w, vector_of(w, value), scalar_of(w, p), align_of(w, i), m);
    } else if (is_straight(w, s) && s.stride == -size_of(w, t)) {
        LLVMValueRef low = last_address(w, scalar_of(w, p), s.stride);
        masked_store(w, reversed(w, vector_of(w, value)), low, align_of(w, i), reversed(w, m));
    } else if (emit_row_store(w, i, size_of(w, t))) {
        return;
    } else if (gathers(w, t)) {
        LLVMValueRef a = gather_addresses(w, p), v = vector_of(w, value);
        LLVMTypeRef over[] = {LLVMTypeOf(v), LLVMTypeOf(a)};
        LLVMValueRef arg[] = {v, a, align_of(w, i), m};
        call_intrinsic(w, "llvm.masked.scatter", over, 2, arg, 4);
    } else {
        emit_by_lane(w, i);
    }
}

// ---- atomics
struct reduction {
    const char *name, *intrinsic;
    uint64_t identity32, identity64;
};

static const struct reduction reductions[] = {
    {"pw_atom_add_", "llvm.vector.reduce.add", 0, 0},
    {"pw_atom_and_", "llvm.vector.reduce.and", ~0u, ~0ull},
    {"pw_atom_or_", "llvm.vector.reduce.or", 0, 0},
    {"pw_atom_xor_", "llvm.vector.reduce.xor", 0, 0},
    {"pw_atom_min_", "llvm.vector.reduce.smin", INT32_MAX, INT64_MAX},
    {"pw_atom_max_", "llvm.vector.reduce.smax", (uint32_t)INT32_MIN, (uint64_t)INT64_MIN},
    {"pw_atom_umin_", "llvm.vector.reduce.umin", ~0u, ~0ull},
    {"pw_atom_umax_", "llvm.vector.reduce.umax", 0, 0},
};

// All lanes add to one place and nobody asks what was there: one atomic with the lanes' sum.
static bool
emit_combined(struct warp_build *w, LLVMValueRef call, const char *name)
{
    const struct reduction *r = NULL;
    LLVMTypeRef t = LLVMTypeOf(call);
    for (size_t i = 0; i < sizeof reductions / sizeof *reductions; i++)
        if (!strncmp(name, reductions[i].name, strlen(reductions[i].name)))
            r = &reductions[i];
    if (!r || LLVMGetFirstUse(call) || LLVMGetTypeKind(t) != LLVMIntegerTypeKind || !is_uniform(shape_of(w, LLVMGetOperand(call, 1))))
        return false;
    unsigned bits = LLVMGetIntTypeWidth(t);
    if (bits != 32 && bits != 64)
        return false;
    LLVMValueRef none = splat(w, LLVMConstInt(t, bits == 32 ? r->identity32 : r->identity64, 0));
    LLVMValueRef v = LLVMBuildSelect(w->b, block_mask(w), vector_of(w, LLVMGetOperand(call, 2)), none, "");
    LLVMTypeRef over = LLVMTypeOf(v);
    LLVMValueRef sum = call_intrinsic(w, r->intrinsic, &over, 1, &v, 1);
    LLVMValueRef arg[] = {w->thread, scalar_of(w, LLVMGetOperand(call, 1)), sum};
    LLVMValueRef f = called_function(call);
    LLVMBuildCall2(w->b, LLVMGlobalGetValueType(f), f, arg, 3, "");
    return true;
}

static LLVMValueRef
combine(struct warp_build *w, const char *name, LLVMValueRef old, LLVMValueRef v)
{
    static const struct {
        const char *name;
        LLVMOpcode op;
    } table[] = {
        {"pw_atom_add_", LLVMAdd}, {"pw_atom_and_", LLVMAnd},   {"pw_atom_or_", LLVMOr},
        {"pw_atom_xor_", LLVMXor}, {"pw_atom_fadd_f32", LLVMFAdd}, {"pw_atom_fadd_f64", LLVMFAdd},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strncmp(name, table[i].name, strlen(table[i].name)) && strcmp(name, "pw_atom_add_i128"))
            return LLVMBuildBinOp(w->b, table[i].op, old, v, "");
    return NULL;
}

static bool
is_simple(const char *name)
{
    static const char *const table[] = {"pw_atom_add_", "pw_atom_and_", "pw_atom_or_", "pw_atom_xor_", "pw_atom_fadd_f32",
                                        "pw_atom_fadd_f64"};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strncmp(name, table[i], strlen(table[i])))
            return true;
    return false;
}

// A block's shared memory belongs to one OS thread: lane after lane, without a lock.
static void
emit_shared(struct warp_build *w, LLVMValueRef call, const char *name)
{
    LLVMValueRef p = LLVMGetOperand(call, 1), v = LLVMGetOperand(call, 2), spilled[2] = {NULL, NULL};
    struct shape ps = shape_of(w, p), vs = shape_of(w, v);
    LLVMTypeRef t = LLVMTypeOf(call);
    bool result = LLVMGetFirstUse(call) != NULL;
    if (ps.kind != SHAPE_LINEAR || ps.guess)
        spilled[0] = spill(w, vector_of(w, p));
    if (vs.kind != SHAPE_LINEAR || vs.guess)
        spilled[1] = spill(w, vector_of(w, v));
    LLVMValueRef out = result ? entry_alloca(w, vector_type(w, t)) : NULL;
    struct lane_loop l = lane_loop_begin(w, block_mask(w));
    LLVMValueRef at = lane_value(w, p, l.lane, spilled[0]), x = lane_value(w, v, l.lane, spilled[1]);
    LLVMValueRef old = LLVMBuildLoad2(w->b, t, at, "");
    LLVMBuildStore(w->b, combine(w, name, old, x), at);
    if (result) {
        LLVMValueRef lane = LLVMBuildZExt(w->b, l.lane, w->i64, "");
        LLVMBuildStore(w->b, old, LLVMBuildGEP2(w->b, t, out, &lane, 1, ""));
    }
    lane_loop_end(w, &l);
    if (result)
        define_vector(w, call, reload(w, out, vector_type(w, t)));
}

bool
emit_atomic(struct warp_build *w, LLVMValueRef call)
{
    const char *name = warp_name(called_function(call));
    if (emit_combined(w, call, name))
        return true;
    LLVMTypeRef t = LLVMTypeOf(call);
    bool wide = LLVMGetTypeKind(t) == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) > 64;
    if (!is_simple(name) || wide || !is_shared_pointer(w, LLVMGetOperand(call, 1)))
        return false;
    emit_shared(w, call, name);
    return true;
}
