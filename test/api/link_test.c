// SPDX-License-Identifier: MIT
// The linker: PTX objects linked at run time.
#include "api.h"
#include "ptx.h"

static const char caller[] = PTX_HEAD
    ".extern .func (.param .b32 r) add_one(.param .b32 x);\n"
    ".visible .entry go(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd1;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"
    "\tld.global.u32 %r1, [%rd1];\n\t{\n\t.param .b32 x;\n\t.param .b32 r;\n\tst.param.b32 [x], %r1;\n\tcall (r), add_one, (x);\n\tld.param.b32 %r2, [r];\n\t}\n"
    "\tst.global.u32 [%rd1], %r2;\n\tret;\n}\n";
static const char callee[] = PTX_HEAD ".visible .func (.param .b32 r) add_one(.param .b32 x)\n{\n\t.reg .b32 %r<3>;\n\tld.param.b32 %r1, [x];\n"
                                      "\tadd.u32 %r2, %r1, 1;\n\tst.param.b32 [r], %r2;\n\tret;\n}\n";
static const char wrong[] = PTX_HEAD ".visible .entry bad()\n{\n\tnonsense;\n}\n";

static CUresult
add(CUlinkState s, const char *text)
{
    return CALL(cuLinkAddData_v2, s, CU_JIT_INPUT_PTX, (void *)text, strlen(text) + 1, "piece", 0, NULL, NULL);
}

static void
two_pieces(void)
{
    CUlinkState s = NULL;
    void *image = NULL;
    size_t size = 0;
    CUmodule m = NULL;
    succeed(cuLinkCreate_v2, 0, NULL, NULL, &s);
    ok(s, "no state");
    eq(add(s, caller), CUDA_SUCCESS);
    eq(add(s, callee), CUDA_SUCCESS);
    succeed(cuLinkComplete, s, &image, &size);
    ok(image && size > 0, "an image of %zu bytes at %p", size, image);
    succeed(cuModuleLoadData, &m, image);
    CUfunction f = api_function(m, "go");
    CUdeviceptr p = 0;
    unsigned v = 41;
    void *args[] = {&p};
    succeed(cuMemAlloc_v2, &p, 4);
    succeed(cuMemcpyHtoD_v2, p, &v, 4);
    succeed(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 42);
    succeed(cuLinkDestroy, s); // the module stays
    succeed(cuLaunchKernel, f, 1, 1, 1, 1, 1, 1, 0, NULL, args, NULL);
    succeed(cuMemcpyDtoH_v2, &v, p, 4);
    eq(v, 43);
}

static void
files(void)
{
    char path[] = "/tmp/api_link_XXXXXX";
    int fd = mkstemp(path);
    CUlinkState s = NULL;
    void *image = NULL;
    size_t size = 0;
    ok(write(fd, callee, sizeof callee - 1) == (ssize_t)sizeof callee - 1, "no file written");
    close(fd);
    succeed(cuLinkCreate_v2, 0, NULL, NULL, &s);
    succeed(cuLinkAddFile_v2, s, CU_JIT_INPUT_PTX, path, 0, NULL, NULL);
    eq(add(s, caller), CUDA_SUCCESS);
    expect(CUDA_ERROR_FILE_NOT_FOUND, cuLinkAddFile_v2, s, CU_JIT_INPUT_PTX, "/nonexistent/file.ptx", 0, NULL, NULL);
    succeed(cuLinkComplete, s, &image, &size);
    succeed(cuLinkDestroy, s);
    unlink(path);
}

static void
options(void)
{
    char info[4096] = "", error[4096] = "";
    float ms = 0;
    CUjit_option o[] = {CU_JIT_INFO_LOG_BUFFER, CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
        CU_JIT_LOG_VERBOSE, CU_JIT_WALL_TIME, CU_JIT_MAX_REGISTERS};
    void *v[] = {info, (void *)sizeof info, error, (void *)sizeof error, (void *)1, &ms, (void *)32};
    CUlinkState s = NULL;
    void *image;
    size_t size = 0;
    succeed(cuLinkCreate_v2, 7, o, v, &s);
    eq(add(s, callee), CUDA_SUCCESS);
    eq(add(s, caller), CUDA_SUCCESS);
    succeed(cuLinkComplete, s, &image, &size);
    eq(strlen(error), 0);
    succeed(cuLinkDestroy, s);
}

static void
errors(void)
{
    char error[4096] = "";
    CUjit_option o[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *v[] = {error, (void *)sizeof error};
    CUlinkState s = NULL;
    void *image;
    size_t size;
    succeed(cuLinkCreate_v2, 2, o, v, &s);
    todo("text is checked at the end of linking") eq(add(s, wrong), CUDA_ERROR_INVALID_PTX);
    todo("text is checked at the end of linking") ok(strlen(error) > 0, "no log");
    succeed(cuLinkDestroy, s);
    memset(error, 0, sizeof error);
    succeed(cuLinkCreate_v2, 2, o, v, &s);
    eq(add(s, caller), CUDA_SUCCESS);
    CUresult r = CALL(cuLinkComplete, s, &image, &size);
    ok(r != CUDA_SUCCESS, "linked with a symbol missing");
    ok(strstr(error, "add_one"), "the log does not name what is missing: %.200s", error);
    succeed(cuLinkDestroy, s);
    succeed(cuLinkCreate_v2, 2, o, v, &s);
    eq(add(s, callee), CUDA_SUCCESS);
    r = add(s, callee);
    if (r == CUDA_SUCCESS)
        r = CALL(cuLinkComplete, s, &image, &size);
    ok(r != CUDA_SUCCESS, "linked with a symbol defined twice");
    succeed(cuLinkDestroy, s);
}

static void
misuse(void)
{
    CUlinkState s = NULL;
    void *image;
    size_t size;
    CUjit_option o = CU_JIT_LOG_VERBOSE;
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2, 0, NULL, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2, 1, NULL, NULL, &s);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkCreate_v2, 1, &o, NULL, &s);
    succeed(cuLinkCreate_v2, 0, NULL, NULL, &s);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, s, CU_JIT_INPUT_PTX, NULL, 10, "x", 0, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, s, CU_JIT_INPUT_PTX, (void *)callee, 0, "x", 0, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, s, (CUjitInputType)99, (void *)callee, sizeof callee, "x", 0, NULL, NULL);
    todo("text given as machine code is taken") expect2(CUDA_ERROR_INVALID_IMAGE, CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, s, CU_JIT_INPUT_CUBIN, (void *)callee, sizeof callee, "x", 0, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkAddFile_v2, s, CU_JIT_INPUT_PTX, NULL, 0, NULL, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuLinkComplete, s, NULL, &size);
    succeed(cuLinkDestroy, s);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuLinkDestroy, NULL);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuLinkComplete, NULL, &image, &size);
    expect2(CUDA_ERROR_INVALID_HANDLE, CUDA_ERROR_INVALID_VALUE, cuLinkAddData_v2, NULL, CU_JIT_INPUT_PTX, (void *)callee, sizeof callee, "x", 0, NULL, NULL);
}

API_MAIN(CASE(two_pieces), CASE(files), CASE(options), CASE(errors), CASE(misuse))
