// SPDX-License-Identifier: MIT
// Arithmetic instructions from PTX text through parser, emit and LLVM's JIT against expectations
// computed in C (arith_cases.h), over products of edge values.
#include <dlfcn.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/Core.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>
#include <llvm-c/TargetMachine.h>
#include <llvm-c/Transforms/PassBuilder.h>

#include "check.h"

#include "devlib/devlib.h"
#include "emit/emit.h"

// ---- helpers of the expectations ----------------------------------------------------------------
static uint32_t
U(uint64_t v)
{
    return (uint32_t)v;
}

static int32_t
S(uint64_t v)
{
    return (int32_t)v;
}

static float
F(uint64_t v)
{
    return float32((uint32_t)v);
}

static double
D(uint64_t v)
{
    return float64(v);
}

static float
H(uint64_t v)
{
    uint16_t bits = (uint16_t)v;
    _Float16 h;
    memcpy(&h, &bits, 2);
    return (float)h;
}

static float
B(uint64_t v)
{
    return float32((uint32_t)v << 16);
}

// Results as bits: NaNs of f32 and halves are canonical, those of f64 compare as one.
static uint64_t
RF(float v)
{
    return isnan(v) ? 0x7fffffff : bits32(v);
}

static uint64_t
RD(double v)
{
    return isnan(v) ? 0x7ff8000000000000 : bits64(v);
}

static uint64_t
RH(float v)
{
    _Float16 h = (_Float16)v;
    uint16_t bits;
    memcpy(&bits, &h, 2);
    return isnan(v) ? 0x7fff : bits;
}

static uint64_t
RB(float v)
{
    return pw_m_cvt_rn_bf16_f32(v);
}

static float
ftz(float v)
{
    return fabsf(v) < 0x1p-126f ? copysignf(0, v) : v;
}

static float
hftz(float v)
{
    return fabsf(v) < 0x1p-14f ? copysignf(0, v) : v;
}

static uint64_t
ftz16(uint64_t h)
{
    return h & 0x7c00 ? h : h & 0x8000;
}

// What div.approx and div.full compute; subnormal divisors are scaled, and large ones.
static float
by_reciprocal(float a, float b)
{
    float s = fabsf(b) < 0x1p-126f ? 0x1p24f : fabsf(b) > 0x1p126f ? 0x1p-2f : 1;
    float r = 1 / (b * s);
    return a * s * (fabsf(r) < 0x1p-126f ? copysignf(0, r) : r);
}

// f16, rounded toward zero but for infinity.
static uint64_t
cut16(float v)
{
    return v >= 0x1p16f ? 0x7c00 : pw_m_cvt_rz_f16_f32(v);
}

// The NaN `d`, an f64, in a format of `bits` bits with `mantissa` of them behind the exponent.
static uint64_t
narrowed(uint64_t d, int bits, int mantissa)
{
    uint64_t payload = d >> (52 - mantissa) & ((1ull << mantissa) - 1);
    uint64_t exponent = ((1ull << (bits - 1)) - 1) & ~((1ull << (mantissa - 1)) - 1);
    return (d >> 63) << (bits - 1) | exponent | payload;
}

static float
sat(float v)
{
    return v > 0 ? v < 1 ? v : 1 : 0;
}

static float
relu(float v)
{
    return v > 0 || isnan(v) ? v : 0;
}

static double
fmin64(double a, double b)
{
    if (isnan(a) || isnan(b))
        return isnan(a) ? b : a;
    return a < b || (a == b && signbit(a)) ? a : b;
}

static float
fmin32(float a, float b)
{
    return (float)fmin64(a, b);
}

static int64_t
clamp_to(int64_t v, int bits)
{
    int64_t max = (1ll << (bits - 1)) - 1;
    return v > max ? max : v < -max - 1 ? -max - 1 : v;
}

static int64_t
clamp32(int64_t v)
{
    return clamp_to(v, 32);
}

// Saturating conversion of an integral value; NaN gives 0.
static uint64_t
to_int(double v, int bits, int is_signed)
{
    double limit = ldexp(1, bits - is_signed), low = is_signed ? -limit : 0;
    uint64_t max = ~0ull >> (64 - bits + is_signed);
    if (isnan(v))
        return 0;
    if (v >= limit)
        return max;
    return v <= low ? is_signed ? ~max : 0 : v < 0 ? (uint64_t)(int64_t)v : (uint64_t)v;
}

static int64_t
s24(uint64_t v)
{
    return (int32_t)(v << 8) >> 8;
}

static uint64_t
each16(uint64_t a, uint64_t b, uint16_t (*f)(uint16_t, uint16_t))
{
    return (uint64_t)f((uint16_t)(a >> 16), (uint16_t)(b >> 16)) << 16 |
           f((uint16_t)a, (uint16_t)b);
}

static uint16_t
add16(uint16_t a, uint16_t b)
{
    return (uint16_t)(a + b);
}

static uint16_t
mins16(uint16_t a, uint16_t b)
{
    return (int16_t)a < (int16_t)b ? a : b;
}

static uint16_t
maxu16(uint16_t a, uint16_t b)
{
    return a > b ? a : b;
}

static uint64_t
prmt(uint64_t a, uint64_t b, unsigned sel)
{
    uint64_t pair = b << 32 | a, r = 0;
    for (int k = 0; k < 4; k++) {
        unsigned n = sel >> 4 * k & 15, byte = pair >> 8 * (n & 7) & 0xff;
        r |= (uint64_t)(n & 8 ? byte >> 7 ? 0xff : 0 : byte) << 8 * k;
    }
    return r;
}

static uint64_t
reversed(uint64_t v, int bits)
{
    uint64_t r = 0;
    for (int k = 0; k < bits; k++)
        r |= (v >> k & 1) << (bits - 1 - k);
    return r;
}

static int
top_bit(uint64_t v)
{
    return v ? 63 - __builtin_clzll(v) : -1;
}

// Bit by bit, as the ISA describes it.
static uint64_t
bfe(uint64_t a, unsigned pos, unsigned len, unsigned bits, int is_signed)
{
    unsigned msb = bits - 1, at = pos + len - 1 < msb ? pos + len - 1 : msb;
    uint64_t sign = is_signed && len ? a >> at & 1 : 0, r = 0;
    for (unsigned k = 0; k < bits; k++)
        r |= (k < len && pos + k <= msb ? a >> (pos + k) & 1 : sign) << k;
    return r;
}

static unsigned
at_most(uint64_t v, unsigned max)
{
    return v > max ? max : (unsigned)v;
}

// The 64-bit forms look at all of their operands.
static uint64_t
bfe64(uint64_t a, uint64_t pos, uint64_t len, int is_signed)
{
    return bfe(a, at_most(pos, 64), at_most(len, 64), 64, is_signed);
}

static uint64_t
bfi(uint64_t a, uint64_t b, unsigned pos, unsigned len, unsigned bits)
{
    for (unsigned k = 0; k < len && pos + k < bits; k++)
        b = (b & ~(1ull << (pos + k))) | (a >> k & 1) << (pos + k);
    return b;
}

static uint64_t
bmsk(uint64_t from, uint64_t n)
{
    return U(((1ull << n) - 1) << from);
}

static uint64_t
lop3(uint64_t a, uint64_t b, uint64_t c, unsigned table)
{
    uint64_t r = 0;
    for (int k = 0; k < 32; k++)
        r |= (uint64_t)(table >> ((a >> k & 1) * 4 + (b >> k & 1) * 2 + (c >> k & 1)) & 1) << k;
    return r;
}

static uint64_t
dot(uint64_t a, uint64_t b, uint32_t c, int n, int width, int first, int sa, int sb)
{
    for (int k = 0; k < n; k++) {
        int64_t x = (int64_t)(a >> k * width & ((1u << width) - 1)),
                y = (int64_t)(b >> (first + k) * 8 & 0xff);
        x -= sa && x >> (width - 1) ? 1 << width : 0;
        y -= sb && y >> 7 ? 256 : 0;
        c += (uint32_t)(x * y);
    }
    return c;
}

// ---- video --------------------------------------------------------------------------------------
// Sum of the bytes' differences.
static uint64_t
distance(uint64_t a, uint64_t b)
{
    uint64_t sum = 0;
    for (int k = 0; k < 32; k += 8) {
        int d = (int)(a >> k & 255) - (int)(b >> k & 255);
        sum += (uint64_t)abs(d);
    }
    return sum;
}

// Bytes 0, 1 and 3 of c by 1 where a's is not less than b's, else 0.
static uint64_t
ge_bytes(uint64_t a, uint64_t b, uint64_t c)
{
    for (int k = 0; k < 32; k += k == 8 ? 16 : 8)
        c = (c & ~(255ull << k)) | (uint64_t)((a >> k & 255) >= (b >> k & 255)) << k;
    return c;
}

// ---- cases --------------------------------------------------------------------------------------
#define CASE(name, instruction, signature, expected)                                               \
    static uint64_t want_##name(uint64_t a, uint64_t b, uint64_t c)                                \
    {                                                                                              \
        (void)a, (void)b, (void)c;                                                                 \
        return (uint64_t)(expected);                                                               \
    }
#include "arith_cases.h"
#undef CASE

struct arith_case {
    const char *name, *instruction, *signature;
    uint64_t (*want)(uint64_t a, uint64_t b, uint64_t c);
};

#define CASE(name, instruction, signature, expected) {#name, instruction, signature, want_##name},
static const struct arith_case cases[] = {
#include "arith_cases.h"
};
#undef CASE

// ---- values by kind -----------------------------------------------------------------------------
static const uint64_t v16[] = {0,      1,      2,      5,      31,     0x7f,   0xff,   0x03ff,
                               0x0400, 0x2555, 0x3c00, 0x3c01, 0x4248, 0x477f, 0x7bff, 0x7c00,
                               0x7fff, 0x8000, 0x8001, 0xbc00, 0xc180, 0xfbff, 0xfc00, 0xfe00,
                               0xffff, 0x3f80, 0xbf81, 0x7f7f, 0x7f80};
static const uint64_t v32[] = {
    0,          1,          2,          7,          15,         31,         32,         33,
    255,        0x100,      0x7fff,     0xffff,     0x00800000, 0x12345678, 0x7fffffff, 0x80000000,
    0x80000001, 0xdeadbeef, 0xfffffff0, 0xffffffff, 0x3c00bc01, 0x7c017e00, 0x00ff80ff};
static const uint64_t v64[] = {0,
                               1,
                               3,
                               63,
                               0x7fffffff,
                               0x80000000,
                               0xffffffff,
                               0x100000000,
                               0x1000001000000,
                               0x20000000000001,
                               0x123456789abcdef0,
                               0x7fffffffffffffff,
                               0x8000000000000000,
                               0x8000000000000001,
                               0xfffffffffffffff6,
                               0xffffffffffffffff,
                               0x3f800000c0490fdb,
                               0x7fc00000ff800000};
static const uint64_t vf[] = {
    0x00000000, 0x80000000, 0x00000001, 0x807fffff, 0x00800000, 0x33800000, 0x3effffff,
    0x3f000000, 0x3f800000, 0x3f800001, 0xbf800000, 0x3fc00000, 0x40200000, 0xc0490fdb,
    0x477fefff, 0x477ff000, 0x38800000, 0x387fffff, 0x43000000, 0xc3010000, 0x4effffff,
    0x4f000000, 0xcf000000, 0x4f800000, 0x5f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000,
    0xff800000, 0x7fc00000, 0xffc12345, 0x7f7f8000, 0x3f808000, 0x3f818000};
static const uint64_t vd[] = {
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x800fffffffffffff,
    0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000001, 0x3fe0000000000000,
    0x3ff8000000000000, 0x4004000000000000, 0xc00921fb54442d18, 0x3ff0000010000000,
    0x3ff0000030000001, 0x3ff0020000000001, 0x36a0000000000001, 0x3810000000000000,
    0x41dfffffffe00000, 0x41e0000000000000, 0xc1e0000000200000, 0x43e0000000000000,
    0x47efffffe0000000, 0x47f0000000000000, 0x7fefffffffffffff, 0x7ff0000000000000,
    0xfff0000000000000, 0x7ff8000000000000};
static const uint64_t vp[] = {0, 1};

struct kind {
    char letter;
    const char *reg, *load; // register type and ld.param suffix
    const uint64_t *value;
    size_t n;
};
#define N(v) v, sizeof v / sizeof *v
static const struct kind kinds[] = {
    {'h', "b16", "b16", N(v16)}, {'r', "b32", "b32", N(v32)}, {'l', "b64", "b64", N(v64)},
    {'f', "f32", "f32", N(vf)},  {'d', "f64", "f64", N(vd)},  {'p', "pred", "b32", N(vp)},
};

static const struct kind *
kind_of(char letter)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        if (kinds[k].letter == letter)
            return &kinds[k];
    abort();
}

// ---- PTX ----------------------------------------------------------------------------------------
struct text {
    char buf[4096];
    size_t n;
};

static void __attribute__((format(printf, 2, 3))) say(struct text *t, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    t->n += (size_t)vsnprintf(t->buf + t->n, sizeof t->buf - t->n, fmt, ap);
    va_end(ap);
}

// The instruction with operands D, A, B, C, P where it does not write them itself.
static void
say_instruction(struct text *t, const struct arith_case *c)
{
    const char *at = strchr(c->instruction, ' ');
    if (!at) {
        say(t, "%s %%D", c->instruction);
        for (size_t k = 1; k < strlen(c->signature); k++)
            say(t, ", %%%c", "DABC"[k]);
    } else {
        say(t, "%.*s ", (int)(at - c->instruction), c->instruction);
        for (; *at; at++)
            say(t, *at >= 'A' && *at <= 'P' ? "%%%c" : *at == ';' ? "%c\n" : "%c", *at);
    }
    say(t, ";\n");
}

static void
say_kernel(struct text *t, const struct arith_case *c)
{
    size_t n = strlen(c->signature);
    say(t, ".version 9.0\n.target sm_100a\n.address_size 64\n");
    say(t,
        ".visible .entry k(.param .b64 out, .param .b64 p1, .param .b64 p2, .param .b64 p3)\n{\n");
    say(t, ".reg .b64 %%out;\n.reg .pred %%P;\n.reg .b32 %%t;\nld.param.b64 %%out, [out];\n");
    for (size_t k = 0; k < n; k++)
        say(t, ".reg .%s %%%c;\n", kind_of(c->signature[k])->reg, "DABC"[k]);
    for (size_t k = 1; k < n; k++) {
        const struct kind *kind = kind_of(c->signature[k]);
        if (kind->letter == 'p')
            say(t, "ld.param.b32 %%t, [p%zu];\nsetp.ne.s32 %%%c, %%t, 0;\n", k, "DABC"[k]);
        else
            say(t, "ld.param.%s %%%c, [p%zu];\n", kind->load, "DABC"[k], k);
    }
    say_instruction(t, c);
    const struct kind *d = kind_of(c->signature[0]);
    if (d->letter == 'p')
        say(t, "selp.b32 %%t, 1, 0, %%D;\nst.global.b32 [%%out], %%t;\n");
    else
        say(t, "st.global.%s [%%out], %%D;\n", d->load);
    say(t, "ret;\n}\n");
}

// ---- running ------------------------------------------------------------------------------------
static LLVMModuleRef
emit_text(LLVMContextRef ctx, const struct text *t, const char *name)
{
    static const struct emit_target target = {.sm = 121};
    struct ptx_diags d = {0};
    struct arena a = {0};
    LLVMModuleRef mod = NULL;
    struct ptx_module *m = ptx_parse(t->buf, t->n, name, &d);
    struct ptx_program *p = m ? ptx_link(&m, 1, false, &d) : NULL;
    if (p)
        mod = emit_kernel(ctx, p, ptx_find_kernel(p, "k"), &target, &d);
    ok(mod != NULL, "%s: %s", name, ptx_diags_text(&d, &a, name));
    if (p)
        ptx_program_free(p);
    ptx_diags_free(&d);
    arena_free(&a);
    return mod;
}

// pw.m.x.y is the devlib's pw_m_x_y in this program (linked with its symbols exported).
static void
map_devlib(LLVMExecutionEngineRef ee, LLVMModuleRef mod)
{
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f)) {
        size_t n;
        char name[128];
        snprintf(name, sizeof name, "%s", LLVMGetValueName2(f, &n));
        if (!LLVMIsDeclaration(f) || strncmp(name, "pw.m.", 5))
            continue;
        for (char *s = name; *s; s++)
            *s = *s == '.' ? '_' : *s;
        void *at = dlsym(RTLD_DEFAULT, name);
        ok(at != NULL, "%s is missing in devlib", name);
        if (at)
            LLVMAddGlobalMapping(ee, f, at);
    }
}

// As a backend does: all functions get the host's features (f16 conversions and fma as
// instructions).
static void
use_host(LLVMContextRef ctx, LLVMModuleRef mod)
{
    char *features = LLVMGetHostCPUFeatures();
    LLVMAttributeRef a =
        LLVMCreateStringAttribute(ctx, "target-features", 15, features, (unsigned)strlen(features));
    for (LLVMValueRef f = LLVMGetFirstFunction(mod); f; f = LLVMGetNextFunction(f))
        if (!LLVMIsDeclaration(f))
            LLVMAddAttributeAtIndex(f, (LLVMAttributeIndex)LLVMAttributeFunctionIndex, a);
    LLVMDisposeMessage(features);
}

typedef void kernel_fn(void *pw, const uint64_t *params);

static uint64_t
masked(const struct kind *kind, uint64_t v)
{
    if (kind->letter == 'd' && isnan(float64(v)))
        return 0x7ff8000000000000;
    return kind->letter == 'h' ? (uint16_t)v : strchr("rfp", kind->letter) ? (uint32_t)v : v;
}

static void
run_values(const struct arith_case *c, kernel_fn *fn)
{
    size_t n = strlen(c->signature) - 1, count[3] = {1, 1, 1}, bad = 0;
    const struct kind *src[3] = {0}, *dst = kind_of(c->signature[0]);
    for (size_t k = 0; k < n; k++) {
        src[k] = kind_of(c->signature[k + 1]);
        count[k] = src[k]->n;
    }
    for (size_t at = 0; at < count[0] * count[1] * count[2]; at++) {
        size_t index[3] = {at % count[0], at / count[0] % count[1], at / count[0] / count[1]};
        uint64_t v[3] = {0}, got = 0;
        for (size_t k = 0; k < n; k++)
            v[k] = src[k]->value[index[k]];
        fn(NULL, (uint64_t[]){(uint64_t)&got, v[0], v[1], v[2]});
        uint64_t want = masked(dst, c->want(v[0], v[1], v[2]));
        got = masked(dst, got);
        if (got != want && bad++ < 3)
            ok(0, "%s %#" PRIx64 " %#" PRIx64 " %#" PRIx64 ": got %#" PRIx64 ", want %#" PRIx64,
               c->instruction, v[0], v[1], v[2], got, want);
    }
    ok(!bad, "%s: %zu wrong of %zu", c->name, bad, count[0] * count[1] * count[2]);
}

// With the calls of pw.m.nan.f32 where emit_sink_nans puts them, and LLVM's own simplifications.
static void
optimise(LLVMModuleRef mod)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef error = LLVMRunPasses(mod, "function(sroa,instcombine)", NULL, o);
    ok(!error, "passes before");
    emit_sink_nans(mod);
    error = LLVMRunPasses(mod, "function(instcombine,simplifycfg)", NULL, o);
    ok(!error, "passes after");
    LLVMDisposePassBuilderOptions(o);
}

static void
run_case(const struct arith_case *c, int optimised)
{
    struct text t = {0};
    say_kernel(&t, c);
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef mod = emit_text(ctx, &t, c->name);
    char *error = NULL;
    LLVMExecutionEngineRef ee = NULL;
    if (mod && optimised)
        optimise(mod);
    if (mod && LLVMVerifyModule(mod, LLVMReturnStatusAction, &error))
        ok(0, "%s: %s", c->name, error);
    else if (mod && !LLVMCreateJITCompilerForModule(&ee, mod, optimised, &error)) {
        use_host(ctx, mod);
        map_devlib(ee, mod);
        run_values(c, (kernel_fn *)LLVMGetFunctionAddress(ee, "k"));
        LLVMDisposeExecutionEngine(ee);
    } else if (mod) {
        ok(0, "%s: %s", c->name, error);
    }
    LLVMDisposeMessage(error);
    LLVMContextDispose(ctx);
}

static void
run_all(int optimised)
{
    const char *only = getenv("ARITH_CASE");
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMLinkInMCJIT();
    for (size_t k = 0; k < sizeof cases / sizeof *cases; k++)
        if (!only || !strcmp(only, cases[k].name))
            run_case(&cases[k], optimised);
}

static void
as_emitted(void)
{
    run_all(0);
}

static void
optimised(void)
{
    run_all(1);
}

CHECK_MAIN(T(as_emitted), T(optimised))
