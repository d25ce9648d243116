// SPDX-License-Identifier: MIT
// The PTX texts of an image, chosen and copied but still packed: what is kept of an image until its
// code is needed.
#include "driver/module.h"
#include "image/image.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// When nothing fits the capability that is told to programs, anything that PTX can express may do.
enum { ANY_SM = 999 };

struct item {
    struct image_entry entry; // data, options and name are in the source's arena
};

struct code_source {
    struct arena arena;
    struct item *item; // vec
};

static struct code_source *
need(struct code_source **src)
{
    if (!*src)
        *src = calloc(1, sizeof **src);
    if (!*src)
        abort();
    return *src;
}

void
source_free(struct code_source *src)
{
    if (!src)
        return;
    vec_free(src->item);
    arena_free(&src->arena);
    free(src);
}

static const char *
keep(struct code_source *src, const char *s)
{
    return arena_strndup(&src->arena, s ? s : "", s ? strlen(s) : 0);
}

static void
add_entry(struct code_source *src, const struct image_entry *e, const char *name)
{
    struct item it = {.entry = *e};
    it.entry.data = (const uint8_t *)arena_strndup(&src->arena, (const char *)e->data, e->size);
    it.entry.options = keep(src, e->options);
    it.entry.name = keep(src, e->name && *e->name ? e->name : name);
    vec_push(src->item, it);
}

static void
add_text(struct code_source *src, const char *text, size_t size, const char *options,
         const char *name)
{
    struct image_entry e = {
        .kind = ENTRY_PTX,
        .data = (const uint8_t *)text,
        .size = size,
        .unpacked_size = size,
        .options = options,
        .name = name,
    };
    add_entry(src, &e, name);
}

// Reports why an image was refused.
static CUresult
refuse(CUresult code, const char *name, const char *why, struct jit *j)
{
    log_error("image %s: %s", name && *name ? name : "in memory", why);
    jit_error(j, why);
    jit_error(j, "\n");
    return code;
}

static CUresult
add_chosen(struct code_source *src, const struct image *im, const char *name, int sm, struct jit *j)
{
    struct image_error err = {""};
    struct image_choice choice = {0};
    if (image_choose(im, sm, &choice, &err)) {
        struct image_error ignored;
        vec_free(choice.entry);
        if (image_choose(im, ANY_SM, &choice, &ignored)) {
            vec_free(choice.entry);
            return refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, name, err.text, j);
        }
    }
    for (size_t i = 0; i < vec_len(choice.entry); i++)
        add_entry(src, choice.entry[i], name);
    vec_free(choice.entry);
    return CUDA_SUCCESS;
}

static CUresult
add_container(struct code_source *src, const void *image, size_t size, const char *name,
              struct jit *j)
{
    struct container_text *text = NULL;
    CUresult r = CUDA_SUCCESS;
    if (!size)
        size = container_size(image);
    if (container_read(image, size, &text)) {
        for (size_t i = 0; i < vec_len(text); i++)
            add_text(src, text[i].text, text[i].size, text[i].options, text[i].name);
    } else {
        r = refuse(CUDA_ERROR_INVALID_IMAGE, name, "a damaged linker output", j);
    }
    vec_free(text);
    return r;
}

// ---- any image ------------------------------------------------------------
CUresult
source_add(struct code_source **out, const void *image, size_t size, const char *name, int sm,
           struct jit *j)
{
    struct code_source *src = need(out);
    if (!image || (size && size < 8))
        return refuse(CUDA_ERROR_INVALID_IMAGE, name, "too short", j);
    if (container_is(image))
        return add_container(src, image, size, name, j);
    if (image_identify(image, size) == IMAGE_PTX_TEXT) {
        add_text(src, image, size ? strnlen(image, size) : strlen(image), "", name);
        return CUDA_SUCCESS;
    }
    struct image im = {0};
    struct image_error err = {""};
    int r = image_open(image, size, &im, &err);
    if (r)
        return refuse((CUresult)r, name, err.text, j);
    r = (int)add_chosen(src, &im, name, sm, j);
    image_close(&im);
    return (CUresult)r;
}

// The file's bytes with a NUL behind, malloc'ed; NULL with errno set.
static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    if (!f)
        return NULL;
    char *data = NULL;
    size_t have = 0, cap = 0, n;
    do {
        if (cap - have < 2) {
            cap = cap ? cap * 2 : 65536;
            char *more = realloc(data, cap);
            if (!more)
                break;
            data = more;
        }
        n = fread(data + have, 1, cap - have - 1, f);
        have += n;
    } while (n);
    bool bad = ferror(f) || !data;
    fclose(f);
    if (bad) {
        free(data);
        errno = EIO;
        return NULL;
    }
    data[have] = 0;
    *size = have;
    return data;
}

CUresult
source_add_file(struct code_source **src, const char *path, int sm, struct jit *j)
{
    size_t size;
    char *data = read_file(path, &size);
    if (!data) {
        bool missing = errno == ENOENT || errno == ENOTDIR;
        return refuse(missing ? CUDA_ERROR_FILE_NOT_FOUND : CUDA_ERROR_INVALID_VALUE, path,
                      strerror(errno), j);
    }
    const char *slash = strrchr(path, '/');
    CUresult r = size < 8 ? refuse(CUDA_ERROR_INVALID_IMAGE, path, "too short", j)
                          : source_add(src, data, size, slash ? slash + 1 : path, sm, j);
    free(data);
    return r;
}

// ---- reading --------------------------------------------------------------
unsigned
source_count(const struct code_source *src)
{
    return src ? (unsigned)vec_len(src->item) : 0;
}

const char *
source_options(const struct code_source *src, unsigned i)
{
    return src->item[i].entry.options;
}

const char *
source_name(const struct code_source *src, unsigned i)
{
    return src->item[i].entry.name;
}

CUresult
source_text(const struct code_source *src, unsigned i, char **text, size_t *size, struct jit *j)
{
    const struct image_entry *e = &src->item[i].entry;
    if (e->compressed) {
        struct image_error err = {""};
        int r = image_unpack(e, text, size, &err);
        return r ? refuse((CUresult)r, e->name, err.text, j) : CUDA_SUCCESS;
    }
    *text = malloc(e->size + 1);
    if (!*text)
        return refuse(CUDA_ERROR_OUT_OF_MEMORY, e->name, "out of memory", j);
    memcpy(*text, e->data, e->size);
    (*text)[e->size] = 0;
    *size = e->size;
    return CUDA_SUCCESS;
}
