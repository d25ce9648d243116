// SPDX-License-Identifier: MIT
// Builds fatbin containers, cubins and archives in memory from the format's description, for tests
// and the fuzzer's corpus.
#ifndef TEST_IMAGE_BUILD_H
#define TEST_IMAGE_BUILD_H

#include <elf.h>
#include <lz4.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

struct build {
    uint8_t bytes[65536];
    size_t size;
};

enum build_packing { BUILD_RAW = 0, BUILD_LZ4 = 0x2000, BUILD_ZSTD = 0x8000 };
enum { BUILD_ARCH_SPECIFIC = 0x100000, BUILD_FAMILY_SPECIFIC = 0x200000 };

static const char build_ptx[] =
    ".version 8.7\n.target sm_75\n.address_size 64\n"
    ".visible .entry scale(.param .u64 p, .param .f32 a)\n{\n    ret;\n}\n";

static inline void
build_put(struct build *b, const void *data, size_t n)
{
    if (n)
        memcpy(b->bytes + b->size, data, n);
    b->size += n;
}

static inline void
build_zero(struct build *b, size_t n)
{
    memset(b->bytes + b->size, 0, n);
    b->size += n;
}

static inline void
build_int(struct build *b, uint64_t v, size_t n)
{
    build_put(b, &v, n);
}

static inline void
build_set(struct build *b, size_t at, uint64_t v, size_t n)
{
    memcpy(b->bytes + at, &v, n);
}

// Returns where the container begins; build_end writes its size.
static inline size_t
build_begin(struct build *b)
{
    size_t at = b->size;
    build_int(b, 0xba55ed50, 4);
    build_int(b, 1, 2);
    build_int(b, 16, 2);
    build_int(b, 0, 8);
    return at;
}

static inline void
build_end(struct build *b, size_t at)
{
    build_set(b, at + 8, b->size - at - 16, 8);
}

struct build_entry {
    int kind, arch, major, minor;
    uint64_t flags; // one of build_packing included
    const char *options, *name;
    const void *data;
    size_t size;
};

static inline size_t
build_pack(const struct build_entry *e, void *to, size_t cap)
{
    if (e->flags & BUILD_LZ4)
        return (size_t)LZ4_compress_default(e->data, to, (int)e->size, (int)cap);
    if (e->flags & BUILD_ZSTD)
        return ZSTD_compress(to, cap, e->data, e->size, 3);
    memcpy(to, e->data, e->size);
    return e->size;
}

// Returns where the entry's header begins. Fields of it are at the offsets of docs/image.md.
static inline size_t
build_entry(struct build *b, const struct build_entry *e)
{
    static uint8_t packed[32768];
    size_t at = b->size, stored = build_pack(e, packed, sizeof packed),
           padded = (stored + 7) & ~(size_t)7;
    size_t name = e->name ? strlen(e->name) : 0, options = e->options ? strlen(e->options) : 0;
    size_t place = 64 + ((name + 7) & ~(size_t)7),
           header = place + 8 + ((options + 8) & ~(size_t)7);
    int compressed = (e->flags & (BUILD_LZ4 | BUILD_ZSTD)) != 0;
    build_int(b, e->kind, 2);
    build_int(b, 0x101, 2);
    build_int(b, header, 4);
    build_int(b, padded, 8);
    build_int(b, compressed ? stored : 0, 4);
    build_int(b, options ? place : 0, 4);
    build_int(b, e->minor, 2);
    build_int(b, e->major, 2);
    build_int(b, e->arch, 4);
    build_int(b, name ? 64 : 0, 4);
    build_int(b, name, 4);
    build_int(b, e->flags | 0x11, 8);
    build_int(b, 0, 8);
    build_int(b, compressed ? e->size : 0, 8);
    build_zero(b, header - 64 + padded);
    build_set(b, at + place, place + 8, 4);
    build_set(b, at + place + 4, options, 4);
    if (name)
        memcpy(b->bytes + at + 64, e->name, name);
    if (options)
        memcpy(b->bytes + at + place + 8, e->options, options);
    memcpy(b->bytes + at + header, packed, stored);
    return at;
}

// A PTX entry of the text above.
static inline size_t
build_ptx_entry(struct build *b, int arch, uint64_t flags, const char *options)
{
    struct build_entry e = {.kind = 1,
                            .arch = arch,
                            .major = 8,
                            .minor = 7,
                            .flags = flags,
                            .options = options,
                            .data = build_ptx,
                            .size = sizeof build_ptx - 1};
    return build_entry(b, &e);
}

static inline size_t
build_elf_entry(struct build *b, int arch, uint64_t flags)
{
    Elf64_Ehdr h = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0x41, 8},
                    .e_type = ET_EXEC,
                    .e_machine = 190,
                    .e_version = 1,
                    .e_ehsize = sizeof h,
                    .e_flags = (Elf64_Word)arch << 8};
    struct build_entry e = {.kind = 2,
                            .arch = arch,
                            .major = 1,
                            .minor = 8,
                            .flags = flags,
                            .data = &h,
                            .size = sizeof h};
    return build_entry(b, &e);
}

// An ELF file with the given sections (names and contents) and nothing else. Offsets: header,
// contents, names, section headers.
struct build_section {
    const char *name;
    const void *data;
    size_t size;
    uint32_t type, link;
};

static inline void
build_elf(struct build *b, int machine, int type, uint32_t flags, int abi,
          const struct build_section *s, int n)
{
    size_t base = b->size;
    Elf64_Ehdr h = {
        .e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1, 0, (unsigned char)abi},
        .e_type = (Elf64_Half)type,
        .e_machine = (Elf64_Half)machine,
        .e_version = 1,
        .e_flags = flags,
        .e_ehsize = sizeof h,
        .e_phentsize = sizeof(Elf64_Phdr),
        .e_shentsize = sizeof(Elf64_Shdr),
        .e_shnum = (Elf64_Half)(n + 2),
        .e_shstrndx = (Elf64_Half)(n + 1)};
    Elf64_Shdr sh[18] = {{0}};
    char names[512] = "";
    size_t len = 1;
    build_put(b, &h, sizeof h);
    for (int i = 0; i <= n; i++) {
        const char *name = i < n ? s[i].name : ".shstrtab";
        sh[i + 1] = (Elf64_Shdr){.sh_name = (Elf64_Word)len,
                                 .sh_type = i < n && s[i].type ? s[i].type : SHT_PROGBITS,
                                 .sh_flags = SHF_ALLOC,
                                 .sh_link = i < n ? s[i].link : 0,
                                 .sh_offset = b->size - base};
        len += strlen(strcpy(names + len, name)) + 1;
        if (i == n) {
            sh[i + 1].sh_type = SHT_STRTAB;
            sh[i + 1].sh_size = len;
            build_put(b, names, len);
        } else {
            sh[i + 1].sh_size = s[i].size;
            build_put(b, s[i].data, s[i].size);
        }
        build_zero(b, -b->size & 7);
    }
    h.e_shoff = b->size - base;
    build_put(b, sh, sizeof *sh * (size_t)(n + 2));
    memcpy(b->bytes + base, &h, sizeof h);
}

static inline void
build_archive_member(struct build *b, const char *name, const void *data, size_t size)
{
    char header[61];
    if (!b->size)
        build_put(b, "!<arch>\n", 8);
    snprintf(header, sizeof header, "%-16s%-12d%-6d%-6d%-8o%-10zu`\n", name, 0, 0, 0, 0644u, size);
    build_put(b, header, 60);
    build_put(b, data, size);
    build_zero(b, size & 1);
}

#endif
