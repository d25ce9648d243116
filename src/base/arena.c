// SPDX-License-Identifier: MIT
#include "base/arena.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_SIZE = 64 << 10, ALIGN = 16 };

struct arena_block {
    struct arena_block *next;
    _Alignas(ALIGN) char data[];
};

static void
new_block(struct arena *a, size_t size)
{
    size_t room = size > BLOCK_SIZE ? size : BLOCK_SIZE;
    struct arena_block *b = malloc(sizeof *b + room);
    if (!b)
        abort();
    b->next = a->head;
    a->head = b;
    a->at = b->data;
    a->end = b->data + room;
}

void *
arena_alloc(struct arena *a, size_t size)
{
    if (size > SIZE_MAX / 2)
        abort();
    size = (size + ALIGN - 1) & ~(size_t)(ALIGN - 1);
    if (!a->head || (size_t)(a->end - a->at) < size)
        new_block(a, size);
    void *p = a->at;
    a->at += size;
    return p;
}

void *
arena_zalloc(struct arena *a, size_t size)
{
    return memset(arena_alloc(a, size), 0, size);
}

char *
arena_strndup(struct arena *a, const char *s, size_t n)
{
    char *p = arena_alloc(a, n + 1);
    memcpy(p, s, n);
    p[n] = 0;
    return p;
}

char *
arena_vprintf(struct arena *a, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    int n = vsnprintf(NULL, 0, fmt, ap);
    char *p = arena_alloc(a, (size_t)n + 1);
    vsnprintf(p, (size_t)n + 1, fmt, again);
    va_end(again);
    return p;
}

char *
arena_printf(struct arena *a, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    char *p = arena_vprintf(a, fmt, ap);
    va_end(ap);
    return p;
}

void
arena_free(struct arena *a)
{
    while (a->head) {
        struct arena_block *next = a->head->next;
        free(a->head);
        a->head = next;
    }
    a->at = a->end = NULL;
}
