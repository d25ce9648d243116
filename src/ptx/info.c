// SPDX-License-Identifier: MIT
// What a kernel needs over its call graph, and the functions whose address is taken.
#include "ptx/ptx.h"

#include "base/vec.h"

// Calls fn for each operand of an instruction, those of calls included, but not a call's direct
// target.
static void
each_operand(const struct ptx_operand *o, unsigned n,
             void (*fn)(const struct ptx_operand *, void *), void *user)
{
    for (unsigned i = 0; i < n; i++) {
        fn(&o[i], user);
        if (o[i].elem)
            each_operand(o[i].elem, o[i].n, fn, user);
    }
}

static void
each_operand_of(const struct ptx_func *f, void (*fn)(const struct ptx_operand *, void *),
                void *user)
{
    for (uint32_t i = 0; i < f->ninst; i++) {
        const struct ptx_inst *in = &f->inst[i];
        each_operand(in->operand, in->noperand, fn, user);
        if (in->call)
            each_operand(in->call->arg, in->call->narg, fn, user);
    }
}

// ---- address-taken functions and kernels --------------------------------------------------------
static struct ptx_func *
defined_function(struct ptx_sym *s)
{
    if (!s || s->kind != PTX_SYM_FUNC)
        return NULL;
    struct ptx_sym *def = ptx_def(s);
    return def->func->has_body ? def->func : NULL;
}

static struct ptx_func *
device_function(struct ptx_sym *s)
{
    struct ptx_func *f = defined_function(s);
    return f && !f->is_entry ? f : NULL;
}

static void
note_function(const struct ptx_operand *o, void *user)
{
    struct ptx_func *f = o->kind == PTX_O_SYM ? defined_function(o->sym) : NULL;
    if (f)
        intmap_put(user, (uintptr_t)f, f);
}

struct ptx_func **
ptx_address_taken(const struct ptx_program *p)
{
    struct intmap taken = {0};
    for (uint32_t m = 0; m < p->nmodule; m++) {
        struct ptx_module *mod = p->module[m];
        for (uint32_t i = 0; i < mod->nfunc; i++)
            each_operand_of(mod->func[i], note_function, &taken);
        for (uint32_t i = 0; i < mod->nvar; i++)
            for (uint32_t r = 0; r < mod->var[i]->nreloc; r++) {
                struct ptx_func *f = defined_function(mod->var[i]->reloc[r].sym);
                if (f)
                    intmap_put(&taken, (uintptr_t)f, f);
            }
    }
    struct ptx_func **list = NULL;
    for (uint32_t m = 0; m < p->nmodule; m++)
        for (uint32_t i = 0; i < p->module[m]->nfunc; i++)
            if (intmap_get(&taken, (uintptr_t)p->module[m]->func[i]))
                vec_push(list, p->module[m]->func[i]);
    intmap_free(&taken);
    return list;
}

// ---- kernels -----------------------------------------------------------------------------------
struct walk {
    const struct ptx_program *program;
    struct ptx_kernel_info *info;
    struct intmap seen;      // functions done (value: itself) and shared variables counted
    struct intmap depth;     // function -> local bytes below it + 1
    struct intmap active;    // functions on the path, to notice recursion
    struct ptx_func **taken; // vec, once an indirect call was met
};

static uint64_t
align_to(uint64_t at, uint32_t align)
{
    return align ? (at + align - 1) / align * align : at;
}

static void
count_shared(struct walk *w, struct ptx_var *v)
{
    if (v->space != PTX_SPACE_SHARED || v->unsized || intmap_put(&w->seen, (uintptr_t)v, v))
        return;
    uint64_t end = align_to(w->info->static_shared, v->align) + v->size;
    w->info->static_shared = end < UINT32_MAX ? (uint32_t)end : UINT32_MAX;
}

static void
note_operand(const struct ptx_operand *o, void *user)
{
    struct walk *w = user;
    if ((o->kind == PTX_O_SYM || o->kind == PTX_O_ADDR) && o->sym && o->sym->kind == PTX_SYM_VAR)
        count_shared(w, ptx_def(o->sym)->var);
    if (o->kind == PTX_O_SREG && (o->sreg == PTX_SREG_ENVREG1 || o->sreg == PTX_SREG_ENVREG2))
        w->info->uses_cooperative = true;
}

static uint64_t
own_local(const struct ptx_func *f)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < f->nvar; i++)
        if (f->var[i]->space == PTX_SPACE_LOCAL)
            bytes = align_to(bytes, f->var[i]->align) + f->var[i]->size;
    return bytes;
}

static uint64_t visit(struct walk *w, struct ptx_func *f, unsigned level);

// Local bytes of the deepest function that an indirect call may reach.
static uint64_t
visit_indirect(struct walk *w, unsigned level)
{
    uint64_t most = 0;
    if (!w->info->indirect_calls)
        w->taken = ptx_address_taken(w->program);
    w->info->indirect_calls = true;
    for (size_t i = 0; i < vec_len(w->taken); i++) {
        if (w->taken[i]->is_entry)
            continue;
        uint64_t b = visit(w, w->taken[i], level + 1);
        most = b > most ? b : most;
    }
    return most;
}

static uint64_t
visit_calls(struct walk *w, struct ptx_func *f, unsigned level)
{
    uint64_t most = 0;
    bool indirect = false;
    for (uint32_t i = 0; i < f->ninst; i++) {
        const struct ptx_call *c = f->inst[i].call;
        if (!c)
            continue;
        uint64_t b = 0;
        struct ptx_func *callee =
            c->target.kind == PTX_O_SYM ? device_function(c->target.sym) : NULL;
        if (callee)
            b = visit(w, callee, level + 1);
        else if (c->target.kind != PTX_O_SYM && !indirect && (indirect = true))
            b = visit_indirect(w, level);
        most = b > most ? b : most;
    }
    return most;
}

// Local bytes that the function needs with what it calls. Paths deeper than 200 functions count as
// recursion.
static uint64_t
visit(struct walk *w, struct ptx_func *f, unsigned level)
{
    uintptr_t known = (uintptr_t)intmap_get(&w->depth, (uintptr_t)f);
    if (known)
        return known - 1;
    if (level > 200 || intmap_get(&w->active, (uintptr_t)f)) {
        w->info->recursive = true;
        return 0;
    }
    intmap_put(&w->active, (uintptr_t)f, f);
    for (uint32_t i = 0; i < f->nvar; i++)
        count_shared(w, f->var[i]);
    each_operand_of(f, note_operand, w);
    uint64_t bytes = own_local(f) + visit_calls(w, f, level);
    intmap_del(&w->active, (uintptr_t)f);
    intmap_put(&w->depth, (uintptr_t)f, (void *)(uintptr_t)(bytes + 1));
    return bytes;
}

// NVIDIA's count has no meaning here; programs only divide a budget by it. Half of the declared
// 32-bit registers, in 16..128.
static uint32_t
register_estimate(const struct ptx_func *f)
{
    uint64_t words = 0;
    for (uint32_t i = 0; i < f->nreg; i++)
        words += (ptx_type_bits(f->reg[i].type) + 31) / 32;
    uint32_t n = words / 2 < 16 ? 16 : words / 2 > 128 ? 128 : (uint32_t)(words / 2);
    return f->maxnreg && f->maxnreg < n ? f->maxnreg : n;
}

void
ptx_kernel_info(const struct ptx_program *p, const struct ptx_func *kernel,
                struct ptx_kernel_info *out)
{
    *out = (struct ptx_kernel_info){0};
    struct walk w = {.program = p, .info = out};
    uint64_t local = visit(&w, (struct ptx_func *)kernel, 0);
    out->local_bytes = local < UINT32_MAX ? (uint32_t)local : UINT32_MAX;
    for (uint32_t m = 0; m < p->nmodule; m++)
        for (uint32_t i = 0; i < p->module[m]->nvar; i++)
            if (p->module[m]->var[i]->space == PTX_SPACE_CONST)
                out->const_bytes += (uint32_t)p->module[m]->var[i]->size;
    out->num_regs = register_estimate(kernel);
    vec_free(w.taken);
    intmap_free(&w.seen);
    intmap_free(&w.depth);
    intmap_free(&w.active);
}
