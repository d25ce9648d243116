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
#include <stdbool.h>

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
    OBJ_GRAPH_NODE, OBJ_POOL, OBJ_LINK, OBJ_ARRAY, OBJ_TEXTURE, OBJ_USER
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
    bool initialised;
    pid_t pid;                   // of cuInit, to notice fork
    int ndevices;
    struct device device[MAX_DEVICES];
};
extern struct process process;

struct device *device_get(CUdevice d); // NULL if out of range

// ---- contexts -----------------------------------------------------------------------------------------
struct context {
    struct object obj;
    struct device *dev;
    struct backend_scope *scope;
    unsigned flags;
    bool primary;
    bool alive;                  // false once destroyed or the primary was reset
    unsigned api_version;
    pthread_mutex_t lock;        // guards the lists below
    struct stream *legacy;       // made at creation
    struct stream **streams;     // vec: all live streams incl. legacy and per-thread ones
    struct module **modules;     // vec
    struct intmap storage;       // context-local storage of cudart (dark/cls.c)
    size_t limit[16];            // by CUlimit
    CUfunc_cache cache_config;
};

struct tls {
    struct context **stack;      // vec: the current context is its last element
    bool per_thread_stream;      // set by _ptds/_ptsz exports for the length of the call
    CUstreamCaptureMode capture_mode;
    struct ptds_entry *ptds;     // vec: this thread's default stream per context
};
extern _Thread_local struct tls tls;

// The current context. ctx_current gives NULL if there is none. ctx_need answers CUDA_ERROR_INVALID_CONTEXT when there is none,
// CUDA_ERROR_CONTEXT_IS_DESTROYED when it is gone, or its sticky error; *out is set on success only.
struct context *ctx_current(void);
CUresult ctx_need(struct context **out);
// As ctx_need for work that also waits for completion: returns the sticky error if one came up meanwhile.
CUresult ctx_synchronize(struct context *c);
// The primary context made active (used by libraries and kernels that are context-independent).
CUresult ctx_primary(struct device *d, struct context **out);
// Destroys streams, modules, memory, storage of a context (destroy and primary reset).
void ctx_teardown(struct context *c);

// ---- modules, libraries, kernels -----------------------------------------------------------------------
// A code object: linked PTX and its variables' values. Shared by a library and the modules that it becomes in each context.
struct code {
    atomic_uint refs;
    struct ptx_program *program;
    struct hash128 key;          // of all PTX text and options
    char *name;                  // for messages and dumps
    int optimize;
    struct kernel **kernel;      // one per entry, sorted by name (library-level handles)
    unsigned nkernel;
};

struct module {
    struct object obj;
    struct context *ctx;
    struct code *code;
    struct library *lib;         // the library that it belongs to, or NULL
    struct strmap vars;          // name -> struct module_var
    struct function **functions; // vec: made on demand
    pthread_mutex_t lock;
};

struct module_var {
    CUdeviceptr addr;
    size_t size;
    bool managed;
};

struct library {
    struct object obj;
    struct code *code;           // NULL until first needed when loaded lazily
    void *image;                 // private copy of the image while code is NULL
    size_t image_size;
    struct module *module[MAX_DEVICES]; // per device, in its primary context
    struct kernel **kernels;     // vec of handles given out
    pthread_mutex_t lock;
};

// Library-level kernel: no context. Becomes a function in the current context at launch.
struct kernel {
    struct object obj;
    struct library *lib;
    struct ptx_func *func;
    int attribute[32];           // values set by cuKernelSetAttribute, by CUfunction_attribute; -1: not set
};

struct function {
    struct object obj;
    struct module *mod;
    struct ptx_func *func;
    struct ptx_kernel_info info;
    struct backend_kernel *compiled; // atomically published; NULL before the first launch
    pthread_mutex_t lock;        // guards compilation
    int max_dynamic_shared;      // CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
    int preferred_carveout;
    int attribute[32];           // others that were set, by CUfunction_attribute
};

// Handle given by a program: CUfunction of a module or CUkernel cast to it. Finds or makes the function in context c.
CUresult function_resolve(CUfunction handle, struct context *c, struct function **out);
// Compiles if needed.
CUresult function_compile(struct function *f);

// ---- streams --------------------------------------------------------------------------------------------
struct capture;                  // graph under construction (graph_capture.c)

struct stream {
    struct object obj;
    struct context *ctx;
    struct backend_queue *queue;
    unsigned flags;              // CU_STREAM_NON_BLOCKING
    int priority;
    bool legacy, per_thread;
    pthread_mutex_t lock;        // guards all below
    struct capture *capture;     // NULL: not capturing
    CUstreamCaptureStatus capture_status;
    uint64_t work;               // commands submitted so far
    uint64_t joined;             // legacy's `work` that this stream has already waited for; for legacy unused
    uint64_t seen;               // this stream's `work` that legacy has already waited for
};

// Turns a handle into a stream of the current context: NULL is the legacy or (tls.per_thread_stream) the per-thread stream, the
// handles 1 and 2 are CU_STREAM_LEGACY and CU_STREAM_PER_THREAD. Errors as documented (INVALID_HANDLE, INVALID_CONTEXT, sticky).
CUresult stream_resolve(CUstream handle, struct stream **out);
// The one way for work into a stream. Takes ownership of the command. A capturing stream appends a node; else the rules of legacy streams
// are applied and the queue gets it.
CUresult stream_submit(struct stream *s, struct command *c);
// Submits without capture (used by graph launch and synchronous calls).
void stream_enqueue(struct stream *s, struct command *c);
// Waits until all that was submitted is done; returns the sticky error.
CUresult stream_wait(struct stream *s);
// Synchronous calls (cuMemcpy...) on a thread while any stream captures in an unsafe mode: CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED.
CUresult capture_check_unsafe_call(void);

struct event {
    struct object obj;
    struct context *ctx;
    unsigned flags;
    pthread_mutex_t lock;
    struct signal *signal;       // of the latest record; NULL: never recorded (counts as done)
    struct graph_node *captured; // last recorded inside a capture: the node(s) that it stands for (graph_capture.c)
};

// ---- memory ---------------------------------------------------------------------------------------------
enum mem_kind { MK_DEVICE, MK_HOST, MK_REGISTERED, MK_MANAGED, MK_POOL, MK_MODULE, MK_VMM };

// One allocation in the table of all allocations, sorted by address, process-wide.
struct mem {
    uintptr_t addr;
    size_t size;
    enum mem_kind kind;
    struct context *ctx;
    struct device *dev;
    unsigned flags;              // CU_MEMHOSTALLOC_*, CU_MEM_ATTACH_*, ...
    struct pool *pool;
    uint64_t buffer_id;
    bool read_mostly;
    int preferred_location;
};

void mem_add(const struct mem *m);
bool mem_find(const void *p, struct mem *out);   // the allocation that contains p
bool mem_remove(const void *base, struct mem *out); // exactly that base
void mem_forget_context(struct context *c);      // frees all memory of a context

// ---- graphs ------------------------------------------------------------------------------------------------
struct graph;
struct graph_node;
// Appends the command to the stream's capture. Called by stream_submit with the stream's lock held.
CUresult capture_append(struct stream *s, struct command *c);

// ---- errors ---------------------------------------------------------------------------------------------
// Logs "call: reason" on LOG_ERROR's behalf (LOG_API level detail) and returns the code: `return fail(CUDA_ERROR_INVALID_VALUE, "pitch %zu < width", ...)`.
CUresult fail_(CUresult code, const char *func, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
#define fail(code, ...) fail_((code), __func__, __VA_ARGS__)

// A call that we do not have: logs its name once, returns CUDA_ERROR_NOT_SUPPORTED. Used by generated stubs.
CUresult stub(const char *name);

#endif
