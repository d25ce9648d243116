// SPDX-License-Identifier: MIT
// One-shot completion: a futex word that waiters sleep on and a list of callbacks.
#include "backend/backend.h"

#include <linux/futex.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { PENDING, PENDING_WAITED, DONE };

struct callback {
    struct callback *next;
    void (*fn)(void *user);
    void *user;
};

struct signal {
    atomic_uint refs;
    atomic_uint state;
    int error;                          // written before state becomes DONE
    uint64_t time;                      // ditto
    struct callback *_Atomic callbacks; // latest first; `closed` once completed
};

static struct callback closed;

struct signal *
signal_new(void)
{
    struct signal *s = calloc(1, sizeof *s);
    if (!s)
        abort();
    atomic_init(&s->refs, 1);
    return s;
}

struct signal *
signal_ref(struct signal *s)
{
    atomic_fetch_add_explicit(&s->refs, 1, memory_order_relaxed);
    return s;
}

static void
free_callbacks(struct callback *c)
{
    while (c && c != &closed) {
        struct callback *next = c->next;
        free(c);
        c = next;
    }
}

void
signal_unref(struct signal *s)
{
    if (!s || atomic_fetch_sub_explicit(&s->refs, 1, memory_order_acq_rel) != 1)
        return;
    free_callbacks(atomic_load_explicit(&s->callbacks, memory_order_relaxed));
    free(s);
}

static uint64_t
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static void
run_callbacks(struct callback *c)
{
    struct callback *first = NULL;
    while (c) { // reverse: callbacks run in the order in which they came
        struct callback *next = c->next;
        c->next = first;
        first = c;
        c = next;
    }
    while (first) {
        struct callback *next = first->next;
        first->fn(first->user);
        free(first);
        first = next;
    }
}

void
signal_complete(struct signal *s, int error)
{
    // A callback or a woken waiter may drop the last reference.
    signal_ref(s);
    if (!signal_done(s)) {
        s->error = error;
        s->time = now();
        if (atomic_exchange_explicit(&s->state, DONE, memory_order_acq_rel) == PENDING_WAITED)
            syscall(SYS_futex, &s->state, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
        run_callbacks(atomic_exchange_explicit(&s->callbacks, &closed, memory_order_acq_rel));
    }
    signal_unref(s);
}

bool
signal_done(const struct signal *s)
{
    return atomic_load_explicit(&s->state, memory_order_acquire) == DONE;
}

enum { SPINS = 2000, SPINS_ASKED = 200000 };

int
signal_wait(struct signal *s, bool spin)
{
    for (int i = 0; i < (spin ? SPINS_ASKED : SPINS); i++) {
        if (signal_done(s))
            return s->error;
        __builtin_ia32_pause();
    }
    for (;;) {
        unsigned seen = PENDING;
        if (!atomic_compare_exchange_strong(&s->state, &seen, PENDING_WAITED) && seen == DONE)
            return s->error;
        syscall(SYS_futex, &s->state, FUTEX_WAIT_PRIVATE, PENDING_WAITED, NULL, NULL, 0);
    }
}

uint64_t
signal_time(const struct signal *s)
{
    return signal_done(s) ? s->time : 0;
}

void
signal_then(struct signal *s, void (*fn)(void *user), void *user)
{
    struct callback *head = atomic_load_explicit(&s->callbacks, memory_order_acquire);
    struct callback *c = head == &closed ? NULL : malloc(sizeof *c);
    if (head != &closed && !c)
        abort();
    while (head != &closed) {
        *c = (struct callback){.next = head, .fn = fn, .user = user};
        if (atomic_compare_exchange_weak_explicit(&s->callbacks, &head, c, memory_order_acq_rel,
                                                  memory_order_acquire))
            return;
    }
    free(c);
    fn(user);
}
