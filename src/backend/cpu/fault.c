// SPDX-License-Identifier: MIT
// Hardware faults. A fault in generated code, or in runtime code that touches memory which the
// program named, abandons the block: the handler continues the worker's stack. Any other fault goes
// to the handler that the program had installed.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>

enum { SIGNAL_STACK = 128 << 10 };

static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL};
enum { SIGNALS = sizeof signals / sizeof *signals };

static struct sigaction former[SIGNALS];
static pthread_mutex_t install_lock = PTHREAD_MUTEX_INITIALIZER;

// initial-exec: read in a signal handler, where a lazily allocated block would be a malloc.
static _Thread_local struct worker *self __attribute__((tls_model("initial-exec")));
static _Thread_local bool chaining __attribute__((tls_model("initial-exec")));

extern const char __ehdr_start[] __attribute__((visibility("hidden")));
extern const char etext[] __attribute__((visibility("hidden")));

static bool
in_own_text(uint64_t pc)
{
    return pc >= (uint64_t)__ehdr_start && pc < (uint64_t)etext;
}

// ---- continuing the worker's stack
// ---------------------------------------------------------------------------
static void
block_landing(struct worker *w)
{
    fiber_leave(&w->main, SWITCH_FAULT);
}

static void
guard_landing(struct worker *w)
{
    frame_leave(w->guard, 1);
}

static struct fiber *
fiber_at(struct cta *c, uint64_t sp)
{
    for (uint32_t i = 0; i < c->started; i++) {
        struct fiber *f = c->thread[i].fiber;
        if (f && (char *)sp >= f->lo - 4096 && (char *)sp < f->hi)
            return f;
    }
    return NULL;
}

// Makes the interrupted context call fn(w) on a stack whose contents are dropped.
static void
redirect(ucontext_t *u, void (*fn)(struct worker *), struct worker *w, char *top)
{
    greg_t *r = u->uc_mcontext.gregs;
    r[REG_RSP] = (greg_t)(((uint64_t)top & ~(uint64_t)15) - 8);
    r[REG_RIP] = (greg_t)fn;
    r[REG_RDI] = (greg_t)w;
    r[REG_EFL] &= ~(greg_t)(1 << 10 | 1 << 18); // direction and alignment-check flags
}

static void
record(struct worker *w, const siginfo_t *info, const ucontext_t *u, int signo)
{
    const greg_t *r = u->uc_mcontext.gregs;
    enum { PAGE_FAULT = 14, WRITE = 2 };
    w->fault = (struct fault){
        .signo = signo,
        .code = info->si_code,
        .trap = (uint64_t)r[REG_TRAPNO],
        .address_known = r[REG_TRAPNO] == PAGE_FAULT,
        .write = r[REG_TRAPNO] == PAGE_FAULT && r[REG_ERR] & WRITE,
        .addr = (uint64_t)info->si_addr,
        .pc = (uint64_t)r[REG_RIP],
        .sp = (uint64_t)r[REG_RSP],
    };
}

static bool
take(int signo, const siginfo_t *info, ucontext_t *u)
{
    struct worker *w = self;
    uint64_t pc = (uint64_t)u->uc_mcontext.gregs[REG_RIP],
             sp = (uint64_t)u->uc_mcontext.gregs[REG_RSP];
    if (!w || info->si_code <= 0) // sent by a process, not raised by an instruction
        return false;
    if (w->cta && (w->user_access || !in_own_text(pc))) {
        struct fiber *f = fiber_at(w->cta, sp);
        if (!f)
            return false;
        record(w, info, u, signo);
        w->user_access = false;
        redirect(u, block_landing, w, f->hi);
        return true;
    }
    if (!w->cta && w->guard) {
        redirect(u, guard_landing, w, (char *)sp - 256);
        return true;
    }
    return false;
}

static void
chain(int signo, siginfo_t *info, void *context)
{
    const struct sigaction *old = NULL;
    for (int i = 0; i < SIGNALS; i++)
        if (signals[i] == signo)
            old = &former[i];
    bool plain = !(old->sa_flags & SA_SIGINFO);
    if (chaining || (plain && (old->sa_handler == SIG_DFL || old->sa_handler == SIG_IGN))) {
        // The instruction runs again and ends the process as if we were not here.
        signal(signo, SIG_DFL);
        if (info->si_code <= 0)
            raise(signo);
        return;
    }
    chaining = true; // their handler may hand on to ours, which it found when it was installed
    if (plain)
        old->sa_handler(signo);
    else
        old->sa_sigaction(signo, info, context);
    chaining = false;
}

static void
handler(int signo, siginfo_t *info, void *context)
{
    if (signo == SIGSEGV && info->si_code > 0 && share_fault((uint64_t)info->si_addr))
        return;
    if (!take(signo, info, context))
        chain(signo, info, context);
}

// ---- installation
// ------------------------------------------------------------------------------------------------
static void
install(int i)
{
    struct sigaction now, ours = {.sa_sigaction = handler, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    sigaction(signals[i], NULL, &now);
    if (now.sa_flags & SA_SIGINFO && now.sa_sigaction == handler)
        return;
    former[i] = now;
    sigemptyset(&ours.sa_mask);
    sigaction(signals[i], &ours, NULL);
}

void
fault_install(void)
{
    pthread_mutex_lock(&install_lock);
    for (int i = 0; i < SIGNALS; i++)
        install(i);
    pthread_mutex_unlock(&install_lock);
}

void
fault_ensure(void)
{
    struct sigaction now;
    sigaction(SIGSEGV, NULL, &now);
    if (!(now.sa_flags & SA_SIGINFO) || now.sa_sigaction != handler)
        fault_install();
}

bool
fault_thread_init(struct worker *w)
{
    stack_t s = {.ss_size = SIGNAL_STACK};
    s.ss_sp = mmap(NULL, SIGNAL_STACK, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (s.ss_sp == MAP_FAILED)
        return false;
    w->signal_stack = s.ss_sp;
    sigaltstack(&s, NULL);
    // Signals of the program are handled by its own threads.
    sigset_t set;
    sigfillset(&set);
    for (int i = 0; i < SIGNALS; i++)
        sigdelset(&set, signals[i]);
    pthread_sigmask(SIG_SETMASK, &set, NULL);
    self = w;
    return true;
}

void
fault_thread_end(struct worker *w)
{
    self = NULL;
    stack_t off = {.ss_flags = SS_DISABLE};
    sigaltstack(&off, NULL);
    munmap(w->signal_stack, SIGNAL_STACK);
}

bool
fault_try(struct worker *w, void (*fn)(void *a, void *b), void *a, void *b)
{
    bool hit = frame_enter(&w->guard, fn, a, b) != 0;
    w->guard = NULL;
    return hit;
}
