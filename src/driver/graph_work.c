// SPDX-License-Identifier: MIT
// What nodes do: parameters of the program become commands, commands of a capture become
// parameters.
#include "driver/memory.h"
#include "driver/graph.h"

#include <string.h>

const char *
work_type_name(CUgraphNodeType t)
{
    static const char *const name[] = {
        [CU_GRAPH_NODE_TYPE_KERNEL] = "KERNEL",
        [CU_GRAPH_NODE_TYPE_MEMCPY] = "MEMCPY",
        [CU_GRAPH_NODE_TYPE_MEMSET] = "MEMSET",
        [CU_GRAPH_NODE_TYPE_HOST] = "HOST",
        [CU_GRAPH_NODE_TYPE_GRAPH] = "GRAPH",
        [CU_GRAPH_NODE_TYPE_EMPTY] = "EMPTY",
        [CU_GRAPH_NODE_TYPE_WAIT_EVENT] = "EVENT_WAIT",
        [CU_GRAPH_NODE_TYPE_EVENT_RECORD] = "EVENT_RECORD",
        [CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL] = "EXT_SEMAS_SIGNAL",
        [CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT] = "EXT_SEMAS_WAIT",
        [CU_GRAPH_NODE_TYPE_MEM_ALLOC] = "MEM_ALLOC",
        [CU_GRAPH_NODE_TYPE_MEM_FREE] = "MEM_FREE",
        [CU_GRAPH_NODE_TYPE_BATCH_MEM_OP] = "BATCH_MEM_OP",
        [CU_GRAPH_NODE_TYPE_CONDITIONAL] = "CONDITIONAL",
    };
    return (unsigned)t < sizeof name / sizeof *name && name[t] ? name[t] : "?";
}

// ---- kernels --------------------------------------------------------------
// The code of a handle that a program gave: CUfunction, or CUkernel in its place. NULL if it is
// neither.
static const struct ptx_func *
kernel_code(const void *handle)
{
    struct function *f = object_get(handle, OBJ_FUNCTION);
    if (f)
        return f->func;
    struct kernel *k = object_get(handle, OBJ_KERNEL);
    return k ? k->func : NULL;
}

// Points `args`, and the parameters, at the arguments in the command's own block.
static void
point_args(struct work *w)
{
    const struct ptx_func *f = kernel_code(w->cmd->launch.owner);
    vec_free(w->args);
    for (uint32_t i = 0; f && i < f->proto.nparam; i++)
        vec_push(w->args, (char *)w->cmd->launch.params + f->proto.param[i].offset);
    w->params.kernel.kernelParams = w->args;
    w->params.kernel.extra = NULL;
}

static CUresult
make_kernel(const CUDA_KERNEL_NODE_PARAMS_v3 *p, struct work *w)
{
    CUfunction handle = p->func ? p->func : (CUfunction)p->kern;
    struct function *f;
    CUresult r = p->ctx ? ctx_from_handle(p->ctx, &w->ctx) : ctx_need(&w->ctx);
    if (!r)
        r = function_resolve(handle, w->ctx, &f);
    if (r)
        return r;
    struct launch_shape shape = {
        .grid = {p->gridDimX, p->gridDimY, p->gridDimZ},
        .block = {p->blockDimX, p->blockDimY, p->blockDimZ},
        .dynamic_shared = p->sharedMemBytes,
    };
    r = launch_command(f, &shape, p->kernelParams, p->extra, &w->cmd);
    if (r)
        return r;
    w->cmd->launch.owner = handle;
    w->params.kernel.func = handle;
    w->params.kernel.kern = object_get(handle, OBJ_KERNEL) ? (CUkernel)handle : NULL;
    w->params.kernel.ctx = (CUcontext)w->ctx;
    point_args(w);
    return CUDA_SUCCESS;
}

// ---- others ---------------------------------------------------------------
static CUresult
make_memcpy(const CUDA_MEMCPY_NODE_PARAMS *p, struct work *w)
{
    CUresult r = p->copyCtx ? ctx_from_handle(p->copyCtx, &w->ctx) : ctx_need(&w->ctx);
    if (!r && p->flags)
        r = fail(CUDA_ERROR_INVALID_VALUE, "flags %d", p->flags);
    return r ? r : copy3d_command(&p->copyParams, &w->cmd);
}

static CUresult
make_memset(const CUDA_MEMSET_NODE_PARAMS_v2 *p, struct work *w)
{
    CUresult r = p->ctx ? ctx_from_handle(p->ctx, &w->ctx) : ctx_need(&w->ctx);
    CUDA_MEMSET_NODE_PARAMS q = {p->dst, p->pitch, p->value, p->elementSize, p->width, p->height};
    return r ? r : fill_command(&q, &w->cmd);
}

static CUresult
make_host(const CUDA_HOST_NODE_PARAMS_v2 *p, struct work *w)
{
    if (!p->fn)
        return fail(CUDA_ERROR_INVALID_VALUE, "fn is NULL");
    w->cmd = command_new(CMD_HOST, 0);
    w->cmd->host.fn = p->fn;
    w->cmd->host.user = p->userData;
    return CUDA_SUCCESS;
}

static CUresult
make_child(CUDA_CHILD_GRAPH_NODE_PARAMS *p, struct work *w)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(p->graph);
    if (!g || g->capture)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph", (void *)p->graph);
    for (size_t i = 0; i < vec_len(g->nodes); i++)
        if (g->nodes[i]->w.mem && p->ownership != CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE)
            return fail(CUDA_ERROR_NOT_SUPPORTED, "a child graph with memory nodes must be moved");
    if (p->ownership == CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE) {
        if (g->owner)
            return fail(CUDA_ERROR_INVALID_VALUE, "the graph is a child already");
        vec_push(w->children, g);
    } else {
        struct graph *copy;
        CUresult r = graph_clone(g, &copy);
        if (r)
            return r;
        vec_push(w->children, copy);
    }
    w->params.graph.graph = (CUgraph)w->children[0];
    return CUDA_SUCCESS;
}

static CUresult
make_event(CUevent event)
{
    if (!object_get(event, OBJ_EVENT))
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not an event", (void *)event);
    return CUDA_SUCCESS;
}

static CUresult
make_alloc(CUDA_MEM_ALLOC_NODE_PARAMS_v2 *p, struct work *w)
{
    struct context *c;
    struct device *d = p->poolProps.location.type == CU_MEM_LOCATION_TYPE_DEVICE
                           ? device_get(p->poolProps.location.id)
                           : NULL;
    if (!d || p->poolProps.allocType != CU_MEM_ALLOCATION_TYPE_PINNED || p->poolProps.handleTypes ||
        !p->bytesize || (p->accessDescCount && !p->accessDescs))
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes on device %d", p->bytesize,
                    p->poolProps.location.id);
    CUresult r = ctx_need(&c);
    if (!r && c->dev != d)
        r = ctx_primary(d, &c);
    if (!r)
        r = graph_mem_new(c, p->bytesize, &w->mem);
    if (r)
        return r;
    w->ctx = c;
    for (size_t i = 0; i < p->accessDescCount; i++)
        vec_push(w->access, p->accessDescs[i]);
    p->dptr = (CUdeviceptr)(uintptr_t)w->mem->addr;
    w->params.alloc.dptr = p->dptr;
    w->params.alloc.accessDescs = w->access;
    return CUDA_SUCCESS;
}

static CUresult
make_free(CUdeviceptr p, struct work *w)
{
    struct mem m;
    if (!mem_find((void *)(uintptr_t)p, &m) || m.addr != p || m.kind != MK_GRAPH)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is not memory of an allocation node",
                    (unsigned long long)p);
    w->mem = graph_mem_ref(m.graph);
    return CUDA_SUCCESS;
}

static void
keep_memops(struct work *w, const CUstreamBatchMemOpParams *op, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        vec_push(w->memops, op[i]);
    w->params.memOp.paramArray = w->memops;
}

static CUresult
make_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS_v2 *p, struct work *w)
{
    CUresult r = p->ctx ? ctx_from_handle(p->ctx, &w->ctx) : ctx_need(&w->ctx);
    if (!r)
        r = value_commands(p->count, p->paramArray, p->flags, &w->ops);
    if (!r)
        keep_memops(w, p->paramArray, p->count);
    return r;
}

CUresult
work_make(CUgraphNodeParams *p, struct work *w)
{
    memset(w, 0, sizeof *w);
    w->type = p->type;
    w->params = *p;
    switch (p->type) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
        return make_kernel(&p->kernel, w);
    case CU_GRAPH_NODE_TYPE_MEMCPY:
        return make_memcpy(&p->memcpy, w);
    case CU_GRAPH_NODE_TYPE_MEMSET:
        return make_memset(&p->memset, w);
    case CU_GRAPH_NODE_TYPE_HOST:
        return make_host(&p->host, w);
    case CU_GRAPH_NODE_TYPE_GRAPH:
        return make_child(&p->graph, w);
    case CU_GRAPH_NODE_TYPE_EMPTY:
        return CUDA_SUCCESS;
    case CU_GRAPH_NODE_TYPE_WAIT_EVENT:
        return make_event(p->eventWait.event);
    case CU_GRAPH_NODE_TYPE_EVENT_RECORD:
        return make_event(p->eventRecord.event);
    case CU_GRAPH_NODE_TYPE_MEM_ALLOC:
        return make_alloc(&p->alloc, w);
    case CU_GRAPH_NODE_TYPE_MEM_FREE:
        return make_free(p->free.dptr, w);
    case CU_GRAPH_NODE_TYPE_BATCH_MEM_OP:
        return make_memops(&p->memOp, w);
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return condition_node(&p->conditional, w);
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL:
    case CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT:
        return fail(CUDA_ERROR_NOT_SUPPORTED, "nodes of type %s", work_type_name(p->type));
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "node type %d", (int)p->type);
    }
}

// ---- from captures --------------------------------------------------------
static CUmemorytype
memory_type(const void *p)
{
    struct mem m;
    bool host = !mem_find(p, &m) || m.kind == MK_HOST || m.kind == MK_REGISTERED;
    return host ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
}

static void
captured_kernel(const struct command *c, struct work *w)
{
    CUDA_KERNEL_NODE_PARAMS_v3 *p = &w->params.kernel;
    p->func = c->launch.owner;
    p->kern = object_get(c->launch.owner, OBJ_KERNEL) ? c->launch.owner : NULL;
    p->ctx = (CUcontext)w->ctx;
    p->gridDimX = c->launch.grid[0];
    p->gridDimY = c->launch.grid[1];
    p->gridDimZ = c->launch.grid[2];
    p->blockDimX = c->launch.block[0];
    p->blockDimY = c->launch.block[1];
    p->blockDimZ = c->launch.block[2];
    p->sharedMemBytes = c->launch.dynamic_shared;
    point_args(w);
}

static void
captured_copy(const struct command *c, struct work *w)
{
    CUDA_MEMCPY3D *p = &w->params.memcpy.copyParams;
    w->params.memcpy.copyCtx = (CUcontext)w->ctx;
    p->srcMemoryType = memory_type(c->copy.src);
    p->dstMemoryType = memory_type(c->copy.dst);
    if (p->srcMemoryType == CU_MEMORYTYPE_HOST)
        p->srcHost = c->copy.src;
    else
        p->srcDevice = (CUdeviceptr)(uintptr_t)c->copy.src;
    if (p->dstMemoryType == CU_MEMORYTYPE_HOST)
        p->dstHost = c->copy.dst;
    else
        p->dstDevice = (CUdeviceptr)(uintptr_t)c->copy.dst;
    p->srcPitch = c->copy.src_pitch;
    p->dstPitch = c->copy.dst_pitch;
    p->srcHeight = c->copy.src_pitch ? c->copy.src_slice / c->copy.src_pitch : 0;
    p->dstHeight = c->copy.dst_pitch ? c->copy.dst_slice / c->copy.dst_pitch : 0;
    p->WidthInBytes = c->copy.width;
    p->Height = c->copy.height;
    p->Depth = c->copy.depth;
}

void
work_capture(struct stream *s, struct command *c, struct work *w)
{
    memset(w, 0, sizeof *w);
    w->ctx = s->ctx;
    w->cmd = c;
    switch (c->kind) {
    case CMD_LAUNCH:
        w->type = CU_GRAPH_NODE_TYPE_KERNEL;
        captured_kernel(c, w);
        break;
    case CMD_COPY:
        w->type = CU_GRAPH_NODE_TYPE_MEMCPY;
        captured_copy(c, w);
        break;
    case CMD_FILL:
        w->type = CU_GRAPH_NODE_TYPE_MEMSET;
        w->params.memset = (CUDA_MEMSET_NODE_PARAMS_v2){(CUdeviceptr)(uintptr_t)c->fill.dst,
                                                        c->fill.pitch,
                                                        c->fill.pattern,
                                                        c->fill.element,
                                                        c->fill.width,
                                                        c->fill.height,
                                                        (CUcontext)s->ctx};
        break;
    case CMD_HOST:
        w->type = CU_GRAPH_NODE_TYPE_HOST;
        w->params.host = (CUDA_HOST_NODE_PARAMS_v2){.fn = c->host.fn, .userData = c->host.user};
        break;
    case CMD_VALUE_WAIT: // captured by value.c
    case CMD_VALUE_WRITE:
    case CMD_EXPAND: // of launches, which are captured as child graphs
    case CMD_SIGNAL: // of this stream's order only: the graph's edges say it
    case CMD_WAIT:
        w->type = CU_GRAPH_NODE_TYPE_EMPTY;
        command_free(c);
        w->cmd = NULL;
        break;
    }
    w->params.type = w->type;
}

// ---- copies and end -------------------------------------------------------
// Of a copy that failed half-way: nothing else has seen them.
static void
free_children(struct work *w)
{
    struct user_ref *drop = NULL; // the originals keep their objects: none of these is the last
    for (size_t i = 0; i < vec_len(w->children); i++)
        graph_free(w->children[i], &drop);
    vec_free(w->children);
    user_drop(drop);
}

CUresult
work_clone(const struct work *w, struct work *out)
{
    *out = *w;
    out->args = NULL;
    out->access = NULL;
    out->attr = NULL;
    out->children = NULL;
    out->ops = NULL;
    out->memops = NULL;
    for (size_t i = 0; i < vec_len(w->children); i++) {
        struct graph *child;
        CUresult r = graph_clone(w->children[i], &child);
        if (r) {
            free_children(out);
            return r;
        }
        vec_push(out->children, child);
    }
    if (w->type == CU_GRAPH_NODE_TYPE_GRAPH && out->children)
        out->params.graph.graph = (CUgraph)out->children[0];
    if (w->type == CU_GRAPH_NODE_TYPE_CONDITIONAL)
        out->params.conditional.phGraph_out = (CUgraph *)out->children;
    out->condition = w->condition ? condition_ref(w->condition) : NULL;
    for (size_t i = 0; i < vec_len(w->ops); i++)
        vec_push(out->ops, command_clone(w->ops[i]));
    if (w->type == CU_GRAPH_NODE_TYPE_BATCH_MEM_OP)
        keep_memops(out, w->memops, (unsigned)vec_len(w->memops));
    out->cmd = w->cmd ? command_clone(w->cmd) : NULL;
    if (out->cmd && w->type == CU_GRAPH_NODE_TYPE_KERNEL)
        point_args(out);
    for (size_t i = 0; i < vec_len(w->access); i++)
        vec_push(out->access, w->access[i]);
    if (w->type == CU_GRAPH_NODE_TYPE_MEM_ALLOC)
        out->params.alloc.accessDescs = out->access;
    for (size_t i = 0; i < vec_len(w->attr); i++)
        vec_push(out->attr, w->attr[i]);
    out->mem = w->mem ? graph_mem_ref(w->mem) : NULL;
    return CUDA_SUCCESS;
}

void
work_free(struct work *w)
{
    command_free(w->cmd);
    vec_free(w->args);
    vec_free(w->access);
    vec_free(w->attr);
    for (size_t i = 0; i < vec_len(w->ops); i++)
        command_free(w->ops[i]);
    vec_free(w->ops);
    vec_free(w->memops);
    vec_free(w->children);
    condition_unref(w->condition);
    graph_mem_unref(w->mem);
    memset(w, 0, sizeof *w);
}
