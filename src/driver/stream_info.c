// SPDX-License-Identifier: MIT
// What can be asked of a stream: flags, priority, context, identity, attributes.
#include "driver/driver.h"
#include "api_impl.h"

#include <string.h>

// Resolves the handle and refuses a NULL output pointer.
static CUresult
ask(CUstream handle, const void *out, struct stream **s)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the output pointer is NULL");
    return stream_resolve(handle, s);
}

CUresult
pw_cuStreamGetFlags(CUstream handle, unsigned *flags)
{
    struct stream *s;
    CUresult r = ask(handle, flags, &s);
    if (!r)
        *flags = s->flags;
    return r;
}

CUresult
pw_cuStreamGetPriority(CUstream handle, int *priority)
{
    struct stream *s;
    CUresult r = ask(handle, priority, &s);
    if (!r)
        *priority = s->priority;
    return r;
}

CUresult
pw_cuStreamGetId(CUstream handle, unsigned long long *id)
{
    struct stream *s;
    CUresult r = ask(handle, id, &s);
    if (!r)
        *id = s->obj.id;
    return r;
}

CUresult
pw_cuStreamGetDevice(CUstream handle, CUdevice *device)
{
    struct stream *s;
    CUresult r = ask(handle, device, &s);
    if (!r)
        *device = s->ctx->dev->ordinal;
    return r;
}

CUresult
pw_cuStreamGetCtx(CUstream handle, CUcontext *ctx)
{
    struct stream *s;
    CUresult r = ask(handle, ctx, &s);
    if (!r)
        *ctx = (CUcontext)s->ctx;
    return r;
}

CUresult
pw_cuStreamGetCtx_v2(CUstream handle, CUcontext *ctx, CUgreenCtx *green)
{
    CUresult r = pw_cuStreamGetCtx(handle, ctx);
    return r || !green ? r : pw_cuStreamGetGreenCtx(handle, green);
}

CUresult
pw_cuStreamGetGreenCtx(CUstream handle, CUgreenCtx *green)
{
    struct stream *s;
    CUresult r = ask(handle, green, &s);
    if (!r)
        *green = green_of(s->ctx);
    return r;
}

// Attributes that a stream has; all but the priority are hints that we only remember.
static bool
known(CUstreamAttrID a)
{
    switch (a) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN:
        return true;
    default:
        return false;
    }
}

CUresult
pw_cuStreamGetAttribute(CUstream handle, CUstreamAttrID a, CUstreamAttrValue *value)
{
    struct stream *s;
    CUresult r = ask(handle, value, &s);
    if (r)
        return r;
    if (!known(a))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    memset(value, 0, sizeof *value);
    if (a == CU_LAUNCH_ATTRIBUTE_PRIORITY) {
        value->priority = s->priority;
        return CUDA_SUCCESS;
    }
    *value = s->attribute[a];
    if (a == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY && !value->syncPolicy)
        value->syncPolicy = CU_SYNC_POLICY_AUTO;
    return CUDA_SUCCESS;
}

static bool
valid(CUstreamAttrID a, const CUstreamAttrValue *v)
{
    const CUaccessPolicyWindow *w = &v->accessPolicyWindow;
    if (a == CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)
        return v->syncPolicy >= CU_SYNC_POLICY_AUTO && v->syncPolicy <= CU_SYNC_POLICY_BLOCKING_SYNC;
    if (a == CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW)
        return w->hitRatio >= 0 && w->hitRatio <= 1 && w->missProp != CU_ACCESS_PROPERTY_PERSISTING;
    return true;
}

CUresult
pw_cuStreamSetAttribute(CUstream handle, CUstreamAttrID a, const CUstreamAttrValue *value)
{
    struct stream *s;
    CUresult r = ask(handle, value, &s);
    if (r)
        return r;
    if (!known(a))
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d", (int)a);
    if (!valid(a, value))
        return fail(CUDA_ERROR_INVALID_VALUE, "value of attribute %d", (int)a);
    s->attribute[a] = *value;
    return CUDA_SUCCESS;
}

CUresult
pw_cuStreamCopyAttributes(CUstream dst, CUstream src)
{
    struct stream *d, *s;
    CUresult r = stream_resolve(dst, &d);
    if (!r)
        r = stream_resolve(src, &s);
    if (!r)
        memcpy(d->attribute, s->attribute, sizeof d->attribute);
    return r;
}
