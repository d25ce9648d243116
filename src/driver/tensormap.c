// SPDX-License-Identifier: MIT
// Tensor maps: descriptions of tensors for copies of boxes. backend/tensormap.h has the layout.
#include "driver/driver.h"
#include "api_impl.h"
#include "backend/tensormap.h"

#include <string.h>

enum {
    MOST_BOX = 256,
    MOST_PIXELS = 1024,
    MOST_ELEMENT_STRIDE = 8,
    STRIDE_ALIGN = 16 // bytes; the tensor's address too
};
static const uint64_t most_elements = (uint64_t)1 << 32, most_stride = (uint64_t)1 << 40;

// What both kinds of map are made of.
struct tensor {
    CUtensorMapDataType type;
    unsigned rank;
    void *address;
    const cuuint64_t *dim, *stride;
    const cuuint32_t *element_stride;
    CUtensorMapInterleave interleave;
    CUtensorMapSwizzle swizzle;
    CUtensorMapL2promotion l2;
    CUtensorMapFloatOOBfill fill;
};

static const uint8_t types[] = {
    [CU_TENSOR_MAP_DATA_TYPE_UINT8] = TENSOR_U8,       [CU_TENSOR_MAP_DATA_TYPE_UINT16] = TENSOR_U16,
    [CU_TENSOR_MAP_DATA_TYPE_UINT32] = TENSOR_U32,     [CU_TENSOR_MAP_DATA_TYPE_INT32] = TENSOR_S32,
    [CU_TENSOR_MAP_DATA_TYPE_UINT64] = TENSOR_U64,     [CU_TENSOR_MAP_DATA_TYPE_INT64] = TENSOR_S64,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT16] = TENSOR_F16,    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32] = TENSOR_F32,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT64] = TENSOR_F64,    [CU_TENSOR_MAP_DATA_TYPE_BFLOAT16] = TENSOR_BF16,
    [CU_TENSOR_MAP_DATA_TYPE_FLOAT32_FTZ] = TENSOR_F32_FTZ,
    [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32] = TENSOR_TF32,  [CU_TENSOR_MAP_DATA_TYPE_TFLOAT32_FTZ] = TENSOR_TF32_FTZ,
};

static const struct {
    uint8_t swizzle, atomicity;
    uint16_t span; // bytes of the innermost dimension that it takes at most
} swizzles[] = {
    [CU_TENSOR_MAP_SWIZZLE_NONE] = {TENSOR_LINEAR, TENSOR_ATOM_16, UINT16_MAX},
    [CU_TENSOR_MAP_SWIZZLE_32B] = {TENSOR_SWIZZLE_32, TENSOR_ATOM_16, 32},
    [CU_TENSOR_MAP_SWIZZLE_64B] = {TENSOR_SWIZZLE_64, TENSOR_ATOM_16, 64},
    [CU_TENSOR_MAP_SWIZZLE_128B] = {TENSOR_SWIZZLE_128, TENSOR_ATOM_16, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B] = {TENSOR_SWIZZLE_128, TENSOR_ATOM_32, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B] = {TENSOR_SWIZZLE_128, TENSOR_ATOM_32_FLIP_8, 128},
    [CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B] = {TENSOR_SWIZZLE_128, TENSOR_ATOM_64, 128},
};

static bool
is_float(unsigned type)
{
    return type == TENSOR_F16 || (type >= TENSOR_F32 && type < TENSOR_TYPES);
}

// ---- checks
static CUresult
check_enums(const struct tensor *t)
{
    if ((unsigned)t->type > CU_TENSOR_MAP_DATA_TYPE_16U6_ALIGN16B ||
        (unsigned)t->interleave > CU_TENSOR_MAP_INTERLEAVE_32B ||
        (unsigned)t->swizzle > CU_TENSOR_MAP_SWIZZLE_128B_ATOM_64B ||
        (unsigned)t->l2 > CU_TENSOR_MAP_L2_PROMOTION_L2_256B ||
        (unsigned)t->fill > CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA)
        return fail(CUDA_ERROR_INVALID_VALUE, "type %d, interleave %d, swizzle %d, promotion %d, fill %d",
                    t->type, t->interleave, t->swizzle, t->l2, t->fill);
    if (t->type >= CU_TENSOR_MAP_DATA_TYPE_16U4_ALIGN8B)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "tensors of packed 4-bit and 6-bit numbers");
    if (t->interleave != CU_TENSOR_MAP_INTERLEAVE_NONE)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "interleaved tensors");
    if (t->swizzle == CU_TENSOR_MAP_SWIZZLE_128B_ATOM_32B_FLIP_8B)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "swizzle that flips 8 bytes");
    if (t->fill && !is_float(types[t->type]))
        return fail(CUDA_ERROR_INVALID_VALUE, "NaN as fill of a tensor of integers");
    return CUDA_SUCCESS;
}

static CUresult
check_dimensions(const struct tensor *t)
{
    for (unsigned d = 0; d < t->rank; d++) {
        if (!t->dim[d] || t->dim[d] > most_elements)
            return fail(CUDA_ERROR_INVALID_VALUE, "dimension %u has %llu elements", d,
                        (unsigned long long)t->dim[d]);
        if (!t->element_stride[d] || t->element_stride[d] > MOST_ELEMENT_STRIDE)
            return fail(CUDA_ERROR_INVALID_VALUE, "element stride %u of dimension %u", t->element_stride[d], d);
        if (d && (t->stride[d - 1] % STRIDE_ALIGN || t->stride[d - 1] >= most_stride))
            return fail(CUDA_ERROR_INVALID_VALUE, "stride of %llu bytes of dimension %u",
                        (unsigned long long)t->stride[d - 1], d);
    }
    return CUDA_SUCCESS;
}

static CUresult
check(const CUtensorMap *map, const struct tensor *t, unsigned least_rank)
{
    if (!map || (uintptr_t)map % 64)
        return fail(CUDA_ERROR_INVALID_VALUE, "map at %p", (const void *)map);
    if (t->rank < least_rank || t->rank > TENSOR_DIMS)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u dimensions", t->rank);
    if (!t->address || (uintptr_t)t->address % STRIDE_ALIGN || !t->dim || !t->element_stride ||
        (!t->stride && t->rank > 1))
        return fail(CUDA_ERROR_INVALID_VALUE, "tensor at %p, dimensions %p, strides %p and %p", t->address,
                    (const void *)t->dim, (const void *)t->stride, (const void *)t->element_stride);
    CUresult r = check_enums(t);
    return r == CUDA_SUCCESS ? check_dimensions(t) : r;
}

// The innermost extent of what lands in shared memory.
static CUresult
check_row(const struct tensor *t, uint32_t elements)
{
    uint32_t bytes = elements * tensor_element_bytes(types[t->type]);
    if (!elements || elements > MOST_BOX || bytes % STRIDE_ALIGN || bytes > swizzles[t->swizzle].span)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u elements of the first dimension, swizzle %d", elements,
                    t->swizzle);
    return CUDA_SUCCESS;
}

// ---- maps
static struct tensor_map
describe(const struct tensor *t)
{
    struct tensor_map m = {
        .magic = TENSOR_MAP_MAGIC,
        .address = (uint64_t)(uintptr_t)t->address,
        .rank = (uint8_t)t->rank,
        .type = types[t->type],
        .swizzle = swizzles[t->swizzle].swizzle,
        .atomicity = swizzles[t->swizzle].atomicity,
        .nan_fill = t->fill == CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA,
    };
    for (unsigned d = 0; d < t->rank; d++) {
        m.last[d] = (uint32_t)(t->dim[d] - 1);
        m.element_stride[d] = (uint8_t)t->element_stride[d];
        if (d)
            m.stride[d - 1] = t->stride[d - 1];
    }
    return m;
}

CUresult
pw_cuTensorMapEncodeTiled(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                          const cuuint64_t *dim, const cuuint64_t *stride, const cuuint32_t *box,
                          const cuuint32_t *element_stride, CUtensorMapInterleave interleave,
                          CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    struct tensor t = {type, rank, address, dim, stride, element_stride, interleave, swizzle, l2, fill};
    CUresult r = check(map, &t, 1);
    if (r == CUDA_SUCCESS && !box)
        return fail(CUDA_ERROR_INVALID_VALUE, "no box");
    if (r == CUDA_SUCCESS)
        r = check_row(&t, box[0]);
    if (r != CUDA_SUCCESS)
        return r;
    struct tensor_map m = describe(&t);
    for (unsigned d = 0; d < rank; d++) {
        if (!box[d] || box[d] > MOST_BOX)
            return fail(CUDA_ERROR_INVALID_VALUE, "box of %u elements in dimension %u", box[d], d);
        m.box[d] = (uint16_t)box[d];
    }
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}

// Corners have 16 bits together, as many dimensions as share them.
static CUresult
copy_corners(struct tensor_map *m, const int *lower, const int *upper)
{
    static const int bits[TENSOR_DIMS + 1] = {[3] = 16, [4] = 8, [5] = 5};
    int limit = 1 << (bits[m->rank] - 1);
    for (unsigned d = 0; d < m->rank - 2u; d++) {
        if (lower[d] < -limit || lower[d] >= limit || upper[d] < -limit || upper[d] >= limit)
            return fail(CUDA_ERROR_INVALID_VALUE, "corners %d and %d of a tensor of %u dimensions", lower[d],
                        upper[d], m->rank);
        m->lower[d] = (int16_t)lower[d];
        m->upper[d] = (int16_t)upper[d];
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuTensorMapEncodeIm2col(CUtensorMap *map, CUtensorMapDataType type, cuuint32_t rank, void *address,
                           const cuuint64_t *dim, const cuuint64_t *stride, const int *lower,
                           const int *upper, cuuint32_t channels, cuuint32_t pixels,
                           const cuuint32_t *element_stride, CUtensorMapInterleave interleave,
                           CUtensorMapSwizzle swizzle, CUtensorMapL2promotion l2, CUtensorMapFloatOOBfill fill)
{
    struct tensor t = {type, rank, address, dim, stride, element_stride, interleave, swizzle, l2, fill};
    CUresult r = check(map, &t, 3);
    if (r == CUDA_SUCCESS && (!lower || !upper || !pixels || pixels > MOST_PIXELS))
        return fail(CUDA_ERROR_INVALID_VALUE, "corners at %p and %p, %u pixels", (const void *)lower,
                    (const void *)upper, pixels);
    if (r == CUDA_SUCCESS)
        r = check_row(&t, channels);
    if (r != CUDA_SUCCESS)
        return r;
    struct tensor_map m = describe(&t);
    m.im2col = 1;
    m.box[0] = (uint16_t)channels;
    m.box[1] = (uint16_t)pixels;
    r = copy_corners(&m, lower, upper);
    if (r == CUDA_SUCCESS)
        memcpy(map, &m, sizeof m);
    return r;
}

CUresult
pw_cuTensorMapReplaceAddress(CUtensorMap *map, void *address)
{
    struct tensor_map m;
    if (!map || (uintptr_t)map % 64 || !address || (uintptr_t)address % STRIDE_ALIGN)
        return fail(CUDA_ERROR_INVALID_VALUE, "map at %p, address %p", (void *)map, address);
    memcpy(&m, map, sizeof m);
    if (m.magic != TENSOR_MAP_MAGIC)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p holds no tensor map", (void *)map);
    m.address = (uint64_t)(uintptr_t)address;
    memcpy(map, &m, sizeof m);
    return CUDA_SUCCESS;
}
