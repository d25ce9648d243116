// SPDX-License-Identifier: MIT
// The driver as such: versions, names of errors, cuGetProcAddress, export tables, profiler, core dumps, logs, checkpoints.
#include "api.h"

#include <dlfcn.h>

// ---- errors -----------------------------------------------------------------------------------------
static void
error_names(void)
{
    static const struct {
        CUresult code;
        const char *name;
    } known[] = {
#define E(code) {code, #code}
        E(CUDA_SUCCESS), E(CUDA_ERROR_INVALID_VALUE), E(CUDA_ERROR_OUT_OF_MEMORY), E(CUDA_ERROR_NOT_INITIALIZED), E(CUDA_ERROR_DEINITIALIZED),
        E(CUDA_ERROR_NO_DEVICE), E(CUDA_ERROR_INVALID_DEVICE), E(CUDA_ERROR_INVALID_IMAGE), E(CUDA_ERROR_INVALID_CONTEXT), E(CUDA_ERROR_NO_BINARY_FOR_GPU),
        E(CUDA_ERROR_UNSUPPORTED_LIMIT), E(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED), E(CUDA_ERROR_INVALID_PTX), E(CUDA_ERROR_UNSUPPORTED_PTX_VERSION),
        E(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY), E(CUDA_ERROR_FILE_NOT_FOUND), E(CUDA_ERROR_INVALID_HANDLE), E(CUDA_ERROR_ILLEGAL_STATE),
        E(CUDA_ERROR_NOT_FOUND), E(CUDA_ERROR_NOT_READY), E(CUDA_ERROR_ILLEGAL_ADDRESS), E(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES),
        E(CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED), E(CUDA_ERROR_CONTEXT_IS_DESTROYED), E(CUDA_ERROR_ASSERT), E(CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED),
        E(CUDA_ERROR_LAUNCH_FAILED), E(CUDA_ERROR_NOT_PERMITTED), E(CUDA_ERROR_NOT_SUPPORTED), E(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED),
        E(CUDA_ERROR_UNKNOWN)
#undef E
    };
    const char *s;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        s = NULL;
        succeed(cuGetErrorName, known[i].code, &s);
        ok(s && !strcmp(s, known[i].name), "%d is %s, not %s", (int)known[i].code, s ? s : "(null)", known[i].name);
        s = NULL;
        succeed(cuGetErrorString, known[i].code, &s);
        ok(s && *s, "%s has no text", known[i].name);
    }
    s = "x";
    expect(CUDA_ERROR_INVALID_VALUE, cuGetErrorName, (CUresult)12345, &s);
    ok(!s, "a name for an unknown code");
    s = "x";
    expect(CUDA_ERROR_INVALID_VALUE, cuGetErrorString, (CUresult)-1, &s);
    ok(!s, "a text for an unknown code");
}

static void
error_texts(void)
{
    const char *s = NULL;
    succeed(cuGetErrorString, CUDA_SUCCESS, &s);
    ok(s && !strcmp(s, "no error"), "\"%s\"", s);
    succeed(cuGetErrorString, CUDA_ERROR_INVALID_VALUE, &s);
    ok(s && !strcmp(s, "invalid argument"), "\"%s\"", s);
    succeed(cuGetErrorString, CUDA_ERROR_OUT_OF_MEMORY, &s);
    ok(s && !strcmp(s, "out of memory"), "\"%s\"", s);
}

// ---- cuGetProcAddress -------------------------------------------------------------------------------
static void *
symbol(const char *name)
{
    static void *lib;
    if (!lib)
        lib = dlopen("libcuda.so.1", RTLD_NOW);
    return dlsym(lib, name);
}

static void
get_proc(void)
{
    static const struct {
        const char *base;
        int version;
        const char *want; // exported symbol; NULL: none
    } rows[] = {
        {"cuMemAlloc", 3020, "cuMemAlloc_v2"}, {"cuMemAlloc", 13000, "cuMemAlloc_v2"}, {"cuMemAlloc", 2000, "cuMemAlloc"},
        {"cuCtxCreate", 2000, "cuCtxCreate"}, {"cuCtxCreate", 3020, "cuCtxCreate_v2"}, {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
        {"cuCtxCreate", 12050, "cuCtxCreate_v4"}, {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"}, {"cuGetProcAddress", 11030, "cuGetProcAddress"},
        {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"}, {"cuInit", 2000, "cuInit"}, {"cuMemcpyHtoD", 12000, "cuMemcpyHtoD_v2"},
        {"cuLibraryLoadData", 12000, "cuLibraryLoadData"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        void *p = NULL;
        CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
        succeed(cuGetProcAddress_v2, rows[i].base, &p, rows[i].version, 0, &status);
        eq(status, CU_GET_PROC_ADDRESS_SUCCESS);
        ok(p && p == symbol(rows[i].want), "%s of %d is not %s", rows[i].base, rows[i].version, rows[i].want);
        p = NULL;
        succeed(cuGetProcAddress, rows[i].base, &p, rows[i].version, 0);
        ok(p && p == symbol(rows[i].want), "%s of %d is not %s by the old form", rows[i].base, rows[i].version, rows[i].want);
    }
}

static void
get_proc_streams(void)
{
    void *p = NULL;
    CUdriverProcAddressQueryResult status;
    succeed(cuGetProcAddress_v2, "cuMemcpyHtoD", &p, 12000, CU_GET_PROC_ADDRESS_LEGACY_STREAM, &status);
    ok(p == symbol("cuMemcpyHtoD_v2"), "legacy stream");
    succeed(cuGetProcAddress_v2, "cuMemcpyHtoD", &p, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    ok(p == symbol("cuMemcpyHtoD_v2_ptds"), "per-thread stream");
    succeed(cuGetProcAddress_v2, "cuLaunchKernel", &p, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    ok(p == symbol("cuLaunchKernel_ptsz"), "per-thread stream of an asynchronous call");
    succeed(cuGetProcAddress_v2, "cuMemAlloc", &p, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    ok(p == symbol("cuMemAlloc_v2"), "a call without a stream");
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuMemcpyHtoD", &p, 12000,
        CU_GET_PROC_ADDRESS_LEGACY_STREAM | CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status);
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuMemcpyHtoD", &p, 12000, 0x80, &status);
}

static void
get_proc_absent(void)
{
    void *p = (void *)1;
    CUdriverProcAddressQueryResult status = (CUdriverProcAddressQueryResult)9;
    succeed(cuGetProcAddress_v2, "cuNoSuchCall", &p, 12000, 0, &status);
    eq(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    ok(!p, "an address");
    p = (void *)1;
    status = (CUdriverProcAddressQueryResult)9;
    succeed(cuGetProcAddress_v2, "cuLibraryLoadData", &p, 11000, 0, &status);
    eq(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    ok(!p, "an address");
    p = (void *)1;
    expect(CUDA_ERROR_NOT_FOUND, cuGetProcAddress, "cuNoSuchCall", &p, 12000, 0);
    expect(CUDA_ERROR_NOT_FOUND, cuGetProcAddress, "cuLibraryLoadData", &p, 11000, 0);
    p = (void *)1;
    succeed(cuGetProcAddress_v2, "cuNoSuchCall", &p, 12000, 0, NULL);
    ok(!p, "an address");
    succeed(cuGetProcAddress_v2, "cuLibraryLoadData", &p, 11000, 0, NULL);
    succeed(cuGetProcAddress_v2, "cuInit", &p, 12000, 0, NULL);
    ok(p == symbol("cuInit"), "another address");
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, NULL, &p, 12000, 0, &status);
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress_v2, "cuInit", NULL, 12000, 0, &status);
    expect(CUDA_ERROR_INVALID_VALUE, cuGetProcAddress, NULL, &p, 12000, 0);
}

static void
get_proc_before_init(void)
{
    void *p = NULL;
    CUdriverProcAddressQueryResult status;
    succeed(cuGetProcAddress_v2, "cuInit", &p, 12000, 0, &status);
    ok(p == symbol("cuInit"), "another address");
    const char *s = NULL;
    succeed(cuGetErrorName, CUDA_SUCCESS, &s);
    const void *table = NULL;
    CUuuid none = {{0}};
    CUresult r = CALL(cuGetExportTable, &table, &none);
    ok(r != CUDA_SUCCESS, "a table for UUID zero");
}

static void
export_tables(void)
{
    const void *table = NULL;
    CUuuid none = {{0}};
    expect(CUDA_ERROR_INVALID_VALUE, cuGetExportTable, NULL, &none);
    expect(CUDA_ERROR_INVALID_VALUE, cuGetExportTable, &table, NULL);
    expect2(CUDA_ERROR_INVALID_VALUE, CUDA_ERROR_NOT_FOUND, cuGetExportTable, &table, &none);
}

// ---- tools ------------------------------------------------------------------------------------------
static void
profiler(void)
{
    succeed(cuProfilerStart, );
    succeed(cuProfilerStop, );
    succeed(cuProfilerStop, );
    expect(CUDA_ERROR_NOT_SUPPORTED, cuProfilerInitialize, "config", "output", CU_OUT_CSV);
    succeed(cuCtxSetCurrent, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStart, );
    expect(CUDA_ERROR_INVALID_CONTEXT, cuProfilerStop, );
}

static void
coredump(void)
{
    bool on = true, host = false;
    char path[1024];
    size_t size = sizeof on;
    memset(path, 'x', sizeof path);
    succeed(cuCoredumpGetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size);
    ok(!on, "core dumps are on");
    eq(size, 1);
    size = sizeof host;
    succeed(cuCoredumpGetAttributeGlobal, CU_COREDUMP_TRIGGER_HOST, &host, &size);
    ok(host, "the host is not dumped");
    on = true;
    size = sizeof on;
    succeed(cuCoredumpSetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size);
    on = false;
    succeed(cuCoredumpGetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size);
    ok(on, "it was not kept");
    on = false;
    succeed(cuCoredumpSetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, &size);
    size = 9;
    succeed(cuCoredumpSetAttributeGlobal, CU_COREDUMP_FILE, (void *)"/tmp/dump", &size);
    size = sizeof path;
    succeed(cuCoredumpGetAttributeGlobal, CU_COREDUMP_FILE, path, &size);
    ok(!strncmp(path, "/tmp/dump", 9), "file %.20s", path);
    size = sizeof on;
    on = true;
    succeed(cuCoredumpGetAttribute, CU_COREDUMP_LIGHTWEIGHT, &on, &size);
    ok(!on, "dumps are lightweight");
    succeed(cuCoredumpSetAttribute, CU_COREDUMP_LIGHTWEIGHT, &on, &size);
    succeed(cuCtxSetCurrent, NULL);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCoredumpGetAttribute, CU_COREDUMP_LIGHTWEIGHT, &on, &size);
    expect(CUDA_ERROR_INVALID_CONTEXT, cuCoredumpSetAttribute, CU_COREDUMP_LIGHTWEIGHT, &on, &size);
}

static void
coredump_misuse(void)
{
    bool on = false;
    size_t size = 1;
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttributeGlobal, (CUcoredumpSettings)0, &on, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttributeGlobal, (CUcoredumpSettings)99, &on, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttributeGlobal, (CUcoredumpSettings)99, &on, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpGetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, NULL);
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, NULL, &size);
    expect(CUDA_ERROR_INVALID_VALUE, cuCoredumpSetAttributeGlobal, CU_COREDUMP_ENABLE_ON_EXCEPTION, &on, NULL);
}

static int logged;
static void
heard(void *user, CUlogLevel level, char *message, size_t length)
{
    ok(user == &logged, "another user value");
    ok(level == CU_LOG_LEVEL_ERROR || level == CU_LOG_LEVEL_WARNING, "level %d", (int)level);
    ok(message && length > 0 && strnlen(message, length + 1) <= length, "a message of %zu bytes", length);
    logged++;
}

static void
logs(void)
{
    if (!HAVE(cuLogsRegisterCallback)) {
        skip("the driver is older than 12.9");
        return;
    }
    CUlogsCallbackHandle h = NULL;
    CUlogIterator start = 0, at;
    char buffer[25600];
    size_t size = sizeof buffer;
    succeed(cuLogsCurrent, &start, 0);
    succeed(cuLogsRegisterCallback, heard, &logged, &h);
    ok(h, "no handle");
    CALL(cuMemFree_v2, 4096); // wrong, and so logged
    ok(logged >= 1, "nothing was heard of a failure");
    succeed(cuLogsUnregisterCallback, h);
    int before = logged;
    CALL(cuMemFree_v2, 4096);
    eq(logged, before);
    at = start;
    memset(buffer, 'x', sizeof buffer);
    succeed(cuLogsDumpToMemory, &at, buffer, &size, 0);
    ok(size > 0 && size <= sizeof buffer, "%zu bytes", size);
    ok(at != start, "the iterator did not move");
    char path[] = "/tmp/api_logs_XXXXXX";
    close(mkstemp(path));
    at = start;
    succeed(cuLogsDumpToFile, &at, path, 0);
    FILE *f = fopen(path, "r");
    ok(f && fgetc(f) != EOF, "an empty file");
    if (f)
        fclose(f);
    unlink(path);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsCurrent, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsCurrent, &at, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsRegisterCallback, NULL, NULL, &h);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToMemory, &at, NULL, &size, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToMemory, &at, buffer, NULL, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuLogsDumpToFile, &at, NULL, 0);
}

static void
checkpoint(void)
{
    if (on_nvidia()) {
        skip("checkpoints stop the process");
        return;
    }
    CUprocessState state;
    int tid;
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessGetState, getpid(), &state);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessGetRestoreThreadId, getpid(), &tid);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessLock, getpid(), NULL);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessCheckpoint, getpid(), NULL);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessRestore, getpid(), NULL);
    expect(CUDA_ERROR_NOT_SUPPORTED, cuCheckpointProcessUnlock, getpid(), NULL);
}

API_MAIN(CASE(error_names), CASE(error_texts), CASE(get_proc), CASE(get_proc_streams), CASE(get_proc_absent), RAW(get_proc_before_init), CASE(export_tables),
    CASE(profiler), CASE(coredump), CASE(coredump_misuse), CASE(logs), CASE(checkpoint))
