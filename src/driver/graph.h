// SPDX-License-Identifier: MIT
// Graphs and captures: what their files share.
//
// graph_lock guards the structure of all graphs and the state of all captures, process-wide: both
// are rarely changed and never on the path of a launch. It is taken before a context's or a
// stream's locks, is not held while user code runs and not while a kernel compiles.
#ifndef DRIVER_GRAPH_H
#define DRIVER_GRAPH_H

#include "driver/driver.h"

extern pthread_mutex_t graph_lock;

// Holds graph_lock to the end of the block.
static inline void
graph_unlock_(int *unused)
{
    (void)unused;
    pthread_mutex_unlock(&graph_lock);
}
#define GRAPH_LOCKED()                                                                             \
    int locked_ __attribute__((cleanup(graph_unlock_), unused)) = pthread_mutex_lock(&graph_lock)

// ---- memory of allocation nodes (graph_mem.c) -----------------------------
// Shared by a graph's node, its clones and executables; its address is fixed from the node's
// creation.
struct graph_mem {
    atomic_uint refs;
    struct context *ctx;
    struct device *dev;
    void *addr;
    size_t size;              // bytes
    atomic_bool live;         // allocated by a launch and not freed since
    atomic_bool instantiated; // by one executable at most
};

CUresult graph_mem_new(struct context *c, size_t size, struct graph_mem **out);
struct graph_mem *graph_mem_ref(struct graph_mem *m);
void graph_mem_unref(struct graph_mem *m); // NULL allowed
void graph_mem_alloc(struct graph_mem *m); // a launch allocates it
bool graph_mem_free(struct graph_mem *m);  // false if it was not live
void
graph_mem_forget(struct graph_mem *m); // its context goes: frees the memory whoever refers to it

// ---- nodes ----------------------------------------------------------------
// What a node does: parameters as the program may ask for them, and the command made of them.
struct work {
    CUgraphNodeType type;
    struct context *ctx;
    CUgraphNodeParams params; // pointers inside lead to `args` and `access`
    struct command *cmd;      // KERNEL, MEMCPY, MEMSET, HOST: copied for each launch;
                              // NULL: nothing to do
    struct command **ops;     // vec: BATCH_MEM_OP, likewise
    CUstreamBatchMemOpParams *memops; // vec: BATCH_MEM_OP, paramArray
    void **args;              // vec: kernelParams, into cmd's parameter block
    CUmemAccessDesc *access;  // vec: MEM_ALLOC
    struct graph_mem *mem;    // MEM_ALLOC, and MEM_FREE of a graph's memory: one reference
    struct graph **children;  // vec, owned: GRAPH has one, CONDITIONAL its bodies (phGraph_out)
    struct condition *condition; // CONDITIONAL: one reference
    CUlaunchAttributeValue *attr; // KERNEL: vec by CUkernelNodeAttrID, as set; NULL: none
};

struct edge {
    struct graph_node *node; // the other end
    CUgraphEdgeData data;
};

struct graph_node {
    struct object obj;
    struct graph *graph;
    struct work w;
    struct edge *in, *out; // vecs: dependencies, dependent nodes
    uint64_t origin;       // id of the node of which it is a clone, else its own
    size_t index;          // scratch of walks
    bool mark;             // scratch of walks
};

struct user_ref {
    struct user_object *object;
    unsigned count;
};

struct graph {
    struct object obj;
    struct graph_node **nodes; // vec, in order of creation
    struct graph_node *owner;  // the node whose child this is, or NULL
    struct condition **conditions; // vec: made for this graph, one reference each
    struct capture *capture;   // that still adds to it, or NULL
    struct user_ref *users;    // vec
};

// Makes work of parameters as cuGraphAddNode takes them; params is updated where the call answers
// in it. No lock is held.
CUresult work_make(CUgraphNodeParams *params, struct work *out);
// Makes the work of a captured command, which it takes over.
void work_capture(struct stream *s, struct command *c, struct work *out);
CUresult work_clone(const struct work *w, struct work *out);
void work_free(struct work *w); // the child graphs apart, which graph_free frees
const char *work_type_name(CUgraphNodeType t);

struct graph *graph_get(CUgraph g);
struct graph_node *graph_node_get(CUgraphNode n);
struct graph *graph_new(void);
// Frees it and its nodes; references to user objects are appended to *drop (vec) for user_drop
// after unlocking. Holds graph_lock.
void graph_free(struct graph *g, struct user_ref **drop);
CUresult graph_clone(struct graph *g, struct graph **out);
// Takes over *w on success.
struct graph_node *graph_add(struct graph *g, struct work *w, struct graph_node *const *deps,
                             size_t ndeps);
CUresult graph_link(struct graph_node *from, struct graph_node *to,
                    CUgraphEdgeData data); // INVALID_VALUE: edge exists, or a cycle
// Indices of the nodes in an order that respects dependencies; sets node->index to positions in
// g->nodes. vec
size_t *graph_order(struct graph *g);

// ---- conditions (graph_condition.c) ---------------------------------------
struct condition *condition_ref(struct condition *c);
void condition_unref(struct condition *c); // NULL allowed
void condition_retire(struct condition *c); // the handle is no longer known; holds graph_lock
// Fills w for a conditional node: its condition and empty bodies. Takes graph_lock.
CUresult condition_node(CUDA_CONDITIONAL_NODE_PARAMS *p, struct work *w);
// Claims the node's condition for its place in graph g: a handle is of that graph or one around it,
// and serves one node. Holds graph_lock.
CUresult condition_claim(struct graph *g, struct work *w);
// A node of that type may not be in the body of a conditional node.
bool condition_forbids(CUgraphNodeType t);
// The command that sets the first value, or NULL if launches do not.
struct command *condition_reset(const struct condition *c);
// The command that runs one of the bodies (vecs of commands, taken over), or none, or one again and again.
struct command *condition_command(struct condition *c, CUgraphConditionalNodeType type,
                                  struct command ***body, unsigned nbody);

// ---- memory operations (value.c) ------------------------------------------
// Makes the commands of a batch: a vec, to which nothing is added on failure.
CUresult value_commands(unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags,
                        struct command ***out);

// ---- user objects (user_object.c) -----------------------------------------
void user_ref_add(struct user_ref **vec, struct user_object *o,
                  unsigned count); // takes over `count` references
void user_retain_all(struct user_ref **to,
                     struct user_ref *from); // one reference for each object in `from`
void user_drop(struct user_ref *vec);        // releases all, frees vec; user code may run

// ---- capture (capture.c) --------------------------------------------------
struct capture_mark;

static inline bool
stream_capturing(struct stream *s)
{
    return __atomic_load_n(&s->capture, __ATOMIC_ACQUIRE);
}

// Adds a node to the stream's capture. Takes over *w; frees it on failure.
CUresult capture_add(struct stream *s, struct work *w, struct graph_node **out);
CUresult capture_record(struct stream *s, struct event *e, bool external);
CUresult capture_wait(struct stream *s, struct event *e, bool external);
// Refusals of calls that a capture does not allow; a refused call invalidates the captures that it
// met.
CUresult
capture_check_stream(struct stream *s); // a call that waits for or asks about a capturing stream
CUresult capture_check_legacy(
    struct context *c); // work in the legacy stream beside a capture in a blocking stream
CUresult capture_check_event(struct event *e); // a host call about a captured event
void capture_forget_stream(struct stream *s);
void capture_forget_event(struct event *e);

// ---- events and pools, from elsewhere -------------------------------------
struct signal *event_signal(struct event *e);          // a reference, NULL: never recorded
struct command *event_record_command(struct event *e); // renews the event's signal
struct command *event_wait_command(struct event *e);   // NULL: nothing to wait for
void pools_release(struct device *d);                  // frees all that pools hold and do not use

#endif
