// SPDX-License-Identifier: MIT
// What is known of an integer's low bits: n = residue modulo 2^bits.
#ifndef CPU_WARP_KNOWN_H
#define CPU_WARP_KNOWN_H

#include <stdint.h>

enum { MAX_KNOWN = 7 };

struct known {
    uint8_t bits, residue; // bits <= MAX_KNOWN, residue < 2^bits
};

static inline struct known
known(unsigned bits, uint64_t n)
{
    bits = bits < MAX_KNOWN ? bits : MAX_KNOWN;
    return (struct known){(uint8_t)bits, (uint8_t)(n & ((1u << bits) - 1))};
}

static inline unsigned
known_common(struct known a, struct known b)
{
    return a.bits < b.bits ? a.bits : b.bits;
}

static inline struct known
known_add(struct known a, struct known b)
{
    return known(known_common(a, b), (uint64_t)a.residue + b.residue);
}

static inline struct known
known_sub(struct known a, struct known b)
{
    return known(known_common(a, b), (uint64_t)a.residue - b.residue);
}

// Low bits that are known to be zero.
static inline unsigned
known_zeros(struct known a)
{
    return a.residue ? (unsigned)__builtin_ctz(a.residue) : a.bits;
}

static inline struct known
known_mul(struct known a, struct known b)
{
    unsigned n = (unsigned)a.bits + b.bits;
    if (b.residue && a.bits + known_zeros(b) < n)
        n = a.bits + known_zeros(b);
    if (a.residue && b.bits + known_zeros(a) < n)
        n = b.bits + known_zeros(a);
    return known(n, (uint64_t)a.residue * b.residue);
}

static inline struct known
known_shl(struct known a, unsigned by)
{
    return known(a.bits + by, (uint64_t)a.residue << by);
}

static inline struct known
known_and(struct known a, struct known b)
{
    unsigned both = known_common(a, b), n = both;
    n = known_zeros(a) > n ? known_zeros(a) : n;
    n = known_zeros(b) > n ? known_zeros(b) : n;
    return known(n, (uint64_t)(a.residue & b.residue) & ((1u << both) - 1));
}

// Either of two.
static inline struct known
known_join(struct known a, struct known b)
{
    unsigned n = known_common(a, b);
    while ((a.residue ^ b.residue) & ((1u << n) - 1))
        n--;
    return known(n, a.residue);
}

#endif
