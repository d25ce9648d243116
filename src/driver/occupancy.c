// SPDX-License-Identifier: MIT
// Occupancy: how many blocks of a kernel are resident together, and what block size makes that most
// threads.
#include "driver/module.h"
#include "api_impl.h"

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")

enum { WARP = 32 };

static CUresult
need_compiled(CUfunction func, struct function **f)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        r = function_resolve(func, c, f);
    return r == CUDA_SUCCESS ? function_compile(*f) : r;
}

static int
attribute(struct function *f, CUfunction_attribute a)
{
    int value = 0;
    function_attribute(f, a, &value);
    return value;
}

// Blocks per multiprocessor; 0 if a block does not fit at all.
static int
resident(struct function *f, int threads, size_t shared)
{
    if (threads <= 0 || threads > attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK))
        return 0;
    if (shared + f->info.static_shared > (size_t)f->mod->ctx->dev->props->max_shared_block_optin)
        return 0;
    return f->mod->ctx->dev->be->occupancy(f->compiled, (uint32_t)threads, shared);
}

CUresult
pw_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int *blocks, CUfunction func, int threads,
                                                        size_t shared, unsigned flags)
{
    NEED(blocks);
    if (threads <= 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return fail(CUDA_ERROR_INVALID_VALUE, "%d threads, flags 0x%x", threads, flags);
    struct function *f;
    CUresult r = need_compiled(func, &f);
    if (r == CUDA_SUCCESS)
        *blocks = resident(f, threads, shared);
    return r;
}

CUresult
pw_cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, CUfunction func, int threads,
                                               size_t shared)
{
    return pw_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks, func, threads, shared,
                                                                   0);
}

// Of all multiples of a warp the largest block that keeps most threads resident.
CUresult
pw_cuOccupancyMaxPotentialBlockSizeWithFlags(int *min_grid, int *block, CUfunction func,
                                             CUoccupancyB2DSize shared_of, size_t shared, int limit,
                                             unsigned flags)
{
    NEED(min_grid);
    NEED(block);
    if (limit < 0 || flags & ~(unsigned)CU_OCCUPANCY_DISABLE_CACHING_OVERRIDE)
        return fail(CUDA_ERROR_INVALID_VALUE, "limit %d, flags 0x%x", limit, flags);
    struct function *f;
    CUresult r = need_compiled(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    int max = attribute(f, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK);
    if (limit && limit < max)
        max = limit;
    int best = 0, best_block = 0, best_blocks = 0;
    for (int n = (max + WARP - 1) / WARP * WARP; n > 0; n -= WARP) {
        int threads = n < max ? n : max;
        int blocks = resident(f, threads, shared_of ? shared_of(threads) : shared);
        if (blocks * threads > best) {
            best = blocks * threads;
            best_block = threads;
            best_blocks = blocks;
        }
    }
    *block = best_block;
    *min_grid = best_blocks * f->mod->ctx->dev->props->multiprocessors;
    return CUDA_SUCCESS;
}

CUresult
pw_cuOccupancyMaxPotentialBlockSize(int *min_grid, int *block, CUfunction func,
                                    CUoccupancyB2DSize shared_of, size_t shared, int limit)
{
    return pw_cuOccupancyMaxPotentialBlockSizeWithFlags(min_grid, block, func, shared_of, shared,
                                                        limit, 0);
}

// Dynamic shared memory per block that still lets `blocks` of them be resident.
CUresult
pw_cuOccupancyAvailableDynamicSMemPerBlock(size_t *bytes, CUfunction func, int blocks, int threads)
{
    NEED(bytes);
    if (blocks <= 0 || threads <= 0)
        return fail(CUDA_ERROR_INVALID_VALUE, "%d blocks of %d threads", blocks, threads);
    struct function *f;
    CUresult r = need_compiled(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    const struct backend_props *p = f->mod->ctx->dev->props;
    if (resident(f, threads, 0) < blocks)
        return fail(CUDA_ERROR_INVALID_VALUE, "%d blocks of %d threads are never resident", blocks,
                    threads);
    int64_t share = p->max_shared_sm / blocks;
    if (share > p->max_shared_block_optin)
        share = p->max_shared_block_optin;
    share -= f->info.static_shared;
    *bytes = share > 0 ? (size_t)share : 0;
    return CUDA_SUCCESS;
}

// ---- clusters -------------------------------------------------------------
static bool
find_cluster(const CUlaunchConfig *config, uint32_t out[3])
{
    for (unsigned i = 0; i < config->numAttrs; i++) {
        const CUlaunchAttribute *a = &config->attrs[i];
        if (a->id == CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION) {
            out[0] = a->value.clusterDim.x;
            out[1] = a->value.clusterDim.y;
            out[2] = a->value.clusterDim.z;
            return true;
        }
    }
    return false;
}

static CUresult
cluster_of(struct function *f, const CUlaunchConfig *config, uint32_t out[3])
{
    if (config->numAttrs && !config->attrs)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u attributes at NULL", config->numAttrs);
    for (int i = 0; i < 3 && !find_cluster(config, out); i++) {
        int n = 0;
        function_attribute(f, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH + i, &n);
        out[i] = n ? (uint32_t)n : 1;
    }
    return CUDA_SUCCESS;
}

static int
resident_blocks(struct function *f, const CUlaunchConfig *config)
{
    uint64_t threads = (uint64_t)config->blockDimX * config->blockDimY * config->blockDimZ;
    int blocks = threads && threads <= MAX_BLOCK_THREADS
                     ? resident(f, (int)threads, config->sharedMemBytes)
                     : 0;
    return blocks * f->mod->ctx->dev->props->multiprocessors;
}

// A cluster belongs to one worker, so its size is bounded by what a kernel may ask for and by nothing else.
CUresult
pw_cuOccupancyMaxPotentialClusterSize(int *size, CUfunction func, const CUlaunchConfig *config)
{
    NEED(size);
    NEED(config);
    struct function *f;
    CUresult r = need_compiled(func, &f);
    if (r != CUDA_SUCCESS)
        return r;
    int beyond = 0;
    function_attribute(f, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, &beyond);
    *size = beyond ? MAX_CLUSTER : MAX_PORTABLE_CLUSTER;
    return CUDA_SUCCESS;
}

CUresult
pw_cuOccupancyMaxActiveClusters(int *clusters, CUfunction func, const CUlaunchConfig *config)
{
    NEED(clusters);
    NEED(config);
    struct function *f;
    uint32_t cluster[3];
    CUresult r = need_compiled(func, &f);
    if (r == CUDA_SUCCESS)
        r = cluster_of(f, config, cluster);
    if (r == CUDA_SUCCESS)
        r = check_cluster_size(f, cluster);
    if (r != CUDA_SUCCESS)
        return r;
    int blocks = resident_blocks(f, config), n = (int)(cluster[0] * cluster[1] * cluster[2]);
    *clusters = blocks && blocks < n ? 1 : blocks / n;
    return CUDA_SUCCESS;
}
