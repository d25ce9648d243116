// SPDX-License-Identifier: MIT
// Memory and events shared between processes by handles of 64 bytes.
#include "api.h"

#include <pthread.h>

static void
to_hex(char *out, const void *p, size_t n)
{
    for (size_t i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", ((const unsigned char *)p)[i]);
}

static void
from_hex(void *p, const char *in, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        unsigned byte = 0;
        sscanf(in + 2 * i, "%2x", &byte);
        ((unsigned char *)p)[i] = (unsigned char)byte;
    }
}

static void
start(void)
{
    succeed(cuInit, 0);
    succeed(cuDevicePrimaryCtxRetain, &primary, 0);
    succeed(cuCtxSetCurrent, primary);
}

// ---- memory -----------------------------------------------------------------------------------------
static void
_memory_reader(void)
{
    CUipcMemHandle h;
    CUdeviceptr p = 0, again = 0;
    unsigned v = 0, type = 0;
    start();
    from_hex(&h, api_argument, sizeof h);
    succeed(cuIpcOpenMemHandle_v2, &p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    ok(p, "no address");
    succeed(cuMemcpyDtoH_v2, &v, p + 4000, 4);
    eq(v, 4711);
    succeed(cuPointerGetAttribute, &type, CU_POINTER_ATTRIBUTE_MEMORY_TYPE, p);
    eq(type, CU_MEMORYTYPE_DEVICE);
    succeed(cuIpcOpenMemHandle_v2, &again, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    ok(again == p, "opened twice it is elsewhere");
    succeed(cuIpcCloseMemHandle, again);
    succeed(cuMemsetD32_v2, p + 8, 99, 1);
    succeed(cuCtxSynchronize, );
    expect(CUDA_ERROR_INVALID_VALUE, cuMemFree_v2, p); // it is closed, not freed
    succeed(cuIpcCloseMemHandle, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, &v, p, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle, p);
}

static void
share(size_t size)
{
    CUdeviceptr p = 0;
    CUipcMemHandle h;
    char argument[2 * sizeof h + 1];
    unsigned v = 0;
    succeed(cuMemAlloc_v2, &p, size);
    succeed(cuMemsetD32_v2, p, 4711, size / 4);
    succeed(cuIpcGetMemHandle, &h, p);
    to_hex(argument, &h, sizeof h);
    api_join(api_spawn("_memory_reader", argument));
    succeed(cuMemcpyDtoH_v2, &v, p + 8, 4);
    eq(v, 99);
    succeed(cuMemcpyDtoH_v2, &v, p + size - 4, 4);
    eq(v, 4711);
    succeed(cuMemsetD32_v2, p, 5, size / 4);
    succeed(cuMemFree_v2, p);
}

static void
memory_small(void)
{
    CUdeviceptr before = 0, after = 0;
    unsigned v = 0;
    succeed(cuMemAlloc_v2, &before, 4096);
    succeed(cuMemsetD32_v2, before, 1, 1024);
    succeed(cuMemAlloc_v2, &after, 4096);
    succeed(cuMemsetD32_v2, after, 2, 1024);
    share(4096);
    succeed(cuMemcpyDtoH_v2, &v, before + 4092, 4);
    eq(v, 1);
    succeed(cuMemcpyDtoH_v2, &v, after, 4);
    eq(v, 2);
}

static void
memory_large(void)
{
    share(8 << 20);
}

static void
_offset_reader(void)
{
    CUipcMemHandle h;
    CUdeviceptr p = 0;
    unsigned v = 0;
    start();
    from_hex(&h, api_argument, sizeof h);
    succeed(cuIpcOpenMemHandle_v2, &p, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 1); // the start of the allocation, not where the pointer was
    succeed(cuIpcCloseMemHandle, p);
}

static void
memory_offset(void)
{
    CUdeviceptr p = 0;
    CUipcMemHandle h;
    char argument[2 * sizeof h + 1];
    succeed(cuMemAlloc_v2, &p, 4 << 20);
    succeed(cuMemsetD32_v2, p, 1, 1);
    succeed(cuMemsetD32_v2, p + 4096, 2, 1);
    succeed(cuIpcGetMemHandle, &h, p + 4096);
    to_hex(argument, &h, sizeof h);
    api_join(api_spawn("_offset_reader", argument));
}

static void
memory_misuse(void)
{
    CUdeviceptr p = 0, q = 0, managed = 0;
    void *host = NULL;
    CUipcMemHandle h, zero;
    memset(&zero, 0, sizeof zero);
    succeed(cuMemAlloc_v2, &p, 4096);
    succeed(cuMemHostAlloc, &host, 4096, 0);
    succeed(cuMemAllocManaged, &managed, 4096, CU_MEM_ATTACH_GLOBAL);
    succeed(cuIpcGetMemHandle, &h, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle, NULL, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle, &h, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle, &h, (CUdeviceptr)(uintptr_t)host);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetMemHandle, &h, managed);
    succeed(cuIpcGetMemHandle, &h, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2, NULL, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcOpenMemHandle_v2, &q, h, 0x80);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuIpcOpenMemHandle_v2, &q, h, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS); // by the process that made it
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcCloseMemHandle, 0);
}

static void
memory_zero_handle(void)
{
    CUdeviceptr q = 0;
    CUipcMemHandle zero;
    memset(&zero, 0, sizeof zero);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuIpcOpenMemHandle_v2, &q, zero, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
}

// ---- events -----------------------------------------------------------------------------------------
// Argument: the event's handle, the memory's handle. The parent recorded the event behind its work.
static void
_event_waiter(void)
{
    CUipcEventHandle eh;
    CUipcMemHandle mh;
    CUevent e = NULL;
    CUstream s = NULL;
    CUdeviceptr p = 0;
    unsigned v = 0;
    start();
    from_hex(&eh, api_argument, sizeof eh);
    from_hex(&mh, api_argument + 2 * sizeof eh, sizeof mh);
    succeed(cuIpcOpenEventHandle, &e, eh);
    succeed(cuIpcOpenMemHandle_v2, &p, mh, CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuEventSynchronize, e);
    succeed(cuEventQuery, e);
    succeed(cuStreamWaitEvent, s, e, 0);
    succeed(cuMemsetD32Async, p, 99, 1, s);
    succeed(cuEventRecord, e, s); // in the other direction
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, &v, p + 4, 4);
    eq(v, 19);
    succeed(cuIpcCloseMemHandle, p);
    succeed(cuEventDestroy_v2, e);
    succeed(cuStreamDestroy_v2, s);
}

static void
event(void)
{
    CUevent e = NULL;
    CUstream s = NULL;
    CUdeviceptr p = 0;
    CUipcEventHandle eh;
    CUipcMemHandle mh;
    char argument[2 * sizeof eh + 2 * sizeof mh + 1];
    unsigned v = 0;
    succeed(cuEventCreate, &e, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuMemAlloc_v2, &p, 16 << 20);
    succeed(cuIpcGetEventHandle, &eh, e);
    succeed(cuIpcGetMemHandle, &mh, p);
    for (unsigned i = 0; i < 20; i++)
        succeed(cuMemsetD32Async, p, i, 4 << 20, s);
    succeed(cuEventRecord, e, s);
    to_hex(argument, &eh, sizeof eh);
    to_hex(argument + 2 * sizeof eh, &mh, sizeof mh);
    api_join(api_spawn("_event_waiter", argument));
    succeed(cuEventSynchronize, e);
    succeed(cuEventQuery, e);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 99);
    succeed(cuEventDestroy_v2, e);
    succeed(cuStreamDestroy_v2, s);
}

static void
event_misuse(void)
{
    CUevent plain = NULL, shared = NULL, e = NULL;
    CUipcEventHandle h, zero;
    float ms;
    memset(&zero, 0, sizeof zero);
    succeed(cuEventCreate, &plain, CU_EVENT_DISABLE_TIMING);
    succeed(cuEventCreate, &shared, CU_EVENT_DISABLE_TIMING | CU_EVENT_INTERPROCESS);
    expect(CUDA_ERROR_INVALID_VALUE, cuEventCreate, &e, CU_EVENT_INTERPROCESS); // must be without timing
    succeed(cuEventQuery, shared);
    succeed(cuIpcGetEventHandle, &h, shared);
    expect(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle, &h, plain);
    expect(CUDA_ERROR_INVALID_HANDLE, cuIpcGetEventHandle, &h, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcGetEventHandle, NULL, shared);
    expect(CUDA_ERROR_INVALID_VALUE, cuIpcOpenEventHandle, NULL, h);
    expect(CUDA_ERROR_INVALID_HANDLE, cuEventElapsedTime_v2, &ms, shared, shared);
}

static void
event_zero_handle(void)
{
    CUevent e = NULL;
    CUipcEventHandle zero;
    memset(&zero, 0, sizeof zero);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuIpcOpenEventHandle, &e, zero);
}

API_MAIN(RAW(_memory_reader), CASE(memory_small), CASE(memory_large), RAW(_offset_reader), CASE(memory_offset), CASE(memory_misuse), CASE(memory_zero_handle),
    RAW(_event_waiter), CASE(event), CASE(event_misuse), CASE(event_zero_handle))
