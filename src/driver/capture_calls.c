// SPDX-License-Identifier: MIT
// The calls that begin, end, ask about and steer captures.
#include "driver/capture.h"
#include "api_impl.h"

#include <stdlib.h>

static uint64_t last_id; // guarded by graph_lock

static CUresult
begin(struct stream *s, CUstreamCaptureMode mode, struct graph *g, struct graph_node *const *deps,
      size_t ndeps)
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
    *c = (struct capture){.id = ++last_id,
                          .mode = mode,
                          .thread = pthread_self(),
                          .graph = g ? g : graph_new(),
                          .own_graph = !g,
                          .origin = s};
    c->graph->capture = c;
    capture_enter(s, c);
    capture_set_frontier(s, deps, ndeps);
    vec_push(captures, c);
    atomic_store(&ncaptures, (unsigned)vec_len(captures));
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
            return fail(CUDA_ERROR_INVALID_VALUE, "node %p is not of the graph that is captured",
                        (void *)nodes[i]);
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
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is no graph that could be captured to",
                    (void *)graph);
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
    for (size_t i = 0; i < vec_len(c->left); i++)
        if (!c->left[i]->mark)
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
        return capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
                                  "it did not begin in this stream");
    CUresult r = CUDA_SUCCESS;
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && !pthread_equal(c->thread, pthread_self()))
        r = fail(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "the capture was begun by another thread");
    else if (c->invalid)
        r = fail(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, "the capture was invalidated before");
    else if (!joined(c))
        r = fail(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                 "a stream has work that the first stream does not wait for");
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
    struct graph *g = NULL;
    struct user_ref *drop = NULL;
    pthread_mutex_lock(&graph_lock);
    bool own = s->capture && s->capture->own_graph;
    r = end(s, &g, &drop);
    if (!out && own && g) // nobody will know it
        graph_free(g, &drop);
    pthread_mutex_unlock(&graph_lock);
    user_drop(drop);
    if (out)
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
pw_cuStreamGetCaptureInfo_v3(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                             CUgraph *graph, const CUgraphNode **deps,
                             const CUgraphEdgeData **edges, size_t *ndeps)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    if (!status)
        return fail(CUDA_ERROR_INVALID_VALUE, "captureStatus is NULL");
    *status = CU_STREAM_CAPTURE_STATUS_NONE;
    if (!stream_capturing(s) && !(s->legacy && atomic_load(&ncaptures)))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    if (s->legacy) // asking does not harm the capture
        return capture_blocking(s->ctx)
                   ? fail(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "a blocking stream is capturing")
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
pw_cuStreamGetCaptureInfo_v2(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id,
                             CUgraph *graph, const CUgraphNode **deps, size_t *ndeps)
{
    return pw_cuStreamGetCaptureInfo_v3(stream, status, id, graph, deps, NULL, ndeps);
}

CUresult
pw_cuStreamGetCaptureInfo(CUstream stream, CUstreamCaptureStatus *status, cuuint64_t *id)
{
    return pw_cuStreamGetCaptureInfo_v3(stream, status, id, NULL, NULL, NULL, NULL);
}

CUresult
pw_cuStreamUpdateCaptureDependencies_v2(CUstream stream, CUgraphNode *deps,
                                        const CUgraphEdgeData *data, size_t ndeps, unsigned flags)
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
        capture_set_frontier(s, (struct graph_node *const *)deps, ndeps);
    else
        capture_extend_frontier(s, (struct graph_node *const *)deps, ndeps);
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamUpdateCaptureDependencies(CUstream stream, CUgraphNode *deps, size_t ndeps,
                                     unsigned flags)
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
