// SPDX-License-Identifier: MIT
// Several devices and what they may do with each other's memory.
#include "api.h"
#include "ptx.h"

// NVIDIA's driver shows what the machine has; ours is asked to split it.
static int
devices(void)
{
    int n = 0;
    setenv("POLYWARP_CPU_DEVICES", "2", 1);
    succeed(cuInit, 0);
    succeed(cuDeviceGetCount, &n);
    return n;
}

static void
alone(void)
{
    int can = -1;
    succeed(cuDeviceCanAccessPeer, &can, device, device);
    eq(can, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceCanAccessPeer, NULL, device, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer, &can, 99, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer, &can, device, 99);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceCanAccessPeer, &can, -1, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAttribute, &can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, device);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAttribute, &can, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, device, 99);
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_DEVICE, cuCtxEnablePeerAccess, primary, 0); // itself
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxEnablePeerAccess, NULL, 0);
    expect2(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess, primary);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCtxDisablePeerAccess, NULL);
}

static void
two_devices(void)
{
    if (devices() < 2) {
        skip("one device");
        return;
    }
    CUuuid a, b;
    char pa[32], pb[32];
    int value = -1, can[2] = {-1, -1}, rank;
    CUdevice d = -1;
    succeed(cuDeviceGetUuid_v2, &a, 0);
    succeed(cuDeviceGetUuid_v2, &b, 1);
    ok(memcmp(&a, &b, sizeof a), "two devices with one UUID");
    succeed(cuDeviceGetPCIBusId, pa, sizeof pa, 0);
    succeed(cuDeviceGetPCIBusId, pb, sizeof pb, 1);
    ok(strcmp(pa, pb), "two devices at %s", pa);
    succeed(cuDeviceGetByPCIBusId, &d, pb);
    eq(d, 1);
    succeed(cuDeviceCanAccessPeer, &can[0], 0, 1);
    succeed(cuDeviceCanAccessPeer, &can[1], 1, 0);
    ok(can[0] >= 0 && can[0] <= 1 && can[0] == can[1], "can: %d, %d", can[0], can[1]);
    succeed(cuDeviceGetP2PAttribute, &value, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1);
    eq(value, can[0]);
    succeed(cuDeviceGetP2PAttribute, &rank, CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK, 0, 1);
    succeed(cuDeviceGetP2PAttribute, &value, CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED, 0, 1);
    succeed(cuDeviceGetP2PAttribute, &value, CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED, 0, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAttribute, &value, (CUdevice_P2PAttribute)0, 0, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAttribute, &value, (CUdevice_P2PAttribute)99, 0, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAttribute, NULL, CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED, 0, 1);
    if (!HAVE(cuDeviceGetP2PAtomicCapabilities))
        return;
    CUatomicOperation op = CU_ATOMIC_OPERATION_INTEGER_ADD;
    unsigned caps = 77;
    todo("not there") succeed(cuDeviceGetP2PAtomicCapabilities, &caps, &op, 1, 0, 1);
    todo("not there") ok(caps != 77, "nothing written");
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAtomicCapabilities, NULL, &op, 1, 0, 1);
    todo("not there") expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetP2PAtomicCapabilities, &caps, &op, 0, 0, 1);
    todo("not there") expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetP2PAtomicCapabilities, &caps, &op, 1, 0, 99);
}

enum { N = 1 << 20 };

static void
access_enabled(void)
{
    int can = 0;
    if (devices() < 2 || CALL(cuDeviceCanAccessPeer, &can, 0, 1) || !can) {
        skip("no two devices that are peers");
        return;
    }
    CUcontext c[2] = {NULL, NULL};
    CUdeviceptr p[2] = {0, 0};
    unsigned v = 0;
    for (int i = 0; i < 2; i++) {
        succeed(cuDevicePrimaryCtxRetain, &c[i], i);
        succeed(cuCtxSetCurrent, c[i]);
        succeed(cuMemAlloc_v2, &p[i], N);
        succeed(cuMemsetD32_v2, p[i], 100 + (unsigned)i, N / 4);
    }
    succeed(cuMemcpyPeer, p[0], c[0], p[1], c[1], N / 2);
    succeed(cuMemcpyDtoH_v2, &v, p[0], 4);
    eq(v, 101);
    succeed(cuMemcpyDtoH_v2, &v, p[0] + N - 4, 4);
    eq(v, 100);
    succeed(cuMemcpyDtoD_v2, p[1], p[0] + N / 2, N / 2);
    succeed(cuMemcpyDtoH_v2, &v, p[1], 4);
    eq(v, 100);
    // A kernel of device 1 writes memory of device 0.
    expect(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess, c[0]);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxEnablePeerAccess, c[0], 1);
    succeed(cuCtxEnablePeerAccess, c[0], 0);
    expect(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED, cuCtxEnablePeerAccess, c[0], 0);
    CUfunction f = api_function(api_module(PTX_HEAD PTX_FILL), "fill");
    unsigned seven = 7;
    unsigned long long n = 1024;
    void *args[] = {&p[0], &seven, &n};
    succeed(cuLaunchKernel, f, 8, 1, 1, 128, 1, 1, 0, NULL, args, NULL);
    succeed(cuCtxSynchronize, );
    succeed(cuMemcpyDtoH_v2, &v, p[0] + 4092, 4);
    eq(v, 7);
    succeed(cuCtxDisablePeerAccess, c[0]);
    expect(CUDA_ERROR_PEER_ACCESS_NOT_ENABLED, cuCtxDisablePeerAccess, c[0]);
    int ordinal = -1;
    succeed(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p[0]);
    eq(ordinal, 0);
    succeed(cuPointerGetAttribute, &ordinal, CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL, p[1]);
    eq(ordinal, 1);
    succeed(cuMemcpyPeerAsync, p[1], c[1], p[0], c[0], N, NULL);
    succeed(cuCtxSynchronize, );
    succeed(cuMemcpyDtoH_v2, &v, p[1] + 4092, 4);
    eq(v, 7);
}

// The machine's parts add up to no more than the machine.
static void
split(void)
{
    int n = devices(), sms = 0; // before all else: options are read when the library is loaded
    if (on_nvidia()) {
        skip("not a split machine");
        return;
    }
    size_t bytes[2] = {0, 0}, free_bytes[2], total[2];
    eq(n, 2);
    CUcontext c[2] = {NULL, NULL};
    CUdeviceptr p = 0;
    for (int i = 0; i < 2; i++) {
        succeed(cuDeviceTotalMem_v2, &bytes[i], i);
        succeed(cuDeviceGetAttribute, &sms, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, i);
        ok(sms >= 1, "device %d has %d multiprocessors", i, sms);
        succeed(cuDevicePrimaryCtxRetain, &c[i], i);
        succeed(cuCtxSetCurrent, c[i]);
        succeed(cuMemGetInfo_v2, &free_bytes[i], &total[i]);
        eq(total[i], bytes[i]);
    }
    ok(bytes[0] == bytes[1], "parts of %zu and %zu bytes", bytes[0], bytes[1]);
    size_t f = 0;
    succeed(cuMemAlloc_v2, &p, 64 << 20); // on device 1
    succeed(cuMemGetInfo_v2, &f, NULL);
    ok(f + (64 << 20) <= free_bytes[1], "not taken from device 1");
    succeed(cuCtxSetCurrent, c[0]);
    succeed(cuMemGetInfo_v2, &f, NULL);
    ok(f == free_bytes[0], "taken from device 0");
}

API_MAIN(CASE(alone), RAW(two_devices), RAW(access_enabled), RAW(split))
