// SPDX-License-Identifier: MIT
// Fibers: what surrounds the switch itself (fiber_x86_64.S): first frame of a stack, annotations
// for the sanitizers.
#include "backend/cpu/fiber.h"

#ifdef FIBER_ASAN
#include <sanitizer/asan_interface.h>
#endif
#ifdef FIBER_TSAN
#include <sanitizer/tsan_interface.h>
#endif

intptr_t fiber_raw_switch(void **save, void *to, intptr_t value);
void fiber_raw_leave(void *to, intptr_t value) __attribute__((noreturn));
void fiber_raw_entry(void);

// A suspended stack: what fiber_raw_switch pops.
struct saved {
    uint64_t r15, r14, r13, r12, rbx, rbp;
    void (*ret)(void);
};

#ifdef FIBER_ASAN
static _Thread_local struct fiber *came_from;
#endif

// A frame that is left for good must leave no poison behind: functions that switch are not instrumented.
#ifdef FIBER_ASAN
#define NO_POISON __attribute__((no_sanitize("address")))
#else
#define NO_POISON
#endif

NO_POISON static inline void
before_switch(struct fiber *from, struct fiber *to, void **fake)
{
    (void)from, (void)to, (void)fake;
#ifdef FIBER_ASAN
    came_from = from;
    __sanitizer_start_switch_fiber(fake, to->lo, (size_t)(to->hi - to->lo));
#endif
#ifdef FIBER_TSAN
    if (from && !from->tsan)
        from->tsan = __tsan_get_current_fiber();
    if (!to->tsan)
        to->tsan = __tsan_create_fiber(0);
    __tsan_switch_to_fiber(to->tsan, 0);
#endif
}

NO_POISON static inline void
after_switch(void *fake)
{
    (void)fake;
#ifdef FIBER_ASAN
    const void *lo;
    size_t size;
    __sanitizer_finish_switch_fiber(fake, &lo, &size);
    if (came_from && !came_from->lo) { // an OS thread's own stack: learn its bounds
        came_from->lo = (char *)lo;
        came_from->hi = (char *)lo + size;
    }
#endif
}

NO_POISON static void
first_call(void *arg)
{
    struct fiber *f = arg;
    after_switch(NULL);
    f->entry(f->arg);
    __builtin_trap();
}

void
fiber_start(struct fiber *f, void (*entry)(void *), void *arg)
{
#ifdef FIBER_ASAN
    __asan_unpoison_memory_region(f->lo, (size_t)(f->hi - f->lo)); // what dropped frames left
#endif
    // Tops of stacks would all fall into the same cache sets: shift each by a number of lines taken
    // from its page number.
    uintptr_t shade = ((uintptr_t)f->hi >> 12 & 31) * 128;
    struct saved *s = (struct saved *)(((uintptr_t)f->hi - shade) & ~(uintptr_t)63) - 1;
    // After the pops rsp is 64-aligned, as fiber_raw_entry needs before its call.
    *s = (struct saved){
        .r12 = (uint64_t)(uintptr_t)first_call,
        .r13 = (uint64_t)(uintptr_t)f,
        .ret = fiber_raw_entry,
    };
    f->sp = s;
    f->entry = entry;
    f->arg = arg;
}

NO_POISON intptr_t
fiber_switch(struct fiber *from, struct fiber *to, intptr_t value)
{
    void *fake = NULL;
    before_switch(from, to, &fake);
    intptr_t r = fiber_raw_switch(&from->sp, to->sp, value);
    after_switch(fake);
    return r;
}

void
fiber_leave(struct fiber *to, intptr_t value)
{
    before_switch(NULL, to, NULL);
    fiber_raw_leave(to->sp, value);
}

void
frame_leave(void *frame, intptr_t value)
{
    fiber_raw_leave(frame, value);
}
