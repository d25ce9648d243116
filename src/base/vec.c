// SPDX-License-Identifier: MIT
#include "base/vec.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

void *
vec_grow_(void *v, size_t elem, size_t more)
{
    size_t len = vec_len(v), cap = v ? vec_hdr_(v)->cap : 0;
    if (cap - len >= more && v)
        return v;
    size_t want = len + more > 2 * cap ? len + more : 2 * cap;
    if (want < 8)
        want = 8;
    if (want > (SIZE_MAX - sizeof(struct vec_header)) / elem)
        abort();
    struct vec_header *h = realloc(v ? vec_hdr_(v) : NULL, sizeof *h + want * elem);
    if (!h)
        abort();
    h->len = len;
    h->cap = want;
    memset((char *)(h + 1) + len * elem, 0, (want - len) * elem);
    return h + 1;
}

void
vec_free_(void *v)
{
    if (v)
        free(vec_hdr_(v));
}
