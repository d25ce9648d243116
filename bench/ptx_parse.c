// SPDX-License-Identifier: MIT
// Parse speed: ptx_parse FILE... prints MB/s (10^6 bytes) of lexing, parsing and verifying each file, best of five passes, and of all.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ptx/ptx.h"

static double
now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static char *
read_file(const char *path, size_t *size)
{
    FILE *f = fopen(path, "rb");
    char *text = NULL;
    if (f && !fseek(f, 0, SEEK_END)) {
        *size = (size_t)ftell(f);
        rewind(f);
        text = malloc(*size + 1);
        if (text && fread(text, 1, *size, f) != *size) {
            free(text);
            text = NULL;
        }
    }
    if (f)
        fclose(f);
    return text;
}

// Seconds for one parse, negative when the text has errors.
static double
parse_once(const char *text, size_t size, const char *name)
{
    struct ptx_diags d = {0};
    double start = now();
    struct ptx_module *m = ptx_parse(text, size, name, &d);
    double t = now() - start;
    if (m)
        ptx_module_free(m);
    else
        fputs(ptx_diags_text(&d, &d.arena, name), stderr);
    ptx_diags_free(&d);
    return m ? t : -1;
}

int
main(int argc, char **argv)
{
    double bytes = 0, seconds = 0;
    int failed = 0;
    for (int i = 1; i < argc; i++) {
        size_t size = 0;
        char *text = read_file(argv[i], &size);
        double best = -1;
        for (int pass = 0; text && pass < 5; pass++) {
            double t = parse_once(text, size, argv[i]);
            if (t >= 0 && (best < 0 || t < best))
                best = t;
        }
        free(text);
        if (best < 0) {
            printf("%s: not parsed\n", argv[i]);
            failed = 1;
            continue;
        }
        printf("%-50s %9zu bytes %8.1f MB/s\n", argv[i], size, (double)size / best / 1e6);
        bytes += (double)size;
        seconds += best;
    }
    if (seconds > 0)
        printf("all: %.1f MB/s\n", bytes / seconds / 1e6);
    return failed;
}
