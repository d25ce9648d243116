// SPDX-License-Identifier: MIT
// A function's own parameters and results. Parameters of .param space are memory, those of .reg
// space (old code) registers, whose numbers are in ptx_var.offset.
#include "emit/core.h"

static void
bind(struct emitter *e, const struct ptx_var *v, LLVMValueRef pointer)
{
    if (v->sym)
        intmap_put(&e->fs->local, (uintptr_t)v->sym, pointer);
}

static void
bind_kernel_parameters(struct emitter *e)
{
    const struct ptx_proto *p = &e->func->proto;
    LLVMValueRef block = LLVMGetParam(e->fs->fn, 1);
    LLVMSetValueName2(block, "params", 6);
    em_add_attribute(e, e->fs->fn, 2, "noalias", 0);
    em_add_attribute(e, e->fs->fn, 2, "readonly", 0);
    em_add_attribute(e, e->fs->fn, 2, "align", 16);
    if (e->func->param_size)
        em_add_attribute(e, e->fs->fn, 2, "dereferenceable", e->func->param_size);
    for (uint32_t k = 0; k < p->nparam; k++) {
        LLVMValueRef off = em_int(e, e->i64, p->param[k].offset);
        bind(e, &p->param[k], LLVMBuildGEP2(e->fs->entry, e->i8, block, &off, 1, ""));
    }
}

// ---- functions ----------------------------------------------------------------------------------
static LLVMTypeRef
own_type(struct emitter *e, const struct ptx_var *v)
{
    return em_int_type(e, (unsigned)v->size * 8);
}

static struct ptx_operand
register_of(const struct ptx_var *v)
{
    return (struct ptx_operand){.kind = PTX_O_REG, .reg = (uint32_t)v->offset};
}

static void
bind_value_parameter(struct emitter *e, const struct ptx_var *v, LLVMValueRef arg)
{
    static const struct ptx_inst none;
    struct ptx_operand reg = register_of(v);
    arg = em_resize(e, arg, own_type(e, v), false);
    if (v->space == PTX_SPACE_REG) {
        em_write(e, &none, &reg, em_bits_type((unsigned)v->size), arg);
        return;
    }
    LLVMValueRef p = em_alloca(e, own_type(e, v), v->align);
    LLVMBuildStore(e->b, arg, p);
    bind(e, v, p);
}

static void
bind_value_result(struct emitter *e, const struct ptx_var *v)
{
    if (v->space == PTX_SPACE_REG)
        return;
    e->fs->ret = em_alloca(e, own_type(e, v), v->align);
    LLVMBuildStore(e->fs->entry, LLVMConstNull(own_type(e, v)), e->fs->ret);
    bind(e, v, e->fs->ret);
}

static void
bind_function_parameters(struct emitter *e)
{
    const struct ptx_proto *p = &e->func->proto;
    bool value = em_value_result(p) != NULL;
    unsigned at = 1;
    if (value)
        bind_value_result(e, &p->ret[0]);
    for (uint32_t k = value; k < p->nret; k++)
        bind(e, &p->ret[k], LLVMGetParam(e->fs->fn, at++));
    for (uint32_t k = 0; k < p->nparam; k++) {
        LLVMValueRef arg = LLVMGetParam(e->fs->fn, at++);
        if (em_by_value(&p->param[k]))
            bind_value_parameter(e, &p->param[k], arg);
        else
            bind(e, &p->param[k], arg);
    }
}

// A vector register cannot be a parameter here: nothing writes such code.
static bool
check_registers(struct emitter *e, const struct ptx_var *v, uint32_t n)
{
    for (uint32_t k = 0; k < n; k++)
        if (v[k].space == PTX_SPACE_REG && !em_by_value(&v[k])) {
            ptx_diag_add(e->diags, true, e->func->line, 1, "function '%s' passes a vector register",
                         e->func->sym->name);
            return false;
        }
    return true;
}

bool
em_bind_parameters(struct emitter *e)
{
    const struct ptx_proto *p = &e->func->proto;
    if (!check_registers(e, p->ret, p->nret) || !check_registers(e, p->param, p->nparam))
        return false;
    if (e->func->is_entry)
        bind_kernel_parameters(e);
    else
        bind_function_parameters(e);
    return true;
}

// ---- results ------------------------------------------------------------------------------------
static LLVMValueRef
result_value(struct emitter *e, const struct ptx_var *v)
{
    static const struct ptx_inst none;
    struct ptx_operand reg = register_of(v);
    if (v->space == PTX_SPACE_REG)
        return em_operand(e, &none, &reg, em_bits_type((unsigned)v->size));
    return LLVMBuildLoad2(e->b, own_type(e, v), e->fs->ret, "");
}

// Results in registers beyond the first go to the caller's memory.
static void
store_further_results(struct emitter *e, const struct ptx_proto *p, bool value)
{
    for (uint32_t k = value; k < p->nret; k++)
        if (p->ret[k].space == PTX_SPACE_REG)
            LLVMBuildStore(e->b, result_value(e, &p->ret[k]), LLVMGetParam(e->fs->fn, k + !value));
}

void
em_return(struct emitter *e)
{
    const struct ptx_proto *p = &e->func->proto;
    const struct ptx_var *result = e->func->is_entry ? NULL : em_value_result(p);
    if (!e->func->is_entry)
        store_further_results(e, p, result != NULL);
    if (result)
        LLVMBuildRet(e->b, em_resize(e, result_value(e, result), em_value_type(e, result), false));
    else
        LLVMBuildRetVoid(e->b);
}
