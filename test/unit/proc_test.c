// SPDX-License-Identifier: MIT
// cuGetProcAddress: recorded answers of a real driver, and the rules at the edges.
#include "../check.h"

#include "driver/driver.h"
#include "driver/proc.h"
#include "api_impl.h"

#ifndef TEST_DIR
#define TEST_DIR ""
#endif

enum { MARK = 64 };
// Stands for the addresses of the exported functions: the look-up never follows them.
void *const proc_address[1024] = {[0 ... 1023] = (void *)MARK};

static FILE *
open_data(const char *name)
{
    char path[4096];
    const char *slash = strrchr(__FILE__, '/');
    if (*TEST_DIR)
        snprintf(path, sizeof path, "%s/%s", TEST_DIR, name);
    else
        snprintf(path, sizeof path, "%.*s%s", slash ? (int)(slash + 1 - __FILE__) : 0, __FILE__,
                 name);
    return fopen(path, "r");
}

static void
recorded(void)
{
    char line[512], name[256], symbol[256];
    int version, flags, result, rows = 0;
    FILE *f = open_data("getproc.tsv");
    ok(f != NULL, "getproc.tsv not found");
    while (f && fgets(line, sizeof line, f)) {
        if (line[0] == '#' || sscanf(line, "%255s\t%d\t%d\t%d\t%255s", name, &version, &flags,
                                     &result, symbol) != 5)
            continue;
        CUdriverProcAddressQueryResult status;
        const struct proc_form *p = proc_find(name, version, flags == 2, &status);
        const char *got = p ? p->symbol : "(none)";
        ok(!strcmp(got, symbol), "%s, version %d, flags %d: got %s, want %s", name, version, flags,
           got, symbol);
        CHECK_INT(status, CU_GET_PROC_ADDRESS_SUCCESS);
        void *address = NULL;
        CUresult r = pw_cuGetProcAddress_v2(name, &address, version, (cuuint64_t)flags, &status);
        CHECK_INT(r, result);
        CHECK(address == (void *)MARK);
        rows++;
    }
    if (f)
        fclose(f);
    CHECK_INT(rows, 459); // of 460: the empty name has a test of its own
}

static const char *
find(const char *name, int version, bool per_thread)
{
    CUdriverProcAddressQueryResult status;
    const struct proc_form *p = proc_find(name, version, per_thread, &status);
    if (p)
        return p->symbol;
    return status == CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND ? "not found" : "version";
}

static void
versions(void)
{
    CHECK_STR(find("cuMemAlloc", 1000, false), "version");
    CHECK_STR(find("cuMemAlloc", 2000, false), "cuMemAlloc");
    CHECK_STR(find("cuMemAlloc", 3019, false), "cuMemAlloc");
    CHECK_STR(find("cuMemAlloc", 3020, false), "cuMemAlloc_v2");
    CHECK_STR(find("cuMemAlloc", 99000, false), "cuMemAlloc_v2");
    CHECK_STR(find("cuCtxCreate", 11030, false), "cuCtxCreate_v2");
    CHECK_STR(find("cuCtxCreate", 11040, false), "cuCtxCreate_v3");
    CHECK_STR(find("cuCtxCreate", 12050, false), "cuCtxCreate_v4");
    CHECK_STR(find("cuMemcpy", 6050, true), "cuMemcpy");
    CHECK_STR(find("cuMemcpy", 7000, true), "cuMemcpy_ptds");
    CHECK_STR(find("cuMemcpyHtoD", 13000, true), "cuMemcpyHtoD_v2_ptds");
    CHECK_STR(find("cuStreamGetCaptureInfo", 12000, true), "cuStreamGetCaptureInfo_v2_ptsz");
    CHECK_STR(find("cuMemAlloc_v2", 13000, false), "not found"); // base names only
    CHECK_STR(find("cuMemcpy_ptds", 13000, true), "not found");
    CHECK_STR(find("cuNoSuchCall", 13000, false), "not found");
    CHECK_STR(find("zz", 13000, false), "not found");
    CHECK_STR(find("", 13000, false), "not found");
    CHECK_STR(find("cuEGLStreamProducerConnect", 13000, false), "cuEGLStreamProducerConnect");
    CHECK_STR(find("cuVDPAUCtxCreate", 13000, false), "cuVDPAUCtxCreate_v2");
}

static void
edges(void)
{
    CUdriverProcAddressQueryResult status = -1;
    void *p = &p;
    CHECK_INT(pw_cuGetProcAddress_v2("", &p, 0, 0, &status), CUDA_SUCCESS);
    CHECK(p == NULL);
    p = &p;
    CHECK_INT(pw_cuGetProcAddress_v2("cuNoSuchCall", &p, 13000, 0, &status), CUDA_SUCCESS);
    CHECK(p == NULL);
    CHECK_INT(status, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CHECK_INT(pw_cuGetProcAddress_v2("cuGraphAddNode", &p, 11000, 0, &status), CUDA_SUCCESS);
    CHECK_INT(status, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    CHECK_INT(pw_cuGetProcAddress_v2("cuInit", &p, 13000, 3, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGetProcAddress_v2("cuInit", &p, 13000, 8, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGetProcAddress_v2(NULL, &p, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGetProcAddress_v2("cuInit", NULL, 13000, 0, NULL), CUDA_ERROR_INVALID_VALUE);
    CHECK_INT(pw_cuGetProcAddress_v2("cuInit", &p, 13000, 1, NULL), CUDA_SUCCESS);
    CHECK_INT(pw_cuGetProcAddress("cuInit", &p, 2000, 0), CUDA_SUCCESS);
    CHECK(p == (void *)MARK);
    CHECK_INT(pw_cuGetProcAddress("cuNoSuchCall", &p, 2000, 0), CUDA_ERROR_NOT_FOUND);
}

static void
table_sorted(void)
{
    for (unsigned i = 1; i < proc_count; i++) {
        const struct proc_form *a = &proc_table[i - 1], *b = &proc_table[i];
        int order = strcmp(a->base, b->base);
        ok(order < 0 || (!order && (a->per_thread < b->per_thread ||
                                    (a->per_thread == b->per_thread && a->since < b->since))),
           "%s before %s", a->symbol, b->symbol);
    }
    CHECK(proc_count <= 1024);
}

CHECK_MAIN(T(recorded), T(versions), T(edges), T(table_sorted))
