// SPDX-License-Identifier: MIT
// Device memory. Large allocations are mappings of their own with inaccessible pages around them,
// so that a stray access faults; small ones are cut from slabs by size class. The total is limited
// to what the device claims to have. Slabs lie in one file, so that other processes can map them;
// share.c moves large allocations into files of their own when that is asked for.
#include "backend/cpu/cpu.h"
#include "base/log.h"
#include "base/vec.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum {
    ALIGN = 512,
    SMALL = 64 << 10, // up to this from slabs
    SLAB = 2 << 20,
    GAP = 64 << 10, // inaccessible, before and after a large allocation
    HUGE = 2 << 20, // large pages from this size on
    CLASSES = 32
};

static struct {
    pthread_mutex_t lock;
    void *free[CLASSES]; // by size class; the first word of a free block is the next one
    char *slab_at, *slab_end;
    int file; // holds the slabs in the order of `slabs`; -1: none
    char **slabs; // vec
} mem = {.lock = PTHREAD_MUTEX_INITIALIZER, .file = -1};

uint64_t
memory_total_default(void)
{
    long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    uint64_t bytes = pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : (uint64_t)1 << 32;
    return bytes / 4 * 3 & ~(uint64_t)((1 << 20) - 1);
}

// Classes: four steps to each doubling, from 512 bytes; each a multiple of 512.
static unsigned
class_of(size_t size)
{
    unsigned c = 0;
    for (size_t base = ALIGN; c < CLASSES; base *= 2)
        for (size_t step = 0; step < 4; step++, c++)
            if (((base + base * step / 4 + ALIGN - 1) & ~(size_t)(ALIGN - 1)) >= size)
                return c;
    return CLASSES - 1;
}

static size_t
class_bytes(unsigned c)
{
    size_t base = (size_t)ALIGN << c / 4;
    return (base + base * (c % 4) / 4 + ALIGN - 1) & ~(size_t)(ALIGN - 1);
}

static size_t
accounted(size_t size)
{
    return size <= SMALL ? class_bytes(class_of(size)) : (size + 4095) & ~(size_t)4095;
}

// A new slab, in the file if there can be one. Under the lock.
static bool
slab_map(char *at)
{
    size_t end = (vec_len(mem.slabs) + 1) * SLAB;
    if (mem.file < 0 && !vec_len(mem.slabs))
        mem.file = share_file();
    if (mem.file >= 0 && ftruncate(mem.file, (off_t)end) == 0 &&
        mmap(at, SLAB, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, mem.file,
             (off_t)(end - SLAB)) != MAP_FAILED) {
        vec_push(mem.slabs, at);
        return true;
    }
    return !mprotect(at, SLAB, PROT_READ | PROT_WRITE);
}

bool
memory_slab(const void *p, int *fd, size_t *offset)
{
    bool found = false;
    pthread_mutex_lock(&mem.lock);
    for (size_t i = 0; !found && i < vec_len(mem.slabs); i++) {
        size_t at = (size_t)((const char *)p - mem.slabs[i]);
        found = at < SLAB;
        *offset = i * SLAB + at;
    }
    *fd = mem.file;
    pthread_mutex_unlock(&mem.lock);
    return found;
}

// Under the lock.
static void *
small_alloc(unsigned c)
{
    void *p = mem.free[c];
    if (p) {
        memcpy(&mem.free[c], p, sizeof(void *));
        memset(p, 0, sizeof(void *)); // the rest was zeroed when it was freed
        return p;
    }
    size_t bytes = class_bytes(c);
    if ((size_t)(mem.slab_end - mem.slab_at) <
        bytes) { // the rest of the old slab, less than one block, is lost
        char *slab = mmap(NULL, SLAB + 2 * GAP, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (slab == MAP_FAILED)
            return NULL;
        if (!slab_map(slab + GAP)) {
            munmap(slab, SLAB + 2 * GAP);
            return NULL;
        }
        mem.slab_at = slab + GAP;
        mem.slab_end = mem.slab_at + SLAB;
    }
    p = mem.slab_at;
    mem.slab_at += bytes;
    return p;
}

static void *
large_alloc(size_t size)
{
    size_t align = size >= HUGE ? HUGE : GAP, bytes = (size + 4095) & ~(size_t)4095;
    size_t all = bytes + GAP + align + GAP;
    char *map = mmap(NULL, all, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (map == MAP_FAILED)
        return NULL;
    char *p = (char *)(((uintptr_t)map + GAP + align - 1) & ~(uintptr_t)(align - 1));
    if (mprotect(p, bytes, PROT_READ | PROT_WRITE)) {
        munmap(map, all);
        return NULL;
    }
    // Give the rest back so that free can do without the map's bounds: one gap before, one after.
    if (p - GAP > map)
        munmap(map, (size_t)(p - GAP - map));
    if (p + bytes + GAP < map + all)
        munmap(p + bytes + GAP, (size_t)(map + all - (p + bytes + GAP)));
    if (size >= HUGE)
        madvise(p, bytes, MADV_HUGEPAGE);
    return p;
}

static bool
account(struct backend_device *d, size_t bytes)
{
    if (bytes > d->props.total_memory - d->used)
        return false;
    d->used += bytes;
    return true;
}

bool
memory_account(struct backend_device *d, size_t bytes)
{
    pthread_mutex_lock(&mem.lock);
    bool ok = account(d, bytes);
    pthread_mutex_unlock(&mem.lock);
    return ok;
}

void
memory_unaccount(struct backend_device *d, size_t bytes)
{
    pthread_mutex_lock(&mem.lock);
    d->used -= bytes;
    pthread_mutex_unlock(&mem.lock);
}

int
cpu_alloc(struct backend_scope *s, enum backend_memory kind, size_t size, void **out)
{
    (void)kind; // the device's memory is the host's
    *out = NULL;
    if (size == 0 || size > s->dev->props.total_memory)
        return size ? BE_OUT_OF_MEMORY : BE_INVALID_VALUE;
    size_t bytes = accounted(size);
    pthread_mutex_lock(&mem.lock);
    bool ok = account(s->dev, bytes);
    if (ok && size <= SMALL)
        *out = small_alloc(class_of(size));
    pthread_mutex_unlock(&mem.lock);
    if (ok && size > SMALL)
        *out = large_alloc(size);
    if (ok && !*out)
        memory_unaccount(s->dev, bytes);
    LOG(LOG_MEMORY, "alloc %zu bytes: %p", size, *out);
    return *out ? BE_OK : BE_OUT_OF_MEMORY;
}

void
cpu_free(struct backend_scope *s, enum backend_memory kind, void *p, size_t size)
{
    (void)kind;
    if (!p)
        return;
    LOG(LOG_MEMORY, "free %p, %zu bytes", p, size);
    size_t bytes = accounted(size);
    if (size > SMALL) {
        share_end(p);
        munmap((char *)p - GAP, bytes + 2 * GAP);
    }
    pthread_mutex_lock(&mem.lock);
    if (size <= SMALL) {
        unsigned c = class_of(size);
        memset(p, 0, bytes);
        memcpy(p, &mem.free[c], sizeof(void *));
        mem.free[c] = p;
    }
    s->dev->used -= bytes;
    pthread_mutex_unlock(&mem.lock);
}

void
cpu_mem_info(struct backend_device *d, size_t *free_bytes, size_t *total_bytes)
{
    pthread_mutex_lock(&mem.lock);
    *free_bytes = d->props.total_memory - d->used;
    *total_bytes = d->props.total_memory;
    pthread_mutex_unlock(&mem.lock);
}
