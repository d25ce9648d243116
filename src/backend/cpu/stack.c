// SPDX-License-Identifier: MIT
// Pools of stacks. Stacks are mapped in slabs, made when first needed and kept until the worker
// ends. The lowest page of each is a guard: installed by MADV_GUARD_INSTALL where the kernel has it
// (no extra mapping), else by mprotect for a bounded number of stacks.
#include "backend/cpu/fiber.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>

#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

enum {
    GUARD = 4096,
    GUARD_INSTALL = 102, // MADV_GUARD_INSTALL, Linux 6.13
    SLAB_STACKS = 32,
    MAX_MPROTECTED = 16384 // each costs two mappings; the system's usual limit is 65530
};

struct stack_slab {
    struct stack_slab *next;
    char *base;
    size_t bytes;
    unsigned count;
    struct fiber fiber[];
};

static atomic_uint mprotected;
static atomic_bool no_guard_install;

static void
install_guard(char *page)
{
    if (!atomic_load_explicit(&no_guard_install, memory_order_relaxed)) {
        if (!madvise(page, GUARD, GUARD_INSTALL))
            return;
        atomic_store(&no_guard_install, true);
    }
    if (atomic_fetch_add(&mprotected, 1) < MAX_MPROTECTED)
        mprotect(page, GUARD, PROT_NONE);
    else
        atomic_fetch_sub(&mprotected, 1);
}

uint32_t
stack_class(size_t bytes)
{
    for (uint32_t c = STACK_MIN_CLASS; c <= STACK_MAX_CLASS; c++)
        if (bytes <= (size_t)1 << c)
            return c;
    return 0;
}

static bool
add_slab(struct stack_pool *p, uint32_t class_)
{
    // The guard page makes the distance odd in pages: with a power of two all stacks' tops would
    // share a few TLB sets.
    size_t each = ((size_t)1 << class_) + GUARD;
    unsigned n = class_ > 24 ? 1 : SLAB_STACKS;
    struct stack_slab *s = calloc(1, sizeof *s + n * sizeof s->fiber[0]);
    if (!s)
        return false;
    s->base = mmap(NULL, each * n, PROT_READ | PROT_WRITE,
                   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_STACK, -1, 0);
    if (s->base == MAP_FAILED) {
        free(s);
        return false;
    }
    madvise(s->base, each * n, MADV_NOHUGEPAGE); // a stack touches a page or two
    s->bytes = each * n;
    s->count = n;
    s->next = p->slabs;
    p->slabs = s;
    for (unsigned i = n; i-- > 0;) {
        char *lo = s->base + i * each;
        install_guard(lo);
        s->fiber[i] = (struct fiber){.lo = lo + GUARD, .hi = lo + each, .class_ = class_};
        stack_put(p, &s->fiber[i]);
    }
    return true;
}

struct fiber *
stack_get(struct stack_pool *p, uint32_t class_)
{
    if (!p->free[class_] && !add_slab(p, class_))
        return NULL;
    struct fiber *f = p->free[class_];
    p->free[class_] = f->next;
    return f;
}

void
stack_pool_free(struct stack_pool *p)
{
    while (p->slabs) {
        struct stack_slab *s = p->slabs;
        p->slabs = s->next;
#ifdef FIBER_TSAN
        for (unsigned i = 0; i < s->count; i++)
            if (s->fiber[i].tsan)
                __tsan_destroy_fiber(s->fiber[i].tsan);
#endif
        munmap(s->base, s->bytes);
        if (atomic_load(&no_guard_install)) {
            unsigned used = atomic_load(&mprotected);
            atomic_fetch_sub(&mprotected, used < s->count ? used : s->count);
        }
        free(s);
    }
    *p = (struct stack_pool){0};
}

int
stack_guard_hit(const struct fiber *f, const void *addr)
{
    const char *a = addr;
    return f && a >= f->lo - GUARD && a < f->lo;
}
