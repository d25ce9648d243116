// SPDX-License-Identifier: MIT
// Divergence and shapes. Values start unknown and fall to linear (base + lane * stride; uniform where the stride is 0) or
// varying, until nothing changes. Branches on varying conditions make phis varying where their paths meet again, and loops
// that lanes leave at different times make varying what leaves the loop.
#include "backend/cpu/rt.h"
#include "backend/cpu/warp/warp.h"

#include <stddef.h>
#include <string.h>

enum { MAX_ALIGN = 5 };

static const struct shape uniform = {.kind = SHAPE_LINEAR, .align = 0}, varying = {.kind = SHAPE_VARYING};

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

struct shape
shape_of(struct warp_build *w, LLVMValueRef v)
{
    struct value *x = value_of(w, v);
    if (x)
        return x->shape;
    if (v == LLVMGetParam(w->old, 0))
        return (struct shape){.kind = SHAPE_LINEAR, .stride = sizeof(struct thread)};
    struct shape s = uniform;
    s.align = constant_align(v);
    return s;
}

static struct shape
linear(int64_t stride, bool guess, unsigned align)
{
    return (struct shape){SHAPE_LINEAR, guess, (uint8_t)(align < MAX_ALIGN ? align : MAX_ALIGN), stride};
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
    }
    return PW_SHARED_BY_WARP;
}

// Does the pointer come from block->shared? Only what is written so: base and offsets.
bool
is_shared_pointer(struct warp_build *w, LLVMValueRef p)
{
    while (LLVMIsAGetElementPtrInst(p))
        p = LLVMGetOperand(p, 0);
    if (!LLVMIsALoadInst(p))
        return false;
    p = LLVMGetOperand(p, 0); // &block->shared
    if (!LLVMIsAGetElementPtrInst(p) || LLVMGetNumOperands(p) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
        return false;
    uint64_t at = LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(p)) * LLVMConstIntGetZExtValue(LLVMGetOperand(p, 1));
    p = LLVMGetOperand(p, 0);
    int64_t from;
    return at == offsetof(struct block, shared) && LLVMIsALoadInst(p) && pw_offset(w, LLVMGetOperand(p, 0), &from) &&
           from == offsetof(struct thread, block);
}

static struct shape
load_shape(struct warp_build *w, LLVMValueRef i)
{
    LLVMValueRef p = LLVMGetOperand(i, 0);
    switch (pw_field(w, p)) {
    case PW_NONE:
        return is_uniform(shape_of(w, p)) ? uniform : varying;
    case PW_TID_X:
        return w->rows ? varying : linear(1, false, MAX_ALIGN);
    case PW_TID_Y:
    case PW_TID_Z:
        return w->rows ? varying : uniform;
    case PW_INDEX:
    case PW_LANE:
        return linear(1, false, MAX_ALIGN);
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

static struct shape
masked_shape(struct shape a, LLVMValueRef mask)
{
    // base % 32 == 0, so the low five bits are the lane.
    int64_t m;
    if (small_constant(mask, &m) && a.stride == 1 && a.align == MAX_ALIGN && !a.guess && m >= 0) {
        if ((m & 31) == 31)
            return linear(1, false, MAX_ALIGN);
        if ((m & 31) == 0)
            return uniform;
    }
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
    switch (op) {
    case LLVMAdd:
        return linear(a.stride + b.stride, guess, min_align(a, b));
    case LLVMSub:
        return linear(a.stride - b.stride, guess, min_align(a, b));
    case LLVMOr:
        if (LLVMGetIsDisjoint(i))
            return linear(a.stride + b.stride, guess, min_align(a, b));
        break;
    case LLVMMul:
        if (small_constant(y, &k))
            return linear(a.stride * k, guess, (unsigned)a.align + b.align);
        if (is_uniform(a) && is_uniform(b))
            return linear(0, false, (unsigned)a.align + b.align);
        break;
    case LLVMShl:
        if (small_constant(y, &k) && k >= 0 && k < 32)
            return linear(a.stride << k, guess, (unsigned)(a.align + k));
        break;
    case LLVMLShr:
    case LLVMAShr: // all lanes of the warp share the upper bits
        if (a.stride == 1 && a.align == MAX_ALIGN && !a.guess && small_constant(y, &k) && k >= 5)
            return uniform;
        break;
    case LLVMUDiv:
        if (a.stride == 1 && a.align == MAX_ALIGN && !a.guess && small_constant(y, &k) && k > 0 && k % LANES == 0)
            return uniform;
        break;
    case LLVMAnd:
        if (is_uniform(a) && is_uniform(b)) {
            unsigned align = a.align > b.align ? a.align : b.align;
            return linear(0, false, align);
        }
        return is_uniform(b) ? masked_shape(a, y) : varying;
    default:
        break;
    }
    return is_uniform(a) && is_uniform(b) ? uniform : varying;
}

// Unsigned order of the warp's 32-aligned numbers against a multiple of 32 is the same in all lanes.
static struct shape
compare_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0)), b = shape_of(w, LLVMGetOperand(i, 1));
    if (is_uniform(a) && is_uniform(b))
        return uniform;
    LLVMIntPredicate p = LLVMGetICmpPredicate(i);
    bool a_lanes = a.stride == 1 && a.align == MAX_ALIGN && !a.guess && is_uniform(b);
    int64_t k;
    if (!a_lanes || !small_constant(LLVMGetOperand(i, 1), &k))
        return varying;
    if ((p == LLVMIntULT || p == LLVMIntUGE || p == LLVMIntSLT || p == LLVMIntSGE) && k % LANES == 0)
        return uniform;
    if ((p == LLVMIntUGT || p == LLVMIntULE || p == LLVMIntSGT || p == LLVMIntSLE) && (k + 1) % LANES == 0)
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
    return linear(s.stride + k.stride * size, s.guess || k.guess || (bits < 64 && k.stride), 0);
}

static struct shape
cast_shape(struct warp_build *w, LLVMValueRef i, LLVMOpcode op)
{
    struct shape a = shape_of(w, LLVMGetOperand(i, 0));
    if (is_uniform(a)) {
        bool keeps = op == LLVMZExt || op == LLVMSExt || op == LLVMTrunc;
        return linear(0, false, keeps ? a.align : 0);
    }
    LLVMTypeRef from = LLVMTypeOf(LLVMGetOperand(i, 0));
    bool whole = LLVMGetTypeKind(from) != LLVMIntegerTypeKind || LLVMGetIntTypeWidth(from) >= 32;
    switch (op) {
    case LLVMZExt:
    case LLVMSExt:
        return whole && LLVMGetIntTypeWidth(LLVMTypeOf(i)) <= 64 ? linear(a.stride, true, a.align) : varying;
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
    return a.kind == SHAPE_LINEAR && b.kind == SHAPE_LINEAR && a.stride == b.stride;
}

static struct shape
select_shape(struct warp_build *w, LLVMValueRef i)
{
    struct shape c = shape_of(w, LLVMGetOperand(i, 0)), a = shape_of(w, LLVMGetOperand(i, 1)),
                 b = shape_of(w, LLVMGetOperand(i, 2));
    if (is_uniform(c) && same_linear(a, b))
        return linear(a.stride, a.guess || b.guess, min_align(a, b));
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
            s = linear(s.stride, s.guess || x.guess, min_align(s, x));
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
        return linear((int64_t)(n * LLVMABISizeOfType(w->data, LLVMGetAllocatedType(i))), false, 0);
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
lower_shape(struct value *x, struct shape s)
{
    if (s.kind == SHAPE_UNKNOWN || x->shape.kind == SHAPE_VARYING)
        return false;
    struct shape old = x->shape;
    if (old.kind == SHAPE_UNKNOWN)
        x->shape = s;
    else if (!same_linear(old, s))
        x->shape = varying;
    else
        x->shape = linear(old.stride, old.guess || s.guess, min_align(old, s));
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
    if (!LLVMIsAIntToPtrInst(p) || !LLVMIsABinaryOperator(LLVMGetOperand(p, 0)))
        return;
    LLVMValueRef sum = LLVMGetOperand(p, 0);
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
                changed |= lower_shape(value_of(w, i), transfer(w, i, b));
        changed |= update_control(w);
    }
    // What nothing defines (a loop of phis among themselves, undef) may be anything: take it as uniform.
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
            if (value_of(w, i)->shape.kind == SHAPE_UNKNOWN)
                value_of(w, i)->shape = uniform;
}
