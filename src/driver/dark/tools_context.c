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

// The other slots, all with one answer: which one was called is not told apart.
static CUresult
unknown(void)
{
    return dark_unknown(NAME, -1);
}

enum { WORDS = 93 };
static const dark_word words[WORDS] = {
    [0] = DARK_SIZE(WORDS), [1 ... 2] = DARK_FN(unknown),  [3] = DARK_FN(device_of),
    [4] = DARK_FN(id_of),   [5 ... 92] = DARK_FN(unknown),
};

const struct dark_table dark_tools_context = {
    {0x21, 0x31, 0x8c, 0x60, 0x97, 0x14, 0x32, 0x48, 0x8c, 0xa6, 0x41, 0xff, 0x73, 0x24, 0xc8,
     0xf2},
    NAME,
    words,
};
