// SPDX-License-Identifier: MIT
// cuLogs*: the latest failures as text, kept for programs that ask, and handed to those that listen.
#include "driver/driver.h"
#include "api_impl.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { KEPT = 100, LINE = 512 };

struct listener {
    CUlogsCallback fn;
    void *user;
    unsigned id; // from 1; the handle
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char kept[KEPT][LINE];      // entry n is in kept[n % KEPT]
static unsigned total;             // entries ever made
static struct listener *listeners; // vec
static unsigned last_id;

static void
tell(const struct listener *all, char *text)
{
    for (size_t i = 0; i < vec_len(all); i++)
        all[i].fn(all[i].user, CU_LOG_LEVEL_ERROR, text, strlen(text));
}

// Called by fail_. Listeners run without the lock, since they may call the driver.
static void
entry(const char *text)
{
    static _Thread_local bool inside;
    struct listener *now = NULL;
    char copy[LINE];
    snprintf(copy, sizeof copy, "%s", text);
    pthread_mutex_lock(&lock);
    memcpy(kept[total++ % KEPT], copy, sizeof copy);
    for (size_t i = 0; i < vec_len(listeners); i++)
        vec_push(now, listeners[i]);
    pthread_mutex_unlock(&lock);
    if (!inside) {
        inside = true;
        tell(now, copy);
        inside = false;
    }
    vec_free(now);
}

__attribute__((constructor)) static void
listen(void)
{
    fail_hook = entry;
}

CUresult
pw_cuLogsRegisterCallback(CUlogsCallback fn, void *user, CUlogsCallbackHandle *out)
{
    if (!fn)
        return fail(CUDA_ERROR_INVALID_VALUE, "the function is NULL");
    pthread_mutex_lock(&lock);
    unsigned id = ++last_id;
    vec_push(listeners, ((struct listener){fn, user, id}));
    pthread_mutex_unlock(&lock);
    if (out)
        *out = (CUlogsCallbackHandle)(uintptr_t)id;
    return CUDA_SUCCESS;
}

CUresult
pw_cuLogsUnregisterCallback(CUlogsCallbackHandle handle)
{
    bool found = false;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; !found && i < vec_len(listeners); i++) {
        found = listeners[i].id == (uintptr_t)handle;
        if (found)
            vec_swap_remove(listeners, i);
    }
    pthread_mutex_unlock(&lock);
    return found ? CUDA_SUCCESS : fail(CUDA_ERROR_INVALID_VALUE, "%p is no registered callback", (void *)handle);
}

CUresult
pw_cuLogsCurrent(CUlogIterator *out, unsigned flags)
{
    if (!out || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "iterator %p, flags 0x%x", (void *)out, flags);
    pthread_mutex_lock(&lock);
    *out = total;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

// First entry that is still there of those from the iterator on; all for NULL. Holds the lock.
static unsigned
first(const CUlogIterator *at)
{
    unsigned oldest = total > KEPT ? total - KEPT : 0;
    return at && *at > oldest ? *at : oldest;
}

CUresult
pw_cuLogsDumpToFile(CUlogIterator *at, const char *path, unsigned flags)
{
    if (!path || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "file %p, flags 0x%x", (void *)path, flags);
    FILE *f = fopen(path, "w");
    if (!f)
        return fail(CUDA_ERROR_INVALID_VALUE, "%s cannot be written", path);
    pthread_mutex_lock(&lock);
    for (unsigned i = first(at); i < total; i++)
        fprintf(f, "%s\n", kept[i % KEPT]);
    if (at)
        *at = total;
    pthread_mutex_unlock(&lock);
    return fclose(f) ? fail(CUDA_ERROR_INVALID_VALUE, "%s cannot be written", path) : CUDA_SUCCESS;
}

// The latest lines that fit, in order.
CUresult
pw_cuLogsDumpToMemory(CUlogIterator *at, char *buffer, size_t *size, unsigned flags)
{
    if (!buffer || !size || !*size || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "buffer %p, size %p, flags 0x%x", (void *)buffer, (void *)size, flags);
    size_t need = 1, used = 0;
    pthread_mutex_lock(&lock);
    unsigned i = total, from = first(at);
    while (i > from && need + strlen(kept[(i - 1) % KEPT]) + 1 <= *size)
        need += strlen(kept[--i % KEPT]) + 1;
    for (; i < total; i++)
        used += (size_t)sprintf(buffer + used, "%s\n", kept[i % KEPT]);
    buffer[used] = 0;
    *size = used;
    if (at)
        *at = total;
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}
