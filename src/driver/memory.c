// SPDX-License-Identifier: MIT
// Device memory: cuMemAlloc and what belongs to it.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>

enum { PITCH_ALIGN = 512 }; // bytes; CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT divides it

static enum backend_memory
backend_kind(enum mem_kind k)
{
    return k == MK_HOST ? MEM_HOST : k == MK_MANAGED ? MEM_MANAGED : MEM_DEVICE;
}

CUresult
mem_new(struct context *c, enum mem_kind kind, size_t size, unsigned flags, void **out)
{
    void *p = NULL;
    int r = c->dev->be->alloc(c->scope, backend_kind(kind), size, &p);
    if (r == BE_OUT_OF_MEMORY) { // pools may hold what they do not use
        pools_release(c->dev);
        r = c->dev->be->alloc(c->scope, backend_kind(kind), size, &p);
    }
    if (r)
        return fail((CUresult)r, "%zu bytes of memory", size);
    mem_add(&(struct mem){
        .addr = (uintptr_t)p, .size = size, .kind = kind, .ctx = c, .dev = c->dev, .flags = flags});
    *out = p;
    return CUDA_SUCCESS;
}

// Frees what a table entry stood for. The entry is out of the table already.
static void
release(const struct mem *m)
{
    void *p = (void *)m->addr;
    switch (m->kind) {
    case MK_POOL:
        pool_give(m->pool, NULL, p);
        break;
    case MK_GRAPH:
        graph_mem_forget(m->graph);
        break;
    case MK_REGISTERED:
    case MK_VMM:
    case MK_IPC:
        break; // memory of others
    case MK_MANAGED:
        managed_forget(m->addr, m->size);
        // fall through
    default:
        m->dev->be->free(m->ctx->scope, backend_kind(m->kind), p, m->size);
    }
}

CUresult
mem_delete(const void *base)
{
    struct mem m;
    if (!mem_remove(base, &m))
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not the start of an allocation", base);
    release(&m);
    return CUDA_SUCCESS;
}

void
mem_forget_context(struct context *c)
{
    struct mem m;
    ipc_forget_context(c);
    while (mem_remove_context(c, &m))
        release(&m);
    pool_forget_context(c);
}

// ---- calls ----------------------------------------------------------------
// What allocating calls check first.
static CUresult
alloc_checks(const void *out, size_t size, struct context **c)
{
    CUresult r = ctx_need(c);
    if (r)
        return r;
    if (!out || !size)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, %zu bytes", out, size);
    return capture_check_unsafe_call();
}

CUresult
pw_cuMemAlloc_v2(CUdeviceptr *out, size_t size)
{
    struct context *c;
    CUresult r = alloc_checks(out, size, &c);
    if (r)
        return r;
    void *p;
    r = mem_new(c, MK_DEVICE, size, 0, &p);
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

CUresult
pw_cuMemAllocPitch_v2(CUdeviceptr *out, size_t *pitch, size_t width, size_t height,
                      unsigned element)
{
    if (!pitch || !width || !height || (element != 4 && element != 8 && element != 16))
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu x %zu bytes, element of %u bytes", width, height,
                    element);
    size_t row, size;
    if (__builtin_add_overflow(width, (size_t)PITCH_ALIGN - 1, &row))
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu x %zu bytes", width, height);
    row &= ~(size_t)(PITCH_ALIGN - 1);
    if (__builtin_mul_overflow(row, height, &size))
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu x %zu bytes", width, height);
    CUresult r = pw_cuMemAlloc_v2(out, size);
    if (!r)
        *pitch = row;
    return r;
}

// Freeing waits for all work of the context that owns the memory: kernels in flight may use it.
CUresult
pw_cuMemFree_v2(CUdeviceptr ptr)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r || !ptr)
        return r;
    struct mem m;
    const void *p = (const void *)(uintptr_t)ptr;
    if (!mem_find(p, &m) || m.addr != ptr || (m.kind == MK_IPC && !m.pool) ||
        (m.kind != MK_IPC && m.kind != MK_DEVICE && m.kind != MK_MANAGED && m.kind != MK_POOL && m.kind != MK_GRAPH))
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not the start of device memory", p);
    r = capture_check_unsafe_call();
    if (r)
        return r;
    r = streams_wait(m.ctx);
    if (m.kind == MK_IPC) {
        CUresult closed = ipc_close((void *)m.addr);
        return r ? r : closed;
    }
    if (m.kind == MK_GRAPH)
        return graph_mem_free(m.graph) ? r : fail(CUDA_ERROR_INVALID_VALUE, "%p is free", p);
    CUresult freed = mem_delete(p);
    return r ? r : freed;
}

CUresult
pw_cuMemGetInfo_v2(size_t *free_bytes, size_t *total)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    size_t f = 0, t = 0;
    c->dev->be->mem_info(c->dev->bd, &f, &t);
    if (free_bytes)
        *free_bytes = f;
    if (total)
        *total = t;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemGetAddressRange_v2(CUdeviceptr *base, size_t *size, CUdeviceptr ptr)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    struct mem m;
    if (!mem_find((const void *)(uintptr_t)ptr, &m))
        return fail(CUDA_ERROR_NOT_FOUND, "0x%llx is in no allocation", (unsigned long long)ptr);
    if (base)
        *base = m.addr;
    if (size)
        *size = m.size;
    return CUDA_SUCCESS;
}
