// SPDX-License-Identifier: MIT
// Operations of a warp. Lanes that name the same members and the same class of operation meet: the
// last one to arrive computes every lane's result and wakes the others. Lanes that have ended are
// not waited for. Meetings of disjoint members are independent. The forms without members wait
// until no lane of the warp can run; then the lanes waiting at one site are its active lanes.
#include "backend/cpu/cpu.h"

#include <math.h>
#include <string.h>

#define FOR_LANES(i, set)                                                                          \
    for (uint32_t left_ = (set), i; left_ && (i = (uint32_t)__builtin_ctz(left_), 1);              \
         left_ &= left_ - 1)

static inline struct thread *
lane(const struct warp *w, uint32_t i)
{
    return &((struct cta *)w->block)->thread[w->index * RT_WARP + i];
}

static uint64_t
packed(uint32_t value, bool pred)
{
    return value | (uint64_t)pred << 32;
}

// ---- results
// -------------------------------------------------------------------------------------------------
static uint64_t
shuffled(const struct warp *w, const struct thread *t, uint32_t set)
{
    uint32_t b = t->b & 31, clamp = t->c & 31, segment = t->c >> 8 & 31;
    uint32_t max = (t->lane & segment) | (clamp & ~segment), min = t->lane & segment;
    int j = 0;
    bool in = false;
    switch (t->op) {
    case RT_SHFL_UP:
        j = (int)t->lane - (int)b;
        in = j >= (int)max;
        break;
    case RT_SHFL_DOWN:
        j = (int)(t->lane + b);
        in = j <= (int)max;
        break;
    case RT_SHFL_BFLY:
        j = (int)(t->lane ^ b);
        in = j <= (int)max;
        break;
    case RT_SHFL_IDX:
        j = (int)(min | (b & ~segment));
        in = j <= (int)max;
        break;
    }
    if (!in || j < 0 || j >= RT_WARP)
        return packed((uint32_t)t->value, in);
    // A lane that takes no part gives 0.
    return packed(set >> j & 1 ? (uint32_t)lane(w, (uint32_t)j)->value : 0, true);
}

static void
vote(struct warp *w, uint32_t set)
{
    uint32_t ballot = 0;
    FOR_LANES(i, set)
    ballot |= (uint32_t)(lane(w, i)->value != 0) << i;
    uint32_t result[] = {
        [RT_VOTE_ALL & 0xff] = ballot == set,
        [RT_VOTE_ANY & 0xff] = ballot != 0,
        [RT_VOTE_UNI & 0xff] = ballot == 0 || ballot == set,
        [RT_VOTE_BALLOT & 0xff] = ballot,
    };
    FOR_LANES(i, set)
    lane(w, i)->result = result[lane(w, i)->op & 0xff];
}

static void
match(struct warp *w, uint32_t set)
{
    for (uint32_t todo = set; todo;) {
        uint64_t v = lane(w, (uint32_t)__builtin_ctz(todo))->value;
        uint32_t same = 0;
        FOR_LANES(i, todo)
        same |= (uint32_t)(lane(w, i)->value == v) << i;
        bool all = same == set;
        FOR_LANES(i, same)
        {
            struct thread *t = lane(w, i);
            t->result = t->op == RT_MATCH_ANY ? same : packed(all ? set : 0, all);
        }
        todo &= ~same;
    }
}

static float
as_float(uint32_t u)
{
    float f;
    memcpy(&f, &u, sizeof f);
    return f;
}

static uint32_t
reduce_float(uint32_t op, uint32_t a, uint32_t b)
{
    bool nan = op >= RT_REDUX_FMIN_NAN;
    bool max = (op - RT_REDUX_FMIN) & 1;
    float x = as_float(a), y = as_float(b);
    if (x != x || y != y)
        return nan ? 0x7fffffff : x != x ? (y != y ? 0x7fffffff : b) : a;
    bool less = x == y ? signbit(x) && !signbit(y) : x < y;
    return less != max ? a : b;
}

static uint32_t
reduce(uint32_t op, uint32_t a, uint32_t b)
{
    switch (op) {
    case RT_REDUX_ADD:
        return a + b;
    case RT_REDUX_AND:
        return a & b;
    case RT_REDUX_OR:
        return a | b;
    case RT_REDUX_XOR:
        return a ^ b;
    case RT_REDUX_MIN:
        return (int32_t)a < (int32_t)b ? a : b;
    case RT_REDUX_MAX:
        return (int32_t)a > (int32_t)b ? a : b;
    case RT_REDUX_UMIN:
        return a < b ? a : b;
    case RT_REDUX_UMAX:
        return a > b ? a : b;
    }
    return reduce_float(op, a, b);
}

static bool
redux_takes_abs(uint32_t op)
{
    return op == RT_REDUX_FMIN_ABS || op == RT_REDUX_FMAX_ABS || op == RT_REDUX_FMIN_ABS_NAN ||
           op == RT_REDUX_FMAX_ABS_NAN;
}

static void
redux(struct warp *w, uint32_t set)
{
    uint32_t first = (uint32_t)__builtin_ctz(set), op = lane(w, first)->op;
    uint32_t magnitude = redux_takes_abs(op) ? 0x7fffffff : ~0u;
    uint32_t r = (uint32_t)lane(w, first)->value & magnitude;
    if (op >= RT_REDUX_FMIN) // a single NaN must come out canonical too
        r = reduce(op, r, r);
    FOR_LANES(i, set & (set - 1))
    r = reduce(op, r, (uint32_t)lane(w, i)->value & magnitude);
    FOR_LANES(i, set)
    lane(w, i)->result = r;
}

// Computes the results of the lanes in `set`, which all wait for an operation of one class.
static void
compute(struct warp *w, uint32_t class_, uint32_t set)
{
    switch (class_) {
    case RT_SHFL_UP >> 8:
        FOR_LANES(i, set)
        lane(w, i)->result = shuffled(w, lane(w, i), set);
        break;
    case RT_VOTE_ALL >> 8:
        vote(w, set);
        break;
    case RT_MATCH_ANY >> 8:
        match(w, set);
        break;
    case RT_REDUX_ADD >> 8:
        redux(w, set);
        break;
    case RT_ELECT >> 8: {
        uint32_t leader = (uint32_t)__builtin_ctz(set);
        FOR_LANES(i, set)
        lane(w, i)->result = packed(leader, i == leader);
        break;
    }
    case RT_ACTIVEMASK >> 8:
        FOR_LANES(i, set)
        lane(w, i)->result = set;
        break;
    case RT_MATRIX >> 8:
        matrix_meet(w, set);
        break;
    }
}

// ---- meetings with members
// -------------------------------------------------------------------------------------
static void
post(struct thread *t, uint32_t op, uint64_t value, uint32_t b, uint32_t c)
{
    t->op = op;
    t->value = value;
    t->b = b;
    t->c = c;
}

static bool
all_there(const struct warp *w, uint32_t mask, uint32_t arrived)
{
    return !(mask & w->present & ~w->exited & ~arrived);
}

uint64_t
rt_warp(struct thread *t, uint32_t op, uint64_t value, uint32_t b, uint32_t c, uint32_t mask)
{
    struct warp *w = t->warp;
    uint32_t bit = 1u << t->lane, class_ = op >> 8, g = 0;
    post(t, op, value, b, c);
    if (!(mask & bit)) // undefined; it must not hold others up
        mask = bit;
    while (g < w->ngroups && (w->group[g].class_ != class_ || w->group[g].mask != mask))
        g++;
    uint32_t set = bit | (g < w->ngroups ? w->group[g].arrived : 0);
    if (all_there(w, mask, set)) {
        if (g < w->ngroups)
            w->group[g] = w->group[--w->ngroups];
        compute(w, class_, set);
        FOR_LANES(i, set & ~bit)
        thread_wake(lane(w, i));
        return t->result;
    }
    if (g == w->ngroups) {
        w->ngroups++;
        w->group[g].class_ = class_;
        w->group[g].mask = mask;
    }
    w->group[g].arrived = set;
    thread_suspend(t, WAIT_WARP);
    return t->result;
}

// The lanes `active` of a warp in warp mode: those that name the same members form a group.
void
rt_lanes(struct thread *first, uint32_t op, const uint64_t *value, const uint32_t *b,
         const uint32_t *c, const uint32_t *members, uint32_t active, uint64_t *result)
{
    struct warp *w = first->warp;
    FOR_LANES(i, active)
    {
        struct thread *t = lane(w, i);
        t->lane = i;
        post(t, op, value[i], b[i], c[i]);
    }
    for (uint32_t todo = active; todo;) {
        uint32_t leader = (uint32_t)__builtin_ctz(todo), set = 0;
        FOR_LANES(i, todo)
        set |= (uint32_t)(members[i] == members[leader]) << i;
        todo &= ~set;
        uint32_t in = set & members[leader];
        if (in)
            compute(w, op >> 8, in);
        FOR_LANES(i, set)
        result[i] = lane(w, i)->result;
    }
}

void
warp_lane_ended(struct warp *w)
{
    for (uint32_t g = 0; g < w->ngroups;) {
        uint32_t set = w->group[g].arrived, class_ = w->group[g].class_;
        if (!all_there(w, w->group[g].mask, set)) {
            g++;
            continue;
        }
        w->group[g] = w->group[--w->ngroups];
        compute(w, class_, set);
        FOR_LANES(i, set)
        thread_wake(lane(w, i));
    }
}

// ---- active lanes
// -------------------------------------------------------------------------------------------------
uint64_t
rt_warp_active(struct thread *t, uint32_t op, uint64_t value, uint32_t b, uint32_t c, uint32_t site)
{
    post(t, op, value, b, c);
    t->site = site;
    t->warp->active |= 1u << t->lane;
    thread_suspend(t, WAIT_ACTIVE);
    return t->result;
}

void
warp_resolve_active(struct warp *w)
{
    uint32_t todo = w->active;
    w->active = 0;
    while (todo) {
        const struct thread *first = lane(w, (uint32_t)__builtin_ctz(todo));
        uint32_t set = 0;
        FOR_LANES(i, todo)
        set |= (uint32_t)(lane(w, i)->site == first->site && lane(w, i)->op == first->op) << i;
        compute(w, first->op >> 8, set);
        FOR_LANES(i, set)
        thread_wake(lane(w, i));
        todo &= ~set;
    }
}

const char *
warp_op_name(uint32_t op)
{
    static const char *const name[] = {"warp.sync", "shfl",  "vote",      "match",
                                       "redux",     "elect", "activemask", "matrix"};
    return op >> 8 < sizeof name / sizeof *name ? name[op >> 8] : "?";
}
