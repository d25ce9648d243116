// SPDX-License-Identifier: MIT
// The conformance runner's parts: inputs, the file of answers, bounds of approximate forms.
#include <stdlib.h>
#include <unistd.h>

#include "check.h"
#include "ptx/conformance.h"

static struct form
form_of(const char *name, const char *in, unsigned nin, const char *out)
{
    struct form f = {.edges = 4096, .randoms = 1024, .nin = nin, .nout = 1, .approx = "-"};
    snprintf(f.name, sizeof f.name, "%s", name);
    for (unsigned k = 0; k < nin; k++)
        f.in[k] = type_named(in);
    f.out[0] = type_named(out);
    return f;
}

static bool
has(const uint64_t *w, size_t n, uint64_t v)
{
    for (size_t i = 0; i < n; i++)
        if (w[i] == v)
            return true;
    return false;
}

static void
test_inputs(void)
{
    struct form one = form_of("abs_f32", "f32", 1, "f32"), two = form_of("add_f32", "f32", 2, "f32"), all = form_of("neg_f16", "f16", 1, "f16");
    unsigned n, m;
    uint64_t *w = inputs_make(&one, &n), *again = inputs_make(&one, &m);
    CHECK_INT(n % CHUNK, 0);
    CHECK_INT(n, m);
    CHECK(!memcmp(w, again, n * sizeof *w));
    CHECK(has(w, n, 0x80000000) && has(w, n, 1) && has(w, n, 0x7f800001) && has(w, n, 0x7f7fffff) && has(w, n, 0x3f801000));
    free(again);
    free(w);
    w = inputs_make(&two, &n);
    CHECK_INT(n, 4096 + 1024);
    free(w);
    w = inputs_make(&all, &n);
    CHECK_INT(n, 65536);
    for (unsigned v = 0; v < 65536; v += 257)
        CHECK(has(w, n, v));
    free(w);
}

static void
test_numbers(void)
{
    CHECK_FLT(type_double(type_named("f16"), 0x3c01, 0), 1 + 0x1p-10, 0);
    CHECK_FLT(type_double(type_named("f16x2"), 0x0001bc00, 1), 0x1p-24, 0);
    CHECK_FLT(type_double(type_named("f16x2"), 0x0001bc00, 0), -1, 0);
    CHECK_FLT(type_double(type_named("f32"), 0x7f7fffff, 0), 0x1.fffffep127, 0);
    CHECK(isnan(type_double(type_named("f32"), 0x7f800001, 0)));
    CHECK_FLT(type_ulp(type_named("f32"), 1.5), 0x1p-23, 0);
    CHECK_FLT(type_ulp(type_named("f32"), 0x1p-140), 0x1p-149, 0);
    CHECK(!type_named("f31"));
}

static void
test_answers(void)
{
    enum { CASES = 1024 };
    char path[] = "/tmp/conformance_test_XXXXXX";
    struct form f = form_of("bits", "b32", 1, "b32"), g = form_of("few", "b32", 1, "pred"), r = form_of("no", "b32", 1, "b32");
    uint64_t words[CASES], few[CASES];
    for (unsigned i = 0; i < CASES; i++) {
        words[i] = i * 2654435761u & 0xffffffff;
        few[i] = i % 3 == 0;
    }
    struct answers a = {.about = strdup("device: none\n")}, b = {0};
    answers_add(&a, &f, ANSWERED, CASES, 17, words, false);
    answers_add(&a, &g, ANSWERED, CASES, 18, few, false);
    answers_add(&a, &r, REFUSED, CASES, 19, NULL, false);
    close(mkstemp(path));
    CHECK(answers_write(&a, path) && answers_read(&b, path));
    CHECK_STR(b.about, "device: none\n");
    CHECK_INT(b.n, 3);
    const struct answer *x = answers_find(&b, "bits"), *y = answers_find(&b, "few"), *z = answers_find(&b, "no");
    CHECK(x && y && z && !answers_find(&b, "none"));
    CHECK_INT(x->inputs, 17);
    CHECK(!memcmp(x->words, words, x->nraw * sizeof *words));
    CHECK_INT(x->hash[3], hash_words(words + 3 * CHUNK, CHUNK));
    CHECK(y->complete && !memcmp(y->words, few, sizeof few));
    CHECK_INT(z->state, REFUSED);
    answers_free(&a);
    answers_free(&b);
    CHECK(truncate(path, 200) == 0);
    b = (struct answers){0};
    CHECK(!answers_read(&b, path));
    answers_free(&b);
    unlink(path);
}

static void
test_bounds(void)
{
    double ours = 0, theirs = 0;
    uint64_t three = 0x40400000, third = 0x3eaaaaab, zero = 0;
    struct form f = form_of("rcp_approx_f32", "f32", 1, "f32");
    strcpy(f.approx, "rcp.approx.f32");
    CHECK(bounds_read(TEST_DIR "/../ptx/bounds.tab"));
    CHECK(bounds_hold(&f, &three, third, third - 1, &ours, &theirs));
    CHECK(bounds_hold(&f, &three, third - 1, third, &ours, &theirs));
    CHECK(!bounds_hold(&f, &three, third + 2, third, &ours, &theirs));
    CHECK_FLT(theirs, 2.0 / 3, 1e-6);
    CHECK(bounds_hold(&f, &zero, 0x7f800000, 0x7f800000, &ours, &theirs));
    CHECK(!bounds_hold(&f, &zero, 0x7f7fffff, 0x7f800000, &ours, &theirs));
}

CHECK_MAIN(T(test_inputs), T(test_numbers), T(test_answers), T(test_bounds))
