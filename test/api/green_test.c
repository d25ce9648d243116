// SPDX-License-Identifier: MIT
// Green contexts: parts of a device's multiprocessors.
#include "api.h"
#include "ptx.h"

static CUdevResource
sms(void)
{
    CUdevResource r;
    memset(&r, 0, sizeof r);
    succeed(cuDeviceGetDevResource, device, &r, CU_DEV_RESOURCE_TYPE_SM);
    return r;
}

static void
resources(void)
{
    CUdevResource r = sms(), c;
    int n = 0;
    succeed(cuDeviceGetAttribute, &n, CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT, device);
    eq(r.type, CU_DEV_RESOURCE_TYPE_SM);
    eq(r.sm.smCount, n);
    memset(&c, 0, sizeof c);
    succeed(cuCtxGetDevResource, primary, &c, CU_DEV_RESOURCE_TYPE_SM);
    eq(c.sm.smCount, n);
    memset(&c, 0, sizeof c);
    expect2(CUDA_SUCCESS, CUDA_ERROR_INVALID_CONTEXT, cuCtxGetDevResource, NULL, &c, CU_DEV_RESOURCE_TYPE_SM);
    expect(CUDA_ERROR_INVALID_VALUE, cuDeviceGetDevResource, device, NULL, CU_DEV_RESOURCE_TYPE_SM);
    expect2(CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_VALUE, cuDeviceGetDevResource, device, &r, CU_DEV_RESOURCE_TYPE_INVALID);
    expect2(CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_VALUE, cuDeviceGetDevResource, device, &r, (CUdevResourceType)77);
    expect(CUDA_ERROR_INVALID_DEVICE, cuDeviceGetDevResource, 99, &r, CU_DEV_RESOURCE_TYPE_SM);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxGetDevResource, primary, NULL, CU_DEV_RESOURCE_TYPE_SM);
}

// The least group that the device can be split into; 0 when it is too small to be split.
static unsigned
least(const CUdevResource *all)
{
    CUdevResource part, rest;
    unsigned n = 1;
    memset(&part, 0, sizeof part);
    memset(&rest, 0, sizeof rest);
    CUresult r = CALL(cuDevSmResourceSplitByCount, &part, &n, all, &rest, 0, 1);
    return r == CUDA_SUCCESS && n == 1 ? part.sm.smCount : 0;
}

static void
splitting(void)
{
    CUdevResource all = sms(), part[2], rest;
    unsigned n = 0, step = least(&all);
    memset(part, 0, sizeof part);
    memset(&rest, 0, sizeof rest);
    ok(step >= 1, "the device cannot be split");
    succeed(cuDevSmResourceSplitByCount, NULL, &n, &all, NULL, 0, step); // how many groups
    ok(n >= 1 && n <= all.sm.smCount, "%u groups of %u", n, step);
    n = 1;
    succeed(cuDevSmResourceSplitByCount, part, &n, &all, &rest, 0, step);
    eq(n, 1);
    eq(part[0].type, CU_DEV_RESOURCE_TYPE_SM);
    ok(part[0].sm.smCount >= step, "a group of %u", part[0].sm.smCount);
    ok(part[0].sm.smCount + rest.sm.smCount <= all.sm.smCount, "%u and %u of %u", part[0].sm.smCount, rest.sm.smCount, all.sm.smCount);
    n = 2;
    expect2(CUDA_ERROR_INVALID_RESOURCE_CONFIGURATION, CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount, part, &n, &all, &rest, 0, all.sm.smCount + 1);
    n = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount, part, NULL, &all, &rest, 0, step);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount, part, &n, NULL, &rest, 0, step);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount, part, &n, &all, &rest, 0x100, step);
    all.type = CU_DEV_RESOURCE_TYPE_INVALID;
    expect2(CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_VALUE, cuDevSmResourceSplitByCount, part, &n, &all, &rest, 0, step);
}

static CUgreenCtx
green(unsigned *count)
{
    CUdevResource all = sms(), part;
    unsigned n = 1;
    CUdevResourceDesc d = NULL;
    CUgreenCtx g = NULL;
    memset(&part, 0, sizeof part);
    succeed(cuDevSmResourceSplitByCount, &part, &n, &all, NULL, 0, least(&all));
    succeed(cuDevResourceGenerateDesc, &d, &part, 1);
    ok(d, "no descriptor");
    succeed(cuGreenCtxCreate, &g, d, device, CU_GREEN_CTX_DEFAULT_STREAM);
    ok(g, "no green context");
    *count = part.sm.smCount;
    return g;
}

static void
life(void)
{
    unsigned count = 0;
    CUgreenCtx g = green(&count), of = NULL;
    CUdevResource r;
    CUcontext c = NULL, now = NULL;
    CUstream s = NULL;
    CUdeviceptr p = 0;
    unsigned v = 0, seven = 7;
    unsigned long long n = 256, id = 0, cid = 0;
    memset(&r, 0, sizeof r);
    succeed(cuGreenCtxGetDevResource, g, &r, CU_DEV_RESOURCE_TYPE_SM);
    eq(r.sm.smCount, count);
    succeed(cuCtxFromGreenCtx, &c, g);
    ok(c && c != primary, "no context of its own");
    memset(&r, 0, sizeof r);
    succeed(cuCtxGetDevResource, c, &r, CU_DEV_RESOURCE_TYPE_SM);
    eq(r.sm.smCount, count);
    if (HAVE(cuGreenCtxGetId)) {
        succeed(cuGreenCtxGetId, g, &id);
        succeed(cuCtxGetId, primary, &cid);
        ok(id != cid, "the primary context's id");
    }
    succeed(cuCtxSetCurrent, c);
    succeed(cuCtxGetCurrent, &now);
    ok(now == c, "another context is current");
    succeed(cuGreenCtxStreamCreate, &s, g, CU_STREAM_NON_BLOCKING, 0);
    succeed(cuStreamGetGreenCtx, s, &of);
    ok(of == g, "the stream is of another green context");
    CUfunction f = api_function(api_module(PTX_HEAD PTX_FILL), "fill");
    succeed(cuMemAlloc_v2, &p, 1024);
    void *args[] = {&p, &seven, &n};
    succeed(cuLaunchKernel, f, 2, 1, 1, 128, 1, 1, 0, s, args, NULL);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, &v, p + 1020, 4);
    eq(v, 7);
    CUevent e = NULL;
    succeed(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING);
    succeed(cuGreenCtxRecordEvent, g, e);
    succeed(cuEventSynchronize, e);
    succeed(cuGreenCtxWaitEvent, g, e);
    expect(CUDA_ERROR_INVALID_HANDLE, cuGreenCtxRecordEvent, g, NULL);
    expect(CUDA_ERROR_INVALID_HANDLE, cuGreenCtxWaitEvent, g, NULL);
    succeed(cuEventDestroy_v2, e);
    succeed(cuMemFree_v2, p);
    succeed(cuStreamDestroy_v2, s);
    succeed(cuCtxSetCurrent, primary);
    succeed(cuGreenCtxDestroy, g);
}

static void
misuse(void)
{
    CUdevResource all = sms(), bad;
    CUdevResourceDesc d = NULL;
    CUgreenCtx g = NULL;
    CUcontext c = NULL;
    CUstream s = NULL;
    unsigned count = 0;
    memset(&bad, 0, sizeof bad);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc, NULL, &all, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc, &d, NULL, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc, &d, &all, 0);
    expect2(CUDA_ERROR_INVALID_RESOURCE_TYPE, CUDA_ERROR_INVALID_VALUE, cuDevResourceGenerateDesc, &d, &bad, 1);
    succeed(cuDevResourceGenerateDesc, &d, &all, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate, NULL, d, device, CU_GREEN_CTX_DEFAULT_STREAM);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate, &g, NULL, device, CU_GREEN_CTX_DEFAULT_STREAM);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate, &g, d, device, 0x80);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxCreate, &g, d, device, 0); // the flag is required
    expect(CUDA_ERROR_INVALID_DEVICE, cuGreenCtxCreate, &g, d, 99, CU_GREEN_CTX_DEFAULT_STREAM);
    g = green(&count);
    expect(CUDA_ERROR_INVALID_VALUE, cuCtxFromGreenCtx, NULL, g);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxGetDevResource, g, NULL, CU_DEV_RESOURCE_TYPE_SM);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate, NULL, g, CU_STREAM_NON_BLOCKING, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate, &s, g, 0x80, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate, &s, g, CU_STREAM_DEFAULT, 0); // non-blocking is required
    succeed(cuGreenCtxDestroy, g);
    (void)c;
}

static void
null_handles(void)
{
    CUcontext c = NULL;
    CUdevResource r;
    CUstream s = NULL;
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuGreenCtxDestroy, NULL);
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuCtxFromGreenCtx, &c, NULL);
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuGreenCtxGetDevResource, NULL, &r, CU_DEV_RESOURCE_TYPE_SM);
    expect2(CUDA_ERROR_INVALID_CONTEXT, CUDA_ERROR_INVALID_VALUE, cuGreenCtxStreamCreate, &s, NULL, CU_STREAM_NON_BLOCKING, 0);
}

API_MAIN(CASE(resources), CASE(splitting), CASE(life), CASE(misuse), CASE(null_handles))
