// SPDX-License-Identifier: MIT
// The forms, their kernels and exact results.
#include "forms.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static double
rcp(double x)
{
    return 1 / x;
}

static double
rsqrt(double x)
{
    return 1 / sqrt(x);
}

static long double
rcp_long(long double x)
{
    return 1 / x;
}

static long double
rsqrt_long(long double x)
{
    return 1 / sqrtl(x);
}

#define SINGLE(name, fn) {name ".f32", F32, ALL_32, false, false, fn, NULL}
#define BOTH(op, fn)     SINGLE(op ".approx", fn), {op ".approx.ftz.f32", F32, ALL_32, true, false, fn, NULL}
#define HALVES(name, fn)                                                                           \
    {name ".f16", F16, ALL_16, false, false, fn, NULL}, {name ".f16x2", F16, ALL_16, false, true, fn, NULL}
#define BHALVES(name, ftz, fn)                                                                     \
    {name ".bf16", BF16, ALL_16, ftz, false, fn, NULL}, {name ".bf16x2", BF16, ALL_16, ftz, true, fn, NULL}
const struct form forms[] = {
    BOTH("ex2", exp2),
    BOTH("lg2", log2),
    BOTH("sin", sin),
    BOTH("cos", cos),
    SINGLE("tanh.approx", tanh),
    BOTH("rcp", rcp),
    BOTH("rsqrt", rsqrt),
    BOTH("sqrt", sqrt),
    {"div.approx.f32", F32, PAIRS, false, false, NULL, NULL},
    {"div.approx.ftz.f32", F32, PAIRS, true, false, NULL, NULL},
    {"div.full.f32", F32, PAIRS, false, false, NULL, NULL},
    {"div.full.ftz.f32", F32, PAIRS, true, false, NULL, NULL},
    HALVES("ex2.approx", exp2),
    BHALVES("ex2.approx.ftz", true, exp2),
    HALVES("tanh.approx", tanh),
    BHALVES("tanh.approx", false, tanh),
    {"rcp.approx.ftz.f64", F64, UPPER_32, true, false, NULL, rcp_long},
    {"rsqrt.approx.ftz.f64", F64, UPPER_32, true, false, NULL, rsqrt_long},
    {"rsqrt.approx.f64", F64, UPPER_32, false, false, NULL, rsqrt_long},
};
const unsigned nforms = sizeof forms / sizeof *forms;

bool
form_ftz(const struct form *f)
{
    return f->ftz;
}

uint64_t
form_cases(const struct form *f)
{
    return f->input == ALL_16 ? 1u << 16 : 1ull << 32;
}

// ---- bounds -------------------------------------------------------------------------------------
static struct bound bounds[BOUNDS_MAX];
static unsigned nbounds;

bool
bounds_read(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256], unit[8];
    if (!file)
        return false;
    while (fgets(line, sizeof line, file) && nbounds < BOUNDS_MAX) {
        struct bound *b = &bounds[nbounds];
        if (sscanf(line, "%31s | %*7s | %d | %lf %lf | %7s %lf", b->form, &b->operand, &b->least,
                   &b->most, unit, &b->size) != 6)
            continue;
        b->unit = unit[0];
        nbounds++;
    }
    fclose(file);
    return nbounds > 0;
}

// The file's names do not tell .ftz forms apart, but for f64.
static void
plain_name(const struct form *f, char *out, size_t size)
{
    snprintf(out, size, "%s", f->instruction);
    char *ftz = f->format == F64 ? NULL : strstr(out, ".ftz");
    if (ftz)
        memmove(ftz, ftz + 4, strlen(ftz + 4) + 1);
}

unsigned
bounds_of(const struct form *f, const struct bound **out)
{
    char name[32];
    unsigned n = 0;
    plain_name(f, name, sizeof name);
    for (unsigned k = 0; k < nbounds && n < RANGES_MAX; k++)
        if (!strcmp(bounds[k].form, name))
            out[n++] = &bounds[k];
    return n;
}

// ---- inputs -------------------------------------------------------------------------------------
static uint64_t
mix(uint64_t n)
{
    n *= 0x9e3779b97f4a7c15u;
    return n ^ n >> 32;
}

// The dividend is any number; every other divisor has an exponent near the dividend's.
static void
pair_bits(uint64_t n, uint32_t bits[2])
{
    uint64_t z = mix(n + 1);
    bits[0] = (uint32_t)z;
    bits[1] = (uint32_t)(z >> 32) ^ (uint32_t)n;
    if (n & 1)
        bits[1] = (bits[1] & 0x87ffffff) | (bits[0] & 0x78000000);
}

static double
from_f32(uint32_t bits, bool ftz)
{
    float v;
    memcpy(&v, &bits, 4);
    return ftz && !(bits & 0x7f800000) ? copysign(0, v) : v;
}

static double
from_f16(uint16_t bits)
{
    int e = bits >> 10 & 31, m = bits & 0x3ff;
    double v = e == 31 ? (m ? NAN : INFINITY) : e ? ldexp(1024 + m, e - 25) : ldexp(m, -24);
    return bits & 0x8000 ? -v : v;
}

static double
from_f64(uint64_t bits, bool ftz)
{
    double v;
    if (ftz && !(bits << 1 >> 53))
        bits &= 1ull << 63;
    memcpy(&v, &bits, 8);
    return v;
}

static double
from_16(const struct form *f, uint32_t bits)
{
    return f->format == F16 ? from_f16((uint16_t)bits) : from_f32(bits << 16, form_ftz(f));
}

// The lower half of an f64: forms with .ftz read none of it.
static uint32_t
lower_half(const struct form *f, uint64_t n)
{
    return form_ftz(f) ? 0 : (uint32_t)mix(n + 1);
}

void
form_inputs(const struct form *f, uint64_t n, double v[2])
{
    uint32_t bits[2];
    bool ftz = form_ftz(f);
    v[1] = 1;
    switch (f->input) {
    case ALL_32:
        v[0] = from_f32((uint32_t)n, ftz);
        break;
    case ALL_16:
        v[0] = from_16(f, (uint32_t)n);
        break;
    case UPPER_32:
        v[0] = from_f64(n << 32 | lower_half(f, n), ftz);
        break;
    case PAIRS:
        pair_bits(n, bits);
        v[0] = from_f32(bits[0], ftz);
        v[1] = from_f32(bits[1], ftz);
        break;
    }
}

// ---- results ------------------------------------------------------------------------------------
double
form_result(const struct form *f, uint64_t bits)
{
    switch (f->format) {
    case F32:
        return from_f32((uint32_t)bits, false);
    case F64:
        return from_f64(bits, false);
    case F16:
        return from_f16((uint16_t)bits);
    default:
        return from_f32((uint32_t)bits << 16, false);
    }
}

static const struct {
    int digits, least, most; // significant bits; exponents of the least normal number and of the overflow
} formats[] = {[F32] = {24, -126, 128}, [F64] = {53, -1022, 1024}, [F16] = {11, -14, 16}, [BF16] = {8, -126, 128}};

void
form_format(const struct form *f, int *digits, int *least, double *overflow)
{
    *digits = formats[f->format].digits;
    *least = formats[f->format].least;
    *overflow = ldexp(1, formats[f->format].most); // infinite for f64
}

// ---- kernels ------------------------------------------------------------------------------------
#define HEAD                                                                                       \
    ".version 7.8\n.target sm_90\n.address_size 64\n"                                              \
    ".visible .entry k(.param .u64 out, .param .u64 first, .param .u64 stride, .param .u32 n)\n"   \
    "{\n.reg .pred %%p; .reg .b16 %%h<3>; .reg .b32 %%r<9>, %%a, %%b, %%d; .reg .b64 %%o, %%i, %%n, %%s, %%A, %%D;\n" \
    "mov.u32 %%r1, %%ctaid.x; mov.u32 %%r2, %%ntid.x; mov.u32 %%r3, %%tid.x; mad.lo.u32 %%r4, %%r1, %%r2, %%r3;\n" \
    "ld.param.u32 %%r5, [n]; setp.ge.u32 %%p, %%r4, %%r5; @%%p bra end;\n"                              \
    "ld.param.u64 %%o, [out]; ld.param.u64 %%n, [first]; ld.param.u64 %%s, [stride];\n"               \
    "cvt.u64.u32 %%i, %%r4; mad.lo.u64 %%n, %%i, %%s, %%n; cvt.u32.u64 %%a, %%n;\n"
#define MIX "mul.lo.u64 %A, %A, 0x9e3779b97f4a7c15; shr.u64 %D, %A, 32; xor.b64 %A, %A, %D;\n"

static const char *
input_code(const struct form *f)
{
    switch (f->input) {
    case PAIRS:
        return "add.u64 %A, %n, 1; " MIX "mov.b64 {%r6, %b}, %A; xor.b32 %b, %b, %a;\n"
               "and.b32 %r7, %a, 1; setp.ne.s32 %p, %r7, 0; mov.b32 %a, %r6;\n"
               "and.b32 %r7, %b, 0x87ffffff; and.b32 %r8, %a, 0x78000000; or.b32 %r7, %r7, %r8; selp.b32 %b, %r7, %b, %p;\n";
    case UPPER_32:
        return form_ftz(f) ? "mov.b32 %r6, 0; mov.b64 %A, {%r6, %a};\n"
                           : "add.u64 %A, %n, 1; " MIX "mov.b64 {%r6, %b}, %A; mov.b64 %A, {%r6, %a};\n";
    case ALL_16:
        return f->pair ? "shl.b32 %r6, %a, 16; or.b32 %a, %a, %r6;\n" : "cvt.u16.u32 %h1, %a;\n";
    default:
        return "";
    }
}

static const char *
operands(const struct form *f)
{
    if (f->input == ALL_16)
        return f->pair ? "%d, %a; and.b32 %d, %d, 0xffff" : "%h2, %h1; cvt.u32.u16 %d, %h2";
    return f->input == PAIRS ? "%d, %a, %b" : f->input == UPPER_32 ? "%D, %A" : "%d, %a";
}

void
form_ptx(const struct form *f, char *text, unsigned size)
{
    bool wide = f->format == F64;
    snprintf(text, size, HEAD "%s%s %s;\nmad.lo.u64 %%o, %%i, %d, %%o; st.global.b%d [%%o], %s;\nend: ret;\n}\n",
             input_code(f), f->instruction, operands(f), wide ? 8 : 4, wide ? 64 : 32, wide ? "%D" : "%d");
}
