// SPDX-License-Identifier: MIT
// `polywarp doctor`: the device code that files embed, and whether it runs.
#include "doctor.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/options.h"
#include "base/vec.h"
#include "image/image.h"

// Entries alike, counted together.
struct row {
    int kind, arch;
    char suffix;
    const char *packing;
    bool relocatable;
    unsigned count;
    uint64_t stored, unpacked;
};

// What one file holds.
struct code_file {
    char *name;
    struct row *row;  // vec
    unsigned runs;    // containers with PTX that fits
    unsigned linked;  // linked machine code without PTX: its objects may have some
    unsigned objects; // relocatable containers with PTX that fits
    unsigned lacking; // relocatable containers without
    unsigned lto;     // containers of LTO-IR alone: input of a library that links at run time
    char advice[sizeof((struct image_error){0}.text)]; // of the first one that lacks PTX
};

struct code_report {
    struct code_file *file; // vec
    int sm;
};

struct code_report *
code_report_new(void)
{
    struct code_report *r = calloc(1, sizeof *r);
    int major = 12, minor = 1;
    if (!r)
        abort();
    sscanf(opt_text(OPT_COMPUTE_CAPABILITY), "%d.%d", &major, &minor);
    r->sm = major * 10 + minor;
    return r;
}

// ---- counting ----------------------------------------------------------------------------------

static const char *
packing_of(const struct image_entry *e)
{
    static const uint8_t zstd[4] = {0x28, 0xb5, 0x2f, 0xfd};
    if (!e->compressed)
        return "none";
    return e->size >= 4 && !memcmp(e->data, zstd, 4) ? "zstd" : "lz4";
}

static struct row *
row_for(struct code_file *f, const struct image_entry *e)
{
    const char *packing = packing_of(e);
    for (size_t i = 0; i < vec_len(f->row); i++) {
        struct row *r = &f->row[i];
        if (r->kind == e->kind && r->arch == e->arch && r->suffix == e->arch_suffix &&
            r->packing == packing && r->relocatable == e->relocatable)
            return r;
    }
    vec_push(f->row, ((struct row){.kind = e->kind,
                                   .arch = e->arch,
                                   .suffix = e->arch_suffix,
                                   .packing = packing,
                                   .relocatable = e->relocatable}));
    return &f->row[vec_len(f->row) - 1];
}

static void
count_entries(struct code_file *f, const struct image_entry *entry)
{
    for (size_t i = 0; i < vec_len(entry); i++) {
        struct row *r = row_for(f, &entry[i]);
        r->count++;
        r->stored += entry[i].size;
        r->unpacked += entry[i].unpacked_size;
    }
}

static bool
has_code(const struct image_entry *entry)
{
    for (size_t i = 0; i < vec_len(entry); i++) {
        if (entry[i].kind != ENTRY_ELF || image_has_machine_code(&entry[i]))
            return true;
    }
    return false;
}

static bool
is_lto(const struct image_entry *entry)
{
    for (size_t i = 0; i < vec_len(entry); i++) {
        if (entry[i].kind != ENTRY_LTO_IR)
            return false;
    }
    return vec_len(entry);
}

static int
choose(const struct image *im, int sm, struct image_error *err)
{
    struct image_choice choice;
    int result = image_choose(im, sm, &choice, err);
    vec_free(choice.entry);
    return result;
}

// A complete container. One without PTX may be the result of a device link, whose objects are kept
// apart, or empty.
static void
judge_container(struct code_file *f, const struct image *im, int sm)
{
    struct image_error err;
    if (!choose(im, sm, &err)) {
        f->runs++;
        return;
    }
    if (!has_code(im->entry))
        return;
    bool lto = is_lto(im->entry);
    *(lto ? &f->lto : &f->linked) += 1;
    if (!*f->advice || (!lto && f->linked == 1))
        memcpy(f->advice, err.text, sizeof f->advice);
}

// Containers of objects, judged by the rules of linking.
static void
judge_objects(struct code_file *f, const struct image *im, int sm)
{
    struct image_error err;
    if (!vec_len(im->link_entry))
        return;
    if (!choose(im, sm, &err)) {
        f->objects++;
        return;
    }
    f->lacking++;
    memcpy(f->advice, err.text, sizeof f->advice);
}

struct scan {
    struct code_file *file;
    int sm;
};

static void
scanned(void *user, const struct image *im, const char *section)
{
    struct scan *s = user;
    count_entries(s->file, im->entry);
    if (strcmp(section, "__nv_relfatbin")) {
        judge_container(s->file, im, s->sm);
        return;
    }
    struct image object = {.kind = IMAGE_FATBIN, .link_entry = im->entry, .link_objects = 1};
    if (vec_len(im->entry))
        vec_extend(object.link_object, vec_len(im->entry)); // all of object 0
    judge_objects(s->file, &object, s->sm);
    vec_free(object.link_object);
}

static bool
read_code(struct code_file *f, const struct mapping *m, int sm, struct image_error *err)
{
    struct scan s = {f, sm};
    struct image im;
    if (image_identify(m->data, m->size) == IMAGE_HOST_ELF)
        return !image_scan_elf(m->data, m->size, scanned, &s);
    if (image_open(m->data, m->size, &im, err))
        return false;
    count_entries(f, im.entry);
    count_entries(f, im.link_entry);
    if (vec_len(im.entry))
        judge_container(f, &im, sm);
    judge_objects(f, &im, sm);
    image_close(&im);
    return true;
}

bool
code_report_add(struct code_report *r, const char *path)
{
    struct mapping m;
    struct image_error err = {0};
    const char *slash = strrchr(path, '/');
    struct code_file f = {0};
    if (!map_file(path, &m) || !m.size)
        return false;
    bool found = read_code(&f, &m, r->sm, &err) && vec_len(f.row);
    unmap_file(&m);
    if (!found) {
        vec_free(f.row);
        return false;
    }
    f.name = strdup(slash ? slash + 1 : path);
    // Machine code linked from objects that are at hand in PTX needs nothing.
    if (f.objects || f.lacking)
        f.linked = 0;
    vec_push(r->file, f);
    return true;
}

// ---- printing ----------------------------------------------------------------------------------

static const char *
kind_name(int kind)
{
    switch (kind) {
    case ENTRY_PTX:
        return "PTX";
    case ENTRY_ELF:
        return "machine code";
    case ENTRY_LTO_IR:
        return "LTO-IR";
    }
    return "unknown";
}

static int
compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return x->arch != y->arch ? x->arch - y->arch : x->suffix - y->suffix;
}

static const char *
usable(const struct row *r, int sm)
{
    if (r->kind != ENTRY_PTX)
        return "no";
    return image_arch_fits(r->arch, r->suffix, sm) ? "yes"
           : r->suffix                             ? "other device"
                                                   : "newer device";
}

static void
add_row(struct table *t, const char *file, const struct row *r, int sm)
{
    char arch[24], count[16], stored[16], unpacked[16], kind[32];
    snprintf(arch, sizeof arch, "sm_%d%.1s", r->arch, (char[2]){r->suffix, 0});
    snprintf(count, sizeof count, "%u", r->count);
    snprintf(kind, sizeof kind, "%s%s", kind_name(r->kind), r->relocatable ? ", object" : "");
    table_row(t,
              (const char *[]){file, kind, arch, r->packing, count, format_size(stored, r->stored),
                               format_size(unpacked, r->unpacked), usable(r, sm)});
}

static bool
print_verdict(const struct code_file *f)
{
    unsigned good = f->runs + f->objects, bad = f->linked + f->lacking;
    if (!good)
        bad += f->lto;
    if (!bad && !good) {
        printf("  %s: holds no kernels\n", f->name);
        return true;
    }
    if (!bad)
        printf("  %s: runs\n", f->name);
    else if (good)
        printf("  %s: runs in part: %u of %u containers have no PTX that fits\n", f->name, bad,
               bad + good);
    else
        printf("  %s: needs a rebuild\n", f->name);
    if (bad)
        printf("    %s%s\n", good ? "for example: " : "", f->advice);
    return !bad || good;
}

bool
code_report_print(struct code_report *r)
{
    struct table t = {
        .title = {"file", "code", "arch", "packing", "entries", "stored", "unpacked", "usable"},
        .right = {[4] = true, [5] = true, [6] = true}};
    bool fine = true;
    heading("Device code (for compute capability %d.%d)", r->sm / 10, r->sm % 10);
    for (size_t i = 0; i < vec_len(r->file); i++) {
        struct code_file *f = &r->file[i];
        qsort(f->row, vec_len(f->row), sizeof *f->row, compare_rows);
        for (size_t k = 0; k < vec_len(f->row); k++)
            add_row(&t, k ? "" : f->name, &f->row[k], r->sm);
    }
    if (vec_len(r->file))
        table_print(&t);
    else
        puts("  none found");
    for (size_t i = 0; i < vec_len(r->file); i++) {
        fine &= print_verdict(&r->file[i]);
        vec_free(r->file[i].row);
        free(r->file[i].name);
    }
    vec_free(r->file);
    free(r);
    return fine;
}
