// SPDX-License-Identifier: MIT
// The table of allocations and the calls that read it.
#include "../check.h"
#include "null_backend.h"
#include "driver/memory.h"
#include "api_impl.h"

static void
put(uintptr_t addr, size_t size, enum mem_kind kind)
{
    mem_add(&(struct mem){.addr = addr, .size = size, .kind = kind});
}

static void
finds_by_range(void)
{
    struct mem m;
    put(0x3000, 0x100, MK_DEVICE);
    put(0x1000, 0x100, MK_HOST);
    put(0x2000, 0x100, MK_DEVICE);
    CHECK(mem_find((void *)0x1000, &m));
    CHECK_INT(m.kind, MK_HOST);
    CHECK(mem_find((void *)0x20ff, &m));
    CHECK_INT(m.addr, 0x2000);
    CHECK(!mem_find((void *)0x2100, &m));
    CHECK(!mem_find((void *)0xfff, &m));
    CHECK(!mem_find(NULL, &m));
    CHECK(!mem_remove((void *)0x2001, &m));
    CHECK(mem_remove((void *)0x2000, &m));
    CHECK(!mem_find((void *)0x2000, &m));
    CHECK(mem_find((void *)0x3050, &m));
    CHECK(mem_remove((void *)0x1000, &m) && mem_remove((void *)0x3000, &m));
}

static void
covers_sizes(void)
{
    struct mem m;
    put(0x1000, 0x100, MK_VMM);
    put(0x1100, 0x100, MK_VMM);
    put(0x1200, 0x100, MK_DEVICE);
    CHECK(mem_covers((void *)0x1000, 0x200)); // adjacent mappings
    CHECK(!mem_covers((void *)0x1000, 0x201));
    CHECK(mem_covers((void *)0x1280, 0x80));
    CHECK(!mem_covers((void *)0x1280, 0x81));
    CHECK(!mem_covers((void *)0x1280, SIZE_MAX));
    CHECK(mem_covers((void *)0x9999, 0));
    CHECK(mem_overlaps((void *)0xf00, 0x101));
    CHECK(!mem_overlaps((void *)0xf00, 0x100));
    CHECK(!mem_overlaps((void *)0x1300, 0x1000));
    for (uintptr_t a = 0x1000; a < 0x1300; a += 0x100)
        CHECK(mem_remove((void *)a, &m));
}

static void
many_entries(void)
{
    struct mem m;
    bool ok_all = true;
    for (uintptr_t i = 0; i < 5000; i++)
        put(0x100000 + (i * 7919 % 5000) * 0x100, 0x80, MK_DEVICE);
    for (uintptr_t i = 0; i < 5000; i++) {
        ok_all &=
            mem_find((void *)(0x100000 + i * 0x100 + 0x7f), &m) && m.addr == 0x100000 + i * 0x100;
        ok_all &= !mem_find((void *)(0x100000 + i * 0x100 + 0x80), &m);
    }
    CHECK(ok_all);
    for (uintptr_t i = 0; i < 5000; i++)
        ok_all &= mem_remove((void *)(0x100000 + i * 0x100), &m);
    CHECK(ok_all);
}

static void
copies_and_fills(void)
{
    CUdeviceptr a, b;
    uint32_t host[64], back[64] = {0};
    null_begin();
    CHECK_INT(pw_cuMemAlloc_v2(&a, 256), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemAlloc_v2(&b, 256), CUDA_SUCCESS);
    for (int i = 0; i < 64; i++)
        host[i] = 1000 + i;
    CHECK_INT(pw_cuMemcpyHtoD_v2(a, host, 256), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemcpyHtoD_v2(a, host, 257), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemcpyHtoD_v2(a + 4, host, 256), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemcpyHtoD_v2(a, NULL, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemcpyHtoD_v2((CUdeviceptr)(uintptr_t)back, host, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemcpyHtoD_v2(a, NULL, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemcpyDtoD_v2(b, a, 256), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemcpyDtoH_v2(back, b, 256), CUDA_SUCCESS);
    CHECK(!memcmp(host, back, 256));
    CHECK_INT(pw_cuMemsetD32_v2(b + 4, 0x01020304, 3), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemsetD32_v2(b + 2, 0, 1), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemsetD8_v2(b, 0, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemsetD2D16_v2(b, SIZE_MAX - 1, 0, 2, SIZE_MAX), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemcpy((CUdeviceptr)(uintptr_t)back, b, 256), CUDA_SUCCESS);
    CHECK_INT(back[0], 1000);
    CHECK_INT(back[3], 0x01020304);
    CHECK_INT(back[4], 1004);
    CHECK_INT(pw_cuMemFree_v2(a + 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemFree_v2(0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(a), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFree_v2(a), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuMemFree_v2(b), CUDA_SUCCESS);
    null_end();
    CHECK_INT(null_allocated, 0);
}

static void
boxes(void)
{
    CUdeviceptr d;
    CUarray array;
    size_t pitch;
    unsigned char in[12], out[12] = {0};
    null_begin();
    for (int i = 0; i < 12; i++)
        in[i] = (unsigned char)(i + 1);
    CHECK_INT(pw_cuMemAllocPitch_v2(&d, &pitch, 4, 3, 4), CUDA_SUCCESS);
    CHECK_INT(pitch, 512);
    CUDA_MEMCPY2D p = {.srcMemoryType = CU_MEMORYTYPE_HOST,
                       .srcHost = in,
                       .srcPitch = 4,
                       .dstMemoryType = CU_MEMORYTYPE_DEVICE,
                       .dstDevice = d,
                       .dstPitch = pitch,
                       .WidthInBytes = 4,
                       .Height = 3};
    CHECK_INT(pw_cuMemcpy2D_v2(&p), CUDA_SUCCESS);
    CHECK_INT(((unsigned char *)(uintptr_t)d)[512 + 1], 6);
    p.Height = 4;
    CHECK_INT(pw_cuMemcpy2D_v2(&p), CUDA_ERROR_INVALID_VALUE);
    p.Height = 3;
    p.srcPitch = 3;
    CHECK_INT(pw_cuMemcpy2D_v2(&p), CUDA_ERROR_INVALID_VALUE);

    CUDA_ARRAY_DESCRIPTOR desc = {4, 3, CU_AD_FORMAT_UNSIGNED_INT8, 1};
    CHECK_INT(pw_cuArrayCreate_v2(&array, &desc), CUDA_SUCCESS);
    CUDA_MEMCPY2D q = {.srcMemoryType = CU_MEMORYTYPE_DEVICE,
                       .srcDevice = d,
                       .srcPitch = pitch,
                       .srcXInBytes = 1,
                       .srcY = 1,
                       .dstMemoryType = CU_MEMORYTYPE_ARRAY,
                       .dstArray = array,
                       .dstXInBytes = 2,
                       .dstY = 1,
                       .WidthInBytes = 2,
                       .Height = 2};
    CHECK_INT(pw_cuMemcpy2D_v2(&q), CUDA_SUCCESS);
    q.dstXInBytes = 3;
    CHECK_INT(pw_cuMemcpy2D_v2(&q), CUDA_ERROR_INVALID_VALUE);
    CUDA_MEMCPY2D back = {.srcMemoryType = CU_MEMORYTYPE_ARRAY,
                          .srcArray = array,
                          .dstMemoryType = CU_MEMORYTYPE_HOST,
                          .dstHost = out,
                          .dstPitch = 4,
                          .WidthInBytes = 4,
                          .Height = 3};
    CHECK_INT(pw_cuMemcpy2D_v2(&back), CUDA_SUCCESS);
    CHECK_INT(out[1 * 4 + 2], 6);
    CHECK_INT(out[2 * 4 + 3], 11);
    CHECK_INT(pw_cuMemcpyAtoH_v2(out, array, 1, 4), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuArrayDestroy(array), CUDA_SUCCESS);
    CHECK_INT(pw_cuArrayDestroy(array), CUDA_ERROR_INVALID_HANDLE);
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    null_end();
    CHECK_INT(null_allocated, 0);
}

static void
pointer_attributes(void)
{
    CUdeviceptr d;
    void *host;
    unsigned type = 99, managed = 99;
    int ordinal = 99;
    null_begin();
    CHECK_INT(pw_cuMemAllocManaged(&d, 8192, CU_MEM_ATTACH_GLOBAL), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemHostAlloc(&host, 100, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                                       (CUdeviceptr)(uintptr_t)host + 5),
              CUDA_SUCCESS);
    CHECK_INT(type, CU_MEMORYTYPE_HOST);
    CHECK_INT(pw_cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, d), CUDA_SUCCESS);
    CHECK_INT(managed, 1);
    CHECK_INT(pw_cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, 64),
              CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute a[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE,
                               CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL};
    void *out[] = {&type, &ordinal};
    CHECK_INT(pw_cuPointerGetAttributes(2, a, out, 64), CUDA_SUCCESS);
    CHECK_INT(type, 0);
    CHECK_INT(ordinal, CU_DEVICE_INVALID);

    int value = 0;
    CHECK_INT(pw_cuMemAdvise(d, 4096, CU_MEM_ADVISE_SET_READ_MOSTLY, 0), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, d, 1),
              CUDA_SUCCESS);
    CHECK_INT(value, 1);
    CHECK_INT(pw_cuMemAdvise(d, 4096, CU_MEM_ADVISE_SET_PREFERRED_LOCATION, CU_DEVICE_CPU),
              CUDA_SUCCESS);
    CHECK_INT(pw_cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_PREFERRED_LOCATION, d, 1),
              CUDA_SUCCESS);
    CHECK_INT(value, CU_DEVICE_CPU);
    CHECK_INT(pw_cuMemRangeGetAttribute(&value, 4, CU_MEM_RANGE_ATTRIBUTE_READ_MOSTLY, d, 8192),
              CUDA_SUCCESS);
    CHECK_INT(value, 0);
    CHECK_INT(pw_cuMemFree_v2(d), CUDA_SUCCESS);
    CHECK_INT(pw_cuMemFreeHost(host), CUDA_SUCCESS);
    null_end();
}

CHECK_MAIN(T(finds_by_range), T(covers_sizes), T(many_entries), T(copies_and_fills), T(boxes),
           T(pointer_attributes))
