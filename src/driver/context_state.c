// SPDX-License-Identifier: MIT
// What a context says of itself and lets programs set: device, flags, limits, cache preferences,
// peers.
#include "driver/driver.h"
#include "api_impl.h"

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")
// The current context, healthy; leaves the function otherwise.
#define NEED_CONTEXT(c)                                                                            \
    struct context *c;                                                                             \
    CUresult need_ = ctx_need(&c);                                                                 \
    if (need_ != CUDA_SUCCESS)                                                                     \
    return need_

CUresult
pw_cuCtxGetDevice_v2(CUdevice *device, CUcontext ctx)
{
    NEED(device);
    struct context *c = ctx ? ctx_get(ctx) : ctx_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    *device = c->dev->ordinal;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetDevice(CUdevice *device)
{
    return pw_cuCtxGetDevice_v2(device, NULL);
}

CUresult
pw_cuCtxGetFlags(unsigned *flags)
{
    NEED(flags);
    NEED_CONTEXT(c);
    *flags = c->flags;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxSetFlags(unsigned flags)
{
    if (!ctx_flags_valid(flags))
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    NEED_CONTEXT(c);
    c->flags = flags;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetId(CUcontext ctx, unsigned long long *id)
{
    NEED(id);
    struct context *c;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r == CUDA_SUCCESS)
        *id = c->obj.id;
    return r;
}

CUresult
pw_cuCtxGetApiVersion(CUcontext ctx, unsigned *version)
{
    NEED(version);
    struct context *c;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r == CUDA_SUCCESS)
        *version = c->api_version;
    return r;
}

CUresult
pw_cuCtxGetStreamPriorityRange(int *least, int *greatest)
{
    NEED_CONTEXT(c);
    if (least)
        *least = STREAM_PRIORITY_LEAST;
    if (greatest)
        *greatest = STREAM_PRIORITY_GREATEST;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxResetPersistingL2Cache(void)
{
    NEED_CONTEXT(c);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetExecAffinity(CUexecAffinityParam *affinity, CUexecAffinityType type)
{
    NEED(affinity);
    NEED_CONTEXT(c);
    return fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "affinity type %d", type);
}

// ---- limits ---------------------------------------------------------------
// Limits that programs may set, and the name under which the backend takes them (NULL: kept,
// without effect).
static const struct {
    bool settable;
    const char *backend;
    size_t max; // 0: any
} limits[CU_LIMIT_MAX] = {
    [CU_LIMIT_STACK_SIZE] = {true, "stack", 512 << 10},
    [CU_LIMIT_PRINTF_FIFO_SIZE] = {true, "printf", 0},
    [CU_LIMIT_MALLOC_HEAP_SIZE] = {true, "heap", 0},
    [CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = {true, NULL, 0},
    [CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = {true, NULL, 128},
    [CU_LIMIT_PERSISTING_L2_CACHE_SIZE] = {true, NULL, 0},
};

CUresult
pw_cuCtxSetLimit(CUlimit limit, size_t value)
{
    NEED_CONTEXT(c);
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "limit %d", limit);
    if (!limits[limit].settable)
        return fail(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d", limit);
    if (limits[limit].max && value > limits[limit].max)
        return fail(CUDA_ERROR_INVALID_VALUE, "limit %d: %zu > %zu", limit, value,
                    limits[limit].max);
    if (limits[limit].backend) {
        int r = c->dev->be->scope_limit(c->scope, limits[limit].backend, value);
        if (r)
            return fail((CUresult)r, "%s limit of %zu bytes", limits[limit].backend, value);
    }
    pthread_mutex_lock(&c->lock);
    c->limit[limit] = limit == CU_LIMIT_PERSISTING_L2_CACHE_SIZE ? 0 : value;
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetLimit(size_t *value, CUlimit limit)
{
    NEED(value);
    NEED_CONTEXT(c);
    if ((unsigned)limit >= CU_LIMIT_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "limit %d", limit);
    if (!limits[limit].settable && !c->limit[limit])
        return fail(CUDA_ERROR_UNSUPPORTED_LIMIT, "limit %d", limit);
    *value = c->limit[limit];
    return CUDA_SUCCESS;
}

// ---- preferences without effect -------------------------------------------
CUresult
pw_cuCtxGetCacheConfig(CUfunc_cache *config)
{
    NEED(config);
    NEED_CONTEXT(c);
    *config = c->cache_config;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxSetCacheConfig(CUfunc_cache config)
{
    NEED_CONTEXT(c);
    if ((unsigned)config > CU_FUNC_CACHE_PREFER_EQUAL)
        return fail(CUDA_ERROR_INVALID_VALUE, "config %d", config);
    c->cache_config = config;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetSharedMemConfig(CUsharedconfig *config)
{
    NEED(config);
    NEED_CONTEXT(c);
    *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxSetSharedMemConfig(CUsharedconfig config)
{
    NEED_CONTEXT(c);
    if ((unsigned)config > CU_SHARED_MEM_CONFIG_EIGHT_BYTE_BANK_SIZE)
        return fail(CUDA_ERROR_INVALID_VALUE, "config %d", config);
    c->shared_config = config;
    return CUDA_SUCCESS;
}

// ---- peers ----------------------------------------------------------------
CUresult
pw_cuCtxEnablePeerAccess(CUcontext peer, unsigned flags)
{
    if (flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %u, must be 0", flags);
    NEED_CONTEXT(c);
    struct context *p = ctx_get(peer);
    if (!p || !p->alive || p == c)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no other context", (void *)peer);
    int can = 0;
    pw_cuDeviceCanAccessPeer(&can, c->dev->ordinal, p->dev->ordinal);
    if (!can)
        return fail(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED, "device %d to device %d", c->dev->ordinal,
                    p->dev->ordinal);
    pthread_mutex_lock(&c->lock);
    bool had = c->peers >> p->dev->ordinal & 1;
    c->peers |= 1u << p->dev->ordinal;
    pthread_mutex_unlock(&c->lock);
    return had ? CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED : CUDA_SUCCESS;
}

CUresult
pw_cuCtxDisablePeerAccess(CUcontext peer)
{
    NEED_CONTEXT(c);
    struct context *p = ctx_get(peer);
    if (!p)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", (void *)peer);
    pthread_mutex_lock(&c->lock);
    bool had = c->peers >> p->dev->ordinal & 1;
    c->peers &= ~(1u << p->dev->ordinal);
    pthread_mutex_unlock(&c->lock);
    return had ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}
