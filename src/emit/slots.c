// SPDX-License-Identifier: MIT
// Types of the slots of registers. Newer compilers declare floats as .b32 and .b64; a slot of the
// type that most accesses use spares conversions that would otherwise cross phis.
#include <stdlib.h>

#include "emit/core.h"

// +1: used as a float, -1: as an integer, 0: moved only.
static int
vote(enum ptx_type t)
{
    if (t == PTX_F32 || t == PTX_F64)
        return 1;
    return ptx_type_signed(t) || (t >= PTX_U8 && t <= PTX_U64) ? -1 : 0;
}

static void
count(struct emitter *e, int *votes, const struct ptx_operand *o, enum ptx_type t)
{
    if (o->kind == PTX_O_REG && ptx_type_bits(t) == ptx_type_bits(e->func->reg[o->reg].type))
        votes[o->reg] += vote(t);
    if (o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR)
        for (unsigned k = 0; k < o->n; k++)
            count(e, votes, &o->elem[k], t);
    if (o->kind == PTX_O_ADDR && o->reg != PTX_NO_REG)
        votes[o->reg]--;
}

// cvt and set have a type for the destination and one for the rest.
static void
count_votes(struct emitter *e, int *votes)
{
    for (uint32_t k = 0; k < e->func->ninst; k++) {
        const struct ptx_inst *i = &e->func->inst[k];
        if (!i->ntype)
            continue;
        bool two = i->ntype == 2 && (i->op == PTX_OP_CVT || i->op == PTX_OP_SET);
        for (unsigned n = 0; n < i->noperand; n++)
            count(e, votes, &i->operand[n], i->type[two && n > 0]);
    }
}

static LLVMTypeRef
slot_type(struct emitter *e, enum ptx_type t, int votes)
{
    if (t == PTX_B32 && votes > 0)
        return e->f32;
    if (t == PTX_B64 && votes > 0)
        return e->f64;
    return t == PTX_F16 ? e->i16 : em_type(e, t);
}

void
em_make_slots(struct emitter *e)
{
    struct emit_func *s = e->fs;
    uint32_t n = e->func->nreg, slots = 0;
    int *votes = calloc(n + 1, sizeof *votes);
    s->first = calloc(n + 1, sizeof *s->first);
    s->slot_type = calloc(n + 1, sizeof(LLVMTypeRef));
    count_votes(e, votes);
    for (uint32_t k = 0; k < n; k++) {
        const struct ptx_reg *r = &e->func->reg[k];
        s->first[k] = slots;
        s->slot_type[k] = slot_type(e, r->type, votes[k]);
        slots += r->vec > 1 ? r->vec : 1;
    }
    s->slot = calloc(slots + 1, sizeof(LLVMValueRef));
    free(votes);
}

void
em_free_slots(struct emitter *e)
{
    free(e->fs->first);
    free(e->fs->slot_type);
    free(e->fs->slot);
}
