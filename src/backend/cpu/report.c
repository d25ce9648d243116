// SPDX-License-Identifier: MIT
// Says in the log why a block failed: which thread, at which PTX line, and what happened or what
// everyone waits for.
#include "backend/cpu/cpu.h"
#include "backend/cpu/load.h"
#include "base/log.h"

#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

// "kernel foo, PTX line 12, block (0,0,0), thread (1,0,0)"
static const char *
place(char *out, size_t size, const struct cta *c, const struct thread *t, uint64_t pc)
{
    unsigned line = code_line(c->launch->kernel->code, pc);
    int n = snprintf(out, size, "kernel %s", c->launch->name);
    if (line && n > 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, ", PTX line %u", line);
    if (n > 0 && (size_t)n < size)
        n += snprintf(out + n, size - (size_t)n, ", block (%u,%u,%u)", c->b.ctaid[0], c->b.ctaid[1],
                      c->b.ctaid[2]);
    if (t && n > 0 && (size_t)n < size)
        snprintf(out + n, size - (size_t)n, ", thread (%u,%u,%u)", t->tid[0], t->tid[1], t->tid[2]);
    return out;
}

static struct thread *
thread_at(struct cta *c, uint64_t sp)
{
    if (c->launch->simple && c->launch->kernel->facts.lanes)
        return &c->thread[c->running];
    for (uint32_t i = 0; i < c->started; i++) {
        const struct fiber *f = c->thread[i].fiber;
        if (f && (char *)sp >= f->lo - 4096 && (char *)sp < f->hi)
            return &c->thread[i];
    }
    return NULL;
}

static int
report_memory_fault(const struct cta *c, const struct thread *t, const struct fault *f,
                    const char *where)
{
    enum { GENERAL_PROTECTION = 13 };
    if (t && stack_guard_hit(t->fiber, (const void *)f->addr)) {
        log_error("%s: stack overflow (%zu bytes; raise CU_LIMIT_STACK_SIZE)", where,
                  (size_t)(t->fiber->hi - t->fiber->lo));
        return BE_ILLEGAL_ADDRESS;
    }
    uint64_t off = f->addr - (uint64_t)c->b.shared;
    if (f->address_known && off < (uint64_t)4 << 30)
        log_error("%s: illegal address: %s of shared memory at offset %" PRIu64
                  ", the block has %u bytes",
                  where, f->write ? "write" : "read", off, c->launch->g.total_shared);
    else if (f->address_known)
        log_error("%s: illegal address: %s at 0x%" PRIx64, where, f->write ? "write" : "read",
                  f->addr);
    else if (f->trap == GENERAL_PROTECTION)
        log_error("%s: illegal address: not canonical, or misaligned for a vector access", where);
    else
        log_error("%s: illegal address 0x%" PRIx64 " (signal %d, code %d)", where, f->addr,
                  f->signo, f->code);
    return f->signo == SIGBUS && f->code == BUS_ADRALN ? BE_MISALIGNED : BE_ILLEGAL_ADDRESS;
}

int
report_fault(struct cta *c, const struct fault *f)
{
    char where[512];
    const struct thread *t = thread_at(c, f->sp);
    place(where, sizeof where, c, t, f->pc);
    if (f->signo == SIGSEGV || f->signo == SIGBUS)
        return report_memory_fault(c, t, f, where);
    log_error("%s: %s at code address 0x%" PRIx64, where,
              f->signo == SIGFPE ? "integer division fault" : "illegal instruction", f->pc);
    return BE_ILLEGAL_INSTRUCTION;
}

void
report_stop(struct thread *t, const char *what, const void *pc)
{
    char where[512];
    // A return address may be the first of the next line.
    log_error("%s: %s", place(where, sizeof where, thread_cta(t), t, (uint64_t)pc - 1), what);
}

static unsigned
count_threads(const struct thread_list *l)
{
    unsigned n = 0;
    for (const struct thread *t = l->head; t; t = t->next)
        n++;
    return n;
}

static void
report_warp(const struct warp *w)
{
    for (uint32_t g = 0; g < w->ngroups; g++)
        log_error("  warp %u: lanes 0x%08x wait at %s for members 0x%08x (ended: 0x%08x)", w->index,
                  w->group[g].arrived, warp_op_name(w->group[g].class_ << 8), w->group[g].mask,
                  w->exited);
}

void
report_deadlock(struct cta *c)
{
    char where[512];
    log_error("%s: deadlock: none of %u threads can go on", place(where, sizeof where, c, NULL, 0),
              c->live);
    for (int i = 0; i < RT_BARRIERS; i++) {
        const struct barrier *b = &c->barrier[i];
        if (b->waiting.head)
            log_error("  barrier %d: %u threads wait, %u arrived of %u", i,
                      count_threads(&b->waiting), b->arrived, b->count ? b->count : c->live);
    }
    if (c->in_cluster.head)
        log_error("  the cluster's barrier: %u threads wait", count_threads(&c->in_cluster));
    for (uint32_t i = 0; i < c->launch->g.warps; i++)
        report_warp(&c->warp[i]);
}
