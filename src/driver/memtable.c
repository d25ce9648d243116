// SPDX-License-Identifier: MIT
// The table of all allocations of the process, sorted by address: which allocation holds a pointer.
// Look-ups are many (each copy) and share a lock; changes are few.
#include "driver/driver.h"

#include <stdlib.h>
#include <string.h>

// Keys lie apart from the records so that a search stays within few cache lines.
struct entry {
    uintptr_t addr;
    struct mem *mem;
};

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct entry *table; // vec, ascending, ranges do not overlap
static uint64_t last_buffer_id;

// Number of entries that begin at or before addr.
static size_t
upper_bound(uintptr_t addr)
{
    size_t lo = 0, hi = vec_len(table);
    while (lo < hi) {
        size_t mid = lo + (hi - lo) / 2;
        if (table[mid].addr <= addr)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo;
}

static struct mem *
containing(uintptr_t addr)
{
    size_t i = upper_bound(addr);
    if (!i || addr - table[i - 1].addr >= table[i - 1].mem->size)
        return NULL;
    return table[i - 1].mem;
}

void
mem_add(const struct mem *m)
{
    struct mem *copy = malloc(sizeof *copy);
    if (!copy)
        abort();
    *copy = *m;
    pthread_rwlock_wrlock(&lock);
    copy->buffer_id = ++last_buffer_id;
    size_t i = upper_bound(m->addr);
    vec_extend(table, 1);
    memmove(table + i + 1, table + i, (vec_len(table) - 1 - i) * sizeof *table);
    table[i] = (struct entry){m->addr, copy};
    pthread_rwlock_unlock(&lock);
    LOG(LOG_MEMORY, "+ %p %zu bytes, kind %d", (void *)m->addr, m->size, m->kind);
}

bool
mem_find(const void *p, struct mem *out)
{
    pthread_rwlock_rdlock(&lock);
    struct mem *m = containing((uintptr_t)p);
    if (m)
        *out = *m;
    pthread_rwlock_unlock(&lock);
    return m;
}

// Takes entry i out and frees it. Holds the lock for writing.
static void
remove_at(size_t i, struct mem *out)
{
    *out = *table[i].mem;
    free(table[i].mem);
    memmove(table + i, table + i + 1, (vec_len(table) - 1 - i) * sizeof *table);
    (void)vec_pop(table);
}

bool
mem_remove(const void *base, struct mem *out)
{
    pthread_rwlock_wrlock(&lock);
    size_t i = upper_bound((uintptr_t)base);
    bool found = i && table[i - 1].addr == (uintptr_t)base;
    if (found)
        remove_at(i - 1, out);
    pthread_rwlock_unlock(&lock);
    if (found)
        LOG(LOG_MEMORY, "- %p %zu bytes", base, out->size);
    return found;
}

bool
mem_remove_context(const struct context *c, struct mem *out)
{
    pthread_rwlock_wrlock(&lock);
    size_t i = vec_len(table);
    while (i > 0 && table[i - 1].mem->ctx != c)
        i--;
    if (i)
        remove_at(i - 1, out);
    pthread_rwlock_unlock(&lock);
    return i;
}

bool
mem_update(const void *p, void (*fn)(struct mem *m, void *user), void *user)
{
    pthread_rwlock_wrlock(&lock);
    struct mem *m = containing((uintptr_t)p);
    if (m)
        fn(m, user);
    pthread_rwlock_unlock(&lock);
    return m;
}

// Bytes from p to the end of its allocation, or of the run of adjacent mappings that it lies in.
static size_t
room(uintptr_t p)
{
    size_t i = upper_bound(p);
    if (!i || p - table[i - 1].addr >= table[i - 1].mem->size)
        return 0;
    uintptr_t end = table[i - 1].addr + table[i - 1].mem->size;
    if (table[i - 1].mem->kind == MK_VMM)
        for (; i < vec_len(table) && table[i].addr == end && table[i].mem->kind == MK_VMM; i++)
            end += table[i].mem->size;
    return end - p;
}

bool
mem_covers(const void *p, size_t size)
{
    if (!size)
        return true;
    pthread_rwlock_rdlock(&lock);
    bool ok = room((uintptr_t)p) >= size;
    pthread_rwlock_unlock(&lock);
    return ok;
}

bool
mem_allows(const void *p, size_t size, bool write)
{
    unsigned need = write ? CU_MEM_ACCESS_FLAGS_PROT_READWRITE : CU_MEM_ACCESS_FLAGS_PROT_READ;
    uintptr_t end = (uintptr_t)p + size;
    bool ok = true;
    pthread_rwlock_rdlock(&lock);
    size_t i = upper_bound((uintptr_t)p);
    for (i -= i > 0; ok && i < vec_len(table) && table[i].addr < end; i++)
        ok = table[i].mem->kind != MK_VMM || (table[i].mem->flags & need) == need ||
             table[i].addr + table[i].mem->size <= (uintptr_t)p;
    pthread_rwlock_unlock(&lock);
    return ok;
}

bool
mem_overlaps(const void *p, size_t size)
{
    uintptr_t addr = (uintptr_t)p;
    pthread_rwlock_rdlock(&lock);
    size_t i = upper_bound(addr);
    bool hit = (i && addr - table[i - 1].addr < table[i - 1].mem->size) ||
               (i < vec_len(table) && table[i].addr - addr < size);
    pthread_rwlock_unlock(&lock);
    return hit;
}
