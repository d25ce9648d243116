// SPDX-License-Identifier: MIT
// Workers: what an OS thread needs to run blocks. And the futex, on which everything here sleeps
// that has no lock.
#include "backend/cpu/cpu.h"
#include "base/log.h"
#include "base/options.h"

#include <linux/futex.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static _Thread_local struct worker *self;
static atomic_uint next_smid;

static int
usable_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return CPU_COUNT(&set);
    long n = sysconf(_SC_NPROCESSORS_ONLN); // more cores than a cpu_set_t holds
    return n > 0 ? (int)n : 1;
}

int
workers_configured(void)
{
    static atomic_int known;
    int n = atomic_load(&known);
    if (n)
        return n;
    int64_t asked = opt_int(OPT_THREADS);
    n = asked > 0 ? (int)(asked > 4096 ? 4096 : asked) : usable_cores();
    atomic_store(&known, n);
    return n;
}

struct worker *
worker_self(void)
{
    if (self)
        return self;
    struct worker *w = calloc(1, sizeof *w);
    if (!w || !fault_thread_init(w)) {
        log_error("no memory for a worker thread");
        free(w);
        return NULL;
    }
    w->smid = atomic_fetch_add(&next_smid, 1) % (unsigned)workers_configured();
    return self = w;
}

void
worker_end(void)
{
    struct worker *w = self;
    if (!w)
        return;
    self = NULL;
    block_pool_free(w);
    stack_pool_free(&w->stacks);
    fault_thread_end(w);
    free(w->scratch);
    matrix_end(w);
    free(w);
}

void
futex_wait(atomic_uint *word, unsigned value, long timeout_ns)
{
    struct timespec t = {timeout_ns / 1000000000, timeout_ns % 1000000000};
    syscall(SYS_futex, word, FUTEX_WAIT_PRIVATE, value, timeout_ns < 0 ? NULL : &t, NULL, 0);
}

void
futex_wake(atomic_uint *word, int n)
{
    syscall(SYS_futex, word, FUTEX_WAKE_PRIVATE, n, NULL, NULL, 0);
}

static uint64_t
read_clock(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t
rt_clock(void)
{
    return read_clock(CLOCK_MONOTONIC);
}

uint64_t
rt_globaltimer(void)
{
    return read_clock(CLOCK_REALTIME);
}
