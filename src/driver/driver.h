// SPDX-License-Identifier: MIT
// The driver's objects and the rules that all its files share.
//
// Implementations: the table api/cuda.tab gives each entry point; an implemented one is a C function `pw_<name>` with the prototype
// of the exported symbol (pw_cuMemAlloc_v2, pw_cuLaunchKernel). The generated export does what is common before calling it: trace,
// cuInit and fork checks (CUDA_ERROR_NOT_INITIALIZED, CUDA_ERROR_DEINITIALIZED), and for _ptds/_ptsz names sets tls.per_thread_stream. Older
// versions of a call are implemented by the newest.
//
// Locks: every object with mutable state has its own mutex; order: process -> context -> stream -> graph -> memory table. No lock is held
// while user code (host functions, destructors) runs.
#ifndef DRIVER_DRIVER_H
#define DRIVER_DRIVER_H

#include <pthread.h>
#include <stdatomic.h>
#include <limits.h>
#include <stdbool.h>

#define POLYWARP_NO_RENAME // a name is the exported symbol of that name
#include "polywarp/cuda.h"
#include "base/arena.h"
#include "base/log.h"
#include "base/map.h"
#include "base/vec.h"
#include "backend/backend.h"
#include "ptx/ptx.h"

// ---- handles ----------------------------------------------------------------------------------------
enum obj_type {
    OBJ_CONTEXT = 1, OBJ_MODULE, OBJ_LIBRARY, OBJ_KERNEL, OBJ_FUNCTION, OBJ_STREAM, OBJ_EVENT, OBJ_GRAPH, OBJ_GRAPH_EXEC,
    OBJ_GRAPH_NODE, OBJ_POOL, OBJ_LINK, OBJ_ARRAY, OBJ_TEXTURE, OBJ_USER, OBJ_PHYSICAL, OBJ_GREEN, OBJ_RESOURCES, OBJ_TYPES
};

// First member of every object. A handle is the object's address; it is valid while the address is in the table of live objects,
// so a handle that was destroyed or never existed is refused, not followed.
struct object {
    enum obj_type type;
    uint64_t id; // unique in the process, never reused
};

// Allocates a zeroed object and enters it into the table. Never NULL.
void *object_new(enum obj_type type, size_t size);
// Takes it out of the table (later look-ups fail) and frees it; object_retire only takes it out.
void object_free(void *obj);
void object_retire(void *obj);
// The object if `handle` is alive and of that type, else NULL.
void *object_get(const void *handle, enum obj_type type);
// Number of live objects of that type, for the report at exit.
unsigned object_live(enum obj_type type);

// ---- process and devices -----------------------------------------------------------------------------
enum { MAX_DEVICES = 16 };

struct device {
    int ordinal;
    const struct backend *be;
    struct backend_device *bd;
    const struct backend_props *props;
    int cc_major, cc_minor;      // told to programs; device_cc() answers by caller
    pthread_mutex_t lock;        // guards the primary context's fields
    struct context *primary;     // made at first retain, kept (inactive) after release
    unsigned primary_refs, primary_flags;
    struct pool *default_pool, *current_pool;
};

struct process {
    bool initialised;            // cleared again in a forked child (the backend's threads are not there) and at the end
    bool forked;                 // this process is a child forked after cuInit
    bool deinitialised;          // the library's destructor ran: calls answer CUDA_ERROR_DEINITIALIZED
    pid_t pid;                   // of cuInit, to notice fork
    int ndevices;
    struct device device[MAX_DEVICES];
};
extern struct process process;

struct device *device_get(CUdevice d); // NULL if out of range
CUdevice device_ordinal(const struct device *d);
// Compute capability (121 for 12.1) told to the code at address `caller`: NVIDIA's own libraries hear a newer one. NULL: a program.
int device_cc(const struct device *d, const void *caller);
// Value of an attribute; -1 for one that CUDA 13.0 does not know.
int device_attribute(const struct device *d, CUdevice_attribute a);

// Limits of a launch that do not depend on the device.
enum { MAX_CLUSTER = 16, MAX_PORTABLE_CLUSTER = 8 }; // blocks
enum { MAX_BLOCK_THREADS = 1024, MAX_BLOCK_X = 1024, MAX_BLOCK_Y = 1024, MAX_BLOCK_Z = 64, MAX_GRID_X = INT32_MAX, MAX_GRID_YZ = 65535 };

// The backends by name, the only place that knows them (backends.c). Initialises those that the option asks for and enters their
// devices into `process`; false with the reason in *why when there is no device.
bool backends_init(const char *option, const char **why);
void backends_shutdown(void);

// ---- contexts -----------------------------------------------------------------------------------------
struct context {
    struct object obj;
    struct device *dev;
    struct backend_scope *scope;
    unsigned flags;
    bool primary;
    bool alive;                  // false once destroyed or the primary was reset
    atomic_uint refs;            // 1 while alive or primary, and 1 for each place on a thread's stack; the last one frees
    unsigned api_version;
    pthread_mutex_t lock;        // guards the lists below
    struct stream *legacy;       // made at creation
    pthread_mutex_t order;       // guards streams, orphans and the streams' counters; taken inside lock, never before it
    struct stream **streams;     // vec: all live streams incl. legacy and per-thread ones (stream_new enters them)
    struct signal **orphans;     // vec: ends of destroyed streams whose work was pending
    struct module **modules;     // vec
    struct intmap storage;       // context-local storage of cudart (storage.c)
    uint32_t peers;              // bit per ordinal of a device whose memory was made accessible
    size_t limit[16];            // by CUlimit
    CUfunc_cache cache_config;
    CUsharedconfig shared_config;
    struct green *green;         // the green context that it is of, or NULL
    struct coredump *coredump;   // settings of its own, or NULL
};

struct tls {
    struct context **stack;      // vec: the current context is its last element
    bool per_thread_stream;      // set by _ptds/_ptsz exports for the length of the call
    const void *caller;          // return address of the export, set by those of calls that answer by caller; else NULL
    CUstreamCaptureMode capture_mode;
    struct ptds_entry *ptds;     // vec: this thread's default stream per context
};
extern _Thread_local struct tls tls;

// The context of a handle, alive or not; NULL if it never was one.
struct context *ctx_get(CUcontext handle);
// CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_CONTEXT_IS_DESTROYED or success; a NULL handle means the current context.
CUresult ctx_from_handle(CUcontext handle, struct context **out);
// The current context. ctx_current gives NULL if there is none. ctx_need answers CUDA_ERROR_INVALID_CONTEXT when there is none,
// CUDA_ERROR_CONTEXT_IS_DESTROYED when it is gone, or its sticky error; *out is set on success only.
struct context *ctx_current(void);
CUresult ctx_need(struct context **out);
// As ctx_need for work that also waits for completion: returns the sticky error if one came up meanwhile.
CUresult ctx_synchronize(struct context *c);
// The primary context made active (used by libraries and kernels that are context-independent).
CUresult ctx_primary(struct device *d, struct context **out);
// A new context object, not alive; and its life: scope, limits, legacy stream.
struct context *ctx_new(struct device *d, bool primary);
CUresult ctx_activate(struct context *c, unsigned flags);
// Destroys streams, modules, memory, storage of a context (destroy and primary reset). Waits for its work. Does nothing if it is not alive.
void ctx_teardown(struct context *c);
void ctx_ref(struct context *c);
void ctx_unref(struct context *c);
// Checks flags as cuCtxCreate takes them.
bool ctx_flags_valid(unsigned flags);
// The primary context of a device, alive or not.
struct context *ctx_primary_handle(struct device *d);

void coredump_free(struct context *c);
CUgreenCtx green_of(const struct context *c); // NULL: it is none

// Storage under a key in a context, with a destructor that runs (no lock held) when the context is torn down (storage.c).
typedef void storage_dtor(CUcontext, void *key, void *value);
CUresult storage_put(struct context *c, void *key, void *value, storage_dtor *dtor);
CUresult storage_delete(struct context *c, void *key);
CUresult storage_get(struct context *c, void *key, void **value);
void storage_destroy(struct context *c);

// ---- modules, libraries, kernels -----------------------------------------------------------------------
// A code object: linked PTX and its variables' values. Shared by a library and the modules that it becomes in each context.
struct code {
    atomic_uint refs;
    struct ptx_program *program;
    struct hash128 key;          // of all PTX text and options
    char *name;                  // for messages and dumps
    int optimize;
    struct ptx_func **entry;     // vec: kernels with a body, sorted by name
    struct ptx_func **taken;     // vec: ptx_address_taken
    pthread_mutex_t emit_lock;   // emit_kernel uses the tree's `user` fields: one at a time
};

struct module {
    struct object obj;
    struct context *ctx;
    struct code *code;
    struct library *lib;         // the library that it belongs to, or NULL
    struct strmap vars;          // linker name (variables.c) -> struct module_var; complete once loaded, then read-only
    struct arena arena;          // of the names and variables
    struct {
        void *base;              // the module's variables in one piece of memory; NULL: none
        size_t size;
    } block[2];                  // device (constant, then global), managed
    size_t constants;            // bytes of block[0] that are constant
    struct function **functions; // vec by index in code->entry: NULL until asked for
    struct backend_launcher launcher;
    pthread_mutex_t lock;        // guards functions
};

struct module_var {
    CUdeviceptr addr;
    size_t size;
    bool managed;
};

struct library {
    struct object obj;
    struct code *code;           // NULL until first needed when loaded lazily
    struct code_source *source;  // private copy of the chosen entries while code is NULL
    CUresult failed;             // why it could not be parsed; asked again it answers the same
    struct module **modules;     // vec: one per context in which it was used
    struct kernel **kernels;     // vec: one per entry, in the order of code->entry; made with code
    pthread_mutex_t lock;
};

enum { FUNC_ATTRIBUTES = 16, ATTRIBUTE_UNSET = INT_MIN };

// Library-level kernel: no context. Becomes a function in the current context at launch.
struct kernel {
    struct object obj;
    struct library *lib;
    struct ptx_func *func;
    unsigned index;              // in code->entry
    int attribute[FUNC_ATTRIBUTES]; // values set by cuKernelSetAttribute, by CUfunction_attribute; ATTRIBUTE_UNSET: not set
    struct ptx_kernel_info info; // valid once have_info; both guarded by lib->lock
    bool have_info;
};

struct function {
    struct object obj;
    struct module *mod;
    struct ptx_func *func;
    struct ptx_kernel_info info;
    // Atomically published, NULL before the first launch: the first kernel compiled, the last one.
    struct backend_kernel *compiled, *latest;
    struct backend_kernel **kernels; // all of them; under the lock
    pthread_mutex_t lock;        // guards compilation
    CUresult failed;             // why it could not be compiled; a later try answers the same
    struct kernel *kernel;       // the library's kernel that it came from, or NULL
    int attribute[FUNC_ATTRIBUTES]; // values set by cuFuncSetAttribute, by CUfunction_attribute; ATTRIBUTE_UNSET: not set
    struct old_launch *old;      // state of the cuParamSet* family, or NULL
};

// Handle given by a program: CUfunction of a module or CUkernel cast to it. Finds or makes the function in context c.
CUresult function_resolve(CUfunction handle, struct context *c, struct function **out);
// Compiles, if needed, for a usual block: to ask about the function.
CUresult function_compile(struct function *f);
// The kernel for such a launch, compiled if there is none yet.
CUresult function_kernel(struct function *f, const struct launch_hint *hint, struct backend_kernel **out);
// Value of an attribute: what was set, else what the kernel and its device say.
CUresult function_attribute(struct function *f, CUfunction_attribute a, int *value);

// The shape of a launch. cluster 0,0,0 means none.
struct launch_shape {
    uint32_t grid[3], block[3], cluster[3];
    uint32_t dynamic_shared;     // bytes
    bool cooperative;
};
// Checks a launch as cuLaunchKernel does, compiles, and makes its command with the parameters copied out of `params` or `extra`.
// For launches and graph nodes alike; the command belongs to the caller, who sets launch.owner to the handle (CUfunction or CUkernel) that
// the program gave, so that a captured node can tell it.
CUresult launch_command(struct function *f, const struct launch_shape *shape, void **params, void **extra, struct command **out);
// The checks of grid, block and shared memory that come before all others; may not block.
CUresult launch_check(struct function *f, const struct launch_shape *shape);

// ---- streams --------------------------------------------------------------------------------------------
struct capture;                  // graph under construction (capture.c)

struct stream {
    struct object obj;
    struct context *ctx;
    struct backend_queue *queue;
    unsigned flags;              // CU_STREAM_NON_BLOCKING
    int priority;
    bool legacy, per_thread;
    // Guarded by ctx->order:
    uint64_t work;               // commands submitted so far (not counted for non-blocking streams)
    uint64_t joined;             // legacy's `work` that this stream has already waited for; for legacy unused
    uint64_t seen;               // this stream's `work` that legacy has already waited for
    // Guarded by graph_lock (graph.h); `capture` may be read without it to ask whether there is one:
    struct capture *capture;     // NULL: not capturing
    struct graph_node **frontier; // vec: nodes on which the next captured one depends
    CUgraphEdgeData *frontier_edges; // vec of zeros, as long as was ever asked for
    CUlaunchAttributeValue attribute[16]; // by CUstreamAttrID, as set
};

enum { STREAM_PRIORITY_LEAST = 0, STREAM_PRIORITY_GREATEST = -5 };
// Makes a stream, or NULL after logging why. The context's legacy stream is made with legacy = true. Never while holding c->lock.
struct stream *stream_new(struct context *c, unsigned flags, int priority, bool legacy);
// Destroys one stream (pending work finishes), or all of a context including legacy, at teardown.
void stream_free(struct stream *s);
void streams_free(struct context *c);
// Waits for all work of all streams of the context; gives the sticky error. What cuCtxSynchronize does apart from its checks.
CUresult streams_wait(struct context *c);
// The ends of all work of the context: a vec of signals, each a reference for the caller.
struct signal **streams_mark(struct context *c);

// Turns a handle into a stream of the current context: NULL is the legacy or (tls.per_thread_stream) the per-thread stream, the
// handles 1 and 2 are CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. Errors as documented (INVALID_HANDLE, INVALID_CONTEXT, sticky).
CUresult stream_resolve(CUstream handle, struct stream **out);
// The one way for work into a stream. Takes ownership of the command, also on failure. A capturing stream appends a node; else the
// rules of legacy streams are applied and the queue gets it.
CUresult stream_submit(struct stream *s, struct command *c);
// Submits without capture (used by graph launch and synchronous calls).
void stream_enqueue(struct stream *s, struct command *c);
// Waits until all that was submitted is done; returns the sticky error.
CUresult stream_wait(struct stream *s);
// Nothing is pending that work submitted now would have to wait for.
bool stream_idle(struct stream *s);
// Synchronous calls (cuMemcpy...) on a thread while any stream captures in an unsafe mode: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
CUresult capture_check_unsafe_call(void);
// As above for calls that wait for a whole context: refused while one of its streams captures.
CUresult capture_check_context(struct context *c);

struct event {
    struct object obj;
    struct context *ctx;         // may be gone: use only after event_context says that it is not
    uint64_t ctx_id;
    bool spin;                   // how the host waits
    struct ipc_event *ipc;       // CU_EVENT_INTERPROCESS: what other processes see and do; else NULL
    unsigned flags;
    pthread_mutex_t lock;
    struct signal *signal;       // of the latest record; NULL: never recorded (counts as done)
    struct capture_mark *captured; // last recorded inside a capture: the nodes that it stands for; guarded by graph_lock
};

// Makes an event of the context; takes `ipc` (NULL: of this process only).
CUresult event_new(struct context *c, unsigned flags, struct ipc_event *ipc, CUevent *out);

// ---- memory ---------------------------------------------------------------------------------------------
enum mem_kind { MK_DEVICE, MK_HOST, MK_REGISTERED, MK_MANAGED, MK_POOL, MK_MODULE, MK_VMM, MK_GRAPH, MK_IPC };

// One allocation in the table of all allocations, sorted by address, process-wide.
struct mem {
    uintptr_t addr;
    size_t size;                 // bytes
    enum mem_kind kind;
    struct context *ctx;
    struct device *dev;
    unsigned flags;              // CU_MEMHOSTALLOC_*, CU_MEM_ATTACH_*, ...; MK_VMM: CU_MEM_ACCESS_FLAGS_*
    struct pool *pool;           // MK_POOL; MK_IPC: the imported pool that it came from, or NULL
    struct graph_mem *graph;     // MK_GRAPH: memory of an allocation node
    uint64_t buffer_id;          // given by mem_add
    bool sync_memops;
};

void mem_add(const struct mem *m);
bool mem_find(const void *p, struct mem *out);   // the allocation that contains p
bool mem_remove(const void *base, struct mem *out); // exactly that base
bool mem_update(const void *p, void (*fn)(struct mem *m, void *user), void *user); // fn under the table's lock
// All of [p, p + size) is in one allocation, or in adjacent mappings (MK_VMM). size 0: true.
bool mem_covers(const void *p, size_t size);
// No byte of it is in a mapping that may not be read, or with `write` not written.
bool mem_allows(const void *p, size_t size, bool write);
// Device memory for internal use (variables of modules): allocates and enters it into the table.
CUresult mem_new(struct context *c, enum mem_kind kind, size_t size, unsigned flags, void **out);
// Undoes mem_new and frees to the backend. INVALID_VALUE if base is no such allocation. Does not wait for work that uses it.
CUresult mem_delete(const void *base);
void mem_forget_context(struct context *c);      // frees all memory of a context, pools' blocks too

// CUDA array: linear memory, rows and slices packed without padding.
struct array {
    struct object obj;
    struct context *ctx;
    CUDA_ARRAY3D_DESCRIPTOR desc;
    size_t element;              // bytes of a texel: channels * size of a channel
    size_t pitch, slice;         // bytes from row to row, from slice (or layer) to slice
    size_t rows, slices;         // at least 1
    char *base;
    size_t size;                 // bytes
    uint64_t buffer_id;          // of its memory, which goes when the context goes
};

struct pool;
// Frees what pools hold beyond their release thresholds. Called by synchronising calls.
void pools_trim(struct device *d);
CUresult pool_default(struct device *d, struct pool **out); // made on demand

// ---- graphs ------------------------------------------------------------------------------------------------
struct graph;
struct graph_node;
// Appends the command to the stream's capture. Called by stream_submit.
CUresult capture_append(struct stream *s, struct command *c);

// ---- errors ---------------------------------------------------------------------------------------------
// Logs "call: reason" on LOG_ERROR's behalf (LOG_API level detail) and returns the code: `return fail(CUDA_ERROR_INVALID_VALUE, "pitch %zu < width", ...)`.
CUresult fail_(CUresult code, const char *func, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define fail(code, ...) fail_((code), __func__, __VA_ARGS__)

// Hears every failure that is logged, and more than those (logs.c); NULL: nobody does.
extern void (*fail_hook)(const char *text);

// A call that we do not have: logs its name once, returns CUDA_ERROR_NOT_SUPPORTED. Used by generated stubs.
CUresult stub(const char *name);

#endif
