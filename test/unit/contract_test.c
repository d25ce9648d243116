// SPDX-License-Identifier: MIT
// Contraction of mul and add: each case of apps/parts/contraction_cases.h from PTX text through
// emit and LLVM's JIT.
#include <dlfcn.h>

#include <llvm-c/Analysis.h>
#include <llvm-c/ExecutionEngine.h>
#include <llvm-c/Target.h>

#include "apps/parts/contraction_cases.h"
#include "base/vec.h"
#include "check.h"
#include "emit/emit.h"

enum { INPUTS = 16 };

struct kind {
    const char *name;
    int bits, bytes; // significant bits; of a register
    bool pair;
    const char *const *body;
    unsigned (*want)(int bits, unsigned i, double *r, double *s);
};

#define BODY(T, B, body, r, s) body,
#define KIND(type, bits, bytes, pair)                                                              \
    {                                                                                              \
        #type, bits, bytes, pair, (const char *const[]){CONTRACTION_##type(BODY) NULL},            \
            contraction_want_##type                                                                \
    }
static const struct kind kinds[] = {
    KIND(f32, 24, 4, false), KIND(f64, 53, 8, false),  KIND(f16, 11, 2, false),
    KIND(bf16, 8, 2, false), KIND(f16x2, 11, 4, true), KIND(bf16x2, 8, 4, true),
};

// ---- the kernel of a kind -----------------------------------------------------------------------
static char *text; // vec

static void __attribute__((format(printf, 1, 2))) say(const char *fmt, ...)
{
    char line[1024];
    va_list ap;
    va_start(ap, fmt);
    int n = vsnprintf(line, sizeof line, fmt, ap);
    va_end(ap);
    for (int k = 0; k < n; k++)
        vec_push(text, line[k]);
}

static void
say_case(const struct kind *k, unsigned n)
{
    int bits = k->bytes * 8;
    say("{ .reg .b%d a,b,c,d,e,p,q,t,u,v,w,r,s;\n", bits);
    for (int i = 0; i < 5; i++)
        say("ld.global.b%d %c, [%%in+%d];\n", bits, "abcde"[i], i * k->bytes);
    say("mov.b%d s, e;\n%s\n", bits, k->body[n]);
    say("st.global.b%d [%%out+%u], r; st.global.b%d [%%out+%u], s; }\n", bits, 16 * n, bits,
        16 * n + 8);
}

static void
say_kernel(const struct kind *k, unsigned cases)
{
    vec_clear(text);
    say(".version 8.7\n.target sm_90\n.address_size 64\n"
        ".visible .entry k(.param .u64 in, .param .u64 out)\n{\n"
        ".reg .b64 %%in, %%out; .reg .pred g, h;\n"
        "ld.param.u64 %%in, [in]; ld.param.u64 %%out, [out];\n"
        "setp.ne.s64 g, %%in, 0; setp.eq.s64 h, %%in, 0;\n");
    for (unsigned n = 0; n < cases; n++)
        say_case(k, n);
    say("ret;\n}\n");
}

// ---- running ------------------------------------------------------------------------------------
static LLVMModuleRef
emit_text(LLVMContextRef ctx, bool fmad)
{
    static const struct emit_target target = {.sm = 121};
    struct ptx_diags d = {0};
    struct arena a = {0};
    LLVMModuleRef mod = NULL;
    struct ptx_module *m = ptx_parse(text, vec_len(text), "t.ptx", &d);
    if (m)
        m->no_fmad = !fmad;
    struct ptx_program *p = m ? ptx_link(&m, 1, false, &d) : NULL;
    if (p)
        mod = emit_kernel(ctx, p, ptx_find_kernel(p, "k"), &target, &d);
    ok(mod != NULL, "%s", ptx_diags_text(&d, &a, "t.ptx"));
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

// As a backend does: f16 conversions and fma are instructions.
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
typedef void judge_fn(const struct kind *k, kernel_fn *fn, unsigned cases);

static void
with_kernel(const struct kind *k, bool fmad, judge_fn *judge)
{
    static double r[CONTRACTION_CASES_MAX], s[CONTRACTION_CASES_MAX];
    unsigned cases = k->want(k->bits, 0, r, s);
    say_kernel(k, cases);
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef mod = emit_text(ctx, fmad);
    LLVMExecutionEngineRef ee = NULL;
    char *error = NULL;
    if (mod && LLVMVerifyModule(mod, LLVMReturnStatusAction, &error)) {
        ok(0, "%s: %s", k->name, error);
    } else if (mod && !LLVMCreateJITCompilerForModule(&ee, mod, 1, &error)) {
        use_host(ctx, mod);
        map_devlib(ee, mod);
        judge(k, (kernel_fn *)LLVMGetFunctionAddress(ee, "k"), cases);
        LLVMDisposeExecutionEngine(ee);
    }
    LLVMDisposeMessage(error);
    LLVMContextDispose(ctx);
}

// Runs test number i; results are 2 words a case.
static void
run(const struct kind *k, kernel_fn *fn, unsigned i, uint64_t *out)
{
    _Alignas(8) char in[5 * 8];
    for (unsigned n = 0; n < 5; n++) {
        uint64_t v = contraction_pattern(k->bits, contraction_input(k->bits, i, n));
        v = k->pair ? v | v << 16 : v;
        memcpy(in + n * (unsigned)k->bytes, &v, (size_t)k->bytes);
    }
    memset(out, 0, 2 * CONTRACTION_CASES_MAX * sizeof *out);
    fn(NULL, (uint64_t[]){(uintptr_t)in, (uintptr_t)out});
}

static void
judge_all(const struct kind *k, kernel_fn *fn, unsigned cases)
{
    double want[2][CONTRACTION_CASES_MAX];
    static uint64_t out[2 * CONTRACTION_CASES_MAX];
    for (unsigned i = 0; i < INPUTS; i++) {
        k->want(k->bits, i, want[0], want[1]);
        run(k, fn, i, out);
        for (unsigned n = 0; n < 2 * cases; n++) {
            uint64_t v = contraction_pattern(k->bits, want[n & 1][n / 2]);
            v = k->pair ? v | v << 16 : v;
            ok(out[n] == v, "%s %c of '%s': got %#llx, want %#llx", k->name, "rs"[n & 1],
               k->body[n / 2], (unsigned long long)out[n], (unsigned long long)v);
        }
    }
}

static void
contracts(void)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        with_kernel(&kinds[k], true, judge_all);
}

// The first case is a * b + c.
static void
judge_plain(const struct kind *k, kernel_fn *fn, unsigned cases)
{
    static uint64_t out[2 * CONTRACTION_CASES_MAX];
    unsigned differ = 0;
    (void)cases;
    for (unsigned i = 0; i < INPUTS; i++) {
        double in[3];
        for (unsigned n = 0; n < 3; n++)
            in[n] = contraction_input(k->bits, i, n);
        double product = contraction_mul(k->bits, in[0], in[1]);
        uint64_t v = contraction_pattern(k->bits, contraction_add(k->bits, product, in[2]));
        differ += product != in[0] * in[1];
        run(k, fn, i, out);
        ok(out[0] == (k->pair ? v | v << 16 : v), "%s: contracted", k->name);
    }
    ok(k->bits == 53 || differ > 0, "%s: the inputs tell nothing", k->name);
}

static void
can_be_forbidden(void)
{
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
        with_kernel(&kinds[k], false, judge_plain);
}

static void
everything(void)
{
    LLVMInitializeNativeTarget();
    LLVMInitializeNativeAsmPrinter();
    LLVMLinkInMCJIT();
    contracts();
    can_be_forbidden();
}

CHECK_MAIN(T(everything))
