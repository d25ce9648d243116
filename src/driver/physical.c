// SPDX-License-Identifier: MIT
// Physical memory: cuMemCreate and its handles, also those shared between processes as file descriptors.
#include "driver/vmm.h"
#include "api_impl.h"

pthread_mutex_t vmm_lock = PTHREAD_MUTEX_INITIALIZER;

CUmemGenericAllocationHandle
physical_handle(const struct physical *p)
{
    return (CUmemGenericAllocationHandle)(uintptr_t)p;
}

struct physical *
physical_get(CUmemGenericAllocationHandle handle)
{
    struct physical *p = object_get((void *)(uintptr_t)handle, OBJ_PHYSICAL);
    return p && p->handles ? p : NULL;
}

struct physical *
physical_new(struct device *d, const CUmemAllocationProp *props, struct backend_chunk *chunk)
{
    struct physical *p = object_new(OBJ_PHYSICAL, sizeof *p);
    p->dev = d;
    p->props = *props;
    p->chunk = chunk;
    p->size = d->be->chunk_size(chunk);
    p->handles = 1;
    return p;
}

void
physical_drop(struct physical *p, unsigned *count)
{
    --*count;
    if (p->handles || p->mappings)
        return;
    p->dev->be->chunk_free(p->chunk);
    object_free(p);
}

// ---- creation -------------------------------------------------------------
static CUresult
check_props(const CUmemAllocationProp *p, struct device **dev)
{
    if (!p || p->type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return fail(CUDA_ERROR_INVALID_VALUE, "properties %p, or the type of allocation", (void *)p);
    if (p->location.type == CU_MEM_LOCATION_TYPE_HOST || p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA ||
        p->location.type == CU_MEM_LOCATION_TYPE_HOST_NUMA_CURRENT)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "physical memory that is not on a device");
    if (p->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return fail(CUDA_ERROR_INVALID_VALUE, "location type %d", (int)p->location.type);
    *dev = device_get(p->location.id);
    if (!*dev)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", p->location.id, process.ndevices);
    if (!(*dev)->be->chunk_new)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "the %s backend has no physical memory", (*dev)->be->name);
    if (p->requestedHandleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "handle types 0x%x", (unsigned)p->requestedHandleTypes);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemGetAllocationGranularity(size_t *out, const CUmemAllocationProp *prop, CUmemAllocationGranularity_flags option)
{
    struct device *d;
    if (!out || (option != CU_MEM_ALLOC_GRANULARITY_MINIMUM && option != CU_MEM_ALLOC_GRANULARITY_RECOMMENDED))
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, option %d", (void *)out, (int)option);
    CUresult r = check_props(prop, &d);
    if (r == CUDA_SUCCESS)
        *out = d->be->grain;
    return r;
}

CUresult
pw_cuMemCreate(CUmemGenericAllocationHandle *out, size_t size, const CUmemAllocationProp *prop, unsigned long long flags)
{
    struct device *d;
    struct backend_chunk *chunk;
    if (!out || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, flags %llu", (void *)out, flags);
    CUresult r = check_props(prop, &d);
    if (r != CUDA_SUCCESS)
        return r;
    if (!size || size % d->be->grain)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes are no multiple of %zu", size, d->be->grain);
    int e = d->be->chunk_new(d->bd, size, &chunk);
    if (e)
        return fail((CUresult)e, "%zu bytes of physical memory", size);
    *out = physical_handle(physical_new(d, prop, chunk));
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemRelease(CUmemGenericAllocationHandle handle)
{
    pthread_mutex_lock(&vmm_lock);
    struct physical *p = physical_get(handle);
    if (p)
        physical_drop(p, &p->handles);
    pthread_mutex_unlock(&vmm_lock);
    return p ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is no memory handle", handle);
}

CUresult
pw_cuMemRetainAllocationHandle(CUmemGenericAllocationHandle *out, void *addr)
{
    if (!out || !addr)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, address %p", (void *)out, addr);
    pthread_mutex_lock(&vmm_lock);
    struct physical *p = mapped_at((uintptr_t)addr);
    if (p) {
        p->handles++;
        *out = physical_handle(p);
    }
    pthread_mutex_unlock(&vmm_lock);
    return p ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "nothing is mapped at %p", addr);
}

CUresult
pw_cuMemGetAllocationPropertiesFromHandle(CUmemAllocationProp *out, CUmemGenericAllocationHandle handle)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    pthread_mutex_lock(&vmm_lock);
    struct physical *p = physical_get(handle);
    if (p)
        *out = p->props;
    pthread_mutex_unlock(&vmm_lock);
    return p ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is no memory handle", handle);
}

// ---- sharing --------------------------------------------------------------
CUresult
pw_cuMemExportToShareableHandle(void *out, CUmemGenericAllocationHandle handle, CUmemAllocationHandleType type, unsigned long long flags)
{
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, handle type %d, flags %llu", out, (int)type, flags);
    int fd = -1;
    pthread_mutex_lock(&vmm_lock);
    struct physical *p = physical_get(handle);
    bool shareable = p && p->props.requestedHandleTypes & type;
    if (shareable)
        fd = p->dev->be->chunk_export(p->chunk);
    pthread_mutex_unlock(&vmm_lock);
    if (!shareable)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is no memory made to be shared", handle);
    if (fd < 0)
        return fail(CUDA_ERROR_OPERATING_SYSTEM, "no file descriptor");
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemImportFromShareableHandle(CUmemGenericAllocationHandle *out, void *handle, CUmemAllocationHandleType type)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r != CUDA_SUCCESS)
        return r;
    if (!out || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, handle type %d", (void *)out, (int)type);
    if (!c->dev->be->chunk_import)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "the %s backend has no physical memory", c->dev->be->name);
    struct backend_chunk *chunk;
    int e = c->dev->be->chunk_import(c->dev->bd, (int)(intptr_t)handle, &chunk);
    if (e)
        return fail((CUresult)e, "descriptor %d is no exported memory", (int)(intptr_t)handle);
    CUmemAllocationProp props = {.type = CU_MEM_ALLOCATION_TYPE_PINNED,
        .requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR,
        .location = {CU_MEM_LOCATION_TYPE_DEVICE, c->dev->ordinal}};
    *out = physical_handle(physical_new(c->dev, &props, chunk));
    return CUDA_SUCCESS;
}

// Descriptors of other drivers' kind for ranges of ordinary memory.
CUresult
pw_cuMemGetHandleForAddressRange(void *out, CUdeviceptr p, size_t size, CUmemRangeHandleType type, unsigned long long flags)
{
    (void)out, (void)p, (void)size, (void)flags;
    return fail(CUDA_ERROR_NOT_SUPPORTED, "no dma-buf (handle type %d)", (int)type);
}
