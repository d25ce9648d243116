// SPDX-License-Identifier: MIT
// Changes of executable graphs: one node's parameters, or all that a graph of the same shape says.
#include "driver/graph_exec.h"
#include "driver/graph_params.h"
#include "api_impl.h"

#include <string.h>

// The executable and its node for `node`, with e->lock held on success.
static CUresult
exec_node_lock(CUgraphExec handle, CUgraphNode node, struct graph_exec **e, struct exec_node **n)
{
    *e = exec_get(handle);
    pthread_mutex_lock(&graph_lock);
    struct graph_node *g = graph_node_get(node);
    uint64_t id = g ? g->obj.id : 0;
    pthread_mutex_unlock(&graph_lock);
    if (!*e || !id)
        return fail(CUDA_ERROR_INVALID_VALUE, "executable %p, node %p", (void *)handle,
                    (void *)node);
    pthread_mutex_lock(&(*e)->lock);
    *n = intmap_get(&(*e)->by_id, id);
    if (*n)
        return CUDA_SUCCESS;
    pthread_mutex_unlock(&(*e)->lock);
    return fail(CUDA_ERROR_INVALID_VALUE, "the executable has no node %p", (void *)node);
}

// Puts w in the place of the node's work; attributes that are not parameters stay.
static void
replace(struct exec_node *n, struct work *w)
{
    if (w->type == CU_GRAPH_NODE_TYPE_KERNEL) {
        memcpy(w->cmd->launch.cluster, n->w.cmd->launch.cluster, sizeof w->cmd->launch.cluster);
        w->cmd->launch.cooperative = n->w.cmd->launch.cooperative;
    }
    work_free(&n->w);
    n->w = *w;
}

CUresult
pw_cuGraphExecNodeSetParams(CUgraphExec handle, CUgraphNode node, CUgraphNodeParams *params)
{
    struct graph_exec *e;
    struct exec_node *n;
    struct work w;
    if (!params)
        return fail(CUDA_ERROR_INVALID_VALUE, "the parameters are NULL");
    if (params->type == CU_GRAPH_NODE_TYPE_GRAPH)
        return pw_cuGraphExecChildGraphNodeSetParams(handle, node, params->graph.graph);
    if (params->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC || params->type == CU_GRAPH_NODE_TYPE_MEM_FREE ||
        params->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "nodes of type %s cannot be changed",
                    work_type_name(params->type));
    CUresult r = work_make(params, &w);
    if (r)
        return r;
    r = exec_node_lock(handle, node, &e, &n);
    if (r) {
        work_free(&w);
        return r;
    }
    if (n->w.type == w.type) {
        replace(n, &w);
    } else {
        r = fail(CUDA_ERROR_INVALID_VALUE, "the node is of type %s, not %s",
                 work_type_name(n->w.type), work_type_name(w.type));
        work_free(&w);
    }
    pthread_mutex_unlock(&e->lock);
    return r;
}

static CUresult
missing(void)
{
    return fail(CUDA_ERROR_INVALID_VALUE, "the parameters are NULL");
}

CUresult
pw_cuGraphExecKernelNodeSetParams_v2(CUgraphExec e, CUgraphNode node,
                                     const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel(p, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecKernelNodeSetParams(CUgraphExec e, CUgraphNode node,
                                  const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel_v1(p, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecMemcpyNodeSetParams(CUgraphExec e, CUgraphNode node, const CUDA_MEMCPY3D *p,
                                  CUcontext ctx)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memcpy(p, ctx, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecMemsetNodeSetParams(CUgraphExec e, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p,
                                  CUcontext ctx)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memset(p, ctx, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecHostNodeSetParams(CUgraphExec e, CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_host(p, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecEventRecordNodeSetEvent(CUgraphExec e, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecEventWaitNodeSetEvent(CUgraphExec e, CUgraphNode node, CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

CUresult
pw_cuGraphExecBatchMemOpNodeSetParams(CUgraphExec e, CUgraphNode node,
                                      const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memops(p, &q);
    return pw_cuGraphExecNodeSetParams(e, node, &q);
}

// ---- disabling ------------------------------------------------------------
static bool
can_disable(CUgraphNodeType t)
{
    return t == CU_GRAPH_NODE_TYPE_KERNEL || t == CU_GRAPH_NODE_TYPE_MEMCPY ||
           t == CU_GRAPH_NODE_TYPE_MEMSET;
}

CUresult
pw_cuGraphNodeSetEnabled(CUgraphExec handle, CUgraphNode node, unsigned enabled)
{
    struct graph_exec *e;
    struct exec_node *n;
    CUresult r = exec_node_lock(handle, node, &e, &n);
    if (r)
        return r;
    if (can_disable(n->w.type))
        n->disabled = !enabled;
    else
        r = fail(CUDA_ERROR_INVALID_VALUE, "nodes of type %s cannot be disabled",
                 work_type_name(n->w.type));
    pthread_mutex_unlock(&e->lock);
    return r;
}

CUresult
pw_cuGraphNodeGetEnabled(CUgraphExec handle, CUgraphNode node, unsigned *enabled)
{
    struct graph_exec *e;
    struct exec_node *n;
    if (!enabled)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    CUresult r = exec_node_lock(handle, node, &e, &n);
    if (r)
        return r;
    *enabled = !n->disabled;
    pthread_mutex_unlock(&e->lock);
    return CUDA_SUCCESS;
}

// ---- whole graphs ---------------------------------------------------------
static bool
same_deps(const struct exec_node *n, const struct graph_node *g)
{
    if (vec_len(n->deps) != vec_len(g->in))
        return false;
    for (size_t i = 0; i < vec_len(g->in); i++) {
        size_t k = 0;
        while (k < vec_len(n->deps) && n->deps[k] != g->in[i].node->index)
            k++;
        if (k == vec_len(n->deps))
            return false;
    }
    return true;
}

static CUgraphExecUpdateResult
compare_node(const struct exec_node *n, const struct graph_node *g)
{
    if (n->w.type != g->w.type)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NODE_TYPE_CHANGED;
    if (!same_deps(n, g))
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    if (n->w.mem)
        return CU_GRAPH_EXEC_UPDATE_ERROR_NOT_SUPPORTED;
    if (n->w.type == CU_GRAPH_NODE_TYPE_KERNEL && n->w.ctx != g->w.ctx)
        return CU_GRAPH_EXEC_UPDATE_ERROR_UNSUPPORTED_FUNCTION_CHANGE;
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

// Nodes are paired in the order of their creation. Holds graph_lock and e->lock.
static CUgraphExecUpdateResult
compare(const struct exec_list *l, struct graph *g, struct graph_node **bad)
{
    *bad = NULL;
    if (vec_len(l->nodes) != vec_len(g->nodes))
        return CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED;
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        g->nodes[i]->index = i;
    for (size_t i = 0; i < vec_len(g->nodes); i++) {
        struct graph_node *n = g->nodes[i];
        CUgraphExecUpdateResult r = compare_node(&l->nodes[i], n);
        struct graph_node *inner = NULL;
        if (!r && vec_len(l->nodes[i].child) != vec_len(n->w.children))
            r = CU_GRAPH_EXEC_UPDATE_ERROR_PARAMETERS_CHANGED;
        for (size_t k = 0; !r && k < vec_len(n->w.children); k++)
            r = compare(&l->nodes[i].child[k], n->w.children[k], &inner);
        if (r) {
            *bad = inner ? inner : n;
            return r;
        }
    }
    return CU_GRAPH_EXEC_UPDATE_SUCCESS;
}

static void
take_over(struct exec_list *l, struct graph *g)
{
    for (size_t i = 0; i < vec_len(g->nodes); i++) {
        struct graph_node *n = g->nodes[i];
        struct exec_node *e = &l->nodes[i];
        e->updated = n->obj.id;
        for (size_t k = 0; k < vec_len(n->w.children); k++)
            take_over(&e->child[k], n->w.children[k]);
        if (vec_len(n->w.children))
            continue;
        struct work w;
        work_clone(&n->w, &w); // without a child it cannot fail
        work_free(&e->w);
        e->w = w;
    }
}

CUresult
pw_cuGraphExecUpdate_v2(CUgraphExec handle, CUgraph graph, CUgraphExecUpdateResultInfo *info)
{
    if (!info)
        return fail(CUDA_ERROR_INVALID_VALUE, "resultInfo is NULL");
    *info = (CUgraphExecUpdateResultInfo){.result = CU_GRAPH_EXEC_UPDATE_ERROR};
    GRAPH_LOCKED();
    struct graph_exec *e = exec_get(handle);
    struct graph *g = graph_get(graph);
    if (!e || !g || g->capture)
        return fail(CUDA_ERROR_INVALID_VALUE, "executable %p, graph %p", (void *)handle,
                    (void *)graph);
    struct graph_node *bad;
    pthread_mutex_lock(&e->lock);
    info->result = compare(&e->list, g, &bad);
    if (!info->result) {
        take_over(&e->list, g);
        exec_index(e);
    }
    pthread_mutex_unlock(&e->lock);
    info->errorNode = (CUgraphNode)bad;
    if (info->result) // no error of the program: it instantiates anew
        LOG(LOG_STREAM, "executable %p cannot be updated: %d", (void *)e, (int)info->result);
    return info->result ? CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE : CUDA_SUCCESS;
}

CUresult
pw_cuGraphExecUpdate(CUgraphExec e, CUgraph g, CUgraphNode *bad, CUgraphExecUpdateResult *result)
{
    CUgraphExecUpdateResultInfo info;
    CUresult r = pw_cuGraphExecUpdate_v2(e, g, &info);
    if (bad)
        *bad = info.errorNode;
    if (result)
        *result = info.result;
    return r;
}

CUresult
pw_cuGraphExecChildGraphNodeSetParams(CUgraphExec handle, CUgraphNode node, CUgraph child)
{
    struct graph_exec *e;
    struct exec_node *n;
    CUresult r = exec_node_lock(handle, node, &e, &n);
    if (r)
        return r;
    pthread_mutex_unlock(&e->lock); // graph_lock comes first
    GRAPH_LOCKED();
    pthread_mutex_lock(&e->lock);
    struct graph *g = graph_get(child);
    struct graph_node *bad;
    if (!g || g->capture || n->w.type != CU_GRAPH_NODE_TYPE_GRAPH)
        r = fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph, or the node has none",
                 (void *)child);
    else if (compare(&n->child[0], g, &bad))
        r = fail(CUDA_ERROR_INVALID_VALUE, "the graph differs in shape from the node's");
    else
        take_over(&n->child[0], g);
    if (!r)
        exec_index(e);
    pthread_mutex_unlock(&e->lock);
    return r;
}
