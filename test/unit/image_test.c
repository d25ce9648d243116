// SPDX-License-Identifier: MIT
// Images: containers built by hand in every packing, damaged ones, wrappers, choice of PTX.
#include "check.h"
#include "image_build.h"

#include "base/vec.h"
#include "image/image.h"

static struct build b;
static struct image im;
static struct image_error err;

static size_t
start(void)
{
    b.size = 0;
    err.text[0] = 0;
    return build_begin(&b);
}

static int
finish(size_t at)
{
    build_end(&b, at);
    return image_open(b.bytes, b.size, &im, &err);
}

static void
check_text(const struct image_entry *e)
{
    char *text;
    size_t size;
    CHECK_INT(image_unpack(e, &text, &size, &err), 0);
    CHECK_INT(size, sizeof build_ptx - 1);
    CHECK_STR(text, build_ptx);
    free(text);
}

static void
identify(void)
{
    static const char text[] =
        "// made by hand\n  /* twice */ .version 9.0\n.target sm_90a, debug\n";
    static const char noise[] = "\x01\x02\x03\x04\x05\x06\x07\x08";
    size_t at = start();
    build_end(&b, at);
    CHECK_INT(image_identify(b.bytes, b.size), IMAGE_FATBIN);
    CHECK_INT(image_identify(b.bytes, 3), IMAGE_NONE);
    CHECK_INT(image_identify(text, 0), IMAGE_PTX_TEXT);
    CHECK_INT(image_identify(text, sizeof text), IMAGE_PTX_TEXT);
    CHECK_INT(image_identify(text, 20), IMAGE_NONE);
    CHECK_INT(image_identify(noise, 0), IMAGE_NONE);
    CHECK_INT(image_identify("//\x01\x01\x01\x01\x01\x01", 0), IMAGE_NONE);
    CHECK_INT(image_identify("!<arch>\n", 8), IMAGE_ARCHIVE);
    CHECK_INT(image_identify("\xb1\x43\x62\x46\x01\0\0\0", 0), IMAGE_FATBIN_WRAPPER);
    CHECK_INT(image_identify(NULL, 0), IMAGE_NONE);
}

static void
text(void)
{
    static const char source[] = "//\n.version 9.1\n.target sm_100f, debug\n.address_size 64\n";
    CHECK_INT(image_open(source, 0, &im, &err), 0);
    CHECK_INT(vec_len(im.entry), 1);
    CHECK_INT(im.entry->arch, 100);
    CHECK_INT(im.entry->arch_suffix, 'f');
    CHECK_INT(im.entry->version, 91);
    CHECK_INT(im.entry->size, sizeof source - 1);
    image_close(&im);
    CHECK_INT(image_open(source, 11, &im, &err), 0);
    CHECK_INT(im.entry->size, 11);
    CHECK_INT(im.entry->arch, 0);
    image_close(&im);
}

static void
packings(void)
{
    static const uint64_t flags[] = {BUILD_RAW, BUILD_LZ4, BUILD_ZSTD};
    size_t at = start();
    for (int i = 0; i < 3; i++)
        build_ptx_entry(&b, 75 + i, flags[i], NULL);
    CHECK_INT(finish(at), 0);
    CHECK_INT(vec_len(im.entry), 3);
    for (int i = 0; i < 3; i++) {
        const struct image_entry *e = &im.entry[i];
        CHECK_INT(e->kind, ENTRY_PTX);
        CHECK_INT(e->arch, 75 + i);
        CHECK_INT(e->version, 87);
        CHECK_INT(e->compressed, i > 0);
        CHECK_INT(e->unpacked_size, sizeof build_ptx - 1);
        CHECK_STR(e->options, "");
        check_text(e);
    }
    image_close(&im);
    // Size unknown: the container's own is believed.
    CHECK_INT(image_open(b.bytes, 0, &im, &err), 0);
    CHECK_INT(vec_len(im.entry), 3);
    image_close(&im);
}

static void
options_and_names(void)
{
    size_t at = start();
    build_ptx_entry(&b, 80, BUILD_ZSTD, " --fmad false  ");
    build_ptx_entry(&b, 80, BUILD_RAW, "-v --compile-only");
    struct build_entry e = {.kind = 1,
                            .arch = 90,
                            .major = 9,
                            .minor = 0,
                            .flags = BUILD_LZ4 | BUILD_ARCH_SPECIFIC,
                            .name = "kernels.cu",
                            .options = "--compile-only-not",
                            .data = build_ptx,
                            .size = 30};
    build_entry(&b, &e);
    build_elf_entry(&b, 75, BUILD_RAW);
    CHECK_INT(finish(at), 0);
    CHECK_STR(im.entry[0].options, "--fmad false");
    CHECK_INT(im.entry[0].relocatable, 0);
    CHECK_INT(im.entry[1].relocatable, 1);
    CHECK_STR(im.entry[2].name, "kernels.cu");
    CHECK_INT(im.entry[2].arch_suffix, 'a');
    CHECK_INT(im.entry[2].version, 90);
    CHECK_INT(im.entry[2].relocatable, 0);
    CHECK_INT(im.entry[3].kind, ENTRY_ELF);
    CHECK_INT(im.entry[3].version, 8);
    image_close(&im);
}

// Strings that point outside the entry's header are dropped.
static void
string_bounds(void)
{
    size_t at = start(), e = build_ptx_entry(&b, 80, BUILD_RAW, "-v");
    build_set(&b, e + 64 + 4, 0xffffffff, 4);
    CHECK_INT(finish(at), 0);
    CHECK_STR(im.entry->options, "");
    image_close(&im);
    build_set(&b, e + 20, 0x7fffffff, 4);
    build_set(&b, e + 32, 0xfffffff0, 4);
    build_set(&b, e + 36, 0x20, 4);
    CHECK_INT(finish(at), 0);
    CHECK_STR(im.entry->options, "");
    CHECK_STR(im.entry->name, "");
    image_close(&im);
}

static void
truncated(void)
{
    size_t at = start();
    build_ptx_entry(&b, 75, BUILD_ZSTD, "-v");
    build_elf_entry(&b, 80, BUILD_LZ4);
    build_end(&b, at);
    for (size_t n = 4; n < b.size; n++) {
        uint8_t *copy = malloc(n); // its own block, so that a sanitizer sees reads past the end
        memcpy(copy, b.bytes, n);
        CHECK_INT(image_open(copy, n, &im, &err), 200);
        CHECK(im.entry == NULL && err.text[0]);
        free(copy);
    }
}

static void
wrong_sizes(void)
{
    static const struct {
        size_t at, bytes; // of a field, from the container's start
        uint64_t value;
    } field[] = {
        {4, 2, 2},          // container version
        {6, 2, 8},          // header smaller than itself
        {8, 8, 8},          // container too small for the entry
        {8, 8, UINT64_MAX}, // overflows
        {8, 8, UINT64_MAX - 15},
        {16 + 4, 4, 32}, // entry header smaller than itself
        {16 + 4, 4, 0xffffffff},
        {16 + 8, 8, UINT64_MAX}, // payload
        {16 + 8, 8, UINT64_MAX - 80},
        {16 + 8, 8, 8192},
        {16 + 16, 4, 0xffffffff}, // compressed size
        {16 + 28, 4, 0xffffffff}, // architecture
    };
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        size_t at = start();
        build_ptx_entry(&b, 75, BUILD_ZSTD, NULL);
        build_end(&b, at);
        build_set(&b, at + field[i].at, field[i].value, field[i].bytes);
        int got = image_open(b.bytes, b.size, &im, &err);
        ok(got == 200 && err.text[0], "field %zu: got %d (%s)", i, got, err.text);
    }
}

static void
bad_payloads(void)
{
    static const uint64_t packing[] = {BUILD_LZ4, BUILD_ZSTD};
    static const uint64_t claim[] = {0,    1,          sizeof build_ptx - 2, sizeof build_ptx,
                                     4096, UINT64_MAX, (uint64_t)1 << 40};
    char *text;
    size_t size;
    for (size_t i = 0; i < 2; i++) {
        for (size_t k = 0; k < sizeof claim / sizeof *claim; k++) {
            size_t at = start(), e = build_ptx_entry(&b, 75, packing[i], NULL);
            build_set(&b, e + 56, claim[k], 8);
            CHECK_INT(finish(at), 0);
            CHECK_INT(image_unpack(im.entry, &text, &size, &err), 200);
            CHECK(text == NULL && size == 0);
            image_close(&im);
        }
        size_t at = start();
        build_ptx_entry(&b, 75, packing[i], NULL);
        CHECK_INT(finish(at), 0);
        memset((uint8_t *)im.entry->data, 0xff, im.entry->size);
        CHECK_INT(image_unpack(im.entry, &text, &size, &err), 200);
        image_close(&im);
    }
}

struct wrapper {
    uint32_t magic, version;
    const void *data, *prelinked;
};

static void
wrappers(void)
{
    struct wrapper w = {0x466243b1, 1, b.bytes, NULL};
    size_t at = start();
    build_ptx_entry(&b, 75, BUILD_ZSTD, NULL);
    build_end(&b, at);
    CHECK_INT(image_open(&w, 0, &im, &err), 0);
    CHECK_INT(im.kind, IMAGE_FATBIN_WRAPPER);
    CHECK_INT(vec_len(im.entry), 1);
    CHECK_INT(im.link_objects, 0);
    image_close(&im);
    w.version = 3;
    CHECK_INT(image_open(&w, 0, &im, &err), 200);
    w.version = 1;
    CHECK_INT(image_open(&w, sizeof w, &im, &err), 200);
    w.data = build_ptx;
    CHECK_INT(image_open(&w, 0, &im, &err), 200);
}

static void
prelinked(void)
{
    size_t empty = start();
    build_end(&b, empty);
    size_t one = build_begin(&b);
    build_ptx_entry(&b, 75, BUILD_ZSTD, "--compile-only");
    build_ptx_entry(&b, 90, BUILD_LZ4, "--compile-only");
    build_end(&b, one);
    size_t two = build_begin(&b);
    build_elf_entry(&b, 75, BUILD_RAW);
    build_ptx_entry(&b, 121, BUILD_RAW, "--compile-only");
    build_end(&b, two);
    const void *object[] = {b.bytes + one, b.bytes + two, NULL};
    struct wrapper w = {0x466243b1, 2, b.bytes + empty, object};
    CHECK_INT(image_open(&w, 0, &im, &err), 0);
    CHECK_INT(vec_len(im.entry), 0);
    CHECK_INT(im.link_objects, 2);
    CHECK_INT(vec_len(im.link_entry), 4);
    CHECK_INT(im.link_object[1], 0);
    CHECK_INT(im.link_object[2], 1);
    CHECK_INT(im.link_entry[2].relocatable, 1);

    struct image_choice c;
    CHECK_INT(image_choose(&im, 121, &c, &err), 0);
    CHECK_INT(vec_len(c.entry), 2);
    CHECK_INT(c.entry[0]->arch, 90);
    CHECK_INT(c.entry[1]->arch, 121);
    vec_free(c.entry);
    // Machine code covers sm_75, so that the library's newer PTX stands in for it.
    CHECK_INT(image_choose(&im, 75, &c, &err), 0);
    CHECK_INT(c.entry[0]->arch, 75);
    CHECK_INT(c.entry[1]->arch, 121);
    vec_free(c.entry);
    CHECK_INT(image_choose(&im, 90, &c, &err), 209);
    CHECK_INT(vec_len(c.entry), 0);

    image_detach(&im);
    memset(b.bytes, 0xee, b.size);
    check_text(&im.link_entry[0]);
    check_text(&im.link_entry[3]);
    CHECK(im.link_entry[2].data == NULL);
    image_close(&im);
}

static void
arch_rules(void)
{
    static const struct {
        int arch;
        char suffix;
        int sm;
        bool fits;
    } row[] = {
        {75, 0, 121, true},     {121, 0, 121, true},    {130, 0, 121, false},
        {90, 'a', 90, true},    {90, 'a', 121, false},  {90, 'a', 91, false},
        {120, 'f', 121, true},  {100, 'f', 103, true},  {103, 'f', 100, false},
        {100, 'f', 120, false}, {120, 'a', 121, false}, {121, 'a', 121, true},
    };
    for (size_t i = 0; i < sizeof row / sizeof *row; i++)
        ok(image_arch_fits(row[i].arch, row[i].suffix, row[i].sm) == row[i].fits,
           "sm_%d%c on %d: want %d", row[i].arch, row[i].suffix, row[i].sm, row[i].fits);
}

static int
chosen_arch(int sm)
{
    struct image_choice c;
    int result = image_choose(&im, sm, &c, &err);
    int arch = result ? -result : c.entry[0]->arch * (c.entry[0]->arch_suffix ? 1000 : 1);
    vec_free(c.entry);
    return arch;
}

static void
choice(void)
{
    size_t at = start();
    build_elf_entry(&b, 120, BUILD_RAW);
    build_ptx_entry(&b, 80, BUILD_ZSTD, NULL);
    build_ptx_entry(&b, 90, BUILD_ZSTD | BUILD_ARCH_SPECIFIC, NULL);
    build_ptx_entry(&b, 90, BUILD_ZSTD, NULL);
    build_ptx_entry(&b, 100, BUILD_ZSTD | BUILD_FAMILY_SPECIFIC, NULL);
    build_ptx_entry(&b, 130, BUILD_ZSTD, NULL);
    CHECK_INT(finish(at), 0);
    CHECK_INT(chosen_arch(121), 90);
    CHECK_INT(chosen_arch(90), 90000);
    CHECK_INT(chosen_arch(89), 80);
    CHECK_INT(chosen_arch(103), 100000);
    CHECK_INT(chosen_arch(130), 130);
    CHECK_INT(chosen_arch(75), -209);
    image_close(&im);
}

static void
no_ptx_message(void)
{
    size_t at = start();
    build_elf_entry(&b, 75, BUILD_RAW);
    build_elf_entry(&b, 90, BUILD_ZSTD);
    build_elf_entry(&b, 90, BUILD_ZSTD);
    CHECK_INT(finish(at), 0);
    CHECK_INT(chosen_arch(121), -209);
    CHECK_STR(err.text, "no PTX for compute capability 12.1 (has machine code for sm_75, sm_90): "
                        "compile with nvcc -gencode arch=compute_75,code=compute_75");
    image_close(&im);
    at = start();
    build_ptx_entry(&b, 90, BUILD_ARCH_SPECIFIC, NULL);
    for (int i = 80; i < 400; i++)
        build_elf_entry(&b, i, BUILD_ZSTD);
    CHECK_INT(finish(at), 0);
    CHECK_INT(chosen_arch(121), -209);
    CHECK(strstr(err.text, "has PTX for sm_90a; machine code for sm_80, sm_81"));
    CHECK(strstr(err.text,
                 "...): compile with nvcc -gencode arch=compute_80,code=compute_80, or set "
                 "POLYWARP_COMPUTE_CAPABILITY=9.0"));
    image_close(&im);
}

static void
cubins(void)
{
    static const struct build_section s[] = {{".text.k", "12345678", 8, 0, 0}};
    static const struct {
        uint32_t flags;
        int abi, arch;
        char suffix;
    } row[] = {{0x6004b04, 8, 75, 0},
               {0x6007902, 8, 121, 0},
               {0x00500550, 7, 80, 0},
               {0x005a0d5a, 7, 90, 'a'}};
    for (size_t i = 0; i < sizeof row / sizeof *row; i++) {
        b.size = 0;
        build_elf(&b, 190, ET_EXEC, row[i].flags, row[i].abi, s, 1);
        for (size_t size = 0; size <= b.size; size += b.size) {
            CHECK_INT(image_open(b.bytes, size, &im, &err), 0);
            CHECK_INT(im.kind, IMAGE_CUBIN);
            CHECK_INT(im.entry->arch, row[i].arch);
            CHECK_INT(im.entry->arch_suffix, row[i].suffix);
            CHECK_INT(im.entry->version, row[i].abi);
            CHECK_INT(im.entry->size, b.size);
            CHECK(image_has_machine_code(im.entry));
            CHECK_INT(chosen_arch(121), -209);
            image_close(&im);
        }
    }
    size_t at = start();
    build_elf_entry(&b, 75, BUILD_ZSTD);
    CHECK_INT(finish(at), 0);
    CHECK(!image_has_machine_code(im.entry));
    image_close(&im);
}

static void
count_entries(void *user, const struct image *found, const char *section)
{
    int *n = user;
    n[0]++;
    n[1] += (int)vec_len(found->entry);
    n[2] += !strcmp(section, "__nv_relfatbin");
    n[3] += vec_len(found->entry) && found->entry->relocatable;
}

static struct build object;

static void
make_object(void)
{
    static struct build plain, relocatable;
    plain.size = relocatable.size = object.size = 0;
    for (int i = 0; i < 2; i++) {
        size_t at = build_begin(&plain);
        build_ptx_entry(&plain, 75 + i, BUILD_ZSTD, NULL);
        build_end(&plain, at);
    }
    size_t at = build_begin(&relocatable);
    build_ptx_entry(&relocatable, 90, BUILD_LZ4, NULL);
    build_elf_entry(&relocatable, 90, BUILD_RAW);
    build_end(&relocatable, at);
    struct build_section s[] = {{".nv_fatbin", plain.bytes, plain.size, 0, 0},
                                {"__nv_relfatbin", relocatable.bytes, relocatable.size, 0, 0}};
    build_elf(&object, 62, ET_REL, 0, 0, s, 2);
}

static void
host_objects(void)
{
    int n[4] = {0};
    make_object();
    CHECK_INT(image_identify(object.bytes, object.size), IMAGE_HOST_ELF);
    CHECK_INT(image_scan_elf(object.bytes, object.size, count_entries, n), 0);
    CHECK_INT(n[0], 3);
    CHECK_INT(n[1], 4);
    CHECK_INT(n[2], 1);
    CHECK_INT(n[3], 1);
    CHECK_INT(image_scan_elf(build_ptx, sizeof build_ptx, count_entries, n), 200);
    CHECK_INT(image_open(object.bytes, object.size, &im, &err), 0);
    CHECK_INT(im.link_objects, 3);
    CHECK_INT(vec_len(im.link_entry), 4);
    image_close(&im);
    CHECK_INT(image_open(object.bytes, 0, &im, &err), 200);
}

static void
archives(void)
{
    static struct build a;
    make_object();
    a.size = 0;
    build_archive_member(&a, "readme/", "x", 1);
    build_archive_member(&a, "a.o/", object.bytes, object.size);
    build_archive_member(&a, "b.o/", object.bytes, object.size);
    CHECK_INT(image_open(a.bytes, a.size, &im, &err), 0);
    CHECK_INT(im.kind, IMAGE_ARCHIVE);
    CHECK_INT(im.link_objects, 6);
    CHECK_INT(vec_len(im.link_entry), 8);
    image_close(&im);
    for (size_t size = 9; size < a.size; size += 13) {
        uint8_t *copy = malloc(size);
        memcpy(copy, a.bytes, size);
        if (!image_open(copy, size, &im, &err))
            image_close(&im);
        free(copy);
    }
    a.size = 8;
    CHECK_INT(image_open(a.bytes, a.size, &im, &err), 200);
    CHECK_STR(err.text, "no device code in the archive");
}

CHECK_MAIN(T(identify), T(text), T(packings), T(options_and_names), T(string_bounds), T(truncated),
           T(wrong_sizes), T(bad_payloads), T(wrappers), T(prelinked), T(arch_rules), T(choice),
           T(no_ptx_message), T(cubins), T(host_objects), T(archives))
