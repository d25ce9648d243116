// SPDX-License-Identifier: MIT
// Queues: commands in order. A queue with work is run by an executor, a thread from a set that
// grows with need, so that every queue that can go on does, whatever others do. A queue that waits
// for a signal has no executor until the signal is done.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <sched.h>
#include <stdlib.h>
#include <time.h>

enum queue_state {
    IDLE,    // nothing to do
    READY,   // in the list of queues that want an executor
    RUNNING, // an executor has it
    PARKED   // its first command waits for a signal
};

struct backend_queue {
    struct backend_scope *scope;
    pthread_mutex_t lock; // guards the list and the state
    struct command *head, *tail;
    enum queue_state state;
    bool freed;                       // goes when it becomes idle
    atomic_bool pending;              // head is not NULL: lets the executor look without the lock
    struct backend_queue *ready_next; // under executors.lock
};

static struct {
    pthread_mutex_t lock;
    pthread_cond_t wake, ended;
    struct backend_queue *head, *tail;
    unsigned ready, idle, threads; // queues in the list, threads waiting for one, all threads
    bool stop;
} executors = {
    .lock = PTHREAD_MUTEX_INITIALIZER,
    .wake = PTHREAD_COND_INITIALIZER,
    .ended = PTHREAD_COND_INITIALIZER,
};

static void *executor_thread(void *unused);

static bool
start_executor(void)
{
    pthread_attr_t attr;
    pthread_t id;
    pthread_attr_init(&attr);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    bool ok = !pthread_create(&id, &attr, executor_thread, NULL);
    pthread_attr_destroy(&attr);
    return ok;
}

// Gives the queue, whose state is READY, to an executor.
static void
make_ready(struct backend_queue *q)
{
    pthread_mutex_lock(&executors.lock);
    q->ready_next = NULL;
    if (executors.tail)
        executors.tail->ready_next = q;
    else
        executors.head = q;
    executors.tail = q;
    executors.ready++;
    if (executors.idle >= executors.ready)
        pthread_cond_signal(&executors.wake);
    else if (!executors.stop && start_executor())
        executors.threads++;
    else if (!executors.threads)
        log_error("no thread to run a queue");
    pthread_mutex_unlock(&executors.lock);
}

// ---- commands
// ---------------------------------------------------------------------------------------------------
static bool
value_holds(const struct command *c)
{
    uint64_t v, want = c->value.value;
    if (c->value.bytes == 4) {
        v = __atomic_load_n((const uint32_t *)c->value.addr, __ATOMIC_ACQUIRE);
        want = (uint32_t)want;
    } else {
        v = __atomic_load_n((const uint64_t *)c->value.addr, __ATOMIC_ACQUIRE);
    }
    uint64_t ones = c->value.bytes == 4 ? 0xffffffff : ~(uint64_t)0;
    switch (c->value.op) {
    case 0:
        return c->value.bytes == 4 ? (int32_t)(uint32_t)(v - want) >= 0 : (int64_t)(v - want) >= 0;
    case 1:
        return v == want;
    case 2:
        return (v & want) != 0;
    default:
        return (~(v | want) & ones) != 0;
    }
}

static void
wait_for_value(void *command, void *unused)
{
    (void)unused;
    enum { YIELDS = 100 };
    const struct timespec nap = {0, 20000};
    for (unsigned n = 0; !value_holds(command) && !atomic_load(&launches_stop); n++) {
        if (n < YIELDS)
            sched_yield();
        else
            nanosleep(&nap, NULL);
    }
}

static void
write_value(void *command, void *unused)
{
    (void)unused;
    const struct command *c = command;
    if (c->value.bytes == 4)
        __atomic_store_n((uint32_t *)c->value.addr, (uint32_t)c->value.value, __ATOMIC_RELEASE);
    else
        __atomic_store_n((uint64_t *)c->value.addr, c->value.value, __ATOMIC_RELEASE);
}

static int
run_value(struct worker *w, struct command *c)
{
    if (!fault_try(w, c->kind == CMD_VALUE_WAIT ? wait_for_value : write_value, c, NULL))
        return BE_OK;
    log_error("value operation on an address that cannot be accessed: %p", c->value.addr);
    return BE_ILLEGAL_ADDRESS;
}

static void
run_command(struct worker *w, struct backend_scope *s, struct command *c)
{
    int error = cpu_scope_error(s);
    if (c->kind == CMD_SIGNAL) {
        signal_complete(c->signal, error);
        return;
    }
    if (c->kind == CMD_HOST) {
        if (!error || c->host.always)
            c->host.fn(c->host.user);
        return;
    }
    if (error)
        return;
    switch (c->kind) {
    case CMD_LAUNCH:
        launch_run(s, c);
        break;
    case CMD_COPY:
        error = copy_run(w, c);
        break;
    case CMD_FILL:
        error = fill_run(w, c);
        break;
    case CMD_VALUE_WAIT:
    case CMD_VALUE_WRITE:
        error = run_value(w, c);
        break;
    default:
        break;
    }
    if (error)
        scope_fail(s, error);
}

// ---- running a queue
// ------------------------------------------------------------------------------------------------
static void
queue_destroy(struct backend_queue *q)
{
    struct backend_scope *s = q->scope;
    pthread_mutex_destroy(&q->lock);
    free(q);
    pthread_mutex_lock(&s->lock);
    if (--s->queues == 0)
        pthread_cond_broadcast(&s->no_queues);
    pthread_mutex_unlock(&s->lock);
}

// The signal that the queue waits for is done.
static void
resume(void *queue)
{
    struct backend_queue *q = queue;
    pthread_mutex_lock(&q->lock);
    q->state = READY;
    pthread_mutex_unlock(&q->lock);
    make_ready(q);
}

// A program that launches and waits in turn comes back soon: look for its next command a little
// longer than that takes.
static void
linger(struct backend_queue *q)
{
    enum { SPINS = 500 };
    for (int i = 0; i < SPINS && !atomic_load_explicit(&q->pending, memory_order_relaxed); i++)
        __builtin_ia32_pause();
}

static struct command *
first_command(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    struct command *c = q->head;
    if (!c) {
        bool freed = q->freed;
        q->state = IDLE;
        pthread_mutex_unlock(&q->lock);
        if (freed)
            queue_destroy(q);
        return NULL;
    }
    if (c->kind == CMD_WAIT && !signal_done(c->signal)) {
        struct signal *s =
            c->signal; // the command stays first and keeps its reference until the signal is done
        q->state = PARKED;
        pthread_mutex_unlock(&q->lock);
        signal_then(s, resume, q); // from here on another executor may have the queue
        return NULL;
    }
    pthread_mutex_unlock(&q->lock);
    return c;
}

// Puts `list`, which may be NULL, in the place of the first command.
static void
replace_first(struct backend_queue *q, struct command *list)
{
    struct command *last = list;
    while (last && last->next)
        last = last->next;
    pthread_mutex_lock(&q->lock);
    if (last)
        last->next = q->head->next;
    if (last && !last->next)
        q->tail = last;
    q->head = list ? list : q->head->next;
    if (!q->head) {
        q->tail = NULL;
        atomic_store_explicit(&q->pending, false, memory_order_relaxed);
    }
    pthread_mutex_unlock(&q->lock);
}

static void
remove_first(struct backend_queue *q)
{
    replace_first(q, NULL);
}

static void
run_queue(struct worker *w, struct backend_queue *q)
{
    struct command *c;
    bool multi = workers_configured() > 1;
    while ((c = first_command(q))) {
        bool early =
            c->kind == CMD_SIGNAL; // whoever sees the signal done must find it gone from the queue
        if (early)
            remove_first(q);
        if (c->kind == CMD_EXPAND)
            replace_first(q, cpu_scope_error(q->scope) ? NULL : c->expand.fn(c->expand.user));
        else
            run_command(w, q->scope, c);
        if (!early && c->kind != CMD_EXPAND)
            remove_first(q);
        command_free(c);
        if (multi)
            linger(q);
    }
}

// A queue to run, or NULL when there was none for some seconds or the process ends.
static struct backend_queue *
next_queue(void)
{
    enum { IDLE_SECONDS = 5 };
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += IDLE_SECONDS;
    executors.idle++;
    int late = 0;
    while (!executors.head && !executors.stop && !late)
        late = pthread_cond_timedwait(&executors.wake, &executors.lock, &end);
    executors.idle--;
    struct backend_queue *q = executors.stop ? NULL : executors.head;
    if (q) {
        executors.head = q->ready_next;
        if (!executors.head)
            executors.tail = NULL;
        executors.ready--;
    }
    return q;
}

static void *
executor_thread(void *unused)
{
    (void)unused;
    struct worker *w = worker_self();
    struct backend_queue *q;
    pthread_mutex_lock(&executors.lock);
    while (w && (q = next_queue())) {
        pthread_mutex_unlock(&executors.lock);
        pthread_mutex_lock(&q->lock);
        q->state = RUNNING;
        pthread_mutex_unlock(&q->lock);
        run_queue(w, q);
        pthread_mutex_lock(&executors.lock);
    }
    pthread_mutex_unlock(&executors.lock);
    worker_end();
    pthread_mutex_lock(&executors.lock);
    executors.threads--;
    pthread_cond_broadcast(&executors.ended);
    pthread_mutex_unlock(&executors.lock);
    return NULL;
}

// ---- slots of the backend
// --------------------------------------------------------------------------------------------
struct backend_queue *
cpu_queue_new(struct backend_scope *s, int priority)
{
    (void)priority; // the system's scheduler shares the cores evenly
    struct backend_queue *q = calloc(1, sizeof *q);
    if (!q)
        return NULL;
    q->scope = s;
    pthread_mutex_init(&q->lock, NULL);
    pthread_mutex_lock(&s->lock);
    s->queues++;
    pthread_mutex_unlock(&s->lock);
    return q;
}

void
cpu_queue_free(struct backend_queue *q)
{
    if (!q)
        return;
    pthread_mutex_lock(&q->lock);
    q->freed = true;
    bool idle = q->state == IDLE;
    pthread_mutex_unlock(&q->lock);
    if (idle)
        queue_destroy(q);
}

void
cpu_submit(struct backend_queue *q, struct command *c)
{
    c->next = NULL;
    pthread_mutex_lock(&q->lock);
    if (q->tail)
        q->tail->next = c;
    else
        q->head = c;
    q->tail = c;
    atomic_store_explicit(&q->pending, true, memory_order_relaxed);
    bool start = q->state == IDLE;
    if (start)
        q->state = READY;
    pthread_mutex_unlock(&q->lock);
    if (start)
        make_ready(q);
}

bool
cpu_queue_idle(struct backend_queue *q)
{
    pthread_mutex_lock(&q->lock);
    bool idle = !q->head;
    pthread_mutex_unlock(&q->lock);
    return idle;
}

void
queues_shutdown(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 2; // a host function that never returns must not keep the process
    pthread_mutex_lock(&executors.lock);
    executors.stop = true;
    pthread_cond_broadcast(&executors.wake);
    while (executors.threads && !pthread_cond_timedwait(&executors.ended, &executors.lock, &end))
        ;
    pthread_mutex_unlock(&executors.lock);
}
