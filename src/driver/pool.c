// SPDX-License-Identifier: MIT
// Memory pools as objects: life, attributes, access, and which one a device uses.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <string.h>

static pthread_mutex_t pools_lock = PTHREAD_MUTEX_INITIALIZER;
static struct pool **pools; // vec: all pools, also destroyed ones that are still used

CUresult
pool_get(CUmemoryPool handle, struct pool **out)
{
    *out = object_get(handle, OBJ_POOL);
    if (!*out)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a memory pool", (void *)handle);
    return CUDA_SUCCESS;
}

struct pool *
pool_new(struct device *d, const CUmemPoolProps *props)
{
    struct pool *p = object_new(OBJ_POOL, sizeof *p);
    p->dev = d;
    p->props = *props;
    p->access[d->ordinal] = CU_MEM_ACCESS_FLAGS_PROT_READWRITE;
    p->reuse[CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES] = 1;
    p->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC] = 1;
    p->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] = 1;
    pthread_mutex_init(&p->lock, NULL);
    pthread_mutex_lock(&pools_lock);
    vec_push(pools, p);
    pthread_mutex_unlock(&pools_lock);
    return p;
}

CUresult
pool_default(struct device *d, struct pool **out)
{
    pthread_mutex_lock(&d->lock);
    if (!d->default_pool) {
        CUmemPoolProps props = {.allocType = CU_MEM_ALLOCATION_TYPE_PINNED,
                                .location = {CU_MEM_LOCATION_TYPE_DEVICE, d->ordinal}};
        d->default_pool = pool_new(d, &props);
        d->default_pool->is_default = true;
    }
    if (!d->current_pool)
        d->current_pool = d->default_pool;
    *out = d->default_pool;
    pthread_mutex_unlock(&d->lock);
    return CUDA_SUCCESS;
}

static struct pool *
pool_current(struct device *d)
{
    struct pool *p;
    pool_default(d, &p);
    pthread_mutex_lock(&d->lock);
    p = d->current_pool;
    pthread_mutex_unlock(&d->lock);
    return p;
}

// ---- trimming -------------------------------------------------------------
static bool
all_free(const struct pool *p)
{
    return !p->reserved && !p->used;
}

// Trims the device's pools to what `keep_threshold` says; pools that were destroyed and are empty
// go. c not NULL: chunks of that context go.
static void
each_pool(const struct device *d, bool keep_threshold, const struct context *c)
{
    pthread_mutex_lock(&pools_lock);
    for (size_t i = vec_len(pools); i-- > 0;) {
        struct pool *p = pools[i];
        if (p->dev != d)
            continue;
        pthread_mutex_lock(&p->lock);
        if (c)
            pool_drop_context(p, c);
        else if (p->destroyed || !keep_threshold || p->reserved > p->threshold)
            pool_trim(p, p->destroyed || !keep_threshold ? 0 : p->threshold);
        bool gone = p->destroyed && all_free(p);
        pthread_mutex_unlock(&p->lock);
        if (gone) {
            vec_swap_remove(pools, i);
            vec_free(p->chunks);
            vec_free(p->idle);
            intmap_free(&p->used_blocks);
            object_free(p);
        }
    }
    pthread_mutex_unlock(&pools_lock);
}

void
pools_trim(struct device *d)
{
    if (__atomic_load_n(&pools, __ATOMIC_RELAXED)) // most programs have none
        each_pool(d, true, NULL);
}

void
pools_release(struct device *d)
{
    each_pool(d, false, NULL);
}

void
pool_forget_context(struct context *c)
{
    each_pool(c->dev, true, c);
}

// ---- life -----------------------------------------------------------------
CUresult
pw_cuMemPoolCreate(CUmemoryPool *out, const CUmemPoolProps *props)
{
    if (!out || !props || props->allocType != CU_MEM_ALLOCATION_TYPE_PINNED)
        return fail(CUDA_ERROR_INVALID_VALUE, "pool %p, properties %p", (void *)out, (void *)props);
    if (props->location.type == CU_MEM_LOCATION_TYPE_INVALID)
        return fail(CUDA_ERROR_INVALID_VALUE, "no location");
    if (props->handleTypes & ~(unsigned)CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR ||
        props->location.type != CU_MEM_LOCATION_TYPE_DEVICE)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "handle types 0x%x, location type %d",
                    (unsigned)props->handleTypes, (int)props->location.type);
    struct device *d = device_get(props->location.id);
    if (!d)
        return fail(CUDA_ERROR_INVALID_VALUE, "device %d", props->location.id);
    *out = (CUmemoryPool)pool_new(d, props);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolDestroy(CUmemoryPool handle)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (p->is_default)
        return fail(CUDA_ERROR_INVALID_VALUE, "a device's default pool cannot be destroyed");
    struct device *d = p->dev;
    object_retire(p);
    pthread_mutex_lock(&d->lock);
    if (d->current_pool == p)
        d->current_pool = d->default_pool;
    pthread_mutex_unlock(&d->lock);
    pthread_mutex_lock(&p->lock);
    p->destroyed = true;
    pthread_mutex_unlock(&p->lock);
    each_pool(d, true, NULL);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolTrimTo(CUmemoryPool handle, size_t keep)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    pthread_mutex_lock(&p->lock);
    pool_trim(p, keep);
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

// ---- attributes -----------------------------------------------------------
// Where a 64-bit attribute lies; NULL if it is not one.
static uint64_t *
wide_attribute(struct pool *p, CUmemPool_attribute a)
{
    switch (a) {
    case CU_MEMPOOL_ATTR_RELEASE_THRESHOLD:
        return &p->threshold;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT:
        return &p->reserved;
    case CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH:
        return &p->reserved_high;
    case CU_MEMPOOL_ATTR_USED_MEM_CURRENT:
        return &p->used;
    case CU_MEMPOOL_ATTR_USED_MEM_HIGH:
        return &p->used_high;
    default:
        return NULL;
    }
}

static bool
reuse_attribute(CUmemPool_attribute a)
{
    return a >= CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES &&
           a <= CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES;
}

CUresult
pw_cuMemPoolGetAttribute(CUmemoryPool handle, CUmemPool_attribute a, void *value)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    uint64_t *wide = wide_attribute(p, a);
    if (!value || (!wide && !reuse_attribute(a)))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    pthread_mutex_lock(&p->lock);
    if (wide)
        *(cuuint64_t *)value = *wide;
    else
        *(int *)value = p->reuse[a];
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

// High water marks can only be reset, by 0.
CUresult
pw_cuMemPoolSetAttribute(CUmemoryPool handle, CUmemPool_attribute a, void *value)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    bool high = a == CU_MEMPOOL_ATTR_RESERVED_MEM_HIGH || a == CU_MEMPOOL_ATTR_USED_MEM_HIGH;
    if (!value || (!high && a != CU_MEMPOOL_ATTR_RELEASE_THRESHOLD && !reuse_attribute(a)) ||
        (high && *(cuuint64_t *)value))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    pthread_mutex_lock(&p->lock);
    if (reuse_attribute(a))
        p->reuse[a] = *(int *)value != 0;
    else if (high)
        *wide_attribute(p, a) = *wide_attribute(p, a == CU_MEMPOOL_ATTR_USED_MEM_HIGH
                                                       ? CU_MEMPOOL_ATTR_USED_MEM_CURRENT
                                                       : CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT);
    else
        p->threshold = *(cuuint64_t *)value;
    pthread_mutex_unlock(&p->lock);
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolSetAccess(CUmemoryPool handle, const CUmemAccessDesc *map, size_t n)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (n && !map)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu entries at NULL", n);
    for (size_t i = 0; i < n; i++) {
        if (map[i].location.type != CU_MEM_LOCATION_TYPE_DEVICE || !device_get(map[i].location.id))
            return fail(CUDA_ERROR_INVALID_DEVICE, "location %d of type %d", map[i].location.id,
                        (int)map[i].location.type);
        if (map[i].location.id == p->dev->ordinal &&
            map[i].flags != CU_MEM_ACCESS_FLAGS_PROT_READWRITE)
            return fail(CUDA_ERROR_INVALID_VALUE, "the pool's own device keeps its access");
    }
    for (size_t i = 0; i < n; i++)
        p->access[map[i].location.id] = map[i].flags;
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemPoolGetAccess(CUmemAccess_flags *flags, CUmemoryPool handle, CUmemLocation *location)
{
    struct pool *p;
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (!flags || !location || location->type != CU_MEM_LOCATION_TYPE_DEVICE ||
        !device_get(location->id))
        return fail(CUDA_ERROR_INVALID_VALUE, "no such location");
    *flags = p->access[location->id];
    return CUDA_SUCCESS;
}

// ---- the device's pool ----------------------------------------------------
CUresult
pw_cuDeviceGetDefaultMemPool(CUmemoryPool *out, CUdevice device)
{
    struct device *d = device_get(device);
    struct pool *p;
    if (!d || !out)
        return fail(d ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE,
                    "device %d, output %p", device, (void *)out);
    pool_default(d, &p);
    *out = (CUmemoryPool)p;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceGetMemPool(CUmemoryPool *out, CUdevice device)
{
    struct device *d = device_get(device);
    if (!d || !out)
        return fail(d ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_DEVICE,
                    "device %d, output %p", device, (void *)out);
    *out = (CUmemoryPool)pool_current(d);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDeviceSetMemPool(CUdevice device, CUmemoryPool handle)
{
    struct device *d = device_get(device);
    struct pool *p;
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d", device);
    CUresult r = pool_get(handle, &p);
    if (r)
        return r;
    if (p->dev != d)
        return fail(CUDA_ERROR_INVALID_VALUE, "the pool is on another device");
    pool_current(d); // makes the default, to fall back to
    pthread_mutex_lock(&d->lock);
    d->current_pool = p;
    pthread_mutex_unlock(&d->lock);
    return CUDA_SUCCESS;
}

// The same by location, of which only devices have pools.
static CUresult
location_device(const CUmemLocation *l, CUmemAllocationType type)
{
    if (!l || type != CU_MEM_ALLOCATION_TYPE_PINNED)
        return fail(CUDA_ERROR_INVALID_VALUE, "location %p, allocation type %d", (void *)l,
                    (int)type);
    if (l->type != CU_MEM_LOCATION_TYPE_DEVICE)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "pools that are not on a device");
    return CUDA_SUCCESS;
}

CUresult
pw_cuMemGetDefaultMemPool(CUmemoryPool *out, CUmemLocation *l, CUmemAllocationType type)
{
    CUresult r = location_device(l, type);
    return r ? r : pw_cuDeviceGetDefaultMemPool(out, l->id);
}

CUresult
pw_cuMemGetMemPool(CUmemoryPool *out, CUmemLocation *l, CUmemAllocationType type)
{
    CUresult r = location_device(l, type);
    return r ? r : pw_cuDeviceGetMemPool(out, l->id);
}

CUresult
pw_cuMemSetMemPool(CUmemLocation *l, CUmemAllocationType type, CUmemoryPool pool)
{
    CUresult r = location_device(l, type);
    return r ? r : pw_cuDeviceSetMemPool(l->id, pool);
}
