// SPDX-License-Identifier: MIT
// What a backend is: compile(module) -> kernel, memory, queues of commands. Each slot says who calls it, on which thread,
// and what it returns. All functions may be called from any thread unless said otherwise. Error codes are numerically CUresult.
#ifndef BACKEND_BACKEND_H
#define BACKEND_BACKEND_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

// The codes a backend may answer; the driver asserts that they equal CUresult's.
enum backend_error {
    BE_OK = 0,
    BE_INVALID_VALUE = 1,
    BE_OUT_OF_MEMORY = 2,
    BE_NO_BINARY = 209,
    BE_INVALID_PTX = 218,
    BE_UNSUPPORTED_PTX = 222,
    BE_JIT_FAILED = 221,
    BE_OPERATING_SYSTEM = 304,
    BE_NOT_FOUND = 500,
    BE_NOT_READY = 600,
    BE_ILLEGAL_ADDRESS = 700,
    BE_LAUNCH_OUT_OF_RESOURCES = 701,
    BE_LAUNCH_TIMEOUT = 702,
    BE_ASSERT = 710,
    BE_HARDWARE_STACK = 714,
    BE_ILLEGAL_INSTRUCTION = 715,
    BE_MISALIGNED = 716,
    BE_INVALID_PC = 718,
    BE_LAUNCH_FAILED = 719,
    BE_NOT_SUPPORTED = 801,
    BE_UNKNOWN = 999
};

struct backend_props {
    char name[256];
    uint8_t uuid[16];
    int pci_domain, pci_bus, pci_device;
    int multiprocessors;      // CPU: worker threads
    int clock_khz, memory_clock_khz, bus_bits, l2_bytes;
    uint64_t total_memory;    // bytes
    int max_shared_block, max_shared_block_optin, max_shared_sm; // bytes
    int max_threads_sm, max_blocks_sm;
    bool integrated;          // device memory is host memory
};

struct backend_device; // one per device, lives as long as the process
struct backend_kernel;
struct backend_queue;
struct backend_scope;  // state of one CUcontext on the device: sticky error, heap, printf buffer
struct backend_chunk;  // memory without an address: it is mapped where one wants it, also in several places and processes

// ---- signal: one-shot completion, the stuff of events ---------------------------------------------------------------
// Reference-counted. Completed at most once, with a time (CLOCK_MONOTONIC ns) and the sticky error known then.
struct signal;
struct signal *signal_new(void); // one reference
struct signal *signal_ref(struct signal *s);
void signal_unref(struct signal *s); // NULL allowed
void signal_complete(struct signal *s, int error);
bool signal_done(const struct signal *s);
int signal_wait(struct signal *s, bool spin); // blocks; returns the error given at completion
uint64_t signal_time(const struct signal *s); // ns; 0 until done
// Calls fn(user) once when s completes (at once if it has); fn may not block.
void signal_then(struct signal *s, void (*fn)(void *user), void *user);

// ---- commands -----------------------------------------------------------------------------------------------------------
// What the kernels of a module may launch and ask themselves. Answers are BE_* codes.
enum backend_question {
    ASK_DEVICE_COUNT,
    ASK_DEVICE,
    ASK_DEVICE_ATTRIBUTE, // a: CUdevice_attribute, b: ordinal
    ASK_LIMIT,            // a: CUlimit
    ASK_FUNCTION,         // a: CUfunction_attribute, b: kernel
    ASK_OCCUPANCY,        // a: kernel, b: threads of a block, c: bytes of dynamic shared memory
};

struct command;
struct backend_launcher {
    // Checks a launch of the kernel with that handle; tells the bytes of its parameters. Called by running kernels: may not block.
    int (*check)(void *user, uint64_t kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t shared, size_t *param_size);
    // Makes the launch's command. Called after a kernel has ended; may compile.
    int (*command)(void *user, uint64_t kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t shared, const void *params,
                   size_t param_size, struct command **out);
    // Called by running kernels: may not block.
    int (*ask)(void *user, enum backend_question q, uint64_t a, uint64_t b, uint64_t c, uint64_t *answer);
    void *user;
};

enum command_kind {
    CMD_LAUNCH,
    CMD_COPY,    // 3D copy of bytes between linear memories; plain copies have height = depth = 1
    CMD_FILL,    // 2D fill with a pattern of 1, 2 or 4 bytes
    CMD_HOST,    // fn(user) on a thread that may block but may not call the API
    CMD_SIGNAL,  // complete the signal
    CMD_WAIT,    // do not go on before the signal is done
    CMD_VALUE_WAIT,  // until (*addr op value); 32 or 64 bits
    CMD_VALUE_WRITE,
    CMD_EXPAND       // the commands that fn(user) gives, linked by next, take its place in the queue
};

struct command {
    enum command_kind kind;
    struct command *next; // the queue's
    union {
        struct {
            struct backend_kernel *kernel;
            const char *name;            // for messages; lives as long as the kernel
            uint32_t grid[3], block[3], cluster[3];
            uint32_t dynamic_shared;     // bytes
            bool cooperative;            // all blocks must be able to make progress together
            size_t param_size;
            void *params;                // points to memory behind the command (command_new allocates both)
            void *owner;                 // the driver's handle of the kernel, for graphs; backends do not look at it
            const struct backend_launcher *launcher; // lives as long as the kernel; NULL: the kernel cannot launch
        } launch;
        struct {
            char *dst;
            const char *src;
            size_t width, height, depth; // bytes, rows, slices
            size_t dst_pitch, src_pitch; // bytes from row to row
            size_t dst_slice, src_slice; // bytes from slice to slice
        } copy;
        struct {
            char *dst;
            uint32_t pattern;
            unsigned element;            // 1, 2, 4 bytes
            size_t width, height;        // elements, rows
            size_t pitch;                // bytes
        } fill;
        struct {
            void (*fn)(void *user);
            void *user;
            bool always;                 // also when the scope has a sticky error (to free `user`)
        } host;
        struct {
            struct command *(*fn)(void *user); // may not block
            void (*keep)(void *user, bool more); // the command owns one reference to user: one more, or one less
            void *user;
        } expand;
        struct signal *signal;           // SIGNAL, WAIT: the command owns one reference
        struct {
            void *addr;
            uint64_t value;
            uint8_t bytes, op;           // op 0: >= (signed difference), 1: ==, 2: and != 0, 3: nor != all ones
        } value;
    };
};

// A new command of that kind with `extra` bytes behind it (launch.params points there), zeroed. The queue frees it when done.
struct command *command_new(enum command_kind kind, size_t extra);
struct command *command_clone(const struct command *c); // takes new references
void command_free(struct command *c);

// ---- compilation ------------------------------------------------------------------------------------------------------------
struct emit_target;
struct LLVMOpaqueContext;
struct LLVMOpaqueModule;

// What is known of the launch that a kernel is wanted for.
struct launch_hint {
    uint32_t block[3]; // 0: nothing is known
    const void *params;
    size_t param_size; // bytes
};

struct compile_request {
    const char *kernel;        // symbol of the kernel in the module
    struct hash128 key;        // of the PTX and all that changes emitted code; backend mixes in its own build and target
    int optimize;              // 0..3, from CU_JIT_OPTIMIZATION_LEVEL
    struct launch_hint hint;
    // Makes the SIMT IR; only called on a cache miss. Returns NULL after logging why and setting *error.
    struct LLVMOpaqueModule *(*emit)(void *user, struct LLVMOpaqueContext *ctx, const struct emit_target *t, int *error);
    // Address of a global or constant variable of the module, 0 if there is none.
    uint64_t (*resolve)(void *user, const char *symbol);
    void *user;
    const char *dump_name;     // base name for POLYWARP_DUMP files
};

struct kernel_info {
    uint32_t static_shared;    // bytes, as laid out by the backend
    uint32_t local_bytes;      // stack per thread
    uint32_t num_regs;
    uint32_t max_threads;      // per block
    uint32_t code_bytes;
};

// ---- memory -----------------------------------------------------------------------------------------------------------------
enum backend_memory {
    MEM_DEVICE,
    MEM_HOST,    // page-locked host memory that the device reaches
    MEM_MANAGED
};

// ---- the table ------------------------------------------------------------------------------------------------------------
struct backend {
    const char *name; // "cpu"

    // Finds devices. Called once, from cuInit, before any other slot. Returns the number, or 0 with a reason in *why (static text).
    int (*init)(const char **why);
    struct backend_device *(*device)(int index);
    const struct backend_props *(*props)(struct backend_device *d);

    // A scope per CUcontext. Destroying waits for its queues, which must have been destroyed before.
    struct backend_scope *(*scope_new)(struct backend_device *d);
    void (*scope_free)(struct backend_scope *s);
    int (*scope_error)(struct backend_scope *s);                   // the sticky error or 0
    // Applied to later launches: 'stack' per thread, 'heap' for device malloc, 'printf' buffer, all in bytes; 'multiprocessors': how many they may
    // use, 0 for all.
    int (*scope_limit)(struct backend_scope *s, const char *what, size_t value);

    // Compiles or takes from the cache. Blocks. The kernel belongs to the caller.
    int (*compile)(struct backend_scope *s, const struct compile_request *r, struct backend_kernel **out);
    void (*kernel_free)(struct backend_kernel *k);                 // no launch of it may be pending
    // May it be launched so? If not, compile another. NULL: always.
    bool (*kernel_fits)(struct backend_kernel *k, const struct launch_hint *h);
    const struct kernel_info *(*kernel_info)(struct backend_kernel *k);

    // Memory aligned to 512 bytes, contents undefined (CPU: zero pages). BE_OUT_OF_MEMORY when total_memory would be exceeded.
    int (*alloc)(struct backend_scope *s, enum backend_memory kind, size_t size, void **out);
    void (*free)(struct backend_scope *s, enum backend_memory kind, void *p, size_t size);
    void (*mem_info)(struct backend_device *d, size_t *free_bytes, size_t *total_bytes);

    // Chunks and address ranges (cuMemCreate, cuMemMap, IPC). All are NULL where a backend has none of it. Sizes, offsets and addresses are
    // multiples of `page` bytes, those of chunk_new and reserve of `grain`.
    size_t grain, page;
    int (*chunk_new)(struct backend_device *d, size_t size, struct backend_chunk **out); // zeroed
    int (*chunk_import)(struct backend_device *d, int fd, struct backend_chunk **out);   // BE_INVALID_VALUE: fd is none of ours
    int (*chunk_export)(struct backend_chunk *c);                                        // a new file descriptor, or -1
    size_t (*chunk_size)(const struct backend_chunk *c);
    void (*chunk_free)(struct backend_chunk *c); // mappings stay
    // An inaccessible range of addresses. `hint` 0: anywhere.
    int (*reserve)(struct backend_device *d, size_t size, size_t align, uintptr_t hint, void **out);
    void (*unreserve)(struct backend_device *d, void *at, size_t size);
    // Maps part of a chunk into a reserved range, inaccessible at first; unmap makes it merely reserved again. No work that uses it may be pending.
    int (*map)(struct backend_chunk *c, size_t offset, void *at, size_t size);
    void (*unmap)(struct backend_device *d, void *at, size_t size);
    int (*protect)(struct backend_device *d, void *at, size_t size, bool read, bool write);
    // The memory of an allocation, [p, p + size), as a file that other processes can import as a chunk: *fd stays the backend's and open until the
    // allocation is freed; the allocation begins *offset bytes into it. Contents and address stay, work may be under way.
    int (*share)(struct backend_scope *s, void *p, size_t size, int *fd, size_t *offset);

    // Queues execute their commands in order, beside the host and each other. queue_free lets pending commands finish.
    struct backend_queue *(*queue_new)(struct backend_scope *s, int priority);
    void (*queue_free)(struct backend_queue *q);
    // Takes ownership of the command. Never blocks on earlier commands. Cannot fail: what goes wrong becomes the scope's sticky error.
    // After a sticky error commands are skipped, but SIGNAL completes (with the error) and HOST with `always` runs.
    void (*submit)(struct backend_queue *q, struct command *c);
    bool (*queue_idle)(struct backend_queue *q);
    // Resident blocks of a kernel per multiprocessor for a block size and dynamic shared memory: >= 1 if it can run at all, else 0.
    int (*occupancy)(struct backend_kernel *k, uint32_t threads, size_t dynamic_shared);
    // Shows what kernels printed so far. Called by synchronising calls.
    void (*flush_printf)(struct backend_scope *s);
};

extern const struct backend backend_cpu;

// Ends the process's backends: stops workers. Called from the library's destructor.
void backend_cpu_shutdown(void);

#endif
