// SPDX-License-Identifier: MIT
// Page-locked host memory: allocated and registered.
#include "api.h"

#include <sys/mman.h>

static void
alloc(void)
{
    static const unsigned all[] = {0, CU_MEMHOSTALLOC_PORTABLE, CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_WRITECOMBINED,
        CU_MEMHOSTALLOC_PORTABLE | CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_WRITECOMBINED};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char *p = NULL;
        CUdeviceptr d = 0;
        unsigned f = 0;
        succeed(cuMemHostAlloc, (void **)&p, 10000, all[i]);
        p[0] = 1;
        p[9999] = 2;
        succeed(cuMemHostGetFlags, &f, p);
        ok((f & all[i]) == all[i], "flags 0x%x of 0x%x", f, all[i]);
        succeed(cuMemHostGetDevicePointer_v2, &d, p, 0);
        ok(d == (CUdeviceptr)(uintptr_t)p, "0x%llx of %p", d, (void *)p);
        succeed(cuMemHostGetDevicePointer_v2, &d, p + 5000, 0);
        ok(d == (CUdeviceptr)(uintptr_t)(p + 5000), "0x%llx in the middle", d);
        succeed(cuMemsetD8_v2, d, 9, 1);
        eq(p[5000], 9);
        succeed(cuMemFreeHost, p);
    }
    void *q = NULL;
    succeed(cuMemAllocHost_v2, &q, 1);
    succeed(cuMemFreeHost, q);
}

static void
alloc_misuse(void)
{
    void *p = NULL;
    CUdeviceptr d = 0;
    unsigned f;
    int local = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc, NULL, 64, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc, &p, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostAlloc, &p, 64, 0x100);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocHost_v2, NULL, 64);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAllocHost_v2, &p, 0);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemHostAlloc, &p, (size_t)1 << 50, 0);
    succeed(cuMemFreeHost, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, &local);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, &d, &local, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags, &f, &local);
    succeed(cuMemHostAlloc, &p, 4096, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, NULL, p, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, &d, p, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetDevicePointer_v2, &d, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags, NULL, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, (char *)p + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, (CUdeviceptr)(uintptr_t)p);
    succeed(cuMemFreeHost, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFreeHost, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostGetFlags, &f, p);
}

static char *
pages(size_t n)
{
    char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ok(p != MAP_FAILED, "no pages");
    return p;
}

static void
registered(void)
{
    static const unsigned all[] = {0, CU_MEMHOSTREGISTER_PORTABLE, CU_MEMHOSTREGISTER_DEVICEMAP, CU_MEMHOSTREGISTER_PORTABLE | CU_MEMHOSTREGISTER_DEVICEMAP};
    char *p = pages(16384);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        CUdeviceptr d = 0;
        unsigned f = 0, type = 0;
        succeed(cuMemHostRegister_v2, p, 16384, all[i]);
        succeed(cuMemHostGetFlags, &f, p);
        ok((f & all[i]) == all[i], "flags 0x%x of 0x%x", f, all[i]);
        succeed(cuMemHostGetDevicePointer_v2, &d, p + 100, 0);
        succeed(cuMemsetD8_v2, d, 5 + (unsigned char)i, 1);
        eq(p[100], 5 + i);
        succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, (CUdeviceptr)(uintptr_t)p);
        eq(type, CU_MEMORYTYPE_HOST);
        succeed(cuMemHostUnregister, p);
    }
    succeed(cuMemHostRegister, p, 4096, 0);
    succeed(cuMemHostUnregister, p);
    succeed(cuMemHostRegister_v2, p + 10, 100, 0); // need not be whole pages
    succeed(cuMemHostUnregister, p + 10);
    munmap(p, 16384);
}

static void
register_misuse(void)
{
    char *p = pages(16384);
    void *h = NULL;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2, NULL, 4096, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2, p, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2, p, 4096, 0x100);
    expect(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister, NULL);
    succeed(cuMemHostRegister_v2, p, 8192, 0);
    expect(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, p, 8192, 0);
    expect(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, cuMemHostRegister_v2, p + 4096, 8192, 0);
    expect2(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, CUDA_ERROR_INVALID_VALUE, cuMemHostUnregister, p + 4096);
    succeed(cuMemHostUnregister, p);
    expect(CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister, p);
    succeed(cuMemHostAlloc, &h, 4096, 0);
    expect2(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED, CUDA_ERROR_INVALID_VALUE, cuMemHostRegister_v2, h, 4096, 0);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED, cuMemHostUnregister, h);
    munmap(p, 16384);
}

API_MAIN(CASE(alloc), CASE(alloc_misuse), CASE(registered), CASE(register_misuse))
