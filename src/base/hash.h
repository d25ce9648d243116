// SPDX-License-Identifier: MIT
// Hashes of bytes: XXH3 of libxxhash. Not cryptographic; stable across machines.
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <stddef.h>
#include <stdint.h>

struct hash128 {
    uint64_t lo, hi;
};

uint64_t hash64(const void *data, size_t size);
struct hash128 hash128(const void *data, size_t size);
// The hash of what `h` stands for followed by the data: for keys made of several parts.
struct hash128 hash128_more(struct hash128 h, const void *data, size_t size);

#endif
