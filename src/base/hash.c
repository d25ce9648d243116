// SPDX-License-Identifier: MIT
#include "base/hash.h"

#include <xxhash.h>

uint64_t
hash64(const void *data, size_t size)
{
    return XXH3_64bits(data, size);
}

struct hash128
hash128(const void *data, size_t size)
{
    XXH128_hash_t h = XXH3_128bits(data, size);
    return (struct hash128){h.low64, h.high64};
}

struct hash128
hash128_more(struct hash128 h, const void *data, size_t size)
{
    struct hash128 part[2] = {h, hash128(data, size)};
    return hash128(part, sizeof part);
}
