// SPDX-License-Identifier: MIT
// Names of results and enumerators, stubs and failures, and the lines of the call tracer.
#define _GNU_SOURCE 1
#include "../check.h"

#include <fcntl.h>
#include <unistd.h>

#include "driver/export.h"
#include "api_impl.h"

struct process process;
extern const struct enum_info enum_CUlimit;
extern const struct enum_info enum_CUdevice_attribute;
extern const struct enum_info enum_CUstreamCaptureMode;

// Runs fn with stderr in a file; gives what it wrote.
static char *
captured(void (*fn)(void))
{
    static char text[65536];
    char path[] = "/tmp/trace_test.XXXXXX";
    int fd = mkstemp(path), old = dup(2);
    dup2(fd, 2);
    fn();
    dup2(old, 2);
    close(old);
    ssize_t n = pread(fd, text, sizeof text - 1, 0);
    text[n > 0 ? n : 0] = 0;
    close(fd);
    unlink(path);
    return text;
}

// The line without its beginning and its duration.
static char *
body(char *line)
{
    char *end = strstr(line, " us\n");
    while (end && end > line && *end == ' ' && strspn(end - 1, "0123456789."))
        end--;
    if (end)
        *strrchr(line, ' ') = 0; // "us"
    char *last = strrchr(line, ' ');
    if (last)
        *last = 0;
    const char *prefix = "polywarp: api: ";
    return strncmp(line, prefix, strlen(prefix)) ? line : line + strlen(prefix);
}

static void
trace_of_malloc(void)
{
    static const struct trace_param params[] = {{"dptr", ROLE_OUT, TRACE_ADDRESS, NULL},
                                                {"bytesize", ROLE_VAL, TRACE_U64, NULL}};
    static const struct trace_call call = {"cuMemAlloc_v2", params, 2};
    CUdeviceptr out = 0, *dptr = &out;
    size_t bytes = 4096;
    struct trace t;
    trace_begin(&t, &call, (const void *const[]){&dptr, &bytes});
    out = 0x7f0012340000;
    trace_end(&t, CUDA_SUCCESS);
}

static void
trace_of_many(void)
{
    static const struct trace_param params[] = {
        {"limit", ROLE_VAL, TRACE_ENUM, &enum_CUlimit},  {"name", ROLE_STR, TRACE_STRING, NULL},
        {"flags", ROLE_FLAGS, TRACE_U32, NULL},          {"x", ROLE_VAL, TRACE_F32, NULL},
        {"stream", ROLE_VAL, TRACE_POINTER, NULL},       {"dev", ROLE_VAL, TRACE_I32, NULL},
        {"mode", ROLE_INOUT, TRACE_ENUM, &enum_CUstreamCaptureMode},
        {"uc", ROLE_VAL, TRACE_U8, NULL}};
    static const struct trace_call call = {"cuMany", params, 8};
    CUlimit limit = CU_LIMIT_MALLOC_HEAP_SIZE;
    const char *name = "a\"b\n";
    unsigned flags = 0x21;
    float x = 1.5f;
    CUstream stream = NULL;
    CUdevice dev = -1;
    CUstreamCaptureMode *mode = NULL;
    unsigned char uc = 200;
    struct trace t;
    trace_begin(&t, &call,
                (const void *const[]){&limit, &name, &flags, &x, &stream, &dev, &mode, &uc});
    trace_end(&t, CUDA_ERROR_INVALID_VALUE);
}

static void
trace_inout(void)
{
    static const struct trace_param params[] = {
        {"mode", ROLE_INOUT, TRACE_ENUM, &enum_CUstreamCaptureMode}};
    static const struct trace_call call = {"cuSwap", params, 1};
    CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_RELAXED, *pmode = &mode;
    struct trace t;
    trace_begin(&t, &call, (const void *const[]){&pmode});
    mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
    trace_end(&t, CUDA_SUCCESS);
}

static void
trace_nested(void)
{
    static const struct trace_call outer = {"cuOuter", NULL, 0}, inner = {"cuInner", NULL, 0};
    struct trace t, u;
    trace_begin(&t, &outer, NULL);
    trace_begin(&u, &inner, NULL);
    trace_end(&u, CUDA_SUCCESS);
    trace_end(&t, (CUresult)12345);
}

static void
tracer(void)
{
    char want[256], *got = body(captured(trace_of_malloc));
    CHECK(strstr(got, "cuMemAlloc_v2(dptr=0x") == got);
    CHECK(strstr(got, ", bytesize=4096) = CUDA_SUCCESS (*dptr=0x7f0012340000)") != NULL);
    got = body(captured(trace_of_many));
    snprintf(want, sizeof want,
             "cuMany(limit=CU_LIMIT_MALLOC_HEAP_SIZE, name=\"a\\\"b\\n\", flags=0x21, x=1.5, "
             "stream=NULL, dev=-1, mode=NULL, uc=200) = CUDA_ERROR_INVALID_VALUE");
    CHECK_STR(got, want);
    got = body(captured(trace_inout));
    CHECK(strstr(got, "[CU_STREAM_CAPTURE_MODE_RELAXED]) = CUDA_SUCCESS "
                      "(*mode=CU_STREAM_CAPTURE_MODE_GLOBAL)"));
    got = captured(trace_nested);
    CHECK(strstr(got, "api:   cuInner() = CUDA_SUCCESS ") != NULL);
    CHECK(strstr(got, "api: cuOuter() = unknown error code ") != NULL);
}

static void
results(void)
{
    const char *s = "x";
    CHECK_INT(pw_cuGetErrorName(CUDA_ERROR_OUT_OF_MEMORY, &s), CUDA_SUCCESS);
    CHECK_STR(s, "CUDA_ERROR_OUT_OF_MEMORY");
    CHECK_INT(pw_cuGetErrorString(CUDA_ERROR_ILLEGAL_ADDRESS, &s), CUDA_SUCCESS);
    CHECK_STR(s, "an illegal memory access was encountered");
    CHECK_INT(pw_cuGetErrorString(CUDA_SUCCESS, &s), CUDA_SUCCESS);
    CHECK_STR(s, "no error");
    CHECK_INT(pw_cuGetErrorString(CUDA_ERROR_UNKNOWN, &s), CUDA_SUCCESS);
    CHECK_STR(s, "unknown error");
    CHECK_INT(pw_cuGetErrorString((CUresult)12, &s), CUDA_ERROR_INVALID_VALUE);
    CHECK(s == NULL);
    CHECK_INT(pw_cuGetErrorName((CUresult)-1, &s), CUDA_ERROR_INVALID_VALUE);
    CHECK(s == NULL);
    CHECK_INT(pw_cuGetErrorName(CUDA_SUCCESS, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_STR(enum_find(&enum_CUdevice_attribute, 75),
              "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR");
    CHECK(enum_find(&enum_CUdevice_attribute, 9999) == NULL);
}

static void
stub_twice(void)
{
    CHECK_INT(stub("cuNotThere"), CUDA_ERROR_NOT_SUPPORTED);
    CHECK_INT(stub("cuNotThere"), CUDA_ERROR_NOT_SUPPORTED);
}

static CUresult
pw_cuSomething(int n)
{
    return fail(CUDA_ERROR_INVALID_VALUE, "n %d", n);
}

static void
fail_often(void)
{
    log_mask_ = 1 << LOG_ERROR;
    for (int i = 0; i < 30; i++)
        pw_cuSomething(i);
}

static void
reports(void)
{
    CHECK_STR(captured(stub_twice), "polywarp: unsupported: cuNotThere is not implemented\n");
    uint32_t mask = log_mask_;
    char *got = captured(fail_often), *line = got;
    log_mask_ = mask;
    CHECK(strstr(got, "polywarp: error: cuSomething: n 0 (CUDA_ERROR_INVALID_VALUE)\n") == got);
    int lines = 0;
    while ((line = strchr(line, '\n')) && line++)
        lines++;
    CHECK_INT(lines, 20);
    CHECK(strstr(got, "n 19 (CUDA_ERROR_INVALID_VALUE); further ones like it are not shown\n"));
}

static void
refusals(void)
{
    process = (struct process){.initialised = false};
    CHECK_INT(api_check(), CUDA_ERROR_NOT_INITIALIZED);
    process.initialised = true;
    CHECK_INT(api_check(), CUDA_SUCCESS);
    process.initialised = false;
    process.deinitialised = true;
    CHECK_INT(api_check(), CUDA_ERROR_DEINITIALIZED);
}

__attribute__((constructor(101))) static void
before_all(void)
{
    setenv("POLYWARP_LOG", "api,nofile", 1);
}

CHECK_MAIN(T(tracer), T(results), T(reports), T(refusals))
