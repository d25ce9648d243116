// SPDX-License-Identifier: MIT
// Control flow within a function, its end, and the thread's.
#include "emit/core.h"

// ---- branches -----------------------------------------------------------------------------------
static struct ptx_sym *
label_of(const struct ptx_inst *i)
{
    const struct ptx_operand *o = i->noperand ? &i->operand[0] : NULL;
    return o && o->kind == PTX_O_SYM && o->sym->kind == PTX_SYM_LABEL ? o->sym : NULL;
}

bool
emit_bra(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_sym *label = label_of(i);
    if (!label)
        return em_refuse(e, i, "needs a label");
    if (!i->guarded) {
        LLVMBuildBr(e->b, em_target(e, label));
        return true;
    }
    struct ptx_operand guard = {.kind = PTX_O_REG, .reg = i->guard, .neg = i->guard_neg};
    LLVMValueRef taken = em_operand(e, i, &guard, PTX_PRED);
    LLVMBasicBlockRef to = em_target(e, label), next = em_block(e, "next");
    LLVMBuildCondBr(e->b, taken, to, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    return true;
}

// Where brx.idx goes with an index outside the list: undefined by the ISA, an error here.
static LLVMBasicBlockRef
bad_index_block(struct emitter *e)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b), bad = em_block(e, "bad_index");
    LLVMPositionBuilderAtEnd(e->b, bad);
    em_pw(e, "bad_call", e->void_, NULL, 0);
    em_unreachable(e);
    LLVMPositionBuilderAtEnd(e->b, from);
    return bad;
}

bool
emit_brx(struct emitter *e, const struct ptx_inst *i)
{
    const struct ptx_operand *list = i->noperand == 2 ? &i->operand[1] : NULL;
    if (!list || list->kind != PTX_O_SYM || list->sym->kind != PTX_SYM_TARGETS)
        return em_refuse(e, i, "needs an index and a list of targets");
    const struct ptx_targets *t = list->sym->targets;
    LLVMValueRef index = em_src(e, i, 0, PTX_U32);
    LLVMValueRef s = LLVMBuildSwitch(e->b, index, bad_index_block(e), t->n);
    for (uint32_t k = 0; k < t->n; k++) {
        if (t->sym[k]->kind != PTX_SYM_LABEL)
            return em_refuse(e, i, "lists '%s', which is no label", t->sym[k]->name);
        LLVMAddCase(s, em_int(e, e->i32, k), em_target(e, t->sym[k]));
    }
    return true;
}

// ---- ends ---------------------------------------------------------------------------------------
bool
emit_ret(struct emitter *e, const struct ptx_inst *i)
{
    (void)i;
    em_return(e);
    return true;
}

static bool
call_and_stop(struct emitter *e, const char *name)
{
    em_pw(e, name, e->void_, NULL, 0);
    em_unreachable(e);
    return true;
}

bool
emit_exit(struct emitter *e, const struct ptx_inst *i)
{
    return e->func->is_entry ? emit_ret(e, i) : call_and_stop(e, "exit");
}

bool
emit_trap(struct emitter *e, const struct ptx_inst *i)
{
    (void)i;
    return call_and_stop(e, "trap");
}

bool
emit_brkpt(struct emitter *e, const struct ptx_inst *i)
{
    (void)i;
    em_pw(e, "brkpt", e->void_, NULL, 0);
    return true;
}

bool
emit_nanosleep(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef ns = em_src(e, i, 0, PTX_U32);
    em_pw(e, "nanosleep", e->void_, &ns, 1);
    return true;
}

// ---- the stack ----------------------------------------------------------------------------------
// alloca.T d, size, align: the result is an address of local space.
bool
emit_alloca(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = em_address_type(i);
    bool aligned = i->noperand > 2 && i->operand[2].kind == PTX_O_INT;
    uint64_t align = aligned ? i->operand[2].ival : 16;
    if (!align || align & (align - 1) || align > 4096)
        return em_refuse(e, i, "has the alignment %llu", (unsigned long long)align);
    LLVMValueRef p = LLVMBuildArrayAlloca(e->b, e->i8, em_src(e, i, 1, PTX_U64), "");
    LLVMSetAlignment(p, (unsigned)align);
    em_dst(e, i, 0, t, em_resize(e, LLVMBuildPtrToInt(e->b, p, e->i64, ""), em_type(e, t), false));
    return true;
}

bool
emit_stacksave(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = em_address_type(i);
    LLVMValueRef p =
        em_intrinsic(e, "llvm.stacksave", em_pointer_type(e, PTX_SPACE_LOCAL), NULL, 0);
    em_dst(e, i, 0, t, em_resize(e, LLVMBuildPtrToInt(e->b, p, e->i64, ""), em_type(e, t), false));
    return true;
}

bool
emit_stackrestore(struct emitter *e, const struct ptx_inst *i)
{
    LLVMTypeRef t = em_pointer_type(e, PTX_SPACE_LOCAL);
    LLVMValueRef p = LLVMBuildIntToPtr(e->b, em_src(e, i, 0, PTX_U64), t, "");
    em_intrinsic(e, "llvm.stackrestore", t, &p, 1);
    return true;
}
