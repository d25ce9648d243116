// SPDX-License-Identifier: MIT
// Clusters: the barrier, addresses in other blocks' shared memory, stores and reductions there that an mbarrier counts.
#include "emit/core.h"

bool
emit_barrier_cluster(struct emitter *e, const struct ptx_inst *i)
{
    bool arrives = ptx_has(i, PTX_MOD_ARRIVE);
    if (arrives)
        em_fence_before(e, em_order(i, EM_RELEASE), "cluster");
    em_pw(e, arrives ? "cluster.arrive" : "cluster.wait", e->void_, NULL, 0);
    if (!arrives)
        em_fence_after(e, em_order(i, EM_ACQUIRE), "cluster");
    return true;
}

// Addresses of shared memory have 32 bits that matter, generic ones 64.
bool
emit_mapa(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = em_address_type(i);
    bool generic = i->space != PTX_SPACE_SHARED;
    LLVMValueRef arg[] = {em_src(e, i, 1, generic ? PTX_U64 : PTX_U32), em_src(e, i, 2, PTX_U32)};
    LLVMValueRef a = generic ? em_pw(e, "mapa.generic", e->i64, arg, 2) : em_pw(e, "mapa", e->i32, arg, 2);
    em_dst(e, i, 0, t, em_resize(e, a, em_type(e, t), false));
    return true;
}

bool
emit_getctarank(struct emitter *e, const struct ptx_inst *i)
{
    bool generic = i->space != PTX_SPACE_SHARED;
    LLVMValueRef a = em_src(e, i, 1, generic ? PTX_U64 : PTX_U32);
    em_dst(e, i, 0, PTX_U32, em_pw(e, generic ? "getctarank.generic" : "getctarank", e->i32, &a, 1));
    return true;
}

// ---- st.async and red.async: the access, then what the mbarrier is told
static struct ptx_inst
plain_form(const struct ptx_inst *i)
{
    struct ptx_inst plain = *i;
    bool on_barrier = ptx_has(i, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES);
    plain.noperand = (uint8_t)(i->noperand - on_barrier);
    return plain;
}

static bool
then_complete(struct emitter *e, const struct ptx_inst *i)
{
    if (!ptx_has(i, PTX_MOD_MBARRIER_COMPLETE_TX_BYTES))
        return true;
    unsigned n = i->vec ? i->vec : 1;
    bool cluster = i->space == PTX_SPACE_SHARED;
    LLVMValueRef barrier = em_generic_barrier(e, i, 2, cluster);
    em_complete_tx(e, barrier, em_int(e, e->i32, n * ptx_type_bits(i->type[0]) / 8));
    return true;
}

bool
emit_st_async(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_inst plain = plain_form(i);
    return emit_st(e, &plain) && then_complete(e, i);
}

bool
emit_red_async(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_inst plain = plain_form(i);
    return emit_red(e, &plain) && then_complete(e, i);
}

// ---- clusterlaunchcontrol: a request to take over a block that has not started may always be turned down
bool
emit_try_cancel(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_MULTICAST_CLUSTER_ALL))
        return em_refuse(e, i, "with .multicast::cluster::all is not supported");
    enum { ANSWER = 16 }; // bytes, all zero: no
    LLVMValueRef p = em_pointer(e, i, &i->operand[0], NULL);
    LLVMBuildMemSet(e->b, p, em_int(e, e->i8, 0), em_int(e, e->i64, ANSWER), ANSWER);
    em_complete_tx(e, em_generic_barrier(e, i, 1, em_names_cluster(i, 0)), em_int(e, e->i32, ANSWER));
    return true;
}

bool
emit_query_cancel(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_operand d[EM_REG_PARTS_MAX];
    if (ptx_has(i, PTX_MOD_IS_CANCELED)) {
        em_dst(e, i, 0, PTX_PRED, LLVMBuildTrunc(e->b, em_src(e, i, 1, PTX_B128), e->i1, ""));
        return true;
    }
    unsigned n = em_parts(e, &i->operand[0], d); // undefined where nothing was taken over
    for (unsigned k = 0; k < n; k++)
        em_write(e, i, &d[k], PTX_B32, em_int(e, e->i32, 0));
    return true;
}
