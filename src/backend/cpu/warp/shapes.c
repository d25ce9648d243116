// SPDX-License-Identifier: MIT
// Shapes of values: what an instruction makes of its operands' shapes.
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <stddef.h>
#include <string.h>

static const struct shape uniform = {.kind = SHAPE_LINEAR}, varying = {.kind = SHAPE_VARYING};

struct value *
value_of(struct warp_build *w, LLVMValueRef v)
{
    return intmap_get(&w->values, (uint64_t)(uintptr_t)v);
}

static struct known
known_constant(LLVMValueRef v)
{
    if (!LLVMIsAConstantInt(v) || LLVMGetIntTypeWidth(LLVMTypeOf(v)) > 64)
        return known(0, 0);
    return known(MAX_KNOWN, LLVMConstIntGetZExtValue(v));
}

static struct shape
linear(struct warp_build *w, int64_t stride, int64_t rise, bool guess, struct known base)
{
    if (w->row == w->lanes)
        rise = 0;
    return (struct shape){SHAPE_LINEAR, guess, base, stride, rise};
}

// lane * stride
static struct shape
straight(struct warp_build *w, int64_t stride, unsigned zeros)
{
    return linear(w, stride, stride * w->row, false, known(zeros, 0));
}

static struct shape
fixed(struct warp_build *w, struct known base)
{
    return linear(w, 0, 0, false, base);
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
    s.base = known_constant(v);
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
        {"rt_cluster_arrive", CALL_CLUSTER_ARRIVE},
        {"rt_cluster_wait", CALL_CLUSTER_WAIT},
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
    if (starts(name, "pw_mma_") || starts(name, "pw_matrix_"))
        return CALL_MATRIX;
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
    case CALL_CLUSTER_ARRIVE:
    case CALL_CLUSTER_WAIT:
    case CALL_IGNORE:
        return uniform;
    case CALL_WARP:
    case CALL_WARP_ACTIVE:
        return warp_call_shape(w, call, kind);
    case CALL_MATRIX:
        return varying;
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
shared_load_shape(struct warp_build *w, LLVMValueRef load)
{
    int64_t offset;
    uint32_t param;
    LLVMValueRef from, p = LLVMGetOperand(load, 0);
    if (w->on_borders && param_load(w, load, &param) && is_border(w, param))
        return fixed(w, known((unsigned)w->log_lanes, 0));
    if (behind_load(w, p, &offset, &from) && in_block(w, from, offsetof(struct block, grid))) {
        if (offset == offsetof(struct grid, block[0]))
            return fixed(w, known(w->log_block[0], 0));
        if (offset == offsetof(struct grid, block[1]))
            return fixed(w, known(w->log_block[1], 0));
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
            return shared_load_shape(w, i);
        return varying;
    case PW_TID_X:
        return w->rows ? varying : linear(w, 1, 0, false, known((unsigned)w->log_lanes, 0));
    case PW_TID_Y:
        return w->rows ? varying : linear(w, 0, 1, false, known(0, 0));
    case PW_TID_Z:
        return w->rows ? varying : uniform;
    case PW_LANE:
        if (w->lanes > WARP)
            return varying;
        return straight(w, 1, (unsigned)w->log_lanes);
    case PW_INDEX:
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

// Are the lanes' values all in one run of `lanes` numbers that begins at a multiple of it?
static bool
in_one_run(const struct warp_build *w, struct shape s)
{
    if (!is_straight(w, s) || s.base.bits < w->log_lanes || s.guess || s.stride > 1 || s.stride < -1)
        return false;
    int64_t last = w->lanes - 1, first = s.base.residue & last, end = first + s.stride * last;
    return end >= 0 && end <= last;
}

// The lane's number added to a multiple of `lanes`: the low bits are the lane.
static bool
numbers_lanes(const struct warp_build *w, struct shape s)
{
    return s.stride == 1 && in_one_run(w, s);
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
        return linear(w, a.stride + b.stride, a.rise + b.rise, guess, known_add(a.base, b.base));
    case LLVMSub:
        return linear(w, a.stride - b.stride, a.rise - b.rise, guess, known_sub(a.base, b.base));
    case LLVMOr:
        if (LLVMGetIsDisjoint(i))
            return linear(w, a.stride + b.stride, a.rise + b.rise, guess, known_add(a.base, b.base));
        break;
    case LLVMXor: // -1 - x
        if (small_constant(y, &k) && k == -1)
            return linear(w, -a.stride, -a.rise, guess, known_sub(known(MAX_KNOWN, UINT64_MAX), a.base));
        break;
    case LLVMMul:
        if (small_constant(y, &k))
            return linear(w, a.stride * k, a.rise * k, guess, known_mul(a.base, b.base));
        if (is_uniform(a) && is_uniform(b))
            return fixed(w, known_mul(a.base, b.base));
        break;
    case LLVMShl:
        if (small_constant(y, &k) && k >= 0 && k < 32)
            return linear(w, a.stride * ((int64_t)1 << k), a.rise * ((int64_t)1 << k), guess,
                          known_shl(a.base, (unsigned)k));
        break;
    case LLVMLShr:
    case LLVMAShr: // all lanes share the upper bits
        if (in_one_run(w, a) && small_constant(y, &k) && k >= w->log_lanes)
            return uniform;
        break;
    case LLVMUDiv:
        if (in_one_run(w, a) && small_constant(y, &k) && k > 0 && k % w->lanes == 0)
            return uniform;
        break;
    case LLVMAnd:
        if (is_uniform(a) && is_uniform(b))
            return fixed(w, known_and(a.base, b.base));
        if (is_uniform(b) && masked_shape(w, a, y).kind == SHAPE_LINEAR)
            return masked_shape(w, a, y);
        break;
    default:
        break;
    }
    return is_uniform(a) && is_uniform(b) ? uniform : rows_shape(y, a, b, op, w);
}

static LLVMIntPredicate
swapped(LLVMIntPredicate p)
{
    static const LLVMIntPredicate other[][2] = {{LLVMIntULT, LLVMIntUGT}, {LLVMIntULE, LLVMIntUGE}, {LLVMIntSLT, LLVMIntSGT}, {LLVMIntSLE, LLVMIntSGE}};
    for (size_t i = 0; i < sizeof other / sizeof *other; i++)
        for (int k = 0; k < 2; k++)
            if (other[i][k] == p)
                return other[i][!k];
    return p;
}

// Lanes in one run compare with the run's border in the same way.
static struct shape
compare_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0)), b = shape_of(w, LLVMGetOperand(i, 1));
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    if (is_uniform(a) && is_uniform(b))
        return uniform;
    if (is_uniform(a)) {
        struct shape t = a;
        a = b;
        b = t;
        p = swapped(p);
    }
    if (!in_one_run(w, a) || !is_uniform(b) || b.base.bits < w->log_lanes)
        return varying;
    int last = w->lanes - 1, residue = b.base.residue & last;
    if ((p == LLVMIntULT || p == LLVMIntUGE || p == LLVMIntSLT || p == LLVMIntSGE) && residue == 0)
        return uniform;
    if ((p == LLVMIntUGT || p == LLVMIntULE || p == LLVMIntSGT || p == LLVMIntSLE) && residue == last)
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
    return linear(w, s.stride + k.stride * size, s.rise + k.rise * size, guess, known(0, 0));
}

static struct shape
cast_shape(struct warp_build *w, LLVMValueRef i, LLVMOpcode op)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0));
    if (is_uniform(a)) {
        bool keeps = op == LLVMZExt || op == LLVMSExt || op == LLVMTrunc;
        return fixed(w, keeps ? a.base : known(0, 0));
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
        return linear(w, a.stride, a.rise, true, a.base);
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
        return linear(w, a.stride, a.rise, a.guess || b.guess, known_join(a.base, b.base));
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
            s = linear(w, s.stride, s.rise, s.guess || x.guess, known_join(s.base, x.base));
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

struct shape
shape_after(struct warp_build *w, LLVMValueRef i, int at)
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

bool
lower_shape(struct warp_build *w, struct value *x, struct shape s)
{
    if (s.kind == SHAPE_UNKNOWN || x->shape.kind == SHAPE_VARYING)
        return false;
    struct shape old = x->shape;
    if (old.kind == SHAPE_UNKNOWN)
        x->shape = s;
    else if (same_linear(old, s))
        x->shape = linear(w, old.stride, old.rise, old.guess || s.guess, known_join(old.base, s.base));
    else if (s.kind != SHAPE_VARYING && s.stride == old.stride)
        x->shape = by_row(w, s.stride, s.guess || old.guess);
    else
        x->shape = varying;
    return old.kind != x->shape.kind || old.guess != x->shape.guess || old.base.bits != x->shape.base.bits;
}
