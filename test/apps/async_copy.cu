// SPDX-License-Identifier: MIT
// Asynchronous copies as CUDA C++ offers them: cuda::barrier with tokens, drops, parities, completion functions and byte counts,
// cuda::pipeline of several stages, producers and consumers that wait for each other within a block and within a warp, and
// cooperative_groups::memcpy_async of sizes that do not fit.
// nvcc: -arch=compute_90 -code=compute_90
#include "app.h"
#include <cooperative_groups.h>
#include <cooperative_groups/memcpy_async.h>
#include <cuda/barrier>
#include <cuda/pipeline>
namespace cg = cooperative_groups;
using block_barrier = cuda::barrier<cuda::thread_scope_block>;

enum { THREADS = 128 };

// ---- barriers
__global__ void tokens(int *out, int rounds)
{
    __shared__ block_barrier bar;
    __shared__ int slot[THREADS];
    int t = threadIdx.x;
    if (t == 0)
        init(&bar, THREADS);
    __syncthreads();
    int v = t;
    for (int i = 0; i < rounds; i++) {
        slot[t] = v;
        bar.arrive_and_wait();
        int other = slot[(t + 33) % THREADS];
        auto token = bar.arrive();
        v = other + i;
        bar.wait(std::move(token));
    }
    out[blockIdx.x * THREADS + t] = v;
}

// Threads leave one after another; the others go on without them.
__global__ void drops(int *out)
{
    __shared__ block_barrier bar;
    __shared__ int count;
    int t = threadIdx.x, seen = 0;
    if (t == 0) {
        init(&bar, THREADS);
        count = 0;
    }
    __syncthreads();
    for (int i = 0; i < THREADS; i++) {
        atomicAdd(&count, 1);
        if (t == i) {
            bar.arrive_and_drop();
            break;
        }
        bar.arrive_and_wait();
        seen++;
    }
    out[t] = seen;
    __syncthreads();
    if (t == 0)
        out[THREADS] = count;
}

struct completion {
    int *sum, *part;
    __device__ void operator()() noexcept
    {
        int s = 0;
        for (int i = 0; i < THREADS; i++)
            s += part[i];
        *sum += s;
    }
};

__global__ void completions(int *out, int rounds)
{
    using barrier = cuda::barrier<cuda::thread_scope_block, completion>;
    __shared__ alignas(barrier) char memory[sizeof(barrier)];
    __shared__ int sum, part[THREADS];
    barrier *bar = reinterpret_cast<barrier *>(memory);
    if (threadIdx.x == 0) {
        sum = 0;
        new (bar) barrier{THREADS, completion{&sum, part}};
    }
    __syncthreads();
    for (int i = 0; i < rounds; i++) {
        part[threadIdx.x] = threadIdx.x * (i + 1);
        bar->arrive_and_wait();
        if (threadIdx.x == 0)
            out[i] = sum;
        bar->arrive_and_wait(); // counts the same parts again
    }
}

// Bytes: one thread copies for all.
__global__ void bulk(const int *in, int *out, int chunks)
{
    __shared__ alignas(128) int buffer[2][256];
    __shared__ block_barrier bar[2];
    int t = threadIdx.x;
    if (t == 0) {
        init(&bar[0], THREADS);
        init(&bar[1], THREADS);
        cuda::device::experimental::fence_proxy_async_shared_cta();
    }
    __syncthreads();
    const int *mine = in + (size_t)blockIdx.x * chunks * 256;
    int sum = 0;
    auto start = [&](int c) {
        block_barrier &b = bar[c & 1];
        if (t == 0) {
            cuda::device::memcpy_async_tx(buffer[c & 1], mine + c * 256, cuda::aligned_size_t<16>(sizeof buffer[0]), b);
            return cuda::device::barrier_arrive_tx(b, 1, sizeof buffer[0]);
        }
        return b.arrive();
    };
    block_barrier::arrival_token token[2];
    token[0] = start(0);
    for (int c = 0; c < chunks; c++) {
        if (c + 1 < chunks)
            token[(c + 1) & 1] = start(c + 1);
        bar[c & 1].wait(std::move(token[c & 1]));
        for (int i = t; i < 256; i += THREADS)
            sum += buffer[c & 1][i] * (i + c);
        __syncthreads();
    }
    out[blockIdx.x * THREADS + t] = sum;
}

// ---- producers and consumers: warp 0 makes, the others use; or half of each warp
__global__ void roles(int *out, int rounds, bool within_warp)
{
    enum { STAGES = 3 };
    __shared__ block_barrier full[STAGES], empty[STAGES];
    __shared__ int slot[STAGES][THREADS];
    int t = threadIdx.x, half = within_warp ? (t & 31) < 16 : t < THREADS / 2;
    int rank = within_warp ? t / 32 * 16 + t % 16 : t % (THREADS / 2);
    if (t == 0)
        for (int i = 0; i < STAGES; i++) {
            init(&full[i], THREADS);
            init(&empty[i], THREADS);
        }
    __syncthreads();
    int sum = 0;
    if (half) {
        for (int i = 0; i < rounds; i++) {
            empty[i % STAGES].arrive_and_wait();
            slot[i % STAGES][rank] = i * 1000 + rank;
            (void)full[i % STAGES].arrive();
        }
    } else {
        for (int i = 0; i < STAGES; i++)
            (void)empty[i].arrive();
        for (int i = 0; i < rounds; i++) {
            full[i % STAGES].arrive_and_wait();
            sum += slot[i % STAGES][(rank + i) % (THREADS / 2)];
            (void)empty[i % STAGES].arrive();
        }
    }
    out[t] = sum;
}

// ---- pipelines
template <int STAGES> __global__ void stages(const int *in, int *out, int batches)
{
    __shared__ cuda::pipeline_shared_state<cuda::thread_scope_block, STAGES> state;
    __shared__ alignas(16) int buffer[STAGES][THREADS];
    auto block = cg::this_thread_block();
    auto pipe = cuda::make_pipeline(block, &state);
    int sum = 0, ahead = 0;
    for (int b = 0; b < batches; b++) {
        for (; ahead < batches && ahead < b + STAGES; ahead++) {
            pipe.producer_acquire();
            cuda::memcpy_async(block, buffer[ahead % STAGES], in + ahead * THREADS, cuda::aligned_size_t<16>(sizeof buffer[0]), pipe);
            pipe.producer_commit();
        }
        pipe.consumer_wait();
        sum = sum * 3 + buffer[b % STAGES][(threadIdx.x * 7 + b) % THREADS];
        pipe.consumer_release();
    }
    out[threadIdx.x] = sum;
}

__global__ void thread_pipeline(const int *in, int *out, int batches)
{
    __shared__ int buffer[4][THREADS];
    auto pipe = cuda::make_pipeline();
    int sum = 0, t = threadIdx.x;
    for (int b = 0; b < batches + 3; b++) {
        if (b < batches) {
            pipe.producer_acquire();
            cuda::memcpy_async(&buffer[b % 4][t], in + b * THREADS + t, sizeof(int), pipe);
            pipe.producer_commit();
        }
        if (b >= 3) {
            if (b < batches)
                cuda::pipeline_consumer_wait_prior<3>(pipe);
            else
                cuda::pipeline_consumer_wait_prior<0>(pipe);
            sum = sum * 5 + buffer[(b - 3) % 4][t];
            pipe.consumer_release();
        }
    }
    out[t] = sum;
}

__global__ void group_copy(const char *in, char *out, int size, int from)
{
    __shared__ alignas(16) char buffer[4096];
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<32>(block);
    cg::memcpy_async(block, buffer, in + from, (size_t)size);
    cg::wait(block);
    for (int i = threadIdx.x; i < size; i += blockDim.x)
        out[i] = buffer[i];
    block.sync();
    int each = size / 4, at = tile.meta_group_rank() * each;
    cg::memcpy_async(tile, buffer + at, in + from + at, (size_t)each);
    cg::memcpy_async(tile, buffer + size + at, in + from + at, (size_t)each);
    cg::wait_prior<1>(tile);
    cg::wait(tile);
    block.sync();
    for (int i = threadIdx.x; i < 4 * each; i += blockDim.x)
        out[size + i] = buffer[size + i] + buffer[i];
}

// ---- checks
static void check_tokens()
{
    enum { BLOCKS = 5, ROUNDS = 9 };
    int v[THREADS], w[THREADS];
    int *d = device_new<int>(BLOCKS * THREADS);
    tokens<<<BLOCKS, THREADS>>>(d, ROUNDS);
    auto got = to_host(d, BLOCKS * THREADS);
    for (int t = 0; t < THREADS; t++)
        v[t] = t;
    for (int i = 0; i < ROUNDS; i++) {
        for (int t = 0; t < THREADS; t++)
            w[t] = v[(t + 33) % THREADS] + i;
        memcpy(v, w, sizeof v);
    }
    for (int i = 0; i < BLOCKS * THREADS; i++)
        expect_eq("tokens", i, got[i], v[i % THREADS]);
    CK(cudaFree(d));
}

static void check_drops()
{
    int *d = device_new<int>(THREADS + 1);
    drops<<<1, THREADS>>>(d);
    auto got = to_host(d, THREADS + 1);
    for (int t = 0; t < THREADS; t++)
        expect_eq("phases before the drop", t, got[t], t);
    expect_eq("arrivals", 0, got[THREADS], THREADS * (THREADS + 1) / 2);
    CK(cudaFree(d));
}

static void check_completions()
{
    enum { ROUNDS = 6 };
    int *d = device_new<int>(ROUNDS), sum = 0;
    completions<<<1, THREADS>>>(d, ROUNDS);
    auto got = to_host(d, ROUNDS);
    for (int i = 0; i < ROUNDS; i++) {
        int part = THREADS * (THREADS - 1) / 2 * (i + 1);
        sum += part;
        expect_eq("completion", i, got[i], sum);
        sum += part;
    }
    CK(cudaFree(d));
}

static void check_bulk()
{
    enum { BLOCKS = 4, CHUNKS = 7 };
    std::vector<int> in(BLOCKS * CHUNKS * 256);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 37 % 1001);
    int *a = to_device(in), *d = device_new<int>(BLOCKS * THREADS);
    bulk<<<BLOCKS, THREADS>>>(a, d, CHUNKS);
    auto got = to_host(d, BLOCKS * THREADS);
    for (int i = 0; i < BLOCKS * THREADS; i++) {
        int want = 0;
        for (int c = 0; c < CHUNKS; c++)
            for (int k = i % THREADS; k < 256; k += THREADS)
                want += in[(i / THREADS * CHUNKS + c) * 256 + k] * (k + c);
        expect_eq("bulk", i, got[i], want);
    }
    CK(cudaFree(a));
    CK(cudaFree(d));
}

static void check_roles(bool within_warp)
{
    enum { ROUNDS = 10 };
    int *d = device_new<int>(THREADS);
    roles<<<1, THREADS>>>(d, ROUNDS, within_warp);
    auto got = to_host(d, THREADS);
    for (int t = 0; t < THREADS; t++) {
        bool makes = within_warp ? t % 32 < 16 : t < THREADS / 2;
        int rank = within_warp ? t / 32 * 16 + t % 16 : t % (THREADS / 2), want = 0;
        for (int i = 0; i < ROUNDS && !makes; i++)
            want += i * 1000 + (rank + i) % (THREADS / 2);
        expect_eq(within_warp ? "roles within a warp" : "roles", t, got[t], want);
    }
    CK(cudaFree(d));
}

static void check_pipelines()
{
    enum { BATCHES = 13 };
    std::vector<int> in(BATCHES * THREADS);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (int)(i * 101 % 977);
    int *a = to_device(in), *d = device_new<int>(THREADS);
    for (int kind = 0; kind < 4; kind++) {
        if (kind == 0)
            stages<1><<<1, THREADS>>>(a, d, BATCHES);
        else if (kind == 1)
            stages<2><<<1, THREADS>>>(a, d, BATCHES);
        else if (kind == 2)
            stages<5><<<1, THREADS>>>(a, d, BATCHES);
        else
            thread_pipeline<<<1, THREADS>>>(a, d, BATCHES);
        auto got = to_host(d, THREADS);
        for (int t = 0; t < THREADS; t++) {
            int want = 0;
            for (int b = 0; b < BATCHES; b++)
                want = kind < 3 ? want * 3 + in[b * THREADS + (t * 7 + b) % THREADS] : want * 5 + in[b * THREADS + t];
            expect_eq("pipeline", kind * 1000 + t, got[t], want);
        }
    }
    CK(cudaFree(a));
    CK(cudaFree(d));
}

static void check_group_copies()
{
    static const int sizes[][2] = {{1024, 0}, {1024, 16}, {1000, 0}, {1001, 3}, {64, 4}, {20, 8}, {4, 1}, {2000, 2}};
    std::vector<char> in(4096);
    for (size_t i = 0; i < in.size(); i++)
        in[i] = (char)(i * 11 % 61);
    char *a = to_device(in), *d = device_new<char>(8192);
    for (auto &s : sizes) {
        CK(cudaMemset(d, 99, 8192));
        group_copy<<<1, THREADS>>>(a, d, s[0], s[1]);
        auto got = to_host(d, 8192);
        int whole = s[0] / 4 * 4;
        for (int i = 0; i < s[0]; i++)
            expect_eq("copied by the block", s[0] * 10000 + i, got[i], in[s[1] + i]);
        for (int i = 0; i < whole; i++)
            expect_eq("copied by tiles", s[0] * 10000 + i, got[s[0] + i], 2 * in[s[1] + i]);
        expect_eq("not touched", s[0], got[s[0] + whole], 99);
    }
    CK(cudaFree(a));
    CK(cudaFree(d));
}

int main()
{
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    if (p.major < 9) {
        printf("SKIP: needs compute capability 9.0\n");
        return 0;
    }
    check_tokens();
    check_drops();
    check_completions();
    check_bulk();
    check_roles(false);
    check_roles(true);
    check_pipelines();
    check_group_copies();
    return app_end();
}
