// SPDX-License-Identifier: MIT
// Capture of streams into graphs: modes and what each forbids, forks and joins, capture to a graph, dependencies, several threads.
#include "work.h"

static CUstream s, t;

static CUdeviceptr
begin(void)
{
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuStreamCreate, &t, CU_STREAM_NON_BLOCKING);
    return p;
}

static CUstreamCaptureStatus
status(CUstream of)
{
    CUstreamCaptureStatus st = (CUstreamCaptureStatus)77;
    succeed(cuStreamIsCapturing, of, &st);
    return st;
}

// Instantiates, launches and destroys.
static void
run_graph(CUgraph g)
{
    CUgraphExec e = NULL;
    if (!succeed(cuGraphInstantiateWithFlags, &e, g, 0))
        return;
    succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuGraphExecDestroy, e);
    succeed(cuGraphDestroy, g);
}

static size_t
nodes_of(CUgraph g)
{
    size_t n = 999;
    succeed(cuGraphGetNodes, g, NULL, &n);
    return n;
}

static void
plain(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin();
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    eq(status(NULL), CU_STREAM_CAPTURE_STATUS_NONE);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    STEP(s, p, 10, 1);
    STEP(s, p, 10, 2);
    STEP(s, p, 10, 3);
    succeed(cuStreamEndCapture, s, &g);
    ok(g != NULL, "no graph");
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    eq(word(p), 0); // nothing ran
    eq(nodes_of(g), 3);
    run_graph(g);
    eq(word(p), 123);
}

static void
empty(void)
{
    CUgraph g = NULL;
    begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuStreamEndCapture, s, &g);
    ok(g != NULL, "no graph");
    eq(nodes_of(g), 0);
    run_graph(g);
    succeed(cuStreamBeginCapture, s);
    succeed(cuStreamEndCapture, s, &g);
    run_graph(g);
}

static void
misuse(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    begin();
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2, NULL, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCapture_v2, CU_STREAM_LEGACY, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2, s, (CUstreamCaptureMode)3);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCapture_v2, s, (CUstreamCaptureMode)-1);
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture, s, &g);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamIsCapturing, s, NULL);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphDestroy, g);
}

static void
end_null(void)
{
    begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuStreamEndCapture, s, NULL); // the graph is lost
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void
per_thread_stream(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin();
    succeed(cuStreamBeginCapture_v2, CU_STREAM_PER_THREAD, CU_STREAM_CAPTURE_MODE_RELAXED);
    STEP(CU_STREAM_PER_THREAD, p, 10, 4);
    eq(status(CU_STREAM_PER_THREAD), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    succeed(cuStreamEndCapture, CU_STREAM_PER_THREAD, &g);
    eq(nodes_of(g), 1);
    run_graph(g);
    eq(word(p), 4);
    succeed(cuStreamBeginCapture_v2_ptsz, NULL, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuStreamEndCapture_ptsz, NULL, &g);
    succeed(cuGraphDestroy, g);
}

// ---- what a capture forbids -------------------------------------------------------------------------
// The call in the capture fails with `want`; the capture is invalid from then on.
enum call { SYNC_STREAM, QUERY_STREAM, SYNC_CONTEXT, CALLBACK, SYNC_COPY, ALLOC, LEGACY_WORK, SYNC_MEMSET, ATTACH };

static CUresult
forbidden(enum call which, CUdeviceptr p)
{
    unsigned v = 0;
    CUdeviceptr q;
    switch (which) {
    case SYNC_STREAM:
        return CALL(cuStreamSynchronize, s);
    case QUERY_STREAM:
        return CALL(cuStreamQuery, s);
    case SYNC_CONTEXT:
        return CALL(cuCtxSynchronize, );
    case CALLBACK:
        return CALL(cuStreamAddCallback, s, NULL, NULL, 0);
    case SYNC_COPY:
        return CALL(cuMemcpyDtoH_v2, &v, p, 4);
    case ALLOC:
        return CALL(cuMemAlloc_v2, &q, 64);
    case LEGACY_WORK:
        return launch_step(NULL, p, 1, 1);
    case SYNC_MEMSET:
        return CALL(cuMemsetD32_v2, p, 0, 1);
    default:
        return CALL(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_GLOBAL);
    }
}

static void
one_forbidden(enum call which, CUstreamCaptureMode mode, CUresult want, bool survives)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUdeviceptr p = 0;
    CUresult r;
    succeed(cuMemAlloc_v2, &p, 64);
    succeed(cuStreamBeginCapture_v2, s, mode);
    STEP(s, p, 10, 1);
    r = forbidden(which, p);
    ok(r == want, "call %d in mode %d: got %s, want %s", (int)which, (int)mode, api_code(r), api_code(want));
    eq(status(s), survives ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    r = launch_step(s, p, 10, 2);
    ok(r == (survives ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED), "work after call %d: %s", (int)which, api_code(r));
    expect(survives ? CUDA_SUCCESS : CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
    eq(g == NULL, !survives);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    if (survives)
        succeed(cuGraphDestroy, g);
    succeed(cuMemFree_v2, p);
}

static void
forbidden_global(void)
{
    begin();
    one_forbidden(SYNC_STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(QUERY_STREAM, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(SYNC_CONTEXT, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(ALLOC, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(LEGACY_WORK, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS, true);
}

static void
forbidden_thread(void)
{
    begin();
    one_forbidden(SYNC_STREAM, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(ALLOC, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(SYNC_CONTEXT, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
}

static void
forbidden_relaxed(void)
{
    begin();
    one_forbidden(SYNC_STREAM, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(QUERY_STREAM, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(SYNC_CONTEXT, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, false);
    one_forbidden(ALLOC, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, true);
    one_forbidden(SYNC_COPY, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, true);
    one_forbidden(SYNC_MEMSET, CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, true);
}

static void
forbidden_copy(void)
{
    begin();
    one_forbidden(SYNC_COPY, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS, true); // in the legacy stream, beside a stream that does not block
    one_forbidden(SYNC_MEMSET, CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_SUCCESS, true);
}

static void
never_called(CUstream of, CUresult r, void *user)
{
    (void)of, (void)r, (void)user;
}

static void
forbidden_callback(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamAddCallback, s, never_called, NULL, 0);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
}

// Work in the legacy stream depends on blocking streams that capture.
static void
legacy_implicit(void)
{
    CUgraph g = NULL;
    CUstream b = NULL;
    CUdeviceptr p = begin();
    succeed(cuStreamCreate, &b, 0);
    succeed(cuStreamBeginCapture_v2, b, CU_STREAM_CAPTURE_MODE_RELAXED);
    STEP(b, p, 10, 1);
    ok(launch_step(NULL, p, 1, 1) == CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, "legacy work beside a capture");
    eq(status(b), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, b, &g);
    succeed(cuStreamBeginCapture_v2, b, CU_STREAM_CAPTURE_MODE_RELAXED);
    expect(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamSynchronize, NULL);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, b, &g);
    succeed(cuStreamBeginCapture_v2, b, CU_STREAM_CAPTURE_MODE_RELAXED);
    CUstreamCaptureStatus st;
    expect(CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, cuStreamIsCapturing, NULL, &st);
    succeed(cuStreamEndCapture, b, &g);
    succeed(cuStreamDestroy_v2, b);
}

// ---- forks and joins --------------------------------------------------------------------------------
static void
fork_join(void)
{
    CUgraph g = NULL;
    CUevent a = NULL, b = NULL;
    CUdeviceptr p = begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventCreate, &b, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    succeed(cuEventRecord, a, s);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
    succeed(cuStreamWaitEvent, t, a, 0);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    STEP(t, p + 4, 10, 2);
    STEP(s, p + 8, 10, 3);
    succeed(cuEventRecord, b, t);
    succeed(cuStreamWaitEvent, s, b, 0);
    STEP(s, p, 10, 4);
    succeed(cuStreamEndCapture, s, &g);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
    size_t edges = 0;
    eq(nodes_of(g), 4);
    succeed(cuGraphGetEdges, g, NULL, NULL, &edges);
    eq(edges, 4);
    run_graph(g);
    eq(word(p), 14);
    eq(word(p + 4), 2);
    eq(word(p + 8), 3);
    succeed(cuEventDestroy_v2, a);
    succeed(cuEventDestroy_v2, b);
}

static void
unjoined(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUevent a = NULL;
    CUdeviceptr p = begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuEventRecord, a, s);
    succeed(cuStreamWaitEvent, t, a, 0);
    STEP(t, p, 10, 2);
    expect(CUDA_ERROR_STREAM_CAPTURE_UNJOINED, cuStreamEndCapture, s, &g);
    ok(!g, "a graph in spite of it");
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
    STEP(t, p, 10, 2);
    succeed(cuStreamSynchronize, t);
}

static void
unmatched(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUevent a = NULL;
    begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuEventRecord, a, s);
    succeed(cuStreamWaitEvent, t, a, 0);
    expect(CUDA_ERROR_STREAM_CAPTURE_UNMATCHED, cuStreamEndCapture, t, &g);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_NONE);
}

static void
merged(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUevent a = NULL;
    begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuStreamBeginCapture_v2, t, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuEventRecord, a, s);
    expect(CUDA_ERROR_STREAM_CAPTURE_MERGE, cuStreamWaitEvent, t, a, 0);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    eq(status(t), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, t, &g);
}

static void
isolated(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUevent a = NULL, never = NULL;
    begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventCreate, &never, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventRecord, a, t);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_ERROR_STREAM_CAPTURE_ISOLATION, cuStreamWaitEvent, s, a, 0);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
}

static void
isolated_never_recorded(void)
{
    CUgraph g = (CUgraph)(uintptr_t)8;
    CUevent never = NULL;
    begin();
    succeed(cuEventCreate, &never, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_SUCCESS, cuStreamWaitEvent, s, never, 0);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    expect(CUDA_SUCCESS, cuStreamEndCapture, s, &g);
}

static void
captured_events(void)
{
    CUgraph g = NULL;
    CUevent a = NULL, plain_event = NULL;
    float ms;
    begin();
    succeed(cuEventCreate, &a, 0);
    succeed(cuEventCreate, &plain_event, 0);
    succeed(cuEventRecord, plain_event, t);
    succeed(cuStreamSynchronize, t);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuEventRecord, a, s);
    expect(CUDA_ERROR_CAPTURED_EVENT, cuEventQuery, a);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuEventRecord, a, s);
    expect(CUDA_ERROR_CAPTURED_EVENT, cuEventSynchronize, a);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuEventRecord, a, s);
    succeed(cuStreamEndCapture, s, &g);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventQuery, a); // its capture has ended
    expect(CUDA_ERROR_INVALID_VALUE, cuEventSynchronize, a);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamWaitEvent, t, a, 0);
    ok(CALL(cuEventElapsedTime, &ms, plain_event, a) != CUDA_SUCCESS, "time of a captured event");
    succeed(cuEventRecord, a, t); // recorded anew it is an ordinary one
    succeed(cuEventSynchronize, a);
    succeed(cuEventQuery, a);
    succeed(cuGraphDestroy, g);
    succeed(cuEventDestroy_v2, a);
}

// External events become nodes.
static void
external(void)
{
    CUgraph g = NULL;
    CUevent a = NULL;
    CUgraphNode node[4];
    CUgraphNodeType type = (CUgraphNodeType)77;
    size_t n = 4;
    begin();
    succeed(cuEventCreate, &a, 0);
    expect2(CUDA_SUCCESS, CUDA_ERROR_ILLEGAL_STATE, cuEventRecordWithFlags, a, s, CU_EVENT_RECORD_EXTERNAL);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuEventRecordWithFlags, a, s, CU_EVENT_RECORD_EXTERNAL);
    succeed(cuStreamWaitEvent, s, a, CU_EVENT_WAIT_EXTERNAL);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphGetNodes, g, node, &n);
    eq(n, 2);
    succeed(cuGraphNodeGetType, node[0], &type);
    eq(type, CU_GRAPH_NODE_TYPE_EVENT_RECORD);
    succeed(cuGraphNodeGetType, node[1], &type);
    eq(type, CU_GRAPH_NODE_TYPE_WAIT_EVENT);
    run_graph(g);
    succeed(cuEventSynchronize, a);
    succeed(cuEventDestroy_v2, a);
}

// ---- what is captured -------------------------------------------------------------------------------
static void
host_fn(void *user)
{
    atomic_fetch_add((atomic_int *)user, 1);
}

// Node types of work of every kind.
static void
kinds(void)
{
    static const CUgraphNodeType want[] = {CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMSET, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_HOST};
    CUgraph g = NULL;
    CUgraphNode node[16];
    size_t n = 16;
    atomic_int calls = 0;
    CUdeviceptr p = begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    succeed(cuMemsetD32Async, p + 4, 6, 1, s);
    succeed(cuMemcpyDtoDAsync_v2, p + 8, p + 4, 4, s);
    succeed(cuLaunchHostFunc, s, host_fn, &calls);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphGetNodes, g, node, &n);
    eq(n, 4);
    for (size_t i = 0; i < n && i < 4; i++) {
        CUgraphNodeType type = (CUgraphNodeType)77;
        succeed(cuGraphNodeGetType, node[i], &type);
        eq(type, want[i]);
    }
    run_graph(g);
    eq(word(p + 8), 6);
    eq(atomic_load(&calls), 1);
}

static void
captured_params(void)
{
    CUgraph g = NULL;
    CUgraphNode node[4];
    size_t n = 4;
    CUdeviceptr p = begin();
    CUDA_KERNEL_NODE_PARAMS k;
    CUDA_MEMSET_NODE_PARAMS m;
    CUDA_MEMCPY3D c;
    memset(&k, 0, sizeof k);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    succeed(cuMemsetD8Async, p + 4, 6, 8, s);
    succeed(cuMemcpyDtoDAsync_v2, p + 32, p, 16, s);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphGetNodes, g, node, &n);
    succeed(cuGraphKernelNodeGetParams_v2, node[0], &k);
    ok(k.func == step, "another function");
    eq(k.gridDimX, 1);
    eq(k.blockDimZ, 1);
    ok(k.kernelParams != NULL, "no parameters");
    if (k.kernelParams) {
        eq(*(CUdeviceptr *)k.kernelParams[0], p);
        eq(*(unsigned *)k.kernelParams[1], 10);
        eq(*(unsigned *)k.kernelParams[2], 1);
    }
    succeed(cuGraphMemsetNodeGetParams, node[1], &m);
    eq(m.dst, p + 4);
    eq(m.elementSize, 1);
    eq(m.width, 8);
    eq(m.height, 1);
    eq(m.value, 6);
    succeed(cuGraphMemcpyNodeGetParams, node[2], &c);
    eq(c.WidthInBytes, 16);
    eq(c.Height, 1);
    eq(c.Depth, 1);
    eq(c.srcDevice, p);
    eq(c.dstDevice, p + 32);
    eq(c.srcMemoryType, CU_MEMORYTYPE_DEVICE);
    succeed(cuGraphDestroy, g);
}

// An empty copy and an empty fill make no node; a launch of a graph makes a child.
static void
children(void)
{
    CUgraph g = NULL, outer = NULL, inner = NULL;
    CUgraphExec e = NULL;
    CUgraphNode node[4];
    CUgraphNodeType type = (CUgraphNodeType)77;
    size_t n = 4;
    CUdeviceptr p = begin();
    succeed(cuGraphCreate, &g, 0);
    add_step(g, NULL, 0, p, 10, 1);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    if (on_nvidia()) { // an H200's driver does not capture launches of graphs
        expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuGraphLaunch, e, s);
        return;
    }
    succeed(cuGraphLaunch, e, s);
    STEP(s, p, 10, 2);
    succeed(cuStreamEndCapture, s, &outer);
    succeed(cuGraphGetNodes, outer, node, &n);
    eq(n, 2);
    succeed(cuGraphNodeGetType, node[0], &type);
    eq(type, CU_GRAPH_NODE_TYPE_GRAPH);
    succeed(cuGraphChildGraphNodeGetGraph, node[0], &inner);
    eq(nodes_of(inner), 1);
    eq(word(p), 0);
    run_graph(outer);
    eq(word(p), 12);
    succeed(cuGraphExecDestroy, e);
    succeed(cuGraphDestroy, g);
}

static void
batch_ops(void)
{
    CUgraph g = NULL;
    CUgraphNode node[4];
    CUgraphNodeType type = (CUgraphNodeType)77;
    size_t n = 4;
    CUdeviceptr p = begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuStreamWriteValue32_v2, s, p, 9, 0);
    succeed(cuStreamWaitValue32_v2, s, p, 9, CU_STREAM_WAIT_VALUE_EQ);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphGetNodes, g, node, &n);
    eq(n, 2);
    succeed(cuGraphNodeGetType, node[0], &type);
    eq(type, CU_GRAPH_NODE_TYPE_BATCH_MEM_OP);
    CUDA_BATCH_MEM_OP_NODE_PARAMS b;
    memset(&b, 0, sizeof b);
    succeed(cuGraphBatchMemOpNodeGetParams, node[0], &b);
    eq(b.count, 1);
    if (b.paramArray) {
        eq(b.paramArray[0].operation, CU_STREAM_MEM_OP_WRITE_VALUE_32);
        eq(b.paramArray[0].writeValue.address, p);
        eq(b.paramArray[0].writeValue.value, 9);
    }
    run_graph(g);
    eq(word(p), 9);
}

static void
memory_nodes(void)
{
    static const CUgraphNodeType want[] = {CU_GRAPH_NODE_TYPE_MEM_ALLOC, CU_GRAPH_NODE_TYPE_KERNEL, CU_GRAPH_NODE_TYPE_MEMCPY, CU_GRAPH_NODE_TYPE_MEM_FREE};
    CUgraph g = NULL;
    CUgraphNode node[8];
    size_t n = 8;
    CUdeviceptr p = begin(), q = 0;
    unsigned v = 7;
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuMemAllocAsync, &q, 4096, s);
    void *args[] = {&q, &v};
    succeed(cuLaunchKernel, store, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
    succeed(cuMemcpyDtoDAsync_v2, p, q, 4, s);
    succeed(cuMemFreeAsync, q, s);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphGetNodes, g, node, &n);
    eq(n, 4);
    for (size_t i = 0; i < n && i < 4; i++) {
        CUgraphNodeType type = (CUgraphNodeType)77;
        succeed(cuGraphNodeGetType, node[i], &type);
        eq(type, want[i]);
    }
    run_graph(g);
    eq(word(p), 7);
}

// ---- asking and steering ----------------------------------------------------------------------------
static void
info(void)
{
    CUgraph g = NULL, end = NULL;
    CUstreamCaptureStatus st = (CUstreamCaptureStatus)77;
    cuuint64_t id = 0, again = 0, none = 5;
    const CUgraphNode *deps = NULL;
    size_t n = 77;
    CUdeviceptr p = begin();
    succeed(cuStreamGetCaptureInfo_v2, s, &st, &none, &g, &deps, &n);
    eq(st, CU_STREAM_CAPTURE_STATUS_NONE);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuStreamGetCaptureInfo, s, &st, &id);
    eq(st, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(id != 0, "id 0");
    succeed(cuStreamGetCaptureInfo_v2, s, &st, &again, &g, &deps, &n);
    eq(again, id);
    eq(n, 0);
    ok(g != NULL, "no graph while capturing");
    STEP(s, p, 10, 1);
    succeed(cuStreamGetCaptureInfo_v2, s, &st, NULL, NULL, &deps, &n);
    eq(n, 1);
    CUgraphNodeType type = (CUgraphNodeType)77;
    if (n == 1 && deps)
        succeed(cuGraphNodeGetType, deps[0], &type);
    eq(type, CU_GRAPH_NODE_TYPE_KERNEL);
    const CUgraphEdgeData *data = NULL;
    succeed(cuStreamGetCaptureInfo_v3, s, &st, &again, &g, &deps, &data, &n);
    eq(n, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamGetCaptureInfo_v2, s, NULL, NULL, NULL, NULL, NULL);
    succeed(cuStreamEndCapture, s, &end);
    ok(end == g, "another graph than while capturing");
    succeed(cuGraphDestroy, end);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuStreamGetCaptureInfo, s, &st, &again);
    ok(again != id, "two captures of one id");
    succeed(cuStreamEndCapture, s, &end);
    succeed(cuGraphDestroy, end);
}

// Dependencies set by hand: a node added to the graph under capture, then the stream's next work behind it.
static void
dependencies(void)
{
    CUgraph g = NULL;
    CUstreamCaptureStatus st;
    CUdeviceptr p = begin();
    CUgraphNode n1, n2, found[4];
    size_t n = 4;
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuStreamGetCaptureInfo_v2, s, &st, NULL, &g, NULL, NULL);
    n1 = add_step(g, NULL, 0, p, 10, 1);
    succeed(cuStreamUpdateCaptureDependencies, s, &n1, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    STEP(s, p, 10, 2);
    n2 = add_step(g, NULL, 0, p + 4, 10, 7);
    succeed(cuStreamUpdateCaptureDependencies, s, &n2, 1, CU_STREAM_ADD_CAPTURE_DEPENDENCIES);
    STEP(s, p, 10, 3);
    const CUgraphNode *deps = NULL;
    size_t ndeps = 0;
    succeed(cuStreamGetCaptureInfo_v2, s, &st, NULL, NULL, &deps, &ndeps);
    eq(ndeps, 1);
    succeed(cuGraphNodeGetDependencies, deps[0], found, &n);
    eq(n, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamUpdateCaptureDependencies, s, &n1, 1, 7);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamUpdateCaptureDependencies, s, NULL, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    succeed(cuStreamEndCapture, s, &g);
    run_graph(g);
    eq(word(p), 123);
    eq(word(p + 4), 7);
}

static void
dependencies_v2(void)
{
    CUgraph g = NULL;
    CUstreamCaptureStatus st;
    CUdeviceptr p = begin();
    CUgraphEdgeData data = {0};
    CUgraphNode n1;
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    succeed(cuStreamGetCaptureInfo_v2, s, &st, NULL, &g, NULL, NULL);
    n1 = add_step(g, NULL, 0, p, 10, 1);
    succeed(cuStreamUpdateCaptureDependencies_v2, s, &n1, &data, 1, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    STEP(s, p, 10, 2);
    succeed(cuStreamUpdateCaptureDependencies_v2, s, NULL, NULL, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
    STEP(s, p + 4, 10, 3); // a root
    succeed(cuStreamEndCapture, s, &g);
}

static void
not_capturing(void)
{
    CUgraphNode none = NULL;
    begin();
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamUpdateCaptureDependencies, s, &none, 0, CU_STREAM_SET_CAPTURE_DEPENDENCIES);
}

static void
to_graph(void)
{
    CUgraph g = NULL, end = NULL;
    CUdeviceptr p = begin();
    CUgraphNode first, second;
    succeed(cuGraphCreate, &g, 0);
    first = add_step(g, NULL, 0, p, 10, 1);
    second = add_step(g, &first, 1, p, 10, 2);
    succeed(cuStreamBeginCaptureToGraph, s, g, &second, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 3);
    succeed(cuStreamEndCapture, s, &end);
    ok(end == g, "another graph");
    eq(nodes_of(g), 3);
    run_graph(g);
    eq(word(p), 123);
    succeed(cuGraphCreate, &g, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCaptureToGraph, s, NULL, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCaptureToGraph, s, g, NULL, NULL, 1, CU_STREAM_CAPTURE_MODE_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamBeginCaptureToGraph, s, g, NULL, NULL, 0, (CUstreamCaptureMode)9);
    expect(CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamBeginCaptureToGraph, NULL, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    succeed(cuGraphDestroy, g);
}

static void
end_given(void)
{
    CUgraph g = NULL;
    CUdeviceptr p = begin();
    succeed(cuGraphCreate, &g, 0);
    succeed(cuStreamBeginCaptureToGraph, s, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    STEP(s, p, 10, 1);
    succeed(cuStreamEndCapture, s, NULL); // the graph is known
    eq(status(s), CU_STREAM_CAPTURE_STATUS_NONE);
    run_graph(g);
    eq(word(p), 1);
}

static void
to_graph_without_dependencies(void)
{
    CUgraph g = NULL, end = NULL;
    CUdeviceptr p = begin();
    succeed(cuGraphCreate, &g, 0);
    add_step(g, NULL, 0, p, 10, 1);
    succeed(cuStreamBeginCaptureToGraph, s, g, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p + 4, 10, 3);
    succeed(cuStreamEndCapture, s, &end);
    size_t roots = 0;
    succeed(cuGraphGetRootNodes, g, NULL, &roots);
    eq(roots, 2);
    run_graph(g);
    eq(word(p), 1);
    eq(word(p + 4), 3);
}

// ---- threads ----------------------------------------------------------------------------------------
static void
modes(void)
{
    CUstreamCaptureMode m = CU_STREAM_CAPTURE_MODE_RELAXED;
    CUdeviceptr q;
    CUgraph g = NULL;
    begin();
    succeed(cuThreadExchangeStreamCaptureMode, &m);
    eq(m, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    succeed(cuMemAlloc_v2, &q, 64); // allowed to a relaxed thread
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuThreadExchangeStreamCaptureMode, &m);
    eq(m, CU_STREAM_CAPTURE_MODE_RELAXED);
    if (!on_nvidia()) { // which takes any mode and follows NULL
        m = (CUstreamCaptureMode)5;
        expect(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode, &m);
        expect(CUDA_ERROR_INVALID_VALUE, cuThreadExchangeStreamCaptureMode, NULL);
    }
    succeed(cuGraphDestroy, g);
}

struct other {
    CUresult alloc, end;
    CUgraph graph;
    bool relaxed, local;
};

static void *
other_thread(void *user)
{
    struct other *o = user;
    CUdeviceptr q;
    CUstreamCaptureMode m = o->relaxed ? CU_STREAM_CAPTURE_MODE_RELAXED : CU_STREAM_CAPTURE_MODE_THREAD_LOCAL;
    CALL(cuCtxSetCurrent, primary);
    if (o->relaxed || o->local)
        CALL(cuThreadExchangeStreamCaptureMode, &m);
    o->alloc = CALL(cuMemAlloc_v2, &q, 64);
    return NULL;
}

static CUresult
alloc_elsewhere(bool relaxed, bool local)
{
    struct other o = {.relaxed = relaxed, .local = local};
    pthread_t th;
    pthread_create(&th, NULL, other_thread, &o);
    pthread_join(th, NULL);
    return o.alloc;
}

// An unsafe call of another thread ends a global capture, but not a local one.
static void
other_threads(void)
{
    CUgraph g = NULL;
    begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    ok(alloc_elsewhere(false, false) == CUDA_SUCCESS, "a local capture forbids it to another thread");
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    succeed(cuStreamEndCapture, s, &g);
    succeed(cuGraphDestroy, g);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    ok(alloc_elsewhere(false, true) == CUDA_SUCCESS, "a local thread is not free of another's capture");
    ok(alloc_elsewhere(true, false) == CUDA_SUCCESS, "a relaxed thread is not free");
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    ok(alloc_elsewhere(false, false) == CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, "a global capture allows it");
    eq(status(s), CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    expect(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED, cuStreamEndCapture, s, &g);
}

static void *
end_elsewhere(void *user)
{
    struct other *o = user;
    CALL(cuCtxSetCurrent, primary);
    o->end = CALL(cuStreamEndCapture, s, &o->graph);
    return NULL;
}

static void
wrong_thread(void)
{
    struct other o = {0};
    pthread_t th;
    CUgraph g = NULL;
    begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    pthread_create(&th, NULL, end_elsewhere, &o);
    pthread_join(th, NULL);
    ok(o.end == CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD, "ended by another thread: %s", api_code(o.end));
    expect(CUDA_ERROR_ILLEGAL_STATE, cuStreamEndCapture, s, &g); // it has ended all the same
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_RELAXED);
    pthread_create(&th, NULL, end_elsewhere, &o);
    pthread_join(th, NULL);
    ok(o.end == CUDA_SUCCESS, "a relaxed capture is bound to its thread: %s", api_code(o.end));
    succeed(cuGraphDestroy, o.graph);
}

// Several threads capture at once, each in its own stream.
struct worker {
    CUdeviceptr p;
    unsigned result;
    bool ok;
};

static void *
capture_one(void *user)
{
    struct worker *w = user;
    CUstream mine;
    CUgraph g;
    CUgraphExec e;
    CALL(cuCtxSetCurrent, primary);
    w->ok = CALL(cuStreamCreate, &mine, CU_STREAM_NON_BLOCKING) == CUDA_SUCCESS;
    for (int round = 0; round < 20 && w->ok; round++) {
        w->ok &= CALL(cuStreamBeginCapture_v2, mine, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) == CUDA_SUCCESS;
        for (unsigned i = 1; i <= 3; i++)
            w->ok &= launch_step(mine, w->p, 10, i) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamEndCapture, mine, &g) == CUDA_SUCCESS;
        w->ok &= CALL(cuMemsetD32Async, w->p, 0, 1, mine) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphInstantiateWithFlags, &e, g, 0) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphLaunch, e, mine) == CUDA_SUCCESS;
        w->ok &= CALL(cuStreamSynchronize, mine) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphExecDestroy, e) == CUDA_SUCCESS;
        w->ok &= CALL(cuGraphDestroy, g) == CUDA_SUCCESS;
    }
    CALL(cuStreamDestroy_v2, mine);
    return NULL;
}

static void
many_threads(void)
{
    enum { N = 6 };
    pthread_t th[N];
    struct worker w[N];
    CUdeviceptr p = begin();
    for (int i = 0; i < N; i++) {
        w[i] = (struct worker){.p = p + 4 * (unsigned)i};
        pthread_create(&th[i], NULL, capture_one, &w[i]);
    }
    for (int i = 0; i < N; i++) {
        pthread_join(th[i], NULL);
        ok(w[i].ok, "thread %d", i);
        eq(word(p + 4 * (unsigned)i), 123);
    }
}

// One capture fed by two threads, one after the other.
static void *
feed(void *user)
{
    CALL(cuCtxSetCurrent, primary);
    STEP(s, *(CUdeviceptr *)user, 10, 2);
    return NULL;
}

static void
fed_by_two(void)
{
    CUgraph g = NULL;
    pthread_t th;
    CUdeviceptr p = begin();
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    pthread_create(&th, NULL, feed, &p);
    pthread_join(th, NULL);
    STEP(s, p, 10, 3);
    succeed(cuStreamEndCapture, s, &g);
    run_graph(g);
    eq(word(p), 123);
}

// ---- destruction ------------------------------------------------------------------------------------
static void
stream_destroyed(void)
{
    CUdeviceptr p = begin(), q = 0;
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    expect2(CUDA_SUCCESS, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, cuStreamDestroy_v2, s);
    succeed(cuMemAlloc_v2, &q, 64); // no capture is left that would forbid it
    eq(word(p), 0);
}

// A forked stream may go once it was joined.
static void
fork_destroyed(void)
{
    CUgraph g = NULL;
    CUevent a = NULL, b = NULL;
    CUdeviceptr p = begin();
    succeed(cuEventCreate, &a, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventCreate, &b, CU_EVENT_DISABLE_TIMING);
    succeed(cuStreamBeginCapture_v2, s, CU_STREAM_CAPTURE_MODE_GLOBAL);
    STEP(s, p, 10, 1);
    succeed(cuEventRecord, a, s);
    succeed(cuStreamWaitEvent, t, a, 0);
    STEP(t, p, 10, 2);
    succeed(cuEventRecord, b, t);
    succeed(cuStreamWaitEvent, s, b, 0);
    succeed(cuStreamDestroy_v2, t);
    succeed(cuEventDestroy_v2, a);
    succeed(cuEventDestroy_v2, b);
    eq(status(s), CU_STREAM_CAPTURE_STATUS_ACTIVE);
    STEP(s, p, 10, 3);
    succeed(cuStreamEndCapture, s, &g);
    run_graph(g);
    eq(word(p), 123);
}

API_MAIN(CASE(plain), CASE(empty), CASE(misuse), CASE(end_null), CASE(per_thread_stream), CASE(forbidden_global), CASE(forbidden_thread),
    CASE(forbidden_relaxed), CASE(forbidden_copy), CASE(forbidden_callback), CASE(legacy_implicit), CASE(fork_join), CASE(unjoined), CASE(unmatched),
    CASE(merged), CASE(isolated), CASE(isolated_never_recorded), CASE(captured_events), CASE(external), CASE(kinds), CASE(captured_params), CASE(children),
    CASE(batch_ops), CASE(memory_nodes), CASE(info), CASE(dependencies), CASE(dependencies_v2), CASE(not_capturing), CASE(to_graph), CASE(end_given),
    CASE(to_graph_without_dependencies), CASE(modes), CASE(other_threads), CASE(wrong_thread), CASE(many_threads), CASE(fed_by_two), CASE(stream_destroyed), CASE(fork_destroyed))
