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

// ---- gathers and scatters
// A 64-bit address that is a uniform base plus an index times a scale: gathers take those directly.
struct indexed {
    LLVMValueRef base;   // NULL: it is no such address, index is all of it but the offset
    LLVMValueRef index;  // the thread's view
    LLVMValueRef narrow; // of 32 bits, that index extends; or NULL
    LLVMTypeRef element; // of the scale's size
    int64_t offset;      // bytes; only without a base
};

static bool
is_op(LLVMValueRef v, LLVMOpcode op)
{
    return LLVMIsAInstruction(v) && LLVMGetInstructionOpcode(v) == op;
}

static void
set_index(struct warp_build *w, struct indexed *x, LLVMValueRef index)
{
    (void)w;
    x->index = index;
    if ((is_op(index, LLVMSExt) || is_op(index, LLVMZExt)) && LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(index, 0))) == 32)
        x->narrow = LLVMGetOperand(index, 0);
}

static struct indexed
take_apart(struct warp_build *w, LLVMValueRef p)
{
    static const unsigned bits[] = {8, 16, 32, 64};
    struct indexed x = {NULL, p, NULL, w->i8, 0};
    if (is_op(p, LLVMGetElementPtr) && LLVMGetNumOperands(p) == 2 && is_uniform(shape_of(w, LLVMGetOperand(p, 0))) &&
        LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(p, 1))) == 64) {
        x.base = LLVMGetOperand(p, 0);
        x.element = LLVMGetGEPSourceElementType(p);
        set_index(w, &x, LLVMGetOperand(p, 1));
        return x;
    }
    if (is_op(p, LLVMGetElementPtr) && LLVMGetNumOperands(p) == 2 && LLVMIsAConstantInt(LLVMGetOperand(p, 1))) {
        x.index = LLVMGetOperand(p, 0);
        x.offset = LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1)) *
                   (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(p));
        return x;
    }
    LLVMValueRef a = LLVMIsAIntToPtrInst(p) ? LLVMGetOperand(p, 0) : NULL;
    if (!a || !is_op(a, LLVMAdd))
        return x;
    bool swap = !is_uniform(shape_of(w, LLVMGetOperand(a, 0)));
    LLVMValueRef base = LLVMGetOperand(a, swap), off = LLVMGetOperand(a, !swap);
    if (!is_uniform(shape_of(w, base)))
        return x;
    uint64_t scale = 0;
    if (is_op(off, LLVMShl) && LLVMIsAConstantInt(LLVMGetOperand(off, 1)) &&
        (scale = LLVMConstIntGetZExtValue(LLVMGetOperand(off, 1))) <= 3)
        off = LLVMGetOperand(off, 0);
    else
        scale = 0;
    x.base = base;
    x.element = LLVMIntTypeInContext(w->ctx, bits[scale]);
    set_index(w, &x, off);
    return x;
}

static LLVMValueRef
base_pointer(struct warp_build *w, const struct indexed *x)
{
    LLVMValueRef b = scalar_of(w, x->base);
    return LLVMGetTypeKind(LLVMTypeOf(b)) == LLVMPointerTypeKind ? b : LLVMBuildIntToPtr(w->b, b, w->ptr, "");
}

static LLVMValueRef
gather_addresses(struct warp_build *w, LLVMValueRef p, const struct indexed *x)
{
    if (!x->base)
        return vector_of(w, p);
    LLVMValueRef b = base_pointer(w, x);
    LLVMValueRef index = vector_of(w, is_op(x->index, LLVMSExt) && x->narrow ? x->narrow : x->index);
    return LLVMBuildGEP2(w->b, x->element, b, &index, 1, "");
}

// Does the index come from thread numbers and parameters alone? Then lanes are often neighbours all the same.
static bool
is_computed(struct warp_build *w, LLVMValueRef v, int depth, struct intmap *seen)
{
    struct value *x = value_of(w, v);
    if (!x || x->shape.kind == SHAPE_LINEAR || intmap_get(seen, (uint64_t)(uintptr_t)v))
        return true;
    intmap_put(seen, (uint64_t)(uintptr_t)v, v);
    if (!depth || LLVMIsALoadInst(v) || LLVMIsACallInst(v))
        return false;
    for (int k = 0; k < LLVMGetNumOperands(v); k++)
        if (!is_computed(w, LLVMGetOperand(v, (unsigned)k), depth - 1, seen))
            return false;
    return true;
}

static bool
may_be_neighbours(struct warp_build *w, const struct indexed *x, LLVMTypeRef t)
{
    enum { DEPTH = 12 };
    if ((uint64_t)size_of(w, t) % LLVMABISizeOfType(w->data, x->element))
        return false;
    struct intmap seen = {0};
    bool yes = is_computed(w, x->index, DEPTH, &seen);
    intmap_free(&seen);
    return yes;
}

// Are the lanes that are here neighbours? The address of lane 0 then is *first. Lane 0 itself need not be here: if it holds
// anything else the answer is no.
static LLVMValueRef
are_neighbours(struct warp_build *w, const struct indexed *x, LLVMTypeRef t, LLVMValueRef *first)
{
    LLVMBuilderRef b = w->b;
    LLVMValueRef v = LLVMBuildFreeze(b, vector_of(w, x->narrow ? x->narrow : x->index), "");
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v))) == LLVMPointerTypeKind)
        v = LLVMBuildPtrToInt(b, v, vector_type(w, w->i64), "");
    LLVMTypeRef it = LLVMGetElementType(LLVMTypeOf(v));
    int64_t step = size_of(w, t) / (int64_t)LLVMABISizeOfType(w->data, x->element);
    LLVMValueRef zero = LLVMBuildExtractElement(b, v, LLVMConstInt(w->i64, 0, 0), "");
    LLVMValueRef want = LLVMBuildAdd(b, splat(w, zero), const_vector(w, it, 0, step), "");
    LLVMValueRef off = LLVMBuildAnd(b, LLVMBuildICmp(b, LLVMIntNE, v, want, ""), block_mask(w), "");
    LLVMValueRef near = LLVMBuildICmp(b, LLVMIntEQ, mask_bits(w, off), LLVMConstNull(w->bits_type), "");
    if (x->narrow) { // and no lane wraps, signed or not
        LLVMValueRef most = LLVMConstInt(w->i32, (uint64_t)(INT32_MAX - MAX_LANES * step), 0);
        near = LLVMBuildAnd(b, near, LLVMBuildICmp(b, LLVMIntULE, zero, most, ""), "");
        zero = LLVMBuildZExt(b, zero, w->i64, "");
    }
    LLVMValueRef offset = LLVMConstInt(w->i64, (uint64_t)x->offset, 1);
    *first = x->base ? LLVMBuildGEP2(b, x->element, base_pointer(w, x), &zero, 1, "")
                     : LLVMBuildIntToPtr(b, LLVMBuildAdd(b, zero, offset, ""), w->ptr, "");
    return near;
}

struct fork {
    LLVMBasicBlockRef near, far, after;
    LLVMValueRef first;
};

// Continues where the lanes are neighbours; false if nobody can tell.
static bool
fork_begin(struct warp_build *w, const struct indexed *x, LLVMTypeRef t, struct fork *f)
{
    if (!may_be_neighbours(w, x, t))
        return false;
    LLVMValueRef near = are_neighbours(w, x, t, &f->first);
    f->near = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
    f->far = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
    f->after = LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
    LLVMBuildCondBr(w->b, near, f->near, f->far);
    LLVMPositionBuilderAtEnd(w->b, f->near);
    return true;
}

static LLVMValueRef
gather(struct warp_build *w, LLVMValueRef i, const struct indexed *x)
{
    LLVMTypeRef v = vector_type(w, LLVMTypeOf(i));
    LLVMValueRef a = gather_addresses(w, LLVMGetOperand(i, 0), x);
    LLVMTypeRef over[] = {v, LLVMTypeOf(a)};
    LLVMValueRef arg[] = {a, align_of(w, i), block_mask(w), LLVMGetPoison(v)};
    return call_intrinsic(w, "llvm.masked.gather", over, 2, arg, 4);
}

static void
emit_gather(struct warp_build *w, LLVMValueRef i)
{
    struct indexed x = take_apart(w, LLVMGetOperand(i, 0));
    struct fork f;
    LLVMTypeRef t = LLVMTypeOf(i);
    if (!fork_begin(w, &x, t, &f)) {
        define_vector(w, i, gather(w, i, &x));
        return;
    }
    LLVMValueRef v[2] = {masked_load(w, f.first, vector_type(w, t), align_of(w, i), block_mask(w)), NULL};
    LLVMBuildBr(w->b, f.after);
    LLVMPositionBuilderAtEnd(w->b, f.far);
    v[1] = gather(w, i, &x);
    LLVMBuildBr(w->b, f.after);
    LLVMPositionBuilderAtEnd(w->b, f.after);
    LLVMValueRef phi = LLVMBuildPhi(w->b, vector_type(w, t), "");
    LLVMBasicBlockRef from[2] = {f.near, f.far};
    LLVMAddIncoming(phi, v, from, 2);
    define_vector(w, i, phi);
}

static void
scatter(struct warp_build *w, LLVMValueRef i, const struct indexed *x)
{
    LLVMValueRef a = gather_addresses(w, LLVMGetOperand(i, 1), x), v = vector_of(w, LLVMGetOperand(i, 0));
    LLVMTypeRef over[] = {LLVMTypeOf(v), LLVMTypeOf(a)};
    LLVMValueRef arg[] = {v, a, align_of(w, i), block_mask(w)};
    call_intrinsic(w, "llvm.masked.scatter", over, 2, arg, 4);
}

static void
emit_scatter(struct warp_build *w, LLVMValueRef i)
{
    struct indexed x = take_apart(w, LLVMGetOperand(i, 1));
    LLVMValueRef value = LLVMGetOperand(i, 0);
    struct fork f;
    if (!fork_begin(w, &x, LLVMTypeOf(value), &f)) {
        scatter(w, i, &x);
        return;
    }
    masked_store(w, vector_of(w, value), f.first, align_of(w, i), block_mask(w));
    LLVMBuildBr(w->b, f.after);
    LLVMPositionBuilderAtEnd(w->b, f.far);
    scatter(w, i, &x);
    LLVMBuildBr(w->b, f.after);
    LLVMPositionBuilderAtEnd(w->b, f.after);
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
        emit_gather(w, i);
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
        emit_scatter(w, i);
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

// As pw_atom_fadd_f32 and _f64 of the device library: one NaN for f32, of f64 the memory's first, quiet.
static LLVMValueRef
float_sum(struct warp_build *w, LLVMValueRef old, LLVMValueRef v)
{
    LLVMValueRef sum = LLVMBuildFAdd(w->b, old, v, "");
    bool wide = LLVMGetTypeKind(LLVMTypeOf(v)) == LLVMDoubleTypeKind;
    LLVMTypeRef bits = wide ? w->i64 : w->i32;
    LLVMValueRef suspect = wide ? old : sum, nan = LLVMConstInt(bits, wide ? 1ull << 51 : 0x7fffffff, 0);
    if (wide)
        nan = LLVMBuildOr(w->b, LLVMBuildBitCast(w->b, old, bits, ""), nan, "");
    LLVMValueRef is_nan = LLVMBuildFCmp(w->b, LLVMRealUNO, suspect, suspect, "");
    return LLVMBuildSelect(w->b, is_nan, LLVMBuildBitCast(w->b, nan, LLVMTypeOf(v), ""), sum, "");
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
            return table[i].op == LLVMFAdd ? float_sum(w, old, v) : LLVMBuildBinOp(w->b, table[i].op, old, v, "");
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
