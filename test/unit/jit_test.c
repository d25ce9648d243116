// SPDX-License-Identifier: MIT
// JIT options: log buffers and values that are written back.
#include "driver/module.h"
#include "../check.h"

static void
defaults(void)
{
    struct jit j;
    CHECK_INT(jit_read(&j, 0, NULL, NULL), CUDA_SUCCESS);
    CHECK_INT(j.optimize, 3);
    jit_error(&j, "nobody listens");
    jit_done(&j);
}

static void
logs_are_bounded(void)
{
    char error[8], info[32];
    memset(error, 'x', sizeof error);
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                             CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {error, (void *)7, info, (void *)sizeof info};
    struct jit j;
    CHECK_INT(jit_read(&j, 4, option, value), CUDA_SUCCESS);
    CHECK_STR(error, "");
    jit_error(&j, "abc");
    jit_error(&j, "defghi");
    jit_info(&j, "one ");
    jit_info(&j, "two");
    jit_done(&j);
    CHECK_STR(error, "abcdef");
    CHECK_INT(error[7], 'x');
    CHECK_INT((uintptr_t)value[1], 6);
    CHECK_STR(info, "one two");
    CHECK_INT((uintptr_t)value[3], 7);
}

static void
numbers(void)
{
    CUjit_option option[] = {CU_JIT_OPTIMIZATION_LEVEL, CU_JIT_WALL_TIME, CU_JIT_MAX_REGISTERS};
    void *value[] = {(void *)1, (void *)(uintptr_t)-1, (void *)64};
    struct jit j;
    CHECK_INT(jit_read(&j, 3, option, value), CUDA_SUCCESS);
    CHECK_INT(j.optimize, 1);
    jit_done(&j);
    float ms;
    memcpy(&ms, &value[1], sizeof ms);
    ok(ms >= 0 && ms < 10000, "wall time %g ms", ms);
    CHECK_INT((uintptr_t)value[2], 64);
}

static void
level_is_clamped(void)
{
    CUjit_option option = CU_JIT_OPTIMIZATION_LEVEL;
    void *value = (void *)4;
    struct jit j;
    CHECK_INT(jit_read(&j, 1, &option, &value), CUDA_SUCCESS);
    CHECK_INT(j.optimize, 3);
}

static void
missing_arrays(void)
{
    struct jit j;
    CHECK_INT(jit_read(&j, 1, NULL, NULL), CUDA_ERROR_INVALID_VALUE);
}

CHECK_MAIN(T(defaults), T(logs_are_bounded), T(numbers), T(level_is_clamped), T(missing_arrays))
