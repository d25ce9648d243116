// SPDX-License-Identifier: MIT
// Stream capture: work of a capturing stream becomes nodes of a graph.
//
// Each stream in a capture has a frontier: the nodes on which its next one depends. An event recorded in a capture stands for a frontier;
// waiting for it brings another stream into the capture or joins it back. All state is guarded by graph_lock.
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

struct capture {
    uint64_t id;
    CUstreamCaptureMode mode;
    pthread_t thread;            // that began it
    struct graph *graph;
    bool own_graph;              // made for this capture, not given by the program
    bool invalid;
    struct stream *origin;
    struct stream **streams;     // vec: all that take part, origin too
};

// Nodes that a captured event stands for.
struct capture_mark {
    uint64_t capture_id;
    struct graph_node **nodes;   // vec
};

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
static struct capture **active;  // vec
static atomic_uint nactive;      // its length, to be read without the lock
static uint64_t last_id;

// ---- state -----------------------------------------------------------------------------------------------------------
static struct capture *
capture_by_id(uint64_t id)
{
    for (size_t i = 0; i < vec_len(active); i++)
        if (active[i]->id == id)
            return active[i];
    return NULL;
}

static void
set_frontier(struct stream *s, struct graph_node *const *nodes, size_t n)
{
    struct graph_node **f = NULL; // `nodes` may be the frontier itself
    for (size_t i = 0; i < n; i++)
        vec_push(f, nodes[i]);
    vec_free(s->frontier);
    s->frontier = f;
}

static void
extend_frontier(struct stream *s, struct graph_node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < vec_len(s->frontier) && s->frontier[k] != nodes[i])
            k++;
        if (k == vec_len(s->frontier))
            vec_push(s->frontier, nodes[i]);
    }
}

static void
enter(struct stream *s, struct capture *c)
{
    vec_push(c->streams, s);
    __atomic_store_n(&s->capture, c, __ATOMIC_RELEASE);
}

static void
leave(struct stream *s)
{
    __atomic_store_n(&s->capture, NULL, __ATOMIC_RELEASE);
    vec_free(s->frontier);
    vec_free(s->frontier_edges);
}

static void
capture_end(struct capture *c)
{
    for (size_t i = 0; i < vec_len(c->streams); i++)
        leave(c->streams[i]);
    vec_free(c->streams);
    for (size_t i = 0; i < vec_len(active); i++) {
        if (active[i] == c) {
            vec_swap_remove(active, i);
            break;
        }
    }
    atomic_store(&nactive, (unsigned)vec_len(active));
    if (c->graph)
        c->graph->capture = NULL;
    free(c);
}

static CUresult
invalidate(struct capture *c, CUresult why, const char *what)
{
    c->invalid = true;
    return fail(why, "capture %llu: %s", (unsigned long long)c->id, what);
}

// ---- refusals ----------------------------------------------------------------------------------------------------------
// Does an unsafe call of this thread, in its capture mode, collide with the capture?
static bool
collides(const struct capture *c)
{
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && pthread_equal(c->thread, pthread_self()))
        return true;
    return tls.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL && c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult
capture_check_unsafe_call(void)
{
    if (!atomic_load_explicit(&nactive, memory_order_acquire) ||
        tls.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < vec_len(active); i++)
        if (collides(active[i]))
            r = invalidate(active[i], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a call that is unsafe while capturing");
    return r;
}

CUresult
capture_check_context(struct context *ctx)
{
    if (!atomic_load_explicit(&nactive, memory_order_acquire))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < vec_len(active); i++)
        for (size_t k = 0; k < vec_len(active[i]->streams); k++)
            if (active[i]->streams[k]->ctx == ctx)
                r = invalidate(active[i], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "its context is waited for");
    return r;
}

CUresult
capture_check_stream(struct stream *s)
{
    if (s->legacy)
        return capture_check_legacy(s->ctx);
    if (!stream_capturing(s))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    return s->capture ? invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the host asks about its stream")
                      : CUDA_SUCCESS;
}

// A capture in a blocking stream of the context, or NULL. Holds graph_lock.
static struct capture *
blocking_capture(const struct context *ctx)
{
    for (size_t i = 0; i < vec_len(active); i++)
        for (size_t k = 0; k < vec_len(active[i]->streams); k++) {
            const struct stream *s = active[i]->streams[k];
            if (s->ctx == ctx && !(s->flags & CU_STREAM_NON_BLOCKING))
                return active[i];
        }
    return NULL;
}

CUresult
capture_check_legacy(struct context *ctx)
{
    if (!atomic_load_explicit(&nactive, memory_order_acquire))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    struct capture *c = blocking_capture(ctx);
    return c ? invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "work in the legacy stream depends on its streams")
             : CUDA_SUCCESS;
}

CUresult
capture_check_event(struct event *e)
{
    if (!__atomic_load_n(&e->captured, __ATOMIC_ACQUIRE))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    if (!e->captured)
        return CUDA_SUCCESS;
    struct capture *c = capture_by_id(e->captured->capture_id);
    if (c)
        return invalidate(c, CUDA_ERROR_CAPTURED_EVENT, "the host asks about its event");
    return fail(CUDA_ERROR_CAPTURED_EVENT, "event %p was last recorded in a capture", (void *)e);
}

// ---- adding ------------------------------------------------------------------------------------------------------------
CUresult
capture_add(struct stream *s, struct work *w, struct graph_node **out)
{
    GRAPH_LOCKED();
    struct capture *c = s->capture;
    if (!c || c->invalid) {
        work_free(w);
        return c ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : fail(CUDA_ERROR_ILLEGAL_STATE, "the capture ended");
    }
    struct graph_node *n = graph_add(c->graph, w, s->frontier, vec_len(s->frontier));
    set_frontier(s, &n, 1);
    if (out)
        *out = n;
    return CUDA_SUCCESS;
}

CUresult
capture_append(struct stream *s, struct command *c)
{
    struct work w;
    work_capture(s, c, &w);
    return capture_add(s, &w, NULL);
}

static CUresult
add_event_node(struct stream *s, struct event *e, CUgraphNodeType type)
{
    struct work w = {.type = type, .ctx = s->ctx, .params.type = type};
    w.params.eventRecord.event = (CUevent)e; // eventWait lies at the same place
    return capture_add(s, &w, NULL);
}

static void
mark_free(struct capture_mark *m)
{
    if (!m)
        return;
    vec_free(m->nodes);
    free(m);
}

static void
set_mark(struct event *e, struct capture_mark *m)
{
    struct capture_mark *old = e->captured;
    __atomic_store_n(&e->captured, m, __ATOMIC_RELEASE);
    mark_free(old);
}

CUresult
capture_record(struct stream *s, struct event *e, bool external)
{
    if (external)
        return add_event_node(s, e, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    GRAPH_LOCKED();
    struct capture *c = s->capture;
    if (!c || c->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    struct capture_mark *m = calloc(1, sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->capture_id = c->id;
    for (size_t i = 0; i < vec_len(s->frontier); i++)
        vec_push(m->nodes, s->frontier[i]);
    set_mark(e, m);
    return CUDA_SUCCESS;
}

// The stream waits for an event of capture c. Holds graph_lock.
static CUresult
join(struct stream *s, struct capture *c, const struct capture_mark *m)
{
    if (c->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    if (s->capture && s->capture != c) {
        invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE, "it waits for another capture");
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_MERGE, "another capture waits for it");
    }
    if (s->legacy)
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "the legacy stream cannot be captured");
    if (!s->capture)
        enter(s, c);
    extend_frontier(s, m->nodes, vec_len(m->nodes));
    return CUDA_SUCCESS;
}

// What a wait comes to when the event was not recorded in a running capture.
static CUresult
wait_uncaptured(struct stream *s, struct event *e)
{
    GRAPH_LOCKED();
    if (e->captured) {
        struct capture *c = capture_by_id(e->captured->capture_id);
        if (c)
            return join(s, c, e->captured);
        if (s->capture)
            return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "it waits for an event of a capture that ended");
        return fail(CUDA_ERROR_CAPTURED_EVENT, "event %p was recorded in a capture that ended", (void *)e);
    }
    if (!s->capture || !e->signal) // never recorded: nothing to wait for
        return CUDA_SUCCESS;
    return invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION, "it waits for work outside the capture");
}

CUresult
capture_wait(struct stream *s, struct event *e, bool external)
{
    if (external && stream_capturing(s))
        return add_event_node(s, e, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    return wait_uncaptured(s, e);
}

void
capture_forget_event(struct event *e)
{
    if (!__atomic_load_n(&e->captured, __ATOMIC_ACQUIRE))
        return;
    GRAPH_LOCKED();
    set_mark(e, NULL);
}

void
capture_forget_stream(struct stream *s)
{
    if (!stream_capturing(s))
        return;
    struct user_ref *drop = NULL;
    pthread_mutex_lock(&graph_lock);
    struct capture *c = s->capture;
    if (c) {
        invalidate(c, CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "one of its streams is destroyed");
        for (size_t i = 0; i < vec_len(c->streams); i++) {
            if (c->streams[i] == s) {
                vec_swap_remove(c->streams, i);
                break;
            }
        }
        leave(s);
        if (c->origin == s) {
            if (c->own_graph)
                graph_free(c->graph, &drop);
            c->graph = c->own_graph ? NULL : c->graph;
            capture_end(c);
        }
    }
    pthread_mutex_unlock(&graph_lock);
    user_drop(drop);
}

// ---- calls -----------------------------------------------------------------------------------------------------------
static CUresult
begin(struct stream *s, CUstreamCaptureMode mode, struct graph *g, struct graph_node *const *deps, size_t ndeps)
{
    if (mode < CU_STREAM_CAPTURE_MODE_GLOBAL || mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return fail(CUDA_ERROR_INVALID_VALUE, "mode %d", (int)mode);
    if (s->legacy)
        return fail(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "the legacy stream cannot be captured");
    if (s->capture)
        return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is capturing already");
    struct capture *c = calloc(1, sizeof *c);
    if (!c)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *c = (struct capture){.id = ++last_id, .mode = mode, .thread = pthread_self(), .graph = g ? g : graph_new(),
                          .own_graph = !g, .origin = s};
    c->graph->capture = c;
    enter(s, c);
    set_frontier(s, deps, ndeps);
    vec_push(active, c);
    atomic_store(&nactive, (unsigned)vec_len(active));
    LOG(LOG_STREAM, "capture %llu begins in stream %p", (unsigned long long)c->id, (void *)s);
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamBeginCapture_v2(CUstream stream, CUstreamCaptureMode mode)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    GRAPH_LOCKED();
    return begin(s, mode, NULL, NULL, 0);
}

CUresult
pw_cuStreamBeginCapture(CUstream stream)
{
    return pw_cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL);
}

// Nodes given by the program, all of graph g. Holds graph_lock.
static CUresult
check_nodes(const struct graph *g, const CUgraphNode *nodes, size_t n)
{
    if (n && !nodes)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu nodes at NULL", n);
    for (size_t i = 0; i < n; i++) {
        struct graph_node *node = graph_node_get(nodes[i]);
        if (!node || node->graph != g)
            return fail(CUDA_ERROR_INVALID_VALUE, "node %p is not of the graph that is captured", (void *)nodes[i]);
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamBeginCaptureToGraph(CUstream stream, CUgraph graph, const CUgraphNode *deps,
                               const CUgraphEdgeData *data, size_t ndeps, CUstreamCaptureMode mode)
{
    (void)data; // edges of a capture are full dependencies
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    GRAPH_LOCKED();
    struct graph *g = graph_get(graph);
    if (!g || g->capture)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is no graph that could be captured to", (void *)graph);
    r = check_nodes(g, deps, ndeps);
    return r ? r : begin(s, mode, g, (struct graph_node *const *)deps, ndeps);
}

static void
mark_ancestors(struct graph_node *n)
{
    struct graph_node **todo = NULL; // not by recursion: chains are long
    vec_push(todo, n);
    while (vec_len(todo)) {
        struct graph_node *m = vec_pop(todo);
        if (m->mark)
            continue;
        m->mark = true;
        for (size_t i = 0; i < vec_len(m->in); i++)
            if (!m->in[i].node->mark)
                vec_push(todo, m->in[i].node);
    }
    vec_free(todo);
}

// All work of the other streams leads to the origin's frontier.
static bool
joined(struct capture *c)
{
    for (size_t i = 0; i < vec_len(c->graph->nodes); i++)
        c->graph->nodes[i]->mark = false;
    for (size_t i = 0; i < vec_len(c->origin->frontier); i++)
        mark_ancestors(c->origin->frontier[i]);
    for (size_t k = 0; k < vec_len(c->streams); k++)
        for (size_t i = 0; i < vec_len(c->streams[k]->frontier); i++)
            if (!c->streams[k]->frontier[i]->mark)
                return false;
    return true;
}

// Ends the capture that `s` began; *drop gets what has to be released without the lock.
static CUresult
end(struct stream *s, struct graph **out, struct user_ref **drop)
{
    struct capture *c = s->capture;
    if (!c)
        return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
    if (c->origin != s)
        return invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, "it did not begin in this stream");
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        return fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread");
    CUresult r = CUDA_SUCCESS;
    if (c->invalid)
        r = fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated before");
    else if (!joined(c))
        r = fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, "a stream has work that the first stream does not wait for");
    struct graph *g = c->graph;
    g->capture = NULL;
    c->graph = NULL;
    if (!r)
        *out = g;
    else if (c->own_graph)
        graph_free(g, drop);
    LOG(LOG_STREAM, "capture %llu ends: %d", (unsigned long long)c->id, (int)r);
    capture_end(c);
    return r;
}

CUresult
pw_cuStreamEndCapture(CUstream stream, CUgraph *out)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "phGraph is NULL");
    struct graph *g = NULL;
    struct user_ref *drop = NULL;
    pthread_mutex_lock(&graph_lock);
    r = end(s, &g, &drop);
    pthread_mutex_unlock(&graph_lock);
    user_drop(drop);
    *out = (CUgraph)g;
    return r;
}

CUresult
pw_cuStreamIsCapturing(CUstream stream, CUstreamCaptureStatus *status)
{
    return pw_cuStreamGetCaptureInfo_v3(stream, status, NULL, NULL, NULL, NULL, NULL);
}

// Edges of a frontier are all ordinary ones; the answer stays valid until the stream's next call.
static const CUgraphEdgeData *
plain_edges(struct stream *s)
{
    size_t n = vec_len(s->frontier), have = vec_len(s->frontier_edges);
    if (have < n)
        vec_extend(s->frontier_edges, n - have);
    return s->frontier_edges;
}

CUresult
pw_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **deps, const CUgraphEdgeData **edges, size_t *ndeps)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (!status)
        return fail(CUDA_ERROR_INVALID_VALUE, "captureStatus is NULL");
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream_capturing(s) && !(s->legacy && atomic_load(&nactive)))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    if (s->legacy) // asking does not harm the capture
        return blocking_capture(s->ctx) ? fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "a blocking stream is capturing")
                                        : CUDA_SUCCESS;
    struct capture *c = s->capture;
    if (!c)
        return CUDA_SUCCESS;
    *status = c->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED : CU_STREAM_CAPTURE_STATUS_ACTIVE;
    if (c->invalid)
        return CUDA_SUCCESS;
    if (id)
        *id = c->id;
    if (graph)
        *graph = (CUgraph)c->graph;
    if (deps)
        *deps = (const CUgraphNode *)s->frontier;
    if (edges)
        *edges = plain_edges(s);
    if (ndeps)
        *ndeps = vec_len(s->frontier);
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id, CUgraph *graph,
                             const CUgraphNode **deps, size_t *ndeps)
{
    return pw_cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, NULL, ndeps);
}

CUresult
pw_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return pw_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult
pw_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *deps, const CUgraphEdgeData *data,
                                        size_t ndeps, unsigned flags)
{
    (void)data;
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (flags > CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %u", flags);
    GRAPH_LOCKED();
    struct capture *c = s->capture;
    if (!c)
        return fail(CUDA_ERROR_ILLEGAL_STATE, "the stream is not capturing");
    if (c->invalid)
        return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    r = check_nodes(c->graph, deps, ndeps);
    if (r)
        return r;
    if (flags == CU_STREAM_SET_CAPTURE_DEPENDENCIES)
        set_frontier(s, (struct graph_node *const *)deps, ndeps);
    else
        extend_frontier(s, (struct graph_node *const *)deps, ndeps);
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps, size_t ndeps, unsigned flags)
{
    return pw_cuStreamUpdateCaptureDependencies_v2(stream, deps, NULL, ndeps, flags);
}

CUresult
pw_cuThreadExchangeStreamCaptureMode(CUstreamCaptureMode *mode)
{
    if (!mode || *mode < CU_STREAM_CAPTURE_MODE_GLOBAL || *mode > CU_STREAM_CAPTURE_MODE_RELAXED)
        return fail(CUDA_ERROR_INVALID_VALUE, "mode %d", mode ? (int)*mode : -1);
    CUstreamCaptureMode old = tls.capture_mode;
    tls.capture_mode = *mode;
    *mode = old;
    return CUDA_SUCCESS;
}
