// SPDX-License-Identifier: MIT
// Settings of core dumps, for the process and for contexts. They are kept and told; dumps are not written.
#include "driver/driver.h"
#include "api_impl.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct coredump {
    bool flag[CU_COREDUMP_MAX];
    char text[CU_COREDUMP_MAX][PATH_MAX];
    unsigned generation;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct coredump *global;

static bool
is_text(CUcoredumpSettings a)
{
    return a == CU_COREDUMP_FILE || a == CU_COREDUMP_PIPE;
}

static struct coredump *
copy_of(const struct coredump *from)
{
    struct coredump *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    if (from)
        *s = *from;
    return s;
}

static struct coredump *
defaults(void)
{
    struct coredump *s = copy_of(NULL);
    char host[256] = "host";
    gethostname(host, sizeof host - 1);
    s->flag[CU_COREDUMP_TRIGGER_HOST] = true;
    snprintf(s->text[CU_COREDUMP_FILE], PATH_MAX, "core.cuda.%s.%d", host, (int)getpid());
    snprintf(s->text[CU_COREDUMP_PIPE], PATH_MAX, "corepipe.cuda.%s.%d", host, (int)getpid());
    return s;
}

// Settings of a context (made at first use from those of the process), or of the process. Holds the lock.
static struct coredump *
settings(struct context *c)
{
    if (!global)
        global = defaults();
    if (!c)
        return global;
    if (!c->coredump)
        c->coredump = copy_of(global);
    return c->coredump;
}

void
coredump_free(struct context *c)
{
    free(c->coredump);
    c->coredump = NULL;
}

static CUresult
check(CUcoredumpSettings a, const void *value, const size_t *size)
{
    if (!value || !size || a < CU_COREDUMP_ENABLE_ON_EXCEPTION || a >= CU_COREDUMP_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d, value %p, size %p", (int)a, (void *)value, (void *)size);
    size_t need = is_text(a) ? 1 : a == CU_COREDUMP_GENERATION_FLAGS ? sizeof(unsigned) : sizeof(bool);
    if (*size < need)
        return fail(CUDA_ERROR_INVALID_VALUE, "attribute %d: %zu bytes", (int)a, *size);
    return CUDA_SUCCESS;
}

static CUresult
get(struct context *c, CUcoredumpSettings a, void *value, size_t *size)
{
    CUresult r = check(a, value, size);
    if (r)
        return r;
    pthread_mutex_lock(&lock);
    const struct coredump *s = settings(c);
    if (is_text(a)) {
        snprintf(value, *size, "%s", s->text[a]);
        *size = strlen(value) + 1;
    } else if (a == CU_COREDUMP_GENERATION_FLAGS) {
        *(unsigned *)value = s->generation;
        *size = sizeof(unsigned);
    } else {
        *(bool *)value = s->flag[a];
        *size = sizeof(bool);
    }
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

static CUresult
set(struct context *c, CUcoredumpSettings a, const void *value, size_t *size)
{
    CUresult r = check(a, value, size);
    if (r)
        return r;
    if (is_text(a) && *size >= PATH_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "a name of %zu bytes", *size);
    pthread_mutex_lock(&lock);
    struct coredump *s = settings(c);
    if (is_text(a)) {
        memcpy(s->text[a], value, *size);
        s->text[a][*size] = 0;
    } else if (a == CU_COREDUMP_GENERATION_FLAGS) {
        s->generation = *(const unsigned *)value;
    } else {
        s->flag[a] = *(const bool *)value;
    }
    if (a == CU_COREDUMP_ENABLE_ON_EXCEPTION && s->flag[a])
        LOG(LOG_UNSUPPORTED, "core dumps of kernels are asked for, but not written");
    pthread_mutex_unlock(&lock);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCoredumpGetAttribute(CUcoredumpSettings a, void *value, size_t *size)
{
    struct context *c;
    CUresult r = ctx_from_handle(NULL, &c);
    return r ? r : get(c, a, value, size);
}

CUresult
pw_cuCoredumpGetAttributeGlobal(CUcoredumpSettings a, void *value, size_t *size)
{
    return get(NULL, a, value, size);
}

CUresult
pw_cuCoredumpSetAttribute(CUcoredumpSettings a, void *value, size_t *size)
{
    struct context *c;
    CUresult r = ctx_from_handle(NULL, &c);
    return r ? r : set(c, a, value, size);
}

CUresult
pw_cuCoredumpSetAttributeGlobal(CUcoredumpSettings a, void *value, size_t *size)
{
    return set(NULL, a, value, size);
}
