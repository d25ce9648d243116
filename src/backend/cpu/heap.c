// SPDX-License-Identifier: MIT
// malloc and free of kernels: a region of the size that the limit gave at the first call. Blocks
// have a header and come from size classes, four to each doubling; a freed block goes back to its
// class. Kernels can overwrite all of it, so what is read from it is checked.
#include "backend/cpu/cpu.h"
#include "backend/cpu/load.h"
#include "base/log.h"

#include <stdlib.h>
#include <sys/mman.h>

enum { CLASSES = 160, UNIT = 16 };
enum { USED = 0x50574d41, FREED = 0x50574646 };

// Sits before each block; keeps the block aligned to 16.
struct header {
    uint32_t state, class_;
    uint64_t next; // offset of the next free block's header, 0: none
};

struct heap {
    pthread_mutex_t lock;
    char *base;
    size_t size, at;        // bytes; beyond `at` nothing was given out yet
    uint64_t free[CLASSES]; // offsets of headers
};

static size_t
class_bytes(uint32_t c)
{
    size_t base = (size_t)UNIT << c / 4;
    return (base + base * (c % 4) / 4 + UNIT - 1) & ~(size_t)(UNIT - 1);
}

static uint32_t
class_of(size_t size)
{
    uint32_t c = size > UNIT ? (uint32_t)(63 - __builtin_clzll(size / UNIT)) * 4 : 0;
    while (class_bytes(c) < size)
        c++;
    return c;
}

static struct heap *
heap_new(size_t size)
{
    struct heap *h = calloc(1, sizeof *h);
    if (!h)
        return NULL;
    h->size = (size + 4095) & ~(size_t)4095;
    h->base = mmap(NULL, h->size + 4096, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (h->base == MAP_FAILED) {
        free(h);
        return NULL;
    }
    h->at = UNIT; // offset 0 stands for none
    pthread_mutex_init(&h->lock, NULL);
    return h;
}

static struct heap *
scope_heap(struct backend_scope *s)
{
    pthread_mutex_lock(&s->lock);
    if (!s->heap)
        s->heap = heap_new(atomic_load(&s->heap_limit));
    struct heap *h = s->heap;
    pthread_mutex_unlock(&s->lock);
    return h;
}

void
heap_free_all(struct heap *h)
{
    if (!h)
        return;
    munmap(h->base, h->size + 4096);
    pthread_mutex_destroy(&h->lock);
    free(h);
}

static bool
valid(const struct heap *h, uint64_t off)
{
    return off >= UNIT && off % UNIT == 0 && off + sizeof(struct header) <= h->at;
}

static struct header *
take(struct heap *h, uint32_t c)
{
    uint64_t off = h->free[c];
    if (!off)
        return NULL;
    struct header *b = (struct header *)(h->base + off);
    uint64_t next = b->next;
    if (b->state != FREED || b->class_ != c || (next && !valid(h, next))) {
        log_error("device heap: a kernel has overwritten the heap's own data");
        h->free[c] = 0; // what the list held is lost
        return NULL;
    }
    h->free[c] = next;
    return b;
}

static struct header *
carve(struct heap *h, uint32_t c)
{
    size_t bytes = sizeof(struct header) + class_bytes(c);
    if (bytes > h->size - h->at)
        return NULL;
    struct header *b = (struct header *)(h->base + h->at);
    h->at += bytes;
    b->class_ = c;
    return b;
}

uint64_t
rt_malloc(struct thread *t, uint64_t size)
{
    struct heap *h = scope_heap(thread_launch(t)->scope);
    if (!h || !size || size > h->size)
        return 0;
    uint32_t c = class_of(size);
    pthread_mutex_lock(&h->lock);
    struct header *b = take(h, c);
    if (!b)
        b = carve(h, c);
    for (uint32_t larger = c + 1; !b && larger < CLASSES; larger++)
        b = take(h, larger);
    if (b)
        b->state = USED;
    pthread_mutex_unlock(&h->lock);
    return b ? (uint64_t)(uintptr_t)(b + 1) : 0;
}

void
rt_free(struct thread *t, uint64_t addr)
{
    if (!addr)
        return;
    struct heap *h = scope_heap(thread_launch(t)->scope);
    bool ok = false;
    if (h) {
        uint64_t off = addr - (uint64_t)(uintptr_t)h->base - sizeof(struct header);
        pthread_mutex_lock(&h->lock);
        struct header *b = (struct header *)(h->base + off);
        ok = valid(h, off) && b->state == USED && b->class_ < CLASSES;
        if (ok) {
            b->state = FREED;
            b->next = h->free[b->class_];
            h->free[b->class_] = off;
        }
        pthread_mutex_unlock(&h->lock);
    }
    if (!ok) {
        report_stop(t, "free of what malloc did not give", __builtin_return_address(0));
        thread_stop(t, BE_LAUNCH_FAILED);
    }
}
