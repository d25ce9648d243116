// SPDX-License-Identifier: MIT
// cuGetExportTable: a table by its UUID. Tables that are not listed are refused: clients have a way
// without them, and a table of functions that only pretend would send them the wrong way.
#include "driver/dark/dark.h"
#include "api_impl.h"

#include <stdio.h>
#include <string.h>

static const struct dark_table *const tables[] = {
    &dark_cudart_interface,
    &dark_tools_tls,
    &dark_hooks,
    &dark_cls,
    &dark_context_checks,
    &dark_integrity,
    &dark_ctx_create_bypass,
    &dark_tools_context,
    &dark_tools_module,
};

static void
format_uuid(char *to, const uint8_t id[16])
{
    for (int i = 0; i < 16; i++)
        to += sprintf(to, i == 4 || i == 6 || i == 8 || i == 10 ? "-%02x" : "%02x", id[i]);
}

CUresult
pw_cuGetExportTable(const void **table, const CUuuid *id)
{
    if (!table || !id)
        return fail(CUDA_ERROR_INVALID_VALUE, "table %p, id %p", (const void *)table,
                    (const void *)id);
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        if (memcmp(id, tables[i]->uuid, 16))
            continue;
        *table = tables[i]->words;
        LOG(LOG_API, "export table %s", tables[i]->name);
        return CUDA_SUCCESS;
    }
    char text[40];
    format_uuid(text, (const uint8_t *)id);
    LOG(LOG_INFO, "export table %s is not known and refused", text);
    return CUDA_ERROR_NOT_FOUND;
}

// Slots already reported, as bits of a small hash set of (table, slot); a collision hides one line.
CUresult
dark_unknown(const char *table, int slot)
{
    static atomic_uint_fast64_t seen[16];
    unsigned h = ((unsigned)((uintptr_t)table >> 3) * 31 + (unsigned)slot) % 1024;
    if (!(atomic_fetch_or(&seen[h / 64], (uint_fast64_t)1 << h % 64) >> h % 64 & 1))
        LOG(LOG_UNSUPPORTED, "slot %d of export table %s is not known", slot, table);
    return CUDA_ERROR_NOT_SUPPORTED;
}
