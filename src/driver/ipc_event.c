// SPDX-License-Identifier: MIT
// Events shared between processes (CU_EVENT_INTERPROCESS): a page that all of them map counts records and ends.
#include "driver/ipc_event.h"
#include "driver/memory.h"
#include "api_impl.h"

#include <errno.h>
#include <linux/futex.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { MAGIC = 0x70776531, PAGE = 4096 };

// In shared memory.
struct page {
    _Atomic uint64_t recorded; // number of the latest record
    _Atomic uint64_t done;     // number of the latest record whose work is done; what came before is done too
    _Atomic int32_t error;     // of that work
    _Atomic int32_t pid;       // of the process that recorded last
    _Atomic uint32_t changes;  // futex word: counts changes of `done`
};

struct ipc_event {
    struct page *page;
    atomic_uint refs; // the event, and records under way
    int fd;           // of the page; kept open for other processes
    uint64_t inode;
};

struct handle {
    uint32_t magic;
    int32_t pid, fd;
    uint32_t flags;
    uint64_t inode, reserved[5];
};
_Static_assert(sizeof(struct handle) == CU_IPC_HANDLE_SIZE, "");

// Takes the descriptor.
static struct ipc_event *
map(int fd)
{
    struct stat st;
    void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    struct ipc_event *e = page == MAP_FAILED || fstat(fd, &st) ? NULL : calloc(1, sizeof *e);
    if (!e) {
        close(fd);
        return NULL;
    }
    e->page = page;
    e->fd = fd;
    e->inode = st.st_ino;
    atomic_init(&e->refs, 1);
    return e;
}

struct ipc_event *
ipc_event_new(void)
{
    int fd = memfd_create("polywarp-event", MFD_CLOEXEC);
    if (fd >= 0 && ftruncate(fd, PAGE)) {
        close(fd);
        fd = -1;
    }
    return fd < 0 ? NULL : map(fd);
}

static void
unref(struct ipc_event *e)
{
    if (atomic_fetch_sub(&e->refs, 1) != 1)
        return;
    munmap(e->page, PAGE);
    close(e->fd);
    free(e);
}

void
ipc_event_free(struct ipc_event *e)
{
    if (e)
        unref(e);
}

// ---- records --------------------------------------------------------------
struct record {
    struct ipc_event *event;
    struct signal *signal;
    uint64_t number;
};

static void
finish(struct page *p, uint64_t number, int error)
{
    uint64_t done = atomic_load(&p->done);
    while (done < number && !atomic_compare_exchange_weak(&p->done, &done, number))
        ;
    atomic_store(&p->error, error);
    atomic_fetch_add(&p->changes, 1);
    syscall(SYS_futex, &p->changes, FUTEX_WAKE, INT32_MAX, NULL, NULL, 0);
}

static void
record_done(void *user)
{
    struct record *r = user;
    finish(r->event->page, r->number, signal_wait(r->signal, false));
    unref(r->event);
    signal_unref(r->signal);
    free(r);
}

void
ipc_event_record(struct ipc_event *e, struct signal *done)
{
    struct record *r = malloc(sizeof *r);
    if (!r)
        abort();
    atomic_fetch_add(&e->refs, 1);
    *r = (struct record){e, signal_ref(done), atomic_fetch_add(&e->page->recorded, 1) + 1};
    atomic_store(&e->page->pid, getpid());
    signal_then(done, record_done, r);
}

bool
ipc_event_done(struct ipc_event *e, int *error)
{
    bool done = atomic_load(&e->page->done) >= atomic_load(&e->page->recorded);
    *error = done ? atomic_load(&e->page->error) : 0;
    return done;
}

// A process that died leaves its work undone.
static bool
recorder_died(struct page *p)
{
    int pid = atomic_load(&p->pid);
    return pid && kill(pid, 0) && errno == ESRCH;
}

void
ipc_event_wait(struct ipc_event *e, int *error)
{
    struct page *p = e->page;
    struct timespec second = {1, 0};
    for (;;) {
        uint32_t seen = atomic_load(&p->changes);
        if (ipc_event_done(e, error))
            return;
        if (recorder_died(p)) {
            log_error("the process that recorded an event has died before the event was reached");
            finish(p, atomic_load(&p->recorded), CUDA_ERROR_LAUNCH_FAILED);
            continue;
        }
        syscall(SYS_futex, &p->changes, FUTEX_WAIT, seen, &second, NULL, 0);
    }
}

// The host waits in the place of the stream: the command owns a reference.
static void
wait_for(void *user)
{
    struct ipc_event *e = user;
    int error;
    ipc_event_wait(e, &error);
    unref(e);
}

struct command *
ipc_event_wait_command(struct ipc_event *e)
{
    int error;
    if (ipc_event_done(e, &error))
        return NULL;
    struct command *c = command_new(CMD_HOST, 0);
    atomic_fetch_add(&e->refs, 1);
    c->host.fn = wait_for;
    c->host.user = e;
    c->host.always = true;
    return c;
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuIpcGetEventHandle(CUipcEventHandle *out, CUevent event)
{
    struct event *e = object_get(event, OBJ_EVENT);
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "the handle is NULL");
    if (!e || !e->ipc)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no event of several processes", (void *)event);
    *(struct handle *)out = (struct handle){
        .magic = MAGIC, .pid = getpid(), .fd = e->ipc->fd, .flags = e->flags, .inode = e->ipc->inode};
    return CUDA_SUCCESS;
}

CUresult
pw_cuIpcOpenEventHandle(CUevent *out, CUipcEventHandle in)
{
    struct context *c;
    struct handle h;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    memcpy(&h, &in, sizeof h);
    if (!out || h.magic != MAGIC)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, or no handle of an event", (void *)out);
    int fd = ipc_open_file(h.pid, h.fd, h.inode);
    struct ipc_event *ipc = fd < 0 ? NULL : map(fd);
    if (!ipc)
        return fail(CUDA_ERROR_INVALID_HANDLE, "no event of process %d", h.pid);
    r = event_new(c, h.flags, ipc, out);
    if (r)
        ipc_event_free(ipc);
    return r;
}
