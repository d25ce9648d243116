// SPDX-License-Identifier: MIT
// Memory that lives in files: chunks without an address, ranges of addresses, and allocations that
// are moved into a file, in place, so that another process can map them.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { PAGE = 4096 };

static const char file_name[] = "polywarp-memory";

struct backend_chunk {
    struct backend_device *dev;
    int fd;
    size_t size;      // bytes
    size_t accounted; // bytes of the device's memory; 0: another process made it
};

int
share_file(void)
{
    return memfd_create(file_name, MFD_CLOEXEC);
}

// ---- chunks ---------------------------------------------------------------
static struct backend_chunk *
chunk(struct backend_device *d, int fd, size_t size, size_t accounted)
{
    struct backend_chunk *c = malloc(sizeof *c);
    if (!c)
        abort();
    *c = (struct backend_chunk){d, fd, size, accounted};
    return c;
}

int
cpu_chunk_new(struct backend_device *d, size_t size, struct backend_chunk **out)
{
    if (!memory_account(d, size))
        return BE_OUT_OF_MEMORY;
    int fd = share_file();
    if (fd < 0 || ftruncate(fd, (off_t)size)) {
        log_error("no file for %zu bytes of memory: %s", size, strerror(errno));
        if (fd >= 0)
            close(fd);
        memory_unaccount(d, size);
        return BE_OUT_OF_MEMORY;
    }
    *out = chunk(d, fd, size, size);
    return BE_OK;
}

// A file of memory that share_file made, in whatever process.
static bool
is_ours(int fd)
{
    char link[64], target[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t n = readlink(link, target, sizeof target - 1);
    target[n > 0 ? n : 0] = 0;
    const char *name = target + strlen("/memfd:");
    return !strncmp(target, "/memfd:", strlen("/memfd:")) &&
           !strncmp(name, file_name, sizeof file_name - 1);
}

int
cpu_chunk_import(struct backend_device *d, int fd, struct backend_chunk **out)
{
    struct stat st;
    if (fd < 0 || !is_ours(fd) || fstat(fd, &st) || !st.st_size)
        return BE_INVALID_VALUE;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (own < 0)
        return BE_OPERATING_SYSTEM;
    *out = chunk(d, own, (size_t)st.st_size, 0);
    return BE_OK;
}

int
cpu_chunk_export(struct backend_chunk *c)
{
    return fcntl(c->fd, F_DUPFD_CLOEXEC, 0);
}

size_t
cpu_chunk_size(const struct backend_chunk *c)
{
    return c->size;
}

void
cpu_chunk_free(struct backend_chunk *c)
{
    close(c->fd);
    memory_unaccount(c->dev, c->accounted);
    free(c);
}

// ---- addresses ------------------------------------------------------------
static void *
nowhere(void *at, size_t size, int flags)
{
    return mmap(at, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | flags, -1, 0);
}

int
cpu_reserve(struct backend_device *d, size_t size, size_t align, uintptr_t hint, void **out)
{
    (void)d;
    size_t all;
    if (hint && hint % align == 0) {
        void *p = nowhere((void *)hint, size, MAP_FIXED_NOREPLACE);
        if (p == (void *)hint) {
            *out = p;
            return BE_OK;
        }
        if (p != MAP_FAILED)
            munmap(p, size);
    }
    if (__builtin_add_overflow(size, align, &all))
        return BE_OUT_OF_MEMORY;
    char *map = nowhere(NULL, all, 0);
    if (map == MAP_FAILED)
        return BE_OUT_OF_MEMORY;
    char *p = (char *)(((uintptr_t)map + align - 1) & ~(uintptr_t)(align - 1));
    if (p > map)
        munmap(map, (size_t)(p - map));
    if (p + size < map + all)
        munmap(p + size, (size_t)(map + all - (p + size)));
    *out = p;
    return BE_OK;
}

void
cpu_unreserve(struct backend_device *d, void *at, size_t size)
{
    (void)d;
    munmap(at, size);
}

int
cpu_map(struct backend_chunk *c, size_t offset, void *at, size_t size)
{
    if (mmap(at, size, PROT_NONE, MAP_SHARED | MAP_FIXED, c->fd, (off_t)offset) != MAP_FAILED)
        return BE_OK;
    log_error("cannot map %zu bytes at %p: %s", size, at, strerror(errno));
    return BE_OPERATING_SYSTEM;
}

void
cpu_unmap(struct backend_device *d, void *at, size_t size)
{
    (void)d;
    nowhere(at, size, MAP_FIXED);
}

int
cpu_protect(struct backend_device *d, void *at, size_t size, bool read, bool write)
{
    (void)d;
    int prot = (read ? PROT_READ : 0) | (write ? PROT_WRITE : 0);
    return mprotect(at, size, prot) ? BE_OPERATING_SYSTEM : BE_OK;
}

// ---- moving an allocation into a file -------------------------------------
// While it is copied the allocation may only be read: a store faults and is tried again until the
// file has taken the memory's place. Entries stay until the allocation is freed, since such a fault
// may be looked at late.
enum { MOVED = 1024 };

static struct {
    _Atomic uintptr_t lo, hi; // lo 0: the entry is free
    int fd;
} moved[MOVED];
static pthread_mutex_t move_lock = PTHREAD_MUTEX_INITIALIZER; // of changes

bool
share_fault(uint64_t addr)
{
    for (unsigned i = 0; i < MOVED; i++) {
        uintptr_t lo = atomic_load(&moved[i].lo);
        if (lo && addr >= lo && addr < atomic_load(&moved[i].hi)) {
            sched_yield();
            return true;
        }
    }
    return false;
}

static bool
copy_into(int fd, const char *p, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t n = pwrite(fd, p + at, size - at, (off_t)at);
        if (n <= 0)
            return false;
        at += (size_t)n;
    }
    return true;
}

// Under move_lock.
static int
move(unsigned i, char *p, size_t size)
{
    int fd = share_file();
    if (fd < 0 || ftruncate(fd, (off_t)size)) {
        if (fd >= 0)
            close(fd);
        return BE_OPERATING_SYSTEM;
    }
    moved[i].fd = fd;
    atomic_store(&moved[i].hi, (uintptr_t)p + size);
    atomic_store(&moved[i].lo, (uintptr_t)p);
    fault_ensure();
    bool ok = !mprotect(p, size, PROT_READ) && copy_into(fd, p, size) &&
              mmap(p, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd, 0) != MAP_FAILED;
    if (ok)
        return BE_OK;
    log_error("cannot move %zu bytes at %p into a file: %s", size, (void *)p, strerror(errno));
    mprotect(p, size, PROT_READ | PROT_WRITE);
    close(fd);
    moved[i].fd = -1; // the entry stays: a store may have faulted
    return BE_OPERATING_SYSTEM;
}

int
cpu_share(struct backend_scope *s, void *p, size_t size, int *fd, size_t *offset)
{
    (void)s;
    if (memory_slab(p, fd, offset))
        return BE_OK;
    unsigned i = 0, free_entry = MOVED;
    int r = BE_OPERATING_SYSTEM;
    *offset = 0;
    pthread_mutex_lock(&move_lock);
    for (; i < MOVED && atomic_load(&moved[i].lo) != (uintptr_t)p; i++)
        if (!atomic_load(&moved[i].lo) && free_entry == MOVED)
            free_entry = i;
    if (i < MOVED) {
        r = moved[i].fd >= 0 ? BE_OK : BE_OPERATING_SYSTEM;
    } else if (free_entry < MOVED) {
        i = free_entry;
        r = move(i, p, (size + PAGE - 1) & ~(size_t)(PAGE - 1));
    }
    *fd = i < MOVED ? moved[i].fd : -1;
    pthread_mutex_unlock(&move_lock);
    return r;
}

void
share_end(void *p)
{
    pthread_mutex_lock(&move_lock);
    for (unsigned i = 0; i < MOVED; i++)
        if (atomic_load(&moved[i].lo) == (uintptr_t)p) {
            atomic_store(&moved[i].lo, 0);
            if (moved[i].fd >= 0)
                close(moved[i].fd);
            break;
        }
    pthread_mutex_unlock(&move_lock);
}
