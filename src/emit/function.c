// SPDX-License-Identifier: MIT
// The body of a function: blocks from labels, registers and thread-local variables as allocas,
// guards as control flow.
#include <stdlib.h>

#include "emit/contract.h"
#include "emit/core.h"

// ---- blocks -------------------------------------------------------------------------------------
LLVMBasicBlockRef
em_block(struct emitter *e, const char *name)
{
    return LLVMAppendBasicBlockInContext(e->ctx, e->fs->fn, name);
}

bool
em_terminated(struct emitter *e)
{
    return LLVMGetBasicBlockTerminator(LLVMGetInsertBlock(e->b)) != NULL;
}

static void
make_label_blocks(struct emitter *e)
{
    struct ptx_func *f = e->func;
    for (uint32_t k = 0; k < f->nlabel; k++) {
        uint32_t at = f->label[k]->label;
        if (at <= f->ninst && !e->fs->block[at])
            e->fs->block[at] = em_block(e, f->label[k]->name);
    }
}

// A thread may wait in a loop for another one by an access that sees other threads' writes or by a
// call that has one.
static bool
may_wait(const struct ptx_inst *i)
{
    switch (i->op) {
    case PTX_OP_LD:
        return ptx_has(i, PTX_MOD_VOLATILE) || ptx_has(i, PTX_MOD_RELAXED) ||
               ptx_has(i, PTX_MOD_ACQUIRE) || ptx_has(i, PTX_MOD_MMIO);
    case PTX_OP_MBARRIER:
        return ptx_has(i, PTX_MOD_TEST_WAIT) || ptx_has(i, PTX_MOD_TRY_WAIT);
    case PTX_OP_ATOM:
    case PTX_OP_NANOSLEEP:
    case PTX_OP_CALL:
        return true;
    default:
        return false;
    }
}

static void
count_spins(struct emitter *e)
{
    uint32_t *n = e->fs->spins;
    for (uint32_t k = 0; k < e->func->ninst; k++)
        n[k + 1] = n[k] + may_wait(&e->func->inst[k]);
}

static LLVMBasicBlockRef
yielding_edge(struct emitter *e, LLVMBasicBlockRef to)
{
    LLVMBasicBlockRef from = LLVMGetInsertBlock(e->b), edge = em_block(e, "spin");
    LLVMPositionBuilderAtEnd(e->b, edge);
    em_pw(e, "spin", e->void_, NULL, 0);
    LLVMBuildBr(e->b, to);
    LLVMPositionBuilderAtEnd(e->b, from);
    return edge;
}

LLVMBasicBlockRef
em_target(struct emitter *e, const struct ptx_sym *label)
{
    uint32_t to = label->label, at = e->fs->at;
    LLVMBasicBlockRef block = e->fs->block[to];
    bool waits = to <= at && e->fs->spins[at + 1] > e->fs->spins[to];
    return waits ? yielding_edge(e, block) : block;
}

// ---- memory of the thread -----------------------------------------------------------------------
LLVMValueRef
em_alloca(struct emitter *e, LLVMTypeRef t, unsigned align)
{
    LLVMValueRef p = LLVMBuildAlloca(e->fs->entry, t, "");
    if (align)
        LLVMSetAlignment(p, align);
    return p;
}

LLVMValueRef
em_slot(struct emitter *e, uint32_t reg, unsigned part)
{
    LLVMValueRef *slot = &e->fs->slot[e->fs->first[reg] + part];
    if (!*slot) {
        *slot = em_alloca(e, e->fs->slot_type[reg], 0);
        LLVMBuildStore(e->fs->entry, LLVMConstNull(e->fs->slot_type[reg]), *slot);
    }
    return *slot;
}

LLVMValueRef
em_carry_slot(struct emitter *e)
{
    if (!e->fs->carry) {
        e->fs->carry = em_alloca(e, e->i1, 0);
        LLVMBuildStore(e->fs->entry, em_int(e, e->i1, 0), e->fs->carry);
    }
    return e->fs->carry;
}

// ---- statements ---------------------------------------------------------------------------------
static bool
emit_statement(struct emitter *e, const struct ptx_inst *i)
{
    emit_fn *fn = emit_table[i->op];
    if (!fn)
        return em_refuse(e, i, "is not supported");
    return fn(e, i);
}

static bool
emit_guarded(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_operand guard = {.kind = PTX_O_REG, .reg = i->guard, .neg = i->guard_neg};
    LLVMBasicBlockRef then = em_block(e, "then"), next = em_block(e, "next");
    LLVMBuildCondBr(e->b, em_operand(e, i, &guard, PTX_PRED), then, next);
    LLVMPositionBuilderAtEnd(e->b, then);
    bool done = emit_statement(e, i);
    if (!em_terminated(e))
        LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
    return done;
}

static void
enter_label(struct emitter *e, uint32_t at)
{
    LLVMBasicBlockRef b = e->fs->block[at];
    if (!b)
        return;
    if (!em_terminated(e))
        LLVMBuildBr(e->b, b);
    LLVMMoveBasicBlockAfter(b, LLVMGetInsertBlock(e->b));
    LLVMPositionBuilderAtEnd(e->b, b);
}

// Statements behind a branch, up to the next label, are never reached.
static bool
emit_body(struct emitter *e)
{
    bool done = true;
    for (uint32_t k = 0; k < e->func->ninst; k++) {
        const struct ptx_inst *i = &e->func->inst[k];
        e->fs->at = k;
        enter_label(e, k);
        if (em_terminated(e))
            continue;
        em_debug_line(e, i->line, i->col);
        done &= i->guarded && i->op != PTX_OP_BRA ? emit_guarded(e, i) : emit_statement(e, i);
        if (e->diags->errors >= EM_MAX_ERRORS)
            return false;
    }
    enter_label(e, e->func->ninst);
    return done;
}

static void
end_body(struct emitter *e)
{
    if (!em_terminated(e))
        em_return(e);
    LLVMBuildBr(e->fs->entry, e->fs->start);
}

// ---- the function -------------------------------------------------------------------------------
static void
open_function(struct emitter *e, struct ptx_func *f)
{
    struct emit_func *s = e->fs;
    e->func = f;
    e->ptx = f->sym->module;
    s->fn = em_declare(e, f);
    e->pw = LLVMGetParam(s->fn, 0);
    LLVMSetValueName2(e->pw, "pw", 2);
    LLVMBasicBlockRef entry = em_block(e, "entry");
    s->start = em_block(e, "start");
    s->entry = LLVMCreateBuilderInContext(e->ctx);
    LLVMPositionBuilderAtEnd(s->entry, entry);
    LLVMPositionBuilderAtEnd(e->b, s->start);
    s->block = calloc(f->ninst + 1, sizeof *s->block);
    s->spins = calloc(f->ninst + 1, sizeof *s->spins);
    em_make_slots(e);
    em_plan_contraction(e);
    em_debug_function(e, f);
}

static void
close_function(struct emitter *e)
{
    struct emit_func *s = e->fs;
    LLVMDisposeBuilder(s->entry);
    free(s->block);
    free(s->spins);
    free(s->contract);
    em_free_slots(e);
    intmap_free(&s->local);
    LLVMSetCurrentDebugLocation2(e->b, NULL);
    e->fs = NULL;
}

bool
em_function(struct emitter *e, struct ptx_func *f)
{
    struct emit_func state = {0};
    e->fs = &state;
    open_function(e, f);
    em_bind_parameters(e);
    make_label_blocks(e);
    count_spins(e);
    bool done = emit_body(e);
    end_body(e);
    close_function(e);
    return done;
}
