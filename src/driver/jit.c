// SPDX-License-Identifier: MIT
// JIT options: arrays of option numbers and values, some of which are written back.
#include "driver/module.h"

#include <string.h>
#include <time.h>

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
read_one(struct jit *j, CUjit_option option, void **slot)
{
    switch (option) {
    case CU_JIT_WALL_TIME:
        j->wall_time = slot;
        break;
    case CU_JIT_INFO_LOG_BUFFER:
        j->info = *slot;
        break;
    case CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES:
        j->info_size = (unsigned)(uintptr_t)*slot;
        j->info_used = slot;
        break;
    case CU_JIT_ERROR_LOG_BUFFER:
        j->error = *slot;
        break;
    case CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES:
        j->error_size = (unsigned)(uintptr_t)*slot;
        j->error_used = slot;
        break;
    case CU_JIT_OPTIMIZATION_LEVEL:
        j->optimize = (unsigned)(uintptr_t)*slot > 3 ? 3 : (int)(uintptr_t)*slot;
        break;
    default: // hints about NVIDIA's machine code
        LOG(LOG_MODULE, "JIT option %d has no effect", option);
        break;
    }
}

CUresult
jit_read(struct jit *j, unsigned n, const CUjit_option *option, void **value)
{
    *j = (struct jit){.optimize = 3, .started = now()};
    if (n && (!option || !value))
        return fail(CUDA_ERROR_INVALID_VALUE, "%u JIT options without arrays", n);
    for (unsigned i = 0; i < n; i++)
        read_one(j, option[i], &value[i]);
    if (!j->info || !j->info_size)
        j->info = NULL;
    else
        j->info[0] = 0;
    if (!j->error || !j->error_size)
        j->error = NULL;
    else
        j->error[0] = 0;
    return CUDA_SUCCESS;
}

static void
append(char *buffer, size_t size, const char *text)
{
    if (!buffer)
        return;
    size_t have = strnlen(buffer, size), more = strlen(text);
    if (have + 1 >= size)
        return;
    if (more > size - have - 1)
        more = size - have - 1;
    memcpy(buffer + have, text, more);
    buffer[have + more] = 0;
}

void
jit_error(struct jit *j, const char *text)
{
    append(j->error, j->error_size, text);
}

void
jit_info(struct jit *j, const char *text)
{
    append(j->info, j->info_size, text);
}

void
jit_done(struct jit *j)
{
    if (j->info_used)
        *j->info_used = (void *)(j->info ? strnlen(j->info, j->info_size) : 0);
    if (j->error_used)
        *j->error_used = (void *)(j->error ? strnlen(j->error, j->error_size) : 0);
    if (j->wall_time) {
        float ms = (float)(now() - j->started) * 1e-6f;
        memcpy(j->wall_time, &ms, sizeof ms);
    }
}
