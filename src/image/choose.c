// SPDX-License-Identifier: MIT
// Choice of the PTX to run, and the message when there is none.
#include "image/internal.h"

#include <stdio.h>

bool
image_arch_fits(int arch, char suffix, int sm)
{
    if (suffix == 'a')
        return arch == sm;
    if (suffix == 'f')
        return arch / 10 == sm / 10 && arch <= sm;
    return arch <= sm;
}

// Among PTX for one architecture, the more specific form uses more of it.
static int
specificity(char suffix)
{
    return suffix == 'a' ? 2 : suffix == 'f';
}

static bool
better(const struct image_entry *a, const struct image_entry *b)
{
    if (!b || a->arch != b->arch)
        return !b || a->arch > b->arch;
    return specificity(a->arch_suffix) > specificity(b->arch_suffix);
}

static const struct image_entry *
best_ptx(const struct image_entry *e, size_t n, int sm)
{
    const struct image_entry *best = NULL;
    for (size_t i = 0; i < n; i++) {
        if (e[i].kind == ENTRY_PTX && image_arch_fits(e[i].arch, e[i].arch_suffix, sm) &&
            better(&e[i], best))
            best = &e[i];
    }
    return best;
}

// Machine code runs on its own architecture's later minor versions.
static bool
runs_machine_code(const struct image_entry *e, int sm)
{
    return e->kind == ENTRY_ELF &&
           image_arch_fits(e->arch, e->arch_suffix ? e->arch_suffix : 'f', sm);
}

// A library that covers older devices by machine code and has PTX only for the newest
// (libcudadevrt): its PTX means the same, so that stands in for the machine code.
static const struct image_entry *
stand_in(const struct image_entry *e, size_t n, int sm)
{
    const struct image_entry *oldest = NULL;
    bool covered = false;
    for (size_t i = 0; i < n; i++) {
        covered |= runs_machine_code(&e[i], sm);
        if (e[i].kind == ENTRY_PTX && !e[i].arch_suffix && (!oldest || e[i].arch < oldest->arch))
            oldest = &e[i];
    }
    return covered ? oldest : NULL;
}

// ---- message -----------------------------------------------------------------------------------

struct list {
    char text[120];
    size_t len;
};

static void
list_add(struct list *l, const struct image_entry *e)
{
    char word[32];
    snprintf(word, sizeof word, "%ssm_%d%.1s", l->len ? ", " : "", e->arch,
             (char[2]){e->arch_suffix, 0});
    if (l->len + strlen(word) + 5 < sizeof l->text)
        l->len += (size_t)sprintf(l->text + l->len, "%s", word);
    else if (l->len && l->text[l->len - 1] != '.')
        l->len += (size_t)sprintf(l->text + l->len, "...");
}

static bool
seen_before(const struct image_entry *e, size_t i)
{
    for (size_t k = 0; k < i; k++) {
        if (e[k].kind == e[i].kind && e[k].arch == e[i].arch &&
            e[k].arch_suffix == e[i].arch_suffix)
            return true;
    }
    return false;
}

static struct list
architectures(const struct image_entry *e, size_t n, int kind)
{
    struct list l = {0};
    for (size_t i = 0; i < n; i++) {
        if (e[i].kind == kind && !seen_before(e, i))
            list_add(&l, &e[i]);
    }
    return l;
}

// The architecture to compile for: the oldest that the program was made for and that the device
// takes, and that today's nvcc knows.
static int
advised_arch(const struct image_entry *e, size_t n, int sm)
{
    int arch = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].arch <= sm && (!arch || e[i].arch < arch))
            arch = e[i].arch;
    }
    return arch < 75 ? 75 : arch;
}

// The lowest capability that a user may set to make PTX fit that is too new or bound to one
// architecture; 0: none.
static int
fitting_capability(const struct image_entry *e, size_t n)
{
    int sm = 0;
    for (size_t i = 0; i < n; i++) {
        if (e[i].kind == ENTRY_PTX && (!sm || e[i].arch < sm))
            sm = e[i].arch;
    }
    return sm;
}

static void
describe(const struct image_entry *e, size_t n, char *to, size_t size)
{
    static const struct {
        int kind;
        const char *what;
    } row[] = {{ENTRY_PTX, "PTX"}, {ENTRY_ELF, "machine code"}, {ENTRY_LTO_IR, "LTO-IR"}};
    size_t len = 0;
    snprintf(to, size, "has nothing");
    for (size_t i = 0; i < sizeof row / sizeof *row && len < size; i++) {
        struct list l = architectures(e, n, row[i].kind);
        if (l.len)
            len += (size_t)snprintf(to + len, size - len, "%s%s for %s", len ? "; " : "has ",
                                    row[i].what, l.text);
    }
}

static int
no_ptx(const struct image_entry *e, size_t n, int sm, struct image_error *err)
{
    char has[300], hint[64] = "";
    describe(e, n, has, sizeof has);
    int arch = advised_arch(e, n, sm), capability = fitting_capability(e, n);
    if (capability)
        snprintf(hint, sizeof hint, ", or set POLYWARP_COMPUTE_CAPABILITY=%d.%d", capability / 10,
                 capability % 10);
    return image_fail(err, IMAGE_NO_BINARY,
                      "no PTX for compute capability %d.%d (%s): compile with nvcc -gencode "
                      "arch=compute_%d,code=compute_%d%s",
                      sm / 10, sm % 10, has, arch, arch, hint);
}

// ---- choice ------------------------------------------------------------------------------------

static int
choose_objects(const struct image *im, int sm, struct image_choice *out, struct image_error *err)
{
    size_t total = vec_len(im->link_entry);
    for (size_t first = 0, next; first < total; first = next) {
        for (next = first; next < total && im->link_object[next] == im->link_object[first];)
            next++;
        const struct image_entry *e = &im->link_entry[first];
        const struct image_entry *best = best_ptx(e, next - first, sm);
        if (!best)
            best = stand_in(e, next - first, sm);
        if (!best)
            return no_ptx(e, next - first, sm, err);
        vec_push(out->entry, best);
    }
    return IMAGE_OK;
}

int
image_choose(const struct image *im, int sm, struct image_choice *out, struct image_error *err)
{
    *out = (struct image_choice){0};
    if (vec_len(im->link_entry)) {
        int result = choose_objects(im, sm, out, err);
        if (result)
            vec_free(out->entry);
        return result;
    }
    const struct image_entry *best = best_ptx(im->entry, vec_len(im->entry), sm);
    if (!best)
        return no_ptx(im->entry, vec_len(im->entry), sm, err);
    vec_push(out->entry, best);
    return IMAGE_OK;
}
