// SPDX-License-Identifier: MIT
// Matrix instructions as generated code calls them: lanes that meet, or a whole warp at once.
#include "backend/cpu/cpu.h"
#include "backend/cpu/matrix.h"
#include "base/log.h"

#include <stdlib.h>

// What a lane has brought to the meeting.
struct visit {
    uint64_t form;
    const uint32_t *in;
    uint32_t *out;
    uint32_t nin, nout;
};

// The worker's memory for matrices: registers of a warp in thread mode, then the room of the sums.
struct matrix_memory {
    lanes_t in[MATRIX_REGISTERS], out[MATRIX_REGISTERS];
    struct matrix_room *room;
};

static struct matrix_memory *
memory_of(struct thread *t)
{
    struct worker *w = thread_cta(t)->worker;
    struct matrix_memory *m = w->matrix;
    if (m)
        return m;
    m = w->matrix = calloc(1, sizeof *m);
    if (m)
        m->room = matrix_room_new();
    if (!m || !m->room) {
        log_error("%s: no memory for a matrix instruction", thread_launch(t)->name);
        thread_stop(t, BE_OUT_OF_MEMORY);
    }
    return m;
}

void
matrix_end(struct worker *w)
{
    if (w->matrix)
        free(w->matrix->room);
    free(w->matrix);
    w->matrix = NULL;
}

static void
run(struct thread *t, uint64_t form, const lanes_t *in, lanes_t *out, uint32_t active)
{
    const struct matrix_warp w = {memory_of(t)->room, t->block->shared, t->index / RT_WARP, active};
    struct worker *worker = thread_cta(t)->worker;
    worker->user_access = true;
    bool ok = matrix_run(&w, form, in, out);
    worker->user_access = false;
    if (!ok)
        rt_stop(t, RT_TRAP);
}

void
rt_matrix_warp(struct thread *first, uint64_t form, const uint32_t *in, uint32_t *out,
               uint32_t active)
{
    run(first, form, (const lanes_t *)in, (lanes_t *)out, active);
}

static struct thread *
lane_of(struct warp *w, uint32_t i)
{
    return &((struct cta *)w->block)->thread[w->index * RT_WARP + i];
}

void
matrix_meet(struct warp *w, uint32_t set)
{
    struct thread *first = lane_of(w, (uint32_t)__builtin_ctz(set));
    struct matrix_memory *m = memory_of(first);
    const struct visit *v = (const struct visit *)(uintptr_t)first->value;
    uint32_t nin = v->nin < MATRIX_REGISTERS ? v->nin : MATRIX_REGISTERS;
    uint32_t nout = v->nout < MATRIX_REGISTERS ? v->nout : MATRIX_REGISTERS;
    for (uint32_t i = 0; i < RT_WARP; i++) {
        const struct visit *x =
            set >> i & 1 ? (const struct visit *)(uintptr_t)lane_of(w, i)->value : NULL;
        bool same = x && x->form == v->form;
        for (uint32_t k = 0; k < nin; k++)
            m->in[k][i] = same ? x->in[k] : 0;
    }
    run(first, v->form, m->in, m->out, set);
    for (uint32_t i = 0; i < RT_WARP; i++) {
        const struct visit *x =
            set >> i & 1 ? (const struct visit *)(uintptr_t)lane_of(w, i)->value : NULL;
        for (uint32_t k = 0; x && x->form == v->form && k < nout; k++)
            x->out[k] = m->out[k][i];
    }
}

void
rt_matrix(struct thread *t, uint64_t form, const uint32_t *in, uint32_t nin, uint32_t *out,
          uint32_t nout)
{
    struct visit v = {form, in, out, nin, nout};
    rt_warp(t, RT_MATRIX, (uint64_t)(uintptr_t)&v, 0, 0, UINT32_MAX);
}
