// SPDX-License-Identifier: MIT
// Runs the conformance forms on the first device of whatever driver it is given: driver API and public header only.
//   runner record DIR FILE [FILTER]   writes the device's answers
//   runner check DIR FILE [FILTER]    compares the device's answers with recorded ones; status 1 if a form differs
// DIR: what gen/conformance.py made. FILTER: only forms whose name begins with it. CONFORMANCE_PART=k/n: every n-th module only, from the k-th
// on (0 is the first). docs/conformance.md says more.
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "conformance.h"
#include "polywarp/cuda.h"

enum { BLOCK = 128 };
static const char mark[] = "// kernel ";

struct device {
    CUdevice dev;
    CUcontext context;
    CUdeviceptr in, out;
    size_t in_size, out_size; // bytes
    CUmodule module;          // of `module_name`, NULL if it is refused as a whole
    char *text, module_name[16];
    char message[512]; // of the last refusal
};

struct tally {
    unsigned forms, equal, differ, refused, failed, unknown;
    unsigned long long cases;
};

static _Noreturn void
die(const char *what, ...)
{
    va_list args;
    va_start(args, what);
    fflush(stdout);
    vfprintf(stderr, what, args);
    fputc('\n', stderr);
    va_end(args);
    exit(2);
}

static void
must(CUresult e, const char *what)
{
    const char *name = "?";
    if (e == CUDA_SUCCESS)
        return;
    cuGetErrorName(e, &name);
    die("%s: %s", what, name);
}
#define CK(x) must((x), #x)

static char *
read_text(const char *dir, const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *f = fopen(path, "rb");
    if (!f)
        die("cannot read %s", path);
    fseek(f, 0, SEEK_END);
    long size = ftell(f);
    rewind(f);
    char *s = calloc(1, (size_t)size + 1);
    if (fread(s, 1, (size_t)size, f) != (size_t)size)
        die("cannot read %s", path);
    fclose(f);
    return s;
}

// ---- the manifest -------------------------------------------------------------------------------
static unsigned
read_types(char *list, const struct value_type **types, const char *form)
{
    unsigned n = 0;
    char *save = NULL;
    if (!strcmp(list, "-"))
        return 0;
    for (char *s = strtok_r(list, ",", &save); s; s = strtok_r(NULL, ",", &save)) {
        if (n == MAX_WORDS || !(types[n++] = type_named(s)))
            die("%s: type %s", form, s);
    }
    return n;
}

struct part {
    unsigned k, n;
    unsigned modules; // seen so far
    char last[16];    // the module before
};

// Does the part have this module? The manifest is in the order of modules.
static bool
part_has(struct part *p, const char *module)
{
    if (strcmp(p->last, module)) {
        snprintf(p->last, sizeof p->last, "%s", module);
        p->modules++;
    }
    return (p->modules - 1) % p->n == p->k;
}

static struct part
part_wanted(void)
{
    struct part p = {.n = 1};
    const char *s = getenv("CONFORMANCE_PART");
    if (s && (sscanf(s, "%u/%u", &p.k, &p.n) != 2 || p.k >= p.n))
        die("CONFORMANCE_PART=%s", s);
    return p;
}

static struct form *
read_manifest(const char *dir, const char *filter, size_t *count)
{
    char *text = read_text(dir, "manifest"), *save = NULL, in[512], out[512];
    size_t n = 0, room = 16384;
    struct part part = part_wanted();
    struct form *forms = calloc(room, sizeof *forms);
    for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
        struct form *f = &forms[n];
        if (sscanf(line, "%95s %15s %u %u %31s %511s %511s", f->name, f->module, &f->edges, &f->randoms, f->approx, in, out) != 7)
            die("manifest: %s", line);
        if (!part_has(&part, f->module) || (filter && strncmp(f->name, filter, strlen(filter))))
            continue;
        f->nin = read_types(in, f->in, f->name);
        f->nout = read_types(out, f->out, f->name);
        if (++n == room)
            die("more than %zu forms", room - 1);
    }
    free(text);
    *count = n;
    return forms;
}

// ---- the device -----------------------------------------------------------------------------------
static void
device_open(struct device *d)
{
    CK(cuDeviceGet(&d->dev, 0));
    CK(cuDevicePrimaryCtxRetain(&d->context, d->dev));
    CK(cuCtxSetCurrent(d->context));
    d->in = d->out = 0;
    d->in_size = d->out_size = 0;
    d->module = NULL;
    d->module_name[0] = 0;
}

// After a failed kernel nothing works in its context.
static void
device_reopen(struct device *d)
{
    cuDevicePrimaryCtxReset(d->dev);
    cuDevicePrimaryCtxRelease(d->dev);
    free(d->text);
    d->text = NULL;
    device_open(d);
}

static void
grow(CUdeviceptr *p, size_t *size, size_t need)
{
    if (*size >= need)
        return;
    if (*p)
        cuMemFree(*p);
    CK(cuMemAlloc(p, need));
    *size = need;
}

static CUresult
load(struct device *d, const char *text, CUmodule *m)
{
    char *line;
    CUjit_option option[] = {CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};
    void *value[] = {d->message, (void *)(uintptr_t)(sizeof d->message - 1)};
    memset(d->message, 0, sizeof d->message);
    CUresult e = cuModuleLoadDataEx(m, text, 2, option, value);
    if ((line = strchr(d->message, '\n')))
        *line = 0;
    return e;
}

static void
use_module(struct device *d, const char *dir, const char *name)
{
    if (!strcmp(d->module_name, name))
        return;
    if (d->module)
        cuModuleUnload(d->module);
    free(d->text);
    d->text = read_text(dir, name);
    snprintf(d->module_name, sizeof d->module_name, "%s", name);
    if (load(d, d->text, &d->module) != CUDA_SUCCESS)
        d->module = NULL;
}

// The module's text with one kernel only. The caller frees it.
static char *
kernel_alone(const char *text, const char *name)
{
    char key[128];
    snprintf(key, sizeof key, "%s%s\n", mark, name);
    const char *head = strstr(text, mark), *from = strstr(text, key);
    if (!from)
        die("no kernel %s in its module", name);
    const char *end = strstr(from + strlen(mark), mark);
    size_t before = (size_t)(head - text), size = end ? (size_t)(end - from) : strlen(from);
    char *s = calloc(1, before + size + 1);
    memcpy(s, text, before);
    memcpy(s + before, from, size);
    return s;
}

// The form's function; *own: a module made for it alone, which the caller unloads.
static CUresult
find_function(struct device *d, const struct form *f, CUfunction *fn, CUmodule *own)
{
    *own = NULL;
    if (d->module && cuModuleGetFunction(fn, d->module, f->name) == CUDA_SUCCESS)
        return CUDA_SUCCESS;
    char *text = kernel_alone(d->text, f->name);
    CUresult e = load(d, text, own);
    free(text);
    return e ? e : cuModuleGetFunction(fn, *own, f->name);
}

static enum answer_state
run(struct device *d, const struct form *f, const uint64_t *in, unsigned cases, uint64_t *out)
{
    CUfunction fn;
    CUmodule own;
    size_t in_size = (size_t)cases * f->nin * 8, out_size = (size_t)cases * f->nout * 8;
    if (find_function(d, f, &fn, &own) != CUDA_SUCCESS) {
        if (own)
            cuModuleUnload(own);
        return REFUSED;
    }
    grow(&d->in, &d->in_size, in_size);
    grow(&d->out, &d->out_size, out_size);
    CK(cuMemcpyHtoD(d->in, in, in_size));
    CK(cuMemsetD8(d->out, 0, out_size));
    void *args[] = {&d->in, &d->out};
    CUresult e = cuLaunchKernel(fn, cases / BLOCK, 1, 1, BLOCK, 1, 1, 0, NULL, args, NULL);
    if (e != CUDA_SUCCESS) {
        const char *name = "?";
        cuGetErrorName(e, &name);
        snprintf(d->message, sizeof d->message, "%s at its launch", name);
        if (own)
            cuModuleUnload(own);
        return REFUSED;
    }
    bool fine = cuCtxSynchronize() == CUDA_SUCCESS && cuMemcpyDtoH(out, d->out, out_size) == CUDA_SUCCESS;
    if (fine && own)
        cuModuleUnload(own);
    if (!fine)
        device_reopen(d);
    return fine ? ANSWERED : FAILED;
}

// ---- comparing ----------------------------------------------------------------------------------
static void
show_words(const char *label, const struct value_type *const *types, const uint64_t *w, unsigned n)
{
    printf("    %-6s", label);
    for (unsigned k = 0; k < n && k < 16; k++) {
        printf(" %0*llx", (int)(type_bits(types[k]) + 3) / 4, (unsigned long long)w[k]);
        if (type_is_float(types[k]) && type_lanes(types[k]) == 1)
            printf("(%.9g)", type_double(types[k], w[k], 0));
    }
    printf("%s\n", n > 16 ? " ..." : "");
}

// Cases of the form in which the answers differ, as far as is known; *first: the first of them, or the first of its chunk.
static unsigned
differences(const struct form *f, const struct answer *want, const uint64_t *in, const uint64_t *got, unsigned *first, bool *known, double *error)
{
    unsigned count = 0, words = f->nout;
    bool approx = f->approx[0] != '-';
    *known = true;
    for (unsigned i = 0; i < want->nraw; i++) {
        const uint64_t *a = got + (size_t)i * words, *b = want->words + (size_t)i * words;
        bool same = approx ? bounds_hold(f, in + (size_t)i * f->nin, a[0], b[0], &error[0], &error[1]) : !memcmp(a, b, words * sizeof *a);
        if (!same && !count++)
            *first = i;
    }
    if (want->complete || approx)
        return count;
    for (unsigned c = 0; c < want->cases / CHUNK; c++) {
        unsigned from = c * CHUNK;
        if (hash_words(got + (size_t)from * words, (size_t)CHUNK * words) == want->hash[c] || from + CHUNK <= want->nraw)
            continue;
        if (from < want->nraw && count)
            continue;
        if (!count++) {
            *first = from < want->nraw ? want->nraw : from;
            *known = false;
        }
    }
    return count;
}

static bool
compare(const struct form *f, const struct answer *want, const uint64_t *in, unsigned cases, const uint64_t *got, struct tally *t)
{
    unsigned first = 0;
    bool known;
    double error[2] = {0, 0};
    if (want->cases != cases || want->nout != f->nout || want->inputs != hash_words(in, (size_t)cases * f->nin)) {
        printf("%s: the recorded answers are to other inputs: record anew\n", f->name);
        t->unknown++;
        return false;
    }
    unsigned n = differences(f, want, in, got, &first, &known, error);
    if (f->approx[0] != '-' && getenv("CONFORMANCE_ERRORS"))
        printf("%s: largest error %.3f of the bound, recorded %.3f\n", f->name, error[0], error[1]);
    if (!n)
        return true;
    printf("%s: %u %s of %u differ%s%u:\n", f->name, n, known ? "cases" : "chunks", cases, known ? "; first: case " : "; one of 256 from case ", first);
    show_words("inputs", f->in, in + (size_t)first * f->nin, f->nin);
    show_words("ours", f->out, got + (size_t)first * f->nout, f->nout);
    if (known)
        show_words("theirs", f->out, want->words + (size_t)first * f->nout, f->nout);
    return false;
}

static void
check_form(const struct form *f, const struct answer *want, enum answer_state state, const uint64_t *in, unsigned cases, const uint64_t *got,
           const char *message, struct tally *t)
{
    if (!want) {
        printf("%s: not recorded\n", f->name);
        t->unknown++;
    } else if (state == want->state && state != ANSWERED) {
        t->equal++;
    } else if (state != ANSWERED) {
        printf("%s: %s: %s\n", f->name, state == REFUSED ? "refused" : "failed", state == REFUSED ? message : "the kernel ended with an error");
        state == REFUSED ? t->refused++ : t->failed++;
    } else if (want->state != ANSWERED) {
        printf("%s: answered here, but %s when recorded\n", f->name, want->state == REFUSED ? "refused" : "failed");
        t->unknown++;
    } else if (compare(f, want, in, cases, got, t)) {
        t->equal++;
    } else {
        t->differ++;
    }
    t->cases += state == ANSWERED ? cases : 0;
}

// ---- the whole ------------------------------------------------------------------------------------
static char *
describe(const struct device *d)
{
    char name[128] = "?", date[32], *s = malloc(512);
    int version = 0, major = 0, minor = 0;
    time_t now = time(NULL);
    cuDeviceGetName(name, sizeof name, d->dev);
    cuDriverGetVersion(&version);
    cuDeviceGetAttribute(&major, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR, d->dev);
    cuDeviceGetAttribute(&minor, CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR, d->dev);
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    snprintf(s, 512, "device: %s, compute capability %d.%d\ndriver: %d\ndate: %s\n", name, major, minor, version, date);
    return s;
}

static void
run_form(struct device *d, const char *dir, const struct form *f, const struct answers *known, struct answers *record, struct tally *t)
{
    unsigned cases;
    uint64_t *in = inputs_make(f, &cases), *out = calloc((size_t)cases * f->nout, sizeof *out);
    use_module(d, dir, f->module);
    enum answer_state state = run(d, f, in, cases, out);
    if (record) {
        answers_add(record, f, state, cases, hash_words(in, (size_t)cases * f->nin), out, f->approx[0] != '-');
        if (state != ANSWERED)
            printf("%s: %s: %s\n", f->name, state == REFUSED ? "refused" : "failed", d->message);
        state == REFUSED ? t->refused++ : state == FAILED ? t->failed++ : t->equal++;
        t->cases += state == ANSWERED ? cases : 0;
    } else {
        check_form(f, answers_find(known, f->name), state, in, cases, out, d->message, t);
    }
    t->forms++;
    free(in);
    free(out);
}

int
main(int argc, char **argv)
{
    bool recording = argc > 3 && !strcmp(argv[1], "record");
    struct device d = {.text = NULL};
    struct answers known = {0}, made = {0};
    struct tally t = {0};
    size_t n;
    if (argc < 4 || (!recording && strcmp(argv[1], "check")))
        die("usage: %s record|check DIR FILE [FILTER]", argv[0]);
    const char *bounds = getenv("CONFORMANCE_BOUNDS");
    if (!bounds_read(bounds ? bounds : "test/ptx/bounds.tab"))
        die("cannot read bounds.tab: run in the source folder, or set CONFORMANCE_BOUNDS");
    if (!recording && !answers_read(&known, argv[3]))
        die("%s: no answers, or damaged", argv[3]);
    struct form *forms = read_manifest(argv[2], argc > 4 ? argv[4] : NULL, &n);
    CK(cuInit(0));
    device_open(&d);
    made.about = describe(&d);
    printf("%s", recording ? made.about : known.about);
    for (size_t i = 0; i < n; i++)
        run_form(&d, argv[2], &forms[i], &known, recording ? &made : NULL, &t);
    if (recording && !answers_write(&made, argv[3]))
        die("cannot write %s", argv[3]);
    printf("%u forms, %llu cases: %u %s, %u differ, %u refused, %u failed, %u without a recorded answer\n", t.forms, t.cases, t.equal,
           recording ? "answered" : "equal", t.differ, t.refused, t.failed, t.unknown);
    answers_free(&known);
    answers_free(&made);
    free(forms);
    free(d.text);
    return t.differ || t.failed;
}
