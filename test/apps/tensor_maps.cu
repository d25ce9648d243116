// SPDX-License-Identifier: MIT
// Tensor maps that kernels change: tensormap.replace on a copy in shared memory, its publication by tensormap.cp_fenceproxy or by plain
// stores and fences, use by another block; maps in global and constant memory; a changed address from the host; setmaxnreg.
// nvcc: -arch=compute_90a -code=compute_90a
#include "tensor.h"

enum { THREADS = 128, WIDTH = 40, HEIGHT = 24 };
__constant__ CUtensorMap constant_map;

__device__ static void fetch(const CUtensorMap *m, at c, unsigned bytes, uint8_t *box, uint64_t *bar, uint8_t *out)
{
    if (threadIdx.x == 0)
        barrier_init(bar, 1);
    __syncthreads();
    if (threadIdx.x == 0) {
        barrier_expect(bar, bytes);
        tensor_load(box, m, 2, c, bar);
    }
    barrier_wait(bar, 0);
    for (unsigned i = threadIdx.x; i < bytes; i += THREADS)
        out[i] = box[i];
}

// Another tensor, other sizes, strides and box, by the fields one after another.
struct change {
    uint64_t address, stride;
    unsigned width, height, box[2], step, swizzle, fill, type;
};

#define REPLACE(field, type, value) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], %1;" ::"r"(map), value : "memory")
#define REPLACE_AT(field, index, type, value) \
    asm volatile("tensormap.replace.tile." field ".shared::cta.b1024." type " [%0], " index ", %1;" ::"r"(map), value : "memory")

__global__ void replace(const __grid_constant__ CUtensorMap start, change x, CUtensorMap *made, bool by_hand)
{
    __shared__ __align__(128) CUtensorMap copy;
    asm volatile("setmaxnreg.dec.sync.aligned.u32 40;");
    unsigned map = shared_address(&copy);
    for (unsigned i = threadIdx.x; i < sizeof copy / 8; i += THREADS)
        ((uint64_t *)&copy)[i] = ((const uint64_t *)&start)[i];
    __syncthreads();
    if (threadIdx.x == 0) {
        REPLACE("global_address", "b64", "l"(x.address));
        REPLACE("rank", "b32", "r"(1));
        REPLACE_AT("box_dim", "0", "b32", "r"(x.box[0]));
        REPLACE_AT("box_dim", "1", "b32", "r"(x.box[1]));
        REPLACE_AT("global_dim", "0", "b32", "r"(x.width));
        REPLACE_AT("global_dim", "1", "b32", "r"(x.height));
        REPLACE_AT("global_stride", "0", "b64", "l"(x.stride));
        REPLACE_AT("element_stride", "0", "b32", "r"(1));
        REPLACE_AT("element_stride", "1", "b32", "r"(x.step));
        asm volatile("tensormap.replace.tile.elemtype.shared::cta.b1024.b32 [%0], 2;" ::"r"(map) : "memory");
        asm volatile("tensormap.replace.tile.interleave_layout.shared::cta.b1024.b32 [%0], 0;" ::"r"(map) : "memory");
        if (x.swizzle == 0)
            asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 0;" ::"r"(map) : "memory");
        else
            asm volatile("tensormap.replace.tile.swizzle_mode.shared::cta.b1024.b32 [%0], 3;" ::"r"(map) : "memory");
        asm volatile("tensormap.replace.tile.fill_mode.shared::cta.b1024.b32 [%0], 0;" ::"r"(map) : "memory");
    }
    __syncthreads();
    if (threadIdx.x >= 32)
        return;
    if (!by_hand) {
        asm volatile("tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%0], [%1], 128;" ::"l"(made), "r"(map) : "memory");
        return;
    }
    if (threadIdx.x < sizeof copy / 8)
        ((uint64_t *)made)[threadIdx.x] = ((uint64_t *)&copy)[threadIdx.x];
    __syncwarp();
    asm volatile("fence.proxy.tensormap::generic.release.gpu;" ::: "memory");
}

__global__ void use(const CUtensorMap *m, at c, unsigned bytes, uint8_t *out)
{
    extern __shared__ __align__(1024) uint8_t box[];
    __shared__ uint64_t bar;
    asm volatile("fence.proxy.tensormap::generic.acquire.gpu [%0], 128;" ::"l"(m) : "memory");
    asm volatile("prefetch.tensormap [%0];" ::"l"(m) : "memory");
    fetch(m, c, bytes, box, &bar, out);
}

__global__ void use_constant(at c, unsigned bytes, uint8_t *out)
{
    extern __shared__ __align__(1024) uint8_t box[];
    __shared__ uint64_t bar;
    fetch(&constant_map, c, bytes, box, &bar, out);
}

static uint8_t *scratch;

static void check_box(const char *what, const tensor &t, at c, unsigned width, unsigned height, unsigned step, CUtensorMapSwizzle s)
{
    auto got = to_host(scratch, width * height * 4);
    for (unsigned i = 0; i < width * height; i++) {
        long long at[2] = {c.c[0] + (long long)(i % width), c.c[1] + (long long)(i / width) * step}, from = tensor_offset(t, at);
        for (unsigned b = 0; b < 4; b++)
            expect_eq(what, i, got[swizzled(s, i * 4 + b)], from < 0 ? 0 : t.host[from + b]);
    }
}

static void replacements()
{
    const tensor_type U8 = {CU_TENSOR_MAP_DATA_TYPE_UINT8, 1, "u8"}, U32 = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, "u32"};
    tensor first = tensor_new(U8, {64, 8, 4}, 0, 3), second = tensor_new(U32, {WIDTH, HEIGHT}, 48, 4);
    CUtensorMap start = tiled_map(first, {16, 4, 2}, {1, 1, 1}), *made;
    CK(cudaMalloc(&made, 2 * sizeof *made));
    for (int k = 0; k < 4; k++) {
        unsigned step = k & 1 ? 2 : 1, height = 16;
        at c = {{20, k & 2 ? -3 : 11}};
        change x = {(uint64_t)second.data, second.stride[1], WIDTH, HEIGHT, {32, height * step}, step, (unsigned)(k & 2), 0, 2};
        replace<<<1, THREADS>>>(start, x, made + (k & 1), k >= 2);
        use<<<1, THREADS, 32 * 16 * 4>>>(made + (k & 1), c, 32 * 16 * 4, scratch);
        CK(cudaGetLastError());
        check_box("replaced", second, c, 32, height, step, k & 2 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_NONE);
    }
    CK(cudaFree(made));
    CK(cudaFree(first.data));
    CK(cudaFree(second.data));
}

static void places()
{
    typedef CUresult replace_address(CUtensorMap *, void *);
    replace_address *move = (replace_address *)tensor_symbol("cuTensorMapReplaceAddress");
    const tensor_type U32 = {CU_TENSOR_MAP_DATA_TYPE_UINT32, 4, "u32"};
    tensor a = tensor_new(U32, {WIDTH, HEIGHT}, 0, 5), b = tensor_new(U32, {WIDTH, HEIGHT}, 0, 6);
    CUtensorMap m = tiled_map(a, {16, 8}, {1, 1}), *d;
    at c = {{30, 20}};
    CK(cudaMemcpyToSymbol(constant_map, &m, sizeof m));
    use_constant<<<1, THREADS, 512>>>(c, 512, scratch);
    CK(cudaGetLastError());
    check_box("constant", a, c, 16, 8, 1, CU_TENSOR_MAP_SWIZZLE_NONE);
    expect_eq("cuTensorMapReplaceAddress", 0, (int)move(&m, b.data), 0);
    CK(cudaMalloc(&d, sizeof m));
    CK(cudaMemcpy(d, &m, sizeof m, cudaMemcpyHostToDevice));
    use<<<1, THREADS, 512>>>(d, c, 512, scratch);
    CK(cudaGetLastError());
    check_box("moved", b, c, 16, 8, 1, CU_TENSOR_MAP_SWIZZLE_NONE);
    CK(cudaFree(d));
    CK(cudaFree(a.data));
    CK(cudaFree(b.data));
}

int main()
{
    setenv("POLYWARP_COMPUTE_CAPABILITY", "9.0", 1); // code for 9.0a runs on nothing else
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    if (p.major != 9) {
        printf("SKIP: needs compute capability 9.0\n");
        return 0;
    }
    scratch = device_new<uint8_t>(4096);
    replacements();
    places();
    return app_end();
}
