// SPDX-License-Identifier: MIT
// Hash maps with open addressing: string -> pointer and 64-bit integer -> pointer.
// A zeroed struct is a valid, empty map. Not thread-safe. Values may not be NULL.
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct strmap_entry {
    const char *key; // not copied: must outlive the map
    uint32_t len, hash;
    void *value; // NULL: free or deleted slot
};

struct strmap {
    struct strmap_entry *slot;
    size_t cap, used; // used counts deleted slots too
};

void *strmap_getn(const struct strmap *m, const char *key, size_t len);
void *strmap_get(const struct strmap *m, const char *key);
// Sets or replaces; returns the former value or NULL.
void *strmap_putn(struct strmap *m, const char *key, size_t len, void *value);
void *strmap_put(struct strmap *m, const char *key, void *value);
void strmap_free(struct strmap *m);

struct intmap_entry {
    uint64_t key;
    void *value;
    uint8_t state; // 0 free, 1 used, 2 deleted
};

struct intmap {
    struct intmap_entry *slot;
    size_t cap, used, live;
};

void *intmap_get(const struct intmap *m, uint64_t key);
void *intmap_put(struct intmap *m, uint64_t key, void *value);
void *intmap_del(struct intmap *m, uint64_t key); // returns the removed value or NULL
void intmap_free(struct intmap *m);

#endif
