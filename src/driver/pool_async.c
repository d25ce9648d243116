// SPDX-License-Identifier: MIT
// Allocation and freeing in stream order.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

// In a capture the calls become nodes.
static CUresult
capture_alloc(struct stream *s, struct pool *p, size_t size, CUdeviceptr *out)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_MEM_ALLOC};
    struct work w;
    q.alloc.poolProps = p->props;
    q.alloc.bytesize = size;
    CUresult r = work_make(&q, &w);
    if (!r)
        r = capture_add(s, &w, NULL);
    if (!r)
        *out = q.alloc.dptr;
    return r;
}

static CUresult
capture_free(struct stream *s, CUdeviceptr p)
{
    CUgraphNodeParams q = {.type = CU_GRAPH_NODE_TYPE_MEM_FREE};
    struct work w;
    q.free.dptr = p;
    CUresult r = work_make(&q, &w);
    return r ? r : capture_add(s, &w, NULL);
}

static CUresult
alloc_async(CUdeviceptr *out, size_t size, struct pool *p, struct stream *s)
{
    void *mem;
    if (!out || !size)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, %zu bytes", (void *)out, size);
    if (stream_capturing(s))
        return capture_alloc(s, p, size, out);
    CUresult r = pool_take(p, s, size, &mem);
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)mem;
    return r;
}

CUresult
pw_cuMemAllocFromPoolAsync(CUdeviceptr *out, size_t size, CUmemoryPool handle, CUstream stream)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r)
        return r;
    struct pool *p = object_get(handle, OBJ_POOL);
    if (!p || p->dev != s->ctx->dev)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a memory pool of the stream's device",
                    (void *)handle);
    return alloc_async(out, size, p, s);
}

CUresult
pw_cuMemAllocAsync(CUdeviceptr *out, size_t size, CUstream stream)
{
    struct stream *s;
    CUmemoryPool pool;
    CUresult r = stream_resolve(stream, &s);
    if (!r)
        r = pw_cuDeviceGetMemPool(&pool, s->ctx->dev->ordinal);
    return r ? r : alloc_async(out, size, (struct pool *)pool, s);
}

// ---- freeing what no pool holds -------------------------------------------
static void
free_device_later(void *user)
{
    struct mem *m = user;
    m->dev->be->free(m->ctx->scope, m->kind == MK_MANAGED ? MEM_MANAGED : MEM_DEVICE,
                     (void *)m->addr, m->size);
    free(m);
}

static void
free_graph_later(void *user)
{
    struct graph_mem *m = user;
    graph_mem_free(m);
    graph_mem_unref(m);
}

static CUresult
submit_host(struct stream *s, void (*fn)(void *user), void *user)
{
    struct command *c = command_new(CMD_HOST, 0);
    c->host.fn = fn;
    c->host.user = user;
    c->host.always = true;
    return stream_submit(s, c);
}

static void
close_later(void *base)
{
    ipc_close(base);
}

static CUresult
free_device(struct stream *s, const struct mem *found)
{
    struct mem *m = malloc(sizeof *m);
    if (!m)
        return CUDA_ERROR_OUT_OF_MEMORY;
    if (!mem_remove((void *)found->addr, m)) {
        free(m);
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is free", (void *)found->addr);
    }
    if (m->kind == MK_MANAGED)
        managed_forget(m->addr, m->size);
    return submit_host(s, free_device_later, m);
}

CUresult
pw_cuMemFreeAsync(CUdeviceptr ptr, CUstream stream)
{
    struct stream *s;
    CUresult r = stream_resolve(stream, &s);
    if (r || !ptr)
        return r;
    void *base = (void *)(uintptr_t)ptr;
    struct mem m;
    if (!mem_find(base, &m) || m.addr != ptr)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not the start of an allocation", base);
    if (stream_capturing(s))
        return capture_free(s, ptr);
    switch (m.kind) {
    case MK_POOL:
        if (!mem_remove(base, &m))
            return fail(CUDA_ERROR_INVALID_VALUE, "%p is free", base);
        pool_give(m.pool, s, base);
        return CUDA_SUCCESS;
    case MK_GRAPH:
        return submit_host(s, free_graph_later, graph_mem_ref(m.graph));
    case MK_DEVICE:
    case MK_MANAGED:
        return free_device(s, &m);
    case MK_IPC:
        if (m.pool)
            return submit_host(s, close_later, base);
        // fall through
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not device memory", base);
    }
}
