// SPDX-License-Identifier: MIT
// Images: identification and opening by kind.
#include "image/internal.h"

#include <stdarg.h>
#include <stdio.h>

int
image_fail(struct image_error *err, int code, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    if (err)
        vsnprintf(err->text, sizeof err->text, fmt, ap);
    va_end(ap);
    return code;
}

static enum image_kind
identify_elf(const uint8_t *p, size_t size)
{
    uint16_t machine = 0;
    if (!size || size >= 20)
        memcpy(&machine, p + 18, sizeof machine);
    return machine == ELF_MACHINE_CUDA ? IMAGE_CUBIN : IMAGE_HOST_ELF;
}

enum image_kind
image_identify(const void *p, size_t size)
{
    size_t known = size ? size : 8;
    const uint8_t *b = p;
    uint32_t word = 0;
    if (!p || known < sizeof word)
        return IMAGE_NONE;
    for (unsigned i = 0; i < sizeof word; i++) { // of unknown size: text may end before
        word |= (uint32_t)b[i] << 8 * i;
        if (!size && !b[i])
            return IMAGE_NONE;
    }
    if (word == FATBIN_WRAPPER_MAGIC)
        return IMAGE_FATBIN_WRAPPER;
    if (word == FATBIN_MAGIC)
        return IMAGE_FATBIN;
    if (elf_is_magic(p, known))
        return identify_elf(p, size);
    if (known >= 8 && !strncmp(p, ARCHIVE_MAGIC, 8))
        return IMAGE_ARCHIVE;
    return ptx_text_at(p, size) ? IMAGE_PTX_TEXT : IMAGE_NONE;
}

static int
open_fatbin(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    const uint8_t *end;
    return fatbin_read(&out->arena, p, size ? size : IMAGE_MAX_SIZE, &out->entry, &end, err);
}

// A wrapper in a file holds link-time addresses, which must not be followed.
static int
open_wrapper(const void *p, size_t size, struct image *out, struct image_error *err)
{
    if (size)
        return image_fail(err, IMAGE_INVALID, "a fatbin wrapper has meaning in memory only");
    return fatbin_read_wrapper(p, out, err);
}

static int
open_kind(const void *p, size_t size, struct image *out, struct image_error *err)
{
    switch (out->kind) {
    case IMAGE_PTX_TEXT:
        return ptx_text_open(p, size, out, err);
    case IMAGE_FATBIN_WRAPPER:
        return open_wrapper(p, size, out, err);
    case IMAGE_FATBIN:
        return open_fatbin(p, size, out, err);
    case IMAGE_CUBIN:
        return cubin_open(p, size, out, err);
    case IMAGE_HOST_ELF:
        return host_elf_open(p, size, out, err);
    case IMAGE_ARCHIVE:
        return archive_open(p, size, out, err);
    case IMAGE_NONE:
        break;
    }
    return image_fail(err, IMAGE_INVALID, "neither PTX, fatbin, cubin, archive nor object file");
}

int
image_open(const void *p, size_t size, struct image *out, struct image_error *err)
{
    *out = (struct image){.kind = image_identify(p, size)};
    int result = open_kind(p, size, out, err);
    if (result)
        image_close(out);
    return result;
}

void
image_close(struct image *im)
{
    vec_free(im->entry);
    vec_free(im->link_entry);
    vec_free(im->link_object);
    arena_free(&im->arena);
    *im = (struct image){0};
}

static void
detach(struct image *im, struct image_entry *e)
{
    if (e->kind != ENTRY_PTX) {
        e->data = NULL;
        e->size = e->unpacked_size = 0;
        return;
    }
    uint8_t *copy = arena_alloc(&im->arena, e->size + 1);
    memcpy(copy, e->data, e->size);
    copy[e->size] = 0;
    e->data = copy;
}

void
image_detach(struct image *im)
{
    for (size_t i = 0; i < vec_len(im->entry); i++)
        detach(im, &im->entry[i]);
    for (size_t i = 0; i < vec_len(im->link_entry); i++)
        detach(im, &im->link_entry[i]);
}
