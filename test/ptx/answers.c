// SPDX-License-Identifier: MIT
// The file of recorded answers, little-endian. docs/conformance.md describes it:
//   text lines up to an empty one: "polywarp conformance 1", device, driver, date
//   u32 number of forms, then each: u8 length and name, u8 state, u8 words of a case, u32 cases, u32 hash of the inputs; if answered
//   u8 encoding: 0: u32 raw cases, u8 bytes of a word, the raw words, u32 hash of each chunk of 256 cases
//                1: u8 n, n u64 values; then for each word its index in them, in 0, 1, 2 or 4 bits, low bits first
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

enum { RAW_BYTES = 3072, PALETTE = 16, PALETTE_BYTES = 4096 };
static const char magic[] = "polywarp conformance 1\n";

uint32_t
hash_words(const uint64_t *w, size_t n)
{
    uint64_t h = 0xcbf29ce484222325u;
    for (size_t i = 0; i < n; i++) {
        h = (h ^ w[i]) * 0x9e3779b97f4a7c15u;
        h ^= h >> 29;
    }
    return (uint32_t)(h ^ h >> 32);
}

static unsigned
word_bytes(const struct form *f)
{
    unsigned bits = 8;
    for (unsigned k = 0; k < f->nout; k++)
        bits = type_bits(f->out[k]) > bits ? type_bits(f->out[k]) : bits;
    return bits / 8;
}

// Different values of the words, at most PALETTE; 0 if there are more.
static unsigned
palette(const uint64_t *w, size_t n, uint64_t *values)
{
    unsigned count = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned k = 0;
        while (k < count && values[k] != w[i])
            k++;
        if (k < count)
            continue;
        if (count == PALETTE)
            return 0;
        values[count++] = w[i];
    }
    return count;
}

static unsigned
index_bits(unsigned values)
{
    return values <= 1 ? 0 : values <= 2 ? 1 : values <= 4 ? 2 : 4;
}

void
answers_add(struct answers *a, const struct form *f, enum answer_state state, unsigned cases, uint32_t inputs, const uint64_t *words, bool whole)
{
    if (a->n == a->room)
        a->list = realloc(a->list, (a->room = a->room ? 2 * a->room : 1024) * sizeof *a->list);
    struct answer *x = &a->list[a->n++];
    memset(x, 0, sizeof *x);
    strcpy(x->name, f->name);
    x->state = (uint8_t)state;
    x->nout = (uint8_t)f->nout;
    x->cases = cases;
    x->inputs = inputs;
    if (state != ANSWERED)
        return;
    uint64_t values[PALETTE];
    size_t n = (size_t)cases * f->nout;
    unsigned count = palette(words, n, values);
    x->complete = count && n * index_bits(count) / 8 <= PALETTE_BYTES;
    x->nraw = RAW_BYTES / (f->nout * word_bytes(f));
    if (x->complete || whole || x->nraw > cases)
        x->nraw = cases;
    x->words = malloc((size_t)x->nraw * f->nout * sizeof *words);
    memcpy(x->words, words, (size_t)x->nraw * f->nout * sizeof *words);
    x->hash = malloc(cases / CHUNK * sizeof *x->hash);
    for (unsigned c = 0; c < cases / CHUNK; c++)
        x->hash[c] = hash_words(words + (size_t)c * CHUNK * f->nout, (size_t)CHUNK * f->nout);
}

const struct answer *
answers_find(const struct answers *a, const char *name)
{
    for (size_t i = 0; i < a->n; i++)
        if (!strcmp(a->list[i].name, name))
            return &a->list[i];
    return NULL;
}

// ---- writing ---------------------------------------------------------------------------------------
static void
put(FILE *f, const void *p, size_t size)
{
    fwrite(p, 1, size, f);
}

static void
put8(FILE *f, unsigned v)
{
    fputc((int)v, f);
}

static void
put_palette(FILE *f, const struct answer *x, const uint64_t *values, unsigned count)
{
    unsigned bits = index_bits(count), have = 0, byte = 0;
    put8(f, 1);
    put8(f, count);
    put(f, values, count * sizeof *values);
    for (size_t i = 0; bits && i < (size_t)x->cases * x->nout; i++) {
        unsigned k = 0;
        while (values[k] != x->words[i])
            k++;
        byte |= k << have;
        have += bits;
        if (have == 8) {
            put8(f, byte);
            have = byte = 0;
        }
    }
}

static void
put_raw(FILE *f, const struct answer *x)
{
    uint64_t all = 0;
    for (size_t i = 0; i < (size_t)x->nraw * x->nout; i++)
        all |= x->words[i];
    unsigned bytes = all >> 32 ? 8 : all >> 16 ? 4 : all >> 8 ? 2 : 1;
    put8(f, 0);
    put(f, &x->nraw, 4);
    put8(f, bytes);
    for (size_t i = 0; i < (size_t)x->nraw * x->nout; i++)
        put(f, &x->words[i], bytes);
    put(f, x->hash, x->cases / CHUNK * sizeof *x->hash);
}

bool
answers_write(const struct answers *a, const char *path)
{
    FILE *f = fopen(path, "wb");
    uint64_t values[PALETTE];
    if (!f)
        return false;
    uint32_t n = (uint32_t)a->n;
    fprintf(f, "%s%s\n", magic, a->about);
    put(f, &n, 4);
    for (size_t i = 0; i < a->n; i++) {
        const struct answer *x = &a->list[i];
        put8(f, (unsigned)strlen(x->name));
        put(f, x->name, strlen(x->name));
        put8(f, x->state);
        put8(f, x->nout);
        put(f, &x->cases, 4);
        put(f, &x->inputs, 4);
        if (x->state != ANSWERED)
            continue;
        if (x->complete)
            put_palette(f, x, values, palette(x->words, (size_t)x->cases * x->nout, values));
        else
            put_raw(f, x);
    }
    return !fclose(f);
}

// ---- reading ---------------------------------------------------------------------------------------
// What is not there reads as zero; `bad` remembers it.
struct reader {
    FILE *f;
    bool bad;
};

static void
get(struct reader *r, void *p, size_t size)
{
    if (fread_unlocked(p, 1, size, r->f) != size) {
        memset(p, 0, size);
        r->bad = true;
    }
}

static unsigned
get8(struct reader *r)
{
    uint8_t v;
    get(r, &v, 1);
    return v;
}

static void
get_palette(struct reader *r, struct answer *x)
{
    uint64_t values[PALETTE];
    unsigned count = get8(r), bits = index_bits(count), have = 0, byte = 0;
    if (count > PALETTE)
        r->bad = true;
    if (r->bad)
        return;
    get(r, values, count * sizeof *values);
    x->complete = 1;
    x->nraw = x->cases;
    x->words = malloc((size_t)x->cases * x->nout * sizeof *x->words);
    for (size_t i = 0; i < (size_t)x->cases * x->nout; i++) {
        if (bits && !have) {
            byte = get8(r);
            have = 8;
        }
        unsigned k = byte & ((1u << bits) - 1);
        x->words[i] = values[k < count ? k : 0];
        byte >>= bits;
        have -= bits;
    }
}

static void
get_raw(struct reader *r, struct answer *x)
{
    get(r, &x->nraw, 4);
    unsigned bytes = get8(r);
    if (x->nraw > x->cases || bytes > 8 || r->bad) {
        r->bad = true;
        return;
    }
    x->words = calloc((size_t)x->nraw * x->nout, sizeof *x->words);
    for (size_t i = 0; i < (size_t)x->nraw * x->nout; i++)
        get(r, &x->words[i], bytes);
    x->hash = malloc(x->cases / CHUNK * sizeof *x->hash);
    get(r, x->hash, x->cases / CHUNK * sizeof *x->hash);
}

static void
get_answer(struct reader *r, struct answer *x)
{
    unsigned length = get8(r);
    if (length >= sizeof x->name) {
        r->bad = true;
        return;
    }
    get(r, x->name, length);
    x->state = (uint8_t)get8(r);
    x->nout = (uint8_t)get8(r);
    get(r, &x->cases, 4);
    get(r, &x->inputs, 4);
    if (x->cases > 1 << 20 || x->nout > MAX_WORDS)
        r->bad = true;
    if (x->state != ANSWERED || r->bad)
        return;
    if (get8(r))
        get_palette(r, x);
    else
        get_raw(r, x);
}

static bool
get_header(struct reader *r, struct answers *a)
{
    char line[256];
    size_t size = 0;
    if (!fgets(line, sizeof line, r->f) || strcmp(line, magic))
        return false;
    a->about = calloc(1, 1);
    while (fgets(line, sizeof line, r->f) && line[0] != '\n') {
        a->about = realloc(a->about, size + strlen(line) + 1);
        strcpy(a->about + size, line);
        size += strlen(line);
    }
    return true;
}

bool
answers_read(struct answers *a, const char *path)
{
    struct reader r = {fopen(path, "rb"), false};
    uint32_t n = 0;
    if (!r.f)
        return false;
    if (get_header(&r, a))
        get(&r, &n, 4);
    else
        r.bad = true;
    if (n > 1 << 20)
        r.bad = true;
    a->list = r.bad ? NULL : calloc(n ? n : 1, sizeof *a->list);
    for (a->n = 0; a->n < n && !r.bad; a->n++)
        get_answer(&r, &a->list[a->n]);
    fclose(r.f);
    return !r.bad;
}

void
answers_free(struct answers *a)
{
    for (size_t i = 0; i < a->n; i++) {
        free(a->list[i].words);
        free(a->list[i].hash);
    }
    free(a->list);
    free(a->about);
}
