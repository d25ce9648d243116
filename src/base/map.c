// SPDX-License-Identifier: MIT
#include "base/map.h"
#include "base/hash.h"

#include <stdlib.h>
#include <string.h>

static void *
zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);
    if (!p)
        abort();
    return p;
}

static struct strmap_entry *
str_slot(const struct strmap *m, const char *key, uint32_t len, uint32_t hash)
{
    for (size_t i = hash;; i++) {
        struct strmap_entry *e = &m->slot[i & (m->cap - 1)];
        if (!e->key || (e->hash == hash && e->len == len && !memcmp(e->key, key, len)))
            return e;
    }
}

void *
strmap_getn(const struct strmap *m, const char *key, size_t len)
{
    if (!m->cap)
        return NULL;
    return str_slot(m, key, (uint32_t)len, (uint32_t)hash64(key, len))->value;
}

void *
strmap_get(const struct strmap *m, const char *key)
{
    return strmap_getn(m, key, strlen(key));
}

static void
str_grow(struct strmap *m)
{
    struct strmap old = *m;
    m->cap = old.cap ? 2 * old.cap : 16;
    m->slot = zeroed(m->cap, sizeof *m->slot);
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].key)
            *str_slot(m, old.slot[i].key, old.slot[i].len, old.slot[i].hash) = old.slot[i];
    free(old.slot);
}

void *
strmap_putn(struct strmap *m, const char *key, size_t len, void *value)
{
    if (4 * (m->used + 1) > 3 * m->cap)
        str_grow(m);
    uint32_t hash = (uint32_t)hash64(key, len);
    struct strmap_entry *e = str_slot(m, key, (uint32_t)len, hash);
    void *old = e->value;
    if (!e->key) {
        m->used++;
        *e = (struct strmap_entry){.key = key, .len = (uint32_t)len, .hash = hash};
    }
    e->value = value;
    return old;
}

void *
strmap_put(struct strmap *m, const char *key, void *value)
{
    return strmap_putn(m, key, strlen(key), value);
}

void
strmap_free(struct strmap *m)
{
    free(m->slot);
    *m = (struct strmap){0};
}

static uint64_t
mix(uint64_t k)
{
    k ^= k >> 32;
    k *= 0x9e3779b97f4a7c15u;
    return k ^ k >> 29;
}

static struct intmap_entry *
int_slot(const struct intmap *m, uint64_t key)
{
    for (size_t i = mix(key);; i++) {
        struct intmap_entry *e = &m->slot[i & (m->cap - 1)];
        if (e->state == 0 || (e->state == 1 && e->key == key))
            return e;
    }
}

void *
intmap_get(const struct intmap *m, uint64_t key)
{
    if (!m->cap)
        return NULL;
    struct intmap_entry *e = int_slot(m, key);
    return e->state == 1 ? e->value : NULL;
}

static void
int_grow(struct intmap *m)
{
    struct intmap old = *m;
    m->cap = 4 * (old.live + 1) > old.cap ? (old.cap ? 2 * old.cap : 16) : old.cap;
    m->slot = zeroed(m->cap, sizeof *m->slot);
    m->used = m->live = old.live;
    for (size_t i = 0; i < old.cap; i++)
        if (old.slot[i].state == 1)
            *int_slot(m, old.slot[i].key) = old.slot[i];
    free(old.slot);
}

void *
intmap_put(struct intmap *m, uint64_t key, void *value)
{
    if (4 * (m->used + 1) > 3 * m->cap)
        int_grow(m);
    struct intmap_entry *e = int_slot(m, key);
    void *old = e->state == 1 ? e->value : NULL;
    if (e->state == 0) {
        m->used++;
        m->live++;
    }
    *e = (struct intmap_entry){.key = key, .value = value, .state = 1};
    return old;
}

void *
intmap_del(struct intmap *m, uint64_t key)
{
    if (!m->cap)
        return NULL;
    struct intmap_entry *e = int_slot(m, key);
    if (e->state != 1)
        return NULL;
    e->state = 2;
    m->live--;
    return e->value;
}

void
intmap_free(struct intmap *m)
{
    free(m->slot);
    *m = (struct intmap){0};
}
