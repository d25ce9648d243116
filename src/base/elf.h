// SPDX-License-Identifier: MIT
// Reader of 64-bit little-endian ELF files in memory. Every access is checked against the file's
// size: the bytes may be hostile.
#ifndef BASE_ELF_H
#define BASE_ELF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { ELF_MACHINE_X86_64 = 62, ELF_MACHINE_AARCH64 = 183, ELF_MACHINE_CUDA = 190 };

// A file that elf_open accepted. Points into the caller's bytes, which need no alignment.
struct elf {
    const uint8_t *base;
    size_t size;
    uint16_t type, machine; // ET_*, EM_*
    uint32_t flags;
    uint8_t abi_version;
    uint64_t shoff, phoff;
    unsigned shnum, phnum, shstrndx; // shnum and phnum are cut to what lies inside the file
};

struct elf_section {
    const char *name;    // "" if the name is out of bounds
    uint32_t type, link; // SHT_*
    uint64_t flags, addr, entsize;
    const uint8_t *data; // NULL for SHT_NOBITS and for contents outside the file
    size_t size;         // bytes at data
};

struct elf_segment {
    uint32_t type, flags; // PT_*, PF_*
    uint64_t addr, memsz;
    const uint8_t *data; // NULL if outside the file
    size_t size;
};

struct elf_symbol {
    const char *name;
    uint64_t value, size;
    uint16_t section; // SHN_UNDEF: only wanted here, not defined
    uint8_t info, other;
};

// Is this the start of an ELF64 little-endian file? Reads at most 8 bytes.
bool elf_is_magic(const void *p, size_t size);
// NULL, or why the bytes are refused.
const char *elf_open(const void *p, size_t size, struct elf *out);
// Size that the headers claim for an ELF image in memory whose end is unknown; 0 if they claim more
// than `limit`.
size_t elf_claimed_size(const void *p, size_t limit);

bool elf_section(const struct elf *e, unsigned i, struct elf_section *out);
bool elf_find_section(const struct elf *e, const char *name, struct elf_section *out);
bool elf_segment(const struct elf *e, unsigned i, struct elf_segment *out);
bool elf_find_segment(const struct elf *e, uint32_t type, struct elf_segment *out);
// File bytes behind a virtual address: NULL if no segment holds it; *left is what remains in the
// segment.
const uint8_t *elf_at(const struct elf *e, uint64_t addr, size_t *left);

// Dynamic section: entry i, false at the end.
bool elf_dynamic(const struct elf *e, unsigned i, int64_t *tag, uint64_t *value);
// The i-th string of a tag such as DT_NEEDED, DT_RUNPATH; NULL when there are no more.
const char *elf_dynamic_string(const struct elf *e, int64_t tag, unsigned i);
// Path of the program interpreter, or NULL (static program, library).
const char *elf_interpreter(const struct elf *e);

// Looks in .dynsym, then in .symtab; a definition wins over an undefined reference.
bool elf_find_symbol(const struct elf *e, const char *name, struct elf_symbol *out);

#endif
