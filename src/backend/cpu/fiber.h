// SPDX-License-Identifier: MIT
// User-space stacks: switching between them, and the pools that they come from.
//
// A switch saves the callee-saved integer registers only. MXCSR and the x87 control word are not
// saved: generated code that changes the rounding mode restores it before it calls anything, so at
// every switch they have their default values.
#ifndef CPU_FIBER_H
#define CPU_FIBER_H

#include <stddef.h>
#include <stdint.h>

#if defined(__SANITIZE_ADDRESS__)
#define FIBER_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FIBER_ASAN 1
#endif
#endif
#if defined(__SANITIZE_THREAD__)
#define FIBER_TSAN 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define FIBER_TSAN 1
#endif
#endif

// A place to continue at: a stack of ours, or the one that an OS thread came with (lo and hi are
// then only known to ASan). The first two fields are read by generated code (isspacep.local).
struct fiber {
    char *lo, *hi;      // usable bytes; below lo is a guard page
    void *sp;           // while suspended
    struct fiber *next; // in a pool
    void (*entry)(void *);
    void *arg;
    uint32_t class_; // size class: log2 of the bytes
#ifdef FIBER_TSAN
    void *tsan;
#endif
};

// ---- switching (fiber.c, fiber_x86_64.S)
// ----------------------------------------------------------------------- Makes the fiber call
// entry(arg) on its stack when it is next switched to. What was on the stack is dropped. entry may
// not return.
void fiber_start(struct fiber *f, void (*entry)(void *), void *arg);
// Suspends `from` and continues `to`. Returns what the fiber that later continues `from` passes as
// `value`.
intptr_t fiber_switch(struct fiber *from, struct fiber *to, intptr_t value);
// Continues `to`; the caller's stack is dropped.
void fiber_leave(struct fiber *to, intptr_t value) __attribute__((noreturn));

// Calls fn(a, b) and returns 0, or what frame_leave passes if it is called with *frame before fn
// has returned: a longjmp that is a few instructions, also usable as the continuation of a signal
// handler (see frame_redirect).
intptr_t frame_enter(void **frame, void (*fn)(void *a, void *b), void *a, void *b);
void frame_leave(void *frame, intptr_t value) __attribute__((noreturn));

// ---- pools (stack.c)
// -----------------------------------------------------------------------------------------------
enum { STACK_MIN_CLASS = 16, STACK_MAX_CLASS = 30 };

// Stacks of one worker; not thread-safe. Zeroed is empty.
struct stack_pool {
    struct fiber *free[STACK_MAX_CLASS + 1];
    struct stack_slab *slabs;
};

// Size class of a stack with at least that many usable bytes; 0 if too large.
uint32_t stack_class(size_t bytes);
// NULL when the system gives no memory.
struct fiber *stack_get(struct stack_pool *p, uint32_t class_);
static inline void
stack_put(struct stack_pool *p, struct fiber *f)
{
    f->next = p->free[f->class_];
    p->free[f->class_] = f;
}
void stack_pool_free(struct stack_pool *p);
// Does the address lie in the guard page of the fiber?
int stack_guard_hit(const struct fiber *f, const void *addr);

#endif
