// SPDX-License-Identifier: MIT
// Bounds-checked reader of ELF64 files.
#include "base/elf.h"

#include <elf.h>
#include <string.h>

// Does [off, off + len) lie inside `size` bytes?
static bool
inside(uint64_t off, uint64_t len, uint64_t size)
{
    return off <= size && len <= size - off;
}

// The string at `off` of a table if it ends inside the table, else NULL.
static const char *
string_at(const uint8_t *table, size_t size, uint64_t off)
{
    if (!table || off >= size || !memchr(table + off, 0, size - off))
        return NULL;
    return (const char *)table + off;
}

bool
elf_is_magic(const void *p, size_t size)
{
    const uint8_t *b = p;
    return size >= 6 && !memcmp(b, ELFMAG, SELFMAG) && b[EI_CLASS] == ELFCLASS64 &&
           b[EI_DATA] == ELFDATA2LSB;
}

// How many table rows of `entsize` bytes at `off` lie inside the file, at most n.
static unsigned
rows_inside(const struct elf *e, uint64_t off, uint64_t n, size_t entsize)
{
    if (!off || off > e->size)
        return 0;
    uint64_t fit = (e->size - off) / entsize;
    return (unsigned)(n < fit ? n : fit);
}

static bool
read_section_header(const struct elf *e, unsigned i, Elf64_Shdr *out)
{
    if (i >= e->shnum)
        return false;
    memcpy(out, e->base + e->shoff + (uint64_t)i * sizeof *out, sizeof *out);
    return true;
}

// Counts that do not fit in 16 bits are kept in section 0.
static void
extended_counts(struct elf *e, const Elf64_Ehdr *h)
{
    Elf64_Shdr first;
    e->shnum = rows_inside(e, e->shoff, h->e_shnum ? h->e_shnum : 1, sizeof first);
    if (!read_section_header(e, 0, &first))
        return;
    if (!h->e_shnum)
        e->shnum =
            rows_inside(e, e->shoff, first.sh_size < 1u << 24 ? first.sh_size : 0, sizeof first);
    if (h->e_shstrndx == SHN_XINDEX)
        e->shstrndx = first.sh_link;
    if (h->e_phnum == PN_XNUM)
        e->phnum = rows_inside(e, e->phoff, first.sh_info, sizeof(Elf64_Phdr));
}

const char *
elf_open(const void *p, size_t size, struct elf *out)
{
    Elf64_Ehdr h;
    if (!elf_is_magic(p, size))
        return "not a 64-bit little-endian ELF file";
    if (size < sizeof h)
        return "ELF header cut off";
    memcpy(&h, p, sizeof h);
    *out = (struct elf){.base = p,
                        .size = size,
                        .type = h.e_type,
                        .machine = h.e_machine,
                        .flags = h.e_flags,
                        .abi_version = h.e_ident[EI_ABIVERSION],
                        .shoff = h.e_shoff,
                        .phoff = h.e_phoff,
                        .shstrndx = h.e_shstrndx};
    if (h.e_shoff && h.e_shentsize != sizeof(Elf64_Shdr))
        return "section headers of an unknown size";
    if (h.e_phnum && h.e_phentsize != sizeof(Elf64_Phdr))
        return "program headers of an unknown size";
    out->phnum = rows_inside(out, h.e_phoff, h.e_phnum, sizeof(Elf64_Phdr));
    if (h.e_shoff)
        extended_counts(out, &h);
    return NULL;
}

size_t
elf_claimed_size(const void *p, size_t limit)
{
    Elf64_Ehdr h;
    memcpy(&h, p, sizeof h);
    uint64_t end = sizeof h;
    uint64_t tables[2][2] = {{h.e_phoff, (uint64_t)h.e_phnum * sizeof(Elf64_Phdr)},
                             {h.e_shoff, (uint64_t)h.e_shnum * sizeof(Elf64_Shdr)}};
    for (int i = 0; i < 2; i++) {
        if (!inside(tables[i][0], tables[i][1], limit))
            return 0;
        if (tables[i][0] + tables[i][1] > end)
            end = tables[i][0] + tables[i][1];
    }
    struct elf e;
    if (elf_open(p, end, &e))
        return 0;
    for (unsigned i = 0; i < e.shnum; i++) {
        Elf64_Shdr s;
        read_section_header(&e, i, &s);
        if (s.sh_type == SHT_NOBITS || s.sh_type == SHT_NULL)
            continue;
        if (!inside(s.sh_offset, s.sh_size, limit))
            return 0;
        if (s.sh_offset + s.sh_size > end)
            end = s.sh_offset + s.sh_size;
    }
    return end;
}

static void
section_bytes(const struct elf *e, const Elf64_Shdr *h, struct elf_section *out)
{
    if (h->sh_type == SHT_NOBITS || !inside(h->sh_offset, h->sh_size, e->size))
        return;
    out->data = e->base + h->sh_offset;
    out->size = h->sh_size;
}

bool
elf_section(const struct elf *e, unsigned i, struct elf_section *out)
{
    Elf64_Shdr h, names;
    if (!read_section_header(e, i, &h))
        return false;
    *out = (struct elf_section){.name = "",
                                .type = h.sh_type,
                                .link = h.sh_link,
                                .flags = h.sh_flags,
                                .addr = h.sh_addr,
                                .entsize = h.sh_entsize};
    section_bytes(e, &h, out);
    if (read_section_header(e, e->shstrndx, &names)) {
        struct elf_section table = {0};
        section_bytes(e, &names, &table);
        const char *name = string_at(table.data, table.size, h.sh_name);
        out->name = name ? name : "";
    }
    return true;
}

bool
elf_find_section(const struct elf *e, const char *name, struct elf_section *out)
{
    for (unsigned i = 0; elf_section(e, i, out); i++) {
        if (!strcmp(out->name, name))
            return true;
    }
    return false;
}

bool
elf_segment(const struct elf *e, unsigned i, struct elf_segment *out)
{
    Elf64_Phdr h;
    if (i >= e->phnum)
        return false;
    memcpy(&h, e->base + e->phoff + (uint64_t)i * sizeof h, sizeof h);
    *out = (struct elf_segment){
        .type = h.p_type, .flags = h.p_flags, .addr = h.p_vaddr, .memsz = h.p_memsz};
    if (inside(h.p_offset, h.p_filesz, e->size)) {
        out->data = e->base + h.p_offset;
        out->size = h.p_filesz;
    }
    return true;
}

bool
elf_find_segment(const struct elf *e, uint32_t type, struct elf_segment *out)
{
    for (unsigned i = 0; elf_segment(e, i, out); i++) {
        if (out->type == type)
            return true;
    }
    return false;
}

const uint8_t *
elf_at(const struct elf *e, uint64_t addr, size_t *left)
{
    struct elf_segment s;
    for (unsigned i = 0; elf_segment(e, i, &s); i++) {
        if (s.type != PT_LOAD || addr < s.addr || addr - s.addr >= s.size)
            continue;
        *left = s.size - (addr - s.addr);
        return s.data + (addr - s.addr);
    }
    return NULL;
}

bool
elf_dynamic(const struct elf *e, unsigned i, int64_t *tag, uint64_t *value)
{
    struct elf_segment s;
    Elf64_Dyn d;
    if (!elf_find_segment(e, PT_DYNAMIC, &s) || i >= s.size / sizeof d)
        return false;
    memcpy(&d, s.data + i * sizeof d, sizeof d);
    *tag = d.d_tag;
    *value = d.d_un.d_val;
    return d.d_tag != DT_NULL;
}

static bool
dynamic_value(const struct elf *e, int64_t want, unsigned nth, uint64_t *value)
{
    int64_t tag;
    for (unsigned i = 0; elf_dynamic(e, i, &tag, value); i++) {
        if (tag == want && !nth--)
            return true;
    }
    return false;
}

const char *
elf_dynamic_string(const struct elf *e, int64_t tag, unsigned i)
{
    uint64_t offset, table;
    size_t left;
    if (!dynamic_value(e, tag, i, &offset) || !dynamic_value(e, DT_STRTAB, 0, &table))
        return NULL;
    const uint8_t *p = elf_at(e, table, &left);
    return p ? string_at(p, left, offset) : NULL;
}

const char *
elf_interpreter(const struct elf *e)
{
    struct elf_segment s;
    return elf_find_segment(e, PT_INTERP, &s) ? string_at(s.data, s.size, 0) : NULL;
}

// Leaves *out alone if the table has no such name; returns true when it is defined there.
static bool
look_in_table(const struct elf *e, const char *table, const char *name, struct elf_symbol *out)
{
    struct elf_section syms, strs;
    if (!elf_find_section(e, table, &syms) || !elf_section(e, syms.link, &strs))
        return false;
    for (size_t i = 0; i < syms.size / sizeof(Elf64_Sym); i++) {
        Elf64_Sym s;
        memcpy(&s, syms.data + i * sizeof s, sizeof s);
        const char *found = string_at(strs.data, strs.size, s.st_name);
        if (!found || strcmp(found, name))
            continue;
        *out = (struct elf_symbol){found, s.st_value, s.st_size, s.st_shndx, s.st_info, s.st_other};
        if (s.st_shndx != SHN_UNDEF)
            return true;
    }
    return false;
}

bool
elf_find_symbol(const struct elf *e, const char *name, struct elf_symbol *out)
{
    struct elf_symbol s = {0};
    if (!look_in_table(e, ".dynsym", name, &s))
        look_in_table(e, ".symtab", name, &s);
    if (s.name)
        *out = s;
    return s.name;
}
