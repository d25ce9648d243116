// SPDX-License-Identifier: MIT
// CTX_CREATE_BYPASS: context creation for tools.
#include "driver/dark/dark.h"
#include "api_impl.h"

static CUresult
create(CUcontext *out, unsigned flags, CUdevice dev)
{
    return pw_cuCtxCreate_v2(out, flags, dev);
}

enum { WORDS = 2 };
static const dark_word words[WORDS] = {DARK_SIZE(WORDS), DARK_FN(create)};

const struct dark_table dark_ctx_create_bypass = {
    {0x0c, 0xa5, 0x0b, 0x8c, 0x10, 0x04, 0x92, 0x9a, 0x89, 0xa7, 0xd0, 0xdf, 0x10, 0xe7, 0x72,
     0x86},
    "CTX_CREATE_BYPASS",
    words,
};
