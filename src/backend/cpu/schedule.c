// SPDX-License-Identifier: MIT
// Dispatch of launches: blocks are taken in launch order by the thread that runs the queue and by
// the pool's threads. A worker whose blocks all spin starts further ones, so that blocks may wait
// for each other.
#include "backend/cpu/cpu.h"
#include "backend/cpu/descent.h"
#include "base/log.h"

#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    pthread_mutex_t lock;
    pthread_cond_t work, released, ended;
    struct launch *list; // launches that pool threads may help with, oldest first
    unsigned threads;
    bool stop;
} pool = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .work = PTHREAD_COND_INITIALIZER,
    .released = PTHREAD_COND_INITIALIZER,
    .ended = PTHREAD_COND_INITIALIZER,
};

static _Atomic uint64_t grid_ids;
atomic_bool launches_stop;

// ---- blocks of a launch
// -----------------------------------------------------------------------------------------
static void
blocks_ended(struct launch *l, uint64_t n)
{
    if (n && atomic_fetch_sub(&l->remaining, n) == n) {
        atomic_store(&l->done, 1);
        futex_wake(&l->done, INT_MAX);
    }
}

void
launch_fail(struct launch *l, int error)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&l->error, &none, error))
        return;
    if (l->scope)
        scope_fail(l->scope, error);
    uint64_t next = atomic_exchange(&l->next, l->g.blocks);
    if (next < l->g.blocks)
        blocks_ended(l, l->g.blocks - next);
}

static bool
has_more(struct launch *l)
{
    return atomic_load_explicit(&l->next, memory_order_relaxed) < l->g.blocks;
}

// Takes up to a chunk of blocks in order; returns how many.
static uint64_t
take(struct launch *l, uint64_t *first)
{
    if (!has_more(l))
        return 0;
    uint64_t i = atomic_fetch_add(&l->next, l->chunk), left = l->g.blocks - i;
    *first = i;
    return i >= l->g.blocks ? 0 : left < l->chunk ? left : l->chunk;
}

// ---- launches whose threads never wait
// -------------------------------------------------------------------------
static void
run_items(struct launch *l)
{
    uint64_t first, n;
    while ((n = take(l, &first))) {
        for (uint64_t i = 0; i < n; i++)
            l->item(l->user, (unsigned)(first + i));
        blocks_ended(l, n);
    }
}

static void
run_simple(struct worker *w, struct launch *l)
{
    uint64_t first, n;
    struct cta *c = block_new(w, l, 0);
    if (!c) {
        log_error("%s: no memory to run a block", l->name);
        launch_fail(l, BE_OUT_OF_MEMORY);
        return;
    }
    while ((n = take(l, &first))) {
        if (l->kernel->facts.lanes)
            block_run_warps(c, first, n);
        for (uint64_t i = 0; !l->kernel->facts.lanes && i < n && !launch_failed(l); i++) {
            block_begin(c, first + i);
            block_run_simple(c);
        }
        blocks_ended(l, n);
    }
    block_put(c);
}

// ---- resident blocks
// -----------------------------------------------------------------------------------------------
static void
hold(struct launch *l, bool counted)
{
    if (!counted)
        return;
    pthread_mutex_lock(&pool.lock);
    l->users++;
    pthread_mutex_unlock(&pool.lock);
}

static void
release(struct launch *l, bool counted)
{
    if (!counted)
        return;
    pthread_mutex_lock(&pool.lock);
    if (--l->users == 0)
        pthread_cond_broadcast(&pool.released);
    pthread_mutex_unlock(&pool.lock);
}

static void
add_resident(struct worker *w, struct cta *c)
{
    if (w->resident) {
        c->next = w->resident;
        c->prev = w->resident->prev;
        c->prev->next = c->next->prev = c;
    } else {
        c->next = c->prev = c;
    }
    w->resident = c; // the new block runs first
    w->residents++;
}

static void
remove_resident(struct worker *w, struct cta *c)
{
    c->prev->next = c->next;
    c->next->prev = c->prev;
    if (w->resident == c)
        w->resident = c->next == c ? NULL : c->next;
    w->residents--;
}

// As many blocks as a cluster has, by rank; false after undoing.
static bool
get_blocks(struct worker *w, struct launch *l, struct cta **member, uint32_t n)
{
    uint32_t k = 0;
    while (k < n && (member[k] = block_new(w, l, k)))
        k++;
    if (k == n && (n == 1 || cluster_form(member, n)))
        return true;
    while (k-- > 0)
        block_put(member[k]);
    return false;
}

// Starts the next block of the launch, or the next cluster, if one is left and may become resident.
static bool
start_block(struct worker *w, struct launch *l, bool counted)
{
    struct cta *member[RT_MAX_CLUSTER];
    uint32_t n = cluster_size(&l->g);
    uint64_t first;
    if (w->residents && atomic_load(&l->resident) >= l->max_resident)
        return false;
    if (!take(l, &first))
        return false;
    if (!get_blocks(w, l, member, n)) {
        log_error("%s: no memory for block %llu", l->name, (unsigned long long)first);
        launch_fail(l, BE_OUT_OF_MEMORY);
        blocks_ended(l, n);
        return false;
    }
    for (uint32_t k = n; k-- > 0;) {
        hold(l, counted);
        member[k]->counted = counted;
        block_begin(member[k], cluster_block(&l->g, first, k));
        add_resident(w, member[k]);
    }
    atomic_fetch_add(&l->resident, n);
    return true;
}

static void
end_block(struct worker *w, struct cta *c)
{
    struct launch *l = c->launch;
    bool counted = c->counted;
    remove_resident(w, c);
    cluster_leave(c);
    block_put(c);
    atomic_fetch_sub(&l->resident, 1);
    blocks_ended(l, 1);
    release(l, counted);
}

// Runs every resident block once; true if all of them spin and none has come nearer to its end.
static bool
run_round(struct worker *w)
{
    bool all_spin = true;
    for (unsigned n = w->residents; n > 0; n--) {
        struct cta *c = w->resident;
        uint32_t before = c->progress;
        w->resident = c->next;
        if (block_run(c) != BLOCK_SPINS) {
            end_block(w, c);
            all_spin = false;
        } else if (c->progress != before) {
            all_spin = false;
        }
    }
    return all_spin;
}

// A pool thread more may work for the launch: its device has threads left, and the launch, where it
// may not use all of them, was not yet helped by as many. Under the pool's lock.
static bool
may_help(const struct launch *l)
{
    if (!l->scope)
        return true;
    unsigned most = (unsigned)l->scope->dev->props.multiprocessors;
    return l->scope->dev->helpers + 1 < most &&
           (l->g.multiprocessors >= most || l->helpers + 1 < l->g.multiprocessors);
}

// Another launch with blocks to start, held for the caller. Under the pool's lock.
static struct launch *
find_launch(const struct launch *except, bool simple)
{
    for (struct launch *l = pool.list; l; l = l->pool_next)
        if (l != except && has_more(l) && may_help(l) && (simple || !l->simple) &&
            (l->item || atomic_load(&l->resident) < l->max_resident)) {
            l->users++;
            return l;
        }
    return NULL;
}

static bool
start_foreign(struct worker *w, const struct launch *except)
{
    pthread_mutex_lock(&pool.lock);
    struct launch *l = find_launch(except, false);
    pthread_mutex_unlock(&pool.lock);
    if (!l)
        return false;
    bool started = start_block(w, l, true);
    release(l, true);
    return started;
}

static void
wait_while_spinning(unsigned times)
{
    enum { YIELDS = 200, MAX_SLEEP_NS = 100000 };
    if (times < YIELDS) {
        sched_yield();
        return;
    }
    long ns = (long)(times - YIELDS + 1) * 1000;
    struct timespec t = {0, ns < MAX_SLEEP_NS ? ns : MAX_SLEEP_NS};
    nanosleep(&t, NULL);
}

// Works until the launch has no more blocks to start and none is resident here. `pooled`: a pool
// thread, which also helps other launches while its blocks spin, and holds `l` only until its last
// block has been started.
static void
run_blocks(struct worker *w, struct launch *l, bool pooled)
{
    bool held = pooled;
    for (unsigned idle = 0;;) {
        bool more = held || !pooled;
        if (more && !has_more(l) && held) {
            release(l, true);
            held = more = false;
        }
        if (!w->residents && !(more && start_block(w, l, pooled)))
            break;
        if (!run_round(w) || (more && start_block(w, l, pooled)) ||
            (pooled && start_foreign(w, more ? l : NULL)))
            idle = 0;
        else
            wait_while_spinning(idle++);
    }
    if (held)
        release(l, true);
}

// ---- the pool
// ------------------------------------------------------------------------------------------------------
static void
help(struct worker *w, struct launch *l)
{
    if (!l->item && !l->simple) {
        run_blocks(w, l, true); // releases the launch itself: it may be gone on return
        return;
    }
    if (l->item)
        run_items(l);
    else
        run_simple(w, l);
    release(l, true);
}

static void *
pool_thread(void *unused)
{
    (void)unused;
    struct worker *w = worker_self();
    pthread_mutex_lock(&pool.lock);
    while (w && !pool.stop) {
        struct launch *l = find_launch(NULL, true);
        if (!l) {
            pthread_cond_wait(&pool.work, &pool.lock);
            continue;
        }
        struct backend_device *d = l->scope ? l->scope->dev : NULL;
        l->helpers++;
        if (d)
            d->helpers++;
        pthread_mutex_unlock(&pool.lock);
        help(w, l); // l may be gone then
        pthread_mutex_lock(&pool.lock);
        if (d)
            d->helpers--;
    }
    pthread_mutex_unlock(&pool.lock);
    worker_end();
    pthread_mutex_lock(&pool.lock);
    pool.threads--;
    pthread_cond_broadcast(&pool.ended);
    pthread_mutex_unlock(&pool.lock);
    return NULL;
}

// One thread fewer than workers: the thread that runs the queue is the other. Under the pool's
// lock.
static void
start_threads(void)
{
    pthread_attr_t attr;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    while (pool.threads + 1 < (unsigned)workers_configured()) {
        pthread_t id;
        if (pthread_create(&id, &attr, pool_thread, NULL))
            break;
        pool.threads++;
    }
    pthread_attr_destroy(&attr);
}

static void
publish(struct launch *l)
{
    pthread_mutex_lock(&pool.lock);
    start_threads();
    struct launch **at = &pool.list;
    while (*at)
        at = &(*at)->pool_next;
    *at = l;
    uint64_t useful = (l->g.blocks + l->chunk - 1) / l->chunk - 1;
    if (useful >= pool.threads)
        pthread_cond_broadcast(&pool.work);
    else
        for (; useful; useful--)
            pthread_cond_signal(&pool.work);
    pthread_mutex_unlock(&pool.lock);
}

static void
withdraw(struct launch *l)
{
    pthread_mutex_lock(&pool.lock);
    for (struct launch **at = &pool.list; *at; at = &(*at)->pool_next)
        if (*at == l) {
            *at = l->pool_next;
            break;
        }
    while (l->users)
        pthread_cond_wait(&pool.released, &pool.lock);
    pthread_mutex_unlock(&pool.lock);
}

static void
await(struct launch *l)
{
    enum { SPINS = 1000 };
    for (int i = 0; i < SPINS && !atomic_load_explicit(&l->done, memory_order_acquire); i++)
        __builtin_ia32_pause();
    while (!atomic_load(&l->done))
        futex_wait(&l->done, 0, -1);
}

// Waking another core takes longer than some launches.
static bool
worth_sharing(struct launch *l)
{
    enum { WAKING_NS = 30000 };
    bool possible = l->g.blocks > l->chunk && (l->scope ? l->g.multiprocessors > 1 : workers_configured() > 1);
    if (!possible || !l->kernel || !l->simple)
        return possible;
    uint32_t ns = atomic_load_explicit(&l->kernel->block_ns, memory_order_relaxed);
    return ns ? ns * l->g.blocks > WAKING_NS : !atomic_load_explicit(&l->kernel->was_short, memory_order_relaxed);
}

static void
learn(struct launch *l, bool shared, uint64_t ns)
{
    enum { SHORT_NS = 150000 };
    if (shared)
        atomic_store_explicit(&l->kernel->was_short, ns < SHORT_NS, memory_order_relaxed);
    else if (l->g.blocks > 1)
        atomic_store_explicit(&l->kernel->block_ns, (uint32_t)(ns / l->g.blocks + 1), memory_order_relaxed);
}

static void
execute(struct worker *w, struct launch *l)
{
    bool shared = worth_sharing(l), learns = l->kernel && l->simple && l->g.blocks > l->chunk;
    uint64_t start = learns ? rt_clock() : 0;
    if (shared)
        publish(l);
    if (l->item)
        run_items(l);
    else if (l->simple)
        run_simple(w, l);
    else
        run_blocks(w, l, false);
    await(l);
    if (shared)
        withdraw(l);
    if (learns)
        learn(l, shared, rt_clock() - start);
}

void
pool_for(unsigned n, void (*fn)(void *user, unsigned i), void *user)
{
    struct launch l = {.item = fn, .user = user, .chunk = 1, .simple = true, .max_resident = ~0u};
    l.g.blocks = n;
    atomic_init(&l.remaining, n);
    if (n)
        execute(NULL, &l);
}

// ---- launches
// --------------------------------------------------------------------------------------------------------
static uint32_t
stack_for(const struct backend_scope *s, const struct kernel_facts *f)
{
    // Frames hold more than the allocas: spills, saved registers, what runtime functions need
    // (printf is the deepest).
    size_t limit = atomic_load(&s->stack_limit);
    size_t need = (64 << 10) + (size_t)f->local_bytes * 2 + limit;
    if (f->lanes) // vectors are spilled, and each lane has its local variables
        need += 192 << 10;
    if (f->recursive)
        need += (128 << 10) + limit * 16;
    return stack_class(need);
}

static uint32_t
chunk_for(const struct launch *l)
{
    enum { THREADS = 16384 }; // worth one visit to the shared counter
    if (!l->simple)
        return cluster_size(&l->g);
    uint64_t share = l->g.blocks / ((uint64_t)l->g.multiprocessors * 4),
             most = THREADS / l->g.threads;
    uint64_t n = share < most ? share : most;
    return n ? (uint32_t)n : 1;
}

// As many as the device's occupancy promises; more where blocks are small, for programs in which
// blocks wait for later ones. Bounded, since each takes stacks and a window of address space.
static uint32_t
resident_for(const struct launch *l, bool cooperative)
{
    enum { THREADS = 65536, BLOCKS = 4096 };
    uint32_t promised = CPU_MAX_BLOCKS_SM * l->g.multiprocessors, fit = THREADS / l->g.threads;
    fit = fit < BLOCKS ? fit : BLOCKS;
    return cooperative ? ~0u : promised > fit ? promised : fit;
}

// Thread numbers of a block, for warps that span its rows. Freed with the launch.
static bool
number_threads(struct launch *l)
{
    struct grid *g = &l->g;
    if (!l->kernel->facts.rows)
        return true;
    uint32_t room = g->warps * RT_WARP, *t = calloc(3 * (size_t)room, sizeof *t), i = 0;
    for (int k = 0; k < 3; k++)
        g->tids[k] = t ? t + (size_t)k * room : NULL;
    for (uint32_t z = 0; t && z < g->block[2]; z++)
        for (uint32_t y = 0; y < g->block[1]; y++)
            for (uint32_t x = 0; x < g->block[0]; x++, i++) {
                t[i] = x;
                t[room + i] = y;
                t[2 * room + i] = z;
            }
    return t != NULL;
}

static bool
fits_clusters(const struct grid *g)
{
    bool whole = true;
    for (int i = 0; i < 3; i++)
        whole &= g->cluster[i] <= RT_MAX_CLUSTER && g->grid[i] % g->cluster[i] == 0;
    return whole && cluster_size(g) <= RT_MAX_CLUSTER;
}

static bool
prepare(struct launch *l, struct backend_scope *s, const struct command *c)
{
    const struct kernel_facts *f = &c->launch.kernel->facts;
    struct grid *g = &l->g;
    memcpy(g->grid, c->launch.grid, sizeof g->grid);
    memcpy(g->block, c->launch.block, sizeof g->block);
    g->explicit_cluster = c->launch.cluster[0] != 0;
    for (int i = 0; i < 3; i++)
        g->cluster[i] = c->launch.cluster[i] ? c->launch.cluster[i] : 1;
    uint64_t threads = (uint64_t)g->block[0] * g->block[1] * g->block[2];
    g->blocks = (uint64_t)g->grid[0] * g->grid[1] * g->grid[2];
    uint64_t shared = (uint64_t)f->dynamic_offset + c->launch.dynamic_shared;
    if (!c->launch.dynamic_shared)
        shared = f->static_shared;
    l->name = c->launch.name ? c->launch.name : c->launch.kernel->name;
    l->stack_class = stack_for(s, f);
    if (!threads || threads > RT_MAX_THREADS || !g->blocks || shared > CPU_MAX_SHARED_SM ||
        !l->stack_class || !fits_clusters(g)) {
        log_error("%s: cannot run %llu blocks of %llu threads with %llu bytes of shared memory",
                  l->name, (unsigned long long)g->blocks, (unsigned long long)threads,
                  (unsigned long long)shared);
        return false;
    }
    const struct launch_hint hint = {{g->block[0], g->block[1], g->block[2]}, c->launch.params, c->launch.param_size};
    if (!cpu_kernel_fits(c->launch.kernel, &hint)) {
        log_error("%s: compiled for another launch", l->name);
        return false;
    }
    g->threads = (uint32_t)threads;
    g->warps = (g->threads + RT_WARP - 1) / RT_WARP;
    g->static_shared = f->static_shared;
    g->dynamic_shared = c->launch.dynamic_shared;
    g->total_shared = (uint32_t)shared;
    size_t limit = atomic_load(&s->multiprocessors);
    g->multiprocessors = (uint32_t)s->dev->props.multiprocessors;
    if (limit && limit < g->multiprocessors)
        g->multiprocessors = (uint32_t)limit;
    g->id = atomic_fetch_add(&grid_ids, 1) + 1;
    g->params = c->launch.params;
    g->param_size = c->launch.param_size;
    g->cooperative = c->launch.cooperative;
    g->workspace[0] = sizeof g->workspace;
    l->kernel = c->launch.kernel;
    l->scope = s;
    l->simple = !f->may_suspend && cluster_size(g) == 1;
    if (!number_threads(l)) {
        log_error("%s: no memory to launch", l->name);
        return false;
    }
    l->chunk = chunk_for(l);
    l->max_resident = resident_for(l, c->launch.cooperative);
    atomic_init(&l->remaining, g->blocks);
    return true;
}

struct descent *
launch_grid(struct backend_scope *s, const struct command *c, unsigned depth)
{
    struct launch l = {.depth = depth, .launcher = c->launch.launcher};
    struct worker *w = worker_self();
    if (!w) {
        scope_fail(s, BE_OUT_OF_MEMORY);
        return NULL;
    }
    if (!prepare(&l, s, c)) {
        scope_fail(s, BE_LAUNCH_OUT_OF_RESOURCES);
        return NULL;
    }
    LOG(LOG_LAUNCH, "%s<<<(%u,%u,%u), (%u,%u,%u), %u>>>", l.name, l.g.grid[0], l.g.grid[1],
        l.g.grid[2], l.g.block[0], l.g.block[1], l.g.block[2], l.g.dynamic_shared);
    fault_ensure();
    execute(w, &l);
    free((void *)l.g.tids[0]);
    return l.descent;
}

void
launch_run(struct backend_scope *s, const struct command *c)
{
    struct descent *d = launch_grid(s, c, 0);
    if (d)
        descent_run(s, d, 0);
}

void
launches_abort(void)
{
    atomic_store(&launches_stop, true);
}

void
pool_shutdown(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2; // a kernel that never ends must not keep the process
    pthread_mutex_lock(&pool.lock);
    pool.stop = true;
    pthread_cond_broadcast(&pool.work);
    while (pool.threads && !pthread_cond_timedwait(&pool.ended, &pool.lock, &end))
        ;
    pthread_mutex_unlock(&pool.lock);
}
