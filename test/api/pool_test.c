// SPDX-License-Identifier: MIT
// Memory pools: creation, attributes, access, allocation in streams, sharing with another process.
#include "api.h"

#include <fcntl.h>

static CUmemPoolProps
props(void)
{
    CUmemPoolProps p;
    memset(&p, 0, sizeof p);
    p.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    return p;
}

static CUmemoryPool
pool(void)
{
    CUmemoryPool m = NULL;
    CUmemPoolProps p = props();
    succeed(cuMemPoolCreate, &m, &p);
    return m;
}

static unsigned long long
value(CUmemoryPool m, CUmemPool_attribute a)
{
    unsigned long long v = 0; // int or cuuint64_t: little-endian either way
    succeed(cuMemPoolGetAttribute, m, a, &v);
    return v;
}

static void
create(void)
{
    CUmemoryPool m = pool();
    CUmemPoolProps p = props();
    ok(m, "no pool");
    succeed(cuMemPoolDestroy, m);
    m = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate, NULL, &p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate, &m, NULL);
    p.allocType = CU_MEM_ALLOCATION_TYPE_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate, &m, &p);
    p = props();
    p.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate, &m, &p);
    p = props();
    p.location.id = 99;
    expect2(CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, cuMemPoolCreate, &m, &p);
    p = props();
    p.handleTypes = (CUmemAllocationHandleType)0x100;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, cuMemPoolCreate, &m, &p);
    ok(!m, "a refused call wrote a pool");
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolDestroy, NULL);
}

static void
attributes(void)
{
    CUmemoryPool m = pool();
    int off = 0, v;
    cuuint64_t threshold = 123 << 20, zero = 0, one = 1;
    eq((int)value(m, CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES), 1);
    eq((int)value(m, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC), 1);
    eq((int)value(m, CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES), 1);
    eq(value(m, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), 0);
    eq(value(m, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    eq(value(m, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    eq(value(m, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    for (int a = CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES; a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES; a++) {
        succeed(cuMemPoolSetAttribute, m, (CUmemPool_attribute)a, &off);
        eq((int)value(m, (CUmemPool_attribute)a), 0);
    }
    succeed(cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    eq(value(m, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD), threshold);
    CUdeviceptr p = 0;
    succeed(cuMemAllocFromPoolAsync, &p, 1 << 20, m, NULL);
    ok(value(m, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 1 << 20, "reserved");
    ok(value(m, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 1 << 20, "used");
    succeed(cuMemFreeAsync, p, NULL);
    succeed(cuStreamSynchronize, NULL);
    eq(value(m, CU_MEMPOOL_ATTR_USED_MEM_CURRENT), 0);
    ok(value(m, CU_MEMPOOL_ATTR_USED_MEM_HIGH) >= 1 << 20, "the high mark stays");
    ok(value(m, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT) >= 1 << 20, "below the threshold it is kept");
    succeed(cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &zero);
    eq(value(m, CU_MEMPOOL_ATTR_USED_MEM_HIGH), 0);
    succeed(cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH, &zero);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_USED_MEM_HIGH, &one);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &zero);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &zero);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, (CUmemPool_attribute)0, &zero);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, (CUmemPool_attribute)99, &zero);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAttribute, m, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute, m, (CUmemPool_attribute)99, &v);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute, m, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAttribute, NULL, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
    succeed(cuMemPoolTrimTo, m, 0);
    eq(value(m, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT), 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolTrimTo, NULL, 0);
    succeed(cuMemPoolDestroy, m);
}

static void
access_flags(void)
{
    CUmemoryPool m = pool();
    CUmemLocation l = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUmemAccess_flags f = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    succeed(cuMemPoolGetAccess, &f, m, &l);
    eq(f, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    d.location = l;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    succeed(cuMemPoolSetAccess, m, &d, 1);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE; // the owner cannot be shut out
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess, m, &d, 1);
    d.flags = (CUmemAccess_flags)77;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess, m, &d, 1);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d.location.id = 99;
    expect2(CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess, m, &d, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess, m, NULL, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolSetAccess, NULL, &d, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAccess, NULL, m, &l);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAccess, &f, NULL, &l);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolGetAccess, &f, m, NULL);
}

static void
device_pools(void)
{
    CUmemoryPool first = NULL, now = NULL, m = pool();
    CUdeviceptr p = 0;
    succeed(cuDeviceGetDefaultMemPool, &first, device);
    succeed(cuDeviceGetMemPool, &now, device);
    ok(first && now == first, "the default pool is not the current one");
    succeed(cuDeviceSetMemPool, device, m);
    succeed(cuDeviceGetMemPool, &now, device);
    ok(now == m, "another pool is current");
    succeed(cuMemAllocAsync, &p, 4096, NULL);
    ok(value(m, CU_MEMPOOL_ATTR_USED_MEM_CURRENT) >= 4096, "not from the current pool");
    CUmemoryPool of = NULL;
    succeed(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    ok(of == m, "the pointer is of another pool");
    succeed(cuMemFreeAsync, p, NULL);
    succeed(cuStreamSynchronize, NULL);
    succeed(cuMemPoolDestroy, m);
    succeed(cuDeviceGetMemPool, &now, device);
    ok(now == first, "with the pool destroyed the default is current again");
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_PERMITTED, cuMemPoolDestroy, first);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDefaultMemPool, &now, 99);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetDefaultMemPool, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetMemPool, &now, 99);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetMemPool, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceSetMemPool, 99, first);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceSetMemPool, device, NULL);
}

static void
by_location(void)
{
    if (!HAVE(cuMemGetDefaultMemPool)) {
        skip("the driver is older than 13.0");
        return;
    }
    CUmemoryPool first = NULL, now = NULL;
    CUmemLocation l = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    succeed(cuDeviceGetDefaultMemPool, &first, device);
    succeed(cuMemGetDefaultMemPool, &now, &l, CU_MEM_ALLOCATION_TYPE_PINNED);
    ok(now == first, "another default pool");
    now = NULL;
    succeed(cuMemGetMemPool, &now, &l, CU_MEM_ALLOCATION_TYPE_PINNED);
    ok(now == first, "another current pool");
    succeed(cuMemSetMemPool, &l, CU_MEM_ALLOCATION_TYPE_PINNED, first);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetDefaultMemPool, NULL, &l, CU_MEM_ALLOCATION_TYPE_PINNED);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetDefaultMemPool, &now, NULL, CU_MEM_ALLOCATION_TYPE_PINNED);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetMemPool, &now, NULL, CU_MEM_ALLOCATION_TYPE_PINNED);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetMemPool, NULL, CU_MEM_ALLOCATION_TYPE_PINNED, first);
}

static void
alloc(void)
{
    CUdeviceptr p = 0, q = 0, r = 0;
    CUstream s = NULL;
    unsigned v = 0;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuMemAllocAsync, &p, 1 << 20, s);
    succeed(cuMemsetD32Async, p, 77, 1 << 18, s);
    succeed(cuMemcpyDtoHAsync_v2, &v, p + (1 << 20) - 4, 4, s);
    succeed(cuStreamSynchronize, s);
    eq(v, 77);
    succeed(cuMemFreeAsync, p, s);
    succeed(cuMemAllocAsync, &q, 1 << 20, s);
    ok(q == p, "freed in the stream it is used again there");
    succeed(cuMemFree_v2, q); // by the other call
    succeed(cuMemAllocAsync, &r, 100, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemFreeAsync, r, s);
    succeed(cuMemFreeAsync, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync, NULL, 64, s);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocAsync, &p, (size_t)1 << 50, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeAsync, 4096, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync, &p, 64, NULL, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync, NULL, 64, pool(), s);
    succeed(cuStreamDestroy_v2, s);
}

static void
alloc_zero(void)
{
    CUdeviceptr p = 1;
    expect2(CUDA_SUCCESS, CUDA_ERROR_INVALID_VALUE, cuMemAllocAsync, &p, 0, NULL);
}

static void
limited(void)
{
    CUmemoryPool m = NULL;
    CUmemPoolProps p = props();
    CUdeviceptr a = 0, b = 0;
    p.maxSize = 64 << 20;
    succeed(cuMemPoolCreate, &m, &p);
    succeed(cuMemAllocFromPoolAsync, &a, 32 << 20, m, NULL);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocFromPoolAsync, &b, 128 << 20, m, NULL);
    succeed(cuMemFreeAsync, a, NULL);
    succeed(cuStreamSynchronize, NULL);
    succeed(cuMemPoolDestroy, m);
}

// A pool destroyed while its memory is used lives until that is free.
static void
destroyed_in_use(void)
{
    CUmemoryPool m = pool();
    CUdeviceptr p = 0;
    unsigned v = 0;
    succeed(cuMemAllocFromPoolAsync, &p, 4096, m, NULL);
    succeed(cuMemPoolDestroy, m);
    succeed(cuMemsetD32_v2, p, 5, 4);
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 5);
    succeed(cuMemFreeAsync, p, NULL);
    succeed(cuCtxSynchronize, );
}

// ---- sharing ----------------------------------------------------------------------------------------
static CUmemoryPool
shareable(void)
{
    CUmemoryPool m = NULL;
    CUmemPoolProps p = props();
    p.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    succeed(cuMemPoolCreate, &m, &p);
    return m;
}

// Argument: file descriptor, then the pointer's export data in hexadecimal.
static void
_importer(void)
{
    CUmemoryPool m = NULL;
    CUmemPoolPtrExportData data;
    CUdeviceptr p = 0;
    unsigned v[4] = {0};
    int fd = -1, n = 0, status = 0;
    succeed(cuInit, 0);
    succeed(cuDevicePrimaryCtxRetain, &primary, 0);
    succeed(cuCtxSetCurrent, primary);
    sscanf(api_argument, "%d:%n", &fd, &n);
    for (size_t i = 0; i < sizeof data; i++) {
        unsigned byte = 0;
        sscanf(api_argument + n + 2 * i, "%2x", &byte);
        data.reserved[i] = (unsigned char)byte;
    }
    succeed(cuMemPoolImportFromShareableHandle, &m, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    succeed(cuMemPoolImportPointer, &p, m, &data);
    succeed(cuMemcpyDtoH_v2, v, p, sizeof v);
    ok(v[0] == 4711 && v[3] == 4711, "read %u, %u", v[0], v[3]);
    succeed(cuMemsetD32_v2, p + 4, 99, 1);
    succeed(cuCtxSynchronize, );
    CUdeviceptr q = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocFromPoolAsync, &q, 64, m, NULL); // an imported pool gives no memory
    succeed(cuMemFree_v2, p);
    succeed(cuMemPoolDestroy, m);
    (void)status;
}

static void
share(void)
{
    CUmemoryPool m = shareable();
    CUdeviceptr p = 0;
    CUmemPoolPtrExportData data;
    int fd = -1;
    char argument[32 + 2 * sizeof data.reserved];
    unsigned v[4] = {0};
    memset(&data, 0, sizeof data);
    succeed(cuMemAllocFromPoolAsync, &p, 1 << 16, m, NULL);
    succeed(cuMemsetD32Async, p, 4711, 1 << 14, NULL);
    succeed(cuCtxSynchronize, );
    succeed(cuMemPoolExportToShareableHandle, &fd, m, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ok(fd >= 0, "descriptor %d", fd);
    succeed(cuMemPoolExportPointer, &data, p);
    int inherited = dup(fd), n = snprintf(argument, sizeof argument, "%d:", inherited);
    for (size_t i = 0; i < sizeof data.reserved; i++)
        n += snprintf(argument + n, sizeof argument - (size_t)n, "%02x", data.reserved[i]);
    api_join(api_spawn("_importer", argument));
    succeed(cuMemcpyDtoH_v2, v, p, sizeof v);
    ok(v[0] == 4711 && v[1] == 99, "after the other process: %u, %u", v[0], v[1]);
    close(fd);
    close(inherited);
    succeed(cuMemFreeAsync, p, NULL);
    succeed(cuCtxSynchronize, );
    succeed(cuMemPoolDestroy, m);
}

static void
share_misuse(void)
{
    CUmemoryPool m = shareable(), plain = pool(), in = NULL;
    CUdeviceptr p = 0, q = 0;
    CUmemPoolPtrExportData data;
    int fd = -1;
    memset(&data, 0, sizeof data);
    succeed(cuMemAllocFromPoolAsync, &p, 4096, m, NULL);
    succeed(cuMemAlloc_v2, &q, 4096);
    succeed(cuCtxSynchronize, );
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle, &fd, plain, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle, NULL, m, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle, &fd, m, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle, &fd, m, CU_MEM_HANDLE_TYPE_NONE, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportToShareableHandle, &fd, NULL, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer, NULL, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer, &data, q);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolExportPointer, &data, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportFromShareableHandle, NULL, (void *)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    int null = open("/dev/null", O_RDWR);
    CUresult r = CALL(cuMemPoolImportFromShareableHandle, &in, (void *)(intptr_t)null, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ok(r != CUDA_SUCCESS, "imported /dev/null");
    close(null);
    r = CALL(cuMemPoolImportFromShareableHandle, &in, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ok(r != CUDA_SUCCESS, "imported descriptor -1");
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPoolImportPointer, &p, NULL, &data);
}

API_MAIN(CASE(create), CASE(attributes), CASE(access_flags), CASE(device_pools), CASE(by_location), CASE(alloc), CASE(alloc_zero), CASE(limited),
    CASE(destroyed_in_use), RAW(_importer), CASE(share), CASE(share_misuse))
