// SPDX-License-Identifier: MIT
// CONTEXT_CHECKS: whether a context is of a kind that the runtime has to treat specially. Ours
// never are.
#include "driver/dark/dark.h"

#define NAME "CONTEXT_CHECKS"

DARK_UNKNOWN(NAME, 1)
DARK_UNKNOWN(NAME, 4)
DARK_UNKNOWN(NAME, 5)
DARK_UNKNOWN(NAME, 6)
DARK_UNKNOWN(NAME, 7)
DARK_UNKNOWN(NAME, 8)
DARK_UNKNOWN(NAME, 9)
DARK_UNKNOWN(NAME, 10)
DARK_UNKNOWN(NAME, 11)
DARK_UNKNOWN(NAME, 12)
DARK_UNKNOWN(NAME, 13)
DARK_UNKNOWN(NAME, 14)

static CUresult
check_context(CUcontext ctx, unsigned *result, const void **more)
{
    (void)ctx, (void)more;
    if (result)
        *result = 0;
    return CUDA_SUCCESS;
}

static unsigned
check_process(void)
{
    return 0;
}

enum { WORDS = 15 };
static const dark_word words[WORDS] = {
    DARK_SIZE(WORDS),    DARK_FN(unknown_1),  DARK_FN(check_context), DARK_FN(check_process),
    DARK_FN(unknown_4),  DARK_FN(unknown_5),  DARK_FN(unknown_6),     DARK_FN(unknown_7),
    DARK_FN(unknown_8),  DARK_FN(unknown_9),  DARK_FN(unknown_10),    DARK_FN(unknown_11),
    DARK_FN(unknown_12), DARK_FN(unknown_13), DARK_FN(unknown_14),
};

const struct dark_table dark_context_checks = {
    {0x26, 0x3e, 0x88, 0x60, 0x7c, 0xd2, 0x61, 0x43, 0x92, 0xf6, 0xbb, 0xd5, 0x00, 0x6d, 0xfa,
     0x7e},
    NAME,
    words,
};
