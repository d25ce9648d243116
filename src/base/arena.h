// SPDX-License-Identifier: MIT
// Arena: many small allocations with one lifetime. Nothing is freed singly.
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include <stddef.h>
#include <stdarg.h>

struct arena_block;

// A zeroed struct arena is a valid, empty arena. Not thread-safe.
struct arena {
    struct arena_block *head;
    char *at, *end;
};

// Memory of `size` bytes aligned to 16; never NULL (out of memory ends the process, as malloc in
// small sizes does not fail on the systems served). arena_zalloc zeroes it.
void *arena_alloc(struct arena *a, size_t size);
void *arena_zalloc(struct arena *a, size_t size);
char *arena_strndup(struct arena *a, const char *s, size_t n);
char *arena_printf(struct arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
char *arena_vprintf(struct arena *a, const char *fmt, va_list ap);
// Frees all; the arena is empty and usable afterwards.
void arena_free(struct arena *a);

#define arena_new(a, type) ((type *)arena_zalloc((a), sizeof(type)))
#define arena_array(a, type, n) ((type *)arena_zalloc((a), sizeof(type) * (size_t)(n)))

#endif
