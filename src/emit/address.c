// SPDX-License-Identifier: MIT
// Addresses and pointers. An address is a number in its space (shared: 32 bits, others: 64); a
// pointer is what LLVM accesses.
#include "emit/core.h"

LLVMTypeRef
em_pointer_type(struct emitter *e, enum ptx_space space)
{
    return LLVMPointerTypeInContext(e->ctx, e->target->as[space]);
}

enum ptx_space
em_symbol_space(const struct ptx_sym *sym)
{
    if (sym->kind != PTX_SYM_VAR && sym->kind != PTX_SYM_PARAM)
        return PTX_SPACE_GENERIC;
    return sym->var->space == PTX_SPACE_REG ? PTX_SPACE_PARAM : sym->var->space;
}

// Parameters of a kernel lie in its block; those of functions and of calls are memory of the
// thread.
static enum ptx_space
pointer_space(struct emitter *e, enum ptx_space space)
{
    return space == PTX_SPACE_PARAM && !e->func->is_entry ? PTX_SPACE_LOCAL : space;
}

static LLVMValueRef
advance(struct emitter *e, LLVMValueRef p, int64_t off)
{
    LLVMValueRef n = em_int(e, e->i64, (uint64_t)off);
    return off ? LLVMBuildGEP2(e->b, e->i8, p, &n, 1, "") : p;
}

// ---- values of symbols --------------------------------------------------------------------------
static LLVMValueRef
function_value(struct emitter *e, const struct ptx_inst *i, struct ptx_sym *sym)
{
    LLVMValueRef h = em_handle(e, ptx_def(sym)->func);
    if (h)
        return h;
    em_refuse(e, i, "takes the address of '%s', which is not defined", sym->name);
    return em_int(e, e->i64, 0);
}

LLVMValueRef
em_symbol_value(struct emitter *e, const struct ptx_inst *i, struct ptx_sym *sym, int64_t off)
{
    LLVMValueRef n = em_int(e, e->i64, (uint64_t)off);
    if (sym->kind == PTX_SYM_FUNC)
        return LLVMBuildAdd(e->b, function_value(e, i, sym), n, "");
    if (sym->kind != PTX_SYM_VAR && sym->kind != PTX_SYM_PARAM) {
        em_refuse(e, i, "uses '%s' as a value", sym->name);
        return n;
    }
    if (em_symbol_space(ptx_def(sym)) == PTX_SPACE_SHARED) {
        LLVMValueRef at = ir_add(e, em_shared_offset(e, sym), em_int(e, e->i32, (uint32_t)off));
        return LLVMBuildZExt(e->b, at, e->i64, "");
    }
    return LLVMBuildPtrToInt(e->b, advance(e, em_var_pointer(e, sym), off), e->i64, "");
}

// ---- address operands ---------------------------------------------------------------------------
// The base register as a number of the width of `t`; its offset apart.
static LLVMValueRef
base_register(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
              enum ptx_type t)
{
    struct ptx_operand base = {.kind = PTX_O_REG, .reg = o->reg, .comp = o->comp};
    return em_operand(e, i, &base, t);
}

static bool
has_base(const struct ptx_operand *o)
{
    return o->kind == PTX_O_ADDR && o->reg != PTX_NO_REG;
}

static LLVMValueRef
shared_address(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o)
{
    LLVMValueRef off = em_int(e, e->i32, (uint32_t)o->off);
    if (has_base(o))
        return ir_add(e, base_register(e, i, o, PTX_B32), off);
    if (o->sym)
        return LLVMBuildTrunc(e->b, em_symbol_value(e, i, o->sym, o->off), e->i32, "");
    return off;
}

LLVMValueRef
em_address(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
           enum ptx_space space)
{
    if (o->kind != PTX_O_ADDR)
        return em_operand(e, i, o, space == PTX_SPACE_SHARED ? PTX_B32 : PTX_B64);
    if (space == PTX_SPACE_SHARED)
        return shared_address(e, i, o);
    if (!has_base(o) && o->sym)
        return em_symbol_value(e, i, o->sym, o->off);
    LLVMValueRef off = em_int(e, e->i64, (uint64_t)o->off);
    return has_base(o) ? ir_add(e, base_register(e, i, o, PTX_B64), off) : off;
}

static enum ptx_space
access_space(const struct ptx_inst *i, const struct ptx_operand *o)
{
    if (i->space == PTX_SPACE_GENERIC && o->kind == PTX_O_ADDR && o->sym && !has_base(o))
        return em_symbol_space(ptx_def(o->sym));
    return i->space;
}

static LLVMValueRef
pointer_of_register(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
                    enum ptx_space space)
{
    LLVMTypeRef type = em_pointer_type(e, pointer_space(e, space));
    if (!has_base(o))
        return LLVMBuildIntToPtr(e->b, em_int(e, e->i64, (uint64_t)o->off), type, "");
    LLVMValueRef base = base_register(e, i, o, PTX_B64);
    return advance(e, LLVMBuildIntToPtr(e->b, base, type, ""), o->off);
}

LLVMValueRef
em_pointer(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
           enum ptx_space *out)
{
    enum ptx_space space = access_space(i, o);
    if (out)
        *out = space;
    if (o->kind != PTX_O_ADDR) {
        em_refuse(e, i, "has an operand that is no address");
        return LLVMGetUndef(e->ptr);
    }
    if (e->ptx->address_size == 32 && space != PTX_SPACE_SHARED && space != PTX_SPACE_PARAM)
        em_refuse(e, i, "uses a 32-bit address: modules of .address_size 32 are not supported");
    if (space == PTX_SPACE_SHARED) {
        LLVMValueRef at = shared_address(e, i, o);
        const char *fn = em_names_cluster(i, 0) ? "cluster.ptr" : "shared.ptr";
        return em_pw(e, fn, em_pointer_type(e, space), &at, 1);
    }
    if (!has_base(o) && o->sym && o->sym->kind != PTX_SYM_FUNC)
        return advance(e, em_var_pointer(e, o->sym), o->off);
    return pointer_of_register(e, i, o, space);
}

// ---- generic addresses --------------------------------------------------------------------------
// Global and constant addresses are generic ones. So are a kernel's parameters; other parameters
// are local memory.
LLVMValueRef
em_to_generic(struct emitter *e, LLVMValueRef address, enum ptx_space space)
{
    switch (pointer_space(e, space)) {
    case PTX_SPACE_SHARED:
        address = em_resize(e, address, e->i32, false);
        return em_pw(e, "shared.to_generic", e->i64, &address, 1);
    case PTX_SPACE_LOCAL:
        return em_pw(e, "local.to_generic", e->i64, &address, 1);
    default:
        return address;
    }
}

LLVMValueRef
em_from_generic(struct emitter *e, LLVMValueRef address, enum ptx_space space)
{
    switch (pointer_space(e, space)) {
    case PTX_SPACE_SHARED:
        address = em_pw(e, "shared.from_generic", e->i32, &address, 1);
        return LLVMBuildZExt(e->b, address, e->i64, "");
    case PTX_SPACE_LOCAL:
        return em_pw(e, "local.from_generic", e->i64, &address, 1);
    default:
        return address;
    }
}

// ---- operands of instructions with several addresses
bool
em_names_cluster(const struct ptx_inst *i, unsigned n)
{
    for (unsigned k = 0, seen = 0; k < i->nmod; k++) {
        bool cluster = i->mod[k] == PTX_MOD_SHARED_CLUSTER;
        if ((cluster || i->mod[k] == PTX_MOD_SHARED_CTA) && seen++ == n)
            return cluster;
    }
    return false;
}

LLVMValueRef
em_generic_operand(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_space space)
{
    if (space == PTX_SPACE_GENERIC && i->operand[k].kind == PTX_O_ADDR && i->operand[k].sym)
        space = em_symbol_space(ptx_def(i->operand[k].sym));
    return em_to_generic(e, em_address(e, i, &i->operand[k], space), space);
}

LLVMValueRef
em_cluster_operand(struct emitter *e, const struct ptx_inst *i, unsigned k)
{
    return em_address(e, i, &i->operand[k], PTX_SPACE_SHARED);
}

bool
em_is_kernel_parameter(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
                       enum ptx_space space)
{
    if (space != PTX_SPACE_PARAM || !e->func->is_entry || ptx_has(i, PTX_MOD_PARAM_FUNC))
        return false;
    const struct ptx_proto *p = &e->func->proto;
    return has_base(o) || (o->sym && o->sym->var >= p->param && o->sym->var < p->param + p->nparam);
}
