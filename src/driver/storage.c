// SPDX-License-Identifier: MIT
// Context-local storage: values that a client library keeps under a key in a context.
#include "driver/driver.h"

#include <stdlib.h>

struct slot {
    void *key, *value;
    storage_dtor *dtor;
};

CUresult
storage_put(struct context *c, void *key, void *value, storage_dtor *dtor)
{
    struct slot *s = malloc(sizeof *s);
    if (!s)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", sizeof *s);
    *s = (struct slot){key, value, dtor};
    pthread_mutex_lock(&c->lock);
    free(intmap_put(&c->storage, (uintptr_t)key, s));
    pthread_mutex_unlock(&c->lock);
    return CUDA_SUCCESS;
}

CUresult
storage_delete(struct context *c, void *key)
{
    pthread_mutex_lock(&c->lock);
    struct slot *s = intmap_del(&c->storage, (uintptr_t)key);
    pthread_mutex_unlock(&c->lock);
    free(s);
    return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

// Absence is an answer that clients expect, so it is not logged.
CUresult
storage_get(struct context *c, void *key, void **value)
{
    pthread_mutex_lock(&c->lock);
    struct slot *s = intmap_get(&c->storage, (uintptr_t)key);
    *value = s ? s->value : NULL;
    pthread_mutex_unlock(&c->lock);
    return s ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

static struct slot *
take_one(struct context *c)
{
    struct slot *s = NULL;
    pthread_mutex_lock(&c->lock);
    for (size_t i = 0; i < c->storage.cap && !s; i++)
        if (c->storage.slot[i].state == 1)
            s = intmap_del(&c->storage, c->storage.slot[i].key);
    if (!s)
        intmap_free(&c->storage);
    pthread_mutex_unlock(&c->lock);
    return s;
}

void
storage_destroy(struct context *c)
{
    struct slot *s;
    while ((s = take_one(c))) {
        if (s->dtor)
            s->dtor((CUcontext)c, s->key, s->value);
        free(s);
    }
}
