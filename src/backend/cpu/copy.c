// SPDX-License-Identifier: MIT
// Copies and fills of memory, in parallel when large. Addresses come from the program: a fault ends
// the command with an error.
#include "backend/cpu/cpu.h"
#include "base/log.h"

#include <string.h>

enum { PIECE = 4 << 20 }; // bytes worth a thread of their own

// A command cut into n pieces: rows, or ranges of bytes of a copy that is one row.
struct job {
    const struct command *c;
    size_t rows, per_piece; // rows in all; rows (or bytes, if rows == 1) a piece
    atomic_int failed;
    void (*piece)(void *job, void *index);
};

// The pointers are the program's; a bad one, NULL too, is for the fault handler.
__attribute__((no_sanitize("undefined"))) static void
copy_piece(void *job, void *index)
{
    const struct job *j = job;
    const struct command *c = j->c;
    size_t first = *(const unsigned *)index * j->per_piece;
    if (j->rows == 1) {
        size_t left = c->copy.width - first;
        memmove(c->copy.dst + first, c->copy.src + first,
                left < j->per_piece ? left : j->per_piece);
        return;
    }
    for (size_t i = first; i < j->rows && i < first + j->per_piece; i++) {
        size_t z = i / c->copy.height, y = i % c->copy.height;
        memmove(c->copy.dst + z * c->copy.dst_slice + y * c->copy.dst_pitch,
                c->copy.src + z * c->copy.src_slice + y * c->copy.src_pitch, c->copy.width);
    }
}

static void
fill_row(char *p, const struct command *c, size_t n)
{
    switch (c->fill.element) {
    case 1:
        memset(p, (int)c->fill.pattern, n);
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            ((uint16_t *)p)[i] = (uint16_t)c->fill.pattern;
        break;
    default:
        for (size_t i = 0; i < n; i++)
            ((uint32_t *)p)[i] = c->fill.pattern;
    }
}

static void
fill_piece(void *job, void *index)
{
    const struct job *j = job;
    const struct command *c = j->c;
    size_t first = *(const unsigned *)index * j->per_piece;
    if (j->rows == 1) {
        size_t begin = first / c->fill.element, n = j->per_piece / c->fill.element;
        size_t left = c->fill.width - begin;
        fill_row(c->fill.dst + begin * c->fill.element, c, left < n ? left : n);
        return;
    }
    for (size_t i = first; i < j->rows && i < first + j->per_piece; i++)
        fill_row(c->fill.dst + i * c->fill.pitch, c, c->fill.width);
}

static void
run_piece(void *job, unsigned i)
{
    struct job *j = job;
    struct worker *w = worker_self();
    if (!w || fault_try(w, j->piece, j, &i))
        atomic_store(&j->failed, w ? BE_ILLEGAL_ADDRESS : BE_OUT_OF_MEMORY);
}

static int
run(struct job *j, size_t row_bytes, bool parallel)
{
    unsigned n = 1;
    size_t total = row_bytes * j->rows;
    if (!total)
        return BE_OK;
    if (j->rows == 1) {
        j->per_piece = parallel ? PIECE : row_bytes;
        n = (unsigned)((row_bytes + j->per_piece - 1) / j->per_piece);
    } else {
        j->per_piece = parallel && row_bytes < PIECE ? PIECE / row_bytes : parallel ? 1 : j->rows;
        n = (unsigned)((j->rows + j->per_piece - 1) / j->per_piece);
    }
    if (n == 1)
        run_piece(j, 0);
    else
        pool_for(n, run_piece, j);
    return atomic_load(&j->failed);
}

// Ranges that overlap must go in memmove's order, in one piece.
static bool
overlaps(const struct command *c)
{
    size_t dst = (c->copy.depth - 1) * c->copy.dst_slice +
                 (c->copy.height - 1) * c->copy.dst_pitch + c->copy.width;
    size_t src = (c->copy.depth - 1) * c->copy.src_slice +
                 (c->copy.height - 1) * c->copy.src_pitch + c->copy.width;
    return c->copy.dst < c->copy.src + src && c->copy.src < c->copy.dst + dst;
}

int
copy_run(struct worker *w, const struct command *c)
{
    (void)w;
    struct job j = {.c = c, .rows = c->copy.height * c->copy.depth, .piece = copy_piece};
    if (!j.rows || !c->copy.width)
        return BE_OK;
    int error = run(&j, c->copy.width, !overlaps(c));
    if (error)
        log_error("copy of %zu x %zu x %zu bytes from %p to %p: illegal address", c->copy.width,
                  c->copy.height, c->copy.depth, (const void *)c->copy.src, (void *)c->copy.dst);
    return error;
}

int
fill_run(struct worker *w, const struct command *c)
{
    (void)w;
    struct job j = {.c = c, .rows = c->fill.height, .piece = fill_piece};
    int error = run(&j, c->fill.width * c->fill.element, true);
    if (error)
        log_error("fill of %zu x %zu elements of %u bytes at %p: illegal address", c->fill.width,
                  c->fill.height, c->fill.element, (void *)c->fill.dst);
    return error;
}
