// SPDX-License-Identifier: MIT
// Facts of types, and names of registers.
#include "ptx/ptx.h"

#include <pthread.h>

enum { SIGNED = 1, FLOAT = 2 };

static const struct {
    const char *name;
    uint8_t bits, flags;
} types[PTX_TYPES] = {
    [PTX_NONE] = {"", 0, 0},
    [PTX_PRED] = {".pred", 1, 0},
    [PTX_B8] = {".b8", 8, 0},
    [PTX_B16] = {".b16", 16, 0},
    [PTX_B32] = {".b32", 32, 0},
    [PTX_B64] = {".b64", 64, 0},
    [PTX_B128] = {".b128", 128, 0},
    [PTX_U8] = {".u8", 8, 0},
    [PTX_U16] = {".u16", 16, 0},
    [PTX_U32] = {".u32", 32, 0},
    [PTX_U64] = {".u64", 64, 0},
    [PTX_S8] = {".s8", 8, SIGNED},
    [PTX_S16] = {".s16", 16, SIGNED},
    [PTX_S32] = {".s32", 32, SIGNED},
    [PTX_S64] = {".s64", 64, SIGNED},
    [PTX_F16] = {".f16", 16, FLOAT},
    [PTX_F16X2] = {".f16x2", 32, FLOAT},
    [PTX_BF16] = {".bf16", 16, FLOAT},
    [PTX_BF16X2] = {".bf16x2", 32, FLOAT},
    [PTX_TF32] = {".tf32", 32, FLOAT},
    [PTX_F32] = {".f32", 32, FLOAT},
    [PTX_F32X2] = {".f32x2", 64, FLOAT},
    [PTX_F64] = {".f64", 64, FLOAT},
    [PTX_U16X2] = {".u16x2", 32, 0},
    [PTX_S16X2] = {".s16x2", 32, 0},
    [PTX_U8X4] = {".u8x4", 32, 0},
    [PTX_S8X4] = {".s8x4", 32, 0},
    [PTX_U4X8] = {".u4x8", 32, 0},
    [PTX_S4X8] = {".s4x8", 32, 0},
    [PTX_U4] = {".u4", 4, 0},
    [PTX_S4] = {".s4", 4, SIGNED},
    [PTX_U2] = {".u2", 2, 0},
    [PTX_S2] = {".s2", 2, SIGNED},
    [PTX_B1] = {".b1", 1, 0},
    [PTX_B4] = {".b4", 4, 0},
    [PTX_B6] = {".b6", 6, 0},
    [PTX_B4X16] = {".b4x16", 64, 0},
    [PTX_B8X16] = {".b8x16", 128, 0},
    [PTX_B6X16_P32] = {".b6x16_p32", 128, 0},
    [PTX_B4X16_P64] = {".b4x16_p64", 128, 0},
    [PTX_E4M3] = {".e4m3", 8, FLOAT},
    [PTX_E5M2] = {".e5m2", 8, FLOAT},
    [PTX_E3M2] = {".e3m2", 8, FLOAT},
    [PTX_E2M3] = {".e2m3", 8, FLOAT},
    [PTX_E2M1] = {".e2m1", 4, FLOAT},
    [PTX_UE8M0] = {".ue8m0", 8, FLOAT},
    [PTX_UE4M3] = {".ue4m3", 8, FLOAT},
    [PTX_E4M3X2] = {".e4m3x2", 16, FLOAT},
    [PTX_E5M2X2] = {".e5m2x2", 16, FLOAT},
    [PTX_E3M2X2] = {".e3m2x2", 16, FLOAT},
    [PTX_E2M3X2] = {".e2m3x2", 16, FLOAT},
    [PTX_E2M1X2] = {".e2m1x2", 8, FLOAT},
    [PTX_UE8M0X2] = {".ue8m0x2", 16, FLOAT},
    [PTX_E4M3X4] = {".e4m3x4", 32, FLOAT},
    [PTX_E5M2X4] = {".e5m2x4", 32, FLOAT},
    [PTX_E3M2X4] = {".e3m2x4", 32, FLOAT},
    [PTX_E2M3X4] = {".e2m3x4", 32, FLOAT},
    [PTX_E2M1X4] = {".e2m1x4", 16, FLOAT},
    [PTX_TEXREF] = {".texref", 0, 0},
    [PTX_SAMPLERREF] = {".samplerref", 0, 0},
    [PTX_SURFREF] = {".surfref", 0, 0},
};

unsigned
ptx_type_bits(enum ptx_type t)
{
    return (unsigned)t < PTX_TYPES ? types[t].bits : 0;
}

const char *
ptx_type_name(enum ptx_type t)
{
    return (unsigned)t < PTX_TYPES ? types[t].name : "?";
}

bool
ptx_type_signed(enum ptx_type t)
{
    return (unsigned)t < PTX_TYPES && types[t].flags & SIGNED;
}

bool
ptx_type_float(enum ptx_type t)
{
    return (unsigned)t < PTX_TYPES && types[t].flags & FLOAT;
}

static const struct ptx_reg_range *
range_of(const struct ptx_func *f, uint32_t reg)
{
    uint32_t lo = 0, hi = f->nrange;
    while (lo < hi) {
        uint32_t mid = (lo + hi) / 2;
        if (f->range[mid].first + f->range[mid].count <= reg)
            lo = mid + 1;
        else
            hi = mid;
    }
    return lo < f->nrange && f->range[lo].first <= reg ? &f->range[lo] : NULL;
}

const char *
ptx_reg_name(struct ptx_func *f, uint32_t reg)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    if (reg >= f->nreg)
        return "?";
    pthread_mutex_lock(&lock);
    const struct ptx_reg_range *r = f->reg[reg].name ? NULL : range_of(f, reg);
    if (r)
        f->reg[reg].name = arena_printf(&f->sym->module->arena, "%s%u", r->prefix, reg - r->first);
    const char *name = f->reg[reg].name;
    pthread_mutex_unlock(&lock);
    return name ? name : "?";
}
