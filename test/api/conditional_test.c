// SPDX-License-Identifier: MIT
// Conditional nodes: if, if-else, while, switch; handles and their first values; what their bodies may hold.
#include "work.h"

// set(u64 handle, u32 v); countdown(u64 handle, u32 *p): --*p, and the condition becomes *p.
#define CONDITION_PTX                                                                                                                                          \
    ".version 8.3\n.target sm_70\n.address_size 64\n"                                                                                                          \
    ".extern .func cudaGraphSetConditional(.param .b64 h, .param .b32 v);\n"                                                                                    \
    ".visible .entry set(.param .u64 handle, .param .u32 v)\n{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n"                                                      \
    "\tld.param.u64 %rd1, [handle];\n\tld.param.u32 %r1, [v];\n"                                                                                               \
    "\t{\n\t.param .b64 a;\n\tst.param.b64 [a], %rd1;\n\t.param .b32 b;\n\tst.param.b32 [b], %r1;\n"                                                            \
    "\tcall.uni cudaGraphSetConditional, (a, b);\n\t}\n\tret;\n}\n"                                                                                            \
    ".visible .entry countdown(.param .u64 handle, .param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<3>;\n"                                                \
    "\tld.param.u64 %rd1, [handle];\n\tld.param.u64 %rd2, [p];\n\tcvta.to.global.u64 %rd2, %rd2;\n"                                                             \
    "\tld.global.u32 %r1, [%rd2];\n\tsub.u32 %r2, %r1, 1;\n\tst.global.u32 [%rd2], %r2;\n"                                                                      \
    "\t{\n\t.param .b64 a;\n\tst.param.b64 [a], %rd1;\n\t.param .b32 b;\n\tst.param.b32 [b], %r2;\n"                                                            \
    "\tcall.uni cudaGraphSetConditional, (a, b);\n\t}\n\tret;\n}\n"

static CUstream s;
static CUfunction set, countdown;
static CUgraph g;

static CUdeviceptr
begin(void)
{
    CUdeviceptr p = work_begin();
    CUmodule m = api_module(CONDITION_PTX);
    set = api_function(m, "set");
    countdown = api_function(m, "countdown");
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuGraphCreate, &g, 0);
    return p;
}

static CUgraphConditionalHandle
handle(unsigned value, unsigned flags)
{
    CUgraphConditionalHandle h = 0;
    succeed(cuGraphConditionalHandleCreate, &h, g, primary, value, flags);
    return h;
}

static CUgraphNode
add_call(CUgraph in, CUgraphNode dep, CUfunction f, void **args)
{
    CUgraphNode n = NULL;
    CUDA_KERNEL_NODE_PARAMS k;
    memset(&k, 0, sizeof k);
    k.func = f;
    k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimX = k.blockDimY = k.blockDimZ = 1;
    k.kernelParams = args;
    succeed(cuGraphAddKernelNode_v2, &n, in, dep ? &dep : NULL, dep != NULL, &k);
    return n;
}

static CUgraphNode
add_set(CUgraph in, CUgraphNode dep, CUgraphConditionalHandle h, unsigned v)
{
    void *args[] = {&h, &v};
    return add_call(in, dep, set, args);
}

static CUgraphNode
add_conditional(CUgraph in, CUgraphNode dep, CUgraphConditionalHandle h, CUgraphConditionalNodeType type, unsigned size, CUgraph *body)
{
    CUgraphNode n = NULL;
    CUgraphNodeParams q;
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    q.conditional.handle = h;
    q.conditional.type = type;
    q.conditional.size = size;
    q.conditional.ctx = primary;
    if (!succeed(cuGraphAddNode, &n, in, dep ? &dep : NULL, dep != NULL, &q))
        exit(0);
    for (unsigned i = 0; i < size; i++) {
        body[i] = q.conditional.phGraph_out[i];
        ok(body[i] != NULL, "no body %u", i);
    }
    return n;
}

static void
run_graph(int times)
{
    CUgraphExec e = NULL;
    if (!succeed(cuGraphInstantiateWithFlags, &e, g, 0))
        return;
    for (int i = 0; i < times; i++)
        succeed(cuGraphLaunch, e, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuGraphExecDestroy, e);
}

// ((first) * 10 + the body's digit, if any) * 10 + 9
static unsigned
one_if(unsigned value, unsigned size)
{
    CUdeviceptr p = begin();
    CUgraph body[2];
    CUgraphConditionalHandle h = handle(0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode a = add_step(g, NULL, 0, p, 10, 1), b = add_set(g, a, h, value), c;
    c = add_conditional(g, b, h, CU_GRAPH_COND_TYPE_IF, size, body);
    CUgraphNodeType type = (CUgraphNodeType)77;
    succeed(cuGraphNodeGetType, c, &type);
    eq(type, CU_GRAPH_NODE_TYPE_CONDITIONAL);
    for (unsigned i = 0; i < size; i++)
        add_step(body[i], NULL, 0, p, 10, 2 + i);
    add_step(g, &c, 1, p, 10, 9);
    run_graph(1);
    return word(p);
}

static void
if_taken(void)
{
    eq(one_if(1, 1), 129);
}

static void
if_any_value(void)
{
    eq(one_if(77, 1), 129);
}

static void
if_not_taken(void)
{
    eq(one_if(0, 1), 19);
}

static void
else_taken(void)
{
    eq(one_if(0, 2), 139);
}

static void
else_not_taken(void)
{
    eq(one_if(5, 2), 129);
}

static void
defaults(void)
{
    CUdeviceptr p = begin();
    CUgraph body;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode c = add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body), d;
    d = add_step(body, NULL, 0, p, 10, 1);
    add_set(body, d, h, 0); // only for this launch
    run_graph(3);
    eq(word(p), 111);
    (void)c;
}

static void
loop(void)
{
    CUdeviceptr p = begin();
    CUdeviceptr left = p + 4;
    CUgraph body;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    void *args[] = {&h, &left};
    succeed(cuMemsetD32_v2, left, 5, 1);
    CUgraphNode c = add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body), a;
    a = add_step(body, NULL, 0, p, 10, 1);
    add_call(body, a, countdown, args);
    add_step(g, &c, 1, p, 10, 2);
    run_graph(1);
    eq(word(p), 111112);
    eq(word(left), 0);
}

static void
loop_never(void)
{
    CUdeviceptr p = begin();
    CUgraph body;
    CUgraphConditionalHandle h = handle(0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode c = add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    add_step(body, NULL, 0, p, 10, 1);
    add_step(g, &c, 1, p, 10, 2);
    run_graph(2);
    eq(word(p), 22);
}

static void
long_loop(void)
{
    CUdeviceptr p = begin();
    CUgraph body;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    void *args[] = {&h, &p};
    succeed(cuMemsetD32_v2, p, 3000, 1);
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_WHILE, 1, &body);
    add_call(body, NULL, countdown, args);
    add_step(body, NULL, 0, p + 4, 1, 1);
    run_graph(1);
    eq(word(p), 0);
    eq(word(p + 4), 3000);
}

static unsigned
one_switch(unsigned value)
{
    CUdeviceptr p = begin();
    CUgraph body[3];
    CUgraphConditionalHandle h = handle(value, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode c = add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_SWITCH, 3, body);
    for (unsigned i = 0; i < 3; i++)
        add_step(body[i], NULL, 0, p, 10, i + 1);
    add_step(g, &c, 1, p, 10, 9);
    run_graph(1);
    return word(p);
}

static void
switches(void)
{
    for (unsigned i = 0; i < 3; i++)
        eq(one_switch(i), (i + 1) * 10 + 9);
    eq(one_switch(3), 9); // beyond the bodies
    eq(one_switch(0xffffffff), 9);
}

// An if within a while within an if.
static void
nested(void)
{
    CUdeviceptr p = begin(), left = p + 4;
    CUgraph outer, middle, inner;
    CUgraphConditionalHandle a = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT), b = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT),
                             c = handle(0, CU_GRAPH_COND_ASSIGN_DEFAULT);
    void *args[] = {&b, &left};
    CUgraphNode n;
    succeed(cuMemsetD32_v2, left, 3, 1);
    add_conditional(g, NULL, a, CU_GRAPH_COND_TYPE_IF, 1, &outer);
    add_conditional(outer, NULL, b, CU_GRAPH_COND_TYPE_WHILE, 1, &middle);
    n = add_call(middle, NULL, countdown, args);
    n = add_step(middle, &n, 1, p, 10, 1);
    n = add_conditional(middle, n, c, CU_GRAPH_COND_TYPE_IF, 1, &inner);
    add_step(inner, NULL, 0, p, 10, 5);
    add_set(middle, n, c, 1); // from the second time on
    run_graph(1);
    eq(word(p), 11515);
}

// Fills, copies and children in a body.
static void
bodies(void)
{
    CUdeviceptr p = begin();
    CUgraph body, inner = NULL;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode f = NULL, c = NULL, e = NULL, child = NULL;
    CUDA_MEMSET_NODE_PARAMS m = {.dst = p, .value = 7, .elementSize = 4, .width = 1, .height = 1};
    CUDA_MEMCPY3D cp;
    memset(&cp, 0, sizeof cp);
    cp.srcMemoryType = cp.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    cp.srcDevice = p;
    cp.dstDevice = p + 4;
    cp.WidthInBytes = 4;
    cp.Height = cp.Depth = 1;
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    succeed(cuGraphAddMemsetNode, &f, body, NULL, 0, &m, primary);
    succeed(cuGraphAddMemcpyNode, &c, body, &f, 1, &cp, primary);
    succeed(cuGraphAddEmptyNode, &e, body, &c, 1);
    succeed(cuGraphCreate, &inner, 0);
    add_step(inner, NULL, 0, p + 4, 10, 1);
    succeed(cuGraphAddChildGraphNode, &child, body, &e, 1, inner);
    run_graph(1);
    eq(word(p + 4), 71);
}

static void
never(void *unused)
{
    (void)unused;
}

static void
host_in_body(void)
{
    begin();
    CUgraph body;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    CUgraphNode n = NULL;
    CUgraphExec e = NULL;
    CUDA_HOST_NODE_PARAMS p = {never, NULL};
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    CUresult r = CALL(cuGraphAddHostNode, &n, body, NULL, 0, &p);
    if (!r)
        r = CALL(cuGraphInstantiateWithFlags, &e, g, 0);
    ok(r == CUDA_ERROR_NOT_SUPPORTED || r == CUDA_ERROR_INVALID_VALUE, "a host node in a body: %s", api_code(r));
}

static void
handle_misuse(void)
{
    begin();
    CUgraphConditionalHandle h = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate, NULL, g, primary, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate, &h, NULL, primary, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphConditionalHandleCreate, &h, g, primary, 0, 0xff);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuGraphConditionalHandleCreate, &h, g, NULL, 0, 0);
}

static void
node_misuse(void)
{
    begin();
    CUgraphNode n = NULL;
    CUgraphNodeParams q;
    CUgraphConditionalHandle h = handle(0, 0);
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    q.conditional.handle = h;
    q.conditional.ctx = primary;
    q.conditional.type = CU_GRAPH_COND_TYPE_IF;
    q.conditional.size = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &n, g, NULL, 0, &q);
    q.conditional.size = 3;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &n, g, NULL, 0, &q);
    q.conditional.type = CU_GRAPH_COND_TYPE_WHILE;
    q.conditional.size = 2;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &n, g, NULL, 0, &q);
    q.conditional.type = (CUgraphConditionalNodeType)9;
    q.conditional.size = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &n, g, NULL, 0, &q);
}

static void
unused_handle(void)
{
    begin();
    CUgraphExec e = NULL;
    handle(0, 0);
    ok(CALL(cuGraphInstantiateWithFlags, &e, g, 0) != CUDA_SUCCESS || true, "a handle without a node");
}

static void
used_twice(void)
{
    begin();
    CUgraph body;
    CUgraphNode n = NULL;
    CUgraphNodeParams q;
    CUgraphConditionalHandle h = handle(0, 0);
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    memset(&q, 0, sizeof q);
    q.type = CU_GRAPH_NODE_TYPE_CONDITIONAL;
    q.conditional.handle = h;
    q.conditional.ctx = primary;
    q.conditional.type = CU_GRAPH_COND_TYPE_IF;
    q.conditional.size = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphAddNode, &n, g, NULL, 0, &q);
}

static void
body_destroyed(void)
{
    begin();
    CUgraph body;
    CUgraphConditionalHandle h = handle(0, 0);
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphDestroy, body);
    succeed(cuGraphDestroy, g);
}

static void
cloned(void)
{
    CUdeviceptr p = begin();
    CUgraph body, c = NULL;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    add_step(body, NULL, 0, p, 10, 4);
    CUresult r = CALL(cuGraphClone, &c, g);
    ok(r == CUDA_SUCCESS || r == CUDA_ERROR_NOT_SUPPORTED, "clone: %s", api_code(r));
    if (r)
        return;
    g = c;
    run_graph(1);
    eq(word(p), 4);
}

static void
captured_body(void)
{
    CUdeviceptr p = begin();
    CUgraph body, end = NULL;
    CUgraphConditionalHandle h = handle(1, CU_GRAPH_COND_ASSIGN_DEFAULT);
    add_conditional(g, NULL, h, CU_GRAPH_COND_TYPE_IF, 1, &body);
    succeed(cuStreamBeginCaptureToGraph, s, body, NULL, NULL, 0, CU_STREAM_CAPTURE_MODE_RELAXED);
    STEP(s, p, 10, 1);
    STEP(s, p, 10, 2);
    succeed(cuStreamEndCapture, s, &end);
    ok(end == body, "another graph");
    run_graph(1);
    eq(word(p), 12);
}

API_MAIN(CASE(if_taken), CASE(if_any_value), CASE(if_not_taken), CASE(else_taken), CASE(else_not_taken), CASE(defaults), CASE(loop), CASE(loop_never),
    CASE(long_loop), CASE(switches), CASE(nested), CASE(bodies), CASE(host_in_body), CASE(handle_misuse), CASE(node_misuse), CASE(unused_handle),
    CASE(used_twice), CASE(body_destroyed), CASE(cloned), CASE(captured_body))
