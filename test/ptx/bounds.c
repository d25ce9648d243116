// SPDX-License-Identifier: MIT
// Error bounds of approximate forms: bounds.tab, and the exact results they are measured against, computed in double precision.
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conformance.h"

struct bound {
    char form[32], function[8], unit[8];
    int operand;
    double least, most, size;
};

static struct bound bounds[64];
static unsigned nbounds;

bool
bounds_read(const char *path)
{
    FILE *f = fopen(path, "r");
    char line[256];
    if (!f)
        return false;
    while (fgets(line, sizeof line, f) && nbounds < sizeof bounds / sizeof *bounds) {
        struct bound *b = &bounds[nbounds];
        if (sscanf(line, "%31s | %7s | %d | %lf %lf | %7s %lf", b->form, b->function, &b->operand, &b->least, &b->most, b->unit, &b->size) == 7)
            nbounds++;
    }
    fclose(f);
    return nbounds > 0;
}

static double
exact(const char *function, double a, double b)
{
    static const struct {
        const char *name;
        double (*fn)(double);
    } table[] = {{"sqrt", sqrt}, {"sin", sin}, {"cos", cos}, {"lg2", log2}, {"ex2", exp2}, {"tanh", tanh}};
    for (size_t i = 0; i < sizeof table / sizeof *table; i++)
        if (!strcmp(table[i].name, function))
            return table[i].fn(a);
    return !strcmp(function, "rcp") ? 1 / a : !strcmp(function, "rsqrt") ? 1 / sqrt(a) : a / b;
}

static double
least_normal(const struct value_type *t)
{
    return !strcmp(type_name(t), "f64") ? DBL_MIN : !strncmp(type_name(t), "f16", 3) ? 0x1p-14 : FLT_MIN;
}

static double
operand(const struct form *f, const uint64_t *in, unsigned k, unsigned lane)
{
    double v = k < f->nin ? type_double(f->in[k], in[k], lane) : 1;
    return strstr(f->name, "_ftz_") && fabs(v) < least_normal(f->in[k < f->nin ? k : 0]) ? copysign(0, v) : v;
}

static const struct bound *
bound_of(const struct form *f, const double *v)
{
    for (unsigned i = 0; i < nbounds; i++) {
        const struct bound *b = &bounds[i];
        if (!strcmp(b->form, f->approx) && fabs(v[b->operand]) >= b->least && fabs(v[b->operand]) <= b->most)
            return b;
    }
    return NULL;
}

static double
allowed(const struct bound *b, double want, double ulp)
{
    return b->unit[0] == 'u' ? b->size * ulp : b->unit[0] == 'a' ? exp2(b->size) : exp2(b->size) * fabs(want);
}

static bool
lane_holds(const struct form *f, const uint64_t *in, uint64_t ours, uint64_t theirs, unsigned lane, double *our_error, double *their_error)
{
    const struct value_type *t = f->out[0];
    double v[2] = {operand(f, in, 0, lane), operand(f, in, 1, lane)}, a = type_double(t, ours, lane), b = type_double(t, theirs, lane);
    const struct bound *limit = bound_of(f, v);
    double want = limit ? exact(limit->function, v[0], v[1]) : NAN, ulp = type_ulp(t, want);
    unsigned bits = type_bits(t) / type_lanes(t);
    bool same = !((ours ^ theirs) >> lane * bits & (bits == 64 ? ~0ull : (1ull << bits) - 1));
    // A result below the least normal number may be flushed or not: the recorded answer tells.
    bool flushed = fabs(want) < least_normal(t) && (a == 0 || b == 0);
    if (!isfinite(want) || !isfinite(a) || !isfinite(b) || flushed)
        return same;
    // Half an ulp of rounding into the result's format comes on top of relative and absolute errors.
    double limit_size = allowed(limit, want, ulp) + (limit->unit[0] == 'u' ? 0 : ulp / 2);
    *our_error = fmax(*our_error, fabs(a - want) / limit_size);
    *their_error = fmax(*their_error, fabs(b - want) / limit_size);
    return same || fabs(a - want) <= limit_size * (1 + 1e-9);
}

bool
bounds_hold(const struct form *f, const uint64_t *in, uint64_t ours, uint64_t theirs, double *our_error, double *their_error)
{
    bool fine = true;
    for (unsigned lane = 0; lane < type_lanes(f->out[0]); lane++)
        fine &= lane_holds(f, in, ours, theirs, lane, our_error, their_error);
    return fine;
}
