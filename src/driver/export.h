// SPDX-License-Identifier: MIT
// What the generated exports share: the checks on entry and the call tracer.
#ifndef DRIVER_EXPORT_H
#define DRIVER_EXPORT_H

#include <stdint.h>

#include "driver/driver.h"
#include "driver/names.h"

#define EXPORT __attribute__((visibility("default")))

// ---- checks on entry ----
// Refuses a call before cuInit, in a child that was forked after it, and once the library's
// destructors run (process.c keeps the three flags).
static inline CUresult
api_check(void)
{
    if (process.initialised)
        return CUDA_SUCCESS;
    return process.deinitialised ? CUDA_ERROR_DEINITIALIZED : CUDA_ERROR_NOT_INITIALIZED;
}

// ---- tracer (LOG_API) ----
enum trace_role { ROLE_VAL, ROLE_FLAGS, ROLE_STR, ROLE_BUF, ROLE_IN, ROLE_OUT, ROLE_INOUT, ROLE_PTR,
    ROLE_FN, ROLE_STRUCT };
// How the value, or for ROLE_OUT and ROLE_INOUT what it points to, is read.
enum trace_type { TRACE_I32, TRACE_U8, TRACE_U16, TRACE_U32, TRACE_U64, TRACE_F32, TRACE_ADDRESS,
    TRACE_ADDRESS32, TRACE_POINTER, TRACE_STRING, TRACE_ENUM, TRACE_UUID };

struct trace_param {
    const char *name;
    uint8_t role, type;
    const struct enum_info *names; // of TRACE_ENUM
};
struct trace_call {
    const char *name;
    const struct trace_param *params;
    unsigned count;
};

// One traced call, on the stack of its wrapper.
struct trace {
    const struct trace_call *call;
    const void *const *values; // addresses of the arguments
    uint64_t start;            // ns
    uint64_t before;           // what the ROLE_INOUT argument pointed to
};

void trace_begin(struct trace *t, const struct trace_call *call, const void *const *values);
// Writes the line; returns `result`.
CUresult trace_end(struct trace *t, CUresult result);

#endif
