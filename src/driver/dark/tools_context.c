// SPDX-License-Identifier: MIT
// TOOLS_CONTEXT: facts about contexts, asked by NVIDIA's mathematical libraries.
#include "driver/dark/dark.h"
#include "api_impl.h"

#define NAME "TOOLS_CONTEXT"

static CUresult
device_of(CUcontext ctx, CUdevice *out)
{
    return pw_cuCtxGetDevice_v2(out, ctx);
}

// As cuCtxGetId, in 32 bits.
static CUresult
id_of(CUcontext ctx, unsigned *out)
{
    struct context *c;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r == CUDA_SUCCESS && out)
        *out = (unsigned)c->obj.id;
    return r;
}

// The driver's own object behind a stream handle (NULL: the default stream of the context). Only
// ever handed back to slot 39.
static CUresult
stream_of(CUcontext ctx, CUstream stream, void **out, int per_thread)
{
    (void)per_thread; // the handle says it already
    struct context *c;
    struct stream *s;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r == CUDA_SUCCESS)
        r = stream_resolve(stream, &s);
    if (r == CUDA_SUCCESS && out)
        *out = s;
    return r;
}

// A property of such a stream that is 0 for ordinary ones; which one is not known.
static CUresult
stream_property(CUcontext ctx, void *stream, unsigned *out)
{
    (void)ctx, (void)stream;
    if (out)
        *out = 0;
    return CUDA_SUCCESS;
}

// The slots whose meaning is not known; the log names the one that is called.
// clang-format off
#define UNKNOWN_SLOTS \
    X(1) X(2) X(5) X(6) X(7) X(8) X(9) X(10) X(11) X(12) X(13) X(14) \
    X(15) X(16) X(17) X(18) X(19) X(20) X(21) X(22) X(23) X(24) X(25) X(26) \
    X(27) X(28) X(29) X(30) X(31) X(32) X(33) X(34) X(35) X(36) X(37) X(38) \
    X(40) X(41) X(42) X(43) X(44) X(45) X(46) X(47) X(48) X(49) X(50) X(52) \
    X(53) X(54) X(55) X(56) X(57) X(58) X(59) X(60) X(61) X(62) X(63) X(64) \
    X(65) X(66) X(67) X(68) X(69) X(70) X(71) X(72) X(73) X(74) X(75) X(76) \
    X(77) X(78) X(79) X(80) X(81) X(82) X(83) X(84) X(85) X(86) X(87) X(88) \
    X(89) X(90) X(91) X(92)
// clang-format on
#define X(n) DARK_UNKNOWN(NAME, n)
UNKNOWN_SLOTS
#undef X

enum { WORDS = 93 };
#define X(n) [n] = DARK_FN(unknown_##n),
static const dark_word words[WORDS] = {
    [0] = DARK_SIZE(WORDS),          [3] = DARK_FN(device_of),  [4] = DARK_FN(id_of),
    [39] = DARK_FN(stream_property), [51] = DARK_FN(stream_of), UNKNOWN_SLOTS};
#undef X

const struct dark_table dark_tools_context = {
    {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
     0xf2},
    NAME,
    words,
};
