// SPDX-License-Identifier: MIT
// Divergence. Values start unknown and fall to linear, rows or varying, until nothing changes. Branches on varying conditions
// make phis varying where their paths meet again, and loops that lanes leave at different times make varying what leaves the
// loop.
#include "backend/cpu/warp/warp.h"

#include <string.h>

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
                changed |= lower_shape(w, value_of(w, i), shape_after(w, i, b));
        changed |= update_control(w);
    }
    // What nothing defines (a loop of phis among themselves, undef) may be anything: take it as uniform.
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
            if (value_of(w, i)->shape.kind == SHAPE_UNKNOWN)
                value_of(w, i)->shape = (struct shape){.kind = SHAPE_LINEAR};
}
