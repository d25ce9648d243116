// SPDX-License-Identifier: MIT
// Tensor maps for whole-program tests: the encoding calls by way of the runtime, a model of a tensor on the host, and the
// instructions.
#pragma once
#include "app.h"
#include <cuda.h>

static void *tensor_symbol(const char *name)
{
    void *f = NULL;
    cudaDriverEntryPointQueryResult found;
    CK(cudaGetDriverEntryPointByVersion(name, &f, 12000, cudaEnableDefault, &found));
    if (found != cudaDriverEntryPointSuccess) {
        printf("no %s\n", name);
        exit(2);
    }
    return f;
}

struct tensor_type {
    CUtensorMapDataType type;
    unsigned bytes;
    const char *name;
};

struct tensor {
    tensor_type type;
    unsigned rank;
    cuuint64_t dim[5], stride[5]; // stride in bytes, of dimension 0 too
    uint8_t *data;                // on the device
    std::vector<uint8_t> host;
};

// Rows padded to 16 bytes and `pad` more bytes (a multiple of 16) in each dimension; filled by random bytes.
static inline tensor tensor_new(tensor_type type, std::vector<cuuint64_t> dim, unsigned pad, uint32_t seed)
{
    tensor t = {};
    t.type = type;
    t.rank = (unsigned)dim.size();
    cuuint64_t size = type.bytes;
    for (unsigned d = 0; d < t.rank; d++) {
        t.dim[d] = dim[d];
        t.stride[d] = size;
        size = (size * dim[d] + 15) / 16 * 16 + pad;
    }
    t.host.resize(size);
    for (size_t i = 0; i < t.host.size(); i++)
        t.host[i] = (uint8_t)rnd(seed);
    t.data = to_device(t.host);
    return t;
}

// Offset of an element, or -1 outside of the tensor.
static inline long long tensor_offset(const tensor &t, const long long *at)
{
    long long o = 0;
    for (unsigned d = 0; d < t.rank; d++) {
        if (at[d] < 0 || at[d] >= (long long)t.dim[d])
            return -1;
        o += at[d] * (long long)t.stride[d];
    }
    return o;
}

// Where byte `at` of a box lies: of each 128 bytes the 16-byte pieces are exchanged by the number of the line.
static inline unsigned swizzled(CUtensorMapSwizzle s, unsigned at)
{
    unsigned line = at / 128, piece = at / 16 % 8;
    unsigned by = s == CU_TENSOR_MAP_SWIZZLE_128B ? line % 8 : s == CU_TENSOR_MAP_SWIZZLE_64B ? line % 4
                                                           : s == CU_TENSOR_MAP_SWIZZLE_32B ? line % 2 : 0;
    return line * 128 + (piece ^ by) * 16 + at % 16;
}

typedef CUresult encode_tiled(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                              const cuuint32_t *, const cuuint32_t *, CUtensorMapInterleave, CUtensorMapSwizzle,
                              CUtensorMapL2promotion, CUtensorMapFloatOOBfill);
typedef CUresult encode_im2col(CUtensorMap *, CUtensorMapDataType, cuuint32_t, void *, const cuuint64_t *, const cuuint64_t *,
                               const int *, const int *, cuuint32_t, cuuint32_t, const cuuint32_t *, CUtensorMapInterleave,
                               CUtensorMapSwizzle, CUtensorMapL2promotion, CUtensorMapFloatOOBfill);

static inline CUtensorMap tiled_map(const tensor &t, std::vector<cuuint32_t> box, std::vector<cuuint32_t> step,
                                    CUtensorMapSwizzle swizzle = CU_TENSOR_MAP_SWIZZLE_NONE,
                                    CUtensorMapFloatOOBfill fill = CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE)
{
    static encode_tiled *encode = (encode_tiled *)tensor_symbol("cuTensorMapEncodeTiled");
    CUtensorMap m;
    CUresult r = encode(&m, t.type.type, t.rank, t.data, t.dim, t.stride + 1, box.data(), step.data(), CU_TENSOR_MAP_INTERLEAVE_NONE,
                        swizzle, CU_TENSOR_MAP_L2_PROMOTION_L2_128B, fill);
    expect_eq("cuTensorMapEncodeTiled", t.rank, (int)r, 0);
    return m;
}

// ---- on the device
__device__ static inline unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__device__ static inline void barrier_init(uint64_t *b, unsigned n)
{
    asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_address(b)), "r"(n) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ static inline void barrier_expect(uint64_t *b, unsigned bytes)
{
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(b)), "r"(bytes) : "memory");
}

__device__ static inline void barrier_wait(uint64_t *b, unsigned parity)
{
    asm volatile("{\n .reg .pred p;\nagain:\n mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n @p bra done;\n bra again;\ndone:\n}" ::"r"(
                     shared_address(b)),
                 "r"(parity)
                 : "memory");
}

struct at {
    int c[5];
};

#define TENSOR_ASM(op, dims, coords, ...)                                                                                       \
    asm volatile("cp.async.bulk.tensor." dims ".shared::cluster.global." op "mbarrier::complete_tx::bytes [%0], [%1, {" coords "}], [%2]" __VA_ARGS__)

__device__ static inline void tensor_load(void *to, const CUtensorMap *m, unsigned rank, at c, uint64_t *b)
{
    unsigned d = shared_address(to), bar = shared_address(b);
    switch (rank) {
    case 1:
        TENSOR_ASM("", "1d", "%3", ";" ::"r"(d), "l"(m), "r"(bar), "r"(c.c[0]) : "memory");
        break;
    case 2:
        TENSOR_ASM("tile.", "2d", "%3, %4", ";" ::"r"(d), "l"(m), "r"(bar), "r"(c.c[0]), "r"(c.c[1]) : "memory");
        break;
    case 3:
        TENSOR_ASM("", "3d", "%3, %4, %5", ";" ::"r"(d), "l"(m), "r"(bar), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]) : "memory");
        break;
    case 4:
        TENSOR_ASM("tile.", "4d", "%3, %4, %5, %6", ";" ::"r"(d), "l"(m), "r"(bar), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "r"(c.c[3]) : "memory");
        break;
    default:
        TENSOR_ASM("", "5d", "%3, %4, %5, %6, %7", ";" ::"r"(d), "l"(m), "r"(bar), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "r"(c.c[3]), "r"(c.c[4]) : "memory");
    }
}

__device__ static inline void tensor_store(const CUtensorMap *m, unsigned rank, at c, const void *from)
{
    unsigned s = shared_address(from);
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    switch (rank) {
    case 1:
        asm volatile("cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%0, {%2}], [%1];" ::"l"(m), "r"(s), "r"(c.c[0]) : "memory");
        break;
    case 2:
        asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(m), "r"(s), "r"(c.c[0]), "r"(c.c[1]) : "memory");
        break;
    case 3:
        asm volatile("cp.async.bulk.tensor.3d.global.shared::cta.bulk_group [%0, {%2, %3, %4}], [%1];" ::"l"(m), "r"(s), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]) : "memory");
        break;
    case 4:
        asm volatile("cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(m), "r"(s), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "r"(c.c[3]) : "memory");
        break;
    default:
        asm volatile("cp.async.bulk.tensor.5d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5, %6}], [%1];" ::"l"(m), "r"(s), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "r"(c.c[3]), "r"(c.c[4]) : "memory");
    }
}

__device__ static inline void bulk_wait(void)
{
    asm volatile("cp.async.bulk.commit_group;\n cp.async.bulk.wait_group 0;" ::: "memory");
}
