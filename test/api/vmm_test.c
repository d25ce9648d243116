// SPDX-License-Identifier: MIT
// Virtual memory management: reserve, create, map, access, sharing by file descriptor; multicast is refused.
#include "api.h"
#include "ptx.h"

#include <fcntl.h>

static size_t grain;

static CUmemAllocationProp
props(void)
{
    CUmemAllocationProp p;
    memset(&p, 0, sizeof p);
    p.type = CU_MEM_ALLOCATION_TYPE_PINNED;
    p.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    p.location.id = device;
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    return p;
}

static void
find_grain(void)
{
    CUmemAllocationProp p = props();
    succeed(cuMemGetAllocationGranularity, &grain, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    if (!grain)
        grain = 2 << 20;
}

static CUmemGenericAllocationHandle
create(size_t size)
{
    CUmemAllocationProp p = props();
    CUmemGenericAllocationHandle h = 0;
    succeed(cuMemCreate, &h, size, &p, 0);
    return h;
}

static CUdeviceptr
reserve(size_t size)
{
    CUdeviceptr p = 0;
    succeed(cuMemAddressReserve, &p, size, 0, 0, 0);
    return p;
}

static void
allow(CUdeviceptr p, size_t size)
{
    CUmemAccessDesc d;
    memset(&d, 0, sizeof d);
    d.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
    d.location.id = device;
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    succeed(cuMemSetAccess, p, size, &d, 1);
}

static void
granularity(void)
{
    CUmemAllocationProp p = props();
    size_t least = 0, best = 0;
    succeed(cuMemGetAllocationGranularity, &least, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    succeed(cuMemGetAllocationGranularity, &best, &p, CU_MEM_ALLOC_GRANULARITY_RECOMMENDED);
    ok(least >= 4096 && !(least & (least - 1)), "granularity %zu", least);
    ok(best >= least && best % least == 0, "recommended %zu", best);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity, NULL, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity, &least, NULL, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity, &least, &p, (CUmemAllocationGranularity_flags)9);
    p.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationGranularity, &least, &p, CU_MEM_ALLOC_GRANULARITY_MINIMUM);
}

static void
whole_way(void)
{
    find_grain();
    CUdeviceptr p = reserve(4 * grain);
    ok(p && p % grain == 0, "reserved at 0x%llx", p);
    CUmemGenericAllocationHandle h = create(2 * grain);
    succeed(cuMemMap, p, 2 * grain, 0, h, 0);
    allow(p, 2 * grain);
    unsigned v = 0;
    succeed(cuMemsetD32_v2, p, 5, 2 * grain / 4);
    succeed(cuMemcpyDtoH_v2, &v, p + 2 * grain - 4, 4);
    eq(v, 5);
    // The kernel reaches it too.
    CUfunction f = api_function(api_module(PTX_HEAD PTX_FILL), "fill");
    CUdeviceptr at = p + grain - 64;
    unsigned seven = 7;
    unsigned long long n = 32;
    void *args[] = {&at, &seven, &n};
    succeed(cuLaunchKernel, f, 1, 1, 1, 32, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &v, p + grain, 4);
    eq(v, 7);
    // A second allocation behind it: accesses may cross.
    CUmemGenericAllocationHandle h2 = create(grain);
    succeed(cuMemMap, p + 2 * grain, grain, 0, h2, 0);
    allow(p + 2 * grain, grain);
    succeed(cuMemsetD32_v2, p + 2 * grain - 16, 9, 8);
    succeed(cuMemcpyDtoH_v2, &v, p + 2 * grain + 12, 4);
    eq(v, 9);
    unsigned type = 0;
    CUdeviceptr base = 0;
    size_t size = 0;
    succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p + 100);
    eq(type, CU_MEMORYTYPE_DEVICE);
    succeed(cuMemGetAddressRange_v2, &base, &size, p + 100);
    ok(base == p && size == 2 * grain, "range 0x%llx of %zu", base, size);
    succeed(cuMemRelease, h); // the mapping keeps it
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 5);
    succeed(cuMemUnmap, p, 3 * grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, &v, p, 4);
    succeed(cuMemRelease, h2);
    succeed(cuMemAddressFree, p, 4 * grain);
}

// One allocation mapped in two places.
static void
alias(void)
{
    find_grain();
    CUdeviceptr p = reserve(grain), q = reserve(grain);
    CUmemGenericAllocationHandle h = create(grain);
    unsigned v = 0;
    succeed(cuMemMap, p, grain, 0, h, 0);
    succeed(cuMemMap, q, grain, 0, h, 0);
    allow(p, grain);
    allow(q, grain);
    succeed(cuMemsetD32_v2, p, 123, 1);
    succeed(cuMemcpyDtoH_v2, &v, q, 4);
    eq(v, 123);
    succeed(cuMemUnmap, p, grain);
    succeed(cuMemcpyDtoH_v2, &v, q, 4);
    eq(v, 123);
    succeed(cuMemUnmap, q, grain);
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, grain);
    succeed(cuMemAddressFree, q, grain);
}

static void
reserve_misuse(void)
{
    find_grain();
    CUdeviceptr p = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, NULL, grain, 0, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &p, 0, 0, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &p, 1000, 0, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &p, grain, 3, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &p, grain, 0, 0, 1);
    expect2(CUDA_ERROR_OUT_OF_MEMORY, CUDA_ERROR_INVALID_VALUE, cuMemAddressReserve, &p, (size_t)1 << 60, 0, 0, 0);
    ok(!p, "a refused call wrote an address");
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, 0, grain);
    p = reserve(2 * grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, p, grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, p + grain, grain);
    succeed(cuMemAddressFree, p, 2 * grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, p, 2 * grain);
    CUdeviceptr aligned = 0;
    succeed(cuMemAddressReserve, &aligned, grain, 16 * grain, 0, 0);
    ok(aligned % (16 * grain) == 0, "0x%llx is not aligned", aligned);
    succeed(cuMemAddressFree, aligned, grain);
}

static void
create_misuse(void)
{
    find_grain();
    CUmemAllocationProp p = props();
    CUmemGenericAllocationHandle h = 0;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, NULL, grain, &p, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, 0, &p, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, 1000, &p, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, grain, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, grain, &p, 1);
    expect(CUDA_ERROR_OUT_OF_MEMORY, cuMemCreate, &h, (size_t)1 << 50, &p, 0);
    p.location.id = 99;
    expect2(CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, grain, &p, 0);
    p = props();
    p.location.type = CU_MEM_LOCATION_TYPE_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, grain, &p, 0);
    p = props();
    p.type = CU_MEM_ALLOCATION_TYPE_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemCreate, &h, grain, &p, 0);
    p = props();
    p.requestedHandleTypes = CU_MEM_HANDLE_TYPE_WIN32;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, cuMemCreate, &h, grain, &p, 0);
    ok(!h, "a refused call wrote a handle");
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemRelease, 0);
}

static void
map_misuse(void)
{
    find_grain();
    CUdeviceptr p = reserve(4 * grain);
    CUmemGenericAllocationHandle h = create(2 * grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, 0, grain, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, 0, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, 3 * grain, 0, h, 0); // more than was created
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, 1000, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p + 100, grain, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, 2 * grain, 0, h, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p + 3 * grain, 2 * grain, 0, h, 0); // beyond what was reserved
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemMap, p, grain, 0, 0, 0);
    succeed(cuMemMap, p, 2 * grain, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, 2 * grain, 0, h, 0); // taken
    expect(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, p, grain); // only whole mappings
    expect(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, p + 2 * grain, grain); // nothing there
    expect(CUDA_ERROR_INVALID_VALUE, cuMemUnmap, 0, grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemAddressFree, p, 4 * grain); // still mapped
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, p);
    succeed(cuMemUnmap, p, 2 * grain);
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, 4 * grain);
}

static void
map_offset(void)
{
    find_grain();
    CUdeviceptr p = reserve(2 * grain);
    CUmemGenericAllocationHandle h = create(2 * grain);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemMap, p, grain, grain, h, 0); // only offset 0 is allowed
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, 2 * grain);
}

static void
access_rights(void)
{
    find_grain();
    CUdeviceptr p = reserve(2 * grain);
    CUmemGenericAllocationHandle h = create(grain);
    CUmemLocation l = {.type = CU_MEM_LOCATION_TYPE_DEVICE, .id = device};
    CUmemAccessDesc d;
    unsigned long long f = 99;
    memset(&d, 0, sizeof d);
    d.location = l;
    succeed(cuMemMap, p, grain, 0, h, 0);
    succeed(cuMemGetAccess, &f, &l, p);
    eq(f, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    allow(p, grain);
    succeed(cuMemGetAccess, &f, &l, p);
    eq(f, CU_MEM_ACCESS_FLAGS_PROT_READWRITE);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READ;
    succeed(cuMemSetAccess, p, grain, &d, 1);
    succeed(cuMemGetAccess, &f, &l, p);
    eq(f, CU_MEM_ACCESS_FLAGS_PROT_READ);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_NONE;
    succeed(cuMemSetAccess, p, grain, &d, 1);
    succeed(cuMemGetAccess, &f, &l, p);
    eq(f, CU_MEM_ACCESS_FLAGS_PROT_NONE);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p + grain, grain, &d, 1); // nothing mapped
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p, 0, &d, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p, grain, NULL, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p, grain, &d, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, 0, grain, &d, 1);
    d.flags = (CUmemAccess_flags)77;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p, grain, &d, 1);
    d.flags = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    d.location.id = 99;
    expect2(CUDA_ERROR_INVALID_DEVICE, CUDA_ERROR_INVALID_VALUE, cuMemSetAccess, p, grain, &d, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess, NULL, &l, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess, &f, NULL, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAccess, &f, &l, p + grain);
    succeed(cuMemUnmap, p, grain);
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, 2 * grain);
}

// A copy to memory that may not be written.
static void
forbidden(void)
{
    find_grain();
    CUdeviceptr p = reserve(grain);
    CUmemGenericAllocationHandle h = create(grain);
    unsigned v = 0;
    succeed(cuMemMap, p, grain, 0, h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, p, &v, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, &v, p, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, p, 0, 1);
}

static void
handles(void)
{
    find_grain();
    CUdeviceptr p = reserve(grain), d = 0;
    CUmemGenericAllocationHandle h = create(grain), again = 0;
    CUmemAllocationProp got;
    memset(&got, 0xff, sizeof got);
    succeed(cuMemGetAllocationPropertiesFromHandle, &got, h);
    eq(got.type, CU_MEM_ALLOCATION_TYPE_PINNED);
    eq(got.location.type, CU_MEM_LOCATION_TYPE_DEVICE);
    eq(got.location.id, device);
    eq(got.requestedHandleTypes, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    succeed(cuMemMap, p, grain, 0, h, 0);
    succeed(cuMemRetainAllocationHandle, &again, (void *)(uintptr_t)(p + 100));
    ok(again == h, "another handle");
    succeed(cuMemRelease, again);
    succeed(cuMemRelease, h);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle, NULL, (void *)(uintptr_t)p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle, &again, NULL);
    succeed(cuMemAlloc_v2, &d, 4096);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemRetainAllocationHandle, &again, (void *)(uintptr_t)d);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemGetAllocationPropertiesFromHandle, NULL, h);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemGetAllocationPropertiesFromHandle, &got, 0);
    succeed(cuMemUnmap, p, grain);
    succeed(cuMemAddressFree, p, grain);
}

// ---- sharing ----------------------------------------------------------------------------------------
static void
_importer(void)
{
    CUmemGenericAllocationHandle h = 0;
    unsigned v = 0;
    succeed(cuInit, 0);
    succeed(cuDevicePrimaryCtxRetain, &primary, 0);
    succeed(cuCtxSetCurrent, primary);
    find_grain();
    int fd = atoi(api_argument);
    succeed(cuMemImportFromShareableHandle, &h, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    close(fd);
    CUdeviceptr p = reserve(2 * grain);
    succeed(cuMemMap, p, 2 * grain, 0, h, 0);
    allow(p, 2 * grain);
    succeed(cuMemcpyDtoH_v2, &v, p + grain, 4);
    eq(v, 4711);
    succeed(cuMemsetD32_v2, p + 2 * grain - 4, 99, 1);
    succeed(cuCtxSynchronize, );
    succeed(cuMemUnmap, p, 2 * grain);
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, 2 * grain);
}

static void
share(void)
{
    find_grain();
    CUdeviceptr p = reserve(2 * grain);
    CUmemGenericAllocationHandle h = create(2 * grain), same = 0;
    char argument[16];
    int fd = -1;
    unsigned v = 0;
    succeed(cuMemMap, p, 2 * grain, 0, h, 0);
    allow(p, 2 * grain);
    succeed(cuMemsetD32_v2, p, 4711, 2 * grain / 4);
    succeed(cuCtxSynchronize, );
    succeed(cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    ok(fd >= 0, "descriptor %d", fd);
    int inherited = dup(fd);
    snprintf(argument, sizeof argument, "%d", inherited);
    api_join(api_spawn("_importer", argument));
    succeed(cuMemcpyDtoH_v2, &v, p + 2 * grain - 4, 4);
    eq(v, 99);
    succeed(cuMemImportFromShareableHandle, &same, (void *)(intptr_t)fd, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    ok(same, "imported where it was made: no handle");
    succeed(cuMemRelease, same);
    close(fd);
    close(inherited);
    succeed(cuMemUnmap, p, 2 * grain);
    succeed(cuMemRelease, h);
    succeed(cuMemAddressFree, p, 2 * grain);
}

static void
share_misuse(void)
{
    find_grain();
    CUmemAllocationProp plain = props();
    CUmemGenericAllocationHandle h = create(grain), unshared = 0, in = 0;
    int fd = -1;
    plain.requestedHandleTypes = CU_MEM_HANDLE_TYPE_NONE;
    succeed(cuMemCreate, &unshared, grain, &plain, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle, &fd, unshared, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle, NULL, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemExportToShareableHandle, &fd, h, CU_MEM_HANDLE_TYPE_NONE, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemImportFromShareableHandle, NULL, (void *)0, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    int null = open("/dev/null", O_RDWR);
    CUresult r = CALL(cuMemImportFromShareableHandle, &in, (void *)(intptr_t)null, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    ok(r != CUDA_SUCCESS, "imported /dev/null");
    close(null);
    r = CALL(cuMemImportFromShareableHandle, &in, (void *)(intptr_t)-1, CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
    ok(r != CUDA_SUCCESS, "imported descriptor -1");
    succeed(cuMemRelease, h);
    succeed(cuMemRelease, unshared);
}

static void
released(void)
{
    find_grain();
    CUmemGenericAllocationHandle h = create(grain);
    CUmemAllocationProp p;
    succeed(cuMemRelease, h);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemRelease, h);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemGetAllocationPropertiesFromHandle, &p, h);
}

// ---- multicast needs a switch between devices -------------------------------------------------------
static void
multicast(void)
{
    int supported = 0;
    CUmulticastObjectProp p;
    CUmemGenericAllocationHandle h = 0;
    size_t g = 0;
    memset(&p, 0, sizeof p);
    p.numDevices = 2;
    p.size = 2 << 20;
    p.handleTypes = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
    CALL(cuDeviceGetAttribute, &supported, CU_DEVICE_ATTRIBUTE_MULTICAST_SUPPORTED, device);
    if (supported) {
        skip("this device has multicast");
        return;
    }
    CUresult r = CALL(cuMulticastGetGranularity, &g, &p, CU_MULTICAST_GRANULARITY_MINIMUM);
    ok(on_nvidia() || r == CUDA_ERROR_NOT_SUPPORTED, "granularity: %s", api_code(r));
    r = CALL(cuMulticastCreate, &h, &p);
    ok(r != CUDA_SUCCESS, "made a multicast object");
    if (on_nvidia()) // no handle to go on with
        return;
    eq(r, CUDA_ERROR_NOT_SUPPORTED);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuMulticastAddDevice, h, device);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuMulticastBindMem, h, 0, h, 0, 2 << 20, 0);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuMulticastBindAddr, h, 0, 0, 2 << 20, 0);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuMulticastUnbind, h, device, 0, 2 << 20);
}

API_MAIN(CASE(granularity), CASE(whole_way), CASE(alias), CASE(reserve_misuse), CASE(create_misuse), CASE(map_misuse), CASE(map_offset), CASE(access_rights),
    CASE(forbidden), CASE(handles), RAW(_importer), CASE(share), CASE(share_misuse), CASE(released), CASE(multicast))
