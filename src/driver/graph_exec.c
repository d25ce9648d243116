// SPDX-License-Identifier: MIT
// Executable graphs: instantiation, launch, end.
//
// A launch puts copies of the nodes' commands into the stream's queue in an order that respects the
// edges. Launches of one executable do not overlap: a launch in another stream waits for the one
// before.
#include "driver/graph_exec.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

enum {
    INSTANTIATE_FLAGS =
        CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD |
        CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH | CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY
};

struct graph_exec *
exec_get(CUgraphExec e)
{
    return object_get(e, OBJ_GRAPH_EXEC);
}

// ---- lists ----------------------------------------------------------------
void
exec_list_free(struct exec_list *l)
{
    for (size_t i = 0; i < vec_len(l->nodes); i++) {
        struct exec_node *n = &l->nodes[i];
        for (size_t k = 0; k < vec_len(n->child); k++)
            exec_list_free(&n->child[k]);
        vec_free(n->child);
        vec_free(n->deps);
        work_free(&n->w);
    }
    vec_free(l->nodes);
    vec_free(l->order);
}

// What the body of a conditional node may hold, children of it too.
static CUresult
check_body(const struct graph *g)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < vec_len(g->nodes); i++) {
        const struct work *w = &g->nodes[i]->w;
        if (condition_forbids(w->type))
            return fail(CUDA_ERROR_NOT_SUPPORTED, "a node of type %s in the body of a conditional node",
                        work_type_name(w->type));
        for (size_t k = 0; !r && k < vec_len(w->children); k++)
            r = check_body(w->children[k]);
    }
    return r;
}

static CUresult
exec_node_make(struct graph_node *n, struct exec_node *out)
{
    struct graph **children = n->w.children;
    n->w.children = NULL; // their nodes are copied below, not the graphs
    CUresult r = work_clone(&n->w, &out->w);
    n->w.children = children;
    out->origin = n->obj.id;
    for (size_t i = 0; i < vec_len(n->in); i++)
        vec_push(out->deps, n->in[i].node->index);
    vec_extend(out->child, vec_len(children));
    for (size_t i = 0; !r && i < vec_len(children); i++) {
        if (n->w.condition)
            r = check_body(children[i]);
        if (!r)
            r = exec_list_make(children[i], &out->child[i]);
    }
    return r;
}

CUresult
exec_list_make(struct graph *g, struct exec_list *out)
{
    CUresult r = CUDA_SUCCESS;
    out->order = graph_order(g);
    vec_extend(out->nodes, vec_len(g->nodes));
    if (vec_len(out->order) < vec_len(g->nodes)) // edges may close a cycle; only instantiation minds, as on NVIDIA's driver
        r = fail(CUDA_ERROR_INVALID_VALUE, "the graph has a cycle");
    for (size_t i = 0; !r && i < vec_len(g->nodes); i++)
        r = exec_node_make(g->nodes[i], &out->nodes[i]);
    if (r)
        exec_list_free(out);
    return r;
}

static void
index_list(struct intmap *m, struct exec_list *l)
{
    for (size_t i = 0; i < vec_len(l->nodes); i++) {
        struct exec_node *n = &l->nodes[i];
        intmap_put(m, n->origin, n);
        if (n->updated)
            intmap_put(m, n->updated, n);
        for (size_t k = 0; k < vec_len(n->child); k++)
            index_list(m, &n->child[k]);
    }
}

void
exec_index(struct graph_exec *e)
{
    intmap_free(&e->by_id);
    memset(&e->by_id, 0, sizeof e->by_id);
    index_list(&e->by_id, &e->list);
}

// ---- instantiation --------------------------------------------------------
// Claims the memory of allocation nodes, which one executable may use. False if another has it.
static bool
claim_memory(struct exec_list *l, bool claim, bool *any)
{
    bool ok = true;
    for (size_t i = 0; i < vec_len(l->nodes); i++) {
        struct exec_node *n = &l->nodes[i];
        for (size_t k = 0; k < vec_len(n->child); k++)
            ok &= claim_memory(&n->child[k], claim, any);
        if (n->w.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC)
            continue;
        *any = true;
        bool had = atomic_exchange(&n->w.mem->instantiated, claim);
        ok &= !claim || !had;
    }
    return ok;
}

// Kernels of a launch may set conditions until its end.
static bool
has_conditions(const struct exec_list *l)
{
    for (size_t i = 0; i < vec_len(l->nodes); i++) {
        bool found = l->nodes[i].w.condition;
        for (size_t k = 0; !found && k < vec_len(l->nodes[i].child); k++)
            found = has_conditions(&l->nodes[i].child[k]);
        if (found)
            return true;
    }
    return false;
}

static CUresult
instantiate(struct graph *g, unsigned long long flags, CUgraphExec *out)
{
    struct exec_list list = {0};
    bool memory = false;
    CUresult r = exec_list_make(g, &list);
    if (r)
        return r;
    if (!claim_memory(&list, true, &memory)) {
        exec_list_free(&list);
        return fail(CUDA_ERROR_NOT_SUPPORTED,
                    "a graph with memory nodes has one executable at a time");
    }
    struct graph_exec *e = object_new(OBJ_GRAPH_EXEC, sizeof *e);
    pthread_mutex_init(&e->lock, NULL);
    e->flags = flags;
    e->list = list;
    e->has_memory = memory;
    e->has_conditions = has_conditions(&e->list);
    user_retain_all(&e->users, g->users);
    exec_index(e);
    LOG(LOG_STREAM, "graph %p: executable %p of %zu nodes", (void *)g, (void *)e,
        vec_len(list.nodes));
    *out = (CUgraphExec)e;
    return CUDA_SUCCESS;
}

static CUresult
instantiate_handle(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    if (!out || flags & ~(unsigned long long)INSTANTIATE_FLAGS)
        return fail(CUDA_ERROR_INVALID_VALUE, "phGraphExec %p, flags %llu", (void *)out, flags);
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_DEVICE_LAUNCH)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "graphs launched by the device");
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    if (!g || g->capture)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a complete graph", (void *)handle);
    return instantiate(g, flags, out);
}

// An upload needs a stream, which only the call with parameters names.
CUresult
pw_cuGraphInstantiateWithFlags(CUgraphExec *out, CUgraph handle, unsigned long long flags)
{
    if (flags & CUDA_GRAPH_INSTANTIATE_FLAG_UPLOAD)
        return fail(CUDA_ERROR_INVALID_VALUE, "an upload without a stream");
    return instantiate_handle(out, handle, flags);
}

static CUgraphInstantiateResult
kind_of_result(CUgraph handle, CUresult r)
{
    if (!r)
        return CUDA_GRAPH_INSTANTIATE_SUCCESS;
    if (r == CUDA_ERROR_NOT_SUPPORTED)
        return CUDA_GRAPH_INSTANTIATE_NODE_OPERATION_NOT_SUPPORTED;
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    size_t *order = g ? graph_order(g) : NULL;
    bool cycle = g && vec_len(order) < vec_len(g->nodes);
    vec_free(order);
    return cycle ? CUDA_GRAPH_INSTANTIATE_INVALID_STRUCTURE : CUDA_GRAPH_INSTANTIATE_ERROR;
}

CUresult
pw_cuGraphInstantiateWithParams(CUgraphExec *out, CUgraph handle, CUDA_GRAPH_INSTANTIATE_PARAMS *p)
{
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "the parameters are NULL");
    p->hErrNode_out = NULL;
    CUresult r = instantiate_handle(out, handle, p->flags);
    p->result_out = kind_of_result(handle, r);
    return r;
}

CUresult
pw_cuGraphInstantiate_v2(CUgraphExec *out, CUgraph g, CUgraphNode *error_node, char *log,
                         size_t size)
{
    if (error_node)
        *error_node = NULL;
    if (log && size)
        *log = 0;
    return pw_cuGraphInstantiateWithFlags(out, g, 0);
}

CUresult
pw_cuGraphInstantiate(CUgraphExec *out, CUgraph g, CUgraphNode *error_node, char *log, size_t size)
{
    return pw_cuGraphInstantiate_v2(out, g, error_node, log, size);
}

CUresult
pw_cuGraphExecGetFlags(CUgraphExec handle, cuuint64_t *flags)
{
    struct graph_exec *e = exec_get(handle);
    if (!e || !flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not an executable graph", (void *)handle);
    *flags = e->flags;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphUpload(CUgraphExec handle, CUstream stream)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (!r && !exec_get(handle))
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not an executable graph", (void *)handle);
    return r;
}

// ---- end ------------------------------------------------------------------
static void
exec_end(void *user)
{
    struct graph_exec *e = user;
    bool any;
    claim_memory(&e->list, false, &any);
    exec_list_free(&e->list);
    intmap_free(&e->by_id);
    signal_unref(e->last);
    user_drop(e->users);
    pthread_mutex_destroy(&e->lock);
    free(e);
}

// Commands in flight are copies; what they still need of the executable is its memory, its
// conditions and what user objects stand for.
CUresult
pw_cuGraphExecDestroy(CUgraphExec handle)
{
    struct graph_exec *e = exec_get(handle);
    if (!e)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not an executable graph", (void *)handle);
    object_retire(e);
    if (e->last && (e->has_memory || e->has_conditions || e->users)) {
        struct signal *last = signal_ref(e->last);
        signal_then(last, exec_end, e);
        signal_unref(last);
    } else {
        exec_end(e);
    }
    return CUDA_SUCCESS;
}

// ---- launch ---------------------------------------------------------------
// Memory of allocation nodes that is still allocated from the launch before.
static CUresult
check_memory(struct graph_exec *e, struct exec_list *l)
{
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < vec_len(l->nodes); i++) {
        struct exec_node *n = &l->nodes[i];
        for (size_t k = 0; !r && k < vec_len(n->child); k++)
            r = check_memory(e, &n->child[k]);
        if (n->w.type != CU_GRAPH_NODE_TYPE_MEM_ALLOC || !atomic_load(&n->w.mem->live))
            continue;
        if (!(e->flags & CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH))
            return fail(CUDA_ERROR_INVALID_VALUE, "memory %p of the launch before is not free",
                        n->w.mem->addr);
        graph_mem_free(n->w.mem);
    }
    return r;
}

// Where the commands of a launch go: a stream, or a list for a body of a conditional node.
struct sink {
    struct stream *stream; // NULL: the list
    struct command **list; // vec
};

static void
put(struct sink *k, struct command *c)
{
    if (k->stream)
        stream_enqueue(k->stream, c);
    else
        vec_push(k->list, c);
}

static void
launch_event(struct sink *s, const struct exec_node *n)
{
    struct event *e = object_get(n->w.params.eventRecord.event, OBJ_EVENT);
    if (!e) {
        log_error("a graph's event was destroyed: its node is left out");
        return;
    }
    struct command *c = n->w.type == CU_GRAPH_NODE_TYPE_EVENT_RECORD ? event_record_command(e)
                                                                     : event_wait_command(e);
    if (c)
        put(s, c);
}

static void launch_list(struct sink *s, const struct exec_list *l);

static void
launch_conditional(struct sink *s, const struct exec_node *n)
{
    unsigned count = (unsigned)vec_len(n->child);
    struct command ***body = calloc(count, sizeof *body);
    if (!body)
        abort();
    for (unsigned i = 0; i < count; i++) {
        struct sink inner = {0};
        launch_list(&inner, &n->child[i]);
        body[i] = inner.list;
    }
    put(s, condition_command(n->w.condition, n->w.params.conditional.type, body, count));
}

// The first values of all conditions, those of bodies too.
static void
reset_conditions(struct sink *s, const struct exec_list *l)
{
    for (size_t i = 0; i < vec_len(l->nodes); i++) {
        const struct exec_node *n = &l->nodes[i];
        struct command *c = n->w.condition ? condition_reset(n->w.condition) : NULL;
        if (c)
            put(s, c);
        for (size_t k = 0; k < vec_len(n->child); k++)
            reset_conditions(s, &n->child[k]);
    }
}

static void
launch_list(struct sink *s, const struct exec_list *l)
{
    for (size_t i = 0; i < vec_len(l->order); i++) {
        const struct exec_node *n = &l->nodes[l->order[i]];
        switch (n->disabled ? CU_GRAPH_NODE_TYPE_EMPTY : n->w.type) {
        case CU_GRAPH_NODE_TYPE_GRAPH:
            launch_list(s, &n->child[0]);
            break;
        case CU_GRAPH_NODE_TYPE_CONDITIONAL:
            launch_conditional(s, n);
            break;
        case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
            for (size_t k = 0; k < vec_len(n->w.ops); k++)
                put(s, command_clone(n->w.ops[k]));
            break;
        case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
            launch_event(s, n);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
            graph_mem_alloc(n->w.mem);
            break;
        case CU_GRAPH_NODE_TYPE_MEM_FREE:
            graph_mem_free(n->w.mem); // counted only: the executable keeps it
            break;
        case CU_GRAPH_NODE_TYPE_EMPTY:
            break;
        default:
            if (n->w.cmd)
                put(s, command_clone(n->w.cmd));
        }
    }
}

static void
launch(struct graph_exec *e, struct stream *s)
{
    if (e->last && e->last_stream != s->obj.id && !signal_done(e->last)) {
        struct command *wait = command_new(CMD_WAIT, 0);
        wait->signal = signal_ref(e->last);
        stream_enqueue(s, wait);
    }
    struct sink sink = {.stream = s};
    reset_conditions(&sink, &e->list);
    launch_list(&sink, &e->list);
    struct command *end = command_new(CMD_SIGNAL, 0);
    signal_unref(e->last);
    e->last = signal_new();
    e->last_stream = s->obj.id;
    end->signal = signal_ref(e->last);
    stream_enqueue(s, end);
}

// The executable as a graph again, for a launch that is captured. Holds graph_lock.
static CUresult
list_to_graph(const struct exec_list *l, struct graph **out)
{
    struct graph *g = graph_new();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < vec_len(l->nodes); i++) {
        struct work w;
        r = work_clone(&l->nodes[i].w, &w);
        for (size_t k = 0; !r && k < vec_len(l->nodes[i].child); k++) {
            struct graph *child;
            r = list_to_graph(&l->nodes[i].child[k], &child);
            vec_push(w.children, child);
        }
        if (w.type == CU_GRAPH_NODE_TYPE_GRAPH && w.children)
            w.params.graph.graph = (CUgraph)w.children[0];
        if (w.type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
            w.params.conditional.phGraph_out = (CUgraph *)w.children;
        if (!r)
            graph_add(g, &w, NULL, 0);
    }
    for (size_t i = 0; !r && i < vec_len(l->nodes); i++)
        for (size_t k = 0; !r && k < vec_len(l->nodes[i].deps); k++)
            r = graph_link(g->nodes[l->nodes[i].deps[k]], g->nodes[i], (CUgraphEdgeData){0});
    *out = g;
    return r;
}

static CUresult
capture_launch(struct graph_exec *e, struct stream *s)
{
    struct work w = {
        .type = CU_GRAPH_NODE_TYPE_GRAPH, .ctx = s->ctx, .params.type = CU_GRAPH_NODE_TYPE_GRAPH};
    if (e->has_memory)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "capture of a graph with memory nodes");
    pthread_mutex_lock(&graph_lock);
    struct graph *child;
    CUresult r = list_to_graph(&e->list, &child);
    user_retain_all(&child->users, e->users);
    pthread_mutex_unlock(&graph_lock);
    vec_push(w.children, child);
    w.params.graph.graph = (CUgraph)child;
    if (!r)
        r = capture_add(s, &w, NULL);
    if (r) {
        struct user_ref *drop = NULL;
        pthread_mutex_lock(&graph_lock);
        graph_free(child, &drop);
        pthread_mutex_unlock(&graph_lock);
        user_drop(drop);
    }
    return r;
}

CUresult
pw_cuGraphLaunch(CUgraphExec handle, CUstream stream)
{
    struct stream *s;
    struct graph_exec *e = exec_get(handle);
    if (!e)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not an executable graph", (void *)handle);
    CUresult r = stream_resolve(stream, &s);
    if (!r && s->legacy)
        r = capture_check_legacy(s->ctx);
    if (r)
        return r;
    if (stream_capturing(s))
        return capture_launch(e, s);
    pthread_mutex_lock(&e->lock);
    if (e->has_memory)
        r = check_memory(e, &e->list);
    if (!r)
        launch(e, s);
    pthread_mutex_unlock(&e->lock);
    return r;
}
