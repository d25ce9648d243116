// SPDX-License-Identifier: MIT
// The kernel's control flow: blocks in an order that is topological but for back edges and keeps loops together, dominators,
// post-dominators, natural loops.
#include "backend/cpu/warp/warp.h"

#include <string.h>

int
bit_first(const struct warp_build *w, const bitset *s)
{
    for (int i = 0; i < bit_words(w); i++)
        if (s[i])
            return i * 64 + __builtin_ctzll(s[i]);
    return NONE;
}

bool
loop_contains(const struct warp_build *w, int loop, int block)
{
    return loop == NONE || bit(w->loop[loop].blocks, block);
}

bool
dominates(const struct warp_build *w, int a, int b)
{
    while (b > a)
        b = w->block[b].idom;
    return a == b;
}

static int
index_of(struct warp_build *w, LLVMBasicBlockRef bb)
{
    return (int)(intptr_t)intmap_get(&w->block_at, (uint64_t)(uintptr_t)bb) - 1;
}

static bool
refuse(struct warp_build *w, const char *why)
{
    w->refused = why;
    return false;
}

// ---- reachable blocks, in reverse post-order
static void
visit(struct warp_build *w, LLVMBasicBlockRef bb, LLVMBasicBlockRef *order, int *n)
{
    intmap_put(&w->block_at, (uint64_t)(uintptr_t)bb, (void *)(intptr_t)MAX_BLOCKS + 1);
    LLVMValueRef t = LLVMGetBasicBlockTerminator(bb);
    for (unsigned i = LLVMGetNumSuccessors(t); i-- > 0;) {
        LLVMBasicBlockRef s = LLVMGetSuccessor(t, i);
        if (!intmap_get(&w->block_at, (uint64_t)(uintptr_t)s))
            visit(w, s, order, n);
    }
    order[(*n)++] = bb;
}

static void
set_successors(struct warp_build *w, struct wblock *b)
{
    LLVMValueRef t = LLVMGetBasicBlockTerminator(b->bb);
    unsigned n = LLVMGetNumSuccessors(t);
    b->nsucc = 0;
    b->cond = NULL;
    if (n > 2) {
        refuse(w, "a switch is left");
        return;
    }
    for (unsigned i = 0; i < n; i++)
        b->succ[b->nsucc++] = index_of(w, LLVMGetSuccessor(t, i));
    if (n == 2 && b->succ[0] == b->succ[1])
        b->nsucc = 1;
    if (b->nsucc == 2)
        b->cond = LLVMGetCondition(t);
}

static void
set_edges(struct warp_build *w)
{
    for (int i = 0; i < w->nblocks; i++) {
        set_successors(w, &w->block[i]);
        for (int k = 0; k < w->block[i].nsucc; k++)
            w->block[w->block[i].succ[k]].npred++;
    }
    for (int i = 0; i < w->nblocks; i++) {
        struct wblock *b = &w->block[i];
        b->pred = arena_array(&w->arena, int, b->npred + 1);
        b->npred = 0;
    }
    for (int i = 0; i < w->nblocks; i++)
        for (int k = 0; k < w->block[i].nsucc; k++) {
            struct wblock *s = &w->block[w->block[i].succ[k]];
            s->pred[s->npred++] = i;
        }
}

static void
number_blocks(struct warp_build *w, LLVMBasicBlockRef *order, int n)
{
    intmap_free(&w->block_at);
    w->block_at = (struct intmap){0};
    w->nblocks = n;
    w->block = arena_array(&w->arena, struct wblock, n);
    for (int i = 0; i < n; i++) {
        w->block[i].bb = order[i];
        w->block[i].loop = NONE;
        intmap_put(&w->block_at, (uint64_t)(uintptr_t)order[i], (void *)(intptr_t)(i + 1));
    }
    set_edges(w);
}

// ---- dominators, by iteration over an order in which a dominator precedes
static int
meet_dom(const struct warp_build *w, int a, int b)
{
    while (a != b)
        if (a > b)
            a = w->block[a].idom;
        else
            b = w->block[b].idom;
    return a;
}

static void
find_dominators(struct warp_build *w)
{
    for (int i = 0; i < w->nblocks; i++)
        w->block[i].idom = NONE;
    w->block[0].idom = 0;
    for (bool changed = true; changed;) {
        changed = false;
        for (int i = 1; i < w->nblocks; i++) {
            int d = NONE;
            for (int k = 0; k < w->block[i].npred; k++) {
                int p = w->block[i].pred[k];
                if (w->block[p].idom != NONE)
                    d = d == NONE ? p : meet_dom(w, d, p);
            }
            if (d != w->block[i].idom) {
                w->block[i].idom = d;
                changed = true;
            }
        }
    }
    w->block[0].idom = NONE;
}

// The exit is the last block; every block reaches it.
static bool
find_post_dominators(struct warp_build *w)
{
    int n = w->nblocks, *number = arena_array(&w->arena, int, n), *order = arena_array(&w->arena, int, n), count = 0;
    int *stack = arena_array(&w->arena, int, n), *at = arena_array(&w->arena, int, n), depth = 0;
    bool *seen = arena_array(&w->arena, bool, n);
    stack[depth++] = n - 1;
    seen[n - 1] = true;
    while (depth) { // post-order of the reversed graph
        int b = stack[depth - 1];
        if (at[b] == w->block[b].npred) {
            number[b] = count;
            order[count++] = b;
            depth--;
            continue;
        }
        int p = w->block[b].pred[at[b]++];
        if (!seen[p]) {
            seen[p] = true;
            stack[depth++] = p;
        }
    }
    if (count != n)
        return refuse(w, "a loop without end");
    for (int i = 0; i < n; i++)
        w->block[i].ipdom = NONE;
    w->block[n - 1].ipdom = n - 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (int o = count - 2; o >= 0; o--) {
            struct wblock *b = &w->block[order[o]];
            int d = NONE;
            for (int k = 0; k < b->nsucc; k++) {
                int s = b->succ[k];
                if (w->block[s].ipdom == NONE)
                    continue;
                if (d == NONE)
                    d = s;
                while (d != s)
                    if (number[d] < number[s])
                        d = w->block[d].ipdom;
                    else
                        s = w->block[s].ipdom;
            }
            if (d != b->ipdom) {
                b->ipdom = d;
                changed = true;
            }
        }
    }
    w->block[n - 1].ipdom = NONE;
    return true;
}

// ---- loops
static void
collect_loop(struct warp_build *w, struct wloop *l)
{
    int *todo = arena_array(&w->arena, int, w->nblocks), n = 0;
    bit_set(l->blocks, l->header);
    if (!bit(l->blocks, l->latch)) {
        bit_set(l->blocks, l->latch);
        todo[n++] = l->latch;
    }
    while (n) {
        const struct wblock *b = &w->block[todo[--n]];
        for (int k = 0; k < b->npred; k++)
            if (!bit(l->blocks, b->pred[k])) {
                bit_set(l->blocks, b->pred[k]);
                todo[n++] = b->pred[k];
            }
    }
}

static int
loop_size(const struct warp_build *w, const struct wloop *l)
{
    int n = 0;
    for (int i = 0; i < bit_words(w); i++)
        n += __builtin_popcountll(l->blocks[i]);
    return n;
}

static void
set_parents(struct warp_build *w)
{
    for (int i = 0; i < w->nloops; i++) {
        int best = NONE;
        for (int k = 0; k < w->nloops; k++)
            if (k != i && bit(w->loop[k].blocks, w->loop[i].header) &&
                w->loop[k].header != w->loop[i].header &&
                (best == NONE || loop_size(w, &w->loop[k]) < loop_size(w, &w->loop[best])))
                best = k;
        w->loop[i].parent = best;
    }
    for (int b = 0; b < w->nblocks; b++) {
        int best = NONE;
        for (int k = 0; k < w->nloops; k++)
            if (bit(w->loop[k].blocks, b) &&
                (best == NONE || loop_size(w, &w->loop[k]) < loop_size(w, &w->loop[best])))
                best = k;
        w->block[b].loop = best;
    }
}

static void
set_exits(struct warp_build *w, struct wloop *l)
{
    bool *seen = arena_array(&w->arena, bool, w->nblocks);
    l->exits = arena_array(&w->arena, int, w->nblocks);
    for (int b = 0; b < w->nblocks; b++)
        for (int k = 0; bit(l->blocks, b) && k < w->block[b].nsucc; k++) {
            int s = w->block[b].succ[k];
            if (!bit(l->blocks, s) && !seen[s]) {
                seen[s] = true;
                l->exits[l->nexits++] = s;
            }
        }
}

static bool
find_loops(struct warp_build *w)
{
    int edges = 0;
    for (int b = 0; b < w->nblocks; b++)
        for (int k = 0; k < w->block[b].nsucc; k++)
            edges += w->block[b].succ[k] <= b;
    w->loop = arena_array(&w->arena, struct wloop, edges + 1);
    w->nloops = 0;
    for (int b = 0; b < w->nblocks; b++)
        for (int k = 0; k < w->block[b].nsucc; k++) {
            int h = w->block[b].succ[k];
            if (h > b)
                continue;
            if (!dominates(w, h, b))
                return refuse(w, "irreducible control flow");
            for (int i = 0; i < w->nloops; i++)
                if (w->loop[i].header == h)
                    return refuse(w, "a loop with two back edges");
            struct wloop *l = &w->loop[w->nloops++];
            *l = (struct wloop){.header = h, .latch = b, .blocks = arena_array(&w->arena, bitset, bit_words(w))};
            collect_loop(w, l);
        }
    set_parents(w);
    for (int i = 0; i < w->nloops; i++)
        set_exits(w, &w->loop[i]);
    return true;
}

// ---- the order: as reverse post-order, with each loop as one node of what contains it
struct ordering {
    struct warp_build *w;
    bool *seen_block, *seen_loop;
};

// The child of loop `in` that holds block b: a loop's number in *loop, or NONE for the block itself. False: outside.
static bool
item_of(const struct warp_build *w, int b, int in, int *loop)
{
    int l = w->block[b].loop;
    *loop = NONE;
    while (l != in) {
        if (l == NONE)
            return false;
        *loop = l;
        l = w->loop[l].parent;
    }
    return true;
}

static void order_loop(struct ordering *o, int loop, LLVMBasicBlockRef *out, int *n);

struct item {
    int block, loop;
};

static void
order_item(struct ordering *o, int in, int block, struct item *post, int *n)
{
    struct warp_build *w = o->w;
    int loop;
    if (!item_of(w, block, in, &loop))
        return;
    bool *seen = loop == NONE ? &o->seen_block[block] : &o->seen_loop[loop];
    if (*seen)
        return;
    *seen = true;
    if (loop == NONE) {
        for (int k = w->block[block].nsucc; k-- > 0;)
            if (in == NONE || w->block[block].succ[k] != w->loop[in].header)
                order_item(o, in, w->block[block].succ[k], post, n);
    } else {
        for (int k = w->loop[loop].nexits; k-- > 0;)
            if (in == NONE || w->loop[loop].exits[k] != w->loop[in].header)
                order_item(o, in, w->loop[loop].exits[k], post, n);
    }
    post[(*n)++] = (struct item){block, loop};
}

static void
order_loop(struct ordering *o, int loop, LLVMBasicBlockRef *out, int *n)
{
    struct warp_build *w = o->w;
    struct item *post = arena_array(&w->arena, struct item, w->nblocks);
    int items = 0;
    order_item(o, loop, loop == NONE ? 0 : w->loop[loop].header, post, &items);
    while (items--)
        if (post[items].loop == NONE)
            out[(*n)++] = w->block[post[items].block].bb;
        else
            order_loop(o, post[items].loop, out, n);
}

bool
cfg_build(struct warp_build *w)
{
    LLVMBasicBlockRef *post = arena_array(&w->arena, LLVMBasicBlockRef, MAX_BLOCKS + 1), *order;
    int n = 0;
    if (LLVMCountBasicBlocks(w->old) > MAX_BLOCKS)
        return refuse(w, "too many blocks");
    visit(w, LLVMGetEntryBasicBlock(w->old), post, &n);
    order = arena_array(&w->arena, LLVMBasicBlockRef, n);
    for (int i = 0; i < n; i++)
        order[i] = post[n - 1 - i];
    number_blocks(w, order, n);
    if (w->refused)
        return false;
    find_dominators(w);
    if (!find_loops(w))
        return false;
    struct ordering o = {w, arena_array(&w->arena, bool, n), arena_array(&w->arena, bool, w->nloops + 1)};
    int count = 0;
    order_loop(&o, NONE, order, &count);
    if (count != n)
        return refuse(w, "irreducible control flow");
    number_blocks(w, order, n);
    find_dominators(w);
    if (!find_loops(w))
        return false;
    if (w->block[n - 1].nsucc)
        return refuse(w, "no single exit");
    return find_post_dominators(w);
}
