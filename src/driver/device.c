// SPDX-License-Identifier: MIT
// Devices: how many, names, ids, memory, old queries, peers. Attributes are in device_attr.c,
// primary contexts in primary.c.
#include "driver/driver.h"
#include "api_impl.h"

#include <stdio.h>
#include <string.h>

struct device *
device_get(CUdevice d)
{
    return d >= 0 && d < process.ndevices ? &process.device[d] : NULL;
}

CUdevice
device_ordinal(const struct device *d)
{
    return d->ordinal;
}

#define NEED_DEVICE(d, n)                                                                          \
    struct device *d = device_get(n);                                                              \
    if (!d)                                                                                        \
    return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", n, process.ndevices)
#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")

CUresult
pw_cuDeviceGetCount(int *count)
{
    NEED(count);
    *count = process.ndevices;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGet(CUdevice *device, int ordinal)
{
    NEED(device);
    NEED_DEVICE(d, ordinal);
    *device = d->ordinal;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetName(char *name, int len, CUdevice dev)
{
    NEED(name);
    NEED_DEVICE(d, dev);
    if (len <= 0)
        return fail(CUDA_ERROR_INVALID_VALUE, "length %d", len);
    snprintf(name, (size_t)len, "%s", d->props->name);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetUuid_v2(CUuuid *uuid, CUdevice dev)
{
    NEED(uuid);
    NEED_DEVICE(d, dev);
    memcpy(uuid, d->props->uuid, sizeof *uuid);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetUuid(CUuuid *uuid, CUdevice dev)
{
    return pw_cuDeviceGetUuid_v2(uuid, dev);
}

// LUIDs are Windows' names of adapters.
CUresult
pw_cuDeviceGetLuid(char *luid, unsigned *mask, CUdevice dev)
{
    (void)luid, (void)mask, (void)dev;
    return fail(CUDA_ERROR_NOT_SUPPORTED, "no LUIDs on this system");
}

CUresult
pw_cuDeviceTotalMem_v2(size_t *bytes, CUdevice dev)
{
    NEED(bytes);
    NEED_DEVICE(d, dev);
    *bytes = d->props->total_memory;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceTotalMem(unsigned *bytes, CUdevice dev)
{
    NEED(bytes);
    size_t n = 0;
    CUresult r = pw_cuDeviceTotalMem_v2(&n, dev);
    if (r == CUDA_SUCCESS)
        *bytes = n > UINT32_MAX ? UINT32_MAX : (unsigned)n;
    return r;
}

// Text of the form 0000:03:00.0, as many bytes as fit.
CUresult
pw_cuDeviceGetPCIBusId(char *text, int len, CUdevice dev)
{
    NEED(text);
    NEED_DEVICE(d, dev);
    if (len <= 0)
        return fail(CUDA_ERROR_INVALID_VALUE, "length %d", len);
    snprintf(text, (size_t)len, "%04x:%02x:%02x.0", d->props->pci_domain, d->props->pci_bus,
             d->props->pci_device);
    return CUDA_SUCCESS;
}

// Accepts domain:bus:device.function, domain:bus:device and bus:device.function, all hexadecimal.
static bool
parse_pci(const char *text, int *domain, int *bus, int *device)
{
    int function = 0, end = 0;
    if (sscanf(text, "%x:%x:%x.%x%n", (unsigned *)domain, (unsigned *)bus, (unsigned *)device,
               (unsigned *)&function, &end) == 4 &&
        !text[end])
        return true;
    if (sscanf(text, "%x:%x:%x%n", (unsigned *)domain, (unsigned *)bus, (unsigned *)device, &end) ==
            3 &&
        !text[end])
        return true;
    *domain = 0;
    return sscanf(text, "%x:%x.%x%n", (unsigned *)bus, (unsigned *)device, (unsigned *)&function,
                  &end) == 3 &&
           !text[end];
}

CUresult
pw_cuDeviceGetByPCIBusId(CUdevice *dev, const char *text)
{
    NEED(dev);
    NEED(text);
    int domain, bus, device;
    if (!parse_pci(text, &domain, &bus, &device))
        return fail(CUDA_ERROR_INVALID_VALUE, "\"%s\" is no PCI bus id", text);
    for (int i = 0; i < process.ndevices; i++) {
        const struct backend_props *p = process.device[i].props;
        if (p->pci_domain == domain && p->pci_bus == bus && p->pci_device == device) {
            *dev = i;
            return CUDA_SUCCESS;
        }
    }
    return fail(CUDA_ERROR_INVALID_DEVICE, "no device at %s", text);
}

CUresult
pw_cuDeviceComputeCapability(int *major, int *minor, CUdevice dev)
{
    NEED(major);
    NEED(minor);
    NEED_DEVICE(d, dev);
    int cc = device_cc(d, tls.caller);
    *major = cc / 10;
    *minor = cc % 10;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetProperties(CUdevprop *prop, CUdevice dev)
{
    NEED(prop);
    NEED_DEVICE(d, dev);
    static const struct {
        CUdevice_attribute attribute;
        size_t offset;
    } fields[] = {
        {CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK, offsetof(CUdevprop, maxThreadsPerBlock)},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X, offsetof(CUdevprop, maxThreadsDim[0])},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y, offsetof(CUdevprop, maxThreadsDim[1])},
        {CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z, offsetof(CUdevprop, maxThreadsDim[2])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X, offsetof(CUdevprop, maxGridSize[0])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y, offsetof(CUdevprop, maxGridSize[1])},
        {CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z, offsetof(CUdevprop, maxGridSize[2])},
        {CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK, offsetof(CUdevprop, sharedMemPerBlock)},
        {CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY, offsetof(CUdevprop, totalConstantMemory)},
        {CU_DEVICE_ATTRIBUTE_WARP_SIZE, offsetof(CUdevprop, SIMDWidth)},
        {CU_DEVICE_ATTRIBUTE_MAX_PITCH, offsetof(CUdevprop, memPitch)},
        {CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK, offsetof(CUdevprop, regsPerBlock)},
        {CU_DEVICE_ATTRIBUTE_CLOCK_RATE, offsetof(CUdevprop, clockRate)},
        {CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT, offsetof(CUdevprop, textureAlign)},
    };
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        *(int *)((char *)prop + fields[i].offset) = device_attribute(d, fields[i].attribute);
    return CUDA_SUCCESS;
}

// Linear memory bound as a 1D texture: limited by 2^28 elements of any format.
CUresult
pw_cuDeviceGetTexture1DLinearMaxWidth(size_t *width, CUarray_format format, unsigned channels,
                                      CUdevice dev)
{
    (void)format;
    NEED(width);
    NEED_DEVICE(d, dev);
    if (channels != 1 && channels != 2 && channels != 4)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u channels", channels);
    *width = (size_t)device_attribute(d, CU_DEVICE_ATTRIBUTE_MAXIMUM_TEXTURE1D_LINEAR_WIDTH);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetExecAffinitySupport(int *supported, CUexecAffinityType type, CUdevice dev)
{
    NEED(supported);
    NEED_DEVICE(d, dev);
    if ((unsigned)type >= CU_EXEC_AFFINITY_TYPE_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "affinity type %d", type);
    *supported = 0;
    return CUDA_SUCCESS;
}

// ---- peers ----------------------------------------------------------------
CUresult
pw_cuDeviceCanAccessPeer(int *can, CUdevice dev, CUdevice peer)
{
    NEED(can);
    NEED_DEVICE(a, dev);
    NEED_DEVICE(b, peer);
    // Devices whose memory is host memory reach each other's; a device is no peer of itself.
    *can = a != b && a->props->integrated && b->props->integrated;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetP2PAttribute(int *value, CUdevice_P2PAttribute attribute, CUdevice src, CUdevice dst)
{
    NEED(value);
    int can;
    CUresult r = pw_cuDeviceCanAccessPeer(&can, src, dst);
    if (r != CUDA_SUCCESS)
        return r;
    if (src == dst)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d is not its own peer", src);
    switch (attribute) {
    case CU_DEVICE_P2P_ATTRIBUTE_PERFORMANCE_RANK:
    case CU_DEVICE_P2P_ATTRIBUTE_CUDA_ARRAY_ACCESS_SUPPORTED:
        *value = 0;
        return CUDA_SUCCESS;
    case CU_DEVICE_P2P_ATTRIBUTE_ACCESS_SUPPORTED:
    case CU_DEVICE_P2P_ATTRIBUTE_NATIVE_ATOMIC_SUPPORTED:
        *value = can;
        return CUDA_SUCCESS;
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", attribute);
    }
}
