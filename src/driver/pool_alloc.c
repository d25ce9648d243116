// SPDX-License-Identifier: MIT
// The allocator inside a memory pool.
//
// A pool takes chunks from the backend and cuts them into blocks. A block freed in a stream is
// pending until the stream has got there; in that stream it may be used again at once, for what
// follows comes after the free. Neighbouring free blocks are joined.
#include "driver/memory.h"
#include "driver/graph.h"

#include <stdlib.h>
#include <string.h>

enum {
    BLOCK_ALIGN = 512,    // bytes; blocks' sizes and addresses
    CHUNK_ALIGN = 2 << 20 // bytes; chunks' sizes
};

enum block_state { BLOCK_FREE, BLOCK_PENDING, BLOCK_USED };

struct pool_block {
    struct pool_chunk *chunk;
    struct pool_block *prev, *next; // neighbours in the chunk, by address
    char *addr;
    size_t size;
    enum block_state state;
    struct signal *freed; // PENDING: completes when the stream has got to the free
    uint64_t stream;      // PENDING: id of that stream
};

struct pool_chunk {
    struct context *ctx; // in whose scope it was allocated
    char *base;
    size_t size;
    struct pool_block *first;
};

static bool
round_up(size_t *n, size_t to)
{
    return !__builtin_add_overflow(*n, to - 1, n) && (*n &= ~(to - 1));
}

static struct pool_block *
block_new(struct pool_chunk *c, char *addr, size_t size)
{
    struct pool_block *b = calloc(1, sizeof *b);
    if (!b)
        abort();
    b->chunk = c;
    b->addr = addr;
    b->size = size;
    return b;
}

static void
idle_remove(struct pool *p, const struct pool_block *b)
{
    for (size_t i = 0; i < vec_len(p->idle); i++) {
        if (p->idle[i] == b) {
            vec_swap_remove(p->idle, i);
            return;
        }
    }
}

// ---- joining and splitting ------------------------------------------------
// b swallows its successor.
static void
swallow_next(struct pool *p, struct pool_block *b)
{
    struct pool_block *n = b->next;
    idle_remove(p, n);
    b->size += n->size;
    b->next = n->next;
    if (n->next)
        n->next->prev = b;
    free(n);
}

static void
join(struct pool *p, struct pool_block *b)
{
    if (b->next && b->next->state == BLOCK_FREE)
        swallow_next(p, b);
    if (b->prev && b->prev->state == BLOCK_FREE)
        swallow_next(p, b->prev); // b is gone
}

// Pending blocks whose stream has got to the free become free.
static void
reap(struct pool *p)
{
    for (size_t i = 0; i < vec_len(p->idle);) {
        struct pool_block *b = p->idle[i];
        if (b->state != BLOCK_PENDING || !signal_done(b->freed)) {
            i++;
            continue;
        }
        signal_unref(b->freed);
        b->freed = NULL;
        b->state = BLOCK_FREE;
        join(p, b);
        i = 0; // joining moves entries
    }
}

// Cuts what `size` leaves over into a block of the same state.
static void
split(struct pool *p, struct pool_block *b, size_t size)
{
    if (b->size == size)
        return;
    struct pool_block *rest = block_new(b->chunk, b->addr + size, b->size - size);
    rest->state = b->state;
    rest->stream = b->stream;
    rest->freed = b->freed ? signal_ref(b->freed) : NULL;
    rest->prev = b;
    rest->next = b->next;
    if (b->next)
        b->next->prev = rest;
    b->next = rest;
    b->size = size;
    vec_push(p->idle, rest);
}

// ---- chunks ---------------------------------------------------------------
static bool
chunk_idle(const struct pool_chunk *c)
{
    return c->first->state == BLOCK_FREE && !c->first->next;
}

static void
chunk_free(struct pool *p, size_t i)
{
    struct pool_chunk *c = p->chunks[i];
    for (struct pool_block *b = c->first, *next; b; b = next) {
        next = b->next;
        if (b->state == BLOCK_USED)
            intmap_del(&p->used_blocks, (uintptr_t)b->addr);
        else
            idle_remove(p, b);
        signal_unref(b->freed);
        free(b);
    }
    p->dev->be->free(c->ctx->scope, MEM_DEVICE, c->base, c->size);
    p->reserved -= c->size;
    vec_swap_remove(p->chunks, i);
    free(c);
}

void
pool_trim(struct pool *p, uint64_t keep)
{
    reap(p);
    for (size_t i = vec_len(p->chunks); i-- > 0 && p->reserved > keep;)
        if (chunk_idle(p->chunks[i]))
            chunk_free(p, i);
}

void
pool_drop_context(struct pool *p, const struct context *c)
{
    for (size_t i = vec_len(p->chunks); i-- > 0;)
        if (p->chunks[i]->ctx == c)
            chunk_free(p, i);
}

static int
chunk_new(struct pool *p, struct context *ctx, size_t size, struct pool_block **out)
{
    void *base = NULL;
    if (!round_up(&size, CHUNK_ALIGN) ||
        (p->props.maxSize && (size > p->props.maxSize || p->reserved > p->props.maxSize - size)))
        return BE_OUT_OF_MEMORY;
    int r = p->dev->be->alloc(ctx->scope, MEM_DEVICE, size, &base);
    if (r)
        return r;
    struct pool_chunk *c = calloc(1, sizeof *c);
    if (!c)
        abort();
    *c = (struct pool_chunk){ctx, base, size, NULL};
    c->first = block_new(c, base, size);
    vec_push(p->chunks, c);
    vec_push(p->idle, c->first);
    p->reserved += size;
    if (p->reserved > p->reserved_high)
        p->reserved_high = p->reserved;
    *out = c->first;
    return BE_OK;
}

bool
pool_chunk_at(struct pool *p, const void *at, struct context **c, void **base, size_t *size)
{
    bool found = false;
    pthread_mutex_lock(&p->lock);
    for (size_t i = 0; !found && i < vec_len(p->chunks); i++) {
        const struct pool_chunk *k = p->chunks[i];
        found = (uintptr_t)at - (uintptr_t)k->base < k->size;
        *c = k->ctx;
        *base = k->base;
        *size = k->size;
    }
    pthread_mutex_unlock(&p->lock);
    return found;
}

// ---- taking and giving ----------------------------------------------------
// The smallest idle block that fits: one that stream `id` may use at once, or (any) one to be
// waited for.
static struct pool_block *
best_fit(const struct pool *p, size_t size, uint64_t id, bool any)
{
    struct pool_block *best = NULL;
    for (size_t i = 0; i < vec_len(p->idle); i++) {
        struct pool_block *b = p->idle[i];
        bool usable = b->state == BLOCK_FREE || b->stream == id || any;
        if (usable && b->size >= size && (!best || b->size < best->size))
            best = b;
    }
    return best;
}

static void
use(struct pool *p, struct pool_block *b, size_t size)
{
    split(p, b, size);
    idle_remove(p, b);
    signal_unref(b->freed);
    b->freed = NULL;
    b->state = BLOCK_USED;
    intmap_put(&p->used_blocks, (uintptr_t)b->addr, b);
    p->used += size;
    if (p->used > p->used_high)
        p->used_high = p->used;
}

// A block for the stream; *wait is what the stream has to wait for first, or NULL. Holds p->lock.
static struct pool_block *
find(struct pool *p, struct stream *s, size_t size, struct signal **wait)
{
    struct pool_block *b;
    reap(p);
    b = best_fit(p, size, s->obj.id, false);
    if (b || chunk_new(p, s->ctx, size, &b) == BE_OK)
        return b;
    pool_trim(p, 0);
    if (chunk_new(p, s->ctx, size, &b) == BE_OK)
        return b;
    b = p->reuse[CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES] ? best_fit(p, size, 0, true)
                                                                    : NULL;
    if (b && b->freed)
        *wait = signal_ref(b->freed);
    return b;
}

CUresult
pool_take(struct pool *p, struct stream *s, size_t size, void **out)
{
    size_t rounded = size;
    struct signal *wait = NULL;
    if (p->imported)
        return fail(CUDA_ERROR_INVALID_VALUE, "the pool is of another process");
    if (!round_up(&rounded, BLOCK_ALIGN))
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", size);
    pthread_mutex_lock(&p->lock);
    struct pool_block *b = find(p, s, rounded, &wait);
    if (b)
        use(p, b, rounded);
    pthread_mutex_unlock(&p->lock);
    if (!b)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes from a pool", size);
    if (wait) {
        struct command *c = command_new(CMD_WAIT, 0);
        c->signal = wait;
        stream_enqueue(s, c);
    }
    mem_add(&(struct mem){.addr = (uintptr_t)b->addr,
                          .size = size,
                          .kind = MK_POOL,
                          .ctx = b->chunk->ctx,
                          .dev = p->dev,
                          .pool = p});
    *out = b->addr;
    return CUDA_SUCCESS;
}

void
pool_give(struct pool *p, struct stream *s, void *base)
{
    struct signal *freed = NULL;
    if (s && !stream_idle(s)) {
        freed = signal_new();
        struct command *c = command_new(CMD_SIGNAL, 0);
        c->signal = signal_ref(freed);
        stream_enqueue(s, c);
    }
    pthread_mutex_lock(&p->lock);
    struct pool_block *b = intmap_del(&p->used_blocks, (uintptr_t)base);
    if (b) {
        p->used -= b->size;
        b->state = freed ? BLOCK_PENDING : BLOCK_FREE;
        b->freed = freed;
        b->stream = s ? s->obj.id : 0;
        vec_push(p->idle, b);
        if (!freed)
            join(p, b);
    }
    pthread_mutex_unlock(&p->lock);
    if (!b)
        signal_unref(freed);
}
