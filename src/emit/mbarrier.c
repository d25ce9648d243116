// SPDX-License-Identifier: MIT
// mbarrier objects. Addresses travel as generic ones, so that those of other blocks of the cluster need no forms of their own.
#include "emit/core.h"

static LLVMValueRef
object(struct emitter *e, const struct ptx_inst *i, unsigned operand)
{
    return em_generic_barrier(e, i, operand, em_names_cluster(i, 0));
}

LLVMValueRef
em_generic_barrier(struct emitter *e, const struct ptx_inst *i, unsigned operand, bool cluster)
{
    if (!cluster)
        return em_generic_operand(e, i, operand, i->space);
    LLVMValueRef a = em_cluster_operand(e, i, operand);
    return em_pw(e, "cluster.to_generic", e->i64, &a, 1);
}

void
em_complete_tx(struct emitter *e, LLVMValueRef barrier, LLVMValueRef bytes)
{
    LLVMValueRef arg[] = {barrier, em_resize(e, bytes, e->i32, false)};
    em_pw(e, "mbarrier.complete", e->void_, arg, 2);
}

// arrive {.expect_tx} {state,} [object] {, count or bytes}
static bool
arrive(struct emitter *e, const struct ptx_inst *i)
{
    bool result = i->operand[0].kind != PTX_O_ADDR, expect = ptx_has(i, PTX_MOD_EXPECT_TX);
    unsigned at = result;
    LLVMValueRef one = em_int(e, e->i32, 1), none = em_int(e, e->i32, 0);
    LLVMValueRef n = i->noperand > at + 1u ? em_src(e, i, at + 1, PTX_U32) : expect ? none : one;
    LLVMValueRef arg[] = {object(e, i, at), expect ? one : n, expect ? n : none};
    const char *scope = em_scope(i, "cta");
    em_fence_before(e, em_order(i, EM_RELEASE), scope);
    const char *fn = ptx_has(i, PTX_MOD_ARRIVE_DROP) ? "mbarrier.arrive_drop" : "mbarrier.arrive";
    LLVMValueRef state = em_pw(e, fn, e->i64, arg, 3);
    if (result)
        em_dst(e, i, 0, PTX_B64, state);
    return true;
}

// A wait that fails gives way; the time that it may take is the implementation's choice, so a limit is not looked at.
static void
pause_unless(struct emitter *e, LLVMValueRef done)
{
    LLVMBasicBlockRef pause = em_block(e, "pause"), next = em_block(e, "next");
    LLVMValueRef none = em_int(e, e->i32, 0);
    LLVMBuildCondBr(e->b, done, next, pause);
    LLVMPositionBuilderAtEnd(e->b, pause);
    em_pw(e, "nanosleep", e->void_, &none, 1);
    LLVMBuildBr(e->b, next);
    LLVMPositionBuilderAtEnd(e->b, next);
}

static bool
test(struct emitter *e, const struct ptx_inst *i)
{
    bool parity = ptx_has(i, PTX_MOD_PARITY);
    LLVMValueRef arg[] = {object(e, i, 1), em_src(e, i, 2, parity ? PTX_U32 : PTX_B64)};
    LLVMValueRef done = em_pw(e, parity ? "mbarrier.test.parity" : "mbarrier.test", e->i32, arg, 2);
    done = em_truth(e, done);
    em_fence_after(e, em_order(i, EM_ACQUIRE), em_scope(i, "cta"));
    em_dst(e, i, 0, PTX_PRED, done);
    pause_unless(e, done);
    return true;
}

static bool
on_bytes(struct emitter *e, const struct ptx_inst *i, const char *fn)
{
    LLVMValueRef arg[] = {object(e, i, 0), em_src(e, i, 1, PTX_U32)};
    em_pw(e, fn, e->void_, arg, 2);
    return true;
}

bool
emit_mbarrier(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_ARRIVE) || ptx_has(i, PTX_MOD_ARRIVE_DROP))
        return arrive(e, i);
    if (ptx_has(i, PTX_MOD_TEST_WAIT) || ptx_has(i, PTX_MOD_TRY_WAIT))
        return test(e, i);
    if (ptx_has(i, PTX_MOD_INIT))
        return on_bytes(e, i, "mbarrier.init");
    if (ptx_has(i, PTX_MOD_EXPECT_TX))
        return on_bytes(e, i, "mbarrier.expect");
    if (ptx_has(i, PTX_MOD_COMPLETE_TX))
        return on_bytes(e, i, "mbarrier.complete");
    if (ptx_has(i, PTX_MOD_INVAL)) {
        LLVMValueRef a = object(e, i, 0);
        em_pw(e, "mbarrier.inval", e->void_, &a, 1);
        return true;
    }
    if (!ptx_has(i, PTX_MOD_PENDING_COUNT))
        return em_refuse(e, i, "is malformed");
    LLVMValueRef state = em_src(e, i, 1, PTX_B64);
    em_dst(e, i, 0, PTX_U32, em_pw(e, "mbarrier.pending", e->i32, &state, 1));
    return true;
}
