// SPDX-License-Identifier: MIT
// The 128 bytes of a CUtensorMap: written by the driver and by kernels (tensormap.replace), read by copies of boxes of
// tensors. Programs may move them but know nothing of them.
#ifndef BACKEND_TENSORMAP_H
#define BACKEND_TENSORMAP_H

#include <stddef.h>
#include <stdint.h>

enum { TENSOR_DIMS = 5, TENSOR_MAP_MAGIC = 0x7054 };

// Numbered as PTX numbers element types in tensormap.replace.
enum tensor_type {
    TENSOR_U8,
    TENSOR_U16,
    TENSOR_U32,
    TENSOR_S32,
    TENSOR_U64,
    TENSOR_S64,
    TENSOR_F16,
    TENSOR_F32,
    TENSOR_F32_FTZ,
    TENSOR_F64,
    TENSOR_BF16,
    TENSOR_TF32,
    TENSOR_TF32_FTZ,
    TENSOR_TYPES
};

enum tensor_swizzle { TENSOR_LINEAR, TENSOR_SWIZZLE_32, TENSOR_SWIZZLE_64, TENSOR_SWIZZLE_128 };
enum tensor_atomicity { TENSOR_ATOM_16, TENSOR_ATOM_32, TENSOR_ATOM_32_FLIP_8, TENSOR_ATOM_64 };

struct tensor_map {
    uint64_t address;
    uint64_t stride[TENSOR_DIMS - 1]; // bytes, of dimensions 1 ..
    uint32_t last[TENSOR_DIMS];       // elements of each dimension, less one
    uint16_t box[TENSOR_DIMS];        // elements; im2col: channels and pixels in the first two
    int16_t lower[3], upper[3];       // im2col: the bounding box's corners
    uint8_t element_stride[TENSOR_DIMS];
    uint8_t rank, type, swizzle, atomicity;
    uint8_t im2col;
    uint8_t nan_fill;
    uint16_t magic;
    uint8_t unused[32];
};

_Static_assert(sizeof(struct tensor_map) == 128, "CUtensorMap has 128 bytes");

static inline unsigned
tensor_element_bytes(unsigned type)
{
    static const uint8_t bytes[TENSOR_TYPES] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
    return type < TENSOR_TYPES ? bytes[type] : 0;
}

#endif
