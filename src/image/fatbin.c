// SPDX-License-Identifier: MIT
// Fatbin containers and the wrappers that point to them.
#include "image/internal.h"

#include <stdio.h>

// A string of `len` bytes at `off` in the entry's header, copied without blanks around it; "" if it
// is not inside.
static const char *
header_string(struct arena *a, const uint8_t *entry, uint32_t header_size, uint32_t off,
              uint32_t len)
{
    if (!off || off > header_size || len > header_size - off)
        return "";
    const char *s = (const char *)entry + off;
    size_t n = strnlen(s, len);
    while (n && s[n - 1] == ' ')
        n--;
    while (n && *s == ' ')
        s++, n--;
    return n ? arena_strndup(a, s, n) : "";
}

static const char *
ptxas_options(struct arena *a, const uint8_t *entry, const struct fatbin_entry *h)
{
    uint32_t place[2]; // offset, length
    if (h->kind != ENTRY_PTX || !h->options_at || h->options_at > h->header_size ||
        h->header_size - h->options_at < sizeof place)
        return "";
    memcpy(place, entry + h->options_at, sizeof place);
    return header_string(a, entry, h->header_size, place[0], place[1]);
}

// Is `word` one of the blank-separated words of an option string?
static bool
has_option(const char *options, const char *word)
{
    size_t len = strlen(word);
    for (const char *s = options; (s = strstr(s, word)); s += len) {
        if ((s == options || s[-1] == ' ') && (!s[len] || s[len] == ' '))
            return true;
    }
    return false;
}

static char
arch_suffix(uint64_t flags)
{
    if (flags & FATBIN_ARCH_SPECIFIC)
        return 'a';
    return flags & FATBIN_FAMILY_SPECIFIC ? 'f' : 0;
}

static bool
is_relocatable_elf(const struct image_entry *e)
{
    struct elf elf;
    return e->kind == ENTRY_ELF && !e->compressed && !elf_open(e->data, e->size, &elf) &&
           elf.type == 1;
}

// The payload without its padding.
static void
set_payload(struct image_entry *e, const uint8_t *data, const struct fatbin_entry *h)
{
    e->compressed = h->compressed_size != 0;
    e->data = data;
    e->size = e->compressed ? h->compressed_size : h->stored_size;
    if (!e->compressed && e->kind == ENTRY_PTX)
        e->size = strnlen((const char *)data, e->size);
    e->unpacked_size = e->compressed ? h->unpacked_size : e->size;
}

static const char *
entry_fault(const struct fatbin_entry *h, uint64_t left)
{
    if (h->header_size < sizeof *h || h->header_size > left)
        return "entry header of a wrong size";
    if (h->stored_size > left - h->header_size)
        return "entry longer than its container";
    if (h->compressed_size > h->stored_size)
        return "compressed payload longer than its entry";
    if (h->arch > 9999)
        return "unknown architecture number";
    return NULL;
}

static void
add_entry(struct arena *a, const uint8_t *p, const struct fatbin_entry *h,
          struct image_entry **entries)
{
    struct image_entry e = {
        .kind = h->kind,
        .arch = (int)h->arch,
        .arch_suffix = arch_suffix(h->flags),
        .version = h->kind == ENTRY_ELF ? h->minor : h->major * 10 + h->minor,
        .flags = h->flags,
        .options = ptxas_options(a, p, h),
        .name = header_string(a, p, h->header_size, h->name_offset, h->name_length),
    };
    set_payload(&e, p + h->header_size, h);
    e.relocatable = has_option(e.options, "--compile-only") || has_option(e.options, "-c") ||
                    is_relocatable_elf(&e);
    vec_push(*entries, e);
}

int
fatbin_read(struct arena *a, const uint8_t *p, uint64_t size, struct image_entry **entries,
            const uint8_t **end, struct image_error *err)
{
    struct fatbin_header c;
    if (size < sizeof c)
        return image_fail(err, IMAGE_INVALID, "fatbin header cut off");
    memcpy(&c, p, sizeof c);
    if (c.magic != FATBIN_MAGIC || c.version != 1 || c.header_size < sizeof c)
        return image_fail(err, IMAGE_INVALID,
                          "fatbin container of unknown magic 0x%08x, version %u or header size %u",
                          c.magic, c.version, c.header_size);
    if (c.header_size > size || c.size > size - c.header_size)
        return image_fail(err, IMAGE_INVALID, "fatbin container of %llu bytes in an image of %llu",
                          (unsigned long long)c.size, (unsigned long long)size);
    p += c.header_size;
    for (uint64_t left = c.size; left;) {
        struct fatbin_entry h;
        if (left < sizeof h)
            return image_fail(err, IMAGE_INVALID, "fatbin entry %zu cut off", vec_len(*entries));
        memcpy(&h, p, sizeof h);
        const char *fault = entry_fault(&h, left);
        if (fault)
            return image_fail(err, IMAGE_INVALID, "fatbin entry %zu: %s", vec_len(*entries), fault);
        add_entry(a, p, &h, entries);
        p += h.header_size + h.stored_size;
        left -= h.header_size + h.stored_size;
    }
    *end = p;
    return IMAGE_OK;
}

void
image_end_object(struct image *im)
{
    while (vec_len(im->link_object) < vec_len(im->link_entry))
        vec_push(im->link_object, im->link_objects);
    im->link_objects++;
}

int
fatbin_read_object(struct image *im, const uint8_t *p, uint64_t size, bool relocatable,
                   const uint8_t **end, struct image_error *err)
{
    size_t first = vec_len(im->link_entry);
    int result = fatbin_read(&im->arena, p, size, &im->link_entry, end, err);
    if (result)
        return result;
    for (size_t i = first; relocatable && i < vec_len(im->link_entry); i++)
        im->link_entry[i].relocatable = true;
    image_end_object(im);
    return IMAGE_OK;
}

static int
read_pointed(struct image *im, const uint8_t *p, bool linked, struct image_error *err)
{
    const uint8_t *end;
    if (image_identify(p, 0) != IMAGE_FATBIN)
        return image_fail(err, IMAGE_INVALID, "fatbin wrapper does not point to a container");
    if (linked)
        return fatbin_read_object(im, p, IMAGE_MAX_SIZE, true, &end, err);
    return fatbin_read(&im->arena, p, IMAGE_MAX_SIZE, &im->entry, &end, err);
}

int
fatbin_read_wrapper(const void *p, struct image *out, struct image_error *err)
{
    struct fatbin_wrapper w;
    memcpy(&w, p, sizeof w);
    if (w.version != 1 && w.version != 2)
        return image_fail(err, IMAGE_INVALID, "fatbin wrapper of unknown version %u", w.version);
    int result = w.data ? read_pointed(out, w.data, false, err) : IMAGE_OK;
    if (result || w.version == 1 || !w.prelinked)
        return result;
    const uint8_t *const *object = w.prelinked;
    for (int i = 0; object[i] && !result; i++) {
        if (i >= IMAGE_MAX_OBJECTS)
            return image_fail(err, IMAGE_INVALID, "fatbin wrapper with more than %d objects",
                              IMAGE_MAX_OBJECTS);
        result = read_pointed(out, object[i], true, err);
    }
    return result;
}
