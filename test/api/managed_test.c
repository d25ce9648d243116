// SPDX-License-Identifier: MIT
// Managed memory: advice, prefetching, attaching, range attributes, in both versions and in batches.
#include "api.h"

enum { SIZE = 4 << 20 };

static CUdeviceptr
managed(void)
{
    CUdeviceptr p = 0;
    succeed(cuMemAllocManaged, &p, SIZE, CU_MEM_ATTACH_GLOBAL);
    return p;
}

static int
range(CUdeviceptr p, size_t size, CUmem_range_attribute a)
{
    int v = -999;
    succeed(cuMemRangeGetAttribute, &v, sizeof v, a, p, size);
    return v;
}

static CUmemLocation
place(CUmemLocationType type, int id)
{
    CUmemLocation l;
    memset(&l, 0, sizeof l);
    l.type = type;
    l.id = id;
    return l;
}

static void
alloc(void)
{
    CUdeviceptr p = managed(), q = 0;
    unsigned *h = (unsigned *)(uintptr_t)p;
    h[0] = 1;
    h[SIZE / 4 - 1] = 2;
    succeed(cuMemsetD32_v2, p, 77, 10);
    succeed(cuCtxSynchronize, );
    eq(h[9], 77);
    eq(h[SIZE / 4 - 1], 2);
    succeed(cuMemAllocManaged, &q, 100, CU_MEM_ATTACH_HOST);
    *(int *)(uintptr_t)q = 5;
    succeed(cuMemFree_v2, q);
    succeed(cuMemFree_v2, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, NULL, 64, CU_MEM_ATTACH_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, &p, 0, CU_MEM_ATTACH_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, &p, 64, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, &p, 64, CU_MEM_ATTACH_SINGLE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocManaged, &p, 64, CU_MEM_ATTACH_GLOBAL | CU_MEM_ATTACH_HOST);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemAllocManaged, &p, (size_t)1 << 50, CU_MEM_ATTACH_GLOBAL);
}

static void
advice(void)
{
    CUdeviceptr p = managed();
    CUmemLocation dev = place(CU_MEM_LOCATION_TYPE_DEVICE, device), host = place(CU_MEM_LOCATION_TYPE_HOST, 0);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_INVALID);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_INVALID);
    succeed(cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    succeed(cuMemAdvise_v2, p, SIZE / 2, CU_MEM_ADVISE_UNSET_READ_MOSTLY, dev);
    eq(range(p, SIZE / 2, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    eq(range(p + SIZE / 2, SIZE / 2, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 1);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY), 0);
    succeed(cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, dev);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), device);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_DEVICE);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_ID), device);
    succeed(cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, host);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_HOST);
    succeed(cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_UNSET_PREFERRED_LOCATION, dev);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_INVALID);
    int who[3] = {0};
    succeed(cuMemAdvise, p, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, device);
    succeed(cuMemAdvise, p, SIZE, CU_MEM_ADVISE_SET_ACCESSED_BY, CU_DEVICE_CPU);
    succeed(cuMemRangeGetAttribute, who, sizeof who, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, SIZE);
    ok((who[0] == device && who[1] == CU_DEVICE_CPU) || (who[1] == device && who[0] == CU_DEVICE_CPU), "accessed by %d, %d", who[0], who[1]);
    eq(who[2], CU_DEVICE_INVALID);
    succeed(cuMemAdvise, p, SIZE, CU_MEM_ADVISE_UNSET_ACCESSED_BY, CU_DEVICE_CPU);
    succeed(cuMemRangeGetAttribute, who, sizeof who, CU_MEM_RANGE_ATTRIBUTE_ACCESSED_BY, p, SIZE);
    eq(who[0], device);
    eq(who[1], CU_DEVICE_INVALID);
    succeed(cuMemAdvise, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION), CU_DEVICE_CPU);
}

static void
advice_misuse(void)
{
    CUdeviceptr p = managed(), d = 0;
    CUmemLocation dev = place(CU_MEM_LOCATION_TYPE_DEVICE, device);
    succeed(cuMemAlloc_v2, &d, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, p, SIZE, (CUmem_advise)0, dev);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, p, SIZE, (CUmem_advise)99, dev);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, p, 0, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, p, (size_t)SIZE * 2, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, d, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, dev);
    expect(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place(CU_MEM_LOCATION_TYPE_DEVICE, 99));
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAdvise_v2, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, place((CUmemLocationType)77, 0));
    expect(CUDA_ERROR_INVALID_DEVICE, cuMemAdvise, p, SIZE, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, 99);
}

static void
prefetch(void)
{
    CUdeviceptr p = managed(), d = 0;
    CUmemLocation dev = place(CU_MEM_LOCATION_TYPE_DEVICE, device), host = place(CU_MEM_LOCATION_TYPE_HOST, 0);
    memset((void *)(uintptr_t)p, 0x5a, SIZE);
    succeed(cuMemPrefetchAsync_v2, p, SIZE, dev, 0, NULL);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), device);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION_TYPE), CU_MEM_LOCATION_TYPE_DEVICE);
    succeed(cuMemPrefetchAsync_v2, p, SIZE, host, 0, NULL);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_CPU);
    succeed(cuMemPrefetchAsync, p, SIZE / 2, device, NULL);
    eq(range(p, SIZE / 2, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), device);
    eq(range(p, SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_INVALID);
    succeed(cuCtxSynchronize, );
    eq(*(unsigned char *)(uintptr_t)(p + SIZE - 1), 0x5a);
    succeed(cuMemAlloc_v2, &d, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2, d, 4096, dev, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2, p, 0, dev, 0, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2, p, SIZE, dev, 1, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchAsync_v2, p, (size_t)SIZE * 2, dev, 0, NULL);
    expect(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync_v2, p, SIZE, place(CU_MEM_LOCATION_TYPE_DEVICE, 99), 0, NULL);
    expect(CUDA_ERROR_INVALID_DEVICE, cuMemPrefetchAsync, p, SIZE, 99, NULL);
}

static void
attach(void)
{
    CUdeviceptr p = managed(), d = 0;
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, 0);
    succeed(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_SINGLE);
    succeed(cuStreamAttachMemAsync, s, p, SIZE, CU_MEM_ATTACH_GLOBAL);
    succeed(cuStreamAttachMemAsync, s, p, 0, CU_MEM_ATTACH_HOST);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemAlloc_v2, &d, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 0, 8);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, p, 100, CU_MEM_ATTACH_GLOBAL);
    todo("memory that is not managed is taken") expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, d, 0, CU_MEM_ATTACH_GLOBAL);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, NULL, p, 0, CU_MEM_ATTACH_SINGLE);
    expect(CUDA_ERROR_INVALID_VALUE, cuStreamAttachMemAsync, s, 0, 0, CU_MEM_ATTACH_GLOBAL);
    succeed(cuStreamDestroy_v2, s);
}

static void
attributes(void)
{
    CUdeviceptr p = managed(), d = 0;
    int mostly = -1, preferred = 0, v;
    void *data[] = {&mostly, &preferred};
    size_t sizes[] = {4, 4};
    CUmem_range_attribute a[] = {CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION};
    succeed(cuMemAdvise, p, SIZE, CU_MEM_ADVISE_SET_READ_MOSTLY, device);
    succeed(cuMemRangeGetAttributes, data, sizes, a, 2, p, SIZE);
    eq(mostly, 1);
    eq(preferred, CU_DEVICE_INVALID);
    succeed(cuMemAlloc_v2, &d, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttributes, NULL, sizes, a, 2, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttributes, data, NULL, a, 2, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttributes, data, sizes, NULL, 2, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttributes, data, sizes, a, 0, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, NULL, 4, a[0], p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, &v, 3, a[0], p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, &v, 4, (CUmem_range_attribute)0, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, &v, 4, (CUmem_range_attribute)99, p, SIZE);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, &v, 4, a[0], p, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRangeGetAttribute, &v, 4, a[0], d, 4096);
}

static void
batches(void)
{
    if (!HAVE(cuMemPrefetchBatchAsync)) {
        skip("the driver is older than 13.0");
        return;
    }
    CUdeviceptr p[2] = {managed(), managed()};
    size_t sizes[2] = {SIZE, SIZE}, index[2] = {0, 1};
    CUmemLocation l[2] = {place(CU_MEM_LOCATION_TYPE_DEVICE, device), place(CU_MEM_LOCATION_TYPE_HOST, 0)};
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuMemPrefetchBatchAsync, p, sizes, 2, l, index, 2, 0, s);
    eq(range(p[0], SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), device);
    eq(range(p[1], SIZE, CU_MEM_RANGE_ATTRIBUTE_LAST_PREFETCH_LOCATION), CU_DEVICE_CPU);
    succeed(cuMemDiscardBatchAsync, p, sizes, 2, 0, s);
    succeed(cuMemDiscardAndPrefetchBatchAsync, p, sizes, 2, l, index, 1, 0, s);
    succeed(cuStreamSynchronize, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync, NULL, sizes, 2, l, index, 2, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync, p, sizes, 0, l, index, 2, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync, p, sizes, 2, l, index, 3, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemPrefetchBatchAsync, p, sizes, 2, l, index, 2, 1, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync, p, sizes, 2, 1, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync, p, sizes, 0, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemDiscardBatchAsync, NULL, sizes, 2, 0, s);
}

API_MAIN(CASE(alloc), CASE(advice), CASE(advice_misuse), CASE(prefetch), CASE(attach), CASE(attributes), CASE(batches))
