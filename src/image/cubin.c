// SPDX-License-Identifier: MIT
// Cubins: ELF files of machine CUDA. Only what an error message or a table about them needs is
// read.
#include "image/internal.h"

#include <stdlib.h>

enum {
    CUBIN_ABI_WIDE = 8, // from this ABI version on, the architecture has moved to bits 8..15
    CUBIN_ARCH_SPECIFIC = 0x800, // older ABI: "a"
    ELF_TYPE_RELOCATABLE = 1
};

static void
read_arch(const struct elf *elf, struct image_entry *e)
{
    if (elf->abi_version >= CUBIN_ABI_WIDE) {
        e->arch = elf->flags >> 8 & 0xff;
        return;
    }
    e->arch = elf->flags & 0xff;
    e->arch_suffix = e->arch >= 90 && elf->flags & CUBIN_ARCH_SPECIFIC ? 'a' : 0;
}

static int
read_cubin(const uint8_t *p, size_t size, struct image_entry *e, struct image_error *err)
{
    struct elf elf;
    if (!size)
        size = elf_claimed_size(p, IMAGE_MAX_SIZE);
    const char *fault = elf_open(p, size, &elf);
    if (fault)
        return image_fail(err, IMAGE_INVALID, "cubin: %s", fault);
    *e = (struct image_entry){.kind = ENTRY_ELF,
                              .version = elf.abi_version,
                              .data = p,
                              .size = size,
                              .unpacked_size = size,
                              .options = "",
                              .name = "",
                              .relocatable = elf.type == ELF_TYPE_RELOCATABLE};
    read_arch(&elf, e);
    return IMAGE_OK;
}

int
cubin_open(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    struct image_entry e;
    int result = read_cubin(p, size, &e, err);
    if (!result)
        vec_push(out->entry, e);
    return result;
}

int
cubin_open_object(const uint8_t *p, size_t size, struct image *out, struct image_error *err)
{
    struct image_entry e;
    int result = read_cubin(p, size, &e, err);
    if (result)
        return result;
    vec_push(out->link_entry, e);
    image_end_object(out);
    return IMAGE_OK;
}

// Each kernel and each set of functions has a section of its own.
static bool
has_text_section(const void *p, size_t size)
{
    struct elf elf;
    struct elf_section s;
    if (elf_open(p, size, &elf))
        return true;
    for (unsigned i = 0; elf_section(&elf, i, &s); i++) {
        if (!strncmp(s.name, ".text.", 6) && s.size)
            return true;
    }
    return false;
}

bool
image_has_machine_code(const struct image_entry *e)
{
    if (e->kind != ENTRY_ELF)
        return false;
    char *bytes;
    size_t size;
    if (!e->compressed)
        return has_text_section(e->data, e->size);
    if (image_unpack(e, &bytes, &size, NULL))
        return true;
    bool has = has_text_section(bytes, size);
    free(bytes);
    return has;
}
