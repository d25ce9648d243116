// SPDX-License-Identifier: MIT
// Device memory: allocation, pitch, address ranges, pointer attributes.
#include "api.h"

#define HUGE_SIZE ((size_t)1 << 50)

static void
alloc(void)
{
    CUdeviceptr p[4] = {0};
    static const size_t sizes[4] = {1, 255, 1 << 20, 100 << 20};
    for (int i = 0; i < 4; i++) {
        succeed(cuMemAlloc_v2, &p[i], sizes[i]);
        ok(p[i] && p[i] % 256 == 0, "address 0x%llx", p[i]);
    }
    for (int i = 0; i < 4; i++)
        for (int k = i + 1; k < 4; k++)
            ok(p[i] + sizes[i] <= p[k] || p[k] + sizes[k] <= p[i], "allocations %d and %d overlap", i, k);
    for (int i = 0; i < 4; i++)
        succeed(cuMemFree_v2, p[i]);
    succeed(cuMemFree_v2, 0);
}

static void
alloc_misuse(void)
{
    CUdeviceptr p = 5;
    int local = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2, NULL, 64);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAlloc_v2, &p, 0);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &p, HUGE_SIZE);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAlloc_v2, &p, SIZE_MAX);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, (CUdeviceptr)(uintptr_t)&local);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, ~0ull);
    succeed(cuMemAlloc_v2, &p, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, p + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, p + 4095);
    succeed(cuMemFree_v2, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, p);
}

static void
pitch(void)
{
    CUdeviceptr p = 0;
    size_t pitch = 0;
    static const unsigned elements[] = {4, 8, 16};
    for (int i = 0; i < 3; i++) {
        succeed(cuMemAllocPitch_v2, &p, &pitch, 1000, 10, elements[i]);
        ok(pitch >= 1000 && pitch % 32 == 0, "pitch %zu", pitch);
        succeed(cuMemsetD2D8_v2, p, pitch, 7, 1000, 10);
        succeed(cuMemFree_v2, p);
    }
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 0, 10, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 10, 0, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 100, 10, 3);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 100, 10, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 100, 10, 32);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, NULL, &pitch, 100, 10, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, NULL, 100, 10, 4);
    expect2(CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, cuMemAllocPitch_v2, &p, &pitch, 1 << 20, HUGE_SIZE, 4);
}

static void
info(void)
{
    size_t f = 0, t = 0, after = 0;
    CUdeviceptr p = 0;
    succeed(cuMemGetInfo_v2, &f, &t);
    ok(f <= t && t > 0, "%zu of %zu", f, t);
    succeed(cuMemAlloc_v2, &p, 64 << 20);
    succeed(cuMemGetInfo_v2, &after, &t);
    ok(after + (64 << 20) <= f + (2 << 20), "64 MiB more used, but %zu and then %zu are free", f, after);
    succeed(cuMemFree_v2, p);
    succeed(cuMemGetInfo_v2, &f, NULL);
    succeed(cuMemGetInfo_v2, NULL, &t);
}

static void
address_range(void)
{
    CUdeviceptr p = 0, base = 0;
    size_t size = 0;
    int local = 0;
    succeed(cuMemAlloc_v2, &p, 5000);
    succeed(cuMemGetAddressRange_v2, &base, &size, p);
    ok(base == p, "base 0x%llx of 0x%llx", base, p);
    eq(size, 5000);
    succeed(cuMemGetAddressRange_v2, &base, &size, p + 4999);
    ok(base == p, "base 0x%llx of 0x%llx", base, p);
    succeed(cuMemGetAddressRange_v2, NULL, &size, p + 1);
    eq(size, 5000);
    succeed(cuMemGetAddressRange_v2, &base, NULL, p + 1);
    ok(base == p, "base 0x%llx of 0x%llx", base, p);
    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &size, (CUdeviceptr)(uintptr_t)&local);
    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &size, 0);
    succeed(cuMemFree_v2, p);
    expect(CUDA_ERROR_NOT_FOUND, cuMemGetAddressRange_v2, &base, &size, p);
}

// ---- pointer attributes -----------------------------------------------------------------------------
static void
device_pointer(void)
{
    CUdeviceptr p = 0, dp = 0, start = 0;
    CUcontext c = NULL;
    unsigned type = 99, managed = 99, mapped = 99, sync = 99;
    int ordinal = -9;
    size_t size = 0;
    unsigned long long id = 0, id2 = 0, flags = 0;
    void *host = (void *)1;
    CUmemoryPool pool = (CUmemoryPool)1;
    succeed(cuMemAlloc_v2, &p, 10000);
    succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 100);
    eq(type, CU_MEMORYTYPE_DEVICE);
    succeed(cuPointerGetAttribute, &c, CU_POINTER_ATTRIBUTE_CONTEXT, p + 100);
    ok(c == primary, "of another context");
    succeed(cuPointerGetAttribute, &dp, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, p + 100);
    ok(dp == p + 100, "0x%llx", dp);
    succeed(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
    eq(managed & 0xff, 0);
    succeed(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p);
    eq(ordinal, device);
    succeed(cuPointerGetAttribute, &start, CU_POINTER_ATTRIBUTE_RANGE_START_ADDR, p + 5000);
    ok(start == p, "range starts at 0x%llx", start);
    succeed(cuPointerGetAttribute, &size, CU_POINTER_ATTRIBUTE_RANGE_SIZE, p + 5000);
    eq(size, 10000);
    succeed(cuPointerGetAttribute, &mapped, CU_POINTER_ATTRIBUTE_MAPPED, p);
    eq(mapped & 0xff, 1);
    succeed(cuPointerGetAttribute, &id, CU_POINTER_ATTRIBUTE_BUFFER_ID, p);
    succeed(cuPointerGetAttribute, &id2, CU_POINTER_ATTRIBUTE_BUFFER_ID, p + 9999);
    ok(id && id == id2, "buffer ids %llu, %llu", id, id2);
    succeed(cuPointerGetAttribute, &flags, CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES, p);
    succeed(cuPointerGetAttribute, &pool, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, p);
    ok(!pool, "of a pool");
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p);
    unsigned on = 1;
    succeed(cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    succeed(cuPointerGetAttribute, &sync, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    eq(sync & 0xff, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute, NULL, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerSetAttribute, &on, CU_POINTER_ATTRIBUTE_SYNC_MEMOPS, 0);
    succeed(cuMemFree_v2, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    succeed(cuMemAlloc_v2, &p, 10000);
    succeed(cuPointerGetAttribute, &id2, CU_POINTER_ATTRIBUTE_BUFFER_ID, p);
    ok(id2 != id, "a buffer id came back");
}

static void
host_pointer(void)
{
    char *p = NULL;
    void *host = NULL;
    CUdeviceptr dp = 0;
    unsigned type = 99;
    succeed(cuMemHostAlloc, (void **)&p, 4096, 0);
    succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)p);
    eq(type, CU_MEMORYTYPE_HOST);
    succeed(cuPointerGetAttribute, &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)(uintptr_t)(p + 8));
    ok(host == p + 8, "%p of %p", host, (void *)(p + 8));
    succeed(cuPointerGetAttribute, &dp, CU_POINTER_ATTRIBUTE_DEVICE_POINTER, (CUdeviceptr)(uintptr_t)(p + 8));
    ok(dp == (CUdeviceptr)(uintptr_t)(p + 8), "0x%llx", dp);
    succeed(cuMemFreeHost, p);
}

static void
managed_pointer(void)
{
    CUdeviceptr p = 0;
    unsigned type = 99, managed = 0;
    void *host = NULL;
    succeed(cuMemAllocManaged, &p, 4096, CU_MEM_ATTACH_GLOBAL);
    succeed(cuPointerGetAttribute, &managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, p);
    eq(managed & 0xff, 1);
    succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    ok(type == CU_MEMORYTYPE_DEVICE || type == CU_MEMORYTYPE_UNIFIED, "memory type %u", type);
    succeed(cuPointerGetAttribute, &host, CU_POINTER_ATTRIBUTE_HOST_POINTER, p);
    ok(host == (void *)(uintptr_t)p, "%p", host);
    succeed(cuMemFree_v2, p);
}

static void
pointer_misuse(void)
{
    CUdeviceptr p = 0;
    unsigned v = 0;
    int local = 0;
    succeed(cuMemAlloc_v2, &p, 64);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, NULL, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &v, (CUpointer_attribute)0, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &v, (CUpointer_attribute)999, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttribute, &v, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&local);
}

// The form for several attributes answers for unknown pointers too.
static void
several(void)
{
    CUdeviceptr p = 0;
    unsigned type = 99;
    int ordinal = -9, local = 0;
    CUcontext c = (CUcontext)1;
    CUpointer_attribute a[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, CU_POINTER_ATTRIBUTE_CONTEXT};
    void *data[] = {&type, &ordinal, &c};
    succeed(cuMemAlloc_v2, &p, 64);
    succeed(cuPointerGetAttributes, 3, a, data, p);
    eq(type, CU_MEMORYTYPE_DEVICE);
    eq(ordinal, device);
    ok(c == primary, "of another context");
    succeed(cuPointerGetAttributes, 3, a, data, (CUdeviceptr)(uintptr_t)&local);
    eq(type, 0);
    eq(ordinal, -2);
    ok(!c, "host memory has a context");
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes, 0, a, data, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes, 3, NULL, data, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuPointerGetAttributes, 3, a, NULL, p);
}

static void
old_forms(void)
{
    unsigned f = 0, t = 0;
    succeed(cuMemGetInfo, &f, &t);
    ok(f <= t, "%u of %u", f, t);
}

static void
dma_buf(void)
{
    CUdeviceptr p = 0;
    int fd = -1, supported = 0;
    succeed(cuMemAlloc_v2, &p, 2 << 20);
    CALL(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_DMA_BUF_SUPPORTED, device);
    if (supported)
        CALL(cuMemGetHandleForAddressRange, &fd, p, 2 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
    else
        expect(CUDA_ERROR_NOT_SUPPORTED, cuMemGetHandleForAddressRange, &fd, p, 2 << 20, CU_MEM_RANGE_HANDLE_TYPE_DMA_BUF_FD, 0);
}

API_MAIN(CASE(alloc), CASE(alloc_misuse), CASE(pitch), CASE(info), CASE(address_range), CASE(device_pointer), CASE(host_pointer), CASE(managed_pointer),
    CASE(pointer_misuse), CASE(several), CASE(old_forms), CASE(dma_buf))
