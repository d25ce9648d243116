// SPDX-License-Identifier: MIT
// Libraries: code without a context, which becomes a module in each context where it is used. Fat
// binaries are parsed when something of them is first asked for; bare PTX at once, so that its
// errors come from the load.
#include "driver/module.h"
#include "api_impl.h"
#include "image/image.h"

#define NEED(p)                                                                                    \
    if (!(p))                                                                                      \
    return fail(CUDA_ERROR_INVALID_VALUE, #p " is NULL")
#define NEED_LIBRARY(lib, handle)                                                                  \
    struct library *lib = object_get(handle, OBJ_LIBRARY);                                         \
    if (!lib)                                                                                      \
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no library", (void *)handle)

// ---- parsing --------------------------------------------------------------
static void
make_kernels(struct library *lib)
{
    for (size_t i = 0; i < vec_len(lib->code->entry); i++) {
        struct kernel *k = object_new(OBJ_KERNEL, sizeof *k);
        k->lib = lib;
        k->func = lib->code->entry[i];
        k->index = (unsigned)i;
        for (unsigned a = 0; a < FUNC_ATTRIBUTES; a++)
            k->attribute[a] = ATTRIBUTE_UNSET;
        vec_push(lib->kernels, k);
    }
}

static CUresult
need_code_locked(struct library *lib, struct jit *j)
{
    if (lib->code || lib->failed != CUDA_SUCCESS)
        return lib->failed;
    lib->failed = code_new(lib->source, j, &lib->code);
    source_free(lib->source);
    lib->source = NULL;
    if (lib->failed == CUDA_SUCCESS)
        make_kernels(lib);
    return lib->failed;
}

CUresult
library_need_code(struct library *lib, struct jit *j)
{
    struct jit defaults;
    if (!j)
        jit_read(j = &defaults, 0, NULL, NULL);
    pthread_mutex_lock(&lib->lock);
    CUresult r = need_code_locked(lib, j);
    pthread_mutex_unlock(&lib->lock);
    return r;
}

// ---- modules --------------------------------------------------------------
static struct module *
find_module(struct library *lib, const struct context *c)
{
    for (size_t i = 0; i < vec_len(lib->modules); i++)
        if (lib->modules[i]->ctx == c)
            return lib->modules[i];
    return NULL;
}

CUresult
library_module(struct library *lib, struct context *c, struct module **out)
{
    struct jit j;
    pthread_mutex_lock(&lib->lock);
    struct module *m = find_module(lib, c);
    CUresult r = CUDA_SUCCESS;
    if (!m) {
        jit_read(&j, 0, NULL, NULL);
        r = need_code_locked(lib, &j);
        if (r == CUDA_SUCCESS)
            r = module_new(c, lib->code, lib, &m);
        if (r == CUDA_SUCCESS)
            vec_push(lib->modules, m);
    }
    pthread_mutex_unlock(&lib->lock);
    if (r == CUDA_SUCCESS)
        *out = m;
    return r;
}

void
library_forget(struct library *lib, struct module *m)
{
    pthread_mutex_lock(&lib->lock);
    for (size_t i = 0; i < vec_len(lib->modules); i++)
        if (lib->modules[i] == m) {
            vec_swap_remove(lib->modules, i);
            break;
        }
    pthread_mutex_unlock(&lib->lock);
}

static struct module *
any_module(struct library *lib)
{
    pthread_mutex_lock(&lib->lock);
    size_t n = vec_len(lib->modules);
    struct module *m = n ? lib->modules[n - 1] : NULL;
    pthread_mutex_unlock(&lib->lock);
    return m;
}

// ---- loading and unloading ------------------------------------------------
static void
library_free(struct library *lib)
{
    object_retire(lib);
    struct module *m;
    while ((m = any_module(lib))) {
        streams_wait(m->ctx);
        module_free(m);
    }
    for (size_t i = 0; i < vec_len(lib->kernels); i++)
        object_free(lib->kernels[i]);
    vec_free(lib->kernels);
    vec_free(lib->modules);
    source_free(lib->source);
    code_unref(lib->code);
    pthread_mutex_destroy(&lib->lock);
    object_free(lib);
}

static CUresult
load(CUlibrary *out, const void *image, const char *path, struct jit *j)
{
    struct library *lib = object_new(OBJ_LIBRARY, sizeof *lib);
    pthread_mutex_init(&lib->lock, NULL);
    int sm = device_cc(&process.device[0], NULL);
    CUresult r = path ? source_add_file(&lib->source, path, sm, j)
                      : source_add(&lib->source, image, 0, NULL, sm, j);
    bool text = image && !container_is(image) && image_identify(image, 0) == IMAGE_PTX_TEXT;
    if (r == CUDA_SUCCESS && (text || j->error || j->info))
        r = library_need_code(lib, j);
    jit_done(j);
    if (r != CUDA_SUCCESS)
        library_free(lib);
    else
        *out = (CUlibrary)lib;
    return r;
}

static CUresult
check_options(unsigned n, const CUlibraryOption *option)
{
    for (unsigned i = 0; i < n; i++) {
        if (!option || (unsigned)option[i] >= CU_LIBRARY_NUM_OPTIONS)
            return fail(CUDA_ERROR_INVALID_VALUE, "library option %u", i);
        // The other option promises that the image stays; it is copied all the same.
        if (option[i] == CU_LIBRARY_HOST_UNIVERSAL_FUNCTION_AND_DATA_TABLE)
            LOG(LOG_MODULE, "the table of host functions is not used");
    }
    return CUDA_SUCCESS;
}

CUresult
pw_cuLibraryLoadData(CUlibrary *out, const void *code, CUjit_option *jit_option, void **jit_value,
                     unsigned njit, CUlibraryOption *option, void **value, unsigned n)
{
    (void)value;
    NEED(out);
    NEED(code);
    struct jit j;
    CUresult r = check_options(n, option);
    if (r == CUDA_SUCCESS)
        r = jit_read(&j, njit, jit_option, jit_value);
    return r == CUDA_SUCCESS ? load(out, code, NULL, &j) : r;
}

CUresult
pw_cuLibraryLoadFromFile(CUlibrary *out, const char *path, CUjit_option *jit_option,
                         void **jit_value, unsigned njit, CUlibraryOption *option, void **value,
                         unsigned n)
{
    (void)value;
    NEED(out);
    NEED(path);
    struct jit j;
    CUresult r = check_options(n, option);
    if (r == CUDA_SUCCESS)
        r = jit_read(&j, njit, jit_option, jit_value);
    return r == CUDA_SUCCESS ? load(out, NULL, path, &j) : r;
}

CUresult
pw_cuLibraryUnload(CUlibrary library)
{
    NEED_LIBRARY(lib, library);
    library_free(lib);
    return CUDA_SUCCESS;
}

// ---- contents -------------------------------------------------------------
CUresult
pw_cuLibraryGetKernel(CUkernel *out, CUlibrary library, const char *name)
{
    NEED(out);
    NEED(name);
    NEED_LIBRARY(lib, library);
    CUresult r = library_need_code(lib, NULL);
    if (r != CUDA_SUCCESS)
        return r;
    unsigned i;
    if (!code_find(lib->code, name, &i))
        return fail(CUDA_ERROR_NOT_FOUND, "no kernel %s in code %s", name, lib->code->name);
    *out = (CUkernel)lib->kernels[i];
    return CUDA_SUCCESS;
}

CUresult
pw_cuLibraryGetKernelCount(unsigned *count, CUlibrary library)
{
    NEED(count);
    NEED_LIBRARY(lib, library);
    CUresult r = library_need_code(lib, NULL);
    if (r == CUDA_SUCCESS)
        *count = (unsigned)vec_len(lib->kernels);
    return r;
}

CUresult
pw_cuLibraryEnumerateKernels(CUkernel *kernels, unsigned n, CUlibrary library)
{
    NEED(kernels);
    NEED_LIBRARY(lib, library);
    CUresult r = library_need_code(lib, NULL);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < n && i < vec_len(lib->kernels); i++)
        kernels[i] = (CUkernel)lib->kernels[i];
    return r;
}

CUresult
pw_cuLibraryGetModule(CUmodule *out, CUlibrary library)
{
    NEED(out);
    NEED_LIBRARY(lib, library);
    struct context *c;
    struct module *m;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        r = library_module(lib, c, &m);
    if (r == CUDA_SUCCESS)
        *out = (CUmodule)m;
    return r;
}

static CUresult
find_variable(struct library *lib, struct context *c, const char *name, bool managed,
              CUdeviceptr *addr, size_t *bytes)
{
    struct module *m;
    CUresult r = library_module(lib, c, &m);
    if (r != CUDA_SUCCESS)
        return r;
    const struct module_var *v = variable_find(m, name);
    if (!v || (managed && !v->managed))
        return fail(CUDA_ERROR_NOT_FOUND, "no %svariable %s in code %s", managed ? "managed " : "",
                    name, m->code->name);
    if (addr)
        *addr = v->addr;
    if (bytes)
        *bytes = v->size;
    return CUDA_SUCCESS;
}

CUresult
pw_cuLibraryGetGlobal(CUdeviceptr *addr, size_t *bytes, CUlibrary library, const char *name)
{
    NEED(name);
    NEED(addr || bytes);
    NEED_LIBRARY(lib, library);
    struct context *c;
    CUresult r = ctx_need(&c);
    return r == CUDA_SUCCESS ? find_variable(lib, c, name, false, addr, bytes) : r;
}

// Managed variables do not ask for a current context.
CUresult
pw_cuLibraryGetManaged(CUdeviceptr *addr, size_t *bytes, CUlibrary library, const char *name)
{
    NEED(name);
    NEED(addr || bytes);
    NEED_LIBRARY(lib, library);
    struct context *c;
    CUresult r = ctx_need(&c);
    if (r == CUDA_ERROR_INVALID_CONTEXT)
        r = ctx_primary(&process.device[0], &c);
    return r == CUDA_SUCCESS ? find_variable(lib, c, name, true, addr, bytes) : r;
}

// A function pointer that host and device may both call: device code has no such addresses here.
CUresult
pw_cuLibraryGetUnifiedFunction(void **out, CUlibrary library, const char *name)
{
    NEED(out);
    NEED(name);
    NEED_LIBRARY(lib, library);
    return fail(CUDA_ERROR_NOT_FOUND, "no unified function %s", name);
}
