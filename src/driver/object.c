// SPDX-License-Identifier: MIT
// The table of live objects: which addresses are valid handles, and of what type.
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

// Sharded by address so that threads that launch beside each other do not meet at one lock.
enum { SHARDS = 16 };

static struct shard {
    pthread_rwlock_t lock;
    struct intmap live;
} __attribute__((aligned(64))) shard[SHARDS] = {
    [0 ... SHARDS - 1] = {.lock = PTHREAD_RWLOCK_INITIALIZER},
};
static atomic_uint live[OBJ_TYPES];
static atomic_ullong last_id;

static struct shard *
shard_of(const void *p)
{
    uint64_t h = (uintptr_t)p * 0x9e3779b97f4a7c15u;
    return &shard[h >> 60];
}

void *
object_new(enum obj_type type, size_t size)
{
    struct object *o = calloc(1, size);
    if (!o) {
        log_error("out of memory: %zu bytes for an object", size);
        abort();
    }
    o->type = type;
    o->id = atomic_fetch_add(&last_id, 1) + 1;
    struct shard *s = shard_of(o);
    pthread_rwlock_wrlock(&s->lock);
    intmap_put(&s->live, (uintptr_t)o, o);
    pthread_rwlock_unlock(&s->lock);
    atomic_fetch_add(&live[type], 1);
    return o;
}

void
object_retire(void *obj)
{
    struct shard *s = shard_of(obj);
    pthread_rwlock_wrlock(&s->lock);
    struct object *o = intmap_del(&s->live, (uintptr_t)obj);
    pthread_rwlock_unlock(&s->lock);
    if (o)
        atomic_fetch_sub(&live[o->type], 1);
}

void
object_free(void *obj)
{
    if (!obj)
        return;
    object_retire(obj);
    free(obj);
}

void *
object_get(const void *handle, enum obj_type type)
{
    if (!handle)
        return NULL;
    struct shard *s = shard_of(handle);
    pthread_rwlock_rdlock(&s->lock);
    struct object *o = intmap_get(&s->live, (uintptr_t)handle);
    if (o && o->type != type)
        o = NULL;
    pthread_rwlock_unlock(&s->lock);
    return o;
}

unsigned
object_live(enum obj_type type)
{
    return atomic_load(&live[type]);
}
