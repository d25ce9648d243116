// SPDX-License-Identifier: MIT
// Modules and libraries: variables, constants with addresses, attributes, JIT logs, bad PTX, unloading.
#include "drv.h"

static const char ptx[] = PTX_HEAD
    ".visible .global .align 4 .u32 counter = 7;\n"
    ".visible .const .align 8 .f64 scale[3] = {1.5, 0d4000000000000000, -0.25};\n"
    ".visible .global .align 8 .u64 where = generic(counter);\n"
    ".visible .global .align 4 .b8 blob[12] = {1, 2, 3, 0xff};\n" PTX_ADD
    ".visible .entry bump(.param .u64 out)\n"
    ".maxntid 64, 1, 1\n"
    "{\n"
    "  .reg .b32 %r<3>; .reg .b64 %rd<4>; .reg .f64 %fd<3>; .shared .align 4 .b8 tile[400];\n"
    "  ld.global.u64 %rd1, [where]; ld.u32 %r1, [%rd1]; add.u32 %r1, %r1, 1; st.u32 [%rd1], %r1;\n"
    "  ld.const.f64 %fd1, [scale+16]; cvt.rn.f64.u32 %fd2, %r1; mul.f64 %fd1, %fd1, %fd2;\n"
    "  ld.param.u64 %rd2, [out]; st.global.f64 [%rd2], %fd1; st.shared.u32 [tile+4], %r1;\n"
    "  ret;\n"
    "}\n";

static void
libraries(void)
{
    CUlibrary lib;
    CUkernel k, ks[2];
    CUfunction f;
    CUdeviceptr p, d;
    size_t n;
    unsigned count;
    const char *name;
    CK(cuLibraryLoadData(&lib, ptx, 0, 0, 0, 0, 0, 0));
    CK(cuLibraryGetKernelCount(&count, lib));
    EXPECT(count, 2);
    CK(cuLibraryEnumerateKernels(ks, 2, lib));
    CK(cuLibraryGetKernel(&k, lib, "bump"));
    CK(cuKernelGetName(&name, k));
    IS_TRUE(!strcmp(name, "bump"));
    EXPECT(cuLibraryGetKernel(&k, lib, "nothing"), CUDA_ERROR_NOT_FOUND);
    CK(cuLibraryGetKernel(&k, lib, "bump"));
    CK(cuKernelGetFunction(&f, k));
    CK(cuLibraryGetGlobal(&p, &n, lib, "counter"));
    EXPECT(n, 4);
    CK(cuMemAlloc(&d, 8));
    void *args[] = {&d};
    CK(cuLaunchKernel((CUfunction)k, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    double out;
    CK(cuMemcpyDtoH(&out, d, 8));
    IS_TRUE(out == -2.0);
    CK(cuLibraryUnload(lib));
}

static void
bad_ptx(void)
{
    char log[2048] = "";
    CUmodule m;
    CUjit_option opt[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *val[] = {log, (void *)sizeof log};
    const char *wrong = PTX_HEAD ".visible .entry k() {\n .reg .u32 %r<2>;\n  add.u32 %r1, %r9, 1;\n frobnicate.u32 %r1;\n ret;\n}\n";
    EXPECT(cuModuleLoadDataEx(&m, wrong, 2, opt, val), CUDA_ERROR_INVALID_PTX);
    IS_TRUE(strlen(log) > 10);
    EXPECT(cuModuleLoadData(&m, "this is not an image at all, not PTX"), CUDA_ERROR_INVALID_IMAGE);
    EXPECT(cuModuleLoadData(&m, NULL), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuModuleLoad(&m, "/nonexistent/file.ptx"), CUDA_ERROR_FILE_NOT_FOUND);
}

int
main(void)
{
    CUmodule m;
    CUfunction f;
    CUdeviceptr p, d;
    size_t n;
    int v;
    unsigned char blob[12];
    drv_start();
    CK(cuModuleLoadData(&m, ptx));
    CK(cuModuleGetFunction(&f, m, "bump"));
    EXPECT(cuModuleGetFunction(&f, m, "missing"), CUDA_ERROR_NOT_FOUND);
    CK(cuModuleGetFunction(&f, m, "bump"));
    CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, f));
    EXPECT(v, 64);
    CK(cuFuncGetAttribute(&v, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, f));
    IS_TRUE(v >= 400);
    CK(cuModuleGetGlobal(&p, &n, m, "counter"));
    EXPECT(n, 4);
    CK(cuMemcpyDtoH(&v, p, 4));
    EXPECT(v, 7);
    CK(cuModuleGetGlobal(&d, &n, m, "blob"));
    CK(cuMemcpyDtoH(blob, d, 12));
    EXPECT(blob[3], 255);
    EXPECT(blob[4], 0);
    EXPECT(cuModuleGetGlobal(&d, &n, m, "none"), CUDA_ERROR_NOT_FOUND);
    CK(cuMemAlloc(&d, 8));
    void *args[] = {&d};
    for (int i = 0; i < 3; i++)
        CK(cuLaunchKernel(f, 1, 1, 1, 1, 1, 1, 0, 0, args, 0));
    double out;
    CK(cuMemcpyDtoH(&out, d, 8));
    IS_TRUE(out == -2.5);
    CK(cuMemcpyDtoH(&v, p, 4));
    EXPECT(v, 10);
    CK(cuModuleUnload(m));
    libraries();
    bad_ptx();
    return app_end();
}
