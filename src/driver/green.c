// SPDX-License-Identifier: MIT
// Green contexts: contexts whose kernels use only some of a device's multiprocessors; and the resources that say which.
// Here a multiprocessor is a worker thread, so a part is a number of them; which ones does not matter.
#include "driver/driver.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

struct green {
    struct object obj;
    struct context *ctx;
    CUdevResource sm;
};

struct resources { // CUdevResourceDesc; lives as long as the process, as there is no call to free it
    struct object obj;
    CUdevResource sm;
};

// What a program hands back to us is marked in the part of the structure that is not for it.
struct inner {
    uint32_t magic;
    int32_t device;
};
enum { MAGIC = 0x70776772 };

static struct inner *
inner(CUdevResource *r)
{
    return (struct inner *)r->_internal_padding;
}

static CUdevResource
resource(const struct device *d, unsigned count)
{
    CUdevResource r = {.type = CU_DEV_RESOURCE_TYPE_SM};
    *inner(&r) = (struct inner){MAGIC, d->ordinal};
    r.sm = (CUdevSmResource){.smCount = count, .minSmPartitionSize = 1, .smCoscheduledAlignment = 1};
    return r;
}

static bool
valid(const CUdevResource *r)
{
    const struct inner *i = (const struct inner *)r->_internal_padding;
    return r->type == CU_DEV_RESOURCE_TYPE_SM && i->magic == MAGIC && device_get(i->device) && r->sm.smCount;
}

static CUresult
give(CUdevResource *out, CUdevResourceType type, const CUdevResource *sm)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the resource is NULL");
    if (type != CU_DEV_RESOURCE_TYPE_SM)
        return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resource type %d", (int)type);
    *out = *sm;
    return CUDA_SUCCESS;
}

// ---- resources ------------------------------------------------------------
CUresult
pw_cuDeviceGetDevResource(CUdevice dev, CUdevResource *out, CUdevResourceType type)
{
    struct device *d = device_get(dev);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", dev, process.ndevices);
    CUdevResource all = resource(d, (unsigned)d->props->multiprocessors);
    return give(out, type, &all);
}

CUresult
pw_cuCtxGetDevResource(CUcontext ctx, CUdevResource *out, CUdevResourceType type)
{
    struct context *c;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r)
        return r;
    CUdevResource all = resource(c->dev, (unsigned)c->dev->props->multiprocessors);
    return give(out, type, c->green ? &c->green->sm : &all);
}

CUresult
pw_cuDevSmResourceSplitByCount(CUdevResource *result, unsigned *groups, const CUdevResource *input, CUdevResource *remaining, unsigned flags,
    unsigned least)
{
    const unsigned known = CU_DEV_SM_RESOURCE_SPLIT_IGNORE_SM_COSCHEDULING | CU_DEV_SM_RESOURCE_SPLIT_MAX_POTENTIAL_CLUSTER_SIZE;
    if (!groups || !input || flags & ~known)
        return fail(CUDA_ERROR_INVALID_VALUE, "groups %p, input %p, flags 0x%x", (void *)groups, (void *)input, flags);
    if (!valid(input))
        return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "the input is no resource of a device");
    struct device *d = device_get(inner((CUdevResource *)input)->device);
    unsigned size = least ? least : 1, fit = input->sm.smCount / size;
    if (!fit)
        return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "groups of %u of %u multiprocessors", size, input->sm.smCount);
    if (result && *groups < fit)
        fit = *groups;
    for (unsigned i = 0; result && i < fit; i++)
        result[i] = resource(d, size);
    unsigned left = input->sm.smCount - fit * size;
    if (result && remaining) {
        *remaining = resource(d, left);
        if (!left)
            remaining->type = CU_DEV_RESOURCE_TYPE_INVALID;
    }
    *groups = fit;
    return CUDA_SUCCESS;
}

CUresult
pw_cuDevResourceGenerateDesc(CUdevResourceDesc *out, CUdevResource *list, unsigned n)
{
    if (!out || !list || !n)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, %u resources at %p", (void *)out, n, (void *)list);
    unsigned count = 0;
    for (unsigned i = 0; i < n; i++) {
        if (!valid(&list[i]) || inner(&list[i])->device != inner(list)->device)
            return fail(CUDA_ERROR_INVALID_RESOURCE_TYPE, "resource %u is no part of the first one's device", i);
        count += list[i].sm.smCount;
    }
    struct device *d = device_get(inner(list)->device);
    if (count > (unsigned)d->props->multiprocessors)
        return fail(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, "%u multiprocessors of %d", count, d->props->multiprocessors);
    struct resources *r = object_new(OBJ_RESOURCES, sizeof *r);
    r->sm = resource(d, count);
    *out = (CUdevResourceDesc)r;
    return CUDA_SUCCESS;
}

// ---- life -----------------------------------------------------------------
static CUresult
green_get(CUgreenCtx handle, struct green **out)
{
    *out = object_get(handle, OBJ_GREEN);
    return *out ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no green context", (void *)handle);
}

CUresult
pw_cuGreenCtxCreate(CUgreenCtx *out, CUdevResourceDesc desc, CUdevice dev, unsigned flags)
{
    struct resources *res = object_get(desc, OBJ_RESOURCES);
    struct device *d = device_get(dev);
    if (!out || !res || flags != CU_GREEN_CTX_DEFAULT_STREAM)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, resources %p, flags 0x%x", (void *)out, (void *)desc, flags);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", dev, process.ndevices);
    if (inner(&res->sm)->device != dev)
        return fail(CUDA_ERROR_INVALID_VALUE, "the resources are of device %d", inner(&res->sm)->device);
    struct context *c = ctx_new(d, false);
    CUresult r = ctx_activate(c, 0);
    if (r) {
        ctx_unref(c);
        return r;
    }
    d->be->scope_limit(c->scope, "multiprocessors", res->sm.sm.smCount);
    struct green *g = object_new(OBJ_GREEN, sizeof *g);
    g->ctx = c;
    g->sm = res->sm;
    c->green = g;
    *out = (CUgreenCtx)g;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGreenCtxDestroy(CUgreenCtx handle)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    if (r)
        return r;
    object_retire(g);
    CUcontext c = (CUcontext)g->ctx;
    g->ctx->green = NULL;
    object_free(g);
    return pw_cuCtxDestroy_v2(c);
}

CUresult
pw_cuCtxFromGreenCtx(CUcontext *out, CUgreenCtx handle)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    if (r)
        return r;
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "context is NULL");
    *out = (CUcontext)g->ctx;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGreenCtxGetDevResource(CUgreenCtx handle, CUdevResource *out, CUdevResourceType type)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    return r ? r : give(out, type, &g->sm);
}

CUresult
pw_cuGreenCtxGetId(CUgreenCtx handle, unsigned long long *id)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    return r ? r : pw_cuCtxGetId((CUcontext)g->ctx, id);
}

// ---- streams and events ---------------------------------------------------
CUgreenCtx
green_of(const struct context *c)
{
    return (CUgreenCtx)c->green;
}

CUresult
pw_cuGreenCtxStreamCreate(CUstream *out, CUgreenCtx handle, unsigned flags, int priority)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    if (r)
        return r;
    if (!out || flags != CU_STREAM_NON_BLOCKING)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, flags 0x%x: must be non-blocking", (void *)out, flags);
    priority = priority > STREAM_PRIORITY_LEAST ? STREAM_PRIORITY_LEAST : priority < STREAM_PRIORITY_GREATEST ? STREAM_PRIORITY_GREATEST : priority;
    struct stream *s = stream_new(g->ctx, flags, priority, false);
    if (!s)
        return CUDA_ERROR_OUT_OF_MEMORY;
    *out = (CUstream)s;
    return CUDA_SUCCESS;
}

CUresult
pw_cuGreenCtxRecordEvent(CUgreenCtx handle, CUevent event)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    return r ? r : pw_cuCtxRecordEvent((CUcontext)g->ctx, event);
}

CUresult
pw_cuGreenCtxWaitEvent(CUgreenCtx handle, CUevent event)
{
    struct green *g;
    CUresult r = green_get(handle, &g);
    return r ? r : pw_cuCtxWaitEvent((CUcontext)g->ctx, event);
}
