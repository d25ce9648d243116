// SPDX-License-Identifier: MIT
// TOOLS_TLS: the calling thread's current context, for libraries that carry a runtime of their own.
#include "driver/dark/dark.h"

#define NAME "TOOLS_TLS"

DARK_UNKNOWN(NAME, 1)

static CUresult
current_context(CUcontext *out)
{
    if (!out)
        return CUDA_ERROR_INVALID_VALUE;
    *out = (CUcontext)ctx_current();
    return CUDA_SUCCESS;
}

enum { WORDS = 3 };
static const dark_word words[WORDS] = {
    DARK_SIZE(WORDS),
    DARK_FN(unknown_1),
    DARK_FN(current_context),
};

const struct dark_table dark_tools_tls = {
    {0x42, 0xd8, 0x5a, 0x81, 0x23, 0xf6, 0xcb, 0x47, 0x82, 0x98, 0xf6, 0xe7, 0x8a, 0x3a, 0xec,
     0xdc},
    NAME,
    words,
};
