// SPDX-License-Identifier: MIT
// From a function to the backend's kernel: SIMT IR on a cache miss, addresses of variables, the
// key.
#include "driver/module.h"
#include "emit/emit.h"

#include <stdio.h>
#include <string.h>

static LLVMModuleRef
emit(void *user, LLVMContextRef ctx, const struct emit_target *target, int *error)
{
    struct function *f = user;
    struct code *code = f->mod->code;
    struct emit_target t = *target;
    t.sm = device_cc(f->mod->ctx->dev, NULL);
    struct ptx_diags d = {0};
    pthread_mutex_lock(&code->emit_lock);
    LLVMModuleRef m = emit_kernel(ctx, code->program, f->func, &t, &d);
    pthread_mutex_unlock(&code->emit_lock);
    if (!m || vec_len(d.list)) {
        struct arena a = {0};
        const char *text = ptx_diags_text(&d, &a, f->func->sym->module->name);
        if (m)
            LOG(LOG_COMPILE, "%s: %s", f->func->sym->name, text);
        else
            LOG(LOG_UNSUPPORTED, "kernel %s: %s", f->func->sym->name, text);
        arena_free(&a);
    }
    ptx_diags_free(&d);
    *error = m ? BE_OK : BE_NOT_SUPPORTED;
    return m;
}

static uint64_t
resolve(void *user, const char *symbol)
{
    const struct function *f = user;
    const struct module *m = f->mod;
    const struct module_var *v = strmap_get(&m->vars, symbol);
    if (!strcmp(symbol, "const.begin"))
        return (uintptr_t)m->block[0].base;
    if (!strcmp(symbol, "const.end"))
        return (uintptr_t)m->block[0].base + m->constants;
    return v ? v->addr : 0;
}

static struct hash128
key_of(const struct function *f)
{
    const char *name = f->func->sym->name;
    unsigned rest[2] = {emit_version, (unsigned)device_cc(f->mod->ctx->dev, NULL)};
    struct hash128 h = hash128_more(f->mod->code->key, name, strlen(name));
    return hash128_more(h, rest, sizeof rest);
}

// Kernels are compiled for a shape of block; the first serves whoever asks about the function.
static CUresult
compile_locked(struct function *f, const struct launch_hint *hint, struct backend_kernel **out)
{
    struct context *c = f->mod->ctx;
    char dump_name[192];
    snprintf(dump_name, sizeof dump_name, "%s.%.128s", f->mod->code->name, f->func->sym->name);
    struct compile_request r = {
        .kernel = f->func->sym->name,
        .key = key_of(f),
        .optimize = f->mod->code->optimize,
        .hint = *hint,
        .emit = emit,
        .resolve = resolve,
        .user = f,
        .dump_name = dump_name,
    };
    f->failed = (CUresult)c->dev->be->compile(c->scope, &r, out);
    if (f->failed != CUDA_SUCCESS)
        return fail(f->failed, "kernel %s could not be compiled", f->func->sym->name);
    vec_push(f->kernels, *out);
    if (!f->compiled)
        __atomic_store_n(&f->compiled, *out, __ATOMIC_RELEASE);
    __atomic_store_n(&f->latest, *out, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
}

static bool
fits(const struct function *f, struct backend_kernel *k, const struct launch_hint *hint)
{
    const struct backend *be = f->mod->ctx->dev->be;
    return k && (!be->kernel_fits || be->kernel_fits(k, hint));
}

static struct backend_kernel *
find_kernel(const struct function *f, const struct launch_hint *hint)
{
    for (size_t i = 0; i < vec_len(f->kernels); i++)
        if (fits(f, f->kernels[i], hint))
            return f->kernels[i];
    return NULL;
}

CUresult
function_kernel(struct function *f, const struct launch_hint *hint, struct backend_kernel **out)
{
    *out = __atomic_load_n(&f->latest, __ATOMIC_ACQUIRE);
    if (fits(f, *out, hint))
        return CUDA_SUCCESS;
    pthread_mutex_lock(&f->lock);
    CUresult r = f->failed;
    *out = find_kernel(f, hint);
    if (r == CUDA_SUCCESS && !*out)
        r = compile_locked(f, hint, out);
    else if (*out)
        __atomic_store_n(&f->latest, *out, __ATOMIC_RELEASE);
    pthread_mutex_unlock(&f->lock);
    return r;
}

CUresult
function_compile(struct function *f)
{
    static const struct launch_hint any = {0};
    struct backend_kernel *k;
    return function_kernel(f, &any, &k);
}
