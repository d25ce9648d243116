// SPDX-License-Identifier: MIT
// What generated code and the runtime share: the execution context `%pw` is a struct thread *. Read
// by the device library (devlib/cpu_rt.c, compiled to bitcode) and by the runtime, so that there is
// one definition of every offset.
#ifndef CPU_RT_H
#define CPU_RT_H

#include <stdint.h>

// Changes when a layout or the meaning of an rt_ function changes: objects in the cache were
// compiled against it.
#define RT_VERSION 5

enum {
    RT_WARP = 32,
    RT_MAX_THREADS = 1024,
    RT_MAX_WARPS = RT_MAX_THREADS / RT_WARP,
    RT_BARRIERS = 16,
    RT_MAX_CLUSTER = 16,
    // A block's window begins at an address whose bits 24.. are its rank in the cluster, so the
    // difference of two blocks' addresses keeps, in 32 bits, how many ranks lie between them.
    RT_RANK_SHIFT = 24
};

struct fiber;
struct block;
struct cluster;
struct warp;
struct grid;

// What the lanes of a warp meet for. Lanes meet if the class (bits 8..) agrees; the low bits tell
// what each wants of it.
enum rt_op {
    RT_SYNC = 0x000,
    RT_SHFL_UP = 0x100,
    RT_SHFL_DOWN,
    RT_SHFL_BFLY,
    RT_SHFL_IDX,
    RT_VOTE_ALL = 0x200,
    RT_VOTE_ANY,
    RT_VOTE_UNI,
    RT_VOTE_BALLOT,
    RT_MATCH_ANY = 0x300,
    RT_MATCH_ALL,
    RT_REDUX_ADD = 0x400,
    RT_REDUX_AND,
    RT_REDUX_OR,
    RT_REDUX_XOR,
    RT_REDUX_MIN,
    RT_REDUX_MAX,
    RT_REDUX_UMIN,
    RT_REDUX_UMAX,
    RT_REDUX_FMIN,
    RT_REDUX_FMAX,
    RT_REDUX_FMIN_ABS,
    RT_REDUX_FMAX_ABS,
    RT_REDUX_FMIN_NAN,
    RT_REDUX_FMAX_NAN,
    RT_REDUX_FMIN_ABS_NAN,
    RT_REDUX_FMAX_ABS_NAN,
    RT_ELECT = 0x500,
    RT_ACTIVEMASK = 0x600,
    RT_MATRIX = 0x700
};

enum rt_red { RT_RED_NONE, RT_RED_POPC, RT_RED_AND, RT_RED_OR, RT_RED_ARRIVE };

enum rt_stop { RT_TRAP, RT_BRKPT, RT_BAD_CALL };

struct thread {
    // Fixed while the thread lives: read by generated code.
    uint32_t tid[3];
    uint32_t index; // within the block
    uint32_t lane;
    int32_t spin; // calls of pw.spin left before the thread gives way
    struct block *block;
    struct warp *warp;
    struct fiber *fiber; // its stack; NULL before the start and after the end
    // Of a suspended thread: what it waits for and what it gets.
    struct thread *next; // in the one list that holds it
    void *base;          // where rt_exit continues: the frame that called the kernel
    uint32_t wait;       // enum wait (cpu.h)
    uint32_t ended;      // of a group's first thread: lanes that barriers no longer count
    uint32_t op, mask, site;
    uint32_t b, c;
    uint64_t value, result;
    uint32_t phase; // of the cluster's barrier at the thread's last arrival
};

struct warp {
    struct block *block;
    uint32_t index;
    uint32_t present; // lanes that the block has
    uint32_t exited;
    uint32_t running; // number of lanes that are not suspended (those not yet started count)
    uint32_t active;  // lanes that wait until `running` is 0, to learn who is there
    uint32_t ngroups;
    struct {
        uint32_t class_, mask, arrived;
    } group[RT_WARP]; // meetings under way; a lane waits in at most one
};

// One launch. Fixed while it runs, but for what schedule.c keeps behind it.
struct grid {
    uint32_t grid[3], block[3], cluster[3];
    uint32_t threads; // per block
    uint32_t warps;
    uint32_t static_shared, dynamic_shared, total_shared; // bytes; total: dynamic offset + dynamic
    uint32_t multiprocessors;
    uint64_t id;
    uint64_t blocks;
    void *params;
    uint64_t param_size;
    // What NVIDIA's driver keeps behind %envreg1 (high word) and %envreg2 (low word) of a
    // cooperative launch: the workspace's size in bytes and the barrier that cooperative_groups'
    // grid.sync() counts in.
    uint32_t workspace[2];
    uint32_t cooperative, explicit_cluster;
    // Of a kernel in warp mode whose warps span rows of a block: the threads' tid.x, .y, .z by their
    // index, with room for a whole warp at the end.
    const uint32_t *tids[3];
};

struct block {
    uint32_t ctaid[3];
    uint32_t smid;
    char *shared; // the block's window
    struct grid *grid;
    uint32_t rank, ranks;       // in its cluster, of how many
    char *peer[RT_MAX_CLUSTER]; // the windows of the cluster's blocks, this one's too; NULL: no block
    struct cluster *cluster;    // cluster.c; NULL: the block is alone
};

// enum backend_question of backend.h
enum { RT_ASK_DEVICE_COUNT, RT_ASK_DEVICE, RT_ASK_DEVICE_ATTRIBUTE, RT_ASK_LIMIT, RT_ASK_FUNCTION, RT_ASK_OCCUPANCY };

// ---- called by generated code
// --------------------------------------------------------------------------------
void rt_barrier(struct thread *t, uint32_t id, uint32_t count);
uint32_t rt_barrier_red(struct thread *t, uint32_t id, uint32_t count, uint32_t red, uint32_t pred);
void rt_barrier_arrive(struct thread *t, uint32_t id, uint32_t count);
uint64_t rt_warp(struct thread *t, uint32_t op, uint64_t value, uint32_t b, uint32_t c,
                 uint32_t mask);
uint64_t rt_warp_active(struct thread *t, uint32_t op, uint64_t value, uint32_t b, uint32_t c,
                        uint32_t site);
// The same for the lanes `active` of the warp that begins with t; `ended` lanes do not come again.
uint32_t rt_barrier_warp(struct thread *t, uint32_t id, uint32_t count, uint32_t active,
                         uint32_t ended, uint32_t red, uint32_t preds);
// The same without a count, for a group of any size: numbers of lanes. Only among themselves in a kernel.
void rt_barrier_group(struct thread *t, uint32_t id, uint32_t active, uint32_t ended);
void rt_lanes(struct thread *t, uint32_t op, const uint64_t *value, const uint32_t *b,
              const uint32_t *c, const uint32_t *members, uint32_t active, uint64_t *result);
void rt_cluster_arrive(struct thread *t);
void rt_cluster_wait(struct thread *t);
void rt_cluster_arrive_warp(struct thread *t, uint32_t active, uint32_t ended);
// Copies between generic addresses; of each 16 bytes those that the mask names (0xffff: all).
void rt_bulk_copy(struct thread *t, uint64_t dst, uint64_t src, uint32_t bytes, uint32_t mask);
void rt_bulk_reduce(struct thread *t, uint32_t op, uint32_t number, uint64_t dst, uint64_t src,
                    uint32_t bytes);
// To the same offset in each block that `ranks` names; dst and barrier are shared::cluster addresses.
void rt_bulk_multicast(struct thread *t, uint32_t dst, uint64_t src, uint32_t bytes,
                       uint32_t barrier, uint32_t ranks);
struct tensor_call {
    uint64_t map;
    uint32_t what; // enum emit_tensor
    int32_t at[5], offset[3];
    uint32_t shared, barrier, ranks; // shared::cluster addresses; ranks 0: one block
};
void rt_tensor(struct thread *t, const struct tensor_call *c);
void rt_tensormap_replace(struct thread *t, uint32_t field, uint32_t index, uint64_t map,
                          uint64_t value);
// devlib/mbarrier.c: bytes that a phase waits for have come.
void pw_mbarrier_complete(struct thread *t, uint64_t barrier, uint32_t bytes);
// What others may wait for has happened: spinning threads are worth another look.
void rt_progress(struct thread *t);
void rt_spin(struct thread *t);
// A matrix instruction (emit/matrix_form.h) of the warp: a lane's operands and results, in words.
void rt_matrix(struct thread *t, uint64_t form, const uint32_t *in, uint32_t nin, uint32_t *out, uint32_t nout);
// The same for the warp that begins with t: 32 lanes of each word after each other.
void rt_matrix_warp(struct thread *t, uint64_t form, const uint32_t *in, uint32_t *out, uint32_t active);
uint64_t rt_malloc(struct thread *t, uint64_t size);
void rt_free(struct thread *t, uint64_t addr);
int32_t rt_vprintf(struct thread *t, uint64_t fmt, uint64_t args);
// Launches by kernels (descent.c). Codes are the device runtime's; addresses that a program gives are
// read and written by the device library, where a fault is the kernel's.
uint64_t rt_device_buffer(struct thread *t, uint64_t kernel, uint32_t gx, uint32_t gy, uint32_t gz,
                          uint32_t bx, uint32_t by, uint32_t bz, uint32_t shared);
uint32_t rt_device_launch(struct thread *t, uint64_t buffer, uint64_t stream);
uint64_t rt_device_memory(struct thread *t, uint64_t align, uint64_t size);
uint32_t rt_device_launch_memory(struct thread *t, uint64_t kernel, uint64_t buffer, const uint32_t *grid,
                                 const uint32_t *block, uint32_t shared, uint64_t stream);
uint64_t rt_device_make(struct thread *t, uint32_t flags, uint32_t want);
uint32_t rt_device_use(struct thread *t, uint64_t handle, uint32_t orders);
uint32_t rt_device_ask(struct thread *t, uint32_t question, uint64_t a, uint64_t b, uint64_t c, uint64_t *answer);
uint32_t rt_device_error(struct thread *t);
uint32_t rt_device_set_error(struct thread *t, uint32_t error);
void rt_assertfail(struct thread *t, uint64_t message, uint64_t file, uint32_t line,
                   uint64_t function, uint64_t charsize) __attribute__((noreturn));
void rt_stop(struct thread *t, uint32_t why) __attribute__((noreturn));
void rt_exit(struct thread *t) __attribute__((noreturn));
uint64_t rt_clock(void);       // nanoseconds, monotonic
uint64_t rt_globaltimer(void); // nanoseconds of wall clock

#endif
