// SPDX-License-Identifier: MIT
// Writes the seed corpus of image_fuzz into a folder: `gen_corpus test/fuzz/corpus/image`.
#include <stdio.h>

#include "image_build.h"

static const char *folder;
static struct build b;

static void
save(const char *name)
{
    char path[1024];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *f = fopen(path, "wb");
    if (!f || fwrite(b.bytes, 1, b.size, f) != b.size || fclose(f)) {
        perror(path);
        exit(1);
    }
    b.size = 0;
}

static void
containers(void)
{
    static const struct {
        const char *name;
        uint64_t flags;
    } packing[] = {{"raw", BUILD_RAW}, {"lz4", BUILD_LZ4}, {"zstd", BUILD_ZSTD}};
    size_t at;
    for (size_t i = 0; i < 3; i++) {
        at = build_begin(&b);
        build_ptx_entry(&b, 75, packing[i].flags, NULL);
        build_end(&b, at);
        save(packing[i].name);
    }
    at = build_begin(&b);
    build_end(&b, at);
    save("empty");
    at = build_begin(&b);
    build_ptx_entry(&b, 80, BUILD_ZSTD, "--fmad false");
    build_ptx_entry(&b, 90, BUILD_LZ4 | BUILD_ARCH_SPECIFIC, "--compile-only");
    build_ptx_entry(&b, 100, BUILD_RAW | BUILD_FAMILY_SPECIFIC, NULL);
    build_elf_entry(&b, 80, BUILD_RAW);
    build_elf_entry(&b, 90, BUILD_ZSTD);
    build_end(&b, at);
    save("mixed");
}

static void
text(void)
{
    build_put(&b, build_ptx, sizeof build_ptx);
    save("ptx");
    static const char comments[] = "/* c */ // d\n\t.version 9.0\n.target sm_90a\n";
    build_put(&b, comments, sizeof comments - 1);
    save("comments");
}

static void
elf_files(void)
{
    static struct build c, object;
    static const struct build_section code[] = {{".text.k", "12345678", 8, 0, 0}};
    build_elf(&b, 190, ET_EXEC, 0x6004b04, 8, code, 1);
    save("cubin");
    size_t at = build_begin(&c);
    build_ptx_entry(&c, 75, BUILD_ZSTD, "--compile-only");
    build_end(&c, at);
    struct build_section s[] = {{".nv_fatbin", c.bytes, c.size, 0, 0},
                                {"__nv_relfatbin", c.bytes, c.size, 0, 0}};
    build_elf(&object, 62, ET_REL, 0, 0, s, 2);
    build_put(&b, object.bytes, object.size);
    save("object");
    build_archive_member(&b, "readme/", "x", 1);
    build_archive_member(&b, "a.o/", object.bytes, object.size);
    save("archive");
}

int
main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: %s folder\n", argv[0]);
        return 2;
    }
    folder = argv[1];
    containers();
    text();
    elf_files();
    return 0;
}
