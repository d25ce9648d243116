// SPDX-License-Identifier: MIT
// Stack switching: values and registers survive, stacks are reused, frames can be left early.
#include "check.h"

#include "backend/cpu/fiber.h"

static struct stack_pool pool;
static struct fiber here;
static int trace[16], traced;

static void
note(int v)
{
    if (traced < 16)
        trace[traced++] = v;
}

static void
ping(void *arg)
{
    struct fiber *self = arg;
    for (int i = 1;; i++) {
        note(i);
        note((int)fiber_switch(self, &here, i * 10));
    }
}

static void
values_pass_both_ways(void)
{
    struct fiber *f = stack_get(&pool, stack_class(16 << 10));
    CHECK(f != NULL);
    traced = 0;
    fiber_start(f, ping, f);
    CHECK_INT(fiber_switch(&here, f, 0), 10);
    CHECK_INT(fiber_switch(&here, f, 7), 20);
    CHECK_INT(fiber_switch(&here, f, 8), 30);
    CHECK_INT(traced, 5);
    CHECK_INT(trace[1], 7);
    CHECK_INT(trace[3], 8);
    stack_put(&pool, f);
}

static void
leave_at_once(void *arg)
{
    volatile char page[8192]; // more than one page of the stack is there
    page[0] = page[8191] = 1;
    note((int)((uintptr_t)__builtin_frame_address(0) % 16));
    fiber_leave(arg, page[0] + page[8191]);
}

static void
stacks_are_reused(void)
{
    uint32_t class_ = stack_class(16 << 10);
    struct fiber *first = stack_get(&pool, class_);
    stack_put(&pool, first);
    traced = 0;
    for (int i = 0; i < 3; i++) {
        struct fiber *f = stack_get(&pool, class_);
        CHECK(f == first);
        fiber_start(f, leave_at_once, &here);
        CHECK_INT(fiber_switch(&here, f, 0), 2);
        stack_put(&pool, f);
    }
    CHECK_INT(trace[0], 0); // the frame pointer is 16-aligned
}

static void
many_stacks_are_distinct(void)
{
    enum { N = 200 };
    struct fiber *f[N];
    unsigned overlaps = 0;
    for (int i = 0; i < N; i++) {
        f[i] = stack_get(&pool, STACK_MIN_CLASS);
        for (int j = 0; j < i; j++)
            overlaps += f[i]->lo < f[j]->hi && f[j]->lo < f[i]->hi;
    }
    CHECK_INT(overlaps, 0);
    CHECK(stack_guard_hit(f[3], f[3]->lo - 1));
    CHECK(!stack_guard_hit(f[3], f[3]->lo));
    for (int i = 0; i < N; i++)
        stack_put(&pool, f[i]);
}

static void
size_classes(void)
{
    CHECK_INT(stack_class(1), STACK_MIN_CLASS);
    CHECK_INT(stack_class(65536), 16);
    CHECK_INT(stack_class(65537), 17);
    CHECK_INT(stack_class((size_t)1 << 40), 0);
}

static void
returns(void *a, void *b)
{
    (void)b;
    *(int *)a = 1;
}

static void
leaves(void *a, void *b)
{
    *(int *)a = 2;
    frame_leave(*(void **)b, 5);
}

static void
frames(void)
{
    void *frame = NULL;
    int seen = 0;
    CHECK_INT(frame_enter(&frame, returns, &seen, &frame), 0);
    CHECK_INT(seen, 1);
    CHECK_INT(frame_enter(&frame, leaves, &seen, &frame), 5);
    CHECK_INT(seen, 2);
    stack_pool_free(&pool);
}

CHECK_MAIN(T(values_pass_both_ways), T(stacks_are_reused), T(many_stacks_are_distinct),
           T(size_classes), T(frames))
