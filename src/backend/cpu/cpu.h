// SPDX-License-Identifier: MIT
// What the files of the CPU backend share: scopes, kernels, launches, workers and resident blocks.
//
// An OS thread that runs kernels is a worker: a pool thread, or the executor of a queue. A worker
// holds one or more resident blocks (struct cta) and runs one of them at a time; a block stays with
// its worker. Within a block each CUDA thread has a fiber; the worker's own stack runs the
// scheduler. Locks are never held across a switch.
#ifndef CPU_CPU_H
#define CPU_CPU_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "backend/backend.h"
#include "backend/cpu/fiber.h"
#include "backend/cpu/rt.h"

enum {
    CPU_MAX_SHARED = 48 << 10,
    CPU_MAX_SHARED_OPTIN = 227 << 10,
    CPU_MAX_SHARED_SM = 228 << 10,
    CPU_MAX_BLOCKS_SM = 32,
    CPU_MAX_THREADS_SM = 2048
};

// ---- device
// --------------------------------------------------------------------------------------------------------
struct backend_device {
    struct backend_props props;
    int index;
    size_t used;      // bytes, under memory.c's lock
    unsigned helpers; // pool threads that run its launches, under the pool's lock
};

// ---- scope
// ---------------------------------------------------------------------------------------------------------
struct heap;          // heap.c
struct printf_buffer; // printf.c

struct backend_scope {
    struct backend_device *dev;
    atomic_int error;                                    // sticky; set once
    atomic_size_t stack_limit, heap_limit, printf_limit; // bytes
    atomic_size_t multiprocessors;                       // that launches may use; 0: all
    pthread_mutex_t lock;                                // guards the rest
    pthread_cond_t no_queues;
    unsigned queues;
    struct heap *heap;         // made at the first device malloc
    struct printf_buffer *out; // made at the first printf
};

// Makes `error` the scope's sticky error unless it has one.
void scope_fail(struct backend_scope *s, int error);
// scope.c
struct backend_scope *cpu_scope_new(struct backend_device *d);
void cpu_scope_free(struct backend_scope *s);
int cpu_scope_error(struct backend_scope *s);
int cpu_scope_limit(struct backend_scope *s, const char *what, size_t value);
void heap_free_all(struct heap *h);
void printf_free(struct printf_buffer *p); // shows what is left
void cpu_flush_printf(struct backend_scope *s);

// ---- kernel
// ----------------------------------------------------------------------------------------------------------
enum { MAX_BORDERS = 6 };

// Written into each object as the constant `pw.facts`, so that an object from the cache suffices.
struct border {
    uint32_t offset, size; // bytes, in the parameter block
};

struct kernel_facts {
    uint32_t version;        // RT_VERSION
    uint32_t static_shared;  // bytes
    uint32_t dynamic_offset; // of dynamic shared memory in the window
    uint32_t local_bytes;    // allocas of the kernel and what it calls, summed
    uint32_t may_suspend;    // calls something that waits for other threads
    uint32_t may_exit;       // calls rt_exit
    uint32_t lanes;          // threads that the function runs as one: warp_fn; 0: one thread, kernel_fn
    uint32_t shape;          // warp_shape() of the blocks that a warp_fn serves
    uint32_t rows;           // it reads grid.tids
    struct border border[MAX_BORDERS]; // sizes among the parameters that thread numbers are compared with
    uint32_t nborders;
    uint32_t on_borders; // it serves launches where these are multiples of `lanes`; else all others
    uint32_t lane_threads;   // and needs the struct thread of every lane
    uint32_t recursive;      // a call cycle or an indirect call: local_bytes is no bound
};

typedef void kernel_fn(struct thread *t, void *params);
// Of a group of threads: its first one, how many there are.
typedef void warp_fn(struct thread *t, void *params, uint32_t n);

struct backend_kernel {
    kernel_fn *fn;
    struct kernel_facts facts;
    struct kernel_info info;
    char *name;
    struct loaded_code *code; // load.c
    // Of kernels that never suspend (schedule.c): nanoseconds a block took on one core, 0: not known; whether the last launch
    // was over so soon that other cores may have been no help.
    _Atomic uint32_t block_ns;
    atomic_bool was_short;
};

int cpu_compile(struct backend_scope *s, const struct compile_request *r,
                struct backend_kernel **out);
void cpu_kernel_free(struct backend_kernel *k);
bool cpu_kernel_fits(struct backend_kernel *k, const struct launch_hint *h);
const struct kernel_info *cpu_kernel_info(struct backend_kernel *k);

// ---- launch
// ------------------------------------------------------------------------------------------------------------
struct launch {
    struct grid g; // first: generated code sees a struct grid *
    struct backend_kernel *kernel;
    const char *name;
    struct backend_scope *scope;
    uint32_t stack_class;
    uint32_t chunk; // blocks taken at a time
    uint32_t
        max_resident; // blocks started and not ended, in all workers; ~0 for cooperative launches
    bool simple;      // no thread ever suspends
    _Atomic uint64_t next;      // first block that nobody has taken; may exceed g.blocks
    _Atomic uint64_t remaining; // blocks that have not ended
    atomic_uint resident;
    atomic_int error; // set once: blocks are no longer started, running ones are abandoned when
                      // they next wait
    atomic_uint done; // futex word: 1 once remaining is 0
    const struct backend_launcher *launcher;
    struct descent *descent; // descent.c; set once, under its lock
    unsigned depth;          // 0: launched by the host
    void (*item)(void *user, unsigned i); // instead of a kernel: pool_for
    void *user;
    struct launch *pool_next; // schedule.c, under its lock
    unsigned users;           // pool workers that hold a pointer; under its lock
    unsigned helpers;         // pool workers that ever helped; under its lock
};

void launch_fail(struct launch *l, int error); // sets the errors of launch and scope
static inline bool
launch_failed(struct launch *l)
{
    return atomic_load_explicit(&l->error, memory_order_relaxed) != 0;
}

// Runs a launch command on the calling thread and the pool; returns when all blocks have ended.
void launch_run(struct backend_scope *s, const struct command *c);

// ---- worker
// -----------------------------------------------------------------------------------------------------------
struct fault {
    int signo, code;
    bool address_known, write;
    uint64_t addr, pc, sp, trap;
};

struct worker {
    struct fiber main;  // the scheduler's place while a fiber runs
    struct cta *cta;    // whose fiber runs; NULL: none does
    struct fault fault; // valid after SWITCH_FAULT
    int stop_error;     // valid after SWITCH_STOP
    void *guard;        // frame of fault_try, NULL outside
    bool user_access;   // runtime code is touching memory that the program named
    uint32_t smid;
    struct stack_pool stacks;
    struct cta *free_cta; // reused blocks
    struct cta *resident; // circular list: next to run
    unsigned residents;
    char *scratch; // printf's, grown on demand
    size_t scratch_size;
    struct matrix_memory *matrix; // of matrix_meet.c, made when needed
    void *signal_stack;
};

// The calling OS thread's worker, made at first use, or NULL when memory is short. worker_end frees
// it.
struct worker *worker_self(void);
void worker_end(void);
int workers_configured(void); // POLYWARP_THREADS or the number of usable cores

// ---- resident blocks (block.c)
// --------------------------------------------------------------------------------------------
enum wait { WAIT_NONE, WAIT_BARRIER, WAIT_WARP, WAIT_ACTIVE, WAIT_SPIN, WAIT_CLUSTER };

struct thread_list {
    struct thread *head, *tail;
};

struct barrier {
    uint32_t arrived;      // threads in this phase
    uint32_t count;        // expected threads; 0: all of the block
    uint32_t trues, votes; // predicates of barrier.red
    uint32_t warps;        // explicit counts only: warps of which a lane arrived
    uint32_t lanes[RT_MAX_WARPS];
    struct thread_list waiting;
};

struct cta {
    struct block b; // first: generated code sees a struct block *
    struct worker *worker;
    struct launch *launch;
    struct cta *next, *prev;       // worker's resident list or free list
    char *window;                  // reservation for shared memory, with what surrounds it
    size_t window_size, committed; // bytes
    char *slots;                   // NULL, or 4 GiB-aligned: windows of other ranks begin 16 MiB apart
    uint32_t threads, started, live;
    uint32_t progress; // counts what other blocks may have waited for
    uint32_t rounds;        // of spinning threads without any progress
    uint32_t busy_barriers; // bit: barrier has waiting threads
    struct fiber *starting; // stack handed to thread_main
    uint64_t blocks;        // to run by block_run_warps
    uint32_t running;       // there: first thread of the group that runs
    bool counted;           // holds one of launch->users
    struct thread_list run, spinning;
    struct thread_list in_cluster;        // wait in barrier.cluster
    uint32_t cluster_phase;               // of the cluster's barrier
    uint32_t cluster_arrived;             // threads in this phase
    uint32_t cluster_lanes[RT_MAX_WARPS]; // which
    struct barrier barrier[RT_BARRIERS];
    struct warp warp[RT_MAX_WARPS];
    struct thread thread[RT_MAX_THREADS];
};

// What a fiber says when it goes back to the worker's stack.
enum { SWITCH_IDLE = 1, SWITCH_FAULT, SWITCH_STOP, SWITCH_NO_STACK };

enum block_state { BLOCK_DONE, BLOCK_SPINS, BLOCK_FAILED };

// Takes a block structure from the worker's pool for the block of that rank in a cluster; NULL when
// memory is short.
struct cta *block_new(struct worker *w, struct launch *l, uint32_t rank);
void block_begin(struct cta *c, uint64_t index);
enum block_state block_run(struct cta *c);
enum block_state block_run_simple(struct cta *c);
// `n` blocks from `first` on, of a kernel in warp mode that never suspends.
enum block_state block_run_warps(struct cta *c, uint64_t first, uint64_t n);
void block_put(struct cta *c);
void block_pool_free(struct worker *w);

// matrix_meet.c: the lanes of `set` wait in rt_matrix.
void matrix_meet(struct warp *w, uint32_t set);
void matrix_end(struct worker *w);

// For barrier.c and warp.c: take the thread off the processor; it must be in a list or meeting that
// wakes it. Make one runnable.
void thread_suspend(struct thread *t, enum wait why);
void thread_wake(struct thread *t);
static inline struct cta *
thread_cta(struct thread *t)
{
    return (struct cta *)t->block;
}
static inline struct launch *
thread_launch(struct thread *t)
{
    return (struct launch *)t->block->grid;
}
// Abandons the block with an error already logged.
void thread_stop(struct thread *t, int error) __attribute__((noreturn));

static inline void
list_push(struct thread_list *l, struct thread *t)
{
    t->next = NULL;
    if (l->tail)
        l->tail->next = t;
    else
        l->head = t;
    l->tail = t;
}

static inline struct thread *
list_pop(struct thread_list *l)
{
    struct thread *t = l->head;
    if (t && !(l->head = t->next))
        l->tail = NULL;
    return t;
}

// cluster.c: blocks that run together, all of one worker.
static inline uint32_t
cluster_size(const struct grid *g)
{
    return g->cluster[0] * g->cluster[1] * g->cluster[2];
}
// Index within the grid of a block of the cluster that holds the launch's `first`-th block to start.
uint64_t cluster_block(const struct grid *g, uint64_t first, uint32_t rank);
bool cluster_form(struct cta *const *member, uint32_t n); // false: no memory
void cluster_leave(struct cta *c);
void cluster_lanes_ended(struct warp *w, uint32_t lanes); // already taken off the block's `live`
// Does it wait for its cluster's other blocks, one of which can go on?
bool cluster_waits(const struct cta *c);
// barrier.c: a thread ended, so barriers that only waited for it open.
void barrier_thread_ended(struct cta *c);
// warp.c: likewise for meetings of its warp; and the lanes that wait to learn who is active.
void warp_lane_ended(struct warp *w);
void warp_resolve_active(struct warp *w);
const char *warp_op_name(uint32_t op);
// report.c: says what all threads of a block wait for, and where and why one failed.
void report_deadlock(struct cta *c);
int report_fault(struct cta *c, const struct fault *f); // returns the error code
void report_stop(struct thread *t, const char *what, const void *pc);

// ---- faults (fault.c)
// ---------------------------------------------------------------------------------------------------
void fault_install(void);                 // handlers; once
void fault_ensure(void);                  // again, if the program has replaced them
bool fault_thread_init(struct worker *w); // signal stack of the calling thread
void fault_thread_end(struct worker *w);
// Calls fn(a, b); true if it was cut short by a memory fault.
bool fault_try(struct worker *w, void (*fn)(void *a, void *b), void *a, void *b);

// ---- queues, memory, device
// ------------------------------------------------------------------------------------------------
struct backend_queue *cpu_queue_new(struct backend_scope *s, int priority);
void cpu_queue_free(struct backend_queue *q);
void cpu_submit(struct backend_queue *q, struct command *c);
bool cpu_queue_idle(struct backend_queue *q);
void queues_shutdown(void);
void pool_shutdown(void);
extern atomic_bool launches_stop;
void
launches_abort(void); // fails every launch under way when it next waits: at the end of the process

// copy.c: both return 0 or BE_ILLEGAL_ADDRESS.
int copy_run(struct worker *w, const struct command *c);
int fill_run(struct worker *w, const struct command *c);
// schedule.c: fn(user, i) for i < n on the pool and the caller.
void pool_for(unsigned n, void (*fn)(void *user, unsigned i), void *user);

int cpu_alloc(struct backend_scope *s, enum backend_memory kind, size_t size, void **out);
void cpu_free(struct backend_scope *s, enum backend_memory kind, void *p, size_t size);
void cpu_mem_info(struct backend_device *d, size_t *free_bytes, size_t *total_bytes);
uint64_t memory_total_default(void);
bool memory_account(struct backend_device *d, size_t bytes); // false: there is not so much left
void memory_unaccount(struct backend_device *d, size_t bytes);
bool memory_slab(const void *p, int *fd, size_t *offset); // where a small allocation lies in the slabs' file

// share.c
int share_file(void);             // a new file of memory, or -1
bool share_fault(uint64_t addr);  // in a signal handler: the access can be tried again
void share_end(void *p);          // a large allocation is freed
int cpu_chunk_new(struct backend_device *d, size_t size, struct backend_chunk **out);
int cpu_chunk_import(struct backend_device *d, int fd, struct backend_chunk **out);
int cpu_chunk_export(struct backend_chunk *c);
size_t cpu_chunk_size(const struct backend_chunk *c);
void cpu_chunk_free(struct backend_chunk *c);
int cpu_reserve(struct backend_device *d, size_t size, size_t align, uintptr_t hint, void **out);
void cpu_unreserve(struct backend_device *d, void *at, size_t size);
int cpu_map(struct backend_chunk *c, size_t offset, void *at, size_t size);
void cpu_unmap(struct backend_device *d, void *at, size_t size);
int cpu_protect(struct backend_device *d, void *at, size_t size, bool read, bool write);
int cpu_share(struct backend_scope *s, void *p, size_t size, int *fd, size_t *offset);

void futex_wait(atomic_uint *word, unsigned value, long timeout_ns); // timeout < 0: none
void futex_wake(atomic_uint *word, int n);

#endif
