// SPDX-License-Identifier: MIT
// For driver-API test programs with PTX text: no toolkit, no runtime, public header only.
#pragma once
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "polywarp/cuda.h"

static int app_bad;

static inline void
drv_check(CUresult e, const char *what, int line)
{
    const char *name = "?";
    if (e == CUDA_SUCCESS)
        return;
    cuGetErrorName(e, &name);
    printf("line %d: %s: %s\n", line, what, name);
    exit(2);
}

static inline void
drv_expect(long long got, long long want, const char *what, int line)
{
    if (got != want && ++app_bad <= 20)
        printf("line %d: %s: got %lld, want %lld\n", line, what, got, want);
}

#define CK(x)         drv_check((x), #x, __LINE__)
#define EXPECT(a, b)  drv_expect((long long)(a), (long long)(b), #a, __LINE__)
#define IS_TRUE(cond) drv_expect(!!(cond), 1, #cond, __LINE__)

static inline int
app_end(void)
{
    printf(app_bad ? "FAIL (%d)\n" : "PASS\n", app_bad);
    return app_bad != 0;
}

static inline CUcontext
drv_start(void)
{
    CUdevice d;
    CUcontext c;
    CK(cuInit(0));
    CK(cuDeviceGet(&d, 0));
    CK(cuDevicePrimaryCtxRetain(&c, d));
    CK(cuCtxSetCurrent(c));
    return c;
}

static inline CUfunction
drv_kernel(const char *ptx, const char *name)
{
    CUmodule m;
    CUfunction f;
    CK(cuModuleLoadData(&m, ptx));
    CK(cuModuleGetFunction(&f, m, name));
    return f;
}

#define PTX_HEAD ".version 7.0\n.target sm_70\n.address_size 64\n"

// void add(int *p, int v, int n): p[i] += v
#define PTX_ADD                                                                                    \
    ".visible .entry add(.param .u64 p, .param .u32 v, .param .u32 n)\n"                           \
    "{\n"                                                                                          \
    "  .reg .pred %q; .reg .b32 %r<8>; .reg .b64 %rd<4>;\n"                                        \
    "  ld.param.u64 %rd1, [p]; ld.param.u32 %r1, [v]; ld.param.u32 %r2, [n];\n"                    \
    "  mov.u32 %r3, %ctaid.x; mov.u32 %r4, %ntid.x; mov.u32 %r5, %tid.x;\n"                        \
    "  mad.lo.s32 %r6, %r3, %r4, %r5;\n"                                                           \
    "  setp.ge.s32 %q, %r6, %r2;\n"                                                                \
    "  @%q bra done;\n"                                                                            \
    "  cvta.to.global.u64 %rd1, %rd1;\n"                                                           \
    "  mul.wide.s32 %rd2, %r6, 4; add.s64 %rd3, %rd1, %rd2;\n"                                     \
    "  ld.global.u32 %r7, [%rd3]; add.s32 %r7, %r7, %r1; st.global.u32 [%rd3], %r7;\n"             \
    "done:\n"                                                                                      \
    "  ret;\n"                                                                                     \
    "}\n"
