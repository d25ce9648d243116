// SPDX-License-Identifier: MIT
// Decompression of entries: LZ4 blocks and zstd frames, both with a bound on the output.
#include "image/internal.h"

#include <limits.h>
#include <lz4.h>
#include <stdlib.h>
#include <zstd.h>

enum method { RAW, LZ4, ZSTD };

// Entries without a flag for their method are judged by zstd's magic, which cannot begin an LZ4
// block of PTX or ELF.
static enum method
method_of(const struct image_entry *e)
{
    static const uint8_t zstd_magic[4] = {0x28, 0xb5, 0x2f, 0xfd};
    if (!e->compressed)
        return RAW;
    if (e->flags & FATBIN_ZSTD)
        return ZSTD;
    if (e->flags & FATBIN_LZ4)
        return LZ4;
    return e->size >= 4 && !memcmp(e->data, zstd_magic, 4) ? ZSTD : LZ4;
}

static int
unpack_lz4(const struct image_entry *e, char *to, size_t *size, struct image_error *err)
{
    if (e->size > INT_MAX)
        return image_fail(err, IMAGE_INVALID, "LZ4 block longer than 2 GiB");
    int n = LZ4_decompress_safe((const char *)e->data, to, (int)e->size, (int)e->unpacked_size);
    if (n < 0)
        return image_fail(err, IMAGE_INVALID,
                          "LZ4 block is damaged or unpacks to more than %zu bytes",
                          e->unpacked_size);
    *size = (size_t)n;
    return IMAGE_OK;
}

static int
unpack_zstd(const struct image_entry *e, char *to, size_t *size, struct image_error *err)
{
    size_t n = ZSTD_decompress(to, e->unpacked_size, e->data, e->size);
    if (ZSTD_isError(n))
        return image_fail(err, IMAGE_INVALID, "zstd frame: %s", ZSTD_getErrorName(n));
    *size = n;
    return IMAGE_OK;
}

static int
unpack_into(const struct image_entry *e, char *to, size_t *size, struct image_error *err)
{
    switch (method_of(e)) {
    case LZ4:
        return unpack_lz4(e, to, size, err);
    case ZSTD:
        return unpack_zstd(e, to, size, err);
    case RAW:
        break;
    }
    if (e->size)
        memcpy(to, e->data, e->size);
    *size = e->size;
    return IMAGE_OK;
}

int
image_unpack(const struct image_entry *e, char **out, size_t *out_size, struct image_error *err)
{
    *out = NULL;
    *out_size = 0;
    if (e->unpacked_size > IMAGE_MAX_UNPACK || (!e->compressed && e->size > e->unpacked_size))
        return image_fail(err, IMAGE_INVALID, "entry claims to unpack to %zu bytes",
                          e->unpacked_size);
    char *to = malloc(e->unpacked_size + 1);
    if (!to)
        return image_fail(err, IMAGE_NO_MEMORY, "no memory for %zu bytes of an entry",
                          e->unpacked_size);
    size_t size = 0;
    int result = unpack_into(e, to, &size, err);
    if (!result && size != e->unpacked_size)
        result = image_fail(err, IMAGE_INVALID, "entry unpacks to %zu bytes, not %zu", size,
                            e->unpacked_size);
    if (result) {
        free(to);
        return result;
    }
    to[size] = 0;
    *out = to;
    *out_size = size;
    return IMAGE_OK;
}
