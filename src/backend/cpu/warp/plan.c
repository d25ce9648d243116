// SPDX-License-Identifier: MIT
// Where control goes. After a divergent branch lanes wait at both targets; control visits blocks in order, each with the
// lanes that wait there. `deferred` of a block holds the blocks at which lanes may wait while control is at it; then:
// control always goes to the first of the edge's own target and the deferred ones. So uniform branches outside of divergent
// regions stay branches, and where nothing is deferred no guard is needed. (Partial linearisation in the sense of Moll and
// Hack, with the lanes' places kept in masks.)
#include "backend/cpu/warp/warp.h"

#include <string.h>

static bitset *
copy(struct warp_build *w, const bitset *s)
{
    bitset *c = arena_array(&w->arena, bitset, bit_words(w));
    memcpy(c, s, sizeof *c * (size_t)bit_words(w));
    return c;
}

// Control goes to the first of `waiting`, the others are deferred there. `target`: where an edge would go by itself, or NONE.
static int
go(struct warp_build *w, bitset *waiting, int target)
{
    int next = bit_first(w, waiting);
    if (next == NONE)
        return NONE;
    bit_clear(waiting, next);
    struct wblock *n = &w->block[next];
    for (int i = 0; i < bit_words(w); i++)
        n->deferred[i] |= waiting[i];
    for (int b = next + 1; b < w->nblocks; b++)
        if (bit(waiting, b))
            w->block[b].wants_guard = true;
    n->wants_guard |= next != target;
    return next;
}

static bool
is_empty(const struct warp_build *w, const bitset *s)
{
    return bit_first(w, s) == NONE;
}

// May the block run with no lane in it, more cheaply than being skipped?
static bool
is_cheap(struct warp_build *w, const struct wblock *b)
{
    enum { COST = 8 };
    int cost = 0;
    if (b->cond && !b->divergent)
        return false;
    for (LLVMValueRef i = LLVMGetFirstInstruction(b->bb); i; i = LLVMGetNextInstruction(i)) {
        LLVMOpcode op = LLVMGetInstructionOpcode(i);
        if (op == LLVMBr)
            continue;
        bool division = op == LLVMSDiv || op == LLVMUDiv || op == LLVMSRem || op == LLVMURem || op == LLVMFDiv;
        bool plain = LLVMIsABinaryOperator(i) || LLVMIsACastInst(i) || LLVMIsACmpInst(i) || LLVMIsASelectInst(i) ||
                     LLVMIsAPHINode(i) || LLVMIsAGetElementPtrInst(i) || op == LLVMFreeze || op == LLVMFNeg ||
                     (op == LLVMCall && is_elementwise(i));
        if (!plain || division || ++cost > COST)
            return false;
    }
    for (int k = 0; k < b->nsucc; k++) {
        const struct wblock *s = &w->block[b->succ[k]];
        if (s <= b)
            return false; // a loop must end
        for (LLVMValueRef i = LLVMGetFirstInstruction(s->bb); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
            if (!value_of(w, i)->blends)
                return false;
    }
    return true;
}

// A back edge of a divergent branch goes back while a lane wants to; what is returned is where control goes when none does.
static void
route_back(struct warp_build *w, struct wblock *b, bitset *deferred)
{
    for (int k = 0; k < b->nsucc; k++)
        if (b->succ[k] > (int)(b - w->block))
            bit_set(deferred, b->succ[k]);
    b->next[0] = go(w, deferred, NONE);
}

static void
route(struct warp_build *w, int at)
{
    struct wblock *b = &w->block[at];
    if (b->divergent) {
        bitset *d = copy(w, b->deferred);
        bool back = false;
        for (int k = 0; k < b->nsucc; k++)
            back |= b->succ[k] <= at;
        if (back) {
            route_back(w, b, d);
            return;
        }
        for (int k = 0; k < b->nsucc; k++)
            bit_set(d, b->succ[k]);
        b->next[0] = go(w, d, NONE);
        return;
    }
    for (int k = 0; k < b->nsucc; k++) {
        if (b->succ[k] <= at) {
            b->next[k] = b->succ[k];
            continue;
        }
        bitset *d = copy(w, b->deferred);
        bit_set(d, b->succ[k]);
        bool surely = !b->wants_guard || b->guard; // control comes from here only with lanes
        b->next[k] = go(w, d, surely ? b->succ[k] : NONE);
    }
}

// ---- masks
static int
divergent_loop(const struct warp_build *w, int b)
{
    int l = w->block[b].loop;
    while (l != NONE && !w->loop[l].divergent)
        l = w->loop[l].parent;
    return l;
}

// The nearest dominator at the same place among divergent loops: all lanes that were there are here, unless a divergent
// branch lies between.
static int
same_mask(const struct warp_build *w, int b)
{
    int here = divergent_loop(w, b), a = w->block[b].idom;
    while (a != NONE && divergent_loop(w, a) != here)
        a = loop_contains(w, here, a) ? w->block[a].idom : NONE;
    if (a == NONE)
        return b;
    for (int i = 0; i < bit_words(w); i++)
        if (w->block[b].influence[i] & ~w->block[a].influence[i])
            return b;
    return w->block[a].mask_of;
}

static void
find_blends(struct warp_build *w)
{
    for (int b = 0; b < w->nblocks; b++) {
        bool header = false, exit = false;
        for (int l = 0; l < w->nloops; l++) {
            header |= w->loop[l].header == b;
            for (int k = 0; w->loop[l].divergent && k < w->loop[l].nexits; k++)
                exit |= w->loop[l].exits[k] == b;
        }
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i && LLVMIsAPHINode(i);
             i = LLVMGetNextInstruction(i)) {
            struct value *v = value_of(w, i);
            v->blends = v->shape.kind == SHAPE_VARYING && (exit || (w->block[b].join && !header));
        }
    }
}

static bool
has_barrier(const struct wblock *b)
{
    for (LLVMValueRef i = LLVMGetFirstInstruction(b->bb); i; i = LLVMGetNextInstruction(i)) {
        enum warp_call k = LLVMIsACallInst(i) ? classify_call(i) : CALL_OTHER;
        if (k == CALL_BARRIER || k == CALL_BARRIER_RED || k == CALL_BARRIER_ARRIVE || k == CALL_CLUSTER_ARRIVE ||
            k == CALL_CLUSTER_WAIT)
            return true;
    }
    return false;
}

static void
find_barriers(struct warp_build *w)
{
    for (int i = 0; i < w->nblocks; i++)
        w->block[i].reaches_barrier = w->has_barrier && has_barrier(&w->block[i]);
    for (bool changed = w->has_barrier; changed;) {
        changed = false;
        for (int i = w->nblocks; i-- > 0;)
            for (int k = 0; k < w->block[i].nsucc; k++)
                if (w->block[w->block[i].succ[k]].reaches_barrier && !w->block[i].reaches_barrier)
                    changed = w->block[i].reaches_barrier = true;
    }
}

void
plan(struct warp_build *w)
{
    find_barriers(w);
    find_blends(w);
    for (int i = 0; i < w->nblocks; i++) {
        struct wblock *b = &w->block[i];
        b->deferred = arena_array(&w->arena, bitset, bit_words(w));
        b->wants_guard = b->guard = b->need_pending = false;
        b->skip = NONE;
        b->next[0] = b->next[1] = NONE;
    }
    for (int i = 0; i < w->nblocks; i++) {
        struct wblock *b = &w->block[i];
        for (int l = 0; l < w->nloops; l++)
            if (w->loop[l].header == i && w->loop[l].divergent)
                for (int k = 0; k < w->loop[l].nexits; k++) {
                    bit_set(b->deferred, w->loop[l].exits[k]);
                    w->block[w->loop[l].exits[k]].wants_guard = true;
                }
        b->mask_of = i ? same_mask(w, i) : 0;
        b->guard = b->wants_guard && !is_empty(w, b->deferred) && !is_cheap(w, b);
        if (b->guard)
            b->skip = go(w, copy(w, b->deferred), NONE);
        route(w, i);
        b->need_pending = b->guard || (i && b->mask_of == i) ||
                          (w->has_barrier && b->wants_guard && !b->reaches_barrier);
    }
}
