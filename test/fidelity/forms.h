// SPDX-License-Identifier: MIT
// Approximate forms of PTX: their kernels, exact results and documented bounds (test/ptx/bounds.tab).
#ifndef TEST_FIDELITY_FORMS_H
#define TEST_FIDELITY_FORMS_H

#include <stdbool.h>
#include <stdint.h>

enum format { F32, F64, F16, BF16 };

// How the inputs of a form are made of its case number.
enum input { ALL_32, UPPER_32, ALL_16, PAIRS };

struct form {
    const char *instruction; // "ex2.approx.ftz.f32"
    enum format format;
    enum input input;
    bool ftz, pair; // f16x2, bf16x2: both halves get the same value
    double (*exact)(double);
    long double (*exact_long)(long double); // f64
};

extern const struct form forms[];
extern const unsigned nforms;

// A line of bounds.tab: for `operand` of absolute value least..most, the error is at most `size`
// ulp ('u') or 2^size, absolute ('a') or relative ('r').
struct bound {
    char form[32];
    int operand;
    double least, most, size;
    char unit;
};

enum { BOUNDS_MAX = 96, RANGES_MAX = 4 };

// False if the file cannot be read.
bool bounds_read(const char *path);
// The lines for a form, in the file's order; their number.
unsigned bounds_of(const struct form *f, const struct bound **out);

// PTX of kernel k(u64 out, u64 first, u64 stride, u32 count): thread i makes the inputs of case first + i * stride and
// writes the result's bits, 8 bytes for f64, else 4.
void form_ptx(const struct form *f, char *text, unsigned size);
// The inputs that the kernel makes, as values after the form's own flushing.
void form_inputs(const struct form *f, uint64_t n, double v[2]);
// Result bits as a value.
double form_result(const struct form *f, uint64_t bits);
// Of the result's format: significant bits, exponent of the least normal number, the power of two above the largest number.
void form_format(const struct form *f, int *digits, int *least, double *overflow);
bool form_ftz(const struct form *f);
uint64_t form_cases(const struct form *f); // there are in all

#endif
