// SPDX-License-Identifier: MIT
// Graphs as structures: nodes, edges, cloning, order.
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

struct graph *
graph_get(CUgraph g)
{
    return object_get(g, OBJ_GRAPH);
}

struct graph_node *
graph_node_get(CUgraphNode n)
{
    return object_get(n, OBJ_GRAPH_NODE);
}

struct graph *
graph_new(void)
{
    return object_new(OBJ_GRAPH, sizeof(struct graph));
}

static void
node_free(struct graph_node *n, struct user_ref **drop)
{
    for (size_t i = 0; i < vec_len(n->w.children); i++)
        graph_free(n->w.children[i], drop);
    vec_free(n->w.children);
    work_free(&n->w);
    vec_free(n->in);
    vec_free(n->out);
    object_free(n);
}

void
graph_free(struct graph *g, struct user_ref **drop)
{
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        node_free(g->nodes[i], drop);
    vec_free(g->nodes);
    for (size_t i = 0; i < vec_len(g->users); i++)
        vec_push(*drop, g->users[i]);
    vec_free(g->users);
    for (size_t i = 0; i < vec_len(g->conditions); i++)
        condition_retire(g->conditions[i]);
    vec_free(g->conditions);
    object_free(g);
}

// ---- edges ----------------------------------------------------------------
static size_t
find_edge(const struct edge *v, const struct graph_node *other, const CUgraphEdgeData *data)
{
    for (size_t i = 0; i < vec_len(v); i++)
        if (v[i].node == other && (!data || !memcmp(&v[i].data, data, sizeof *data)))
            return i;
    return SIZE_MAX;
}

static void
remove_edge(struct edge *v, size_t i)
{
    size_t n = vec_len(v);
    memmove(v + i, v + i + 1, (n - i - 1) * sizeof *v);
    (void)vec_pop(v);
}

static void
connect(struct graph_node *from, struct graph_node *to, CUgraphEdgeData data)
{
    vec_push(from->out, ((struct edge){to, data}));
    vec_push(to->in, ((struct edge){from, data}));
}

CUresult
graph_link(struct graph_node *from, struct graph_node *to, CUgraphEdgeData data)
{
    if (find_edge(from->out, to, NULL) != SIZE_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "the edge exists already");
    if (from == to)
        return fail(CUDA_ERROR_INVALID_VALUE, "a node cannot depend on itself");
    static const CUgraphEdgeData plain;
    if (data.from_port > CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER || data.type > CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC ||
        memcmp(data.reserved, plain.reserved, sizeof data.reserved))
        return fail(CUDA_ERROR_INVALID_VALUE, "edge of port %u, type %u", data.from_port, data.type);
    connect(from, to, data);
    return CUDA_SUCCESS;
}

struct graph_node *
graph_add(struct graph *g, struct work *w, struct graph_node *const *deps, size_t ndeps)
{
    struct graph_node *n = object_new(OBJ_GRAPH_NODE, sizeof *n);
    n->graph = g;
    n->origin = n->obj.id;
    n->w = *w;
    for (size_t i = 0; i < vec_len(n->w.children); i++)
        n->w.children[i]->owner = n;
    for (size_t i = 0; i < ndeps; i++)
        connect(deps[i], n, (CUgraphEdgeData){0});
    vec_push(g->nodes, n);
    return n;
}

size_t *
graph_order(struct graph *g)
{
    size_t n = vec_len(g->nodes), *order = NULL, *missing = NULL;
    bool as_created = true;
    for (size_t i = 0; i < n; i++)
        g->nodes[i]->index = i;
    vec_extend(missing, n); // dependencies that are not in the order yet
    for (size_t i = 0; i < n; i++) {
        missing[i] = vec_len(g->nodes[i]->in);
        for (size_t k = 0; k < missing[i]; k++)
            as_created &= g->nodes[i]->in[k].node->index < i;
    }
    for (size_t i = 0; i < n; i++)
        if (as_created || !missing[i])
            vec_push(order, i);
    for (size_t at = 0; !as_created && at < vec_len(order); at++) {
        struct graph_node *node = g->nodes[order[at]];
        for (size_t k = 0; k < vec_len(node->out); k++)
            if (!--missing[node->out[k].node->index])
                vec_push(order, node->out[k].node->index);
    }
    vec_free(missing);
    return order;
}

CUresult
graph_clone(struct graph *g, struct graph **out)
{
    struct graph *copy = graph_new();
    CUresult r = CUDA_SUCCESS;
    for (size_t i = 0; !r && i < vec_len(g->nodes); i++) {
        struct graph_node *n = g->nodes[i];
        struct work w;
        n->index = i;
        r = work_clone(&n->w, &w);
        if (!r)
            graph_add(copy, &w, NULL, 0)->origin = n->obj.id;
    }
    for (size_t i = 0; !r && i < vec_len(g->nodes); i++)
        for (size_t k = 0; k < vec_len(g->nodes[i]->in); k++)
            connect(copy->nodes[g->nodes[i]->in[k].node->index], copy->nodes[i],
                    g->nodes[i]->in[k].data);
    if (r) {
        struct user_ref *none = NULL;
        graph_free(copy, &none);
        return r;
    }
    user_retain_all(&copy->users, g->users);
    *out = copy;
    return CUDA_SUCCESS;
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuGraphCreate(CUgraph *out, unsigned flags)
{
    if (!out || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "phGraph %p, flags %u", (void *)out, flags);
    *out = (CUgraph)graph_new();
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphDestroy(CUgraph handle)
{
    struct user_ref *drop = NULL;
    pthread_mutex_lock(&graph_lock);
    struct graph *g = graph_get(handle);
    bool ok = g && !g->owner && !g->capture;
    if (ok)
        graph_free(g, &drop);
    pthread_mutex_unlock(&graph_lock);
    user_drop(drop);
    return ok ? CUDA_SUCCESS
              : fail(CUDA_ERROR_INVALID_VALUE, "%p is no graph that can be destroyed",
                     (void *)handle);
}

CUresult
pw_cuGraphClone(CUgraph *out, CUgraph handle)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle), *copy;
    if (!out || !g)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph", (void *)handle);
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        if (g->nodes[i]->w.mem)
            return fail(CUDA_ERROR_NOT_SUPPORTED, "graphs with memory nodes cannot be cloned");
    CUresult r = graph_clone(g, &copy);
    if (!r)
        *out = (CUgraph)copy;
    return r;
}

static CUresult
node_destroy(CUgraphNode handle, struct user_ref **drop)
{
    GRAPH_LOCKED();
    struct graph_node *n = graph_node_get(handle);
    if (!n || n->graph->capture)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is no node that can be destroyed",
                    (void *)handle);
    if (n->w.mem)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "memory nodes cannot be destroyed");
    struct graph *g = n->graph;
    for (size_t i = 0; i < vec_len(n->in); i++)
        remove_edge(n->in[i].node->out, find_edge(n->in[i].node->out, n, NULL));
    for (size_t i = 0; i < vec_len(n->out); i++)
        remove_edge(n->out[i].node->in, find_edge(n->out[i].node->in, n, NULL));
    for (size_t i = 0; i < vec_len(g->nodes); i++) {
        if (g->nodes[i] == n) { // the others keep their order
            memmove(g->nodes + i, g->nodes + i + 1, (vec_len(g->nodes) - i - 1) * sizeof *g->nodes);
            (void)vec_pop(g->nodes);
            break;
        }
    }
    node_free(n, drop);
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphDestroyNode(CUgraphNode handle)
{
    struct user_ref *drop = NULL;
    CUresult r = node_destroy(handle, &drop);
    user_drop(drop);
    return r;
}

// Checks one pair of an edge call.
static CUresult
check_pair(const struct graph *g, CUgraphNode from, CUgraphNode to, struct graph_node **f,
           struct graph_node **t)
{
    *f = graph_node_get(from);
    *t = graph_node_get(to);
    if (!*f || !*t || (*f)->graph != g || (*t)->graph != g || *f == *t)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p -> %p are not two nodes of the graph",
                    (void *)from, (void *)to);
    return CUDA_SUCCESS;
}

static CUresult
check_edges(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to, size_t n,
            struct graph **g)
{
    *g = graph_get(handle);
    if (!*g || (n && (!from || !to)))
        return fail(CUDA_ERROR_INVALID_VALUE, "graph %p, %zu edges", (void *)handle, n);
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphAddDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                             const CUgraphEdgeData *data, size_t n)
{
    GRAPH_LOCKED();
    struct graph *g;
    struct graph_node *f, *t;
    CUresult r = check_edges(handle, from, to, n, &g);
    for (size_t i = 0; !r && i < n; i++) {
        r = check_pair(g, from[i], to[i], &f, &t);
        if (!r)
            r = graph_link(f, t, data ? data[i] : (CUgraphEdgeData){0});
    }
    return r;
}

CUresult
pw_cuGraphRemoveDependencies_v2(CUgraph handle, const CUgraphNode *from, const CUgraphNode *to,
                                const CUgraphEdgeData *data, size_t n)
{
    GRAPH_LOCKED();
    struct graph *g;
    struct graph_node *f, *t;
    CUresult r = check_edges(handle, from, to, n, &g);
    for (size_t i = 0; !r && i < n; i++) {
        r = check_pair(g, from[i], to[i], &f, &t);
        if (r)
            break;
        const CUgraphEdgeData *want = data ? &data[i] : NULL; // NULL: whatever its data
        size_t k = find_edge(f->out, t, want);
        if (k == SIZE_MAX)
            return fail(CUDA_ERROR_INVALID_VALUE, "there is no such edge %p -> %p", (void *)from[i],
                        (void *)to[i]);
        remove_edge(f->out, k);
        remove_edge(t->in, find_edge(t->in, f, want));
    }
    return r;
}

CUresult
pw_cuGraphAddDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    return pw_cuGraphAddDependencies_v2(g, from, to, NULL, n);
}

CUresult
pw_cuGraphRemoveDependencies(CUgraph g, const CUgraphNode *from, const CUgraphNode *to, size_t n)
{
    return pw_cuGraphRemoveDependencies_v2(g, from, to, NULL, n);
}
