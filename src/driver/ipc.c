// SPDX-License-Identifier: MIT
// Device memory shared between processes. A handle names an open file of the process that made it, which another
// process of the same user finds under /proc; nothing outlives the processes.
#include "driver/memory.h"
#include "api_impl.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAGIC = 0x70776d31 };

// Memory of another process, mapped here.
struct import {
    struct ipc_place place;
    struct context *ctx;
    char *map; // reserved addresses, whole pages
    size_t map_size;
    char *base; // of the allocation, in them
    unsigned uses;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct import *imports; // vec

// ---- export ---------------------------------------------------------------
CUresult
ipc_export(struct context *c, void *p, size_t size, struct ipc_place *out)
{
    struct stat st;
    size_t offset;
    int fd;
    const struct backend *be = c->dev->be;
    if (!be->share)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "the %s backend shares no memory", be->name);
    CUresult r = streams_wait(c); // the memory is moved to where other processes can see it
    if (r)
        return r;
    int e = be->share(c->scope, p, size, &fd, &offset);
    if (e || fstat(fd, &st))
        return fail(e ? (CUresult)e : CUDA_ERROR_OPERATING_SYSTEM, "%zu bytes at %p cannot be shared", size, p);
    *out = (struct ipc_place){
        .magic = MAGIC, .pid = getpid(), .fd = fd, .inode = st.st_ino, .offset = offset, .size = size};
    return CUDA_SUCCESS;
}

CUresult
pw_cuIpcGetMemHandle(CUipcMemHandle *handle, CUdeviceptr ptr)
{
    struct context *c;
    struct mem m;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!handle)
        return fail(CUDA_ERROR_INVALID_VALUE, "the handle is NULL");
    if (!mem_find((void *)(uintptr_t)ptr, &m) || m.kind != MK_DEVICE)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is not of cuMemAlloc", (unsigned long long)ptr);
    return ipc_export(m.ctx, (void *)m.addr, m.size, (struct ipc_place *)handle);
}

// ---- import ---------------------------------------------------------------
int
ipc_open_file(int pid, int fd, uint64_t inode)
{
    char path[64];
    struct stat st;
    snprintf(path, sizeof path, "/proc/%d/fd/%d", pid, fd);
    int own = open(path, O_RDWR | O_CLOEXEC);
    if (own >= 0 && (fstat(own, &st) || st.st_ino != inode)) {
        close(own);
        own = -1;
    }
    return own;
}

static CUresult
map_file(struct context *c, int fd, struct import *im)
{
    const struct backend *be = c->dev->be;
    struct backend_device *d = c->dev->bd;
    struct backend_chunk *chunk;
    size_t page = be->page, from = im->place.offset & ~(page - 1);
    int e = be->chunk_import(d, fd, &chunk);
    if (e)
        return fail(CUDA_ERROR_INVALID_VALUE, "the handle names no memory");
    size_t size = be->chunk_size(chunk);
    if (im->place.offset > size || im->place.size > size - im->place.offset) {
        be->chunk_free(chunk);
        return fail(CUDA_ERROR_INVALID_VALUE, "the handle names %zu bytes that are not there", (size_t)im->place.size);
    }
    void *at = NULL;
    im->map_size = (im->place.offset + im->place.size - from + page - 1) & ~(page - 1);
    e = be->reserve(d, im->map_size, be->grain, 0, &at);
    if (!e) {
        im->map = at;
        im->base = im->map + (im->place.offset - from);
        e = be->map(chunk, from, at, im->map_size);
        e = e ? e : be->protect(d, at, im->map_size, true, true);
        if (e)
            be->unreserve(d, at, im->map_size);
    }
    be->chunk_free(chunk);
    return e ? fail((CUresult)e, "%zu bytes of another process", im->map_size) : CUDA_SUCCESS;
}

static bool
same(const struct import *im, const struct context *c, const struct ipc_place *p)
{
    return im->ctx == c && im->place.inode == p->inode && im->place.offset == p->offset && im->place.size == p->size &&
           im->place.pid == p->pid;
}

// Holds the lock.
static CUresult
import(struct context *c, const struct ipc_place *place, struct pool *pool, void **out)
{
    for (size_t i = 0; i < vec_len(imports); i++)
        if (same(&imports[i], c, place)) {
            imports[i].uses++;
            *out = imports[i].base;
            return CUDA_SUCCESS;
        }
    struct import im = {.place = *place, .ctx = c, .uses = 1};
    int fd = ipc_open_file(place->pid, place->fd, place->inode);
    if (fd < 0)
        return fail(CUDA_ERROR_INVALID_HANDLE, "no memory of process %d: %s", place->pid, strerror(errno));
    CUresult r = map_file(c, fd, &im);
    close(fd);
    if (r)
        return r;
    vec_push(imports, im);
    mem_add(&(struct mem){
        .addr = (uintptr_t)im.base, .size = place->size, .kind = MK_IPC, .ctx = c, .dev = c->dev, .pool = pool});
    *out = im.base;
    return CUDA_SUCCESS;
}

CUresult
ipc_import(struct context *c, const struct ipc_place *place, struct pool *pool, void **out)
{
    if (place->magic != MAGIC)
        return fail(CUDA_ERROR_INVALID_VALUE, "no handle of shared memory");
    if (!c->dev->be->chunk_import)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "the %s backend shares no memory", c->dev->be->name);
    pthread_mutex_lock(&lock);
    CUresult r = import(c, place, pool, out);
    pthread_mutex_unlock(&lock);
    return r;
}

CUresult
pw_cuIpcOpenMemHandle_v2(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    struct context *c;
    struct ipc_place place;
    void *p;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    if (!out || flags & ~(unsigned)CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS)
        return fail(CUDA_ERROR_INVALID_VALUE, "output %p, flags 0x%x", (void *)out, flags);
    memcpy(&place, &handle, sizeof place);
    if (place.magic == MAGIC && place.pid == getpid())
        return fail(CUDA_ERROR_INVALID_CONTEXT, "the memory is of this process");
    r = ipc_import(c, &place, NULL, &p);
    if (!r)
        *out = (CUdeviceptr)(uintptr_t)p;
    return r;
}

CUresult
pw_cuIpcOpenMemHandle(CUdeviceptr *out, CUipcMemHandle handle, unsigned flags)
{
    return pw_cuIpcOpenMemHandle_v2(out, handle, flags);
}

// ---- end ------------------------------------------------------------------
// Holds the lock.
static void
end(size_t i)
{
    struct mem m;
    struct import im = imports[i];
    mem_remove(im.base, &m);
    im.ctx->dev->be->unreserve(im.ctx->dev->bd, im.map, im.map_size);
    vec_swap_remove(imports, i);
}

CUresult
ipc_close(void *p)
{
    CUresult r = CUDA_ERROR_INVALID_VALUE;
    pthread_mutex_lock(&lock);
    for (size_t i = 0; i < vec_len(imports); i++)
        if (imports[i].base == p) {
            if (--imports[i].uses == 0)
                end(i);
            r = CUDA_SUCCESS;
            break;
        }
    pthread_mutex_unlock(&lock);
    return r ? fail(r, "%p is no memory of another process", p) : r;
}

void
ipc_forget_context(const struct context *c)
{
    pthread_mutex_lock(&lock);
    for (size_t i = vec_len(imports); i-- > 0;)
        if (imports[i].ctx == c)
            end(i);
    pthread_mutex_unlock(&lock);
}

CUresult
pw_cuIpcCloseMemHandle(CUdeviceptr ptr)
{
    struct context *c;
    struct mem m;
    CUresult r = ctx_need(&c);
    if (r)
        return r;
    void *p = (void *)(uintptr_t)ptr;
    if (!mem_find(p, &m) || m.kind != MK_IPC || m.pool || m.addr != ptr)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is no memory of another process", p);
    r = streams_wait(m.ctx); // kernels and copies in flight may use it
    CUresult closed = ipc_close(p);
    return r ? r : closed;
}
