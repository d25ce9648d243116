// SPDX-License-Identifier: MIT
// membar and fence; orders and scopes as modifiers.
#include <stdio.h>

#include "emit/core.h"

static const struct {
    enum ptx_mod mod;
    enum em_order order;
} orders[] = {
    {PTX_MOD_WEAK, EM_WEAK},       {PTX_MOD_VOLATILE, EM_VOLATILE}, {PTX_MOD_MMIO, EM_VOLATILE},
    {PTX_MOD_ACQUIRE, EM_ACQUIRE}, {PTX_MOD_RELEASE, EM_RELEASE},   {PTX_MOD_ACQ_REL, EM_ACQ_REL},
    {PTX_MOD_RELAXED, EM_RELAXED},
};

static const struct {
    enum ptx_mod mod;
    const char *name;
} scopes[] = {
    {PTX_MOD_CTA, "cta"}, {PTX_MOD_CLUSTER, "cluster"}, {PTX_MOD_GPU, "gpu"},
    {PTX_MOD_GL, "gpu"},  {PTX_MOD_SYS, "sys"},
};

enum em_order
em_order(const struct ptx_inst *i, enum em_order dflt)
{
    for (size_t k = 0; k < sizeof orders / sizeof *orders; k++)
        if (ptx_has(i, orders[k].mod))
            return orders[k].order;
    return dflt;
}

const char *
em_scope(const struct ptx_inst *i, const char *dflt)
{
    for (size_t k = 0; k < sizeof scopes / sizeof *scopes; k++)
        if (ptx_has(i, scopes[k].mod))
            return scopes[k].name;
    return dflt;
}

void
em_fence(struct emitter *e, const char *order, const char *scope)
{
    char name[64];
    snprintf(name, sizeof name, "fence.%s.%s", order, scope);
    em_pw(e, name, e->void_, NULL, 0);
}

void
em_fence_before(struct emitter *e, enum em_order o, const char *scope)
{
    if (o == EM_RELEASE || o == EM_ACQ_REL)
        em_fence(e, "release", scope);
}

void
em_fence_after(struct emitter *e, enum em_order o, const char *scope)
{
    if (o == EM_ACQUIRE || o == EM_ACQ_REL)
        em_fence(e, "acquire", scope);
}

bool
emit_membar(struct emitter *e, const struct ptx_inst *i)
{
    em_fence(e, "sc", em_scope(i, "gpu"));
    return true;
}

// Proxies (other ways to the same memory) need no more than their order: there is one way here.
bool
emit_fence(struct emitter *e, const struct ptx_inst *i)
{
    const char *order = ptx_has(i, PTX_MOD_SC)        ? "sc"
                        : ptx_has(i, PTX_MOD_ACQUIRE) ? "acquire"
                        : ptx_has(i, PTX_MOD_RELEASE) ? "release"
                                                      : "acq_rel";
    em_fence(e, order, em_scope(i, "sys"));
    return true;
}
