// SPDX-License-Identifier: MIT
// TOOLS_MODULE: the functions of a module, for libraries that look them up by walking.
#include "driver/dark/dark.h"
#include "driver/module.h"
#include "api_impl.h"

#define NAME "TOOLS_MODULE"

// The module of a handle, which may be a library's.
static CUmodule
module_of(CUcontext ctx, void *handle)
{
    struct library *lib = object_get(handle, OBJ_LIBRARY);
    struct context *c;
    struct module *m;
    if (!lib)
        return handle;
    if (ctx_from_handle(ctx, &c) != CUDA_SUCCESS || library_module(lib, c, &m) != CUDA_SUCCESS)
        return NULL;
    return (CUmodule)m;
}

// Calls fn for every function; answers 1 when it has, not a CUresult.
static int
each_function(CUcontext ctx, void *handle, void (*fn)(void *user, CUfunction f), void *user)
{
    unsigned n = 0;
    CUmodule module = module_of(ctx, handle);
    if (!fn || pw_cuModuleGetFunctionCount(&n, module) != CUDA_SUCCESS)
        return 0;
    CUfunction *list = NULL;
    vec_extend(list, n);
    if (n)
        pw_cuModuleEnumerateFunctions(list, n, module);
    for (unsigned i = 0; i < n; i++)
        fn(user, list[i]);
    vec_free(list);
    return 1;
}

// The other slots, all with one answer: which one was called is not told apart.
static CUresult
unknown(void)
{
    return dark_unknown(NAME, -1);
}

enum { WORDS = 99 };
static const dark_word words[WORDS] = {
    [0] = DARK_SIZE(WORDS),
    [1 ... 6] = DARK_FN(unknown),
    [7] = DARK_FN(each_function),
    [8 ... 98] = DARK_FN(unknown),
};

const struct dark_table dark_tools_module = {
    {0x6e, 0x16, 0x3f, 0xbe, 0xb9, 0x58, 0x44, 0x4d, 0x83, 0x5c, 0xe1, 0x82, 0xaf, 0xf1, 0x99,
     0x1e},
    NAME,
    words,
};
