// SPDX-License-Identifier: MIT
// Containers inside host files: sections of ELF objects, libraries and programs, and archives of
// objects.
#include "image/internal.h"

#include <stdlib.h>

#define SECTION_LINKED      ".nv_fatbin"
#define SECTION_RELOCATABLE "__nv_relfatbin"

// Returns a result; *end is set to where the search goes on.
typedef int container_fn(void *user, const uint8_t *p, size_t left, const char *section,
                         const uint8_t **end);

static bool
at_container(const uint8_t *p)
{
    struct fatbin_header h;
    memcpy(&h, p, sizeof h);
    return h.magic == FATBIN_MAGIC && h.version == 1;
}

// Containers stand at addresses that are multiples of 8, in any number and with any gaps.
static int
walk_section(const struct elf_section *s, container_fn *fn, void *user)
{
    size_t skew = s->addr & 7;
    for (size_t at = -skew & 7; at <= s->size && s->size - at >= sizeof(struct fatbin_header);) {
        const uint8_t *p = s->data + at, *end = p + 8;
        int result = at_container(p) ? fn(user, p, s->size - at, s->name, &end) : IMAGE_OK;
        if (result)
            return result;
        at = (size_t)(end - s->data);
        at += -(at + skew) & 7;
    }
    return IMAGE_OK;
}

static bool
is_fatbin_section(const struct elf_section *s)
{
    return !strcmp(s->name, SECTION_LINKED) || !strcmp(s->name, SECTION_RELOCATABLE);
}

// nvcc uses the two sections above; libraries that load containers themselves keep them among their
// data.
static bool
is_data_section(const struct elf_section *s)
{
    enum { PROGBITS = 1, ALLOC = 2, EXECUTABLE = 4 };
    return s->type == PROGBITS && (s->flags & ALLOC) && !(s->flags & EXECUTABLE);
}

static int
walk_elf(const struct elf *e, bool (*want)(const struct elf_section *), container_fn *fn,
         void *user)
{
    struct elf_section s;
    for (unsigned i = 0; elf_section(e, i, &s); i++) {
        int result = s.data && want(&s) ? walk_section(&s, fn, user) : IMAGE_OK;
        if (result)
            return result;
    }
    return IMAGE_OK;
}

// ---- scanning ----------------------------------------------------------------------------------

struct scan {
    void (*fn)(void *user, const struct image *im, const char *section);
    void *user;
};

// What is damaged, or only looks like a container, is passed over: the search goes on behind its
// first words.
static int
scan_container(void *user, const uint8_t *p, size_t left, const char *section, const uint8_t **end)
{
    struct scan *scan = user;
    struct image im = {.kind = IMAGE_FATBIN};
    if (!fatbin_read(&im.arena, p, left, &im.entry, end, NULL)) {
        bool relocatable = !strcmp(section, SECTION_RELOCATABLE);
        for (size_t i = 0; relocatable && i < vec_len(im.entry); i++)
            im.entry[i].relocatable = true;
        scan->fn(scan->user, &im, section);
    }
    image_close(&im);
    return IMAGE_OK;
}

int
image_scan_elf(const void *elf, size_t size,
               void (*fn)(void *user, const struct image *im, const char *section), void *user)
{
    struct elf e;
    struct scan scan = {fn, user};
    if (elf_open(elf, size, &e))
        return IMAGE_INVALID;
    return walk_elf(&e, is_data_section, scan_container, &scan);
}

// ---- opening -----------------------------------------------------------------------------------

struct gather {
    struct image *im;
    struct image_error *err;
};

// Each container of an object or an archive is an object to be linked.
static int
gather_container(void *user, const uint8_t *p, size_t left, const char *section,
                 const uint8_t **end)
{
    struct gather *g = user;
    return fatbin_read_object(g->im, p, left, !strcmp(section, SECTION_RELOCATABLE), end, g->err);
}

static int
gather_elf(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    struct elf e;
    struct gather g = {out, err};
    const char *fault = elf_open(p, size, &e);
    if (fault)
        return image_fail(err, IMAGE_INVALID, "object: %s", fault);
    return walk_elf(&e, is_fatbin_section, gather_container, &g);
}

static int
check_found(const struct image *im, struct image_error *err)
{
    if (vec_len(im->link_entry))
        return IMAGE_OK;
    return image_fail(err, IMAGE_INVALID, "no device code in the %s",
                      im->kind == IMAGE_ARCHIVE ? "archive" : "object file");
}

int
host_elf_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    if (!size)
        return image_fail(err, IMAGE_INVALID, "object file of unknown size");
    int result = gather_elf(p, size, out, err);
    return result ? result : check_found(out, err);
}

// Header of an archive member; numbers are decimal text padded with blanks.
struct member {
    char name[16], time[12], uid[6], gid[6], mode[8], size[10], end[2];
};

static bool
member_size(const struct member *m, size_t left, size_t *size)
{
    size_t n = 0;
    if (m->end[0] != '`' || m->end[1] != '\n')
        return false;
    for (size_t i = 0; i < sizeof m->size && m->size[i] >= '0' && m->size[i] <= '9'; i++)
        n = n * 10 + (size_t)(m->size[i] - '0');
    *size = n;
    return n <= left;
}

static int
open_member(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    switch (image_identify(p, size)) {
    case IMAGE_HOST_ELF:
        return gather_elf(p, size, out, err);
    case IMAGE_CUBIN:
        return cubin_open_object(p, size, out, err);
    default:
        return IMAGE_OK;
    }
}

int
archive_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    if (!size)
        return image_fail(err, IMAGE_INVALID, "archive of unknown size");
    for (size_t at = strlen(ARCHIVE_MAGIC); size - at > sizeof(struct member);) {
        struct member m;
        size_t n;
        memcpy(&m, p + at, sizeof m);
        at += sizeof m;
        if (!member_size(&m, size - at, &n))
            return image_fail(err, IMAGE_INVALID, "archive member at byte %zu has a bad header",
                              at);
        int result = n ? open_member(p + at, n, out, err) : IMAGE_OK;
        if (result)
            return result;
        at += n + (n & 1);
        if (at > size)
            break;
    }
    return check_found(out, err);
}
