// SPDX-License-Identifier: MIT
// Clusters through cooperative groups: a histogram whose bins lie in the shared memory of all blocks of a cluster, the
// cluster's special values in three dimensions, a kernel with a cluster size of its own, and what the API says of sizes.
// nvcc: -arch=compute_90 -code=compute_90
#include "app.h"
#include <cooperative_groups.h>
namespace cg = cooperative_groups;

enum { BINS = 1024, THREADS = 256, N = 1 << 18 };

__global__ void histogram(const int *in, int n, int bins_each, unsigned *out)
{
    extern __shared__ unsigned part[];
    cg::cluster_group cluster = cg::this_cluster();
    for (int i = threadIdx.x; i < bins_each; i += blockDim.x)
        part[i] = 0;
    cluster.sync();
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        unsigned *remote = cluster.map_shared_rank(part, in[i] / bins_each);
        atomicAdd(&remote[in[i] % bins_each], 1u);
    }
    cluster.sync();
    for (int i = threadIdx.x; i < bins_each; i += blockDim.x)
        atomicAdd(&out[cluster.block_rank() * bins_each + i], part[i]);
}

static cudaError_t launch(void *kernel, dim3 grid, dim3 block, dim3 cluster, size_t shared, void **args)
{
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster.x;
    a.val.clusterDim.y = cluster.y;
    a.val.clusterDim.z = cluster.z;
    cudaLaunchConfig_t c = {};
    c.gridDim = grid;
    c.blockDim = block;
    c.dynamicSmemBytes = shared;
    c.attrs = &a;
    c.numAttrs = 1;
    return cudaLaunchKernelExC(&c, kernel, args);
}

static void histograms()
{
    std::vector<int> in(N);
    std::vector<unsigned> want(BINS), got(BINS);
    unsigned x = 12345;
    for (int &v : in) {
        x = x * 1664525u + 1013904223u;
        v = (int)((x >> 8) % BINS * ((x >> 20) % 3) / 2 % BINS);
        want[v]++;
    }
    int *d, n = N;
    unsigned *out;
    CK(cudaMalloc(&d, N * sizeof(int)));
    CK(cudaMalloc(&out, BINS * sizeof(unsigned)));
    CK(cudaMemcpy(d, in.data(), N * sizeof(int), cudaMemcpyHostToDevice));
    for (int size = 1; size <= 8; size *= 2) {
        int each = BINS / size;
        void *args[] = {&d, &n, &each, &out};
        CK(cudaMemset(out, 0, BINS * sizeof(unsigned)));
        CK(launch((void *)histogram, 16, THREADS, size, each * sizeof(unsigned), args));
        CK(cudaMemcpy(got.data(), out, BINS * sizeof(unsigned), cudaMemcpyDeviceToHost));
        for (int i = 0; i < BINS; i++)
            expect_eq("bin", size * 10000 + i, got[i], want[i]);
    }
    CK(cudaFree(d));
    CK(cudaFree(out));
}

// ---- places
struct place {
    uint3 id, index, dim, count;
    unsigned rank, ranks, peer_sum, is_shared, peer_rank, wide;
};

__global__ void places(place *out)
{
    __shared__ unsigned mine;
    cg::cluster_group cluster = cg::this_cluster();
    unsigned flat = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z), sum = 0;
    if (threadIdx.x == 0)
        mine = flat + 1;
    cluster.sync();
    for (unsigned r = 0; r < cluster.num_blocks(); r++)
        sum += *cluster.map_shared_rank(&mine, r);
    unsigned next = (cluster.block_rank() + 1) % cluster.num_blocks();
    unsigned *remote = cluster.map_shared_rank(&mine, next);
    place p;
    asm("mov.u32 %0, %%clusterid.x; mov.u32 %1, %%clusterid.y; mov.u32 %2, %%clusterid.z;" : "=r"(p.id.x), "=r"(p.id.y), "=r"(p.id.z));
    asm("mov.u32 %0, %%nclusterid.x; mov.u32 %1, %%nclusterid.y; mov.u32 %2, %%nclusterid.z;" : "=r"(p.count.x), "=r"(p.count.y), "=r"(p.count.z));
    dim3 index = cluster.block_index(), dim = cluster.dim_blocks();
    p.index = make_uint3(index.x, index.y, index.z);
    p.dim = make_uint3(dim.x, dim.y, dim.z);
    p.rank = cluster.block_rank();
    p.ranks = cluster.num_blocks();
    p.peer_sum = sum;
    p.peer_rank = cluster.query_shared_rank(remote);
    unsigned cta, clu, glob;
    asm("{ .reg .pred p; isspacep.shared::cta p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(cta) : "l"(remote));
    asm("{ .reg .pred p; isspacep.shared::cluster p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(clu) : "l"(remote));
    asm("{ .reg .pred p; isspacep.global p, %1; selp.u32 %0, 1, 0, p; }" : "=r"(glob) : "l"(remote));
    p.is_shared = cta | clu << 1 | glob << 2;
    // The same by 32-bit addresses.
    unsigned a = (unsigned)__cvta_generic_to_shared(&mine), b, r, v;
    asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(b) : "r"(a), "r"(next));
    asm("getctarank.shared::cluster.u32 %0, %1;" : "=r"(r) : "r"(b));
    asm volatile("ld.shared::cluster.u32 %0, [%1];" : "=r"(v) : "r"(b));
    p.wide = r == next && v == *remote && (unsigned)__cvta_generic_to_shared(remote) == b;
    cluster.sync();
    if (threadIdx.x == 0)
        out[flat] = p;
}

static void check_places(dim3 grid, dim3 cluster)
{
    place *d;
    unsigned blocks = grid.x * grid.y * grid.z;
    std::vector<place> got(blocks);
    CK(cudaMalloc(&d, blocks * sizeof(place)));
    void *args[] = {&d};
    CK(launch((void *)places, grid, 64, cluster, 0, args));
    CK(cudaMemcpy(got.data(), d, blocks * sizeof(place), cudaMemcpyDeviceToHost));
    unsigned ranks = cluster.x * cluster.y * cluster.z;
    for (unsigned z = 0, flat = 0; z < grid.z; z++)
        for (unsigned y = 0; y < grid.y; y++)
            for (unsigned x = 0; x < grid.x; x++, flat++) {
                const place &p = got[flat];
                unsigned rank = x % cluster.x + cluster.x * (y % cluster.y + cluster.y * (z % cluster.z)), sum = 0;
                for (unsigned r = 0; r < ranks; r++) {
                    unsigned bx = x - x % cluster.x + r % cluster.x, by = y - y % cluster.y + r / cluster.x % cluster.y;
                    unsigned bz = z - z % cluster.z + r / cluster.x / cluster.y;
                    sum += 1 + bx + grid.x * (by + grid.y * bz);
                }
                bool own = (rank + 1) % ranks == rank;
                EXPECT(p.id.x == x / cluster.x && p.id.y == y / cluster.y && p.id.z == z / cluster.z);
                EXPECT(p.index.x == x % cluster.x && p.index.y == y % cluster.y && p.index.z == z % cluster.z);
                EXPECT(p.dim.x == cluster.x && p.dim.y == cluster.y && p.dim.z == cluster.z);
                EXPECT(p.count.x == grid.x / cluster.x && p.count.y == grid.y / cluster.y && p.count.z == grid.z / cluster.z);
                expect_eq("rank", flat, p.rank, rank);
                expect_eq("ranks", flat, p.ranks, ranks);
                expect_eq("sum over peers", flat, p.peer_sum, sum);
                expect_eq("rank of the next block's memory", flat, p.peer_rank, (rank + 1) % ranks);
                expect_eq("spaces", flat, p.is_shared, own ? 3u : 2u);
                expect_eq("32-bit addresses", flat, p.wide, 1u);
            }
    CK(cudaFree(d));
}

// ---- a size of its own; arrive and wait apart; blocks of several warps of which some end early
__global__ void __cluster_dims__(4, 1, 1) ring(int *out, int rounds)
{
    __shared__ int slot[2];
    cg::cluster_group cluster = cg::this_cluster();
    unsigned rank = cluster.block_rank(), n = cluster.num_blocks();
    if (threadIdx.x >= 96)
        return; // ended threads are not waited for
    int v = (int)blockIdx.x;
    for (int i = 0; i < rounds; i++) {
        if (threadIdx.x == 0)
            cluster.map_shared_rank(slot, (rank + 1) % n)[i & 1] = v;
        auto token = cluster.barrier_arrive();
        int other = i * 3; // work between arrival and wait
        cluster.barrier_wait(static_cast<decltype(token) &&>(token));
        v = slot[i & 1] + other;
    }
    cluster.sync();
    if (threadIdx.x == 95)
        out[blockIdx.x] = v;
}

static void rings()
{
    enum { BLOCKS = 24, ROUNDS = 11 };
    int *d, got[BLOCKS], v[BLOCKS], w[BLOCKS];
    CK(cudaMalloc(&d, sizeof got));
    ring<<<BLOCKS, 128>>>(d, ROUNDS);
    CK(cudaGetLastError());
    CK(cudaMemcpy(got, d, sizeof got, cudaMemcpyDeviceToHost));
    for (int b = 0; b < BLOCKS; b++)
        v[b] = b;
    for (int i = 0; i < ROUNDS; i++) {
        for (int b = 0; b < BLOCKS; b++)
            w[b] = v[b / 4 * 4 + (b + 3) % 4] + i * 3;
        memcpy(v, w, sizeof v);
    }
    for (int b = 0; b < BLOCKS; b++)
        expect_eq("ring", b, got[b], v[b]);
    CK(cudaFree(d));
}

static void sizes()
{
    int has = 0, size = 0, clusters = 0;
    CK(cudaDeviceGetAttribute(&has, cudaDevAttrClusterLaunch, 0));
    expect_eq("cluster launch", 0, has, 1);
    cudaLaunchAttribute a = {};
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = 4;
    a.val.clusterDim.y = a.val.clusterDim.z = 1;
    cudaLaunchConfig_t c = {};
    c.gridDim = 64;
    c.blockDim = 128;
    c.attrs = &a;
    c.numAttrs = 1;
    CK(cudaOccupancyMaxPotentialClusterSize(&size, (void *)places, &c));
    expect_eq("largest portable cluster", 0, size, 8);
    CK(cudaOccupancyMaxActiveClusters(&clusters, (void *)places, &c));
    EXPECT(clusters >= 1);
    CK(cudaFuncSetAttribute((void *)places, cudaFuncAttributeNonPortableClusterSizeAllowed, 1));
    CK(cudaOccupancyMaxPotentialClusterSize(&size, (void *)places, &c));
    expect_eq("largest cluster", 0, size, 16);
    check_places(32, 16);
    cudaFuncAttributes f;
    CK(cudaFuncGetAttributes(&f, (void *)ring));
    expect_eq("required width", 0, f.requiredClusterWidth, 4);
    expect_eq("must be set", 0, f.clusterDimMustBeSet, 1);
}

int main()
{
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    if (p.major < 9) {
        printf("SKIP: needs compute capability 9.0\n");
        return 0;
    }
    histograms();
    check_places(dim3(4, 6, 2), dim3(2, 3, 1));
    check_places(dim3(6, 2, 4), dim3(1, 2, 4));
    check_places(dim3(5, 1, 1), dim3(1, 1, 1));
    check_places(dim3(16, 1, 1), dim3(8, 1, 1));
    rings();
    sizes();
    return app_end();
}
