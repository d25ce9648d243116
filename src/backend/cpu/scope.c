// SPDX-License-Identifier: MIT
// Scopes: what one CUcontext has on the device: sticky error, limits, heap, printf buffer.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

struct backend_scope *
cpu_scope_new(struct backend_device *d)
{
    struct backend_scope *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->dev = d;
    atomic_init(&s->stack_limit, 1024);
    atomic_init(&s->heap_limit, 8 << 20);
    atomic_init(&s->printf_limit, 1 << 20);
    pthread_mutex_init(&s->lock, NULL);
    pthread_cond_init(&s->no_queues, NULL);
    return s;
}

void
cpu_scope_free(struct backend_scope *s)
{
    if (!s)
        return;
    pthread_mutex_lock(&s->lock);
    while (s->queues)
        pthread_cond_wait(&s->no_queues, &s->lock);
    pthread_mutex_unlock(&s->lock);
    heap_free_all(s->heap);
    printf_free(s->out);
    pthread_mutex_destroy(&s->lock);
    pthread_cond_destroy(&s->no_queues);
    free(s);
}

int
cpu_scope_error(struct backend_scope *s)
{
    return atomic_load_explicit(&s->error, memory_order_acquire);
}

void
scope_fail(struct backend_scope *s, int error)
{
    int none = 0;
    if (atomic_compare_exchange_strong(&s->error, &none, error))
        LOG(LOG_STREAM, "context fails with error %d; its work is skipped from here on", error);
}

int
cpu_scope_limit(struct backend_scope *s, const char *what, size_t value)
{
    const struct {
        const char *name;
        atomic_size_t *limit;
        size_t most;
    } table[] = {
        {"stack", &s->stack_limit, (size_t)64 << 20},
        {"heap", &s->heap_limit, (size_t)1 << 40},
        {"printf", &s->printf_limit, (size_t)1 << 32},
        {"multiprocessors", &s->multiprocessors, INT_MAX},
    };
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(what, table[i].name)) {
            if (value > table[i].most)
                return BE_INVALID_VALUE;
            atomic_store(table[i].limit, value);
            return BE_OK;
        }
    return BE_NOT_SUPPORTED;
}
