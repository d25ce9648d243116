// SPDX-License-Identifier: MIT
// Queues of the CPU backend: order, waiting without blocking others, sticky errors, teardown.
#include "check.h"

#include <stdatomic.h>

#include "backend/backend.h"

static const struct backend *const be = &backend_cpu;
static struct backend_scope *scope;
static int log_[4096];
static atomic_int logged;

static void
start(void)
{
    const char *why;
    setenv("POLYWARP_CACHE", "off", 1);
    CHECK_INT(be->init(&why), 1);
    scope = be->scope_new(be->device(0));
}

static void
note(void *user)
{
    log_[atomic_fetch_add(&logged, 1)] = (int)(intptr_t)user;
}

static void
host(struct backend_queue *q, intptr_t n, bool always)
{
    struct command *c = command_new(CMD_HOST, 0);
    c->host.fn = note;
    c->host.user = (void *)n;
    c->host.always = always;
    be->submit(q, c);
}

static void
with_signal(struct backend_queue *q, enum command_kind kind, struct signal *s)
{
    struct command *c = command_new(kind, 0);
    c->signal = signal_ref(s);
    be->submit(q, c);
}

static int
drain(struct backend_queue *q)
{
    struct signal *s = signal_new();
    with_signal(q, CMD_SIGNAL, s);
    int error = signal_wait(s, false);
    signal_unref(s);
    return error;
}

static void
commands_run_in_order(void)
{
    struct backend_queue *q = be->queue_new(scope, 0);
    atomic_store(&logged, 0);
    for (int i = 0; i < 4000; i++)
        host(q, i, false);
    CHECK_INT(drain(q), 0);
    int wrong = 0;
    for (int i = 0; i < 4000; i++)
        wrong += log_[i] != i;
    CHECK_INT(wrong, 0);
    be->queue_free(q);
}

// More queues wait than there could be threads for; then one signal lets all go on.
static void
parked_queues_hold_no_thread(void)
{
    enum { N = 300 };
    struct backend_queue *q[N], *free_queue = be->queue_new(scope, 0);
    struct signal *s = signal_new();
    atomic_store(&logged, 0);
    for (int i = 0; i < N; i++) {
        q[i] = be->queue_new(scope, 0);
        with_signal(q[i], CMD_WAIT, s);
        host(q[i], i, false);
    }
    CHECK_INT(drain(free_queue), 0);
    CHECK_INT(atomic_load(&logged), 0);
    CHECK(!be->queue_idle(q[0]));
    with_signal(free_queue, CMD_SIGNAL, s);
    for (int i = 0; i < N; i++) {
        CHECK_INT(drain(q[i]), 0);
        be->queue_free(q[i]);
    }
    CHECK_INT(atomic_load(&logged), N);
    be->queue_free(free_queue);
    signal_unref(s);
}

static void
values(void)
{
    static _Atomic uint32_t word;
    static uint64_t wide;
    struct backend_queue *a = be->queue_new(scope, 0), *b = be->queue_new(scope, 0);
    struct command *c = command_new(CMD_VALUE_WAIT, 0);
    c->value.addr = (void *)&word, c->value.value = 5, c->value.bytes = 4, c->value.op = 0;
    be->submit(a, c);
    c = command_new(CMD_VALUE_WRITE, 0);
    c->value.addr = &wide, c->value.value = 0x1234567890, c->value.bytes = 8;
    be->submit(a, c);
    c = command_new(CMD_VALUE_WRITE, 0);
    c->value.addr = (void *)&word, c->value.value = 6, c->value.bytes = 4;
    be->submit(b, c);
    CHECK_INT(drain(a), 0);
    CHECK_INT(wide, 0x1234567890);
    be->queue_free(a);
    be->queue_free(b);
}

static void
freed_queue_finishes(void)
{
    struct backend_queue *q = be->queue_new(scope, 0);
    struct signal *gate = signal_new(), *end = signal_new();
    atomic_store(&logged, 0);
    with_signal(q, CMD_WAIT, gate);
    host(q, 1, false);
    with_signal(q, CMD_SIGNAL, end);
    be->queue_free(q);
    signal_complete(gate, 0);
    CHECK_INT(signal_wait(end, false), 0);
    CHECK_INT(atomic_load(&logged), 1);
    signal_unref(gate);
    signal_unref(end);
}

static void
errors_stick(void)
{
    struct backend_queue *q = be->queue_new(scope, 0);
    struct command *c = command_new(CMD_FILL, 0);
    c->fill.dst = (char *)16, c->fill.element = 1, c->fill.width = c->fill.height = 1;
    atomic_store(&logged, 0);
    be->submit(q, c);
    host(q, 1, false);
    host(q, 2, true);
    CHECK_INT(drain(q), BE_ILLEGAL_ADDRESS);
    CHECK_INT(be->scope_error(scope), BE_ILLEGAL_ADDRESS);
    CHECK_INT(atomic_load(&logged), 1);
    CHECK_INT(log_[0], 2);
    be->queue_free(q);
    be->scope_free(scope);
    backend_cpu_shutdown();
}

CHECK_MAIN(T(start), T(commands_run_in_order), T(parked_queues_hold_no_thread), T(values),
           T(freed_queue_finishes), T(errors_stick))
