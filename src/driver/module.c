// SPDX-License-Identifier: MIT
// Modules: code in a context.
#include "driver/module.h"
#include "api_impl.h"
#include "base/options.h"

#include <string.h>

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")

// ---- life -----------------------------------------------------------------
CUresult
module_new(struct context *c, struct code *code, struct library *lib, struct module **out)
{
    struct module *m = object_new(OBJ_MODULE, sizeof *m);
    m->ctx = c;
    m->code = code_ref(code);
    m->lib = lib;
    m->launcher = module_launcher(m);
    pthread_mutex_init(&m->lock, NULL);
    if (vec_len(code->entry))
        vec_extend(m->functions, vec_len(code->entry));
    CUresult r = variables_make(m);
    pthread_mutex_lock(&c->lock);
    vec_push(c->modules, m);
    pthread_mutex_unlock(&c->lock);
    if (r != CUDA_SUCCESS) {
        m->lib = NULL; // not in its list yet
        module_free(m);
        return r;
    }
    *out = m;
    return CUDA_SUCCESS;
}

void
module_free(struct module *m)
{
    object_retire(m);
    pthread_mutex_lock(&m->ctx->lock);
    for (size_t i = 0; i < vec_len(m->ctx->modules); i++)
        if (m->ctx->modules[i] == m) {
            vec_swap_remove(m->ctx->modules, i);
            break;
        }
    pthread_mutex_unlock(&m->ctx->lock);
    if (m->lib)
        library_forget(m->lib, m);
    for (size_t i = 0; i < vec_len(m->functions); i++)
        if (m->functions[i])
            function_free(m->functions[i]);
    vec_free(m->functions);
    variables_free(m);
    code_unref(m->code);
    pthread_mutex_destroy(&m->lock);
    object_free(m);
}

static struct function *
function_new(struct module *m, unsigned index)
{
    struct function *fn = object_new(OBJ_FUNCTION, sizeof *fn);
    fn->mod = m;
    fn->func = m->code->entry[index];
    fn->kernel = m->lib ? m->lib->kernels[index] : NULL;
    pthread_mutex_init(&fn->lock, NULL);
    for (unsigned i = 0; i < FUNC_ATTRIBUTES; i++)
        fn->attribute[i] = ATTRIBUTE_UNSET;
    ptx_kernel_info(m->code->program, fn->func, &fn->info);
    return fn;
}

struct function *
module_function(struct module *m, unsigned index)
{
    struct function *fn = __atomic_load_n(&m->functions[index], __ATOMIC_ACQUIRE);
    if (fn)
        return fn;
    pthread_mutex_lock(&m->lock);
    fn = m->functions[index];
    if (!fn) {
        fn = function_new(m, index);
        __atomic_store_n(&m->functions[index], fn, __ATOMIC_RELEASE);
    }
    pthread_mutex_unlock(&m->lock);
    return fn;
}

// ---- loading --------------------------------------------------------------
static CUresult
load(struct context *c, struct code_source *src, struct jit *j, CUmodule *out)
{
    struct code *code;
    struct module *m;
    CUresult r = code_new(src, j, &code);
    if (r != CUDA_SUCCESS)
        return r;
    r = module_new(c, code, NULL, &m);
    code_unref(code);
    if (r == CUDA_SUCCESS)
        *out = (CUmodule)m;
    return r;
}

static CUresult
load_image(CUmodule *out, const void *image, const char *path, struct jit *j)
{
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r != CUDA_SUCCESS)
        return r;
    struct code_source *src = NULL;
    int sm = device_cc(c->dev, NULL);
    r = path ? source_add_file(&src, path, sm, j) : source_add(&src, image, 0, NULL, sm, j);
    if (r == CUDA_SUCCESS)
        r = load(c, src, j, out);
    source_free(src);
    jit_done(j);
    return r;
}

CUresult
pw_cuModuleLoad(CUmodule *out, const char *path)
{
    NEED(out);
    NEED(path);
    struct jit j;
    jit_read(&j, 0, NULL, NULL);
    return load_image(out, NULL, path, &j);
}

CUresult
pw_cuModuleLoadDataEx(CUmodule *out, const void *image, unsigned n, CUjit_option *option,
                      void **value)
{
    NEED(out);
    NEED(image);
    struct jit j;
    CUresult r = jit_read(&j, n, option, value);
    return r == CUDA_SUCCESS ? load_image(out, image, NULL, &j) : r;
}

CUresult
pw_cuModuleLoadData(CUmodule *out, const void *image)
{
    return pw_cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

CUresult
pw_cuModuleLoadFatBinary(CUmodule *out, const void *image)
{
    return pw_cuModuleLoadDataEx(out, image, 0, NULL, NULL);
}

CUresult
pw_cuModuleUnload(CUmodule module)
{
    struct module *m = object_get(module, OBJ_MODULE);
    if (!m)
        return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no module", (void *)module);
    if (m->lib)
        return fail(CUDA_ERROR_NOT_PERMITTED, "the module belongs to a library");
    object_retire(m);
    streams_wait(m->ctx);
    module_free(m);
    return CUDA_SUCCESS;
}

CUresult
pw_cuModuleGetLoadingMode(CUmoduleLoadingMode *mode)
{
    NEED(mode);
    *mode = CU_MODULE_LAZY_LOADING;
    return CUDA_SUCCESS;
}

// ---- contents -------------------------------------------------------------
#define NEED_MODULE(m, handle)                                                                     \
    struct module *m = object_get(handle, OBJ_MODULE);                                             \
    if (!m)                                                                                        \
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no module", (void *)handle)

CUresult
pw_cuModuleGetFunction(CUfunction *out, CUmodule module, const char *name)
{
    NEED(out);
    NEED(name);
    NEED_MODULE(m, module);
    unsigned i;
    if (!code_find(m->code, name, &i))
        return fail(CUDA_ERROR_NOT_FOUND, "no kernel %s in code %s", name, m->code->name);
    *out = (CUfunction)module_function(m, i);
    return CUDA_SUCCESS;
}

CUresult
pw_cuModuleGetFunctionCount(unsigned *count, CUmodule module)
{
    NEED(count);
    NEED_MODULE(m, module);
    *count = (unsigned)vec_len(m->code->entry);
    return CUDA_SUCCESS;
}

CUresult
pw_cuModuleEnumerateFunctions(CUfunction *functions, unsigned n, CUmodule module)
{
    NEED(functions);
    NEED_MODULE(m, module);
    for (unsigned i = 0; i < n && i < vec_len(m->code->entry); i++)
        functions[i] = (CUfunction)module_function(m, i);
    return CUDA_SUCCESS;
}

CUresult
pw_cuModuleGetGlobal_v2(CUdeviceptr *addr, size_t *bytes, CUmodule module, const char *name)
{
    NEED(name);
    NEED_MODULE(m, module);
    const struct module_var *v = variable_find(m, name);
    if (!v)
        return fail(CUDA_ERROR_NOT_FOUND, "no variable %s in code %s", name, m->code->name);
    if (addr)
        *addr = v->addr;
    if (bytes)
        *bytes = v->size;
    return CUDA_SUCCESS;
}

// Addresses of the first interface have 32 bits.
CUresult
pw_cuModuleGetGlobal(CUdeviceptr_v1 *addr, unsigned *bytes, CUmodule module, const char *name)
{
    CUdeviceptr a;
    size_t n;
    CUresult r = pw_cuModuleGetGlobal_v2(&a, &n, module, name);
    if (r != CUDA_SUCCESS)
        return r;
    if (addr && a > UINT32_MAX)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "%s is not within the first 4 GiB", name);
    if (addr)
        *addr = (CUdeviceptr_v1)a;
    if (bytes)
        *bytes = (unsigned)n;
    return CUDA_SUCCESS;
}
