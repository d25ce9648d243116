// SPDX-License-Identifier: MIT
// Fills of every width, in one and two dimensions, in streams.
#include "api.h"

enum { N = 1024 };
static unsigned char out[N];

static CUdeviceptr
cleared(void)
{
    CUdeviceptr p = 0;
    succeed(cuMemAlloc_v2, &p, N);
    succeed(cuMemsetD8_v2, p, 0xee, N);
    return p;
}

// Bytes [at, at + count * width) of the memory hold the value's bytes, all others 0xee.
static void
holds(CUdeviceptr p, size_t at, unsigned value, unsigned width, size_t count, const char *what)
{
    size_t bad = 0;
    succeed(cuMemcpyDtoH_v2, out, p, N);
    for (size_t i = 0; i < N; i++) {
        bool inside = i >= at && i < at + count * width;
        unsigned want = inside ? value >> 8 * ((i - at) % width) & 0xff : 0xee;
        bad += out[i] != want;
    }
    ok(!bad, "%s: %zu bytes are wrong", what, bad);
}

static void
widths(void)
{
    CUdeviceptr p = cleared();
    succeed(cuMemsetD8_v2, p + 3, 0x12, 77);
    holds(p, 3, 0x12, 1, 77, "bytes");
    p = cleared();
    succeed(cuMemsetD16_v2, p + 6, 0x1234, 77);
    holds(p, 6, 0x1234, 2, 77, "halves");
    p = cleared();
    succeed(cuMemsetD32_v2, p + 12, 0x12345678, 77);
    holds(p, 12, 0x12345678, 4, 77, "words");
}

static void
streams(void)
{
    CUstream s = NULL;
    CUdeviceptr p = cleared();
    succeed(cuStreamCreate, &s, 0);
    succeed(cuMemsetD8Async, p + 1, 0x21, 10, s);
    holds(p, 1, 0x21, 1, 10, "bytes");
    p = cleared();
    succeed(cuMemsetD16Async, p + 2, 0x4321, 10, s);
    holds(p, 2, 0x4321, 2, 10, "halves");
    p = cleared();
    succeed(cuMemsetD32Async, p + 4, 0x87654321, 10, s);
    holds(p, 4, 0x87654321, 4, 10, "words");
    succeed(cuMemsetD32Async_ptsz, p, 1, 1, NULL);
    succeed(cuMemsetD8_v2_ptds, p, 1, 1);
    succeed(cuStreamDestroy_v2, s);
}

static void
planes(void)
{
    CUdeviceptr p = cleared();
    CUstream s = NULL;
    succeed(cuStreamCreate, &s, 0);
    succeed(cuMemsetD2D8_v2, p, 64, 0x11, 20, 4);
    succeed(cuMemsetD2D16_v2, p + 256, 64, 0x2222, 10, 4);
    succeed(cuMemsetD2D32_v2, p + 512, 64, 0x33333333, 5, 4);
    succeed(cuMemsetD2D8Async, p + 768, 32, 0x44, 20, 2, s);
    succeed(cuMemsetD2D16Async, p + 832, 32, 0x5555, 10, 2, s);
    succeed(cuMemsetD2D32Async, p + 896, 32, 0x66666666, 5, 2, s);
    succeed(cuStreamSynchronize, s);
    succeed(cuMemcpyDtoH_v2, out, p, N);
    static const struct {
        size_t at, pitch, rows;
        unsigned char v;
    } part[] = {{0, 64, 4, 0x11}, {256, 64, 4, 0x22}, {512, 64, 4, 0x33}, {768, 32, 2, 0x44}, {832, 32, 2, 0x55}, {896, 32, 2, 0x66}};
    for (size_t k = 0; k < sizeof part / sizeof *part; k++) {
        size_t bad = 0;
        for (size_t i = 0; i < part[k].pitch * part[k].rows; i++)
            bad += out[part[k].at + i] != (i % part[k].pitch < 20 ? part[k].v : 0xee);
        ok(!bad, "part %zu: %zu bytes are wrong", k, bad);
    }
}

static void
misuse(void)
{
    CUdeviceptr p = cleared();
    int local = 0;
    succeed(cuMemsetD8_v2, p, 0, 0);
    succeed(cuMemsetD32_v2, p, 0, 0);
    succeed(cuMemsetD2D8_v2, p, 64, 0, 0, 4);
    succeed(cuMemsetD2D8_v2, p, 64, 0, 4, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, 0, 1, 16);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, p, 1, N + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, p, 1, SIZE_MAX);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, p, 1, SIZE_MAX / 4 + 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, p, 1, N / 4 + 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD16_v2, p + 1, 1, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD32_v2, p + 2, 1, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, (CUdeviceptr)(uintptr_t)&local, 1, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2, p, 16, 1, 20, 4); // wider than the pitch
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D8_v2, p, 64, 1, 20, 1000);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D16_v2, p, 63, 1, 20, 4);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD2D32_v2, p, 66, 1, 10, 4);
    holds(p, 0, 0xee, 1, 0, "a refused fill wrote");
    succeed(cuMemFree_v2, p);
    expect(CUDA_ERROR_INVALID_VALUE, cuMemsetD8_v2, p, 1, 16);
}

API_MAIN(CASE(widths), CASE(streams), CASE(planes), CASE(misuse))
