// SPDX-License-Identifier: MIT
// Device library of the CPU backend in thread mode: the pw.* functions that are a few instructions, or that hand over to the
// runtime. Compiled to bitcode (clang-19 -O2 -emit-llvm -mcx16), linked into every kernel and inlined. A function pw.a.b of SIMT
// IR is named pw_a_b here; the scope of atomics and fences is dropped: one CPU is coherent.
#include "backend/cpu/rt.h"

#define FN __attribute__((always_inline))

typedef struct thread T;
typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef int32_t s32;
typedef uint64_t u64;
typedef int64_t s64;
typedef unsigned __int128 u128;

// ---- identity ------------------------------------------------------------------------------------------------
#define SREG(name, expr) FN u32 pw_sreg_##name(T *t) { (void)t; return (expr); }
#define SREG64(name, expr) FN u64 pw_sreg_##name(T *t) { (void)t; return (expr); }
#define SREG_XYZ(name, a)                                                                          \
    SREG(name##_x, (a)[0])                                                                         \
    SREG(name##_y, (a)[1])                                                                         \
    SREG(name##_z, (a)[2])
#define GRID (t->block->grid)
#define LANE_BIT (1u << t->lane)

SREG_XYZ(tid, t->tid)
SREG_XYZ(ntid, GRID->block)
SREG_XYZ(ctaid, t->block->ctaid)
SREG_XYZ(nctaid, GRID->grid)
SREG(tid_w, 0)
SREG(ntid_w, 0)
SREG(ctaid_w, 0)
SREG(nctaid_w, 0)
SREG(laneid, t->lane)
SREG(warpid, t->index / RT_WARP)
SREG(nwarpid, GRID->warps)
SREG(smid, t->block->smid)
SREG(nsmid, GRID->multiprocessors)
SREG64(gridid, GRID->id)
SREG(lanemask_eq, LANE_BIT)
SREG(lanemask_lt, LANE_BIT - 1)
SREG(lanemask_le, LANE_BIT | (LANE_BIT - 1))
SREG(lanemask_ge, ~(LANE_BIT - 1))
SREG(lanemask_gt, ~(LANE_BIT | (LANE_BIT - 1)))
SREG(clock, (u32)__builtin_readcyclecounter())
SREG(clock_hi, (u32)(__builtin_readcyclecounter() >> 32))
SREG64(clock64, __builtin_readcyclecounter())
SREG64(globaltimer, rt_globaltimer())
SREG(globaltimer_lo, (u32)rt_globaltimer())
SREG(globaltimer_hi, (u32)(rt_globaltimer() >> 32))
SREG64(current_graph_exec, 0)
SREG(dynamic_smem_size, GRID->dynamic_shared)
SREG(total_smem_size, GRID->total_shared)
SREG(aggr_smem_size, GRID->total_shared)
SREG(reserved_smem_offset_begin, 0)
SREG(reserved_smem_offset_end, 0)
SREG(reserved_smem_offset_cap, 0)
SREG(reserved_smem_offset_0, 0)
SREG(reserved_smem_offset_1, 0)

// Clusters: blocks of a cluster are neighbours in each dimension; a launch without clusters has clusters of one block.
#define CLUSTER(i, x)                                                                              \
    SREG(cluster_ctaid_##x, t->block->ctaid[i] % GRID->cluster[i])                                 \
    SREG(clusterid_##x, t->block->ctaid[i] / GRID->cluster[i])                                     \
    SREG(cluster_nctaid_##x, GRID->cluster[i])                                                     \
    SREG(nclusterid_##x, GRID->grid[i] / GRID->cluster[i])
CLUSTER(0, x)
CLUSTER(1, y)
CLUSTER(2, z)
SREG(cluster_ctaid_w, 0)
SREG(clusterid_w, 0)
SREG(cluster_nctaid_w, 0)
SREG(nclusterid_w, 0)
SREG(is_explicit_cluster, GRID->explicit_cluster)
SREG(cluster_nctarank, t->block->ranks)
SREG(cluster_ctarank, t->block->rank)

#define ZERO(name) SREG(name, 0)
#define ZERO10(name, d)                                                                            \
    ZERO(name##d##0) ZERO(name##d##1) ZERO(name##d##2) ZERO(name##d##3) ZERO(name##d##4)           \
    ZERO(name##d##5) ZERO(name##d##6) ZERO(name##d##7) ZERO(name##d##8) ZERO(name##d##9)
#define WORKSPACE(t) (GRID->cooperative ? (u64)(uintptr_t)GRID->workspace : 0)
ZERO(envreg0)
SREG(envreg1, (u32)(WORKSPACE(t) >> 32))
SREG(envreg2, (u32)WORKSPACE(t))
ZERO(envreg3) ZERO(envreg4) ZERO(envreg5) ZERO(envreg6) ZERO(envreg7) ZERO(envreg8) ZERO(envreg9)
ZERO10(envreg, 1)
ZERO10(envreg, 2)
ZERO(envreg30)
ZERO(envreg31)
ZERO(pm0) ZERO(pm1) ZERO(pm2) ZERO(pm3) ZERO(pm4) ZERO(pm5) ZERO(pm6) ZERO(pm7)
SREG64(pm0_64, 0) SREG64(pm1_64, 0) SREG64(pm2_64, 0) SREG64(pm3_64, 0)
SREG64(pm4_64, 0) SREG64(pm5_64, 0) SREG64(pm6_64, 0) SREG64(pm7_64, 0)

// ---- address spaces ---------------------------------------------------------------------------------------------
// A shared window is 4 GiB of addresses where the reservation succeeded, but no kernel may use more than this of it.
#define SHARED_WINDOW (1u << 24)

FN char *pw_shared_ptr(T *t, u32 off) { return t->block->shared + off; }
FN u64 pw_shared_to_generic(T *t, u32 off) { return (u64)(t->block->shared + off); }
FN u32 pw_shared_from_generic(T *t, u64 a) { return (u32)(a - (u64)t->block->shared); }
FN u64 pw_local_to_generic(T *t, u64 a) { (void)t; return a; }
FN u64 pw_local_from_generic(T *t, u64 a) { (void)t; return a; }

struct stack_bounds { // the start of struct fiber
    char *lo, *hi;
};

FN u32 pw_isspacep_shared(T *t, u64 a) { return a - (u64)t->block->shared < SHARED_WINDOW; }
FN u32
pw_isspacep_local(T *t, u64 a)
{
    struct stack_bounds *s = (struct stack_bounds *)t->fiber;
    return a >= (u64)s->lo && a < (u64)s->hi;
}
FN u32 pw_isspacep_param(T *t, u64 a) { return a - (u64)GRID->params < GRID->param_size; }

// Addresses of a cluster's shared memory: the upper 8 bits count ranks from the own block on (rt.h), the others are the offset.
static FN u32 rank_at(T *t, u32 addr) { return (t->block->rank + (addr >> RT_RANK_SHIFT)) & 0xff; }
static FN u32 offset_at(u32 addr) { return addr & ((1u << RT_RANK_SHIFT) - 1); }
static FN char *window_of(T *t, u32 rank) { return rank < RT_MAX_CLUSTER ? t->block->peer[rank & (RT_MAX_CLUSTER - 1)] : 0; }

FN char *
pw_cluster_ptr(T *t, u32 addr)
{
    char *w = window_of(t, rank_at(t, addr));
    return w ? w + offset_at(addr) : t->block->shared + addr; // no such block: inaccessible
}
FN u64 pw_cluster_to_generic(T *t, u32 addr) { return (u64)pw_cluster_ptr(t, addr); }
FN u32 pw_cluster_from_generic(T *t, u64 a) { return (u32)(a - (u64)t->block->shared); }
FN u32
pw_isspacep_cluster(T *t, u64 a)
{
    char *w = window_of(t, rank_at(t, pw_cluster_from_generic(t, a)));
    return w && a - (u64)w < SHARED_WINDOW;
}
FN u32 pw_mapa(T *t, u32 addr, u32 rank) { return (rank - t->block->rank) << RT_RANK_SHIFT | offset_at(addr); }
FN u64
pw_mapa_generic(T *t, u64 a, u32 rank)
{
    return pw_cluster_to_generic(t, pw_mapa(t, pw_cluster_from_generic(t, a), rank));
}
FN u32 pw_getctarank(T *t, u32 addr) { return rank_at(t, addr); }
FN u32 pw_getctarank_generic(T *t, u64 a) { return rank_at(t, pw_cluster_from_generic(t, a)); }

FN u32 pw_isspacep_global(T *t, u64 a) { return !pw_isspacep_cluster(t, a) && !pw_isspacep_local(t, a); }

// ---- atomics --------------------------------------------------------------------------------------------------------
#define ATOM(op, ty, C, builtin) FN C pw_atom_##op##_##ty(T *t, C *p, C v) { (void)t; return builtin(p, v, __ATOMIC_RELAXED); }
#define ATOMS(ty, U, S)                                                                            \
    ATOM(add, ty, U, __atomic_fetch_add)                                                           \
    ATOM(and, ty, U, __atomic_fetch_and)                                                           \
    ATOM(or, ty, U, __atomic_fetch_or)                                                             \
    ATOM(xor, ty, U, __atomic_fetch_xor)                                                           \
    ATOM(xchg, ty, U, __atomic_exchange_n)                                                         \
    ATOM(min, ty, S, __atomic_fetch_min)                                                           \
    ATOM(max, ty, S, __atomic_fetch_max)                                                           \
    ATOM(umin, ty, U, __atomic_fetch_min)                                                          \
    ATOM(umax, ty, U, __atomic_fetch_max)
ATOMS(i32, u32, s32)
ATOMS(i64, u64, s64)
ATOM(xchg, i16, u16, __atomic_exchange_n)
ATOM(xchg, i128, u128, __atomic_exchange_n)

#define CAS(ty, U)                                                                                 \
    FN U pw_atom_cas_##ty(T *t, U *p, U cmp, U v)                                                  \
    {                                                                                              \
        (void)t;                                                                                   \
        __atomic_compare_exchange_n(p, &cmp, v, 0, __ATOMIC_RELAXED, __ATOMIC_RELAXED);            \
        return cmp;                                                                                \
    }
CAS(i16, u16)
CAS(i32, u32)
CAS(i64, u64)
CAS(i128, u128)

// Any other operation: compute and compare-exchange until nobody came between. `expr` is the new value for `old` and `v`.
#define ATOM_LOOP(name, U, expr)                                                                   \
    FN U pw_atom_##name(T *t, U *p, U v)                                                           \
    {                                                                                              \
        (void)t;                                                                                   \
        U old = __atomic_load_n(p, __ATOMIC_RELAXED);                                              \
        while (!__atomic_compare_exchange_n(p, &old, (U)(expr), 1, __ATOMIC_RELAXED,               \
                                            __ATOMIC_RELAXED))                                     \
            ;                                                                                      \
        return old;                                                                                \
    }
ATOM_LOOP(inc_i32, u32, old >= v ? 0 : old + 1)
ATOM_LOOP(dec_i32, u32, old == 0 || old > v ? v : old - 1)
ATOM_LOOP(inc_i64, u64, old >= v ? 0 : old + 1)
ATOM_LOOP(dec_i64, u64, old == 0 || old > v ? v : old - 1)

// Narrow floats: exact in float (or rounded once: a float has more than twice their digits).
static FN float f16_in(u16 h) { union { u16 u; _Float16 f; } x = {.u = h}; return (float)x.f; }
static FN u16 f16_out(float f) { union { _Float16 f; u16 u; } x = {.f = (_Float16)f}; return f != f ? 0x7fff : x.u; }
static FN float bf16_in(u16 h) { union { u32 u; float f; } x = {.u = (u32)h << 16}; return x.f; }
static FN u16
bf16_out(float f)
{
    union { float f; u32 u; } x = {.f = f};
    if (f != f)
        return 0x7fff;
    return (u16)((x.u + 0x7fff + (x.u >> 16 & 1)) >> 16);
}

// The number, where one of two is NaN; -0 counts as less than +0.
static FN float
min_num(float a, float b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a == b ? (__builtin_signbit(a) ? a : b) : a < b ? a : b;
}
static FN float
max_num(float a, float b)
{
    if (a != a)
        return b;
    if (b != b)
        return a;
    return a == b ? (__builtin_signbit(a) ? b : a) : a > b ? a : b;
}
static FN float add_num(float a, float b) { return a + b; }

#define NARROW(fmt, op, fn)                                                                        \
    static FN u16 fmt##_##op(u16 a, u16 b) { return fmt##_out(fn(fmt##_in(a), fmt##_in(b))); }     \
    ATOM_LOOP(f##op##_##fmt, u16, fmt##_##op(old, v))                                              \
    static FN u32 fmt##x2_##op(u32 a, u32 b)                                                       \
    {                                                                                              \
        return fmt##_##op((u16)a, (u16)b) | (u32)fmt##_##op((u16)(a >> 16), (u16)(b >> 16)) << 16; \
    }                                                                                              \
    ATOM_LOOP(f##op##_##fmt##x2, u32, fmt##x2_##op(old, v))
NARROW(f16, add, add_num)
NARROW(f16, min, min_num)
NARROW(f16, max, max_num)
NARROW(bf16, add, add_num)
NARROW(bf16, min, min_num)
NARROW(bf16, max, max_num)

// Sums in shared memory: those of the arithmetic instructions, of the operand and what is there. In global memory f32
// flushes, and f64 hands a NaN on as it is.
static FN u32
f32_sum(u32 a, u32 b)
{
    union { u32 u; float f; } x = {a}, y = {b};
    x.f += y.f;
    return x.f != x.f ? 0x7fffffff : x.u;
}
static FN u32 f32_flushed(u32 a) { return a & 0x7f800000 ? a : a & 0x80000000; }
static FN u32 f32_sum_flushed(u32 a, u32 b) { return f32_flushed(f32_sum(f32_flushed(a), f32_flushed(b))); }
// Of two NaNs it is the second's.
static FN u64
f64_sum(u64 a, u64 b, u64 quiet)
{
    union { u64 u; double f; } x = {a}, y = {b}, sum = {.f = x.f + y.f};
    return y.f != y.f ? b | quiet : x.f != x.f ? a | quiet : sum.u;
}
static FN u64 f64_sum_shared(u64 old, u64 v) { return f64_sum(v, old, 0x0008000000000000); }
static FN u64 f64_sum_global(u64 old, u64 v) { return f64_sum(old, v, 0); }

#define ATOM_SUM(name, F, U, expr)                                                                 \
    FN F pw_atom_##name(T *t, F *p, F v)                                                           \
    {                                                                                              \
        (void)t;                                                                                   \
        union { U u; F f; } old = {.u = __atomic_load_n((U *)p, __ATOMIC_RELAXED)}, add = {.f = v}; \
        while (!__atomic_compare_exchange_n((U *)p, &old.u, (expr), 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED)) \
            ;                                                                                      \
        return old.f;                                                                              \
    }
#define IN_SHARED(p) pw_isspacep_shared(t, (u64)(p))
ATOM_SUM(fadd_f32, float, u32, f32_sum(old.u, add.u))
ATOM_SUM(fadd_global_f32, float, u32, f32_sum_flushed(old.u, add.u))
ATOM_SUM(fadd_generic_f32, float, u32, IN_SHARED(p) ? f32_sum(old.u, add.u) : f32_sum_flushed(old.u, add.u))
ATOM_SUM(fadd_f64, double, u64, f64_sum_shared(old.u, add.u))
ATOM_SUM(fadd_global_f64, double, u64, f64_sum_global(old.u, add.u))
ATOM_SUM(fadd_generic_f64, double, u64, IN_SHARED(p) ? f64_sum_shared(old.u, add.u) : f64_sum_global(old.u, add.u))

#define WIDE_MINMAX(op, ty, F, U, rel)                                                             \
    FN F pw_atom_f##op##_##ty(T *t, F *p, F v)                                                     \
    {                                                                                              \
        (void)t;                                                                                   \
        union { U u; F f; } old = {.u = __atomic_load_n((U *)p, __ATOMIC_RELAXED)}, new_;          \
        do                                                                                         \
            new_.f = old.f != old.f ? v : v != v || !(v rel old.f) ? old.f : v;                    \
        while (!__atomic_compare_exchange_n((U *)p, &old.u, new_.u, 1, __ATOMIC_RELAXED,           \
                                            __ATOMIC_RELAXED));                                    \
        return old.f;                                                                              \
    }
WIDE_MINMAX(min, f32, float, u32, <)
WIDE_MINMAX(max, f32, float, u32, >)
WIDE_MINMAX(min, f64, double, u64, <)
WIDE_MINMAX(max, f64, double, u64, >)

#define FENCE(name, order) FN void pw_fence_##name(T *t) { (void)t; __atomic_thread_fence(order); }
FENCE(acquire, __ATOMIC_ACQUIRE)
FENCE(release, __ATOMIC_RELEASE)
FENCE(acq_rel, __ATOMIC_ACQ_REL)
FENCE(sc, __ATOMIC_SEQ_CST)

// ---- barriers and warps -------------------------------------------------------------------------------------------
FN void pw_barrier_sync(T *t, u32 id, u32 n) { rt_barrier(t, id, n); }
FN void pw_barrier_arrive(T *t, u32 id, u32 n) { rt_barrier_arrive(t, id, n); }
FN u32 pw_barrier_red_popc(T *t, u32 id, u32 n, u32 p) { return rt_barrier_red(t, id, n, RT_RED_POPC, p); }
FN u32 pw_barrier_red_and(T *t, u32 id, u32 n, u32 p) { return rt_barrier_red(t, id, n, RT_RED_AND, p); }
FN u32 pw_barrier_red_or(T *t, u32 id, u32 n, u32 p) { return rt_barrier_red(t, id, n, RT_RED_OR, p); }

FN void pw_cluster_arrive(T *t) { rt_cluster_arrive(t); }
FN void pw_cluster_wait(T *t) { rt_cluster_wait(t); }

FN void pw_warp_sync(T *t, u32 mask) { rt_warp(t, RT_SYNC, 0, 0, 0, mask); }

#define SHFL(name, op)                                                                             \
    FN u64 pw_shfl_##name(T *t, u32 a, u32 b, u32 c, u32 mask) { return rt_warp(t, op, a, b, c, mask); } \
    FN u64 pw_shfl_##name##_active(T *t, u32 a, u32 b, u32 c, u32 mask, u32 site)                  \
    {                                                                                              \
        (void)mask;                                                                                \
        return rt_warp_active(t, op, a, b, c, site);                                               \
    }
SHFL(up, RT_SHFL_UP)
SHFL(down, RT_SHFL_DOWN)
SHFL(bfly, RT_SHFL_BFLY)
SHFL(idx, RT_SHFL_IDX)

#define VOTE(name, op)                                                                             \
    FN u32 pw_vote_##name(T *t, u32 p, u32 mask) { return (u32)rt_warp(t, op, p, 0, 0, mask); }    \
    FN u32 pw_vote_##name##_active(T *t, u32 p, u32 mask, u32 site)                                \
    {                                                                                              \
        (void)mask;                                                                                \
        return (u32)rt_warp_active(t, op, p, 0, 0, site);                                          \
    }
VOTE(all, RT_VOTE_ALL)
VOTE(any, RT_VOTE_ANY)
VOTE(uni, RT_VOTE_UNI)
VOTE(ballot, RT_VOTE_BALLOT)

FN u32 pw_match_any_b32(T *t, u32 v, u32 mask) { return (u32)rt_warp(t, RT_MATCH_ANY, v, 0, 0, mask); }
FN u32 pw_match_any_b64(T *t, u64 v, u32 mask) { return (u32)rt_warp(t, RT_MATCH_ANY, v, 0, 0, mask); }
FN u64 pw_match_all_b32(T *t, u32 v, u32 mask) { return rt_warp(t, RT_MATCH_ALL, v, 0, 0, mask); }
FN u64 pw_match_all_b64(T *t, u64 v, u32 mask) { return rt_warp(t, RT_MATCH_ALL, v, 0, 0, mask); }

#define REDUX(name, op) FN u32 pw_redux_##name(T *t, u32 v, u32 mask) { return (u32)rt_warp(t, op, v, 0, 0, mask); }
REDUX(add, RT_REDUX_ADD)
REDUX(and, RT_REDUX_AND)
REDUX(or, RT_REDUX_OR)
REDUX(xor, RT_REDUX_XOR)
REDUX(min, RT_REDUX_MIN)
REDUX(max, RT_REDUX_MAX)
REDUX(umin, RT_REDUX_UMIN)
REDUX(umax, RT_REDUX_UMAX)

#define REDUX_F(name, op)                                                                          \
    FN float pw_redux_##name(T *t, float v, u32 mask)                                              \
    {                                                                                              \
        union { float f; u32 u; } x = {.f = v};                                                    \
        x.u = (u32)rt_warp(t, op, x.u, 0, 0, mask);                                                \
        return x.f;                                                                                \
    }
REDUX_F(fmin, RT_REDUX_FMIN)
REDUX_F(fmax, RT_REDUX_FMAX)
REDUX_F(fmin_abs, RT_REDUX_FMIN_ABS)
REDUX_F(fmax_abs, RT_REDUX_FMAX_ABS)
REDUX_F(fmin_nan, RT_REDUX_FMIN_NAN)
REDUX_F(fmax_nan, RT_REDUX_FMAX_NAN)
REDUX_F(fmin_abs_nan, RT_REDUX_FMIN_ABS_NAN)
REDUX_F(fmax_abs_nan, RT_REDUX_FMAX_ABS_NAN)

FN u64 pw_elect(T *t, u32 mask) { return rt_warp(t, RT_ELECT, 0, 0, 0, mask); }
FN u32 pw_activemask(T *t, u32 site) { return (u32)rt_warp_active(t, RT_ACTIVEMASK, 0, 0, 0, site); }

// ---- asynchronous copies ---------------------------------------------------------------------------------------------
FN void pw_bulk_copy(T *t, u64 dst, u64 src, u32 n, u32 mask) { rt_bulk_copy(t, dst, src, n, mask); }
FN void pw_bulk_reduce(T *t, u32 op, u32 number, u64 dst, u64 src, u32 n) { rt_bulk_reduce(t, op, number, dst, src, n); }
FN void
pw_bulk_multicast(T *t, u32 dst, u64 src, u32 n, u32 barrier, u32 ranks)
{
    rt_bulk_multicast(t, dst, src, n, barrier, ranks);
}
FN void
pw_tensor(T *t, u32 what, u64 map, u32 shared, u32 c0, u32 c1, u32 c2, u32 c3, u32 c4, u32 o0, u32 o1, u32 o2, u32 barrier, u32 ranks)
{
    struct tensor_call c = {map, what, {(s32)c0, (s32)c1, (s32)c2, (s32)c3, (s32)c4}, {(s32)o0, (s32)o1, (s32)o2}, shared, barrier, ranks};
    rt_tensor(t, &c);
}
FN void
pw_tensormap_replace(T *t, u32 field, u32 index, u64 map, u64 value)
{
    rt_tensormap_replace(t, field, index, map, value);
}

// ---- services --------------------------------------------------------------------------------------------------------
FN void
pw_spin(T *t)
{
    if (__builtin_expect(--t->spin < 0, 0))
        rt_spin(t);
}
FN void pw_nanosleep(T *t, u32 ns) { (void)ns; rt_spin(t); }
FN u64 pw_malloc(T *t, u64 size) { return rt_malloc(t, size); }
FN void pw_free(T *t, u64 a) { rt_free(t, a); }
FN s32 pw_vprintf(T *t, u64 fmt, u64 args) { return rt_vprintf(t, fmt, args); }
FN void
pw_assertfail(T *t, u64 message, u64 file, u32 line, u64 function, u64 charsize)
{
    rt_assertfail(t, message, file, line, function, charsize);
}

// ---- the device runtime's calls: codes 0 and 1 are success and an invalid value ----------------------------------------
FN u64
pw_device_buffer(T *t, u64 kernel, u32 gx, u32 gy, u32 gz, u32 bx, u32 by, u32 bz, u32 shared)
{
    return rt_device_buffer(t, kernel, gx, gy, gz, bx, by, bz, shared);
}
FN u32 pw_device_launch(T *t, u64 buffer, u64 stream) { return rt_device_launch(t, buffer, stream); }
FN u64 pw_device_memory(T *t, u32 align, u32 size) { return rt_device_memory(t, align, size); }
FN u32
pw_device_launch_memory(T *t, u64 kernel, u64 buffer, u64 grid, u64 block, u32 shared, u64 stream)
{
    const u32 *g = (const u32 *)grid, *b = (const u32 *)block;
    u32 n[6] = {g[0], g[1], g[2], b[0], b[1], b[2]};
    return rt_device_launch_memory(t, kernel, buffer, n, n + 3, shared, stream);
}
static FN u32
device_make(T *t, u64 out, u32 flags, u32 want)
{
    u64 h = rt_device_make(t, flags, want);
    if (!h)
        return 1;
    *(u64 *)out = h;
    return 0;
}
// Streams of the device do not block, whether the flags (0 or 1) say so or not; its events are not timed.
FN u32 pw_device_stream_create(T *t, u64 out, u32 flags) { return device_make(t, out, flags | 1, 1); }
FN u32 pw_device_stream_destroy(T *t, u64 stream) { return rt_device_use(t, stream, 0); }
FN u32 pw_device_event_create(T *t, u64 out, u32 flags) { return device_make(t, out, flags, 2); }
FN u32 pw_device_event_destroy(T *t, u64 event) { return rt_device_use(t, event, 0); }
FN u32 pw_device_event_record(T *t, u64 event, u64 stream) { (void)stream; return rt_device_use(t, event, 1); }
FN u32
pw_device_stream_wait(T *t, u64 stream, u64 event, u32 flags)
{
    (void)stream;
    return flags ? 1 : rt_device_use(t, event, 1);
}
static FN u32
device_ask32(T *t, u64 out, u32 question, u64 a, u64 b, u64 c)
{
    u64 v;
    u32 r = rt_device_ask(t, question, a, b, c, &v);
    if (!r)
        *(u32 *)out = (u32)v;
    return r;
}
static FN u32
device_ask64(T *t, u64 out, u32 question, u64 a, u64 b, u64 c)
{
    u64 v;
    u32 r = rt_device_ask(t, question, a, b, c, &v);
    if (!r)
        *(u64 *)out = v;
    return r;
}
FN u32 pw_device_count(T *t, u64 out) { return device_ask32(t, out, RT_ASK_DEVICE_COUNT, 0, 0, 0); }
FN u32 pw_device_number(T *t, u64 out) { return device_ask32(t, out, RT_ASK_DEVICE, 0, 0, 0); }
FN u32 pw_device_attribute(T *t, u64 out, u32 a, u32 device) { return device_ask32(t, out, RT_ASK_DEVICE_ATTRIBUTE, a, device, 0); }
FN u32 pw_device_limit(T *t, u64 out, u32 limit) { return device_ask64(t, out, RT_ASK_LIMIT, limit, 0, 0); }
FN u32
pw_device_function(T *t, u64 out, u32 a, u64 kernel)
{
    return a >= 1 && a <= 3 ? device_ask64(t, out, RT_ASK_FUNCTION, a, kernel, 0) // sizes
                            : device_ask32(t, out, RT_ASK_FUNCTION, a, kernel, 0);
}
FN u32
pw_device_occupancy(T *t, u64 out, u64 kernel, u32 threads, u64 shared)
{
    return device_ask32(t, out, RT_ASK_OCCUPANCY, kernel, threads, shared);
}
FN u32
pw_device_occupancy_flags(T *t, u64 out, u64 kernel, u32 threads, u64 shared, u32 flags)
{
    return flags > 1 ? 1 : device_ask32(t, out, RT_ASK_OCCUPANCY, kernel, threads, shared);
}
FN u32 pw_device_cache_config(T *t, u64 out) { (void)t; *(u32 *)out = 0; return 0; }
FN u32 pw_device_shared_config(T *t, u64 out) { (void)t; *(u32 *)out = 0; return 0; }
FN u32 pw_device_error(T *t) { return rt_device_error(t); }
FN u32 pw_device_set_error(T *t, u32 error) { return rt_device_set_error(t, error); }

FN void pw_graph_set_condition(T *t, u64 handle, u32 v) { (void)t; __atomic_store_n((u32 *)handle, v, __ATOMIC_RELEASE); }
FN void pw_trap(T *t) { rt_stop(t, RT_TRAP); }
FN void pw_brkpt(T *t) { rt_stop(t, RT_BRKPT); }
FN void pw_bad_call(T *t) { rt_stop(t, RT_BAD_CALL); }
FN void pw_exit(T *t) { rt_exit(t); }
FN void pw_prefetch(T *t, u64 a) { (void)t; __builtin_prefetch((const void *)a); }
