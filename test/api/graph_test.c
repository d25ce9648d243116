// SPDX-License-Identifier: MIT
// Graphs: nodes of every kind, edges, clones, what can be asked, debug output.
#include "work.h"

static CUstream s;

static CUdeviceptr
begin(CUgraph *g)
{
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuGraphCreate, g, 0);
    return p;
}

static void
run_graph(CUgraph g)
{
    CUgraphExec e = NULL;
    if (!succeed(cuGraphInstantiateWithFlags, &e, g, 0))
        return;
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuGraphExecDestroy, e);
}

static CUgraphNodeType
type_of(CUgraphNode n)
{
    CUgraphNodeType t = (CUgraphNodeType)77;
    succeed(cuGraphNodeGetType, n, &t);
    return t;
}

static CUgraphNode
add_empty(CUgraph g, const CUgraphNode *deps, size_t n)
{
    CUgraphNode node = NULL;
    succeed(cuGraphAddEmptyNode, &node, g, deps, n);
    return node;
}

static void
create(void)
{
    CUgraph g = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphCreate, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphCreate, &g, 1);
    succeed(cuGraphCreate, &g, 0);
    ok(g != NULL, "no graph");
    succeed(cuGraphDestroy, g);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphClone, &g, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphGetNodes, NULL, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode, NULL);
}

static void
kernels(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode n = NULL, first;
    CUDA_KERNEL_NODE_PARAMS k, got;
    unsigned m = 10, a = 2;
    void *args[3];
    first = add_step(g, NULL, 0, p, 10, 1);
    eq(type_of(first), CU_GRAPH_NODE_TYPE_KERNEL);
    k = step_params(&p, &m, &a, args);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, &n, g, NULL, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, NULL, g, NULL, 0, &k);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, &n, NULL, NULL, 0, &k);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, &n, g, NULL, 1, &k);
    CUDA_KERNEL_NODE_PARAMS_v1 k1;
    memcpy(&k1, &k, sizeof k1);
    succeed(cuGraphAddKernelNode, &n, g, &first, 1, &k1);
    m = 77; // the arguments were copied
    a = 77;
    memset(&got, 0, sizeof got);
    succeed(cuGraphKernelNodeGetParams_v2, n, &got);
    ok(got.func == step, "another function");
    eq(*(unsigned *)got.kernelParams[2], 2);
    succeed(cuGraphKernelNodeGetParams, n, &k1);
    ok(k1.func == step, "another function");
    run_graph(g);
    eq(word(p), 12);
    m = 5;
    succeed(cuGraphKernelNodeSetParams_v2, n, &k);
    eq(word(p), 12);
    succeed(cuMemsetD32_v2, p, 0, 1);
    run_graph(g);
    eq(word(p), 1 * 5 + 77);
    succeed(cuGraphKernelNodeGetParams, n, &k1); // what it gave before is gone with the old parameters
    succeed(cuGraphKernelNodeSetParams, n, &k1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams_v2, n, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams_v2, n, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetParams_v2, NULL, &got);
    k.gridDimX = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetParams_v2, n, &k);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, &n, g, NULL, 0, &k);
    k.gridDimX = 1;
    k.blockDimX = 1025;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddKernelNode_v2, &n, g, NULL, 0, &k);
    k.blockDimX = 1;
    k.func = NULL;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuGraphAddKernelNode_v2, &n, g, NULL, 0, &k);
    succeed(cuGraphDestroy, g);
}

static void
copies(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode fill = NULL, copy = NULL;
    CUDA_MEMSET_NODE_PARAMS m = {.dst = p, .value = 0x01020304, .elementSize = 4, .width = 4, .height = 1};
    CUDA_MEMCPY3D c, got;
    unsigned host[4] = {0};
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    c.srcDevice = p;
    c.dstMemoryType = CU_MEMORYTYPE_HOST;
    c.dstHost = host;
    c.WidthInBytes = 16;
    c.Height = c.Depth = 1;
    succeed(cuGraphAddMemsetNode, &fill, g, NULL, 0, &m, primary);
    eq(type_of(fill), CU_GRAPH_NODE_TYPE_MEMSET);
    succeed(cuGraphAddMemcpyNode, &copy, g, &fill, 1, &c, primary);
    eq(type_of(copy), CU_GRAPH_NODE_TYPE_MEMCPY);
    run_graph(g);
    eq(host[3], 0x01020304);
    memset(&got, 0, sizeof got);
    succeed(cuGraphMemcpyNodeGetParams, copy, &got);
    eq(got.WidthInBytes, 16);
    ok(got.dstHost == host, "another destination");
    c.WidthInBytes = 8;
    succeed(cuGraphMemcpyNodeSetParams, copy, &c);
    m.value = 9;
    succeed(cuGraphMemsetNodeSetParams, fill, &m);
    run_graph(g);
    eq(host[1], 9);
    eq(host[2], 0x01020304);
    CUDA_MEMSET_NODE_PARAMS mgot;
    memset(&mgot, 0, sizeof mgot);
    succeed(cuGraphMemsetNodeGetParams, fill, &mgot);
    eq(mgot.value, 9);
    eq(mgot.width, 4);
    m.elementSize = 3;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode, &fill, g, NULL, 0, &m, primary);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphMemsetNodeSetParams, fill, &m);
    m.elementSize = 4;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode, &fill, g, NULL, 0, NULL, primary);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemcpyNode, &copy, g, NULL, 0, NULL, primary);
    c.srcMemoryType = (CUmemorytype)9;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemcpyNode, &copy, g, NULL, 0, &c, primary);
    succeed(cuGraphDestroy, g);
}

static void
memset_2d(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode n = NULL;
    CUDA_MEMSET_NODE_PARAMS m = {.dst = p, .pitch = 16, .value = 0xabcd, .elementSize = 2, .width = 3, .height = 4};
    unsigned short out[32] = {0};
    succeed(cuGraphAddMemsetNode, &n, g, NULL, 0, &m, primary);
    run_graph(g);
    succeed(cuMemcpyDtoH_v2, out, p, 64);
    for (int i = 0; i < 32; i++)
        eq(out[i], i % 8 < 3 ? 0xabcd : 0);
    m.pitch = 4;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemsetNode, &n, g, NULL, 0, &m, primary);
}

static void
add_one(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

static void
add_ten(void *user)
{
    atomic_fetch_add((atomic_int *)user, 10);
}

static void
host_and_empty(void)
{
    CUgraph g = NULL;
    begin(&g);
    atomic_int n = 0;
    CUgraphNode h = NULL, e = add_empty(g, NULL, 0);
    CUDA_HOST_NODE_PARAMS p = {add_one, &n}, got = {0};
    eq(type_of(e), CU_GRAPH_NODE_TYPE_EMPTY);
    succeed(cuGraphAddHostNode, &h, g, &e, 1, &p);
    eq(type_of(h), CU_GRAPH_NODE_TYPE_HOST);
    succeed(cuGraphHostNodeGetParams, h, &got);
    ok(got.fn == add_one && got.userData == &n, "other parameters");
    run_graph(g);
    eq(atomic_load(&n), 1);
    p.fn = add_ten;
    succeed(cuGraphHostNodeSetParams, h, &p);
    run_graph(g);
    eq(atomic_load(&n), 11);
    p.fn = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeSetParams, h, &p);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddHostNode, &h, g, NULL, 0, &p);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphHostNodeGetParams, e, &got); // another type
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode, NULL, g, NULL, 0);
    CUgraphNode twice[] = {e, e};
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode, &h, g, twice, 2);
    succeed(cuGraphDestroy, g);
}

static void
events(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUevent a = NULL, b = NULL, got = NULL;
    CUgraphNode r = NULL, w = NULL;
    succeed(cuEventCreate, &a, 0);
    succeed(cuEventCreate, &b, 0);
    succeed(cuGraphAddEventRecordNode, &r, g, NULL, 0, a);
    succeed(cuGraphAddEventWaitNode, &w, g, &r, 1, a);
    eq(type_of(r), CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    eq(type_of(w), CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    succeed(cuGraphEventRecordNodeGetEvent, r, &got);
    ok(got == a, "another event");
    succeed(cuGraphEventRecordNodeSetEvent, r, b);
    succeed(cuGraphEventRecordNodeGetEvent, r, &got);
    ok(got == b, "another event");
    succeed(cuGraphEventWaitNodeSetEvent, w, b);
    succeed(cuGraphEventWaitNodeGetEvent, w, &got);
    ok(got == b, "another event");
    run_graph(g);
    succeed(cuEventSynchronize, b);
    float ms = 1;
    succeed(cuEventElapsedTime, &ms, b, b);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuGraphAddEventRecordNode, &r, g, NULL, 0, NULL);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuGraphAddEventWaitNode, &w, g, NULL, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphEventRecordNodeGetEvent, w, &got);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphEventWaitNodeGetEvent, w, NULL);
    succeed(cuGraphDestroy, g);
}

static void
children(void)
{
    CUgraph g = NULL, inner = NULL, got = NULL, own = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode c = NULL, a, b, after;
    succeed(cuGraphCreate, &inner, 0);
    a = add_step(inner, NULL, 0, p, 10, 1);
    b = add_step(inner, &a, 1, p, 10, 2);
    (void)b;
    succeed(cuGraphAddChildGraphNode, &c, g, NULL, 0, inner);
    eq(type_of(c), CU_GRAPH_NODE_TYPE_GRAPH);
    after = add_step(g, &c, 1, p, 10, 3);
    (void)after;
    succeed(cuGraphChildGraphNodeGetGraph, c, &own);
    ok(own && own != inner, "the child is no copy");
    add_step(inner, &b, 1, p, 10, 9); // does not change the copy
    run_graph(g);
    eq(word(p), 123);
    size_t n = 0;
    succeed(cuGraphGetNodes, own, NULL, &n);
    eq(n, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy, own); // belongs to the node
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddChildGraphNode, &c, g, NULL, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphChildGraphNodeGetGraph, after, &got);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphChildGraphNodeGetGraph, c, NULL);
    succeed(cuGraphDestroy, inner);
    succeed(cuGraphDestroy, g);
}

static void
batch_ops(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode n = NULL;
    CUstreamBatchMemOpParams op[2];
    CUDA_BATCH_MEM_OP_NODE_PARAMS b = {.ctx = primary, .count = 2, .paramArray = op}, got;
    memset(op, 0, sizeof op);
    op[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
    op[0].writeValue.address = p;
    op[0].writeValue.value = 3;
    op[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
    op[1].waitValue.address = p;
    op[1].waitValue.value = 3;
    op[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
    succeed(cuGraphAddBatchMemOpNode, &n, g, NULL, 0, &b);
    eq(type_of(n), CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    op[0].writeValue.value = 4; // copied
    run_graph(g);
    eq(word(p), 3);
    memset(&got, 0, sizeof got);
    succeed(cuGraphBatchMemOpNodeGetParams, n, &got);
    eq(got.count, 2);
    eq(got.flags, 0);
    if (got.paramArray)
        eq(got.paramArray[0].writeValue.value, 3);
    b.count = 1;
    succeed(cuGraphBatchMemOpNodeSetParams, n, &b);
    run_graph(g);
    eq(word(p), 4);
    CUgraphExec e = NULL;
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    op[0].writeValue.value = 5;
    succeed(cuGraphExecBatchMemOpNodeSetParams, e, n, &b);
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    eq(word(p), 5);
    succeed(cuGraphExecDestroy, e);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode, &n, g, NULL, 0, NULL);
    b.count = 257;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode, &n, g, NULL, 0, &b);
    b.count = 1;
    b.flags = 7;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddBatchMemOpNode, &n, g, NULL, 0, &b);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphBatchMemOpNodeGetParams, n, NULL);
    succeed(cuGraphDestroy, g);
}

// The generic calls, for each type.
static void
generic(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode k = NULL, e = NULL, h = NULL;
    CUgraphNodeParams q;
    unsigned m = 10, a = 4;
    void *args[3];
    CUDA_KERNEL_NODE_PARAMS kp = step_params(&p, &m, &a, args);
    atomic_int n = 0;
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_KERNEL;
    memcpy(&q.kernel, &kp, sizeof kp);
    succeed(cuGraphAddNode, &k, g, NULL, 0, &q);
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_EMPTY;
    CUgraphEdgeData edge = {0};
    succeed(cuGraphAddNode_v2, &e, g, &k, &edge, 1, &q);
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_HOST;
    q.host.fn = add_one;
    q.host.userData = &n;
    succeed(cuGraphAddNode, &h, g, &e, 1, &q);
    q.host.fn = add_ten;
    succeed(cuGraphNodeSetParams, h, &q);
    run_graph(g);
    eq(word(p), 4);
    eq(atomic_load(&n), 10);
    q.type = (CUgraphNodeType)99;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &k, g, NULL, 0, &q);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &k, g, NULL, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeSetParams, h, NULL);
    succeed(cuGraphDestroy, g);
}

// ---- edges ------------------------------------------------------------------------------------------
static void
edges(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUgraphNode n[4], from[8], to[8], list[8];
    size_t count = 8;
    for (int i = 0; i < 4; i++)
        n[i] = add_empty(g, NULL, 0);
    CUgraphNode f[] = {n[0], n[0], n[1], n[2]}, t[] = {n[1], n[2], n[3], n[3]};
    succeed(cuGraphAddDependencies, g, f, t, 4);
    succeed(cuGraphGetEdges, g, NULL, NULL, &count);
    eq(count, 4);
    count = 8;
    succeed(cuGraphGetEdges, g, from, to, &count);
    eq(count, 4);
    for (size_t i = 4; i < 8; i++) {
        ok(from[i] == NULL, "beyond the edges");
        ok(to[i] == NULL, "beyond the edges");
    }
    count = 8;
    succeed(cuGraphNodeGetDependencies, n[3], list, &count);
    eq(count, 2);
    succeed(cuGraphNodeGetDependentNodes, n[0], NULL, &count);
    eq(count, 2);
    count = 1;
    succeed(cuGraphNodeGetDependentNodes, n[0], list, &count);
    eq(count, 1);
    succeed(cuGraphGetRootNodes, g, NULL, &count);
    eq(count, 1);
    count = 8;
    succeed(cuGraphGetRootNodes, g, list, &count);
    eq(count, 1);
    ok(list[0] == n[0], "another root");
    count = 2;
    succeed(cuGraphGetNodes, g, list, &count);
    eq(count, 2);
    count = 8;
    list[4] = n[0];
    succeed(cuGraphGetNodes, g, list, &count);
    eq(count, 4);
    ok(!list[4], "beyond the nodes");
    succeed(cuGraphRemoveDependencies, g, f, t, 1);
    succeed(cuGraphGetEdges, g, NULL, NULL, &count);
    eq(count, 3);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies, g, f, t, 1); // gone
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, g, f + 1, t + 1, 1); // exists
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, g, n, n, 1); // of itself
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, g, NULL, t, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, NULL, f, t, 1);
    succeed(cuGraphAddDependencies, g, NULL, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphGetEdges, g, NULL, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetDependencies, n[0], NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeGetType, n[0], NULL);
    succeed(cuGraphDestroyNode, n[3]);
    succeed(cuGraphGetEdges, g, NULL, NULL, &count);
    eq(count, 1);
    succeed(cuGraphDestroy, g);
}

static void
edge_data(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUgraphNode n[3], list[4], from[4], to[4];
    CUgraphEdgeData data[4];
    size_t count = 4;
    for (int i = 0; i < 3; i++)
        n[i] = add_empty(g, NULL, 0);
    memset(data, 0, sizeof data);
    succeed(cuGraphAddDependencies_v2, g, &n[0], &n[1], data, 1);
    succeed(cuGraphAddDependencies_v2, g, &n[1], &n[2], NULL, 1);
    memset(data, 0xff, sizeof data);
    succeed(cuGraphGetEdges_v2, g, from, to, data, &count);
    eq(count, 2);
    eq(data[0].type, 0);
    eq(data[0].from_port, 0);
    count = 4;
    memset(data, 0xff, sizeof data);
    succeed(cuGraphNodeGetDependencies_v2, n[1], list, data, &count);
    eq(count, 1);
    ok(list[0] == n[0], "another node");
    eq(data[0].to_port, 0);
    count = 4;
    succeed(cuGraphNodeGetDependentNodes_v2, n[1], list, data, &count);
    eq(count, 1);
    ok(list[0] == n[2], "another node");
    count = 4;
    succeed(cuGraphNodeGetDependentNodes_v2, n[1], list, NULL, &count);
    eq(count, 1);
    memset(data, 0, sizeof data);
    data[0].type = 9;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies_v2, g, &n[0], &n[2], data, 1);
    memset(data, 0, sizeof data);
    data[0].reserved[2] = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies_v2, g, &n[0], &n[2], data, 1);
    memset(data, 0, sizeof data);
    succeed(cuGraphRemoveDependencies_v2, g, &n[0], &n[1], data, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies_v2, g, &n[0], &n[1], data, 1);
    succeed(cuGraphDestroy, g);
}

// Programmatic edges between kernels.
static void
programmatic_edges(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode a = add_step(g, NULL, 0, p, 10, 1), b = add_step(g, NULL, 0, p, 10, 2), from[2], to[2];
    CUgraphEdgeData d, got[2];
    size_t count = 2;
    memset(&d, 0, sizeof d);
    d.from_port = CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    d.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC;
    succeed(cuGraphAddDependencies_v2, g, &a, &b, &d, 1);
    succeed(cuGraphGetEdges_v2, g, from, to, got, &count);
    eq(got[0].from_port, CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC);
    eq(got[0].type, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
    count = 2;
    expect(CUDA_ERROR_LOSSY_QUERY, cuGraphGetEdges, g, from, to, &count); // would lose the data
    count = 2;
    expect(CUDA_ERROR_LOSSY_QUERY, cuGraphNodeGetDependencies, b, from, &count);
    count = 2;
    expect(CUDA_ERROR_LOSSY_QUERY, cuGraphNodeGetDependentNodes_v2, a, from, NULL, &count);
    succeed(cuGraphRemoveDependencies, g, &a, &b, 1); // whatever its data
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRemoveDependencies_v2, g, &a, &b, &d, 1);
    d.type = 0;
    d.from_port = 7;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies_v2, g, &a, &b, &d, 1);
    succeed(cuGraphDestroy, g);
}

static void
cycle(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUgraphExec e = NULL;
    CUgraphNode a = add_empty(g, NULL, 0), b = add_empty(g, &a, 1);
    succeed(cuGraphAddDependencies, g, &b, &a, 1); // only instantiation minds
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphDestroy, g);
}

static void
two_graphs(void)
{
    CUgraph g = NULL, h = NULL;
    begin(&g);
    succeed(cuGraphCreate, &h, 0);
    CUgraphNode a = add_empty(g, NULL, 0), b = add_empty(h, NULL, 0), n = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddDependencies, g, &a, &b, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddEmptyNode, &n, g, &b, 1);
    succeed(cuGraphDestroy, g);
    succeed(cuGraphDestroy, h);
}

// ---- clones -----------------------------------------------------------------------------------------
static void
clones(void)
{
    CUgraph g = NULL, c = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode a = add_step(g, NULL, 0, p, 10, 1), b = add_step(g, &a, 1, p, 10, 2), in = NULL, later;
    size_t n = 0;
    succeed(cuGraphClone, &c, g);
    ok(c && c != g, "no clone");
    succeed(cuGraphGetNodes, c, NULL, &n);
    eq(n, 2);
    succeed(cuGraphGetEdges, c, NULL, NULL, &n);
    eq(n, 1);
    succeed(cuGraphNodeFindInClone, &in, b, c);
    ok(in && in != b, "the node itself");
    later = add_step(g, &b, 1, p, 10, 3);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone, &in, later, c);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone, NULL, b, c);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphNodeFindInClone, &in, b, g);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphClone, NULL, g);
    succeed(cuGraphDestroy, g);
    run_graph(c);
    eq(word(p), 12);
    succeed(cuGraphDestroy, c);
}

// ---- memory nodes -----------------------------------------------------------------------------------
static CUDA_MEM_ALLOC_NODE_PARAMS
alloc_params(size_t size)
{
    CUDA_MEM_ALLOC_NODE_PARAMS a;
    memset(&a, 0, sizeof a);
    a.poolProps.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    a.poolProps.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    a.poolProps.location.id = device;
    a.bytesize = size;
    return a;
}

static void
memory(void)
{
    CUgraph g = NULL, c = NULL;
    CUdeviceptr p = begin(&g), q = 0;
    CUgraphNode a = NULL, k = NULL, f = NULL, copy = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS ap = alloc_params(4096), got;
    succeed(cuGraphAddMemAllocNode, &a, g, NULL, 0, &ap);
    eq(type_of(a), CU_GRAPH_NODE_TYPE_MEM_ALLOC);
    ok(ap.dptr != 0, "no address");
    unsigned v = 55;
    void *args[] = {&ap.dptr, &v};
    CUDA_KERNEL_NODE_PARAMS kp;
    memset(&kp, 0, sizeof kp);
    kp.func = store;
    kp.gridDimX = kp.gridDimY = kp.gridDimZ = kp.blockDimX = kp.blockDimY = kp.blockDimZ = 1;
    kp.kernelParams = args;
    succeed(cuGraphAddKernelNode_v2, &k, g, &a, 1, &kp);
    CUDA_MEMCPY3D m;
    memset(&m, 0, sizeof m);
    m.srcMemoryType = m.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    m.srcDevice = ap.dptr;
    m.dstDevice = p;
    m.WidthInBytes = 4;
    m.Height = m.Depth = 1;
    succeed(cuGraphAddMemcpyNode, &copy, g, &k, 1, &m, primary);
    succeed(cuGraphAddMemFreeNode, &f, g, &copy, 1, ap.dptr);
    eq(type_of(f), CU_GRAPH_NODE_TYPE_MEM_FREE);
    memset(&got, 0, sizeof got);
    succeed(cuGraphMemAllocNodeGetParams, a, &got);
    eq(got.dptr, ap.dptr);
    eq(got.bytesize, 4096);
    succeed(cuGraphMemFreeNodeGetParams, f, &q);
    eq(q, ap.dptr);
    run_graph(g);
    run_graph(g);
    eq(word(p), 55);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuGraphClone, &c, g);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuGraphDestroyNode, f);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphMemFreeNodeGetParams, a, &q);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphMemAllocNodeGetParams, a, NULL);
    succeed(cuGraphDestroy, g);
}

static void
memory_misuse(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUgraphNode a = NULL, f = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS ap = alloc_params(4096);
    CUgraphExec e = NULL, e2 = NULL;
    succeed(cuGraphAddMemAllocNode, &a, g, NULL, 0, &ap);
    CUdeviceptr q = ap.dptr;
    ap.bytesize = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode, &f, g, NULL, 0, &ap);
    ap = alloc_params(64);
    ap.poolProps.location.id = 99;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_DEVICE, cuGraphAddMemAllocNode, &f, g, NULL, 0, &ap);
    ap = alloc_params(64);
    ap.poolProps.allocType = (CUmemAllocationType)9;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode, &f, g, NULL, 0, &ap);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemAllocNode, &f, g, NULL, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode, &f, g, &a, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode, &f, g, &a, 1, q + 256);
    succeed(cuGraphAddMemFreeNode, &f, g, &a, 1, q);
    todo("a second free is found at instantiation") expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddMemFreeNode, &f, g, &a, 1, q); // freed twice
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuGraphInstantiateWithFlags, &e2, g, 0); // one executable at a time
    succeed(cuGraphExecDestroy, e);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphExecDestroy, e);
}

// Memory that the graph leaves allocated is freed outside, or by the next launch.
static void
memory_left(void)
{
    CUgraph g = NULL;
    begin(&g);
    CUgraphNode a = NULL;
    CUDA_MEM_ALLOC_NODE_PARAMS ap = alloc_params(1 << 20);
    CUgraphExec e = NULL;
    cuuint64_t used = 0, high = 0, zero = 0, reserved = 0;
    succeed(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
    eq(used, 0);
    succeed(cuGraphAddMemAllocNode, &a, g, NULL, 0, &ap);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used);
    ok(used >= 1 << 20, "%llu bytes in use", (unsigned long long)used);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphLaunch, e, s); // not freed yet
    succeed(cuMemsetD32_v2, ap.dptr, 6, 16);
    eq(word(ap.dptr), 6);
    succeed(cuMemFreeAsync, ap.dptr, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemFree_v2, ap.dptr);
    succeed(cuGraphExecDestroy, e);
    succeed(cuGraphInstantiateWithFlags, &e, g, CUDA_GRAPH_INSTANTIATE_FLAG_AUTO_FREE_ON_LAUNCH);
    succeed(cuGraphLaunch, e, s);
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemFreeAsync, ap.dptr, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &high);
    ok(high >= 1 << 20, "at most %llu bytes were in use", (unsigned long long)high);
    succeed(cuDeviceSetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &zero);
    succeed(cuGraphExecDestroy, e);
    succeed(cuGraphDestroy, g);
    succeed(cuDeviceGraphMemTrim, device);
    succeed(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &reserved);
    eq(reserved, 0);
    succeed(cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_HIGH, &high);
    ok(high >= 1 << 20, "%llu", (unsigned long long)high);
}

static void
memory_attributes(void)
{
    cuuint64_t v = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceSetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceSetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_RESERVED_MEM_CURRENT, &v);
    v = 5;
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceSetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetGraphMemAttribute, device, (CUgraphMem_attribute)9, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetGraphMemAttribute, device, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, NULL);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetGraphMemAttribute, 99, CU_GRAPH_MEM_ATTR_USED_MEM_HIGH, &v);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGraphMemTrim, 99);
}

// ---- kernel attributes ------------------------------------------------------------------------------
static void
node_attributes(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode a = add_step(g, NULL, 0, p, 10, 1), b = add_step(g, &a, 1, p, 10, 2), e = add_empty(g, NULL, 0);
    CUkernelNodeAttrValue v, w;
    memset(&v, 0, sizeof v);
    succeed(cuGraphKernelNodeGetAttribute, a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    eq(v.cooperative, 0);
    v.cooperative = 1;
    succeed(cuGraphKernelNodeSetAttribute, a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &v);
    memset(&w, 0, sizeof w);
    succeed(cuGraphKernelNodeGetAttribute, a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &w);
    eq(w.cooperative, 1);
    succeed(cuGraphKernelNodeCopyAttributes, b, a);
    memset(&w, 0, sizeof w);
    succeed(cuGraphKernelNodeGetAttribute, b, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &w);
    eq(w.cooperative, 1);
    memset(&v, 0, sizeof v);
    v.priority = -3;
    succeed(cuGraphKernelNodeSetAttribute, a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &v);
    memset(&w, 0, sizeof w);
    succeed(cuGraphKernelNodeGetAttribute, a, CU_LAUNCH_ATTRIBUTE_PRIORITY, &w);
    eq(w.priority, -3);
    memset(&v, 0, sizeof v);
    v.accessPolicyWindow.base_ptr = (void *)(uintptr_t)p;
    v.accessPolicyWindow.num_bytes = 32;
    v.accessPolicyWindow.hitRatio = 1;
    v.accessPolicyWindow.hitProp = CU_ACCESS_PROPERTY_PERSISTING;
    succeed(cuGraphKernelNodeSetAttribute, a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &v);
    memset(&w, 0, sizeof w);
    succeed(cuGraphKernelNodeGetAttribute, a, CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, &w);
    eq(w.accessPolicyWindow.num_bytes, 32);
    if (!on_nvidia()) { // which follows NULL
        expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute, a, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, NULL);
        expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute, e, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &w);
        expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeSetAttribute, e, CU_LAUNCH_ATTRIBUTE_COOPERATIVE, &w);
        expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeCopyAttributes, e, a);
        expect(CUDA_ERROR_INVALID_VALUE, cuGraphKernelNodeGetAttribute, a, (CUkernelNodeAttrID)999, &w);
    }
    run_graph(g);
    eq(word(p), 12);
    succeed(cuGraphDestroy, g);
}

// ---- debug output -----------------------------------------------------------------------------------
static long
file_size(const char *path)
{
    FILE *f = fopen(path, "r");
    if (!f)
        return -1;
    char head[64] = {0};
    size_t n = fread(head, 1, sizeof head - 1, f);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    fclose(f);
    ok(n && strstr(head, "digraph"), "no dot file: %.40s", head);
    return size;
}

static void
dot(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin(&g);
    CUgraphNode a = add_step(g, NULL, 0, p, 10, 1), e = add_empty(g, &a, 1);
    char path[64], nowhere[] = "/nonexistent-folder/graph.dot";
    (void)e;
    snprintf(path, sizeof path, "/tmp/api_graph_%d.dot", (int)getpid());
    succeed(cuGraphDebugDotPrint, g, path, 0);
    long plain = file_size(path);
    succeed(cuGraphDebugDotPrint, g, path, CU_GRAPH_DEBUG_DOT_FLAGS_VERBOSE);
    long verbose = file_size(path);
    ok(verbose > plain && plain > 0, "sizes %ld, %ld", plain, verbose);
    succeed(cuGraphDebugDotPrint, g, path, CU_GRAPH_DEBUG_DOT_FLAGS_KERNEL_NODE_PARAMS | CU_GRAPH_DEBUG_DOT_FLAGS_HANDLES);
    ok(file_size(path) > plain, "flags change nothing");
    remove(path);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint, g, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint, NULL, path, 0);
    expect2(CUDA_ERROR_OPERATING_SYSTEM, CUDA_ERROR_INVALID_VALUE, cuGraphDebugDotPrint, g, nowhere, 0);
    succeed(cuGraphDestroy, g);
}

static void
destroyed_twice(void)
{
    CUgraph g = NULL;
    CUgraphNode n;
    begin(&g);
    n = add_empty(g, NULL, 0);
    succeed(cuGraphDestroyNode, n);
    if (on_nvidia()) // which follows the handle
        return;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroyNode, n);
    succeed(cuGraphDestroy, g);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy, g);
}

API_MAIN(CASE(create), CASE(kernels), CASE(copies), CASE(memset_2d), CASE(host_and_empty), CASE(events), CASE(children), CASE(batch_ops), CASE(generic),
    CASE(edges), CASE(edge_data), CASE(programmatic_edges), CASE(cycle), CASE(two_graphs), CASE(clones), CASE(memory), CASE(memory_misuse),
    CASE(memory_left), CASE(memory_attributes), CASE(node_attributes), CASE(dot), CASE(destroyed_twice))
