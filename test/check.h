// SPDX-License-Identifier: MIT
// Test harness: C11, one header, no dependencies. A test program is a list of functions run by CHECK_MAIN; it prints failures
// with what was got and expected, then one line `name: N ok, N failed, N todo, N skipped`, and exits 0, 1 or 77 (all skipped).
#ifndef TEST_CHECK_H
#define TEST_CHECK_H

#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int check_ok_, check_failed_, check_todo_, check_skipped_;
static const char *check_where_ = "";

#define check_result_(cond, ...)                                                                   \
    ((cond) ? (void)check_ok_++                                                                    \
            : (void)(check_failed_++, printf("%s:%d: %s: ", __FILE__, __LINE__, check_where_),     \
                     printf(__VA_ARGS__), printf("\n"), fflush(stdout)))

// ok(cond, "format", ...): counts a pass or prints the message as a failure.
#define ok(cond, ...) check_result_((cond), __VA_ARGS__)
#define CHECK(cond) ok((cond), "%s", #cond)
#define CHECK_INT(got, want)                                                                       \
    do {                                                                                           \
        long long g_ = (long long)(got), w_ = (long long)(want);                                   \
        ok(g_ == w_, "%s: got %lld (0x%llx), want %lld (0x%llx)", #got, g_, g_, w_, w_);           \
    } while (0)
#define CHECK_STR(got, want)                                                                       \
    do {                                                                                           \
        const char *g_ = (got), *w_ = (want);                                                      \
        ok(g_ &&w_ && !strcmp(g_, w_), "%s: got \"%s\", want \"%s\"", #got, g_ ? g_ : "(null)",     \
           w_ ? w_ : "(null)");                                                                    \
    } while (0)
#define CHECK_FLT(got, want, tolerance)                                                            \
    do {                                                                                           \
        double g_ = (got), w_ = (want);                                                            \
        ok(fabs(g_ - w_) <= (tolerance), "%s: got %.17g, want %.17g", #got, g_, w_);               \
    } while (0)
// A case known to be wrong on our side: fails when it starts to pass.
#define todo(cond, ...)                                                                            \
    ((cond) ? check_result_(0, "todo passes now: " __VA_ARGS__) : (void)check_todo_++)
#define skip(...) (check_skipped_++, printf("skip %s: ", check_where_), printf(__VA_ARGS__), printf("\n"))

struct check_case_ {
    const char *name;
    void (*fn)(void);
};
#define T(fn) {#fn, fn}
#define CHECK_MAIN(...)                                                                            \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        static const struct check_case_ cases[] = {__VA_ARGS__};                                   \
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {                                \
            if (argc > 1 && strcmp(argv[1], cases[i].name))                                        \
                continue;                                                                          \
            check_where_ = cases[i].name;                                                          \
            cases[i].fn();                                                                         \
        }                                                                                          \
        const char *base = strrchr(argv[0], '/');                                                  \
        printf("%s: %d ok, %d failed, %d todo, %d skipped\n", base ? base + 1 : argv[0], check_ok_, \
               check_failed_, check_todo_, check_skipped_);                                        \
        return check_failed_ ? 1 : check_ok_ + check_todo_ == 0 && check_skipped_ ? 77 : 0;        \
    }

#endif
