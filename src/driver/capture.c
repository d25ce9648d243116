// SPDX-License-Identifier: MIT
// Stream capture: work of a capturing stream becomes nodes of a graph.
//
// Each stream in a capture has a frontier: the nodes on which its next one depends. An event
// recorded in a capture stands for a frontier; waiting for it brings another stream into the
// capture or joins it back. All state is guarded by graph_lock.
#include "driver/capture.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

pthread_mutex_t graph_lock = PTHREAD_MUTEX_INITIALIZER;
struct capture **captures;
atomic_uint ncaptures;

// ---- state ----------------------------------------------------------------
struct capture *
capture_by_id(uint64_t id)
{
    for (size_t i = 0; i < vec_len(captures); i++)
        if (captures[i]->id == id)
            return captures[i];
    return NULL;
}

void
capture_set_frontier(struct stream *s, struct graph_node *const *nodes, size_t n)
{
    struct graph_node **f = NULL; // `nodes` may be the frontier itself
    for (size_t i = 0; i < n; i++)
        vec_push(f, nodes[i]);
    vec_free(s->frontier);
    s->frontier = f;
}

void
capture_extend_frontier(struct stream *s, struct graph_node *const *nodes, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        size_t k = 0;
        while (k < vec_len(s->frontier) && s->frontier[k] != nodes[i])
            k++;
        if (k == vec_len(s->frontier))
            vec_push(s->frontier, nodes[i]);
    }
}

void
capture_enter(struct stream *s, struct capture *c)
{
    vec_push(c->streams, s);
    __atomic_store_n(&s->capture, c, __ATOMIC_RELEASE);
}

void
capture_leave(struct stream *s)
{
    __atomic_store_n(&s->capture, NULL, __ATOMIC_RELEASE);
    vec_free(s->frontier);
    vec_free(s->frontier_edges);
}

void
capture_end(struct capture *c)
{
    for (size_t i = 0; i < vec_len(c->streams); i++)
        capture_leave(c->streams[i]);
    vec_free(c->streams);
    vec_free(c->left);
    for (size_t i = 0; i < vec_len(captures); i++) {
        if (captures[i] == c) {
            vec_swap_remove(captures, i);
            break;
        }
    }
    atomic_store(&ncaptures, (unsigned)vec_len(captures));
    if (c->graph)
        c->graph->capture = NULL;
    free(c);
}

CUresult
capture_invalidate(struct capture *c, CUresult why, const char *what)
{
    c->invalid = true;
    return fail(why, "capture %llu: %s", (unsigned long long)c->id, what);
}

// ---- refusals -------------------------------------------------------------
// Does an unsafe call of this thread, in its capture mode, collide with the capture?
static bool
collides(const struct capture *c)
{
    if (c->mode != CU_STREAM_CAPTURE_MODE_RELAXED && pthread_equal(c->thread, pthread_self()))
        return true;
    return tls.capture_mode == CU_STREAM_CAPTURE_MODE_GLOBAL &&
           c->mode == CU_STREAM_CAPTURE_MODE_GLOBAL;
}

CUresult
capture_check_unsafe_call(void)
{
    if (!atomic_load_explicit(&ncaptures, memory_order_acquire) ||
        tls.capture_mode == CU_STREAM_CAPTURE_MODE_RELAXED)
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < vec_len(captures); i++)
        if (collides(captures[i]))
            r = capture_invalidate(captures[i], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                   "a call that is unsafe while capturing");
    return r;
}

CUresult
capture_check_context(struct context *ctx)
{
    if (!atomic_load_explicit(&ncaptures, memory_order_acquire))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; i < vec_len(captures); i++)
        for (size_t k = 0; k < vec_len(captures[i]->streams); k++)
            if (captures[i]->streams[k]->ctx == ctx)
                r = capture_invalidate(captures[i], CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                       "its context is waited for");
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
    return s->capture ? capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                                           "the host asks about its stream")
                      : CUDA_SUCCESS;
}

// A capture in a blocking stream of the context, or NULL. Holds graph_lock.
struct capture *
capture_blocking(const struct context *ctx)
{
    for (size_t i = 0; i < vec_len(captures); i++)
        for (size_t k = 0; k < vec_len(captures[i]->streams); k++) {
            const struct stream *s = captures[i]->streams[k];
            if (s->ctx == ctx && !(s->flags & CU_STREAM_NON_BLOCKING))
                return captures[i];
        }
    return NULL;
}

CUresult
capture_check_legacy(struct context *ctx)
{
    if (!atomic_load_explicit(&ncaptures, memory_order_acquire))
        return CUDA_SUCCESS;
    GRAPH_LOCKED();
    struct capture *c = capture_blocking(ctx);
    return c ? capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                  "work in the legacy stream depends on its streams")
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
        return capture_invalidate(c, CUDA_ERROR_CAPTURED_EVENT, "the host asks about its event");
    return fail(CUDA_ERROR_INVALID_VALUE, "event %p was last recorded in a capture", (void *)e);
}

// ---- adding ---------------------------------------------------------------
CUresult
capture_add(struct stream *s, struct work *w, struct graph_node **out)
{
    GRAPH_LOCKED();
    struct capture *c = s->capture;
    if (!c || c->invalid) {
        work_free(w);
        return c ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED
                 : fail(CUDA_ERROR_ILLEGAL_STATE, "the capture ended");
    }
    struct graph_node *n = graph_add(c->graph, w, s->frontier, vec_len(s->frontier));
    capture_set_frontier(s, &n, 1);
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
        capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                           "it waits for another capture");
        return capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_MERGE,
                                  "another capture waits for it");
    }
    if (s->legacy)
        return capture_invalidate(c, CUDA_ERROR_STREAM_CAPTURE_IMPLICIT,
                                  "the legacy stream cannot be captured");
    if (!s->capture)
        capture_enter(s, c);
    capture_extend_frontier(s, m->nodes, vec_len(m->nodes));
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
            return capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                                      "it waits for an event of a capture that ended");
        return fail(CUDA_ERROR_INVALID_VALUE, "event %p was recorded in a capture that ended",
                    (void *)e);
    }
    if (!s->capture || !e->signal) // never recorded: nothing to wait for
        return CUDA_SUCCESS;
    return capture_invalidate(s->capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
                              "it waits for work outside the capture");
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
        for (size_t i = 0; i < vec_len(s->frontier); i++)
            vec_push(c->left, s->frontier[i]); // must have been joined by the end
        for (size_t i = 0; i < vec_len(c->streams); i++) {
            if (c->streams[i] == s) {
                vec_swap_remove(c->streams, i);
                break;
            }
        }
        capture_leave(s);
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
