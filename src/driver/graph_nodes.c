// SPDX-License-Identifier: MIT
// Nodes: adding them, asking for and changing their parameters. Each typed call is the generic one
// with its part of CUgraphNodeParams.
#include "driver/graph.h"
#include "driver/graph_params.h"
#include "api_impl.h"

#include <string.h>

// The graph and the dependencies of a new node are sound. Holds graph_lock.
static CUresult
check_place(CUgraph handle, const CUgraphNode *deps, size_t ndeps, struct graph **g)
{
    *g = graph_get(handle);
    if (!*g || (ndeps && !deps))
        return fail(CUDA_ERROR_INVALID_VALUE, "graph %p, %zu dependencies", (void *)handle, ndeps);
    for (size_t i = 0; i < vec_len((*g)->nodes); i++)
        (*g)->nodes[i]->mark = false;
    for (size_t i = 0; i < ndeps; i++) {
        struct graph_node *n = graph_node_get(deps[i]);
        if (!n || n->graph != *g || n->mark)
            return fail(CUDA_ERROR_INVALID_VALUE,
                        "dependency %p is no node of the graph or given twice", (void *)deps[i]);
        n->mark = true;
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphAddNode_v2(CUgraphNode *out, CUgraph handle, const CUgraphNode *deps,
                     const CUgraphEdgeData *data, size_t ndeps, CUgraphNodeParams *params)
{
    if (!out || !params)
        return fail(CUDA_ERROR_INVALID_VALUE, "phGraphNode %p, params %p", (void *)out,
                    (void *)params);
    struct graph *g;
    struct work w;
    pthread_mutex_lock(&graph_lock);
    CUresult r = check_place(handle, deps, ndeps, &g);
    pthread_mutex_unlock(&graph_lock);
    if (!r)
        r = work_make(params, &w); // may compile: not under the lock
    if (r)
        return r;
    GRAPH_LOCKED();
    r = check_place(handle, deps, ndeps, &g); // it may have changed meanwhile
    if (!r && w.condition)
        r = condition_claim(g, &w);
    if (r) {
        work_free(&w);
        return r;
    }
    struct graph_node *n = graph_add(g, &w, (struct graph_node *const *)deps, ndeps);
    for (size_t i = 0; data && i < ndeps; i++) {
        struct graph_node *from = n->in[i].node;
        n->in[i].data = data[i];
        from->out[vec_len(from->out) - 1].data = data[i];
    }
    *out = (CUgraphNode)n;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphAddNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                  CUgraphNodeParams *params)
{
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, params);
}

static CUresult
missing(void)
{
    return fail(CUDA_ERROR_INVALID_VALUE, "the parameters are NULL");
}

// ---- typed parameters into generic ones, for this file and the executables' -----
void
params_kernel(const CUDA_KERNEL_NODE_PARAMS *p, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL};
    _Static_assert(sizeof *p == sizeof q->kernel, "versions 2 and 3 are the same");
    memcpy(&q->kernel, p, sizeof *p);
}

void
params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_KERNEL};
    memcpy(&q->kernel, p, sizeof *p); // the first version is the beginning of the newer ones
}

void
params_memcpy(const CUDA_MEMCPY3D *p, CUcontext ctx, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMCPY};
    q->memcpy.copyCtx = ctx;
    q->memcpy.copyParams = *p;
}

void
params_memset(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_MEMSET};
    q->memset = (CUDA_MEMSET_NODE_PARAMS_v2){p->dst,   p->pitch,  p->value, p->elementSize,
                                             p->width, p->height, ctx};
}

void
params_host(const CUDA_HOST_NODE_PARAMS *p, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_HOST};
    q->host.fn = p->fn;
    q->host.userData = p->userData;
}

void
params_event(CUgraphNodeType type, CUevent event, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = type};
    q->eventRecord.event = event; // eventWait lies at the same place
}

void
params_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, CUgraphNodeParams *q)
{
    *q = (CUgraphNodeParams){.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    _Static_assert(sizeof *p == sizeof q->memOp, "versions 1 and 2 are the same");
    memcpy(&q->memOp, p, sizeof *p);
}

// ---- adding ---------------------------------------------------------------
CUresult
pw_cuGraphAddKernelNode_v2(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                           const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel(p, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddKernelNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                        const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel_v1(p, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddMemcpyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                        const CUDA_MEMCPY3D *p, CUcontext ctx)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memcpy(p, ctx, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddMemsetNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                        const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memset(p, ctx, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddHostNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                      const CUDA_HOST_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_host(p, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddChildGraphNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                            CUgraph child)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_GRAPH};
    q.graph.graph = child;
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddEmptyNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_EMPTY};
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddEventRecordNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                             CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddEventWaitNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                           CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddMemAllocNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                          CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    if (!p)
        return missing();
    _Static_assert(sizeof *p == sizeof q.alloc, "versions 1 and 2 are the same");
    memcpy(&q.alloc, p, sizeof *p);
    CUresult r = pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
    if (!r)
        p->dptr = q.alloc.dptr;
    return r;
}

CUresult
pw_cuGraphAddMemFreeNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                         CUdeviceptr p)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    q.free.dptr = p;
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

CUresult
pw_cuGraphAddBatchMemOpNode(CUgraphNode *out, CUgraph g, const CUgraphNode *deps, size_t ndeps,
                            const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memops(p, &q);
    return pw_cuGraphAddNode_v2(out, g, deps, NULL, ndeps, &q);
}

// ---- asking ---------------------------------------------------------------
// The node's parameters if it is of that type.
static CUresult
get(CUgraphNode handle, CUgraphNodeType type, const void *out, CUgraphNodeParams *q)
{
    GRAPH_LOCKED();
    struct graph_node *n = graph_node_get(handle);
    if (!n || !out || n->w.type != type)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a node of type %s", (void *)handle,
                    work_type_name(type));
    *q = n->w.params;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphKernelNodeGetParams_v2(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_KERNEL, p, &q);
    if (!r)
        memcpy(p, &q.kernel, sizeof *p);
    return r;
}

CUresult
pw_cuGraphKernelNodeGetParams(CUgraphNode node, CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_KERNEL, p, &q);
    if (!r)
        memcpy(p, &q.kernel, sizeof *p);
    return r;
}

CUresult
pw_cuGraphMemcpyNodeGetParams(CUgraphNode node, CUDA_MEMCPY3D *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEMCPY, p, &q);
    if (!r)
        *p = q.memcpy.copyParams;
    return r;
}

CUresult
pw_cuGraphMemsetNodeGetParams(CUgraphNode node, CUDA_MEMSET_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEMSET, p, &q);
    if (!r)
        *p = (CUDA_MEMSET_NODE_PARAMS){q.memset.dst,         q.memset.pitch, q.memset.value,
                                       q.memset.elementSize, q.memset.width, q.memset.height};
    return r;
}

CUresult
pw_cuGraphHostNodeGetParams(CUgraphNode node, CUDA_HOST_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_HOST, p, &q);
    if (!r)
        *p = (CUDA_HOST_NODE_PARAMS){q.host.fn, q.host.userData};
    return r;
}

CUresult
pw_cuGraphChildGraphNodeGetGraph(CUgraphNode node, CUgraph *g)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_GRAPH, g, &q);
    if (!r)
        *g = q.graph.graph;
    return r;
}

CUresult
pw_cuGraphEventRecordNodeGetEvent(CUgraphNode node, CUevent *event)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &q);
    if (!r)
        *event = q.eventRecord.event;
    return r;
}

CUresult
pw_cuGraphEventWaitNodeGetEvent(CUgraphNode node, CUevent *event)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &q);
    if (!r)
        *event = q.eventWait.event;
    return r;
}

CUresult
pw_cuGraphMemAllocNodeGetParams(CUgraphNode node, CUDA_MEM_ALLOC_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEM_ALLOC, p, &q);
    if (!r)
        memcpy(p, &q.alloc, sizeof *p);
    return r;
}

CUresult
pw_cuGraphMemFreeNodeGetParams(CUgraphNode node, CUdeviceptr *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEM_FREE, p, &q);
    if (!r)
        *p = q.free.dptr;
    return r;
}

CUresult
pw_cuGraphBatchMemOpNodeGetParams(CUgraphNode node, CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP, p, &q);
    if (!r)
        memcpy(p, &q.memOp, sizeof *p);
    return r;
}

// ---- changing -------------------------------------------------------------
static bool
changeable(CUgraphNodeType t)
{
    return t != CU_GRAPH_NODE_TYPE_MEM_ALLOC && t != CU_GRAPH_NODE_TYPE_MEM_FREE &&
           t != CU_GRAPH_NODE_TYPE_GRAPH && t != CU_GRAPH_NODE_TYPE_CONDITIONAL;
}

CUresult
pw_cuGraphNodeSetParams(CUgraphNode handle, CUgraphNodeParams *params)
{
    struct work w;
    CUgraphNodeParams old;
    if (!params || !changeable(params->type))
        return fail(CUDA_ERROR_INVALID_VALUE, "parameters %p", (void *)params);
    CUresult r = get(handle, params->type, params, &old);
    if (!r)
        r = work_make(params, &w);
    if (r)
        return r;
    GRAPH_LOCKED();
    struct graph_node *n = graph_node_get(handle);
    if (!n || n->w.type != w.type) {
        work_free(&w);
        return fail(CUDA_ERROR_INVALID_VALUE, "the node was destroyed meanwhile");
    }
    if (w.cmd && n->w.cmd && w.type == CU_GRAPH_NODE_TYPE_KERNEL) { // attributes stay
        memcpy(w.cmd->launch.cluster, n->w.cmd->launch.cluster, sizeof w.cmd->launch.cluster);
        w.cmd->launch.cooperative = n->w.cmd->launch.cooperative;
    }
    w.attr = n->w.attr;
    n->w.attr = NULL;
    work_free(&n->w);
    n->w = w;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphKernelNodeSetParams_v2(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel(p, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphKernelNodeSetParams(CUgraphNode node, const CUDA_KERNEL_NODE_PARAMS_v1 *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_kernel_v1(p, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

// The typed calls do not name a context: the node keeps its own.
CUresult
pw_cuGraphMemcpyNodeSetParams(CUgraphNode node, const CUDA_MEMCPY3D *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEMCPY, p, &q);
    if (r)
        return r;
    q.memcpy.copyParams = *p;
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphMemsetNodeSetParams(CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    CUresult r = get(node, CU_GRAPH_NODE_TYPE_MEMSET, p, &q);
    if (r)
        return r;
    params_memset(p, q.memset.ctx, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphHostNodeSetParams(CUgraphNode node, const CUDA_HOST_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_host(p, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphBatchMemOpNodeSetParams(CUgraphNode node, const CUDA_BATCH_MEM_OP_NODE_PARAMS *p)
{
    CUgraphNodeParams q;
    if (!p)
        return missing();
    params_memops(p, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphEventRecordNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_EVENT_RECORD, event, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}

CUresult
pw_cuGraphEventWaitNodeSetEvent(CUgraphNode node, CUevent event)
{
    CUgraphNodeParams q;
    params_event(CU_GRAPH_NODE_TYPE_WAIT_EVENT, event, &q);
    return pw_cuGraphNodeSetParams(node, &q);
}
