// SPDX-License-Identifier: MIT
// Attributes and parameters of kernels, the same for CUkernel and CUfunction.
#include "driver/module.h"

static unsigned
product(const uint32_t n[3])
{
    return (n[0] ? n[0] : 1) * (n[1] ? n[1] : 1) * (n[2] ? n[2] : 1);
}

static int
max_threads(const struct ptx_func *f)
{
    const uint32_t *n = f->reqntid[0] ? f->reqntid : f->maxntid;
    unsigned threads = n[0] ? product(n) : MAX_BLOCK_THREADS;
    return threads < MAX_BLOCK_THREADS ? (int)threads : MAX_BLOCK_THREADS;
}

// What static shared memory leaves of `total`.
static int
left_shared(int total, const struct ptx_kernel_info *info)
{
    return (uint32_t)total > info->static_shared ? total - (int)info->static_shared : 0;
}

CUresult
kernel_default_attribute(const struct device *d, const struct ptx_func *f,
                         const struct ptx_kernel_info *info, CUfunction_attribute a, int *value)
{
    switch (a) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
        *value = max_threads(f);
        break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
        *value = (int)info->static_shared;
        break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
        *value = (int)info->const_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
        *value = (int)info->local_bytes;
        break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS:
        *value = (int)info->num_regs;
        break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION:
        *value = f->sym->module->target;
        break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
        *value = device_cc(d, NULL);
        break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        *value = left_shared(d->props->max_shared_block, info);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        *value = CU_SHAREDMEM_CARVEOUT_DEFAULT;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET:
        *value = f->explicit_cluster || f->reqnctapercluster[0];
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        *value = (int)f->reqnctapercluster[a - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH];
        break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA:
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        *value = 0;
        break;
    default:
        return CUDA_ERROR_INVALID_VALUE;
    }
    return CUDA_SUCCESS;
}

CUresult
kernel_check_attribute(const struct device *d, const struct ptx_kernel_info *info,
                       CUfunction_attribute a, int value)
{
    bool good;
    switch (a) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
        good = value >= 0 && value <= left_shared(d->props->max_shared_block_optin, info);
        break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
        good = value >= -1 && value <= 100;
        break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
        good = value >= 0;
        break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED:
        good = value == 0 || value == 1;
        break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
        good = value >= CU_CLUSTER_SCHEDULING_POLICY_DEFAULT &&
               value <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
        break;
    default: // read-only or unknown
        good = false;
    }
    return good ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "attribute %d := %d", a, value);
}

CUresult
kernel_param(const struct ptx_func *f, size_t index, size_t *offset, size_t *size)
{
    if (index >= f->proto.nparam)
        return CUDA_ERROR_INVALID_VALUE;
    *offset = (size_t)f->proto.param[index].offset;
    if (size)
        *size = (size_t)f->proto.param[index].size;
    return CUDA_SUCCESS;
}
