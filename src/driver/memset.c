// SPDX-License-Identifier: MIT
// Fills of memory with a repeated value of 1, 2 or 4 bytes.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

#include <string.h>

enum { INLINE_LIMIT = 64 << 10 }; // bytes filled by the calling thread when nothing is pending

static void
fill_row(char *p, uint32_t pattern, unsigned element, size_t n)
{
    if (element == 1) {
        memset(p, (int)pattern, n);
        return;
    }
    for (size_t i = 0; i < n; i++)
        memcpy(p + i * element, &pattern, element); // little-endian: the low bytes
}

static void
fill_now(const struct command *c)
{
    for (size_t y = 0; y < c->fill.height; y++)
        fill_row(c->fill.dst + y * c->fill.pitch, c->fill.pattern, c->fill.element, c->fill.width);
}

CUresult
fill_command(const CUDA_MEMSET_NODE_PARAMS *p, struct command **out)
{
    *out = NULL;
    unsigned e = p->elementSize;
    if ((e != 1 && e != 2 && e != 4) || p->dst % e || (p->height > 1 && p->pitch % e))
        return fail(CUDA_ERROR_INVALID_VALUE, "element of %u bytes at 0x%llx, pitch %zu", e,
                    (unsigned long long)p->dst, p->pitch);
    if (!p->width || !p->height)
        return CUDA_SUCCESS;
    size_t row, span = 0;
    if (__builtin_mul_overflow(p->width, (size_t)e, &row) ||
        (p->height > 1 &&
         (p->pitch < row || __builtin_mul_overflow(p->height - 1, p->pitch, &span))) ||
        __builtin_add_overflow(span, row, &span))
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu x %zu elements of %u bytes, pitch %zu", p->width,
                    p->height, e, p->pitch);
    CUresult r = side_check((void *)(uintptr_t)p->dst, span, SIDE_DEVICE, true);
    if (r)
        return r;
    struct command *c = command_new(CMD_FILL, 0);
    c->fill.dst = (char *)(uintptr_t)p->dst;
    c->fill.pattern = p->value;
    c->fill.element = e;
    c->fill.width = p->width;
    c->fill.height = p->height;
    c->fill.pitch = p->height > 1 ? p->pitch : row;
    *out = c;
    return CUDA_SUCCESS;
}

// A synchronous fill of device memory does not hold up the host; that of memory that the host reads
// does.
static bool
must_wait(const struct command *c)
{
    struct mem m;
    return mem_find(c->fill.dst, &m) &&
           (m.kind == MK_HOST || m.kind == MK_REGISTERED || m.kind == MK_MANAGED);
}

CUresult
fill_submit(CUstream handle, struct command *c, enum submit_mode mode)
{
    struct stream *s;
    CUresult r = stream_resolve(handle, &s);
    if (!r && mode == SUBMIT_SYNC)
        r = capture_check_stream(s); // captures of other streams do not mind, as on NVIDIA's driver
    if (!r && s->legacy)
        r = capture_check_legacy(s->ctx);
    if (r || !c) {
        command_free(c);
        return r;
    }
    if (!stream_capturing(s) && s->ctx->dev->props->integrated &&
        c->fill.width * c->fill.element * c->fill.height <= INLINE_LIMIT && stream_idle(s)) {
        fill_now(c);
        command_free(c);
        return CUDA_SUCCESS;
    }
    bool wait = mode == SUBMIT_SYNC && must_wait(c);
    r = stream_submit(s, c);
    return r || !wait ? r : stream_wait(s);
}

static CUresult
fill(CUdeviceptr dst, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
     CUstream stream, enum submit_mode mode)
{
    struct command *c;
    CUDA_MEMSET_NODE_PARAMS p = {dst, pitch, value, element, width, height};
    CUresult r = fill_command(&p, &c);
    return r ? r : fill_submit(stream, c, mode);
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuMemsetD8_v2(CUdeviceptr dst, unsigned char v, size_t n)
{
    return fill(dst, 0, v, 1, n, 1, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD8Async(CUdeviceptr dst, unsigned char v, size_t n, CUstream stream)
{
    return fill(dst, 0, v, 1, n, 1, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemsetD2D8_v2(CUdeviceptr dst, size_t pitch, unsigned char v, size_t width, size_t height)
{
    return fill(dst, pitch, v, 1, width, height, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD2D8Async(CUdeviceptr dst, size_t pitch, unsigned char v, size_t width, size_t height,
                     CUstream stream)
{
    return fill(dst, pitch, v, 1, width, height, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemsetD16_v2(CUdeviceptr dst, unsigned short v, size_t n)
{
    return fill(dst, 0, v, 2, n, 1, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD16Async(CUdeviceptr dst, unsigned short v, size_t n, CUstream stream)
{
    return fill(dst, 0, v, 2, n, 1, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemsetD2D16_v2(CUdeviceptr dst, size_t pitch, unsigned short v, size_t width, size_t height)
{
    return fill(dst, pitch, v, 2, width, height, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD2D16Async(CUdeviceptr dst, size_t pitch, unsigned short v, size_t width, size_t height,
                      CUstream stream)
{
    return fill(dst, pitch, v, 2, width, height, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemsetD32_v2(CUdeviceptr dst, unsigned v, size_t n)
{
    return fill(dst, 0, v, 4, n, 1, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD32Async(CUdeviceptr dst, unsigned v, size_t n, CUstream stream)
{
    return fill(dst, 0, v, 4, n, 1, stream, SUBMIT_ASYNC);
}

CUresult
pw_cuMemsetD2D32_v2(CUdeviceptr dst, size_t pitch, unsigned v, size_t width, size_t height)
{
    return fill(dst, pitch, v, 4, width, height, NULL, SUBMIT_SYNC);
}

CUresult
pw_cuMemsetD2D32Async(CUdeviceptr dst, size_t pitch, unsigned v, size_t width, size_t height,
                      CUstream stream)
{
    return fill(dst, pitch, v, 4, width, height, stream, SUBMIT_ASYNC);
}
