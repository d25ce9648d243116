// SPDX-License-Identifier: MIT
// Variables and functions of PTX as symbols of the LLVM module, and the handles that stand for
// functions' addresses.
#include <stdio.h>
#include <string.h>

#include "emit/core.h"

static uint32_t
module_index(struct emitter *e, const struct ptx_module *m)
{
    for (uint32_t k = 0; k < e->prog->nmodule; k++)
        if (e->prog->module[k] == m)
            return k;
    return 0;
}

const char *
em_symbol_name(struct emitter *e, const struct ptx_sym *sym, char *buf, size_t size)
{
    bool is_private =
        sym->linkage == PTX_STATIC && !(sym->kind == PTX_SYM_FUNC && sym->func->is_entry);
    if (is_private)
        snprintf(buf, size, "%s$%u", sym->name, module_index(e, sym->module));
    else
        snprintf(buf, size, "%s", sym->name);
    return buf;
}

// ---- variables ----------------------------------------------------------------------------------
static LLVMValueRef
add_global(struct emitter *e, const struct ptx_sym *sym, unsigned as)
{
    const struct ptx_var *v = sym->var;
    char *name = arena_alloc(&e->unit->arena, strlen(sym->name) + 16);
    em_symbol_name(e, sym, name, strlen(sym->name) + 16);
    LLVMTypeRef type = LLVMArrayType2(e->i8, v->unsized ? 0 : v->size);
    LLVMValueRef g = LLVMAddGlobalInAddressSpace(e->mod, type, name, as);
    LLVMSetAlignment(g, v->align ? v->align : 1);
    return g;
}

// Shared variables with a size are laid out by the backend; the extern ones without begin behind
// them.
static LLVMValueRef
make_shared(struct emitter *e, const struct ptx_sym *sym)
{
    LLVMValueRef g = add_global(e, sym, 3);
    if (sym->var->unsized || sym->linkage == PTX_EXTERN)
        return g;
    LLVMSetLinkage(g, LLVMInternalLinkage);
    LLVMSetInitializer(g, LLVMGetUndef(LLVMGlobalGetValueType(g)));
    return g;
}

static LLVMValueRef
make_variable(struct emitter *e, const struct ptx_sym *sym)
{
    if (sym->var->space == PTX_SPACE_SHARED)
        return make_shared(e, sym);
    LLVMValueRef g = add_global(e, sym, e->target->as[sym->var->space]);
    LLVMSetGlobalConstant(g, sym->var->space == PTX_SPACE_CONST);
    return g;
}

static LLVMValueRef
module_variable(struct emitter *e, struct ptx_sym *sym)
{
    sym = ptx_def(sym);
    LLVMValueRef g = intmap_get(&e->unit->global, (uintptr_t)sym);
    if (!g) {
        g = make_variable(e, sym);
        intmap_put(&e->unit->global, (uintptr_t)sym, g);
    }
    return g;
}

// A .local variable of module scope is one per thread across functions: not had here.
static void
check_scope(struct emitter *e, const struct ptx_sym *sym)
{
    for (uint32_t k = 0; k < e->func->nvar; k++)
        if (e->func->var[k]->sym == sym)
            return;
    ptx_diag_add(e->diags, true, sym->line, 1,
                 "variable '%s' of thread-local memory outside functions", sym->name);
}

// A .local variable, or a .param variable declared for a call: memory of this thread, made at
// function entry.
static LLVMValueRef
thread_variable(struct emitter *e, struct ptx_sym *sym)
{
    LLVMValueRef p = intmap_get(&e->fs->local, (uintptr_t)sym);
    if (p)
        return p;
    check_scope(e, sym);
    const struct ptx_var *v = sym->var;
    bool scalar = v->space == PTX_SPACE_PARAM && em_by_value(v);
    LLVMTypeRef t = scalar ? em_int_type(e, (unsigned)v->size * 8)
                           : LLVMArrayType2(e->i8, v->size ? v->size : 1);
    p = em_alloca(e, t, v->align);
    if (scalar)
        LLVMBuildStore(e->fs->entry, LLVMConstNull(t), p);
    intmap_put(&e->fs->local, (uintptr_t)sym, p);
    return p;
}

LLVMValueRef
em_var_pointer(struct emitter *e, struct ptx_sym *sym)
{
    enum ptx_space s = ptx_def(sym)->var->space;
    bool thread = s == PTX_SPACE_LOCAL || s == PTX_SPACE_PARAM || s == PTX_SPACE_REG;
    return thread ? thread_variable(e, sym) : module_variable(e, sym);
}

LLVMValueRef
em_shared_offset(struct emitter *e, struct ptx_sym *sym)
{
    return LLVMConstPtrToInt(module_variable(e, sym), e->i32);
}

// ---- functions ----------------------------------------------------------------------------------
LLVMValueRef
em_declare(struct emitter *e, struct ptx_func *f)
{
    LLVMValueRef fn = intmap_get(&e->unit->global, (uintptr_t)f->sym);
    if (fn)
        return fn;
    char *name = arena_alloc(&e->unit->arena, strlen(f->sym->name) + 16);
    em_symbol_name(e, f->sym, name, strlen(f->sym->name) + 16);
    LLVMTypeRef type = f->is_entry ? em_kernel_type(e) : em_function_type(e, &f->proto);
    fn = LLVMAddFunction(e->mod, name, type);
    if (!f->is_entry)
        LLVMSetLinkage(fn, LLVMInternalLinkage);
    em_function_attributes(e, fn);
    intmap_put(&e->unit->global, (uintptr_t)f->sym, fn);
    vec_push(e->unit->pending, f);
    return fn;
}

void
em_know_taken(struct emitter *e)
{
    if (e->unit->taken_known)
        return;
    e->unit->taken_known = true;
    e->unit->taken = ptx_address_taken(e->prog);
    for (size_t k = 0; k < vec_len(e->unit->taken); k++)
        intmap_put(&e->unit->handle, (uintptr_t)e->unit->taken[k], (void *)(uintptr_t)(k + 1));
}

LLVMValueRef
em_handle(struct emitter *e, struct ptx_func *f)
{
    em_know_taken(e);
    uintptr_t k = (uintptr_t)intmap_get(&e->unit->handle, (uintptr_t)f);
    return k ? em_int(e, e->i64, PTX_FUNC_HANDLE_BASE + 16 * (uint64_t)(k - 1)) : NULL;
}
