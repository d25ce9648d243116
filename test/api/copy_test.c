// SPDX-License-Identifier: MIT
// Copies: every direction, 1D, 2D, 3D, batches, between contexts.
#include "api.h"

enum { N = 4096 };

static CUdeviceptr
alloc(size_t n)
{
    CUdeviceptr p = 0;
    succeed(cuMemAlloc_v2, &p, n);
    return p;
}

static void
pattern(unsigned char *p, size_t n, unsigned seed)
{
    for (size_t i = 0; i < n; i++)
        p[i] = (unsigned char)(i * 7 + i / 251 + seed);
}

static unsigned char a[N], b[N];

static void
directions(void)
{
    CUdeviceptr p = alloc(N), q = alloc(N);
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, 0);
    pattern(a, N, 1);
    succeed(cuMemcpyHtoD_v2, p, a, N);
    succeed(cuMemcpyDtoD_v2, q, p, N);
    succeed(cuMemcpyDtoH_v2, b, q, N);
    ok(!memcmp(a, b, N), "to the device, across and back");
    pattern(a, N, 2);
    succeed(cuMemcpyHtoDAsync_v2, p, a, N, s);
    succeed(cuMemcpyDtoDAsync_v2, q, p, N, s);
    succeed(cuMemcpyDtoHAsync_v2, b, q, N, s);
    succeed(cuStreamSynchronize, s);
    ok(!memcmp(a, b, N), "the same in a stream");
    pattern(a, N, 3);
    succeed(cuMemcpy, p, (CUdeviceptr)(uintptr_t)a, N);
    succeed(cuMemcpyAsync, q, p, N, s);
    succeed(cuMemcpyAsync, (CUdeviceptr)(uintptr_t)b, q, N, s);
    succeed(cuStreamSynchronize, s);
    ok(!memcmp(a, b, N), "the directions were found out");
    succeed(cuMemcpyHtoD_v2, p + 100, a, 10);
    succeed(cuMemcpyDtoH_v2, b, p, 200);
    ok(!memcmp(b + 100, a, 10) && !memcmp(b, a, 100) && !memcmp(b + 110, a + 110, 90), "a part in the middle");
    succeed(cuStreamDestroy_v2, s);
}

static void
nothing(void)
{
    CUdeviceptr p = alloc(N);
    succeed(cuMemcpyHtoD_v2, p, a, 0);
    succeed(cuMemcpyDtoH_v2, a, p, 0);
    succeed(cuMemcpyDtoD_v2, p, p, 0);
    succeed(cuMemcpy, p, p, 0);
    succeed(cuMemcpyHtoDAsync_v2, p, a, 0, NULL);
}

static void
misuse(void)
{
    CUdeviceptr p = alloc(N), freed = alloc(N);
    succeed(cuMemFree_v2, freed);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, 0, a, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, a, 0, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoD_v2, p, 0, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, p, NULL, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, NULL, p, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, p, a, N + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, p + N - 8, a, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, b, p, (size_t)1 << 40);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, freed, a, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyDtoH_v2, b, freed, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyHtoD_v2, 4096, a, 16);
}

// ---- 2D ---------------------------------------------------------------------------------------------
static CUDA_MEMCPY2D
plane(void *host, size_t host_pitch, CUdeviceptr dev, size_t dev_pitch, size_t width, size_t height)
{
    CUDA_MEMCPY2D c;
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = host;
    c.srcPitch = host_pitch;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = dev;
    c.dstPitch = dev_pitch;
    c.WidthInBytes = width;
    c.Height = height;
    return c;
}

static void
two(void)
{
    enum { W = 40, H = 12 };
    CUdeviceptr p = alloc(64 * H);
    pattern(a, N, 4);
    memset(b, 0xee, N);
    CUDA_MEMCPY2D c = plane(a, 50, p, 64, W, H);
    succeed(cuMemcpy2D_v2, &c);
    c = (CUDA_MEMCPY2D){.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = p, .srcPitch = 64, .dstMemoryType = CU_MEMORYTYPE_HOST, .dstHost = b,
        .dstPitch = 45, .WidthInBytes = W, .Height = H};
    succeed(cuMemcpy2DUnaligned_v2, &c);
    int bad = 0, touched = 0;
    for (int y = 0; y < H; y++) {
        bad += memcmp(a + 50 * y, b + 45 * y, W) != 0;
        for (int x = W; x < 45; x++)
            touched += b[45 * y + x] != 0xee;
    }
    eq(bad, 0);
    eq(touched, 0);
    // A part of it, from an offset to another.
    memset(b, 0, N);
    c.srcXInBytes = 3;
    c.srcY = 2;
    c.dstXInBytes = 1;
    c.dstY = 1;
    c.WidthInBytes = 7;
    c.Height = 4;
    succeed(cuMemcpy2DAsync_v2, &c, NULL);
    succeed(cuCtxSynchronize, );
    bad = 0;
    for (int y = 0; y < 4; y++)
        bad += memcmp(a + 50 * (y + 2) + 3, b + 45 * (y + 1) + 1, 7) != 0;
    eq(bad, 0);
    eq(b[0], 0);
}

static void
two_misuse(void)
{
    CUdeviceptr p = alloc(64 * 12);
    CUDA_MEMCPY2D c = plane(a, 50, p, 64, 40, 12);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, NULL);
    c.WidthInBytes = 60; // more than the source's pitch
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &c);
    c = plane(a, 50, p, 64, 40, 13);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &c);
    c = plane(NULL, 50, p, 64, 40, 12);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &c);
    c = plane(a, 50, 0, 64, 40, 12);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &c);
    c = plane(a, 50, p, 64, 40, 12);
    c.srcMemoryType = (CUmemorytype)9;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy2D_v2, &c);
    c = plane(a, 50, p, 64, 0, 12);
    succeed(cuMemcpy2D_v2, &c);
    c = plane(a, 50, p, 64, 40, 0);
    succeed(cuMemcpy2D_v2, &c);
    c = plane(a, 50, p, 64, 40, 12);
    c.dstMemoryType = CU_MEMORYTYPE_ARRAY;
    c.dstArray = NULL;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_INVALID_HANDLE, cuMemcpy2D_v2, &c);
}

// ---- 3D ---------------------------------------------------------------------------------------------
static void
three(void)
{
    enum { W = 16, H = 5, D = 6, HP = 20, HH = 7, DP = 32, DH = 8 };
    CUdeviceptr p = alloc(DP * DH * D);
    CUDA_MEMCPY3D c;
    pattern(a, N, 5);
    memset(&c, 0, sizeof c);
    c.srcMemoryType = CU_MEMORYTYPE_HOST;
    c.srcHost = a;
    c.srcPitch = HP;
    c.srcHeight = HH;
    c.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    c.dstDevice = p;
    c.dstPitch = DP;
    c.dstHeight = DH;
    c.WidthInBytes = W;
    c.Height = H;
    c.Depth = D;
    succeed(cuMemcpy3D_v2, &c);
    CUDA_MEMCPY3D back;
    memset(&back, 0, sizeof back);
    back.srcMemoryType = CU_MEMORYTYPE_DEVICE;
    back.srcDevice = p;
    back.srcPitch = DP;
    back.srcHeight = DH;
    back.srcXInBytes = 2;
    back.srcY = 1;
    back.srcZ = 1;
    back.dstMemoryType = CU_MEMORYTYPE_HOST;
    back.dstHost = b;
    back.dstPitch = 10;
    back.dstHeight = 4;
    back.WidthInBytes = 9;
    back.Height = 3;
    back.Depth = 4;
    memset(b, 0, N);
    succeed(cuMemcpy3DAsync_v2, &back, NULL);
    succeed(cuCtxSynchronize, );
    int bad = 0;
    for (int z = 0; z < 4; z++)
        for (int y = 0; y < 3; y++)
            bad += memcmp(b + (z * 4 + y) * 10, a + ((z + 1) * HH + y + 1) * HP + 2, 9) != 0;
    eq(bad, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2, NULL);
    c.Height = HH + 1; // more than the source's height
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2, &c);
    c.Height = H;
    c.WidthInBytes = HP + 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2, &c);
    c.WidthInBytes = W;
    c.Depth = 0;
    succeed(cuMemcpy3D_v2, &c);
    c.Depth = 1000;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3D_v2, &c);
}

// ---- peers ------------------------------------------------------------------------------------------
static void
peers(void)
{
    CUcontext c = NULL;
    CUdeviceptr p = alloc(N), q = 0;
    pattern(a, N, 6);
    memset(b, 0, N);
    succeed(cuMemcpyHtoD_v2, p, a, N);
    succeed(cuCtxCreate_v2, &c, 0, device);
    q = alloc(N);
    succeed(cuMemcpyPeer, q, c, p, primary, N);
    succeed(cuMemcpyDtoH_v2, b, q, N);
    ok(!memcmp(a, b, N), "between two contexts");
    succeed(cuMemsetD8_v2, q, 0, N);
    succeed(cuMemcpyPeerAsync, q, c, p, primary, N, NULL);
    succeed(cuCtxSynchronize, );
    memset(b, 0, N);
    succeed(cuMemcpyDtoH_v2, b, q, N);
    ok(!memcmp(a, b, N), "between two contexts in a stream");
    CUDA_MEMCPY3D_PEER d;
    memset(&d, 0, sizeof d);
    d.srcMemoryType = d.dstMemoryType = CU_MEMORYTYPE_DEVICE;
    d.srcDevice = p;
    d.dstDevice = q;
    d.srcContext = primary;
    d.dstContext = c;
    d.srcPitch = d.dstPitch = 64;
    d.srcHeight = d.dstHeight = 8;
    d.WidthInBytes = 64;
    d.Height = 8;
    d.Depth = N / 512;
    succeed(cuMemsetD8_v2, q, 0, N);
    succeed(cuMemcpy3DPeer, &d);
    succeed(cuMemcpyDtoH_v2, b, q, N);
    ok(!memcmp(a, b, N), "in three dimensions");
    succeed(cuMemcpy3DPeerAsync, &d, NULL);
    succeed(cuCtxSynchronize, );
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DPeer, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyPeer, 0, c, p, primary, N);
    succeed(cuCtxDestroy_v2, c);
}

// ---- batches ----------------------------------------------------------------------------------------
static void
batch(void)
{
    if (!HAVE(cuMemcpyBatchAsync_v2)) {
        skip("the driver is older than 13.0");
        return;
    }
    CUdeviceptr p = alloc(N);
    CUstream s = NULL;
    unsigned char *h = NULL;
    succeed(cuMemHostAlloc, (void **)&h, N, 0);
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    pattern(h, N, 7);
    CUdeviceptr dst[3] = {p, p + 1000, p + 2000}, src[3];
    size_t sizes[3] = {1000, 1000, N - 2000}, index[1] = {0};
    for (int i = 0; i < 3; i++)
        src[i] = (CUdeviceptr)(uintptr_t)(h + 1000 * i);
    CUmemcpyAttributes at;
    memset(&at, 0, sizeof at);
    at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    succeed(cuMemcpyBatchAsync_v2, dst, src, sizes, 3, &at, index, 1, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, b, p, N);
    ok(!memcmp(b, h, N), "three pieces");
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, dst, src, sizes, 0, &at, index, 1, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, NULL, src, sizes, 3, &at, index, 1, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, dst, src, sizes, 3, &at, index, 4, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, dst, src, sizes, 3, NULL, index, 1, s);
    index[0] = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, dst, src, sizes, 3, &at, index, 1, s);
    index[0] = 0;
    at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_INVALID;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpyBatchAsync_v2, dst, src, sizes, 3, &at, index, 1, s);
    at.srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_SUPPORTED, cuMemcpyBatchAsync_v2, dst, src, sizes, 3, &at, index, 1, NULL);
}

static void
batch3d(void)
{
    if (!HAVE(cuMemcpy3DBatchAsync_v2)) {
        skip("the driver is older than 13.0");
        return;
    }
    CUdeviceptr p = alloc(N);
    CUstream s = NULL;
    CUDA_MEMCPY3D_BATCH_OP op[2];
    unsigned char *h = NULL;
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuMemHostAlloc, (void **)&h, N, 0);
    pattern(h, N, 8);
    memset(op, 0, sizeof op);
    for (int i = 0; i < 2; i++) {
        op[i].src.type = op[i].dst.type = CU_MEMCPY_OPERAND_TYPE_POINTER;
        op[i].src.op.ptr.ptr = (CUdeviceptr)(uintptr_t)(h + 1024 * i);
        op[i].dst.op.ptr.ptr = p + 1024 * (unsigned)i;
        op[i].extent = (CUextent3D){.width = 64, .height = 4, .depth = 4};
        op[i].srcAccessOrder = CU_MEMCPY_SRC_ACCESS_ORDER_STREAM;
    }
    succeed(cuMemcpy3DBatchAsync_v2, 2, op, 0, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, b, p, 2048);
    ok(!memcmp(b, h, 2048), "two boxes");
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync_v2, 0, op, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync_v2, 2, NULL, 0, s);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync_v2, 2, op, 1, s);
    op[1].src.type = (CUmemcpy3DOperandType)77;
    expect(CUDA_ERROR_INVALID_VALUE, cuMemcpy3DBatchAsync_v2, 2, op, 0, s);
}

// ---- the per-thread and old forms -------------------------------------------------------------------
static void
per_thread(void)
{
    CUdeviceptr p = alloc(N);
    pattern(a, N, 9);
    memset(b, 0, N);
    succeed(cuMemcpyHtoD_v2_ptds, p, a, N);
    succeed(cuMemcpyDtoHAsync_v2_ptsz, b, p, N, NULL);
    succeed(cuStreamSynchronize_ptsz, NULL);
    ok(!memcmp(a, b, N), "through the thread's own stream");
}

API_MAIN(CASE(directions), CASE(nothing), CASE(misuse), CASE(two), CASE(two_misuse), CASE(three), CASE(peers), CASE(batch), CASE(batch3d), CASE(per_thread))
