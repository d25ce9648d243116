// SPDX-License-Identifier: MIT
// Occupancy: numbers that agree with each other and with the device's attributes.
#include "work.h"

static int
attribute(CUdevice_attribute a)
{
    int v = -1;
    succeed(cuDeviceGetAttribute, &v, a, device);
    return v;
}

static void
active_blocks(void)
{
    int n = -1, m = -1, threads = attribute(CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR),
        most = attribute(CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR);
    work_begin();
    static const int sizes[] = {1, 32, 64, 128, 256, 512, 1024};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, sizes[i], 0);
        int whole = (sizes[i] + 31) / 32 * 32, by_threads = threads / whole;
        eq(n, by_threads < most ? by_threads : most);
        succeed(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &m, nothing, sizes[i], 0, CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE);
        eq(m, n);
    }
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, 32, 48 * 1024);
    int per_sm = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR);
    ok(n >= 1 && n <= per_sm / (48 * 1024), "%d blocks of 48 KiB", n);
}

static void
misuse(void)
{
    int n = -1, b = -1;
    work_begin();
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor, NULL, nothing, 32, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, -1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags, &n, nothing, 32, 0, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialBlockSize, NULL, &b, nothing, NULL, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialBlockSize, &n, NULL, nothing, NULL, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialBlockSizeWithFlags, &n, &b, nothing, NULL, 0, 0, 4);
    if (!on_nvidia()) // which follows NULL
        expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock, NULL, nothing, 1, 32);
}

static void
more_misuse(void)
{
    int n = -1, b = -1;
    size_t bytes = 0;
    work_begin();
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialBlockSize, &n, &b, nothing, NULL, 0, -1);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock, &bytes, nothing, 0, 32);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyAvailableDynamicSMemPerBlock, &bytes, nothing, 1, 0);
}

static void
null_function(void)
{
    int n = -1;
    work_begin();
    expect(CUDA_ERROR_INVALID_HANDLE, cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, NULL, 32, 0);
}

static void
too_large(void)
{
    int n = -1;
    work_begin();
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, 1025, 0);
    eq(n, 0);
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, 32, 1 << 20);
    eq(n, 0);
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, api_function(work_module, "at_most_64"), 65, 0);
    broken("leaves .maxntid out") eq(n, 0);
}

static int sizes_asked;

static size_t
per_thread(int block)
{
    sizes_asked++;
    return (size_t)block * 16;
}

static void
potential(void)
{
    int grid = -1, block = -1, n = -1, sms = attribute(CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT);
    work_begin();
    succeed(cuOccupancyMaxPotentialBlockSize, &grid, &block, nothing, NULL, 0, 0);
    ok(block >= 32 && block <= 1024 && block % 32 == 0, "block %d", block);
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, block, 0);
    eq(grid, n * sms);
    eq(block, 1024);
    succeed(cuOccupancyMaxPotentialBlockSize, &grid, &block, nothing, NULL, 0, 128);
    eq(block, 128);
    succeed(cuOccupancyMaxPotentialBlockSizeWithFlags, &grid, &block, nothing, per_thread, 0, 0, 0);
    ok(sizes_asked > 0, "the function was not asked");
    ok(block >= 32 && block <= 1024, "block %d", block);
    succeed(cuOccupancyMaxPotentialBlockSize, &grid, &block, api_function(work_module, "at_most_64"), NULL, 0, 0);
    ok(block <= 64 && block > 0, "block %d", block);
}

static void
available(void)
{
    size_t one = 0, two = 0, many = 0;
    work_begin();
    succeed(cuOccupancyAvailableDynamicSMemPerBlock, &one, nothing, 1, 32);
    succeed(cuOccupancyAvailableDynamicSMemPerBlock, &two, nothing, 2, 32);
    succeed(cuOccupancyAvailableDynamicSMemPerBlock, &many, nothing, 16, 32);
    ok(one >= two && two >= many && many > 0, "%zu %zu %zu", one, two, many);
    int n = 0;
    succeed(cuOccupancyMaxActiveBlocksPerMultiprocessor, &n, nothing, 32, many);
    ok(n >= 1, "%d blocks", n);
    int fixed_in = attribute(CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN);
    ok(one <= (size_t)fixed_in, "%zu of %d", one, fixed_in);
}

static void
clusters(void)
{
    int n = -1, size = -1;
    CUlaunchAttribute a;
    CUlaunchConfig c;
    work_begin();
    memset(&c, 0, sizeof c);
    memset(&a, 0, sizeof a);
    c.gridDimX = 64;
    c.gridDimY = c.gridDimZ = c.blockDimY = c.blockDimZ = 1;
    c.blockDimX = 128;
    a.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    a.value.clusterDim.x = a.value.clusterDim.y = a.value.clusterDim.z = 1;
    c.attrs = &a;
    c.numAttrs = 1;
    succeed(cuOccupancyMaxActiveClusters, &n, nothing, &c);
    ok(n >= 1, "%d clusters of one block", n);
    succeed(cuOccupancyMaxPotentialClusterSize, &size, nothing, &c);
    ok(size >= 1, "cluster size %d", size);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveClusters, NULL, nothing, &c);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxActiveClusters, &n, nothing, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialClusterSize, NULL, nothing, &c);
    expect(CUDA_ERROR_INVALID_VALUE, cuOccupancyMaxPotentialClusterSize, &size, nothing, NULL);
}

API_MAIN(CASE(active_blocks), CASE(misuse), CASE(more_misuse), CASE(null_function), CASE(too_large), CASE(potential), CASE(available), CASE(clusters))
