// SPDX-License-Identifier: MIT
// A module's global and constant variables: their names for generated code, memory and first
// values.
//
// All variables lie in two pieces of memory, managed ones in the second; the first begins with the
// constant ones. A variable is called by its name, a private one of the program's k-th PTX text "name$k" (emit/pw.md).
#include "driver/module.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BLOCK_DEVICE, BLOCK_MANAGED };

// Variables begin at multiples of this, in bytes: that of the widest vector access.
enum { MIN_ALIGN = 32 };

struct placed {
    struct ptx_var *var;
    struct module_var *out;
    unsigned block;
    size_t offset;
};

struct layout {
    struct module *mod;
    struct placed *list; // vec
    size_t size[2];
    struct intmap by_sym; // defining struct ptx_sym -> index + 1 in list
};


// A definition that the linker kept.
static bool
defines(const struct ptx_var *v)
{
    return v->sym && ptx_def(v->sym) == v->sym && v->sym->linkage != PTX_EXTERN;
}

static void
place(struct layout *l, struct ptx_var *v, enum ptx_space space, unsigned index)
{
    struct module *m = l->mod;
    if (v->space != space || v->opaque || !defines(v))
        return;
    const char *name = v->sym->linkage == PTX_STATIC
                           ? arena_printf(&m->arena, "%s$%u", v->sym->name, index)
                           : v->sym->name;
    struct placed p = {.var = v, .block = v->managed ? BLOCK_MANAGED : BLOCK_DEVICE};
    size_t align = v->align > MIN_ALIGN ? v->align : MIN_ALIGN;
    size_t at = (l->size[p.block] + align - 1) & ~(align - 1);
    p.offset = at;
    l->size[p.block] = at + v->size;
    p.out = arena_new(&m->arena, struct module_var);
    p.out->size = v->size;
    p.out->managed = v->managed;
    vec_push(l->list, p);
    intmap_put(&l->by_sym, (uintptr_t)v->sym, (void *)vec_len(l->list));
    strmap_put(&m->vars, name, p.out);
}

static void
place_all(struct layout *l, enum ptx_space space)
{
    struct ptx_program *prog = l->mod->code->program;
    for (uint32_t k = 0; k < prog->nmodule; k++) {
        struct ptx_module *m = prog->module[k];
        for (uint32_t i = 0; i < m->nvar; i++)
            place(l, m->var[i], space, k);
        for (uint32_t f = 0; f < m->nfunc; f++)
            for (uint32_t i = 0; i < m->func[f]->nvar; i++)
                place(l, m->func[f]->var[i], space, k);
    }
}

static CUresult
allocate(struct layout *l)
{
    static const enum mem_kind kind[2] = {MK_MODULE, MK_MANAGED};
    struct module *m = l->mod;
    for (unsigned b = 0; b < 2; b++) {
        if (!l->size[b])
            continue;
        void *base;
        CUresult r = mem_new(m->ctx, kind[b], l->size[b],
                             b == BLOCK_MANAGED ? CU_MEM_ATTACH_GLOBAL : 0, &base);
        if (r != CUDA_SUCCESS)
            return r;
        m->block[b].base = base;
        m->block[b].size = l->size[b];
    }
    for (size_t i = 0; i < vec_len(l->list); i++)
        l->list[i].out->addr =
            (CUdeviceptr)(uintptr_t)m->block[l->list[i].block].base + l->list[i].offset;
    return CUDA_SUCCESS;
}

// ---- first values ---------------------------------------------------------
// The number by which PTX code knows a function, 0 if its address is not taken.
static uint64_t
function_handle(const struct code *c, const struct ptx_func *f)
{
    for (size_t i = 0; i < vec_len(c->taken); i++)
        if (c->taken[i] == f)
            return PTX_FUNC_HANDLE_BASE + 16 * i;
    return 0;
}

static uint64_t
address_of(const struct layout *l, struct ptx_sym *sym)
{
    struct ptx_sym *def = ptx_def(sym);
    if (def->kind == PTX_SYM_FUNC)
        return function_handle(l->mod->code, def->func);
    size_t i = (size_t)intmap_get(&l->by_sym, (uintptr_t)def);
    if (i)
        return l->list[i - 1].out->addr;
    LOG(LOG_MODULE, "an initialiser wants the address of %s, which has none", sym->name);
    return 0;
}

// Writes the first value of a variable into `at`, which holds zeros.
static void
initialise(const struct layout *l, const struct ptx_var *v, char *at)
{
    if (v->init)
        memcpy(at, v->init, v->init_size < v->size ? v->init_size : v->size);
    for (uint32_t i = 0; i < v->nreloc; i++) {
        const struct ptx_reloc *r = &v->reloc[i];
        if (r->size > 8 || r->offset > v->size || r->size > v->size - r->offset)
            continue;
        uint64_t value = (address_of(l, r->sym) + (uint64_t)r->addend) >> r->shift;
        memcpy(at + r->offset, &value, r->size);
    }
}

static void
initialise_block(const struct layout *l, unsigned block, char *base)
{
    memset(base, 0, l->size[block]);
    for (size_t i = 0; i < vec_len(l->list); i++)
        if (l->list[i].block == block)
            initialise(l, l->list[i].var, base + l->list[i].offset);
}

// Copies to memory that the host does not reach, by a queue of its own, beside all streams.
static CUresult
upload(struct context *c, void *dst, const void *src, size_t size)
{
    const struct backend *be = c->dev->be;
    struct backend_queue *q = be->queue_new(c->scope, STREAM_PRIORITY_LEAST);
    if (!q)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "no queue");
    struct command *copy = command_new(CMD_COPY, 0), *end = command_new(CMD_SIGNAL, 0);
    copy->copy.dst = dst;
    copy->copy.src = src;
    copy->copy.width = copy->copy.dst_pitch = copy->copy.src_pitch = size;
    copy->copy.dst_slice = copy->copy.src_slice = size;
    copy->copy.height = copy->copy.depth = 1;
    struct signal *done = end->signal = signal_new();
    signal_ref(done);
    be->submit(q, copy);
    be->submit(q, end);
    int r = signal_wait(done, false);
    signal_unref(done);
    be->queue_free(q);
    return (CUresult)r;
}

static CUresult
fill(const struct layout *l, unsigned block)
{
    struct module *m = l->mod;
    if (!l->size[block])
        return CUDA_SUCCESS;
    if (block == BLOCK_MANAGED || m->ctx->dev->props->integrated) {
        initialise_block(l, block, m->block[block].base);
        return CUDA_SUCCESS;
    }
    char *copy = malloc(l->size[block]);
    if (!copy)
        return fail(CUDA_ERROR_OUT_OF_MEMORY, "%zu bytes", l->size[block]);
    initialise_block(l, block, copy);
    CUresult r = upload(m->ctx, m->block[block].base, copy, l->size[block]);
    free(copy);
    return r;
}

CUresult
variables_make(struct module *m)
{
    struct layout l = {.mod = m};
    place_all(&l, PTX_SPACE_CONST);
    m->constants = l.size[BLOCK_DEVICE];
    place_all(&l, PTX_SPACE_GLOBAL);
    CUresult r = allocate(&l);
    for (unsigned b = 0; b < 2 && r == CUDA_SUCCESS; b++)
        r = fill(&l, b);
    vec_free(l.list);
    intmap_free(&l.by_sym);
    return r;
}

void
variables_free(struct module *m)
{
    for (unsigned b = 0; b < 2; b++)
        if (m->block[b].base)
            mem_delete(m->block[b].base);
    strmap_free(&m->vars);
    arena_free(&m->arena);
}

struct module_var *
variable_find(const struct module *m, const char *name)
{
    struct module_var *v = strmap_get(&m->vars, name);
    for (uint32_t k = 0; !v && k < m->code->program->nmodule; k++) {
        char private_name[1024];
        if ((size_t)snprintf(private_name, sizeof private_name, "%s$%u", name, k) <
            sizeof private_name)
            v = strmap_get(&m->vars, private_name);
    }
    return v;
}
