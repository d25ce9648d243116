// SPDX-License-Identifier: MIT
// Devices: count, names, identity, memory, attributes, old queries. Peers are in peer_test.c.
#include "api.h"

#include <ctype.h>
#include <limits.h>

static int
attribute(CUdevice_attribute a)
{
    int v = INT_MIN;
    CALL(cuDeviceGetAttribute, &v, a, device);
    return v;
}

static void
before_init(void)
{
    int n = 0, version = 0;
    CUdevice d;
    CUuuid id;
    size_t bytes;
    CUcontext c;
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetCount, &n);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGet, &d, 0);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceGetUuid_v2, &id, 0);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDeviceTotalMem_v2, &bytes, 0);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuCtxGetCurrent, &c);
    expect(CUDA_ERROR_NOT_INITIALIZED, cuDevicePrimaryCtxRetain, &c, 0);
    succeed(cuDriverGetVersion, &version);
    ok(version >= 12000, "version %d", version);
    expect(CUDA_ERROR_INVALID_VALUE, cuDriverGetVersion, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuInit, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuInit, UINT_MAX);
    succeed(cuInit, 0);
    succeed(cuInit, 0);
    succeed(cuDeviceGetCount, &n);
    ok(n >= 1, "%d devices", n);
    succeed(cuCtxGetCurrent, &c);
    ok(!c, "a context is current");
}

static void
ordinals(void)
{
    int n = 0;
    CUdevice d = -5;
    succeed(cuDeviceGetCount, &n);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetCount, NULL);
    for (int i = 0; i < n; i++) {
        succeed(cuDeviceGet, &d, i);
        eq(d, i);
    }
    d = -5;
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &d, n);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &d, -1);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &d, INT_MAX);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGet, &d, INT_MIN);
    eq(d, -5);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGet, NULL, 0);
}

static void
names(void)
{
    char name[256], little[5];
    memset(name, 'x', sizeof name);
    succeed(cuDeviceGetName, name, sizeof name, device);
    size_t n = strnlen(name, sizeof name);
    ok(n > 0 && n < sizeof name, "a name of %zu bytes", n);
    memset(little, 'x', sizeof little);
    succeed(cuDeviceGetName, little, 4, device);
    ok(!strncmp(little, name, 3) && little[3] == 0, "\"%.4s\" is not the start of \"%s\"", little, name);
    eq(little[4], 'x');
    memset(little, 'x', sizeof little);
    succeed(cuDeviceGetName, little, 1, device);
    eq(little[0], 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName, NULL, 16, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName, name, 0, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetName, name, -1, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName, name, sizeof name, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetName, name, sizeof name, -1);
}

static void
identity(void)
{
    CUuuid a, b, zero = {{0}};
    char luid[8];
    unsigned mask;
    memset(&a, 0, sizeof a);
    succeed(cuDeviceGetUuid_v2, &a, device);
    succeed(cuDeviceGetUuid, &b, device);
    ok(!memcmp(&a, &b, sizeof a), "both forms give the same");
    ok(memcmp(&a, &zero, sizeof a), "the UUID is zero");
    succeed(cuDeviceGetUuid_v2, &b, device);
    ok(!memcmp(&a, &b, sizeof a), "asked twice it is the same");
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetUuid_v2, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetUuid_v2, &a, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetUuid_v2, &a, -1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetUuid, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetUuid, &a, 99);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuDeviceGetLuid, luid, &mask, device);
}

static void
memory(void)
{
    size_t bytes = 0, free_bytes = 0, total = 0;
    succeed(cuDeviceTotalMem_v2, &bytes, device);
    ok(bytes >= (size_t)256 << 20, "%zu bytes", bytes);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceTotalMem_v2, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2, &bytes, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceTotalMem_v2, &bytes, -1);
    succeed(cuMemGetInfo_v2, &free_bytes, &total);
    eq(total, bytes);
    ok(free_bytes > 0 && free_bytes <= total, "%zu of %zu bytes free", free_bytes, total);
}

// Attributes with a lowest and highest value that any device of today may have.
static const struct {
    CUdevice_attribute a;
    int lo, hi;
} known[] = {
#define A(name, lo, hi) {CU_DEVICE_ATTRIBUTE_##name, lo, hi}
    A(MAX_THREADS_PER_BLOCK, 1024, 1024),
    A(MAX_BLOCK_DIM_X, 1024, 1024),
    A(MAX_BLOCK_DIM_Y, 1024, 1024),
    A(MAX_BLOCK_DIM_Z, 64, 64),
    A(MAX_GRID_DIM_X, INT_MAX, INT_MAX),
    A(MAX_GRID_DIM_Y, 65535, 65535),
    A(MAX_GRID_DIM_Z, 65535, 65535),
    A(MAX_SHARED_MEMORY_PER_BLOCK, 49152, 49152),
    A(MAX_SHARED_MEMORY_PER_BLOCK_OPTIN, 65536, 1 << 20),
    A(TOTAL_CONSTANT_MEMORY, 65536, 65536),
    A(WARP_SIZE, 32, 32),
    A(MAX_PITCH, INT_MAX, INT_MAX),
    A(MAX_REGISTERS_PER_BLOCK, 65536, 65536),
    A(MAX_REGISTERS_PER_MULTIPROCESSOR, 65536, 65536),
    A(CLOCK_RATE, 1, INT_MAX),
    A(MEMORY_CLOCK_RATE, 1, INT_MAX),
    A(GLOBAL_MEMORY_BUS_WIDTH, 64, 16384),
    A(L2_CACHE_SIZE, 1, INT_MAX),
    A(TEXTURE_ALIGNMENT, 512, 512),
    A(TEXTURE_PITCH_ALIGNMENT, 32, 32),
    A(SURFACE_ALIGNMENT, 512, 512),
    A(GPU_OVERLAP, 1, 1),
    A(ASYNC_ENGINE_COUNT, 1, 16),
    A(MULTIPROCESSOR_COUNT, 1, 4096),
    A(MAX_THREADS_PER_MULTIPROCESSOR, 1024, 2048),
    A(MAX_BLOCKS_PER_MULTIPROCESSOR, 16, 32),
    A(KERNEL_EXEC_TIMEOUT, 0, 1),
    A(INTEGRATED, 0, 1),
    A(CAN_MAP_HOST_MEMORY, 1, 1),
    A(COMPUTE_MODE, CU_COMPUTEMODE_DEFAULT, CU_COMPUTEMODE_DEFAULT),
    A(CONCURRENT_KERNELS, 1, 1),
    A(ECC_ENABLED, 0, 1),
    A(TCC_DRIVER, 0, 0),
    A(UNIFIED_ADDRESSING, 1, 1),
    A(STREAM_PRIORITIES_SUPPORTED, 1, 1),
    A(GLOBAL_L1_CACHE_SUPPORTED, 1, 1),
    A(LOCAL_L1_CACHE_SUPPORTED, 1, 1),
    A(MANAGED_MEMORY, 1, 1),
    A(CONCURRENT_MANAGED_ACCESS, 1, 1),
    A(COMPUTE_PREEMPTION_SUPPORTED, 1, 1),
    A(COOPERATIVE_LAUNCH, 1, 1),
    A(HOST_REGISTER_SUPPORTED, 1, 1),
    A(CAN_USE_64_BIT_STREAM_MEM_OPS, 1, 1),
    A(CAN_USE_STREAM_WAIT_VALUE_NOR, 1, 1),
    A(VIRTUAL_MEMORY_MANAGEMENT_SUPPORTED, 1, 1),
    A(HANDLE_TYPE_POSIX_FILE_DESCRIPTOR_SUPPORTED, 1, 1),
    A(HANDLE_TYPE_WIN32_HANDLE_SUPPORTED, 0, 0),
    A(HANDLE_TYPE_WIN32_KMT_HANDLE_SUPPORTED, 0, 0),
    A(MEMORY_POOLS_SUPPORTED, 1, 1),
    A(MEMPOOL_SUPPORTED_HANDLE_TYPES, 1, 15),
    A(READ_ONLY_HOST_REGISTER_SUPPORTED, 0, 1),
    A(IPC_EVENT_SUPPORTED, 1, 1),
    A(MEM_SYNC_DOMAIN_COUNT, 1, 8),
    A(NUMA_CONFIG, 0, 1),
    A(COMPUTE_CAPABILITY_MAJOR, 5, 99),
    A(COMPUTE_CAPABILITY_MINOR, 0, 9),
    A(MAXIMUM_TEXTURE1D_WIDTH, 65536, INT_MAX),
    A(MAXIMUM_TEXTURE2D_WIDTH, 65536, INT_MAX),
    A(MAXIMUM_TEXTURE2D_HEIGHT, 65536, INT_MAX),
    A(MAXIMUM_TEXTURE3D_WIDTH, 4096, INT_MAX),
    A(MAXIMUM_TEXTURE3D_HEIGHT, 4096, INT_MAX),
    A(MAXIMUM_TEXTURE3D_DEPTH, 4096, INT_MAX),
    A(MAXIMUM_TEXTURE2D_LAYERED_LAYERS, 2048, INT_MAX),
    A(MAXIMUM_TEXTURECUBEMAP_WIDTH, 16384, INT_MAX),
    A(MAXIMUM_SURFACE2D_WIDTH, 32768, INT_MAX),
    A(MAXIMUM_TEXTURE1D_LINEAR_WIDTH, 1 << 27, INT_MAX),
#undef A
};

static void
attributes(void)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        int v = INT_MIN;
        succeed(cuDeviceGetAttribute, &v, known[i].a, device);
        ok(v >= known[i].lo && v <= known[i].hi, "attribute %d is %d, not in %d..%d", (int)known[i].a, v, known[i].lo, known[i].hi);
    }
    int answered = 0, last = 0;
    for (int a = 1; a < CU_DEVICE_ATTRIBUTE_MAX; a++) {
        int v, r = (int)CALL(cuDeviceGetAttribute, &v, (CUdevice_attribute)a, device);
        answered += r == CUDA_SUCCESS;
        last = r == CUDA_SUCCESS ? a : last;
    }
    // 12 and 14 to 16 of the numbers are taken by retired attributes.
    ok(answered >= 130, "%d attributes answered", answered);
    ok(last >= 140, "the last is %d", last);
}

static void
attribute_misuse(void)
{
    int v = -7;
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, NULL, CU_DEVICE_ATTRIBUTE_WARP_SIZE, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, &v, (CUdevice_attribute)0, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, &v, (CUdevice_attribute)-1, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetAttribute, &v, (CUdevice_attribute)10000, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute, &v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetAttribute, &v, CU_DEVICE_ATTRIBUTE_WARP_SIZE, -1);
    eq(v, -7);
}

static void
pci(void)
{
    char id[32], upper[32], cut[32];
    unsigned domain, bus, dev, function;
    CUdevice d = -1;
    succeed(cuDeviceGetPCIBusId, id, sizeof id, device);
    eq(sscanf(id, "%x:%x:%x.%x", &domain, &bus, &dev, &function), 4);
    eq(strlen(id), strlen("0000:00:00.0"));
    eq(domain, attribute(CU_DEVICE_ATTRIBUTE_PCI_DOMAIN_ID));
    eq(bus, attribute(CU_DEVICE_ATTRIBUTE_PCI_BUS_ID));
    eq(dev, attribute(CU_DEVICE_ATTRIBUTE_PCI_DEVICE_ID));
    succeed(cuDeviceGetByPCIBusId, &d, id);
    eq(d, device);
    for (size_t i = 0; i < sizeof id; i++)
        upper[i] = (char)toupper((unsigned char)id[i]);
    succeed(cuDeviceGetByPCIBusId, &d, upper);
    snprintf(cut, sizeof cut, "%x:%x:%x", domain, bus, dev);
    succeed(cuDeviceGetByPCIBusId, &d, cut);
    snprintf(cut, sizeof cut, "%x:%x.%x", bus, dev, function);
    d = -1;
    CUresult r = CALL(cuDeviceGetByPCIBusId, &d, cut);
    ok(domain || (r == CUDA_SUCCESS && d == device), "%s gave %s", cut, api_code(r));
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId, NULL, 16, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetPCIBusId, id, sizeof id, 99);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId, id, 0, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetPCIBusId, id, -1, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId, NULL, "0000:00:00.0");
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId, &d, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId, &d, "");
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetByPCIBusId, &d, "nonsense");
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetByPCIBusId, &d, "7fff:7f:1f.0");
}

static void
pci_cut(void)
{
    char id[32], cut[8];
    succeed(cuDeviceGetPCIBusId, id, sizeof id, device);
    memset(cut, 'x', sizeof cut);
    CALL(cuDeviceGetPCIBusId, cut, 6, device);
    eq(cut[6], 'x');
    ok(cut[5] == 0 || cut[5] == 'x', "not ended within its length");
}

static void
old_queries(void)
{
    int major = -1, minor = -1;
    CUdevprop p;
    memset(&p, 0xff, sizeof p);
    succeed(cuDeviceComputeCapability, &major, &minor, device);
    eq(major, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR));
    eq(minor, attribute(CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR));
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceComputeCapability, NULL, &minor, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceComputeCapability, &major, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceComputeCapability, &major, &minor, 99);
    succeed(cuDeviceGetProperties, &p, device);
    eq(p.maxThreadsPerBlock, 1024);
    eq(p.maxThreadsDim[0], 1024);
    eq(p.maxThreadsDim[2], 64);
    eq(p.maxGridSize[0], INT_MAX);
    eq(p.maxGridSize[1], 65535);
    eq(p.SIMDWidth, 32);
    eq(p.regsPerBlock, 65536);
    eq(p.memPitch, INT_MAX);
    eq(p.totalConstantMemory, 65536);
    eq(p.sharedMemPerBlock, attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK));
    eq(p.clockRate, attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE));
    eq(p.textureAlign, 512);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetProperties, NULL, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetProperties, &p, 99);
}

static void
texture_width(void)
{
    size_t w = 0, wide = 0;
    succeed(cuDeviceGetTexture1DLinearMaxWidth, &w, CU_AD_FORMAT_UNSIGNED_INT8, 1, device);
    ok(w >= (size_t)1 << 27, "%zu texels", w);
    succeed(cuDeviceGetTexture1DLinearMaxWidth, &wide, CU_AD_FORMAT_FLOAT, 4, device);
    ok(wide >= (size_t)1 << 24 && wide <= w, "%zu texels of 16 bytes", wide);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth, NULL, CU_AD_FORMAT_FLOAT, 1, device);
    todo("the format is not checked") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth, &w, (CUarray_format)0x7777, 1, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth, &w, CU_AD_FORMAT_FLOAT, 0, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetTexture1DLinearMaxWidth, &w, CU_AD_FORMAT_FLOAT, 1, 99);
}

static void
affinity(void)
{
    int yes = -1;
    succeed(cuDeviceGetExecAffinitySupport, &yes, CU_EXEC_AFFINITY_TYPE_SM_COUNT, device);
    ok(yes == 0 || yes == 1, "support is %d", yes);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetExecAffinitySupport, NULL, CU_EXEC_AFFINITY_TYPE_SM_COUNT, device);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetExecAffinitySupport, &yes, (CUexecAffinityType)77, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetExecAffinitySupport, &yes, CU_EXEC_AFFINITY_TYPE_SM_COUNT, 99);
}

static void
atomic_capabilities(void)
{
    if (!HAVE(cuDeviceGetHostAtomicCapabilities)) {
        skip("the driver is older than 13.0");
        return;
    }
    CUatomicOperation ops[] = {CU_ATOMIC_OPERATION_INTEGER_ADD, CU_ATOMIC_OPERATION_EXCHANGE, CU_ATOMIC_OPERATION_CAS, CU_ATOMIC_OPERATION_FLOAT_ADD};
    unsigned caps[4] = {77, 77, 77, 77};
    todo("not there") succeed(cuDeviceGetHostAtomicCapabilities, caps, ops, 4, device);
    for (int i = 0; i < 4; i++)
        todo("not there") ok(caps[i] != 77, "capability %d was not written", i);
    ok(!attribute(CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED) || (caps[0] & (CU_ATOMIC_CAPABILITY_SIGNED | CU_ATOMIC_CAPABILITY_SCALAR_32)),
        "native atomics, but no 32-bit add (0x%x)", caps[0]);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities, NULL, ops, 4, device);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities, caps, NULL, 4, device);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities, caps, ops, 0, device);
    ops[0] = (CUatomicOperation)999;
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetHostAtomicCapabilities, caps, ops, 4, device);
    ops[0] = CU_ATOMIC_OPERATION_INTEGER_ADD;
    todo("not there") expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetHostAtomicCapabilities, caps, ops, 4, 99);
}

static void
notified(CUasyncNotificationInfo *info, void *user, CUasyncCallbackHandle callback)
{
    (void)info, (void)callback;
    ++*(int *)user;
}

static void
notifications(void)
{
    CUasyncCallbackHandle h = NULL;
    int count = 0;
    todo("not there") succeed(cuDeviceRegisterAsyncNotification, device, notified, &count, &h);
    todo("not there") ok(h, "no handle");
    todo("not there") succeed(cuDeviceUnregisterAsyncNotification, device, h);
    eq(count, 0);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceRegisterAsyncNotification, device, NULL, NULL, &h);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceRegisterAsyncNotification, device, notified, NULL, NULL);
    todo("not there") expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceRegisterAsyncNotification, 99, notified, NULL, &h);
}

static void
refused(void)
{
    expect2(CUDA_SUCCESS, CUDA_ERROR_NOT_SUPPORTED, cuFlushGPUDirectRDMAWrites, CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TARGET_CURRENT_CTX,
        CU_FLUSH_GPU_DIRECT_RDMA_WRITES_TO_OWNER);
}

API_MAIN(RAW(before_init), CASE(ordinals), CASE(names), CASE(identity), CASE(memory), CASE(attributes), CASE(attribute_misuse), CASE(pci), CASE(pci_cut),
    CASE(old_queries), CASE(texture_width), CASE(affinity), CASE(atomic_capabilities), CASE(notifications), CASE(refused))
