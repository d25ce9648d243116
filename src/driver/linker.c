// SPDX-License-Identifier: MIT
// cuLink*: collects PTX from texts, fat binaries, host objects and libraries; the result is a
// container of the texts, which loading a module links.
#include "driver/module.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

struct link {
    struct object obj;
    struct code_source *source;
    struct jit jit; // buffers of cuLinkCreate, filled until the state is destroyed
    int sm;
    void *image; // result of cuLinkComplete; lives as long as the state
    size_t image_size;
};

#define NEED_LINK(l, handle)                                                                       \
    struct link *l = object_get(handle, OBJ_LINK);                                                 \
    if (!l)                                                                                        \
    return fail(CUDA_ERROR_INVALID_HANDLE, "%p is no linker state", (void *)handle)

CUresult
pw_cuLinkCreate_v2(unsigned n, CUjit_option *option, void **value, CUlinkState *out)
{
    if (!out)
        return fail(CUDA_ERROR_INVALID_VALUE, "state is NULL");
    struct context *c;
    struct jit j;
    CUresult r = ctx_need(&c);
    if (r == CUDA_SUCCESS)
        r = jit_read(&j, n, option, value);
    if (r != CUDA_SUCCESS)
        return r;
    struct link *l = object_new(OBJ_LINK, sizeof *l);
    l->jit = j;
    l->sm = device_cc(c->dev, NULL);
    *out = (CUlinkState)l;
    return CUDA_SUCCESS;
}

static CUresult
check_type(CUjitInputType type)
{
    if ((unsigned)type >= CU_JIT_NUM_INPUT_TYPES)
        return fail(CUDA_ERROR_INVALID_VALUE, "input type %d", type);
    if (type == CU_JIT_INPUT_NVVM)
        return fail(CUDA_ERROR_NOT_SUPPORTED, "NVVM bitcode as linker input");
    return CUDA_SUCCESS;
}

CUresult
pw_cuLinkAddData_v2(CUlinkState state, CUjitInputType type, void *data, size_t size,
                    const char *name, unsigned n, CUjit_option *option, void **value)
{
    (void)n, (void)option, (void)value; // of one input: none has an effect
    NEED_LINK(l, state);
    CUresult r = check_type(type);
    if (r != CUDA_SUCCESS)
        return r;
    if (!data || !size)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu bytes at %p", size, data);
    return source_add(&l->source, data, size, name, l->sm, &l->jit);
}

CUresult
pw_cuLinkAddFile_v2(CUlinkState state, CUjitInputType type, const char *path, unsigned n,
                    CUjit_option *option, void **value)
{
    (void)n, (void)option, (void)value;
    NEED_LINK(l, state);
    CUresult r = check_type(type);
    if (r != CUDA_SUCCESS)
        return r;
    if (!path)
        return fail(CUDA_ERROR_INVALID_VALUE, "path is NULL");
    return source_add_file(&l->source, path, l->sm, &l->jit);
}

// Parsing and linking here is for the errors only.
static CUresult
try_link(struct link *l)
{
    struct code *code;
    CUresult r = code_new(l->source, &l->jit, &code);
    if (r == CUDA_SUCCESS)
        code_unref(code);
    return r;
}

static CUresult
write_image(struct link *l)
{
    struct container_text *text = NULL;
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; i < source_count(l->source) && r == CUDA_SUCCESS; i++) {
        struct container_text t = {.options = source_options(l->source, i),
                                   .name = source_name(l->source, i)};
        char *unpacked;
        r = source_text(l->source, i, &unpacked, &t.size, &l->jit);
        t.text = unpacked;
        if (r == CUDA_SUCCESS)
            vec_push(text, t);
    }
    if (r == CUDA_SUCCESS) {
        l->image = container_write(text, (unsigned)vec_len(text), &l->image_size);
        r = l->image ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
    }
    for (size_t i = 0; i < vec_len(text); i++)
        free((void *)text[i].text);
    vec_free(text);
    return r;
}

CUresult
pw_cuLinkComplete(CUlinkState state, void **image, size_t *size)
{
    NEED_LINK(l, state);
    if (!image)
        return fail(CUDA_ERROR_INVALID_VALUE, "image is NULL");
    CUresult r = l->image ? CUDA_SUCCESS : try_link(l);
    if (r == CUDA_SUCCESS && !l->image)
        r = write_image(l);
    jit_done(&l->jit);
    if (r != CUDA_SUCCESS)
        return r;
    *image = l->image;
    if (size)
        *size = l->image_size;
    return CUDA_SUCCESS;
}

CUresult
pw_cuLinkDestroy(CUlinkState state)
{
    NEED_LINK(l, state);
    source_free(l->source);
    free(l->image);
    object_free(l);
    return CUDA_SUCCESS;
}

CUresult
pw_cuLinkCreate(unsigned n, CUjit_option *option, void **value, CUlinkState *out)
{
    return pw_cuLinkCreate_v2(n, option, value, out);
}

CUresult
pw_cuLinkAddData(CUlinkState state, CUjitInputType type, void *data, size_t size, const char *name,
                 unsigned n, CUjit_option *option, void **value)
{
    return pw_cuLinkAddData_v2(state, type, data, size, name, n, option, value);
}

CUresult
pw_cuLinkAddFile(CUlinkState state, CUjitInputType type, const char *path, unsigned n,
                 CUjit_option *option, void **value)
{
    return pw_cuLinkAddFile_v2(state, type, path, n, option, value);
}
