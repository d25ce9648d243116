// SPDX-License-Identifier: MIT
// Operations among the threads of a warp and of a block.
#include <stdio.h>

#include "emit/core.h"

static bool
is_sync(const struct ptx_inst *i)
{
    return ptx_has(i, PTX_MOD_SYNC);
}

static LLVMValueRef
next_site(struct emitter *e)
{
    return em_int(e, e->i32, e->unit->sites++);
}

// Member mask of the .sync forms, the last operand. The old forms have mask 0 and a site number,
// and work on the active lanes.
static unsigned
push_mask(struct emitter *e, const struct ptx_inst *i, LLVMValueRef *arg, unsigned n)
{
    if (is_sync(i)) {
        arg[n++] = em_src(e, i, i->noperand - 1u, PTX_B32);
        return n;
    }
    arg[n++] = em_int(e, e->i32, 0);
    arg[n++] = next_site(e);
    return n;
}

static const char *
choose(const struct ptx_inst *i, const enum ptx_mod *mods, const char *const *names, unsigned n)
{
    for (unsigned k = 0; k < n; k++)
        if (ptx_has(i, mods[k]))
            return names[k];
    return NULL;
}
#define CHOOSE(i, mods, names) choose(i, mods, names, sizeof(mods) / sizeof *(mods))

bool
emit_shfl(struct emitter *e, const struct ptx_inst *i)
{
    static const enum ptx_mod mods[] = {PTX_MOD_UP, PTX_MOD_DOWN, PTX_MOD_BFLY, PTX_MOD_IDX};
    static const char *const names[] = {"up", "down", "bfly", "idx"};
    const char *mode = CHOOSE(i, mods, names);
    if (!mode || i->noperand != (is_sync(i) ? 5 : 4))
        return em_refuse(e, i, "is malformed");
    char name[32];
    LLVMValueRef arg[5];
    for (unsigned k = 0; k < 3; k++)
        arg[k] = em_src(e, i, k + 1, PTX_B32);
    unsigned n = push_mask(e, i, arg, 3);
    snprintf(name, sizeof name, "shfl.%s%s", mode, is_sync(i) ? "" : ".active");
    em_write_packed(e, i, PTX_B32, em_pw(e, name, e->i64, arg, n));
    return true;
}

bool
emit_vote(struct emitter *e, const struct ptx_inst *i)
{
    static const enum ptx_mod mods[] = {PTX_MOD_ALL, PTX_MOD_ANY, PTX_MOD_UNI, PTX_MOD_BALLOT};
    static const char *const names[] = {"all", "any", "uni", "ballot"};
    const char *mode = CHOOSE(i, mods, names);
    if (!mode)
        return em_refuse(e, i, "is malformed");
    char name[32];
    LLVMValueRef arg[3] = {em_from_bool(e, em_src(e, i, 1, PTX_PRED))};
    unsigned n = push_mask(e, i, arg, 1);
    snprintf(name, sizeof name, "vote.%s%s", mode, is_sync(i) ? "" : ".active");
    LLVMValueRef v = em_pw(e, name, e->i32, arg, n);
    if (ptx_has(i, PTX_MOD_BALLOT))
        em_dst(e, i, 0, PTX_B32, v);
    else
        em_dst(e, i, 0, PTX_PRED, em_truth(e, v));
    return true;
}

bool
emit_match(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = i->ntype ? i->type[0] : PTX_B32;
    bool all = ptx_has(i, PTX_MOD_ALL);
    if (ptx_type_bits(t) != 32 && ptx_type_bits(t) != 64)
        return em_refuse(e, i, "compares %s", ptx_type_name(t));
    char name[32];
    LLVMValueRef arg[] = {em_src(e, i, 1, t), em_src(e, i, 2, PTX_B32)};
    snprintf(name, sizeof name, "match.%s.b%u", all ? "all" : "any", ptx_type_bits(t));
    LLVMValueRef v = em_pw(e, name, all ? e->i64 : e->i32, arg, 2);
    if (all)
        em_write_packed(e, i, PTX_B32, v);
    else
        em_dst(e, i, 0, PTX_B32, v);
    return true;
}

bool
emit_redux(struct emitter *e, const struct ptx_inst *i)
{
    static const enum ptx_mod mods[] = {PTX_MOD_ADD, PTX_MOD_AND, PTX_MOD_OR,
                                        PTX_MOD_XOR, PTX_MOD_MIN, PTX_MOD_MAX};
    static const char *const names[] = {"add", "and", "or", "xor", "min", "max"};
    const char *op = CHOOSE(i, mods, names);
    enum ptx_type t = i->ntype ? i->type[0] : PTX_NONE;
    bool order = ptx_has(i, PTX_MOD_MIN) || ptx_has(i, PTX_MOD_MAX);
    if (!op || ptx_type_bits(t) != 32 || (t == PTX_F32 && !order))
        return em_refuse(e, i, "is not supported on %s", ptx_type_name(t));
    const char *kind = !order ? "" : t == PTX_F32 ? "f" : t == PTX_U32 ? "u" : "";
    char name[48];
    snprintf(name, sizeof name, "redux.%s%s%s%s", kind, op, ptx_has(i, PTX_MOD_ABS) ? ".abs" : "",
             ptx_has(i, PTX_MOD_NAN) ? ".nan" : "");
    LLVMValueRef arg[] = {em_src(e, i, 1, t), em_src(e, i, 2, PTX_B32)};
    em_dst(e, i, 0, t, em_pw(e, name, em_type(e, t), arg, 2));
    return true;
}

bool
emit_activemask(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef site = next_site(e);
    em_dst(e, i, 0, PTX_B32, em_pw(e, "activemask", e->i32, &site, 1));
    return true;
}

bool
emit_elect(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef mask = em_src(e, i, 1, PTX_B32);
    em_write_packed(e, i, PTX_B32, em_pw(e, "elect", e->i64, &mask, 1));
    return true;
}

// ---- barriers -----------------------------------------------------------------------------------
static bool
barrier_reduce(struct emitter *e, const struct ptx_inst *i)
{
    static const enum ptx_mod mods[] = {PTX_MOD_POPC, PTX_MOD_AND, PTX_MOD_OR};
    static const char *const names[] = {"popc", "and", "or"};
    const char *op = CHOOSE(i, mods, names);
    if (!op || i->noperand < 3)
        return em_refuse(e, i, "is malformed");
    unsigned last = i->noperand - 1u;
    char name[32];
    LLVMValueRef arg[] = {em_src(e, i, 1, PTX_U32),
                          last == 3 ? em_src(e, i, 2, PTX_U32) : em_int(e, e->i32, 0),
                          em_from_bool(e, em_src(e, i, last, PTX_PRED))};
    snprintf(name, sizeof name, "barrier.red.%s", op);
    LLVMValueRef v = em_pw(e, name, e->i32, arg, 3);
    if (ptx_has(i, PTX_MOD_POPC))
        em_dst(e, i, 0, PTX_U32, v);
    else
        em_dst(e, i, 0, PTX_PRED, em_truth(e, v));
    return true;
}

bool
emit_bar_warp(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef mask = em_src(e, i, 0, PTX_B32);
    em_pw(e, "warp.sync", e->void_, &mask, 1);
    return true;
}

// bar and barrier: .sync a {, b}; .arrive a, b; .red.
bool
emit_barrier(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_RED))
        return barrier_reduce(e, i);
    LLVMValueRef arg[] = {em_src(e, i, 0, PTX_U32),
                          i->noperand > 1 ? em_src(e, i, 1, PTX_U32) : em_int(e, e->i32, 0)};
    em_pw(e, ptx_has(i, PTX_MOD_ARRIVE) ? "barrier.arrive" : "barrier.sync", e->void_, arg, 2);
    return true;
}
