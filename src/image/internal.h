// SPDX-License-Identifier: MIT
// What the files of image/ share: layouts as found in files, bounded reads, the error helper.
#ifndef IMAGE_INTERNAL_H
#define IMAGE_INTERNAL_H

#include <string.h>

#include "base/elf.h"
#include "base/vec.h"
#include "image/image.h"

// Results, numbered as CUresult.
enum { IMAGE_OK = 0, IMAGE_NO_MEMORY = 2, IMAGE_INVALID = 200, IMAGE_NO_BINARY = 209 };

#define FATBIN_WRAPPER_MAGIC 0x466243b1u
#define FATBIN_MAGIC         0xba55ed50u
#define ARCHIVE_MAGIC        "!<arch>\n"

// Sizes found inside an image are believed up to here.
#define IMAGE_MAX_SIZE    ((uint64_t)4 << 30)
#define IMAGE_MAX_UNPACK  ((uint64_t)1 << 30)
#define IMAGE_MAX_OBJECTS 65536

struct fatbin_wrapper {
    uint32_t magic, version;
    const void *data;      // main container
    const void *prelinked; // version 2: containers, ended by NULL; version 1: a file's name, unused
};

struct fatbin_header {
    uint32_t magic;
    uint16_t version, header_size;
    uint64_t size; // of what follows the header
};

// Header of an entry; header_size may be larger, with strings after it. Offsets count from the
// header's start.
struct fatbin_entry {
    uint16_t kind, version;
    uint32_t header_size;
    uint64_t stored_size;     // padded to 8
    uint32_t compressed_size; // 0: not compressed
    uint32_t options_at;      // where {u32 offset, u32 length} of the options stand; 0: none
    uint16_t minor, major;    // PTX ISA, or 1 and the cubin's ABI
    uint32_t arch;
    uint32_t name_offset, name_length;
    uint64_t flags;
    uint64_t reserved;
    uint64_t unpacked_size; // 0: not compressed
};

enum {
    FATBIN_64BIT = 0x1,
    FATBIN_DEBUG = 0x2,
    FATBIN_LINUX = 0x10,
    FATBIN_LZ4 = 0x2000,
    FATBIN_ZSTD = 0x8000,
    FATBIN_ARCH_SPECIFIC = 0x100000,   // "a"
    FATBIN_FAMILY_SPECIFIC = 0x200000, // "f"
    FATBIN_COMPATIBILITY =
        0x1000000 // machine code: binary attributes stand where PTX has its options
};

// Sets the error's text and returns `code`.
int image_fail(struct image_error *err, int code, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// fatbin.c: appends a container's entries to *entries. *end: the byte after it. `size` is that of
// the readable bytes.
int fatbin_read(struct arena *a, const uint8_t *p, uint64_t size, struct image_entry **entries,
                const uint8_t **end, struct image_error *err);
int fatbin_read_wrapper(const void *p, struct image *out, struct image_error *err);
// The same, with the container's entries as one more object to be linked.
int fatbin_read_object(struct image *im, const uint8_t *p, uint64_t size, bool relocatable,
                       const uint8_t **end, struct image_error *err);
// Makes the entries added to link_entry since the last call one more object.
void image_end_object(struct image *im);

// text.c
bool ptx_text_at(const char *p, size_t size);
int ptx_text_open(const char *p, size_t size, struct image *out, struct image_error *err);

// cubin.c
int cubin_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err);
// The same, as one more object to be linked.
int cubin_open_object(const uint8_t *p, size_t size, struct image *out, struct image_error *err);

// host.c
int host_elf_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err);
int archive_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err);

#endif
