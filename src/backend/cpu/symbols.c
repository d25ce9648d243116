// SPDX-License-Identifier: MIT
// What generated code may call: the runtime's own functions, and the library functions that code
// generation falls back on.
#include "backend/cpu/load.h"

#include <math.h>
#include <string.h>

// Of the compiler's support library: no header declares them.
#define SUPPORT(name) extern void name(void)
SUPPORT(__extendhfsf2);
SUPPORT(__truncsfhf2);
SUPPORT(__truncdfhf2);
SUPPORT(__udivti3);
SUPPORT(__divti3);
SUPPORT(__umodti3);
SUPPORT(__modti3);
SUPPORT(__multi3);
SUPPORT(__ashlti3);
SUPPORT(__lshrti3);
SUPPORT(__ashrti3);

// Rounds a float to bfloat16, to nearest even; code generation wants it in the low half of a vector
// register.
static float
truncate_to_bf16(float f)
{
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    u = f != f ? 0x7fff : (u + 0x7fff + (u >> 16 & 1)) >> 16;
    memcpy(&f, &u, sizeof f);
    return f;
}

static float
truncate_double_to_bf16(double d)
{
    // Round to odd first: rounding twice to nearest may go wrong.
    float f = (float)d;
    uint32_t u;
    memcpy(&u, &f, sizeof u);
    if (d == d && (double)f != d && !(u & 1)) {
        bool away = fabs((double)f) > fabs(d);
        u += away ? -1u : 1u;
        memcpy(&f, &u, sizeof f);
    }
    return truncate_to_bf16(f);
}

struct entry {
    const char *name;
    void *fn;
    bool suspends;
};

// clang-format off
#define RUNTIME(f) {#f, (void *)(f), false}
#define SUSPENDS(f) {#f, (void *)(f), true}
// clang-format on

static const struct entry table[] = {
    SUSPENDS(rt_barrier),
    SUSPENDS(rt_barrier_red),
    SUSPENDS(rt_barrier_arrive),
    SUSPENDS(rt_barrier_warp),
    SUSPENDS(rt_barrier_group),
    SUSPENDS(rt_warp),
    SUSPENDS(rt_warp_active),
    SUSPENDS(rt_spin),
    SUSPENDS(rt_matrix),
    RUNTIME(rt_matrix_warp),
    SUSPENDS(rt_cluster_arrive),
    SUSPENDS(rt_cluster_arrive_warp),
    SUSPENDS(rt_cluster_wait),
    RUNTIME(rt_progress),
    RUNTIME(rt_bulk_copy),
    RUNTIME(rt_bulk_reduce),
    RUNTIME(rt_bulk_multicast),
    RUNTIME(rt_tensor),
    RUNTIME(rt_tensormap_replace),
    RUNTIME(rt_lanes),
    RUNTIME(rt_malloc),
    RUNTIME(rt_free),
    RUNTIME(rt_vprintf),
    RUNTIME(rt_device_buffer),
    RUNTIME(rt_device_launch),
    RUNTIME(rt_device_memory),
    RUNTIME(rt_device_launch_memory),
    RUNTIME(rt_device_make),
    RUNTIME(rt_device_use),
    RUNTIME(rt_device_ask),
    RUNTIME(rt_device_error),
    RUNTIME(rt_device_set_error),
    RUNTIME(rt_assertfail),
    RUNTIME(rt_stop),
    RUNTIME(rt_exit),
    RUNTIME(rt_clock),
    RUNTIME(rt_globaltimer),
    RUNTIME(memcpy),
    RUNTIME(memmove),
    RUNTIME(memset),
    RUNTIME(memcmp),
    RUNTIME(fma),
    RUNTIME(fmaf),
    RUNTIME(fmod),
    RUNTIME(fmodf),
    RUNTIME(floor),
    RUNTIME(floorf),
    RUNTIME(ceil),
    RUNTIME(ceilf),
    RUNTIME(trunc),
    RUNTIME(truncf),
    RUNTIME(rint),
    RUNTIME(rintf),
    RUNTIME(nearbyint),
    RUNTIME(nearbyintf),
    RUNTIME(round),
    RUNTIME(roundf),
    RUNTIME(roundeven),
    RUNTIME(roundevenf),
    RUNTIME(sqrt),
    RUNTIME(sqrtf),
    RUNTIME(fmin),
    RUNTIME(fminf),
    RUNTIME(fmax),
    RUNTIME(fmaxf),
    RUNTIME(sin),
    RUNTIME(sinf),
    RUNTIME(cos),
    RUNTIME(cosf),
    RUNTIME(exp),
    RUNTIME(expf),
    RUNTIME(exp2),
    RUNTIME(exp2f),
    RUNTIME(log),
    RUNTIME(logf),
    RUNTIME(log2),
    RUNTIME(log2f),
    RUNTIME(pow),
    RUNTIME(powf),
    RUNTIME(tanh),
    RUNTIME(tanhf),
    RUNTIME(ldexp),
    RUNTIME(ldexpf),
    RUNTIME(__extendhfsf2),
    RUNTIME(__truncsfhf2),
    RUNTIME(__truncdfhf2),
    RUNTIME(__udivti3),
    RUNTIME(__divti3),
    RUNTIME(__umodti3),
    RUNTIME(__modti3),
    RUNTIME(__multi3),
    RUNTIME(__ashlti3),
    RUNTIME(__lshrti3),
    RUNTIME(__ashrti3),
    {"__truncsfbf2", (void *)truncate_to_bf16, false},
    {"__truncdfbf2", (void *)truncate_double_to_bf16, false},
};

static const struct entry *
find(const char *name)
{
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, name))
            return &table[i];
    return NULL;
}

void *
runtime_symbol(const char *name)
{
    const struct entry *e = find(name);
    return e ? e->fn : NULL;
}

bool
runtime_symbol_suspends(const char *name)
{
    const struct entry *e = find(name);
    return e && e->suspends;
}
