// SPDX-License-Identifier: MIT
// Bulk copies and reductions (cp.async.bulk, cp.reduce.async.bulk): complete when they return.
#include "backend/cpu/bulk.h"
#include "emit/emit.h"

#include <math.h>
#include <string.h>

static void
copy_masked(char *dst, const char *src, uint32_t bytes, uint32_t mask)
{
    for (uint32_t i = 0; i < bytes; i++)
        if (mask >> i % 16 & 1)
            dst[i] = src[i];
}

// Faults in here are the kernel's.
void
rt_bulk_copy(struct thread *t, uint64_t dst, uint64_t src, uint32_t bytes, uint32_t mask)
{
    struct worker *w = thread_cta(t)->worker;
    w->user_access = true;
    if (mask == 0xffff)
        memmove((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
    else
        copy_masked((void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes, mask);
    w->user_access = false;
}

char *
cluster_address(struct thread *t, uint32_t address, uint32_t rank)
{
    const struct block *b = t->block;
    char *window = rank < RT_MAX_CLUSTER ? b->peer[rank] : NULL;
    if (!window) {
        report_stop(t, "address in the shared memory of a block that the cluster has not",
                    __builtin_return_address(0));
        thread_stop(t, BE_ILLEGAL_ADDRESS);
    }
    return window + (address & ((1u << RT_RANK_SHIFT) - 1));
}

uint32_t
address_rank(const struct thread *t, uint32_t address)
{
    return (t->block->rank + (address >> RT_RANK_SHIFT)) & 0xff;
}

void
rt_bulk_multicast(struct thread *t, uint32_t dst, uint64_t src, uint32_t bytes, uint32_t barrier,
                  uint32_t ranks)
{
    for (uint32_t left = ranks & 0xffff; left; left &= left - 1) {
        uint32_t rank = (uint32_t)__builtin_ctz(left);
        rt_bulk_copy(t, (uint64_t)(uintptr_t)cluster_address(t, dst, rank), src, bytes, 0xffff);
        pw_mbarrier_complete(t, (uint64_t)(uintptr_t)cluster_address(t, barrier, rank), bytes);
    }
}

// ---- reductions: elements as bits
static float
to_float(uint32_t number, uint64_t bits)
{
    union {
        uint16_t u;
        _Float16 f;
    } h = {.u = (uint16_t)bits};
    union {
        uint32_t u;
        float f;
    } x = {.u = number == EMIT_BF16 ? (uint32_t)bits << 16 : (uint32_t)bits};
    return number == EMIT_F16 ? (float)h.f : x.f;
}

static uint64_t
from_float(uint32_t number, float f)
{
    union {
        _Float16 f;
        uint16_t u;
    } h = {.f = (_Float16)f};
    union {
        float f;
        uint32_t u;
    } x = {.f = f};
    if (f != f)
        return number == EMIT_F32 ? 0x7fffffff : 0x7fff;
    if (number == EMIT_F16)
        return h.u;
    return number == EMIT_F32 ? x.u : (uint16_t)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}

static double
as_double(uint64_t bits)
{
    double d;
    memcpy(&d, &bits, sizeof d);
    return d;
}

// The number, where one of two is none; -0 counts as less than +0.
static bool
takes_second(double a, double b, bool max)
{
    if (a != a || b != b)
        return a != a;
    if (a == b)
        return max ? signbit(a) && !signbit(b) : !signbit(a) && signbit(b);
    return max ? b > a : b < a;
}

static uint64_t
reduce_float(uint32_t op, uint32_t number, uint64_t old, uint64_t v)
{
    double a, b;
    if (number == EMIT_F64) {
        a = as_double(old);
        b = as_double(v);
    } else {
        a = to_float(number, old);
        b = to_float(number, v);
    }
    if (op != EMIT_RED_ADD) {
        bool none = a != a && b != b && number != EMIT_F64;
        return none ? from_float(number, NAN) : takes_second(a, b, op == EMIT_RED_MAX) ? v : old;
    }
    if (number != EMIT_F64)
        return from_float(number, (float)a + (float)b);
    double sum = a + b;
    memcpy(&v, &sum, sizeof v);
    return v;
}

static bool
less(uint32_t number, uint64_t a, uint64_t b)
{
    switch (number) {
    case EMIT_S32:
        return (int32_t)a < (int32_t)b;
    case EMIT_S64:
        return (int64_t)a < (int64_t)b;
    default:
        return a < b;
    }
}

static uint64_t
reduced(uint32_t op, uint32_t number, uint64_t old, uint64_t v)
{
    switch (op) {
    case EMIT_RED_AND:
        return old & v;
    case EMIT_RED_OR:
        return old | v;
    case EMIT_RED_XOR:
        return old ^ v;
    case EMIT_RED_INC:
        return old >= v ? 0 : old + 1;
    case EMIT_RED_DEC:
        return old == 0 || old > v ? v : old - 1;
    }
    if (number >= EMIT_F16)
        return reduce_float(op, number, old, v);
    if (op == EMIT_RED_ADD)
        return old + v;
    return less(number, v, old) == (op == EMIT_RED_MIN) ? v : old;
}

unsigned
number_bytes(uint32_t number)
{
    static const uint8_t bytes[] = {[EMIT_U32] = 4, [EMIT_S32] = 4,  [EMIT_U64] = 8, [EMIT_S64] = 8,
                                    [EMIT_F16] = 2, [EMIT_BF16] = 2, [EMIT_F32] = 4, [EMIT_F64] = 8};
    return bytes[number];
}

#define REDUCE_LOOP(U)                                                                             \
    for (uint32_t i = 0; i < bytes / sizeof(U); i++) {                                             \
        U *p = (U *)dst + i, v = ((const U *)src)[i], old = __atomic_load_n(p, __ATOMIC_RELAXED);  \
        while (!__atomic_compare_exchange_n(p, &old, (U)reduced(op, number, old, v), true,         \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED))                   \
            ;                                                                                      \
    }

void
reduce_elements(uint32_t op, uint32_t number, void *dst, const void *src, uint32_t bytes)
{
    switch (number_bytes(number)) {
    case 2:
        REDUCE_LOOP(uint16_t)
        break;
    case 4:
        REDUCE_LOOP(uint32_t)
        break;
    default:
        REDUCE_LOOP(uint64_t)
    }
}

void
rt_bulk_reduce(struct thread *t, uint32_t op, uint32_t number, uint64_t dst, uint64_t src,
               uint32_t bytes)
{
    struct worker *w = thread_cta(t)->worker;
    w->user_access = true;
    reduce_elements(op, number, (void *)(uintptr_t)dst, (const void *)(uintptr_t)src, bytes);
    w->user_access = false;
}
