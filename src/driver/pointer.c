// SPDX-License-Identifier: MIT
// What can be asked of a pointer.
#include "driver/memory.h"
#include "api_impl.h"

#include <string.h>

static bool
host_kind(const struct mem *m)
{
    return m->kind == MK_HOST || m->kind == MK_REGISTERED;
}

// Writes the attribute of the allocation m that holds p. INVALID_VALUE where it does not have it.
static CUresult
attribute(void *out, CUpointer_attribute a, uintptr_t p, const struct mem *m)
{
    switch (a) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
        // Memory of pools and mappings belongs to a device, not to a context.
        *(CUcontext *)out = m->kind == MK_POOL || m->kind == MK_VMM ? NULL : (CUcontext)m->ctx;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
        *(unsigned *)out = host_kind(m) ? CU_MEMORYTYPE_HOST : CU_MEMORYTYPE_DEVICE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        *(CUdeviceptr *)out = p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
        if (!host_kind(m) && m->kind != MK_MANAGED)
            return CUDA_ERROR_INVALID_VALUE;
        *(void **)out = (void *)p;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        return CUDA_ERROR_NOT_SUPPORTED;
    case CU_POINTER_ATTRIBUTE_SYNC_MEMOPS:
        *(unsigned *)out = m->sync_memops;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
        *(unsigned long long *)out = m->buffer_id;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_MANAGED:
        *(unsigned *)out = m->kind == MK_MANAGED;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = m->dev->ordinal;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_IS_LEGACY_CUDA_IPC_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_GPU_DIRECT_RDMA_CAPABLE:
    case CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE:
        *(unsigned *)out = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
        *(CUdeviceptr *)out = m->addr;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
        *(size_t *)out = m->size;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MAPPED:
        *(unsigned *)out = 1;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
        *(unsigned long long *)out = 0;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_ACCESS_FLAGS:
        *(unsigned *)out = CU_POINTER_ATTRIBUTE_ACCESS_FLAG_READWRITE;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
        *(CUmemoryPool *)out = m->kind == MK_POOL ? (CUmemoryPool)m->pool : NULL;
        return CUDA_SUCCESS;
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        *(unsigned long long *)out = m->buffer_id;
        return CUDA_SUCCESS;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
}

// What cuPointerGetAttributes gives for a pointer that no allocation holds, and for attributes that
// an allocation lacks: zero, but CU_DEVICE_INVALID for the device's ordinal.
static CUresult
no_attribute(void *out, CUpointer_attribute a)
{
    switch (a) {
    case CU_POINTER_ATTRIBUTE_CONTEXT:
    case CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE:
    case CU_POINTER_ATTRIBUTE_HOST_POINTER:
    case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
    case CU_POINTER_ATTRIBUTE_BUFFER_ID:
    case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    case CU_POINTER_ATTRIBUTE_ALLOWED_HANDLE_TYPES:
    case CU_POINTER_ATTRIBUTE_MAPPING_SIZE:
    case CU_POINTER_ATTRIBUTE_MAPPING_BASE_ADDR:
    case CU_POINTER_ATTRIBUTE_MEMORY_BLOCK_ID:
        memset(out, 0, 8);
        break;
    case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
        *(int *)out = CU_DEVICE_INVALID;
        break;
    case CU_POINTER_ATTRIBUTE_P2P_TOKENS:
        memset(out, 0, sizeof(CUDA_POINTER_ATTRIBUTE_P2P_TOKENS));
        break;
    default:
        if (a < CU_POINTER_ATTRIBUTE_CONTEXT || a > CU_POINTER_ATTRIBUTE_IS_HW_DECOMPRESS_CAPABLE)
            return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
        *(unsigned *)out = 0;
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuPointerGetAttribute(void *out, CUpointer_attribute a, CUdeviceptr p)
{
    struct mem m;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    // Not logged: programs ask of any pointer in order to learn whether it is ours.
    if (!mem_find((void *)(uintptr_t)p, &m))
        return CUDA_ERROR_INVALID_VALUE;
    return attribute(out, a, p, &m);
}

CUresult
pw_cuPointerGetAttributes(unsigned n, CUpointer_attribute *attributes, void **out, CUdeviceptr p)
{
    if (!n || !attributes || !out)
        return fail(CUDA_ERROR_INVALID_VALUE, "an array is NULL or empty");
    struct mem m;
    bool found = mem_find((void *)(uintptr_t)p, &m);
    for (unsigned i = 0; i < n; i++) {
        if (!out[i])
            return fail(CUDA_ERROR_INVALID_VALUE, "output %u is NULL", i);
        CUresult r = found ? attribute(out[i], attributes[i], p, &m) : CUDA_ERROR_INVALID_VALUE;
        if (r)
            r = no_attribute(out[i], attributes[i]);
        if (r)
            return r;
    }
    return CUDA_SUCCESS;
}

static void
set_sync_memops(struct mem *m, void *value)
{
    m->sync_memops = *(unsigned *)value;
}

CUresult
pw_cuPointerSetAttribute(const void *value, CUpointer_attribute a, CUdeviceptr p)
{
    if (!value || a != CU_POINTER_ATTRIBUTE_SYNC_MEMOPS)
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d cannot be set", (int)a);
    if (!mem_update((void *)(uintptr_t)p, set_sync_memops, (void *)value))
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is in no allocation", (unsigned long long)p);
    return CUDA_SUCCESS;
}
