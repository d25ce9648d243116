// SPDX-License-Identifier: MIT
// Names and texts of results; how failures and missing calls are reported.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "driver/driver.h"
#include "base/hash.h"
#include "driver/names.h"

const struct error_info *
error_find(int code)
{
    unsigned lo = 0, hi = error_count;
    while (lo < hi) {
        unsigned mid = lo + (hi - lo) / 2;
        if (error_table[mid].code == code)
            return &error_table[mid];
        if (error_table[mid].code < code)
            lo = mid + 1;
        else
            hi = mid;
    }
    return NULL;
}

const char *
error_name(int code)
{
    const struct error_info *e = error_find(code);
    return e ? e->name : "unknown error code";
}

const char *
enum_find(const struct enum_info *e, long long value)
{
    for (unsigned i = 0; i < e->count; i++)
        if (e->names[i].value == value)
            return e->names[i].name;
    return NULL;
}

CUresult
pw_cuGetErrorName(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    const struct error_info *e = error_find(error);
    *pStr = e ? e->name : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult
pw_cuGetErrorString(CUresult error, const char **pStr)
{
    if (!pStr)
        return CUDA_ERROR_INVALID_VALUE;
    const struct error_info *e = error_find(error);
    *pStr = e ? e->text : NULL;
    return e ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

// ---- reports ----
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct intmap seen; // key: a stub's name or a failure's place; value: struct count

struct count {
    unsigned times;
};

// How often the key has come up, this time included.
static unsigned
count_up(uint64_t key)
{
    pthread_mutex_lock(&lock);
    struct count *c = intmap_get(&seen, key);
    if (!c && (c = calloc(1, sizeof *c)))
        intmap_put(&seen, key, c);
    unsigned times = c ? ++c->times : 1;
    pthread_mutex_unlock(&lock);
    return times;
}

CUresult
stub(const char *name)
{
    if (count_up(hash64(name, strlen(name))) == 1)
        LOG(LOG_UNSUPPORTED, "%s is not implemented", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

// A program that probes or polls makes the same failure again and again: after this many lines for
// one reason, no more are written unless calls are traced.
enum { REPEATS = 20 };

void (*fail_hook)(const char *text);

CUresult
fail_(CUresult code, const char *func, const char *fmt, ...)
{
    const char *place[] = {func, fmt};
    unsigned times = count_up(hash64(place, sizeof place));
    bool shown = log_on(LOG_ERROR) && (times <= REPEATS || log_on(LOG_API));
    if (!shown && !fail_hook)
        return code;
    char reason[1024], text[1280];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(reason, sizeof reason, fmt, ap);
    va_end(ap);
    if (!strncmp(func, "pw_", 3))
        func += 3;
    snprintf(text, sizeof text, "%s: %s (%s)", func, reason, error_name(code));
    if (shown)
        log_write(LOG_ERROR, "%s%s", text,
                  times == REPEATS ? "; further ones like it are not shown" : "");
    if (fail_hook)
        fail_hook(text);
    return code;
}
