// SPDX-License-Identifier: MIT
// Names: the scoped names of a function while it is parsed.
#include "ptx/parser.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

// Names of up to 16 characters are hashed from two words; the text's padding makes reading eight
// bytes safe.
static uint32_t
name_hash(const char *s, size_t n, bool range)
{
    uint64_t h = n <= 16 ? ptx_word_key(s, n) : hash64(s, n);
    h = (h + range) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

struct name *
names_find(const struct names *t, const char *s, size_t n, bool range)
{
    if (!t->nbucket)
        return NULL;
    uint32_t hash = name_hash(s, n, range);
    for (uint32_t i = t->bucket[hash & (t->nbucket - 1)]; i; i = t->list[i - 1].next) {
        struct name *e = &t->list[i - 1];
        if (e->hash == hash && e->len == n && (e->kind == NAME_RANGE) == range &&
            !memcmp(e->s, s, n))
            return e;
    }
    return NULL;
}

struct name *
names_older(const struct names *t, const struct name *e)
{
    for (uint32_t i = e->next; i; i = t->list[i - 1].next) {
        struct name *o = &t->list[i - 1];
        if (o->hash == e->hash && o->len == e->len && o->kind == e->kind &&
            !memcmp(o->s, e->s, e->len))
            return o;
    }
    return NULL;
}

static void
link_name(struct names *t, uint32_t i)
{
    uint32_t *b = &t->bucket[t->list[i].hash & (t->nbucket - 1)];
    t->list[i].next = *b;
    *b = i + 1;
}

static void
grow(struct names *t)
{
    t->nbucket = t->nbucket ? 2 * t->nbucket : 64;
    free(t->bucket);
    t->bucket = calloc(t->nbucket, sizeof *t->bucket);
    if (!t->bucket)
        abort();
    for (uint32_t i = 0; i < vec_len(t->list); i++)
        link_name(t, i);
}

struct name *
names_add(struct names *t, const char *s, size_t n, bool range, uint32_t depth)
{
    struct name *old = names_find(t, s, n, range);
    if (old && old->depth == depth)
        return NULL;
    if (vec_len(t->list) >= t->nbucket)
        grow(t);
    struct name e = {.s = s,
                     .len = (uint32_t)n,
                     .hash = name_hash(s, n, range),
                     .depth = depth,
                     .kind = range ? NAME_RANGE : NAME_SYM};
    vec_push(t->list, e);
    link_name(t, (uint32_t)vec_len(t->list) - 1);
    return &t->list[vec_len(t->list) - 1];
}

void
names_cut(struct names *t, size_t length)
{
    while (vec_len(t->list) > length) {
        struct name e = vec_pop(t->list);
        t->bucket[e.hash & (t->nbucket - 1)] = e.next;
    }
}

void
names_free(struct names *t)
{
    vec_free(t->list);
    free(t->bucket);
    *t = (struct names){0};
}
