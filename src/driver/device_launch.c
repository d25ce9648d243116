// SPDX-License-Identifier: MIT
// What kernels may launch and ask: a module's answers to the device runtime. Kernels know each other
// by the handles that emit/ gives to functions.
#include "driver/module.h"

#include <string.h>

static CUresult
function_of(struct module *m, uint64_t handle, struct function **out)
{
    const struct code *c = m->code;
    uint64_t i = (handle - PTX_FUNC_HANDLE_BASE) / 16;
    unsigned index;
    if (handle < PTX_FUNC_HANDLE_BASE || handle % 16 || i >= vec_len(c->taken) ||
        code_find(c, c->taken[i]->sym->name, &index) != c->taken[i])
        return fail(CUDA_ERROR_INVALID_VALUE, "a kernel launches 0x%llx, which is no kernel",
                    (unsigned long long)handle);
    *out = module_function(m, index);
    return CUDA_SUCCESS;
}

static struct launch_shape
shape_of(const uint32_t grid[3], const uint32_t block[3], uint32_t shared)
{
    struct launch_shape s = {.dynamic_shared = shared};
    memcpy(s.grid, grid, sizeof s.grid);
    memcpy(s.block, block, sizeof s.block);
    return s;
}

static int
check(void *user, uint64_t kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t shared,
      size_t *param_size)
{
    struct function *f;
    struct launch_shape s = shape_of(grid, block, shared);
    CUresult r = function_of(user, kernel, &f);
    if (r == CUDA_SUCCESS)
        r = launch_check(f, &s);
    if (r == CUDA_SUCCESS)
        *param_size = (size_t)f->func->param_size;
    return (int)r;
}

static int
command(void *user, uint64_t kernel, const uint32_t grid[3], const uint32_t block[3], uint32_t shared,
        const void *params, size_t param_size, struct command **out)
{
    struct function *f;
    struct launch_shape s = shape_of(grid, block, shared);
    void *extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, (void *)params, CU_LAUNCH_PARAM_BUFFER_SIZE, &param_size,
                     CU_LAUNCH_PARAM_END};
    CUresult r = function_of(user, kernel, &f);
    return (int)(r == CUDA_SUCCESS ? launch_command(f, &s, NULL, extra, out) : r);
}

static int
ask_function(struct module *m, CUfunction_attribute a, uint64_t kernel, uint64_t *answer)
{
    struct function *f;
    int value = 0;
    CUresult r = function_of(m, kernel, &f);
    if (r == CUDA_SUCCESS)
        r = function_attribute(f, a, &value);
    *answer = (uint64_t)value;
    return (int)r;
}

// By the device's limits: the kernel may not be compiled yet.
static int
ask_occupancy(struct module *m, uint64_t kernel, uint64_t threads, uint64_t shared, uint64_t *answer)
{
    const struct backend_props *p = m->ctx->dev->props;
    struct function *f;
    CUresult r = function_of(m, kernel, &f);
    if (r != CUDA_SUCCESS)
        return (int)r;
    uint64_t whole = (threads + 31) / 32 * 32, bytes = shared + f->info.static_shared;
    if (!threads || threads > INT32_MAX)
        return CUDA_ERROR_INVALID_VALUE;
    uint64_t n = (uint64_t)p->max_threads_sm / whole;
    n = n < (uint64_t)p->max_blocks_sm ? n : (uint64_t)p->max_blocks_sm;
    if (bytes && (uint64_t)p->max_shared_sm / bytes < n)
        n = (uint64_t)p->max_shared_sm / bytes;
    *answer = threads > MAX_BLOCK_THREADS || bytes > (uint64_t)p->max_shared_block_optin ? 0 : n;
    return CUDA_SUCCESS;
}

static int
ask(void *user, enum backend_question q, uint64_t a, uint64_t b, uint64_t c, uint64_t *answer)
{
    struct module *m = user;
    struct device *d;
    switch (q) {
    case ASK_DEVICE_COUNT:
        *answer = (uint64_t)process.ndevices;
        return CUDA_SUCCESS;
    case ASK_DEVICE:
        *answer = (uint64_t)m->ctx->dev->ordinal;
        return CUDA_SUCCESS;
    case ASK_DEVICE_ATTRIBUTE:
        d = device_get((CUdevice)b);
        *answer = d ? (uint64_t)device_attribute(d, (CUdevice_attribute)a) : 0;
        return d ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
    case ASK_LIMIT:
        if (a >= sizeof m->ctx->limit / sizeof *m->ctx->limit)
            return CUDA_ERROR_INVALID_VALUE;
        *answer = m->ctx->limit[a];
        return CUDA_SUCCESS;
    case ASK_FUNCTION:
        return ask_function(m, (CUfunction_attribute)a, b, answer);
    case ASK_OCCUPANCY:
        return ask_occupancy(m, a, b, c, answer);
    }
    return CUDA_ERROR_INVALID_VALUE;
}

struct backend_launcher
module_launcher(struct module *m)
{
    return (struct backend_launcher){check, command, ask, m};
}
