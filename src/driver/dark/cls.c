// SPDX-License-Identifier: MIT
// CONTEXT_LOCAL_STORAGE: values that the runtime keeps in a context; asked at the start of each
// runtime call. The table has no size word.
#include "driver/dark/dark.h"

// An inactive primary context is as good as an active one: it holds nothing.
static struct context *
context_of(CUcontext ctx)
{
    return ctx ? ctx_get(ctx) : ctx_current();
}

static CUresult
put(CUcontext ctx, void *key, void *value, storage_dtor *dtor)
{
    struct context *c = context_of(ctx);
    return c ? storage_put(c, key, value, dtor) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult delete (CUcontext ctx, void *key)
{
    struct context *c = context_of(ctx);
    return c ? storage_delete(c, key) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult
get(void **value, CUcontext ctx, void *key)
{
    struct context *c = context_of(ctx);
    if (!value)
        return CUDA_ERROR_INVALID_VALUE;
    return c ? storage_get(c, key, value) : CUDA_ERROR_INVALID_CONTEXT;
}

static CUresult
unknown_3(void)
{
    return dark_unknown("CONTEXT_LOCAL_STORAGE", 3);
}

static const dark_word words[] = {DARK_FN(put), DARK_FN(delete), DARK_FN(get), DARK_FN(unknown_3)};

const struct dark_table dark_cls = {
    {0xc6, 0x93, 0x33, 0x6e, 0x11, 0x21, 0xdf, 0x11, 0xa8, 0xc3, 0x68, 0xf3, 0x55, 0xd8, 0x95,
     0x93},
    "CONTEXT_LOCAL_STORAGE",
    words,
};
