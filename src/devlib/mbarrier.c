// SPDX-License-Identifier: MIT
// Device library of the CPU backend: mbarrier objects. Compiled into kernels and, for copies that complete on one, into the
// runtime. All threads that reach one belong to one worker and are switched only
// where they wait, so an update needs no atomic instruction.
//
// The object's 64 bits: arrivals that the phase still waits for, arrivals that a phase has, bytes that the phase still waits
// for (signed), number of the phase. A state is the object as it was at an arrival.
#include "backend/cpu/rt.h"

#if __STDC_HOSTED__
#define FN
#else
#define FN __attribute__((always_inline))
#endif

typedef struct thread T;
typedef uint32_t u32;
typedef uint64_t u64;

enum { COUNT_BITS = 20, TX_BITS = 21, EXPECTED = COUNT_BITS, TX = 2 * COUNT_BITS, PHASE = TX + TX_BITS };
#define COUNT_MASK ((1ull << COUNT_BITS) - 1)
#define TX_MASK ((1ull << TX_BITS) - 1)

static inline FN u64 field(u64 v, int at, u64 mask) { return v >> at & mask; }

static inline FN u64
add(u64 v, int at, u64 mask, u64 n)
{
    return (v & ~(mask << at)) | ((field(v, at, mask) + n) & mask) << at;
}

static inline FN void
settle(T *t, u64 *p, u64 v)
{
    if (!field(v, 0, COUNT_MASK) && !field(v, TX, TX_MASK)) {
        v += (1ull << PHASE) + field(v, EXPECTED, COUNT_MASK);
        rt_progress(t);
    }
    *p = v;
}

FN void pw_mbarrier_init(T *t, u64 a, u32 count) { (void)t; *(u64 *)a = (u64)count << EXPECTED | count; }
FN void pw_mbarrier_inval(T *t, u64 a) { (void)t; *(u64 *)a = 0; }

FN u64
pw_mbarrier_arrive(T *t, u64 a, u32 count, u32 bytes)
{
    u64 *p = (u64 *)a, was = *p;
    settle(t, p, add(add(was, TX, TX_MASK, bytes), 0, COUNT_MASK, -(u64)count));
    return was;
}

FN u64
pw_mbarrier_arrive_drop(T *t, u64 a, u32 count, u32 bytes)
{
    u64 *p = (u64 *)a, was = *p;
    *p = add(was, EXPECTED, COUNT_MASK, -(u64)count);
    pw_mbarrier_arrive(t, a, count, bytes);
    return was;
}

FN void pw_mbarrier_expect(T *t, u64 a, u32 bytes) { (void)t; *(u64 *)a = add(*(u64 *)a, TX, TX_MASK, bytes); }
FN void pw_mbarrier_complete(T *t, u64 a, u32 bytes) { settle(t, (u64 *)a, add(*(u64 *)a, TX, TX_MASK, -(u64)bytes)); }

static inline FN u64 now(u64 a) { return __atomic_load_n((u64 *)a, __ATOMIC_ACQUIRE); }
FN u32 pw_mbarrier_test(T *t, u64 a, u64 state) { (void)t; return (now(a) ^ state) >> PHASE != 0; }
FN u32 pw_mbarrier_test_parity(T *t, u64 a, u32 parity) { (void)t; return ((now(a) >> PHASE ^ parity) & 1) != 0; }
FN u32 pw_mbarrier_pending(T *t, u64 state) { (void)t; return (u32)field(state, 0, COUNT_MASK); }
