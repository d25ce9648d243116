// SPDX-License-Identifier: MIT
// cuGetProcAddress: from a base name and a CUDA version to an exported function.
#include <string.h>

#include "driver/driver.h"
#include "driver/proc.h"

// Index of the first form with that base name, or proc_count.
static unsigned
first_form(const char *name)
{
    unsigned lo = 0, hi = proc_count;
    while (lo < hi) {
        unsigned mid = lo + (hi - lo) / 2;
        if (strcmp(proc_table[mid].base, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < proc_count && !strcmp(proc_table[lo].base, name) ? lo : proc_count;
}

const struct proc_form *
proc_find(const char *name, int version, bool per_thread, CUdriverProcAddressQueryResult *status)
{
    const struct proc_form *found = NULL;
    unsigned first = first_form(name);
    *status = first == proc_count ? CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND
                                  : CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT;
    for (unsigned i = first; i < proc_count && !strcmp(proc_table[i].base, name); i++) {
        const struct proc_form *f = &proc_table[i];
        if (f->since <= version && (per_thread || !f->per_thread)) {
            found = f; // the table's order makes the last one the best
            *status = CU_GET_PROC_ADDRESS_SUCCESS;
        }
    }
    return found;
}

static const char call_name[] = "cuGetProcAddress";

static CUresult
get_proc(const char *symbol, void **pfn, int version, cuuint64_t flags,
         CUdriverProcAddressQueryResult *status)
{
    const cuuint64_t both = CU_GET_PROC_ADDRESS_LEGACY_STREAM |
                            CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    *status = CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    if (!symbol || !pfn)
        return fail_(CUDA_ERROR_INVALID_VALUE, call_name, "no symbol or no place for the address");
    *pfn = NULL;
    if (flags >= both)
        return fail_(CUDA_ERROR_INVALID_VALUE, call_name, "%s: flags 0x%llx", symbol,
                     (unsigned long long)flags);
    if (!*symbol) { // a probe of the runtime library: it is answered, with no address
        *status = CU_GET_PROC_ADDRESS_SUCCESS;
        return CUDA_SUCCESS;
    }
    bool per_thread = flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    const struct proc_form *f = proc_find(symbol, version, per_thread, status);
    if (!f) {
        LOG(LOG_INFO, "%s: no %s for CUDA %d.%d", call_name, symbol, version / 1000,
            version % 1000 / 10);
        return CUDA_ERROR_NOT_FOUND;
    }
    *pfn = proc_address[f - proc_table];
    return CUDA_SUCCESS;
}

CUresult
pw_cuGetProcAddress(const char *symbol, void **pfn, int version, cuuint64_t flags)
{
    CUdriverProcAddressQueryResult status;
    return get_proc(symbol, pfn, version, flags, &status);
}

CUresult
pw_cuGetProcAddress_v2(const char *symbol, void **pfn, int version, cuuint64_t flags,
                       CUdriverProcAddressQueryResult *status)
{
    // A name or version that is not found is told by the status and a NULL pointer (measured on NVIDIA's driver).
    CUdriverProcAddressQueryResult unused;
    CUresult r = get_proc(symbol, pfn, version, flags, status ? status : &unused);
    return r == CUDA_ERROR_NOT_FOUND ? CUDA_SUCCESS : r;
}
