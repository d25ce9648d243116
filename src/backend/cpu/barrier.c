// SPDX-License-Identifier: MIT
// The 16 named barriers of a block. A barrier without a count waits for all threads that have not
// ended. With a count it waits for that many threads; of a warp that takes part, lanes that have
// ended or that the block does not have count as arrived.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <string.h>

static bool
complete(const struct cta *c, const struct barrier *b)
{
    if (!b->count)
        return b->arrived >= c->live;
    if (b->arrived >= b->count)
        return true;
    uint32_t n = b->arrived;
    for (uint32_t left = b->warps; left; left &= left - 1) {
        uint32_t i = (uint32_t)__builtin_ctz(left);
        const struct warp *w = &c->warp[i];
        n += (uint32_t)__builtin_popcount((w->exited | ~w->present) & ~b->lanes[i]);
    }
    return n >= b->count;
}

static uint32_t
reduced(const struct barrier *b, uint32_t red)
{
    switch (red) {
    case RT_RED_POPC:
        return b->trues;
    case RT_RED_AND:
        return b->trues == b->votes;
    case RT_RED_OR:
        return b->trues != 0;
    }
    return 0;
}

// Opens the barrier: wakes all who wait and begins the next phase.
static void
open_barrier(struct cta *c, struct barrier *b)
{
    struct thread *t;
    while ((t = list_pop(&b->waiting))) {
        t->result = reduced(b, t->op);
        thread_wake(t);
    }
    c->busy_barriers &= ~(1u << (b - c->barrier));
    c->rounds = 0;
    b->arrived = b->count = b->trues = b->votes = 0;
    if (b->warps) {
        b->warps = 0;
        memset(b->lanes, 0, sizeof b->lanes);
    }
}

static struct barrier *
arrive(struct thread *t, uint32_t id, uint32_t count)
{
    struct cta *c = thread_cta(t);
    if (id >= RT_BARRIERS) {
        report_stop(t, "barrier number above 15", __builtin_return_address(0));
        thread_stop(t, BE_ILLEGAL_INSTRUCTION);
    }
    struct barrier *b = &c->barrier[id];
    // A count that covers the whole block means all of it, threads that ended included.
    if (count >= c->threads)
        count = 0;
    b->arrived++;
    if (count) {
        uint32_t w = t->warp->index;
        b->count = count;
        b->warps |= 1u << w;
        b->lanes[w] |= 1u << t->lane;
    }
    return b;
}

static uint32_t
sync(struct thread *t, uint32_t id, uint32_t count, uint32_t red, uint32_t pred)
{
    struct cta *c = thread_cta(t);
    struct barrier *b = arrive(t, id, count);
    if (red) {
        b->votes++;
        b->trues += pred != 0;
    }
    if (complete(c, b)) {
        uint32_t r = reduced(b, red);
        open_barrier(c, b);
        return r;
    }
    t->op = red;
    t->site = id;
    c->busy_barriers |= 1u << id;
    list_push(&b->waiting, t);
    thread_suspend(t, WAIT_BARRIER);
    return (uint32_t)t->result;
}

void
rt_barrier(struct thread *t, uint32_t id, uint32_t count)
{
    sync(t, id, count, RT_RED_NONE, 0);
}

uint32_t
rt_barrier_red(struct thread *t, uint32_t id, uint32_t count, uint32_t red, uint32_t pred)
{
    return sync(t, id, count, red, pred);
}

// What the lanes of a warp add at once. Lanes that have ended no longer count as the block's.
static struct barrier *
arrive_warp(struct thread *t, uint32_t id, uint32_t count, uint32_t active, uint32_t ended)
{
    struct cta *c = thread_cta(t);
    struct warp *w = t->warp;
    uint32_t newly = ended & ~w->exited & w->present;
    w->exited |= newly;
    c->live -= (uint32_t)__builtin_popcount(newly);
    struct barrier *b = arrive(t, id, count);
    b->arrived += (uint32_t)__builtin_popcount(active) - 1;
    if (b->count)
        b->lanes[w->index] |= active;
    return b;
}

uint32_t
rt_barrier_warp(struct thread *t, uint32_t id, uint32_t count, uint32_t active, uint32_t ended,
                uint32_t red, uint32_t preds)
{
    struct cta *c = thread_cta(t);
    struct barrier *b = arrive_warp(t, id, count, active, ended);
    if (red != RT_RED_NONE && red != RT_RED_ARRIVE) {
        b->votes += (uint32_t)__builtin_popcount(active);
        b->trues += (uint32_t)__builtin_popcount(active & preds);
    }
    if (complete(c, b)) {
        uint32_t r = reduced(b, red);
        open_barrier(c, b);
        return r;
    }
    if (red == RT_RED_ARRIVE)
        return 0;
    t->op = red;
    t->site = id;
    c->busy_barriers |= 1u << id;
    list_push(&b->waiting, t);
    thread_suspend(t, WAIT_BARRIER);
    return (uint32_t)t->result;
}

void
rt_barrier_group(struct thread *t, uint32_t id, uint32_t active, uint32_t ended)
{
    struct cta *c = thread_cta(t);
    if (id >= RT_BARRIERS)
        arrive(t, id, 0);
    struct barrier *b = &c->barrier[id];
    b->arrived += active;
    c->live -= ended - t->ended;
    t->ended = ended;
    if (b->arrived >= c->live) {
        open_barrier(c, b);
        return;
    }
    t->op = RT_RED_NONE;
    t->site = id;
    c->busy_barriers |= 1u << id;
    list_push(&b->waiting, t);
    thread_suspend(t, WAIT_BARRIER);
}

void
rt_barrier_arrive(struct thread *t, uint32_t id, uint32_t count)
{
    struct cta *c = thread_cta(t);
    struct barrier *b = arrive(t, id, count);
    if (complete(c, b))
        open_barrier(c, b);
}

void
barrier_thread_ended(struct cta *c)
{
    for (uint32_t left = c->busy_barriers; left; left &= left - 1) {
        struct barrier *b = &c->barrier[__builtin_ctz(left)];
        if (complete(c, b))
            open_barrier(c, b);
    }
}
