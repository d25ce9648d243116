// SPDX-License-Identifier: MIT
// ELF reader: a file built by hand, this test's own executable, and damaged headers.
#include "check.h"
#include "image_build.h"

#include "base/elf.h"

#include <elf.h>

static struct build b;

static void
build_sample(void)
{
    static const char strings[] = "\0alpha\0beta";
    static Elf64_Sym sym[3];
    sym[1] =
        (Elf64_Sym){.st_name = 1, .st_value = 0x40, .st_size = 8, .st_shndx = 1, .st_info = 0x12};
    sym[2] = (Elf64_Sym){.st_name = 7, .st_shndx = SHN_UNDEF};
    struct build_section s[] = {
        {".text", "code", 4, 0, 0},
        {".strtab", strings, sizeof strings, SHT_STRTAB, 0},
        {".symtab", sym, sizeof sym, SHT_SYMTAB, 2},
        {".bss", NULL, 0, SHT_NOBITS, 0},
    };
    b.size = 0;
    build_elf(&b, EM_X86_64, ET_REL, 0, 0, s, 4);
}

static void
sections(void)
{
    struct elf e;
    struct elf_section s;
    build_sample();
    CHECK(elf_open(b.bytes, b.size, &e) == NULL);
    CHECK_INT(e.machine, ELF_MACHINE_X86_64);
    CHECK_INT(e.type, ET_REL);
    CHECK_INT(e.shnum, 6);
    CHECK(elf_find_section(&e, ".text", &s));
    CHECK_INT(s.size, 4);
    CHECK(!memcmp(s.data, "code", 4));
    CHECK(elf_find_section(&e, ".bss", &s));
    CHECK(s.data == NULL && s.size == 0);
    CHECK(!elf_find_section(&e, ".data", &s));
    CHECK(!elf_section(&e, 6, &s));
    CHECK_INT(elf_claimed_size(b.bytes, 1 << 20), b.size);
    CHECK_INT(elf_claimed_size(b.bytes, 100), 0);
}

static void
symbols(void)
{
    struct elf e;
    struct elf_symbol s;
    build_sample();
    elf_open(b.bytes, b.size, &e);
    CHECK(elf_find_symbol(&e, "alpha", &s));
    CHECK_INT(s.value, 0x40);
    CHECK_INT(s.section, 1);
    CHECK(elf_find_symbol(&e, "beta", &s));
    CHECK_INT(s.section, SHN_UNDEF);
    CHECK(!elf_find_symbol(&e, "lpha", &s));
}

static void
not_elf(void)
{
    struct elf e;
    build_sample();
    CHECK_STR(elf_open(b.bytes, 63, &e), "ELF header cut off");
    CHECK_STR(elf_open(b.bytes, 3, &e), "not a 64-bit little-endian ELF file");
    b.bytes[4] = ELFCLASS32;
    CHECK_STR(elf_open(b.bytes, b.size, &e), "not a 64-bit little-endian ELF file");
    build_sample();
    b.bytes[offsetof(Elf64_Ehdr, e_shentsize)]++;
    CHECK_STR(elf_open(b.bytes, b.size, &e), "section headers of an unknown size");
}

// Calls every look-up; returns how many sections were seen.
static unsigned
read_all(const void *p, size_t size)
{
    struct elf e;
    struct elf_section s;
    struct elf_segment g;
    struct elf_symbol y;
    unsigned n = 0;
    if (elf_open(p, size, &e))
        return 0;
    while (elf_section(&e, n, &s))
        n++;
    for (unsigned i = 0; elf_segment(&e, i, &g); i++)
        ;
    elf_interpreter(&e);
    elf_dynamic_string(&e, DT_NEEDED, 0);
    elf_find_symbol(&e, "alpha", &y);
    return n;
}

static void
truncated(void)
{
    build_sample();
    for (size_t n = 0; n < b.size; n++) {
        uint8_t *copy = malloc(n ? n : 1);
        memcpy(copy, b.bytes, n);
        CHECK(read_all(copy, n) < 6);
        free(copy);
    }
    CHECK_INT(read_all(b.bytes, b.size), 6);
}

// Each field of header and section headers set to extremes: nothing is read outside (a sanitizer
// sees it).
static void
extremes(void)
{
    static const uint64_t value[] = {
        0, 1, 0x7fffffff, UINT64_MAX, UINT64_MAX - 63, (uint64_t)1 << 63};
    build_sample();
    size_t size = b.size;
    uint8_t *copy = malloc(size);
    for (size_t at = 16; at + 8 <= size; at += 4) {
        for (size_t i = 0; i < sizeof value / sizeof *value; i++) {
            memcpy(copy, b.bytes, size);
            memcpy(copy + at, &value[i], 8);
            CHECK(read_all(copy, size) <= 6);
            size_t claimed = elf_claimed_size(copy, size);
            CHECK(claimed <= size);
        }
    }
    free(copy);
}

static void
own_executable(void)
{
    static uint8_t bytes[16 << 20];
    FILE *f = fopen("/proc/self/exe", "rb");
    size_t size = f ? fread(bytes, 1, sizeof bytes, f) : 0;
    struct elf e;
    struct elf_symbol s;
    bool libc = false;
    const char *name;
    if (f)
        fclose(f);
    if (!size || size == sizeof bytes || elf_open(bytes, size, &e)) {
        skip("cannot read /proc/self/exe");
        return;
    }
    for (unsigned i = 0; (name = elf_dynamic_string(&e, DT_NEEDED, i)); i++)
        libc |= !strcmp(name, "libc.so.6");
    CHECK(libc);
    CHECK(elf_interpreter(&e) && elf_interpreter(&e)[0] == '/');
    CHECK(elf_find_symbol(&e, "main", &s));
    CHECK(s.section != SHN_UNDEF && s.size > 0);
    size_t left;
    CHECK(elf_at(&e, s.value, &left) != NULL && left >= s.size);
    CHECK(elf_at(&e, UINT64_MAX, &left) == NULL);
}

CHECK_MAIN(T(sections), T(symbols), T(not_elf), T(truncated), T(extremes), T(own_executable))
