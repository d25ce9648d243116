// SPDX-License-Identifier: MIT
// Graphs: structure, parameters, executables, captures.
#include "../check.h"
#include "null_backend.h"
#include "driver/graph.h"
#include "api_impl.h"

static char trace[64];

static void
note(void *letter)
{
    size_t n = strlen(trace);
    if (n + 1 < sizeof trace)
        trace[n] = *(const char *)letter, trace[n + 1] = 0;
}

static CUgraphNode
add_host(CUgraph g, const CUgraphNode *deps, size_t n, const char *letter)
{
    CUgraphNode node = NULL;
    CUDA_HOST_NODE_PARAMS p = {note, (void *)letter};
    CHECK_INT(pw_cuGraphAddHostNode(&node, g, deps, n, &p), CUDA_SUCCESS);
    return node;
}

static void
run(CUgraph g)
{
    CUgraphExec e;
    trace[0] = 0;
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
}

static void
structure(void)
{
    CUgraph g;
    CUgraphNode list[4], from[4], to[4];
    size_t n;
    null_begin();
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUgraphNode a = add_host(g, NULL, 0, "a"), b = add_host(g, NULL, 0, "b"),
                c = add_host(g, &a, 1, "c");
    CHECK_INT(pw_cuGraphAddDependencies(g, &c, &b, 1), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphAddDependencies(g, &c, &b, 1), CUDA_ERROR_INVALID_VALUE); // twice
    CHECK_INT(pw_cuGraphAddDependencies(g, &b, &a, 1), CUDA_SUCCESS); // a cycle: refused when instantiated
    CUgraphExec cyclic;
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&cyclic, g, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphRemoveDependencies(g, &b, &a, 1), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphAddDependencies(g, &a, &a, 1), CUDA_ERROR_INVALID_VALUE);
    run(g);
    CHECK_STR(trace, "acb");
    CHECK_INT(pw_cuGraphGetNodes(g, NULL, &n), CUDA_SUCCESS);
    CHECK_INT(n, 3);
    n = 4;
    CHECK_INT(pw_cuGraphGetNodes(g, list, &n), CUDA_SUCCESS);
    CHECK(n == 3 && list[0] == a && list[2] == c && !list[3]);
    n = 4;
    CHECK_INT(pw_cuGraphGetRootNodes(g, list, &n), CUDA_SUCCESS);
    CHECK(n == 1 && list[0] == a);
    n = 4;
    CHECK_INT(pw_cuGraphGetEdges(g, from, to, &n), CUDA_SUCCESS);
    CHECK(n == 2 && from[0] == a && to[0] == c && from[1] == c && to[1] == b);
    n = 4;
    CHECK_INT(pw_cuGraphNodeGetDependentNodes(c, list, &n), CUDA_SUCCESS);
    CHECK(n == 1 && list[0] == b);
    CHECK_INT(pw_cuGraphDestroyNode(c), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphGetEdges(g, NULL, NULL, &n), CUDA_SUCCESS);
    CHECK_INT(n, 0);
    CHECK_INT(pw_cuGraphDestroyNode(c), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphRemoveDependencies(g, &a, &b, 1), CUDA_ERROR_INVALID_VALUE);
    run(g);
    CHECK_STR(trace, "ab");
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(object_live(OBJ_GRAPH_NODE), 0);
    null_end();
}

static void
edge_data_is_kept(void)
{
    CUgraph g;
    CUgraphNode deps[2];
    CUgraphEdgeData data = {.type = CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC, .from_port = 1}, back[2];
    size_t n = 2;
    null_begin();
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUgraphNode a = add_host(g, NULL, 0, "a"), b = add_host(g, NULL, 0, "b");
    CHECK_INT(pw_cuGraphAddDependencies_v2(g, &a, &b, &data, 1), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphNodeGetDependencies_v2(b, deps, back, &n), CUDA_SUCCESS);
    CHECK(n == 1 && deps[0] == a && back[0].from_port == 1);
    CHECK_INT(pw_cuGraphNodeGetDependencies(b, deps, &n), CUDA_ERROR_LOSSY_QUERY);
    CHECK_INT(pw_cuGraphRemoveDependencies(g, &a, &b, 1), CUDA_SUCCESS); // whatever the data
    CHECK_INT(pw_cuGraphRemoveDependencies_v2(g, &a, &b, &data, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    null_end();
}

static void
clones_and_children(void)
{
    CUgraph g, parent, clone, inside;
    CUgraphNode child, found;
    null_begin();
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphCreate(&parent, 0), CUDA_SUCCESS);
    CUgraphNode a = add_host(g, NULL, 0, "a"), b = add_host(g, &a, 1, "b");
    CHECK_INT(pw_cuGraphClone(&clone, g), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphNodeFindInClone(&found, b, clone), CUDA_SUCCESS);
    CHECK(found != b);
    CHECK_INT(pw_cuGraphNodeFindInClone(&found, b, parent), CUDA_ERROR_INVALID_VALUE);
    CUgraphNode x = add_host(parent, NULL, 0, "x");
    CHECK_INT(pw_cuGraphAddChildGraphNode(&child, parent, &x, 1, g), CUDA_SUCCESS);
    add_host(parent, &child, 1, "y");
    CHECK_INT(pw_cuGraphChildGraphNodeGetGraph(child, &inside), CUDA_SUCCESS);
    CHECK(inside != g);
    CHECK_INT(pw_cuGraphDestroy(inside), CUDA_ERROR_INVALID_VALUE); // belongs to its node
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    run(parent);
    CHECK_STR(trace, "xaby");
    run(clone);
    CHECK_STR(trace, "ab");
    CHECK_INT(pw_cuGraphDestroy(clone), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(parent), CUDA_SUCCESS);
    CHECK_INT(object_live(OBJ_GRAPH), 0);
    null_end();
}

// A kernel of two parameters: a pointer at 0 and an int at 8.
static struct function *
make_kernel(void)
{
    static struct ptx_var param[2] = {{.size = 8, .offset = 0}, {.size = 4, .offset = 8}};
    static struct ptx_func code = {.proto = {.param = param, .nparam = 2}, .param_size = 12};
    struct function *f = object_new(OBJ_FUNCTION, sizeof *f);
    f->func = &code;
    return f;
}

static void
kernel_nodes(void)
{
    CUgraph g;
    CUgraphNode k;
    CUgraphExec e;
    null_begin();
    struct function *f = make_kernel();
    void *ptr = &g;
    int n = 5;
    void *args[] = {&ptr, &n};
    CUDA_KERNEL_NODE_PARAMS p = {.func = (CUfunction)f,
                                 .gridDimX = 3,
                                 .gridDimY = 1,
                                 .gridDimZ = 1,
                                 .blockDimX = 32,
                                 .blockDimY = 1,
                                 .blockDimZ = 1,
                                 .kernelParams = args},
                            q;
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphAddKernelNode_v2(&k, g, NULL, 0, &p), CUDA_SUCCESS);
    n = 6;
    CHECK_INT(pw_cuGraphKernelNodeGetParams_v2(k, &q), CUDA_SUCCESS);
    CHECK(q.func == (CUfunction)f && q.gridDimX == 3 && q.blockDimX == 32);
    CHECK_INT(*(int *)q.kernelParams[1], 5); // copied when the node was made
    CHECK(*(void **)q.kernelParams[0] == ptr);
    q.gridDimX = 7;
    CHECK_INT(pw_cuGraphKernelNodeSetParams_v2(k, &q), CUDA_SUCCESS); // from its own storage
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    null_launches = 0;
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(null_grid[0], 7);
    CHECK_INT(pw_cuGraphExecKernelNodeSetParams_v2(e, k, &p), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(null_grid[1], 3);
    CHECK_INT(pw_cuGraphNodeSetEnabled(e, k, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(null_launches, 2);
    CUDA_HOST_NODE_PARAMS host = {note, "h"};
    CHECK_INT(pw_cuGraphExecHostNodeSetParams(e, k, &host), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    object_free(f);
    null_end();
}

static void
updates(void)
{
    CUgraph g, same, other;
    CUgraphExec e;
    CUgraphExecUpdateResultInfo info;
    null_begin();
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphCreate(&same, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphCreate(&other, 0), CUDA_SUCCESS);
    CUgraphNode a = add_host(g, NULL, 0, "a"), c = add_host(same, NULL, 0, "c");
    add_host(g, &a, 1, "b");
    add_host(same, &c, 1, "d");
    add_host(other, NULL, 0, "e");
    add_host(other, NULL, 0, "f");
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecUpdate_v2(e, same, &info), CUDA_SUCCESS);
    CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_SUCCESS);
    trace[0] = 0;
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_STR(trace, "cd");
    CUDA_HOST_NODE_PARAMS host = {note, "z"};
    CHECK_INT(pw_cuGraphExecHostNodeSetParams(e, a, &host),
              CUDA_SUCCESS); // by the first graph's node
    CHECK_INT(pw_cuGraphExecUpdate_v2(e, other, &info), CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE);
    CHECK_INT(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
    CHECK(info.errorNode != NULL);
    trace[0] = 0;
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_STR(trace, "zd");
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(same), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(other), CUDA_SUCCESS);
    null_end();
}

static void
say(CUstream s, const char *letter)
{
    CHECK_INT(pw_cuLaunchHostFunc(s, note, (void *)letter), CUDA_SUCCESS);
}

static void
capture_forks_and_joins(void)
{
    CUstream a, b;
    CUevent fork, join;
    CUgraph g;
    CUstreamCaptureStatus status;
    cuuint64_t id;
    const CUgraphNode *deps;
    size_t n;
    CUdeviceptr d;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&fork, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&join, CU_EVENT_DISABLE_TIMING), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAlloc_v2(&d, 16), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamBeginCapture_v2(NULL, CU_STREAM_CAPTURE_MODE_GLOBAL),
              CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
    CHECK_INT(pw_cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL),
              CUDA_ERROR_ILLEGAL_STATE);
    trace[0] = 0;
    say(a, "1");
    CHECK_STR(trace, "");
    CHECK_INT(pw_cuEventRecord(fork, a), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(b, fork, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemsetD8Async(d, 7, 16, b), CUDA_SUCCESS);
    say(b, "2");
    say(a, "3");
    CHECK_INT(pw_cuEventRecord(join, b), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(a, join, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamGetCaptureInfo_v2(a, &status, &id, NULL, &deps, &n), CUDA_SUCCESS);
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_ACTIVE);
    CHECK_INT(n, 2);
    say(a, "4");
    CHECK_INT(pw_cuStreamEndCapture(b, &g), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
    CHECK_INT(pw_cuStreamIsCapturing(b, &status), CUDA_SUCCESS);
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_INVALIDATED);
    CHECK_INT(pw_cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK(!g);

    CHECK_INT(pw_cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL), CUDA_SUCCESS);
    say(a, "1");
    CHECK_INT(pw_cuEventRecord(fork, a), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(b, fork, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemsetD8Async(d, 7, 16, b), CUDA_SUCCESS);
    say(b, "2");
    CHECK_INT(pw_cuEventRecord(join, b), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(a, join, 0), CUDA_SUCCESS);
    say(a, "3");
    CHECK_INT(pw_cuStreamEndCapture(a, &g), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamIsCapturing(b, &status), CUDA_SUCCESS);
    CHECK_INT(status, CU_STREAM_CAPTURE_STATUS_NONE);
    CHECK_INT(pw_cuGraphGetNodes(g, NULL, &n), CUDA_SUCCESS);
    CHECK_INT(n, 4);
    CHECK_INT(pw_cuGraphGetEdges(g, NULL, NULL, &n), CUDA_SUCCESS);
    CHECK_INT(n, 4); // 1-memset, memset-2, 2-3, 1-3
    memset((void *)(uintptr_t)d, 0, 16);
    run(g);
    CHECK_STR(trace, "123");
    CHECK_INT(((char *)(uintptr_t)d)[15], 7);
    CHECK_INT(pw_cuEventQuery(fork), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(fork), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(join), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    null_end();
}

// Begins a capture in `s`, runs one refused call, and checks how the capture ends.
#define REFUSED(s, mode, call, want, ending)                                                       \
    do {                                                                                           \
        CUgraph ended = NULL;                                                                      \
        CHECK_INT(pw_cuStreamBeginCapture_v2(s, mode), CUDA_SUCCESS);                              \
        CHECK_INT(call, want);                                                                     \
        CHECK_INT(pw_cuStreamEndCapture(s, &ended), ending);                                       \
        if (ended)                                                                                 \
            pw_cuGraphDestroy(ended);                                                              \
    } while (0)

static void
capture_refusals(void)
{
    CUstream s, blocking;
    CUevent outside;
    CUdeviceptr d = 0;
    CUstreamCaptureMode relaxed = CU_STREAM_CAPTURE_MODE_RELAXED;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&blocking, CU_STREAM_DEFAULT), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&outside, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventRecord(outside, NULL), CUDA_SUCCESS);
    const CUstreamCaptureMode global = CU_STREAM_CAPTURE_MODE_GLOBAL;
    const CUresult bad = CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
                   gone = CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    REFUSED(s, global, pw_cuMemAlloc_v2(&d, 16), bad, gone);
    REFUSED(s, global, pw_cuStreamSynchronize(s), bad, gone);
    REFUSED(s, global, pw_cuStreamQuery(s), bad, gone);
    REFUSED(s, global, capture_check_context(null_context), bad, gone);
    REFUSED(s, global, pw_cuStreamWaitEvent(s, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION,
            gone);
    REFUSED(blocking, global, pw_cuLaunchHostFunc(NULL, note, "x"),
            CUDA_ERROR_STREAM_CAPTURE_IMPLICIT, gone);
    REFUSED(s, relaxed, pw_cuMemcpyDtoH_v2(&d, d, 0), CUDA_SUCCESS, CUDA_SUCCESS);
    REFUSED(s, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, pw_cuMemAlloc_v2(&d, 16), bad, gone);
    REFUSED(s, relaxed, pw_cuMemAlloc_v2(&d, 16), CUDA_SUCCESS, CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    CHECK_INT(pw_cuThreadExchangeStreamCaptureMode(&relaxed), CUDA_SUCCESS);
    CHECK_INT(relaxed, CU_STREAM_CAPTURE_MODE_GLOBAL);
    REFUSED(s, global, pw_cuMemAlloc_v2(&d, 16), CUDA_SUCCESS, CUDA_SUCCESS);
    CHECK_INT(pw_cuThreadExchangeStreamCaptureMode(&relaxed), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(outside), CUDA_SUCCESS);
    CHECK_INT(object_live(OBJ_GRAPH), 0);
    null_end();
}

static void
capture_ends_unjoined(void)
{
    CUstream a, b, c;
    CUevent e, f;
    CUgraph g;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&a, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&b, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&c, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&e, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&f, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    say(a, "1");
    CHECK_INT(pw_cuEventRecord(e, a), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(b, e, 0), CUDA_SUCCESS);
    say(b, "2");
    CHECK_INT(pw_cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
    CHECK(!g);
    // Two captures may not meet.
    CHECK_INT(pw_cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamBeginCapture_v2(c, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventRecord(f, c), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamWaitEvent(a, f, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
    CHECK_INT(pw_cuStreamEndCapture(a, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_INT(pw_cuStreamEndCapture(c, &g), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
    CHECK_INT(pw_cuStreamEndCapture(c, &g), CUDA_ERROR_ILLEGAL_STATE);
    CHECK_INT(pw_cuEventDestroy_v2(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(f), CUDA_SUCCESS);
    CHECK_INT(object_live(OBJ_GRAPH), 0);
    null_end();
}

static void
memory_nodes(void)
{
    CUgraph g;
    CUgraphExec e, second;
    CUgraphNode alloc, fill, release;
    cuuint64_t used = 9;
    CUstream s;
    CUdeviceptr d;
    null_begin();
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CUDA_MEM_ALLOC_NODE_PARAMS p = {.poolProps = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                                  .location = {CU_MEM_LOCATION_TYPE_DEVICE, 0}},
                                    .bytesize = 64};
    CHECK_INT(pw_cuGraphAddMemAllocNode(&alloc, g, NULL, 0, &p), CUDA_SUCCESS);
    CHECK(p.dptr != 0);
    CUDA_MEMSET_NODE_PARAMS m = {
        .dst = p.dptr, .value = 0x55, .elementSize = 1, .width = 64, .height = 1};
    CHECK_INT(pw_cuGraphAddMemsetNode(&fill, g, &alloc, 1, &m, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&second, g, 0), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(*(char *)(uintptr_t)(p.dptr + 63), 0x55);
    CHECK_INT(pw_cuDeviceGetGraphMemAttribute(0, CU_GRAPH_MEM_ATTR_USED_MEM_CURRENT, &used),
              CUDA_SUCCESS);
    CHECK_INT(used, 64);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_ERROR_INVALID_VALUE); // not free yet
    CHECK_INT(pw_cuMemFreeAsync(p.dptr, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(p.dptr), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphAddMemFreeNode(&release, g, &fill, 1, p.dptr), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(null_allocated, 0);

    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamBeginCapture_v2(s, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAllocAsync(&d, 32, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemsetD8Async(d, 1, 32, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFreeAsync(d, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamEndCapture(s, &g), CUDA_SUCCESS);
    run(g);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(null_allocated, 0);
    null_end();
}

static int destroyed;

static void
count_destroyed(void *user)
{
    (void)user;
    destroyed++;
}

static void
user_objects(void)
{
    CUuserObject o;
    CUgraph g, clone;
    CUgraphExec e;
    null_begin();
    destroyed = 0;
    CHECK_INT(pw_cuUserObjectCreate(&o, NULL, count_destroyed, 1, 0), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(
        pw_cuUserObjectCreate(&o, NULL, count_destroyed, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC),
        CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphRetainUserObject(g, o, 1, CU_GRAPH_USER_OBJECT_MOVE), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphClone(&clone, g), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(clone), CUDA_SUCCESS);
    null_hold = true;
    CHECK_INT(pw_cuGraphLaunch(e, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(destroyed, 0); // the launch is pending
    null_run();
    CHECK_INT(destroyed, 1);
    CHECK_INT(pw_cuUserObjectRelease(o, 1), CUDA_ERROR_INVALID_VALUE);
    null_end();
}

static void
events_in_graphs(void)
{
    CUgraph g, inner;
    CUgraphNode wait, record;
    CUevent first, last;
    CUgraphExec e;
    CUstream s, capturing;
    null_begin();
    CHECK_INT(pw_cuStreamCreate(&s, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuStreamCreate(&capturing, CU_STREAM_NON_BLOCKING), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&first, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventCreate(&last, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphCreate(&g, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphAddEventWaitNode(&wait, g, NULL, 0, first), CUDA_SUCCESS);
    CUgraphNode h = add_host(g, &wait, 1, "h");
    CHECK_INT(pw_cuGraphAddEventRecordNode(&record, g, &h, 1, last), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphInstantiateWithFlags(&e, g, 0), CUDA_SUCCESS);
    trace[0] = 0;
    null_hold = true;
    say(NULL, "n");
    CHECK_INT(pw_cuEventRecord(first, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, s), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventQuery(last), CUDA_ERROR_NOT_READY);
    null_run();
    null_hold = false;
    CHECK_STR(trace, "nh");
    CHECK_INT(pw_cuEventQuery(last), CUDA_SUCCESS);
    // A launch into a capture becomes a child graph.
    CHECK_INT(pw_cuStreamBeginCapture_v2(capturing, CU_STREAM_CAPTURE_MODE_GLOBAL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphLaunch(e, capturing), CUDA_SUCCESS);
    say(capturing, "i");
    CHECK_INT(pw_cuStreamEndCapture(capturing, &inner), CUDA_SUCCESS);
    run(inner);
    CHECK_STR(trace, "hi");
    CHECK_INT(pw_cuGraphDestroy(inner), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphExecDestroy(e), CUDA_SUCCESS);
    CHECK_INT(pw_cuGraphDestroy(g), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(first), CUDA_SUCCESS);
    CHECK_INT(pw_cuEventDestroy_v2(last), CUDA_SUCCESS);
    null_end();
}

CHECK_MAIN(T(structure), T(edge_data_is_kept), T(clones_and_children), T(kernel_nodes), T(updates),
           T(capture_forks_and_joins), T(capture_refusals), T(capture_ends_unjoined),
           T(memory_nodes), T(user_objects), T(events_in_graphs))
