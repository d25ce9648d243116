// SPDX-License-Identifier: MIT
// Growable arrays. `T *v = NULL; vec_push(v, x); for (i < vec_len(v)) ...; vec_free(v);`
// The length and capacity sit in a header before the first element.
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stddef.h>

struct vec_header {
    size_t len, cap;
};

#define vec_hdr_(v) ((struct vec_header *)(v)-1)
#define vec_len(v) ((v) ? vec_hdr_(v)->len : (size_t)0)
#define vec_push(v, x) ((v) = vec_grow_((v), sizeof *(v), 1), (v)[vec_hdr_(v)->len++] = (x))
// Adds n zeroed elements.
#define vec_extend(v, n) ((v) = vec_grow_((v), sizeof *(v), (n)), vec_hdr_(v)->len += (n))
#define vec_pop(v) ((v)[--vec_hdr_(v)->len])
#define vec_clear(v) ((void)((v) && (vec_hdr_(v)->len = 0)))
// Removes element i by moving the last one into its place.
#define vec_swap_remove(v, i) ((v)[i] = (v)[vec_hdr_(v)->len - 1], (void)--vec_hdr_(v)->len)
#define vec_free(v) (vec_free_(v), (v) = NULL)

void *vec_grow_(void *v, size_t elem, size_t more);
void vec_free_(void *v);

#endif
