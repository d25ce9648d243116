// SPDX-License-Identifier: MIT
// Errors of approximate instructions: sweeps every form over dense inputs on whatever driver is there and compares with exact results.
//   approx BOUNDS [--all] [--stride N] [--form PREFIX]
// One line a form and range of bounds.tab: form, range of the operand's absolute value, documented bound, inputs, largest error in ulp, the
// same in the bound's unit, the input where it is largest, and inputs with a wrong special value (NaN, infinity) with the first of them.
// --all: every pattern of 32 bits (and as many pairs); otherwise every N-th (257).
#include "forms.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "polywarp/cuda.h"

enum { CHUNK = 1 << 24, BLOCK = 256, THREADS_MAX = 64 };

static void
check(CUresult e, const char *what)
{
    const char *name = "?";
    if (e == CUDA_SUCCESS)
        return;
    cuGetErrorName(e, &name);
    fprintf(stderr, "%s: %s\n", what, name);
    exit(2);
}
#define CK(x) check((x), #x)

// What was found in one range.
struct found {
    uint64_t inputs, wrong, first_wrong, at;
    double ulp, error; // largest; `error` in the bound's unit: ulp, or a plain number for absolute and relative
};

struct part {
    const struct form *form;
    bool ftz;
    int digits, least; // of the result's format: significant bits, exponent of the least normal number
    double least_normal, overflow;
    const struct bound *const *bound;
    unsigned nbound;
    const void *result;
    uint64_t first, stride;
    uint32_t from, to; // cases of the chunk
    struct found found[RANGES_MAX];
};

static int
range_of(const struct part *p, const double v[2])
{
    for (unsigned k = 0; k < p->nbound; k++) {
        double a = fabs(v[p->bound[k]->operand]);
        if (a >= p->bound[k]->least && a <= p->bound[k]->most)
            return (int)k;
    }
    return -1;
}

static bool
special_is_right(double got, double want)
{
    if (want != want || got != got)
        return want != want && got != got;
    return !isinf(want) || got == want;
}

// Infinities stand for the first number that is too large, so that rounding across the end of the range counts as the error it is.
static double
bounded(double x, double end)
{
    return x > end ? end : x < -end ? -end : x;
}

// Distance of neighbouring numbers at x: 2^(exponent - digits + 1), not below that of the least normal number.
static double
ulp_at(const struct part *p, double x)
{
    uint64_t bits;
    memcpy(&bits, &x, 8);
    int e = (int)(bits >> 52 & 0x7ff) - 1023;
    e = (e > p->least ? e : p->least) - p->digits + 1;
    if (e < -1022)
        return ldexp(1, e);
    bits = (uint64_t)(e + 1023) << 52;
    memcpy(&x, &bits, 8);
    return x;
}

static void
note(struct found *f, uint64_t n, double ulp, double error)
{
    f->ulp = ulp > f->ulp ? ulp : f->ulp;
    if (error <= f->error)
        return;
    f->error = error;
    f->at = n;
}

// The error in the bound's unit. Relative errors of results below the least normal number are taken of that.
static double
measure(const struct part *p, int range, double error, double want, double ulp)
{
    switch (p->bound[range]->unit) {
    case 'u':
        return ulp;
    case 'a':
        return error;
    default:
        return error / fmax(fabs(want), p->least_normal);
    }
}

// Is there nothing to measure? Counts wrong NaNs and infinities.
static bool
is_special(const struct part *p, struct found *f, uint64_t n, double got, double want)
{
    f->inputs++;
    if (!special_is_right(got, want)) {
        f->first_wrong = f->wrong++ ? f->first_wrong : n;
        return true;
    }
    if (want != want || isinf(want))
        return true;
    return got == 0 && p->ftz && fabs(want) < p->least_normal; // flushed
}

static void
judge(struct part *p, uint64_t n, uint32_t bits)
{
    double v[2], got = form_result(p->form, bits);
    form_inputs(p->form, n, v);
    int k = range_of(p, v);
    if (k < 0)
        return;
    double want = p->form->exact ? p->form->exact(v[0]) : v[0] / v[1];
    if (is_special(p, &p->found[k], n, got, want))
        return;
    got = bounded(got, p->overflow);
    want = bounded(want, p->overflow);
    double error = fabs(got - want), ulp = error / ulp_at(p, want);
    note(&p->found[k], n, ulp, measure(p, k, error, want, ulp));
}

// The same for f64, where the exact result needs more bits.
static void
judge_f64(struct part *p, uint64_t n, uint64_t bits)
{
    double v[2], got = form_result(p->form, bits);
    form_inputs(p->form, n, v);
    int k = range_of(p, v);
    if (k < 0)
        return;
    long double want = p->form->exact_long(v[0]);
    if (is_special(p, &p->found[k], n, got, (double)want))
        return;
    double error = (double)fabsl(got - want), ulp = error / ulp_at(p, (double)want);
    note(&p->found[k], n, ulp, measure(p, k, error, (double)want, ulp));
}

static void *
judge_part(void *arg)
{
    struct part *p = arg;
    for (uint32_t i = p->from; i < p->to; i++) {
        uint64_t n = p->first + i * p->stride;
        if (p->form->format == F64)
            judge_f64(p, n, ((const uint64_t *)p->result)[i]);
        else
            judge(p, n, ((const uint32_t *)p->result)[i]);
    }
    return NULL;
}

static void
merge(struct found *all, const struct found *more)
{
    if (more->wrong && !all->wrong)
        all->first_wrong = more->first_wrong;
    all->inputs += more->inputs;
    all->wrong += more->wrong;
    all->ulp = fmax(all->ulp, more->ulp);
    if (more->error > all->error) {
        all->error = more->error;
        all->at = more->at;
    }
}

// Compares a chunk of `n` results on all processors.
static void
judge_chunk(const struct part *model, uint32_t n, struct found *found)
{
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    unsigned threads = cores < 1 ? 1 : cores > THREADS_MAX ? THREADS_MAX : (unsigned)cores;
    pthread_t thread[THREADS_MAX];
    static struct part part[THREADS_MAX];
    for (unsigned t = 0; t < threads; t++) {
        part[t] = *model;
        part[t].from = (uint32_t)((uint64_t)n * t / threads);
        part[t].to = (uint32_t)((uint64_t)n * (t + 1) / threads);
        if (pthread_create(&thread[t], NULL, judge_part, &part[t]))
            exit(2);
    }
    for (unsigned t = 0; t < threads; t++) {
        pthread_join(thread[t], NULL);
        for (unsigned k = 0; k < model->nbound; k++)
            merge(&found[k], &part[t].found[k]);
    }
}

static void
print(const struct part *p, const struct found *found)
{
    static const char *const units[] = {['u'] = "ulp", ['a'] = "absolute", ['r'] = "relative"};
    for (unsigned k = 0; k < p->nbound; k++) {
        const struct bound *b = p->bound[k];
        const struct found *f = &found[k];
        double size = b->unit == 'u' ? b->size : exp2(b->size);
        printf("%s\t%d:%g..%g\t%s %.6g\t%llu\t%.4f\t%.6g\t%#llx\t%llu", p->form->instruction, b->operand, b->least, b->most,
               units[(unsigned char)b->unit], size, (unsigned long long)f->inputs, f->ulp, f->error, (unsigned long long)f->at,
               (unsigned long long)f->wrong);
        printf(f->wrong ? "\t%#llx\n" : "\t-\n", (unsigned long long)f->first_wrong);
    }
    fflush(stdout);
}

static void
sweep(const struct form *f, uint64_t stride, CUdeviceptr dev, void *host)
{
    const struct bound *bound[RANGES_MAX];
    struct found found[RANGES_MAX] = {0};
    struct part p = {.form = f, .bound = bound, .nbound = bounds_of(f, bound), .result = host, .ftz = form_ftz(f)};
    form_format(f, &p.digits, &p.least, &p.overflow);
    p.least_normal = ldexp(1, p.least);
    char text[4096];
    CUmodule m;
    CUfunction k;
    form_ptx(f, text, sizeof text);
    CK(cuModuleLoadData(&m, text));
    CK(cuModuleGetFunction(&k, m, "k"));
    if (f->input == ALL_16)
        stride = 1;
    uint64_t cases = form_cases(f) / stride + (form_cases(f) % stride != 0);
    for (uint64_t done = 0; done < cases; done += CHUNK) {
        uint32_t n = cases - done < CHUNK ? (uint32_t)(cases - done) : CHUNK;
        p.first = done * stride;
        p.stride = stride;
        void *args[] = {&dev, &p.first, &stride, &n};
        CK(cuLaunchKernel(k, (n + BLOCK - 1) / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, args, NULL));
        CK(cuMemcpyDtoH(host, dev, (size_t)n * (f->format == F64 ? 8 : 4)));
        judge_chunk(&p, n, found);
    }
    print(&p, found);
    CK(cuModuleUnload(m));
}

static void
print_device(CUdevice d, uint64_t stride)
{
    char name[256], date[32];
    int version;
    time_t now = time(NULL);
    CK(cuDeviceGetName(name, sizeof name, d));
    CK(cuDriverGetVersion(&version));
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    printf("# %s, driver %d.%d, %s, stride %llu\n", name, version / 1000, version % 1000 / 10, date, (unsigned long long)stride);
    printf("# form\toperand:range\tbound\tinputs\tulp\terror\tat\twrong\tfirst wrong\n");
}

int
main(int argc, char **argv)
{
    uint64_t stride = 257;
    const char *only = "";
    if (argc < 2 || !bounds_read(argv[1])) {
        fprintf(stderr, "usage: approx bounds.tab [--all] [--stride N] [--form PREFIX]\n");
        return 2;
    }
    for (int i = 2; i < argc; i++) {
        if (!strcmp(argv[i], "--all"))
            stride = 1;
        else if (!strcmp(argv[i], "--stride") && i + 1 < argc)
            stride = strtoull(argv[++i], NULL, 10);
        else if (!strcmp(argv[i], "--form") && i + 1 < argc)
            only = argv[++i];
    }
    stride = stride ? stride : 1;
    CUdevice d;
    CUcontext c;
    CUdeviceptr dev;
    void *host;
    CK(cuInit(0));
    CK(cuDeviceGet(&d, 0));
    CK(cuDevicePrimaryCtxRetain(&c, d));
    CK(cuCtxSetCurrent(c));
    CK(cuMemAlloc(&dev, (size_t)CHUNK * 8));
    CK(cuMemAllocHost(&host, (size_t)CHUNK * 8));
    print_device(d, stride);
    for (unsigned i = 0; i < nforms; i++)
        if (!strncmp(forms[i].instruction, only, strlen(only)))
            sweep(&forms[i], stride, dev, host);
    return 0;
}
