// SPDX-License-Identifier: MIT
// Export tables: function tables without names, asked for by UUID. One file a table; table.c lists
// them. A table is an array of 8-byte words; unless said otherwise word 0 holds its size in bytes
// and functions follow.
#ifndef DRIVER_DARK_DARK_H
#define DRIVER_DARK_DARK_H

#include "driver/driver.h"

typedef const void *dark_word;

struct dark_table {
    uint8_t uuid[16]; // in memory order
    const char *name;
    const dark_word *words;
};

extern const struct dark_table dark_cudart_interface, dark_tools_tls, dark_hooks, dark_cls,
    dark_context_checks, dark_integrity, dark_ctx_create_bypass, dark_tools_context,
    dark_tools_module;

// Word 0 of a table of n words.
#define DARK_SIZE(n) ((dark_word)(uintptr_t)((n)*8))
// A function as a word: an address constant, as a function pointer may not be an initialiser of an
// object pointer in ISO C.
#define DARK_FN(f) ((dark_word)(uintptr_t)(f))

// A slot whose meaning is not known: logs table and slot once and answers CUDA_ERROR_NOT_SUPPORTED.
CUresult dark_unknown(const char *table, int slot);
#define DARK_UNKNOWN(table, n)                                                                     \
    static CUresult unknown_##n(void)                                                              \
    {                                                                                              \
        return dark_unknown(table, n);                                                             \
    }

#endif
