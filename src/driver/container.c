// SPDX-License-Identifier: MIT
// The private container of linked PTX that cuLinkComplete hands out in the place of a cubin.
// Programs keep it in memory or in files and give it back to cuModuleLoadData, so it is read as
// untrusted bytes.
#include "driver/module.h"

#include <stdlib.h>
#include <string.h>

// All numbers little-endian. The header is followed by `count` records; each is three lengths and
// then three strings with a NUL behind each, padded to 8 bytes.
struct header {
    char magic[8];
    uint64_t size; // of the container
    uint64_t count;
};

struct record {
    uint64_t text, options, name; // lengths without the NUL
};

static const char magic[8] = "PWLINK1";

bool
container_is(const void *image)
{
    return !memcmp(image, magic, sizeof magic);
}

size_t
container_size(const void *image)
{
    struct header h;
    memcpy(&h, image, sizeof h);
    return h.size >= sizeof h && h.size <= (uint64_t)1 << 32 ? (size_t)h.size : 0;
}

// A string of n bytes and its NUL at *at, or NULL if it does not fit.
static const char *
take(const char *base, size_t size, size_t *at, uint64_t n)
{
    if (n >= size - *at || base[*at + n])
        return NULL;
    const char *s = base + *at;
    *at += (size_t)n + 1;
    return s;
}

static bool
take_record(const char *base, size_t size, size_t *at, struct container_text *t)
{
    struct record r;
    if (size - *at < sizeof r)
        return false;
    memcpy(&r, base + *at, sizeof r);
    *at += sizeof r;
    if (!(t->text = take(base, size, at, r.text)) ||
        !(t->options = take(base, size, at, r.options)) ||
        !(t->name = take(base, size, at, r.name)))
        return false;
    t->size = (size_t)r.text;
    *at = (*at + 7) & ~(size_t)7;
    return *at <= size;
}

bool
container_read(const void *image, size_t size, struct container_text **text)
{
    struct header h;
    if (size < sizeof h)
        return false;
    memcpy(&h, image, sizeof h);
    if (h.size > size || h.size < sizeof h)
        return false;
    size_t at = sizeof h;
    for (uint64_t i = 0; i < h.count; i++) {
        struct container_text t;
        if (!take_record(image, (size_t)h.size, &at, &t))
            return false;
        vec_push(*text, t);
    }
    return true;
}

static size_t
record_size(const struct container_text *t)
{
    size_t n = sizeof(struct record) + t->size + strlen(t->options) + strlen(t->name) + 3;
    return (n + 7) & ~(size_t)7;
}

static char *
put(char *at, const char *s, size_t n)
{
    memcpy(at, s, n);
    return at + n + 1; // the NUL is there already
}

void *
container_write(const struct container_text *text, unsigned n, size_t *size)
{
    struct header h = {.size = sizeof h, .count = n};
    memcpy(h.magic, magic, sizeof magic);
    for (unsigned i = 0; i < n; i++)
        h.size += record_size(&text[i]);
    char *image = calloc(1, (size_t)h.size);
    if (!image)
        return NULL;
    memcpy(image, &h, sizeof h);
    char *at = image + sizeof h;
    for (unsigned i = 0; i < n; i++) {
        struct record r = {text[i].size, strlen(text[i].options), strlen(text[i].name)};
        memcpy(at, &r, sizeof r);
        char *s = put(at + sizeof r, text[i].text, text[i].size);
        s = put(s, text[i].options, (size_t)r.options);
        put(s, text[i].name, (size_t)r.name);
        at += record_size(&text[i]);
    }
    *size = (size_t)h.size;
    return image;
}
