// SPDX-License-Identifier: MIT
// Memory pools shared between processes: the pool as a file descriptor, its memory pointer by pointer.
#include "driver/memory.h"
#include "api_impl.h"

#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// What the pool's file holds.
struct ticket {
    uint32_t magic;
    int32_t pid;
    CUmemPoolProps props;
};
enum { MAGIC = 0x70777031 };

CUresult
pw_cuMemPoolExportToShareableHandle(void *out, CUmemoryPool handle, CUmemAllocationHandleType type,
                                    unsigned long long flags)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        !(p->props.handleTypes & type) || p->imported)
        return fail(CUDA_ERROR_INVALID_VALUE, "handle type %d of a pool made for 0x%x", (int)type,
                    (unsigned)p->props.handleTypes);
    struct ticket t = {MAGIC, getpid(), p->props};
    int fd = memfd_create("polywarp-pool", MFD_CLOEXEC);
    if (fd < 0 || pwrite(fd, &t, sizeof t, 0) != (ssize_t)sizeof t) {
        if (fd >= 0)
            close(fd);
        return fail(CUDA_ERROR_OPERATING_SYSTEM, "no file for the pool");
    }
    *(int *)out = fd;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolImportFromShareableHandle(CUmemoryPool *out, void *handle,
                                      CUmemAllocationHandleType type, unsigned long long flags)
{
    struct ticket t;
    int fd = (int)(intptr_t)handle;
    if (!out || flags || type != CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, handle type %d, flags %llu", (void *)out,
                    (int)type, flags);
    if (fd < 0 || pread(fd, &t, sizeof t, 0) != (ssize_t)sizeof t || t.magic != MAGIC)
        return fail(CUDA_ERROR_INVALID_VALUE, "descriptor %d is no exported pool", fd);
    struct device *d = device_get(t.props.location.id);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "the pool is on device %d", t.props.location.id);
    struct pool *p = pool_new(d, &t.props);
    p->imported = t.pid;
    *out = (CUmemoryPool)p;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolExportPointer(CUmemPoolPtrExportData *out, CUdeviceptr ptr)
{
    struct mem m;
    struct context *c;
    void *base;
    size_t size;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    if (!mem_find((void *)(uintptr_t)ptr, &m) || m.kind != MK_POOL ||
        !(m.pool->props.handleTypes & CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR) ||
        !pool_chunk_at(m.pool, (void *)m.addr, &c, &base, &size))
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is of no pool made to be shared",
                    (unsigned long long)ptr);
    struct ipc_place place;
    CUresult r = ipc_export(c, base, size, &place);
    if (r)
        return r;
    place.offset += m.addr - (uintptr_t)base;
    place.size = m.size;
    memcpy(out, &place, sizeof place);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolImportPointer(CUdeviceptr *out, CUmemoryPool handle, CUmemPoolPtrExportData *data)
{
    struct pool *p;
    struct context *c;
    struct ipc_place place;
    void *at;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (!out || !data)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, data %p", (void *)out, (void *)data);
    memcpy(&place, data, sizeof place);
    if (!p->imported || place.pid != p->imported)
        return fail(CUDA_ERROR_INVALID_VALUE, "the pointer is of another pool");
    r = ctx_need(&c);
    if (!r)
        r = ipc_import(c, &place, p, &at);
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)at;
    return r;
}
