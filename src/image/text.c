// SPDX-License-Identifier: MIT
// Bare PTX text: recognition and the facts of its first directives.
#include "image/internal.h"

#include <ctype.h>
#include <stdlib.h>

// Text is read up to `end`, or to its NUL when end is NULL.
struct text {
    const char *at, *end;
};

static char
peek(const struct text *t)
{
    return t->end && t->at >= t->end ? 0 : *t->at;
}

static bool
starts_with(const struct text *t, const char *word)
{
    struct text s = *t;
    for (; *word; word++, s.at++) {
        if (peek(&s) != *word)
            return false;
    }
    return true;
}

// A byte that no text holds: ends the search in binary data of unknown size.
static bool
is_binary(char c)
{
    return (unsigned char)c < ' ' && !isspace((unsigned char)c);
}

// Moves past `stop`, or to the first byte that is not text.
static void
skip_past(struct text *t, const char *stop)
{
    while (!is_binary(peek(t)) && !starts_with(t, stop))
        t->at++;
    if (!is_binary(peek(t)))
        t->at += strlen(stop);
}

static void
skip_blanks(struct text *t)
{
    for (;;) {
        if (isspace((unsigned char)peek(t)))
            t->at++;
        else if (starts_with(t, "//"))
            skip_past(t, "\n");
        else if (starts_with(t, "/*"))
            t->at += 2, skip_past(t, "*/");
        else
            return;
    }
}

bool
ptx_text_at(const char *p, size_t size)
{
    struct text t = {p, size ? p + size : NULL};
    skip_blanks(&t);
    return starts_with(&t, ".version");
}

static int
read_number(struct text *t)
{
    int n = 0;
    for (; isdigit((unsigned char)peek(t)) && n < 10000; t->at++)
        n = n * 10 + (peek(t) - '0');
    return n;
}

// ".version 9.0" and ".target sm_90a": both must stand before anything else. Numbers stay 0 where
// the text is malformed: the PTX parser tells the user.
static void
read_directives(struct text t, struct image_entry *e)
{
    skip_blanks(&t);
    t.at += strlen(".version");
    skip_blanks(&t);
    int major = read_number(&t);
    if (peek(&t) == '.')
        t.at++;
    e->version = major * 10 + read_number(&t) % 10;
    skip_blanks(&t);
    if (!starts_with(&t, ".target"))
        return;
    t.at += strlen(".target");
    skip_blanks(&t);
    if (!starts_with(&t, "sm_"))
        return;
    t.at += strlen("sm_");
    e->arch = read_number(&t);
    char suffix = peek(&t);
    e->arch_suffix = suffix == 'a' || suffix == 'f' ? suffix : 0;
}

int
ptx_text_open(const char *p, size_t size, struct image *out, struct image_error *err)
{
    size_t len = strnlen(p, size ? size : IMAGE_MAX_SIZE);
    if (len >= IMAGE_MAX_UNPACK)
        return image_fail(err, IMAGE_INVALID, "PTX text longer than 1 GiB or without its NUL");
    struct image_entry e = {.kind = ENTRY_PTX,
                            .data = (const uint8_t *)p,
                            .size = len,
                            .unpacked_size = len,
                            .options = "",
                            .name = ""};
    read_directives((struct text){p, p + len}, &e);
    vec_push(out->entry, e);
    return IMAGE_OK;
}
