// SPDX-License-Identifier: MIT
// TOOLS_RUNTIME_CALLBACK_HOOKS: memory in which the runtime keeps which of its calls a tool wants
// to hear of. All zero: none.
#include "driver/dark/dark.h"

#define NAME "TOOLS_RUNTIME_CALLBACK_HOOKS"

DARK_UNKNOWN(NAME, 1)
DARK_UNKNOWN(NAME, 3)
DARK_UNKNOWN(NAME, 4)
DARK_UNKNOWN(NAME, 5)

// Numbers of entries, one per call of the runtime and per kind of event; the memory is larger than
// either counts.
enum { CALLS = 1024, KINDS = 14 };
static uint64_t calls[CALLS], kinds[CALLS];

static void
call_flags(void **buffer, size_t *n)
{
    *buffer = calls;
    *n = CALLS;
}

static void
kind_flags(void **buffer, size_t *n)
{
    *buffer = kinds;
    *n = KINDS;
}

enum { WORDS = 7 };
static const dark_word words[WORDS] = {
    DARK_SIZE(WORDS),   DARK_FN(unknown_1), DARK_FN(call_flags), DARK_FN(unknown_3),
    DARK_FN(unknown_4), DARK_FN(unknown_5), DARK_FN(kind_flags),
};

const struct dark_table dark_hooks = {
    {0xa0, 0x94, 0x79, 0x8c, 0x2e, 0x74, 0x2e, 0x74, 0x93, 0xf2, 0x08, 0x00, 0x20, 0x0c, 0x0a,
     0x66},
    NAME,
    words,
};
