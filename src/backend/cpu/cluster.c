// SPDX-License-Identifier: MIT
// Clusters: blocks that are resident together. All blocks of a cluster belong to one worker, so what
// they do to each other's shared memory and to the cluster's barrier needs no lock.
//
// The barrier waits for all threads of the cluster that have not ended. A block without a cluster
// is a cluster of its own.
#include "backend/cpu/cpu.h"

#include <stdlib.h>
#include <string.h>

struct cluster {
    uint32_t n, left;                   // blocks; those that have not ended
    struct cta *member[RT_MAX_CLUSTER]; // by rank; NULL: ended
};

static struct cta *
member(const struct cta *c, uint32_t rank)
{
    return c->b.cluster ? c->b.cluster->member[rank] : (struct cta *)c;
}

#define FOR_MEMBERS(m, c)                                                                          \
    for (uint32_t rank_ = 0; rank_ < (c)->b.ranks; rank_++)                                        \
        for (struct cta *m = member(c, rank_); m; m = NULL)

// ---- blocks
uint64_t
cluster_block(const struct grid *g, uint64_t first, uint32_t rank)
{
    uint32_t n = cluster_size(g);
    if (n == 1)
        return first;
    uint64_t id = first / n, at[3];
    for (int i = 0; i < 3; i++) {
        uint32_t across = g->grid[i] / g->cluster[i];
        at[i] = id % across * g->cluster[i] + rank % g->cluster[i];
        id /= across;
        rank /= g->cluster[i];
    }
    return at[0] + g->grid[0] * (at[1] + g->grid[1] * at[2]);
}

bool
cluster_form(struct cta *const *blocks, uint32_t n)
{
    struct cluster *k = n > 1 ? calloc(1, sizeof *k) : NULL;
    if (n > 1 && !k)
        return false;
    for (uint32_t i = 0; i < n; i++) {
        struct block *b = &blocks[i]->b;
        b->cluster = k;
        b->rank = i;
        b->ranks = n;
        for (uint32_t r = 0; r < RT_MAX_CLUSTER; r++)
            b->peer[r] = r < n ? blocks[r]->b.shared : NULL;
        if (k)
            k->member[i] = blocks[i];
    }
    if (k)
        k->n = k->left = n;
    return true;
}

void
cluster_leave(struct cta *c)
{
    struct cluster *k = c->b.cluster;
    if (!k)
        return;
    c->b.cluster = NULL;
    k->member[c->b.rank] = NULL;
    if (--k->left == 0)
        free(k);
}

bool
cluster_waits(const struct cta *c)
{
    bool others = false;
    FOR_MEMBERS(m, c)
    others |= m != c && (m->run.head || m->spinning.head || m->started < m->threads);
    return others && c->in_cluster.head;
}

// ---- the barrier
static bool
complete(const struct cta *c)
{
    uint32_t arrived = 0, live = 0;
    FOR_MEMBERS(m, c)
    {
        arrived += m->cluster_arrived;
        live += m->live;
    }
    return arrived && arrived >= live;
}

static void
begin_phase(struct cta *c)
{
    struct thread *t;
    c->cluster_phase++;
    c->cluster_arrived = 0;
    memset(c->cluster_lanes, 0, sizeof *c->cluster_lanes * c->launch->g.warps);
    while ((t = list_pop(&c->in_cluster)))
        thread_wake(t);
    c->rounds = 0;
    c->progress++;
}

static void
open_if_complete(struct cta *c)
{
    if (complete(c))
        FOR_MEMBERS(m, c)
    begin_phase(m);
}

void
rt_cluster_arrive_warp(struct thread *t, uint32_t active, uint32_t ended)
{
    struct cta *c = thread_cta(t);
    struct warp *w = t->warp;
    uint32_t gone = ended & ~w->exited & w->present, *lanes = &c->cluster_lanes[w->index];
    w->exited |= gone;
    c->live -= (uint32_t)__builtin_popcount(gone);
    c->cluster_arrived += (uint32_t)__builtin_popcount(active & ~*lanes);
    *lanes |= active;
    t->phase = c->cluster_phase;
    if (c->cluster_arrived >= c->live)
        open_if_complete(c);
}

void
rt_cluster_arrive(struct thread *t)
{
    rt_cluster_arrive_warp(t, 1u << t->lane, 0);
}

void
rt_cluster_wait(struct thread *t)
{
    struct cta *c = thread_cta(t);
    if (t->phase != c->cluster_phase)
        return;
    list_push(&c->in_cluster, t);
    thread_suspend(t, WAIT_CLUSTER);
}

void
cluster_lanes_ended(struct warp *w, uint32_t lanes)
{
    struct cta *c = (struct cta *)w->block;
    uint32_t arrived = c->cluster_lanes[w->index] & lanes;
    c->cluster_lanes[w->index] &= ~arrived;
    c->cluster_arrived -= (uint32_t)__builtin_popcount(arrived);
    open_if_complete(c);
}

void
rt_progress(struct thread *t)
{
    struct cta *c = thread_cta(t);
    c->rounds = 0;
    c->progress++;
}
