// SPDX-License-Identifier: MIT
// Launches by kernels (CUDA dynamic parallelism): what the device runtime's PTX asks of a driver.
//
// A launch is kept with its grid and runs once the grid's own blocks have ended: no kernel may wait
// for one that it launched. Launches in different streams are independent, so they run beside each
// other, on the pool; those of one stream run in order. Where events were used all run in the order
// in which they were made, which no wait for an event can contradict.
#include "backend/cpu/descent.h"

#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>

enum { MAX_DEPTH = 24 };

// Streams that exist without being made, by their handles.
enum { STREAM_BLOCK = 0, STREAM_LEGACY = 1, STREAM_THREAD = 2, STREAM_TAIL = 3, STREAM_FORGET = 4, FIRST_STREAM = 16 };

// Codes of the device runtime's own.
enum { CNP_OK, CNP_INVALID_VALUE, CNP_MEMORY = 4, CNP_DEPTH = 5, CNP_RESOURCES = 6, CNP_CONFIGURATION = 7 };

// A parameter buffer, and the launch that it was given to.
struct child {
    uint64_t handle;
    uint32_t grid[3], block[3];
    uint32_t shared;
    size_t size;
    uint64_t lane[2]; // launches with the same are in one stream
    bool launched;
    struct command *command; // only its memory for parameters, until it runs
};

struct descent {
    const struct backend_launcher *launcher;
    unsigned depth; // of the grid
    bool ordered;   // events were used
    uint64_t last;  // handle of a stream or event given out
    pthread_mutex_t lock; // guards all
    struct intmap buffers; // address of parameters -> struct child
    struct child **children, **tails; // vecs: launched, in order
    struct child **all;    // vec
    struct intmap errors;  // block and thread -> last error
};

static pthread_mutex_t make_lock = PTHREAD_MUTEX_INITIALIZER;

static struct launch *
launch_of(const struct thread *t)
{
    return (struct launch *)t->block->grid;
}

// The descent of the thread's grid, made at the first use; NULL where kernels cannot launch.
static struct descent *
descent_of(const struct thread *t)
{
    struct launch *l = launch_of(t);
    struct descent *d = __atomic_load_n(&l->descent, __ATOMIC_ACQUIRE);
    if (d || !l->launcher)
        return d;
    pthread_mutex_lock(&make_lock);
    d = l->descent ? l->descent : calloc(1, sizeof *d);
    if (d && !l->descent) {
        pthread_mutex_init(&d->lock, NULL);
        d->launcher = l->launcher;
        d->depth = l->depth;
        d->last = FIRST_STREAM;
        __atomic_store_n(&l->descent, d, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&make_lock);
    return d;
}

static uint64_t
block_number(const struct thread *t)
{
    const struct block *b = t->block;
    const uint32_t *n = b->grid->grid;
    return b->ctaid[0] + (uint64_t)n[0] * (b->ctaid[1] + (uint64_t)n[1] * b->ctaid[2]);
}

// ---- errors ---------------------------------------------------------------
static uint64_t
thread_key(const struct thread *t)
{
    return block_number(t) * RT_MAX_THREADS + t->index;
}

uint32_t
rt_device_set_error(struct thread *t, uint32_t error)
{
    struct descent *d = descent_of(t);
    if (!d)
        return error;
    pthread_mutex_lock(&d->lock);
    if (error)
        intmap_put(&d->errors, thread_key(t), (void *)(uintptr_t)error);
    else
        intmap_del(&d->errors, thread_key(t));
    pthread_mutex_unlock(&d->lock);
    return error;
}

uint32_t
rt_device_error(struct thread *t)
{
    struct descent *d = __atomic_load_n(&launch_of(t)->descent, __ATOMIC_ACQUIRE);
    if (!d)
        return 0;
    pthread_mutex_lock(&d->lock);
    uint32_t e = (uint32_t)(uintptr_t)intmap_get(&d->errors, thread_key(t));
    pthread_mutex_unlock(&d->lock);
    return e;
}

// ---- launches by threads --------------------------------------------------
static struct child *
new_child(struct descent *d, size_t size)
{
    struct child *c = calloc(1, sizeof *c);
    if (!c)
        return NULL;
    c->size = size;
    c->command = command_new(CMD_LAUNCH, size ? size : 1);
    pthread_mutex_lock(&d->lock);
    vec_push(d->all, c);
    intmap_put(&d->buffers, (uintptr_t)c->command->launch.params, c);
    pthread_mutex_unlock(&d->lock);
    return c;
}

static uint32_t
code_of(int error)
{
    switch (error) {
    case BE_OK:
        return CNP_OK;
    case BE_OUT_OF_MEMORY:
        return CNP_MEMORY;
    case BE_LAUNCH_OUT_OF_RESOURCES:
        return CNP_RESOURCES;
    default:
        return CNP_CONFIGURATION;
    }
}

// Address for the parameters; 0 when the launch cannot be made: the thread's last error says why.
uint64_t
rt_device_buffer(struct thread *t, uint64_t handle, uint32_t gx, uint32_t gy, uint32_t gz, uint32_t bx,
                 uint32_t by, uint32_t bz, uint32_t shared)
{
    enum { CUDA_INVALID_CONFIGURATION = 9, CUDA_OUT_OF_RESOURCES = 701, CUDA_OUT_OF_MEMORY = 2 };
    struct descent *d = descent_of(t);
    uint32_t grid[3] = {gx, gy, gz}, block[3] = {bx, by, bz};
    size_t size = 0;
    int error = d ? d->launcher->check(d->launcher->user, handle, grid, block, shared, &size) : BE_NOT_SUPPORTED;
    struct child *c = error ? NULL : new_child(d, size);
    if (!c) {
        rt_device_set_error(t, !error                                ? CUDA_OUT_OF_MEMORY
                               : error == BE_LAUNCH_OUT_OF_RESOURCES ? CUDA_OUT_OF_RESOURCES
                                                                     : CUDA_INVALID_CONFIGURATION);
        return 0;
    }
    c->handle = handle;
    memcpy(c->grid, grid, sizeof grid);
    memcpy(c->block, block, sizeof block);
    c->shared = shared;
    return (uint64_t)(uintptr_t)c->command->launch.params;
}

static void
place(struct descent *d, const struct thread *t, struct child *c, uint64_t stream)
{
    c->launched = true;
    c->lane[0] = stream;
    switch (stream) {
    case STREAM_BLOCK:
    case STREAM_LEGACY:
        c->lane[0] = STREAM_BLOCK;
        c->lane[1] = block_number(t);
        break;
    case STREAM_THREAD:
        c->lane[1] = thread_key(t);
        break;
    case STREAM_FORGET:
        c->lane[1] = vec_len(d->children); // one for itself
        break;
    default:
        break;
    }
    if (stream == STREAM_TAIL)
        vec_push(d->tails, c);
    else
        vec_push(d->children, c);
}

uint32_t
rt_device_launch(struct thread *t, uint64_t buffer, uint64_t stream)
{
    struct descent *d = descent_of(t);
    if (!d)
        return CNP_CONFIGURATION;
    if (d->depth + 1 > MAX_DEPTH)
        return CNP_DEPTH;
    pthread_mutex_lock(&d->lock);
    struct child *c = intmap_get(&d->buffers, buffer);
    bool known = stream <= STREAM_FORGET || (stream > FIRST_STREAM && stream <= d->last);
    bool good = c && c->handle && !c->launched && known;
    if (good)
        place(d, t, c, stream);
    pthread_mutex_unlock(&d->lock);
    return good ? CNP_OK : CNP_INVALID_VALUE;
}

// The older pair of calls: memory first, of a size that the caller knows; all the rest at the launch.
uint64_t
rt_device_memory(struct thread *t, uint64_t align, uint64_t size)
{
    (void)align; // parameters are aligned for any type
    struct descent *d = descent_of(t);
    struct child *c = d && size <= UINT16_MAX ? new_child(d, (size_t)size) : NULL;
    return c ? (uint64_t)(uintptr_t)c->command->launch.params : 0;
}

uint32_t
rt_device_launch_memory(struct thread *t, uint64_t handle, uint64_t buffer, const uint32_t *grid,
                        const uint32_t *block, uint32_t shared, uint64_t stream)
{
    struct descent *d = descent_of(t);
    size_t size = 0;
    int error = d ? d->launcher->check(d->launcher->user, handle, grid, block, shared, &size) : BE_NOT_SUPPORTED;
    if (error)
        return code_of(error);
    if (!buffer)
        buffer = rt_device_memory(t, 0, 0);
    pthread_mutex_lock(&d->lock);
    struct child *c = intmap_get(&d->buffers, buffer);
    bool good = c && !c->launched && c->size >= size;
    if (good) {
        c->handle = handle;
        memcpy(c->grid, grid, sizeof c->grid);
        memcpy(c->block, block, sizeof c->block);
        c->shared = shared;
    }
    pthread_mutex_unlock(&d->lock);
    return good ? rt_device_launch(t, buffer, stream) : CNP_INVALID_VALUE;
}

// ---- streams, events, questions -------------------------------------------
// A handle of a stream or event; `flags` must be `want`. 0: no.
uint64_t
rt_device_make(struct thread *t, uint32_t flags, uint32_t want)
{
    struct descent *d = descent_of(t);
    if (!d || flags != want)
        return 0;
    pthread_mutex_lock(&d->lock);
    uint64_t h = ++d->last;
    pthread_mutex_unlock(&d->lock);
    return h;
}

// A stream or event is used or destroyed.
uint32_t
rt_device_use(struct thread *t, uint64_t handle, uint32_t orders)
{
    struct descent *d = descent_of(t);
    if (!d)
        return CNP_INVALID_VALUE;
    pthread_mutex_lock(&d->lock);
    bool good = handle > FIRST_STREAM && handle <= d->last;
    d->ordered |= orders;
    pthread_mutex_unlock(&d->lock);
    return good ? CNP_OK : CNP_INVALID_VALUE;
}

uint32_t
rt_device_ask(struct thread *t, uint32_t question, uint64_t a, uint64_t b, uint64_t c, uint64_t *answer)
{
    const struct backend_launcher *l = launch_of(t)->launcher;
    *answer = 0;
    return l && !l->ask(l->user, (enum backend_question)question, a, b, c, answer) ? CNP_OK : CNP_INVALID_VALUE;
}

// ---- running --------------------------------------------------------------
// Runs the grid of one launch; its descent.
static struct descent *
run_grid(struct backend_scope *s, const struct backend_launcher *l, struct child *c, unsigned depth)
{
    struct command *command;
    if (cpu_scope_error(s))
        return NULL;
    int error = l->command(l->user, c->handle, c->grid, c->block, c->shared, c->command->launch.params, c->size,
                           &command);
    if (error) {
        log_error("a launch by a kernel cannot be run: %d", error);
        scope_fail(s, BE_LAUNCH_FAILED);
        return NULL;
    }
    struct descent *d = launch_grid(s, command, depth);
    command_free(command);
    return d;
}

struct lanes {
    struct backend_scope *scope;
    struct descent *descent;
    size_t *first; // vec: where a lane begins in descent->children, sorted by lane
};

static void
run_lane(void *user, unsigned i)
{
    struct lanes *l = user;
    struct descent *d = l->descent;
    size_t end = i + 1 < vec_len(l->first) ? l->first[i + 1] : vec_len(d->children);
    for (size_t k = l->first[i]; k < end; k++) {
        struct descent *inner = run_grid(l->scope, d->launcher, d->children[k], d->depth + 1);
        if (inner)
            descent_run(l->scope, inner, d->depth + 1);
    }
}

struct place {
    struct child *child;
    size_t index;
};

static int
by_lane(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    for (int i = 0; i < 2; i++)
        if (x->child->lane[i] != y->child->lane[i])
            return x->child->lane[i] < y->child->lane[i] ? -1 : 1;
    return x->index < y->index ? -1 : 1;
}

static bool
same_lane(const struct child *a, const struct child *b)
{
    return a->lane[0] == b->lane[0] && a->lane[1] == b->lane[1];
}

static void
sort_by_lane(struct descent *d)
{
    size_t n = vec_len(d->children);
    struct place *p = calloc(n, sizeof *p);
    if (!p)
        abort();
    for (size_t i = 0; i < n; i++)
        p[i] = (struct place){d->children[i], i};
    qsort(p, n, sizeof *p, by_lane);
    for (size_t i = 0; i < n; i++)
        d->children[i] = p[i].child;
    free(p);
}

static void
run_children(struct backend_scope *s, struct descent *d)
{
    struct lanes l = {s, d, NULL};
    size_t n = vec_len(d->children);
    if (!n)
        return;
    if (!d->ordered)
        sort_by_lane(d);
    for (size_t i = 0; i < n; i++)
        if (!i || (!d->ordered && !same_lane(d->children[i - 1], d->children[i])))
            vec_push(l.first, i);
    pool_for((unsigned)vec_len(l.first), run_lane, &l);
    vec_free(l.first);
}

static void
descent_free(struct descent *d)
{
    for (size_t i = 0; i < vec_len(d->all); i++) {
        command_free(d->all[i]->command);
        free(d->all[i]);
    }
    vec_free(d->all);
    vec_free(d->children);
    vec_free(d->tails);
    intmap_free(&d->buffers);
    intmap_free(&d->errors);
    pthread_mutex_destroy(&d->lock);
    free(d);
}

// A tail launch runs when the grid and all else of its descent has ended. What tails launch as tails
// runs before the next of them; a chain of tails, however long, takes no stack.
void
descent_run(struct backend_scope *s, struct descent *d, unsigned depth)
{
    struct descent **open = NULL; // vec: descents whose tails are not done, the innermost last
    size_t *next = NULL;          // vec: their next tail
    for (;;) {
        if (d) {
            run_children(s, d);
            vec_push(open, d);
            vec_push(next, 0);
        }
        while (vec_len(open) && next[vec_len(next) - 1] == vec_len(open[vec_len(open) - 1]->tails)) {
            descent_free(vec_pop(open));
            (void)vec_pop(next);
        }
        if (!vec_len(open))
            break;
        struct descent *at = open[vec_len(open) - 1];
        struct child *tail = at->tails[next[vec_len(next) - 1]++];
        d = run_grid(s, at->launcher, tail, depth);
    }
    vec_free(open);
    vec_free(next);
}
