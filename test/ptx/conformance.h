// SPDX-License-Identifier: MIT
// The conformance runner: forms (kernels of one instruction each), their inputs, and answers recorded on a device.
#ifndef PTX_CONFORMANCE_H
#define PTX_CONFORMANCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MAX_WORDS = 40, CHUNK = 256 };

struct value_type; // inputs.c

// A line of the manifest that gen/conformance.py writes.
struct form {
    char name[96], module[16], approx[32];
    unsigned edges, randoms; // at most so many crossed edge values, so many random cases
    unsigned nin, nout;      // words of a case
    const struct value_type *in[MAX_WORDS], *out[MAX_WORDS];
};

// ---- inputs.c ---------------------------------------------------------------------------------
const struct value_type *type_named(const char *name); // NULL: no such type
unsigned type_bits(const struct value_type *t);        // of a result in memory
const char *type_name(const struct value_type *t);
// The value as a number, for types with one; lane 1 is the upper half of a packed type.
double type_double(const struct value_type *t, uint64_t word, unsigned lane);
unsigned type_lanes(const struct value_type *t);
bool type_is_float(const struct value_type *t);
// Distance between numbers of the type next to v.
double type_ulp(const struct value_type *t, double v);

// All cases of a form, case by case, `nin` words each: the same on every machine. The caller frees it.
uint64_t *inputs_make(const struct form *f, unsigned *cases);

// ---- answers.c --------------------------------------------------------------------------------
enum answer_state { ANSWERED, REFUSED, FAILED };

// What a device answered to one form. Either all words are known, or those of the first `nraw` cases and a hash of each chunk.
struct answer {
    char name[96];
    uint8_t state; // enum answer_state
    uint8_t nout;
    uint8_t complete;   // words holds all cases
    uint32_t cases, inputs; // number; hash of the inputs
    uint32_t nraw;
    uint64_t *words;
    uint32_t *hash; // one for each CHUNK cases
};

struct answers {
    char *about; // lines: device, driver, date
    struct answer *list;
    size_t n, room;
};

uint32_t hash_words(const uint64_t *w, size_t n);
// A form's answer from all its words; `whole`: keep all of them.
void answers_add(struct answers *a, const struct form *f, enum answer_state state, unsigned cases, uint32_t inputs, const uint64_t *words,
                 bool whole);
const struct answer *answers_find(const struct answers *a, const char *name);
bool answers_write(const struct answers *a, const char *path);
bool answers_read(struct answers *a, const char *path);
void answers_free(struct answers *a);

// ---- bounds.c ---------------------------------------------------------------------------------
bool bounds_read(const char *path);
// Is `ours` as near to the exact result of an approximate form as its bound allows, or equal to `theirs`?
// *our_error and *their_error: largest errors seen, as parts of the bound; unchanged where no exact result is known.
bool bounds_hold(const struct form *f, const uint64_t *in, uint64_t ours, uint64_t theirs, double *our_error, double *their_error);

#endif
