// SPDX-License-Identifier: MIT
// Cache of compiled kernels in an SQLite file that processes share. Never fatal: what cannot be
// read is as if it were not there.
#ifndef CPU_CACHE_H
#define CPU_CACHE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

struct cache;

// NULL after logging why. `limit` in bytes of objects.
struct cache *cache_open(const char *path, int64_t limit);
void cache_close(struct cache *c); // NULL allowed
// The object in malloc'ed memory, or NULL. Thread-safe.
void *cache_get(struct cache *c, struct hash128 key, size_t *size);
void cache_put(struct cache *c, struct hash128 key, const void *object, size_t size);
// The cache that the options name, opened at first use; NULL when off.
struct cache *cache_default(void);

#endif
