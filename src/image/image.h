// SPDX-License-Identifier: MIT
// What programs embed for a GPU: fatbin wrappers and containers, cubins, PTX text. Reads untrusted bytes.
#ifndef IMAGE_IMAGE_H
#define IMAGE_IMAGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

enum image_kind {
    IMAGE_NONE,
    IMAGE_PTX_TEXT,        // bare text, NUL-terminated
    IMAGE_FATBIN_WRAPPER,  // __fatBinC_Wrapper_t, version 1 or 2
    IMAGE_FATBIN,          // container header
    IMAGE_CUBIN,           // ELF of machine CUDA
    IMAGE_ARCHIVE,         // "!<arch>": static library of objects
    IMAGE_HOST_ELF         // object, library or program of the host that may carry containers
};

// What the bytes at p are, judged by their first words. `size` 0: not known (an in-memory image given by pointer only; at least 8 bytes are readable).
enum image_kind image_identify(const void *p, size_t size);

enum entry_kind { ENTRY_PTX = 1, ENTRY_ELF = 2, ENTRY_LTO_IR = 8 };

struct image_entry {
    uint16_t kind;            // enum entry_kind or another number as found
    int arch;                 // 75 for sm_75
    char arch_suffix;         // 'a', 'f' or 0
    int version;              // PTX ISA 90, or cubin ABI
    bool compressed;
    bool relocatable;         // --compile-only / relocatable object: needs linking with its siblings
    uint64_t flags;
    const uint8_t *data;      // as stored
    size_t size, unpacked_size; // bytes; unpacked_size == size when not compressed
    const char *options;      // ptxas options that came with it ("--fmad false"), or ""
    const char *name;         // identifier or ""
};

struct image {
    struct arena arena;
    enum image_kind kind;
    struct image_entry *entry; // vec: all entries of the main container, in order
    // A version-2 wrapper's prelinked containers, or all containers of an archive or host object: objects to be linked
    // with each other. vec of vecs is flattened: entry i belongs to object link_object[i].
    struct image_entry *link_entry; // vec
    int *link_object;               // vec, parallel to link_entry
    int link_objects;               // number of objects
};

struct image_error {
    char text[512];
};

// Reads an image at p. size 0: in memory with unknown size (the container's own sizes are believed up to 4 GiB). Data is not copied:
// entries point into the caller's bytes. Returns CUresult numbers: 0, 200 (invalid image), 209; reason in err->text.
int image_open(const void *p, size_t size, struct image *out, struct image_error *err);
void image_close(struct image *im);
// Copies the PTX that the entries point to, and drops the data of all others, so that the caller's bytes may go away.
void image_detach(struct image *im);

// Unpacked bytes of an entry, plus one NUL, in malloc'ed memory: *out, *out_size (without the NUL). Bounded by unpacked_size
// (at most 1 GiB). Returns 0, 2 (memory) or 200.
int image_unpack(const struct image_entry *e, char **out, size_t *out_size, struct image_error *err);

// What to run on a device of compute capability `sm` (121): the best PTX, or for each link object its best PTX.
struct image_choice {
    const struct image_entry **entry; // vec
};
// 0, or 209 (no PTX that the device can take): err names the architectures present and what to pass to nvcc.
int image_choose(const struct image *im, int sm, struct image_choice *out, struct image_error *err);

// Does PTX for `arch` + suffix run on a device `sm`? Plain: arch <= sm; 'a': equal; 'f': same family (major) and arch <= sm.
bool image_arch_fits(int arch, char suffix, int sm);

// Does a machine code entry hold any kernel or function? nvcc's device link leaves empty ones in programs that need no linking.
bool image_has_machine_code(const struct image_entry *e);

// Calls fn for each fatbin container found in the data of an ELF file of the host (.nv_fatbin, __nv_relfatbin and any other section), for
// tools. 0, or 200 if the bytes are not such a file.
int image_scan_elf(const void *elf, size_t size, void (*fn)(void *user, const struct image *im, const char *section), void *user);

#endif
