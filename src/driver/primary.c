// SPDX-License-Identifier: MIT
// Primary contexts: one a device, made at the first use, torn down at the last release or a reset;
// the handle stays the same.
#include "driver/driver.h"
#include "api_impl.h"

#define NEED_DEVICE(d, n)                                                                          \
    struct device *d = device_get(n);                                                              \
    if (!d)                                                                                        \
    return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", n, process.ndevices)

static struct context *
handle_locked(struct device *d)
{
    if (!d->primary)
        d->primary = ctx_new(d, true);
    return d->primary;
}

struct context *
ctx_primary_handle(struct device *d)
{
    pthread_mutex_lock(&d->lock);
    struct context *c = handle_locked(d);
    pthread_mutex_unlock(&d->lock);
    return c;
}

static CUresult
activate(struct device *d, unsigned retain, struct context **out)
{
    pthread_mutex_lock(&d->lock);
    struct context *c = handle_locked(d);
    CUresult r = c->alive ? CUDA_SUCCESS : ctx_activate(c, d->primary_flags);
    if (r == CUDA_SUCCESS) {
        d->primary_refs += retain;
        *out = c;
    }
    pthread_mutex_unlock(&d->lock);
    return r;
}

CUresult
ctx_primary(struct device *d, struct context **out)
{
    return activate(d, 0, out);
}

CUresult
pw_cuDevicePrimaryCtxRetain(CUcontext *out, CUdevice dev)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "context is NULL");
    NEED_DEVICE(d, dev);
    struct context *c;
    CUresult r = activate(d, 1, &c);
    if (r == CUDA_SUCCESS)
        *out = (CUcontext)c;
    return r;
}

// Destructors of the storage run before the lock is taken; a context that was retained meanwhile
// stays.
static void
tear_down(struct device *d, bool reset)
{
    storage_destroy(d->primary);
    pthread_mutex_lock(&d->lock);
    if (reset || !d->primary_refs)
        ctx_teardown(d->primary);
    pthread_mutex_unlock(&d->lock);
}

CUresult
pw_cuDevicePrimaryCtxRelease_v2(CUdevice dev)
{
    NEED_DEVICE(d, dev);
    pthread_mutex_lock(&d->lock);
    bool retained = d->primary_refs > 0;
    bool last = retained && !--d->primary_refs;
    pthread_mutex_unlock(&d->lock);
    if (!retained)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "the primary context of device %d is not retained",
                    dev);
    if (last)
        tear_down(d, false);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDevicePrimaryCtxRelease(CUdevice dev)
{
    return pw_cuDevicePrimaryCtxRelease_v2(dev);
}

// Leaves the count of retains alone: the next retain makes the context alive again.
CUresult
pw_cuDevicePrimaryCtxReset_v2(CUdevice dev)
{
    NEED_DEVICE(d, dev);
    ctx_primary_handle(d);
    tear_down(d, true);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDevicePrimaryCtxReset(CUdevice dev)
{
    return pw_cuDevicePrimaryCtxReset_v2(dev);
}

CUresult
pw_cuDevicePrimaryCtxSetFlags_v2(CUdevice dev, unsigned flags)
{
    NEED_DEVICE(d, dev);
    if (!ctx_flags_valid(flags))
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    pthread_mutex_lock(&d->lock);
    d->primary_flags = flags;
    if (d->primary && d->primary->alive)
        d->primary->flags = flags;
    pthread_mutex_unlock(&d->lock);
    return CUDA_SUCCESS;
}

CUresult
pw_cuDevicePrimaryCtxSetFlags(CUdevice dev, unsigned flags)
{
    return pw_cuDevicePrimaryCtxSetFlags_v2(dev, flags);
}

CUresult
pw_cuDevicePrimaryCtxGetState(CUdevice dev, unsigned *flags, int *active)
{
    if (!flags || !active)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags %p, active %p", (void *)flags, (void *)active);
    NEED_DEVICE(d, dev);
    pthread_mutex_lock(&d->lock);
    *flags = d->primary_flags;
    *active = d->primary && d->primary->alive;
    pthread_mutex_unlock(&d->lock);
    return CUDA_SUCCESS;
}
