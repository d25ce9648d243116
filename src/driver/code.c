// SPDX-License-Identifier: MIT
// Code: the PTX texts of a source, parsed and linked into one program.
#include "driver/module.h"
#include "base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The newest PTX ISA of CUDA 13.x: a text that is newer and does not parse is refused as such.
enum { NEWEST_ISA = 92 };

// The version of ".version 9.0" as 90, or 0.
static int
isa_version(const char *text)
{
    const char *p = strstr(text, ".version");
    int major, minor;
    return p && sscanf(p + 8, "%d.%d", &major, &minor) == 2 ? major * 10 + minor : 0;
}

static void
report(struct ptx_diags *d, const char *name, struct jit *j)
{
    struct arena a = {0};
    const char *text = ptx_diags_text(d, &a, name);
    if (d->errors) {
        log_error("%s", text);
        jit_error(j, text);
    } else if (vec_len(d->list)) {
        LOG(LOG_MODULE, "%s", text);
        jit_info(j, text);
    }
    arena_free(&a);
}

static void
dump_ptx(const struct code *c, unsigned i, const char *text, size_t size)
{
    char path[4096];
    snprintf(path, sizeof path, "%s/%s.%u.ptx", opt_text(OPT_DUMP_DIR), c->name, i);
    FILE *f = fopen(path, "wb");
    if (!f) {
        log_error("cannot write %s", path);
        return;
    }
    fwrite(text, 1, size, f);
    fclose(f);
}

// ---- parsing --------------------------------------------------------------
struct parse {
    const struct code_source *src;
    struct jit *jit;
    struct code *code;
    char **text;                // vec: unpacked texts
    size_t *size;               // vec
    struct ptx_module **module; // vec
};

// Unpacks everything and computes the key, by which dumps are named.
static CUresult
unpack(struct parse *p)
{
    struct code *c = p->code;
    int how[2] = {c->optimize, opt_bool(OPT_FMAD)};
    c->key = hash128(how, sizeof how);
    for (unsigned i = 0; i < source_count(p->src); i++) {
        char *text;
        size_t size;
        CUresult r = source_text(p->src, i, &text, &size, p->jit);
        if (r != CUDA_SUCCESS)
            return r;
        vec_push(p->text, text);
        vec_push(p->size, size);
        const char *options = source_options(p->src, i);
        c->key = hash128_more(c->key, options, strlen(options) + 1);
        c->key = hash128_more(c->key, text, size);
    }
    if (asprintf(&c->name, "%016llx", (unsigned long long)c->key.lo) < 0)
        abort();
    return CUDA_SUCCESS;
}

static CUresult
parse_one(struct parse *p, unsigned i)
{
    const char *name = source_name(p->src, i);
    if (!*name)
        name = p->code->name;
    if (opt_has(OPT_DUMP, "ptx") || opt_has(OPT_DUMP, "all"))
        dump_ptx(p->code, i, p->text[i], p->size[i]);
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse(p->text[i], p->size[i], name, &d);
    report(&d, name, p->jit);
    ptx_diags_free(&d);
    if (m) {
        // As ptxas: never at optimisation level 0.
        m->no_fmad = !opt_bool(OPT_FMAD) || !ptxas_fmad(source_options(p->src, i)) ||
                     p->code->optimize == 0;
        vec_push(p->module, m);
        return CUDA_SUCCESS;
    }
    return isa_version(p->text[i]) > NEWEST_ISA ? CUDA_ERROR_UNSUPPORTED_PTX_VERSION
                                                : CUDA_ERROR_INVALID_PTX;
}

static CUresult
link_all(struct parse *p)
{
    struct ptx_diags d = {0};
    uint32_t n = (uint32_t)vec_len(p->module);
    p->code->program = ptx_link(p->module, n, false, &d);
    vec_clear(p->module); // owned by the program, also after a failure
    report(&d, p->code->name, p->jit);
    ptx_diags_free(&d);
    return p->code->program ? CUDA_SUCCESS : CUDA_ERROR_INVALID_PTX;
}

static CUresult
parse_all(struct parse *p)
{
    CUresult r = unpack(p);
    for (unsigned i = 0; r == CUDA_SUCCESS && i < vec_len(p->text); i++)
        r = parse_one(p, i);
    if (r == CUDA_SUCCESS && !vec_len(p->module)) {
        jit_error(p->jit, "no PTX in the image\n");
        r = fail(CUDA_ERROR_NO_BINARY_FOR_GPU, "no PTX in the image");
    }
    return r == CUDA_SUCCESS ? link_all(p) : r;
}

// ---- kernels --------------------------------------------------------------
static int
by_name(const void *a, const void *b)
{
    const struct ptx_func *const *x = a, *const *y = b;
    return strcmp((*x)->sym->name, (*y)->sym->name);
}

static void
index_kernels(struct code *c)
{
    for (uint32_t i = 0; i < c->program->nmodule; i++) {
        struct ptx_module *m = c->program->module[i];
        for (uint32_t k = 0; k < m->nfunc; k++) {
            struct ptx_func *f = m->func[k];
            // Of several weak definitions the linked one counts.
            if (f->is_entry && f->has_body && ptx_def(f->sym) == f->sym)
                vec_push(c->entry, f);
        }
    }
    if (c->entry)
        qsort(c->entry, vec_len(c->entry), sizeof *c->entry, by_name);
}

struct ptx_func *
code_find(const struct code *c, const char *name, unsigned *index)
{
    size_t lo = 0, hi = vec_len(c->entry);
    while (lo < hi) {
        size_t mid = (lo + hi) / 2;
        if (strcmp(c->entry[mid]->sym->name, name) < 0)
            lo = mid + 1;
        else
            hi = mid;
    }
    if (lo == vec_len(c->entry) || strcmp(c->entry[lo]->sym->name, name))
        return NULL;
    if (index)
        *index = (unsigned)lo;
    return c->entry[lo];
}

// ---- life -----------------------------------------------------------------
CUresult
code_new(const struct code_source *src, struct jit *j, struct code **out)
{
    struct code *c = calloc(1, sizeof *c);
    if (!c)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", sizeof *c);
    atomic_init(&c->refs, 1);
    pthread_mutex_init(&c->emit_lock, NULL);
    c->optimize = j->optimize;
    struct parse p = {.src = src, .jit = j, .code = c};
    CUresult r = parse_all(&p);
    for (size_t i = 0; i < vec_len(p.text); i++)
        free(p.text[i]);
    for (size_t i = 0; i < vec_len(p.module); i++)
        ptx_module_free(p.module[i]);
    vec_free(p.text);
    vec_free(p.size);
    vec_free(p.module);
    if (r != CUDA_SUCCESS) {
        code_unref(c);
        return r;
    }
    index_kernels(c);
    c->taken = ptx_address_taken(c->program);
    LOG(LOG_MODULE, "code %s: %u PTX texts, %zu kernels", c->name, c->program->nmodule,
        vec_len(c->entry));
    *out = c;
    return CUDA_SUCCESS;
}

struct code *
code_ref(struct code *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

void
code_unref(struct code *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    vec_free(c->entry);
    vec_free(c->taken);
    if (c->program)
        ptx_program_free(c->program);
    pthread_mutex_destroy(&c->emit_lock);
    free(c->name);
    free(c);
}
