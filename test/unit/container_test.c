// SPDX-License-Identifier: MIT
// The linker's container: what is written is read back, damaged bytes are refused.
#include "driver/module.h"
#include "../check.h"

static const struct container_text sample[] = {
    {".version 9.0\n", "--fmad false", "a.ptx", 13},
    {"", "", "", 0},
    {"x\0y", "-O1", "second", 3},
};
enum { SAMPLES = sizeof sample / sizeof *sample };

static void
round_trip(void)
{
    size_t size = 0;
    void *image = container_write(sample, SAMPLES, &size);
    CHECK(container_is(image));
    CHECK_INT(container_size(image), size);
    struct container_text *t = NULL;
    CHECK(container_read(image, size, &t));
    CHECK_INT(vec_len(t), SAMPLES);
    for (size_t i = 0; i < vec_len(t); i++) {
        CHECK_INT(t[i].size, sample[i].size);
        CHECK(!memcmp(t[i].text, sample[i].text, sample[i].size + 1));
        CHECK_STR(t[i].options, sample[i].options);
        CHECK_STR(t[i].name, sample[i].name);
    }
    vec_free(t);
    free(image);
}

static void
truncated_is_refused(void)
{
    size_t size = 0;
    void *image = container_write(sample, SAMPLES, &size);
    for (size_t n = 0; n < size; n++) {
        char *cut = malloc(n + 1); // exact, so that a tool for bounds sees a read behind it
        memcpy(cut, image, n);
        struct container_text *t = NULL;
        CHECK(!container_read(cut, n, &t));
        vec_free(t);
        free(cut);
    }
    free(image);
}

static void
damaged_does_not_crash(void)
{
    size_t size = 0;
    char *image = container_write(sample, SAMPLES, &size);
    for (size_t i = 8; i < size; i++) {
        for (int bit = 0; bit < 8; bit++) {
            image[i] ^= (char)(1 << bit);
            struct container_text *t = NULL;
            if (container_read(image, size, &t))
                for (size_t k = 0; k < vec_len(t); k++)
                    CHECK(t[k].text >= image && t[k].text + t[k].size < image + size);
            vec_free(t);
            image[i] ^= (char)(1 << bit);
        }
    }
    free(image);
}

CHECK_MAIN(T(round_trip), T(truncated_is_refused), T(damaged_does_not_crash))
