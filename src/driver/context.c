// SPDX-License-Identifier: MIT
// Contexts: their life, the stack of current contexts of each thread, and the calls about both.
// State that programs query and set is in context_state.c, primary contexts in primary.c.
#include "driver/driver.h"
#include "driver/module.h"
#include "api_impl.h"

#include <stdlib.h>

_Thread_local struct tls tls;

// ---- life -----------------------------------------------------------------
struct context *
ctx_new(struct device *d, bool primary)
{
    struct context *c = object_new(OBJ_CONTEXT, sizeof *c);
    c->dev = d;
    c->primary = primary;
    c->api_version = 3020;
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->lock, NULL);
    pthread_mutex_init(&c->order, NULL);
    return c;
}

void
ctx_ref(struct context *c)
{
    atomic_fetch_add(&c->refs, 1);
}

void
ctx_unref(struct context *c)
{
    if (atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    pthread_mutex_destroy(&c->lock);
    pthread_mutex_destroy(&c->order);
    coredump_free(c);
    object_free(c);
}

static void
default_limits(struct context *c)
{
    c->limit[CU_LIMIT_STACK_SIZE] = 1024;
    c->limit[CU_LIMIT_PRINTF_FIFO_SIZE] = 1 << 20;
    c->limit[CU_LIMIT_MALLOC_HEAP_SIZE] = 8 << 20;
    c->limit[CU_LIMIT_DEV_RUNTIME_PENDING_LAUNCH_COUNT] = 2048;
    c->limit[CU_LIMIT_MAX_L2_FETCH_GRANULARITY] = 64;
}

CUresult
ctx_activate(struct context *c, unsigned flags)
{
    c->scope = c->dev->be->scope_new(c->dev->bd);
    if (!c->scope)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "the %s backend gave no context", c->dev->be->name);
    c->flags = flags;
    c->peers = 0;
    c->cache_config = CU_FUNC_CACHE_PREFER_NONE;
    c->shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
    default_limits(c);
    c->alive = true;
    c->legacy = stream_new(c, CU_STREAM_DEFAULT, STREAM_PRIORITY_LEAST, true);
    if (!c->legacy) {
        c->alive = false;
        c->dev->be->scope_free(c->scope);
        c->scope = NULL;
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "no legacy stream");
    }
    LOG(LOG_INFO, "context %llu on device %d", (unsigned long long)c->obj.id, c->dev->ordinal);
    return CUDA_SUCCESS;
}

static struct module *
last_module(struct context *c)
{
    pthread_mutex_lock(&c->lock);
    size_t n = vec_len(c->modules);
    struct module *m = n ? c->modules[n - 1] : NULL;
    pthread_mutex_unlock(&c->lock);
    return m;
}

void
ctx_teardown(struct context *c)
{
    if (!c->alive)
        return;
    storage_destroy(c);
    streams_wait(c);
    c->alive = false;
    streams_free(c);
    struct module *m;
    while ((m = last_module(c)))
        module_free(m);
    vec_free(c->modules);
    mem_forget_context(c);
    c->dev->be->scope_free(c->scope);
    c->scope = NULL;
}

// ---- the current context --------------------------------------------------
static pthread_key_t thread_end;
static pthread_once_t thread_once = PTHREAD_ONCE_INIT;

static void
drop_stack(void *unused)
{
    (void)unused;
    while (vec_len(tls.stack))
        ctx_unref(vec_pop(tls.stack));
    vec_free(tls.stack);
}

static void
make_key(void)
{
    pthread_key_create(&thread_end, drop_stack);
}

static void
push(struct context *c)
{
    pthread_once(&thread_once, make_key);
    pthread_setspecific(thread_end, &tls);
    ctx_ref(c);
    vec_push(tls.stack, c);
}

struct context *
ctx_current(void)
{
    return vec_len(tls.stack) ? tls.stack[vec_len(tls.stack) - 1] : NULL;
}

struct context *
ctx_get(CUcontext handle)
{
    return object_get(handle, OBJ_CONTEXT);
}

CUresult
ctx_from_handle(CUcontext handle, struct context **out)
{
    struct context *c = handle ? ctx_get(handle) : ctx_current();
    if (!c)
        return CUDA_ERROR_INVALID_CONTEXT;
    if (!c->alive)
        return CUDA_ERROR_CONTEXT_IS_DESTROYED;
    *out = c;
    return CUDA_SUCCESS;
}

CUresult
ctx_need(struct context **out)
{
    struct context *c;
    CUresult r = ctx_from_handle(NULL, &c);
    if (r == CUDA_SUCCESS)
        r = (CUresult)c->dev->be->scope_error(c->scope);
    if (r == CUDA_SUCCESS)
        *out = c;
    return r;
}

// ---- waiting --------------------------------------------------------------
CUresult
ctx_synchronize(struct context *c)
{
    return streams_wait(c);
}

CUresult
pw_cuCtxSynchronize_v2(CUcontext ctx)
{
    struct context *c;
    CUresult r = ctx_from_handle(ctx, &c);
    if (r == CUDA_SUCCESS)
        r = capture_check_context(c);
    return r != CUDA_SUCCESS ? r : ctx_synchronize(c);
}

CUresult
pw_cuCtxSynchronize(void)
{
    return pw_cuCtxSynchronize_v2(NULL);
}

// ---- creation and destruction ---------------------------------------------
bool
ctx_flags_valid(unsigned flags)
{
    unsigned sched = flags & CU_CTX_SCHED_MASK;
    return !(flags & ~(unsigned)CU_CTX_FLAGS_MASK) && !(sched & (sched - 1));
}

static CUresult
check_create_params(const CUctxCreateParams *p)
{
    if (!p)
        return CUDA_SUCCESS;
    if (p->execAffinityParams && p->numExecAffinityParams > 0)
        return fail(CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY, "no execution affinity");
    if (p->cigParams)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "no contexts shared with graphics");
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxCreate_v4(CUcontext *out, CUctxCreateParams *params, unsigned flags, CUdevice dev)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "context is NULL");
    if (!ctx_flags_valid(flags))
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    struct device *d = device_get(dev);
    if (!d)
        return fail(CUDA_ERROR_INVALID_DEVICE, "device %d of %d", dev, process.ndevices);
    CUresult r = check_create_params(params);
    if (r != CUDA_SUCCESS)
        return r;
    struct context *c = ctx_new(d, false);
    r = ctx_activate(c, flags);
    if (r != CUDA_SUCCESS) {
        ctx_unref(c);
        return r;
    }
    push(c);
    *out = (CUcontext)c;
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxCreate_v3(CUcontext *out, CUexecAffinityParam *affinity, int n, unsigned flags,
                  CUdevice dev)
{
    CUctxCreateParams p = {.execAffinityParams = affinity, .numExecAffinityParams = n};
    return pw_cuCtxCreate_v4(out, &p, flags, dev);
}

CUresult
pw_cuCtxCreate_v2(CUcontext *out, unsigned flags, CUdevice dev)
{
    return pw_cuCtxCreate_v4(out, NULL, flags, dev);
}

CUresult
pw_cuCtxCreate(CUcontext *out, unsigned flags, CUdevice dev)
{
    CUresult r = pw_cuCtxCreate_v4(out, NULL, flags, dev);
    if (r == CUDA_SUCCESS)
        ctx_get(*out)->api_version = 3010;
    return r;
}

CUresult
pw_cuCtxDestroy_v2(CUcontext ctx)
{
    struct context *c = ctx_get(ctx);
    if (!c)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", (void *)ctx);
    if (c->green)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "the context belongs to a green context");
    if (c->primary)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "a primary context is released, not destroyed");
    object_retire(c);
    ctx_teardown(c);
    if (ctx_current() == c)
        ctx_unref(vec_pop(tls.stack));
    ctx_unref(c);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxDestroy(CUcontext ctx)
{
    return pw_cuCtxDestroy_v2(ctx);
}

// The former usage count of a context: attached once at creation.
CUresult
pw_cuCtxAttach(CUcontext *out, unsigned flags)
{
    if (!out || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "context %p, flags %u", (void *)out, flags);
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        *out = (CUcontext)c;
    return r;
}

CUresult
pw_cuCtxDetach(CUcontext ctx)
{
    return pw_cuCtxDestroy_v2(ctx);
}

// ---- the stack ------------------------------------------------------------
CUresult
pw_cuCtxPushCurrent_v2(CUcontext ctx)
{
    struct context *c = ctx_get(ctx);
    if (!c)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", (void *)ctx);
    push(c);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxPushCurrent(CUcontext ctx)
{
    return pw_cuCtxPushCurrent_v2(ctx);
}

CUresult
pw_cuCtxPopCurrent_v2(CUcontext *out)
{
    struct context *c = ctx_current();
    if (!c)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "no context is current");
    if (out)
        *out = (CUcontext)c;
    ctx_unref(vec_pop(tls.stack));
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxPopCurrent(CUcontext *out)
{
    return pw_cuCtxPopCurrent_v2(out);
}

// Replaces the top of the stack; NULL takes it off.
CUresult
pw_cuCtxSetCurrent(CUcontext ctx)
{
    struct context *c = ctx_get(ctx);
    if (ctx && !c)
        return fail(CUDA_ERROR_INVALID_CONTEXT, "%p is no context", (void *)ctx);
    if (c && c == ctx_current())
        return CUDA_SUCCESS;
    if (vec_len(tls.stack))
        ctx_unref(vec_pop(tls.stack));
    if (c)
        push(c);
    return CUDA_SUCCESS;
}

CUresult
pw_cuCtxGetCurrent(CUcontext *out)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "context is NULL");
    *out = (CUcontext)ctx_current();
    return CUDA_SUCCESS;
}
