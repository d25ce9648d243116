// SPDX-License-Identifier: MIT
// Rounding of a double to a 16-bit format.
#ifndef PTX_HALF_H
#define PTX_HALF_H

#include <math.h>
#include <stdint.h>

// Sign, `exponent` and `mantissa` bits, to nearest even: (5, 10) is f16, (8, 7) is bf16.
static inline uint16_t
half_of_double(double f, int exponent, int mantissa)
{
    uint16_t sign = signbit(f) ? 0x8000 : 0,
             infinity = (uint16_t)(((1 << exponent) - 1) << mantissa);
    int bias = (1 << (exponent - 1)) - 1, e;
    if (isnan(f))
        return 0x7fff;
    if (f == 0)
        return sign;
    double m = frexp(fabs(f), &e); // |f| = m * 2^e, m in [0.5, 1)
    if (isinf(f) || e - 1 > bias)
        return sign | infinity;
    int least =
        e - 1 < 1 - bias ? 1 - bias : e - 1; // exponent of the leading bit, subnormals included
    double units = ldexp(m, e - least + mantissa); // in units of the last place
    uint32_t n = (uint32_t)nearbyint(units);
    uint32_t bits = e - 1 < 1 - bias ? n : n + ((uint32_t)(least + bias - 1) << mantissa);
    return sign | (uint16_t)(bits > infinity ? infinity : bits);
}

#endif
