// Cooperative groups: tiles, coalesced groups, block and whole-grid synchronisation.
#include "app.h"
#include <cooperative_groups.h>
#include <cooperative_groups/reduce.h>
namespace cg = cooperative_groups;
__global__ void tiles(int *o)
{
    auto block = cg::this_thread_block();
    auto tile = cg::tiled_partition<8>(block);
    int v = block.thread_rank();
    o[v] = cg::reduce(tile, v, cg::plus<int>());
    if (v % 3 == 0) {
        auto c = cg::coalesced_threads();
        o[128 + v] = c.size() * 100 + c.thread_rank();
    }
    block.sync();
}
__global__ void phases(int *a, int *b, int n)
{
    auto grid = cg::this_grid();
    for (int r = 0; r < 4; r++) {
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            b[i] = a[(i + 1) % n] + 1;
        grid.sync();
        for (int i = grid.thread_rank(); i < n; i += grid.size())
            a[i] = b[(i + 1) % n] * 2;
        grid.sync();
    }
}
int main()
{
    int *o = device_new<int>(256);
    tiles<<<1, 128>>>(o);
    auto r = to_host(o, 256);
    for (int i = 0; i < 128; i++) {
        int b = i & ~7;
        expect_eq("tile", i, r[i], 8 * b + 28);
        if (i % 3 == 0) {
            int first = i / 32 * 32, count = 0, rank = 0;
            for (int k = first; k < first + 32; k++)
                if (k % 3 == 0)
                    count++, rank += k < i;
            expect_eq("coalesced", i, r[128 + i], count * 100 + rank);
        }
    }
    const int n = 1000;
    std::vector<int> a(n), b(n);
    for (int i = 0; i < n; i++)
        a[i] = i;
    int *da = to_device(a), *db = device_new<int>(n), k = n, blocks = 0, sms = 0;
    CK(cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, phases, 64, 0));
    CK(cudaDeviceGetAttribute(&sms, cudaDevAttrMultiProcessorCount, 0));
    int grid = blocks * sms < 12 ? blocks * sms : 12;
    void *args[] = {&da, &db, &k};
    CK(cudaLaunchCooperativeKernel(phases, grid, 64, args, 0, 0));
    auto ra = to_host(da, n);
    for (int q = 0; q < 4; q++) {
        for (int i = 0; i < n; i++)
            b[i] = a[(i + 1) % n] + 1;
        for (int i = 0; i < n; i++)
            a[i] = b[(i + 1) % n] * 2;
    }
    for (int i = 0; i < n; i++)
        expect_eq("grid sync", i, ra[i], a[i]);
    EXPECT(cudaLaunchCooperativeKernel(phases, blocks * sms + 1, 64, args, 0, 0) == cudaErrorCooperativeLaunchTooLarge);
    return app_end();
}
