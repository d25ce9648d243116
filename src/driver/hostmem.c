// SPDX-License-Identifier: MIT
// Page-locked host memory: allocated by the driver or registered by the program.
#include "driver/memory.h"
#include "api_impl.h"

enum {
    ALLOC_FLAGS =
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED,
    REGISTER_FLAGS = CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP |
                     CU_MEMHOSTREGISTER_IOMEMORY | CU_MEMHOSTREGISTER_READ_ONLY
};

CUresult
pw_cuMemHostAlloc(void **out, size_t size, unsigned flags)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || !size || flags & ~(unsigned)ALLOC_FLAGS)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, %zu bytes, flags 0x%x", (void *)out, size,
                    flags);
    r = capture_check_unsafe_call();
    // With unified addressing all page-locked memory is portable and mapped, and told to be mapped.
    return r ? r : mem_new(c, MK_HOST, size, flags | CU_MEMHOSTALLOC_DEVICEMAP, out);
}

CUresult
pw_cuMemAllocHost_v2(void **out, size_t size)
{
    return pw_cuMemHostAlloc(out, size, 0);
}

CUresult
pw_cuMemFreeHost(void *p)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r || !p)
        return r;
    struct mem m;
    if (!mem_find(p, &m) || m.addr != (uintptr_t)p || m.kind != MK_HOST)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not the start of page-locked memory", p);
    r = capture_check_unsafe_call();
    if (r)
        return r;
    r = streams_wait(m.ctx); // copies and kernels in flight may use it
    CUresult freed = mem_delete(p);
    return r ? r : freed;
}

CUresult
pw_cuMemHostRegister_v2(void *p, size_t size, unsigned flags)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!p || !size || (uintptr_t)p + size < (uintptr_t)p || flags & ~(unsigned)REGISTER_FLAGS)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p, %zu bytes, flags 0x%x", p, size, flags);
    r = capture_check_unsafe_call();
    if (r)
        return r;
    if (mem_overlaps(p, size))
        return fail(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, "%p, %zu bytes", p, size);
    mem_add(&(struct mem){.addr = (uintptr_t)p,
                          .size = size,
                          .kind = MK_REGISTERED,
                          .ctx = c,
                          .dev = c->dev,
                          .flags = flags | CU_MEMHOSTREGISTER_DEVICEMAP});
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemHostRegister(void *p, size_t size, unsigned flags)
{
    return pw_cuMemHostRegister_v2(p, size, flags);
}

CUresult
pw_cuMemHostUnregister(void *p)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    struct mem m;
    if (!p)
        return fail(CUDA_ERROR_INVALID_VALUE, "memory is NULL");
    if (!mem_find(p, &m) || m.addr != (uintptr_t)p || m.kind != MK_REGISTERED)
        return fail(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, "%p", p);
    r = streams_wait(m.ctx);
    CUresult removed = mem_delete(p);
    return r ? r : removed;
}

static bool
host_memory(const void *p, struct mem *m)
{
    return p && mem_find(p, m) &&
           (m->kind == MK_HOST || m->kind == MK_REGISTERED || m->kind == MK_MANAGED);
}

CUresult
pw_cuMemHostGetDevicePointer_v2(CUdeviceptr *out, void *p, unsigned flags)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    struct mem m;
    if (!out || flags || !host_memory(p, &m))
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not page-locked host memory", p);
    *out = (CUdeviceptr)(uintptr_t)p;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemHostGetFlags(unsigned *flags, void *p)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    struct mem m;
    if (!flags || !host_memory(p, &m) || m.kind == MK_MANAGED)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not page-locked host memory", p);
    *flags = m.flags;
    return CUDA_SUCCESS;
}
