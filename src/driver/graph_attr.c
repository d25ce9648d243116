// SPDX-License-Identifier: MIT
// Attributes of kernel nodes. Cooperation and cluster size change the launch; the others are
// remembered.
#include "driver/graph.h"
#include "api_impl.h"

#include <string.h>

enum { ATTRIBUTES = 20 };

static CUresult
kernel_node(CUgraphNode handle, struct graph_node **out)
{
    *out = graph_node_get(handle);
    if (!*out || (*out)->w.type != CU_GRAPH_NODE_TYPE_KERNEL)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a kernel node", (void *)handle);
    return CUDA_SUCCESS;
}

static bool
known(CUkernelNodeAttrID a)
{
    switch (a) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return true;
    default:
        return false;
    }
}

static void
apply(struct work *w, CUkernelNodeAttrID a, const CUkernelNodeAttrValue *v)
{
    if (!vec_len(w->attr))
        vec_extend(w->attr, ATTRIBUTES);
    w->attr[a] = *v;
    if (a == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        w->cmd->launch.cooperative = v->cooperative;
    if (a == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        w->cmd->launch.cluster[0] = v->clusterDim.x;
        w->cmd->launch.cluster[1] = v->clusterDim.y;
        w->cmd->launch.cluster[2] = v->clusterDim.z;
    }
}

CUresult
pw_cuGraphKernelNodeGetAttribute(CUgraphNode handle, CUkernelNodeAttrID a,
                                 CUkernelNodeAttrValue *out)
{
    GRAPH_LOCKED();
    struct graph_node *n;
    CUresult r = kernel_node(handle, &n);
    if (r)
        return r;
    if (!out || !known(a))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    memset(out, 0, sizeof *out);
    if (vec_len(n->w.attr))
        *out = n->w.attr[a];
    if (a == CU_LAUNCH_ATTRIBUTE_COOPERATIVE)
        out->cooperative = n->w.cmd->launch.cooperative;
    if (a == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
        out->clusterDim.x = n->w.cmd->launch.cluster[0];
        out->clusterDim.y = n->w.cmd->launch.cluster[1];
        out->clusterDim.z = n->w.cmd->launch.cluster[2];
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphKernelNodeSetAttribute(CUgraphNode handle, CUkernelNodeAttrID a,
                                 const CUkernelNodeAttrValue *v)
{
    GRAPH_LOCKED();
    struct graph_node *n;
    CUresult r = kernel_node(handle, &n);
    if (r)
        return r;
    if (!v || !known(a))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    apply(&n->w, a, v);
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphKernelNodeCopyAttributes(CUgraphNode dst, CUgraphNode src)
{
    GRAPH_LOCKED();
    struct graph_node *d, *s;
    CUresult r = kernel_node(dst, &d);
    if (!r)
        r = kernel_node(src, &s);
    if (r || d == s)
        return r;
    vec_free(d->w.attr);
    for (size_t i = 0; i < vec_len(s->w.attr); i++)
        vec_push(d->w.attr, s->w.attr[i]);
    memcpy(d->w.cmd->launch.cluster, s->w.cmd->launch.cluster, sizeof d->w.cmd->launch.cluster);
    d->w.cmd->launch.cooperative = s->w.cmd->launch.cooperative;
    return CUDA_SUCCESS;
}
