// SPDX-License-Identifier: MIT
// Divergence and shapes. Values start unknown and fall to linear (base + lane * stride; uniform where the stride is 0) or
// varying, until nothing changes. Branches on varying conditions make phis varying where their paths meet again, and loops
// that lanes leave at different times make varying what leaves the loop.
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <stddef.h>
#include <string.h>

enum { MAX_ALIGN = 7 };

static const struct shape uniform = {.kind = SHAPE_LINEAR}, varying = {.kind = SHAPE_VARYING};

struct value *
value_of(struct warp_build *w, LLVMValueRef v)
{
    return intmap_get(&w->values, (uint64_t)(uintptr_t)v);
}

static uint8_t
constant_align(LLVMValueRef v)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return 0;
    uint64_t n = LLVMConstIntGetZExtValue(v);
    unsigned a = n ? (unsigned)__builtin_ctzll(n) : MAX_ALIGN;
    return (uint8_t)(a < MAX_ALIGN ? a : MAX_ALIGN);
}

static struct shape
linear(struct warp_build *w, int64_t stride, int64_t rise, bool guess, unsigned align)
{
    if (w->row == w->lanes)
        rise = 0;
    return (struct shape){SHAPE_LINEAR, guess, (uint8_t)(align < MAX_ALIGN ? align : MAX_ALIGN), stride, rise};
}

// lane * stride
static struct shape
straight(struct warp_build *w, int64_t stride, unsigned align)
{
    return linear(w, stride, stride * w->row, false, align);
}

static struct shape
fixed(struct warp_build *w, unsigned align)
{
    return linear(w, 0, 0, false, align);
}

static struct shape
by_row(struct warp_build *w, int64_t stride, bool guess)
{
    return w->row == w->lanes ? varying : (struct shape){.kind = SHAPE_ROWS, .guess = guess, .stride = stride};
}

struct shape
shape_of(struct warp_build *w, LLVMValueRef v)
{
    struct value *x = value_of(w, v);
    if (x)
        return x->shape;
    if (v == LLVMGetParam(w->old, 0))
        return straight(w, sizeof(struct thread), 0);
    struct shape s = uniform;
    s.align = constant_align(v);
    return s;
}

// ---- calls
static const char *const elementwise[] = {
    "llvm.fma.",      "llvm.fmuladd.", "llvm.fabs.",   "llvm.sqrt.",     "llvm.floor.",     "llvm.ceil.",      "llvm.trunc.",
    "llvm.rint.",     "llvm.nearbyint.", "llvm.round.", "llvm.roundeven.", "llvm.minnum.",  "llvm.maxnum.",    "llvm.minimum.",
    "llvm.maximum.",  "llvm.copysign.", "llvm.ctpop.", "llvm.bswap.",    "llvm.bitreverse.", "llvm.fshl.",     "llvm.fshr.",
    "llvm.smin.",     "llvm.smax.",    "llvm.umin.",   "llvm.umax.",     "llvm.sadd.sat.",  "llvm.uadd.sat.",  "llvm.ssub.sat.",
    "llvm.usub.sat.", "llvm.ctlz.",    "llvm.cttz.",   "llvm.abs.",      "llvm.sadd.with.", "llvm.uadd.with.", "llvm.ssub.with.",
    "llvm.usub.with.", "llvm.smul.with.", "llvm.umul.with.", "llvm.fptosi.sat.", "llvm.fptoui.sat.", "llvm.canonicalize.",
    "llvm.is.fpclass.",
};

static bool
starts(const char *s, const char *prefix)
{
    return !strncmp(s, prefix, strlen(prefix));
}

bool
is_elementwise(LLVMValueRef call)
{
    LLVMValueRef f = called_function(call);
    for (size_t i = 0; f && i < sizeof elementwise / sizeof *elementwise; i++)
        if (starts(warp_name(f), elementwise[i]))
            return true;
    return false;
}

enum warp_call
classify_call(LLVMValueRef call)
{
    static const struct {
        const char *name;
        enum warp_call kind;
    } table[] = {
        {"rt_warp", CALL_WARP},
        {"rt_warp_active", CALL_WARP_ACTIVE},
        {"rt_barrier", CALL_BARRIER},
        {"rt_barrier_red", CALL_BARRIER_RED},
        {"rt_barrier_arrive", CALL_BARRIER_ARRIVE},
        {"rt_clock", CALL_UNIFORM},
        {"rt_globaltimer", CALL_UNIFORM},
        {"rt_spin", CALL_UNIFORM},
        {"pw_spin", CALL_UNIFORM},
        {"pw_nanosleep", CALL_UNIFORM},
        {"pw_prefetch", CALL_IGNORE},
        {"llvm.readcyclecounter", CALL_UNIFORM},
        {"llvm.assume", CALL_IGNORE},
        {"llvm.donothing", CALL_IGNORE},
        {"llvm.sideeffect", CALL_IGNORE},
    };
    LLVMValueRef f = called_function(call);
    const char *name = f ? warp_name(f) : "";
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(name, table[i].name))
            return table[i].kind;
    if (starts(name, "llvm.lifetime.") || starts(name, "llvm.dbg.") || starts(name, "llvm.experimental.noalias") ||
        starts(name, "llvm.invariant."))
        return CALL_IGNORE;
    return CALL_OTHER;
}

bool
constant_operand(LLVMValueRef call, unsigned i, uint64_t *out)
{
    LLVMValueRef v = LLVMGetOperand(call, i);
    if (!LLVMIsAConstantInt(v))
        return false;
    *out = LLVMConstIntGetZExtValue(v);
    return true;
}

static struct shape
warp_call_shape(struct warp_build *w, LLVMValueRef call, enum warp_call kind)
{
    uint64_t op;
    if (!constant_operand(call, 1, &op))
        return varying;
    bool one_group = kind == CALL_WARP_ACTIVE || is_uniform(shape_of(w, LLVMGetOperand(call, 5)));
    unsigned class_ = (unsigned)op & 0xff00;
    bool same = class_ == RT_SYNC || class_ == RT_VOTE_ALL || class_ == RT_REDUX_ADD || class_ == RT_ACTIVEMASK;
    return one_group && same ? uniform : varying;
}

static bool
all_uniform(struct warp_build *w, LLVMValueRef i)
{
    for (int k = 0; k < LLVMGetNumOperands(i); k++)
        if (!is_uniform(shape_of(w, LLVMGetOperand(i, (unsigned)k))))
            return false;
    return true;
}

static struct shape
call_shape(struct warp_build *w, LLVMValueRef call)
{
    enum warp_call kind = classify_call(call);
    switch (kind) {
    case CALL_UNIFORM:
    case CALL_BARRIER:
    case CALL_BARRIER_RED:
    case CALL_BARRIER_ARRIVE:
    case CALL_IGNORE:
        return uniform;
    case CALL_WARP:
    case CALL_WARP_ACTIVE:
        return warp_call_shape(w, call, kind);
    case CALL_OTHER:
        break;
    }
    const char *name = warp_name(called_function(call));
    bool pure = starts(name, "llvm.") || starts(name, "pw_m_");
    return pure && all_uniform(w, call) ? uniform : varying;
}

// ---- the context
static bool
pw_offset(struct warp_build *w, LLVMValueRef p, int64_t *offset)
{
    *offset = 0;
    while (p != LLVMGetParam(w->old, 0)) {
        if (!LLVMIsAGetElementPtrInst(p) || LLVMGetNumOperands(p) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
            return false;
        uint64_t size = LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(p));
        *offset += (int64_t)size * LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
        p = LLVMGetOperand(p, 0);
    }
    return true;
}

enum pw_field
pw_field(struct warp_build *w, LLVMValueRef p)
{
    int64_t at;
    if (!pw_offset(w, p, &at))
        return PW_NONE;
    switch (at) {
    case offsetof(struct thread, tid[0]):
        return PW_TID_X;
    case offsetof(struct thread, tid[1]):
        return PW_TID_Y;
    case offsetof(struct thread, tid[2]):
        return PW_TID_Z;
    case offsetof(struct thread, index):
        return PW_INDEX;
    case offsetof(struct thread, lane):
        return PW_LANE;
    case offsetof(struct thread, warp):
        return PW_WARP;
    }
    return PW_SHARED_BY_WARP;
}

// Is p the address `offset` bytes behind a pointer that was loaded from elsewhere? That load's own address then is *from.
static bool
behind_load(struct warp_build *w, LLVMValueRef p, int64_t *offset, LLVMValueRef *from)
{
    *offset = 0;
    if (LLVMIsAGetElementPtrInst(p)) {
        if (LLVMGetNumOperands(p) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
            return false;
        *offset = (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(p)) *
                  LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
        p = LLVMGetOperand(p, 0);
    }
    if (!LLVMIsALoadInst(p))
        return false;
    *from = LLVMGetOperand(p, 0);
    return true;
}

// Is p the address of thread->block plus `at`?
static bool
in_block(struct warp_build *w, LLVMValueRef p, int64_t at)
{
    int64_t offset, field;
    LLVMValueRef from;
    return behind_load(w, p, &offset, &from) && offset == at && pw_offset(w, from, &field) &&
           field == offsetof(struct thread, block);
}

// Does the pointer come from block->shared? Only what is written so: base and offsets.
bool
is_shared_pointer(struct warp_build *w, LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p))
        p = LLVMGetOperand(p, 0);
    return LLVMIsALoadInst(p) && in_block(w, LLVMGetOperand(p, 0), offsetof(struct block, shared));
}

// The powers of two that divide the block's dimensions are known.
static struct shape
shared_load_shape(struct warp_build *w, LLVMValueRef p)
{
    int64_t offset;
    LLVMValueRef from;
    if (behind_load(w, p, &offset, &from) && in_block(w, from, offsetof(struct block, grid))) {
        if (offset == offsetof(struct grid, block[0]))
            return fixed(w, w->log_block[0]);
        if (offset == offsetof(struct grid, block[1]))
            return fixed(w, w->log_block[1]);
    }
    return uniform;
}

bool
is_plain(LLVMValueRef access)
{
    return !LLVMGetVolatile(access) && LLVMGetOrdering(access) == LLVMAtomicOrderingNotAtomic;
}

static struct shape
load_shape(struct warp_build *w, LLVMValueRef i)
{
    LLVMValueRef p = LLVMGetOperand(i, 0);
    switch (pw_field(w, p)) {
    case PW_NONE:
        if (is_uniform(shape_of(w, p)))
            return shared_load_shape(w, p);
        return varying;
    case PW_TID_X:
        return w->rows ? varying : linear(w, 1, 0, false, (unsigned)w->log_lanes);
    case PW_TID_Y:
        return w->rows ? varying : linear(w, 0, 1, false, 0);
    case PW_TID_Z:
        return w->rows ? varying : uniform;
    case PW_INDEX:
    case PW_LANE:
        return straight(w, 1, (unsigned)w->log_lanes);
    case PW_WARP:
    case PW_SHARED_BY_WARP:
        break;
    }
    return uniform;
}

// ---- arithmetic
static bool
small_constant(LLVMValueRef v, int64_t *out)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return false;
    *out = LLVMConstIntGetSExtValue(v);
    return *out > -(1 << 24) && *out < 1 << 24;
}

static unsigned
min_align(struct shape a, struct shape b)
{
    return a.align < b.align ? a.align : b.align;
}

// The lane's number added to a multiple of `lanes`: the low bits are the lane.
static bool
numbers_lanes(const struct warp_build *w, struct shape s)
{
    return is_straight(w, s) && s.stride == 1 && s.align >= w->log_lanes && !s.guess;
}

static struct shape
masked_shape(struct warp_build *w, struct shape a, LLVMValueRef mask)
{
    int64_t m, low = w->lanes - 1;
    if (small_constant(mask, &m) && numbers_lanes(w, a) && m >= 0) {
        if ((m & low) == low)
            return straight(w, 1, (unsigned)w->log_lanes);
        if ((m & low) == 0)
            return uniform;
    }
    return varying;
}

// What an operation makes of operands whose lanes differ by rows.
static struct shape
rows_shape(LLVMValueRef y, struct shape a, struct shape b, LLVMOpcode op, struct warp_build *w)
{
    int64_t k;
    if (a.kind == SHAPE_VARYING || b.kind == SHAPE_VARYING)
        return varying;
    bool guess = a.guess || b.guess, division = op == LLVMUDiv || op == LLVMSDiv || op == LLVMURem || op == LLVMSRem;
    if (!a.stride && !b.stride && !guess && !division)
        return by_row(w, 0, false);
    if (op == LLVMAdd)
        return by_row(w, a.stride + b.stride, guess);
    if (op == LLVMSub)
        return by_row(w, a.stride - b.stride, guess);
    if (op == LLVMMul && small_constant(y, &k))
        return by_row(w, a.stride * k, guess);
    if (op == LLVMShl && small_constant(y, &k) && k >= 0 && k < 32)
        return by_row(w, a.stride * ((int64_t)1 << k), guess);
    return varying;
}

static struct shape
binary_shape(struct warp_build *w, LLVMValueRef i, LLVMOpcode op)
{
    LLVMValueRef x = LLVMGetOperand(i, 0), y = LLVMGetOperand(i, 1);
    struct shape a = shape_of(w, x), b = shape_of(w, y);
    int64_t k;
    bool guess = a.guess || b.guess;
    if (LLVMGetTypeKind(LLVMTypeOf(i)) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(LLVMTypeOf(i)) > 64 ||
        LLVMGetIntTypeWidth(LLVMTypeOf(i)) < 8)
        return is_uniform(a) && is_uniform(b) ? uniform : varying;
    if (a.kind != SHAPE_LINEAR || b.kind != SHAPE_LINEAR)
        return rows_shape(y, a, b, op, w);
    switch (op) {
    case LLVMAdd:
        return linear(w, a.stride + b.stride, a.rise + b.rise, guess, min_align(a, b));
    case LLVMSub:
        return linear(w, a.stride - b.stride, a.rise - b.rise, guess, min_align(a, b));
    case LLVMOr:
        if (LLVMGetIsDisjoint(i))
            return linear(w, a.stride + b.stride, a.rise + b.rise, guess, min_align(a, b));
        break;
    case LLVMMul:
        if (small_constant(y, &k))
            return linear(w, a.stride * k, a.rise * k, guess, (unsigned)a.align + b.align);
        if (is_uniform(a) && is_uniform(b))
            return fixed(w, (unsigned)a.align + b.align);
        break;
    case LLVMShl:
        if (small_constant(y, &k) && k >= 0 && k < 32)
            return linear(w, a.stride * ((int64_t)1 << k), a.rise * ((int64_t)1 << k), guess, (unsigned)(a.align + k));
        break;
    case LLVMLShr:
    case LLVMAShr: // all lanes share the upper bits
        if (numbers_lanes(w, a) && small_constant(y, &k) && k >= w->log_lanes)
            return uniform;
        break;
    case LLVMUDiv:
        if (numbers_lanes(w, a) && small_constant(y, &k) && k > 0 && k % w->lanes == 0)
            return uniform;
        break;
    case LLVMAnd:
        if (is_uniform(a) && is_uniform(b))
            return fixed(w, a.align > b.align ? a.align : b.align);
        if (is_uniform(b) && masked_shape(w, a, y).kind == SHAPE_LINEAR)
            return masked_shape(w, a, y);
        break;
    default:
        break;
    }
    return is_uniform(a) && is_uniform(b) ? uniform : rows_shape(y, a, b, op, w);
}

// The order of aligned lane numbers against a multiple of `lanes` is the same in all lanes.
static struct shape
compare_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0)), b = shape_of(w, LLVMGetOperand(i, 1));
    if (is_uniform(a) && is_uniform(b))
        return uniform;
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    int64_t k;
    if (!numbers_lanes(w, a) || !is_uniform(b) || !small_constant(LLVMGetOperand(i, 1), &k))
        return varying;
    if ((p == LLVMIntULT || p == LLVMIntUGE || p == LLVMIntSLT || p == LLVMIntSGE) && k % w->lanes == 0)
        return uniform;
    if ((p == LLVMIntUGT || p == LLVMIntULE || p == LLVMIntSGT || p == LLVMIntSLE) && (k + 1) % w->lanes == 0)
        return uniform;
    return varying;
}

static struct shape
gep_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape s = shape_of(w, LLVMGetOperand(i, 0));
    if (all_uniform(w, i))
        return uniform;
    if (LLVMGetNumOperands(i) != 2)
        return varying;
    struct shape k = shape_of(w, LLVMGetOperand(i, 1));
    unsigned bits = LLVMGetIntTypeWidth(LLVMTypeOf(LLVMGetOperand(i, 1)));
    int64_t size = (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(i));
    if (s.kind != SHAPE_LINEAR || k.kind != SHAPE_LINEAR)
        return s.kind == SHAPE_VARYING || k.kind == SHAPE_VARYING || (bits < 64 && k.stride)
                   ? varying
                   : by_row(w, s.stride + k.stride * size, s.guess || k.guess);
    bool guess = s.guess || k.guess || (bits < 64 && !is_uniform(k));
    return linear(w, s.stride + k.stride * size, s.rise + k.rise * size, guess, 0);
}

static struct shape
cast_shape(struct warp_build *w, LLVMValueRef i, LLVMOpcode op)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0));
    if (is_uniform(a)) {
        bool keeps = op == LLVMZExt || op == LLVMSExt || op == LLVMTrunc;
        return fixed(w, keeps ? a.align : 0);
    }
    if (a.kind == SHAPE_VARYING)
        return a;
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(i, 0));
    bool whole = LLVMGetTypeKind(from) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(from) >= 32;
    switch (op) {
    case LLVMZExt:
    case LLVMSExt:
        if (!whole || LLVMGetIntTypeWidth(LLVMTypeOf(i)) > 64)
            return varying;
        if (a.kind == SHAPE_ROWS)
            return by_row(w, a.stride, true);
        return linear(w, a.stride, a.rise, true, a.align);
    case LLVMTrunc:
        return LLVMGetIntTypeWidth(LLVMTypeOf(i)) >= 32 && LLVMGetIntTypeWidth(from) <= 64 ? a : varying;
    case LLVMPtrToInt:
    case LLVMIntToPtr:
        return a;
    default:
        return varying;
    }
}

static bool
same_linear(struct shape a, struct shape b)
{
    return a.kind == SHAPE_LINEAR && b.kind == SHAPE_LINEAR && a.stride == b.stride && a.rise == b.rise;
}

static struct shape
select_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape c = shape_of(w, LLVMGetOperand(i, 0)), a = shape_of(w, LLVMGetOperand(i, 1)),
                 b = shape_of(w, LLVMGetOperand(i, 2));
    if (is_uniform(c) && same_linear(a, b))
        return linear(w, a.stride, a.rise, a.guess || b.guess, min_align(a, b));
    if (is_uniform(c) && a.kind != SHAPE_VARYING && b.kind != SHAPE_VARYING && a.stride == b.stride)
        return by_row(w, a.stride, a.guess || b.guess);
    return varying;
}

static bool
defined_in(struct warp_build *w, LLVMValueRef v, int loop)
{
    struct value *x = value_of(w, v);
    return x && loop_contains(w, loop, x->block);
}

static struct shape
phi_shape(struct warp_build *w, LLVMValueRef phi, int at)
{
    struct shape s = {.kind = SHAPE_UNKNOWN};
    const struct wblock *b = &w->block[at];
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++) {
        LLVMValueRef v = LLVMGetIncomingValue(phi, i);
        int from = (int)(intptr_t)intmap_get(&w->block_at, (uint64_t)(uintptr_t)LLVMGetIncomingBlock(phi, i)) - 1;
        if (from < 0 || (LLVMIsUndef(v) && !b->join))
            continue;
        struct shape x = shape_of(w, v);
        if (x.kind == SHAPE_UNKNOWN)
            continue;
        for (int l = w->block[from].loop; l != NONE && !loop_contains(w, l, at); l = w->loop[l].parent)
            if (w->loop[l].divergent && defined_in(w, v, l))
                return varying;
        if (s.kind == SHAPE_UNKNOWN)
            s = x;
        else if (same_linear(s, x))
            s = linear(w, s.stride, s.rise, s.guess || x.guess, min_align(s, x));
        else if (s.kind != SHAPE_VARYING && x.kind != SHAPE_VARYING && s.stride == x.stride)
            s = by_row(w, s.stride, s.guess || x.guess);
        else
            return varying;
    }
    if (b->join && s.kind != SHAPE_UNKNOWN) {
        LLVMValueRef first = LLVMGetIncomingValue(phi, 0);
        for (unsigned i = 1; i < LLVMCountIncoming(phi); i++)
            if (LLVMGetIncomingValue(phi, i) != first)
                return varying;
    }
    return s;
}

static struct shape
transfer(struct warp_build *w, LLVMValueRef i, int at)
{
    LLVMOpcode op = LLVMGetInstructionOpcode(i);
    if (op == LLVMPHI)
        return phi_shape(w, i, at);
    bool any_varying = false;
    for (int k = 0; k < LLVMGetNumOperands(i); k++) {
        LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
        struct shape s = shape_of(w, v);
        if (s.kind == SHAPE_UNKNOWN)
            return s;
        any_varying |= s.kind == SHAPE_VARYING;
    }
    if (op == LLVMCall)
        return call_shape(w, i);
    if (op == LLVMAlloca) {
        uint64_t n = LLVMConstIntGetZExtValue(LLVMGetOperand(i, 0));
        return straight(w, (int64_t)(n * LLVMABISizeOfType(w->data, LLVMGetAllocatedType(i))), 0);
    }
    if (any_varying)
        return varying;
    switch (op) {
    case LLVMLoad:
        return load_shape(w, i);
    case LLVMICmp:
        return compare_shape(w, i);
    case LLVMGetElementPtr:
        return gep_shape(w, i);
    case LLVMSelect:
        return select_shape(w, i);
    case LLVMFreeze:
        return shape_of(w, LLVMGetOperand(i, 0));
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMPtrToInt:
    case LLVMIntToPtr:
        return cast_shape(w, i, op);
    case LLVMAtomicRMW:
    case LLVMAtomicCmpXchg:
        return varying;
    default:
        break;
    }
    return LLVMIsABinaryOperator(i) ? binary_shape(w, i, op) : all_uniform(w, i) ? uniform : varying;
}

// Once fallen, a value never rises: the iteration ends.
static bool
lower_shape(struct warp_build *w, struct value *x, struct shape s)
{
    if (s.kind == SHAPE_UNKNOWN || x->shape.kind == SHAPE_VARYING)
        return false;
    struct shape old = x->shape;
    if (old.kind == SHAPE_UNKNOWN)
        x->shape = s;
    else if (same_linear(old, s))
        x->shape = linear(w, old.stride, old.rise, old.guess || s.guess, min_align(old, s));
    else if (s.kind != SHAPE_VARYING && s.stride == old.stride)
        x->shape = by_row(w, s.stride, s.guess || old.guess);
    else
        x->shape = varying;
    return memcmp(&old, &x->shape, sizeof old) != 0;
}

// ---- control
// Follows the edges out of `succ` forward to `end`, each with the successor's label, and marks where labels meet.
static bool
mark_joins(struct warp_build *w, const int *succ, int n, int end)
{
    int *label = arena_array(&w->arena, int, w->nblocks), first = w->nblocks;
    bool changed = false;
    for (int i = 0; i < n; i++) {
        label[succ[i]] = succ[i] + 1;
        first = succ[i] < first ? succ[i] : first;
    }
    if (end == NONE)
        end = w->nblocks - 1;
    for (int b = first; b < end; b++)
        for (int k = 0; label[b] && k < w->block[b].nsucc; k++) {
            int s = w->block[b].succ[k];
            if (s <= b || s > end)
                continue;
            if (!label[s]) {
                label[s] = label[b];
            } else if (label[s] != label[b]) {
                label[s] = s + 1;
                changed |= !w->block[s].join;
                w->block[s].join = true;
            }
        }
    return changed;
}

static void
mark_influence(struct warp_build *w, int x)
{
    const struct wblock *b = &w->block[x];
    bool *seen = arena_array(&w->arena, bool, w->nblocks);
    for (int k = 0; k < b->nsucc; k++)
        if (b->succ[k] > x && b->succ[k] != b->ipdom)
            seen[b->succ[k]] = true;
    for (int i = x + 1; i < w->nblocks; i++) {
        if (!seen[i])
            continue;
        bit_set(w->block[i].influence, x);
        for (int k = 0; k < w->block[i].nsucc; k++)
            if (w->block[i].succ[k] > i && w->block[i].succ[k] != b->ipdom)
                seen[w->block[i].succ[k]] = true;
    }
}

static int
common_post_dominator(struct warp_build *w, const int *list, int n)
{
    int d = list[0];
    for (bool again = true; again && d != NONE;) {
        again = false;
        for (int i = 0; i < n; i++) {
            int s = list[i];
            while (s != NONE && s != d)
                s = w->block[s].ipdom;
            if (s == NONE) {
                d = w->block[d].ipdom;
                again = true;
                break;
            }
        }
    }
    return d;
}

static bool
make_divergent(struct warp_build *w, struct wloop *l)
{
    l->divergent = true;
    for (int i = 0; i < l->nexits; i++)
        w->block[l->exits[i]].join |= l->nexits > 1;
    mark_joins(w, l->exits, l->nexits, common_post_dominator(w, l->exits, l->nexits));
    return true;
}

// Lanes leave a loop at different times if a divergent branch decides it, or if a branch does that only some lanes reach.
static bool
leaves_divergently(struct warp_build *w, const struct wloop *l)
{
    for (int b = 0; b < w->nblocks; b++) {
        if (!bit(l->blocks, b))
            continue;
        bool exits = false;
        for (int k = 0; k < w->block[b].nsucc; k++)
            exits |= !bit(l->blocks, w->block[b].succ[k]);
        if (!exits)
            continue;
        if (w->block[b].divergent)
            return true;
        for (int i = 0; i < bit_words(w); i++)
            if (w->block[b].influence[i] & l->blocks[i])
                return true;
    }
    return false;
}

static bool
update_control(struct warp_build *w)
{
    bool changed = false;
    for (int i = 0; i < w->nblocks; i++) {
        struct wblock *b = &w->block[i];
        if (b->divergent || !b->cond || is_uniform(shape_of(w, b->cond)) ||
            shape_of(w, b->cond).kind == SHAPE_UNKNOWN)
            continue;
        b->divergent = changed = true;
        mark_influence(w, i);
        mark_joins(w, b->succ, b->nsucc, b->ipdom);
    }
    for (int i = 0; i < w->nloops; i++)
        if (!w->loop[i].divergent && leaves_divergently(w, &w->loop[i]))
            changed |= make_divergent(w, &w->loop[i]);
    return changed;
}

static void
collect_values(struct warp_build *w)
{
    intmap_free(&w->values);
    w->values = (struct intmap){0};
    for (int b = 0; b < w->nblocks; b++) {
        struct wblock *bl = &w->block[b];
        bl->influence = arena_array(&w->arena, bitset, bit_words(w));
        bl->divergent = bl->join = false;
        for (LLVMValueRef i = LLVMGetFirstInstruction(bl->bb); i; i = LLVMGetNextInstruction(i)) {
            struct value *v = arena_new(&w->arena, struct value);
            v->block = b;
            intmap_put(&w->values, (uint64_t)(uintptr_t)i, v);
        }
    }
    for (int l = 0; l < w->nloops; l++)
        w->loop[l].divergent = false;
}

static void
used_at(struct warp_build *w, LLVMValueRef v, int block)
{
    struct value *x = value_of(w, v);
    if (x && x->block != block)
        x->crosses = true;
}

// emit_memory.c takes addresses apart: what they are made of is used where the access is.
static void
find_address_parts(struct warp_build *w, LLVMValueRef access, int block)
{
    LLVMValueRef p = LLVMIsALoadInst(access) ? LLVMGetOperand(access, 0) : LLVMGetOperand(access, 1);
    bool gep = LLVMIsAGetElementPtrInst(p) && LLVMGetNumOperands(p) == 2;
    if (!gep && (!LLVMIsAIntToPtrInst(p) || !LLVMIsABinaryOperator(LLVMGetOperand(p, 0))))
        return;
    LLVMValueRef sum = gep ? p : LLVMGetOperand(p, 0);
    for (unsigned k = 0; k < 2; k++) {
        LLVMValueRef part = LLVMGetOperand(sum, k);
        for (int depth = 0; depth < 3 && LLVMIsAInstruction(part); depth++) {
            used_at(w, part, block);
            if (!LLVMIsABinaryOperator(part) && !LLVMIsACastInst(part))
                break;
            part = LLVMGetOperand(part, 0);
        }
    }
}

static void
find_crossing(struct warp_build *w)
{
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
            if (LLVMIsALoadInst(i) || LLVMIsAStoreInst(i))
                find_address_parts(w, i, b);
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i)) {
            struct value *v = value_of(w, i);
            for (LLVMUseRef u = LLVMGetFirstUse(i); u && !v->crosses; u = LLVMGetNextUse(u)) {
                LLVMValueRef user = LLVMGetUser(u);
                struct value *x = value_of(w, user);
                v->crosses = x && (x->block != b || LLVMIsAPHINode(user)); // a phi reads at the end of a predecessor
            }
        }
}

void
diverge(struct warp_build *w)
{
    collect_values(w);
    find_crossing(w);
    for (bool changed = true; changed;) {
        changed = false;
        for (int b = 0; b < w->nblocks; b++)
            for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
                changed |= lower_shape(w, value_of(w, i), transfer(w, i, b));
        changed |= update_control(w);
    }
    // What nothing defines (a loop of phis among themselves, undef) may be anything: take it as uniform.
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
            if (value_of(w, i)->shape.kind == SHAPE_UNKNOWN)
                value_of(w, i)->shape = uniform;
}
