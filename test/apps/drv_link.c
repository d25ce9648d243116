// SPDX-License-Identifier: MIT
// cuLink: two PTX texts that need each other become one image; an undefined name is an error.
#include "drv.h"

static const char caller[] = PTX_HEAD ".extern .func (.param .b32 r) twice(.param .b32 x);\n"
    ".extern .global .align 4 .u32 bias;\n"
    ".visible .entry k(.param .u64 p)\n"
    "{ .reg .b32 %r<4>; .reg .b64 %rd<2>;\n"
    "  ld.param.u64 %rd1, [p]; ld.global.u32 %r1, [%rd1];\n"
    "  { .param .b32 a; .param .b32 b; st.param.b32 [a], %r1; call (b), twice, (a); ld.param.b32 %r2, [b]; }\n"
    "  ld.global.u32 %r3, [bias]; add.u32 %r2, %r2, %r3; st.global.u32 [%rd1], %r2; ret; }\n";
static const char callee[] = PTX_HEAD ".visible .global .align 4 .u32 bias = 1000;\n"
    ".visible .func (.param .b32 r) twice(.param .b32 x)\n"
    "{ .reg .b32 %r<3>; ld.param.b32 %r1, [x]; shl.b32 %r2, %r1, 1; st.param.b32 [r], %r2; ret; }\n";

int
main(void)
{
    CUlinkState link;
    void *image;
    size_t size;
    CUmodule m;
    CUfunction f;
    CUdeviceptr d;
    int v = 21;
    drv_start();
    CK(cuLinkCreate(0, 0, 0, &link));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller", 0, 0, 0));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)callee, sizeof callee, "callee", 0, 0, 0));
    CK(cuLinkComplete(link, &image, &size));
    void *copy = malloc(size);
    memcpy(copy, image, size);
    CK(cuLinkDestroy(link));
    CK(cuModuleLoadData(&m, copy));
    free(copy);
    CK(cuModuleGetFunction(&f, m, "k"));
    CK(cuMemAlloc(&d, 4));
    CK(cuMemcpyHtoD(d, &v, 4));
    void *args[] = {&d};
    CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    CK(cuMemcpyDtoH(&v, d, 4));
    EXPECT(v, 1042);
    CK(cuLinkCreate(0, 0, 0, &link));
    CK(cuLinkAddData(link, CU_JIT_INPUT_PTX, (void *)caller, sizeof caller, "caller", 0, 0, 0));
    IS_TRUE(cuLinkComplete(link, &image, &size) != CUDA_SUCCESS);
    CK(cuLinkDestroy(link));
    return app_end();
}
