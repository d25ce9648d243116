// SPDX-License-Identifier: MIT
// Signals: completion, waiting threads, callbacks; and commands.
#include "check.h"

#include <pthread.h>
#include <stdatomic.h>

#include "backend/backend.h"

static int order[8], ordered;

static void
note(void *user)
{
    order[ordered++] = (int)(intptr_t)user;
}

static void
completes_once(void)
{
    struct signal *s = signal_new();
    CHECK(!signal_done(s));
    CHECK_INT(signal_time(s), 0);
    signal_complete(s, 700);
    CHECK(signal_done(s));
    uint64_t t = signal_time(s);
    CHECK(t > 0);
    signal_complete(s, 0);
    CHECK_INT(signal_wait(s, false), 700);
    CHECK_INT(signal_time(s), t);
    signal_unref(s);
    signal_unref(NULL);
}

static void
callbacks_in_order(void)
{
    struct signal *s = signal_new();
    ordered = 0;
    for (intptr_t i = 1; i <= 3; i++)
        signal_then(s, note, (void *)i);
    CHECK_INT(ordered, 0);
    signal_complete(s, 0);
    signal_then(s, note, (void *)4);
    CHECK_INT(ordered, 4);
    for (int i = 0; i < 4; i++)
        CHECK_INT(order[i], i + 1);
    signal_unref(s);
}

static void *
waiter(void *s)
{
    return (void *)(intptr_t)signal_wait(s, false);
}

static void
wakes_all_waiters(void)
{
    enum { N = 4 };
    pthread_t t[N];
    struct signal *s = signal_new();
    for (int i = 0; i < N; i++)
        pthread_create(&t[i], NULL, waiter, s);
    signal_complete(s, 719);
    for (int i = 0; i < N; i++) {
        void *r = NULL;
        pthread_join(t[i], &r);
        CHECK_INT((intptr_t)r, 719);
    }
    signal_unref(s);
}

static atomic_int called;

static void
count(void *user)
{
    (void)user;
    atomic_fetch_add(&called, 1);
}

static void *
adder(void *s)
{
    for (int i = 0; i < 1000; i++)
        signal_then(s, count, NULL);
    return NULL;
}

static void
callbacks_race_with_completion(void)
{
    pthread_t t;
    struct signal *s = signal_new();
    pthread_create(&t, NULL, adder, s);
    signal_complete(s, 0);
    pthread_join(t, NULL);
    CHECK_INT(atomic_load(&called), 1000);
    signal_unref(s);
}

static void
commands(void)
{
    struct command *c = command_new(CMD_LAUNCH, 100);
    CHECK_INT(c->launch.param_size, 100);
    CHECK_INT((uintptr_t)c->launch.params % 128, 0);
    memset(c->launch.params, 7, 100);
    struct command *d = command_clone(c);
    CHECK(d->launch.params != c->launch.params);
    CHECK_INT(((char *)d->launch.params)[99], 7);
    command_free(c);
    CHECK_INT(((char *)d->launch.params)[99], 7);
    command_free(d);

    struct signal *s = signal_new();
    c = command_new(CMD_SIGNAL, 0);
    c->signal = signal_ref(s);
    d = command_clone(c);
    command_free(c);
    signal_unref(s);
    signal_complete(d->signal, 3); // the clone holds its own reference
    CHECK_INT(signal_wait(d->signal, true), 3);
    command_free(d);
    command_free(NULL);
}

CHECK_MAIN(T(completes_once), T(callbacks_in_order), T(wakes_all_waiters),
           T(callbacks_race_with_completion), T(commands))
