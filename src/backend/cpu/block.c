// SPDX-License-Identifier: MIT
// Runs one block: its threads start one after another, each on a stack of its own as long as it
// lives; a thread that ends leaves its stack to the next. Suspended threads wait in a barrier, a
// meeting of their warp, or the list of spinning ones; switches go straight from thread to thread
// and return to the worker only when none is runnable.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <string.h>
#include <sys/mman.h>

enum {
    SPIN_FIRST = 512, // calls of pw.spin before a thread first gives way
    SPIN_LATER = 64,
    ROUNDS =
        8, // fruitless rounds over the spinning threads before the worker looks at other blocks
    ROUNDS_AGAIN = 2 // and when it comes back
};

static void
thread_init(struct cta *c, uint32_t i, struct fiber *f)
{
    struct thread *t = &c->thread[i];
    const uint32_t *dim = c->launch->g.block;
    t->tid[0] = i;
    t->tid[1] = t->tid[2] = 0;
    if (i >= dim[0]) {
        uint32_t row = i / dim[0];
        t->tid[0] = i - row * dim[0];
        t->tid[2] = row / dim[1];
        t->tid[1] = row - t->tid[2] * dim[1];
    }
    t->index = i;
    t->lane = i % RT_WARP;
    t->spin = SPIN_FIRST;
    t->block = &c->b;
    t->warp = &c->warp[i / RT_WARP];
    t->fiber = f;
    t->wait = WAIT_NONE;
    t->ended = 0;
    t->phase = 0;
}

static void
call_kernel(void *kernel, void *thread)
{
    struct thread *t = thread;
    ((struct backend_kernel *)kernel)->fn(t, t->block->grid->params);
}

// Threads of the group that begins with thread i.
static inline uint32_t
group_size(const struct cta *c, uint32_t i)
{
    uint32_t n = c->threads - i, lanes = c->launch->kernel->facts.lanes;
    return n < lanes ? n : lanes;
}

// The group's first thread stands for it; its other lanes have no stack.
static inline void
group_init(struct cta *c, uint32_t i, struct fiber *f)
{
    thread_init(c, i, f);
    if (c->launch->kernel->facts.lane_threads)
        for (uint32_t k = 1; k < group_size(c, i); k++)
            thread_init(c, i + k, NULL);
}

static inline void
run_group(struct launch *l, struct cta *c, uint32_t i)
{
    ((warp_fn *)(uintptr_t)l->kernel->fn)(&c->thread[i], l->g.params, group_size(c, i));
}

static inline void
run_thread(struct launch *l, struct thread *t)
{
    if (l->kernel->facts.may_exit)
        frame_enter(&t->base, call_kernel, l->kernel, t);
    else
        l->kernel->fn(t, l->g.params);
}

static void
thread_ended(struct cta *c, struct thread *t)
{
    struct warp *w = t->warp;
    t->fiber = NULL;
    c->live--;
    c->rounds = 0;
    w->exited |= 1u << t->lane;
    w->running--;
    if (w->ngroups)
        warp_lane_ended(w);
    if (!w->running && w->active)
        warp_resolve_active(w);
    if (c->busy_barriers)
        barrier_thread_ended(c);
    if (c->cluster_arrived || c->b.cluster)
        cluster_lanes_ended(w, 1u << t->lane);
}

// Lanes that ended earlier are counted in the warp or, where its lanes do not matter, in the thread (barrier.c).
static void
group_ended(struct cta *c, struct thread *t, uint32_t size)
{
    struct warp *w = t->warp;
    uint32_t left = size - t->ended;
    if (w->exited)
        left = (uint32_t)__builtin_popcount(w->present & ~w->exited);
    t->fiber = NULL;
    c->live -= left;
    c->rounds = 0;
    w->exited = w->present;
    if (c->busy_barriers)
        barrier_thread_ended(c);
    if (c->cluster_arrived || c->b.cluster)
        cluster_lanes_ended(w, w->present);
}

// The next group, or thread.
static void
run_next(struct cta *c, struct fiber *self)
{
    uint32_t i = c->started;
    struct thread *t = &c->thread[i];
    if (c->launch->kernel->facts.lanes) {
        uint32_t n = group_size(c, i);
        c->started += n;
        group_init(c, i, self);
        run_group(c->launch, c, i);
        group_ended(c, t, n);
        return;
    }
    c->started++;
    thread_init(c, i, self);
    run_thread(c->launch, t);
    thread_ended(c, t);
}

// Body of every fiber: runs threads that have not started until there is something better to do.
static void
thread_main(void *arg)
{
    struct cta *c = arg;
    struct fiber *self = c->starting;
    do {
        run_next(c, self);
    } while (!c->run.head && c->started < c->threads);
    struct thread *next = list_pop(&c->run);
    stack_put(&c->worker->stacks, self); // nobody takes it before the switch
    if (next)
        fiber_leave(next->fiber, 0);
    fiber_leave(&c->worker->main, SWITCH_IDLE);
}

static struct fiber *
new_fiber(struct cta *c, void (*entry)(void *))
{
    struct fiber *f = stack_get(&c->worker->stacks, c->launch->stack_class);
    if (f) {
        fiber_start(f, entry, c);
        c->starting = f;
    }
    return f;
}

void
thread_suspend(struct thread *t, enum wait why)
{
    struct cta *c = thread_cta(t);
    t->wait = why;
    if (--t->warp->running == 0 && t->warp->active)
        warp_resolve_active(t->warp);
    struct thread *next = list_pop(&c->run);
    if (next == t)
        return;
    if (next) {
        fiber_switch(t->fiber, next->fiber, 0);
        return;
    }
    struct fiber *f = c->started < c->threads ? new_fiber(c, thread_main) : NULL;
    if (f)
        fiber_switch(t->fiber, f, 0);
    else
        fiber_switch(t->fiber, &c->worker->main,
                     c->started < c->threads ? SWITCH_NO_STACK : SWITCH_IDLE);
}

void
thread_wake(struct thread *t)
{
    struct cta *c = thread_cta(t);
    t->wait = WAIT_NONE;
    t->warp->running++;
    c->rounds = 0;
    list_push(&c->run, t);
}

void
thread_stop(struct thread *t, int error)
{
    struct worker *w = thread_cta(t)->worker;
    w->stop_error = error;
    fiber_leave(&w->main, SWITCH_STOP);
}

void
rt_spin(struct thread *t)
{
    struct cta *c = thread_cta(t);
    t->spin = SPIN_LATER;
    list_push(&c->spinning, t);
    thread_suspend(t, WAIT_SPIN);
}

void
rt_exit(struct thread *t)
{
    frame_leave(t->base, 1);
}

// ---- from the worker's side
// -----------------------------------------------------------------------------------
static void
wake_spinning(struct cta *c)
{
    uint32_t rounds = c->rounds;
    struct thread *t;
    while ((t = list_pop(&c->spinning)))
        thread_wake(t);
    c->rounds = rounds; // that was no progress
}

// Frees the stacks of threads that will not continue.
static void
abandon(struct cta *c)
{
    for (uint32_t i = 0; i < c->started; i++)
        if (c->thread[i].fiber) {
            stack_put(&c->worker->stacks, c->thread[i].fiber);
            c->thread[i].fiber = NULL;
        }
    memset(c->barrier, 0, sizeof c->barrier);
    c->in_cluster = (struct thread_list){0};
}

static enum block_state
fail_block(struct cta *c, intptr_t why)
{
    int error = BE_LAUNCH_FAILED;
    struct worker *w = c->worker;
    if (why == SWITCH_FAULT)
        __builtin_ia32_ldmxcsr(0x1f80); // it may have come inside a directed rounding
    if (launch_failed(c->launch)) {     // said already
        abandon(c);
        return BLOCK_FAILED;
    }
    switch (why) {
    case SWITCH_FAULT:
        error = report_fault(c, &w->fault);
        break;
    case SWITCH_STOP:
        error = w->stop_error;
        break;
    case SWITCH_NO_STACK:
        log_error("%s: no memory for the stack of another thread", c->launch->name);
        error = BE_OUT_OF_MEMORY;
        break;
    default:
        report_deadlock(c);
    }
    abandon(c);
    launch_fail(c->launch, error);
    return BLOCK_FAILED;
}

// Lets fibers run until one comes back to the worker's stack.
static intptr_t
enter(struct cta *c)
{
    struct thread *next = list_pop(&c->run);
    struct fiber *f = next ? next->fiber : new_fiber(c, thread_main);
    if (!f)
        return SWITCH_NO_STACK;
    c->worker->cta = c;
    intptr_t why = fiber_switch(&c->worker->main, f, 0);
    c->worker->cta = NULL;
    return why;
}

enum block_state
block_run(struct cta *c)
{
    for (;;) {
        if (launch_failed(c->launch) ||
            atomic_load_explicit(&launches_stop, memory_order_relaxed)) {
            abandon(c);
            launch_fail(c->launch, BE_UNKNOWN);
            return BLOCK_FAILED;
        }
        if (!c->run.head && c->started == c->threads) {
            if (!c->live)
                return BLOCK_DONE;
            if (!c->spinning.head)
                return cluster_waits(c) ? BLOCK_SPINS : fail_block(c, 0);
            if (++c->rounds > ROUNDS) {
                c->rounds = ROUNDS - ROUNDS_AGAIN;
                return BLOCK_SPINS;
            }
            wake_spinning(c);
        }
        intptr_t why = enter(c);
        if (why != SWITCH_IDLE)
            return fail_block(c, why);
    }
}

// A kernel that never suspends: all threads in turn through one struct thread.
static void
simple_main(void *arg)
{
    struct cta *c = arg;
    struct launch *l = c->launch;
    struct thread *t = &c->thread[0];
    const uint32_t *dim = l->g.block;
    uint32_t i = 0;
    for (uint32_t z = 0; z < dim[2]; z++)
        for (uint32_t y = 0; y < dim[1]; y++)
            for (uint32_t x = 0; x < dim[0]; x++, i++) {
                t->tid[0] = x;
                t->tid[1] = y;
                t->tid[2] = z;
                t->index = i;
                t->lane = i % RT_WARP;
                run_thread(l, t);
            }
    fiber_leave(&c->worker->main, SWITCH_IDLE);
}

enum block_state
block_run_simple(struct cta *c)
{
    struct fiber *f = new_fiber(c, simple_main);
    if (!f)
        return fail_block(c, SWITCH_NO_STACK);
    thread_init(c, 0, f);
    c->started = 1;
    c->worker->cta = c;
    intptr_t why = fiber_switch(&c->worker->main, f, 0);
    c->worker->cta = NULL;
    if (why != SWITCH_IDLE)
        return fail_block(c, why);
    c->thread[0].fiber = NULL;
    stack_put(&c->worker->stacks, f);
    return BLOCK_DONE;
}

// A kernel in warp mode that never suspends: the groups of several blocks in turn on one stack. What a group's first thread
// is, it is in every block.
static void
warps_main(void *arg)
{
    struct cta *c = arg;
    struct launch *l = c->launch;
    const uint32_t *grid = l->g.grid;
    for (uint64_t n = c->blocks; n > 0 && !launch_failed(l); n--) {
        for (uint32_t i = 0; i < c->threads; i += l->kernel->facts.lanes) {
            c->running = i;
            run_group(l, c, i);
        }
        uint32_t *at = c->b.ctaid;
        if (++at[0] == grid[0]) {
            at[0] = 0;
            if (++at[1] == grid[1]) {
                at[1] = 0;
                at[2]++;
            }
        }
    }
    fiber_leave(&c->worker->main, SWITCH_IDLE);
}

enum block_state
block_run_warps(struct cta *c, uint64_t first, uint64_t n)
{
    struct fiber *f = new_fiber(c, warps_main);
    if (!f)
        return fail_block(c, SWITCH_NO_STACK);
    block_begin(c, first);
    c->blocks = n;
    c->started = 1;
    for (uint32_t i = 0; i < c->launch->g.warps; i++) {
        c->warp[i].block = &c->b;
        c->warp[i].index = i;
    }
    for (uint32_t i = 0; i < c->threads; i += c->launch->kernel->facts.lanes)
        group_init(c, i, f);
    c->worker->cta = c;
    intptr_t why = fiber_switch(&c->worker->main, f, 0);
    c->worker->cta = NULL;
    if (why != SWITCH_IDLE)
        return fail_block(c, why);
    c->thread[0].fiber = NULL;
    stack_put(&c->worker->stacks, f);
    return BLOCK_DONE;
}

void
block_begin(struct cta *c, uint64_t index)
{
    struct grid *g = &c->launch->g;
    uint64_t row = index / g->grid[0];
    c->b.ctaid[0] = (uint32_t)(index - row * g->grid[0]);
    c->b.ctaid[1] = (uint32_t)(row % g->grid[1]);
    c->b.ctaid[2] = (uint32_t)(row / g->grid[1]);
    c->threads = g->threads;
    c->live = g->threads;
    c->started = c->rounds = c->busy_barriers = 0;
    c->run = c->spinning = (struct thread_list){0};
    if (c->launch->simple)
        return;
    c->in_cluster = (struct thread_list){0};
    c->cluster_phase = c->cluster_arrived = 0;
    memset(c->cluster_lanes, 0, sizeof *c->cluster_lanes * g->warps);
    for (int i = 0; i < RT_BARRIERS; i++)
        if (c->barrier[i].arrived) // arrivals that nobody waited for
            c->barrier[i] = (struct barrier){0};
    for (uint32_t i = 0; i < g->warps; i++) {
        struct warp *w = &c->warp[i];
        uint32_t lanes = g->threads - i * RT_WARP;
        w->block = &c->b;
        w->index = i;
        w->present = lanes >= RT_WARP ? ~0u : (1u << lanes) - 1;
        w->exited = w->active = w->ngroups = 0;
        w->running = lanes >= RT_WARP ? RT_WARP : lanes;
    }
}

// ---- pool and shared windows
// -----------------------------------------------------------------------------------
enum { WINDOW_BEFORE = 1 << 16, WINDOW_BEHIND = 64 << 10 };
static const size_t window_reach = (size_t)4 << 30; // of 32-bit offsets

static bool
reserve(struct cta *c, size_t size)
{
    char *p = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (p == MAP_FAILED)
        return false;
    if (c->window)
        munmap(c->window, c->window_size);
    c->window = p;
    c->window_size = size;
    c->committed = 0;
    c->slots = NULL;
    c->b.shared = p + WINDOW_BEFORE;
    return true;
}

// Address space around a block's shared memory, so that a 32-bit offset beyond it faults: 4 GiB,
// less where that is refused.
static bool
reserve_window(struct cta *c)
{
    for (size_t size = window_reach; size >= 1 << 20; size >>= 2)
        if (reserve(c, size + WINDOW_BEFORE + WINDOW_BEHIND))
            return true;
    return false;
}

// The same for blocks of clusters, with a place for each rank.
static bool
reserve_slots(struct cta *c)
{
    size_t ranks = (size_t)RT_MAX_CLUSTER << RT_RANK_SHIFT;
    if (!reserve(c, 2 * window_reach + ranks + WINDOW_BEFORE + WINDOW_BEHIND))
        return false;
    uintptr_t at = ((uintptr_t)c->b.shared + window_reach - 1) & ~(window_reach - 1);
    c->slots = c->b.shared = (char *)at;
    return true;
}

static bool
commit_window(struct cta *c, size_t bytes)
{
    size_t need = (bytes + 4095) & ~(size_t)4095;
    if (need == c->committed)
        return true;
    // Exactly what this kernel may use: what an earlier one had beyond that is inaccessible again.
    if (need > c->committed && mprotect(c->b.shared, need, PROT_READ | PROT_WRITE))
        return false;
    if (need < c->committed && mprotect(c->b.shared + need, c->committed - need, PROT_NONE))
        return false;
    c->committed = need;
    return true;
}

static char *
place_of_rank(const struct cta *c, uint32_t rank)
{
    return c->slots + ((size_t)rank << RT_RANK_SHIFT);
}

// Moves the window to where one of that rank begins.
static bool
place_window(struct cta *c, uint32_t rank, bool in_cluster)
{
    if (!c->slots)
        return !in_cluster || (reserve_slots(c) && place_window(c, rank, true));
    if (c->b.shared == place_of_rank(c, rank))
        return true;
    if (!commit_window(c, 0))
        return false;
    c->b.shared = place_of_rank(c, rank);
    return true;
}

static struct cta *
map_cta(void)
{
    // Mapped, not allocated: most kernels touch a small part of the 200 KiB.
    struct cta *c =
        mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        return NULL;
    if (reserve_window(c))
        return c;
    munmap(c, sizeof *c);
    return NULL;
}

// Of the blocks at hand rather one whose window is where that rank's must be.
static struct cta *
take_free(struct worker *w, uint32_t rank, bool in_cluster)
{
    struct cta **at = &w->free_cta;
    for (struct cta **p = at; in_cluster && *p; p = &(*p)->next)
        if ((*p)->slots && (*p)->b.shared == place_of_rank(*p, rank)) {
            at = p;
            break;
        }
    struct cta *c = *at;
    if (c)
        *at = c->next;
    return c;
}

struct cta *
block_new(struct worker *w, struct launch *l, uint32_t rank)
{
    bool in_cluster = cluster_size(&l->g) > 1;
    struct cta *c = take_free(w, rank, in_cluster);
    if (!c && !(c = map_cta()))
        return NULL;
    c->worker = w;
    c->launch = l;
    c->b.grid = &l->g;
    c->b.smid = w->smid % l->g.multiprocessors;
    if (place_window(c, rank, in_cluster) && commit_window(c, l->g.total_shared) &&
        (in_cluster || cluster_form(&c, 1)))
        return c;
    block_put(c);
    return NULL;
}

void
block_put(struct cta *c)
{
    c->next = c->worker->free_cta;
    c->worker->free_cta = c;
}

void
block_pool_free(struct worker *w)
{
    while (w->free_cta) {
        struct cta *c = w->free_cta;
        w->free_cta = c->next;
        munmap(c->window, c->window_size);
        munmap(c, sizeof *c);
    }
}
