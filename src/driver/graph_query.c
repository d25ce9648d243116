// SPDX-License-Identifier: MIT
// What can be asked of a graph's structure. A list call with a NULL array tells the number; else it
// fills up to *n entries, sets the rest to NULL and *n to the number of entries written.
#include "driver/graph.h"
#include "api_impl.h"

#include <stdio.h>
#include <string.h>

static bool
plain(const CUgraphEdgeData *d)
{
    static const CUgraphEdgeData zero;
    return !memcmp(d, &zero, sizeof zero);
}

static CUresult
give_nodes(struct graph_node *const *list, size_t have, CUgraphNode *out, size_t *n)
{
    if (!n)
        return fail(CUDA_ERROR_INVALID_VALUE, "the number's pointer is NULL");
    for (size_t i = 0; out && i < *n; i++)
        out[i] = i < have ? (CUgraphNode)list[i] : NULL;
    if (!out || have < *n)
        *n = have;
    return CUDA_SUCCESS;
}

// One row of an edge list; from or to may be NULL where the caller does not ask for it.
struct edge_list {
    CUgraphNode *from, *to;
    CUgraphEdgeData *data;
    size_t room, have;
    bool lossy; // an edge has data that nobody asked for
};

static void
give_edge(struct edge_list *l, struct graph_node *from, struct graph_node *to,
          const CUgraphEdgeData *data)
{
    if (l->have < l->room) {
        if (l->from)
            l->from[l->have] = (CUgraphNode)from;
        if (l->to)
            l->to[l->have] = (CUgraphNode)to;
        if (l->data)
            l->data[l->have] = *data;
        l->lossy |= !l->data && !plain(data);
    }
    l->have++;
}

static CUresult
end_edges(struct edge_list *l, size_t *n)
{
    for (size_t i = l->have; i < l->room; i++) {
        if (l->from)
            l->from[i] = NULL;
        if (l->to)
            l->to[i] = NULL;
        if (l->data)
            memset(&l->data[i], 0, sizeof l->data[i]);
    }
    if (!l->room || l->have < l->room)
        *n = l->have;
    return l->lossy ? fail(CUDA_ERROR_LOSSY_QUERY, "an edge has data") : CUDA_SUCCESS;
}

// ---- nodes ----------------------------------------------------------------
CUresult
pw_cuGraphGetNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    if (!g)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph", (void *)handle);
    return give_nodes(g->nodes, vec_len(g->nodes), nodes, n);
}

CUresult
pw_cuGraphGetRootNodes(CUgraph handle, CUgraphNode *nodes, size_t *n)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    if (!g)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph", (void *)handle);
    struct graph_node **roots = NULL;
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        if (!vec_len(g->nodes[i]->in))
            vec_push(roots, g->nodes[i]);
    CUresult r = give_nodes(roots, vec_len(roots), nodes, n);
    vec_free(roots);
    return r;
}

CUresult
pw_cuGraphNodeGetType(CUgraphNode handle, CUgraphNodeType *type)
{
    GRAPH_LOCKED();
    struct graph_node *n = graph_node_get(handle);
    if (!n || !type)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a node", (void *)handle);
    *type = n->w.type;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphNodeFindInClone(CUgraphNode *out, CUgraphNode original, CUgraph clone)
{
    GRAPH_LOCKED();
    struct graph_node *n = graph_node_get(original);
    struct graph *g = graph_get(clone);
    if (!out || !n || !g)
        return fail(CUDA_ERROR_INVALID_VALUE, "node %p, graph %p", (void *)original, (void *)clone);
    for (size_t i = 0; i < vec_len(g->nodes); i++) {
        if (g->nodes[i]->origin == n->obj.id && g->nodes[i] != n) {
            *out = (CUgraphNode)g->nodes[i];
            return CUDA_SUCCESS;
        }
    }
    return fail(CUDA_ERROR_INVALID_VALUE, "the graph is not a clone of the node's graph");
}

// ---- edges ----------------------------------------------------------------
CUresult
pw_cuGraphGetEdges_v2(CUgraph handle, CUgraphNode *from, CUgraphNode *to, CUgraphEdgeData *data,
                      size_t *n)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    if (!g || !n || !from != !to)
        return fail(CUDA_ERROR_INVALID_VALUE, "graph %p, arrays %p and %p", (void *)handle,
                    (void *)from, (void *)to);
    struct edge_list l = {from, to, data, from ? *n : 0, 0, false};
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        for (size_t k = 0; k < vec_len(g->nodes[i]->out); k++)
            give_edge(&l, g->nodes[i], g->nodes[i]->out[k].node, &g->nodes[i]->out[k].data);
    return end_edges(&l, n);
}

static CUresult
node_edges(CUgraphNode handle, bool in, CUgraphNode *others, CUgraphEdgeData *data, size_t *n)
{
    GRAPH_LOCKED();
    struct graph_node *node = graph_node_get(handle);
    if (!node || !n)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a node", (void *)handle);
    struct edge_list l = {others, NULL, data, others ? *n : 0, 0, false};
    const struct edge *v = in ? node->in : node->out;
    for (size_t i = 0; i < vec_len(v); i++)
        give_edge(&l, v[i].node, NULL, &v[i].data);
    return end_edges(&l, n);
}

CUresult
pw_cuGraphNodeGetDependencies_v2(CUgraphNode node, CUgraphNode *deps, CUgraphEdgeData *data,
                                 size_t *n)
{
    return node_edges(node, true, deps, data, n);
}

CUresult
pw_cuGraphNodeGetDependentNodes_v2(CUgraphNode node, CUgraphNode *nodes, CUgraphEdgeData *data,
                                   size_t *n)
{
    return node_edges(node, false, nodes, data, n);
}

CUresult
pw_cuGraphGetEdges(CUgraph g, CUgraphNode *from, CUgraphNode *to, size_t *n)
{
    return pw_cuGraphGetEdges_v2(g, from, to, NULL, n);
}

CUresult
pw_cuGraphNodeGetDependencies(CUgraphNode node, CUgraphNode *deps, size_t *n)
{
    return node_edges(node, true, deps, NULL, n);
}

CUresult
pw_cuGraphNodeGetDependentNodes(CUgraphNode node, CUgraphNode *nodes, size_t *n)
{
    return node_edges(node, false, nodes, NULL, n);
}

// ---- picture --------------------------------------------------------------
// Parameters are shown when a flag of the node's type asks for them.
static bool
dot_wants(const struct work *w, unsigned flags)
{
    static const unsigned flag[] = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_MEMCPY] = CU_GRAPH_DEBUG_DOT_FLAGS_MEMCPY_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_MEMSET] = CU_GRAPH_DEBUG_DOT_FLAGS_MEMSET_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_HOST] = CU_GRAPH_DEBUG_DOT_FLAGS_HOST_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = CU_GRAPH_DEBUG_DOT_FLAGS_EVENT_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = CU_GRAPH_DEBUG_DOT_FLAGS_MEM_ALLOC_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = CU_GRAPH_DEBUG_DOT_FLAGS_MEM_FREE_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = CU_GRAPH_DEBUG_DOT_FLAGS_BATCH_MEM_OP_NODE_PARAMS,
        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = CU_GRAPH_DEBUG_DOT_FLAGS_CONDITIONAL_NODE_PARAMS,
    };
    unsigned own = (unsigned)w->type < sizeof flag / sizeof *flag ? flag[w->type] : 0;
    return flags & (own | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
}

static void
dot_params(FILE *f, const struct work *w)
{
    const struct command *c = w->cmd;
    switch (w->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        fprintf(f, "\\n<<<(%u,%u,%u),(%u,%u,%u),%u>>>", c->launch.grid[0], c->launch.grid[1],
                c->launch.grid[2], c->launch.block[0], c->launch.block[1], c->launch.block[2],
                c->launch.dynamic_shared);
        break;
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        if (c)
            fprintf(f, "\\n%p <- %p\\n%zu x %zu x %zu bytes", (void *)c->copy.dst,
                    (const void *)c->copy.src, c->copy.width, c->copy.height, c->copy.depth);
        break;
    case CU_GRAPH_NODE_TYPE_MEMSET:
        if (c)
            fprintf(f, "\\n%p <- 0x%x\\n%zu x %zu elements of %u bytes", (void *)c->fill.dst,
                    c->fill.pattern, c->fill.width, c->fill.height, c->fill.element);
        break;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        fprintf(f, "\\nevent %p", (void *)w->params.eventRecord.event);
        break;
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        fprintf(f, "\\n%p: %zu bytes", w->mem->addr, w->mem->size);
        break;
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        fprintf(f, "\\nhandle 0x%llx, type %d, %u bodies",
                (unsigned long long)w->params.conditional.handle, (int)w->params.conditional.type,
                w->params.conditional.size);
        break;
    default:
        break;
    }
}

static void
dot_label(FILE *f, const struct graph_node *n, unsigned flags)
{
    const struct work *w = &n->w;
    fprintf(f, "%s", work_type_name(w->type));
    if (w->type == CU_GRAPH_NODE_TYPE_KERNEL)
        fprintf(f, "\\n%s", w->cmd->launch.name ? w->cmd->launch.name : "?");
    if (flags & (CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES | CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE))
        fprintf(f, "\\nnode %p", (const void *)n);
    if (dot_wants(w, flags))
        dot_params(f, w);
}

// A child graph becomes a cluster beside its node.
static void
dot_graph(FILE *f, const struct graph *g, unsigned flags)
{
    fprintf(f, "subgraph cluster_%llu {\nlabel=\"graph %llu\"\n", (unsigned long long)g->obj.id,
            (unsigned long long)g->obj.id);
    for (size_t i = 0; i < vec_len(g->nodes); i++) {
        const struct graph_node *n = g->nodes[i];
        fprintf(f, "n%llu [shape=\"box\" label=\"%zu: ", (unsigned long long)n->obj.id, i);
        dot_label(f, n, flags);
        fprintf(f, "\"]\n");
        for (size_t k = 0; k < vec_len(n->out); k++)
            fprintf(f, "n%llu -> n%llu\n", (unsigned long long)n->obj.id,
                    (unsigned long long)n->out[k].node->obj.id);
        for (size_t k = 0; k < vec_len(n->w.children); k++) {
            const struct graph *child = n->w.children[k];
            dot_graph(f, child, flags);
            if (vec_len(child->nodes))
                fprintf(f, "n%llu -> n%llu [style=dashed]\n", (unsigned long long)n->obj.id,
                        (unsigned long long)child->nodes[0]->obj.id);
        }
    }
    fprintf(f, "}\n");
}

CUresult
pw_cuGraphDebugDotPrint(CUgraph handle, const char *path, unsigned flags)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(handle);
    if (!g || !path)
        return fail(CUDA_ERROR_INVALID_VALUE, "graph %p, path %s", (void *)handle,
                    path ? path : "NULL");
    FILE *f = fopen(path, "w");
    if (!f)
        return fail(CUDA_ERROR_OPERATING_SYSTEM, "%s cannot be written", path);
    fprintf(f, "digraph dot {\n");
    dot_graph(f, g, flags);
    fprintf(f, "}\n");
    bool bad = ferror(f);
    return fclose(f) || bad ? fail(CUDA_ERROR_OPERATING_SYSTEM, "%s cannot be written", path)
                            : CUDA_SUCCESS;
}
