// SPDX-License-Identifier: MIT
// Pointer attributes, address ranges, allocation limits and the table of allocations.
#include "drv.h"

int
main(void)
{
    CUcontext ctx = drv_start(), c;
    CUdeviceptr d, base, m;
    size_t size, pitch, avail, total;
    unsigned type;
    int ordinal, managed;
    void *host, *hp;
    CK(cuMemAlloc(&d, 1000));
    CK(cuMemGetAddressRange(&base, &size, d + 500));
    EXPECT(base, d);
    EXPECT(size, 1000);
    CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, d + 999));
    EXPECT(type, CU_MEMORYTYPE_DEVICE);
    CK(cuPointerGetAttribute(&c, CU_POINTER_ATTRIBUTE_CONTEXT, d));
    IS_TRUE(c == ctx);
    CK(cuPointerGetAttribute(&ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, d));
    EXPECT(ordinal, 0);
    EXPECT(cuPointerGetAttribute(&hp, CU_POINTER_ATTRIBUTE_HOST_POINTER, d), CUDA_ERROR_INVALID_VALUE);
    CK(cuMemHostAlloc(&host, 5000, CU_MEMHOSTALLOC_DEVICEMAP));
    CK(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)host));
    EXPECT(type, CU_MEMORYTYPE_HOST);
    CK(cuPointerGetAttribute(&hp, CU_POINTER_ATTRIBUTE_HOST_POINTER, (CUdeviceptr)(uintptr_t)host + 7));
    IS_TRUE(hp == (char *)host + 7);
    CK(cuMemAllocManaged(&m, 4096, CU_MEM_ATTACH_GLOBAL));
    CK(cuPointerGetAttribute(&managed, CU_POINTER_ATTRIBUTE_IS_MANAGED, m));
    EXPECT(managed, 1);
    unsigned long long id1, id2;
    CK(cuPointerGetAttribute(&id1, CU_POINTER_ATTRIBUTE_BUFFER_ID, d));
    CK(cuPointerGetAttribute(&id2, CU_POINTER_ATTRIBUTE_BUFFER_ID, m));
    IS_TRUE(id1 != id2);
    EXPECT(cuPointerGetAttribute(&type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)&type), CUDA_ERROR_INVALID_VALUE);
    CUpointer_attribute which[] = {CU_POINTER_ATTRIBUTE_MEMORY_TYPE, CU_POINTER_ATTRIBUTE_IS_MANAGED};
    void *into[] = {&type, &managed};
    CK(cuPointerGetAttributes(2, which, into, (CUdeviceptr)(uintptr_t)&type));
    EXPECT(type, 0);
    CK(cuMemAllocPitch(&base, &pitch, 100, 10, 4));
    IS_TRUE(pitch >= 100 && pitch % 128 == 0);
    EXPECT(cuMemAlloc(&base, 0), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemAlloc(&base, (size_t)1 << 50), CUDA_ERROR_OUT_OF_MEMORY);
    EXPECT(cuMemFree(d + 4), CUDA_ERROR_INVALID_VALUE);
    CK(cuMemFree(d));
    EXPECT(cuMemFree(d), CUDA_ERROR_INVALID_VALUE);
    CK(cuMemFree(0));
    EXPECT(cuMemFreeHost(&type), CUDA_ERROR_INVALID_VALUE);
    CK(cuMemGetInfo(&avail, &total));
    IS_TRUE(avail <= total && total > 0);
    return app_end();
}
