// SPDX-License-Identifier: MIT
// libFuzzer target: image/ and base/elf on arbitrary bytes.
#include <stdlib.h>
#include <string.h>

#include "base/elf.h"
#include "base/vec.h"
#include "image/image.h"

enum { UNPACK_LIMIT = 1 << 22 }; // larger claims only measure malloc

static void
use_entries(const struct image_entry *e)
{
    for (size_t i = 0; i < vec_len(e); i++) {
        struct image_error err;
        char *text;
        size_t size;
        volatile size_t sink = strlen(e[i].options) + strlen(e[i].name);
        (void)sink;
        if (e[i].unpacked_size > UNPACK_LIMIT)
            continue;
        if (!image_unpack(&e[i], &text, &size, &err) && (size != e[i].unpacked_size || text[size]))
            abort();
        free(text);
        image_has_machine_code(&e[i]);
    }
}

static void
use_image(const struct image *im)
{
    static const int sm[] = {75, 90, 121, 130};
    use_entries(im->entry);
    use_entries(im->link_entry);
    for (size_t i = 0; i < sizeof sm / sizeof *sm; i++) {
        struct image_error err;
        struct image_choice choice;
        int result = image_choose(im, sm[i], &choice, &err);
        if ((result != 0) != (vec_len(choice.entry) == 0) || (result && !strlen(err.text)))
            abort();
        vec_free(choice.entry);
    }
}

static void
scanned(void *user, const struct image *im, const char *section)
{
    *(size_t *)user += strlen(section);
    use_image(im);
}

static void
use_elf(const void *p, size_t size)
{
    struct elf e;
    struct elf_symbol symbol;
    if (elf_open(p, size, &e))
        return;
    volatile size_t sink = elf_find_symbol(&e, "main", &symbol) ? strlen(symbol.name) : 0;
    const char *needed = elf_dynamic_string(&e, 1, 0), *interpreter = elf_interpreter(&e);
    sink += needed ? strlen(needed) : 0;
    sink += interpreter ? strlen(interpreter) : 0;
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct image im;
    struct image_error err;
    size_t names = 0;
    if (!size)
        return 0; // means: size unknown
    if (!image_open(data, size, &im, &err)) {
        use_image(&im);
        image_detach(&im);
        image_close(&im);
    }
    image_scan_elf(data, size, scanned, &names);
    use_elf(data, size);
    return 0;
}
