// SPDX-License-Identifier: MIT
// Bulk copies in every direction, with mbarriers and bulk groups; reductions in memory; stores, reductions and arrivals in other blocks
// of a cluster; cache hints and the instructions that only advise.
// nvcc: -arch=compute_90 -code=compute_90
#include "tensor.h"
#include <cooperative_groups.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
namespace cg = cooperative_groups;

enum { THREADS = 64, WORDS = 256 };

__device__ static unsigned at_rank(const void *p, unsigned rank)
{
    unsigned a;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(a) : "r"(shared_address(p)), "r"(rank));
    return a;
}

// In by an mbarrier, doubled, out by a bulk group.
__global__ void there_and_back(const unsigned *in, unsigned *out)
{
    __shared__ __align__(16) unsigned buffer[WORDS];
    __shared__ uint64_t bar;
    uint64_t policy;
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 0.5;" : "=l"(policy));
    if (threadIdx.x == 0) {
        barrier_init(&bar, 1);
        asm volatile("cp.async.bulk.prefetch.L2.global [%0], %1;" ::"l"(in), "r"(WORDS * 4) : "memory");
        barrier_expect(&bar, WORDS * 4);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(buffer)),
                     "l"(in + blockIdx.x * WORDS), "r"(WORDS * 4), "r"(shared_address(&bar)), "l"(policy)
                     : "memory");
    }
    __syncthreads();
    barrier_wait(&bar, 0);
    for (unsigned i = threadIdx.x; i < WORDS; i += THREADS)
        buffer[i] *= 2;
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    __syncthreads();
    if (threadIdx.x == 0) {
        for (unsigned k = 0; k < 4; k++) {
            asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(out + blockIdx.x * WORDS + k * 64), "r"(shared_address(buffer + k * 64)), "r"(256) : "memory");
            asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        }
        asm volatile("cp.async.bulk.wait_group.read 2;\n cp.async.bulk.wait_group 0;" ::: "memory");
    }
}

static void check_there_and_back()
{
    enum { BLOCKS = 6 };
    std::vector<unsigned> in(BLOCKS * WORDS);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (unsigned)(i * 2654435761u);
    unsigned *a = to_device(in), *d = device_new<unsigned>(in.size());
    there_and_back<<<BLOCKS, THREADS>>>(a, d);
    auto got = to_host(d, in.size());
    for (size_t i = 0; i < in.size(); i++)
        expect_eq("there and back", (long)i, got[i], in[i] * 2);
    CK(cudaFree(a));
    CK(cudaFree(d));
}

// ---- clusters: each block sends to the next one, by copies, stores and reductions that its mbarrier counts
__global__ void __cluster_dims__(4, 1, 1) neighbours(unsigned *out)
{
    __shared__ __align__(16) unsigned mine[64], copied[64], stored[64], sum, top;
    __shared__ uint64_t bar, seen;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), t = threadIdx.x, next = (rank + 1) % 4;
    mine[t] = blockIdx.x * 1000 + t;
    if (t == 0) {
        sum = 5;
        top = 0;
        barrier_init(&bar, 1);
        barrier_init(&seen, 4 * THREADS);
        barrier_expect(&bar, 64 * 4 + 64 * 4 + 64 * 4 + 64 * 4);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster.sync();
    unsigned remote_bar = at_rank(&bar, next);
    if (t == 0)
        asm volatile("cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(at_rank(copied, next)), "r"(shared_address(mine)), "r"(256), "r"(remote_bar) : "memory");
    if (t % 4 == 0)
        asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.u32 [%0], {%1, %2, %3, %4}, [%5];" ::"r"(at_rank(stored + t, next)), "r"(t + rank), "r"(t + rank + 1), "r"(t + rank + 2), "r"(t + rank + 3), "r"(remote_bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];" ::"r"(at_rank(&sum, next)), "r"(t * (rank + 1)), "r"(remote_bar) : "memory");
    asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%0], %1, [%2];" ::"r"(at_rank(&top, next)), "r"((t * 7 + rank) % 61), "r"(remote_bar) : "memory");
    barrier_wait(&bar, 0);
    // Everybody arrives at everybody's second barrier.
    for (unsigned r = 0; r < 4; r++)
        asm volatile("mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%0];" ::"r"(at_rank(&seen, r)) : "memory");
    barrier_wait(&seen, 0);
    unsigned *o = out + blockIdx.x * 256;
    o[t] = copied[t];
    o[64 + t] = stored[t];
    if (t == 0) {
        o[128] = sum;
        o[129] = top;
    }
    // Atomics and plain accesses by 32-bit and generic addresses.
    unsigned *remote = cluster.map_shared_rank(&sum, next), old;
    cluster.sync();
    asm volatile("atom.shared::cluster.add.u32 %0, [%1], 1;" : "=r"(old) : "r"(at_rank(&sum, next)) : "memory");
    atomicMax(remote, old == ~0u); // changes nothing
    asm volatile("st.shared::cluster.u32 [%0], %1;" ::"r"(at_rank(stored + t, next)), "r"(blockIdx.x * 64 + t) : "memory");
    cluster.sync();
    o[130 + t] = stored[t];
    if (t == 0)
        o[129] += sum << 8;
}

static void check_neighbours()
{
    enum { BLOCKS = 8 };
    unsigned *d = device_new<unsigned>(BLOCKS * 256);
    neighbours<<<BLOCKS, THREADS>>>(d);
    CK(cudaGetLastError());
    auto got = to_host(d, BLOCKS * 256);
    for (unsigned b = 0; b < BLOCKS; b++) {
        unsigned from = b / 4 * 4 + (b + 3) % 4, rank = from % 4, sum = 5, top = 0;
        for (unsigned t = 0; t < 64; t++) {
            sum += t * (rank + 1);
            top = (t * 7 + rank) % 61 > top ? (t * 7 + rank) % 61 : top;
            expect_eq("copied", b * 64 + t, got[b * 256 + t], from * 1000 + t);
            expect_eq("stored", b * 64 + t, got[b * 256 + 64 + t], t + rank);
            expect_eq("stored again", b * 64 + t, got[b * 256 + 130 + t], from * 64 + t);
        }
        expect_eq("sum", b, got[b * 256 + 128], sum);
        expect_eq("top and sum", b, got[b * 256 + 129], top + ((sum + 64) << 8));
    }
    CK(cudaFree(d));
}

// One block fetches, all that the mask names receive.
__global__ void __cluster_dims__(4, 1, 1) broadcast(const unsigned *in, unsigned *out)
{
    __shared__ __align__(16) unsigned buffer[64];
    __shared__ uint64_t bar;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), t = threadIdx.x;
    buffer[t] = 7;
    if (t == 0) {
        barrier_init(&bar, 1);
        barrier_expect(&bar, rank == 2 ? 0 : 256);
    }
    asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
    cluster.sync();
    if (t == 0 && rank == 1)
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%0], [%1], %2, [%3], %4;" ::"r"(shared_address(buffer)), "l"(in), "r"(256), "r"(shared_address(&bar)), "h"((unsigned short)0xb) : "memory");
    barrier_wait(&bar, 0);
    out[blockIdx.x * 64 + t] = buffer[t];
    cluster.sync();
}

static void check_broadcast()
{
    std::vector<unsigned> in(64);
    for (unsigned i = 0; i < 64; i++)
        in[i] = i * i + 1;
    unsigned *a = to_device(in), *d = device_new<unsigned>(8 * 64);
    broadcast<<<8, THREADS>>>(a, d);
    CK(cudaGetLastError());
    auto got = to_host(d, 8 * 64);
    for (unsigned i = 0; i < 8 * 64; i++)
        expect_eq("broadcast", i, got[i], i / 64 % 4 == 2 ? 7u : in[i % 64]);
    CK(cudaFree(a));
    CK(cudaFree(d));
}

// ---- reductions: both blocks of a grid, or both blocks of a cluster, add to the same place
#define GLOBAL_KERNEL(name, op, type, T)                                                                                                       \
    __global__ void name(const T *in, T *out)                                                                                                  \
    {                                                                                                                                          \
        __shared__ __align__(16) T buffer[64];                                                                                                 \
        buffer[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];                                                                               \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                                           \
        __syncthreads();                                                                                                                       \
        if (threadIdx.x)                                                                                                                       \
            return;                                                                                                                            \
        asm volatile("cp.reduce.async.bulk.global.shared::cta.bulk_group." op "." type " [%0], [%1], %2;" ::"l"(out), "r"(shared_address(buffer)), \
                     "r"((unsigned)sizeof buffer)                                                                                              \
                     : "memory");                                                                                                              \
        bulk_wait();                                                                                                                           \
    }
#define CLUSTER_KERNEL(name, op, type, T)                                                                                                      \
    __global__ void __cluster_dims__(2, 1, 1) name(const T *in, T *out)                                                                        \
    {                                                                                                                                          \
        __shared__ __align__(16) T buffer[64], result[64];                                                                                     \
        __shared__ uint64_t bar;                                                                                                               \
        cg::cluster_group cluster = cg::this_cluster();                                                                                        \
        buffer[threadIdx.x] = in[blockIdx.x * 64 + threadIdx.x];                                                                               \
        result[threadIdx.x] = out[threadIdx.x];                                                                                                \
        if (threadIdx.x == 0) {                                                                                                                \
            barrier_init(&bar, 1);                                                                                                             \
            barrier_expect(&bar, cluster.block_rank() ? 0 : 2 * sizeof buffer);                                                                \
        }                                                                                                                                      \
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");                                                                           \
        cluster.sync();                                                                                                                        \
        if (threadIdx.x == 0)                                                                                                                  \
            asm volatile("cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes." op "." type " [%0], [%1], %2, [%3];" ::"r"( \
                             at_rank(result, 0)),                                                                                              \
                         "r"(shared_address(buffer)), "r"((unsigned)sizeof buffer), "r"(at_rank(&bar, 0))                                      \
                         : "memory");                                                                                                          \
        barrier_wait(&bar, 0);                                                                                                                 \
        if (cluster.block_rank() == 0)                                                                                                         \
            out[threadIdx.x] = result[threadIdx.x];                                                                                            \
        cluster.sync();                                                                                                                        \
    }
#define INT_OPS(X)                                                                                                                             \
    X(add, u32, unsigned) X(add, s32, int) X(add, u64, unsigned long long) X(min, u32, unsigned) X(min, s32, int) X(max, u32, unsigned)            \
    X(max, s32, int) X(inc, u32, unsigned) X(dec, u32, unsigned) X(and, b32, unsigned) X(or, b32, unsigned) X(xor, b32, unsigned)
#define GLOBAL_ONLY(X)                                                                                                                         \
    X(min, u64, unsigned long long) X(max, u64, unsigned long long) X(min, s64, long long) X(max, s64, long long) X(and, b64, unsigned long long)  \
    X(or, b64, unsigned long long) X(xor, b64, unsigned long long) X(add, f32, float) X(add, f64, double)
#define GLOBAL(op, type, T) GLOBAL_KERNEL(global_##op##_##type, #op, #type, T)
#define CLUSTER(op, type, T) CLUSTER_KERNEL(cluster_##op##_##type, #op, #type, T)
INT_OPS(GLOBAL)
GLOBAL_ONLY(GLOBAL)
INT_OPS(CLUSTER)
GLOBAL_KERNEL(global_add_f16, "add.noftz", "f16", __half)
GLOBAL_KERNEL(global_min_f16, "min", "f16", __half)
GLOBAL_KERNEL(global_max_f16, "max", "f16", __half)
GLOBAL_KERNEL(global_add_bf16, "add.noftz", "bf16", __nv_bfloat16)
GLOBAL_KERNEL(global_min_bf16, "min", "bf16", __nv_bfloat16)
GLOBAL_KERNEL(global_max_bf16, "max", "bf16", __nv_bfloat16)

struct F_add { template <class T> static T of(T a, T b) { return a + b; } };
struct F_min { template <class T> static T of(T a, T b) { return b < a ? b : a; } };
struct F_max { template <class T> static T of(T a, T b) { return b > a ? b : a; } };
struct F_and { template <class T> static T of(T a, T b) { return a & b; } };
struct F_or { template <class T> static T of(T a, T b) { return a | b; } };
struct F_xor { template <class T> static T of(T a, T b) { return a ^ b; } };
struct F_inc { template <class T> static T of(T a, T b) { return a >= b ? 0 : a + 1; } };
struct F_dec { template <class T> static T of(T a, T b) { return a == 0 || a > b ? b : a - 1; } };

// T computes, S lies in memory. With inc and dec both blocks bring the same numbers, so that their order does not matter.
template <class F, class T, class S> static void check_reduction(const char *name, void (*kernel)(const S *, S *), bool same)
{
    std::vector<S> in(128), start(64);
    for (int i = 0; i < 128; i++)
        in[i] = (S)(T)((same ? i % 64 : i) * 37 % 101);
    for (int i = 0; i < 64; i++)
        start[i] = (S)(T)(i * 53 % 97);
    S *a = to_device(in), *d = to_device(start);
    kernel<<<2, THREADS>>>(a, d);
    CK(cudaGetLastError());
    auto got = to_host(d, 64);
    for (int i = 0; i < 64; i++) {
        T want = F::template of<T>(F::template of<T>((T)start[i], (T)in[i]), (T)in[64 + i]);
        expect_eq(name, i, (double)(T)got[i], (double)want);
    }
    CK(cudaFree(a));
    CK(cudaFree(d));
}

static void check_reductions()
{
#define CHECK(where, op, type, T) check_reduction<F_##op, T, T>(#where " " #op " " #type, where##_##op##_##type, !strcmp(#op, "inc") || !strcmp(#op, "dec"));
#define CHECK_GLOBAL(op, type, T) CHECK(global, op, type, T)
#define CHECK_CLUSTER(op, type, T) CHECK(cluster, op, type, T)
    INT_OPS(CHECK_GLOBAL)
    GLOBAL_ONLY(CHECK_GLOBAL)
    INT_OPS(CHECK_CLUSTER)
    check_reduction<F_add, float, __half>("add f16", global_add_f16, false);
    check_reduction<F_min, float, __half>("min f16", global_min_f16, false);
    check_reduction<F_max, float, __half>("max f16", global_max_f16, false);
    check_reduction<F_add, float, __nv_bfloat16>("add bf16", global_add_bf16, false);
    check_reduction<F_min, float, __nv_bfloat16>("min bf16", global_min_bf16, false);
    check_reduction<F_max, float, __nv_bfloat16>("max bf16", global_max_bf16, false);
}

// ---- what only advises, and cp.async with hints
__global__ void hints(const unsigned *in, unsigned *out, unsigned *waste)
{
    __shared__ __align__(16) unsigned buffer[THREADS * 4];
    unsigned t = threadIdx.x, v, leader;
    uint64_t first, range, policy;
    asm volatile("griddepcontrol.wait;" ::: "memory");
    asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
    asm volatile("createpolicy.fractional.L2::evict_last.b64 %0;" : "=l"(first));
    asm volatile("createpolicy.range.global.L2::evict_last.L2::evict_unchanged.b64 %0, [%1], 4096, 8192;" : "=l"(range) : "l"(in));
    asm volatile("createpolicy.cvt.L2.b64 %0, 0x10f0000000000000;" : "=l"(policy));
    asm volatile("prefetch.global.L2::evict_last [%0];" ::"l"(in + t));
    asm volatile("applypriority.global.L2::evict_normal [%0], 128;" ::"l"(in) : "memory");
    asm volatile("discard.global.L2 [%0], 128;" ::"l"(waste) : "memory");
    asm volatile("pmevent 3;");
    asm volatile("ld.global.L1::no_allocate.L2::cache_hint.L2::128B.u32 %0, [%1], %2;" : "=r"(v) : "l"(in + t), "l"(first));
    asm volatile("cp.async.cg.shared.global.L2::cache_hint.L2::256B [%0], [%1], 16, 16, %2;" ::"r"(shared_address(buffer + 4 * t)), "l"(in + 4 * t), "l"(range) : "memory");
    asm volatile("cp.async.wait_all;" ::: "memory");
    v += buffer[4 * t] + buffer[4 * t + 3];
    asm volatile("{ .reg .pred p; elect.sync %0|p, 0xffffffff; }" : "=r"(leader));
    asm volatile("st.global.L2::cache_hint.u32 [%0], %1, %2;" ::"l"(out + t), "r"(v + (leader < 32 ? 0 : 1000)), "l"(first) : "memory");
    asm volatile("red.global.L2::cache_hint.add.u32 [%0], %1, %2;" ::"l"(out + THREADS), "r"(1), "l"(policy) : "memory");
    asm volatile("atom.global.add.L2::cache_hint.u32 %0, [%1], 2, %2;" : "=r"(v) : "l"(out + THREADS), "l"(policy) : "memory");
}

static void check_hints()
{
    std::vector<unsigned> in(4096);
    for (unsigned i = 0; i < 4096; i++)
        in[i] = i * 3 + 1;
    unsigned *a = to_device(in), *d = device_new<unsigned>(THREADS + 1), *waste = device_new<unsigned>(64);
    hints<<<1, THREADS>>>(a, d, waste);
    CK(cudaGetLastError());
    auto got = to_host(d, THREADS + 1);
    for (unsigned t = 0; t < THREADS; t++)
        expect_eq("hints", t, got[t], in[t] + in[4 * t] + in[4 * t + 3]);
    expect_eq("atomics with hints", 0, got[THREADS], 3u * THREADS);
    CK(cudaFree(a));
    CK(cudaFree(d));
    CK(cudaFree(waste));
}

int main()
{
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    if (p.major < 9) {
        printf("SKIP: needs compute capability 9.0\n");
        return 0;
    }
    check_there_and_back();
    check_neighbours();
    check_broadcast();
    check_reductions();
    check_hints();
    return app_end();
}
