// SPDX-License-Identifier: MIT
// Compilation: SIMT IR -> lowered -> optimised -> object -> loaded. Each compilation has an LLVM
// context of its own, so that threads do not wait for each other. LLVM's fatal errors end the
// compilation, not the process.
#include "backend/cpu/jit.h"
#include "backend/cpu/cache.h"
#include "backend/cpu/cold_nans.h"
#include "backend/cpu/load.h"
#include "backend/cpu/lower.h"
#include "backend/cpu/target.h"
#include "backend/cpu/warp/warp.h"
#include "base/log.h"
#include "base/options.h"

#include <llvm-c/Analysis.h>
#include <llvm-c/ErrorHandling.h>
#include <llvm-c/Transforms/PassBuilder.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// ---- errors of LLVM
// ------------------------------------------------------------------------------------------------
static _Thread_local jmp_buf *fatal_exit;

// What LLVM held at that point is lost; its locks are not held here.
static void
on_fatal(const char *reason)
{
    log_error("LLVM gives up: %s", reason);
    if (fatal_exit)
        longjmp(*fatal_exit, 1);
}

struct diagnostics {
    const char *kernel;
    bool error;
};

static void
on_diagnostic(LLVMDiagnosticInfoRef info, void *user)
{
    struct diagnostics *d = user;
    LLVMDiagnosticSeverity severity = LLVMGetDiagInfoSeverity(info);
    char *text = LLVMGetDiagInfoDescription(info);
    if (severity == LLVMDSError) {
        d->error = true;
        log_error("kernel %s: %s", d->kernel, text);
    } else if (severity == LLVMDSWarning) {
        LOG(LOG_COMPILE, "kernel %s: %s", d->kernel, text);
    }
    LLVMDisposeMessage(text);
}

// ---- stages
// -----------------------------------------------------------------------------------------------------------
struct build {
    const struct compile_request *r;
    LLVMContextRef ctx;
    LLVMModuleRef m;
    LLVMTargetMachineRef tm;
    LLVMMemoryBufferRef object;
    struct diagnostics diag;
    struct shared_layout shared;
    struct warp_result warp;
    int error;
    uint64_t at; // when the last stage ended
};

static void
stage_done(struct build *b, const char *name)
{
    uint64_t now = rt_clock();
    LOG(LOG_COMPILE, "kernel %s: %s %.2f ms", b->r->kernel, name, (double)(now - b->at) / 1e6);
    b->at = now;
}

static bool
verified(struct build *b, const char *when)
{
    char *why = NULL;
    bool bad = LLVMVerifyModule(b->m, LLVMReturnStatusAction, &why);
    if (bad)
        log_error("kernel %s: invalid IR %s: %s", b->r->kernel, when, why);
    LLVMDisposeMessage(why);
    return !bad;
}

static bool
emit(struct build *b)
{
    b->error = BE_JIT_FAILED;
    b->m = b->r->emit(b->r->user, b->ctx, target_emit(), &b->error);
    if (!b->m)
        return false;
    b->error = BE_JIT_FAILED;
    LLVMSetTarget(b->m, target_emit()->triple);
    LLVMSetDataLayout(b->m, target_emit()->data_layout);
    dump_module(b->r, "ir", ".simt.ll", b->m);
    stage_done(b, "emit");
    return verified(b, "from emit");
}

static bool
run_passes(struct build *b, const char *passes)
{
    LLVMPassBuilderOptionsRef o = LLVMCreatePassBuilderOptions();
    LLVMErrorRef e = LLVMRunPasses(b->m, passes, b->tm, o);
    LLVMDisposePassBuilderOptions(o);
    if (!e)
        return true;
    char *text = LLVMGetErrorMessage(e);
    log_error("kernel %s: %s", b->r->kernel, text);
    LLVMDisposeErrorMessage(text);
    return false;
}

// Registers into SSA form, so that NaNs are made canonical where they leave a computation and not after every operation.
static bool
promoted(struct build *b)
{
    if (!run_passes(b, "function(sroa)"))
        return false;
    emit_sink_nans(b->m);
    return true;
}

static bool
lowered(struct build *b)
{
    if (!lower(b->m, b->r->kernel, &b->shared)) {
        b->error = BE_JIT_FAILED;
        return false;
    }
    dump_module(b->r, "ir", ".ll", b->m);
    stage_done(b, "lower");
    return verified(b, "after lowering");
}

static bool
wants_warp(void)
{
    return strcmp(opt_text(OPT_CPU_MODE), "thread") != 0;
}

// Of a launch that is not known: the commonest.
static uint32_t
shape_of_request(const struct compile_request *r)
{
    static const uint32_t usual[3] = {256, 1, 1};
    return warp_shape(r->hint.block[0] ? r->hint.block : usual);
}

static bool
vectorised(struct build *b)
{
    if (!wants_warp() || b->r->optimize < 1)
        return true;
    const struct warp_request r = {shape_of_request(b->r), b->tm, target_registers(), b->r->hint.params, b->r->hint.param_size};
    b->warp = warp_vectorise(b->m, b->r->kernel, &r);
    dump_module(b->r, "ir", ".warp.ll", b->m);
    stage_done(b, "vectorise");
    return verified(b, "after vectorisation");
}

static bool
optimised(struct build *b)
{
    char passes[64];
    int level = b->r->optimize < 0 ? 0 : b->r->optimize > 3 ? 3 : b->r->optimize;
    snprintf(passes, sizeof passes, "default<O%d>,globaldce", level);
    if (!run_passes(b, passes))
        return false;
    struct kernel_facts known = {
        .lanes = b->warp.lanes,
        .shape = shape_of_request(b->r),
        .rows = b->warp.rows,
        .lane_threads = b->warp.threads,
        .nborders = b->warp.nborders,
        .on_borders = b->warp.on_borders,
    };
    memcpy(known.border, b->warp.border, sizeof known.border);
    if (level)
        cold_nans(b->m);
    lower_facts(b->m, &b->shared, &known);
    dump_module(b->r, "opt", ".opt.ll", b->m);
    stage_done(b, "optimise");
    return verified(b, "after optimisation");
}

static bool
generated(struct build *b)
{
    char *error = NULL;
    dump_assembly(b->r, b->tm, b->m);
    if (LLVMTargetMachineEmitToMemoryBuffer(b->tm, b->m, LLVMObjectFile, &error, &b->object)) {
        log_error("kernel %s: %s", b->r->kernel, error);
        LLVMDisposeMessage(error);
        return false;
    }
    stage_done(b, "generate");
    return !b->diag.error;
}

static bool
run_stages(struct build *b)
{
    return emit(b) && promoted(b) && lowered(b) && vectorised(b) && optimised(b) && generated(b);
}

static void
build_end(struct build *b)
{
    if (b->object)
        LLVMDisposeMemoryBuffer(b->object);
    if (b->m)
        LLVMDisposeModule(b->m);
    LLVMDisposeTargetMachine(b->tm);
    LLVMContextDispose(b->ctx);
}

static void *
copy_object(const struct build *b, size_t *size)
{
    *size = LLVMGetBufferSize(b->object);
    void *copy = malloc(*size);
    if (copy) {
        memcpy(copy, LLVMGetBufferStart(b->object), *size);
        dump_object(b->r, copy, *size);
    }
    return copy;
}

// False also when LLVM gave up half-way: then `ended` is false, and what it was working on stays,
// its state being unknown.
static bool
run_guarded(struct build *b, bool *ended)
{
    jmp_buf here;
    *ended = false;
    if (setjmp(here)) {
        fatal_exit = NULL;
        return false;
    }
    fatal_exit = &here;
    bool ok = run_stages(b);
    fatal_exit = NULL;
    *ended = true;
    return ok;
}

// The object in malloc'ed memory, or NULL with *error.
static void *
build_object(const struct compile_request *r, size_t *size, int *error)
{
    struct build *b = calloc(1, sizeof *b);
    bool ended;
    *error = BE_OUT_OF_MEMORY;
    if (!b)
        return NULL;
    *b = (struct build){
        .r = r, .diag = {.kernel = r->kernel}, .error = BE_JIT_FAILED, .at = rt_clock()};
    b->ctx = LLVMContextCreate();
    b->tm = target_machine_new(r->optimize);
    LLVMContextSetDiagnosticHandler(b->ctx, on_diagnostic, &b->diag);
    void *object = run_guarded(b, &ended) ? copy_object(b, size) : NULL;
    *error = b->error ? b->error : BE_JIT_FAILED;
    if (ended) {
        build_end(b);
        free(b);
    }
    return object;
}

// ---- kernels
// ----------------------------------------------------------------------------------------------------------
static struct backend_kernel *
kernel_new(const struct compile_request *r, const void *object, size_t size)
{
    struct backend_kernel *k = calloc(1, sizeof *k);
    if (!k || !(k->name = strdup(r->kernel)) || !(k->code = code_load(r, object, size))) {
        cpu_kernel_free(k);
        return NULL;
    }
    memcpy(&k->facts, k->code->facts, sizeof k->facts);
    if (k->facts.version != RT_VERSION) {
        cpu_kernel_free(k);
        return NULL;
    }
    k->fn = (kernel_fn *)(uintptr_t)k->code->kernel;
    k->info = (struct kernel_info){
        .static_shared = k->facts.static_shared,
        .local_bytes = k->facts.local_bytes,
        .num_regs = 32, // a CPU has its own; the number keeps occupancy estimates of programs sane
        .max_threads = RT_MAX_THREADS,
        .code_bytes = (uint32_t)k->code->text_size,
    };
    return k;
}

static struct hash128
object_key(const struct compile_request *r, bool off_borders)
{
    struct hash128 host = target_hash(), key = hash128_more(r->key, &host, sizeof host);
    uint32_t mode[4] = {(uint32_t)r->optimize, wants_warp(), wants_warp() ? shape_of_request(r) : 0, off_borders};
    return hash128_more(key, mode, sizeof mode);
}

static pthread_once_t once = PTHREAD_ONCE_INIT;

// LLVM's own state goes away when the process ends: no compilation may be under way then.
static struct {
    pthread_mutex_t lock;
    pthread_cond_t left;
    unsigned running;
    bool stop;
} compilations = {.lock = PTHREAD_MUTEX_INITIALIZER, .left = PTHREAD_COND_INITIALIZER};

static bool
enter(void)
{
    pthread_mutex_lock(&compilations.lock);
    bool may = !compilations.stop;
    compilations.running += may;
    pthread_mutex_unlock(&compilations.lock);
    return may;
}

static void
leave(void)
{
    pthread_mutex_lock(&compilations.lock);
    if (!--compilations.running)
        pthread_cond_broadcast(&compilations.left);
    pthread_mutex_unlock(&compilations.lock);
}

static void
stop_compiling(void)
{
    struct timespec end;
    clock_gettime(CLOCK_REALTIME, &end);
    end.tv_sec += 10; // rather a crash at the end than no end
    pthread_mutex_lock(&compilations.lock);
    compilations.stop = true;
    while (compilations.running && !pthread_cond_timedwait(&compilations.left, &compilations.lock, &end))
        ;
    pthread_mutex_unlock(&compilations.lock);
}

// LLVM makes some of its tables when it first generates code.
static void
generate_something(void)
{
    LLVMContextRef ctx = LLVMContextCreate();
    LLVMModuleRef m = LLVMModuleCreateWithNameInContext("first", ctx);
    LLVMTypeRef i32 = LLVMInt32TypeInContext(ctx);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
    LLVMValueRef f = LLVMAddFunction(m, "first", LLVMFunctionType(i32, &i32, 1, 0));
    LLVMTargetMachineRef tm = target_machine_new(0);
    LLVMMemoryBufferRef object = NULL;
    char *error = NULL;
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(ctx, f, ""));
    LLVMBuildRet(b, LLVMBuildAdd(b, LLVMGetParam(f, 0), LLVMGetParam(f, 0), ""));
    if (!LLVMTargetMachineEmitToMemoryBuffer(tm, m, LLVMObjectFile, &error, &object))
        LLVMDisposeMemoryBuffer(object);
    LLVMDisposeMessage(error);
    LLVMDisposeTargetMachine(tm);
    LLVMDisposeBuilder(b);
    LLVMDisposeModule(m);
    LLVMContextDispose(ctx);
}

static pthread_once_t ready_once = PTHREAD_ONCE_INIT;

// Handlers run in the reverse order: ours before the destructors of LLVM's tables.
static void
get_ready(void)
{
    generate_something();
    atexit(stop_compiling);
}

static void
begin(void)
{
    LLVMInstallFatalErrorHandler(on_fatal);
}

static bool
is_off_borders(const struct kernel_facts *f)
{
    return f->nborders && !f->on_borders;
}

static struct backend_kernel *
from_cache(const struct compile_request *r, bool off_borders)
{
    size_t size = 0;
    void *object = cache_get(cache_default(), object_key(r, off_borders), &size);
    struct backend_kernel *k = object ? kernel_new(r, object, size) : NULL;
    if (k && !cpu_kernel_fits(k, &r->hint)) {
        cpu_kernel_free(k);
        k = NULL;
    }
    if (k) {
        LOG(LOG_COMPILE, "kernel %s: from the cache, %zu bytes", r->kernel, size);
        dump_object(r, object, size);
    }
    free(object);
    return k;
}

static int
compile(const struct compile_request *r, struct backend_kernel **out)
{
    if ((*out = from_cache(r, false)) || (*out = from_cache(r, true)))
        return BE_OK;
    pthread_once(&ready_once, get_ready);
    size_t size = 0;
    int error = BE_JIT_FAILED;
    void *object = build_object(r, &size, &error);
    if (!object)
        return error;
    *out = kernel_new(r, object, size);
    if (*out)
        cache_put(cache_default(), object_key(r, is_off_borders(&(*out)->facts)), object, size);
    free(object);
    return *out ? BE_OK : BE_JIT_FAILED;
}

int
cpu_compile(struct backend_scope *s, const struct compile_request *r, struct backend_kernel **out)
{
    (void)s;
    *out = NULL;
    if (!target_init())
        return BE_JIT_FAILED;
    pthread_once(&once, begin);
    if (!enter())
        return BE_JIT_FAILED; // the process ends
    int e = compile(r, out);
    leave();
    return e;
}

void
cpu_kernel_free(struct backend_kernel *k)
{
    if (!k)
        return;
    code_free(k->code);
    free(k->name);
    free(k);
}

bool
cpu_kernel_fits(struct backend_kernel *k, const struct launch_hint *h)
{
    const struct kernel_facts *f = &k->facts;
    if (!f->lanes || !h->block[0])
        return true;
    if (f->shape != warp_shape(h->block))
        return false;
    return !f->nborders || on_borders(f->border, f->nborders, f->lanes, h->params, h->param_size) == f->on_borders;
}

const struct kernel_info *
cpu_kernel_info(struct backend_kernel *k)
{
    return &k->info;
}
