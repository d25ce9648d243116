// SPDX-License-Identifier: MIT
// Boxes of tensors between global and shared memory (TMA): all ranks and element sizes, boxes that stick out on any side, element
// strides, swizzles, fills, stores, reductions, boxes for several blocks of a cluster at once, im2col.
// nvcc: -arch=compute_90 -code=compute_90
#include "tensor.h"
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

enum { THREADS = 128, MOST = 48 << 10 };
static const tensor_type U8 = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, "u8"}, U16 = {CU_TENSOR_MAP_DATA_TYPE_UINT16, 2, "u16"},
                         U32 = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, "u32"}, S32 = {CU_TENSOR_MAP_DATA_TYPE_INT32, 4, "s32"},
                         U64 = {CU_TENSOR_MAP_DATA_TYPE_UINT64, 8, "u64"}, S64 = {CU_TENSOR_MAP_DATA_TYPE_INT64, 8, "s64"},
                         F16 = {CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 2, "f16"}, BF16 = {CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, "bf16"},
                         F32 = {CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 4, "f32"}, F64 = {CU_TENSOR_MAP_DATA_TYPE_FLOAT64, 8, "f64"};

__global__ void load(const __grid_constant__ CUtensorMap map, unsigned rank, at c, unsigned bytes, uint8_t *out)
{
    extern __shared__ __align__(1024) uint8_t box[];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0)
        barrier_init(&bar, 1);
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        box[i] = 0xee;
    __syncthreads();
    if (threadIdx.x == 0) {
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        barrier_expect(&bar, bytes);
        tensor_load(box, &map, rank, c, &bar);
    }
    barrier_wait(&bar, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        out[i] = box[i];
}

__global__ void store(const __grid_constant__ CUtensorMap map, unsigned rank, at c, unsigned bytes, const uint8_t *in)
{
    extern __shared__ __align__(1024) uint8_t box[];
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        box[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        tensor_store(&map, rank, c, box);
        bulk_wait();
    }
}

static uint8_t *scratch;

// ---- tiles
struct tile {
    tensor_type type;
    std::vector<cuuint64_t> dim;
    std::vector<cuuint32_t> box, step;
    at c;
    CUtensorMapSwizzle swizzle;
};

// Calls fn(place of the element in shared memory, offset in the tensor or -1) for the elements of the box.
template <class F> static unsigned for_box(const tensor &t, const tile &x, F fn)
{
    unsigned n = 1, count[5];
    for (unsigned d = 0; d < t.rank; d++)
        n *= count[d] = (x.box[d] + x.step[d] - 1) / x.step[d];
    for (unsigned i = 0; i < n; i++) {
        long long at[5];
        unsigned rest = i;
        for (unsigned d = 0; d < t.rank; d++) {
            at[d] = x.c.c[d] + (long long)(rest % count[d]) * x.step[d];
            rest /= count[d];
        }
        fn(i, tensor_offset(t, at));
    }
    return n * t.type.bytes;
}

static void check_load(const tile &x)
{
    tensor t = tensor_new(x.type, x.dim, 32, 99);
    CUtensorMap m = tiled_map(t, x.box, x.step, x.swizzle);
    std::vector<uint8_t> want(MOST);
    unsigned size = t.type.bytes;
    unsigned bytes = for_box(t, x, [&](unsigned i, long long from) {
        for (unsigned b = 0; b < size; b++)
            want[swizzled(x.swizzle, i * size + b)] = from < 0 ? 0 : t.host[from + b];
    });
    load<<<1, THREADS, bytes>>>(m, t.rank, x.c, bytes, scratch);
    CK(cudaGetLastError());
    auto got = to_host(scratch, bytes);
    for (unsigned i = 0; i < bytes; i++)
        expect_eq(x.type.name, t.rank * 100000 + i, got[i], want[i]);
    CK(cudaFree(t.data));
}

static void check_store(const tile &x)
{
    tensor t = tensor_new(x.type, x.dim, 16, 7);
    CUtensorMap m = tiled_map(t, x.box, x.step, x.swizzle);
    std::vector<uint8_t> in(MOST), want = t.host;
    uint32_t seed = 5;
    for (auto &v : in)
        v = (uint8_t)rnd(seed);
    unsigned size = t.type.bytes;
    unsigned bytes = for_box(t, x, [&](unsigned i, long long to) {
        for (unsigned b = 0; b < size && to >= 0; b++)
            want[to + b] = in[swizzled(x.swizzle, i * size + b)];
    });
    CK(cudaMemcpy(scratch, in.data(), bytes, cudaMemcpyHostToDevice));
    store<<<1, THREADS, bytes>>>(m, t.rank, x.c, bytes, scratch);
    CK(cudaGetLastError());
    auto got = to_host(t.data, t.host.size());
    for (size_t i = 0; i < got.size(); i++)
        expect_eq("stored", t.rank * 100000 + (long)i, got[i], want[i]);
    CK(cudaFree(t.data));
}

static void tiles()
{
    const CUtensorMapSwizzle none = CU_TENSOR_MAP_SWIZZLE_NONE, s32 = CU_TENSOR_MAP_SWIZZLE_32B, s64 = CU_TENSOR_MAP_SWIZZLE_64B,
                             s128 = CU_TENSOR_MAP_SWIZZLE_128B;
    const std::vector<tile> list = {
        {U8, {100}, {64}, {1}, {{0}}, none},
        {U8, {100}, {64}, {1}, {{60}}, none},
        {U16, {100}, {64}, {1}, {{-9}}, none},
        {F64, {33}, {32}, {1}, {{-31}}, none},
        {U32, {40, 30}, {16, 8}, {1, 1}, {{4, 7}}, none},
        {U32, {40, 30}, {16, 8}, {1, 1}, {{-5, -3}}, none},
        {U32, {40, 30}, {16, 8}, {1, 1}, {{33, 27}}, none},
        {U32, {40, 30}, {16, 8}, {1, 1}, {{100, 2}}, none},
        {U32, {40, 30}, {16, 8}, {1, 1}, {{-2000000000, 2000000000}}, none},
        {F32, {40, 30}, {16, 12}, {1, 3}, {{1, 2}}, none},
        {F32, {40, 30}, {16, 11}, {1, 4}, {{30, 25}}, none},
        {F16, {64, 20}, {64, 16}, {1, 1}, {{0, 0}}, s128},
        {F16, {70, 20}, {64, 16}, {1, 1}, {{11, 9}}, s128},
        {BF16, {40, 40}, {32, 24}, {1, 1}, {{2, 3}}, s64},
        {U8, {90, 40}, {32, 20}, {1, 1}, {{-7, 25}}, s32},
        {U64, {20, 9}, {16, 9}, {1, 1}, {{5, 0}}, s128},
        {F32, {20, 9}, {8, 32}, {1, 1}, {{5, 0}}, s128}, // a quarter of a line
        {F32, {20, 9}, {4, 32}, {1, 1}, {{5, 0}}, s64},
        {S32, {24, 10, 6}, {8, 4, 3}, {1, 1, 1}, {{3, 8, 4}}, none},
        {S32, {24, 10, 6}, {8, 6, 4}, {1, 2, 3}, {{-1, 0, -2}}, none},
        {F16, {64, 7, 5}, {32, 3, 4}, {1, 1, 1}, {{8, 5, 2}}, s64},
        {U16, {16, 5, 6, 3}, {8, 2, 3, 2}, {1, 1, 1, 1}, {{9, 4, -1, 1}}, none},
        {S64, {6, 5, 4, 3}, {2, 3, 4, 3}, {1, 1, 2, 1}, {{-1, 3, 1, 1}}, none},
        {U8, {32, 4, 5, 3, 2}, {16, 2, 3, 2, 2}, {1, 1, 1, 1, 1}, {{20, 1, 3, 2, 1}}, none},
        {BF16, {32, 4, 5, 3, 2}, {16, 4, 3, 2, 2}, {1, 3, 2, 1, 1}, {{-2, -1, 3, -1, 0}}, s32},
    };
    for (const tile &x : list) {
        check_load(x);
        check_store(x);
    }
}

// Outside of a tensor of floats there may be NaNs.
static void nan_fill()
{
    tensor t = tensor_new(F32, {10, 3}, 0, 3);
    std::vector<float> f(12 * 3);
    for (int i = 0; i < 36; i++)
        f[i] = (float)i;
    CK(cudaMemcpy(t.data, f.data(), 36 * 4, cudaMemcpyHostToDevice));
    CUtensorMap m = tiled_map(t, {16, 4}, {1, 1}, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NAN_REQUEST_ZERO_FMA);
    load<<<1, THREADS, 256>>>(m, 2, at{{-2, 1}}, 256, scratch);
    auto got = to_host((float *)scratch, 64);
    for (int y = 0; y < 4; y++)
        for (int x = 0; x < 16; x++) {
            bool in = x >= 2 && x < 12 && y + 1 < 3;
            float v = got[y * 16 + x];
            if (in)
                expect_eq("inside", y * 16 + x, v, (float)((y + 1) * 12 + x - 2));
            else
                EXPECT(v != v);
        }
    CK(cudaFree(t.data));
}

// ---- reductions
#define REDUCTIONS(R) R(add) R(min) R(max) R(inc) R(dec) R(and) R(or) R(xor)
enum op { op_add, op_min, op_max, op_inc, op_dec, op_and, op_or, op_xor };

__global__ void reduce(const __grid_constant__ CUtensorMap map, at c, int op, unsigned bytes, const uint8_t *in)
{
    extern __shared__ __align__(1024) uint8_t box[];
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        box[i] = in[i];
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x)
        return;
    unsigned s = shared_address(box);
#define CASE(name)                                                                                                                          \
    case op_##name:                                                                                                                         \
        asm volatile("cp.reduce.async.bulk.tensor.2d.global.shared::cta." #name ".tile.bulk_group [%0, {%2, %3}], [%1];" ::"l"(&map), "r"(s), \
                     "r"(c.c[0]), "r"(c.c[1])                                                                                               \
                     : "memory");                                                                                                           \
        break;
    switch (op) { REDUCTIONS(CASE) }
    bulk_wait();
}

template <class T> static T reduced(int op, T a, T b)
{
    switch (op) {
    case op_add:
        return (T)(a + b);
    case op_min:
        return b < a ? b : a;
    case op_max:
        return b > a ? b : a;
    }
    return a;
}
template <class T> static T reduced_bits(int op, T a, T b)
{
    switch (op) {
    case op_inc:
        return a >= b ? 0 : a + 1;
    case op_dec:
        return a == 0 || a > b ? b : a - 1;
    case op_and:
        return a & b;
    case op_or:
        return a | b;
    case op_xor:
        return a ^ b;
    }
    return reduced(op, a, b);
}

// Small whole numbers, so that every format holds results exactly. T: computes; S: lies in memory.
template <class T, class S> static void check_reduction(tensor_type type, int op, T (*fn)(int, T, T))
{
    tensor t = tensor_new(type, {40, 12}, 16, 1);
    std::vector<S> in(16 * 8);
    auto value = [](unsigned k) { return (T)((int)(k * 29 % 41)); };
    size_t row = t.stride[1] / sizeof(S);
    std::vector<S> start(t.host.size() / sizeof(S)), want;
    for (size_t i = 0; i < start.size(); i++)
        start[i] = (S)value((unsigned)i);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (S)value((unsigned)i * 3 + 7);
    want = start;
    at c = {{30, 7}};
    for (int y = 0; y < 8; y++)
        for (int x = 0; x < 16; x++)
            if (c.c[0] + x < 40 && c.c[1] + y < 12) {
                S &w = want[(c.c[1] + y) * row + c.c[0] + x];
                w = (S)fn(op, (T)w, (T)in[y * 16 + x]);
            }
    CK(cudaMemcpy(t.data, start.data(), start.size() * sizeof(S), cudaMemcpyHostToDevice));
    CK(cudaMemcpy(scratch, in.data(), in.size() * sizeof(S), cudaMemcpyHostToDevice));
    CUtensorMap m = tiled_map(t, {16, 8}, {1, 1});
    unsigned bytes = (unsigned)(in.size() * sizeof(S));
    reduce<<<1, THREADS, bytes>>>(m, c, op, bytes, scratch);
    CK(cudaGetLastError());
    auto got = to_host((S *)t.data, start.size());
    for (size_t i = 0; i < got.size(); i++)
        expect_eq(type.name, op * 10000 + (long)i, (double)(T)got[i], (double)(T)want[i]);
    CK(cudaFree(t.data));
}

static void reductions()
{
    for (int op = op_add; op <= op_xor; op++)
        check_reduction<uint32_t, uint32_t>(U32, op, reduced_bits<uint32_t>);
    for (int op : {op_add, op_min, op_max, op_and, op_or, op_xor}) {
        check_reduction<uint64_t, uint64_t>(U64, op, reduced_bits<uint64_t>);
        check_reduction<int, int>(S32, op, reduced_bits<int>);
    }
    for (int op : {op_min, op_max})
        check_reduction<long long, long long>(S64, op, reduced<long long>);
    for (int op : {op_add, op_min, op_max}) {
        check_reduction<float, __half>(F16, op, reduced<float>);
        check_reduction<float, __nv_bfloat16>(BF16, op, reduced<float>);
    }
    check_reduction<float, float>(F32, op_add, reduced<float>);
    check_reduction<double, double>(F64, op_add, reduced<double>);
}

// ---- clusters: each block fetches a part for those that the mask names
__global__ void __cluster_dims__(4, 1, 1) shared_load(const __grid_constant__ CUtensorMap map, unsigned *out)
{
    __shared__ __align__(128) unsigned box[4][32];
    __shared__ uint64_t bar;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), t = threadIdx.x;
    const unsigned masks[4] = {0xf, 0x5, 0xa, 0x8};
    for (int i = 0; i < 4; i++)
        box[i][t] = 0;
    if (t == 0) {
        barrier_init(&bar, 1);
        unsigned bytes = 0;
        for (int i = 0; i < 4; i++)
            bytes += (masks[i] >> rank & 1) * 128;
        barrier_expect(&bar, bytes);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster.sync();
    if (t == 0)
        asm volatile("cp.async.bulk.tensor.1d.shared::cluster.global.tile.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1, {%3}], [%2], %4;" ::"r"(
                         shared_address(box[rank])),
                     "l"(&map), "r"(shared_address(&bar)), "r"(blockIdx.x * 32), "h"((unsigned short)masks[rank])
                     : "memory");
    barrier_wait(&bar, 0);
    for (int i = 0; i < 4; i++)
        out[(blockIdx.x * 4 + i) * 32 + t] = box[i][t];
    cluster.sync();
}

static void multicast()
{
    enum { BLOCKS = 8 };
    tensor t = tensor_new(U32, {BLOCKS * 32}, 0, 17);
    const unsigned *in = (const unsigned *)t.host.data(), masks[4] = {0xf, 0x5, 0xa, 0x8};
    CUtensorMap m = tiled_map(t, {32}, {1});
    shared_load<<<BLOCKS, 32>>>(m, (unsigned *)scratch);
    CK(cudaGetLastError());
    auto got = to_host((unsigned *)scratch, BLOCKS * 128);
    for (int b = 0; b < BLOCKS; b++)
        for (int i = 0; i < 4; i++)
            for (int k = 0; k < 32; k++) {
                unsigned want = masks[i] >> b % 4 & 1 ? in[(b / 4 * 4 + i) * 32 + k] : 0;
                expect_eq("multicast", (b * 4 + i) * 32 + k, got[(b * 4 + i) * 32 + k], want);
            }
    CK(cudaFree(t.data));
}

// ---- im2col
__global__ void load_im2col(const __grid_constant__ CUtensorMap map, unsigned rank, at c, ushort3 o, unsigned bytes, uint8_t *out)
{
    extern __shared__ __align__(1024) uint8_t box[];
    __shared__ uint64_t bar;
    if (threadIdx.x == 0) {
        barrier_init(&bar, 1);
        barrier_expect(&bar, bytes);
        unsigned d = shared_address(box), b = shared_address(&bar);
        if (rank == 3)
            TENSOR_ASM("im2col.", "3d", "%3, %4, %5", ", {%6};" ::"r"(d), "l"(&map), "r"(b), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "h"(o.x) : "memory");
        else if (rank == 4)
            TENSOR_ASM("im2col.", "4d", "%3, %4, %5, %6", ", {%7, %8};" ::"r"(d), "l"(&map), "r"(b), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]), "r"(c.c[3]),
                       "h"(o.x), "h"(o.y)
                       : "memory");
        else
            TENSOR_ASM("im2col.", "5d", "%3, %4, %5, %6, %7", ", {%8, %9, %10};" ::"r"(d), "l"(&map), "r"(b), "r"(c.c[0]), "r"(c.c[1]), "r"(c.c[2]),
                       "r"(c.c[3]), "r"(c.c[4]), "h"(o.x), "h"(o.y), "h"(o.z)
                       : "memory");
    }
    __syncthreads();
    barrier_wait(&bar, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        out[i] = box[i];
}

struct columns {
    std::vector<cuuint64_t> dim; // C, W, H, D, N
    std::vector<int> lower, upper;
    std::vector<cuuint32_t> step;
    unsigned channels, pixels;
    at c;
    ushort3 offset;
    CUtensorMapSwizzle swizzle;
};

static void check_columns(const columns &x)
{
    static encode_im2col *encode = (encode_im2col *)tensor_symbol("cuTensorMapEncodeIm2col");
    tensor t = tensor_new(F16, x.dim, 16, 21);
    CUtensorMap m;
    CUresult r = encode(&m, t.type.type, t.rank, t.data, t.dim, t.stride + 1, x.lower.data(), x.upper.data(), x.channels, x.pixels, x.step.data(),
                        CU_TENSOR_MAP_INTERLEAVE_NONE, x.swizzle, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
    expect_eq("cuTensorMapEncodeIm2col", t.rank, (int)r, 0);
    unsigned bytes = x.channels * x.pixels * 2, space = t.rank - 2;
    std::vector<uint8_t> want(MOST);
    long long base[5];
    for (unsigned d = 0; d < t.rank; d++)
        base[d] = x.c.c[d];
    for (unsigned p = 0; p < x.pixels; p++) {
        long long at[5];
        const unsigned short o[3] = {x.offset.x, x.offset.y, x.offset.z};
        for (unsigned d = 0; d < t.rank; d++)
            at[d] = base[d] + (d >= 1 && d <= space ? o[d - 1] : 0);
        for (unsigned c = 0; c < x.channels; c++, at[0]++) {
            long long from = tensor_offset(t, at);
            for (unsigned b = 0; b < 2; b++)
                want[swizzled(x.swizzle, (p * x.channels + c) * 2 + b)] = from < 0 ? 0 : t.host[from + b];
        }
        // The next pixel of the bounding box; after its last one, the next image.
        unsigned d = 1;
        for (; d <= space; d++) {
            base[d] += x.step[d];
            if (base[d] < (long long)x.dim[d] + x.upper[d - 1])
                break;
            base[d] = x.lower[d - 1];
        }
        if (d > space)
            base[d]++;
    }
    load_im2col<<<1, THREADS, bytes>>>(m, t.rank, x.c, x.offset, bytes, scratch);
    CK(cudaGetLastError());
    auto got = to_host(scratch, bytes);
    for (unsigned i = 0; i < bytes; i++)
        expect_eq("im2col", t.rank * 100000 + i, got[i], want[i]);
    CK(cudaFree(t.data));
}

static void im2col()
{
    const CUtensorMapSwizzle none = CU_TENSOR_MAP_SWIZZLE_NONE, s64 = CU_TENSOR_MAP_SWIZZLE_64B;
    const std::vector<columns> list = {
        {{16, 10, 3}, {0}, {0}, {1, 1, 1}, 16, 24, {{0, 2, 0}}, {0, 0, 0}, none},
        {{16, 10, 3}, {-1}, {-1}, {1, 1, 1}, 8, 24, {{4, -1, 0}}, {2, 0, 0}, none},
        {{32, 9, 7, 3}, {-1, -1}, {-1, -1}, {1, 1, 1, 1}, 32, 64, {{0, -1, -1, 0}}, {0, 0, 0}, s64},
        {{32, 9, 7, 3}, {-1, -1}, {-1, -1}, {1, 1, 1, 1}, 32, 64, {{0, 3, 2, 0}}, {2, 1, 0}, s64},
        {{32, 9, 7, 3}, {-1, -2}, {-3, 0}, {1, 1, 1, 1}, 16, 80, {{16, 2, 1, 1}}, {1, 2, 0}, none}, // W and H differ
        {{32, 9, 8, 3}, {-1, -1}, {-1, -1}, {1, 2, 2, 1}, 16, 40, {{0, -1, -1, 0}}, {1, 0, 0}, none},
        {{8, 6, 5, 4, 2}, {-1, 0, -1}, {-1, 0, 0}, {1, 1, 1, 1, 1}, 8, 100, {{0, 1, 2, 0, 0}}, {1, 0, 1}, none},
    };
    for (const columns &x : list)
        check_columns(x);
}

int main()
{
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    if (p.major < 9) {
        printf("SKIP: needs compute capability 9.0\n");
        return 0;
    }
    scratch = device_new<uint8_t>(MOST);
    tiles();
    nan_fill();
    reductions();
    multicast();
    im2col();
    return app_end();
}
