// SPDX-License-Identifier: MIT
// Verifier: types, state spaces, modifiers and versions of an opcode against the forms of its table
// row.
#include "ptx/verify.h"

#include <string.h>

#include "base/hash.h"

static bool
types_fit(const struct ptx_inst *i, const struct ptx_form *f)
{
    unsigned n = 0;
    for (unsigned k = 0; k < f->ntype; k++) {
        const struct ptx_form_type *t = &ptx_form_types[f->type + k];
        if (n < i->ntype && t->set >> i->type[n] & 1)
            n++;
        else if (!t->optional)
            return false;
    }
    return n == i->ntype;
}

static bool
space_fits(const struct ptx_inst *i, const struct ptx_form *f)
{
    return f->spaces >> i->space & 1 &&
           (i->space2 == PTX_SPACE_GENERIC || f->spaces >> i->space2 & 1);
}

static bool
mods_fit(const struct ptx_inst *i, const struct ptx_form *f)
{
    for (unsigned w = 0; w < PTX_MOD_WORDS; w++)
        if (i->mods[w] & ~ptx_mod_sets[f->allowed][w])
            return false;
    for (unsigned k = 0; k < f->ngroup; k++) {
        const struct ptx_form_group *g = &ptx_form_groups[f->group + k];
        unsigned n = 0;
        for (unsigned w = 0; w < PTX_MOD_WORDS; w++)
            if (i->mods[w])
                n += (unsigned)__builtin_popcountll(i->mods[w] & ptx_mod_sets[g->set][w]);
        if (n < g->least || n > g->most)
            return false;
    }
    return true;
}

static enum verify_stage
stage_of(const struct verifier *v, const struct ptx_inst *i, const struct ptx_form *f)
{
    if (!types_fit(i, f))
        return FAIL_TYPES;
    if (!space_fits(i, f))
        return FAIL_SPACE;
    if (!mods_fit(i, f))
        return FAIL_MODS;
    if (v->m->version < f->isa)
        return FAIL_ISA;
    return v->m->target < f->sm ? FAIL_SM : FITS;
}

// Opcode, types, spaces, vector and modifiers: what the choice of forms depends on.
static uint64_t
opcode_hash(const struct ptx_inst *i)
{
    struct {
        uint16_t op;
        uint8_t ntype, type[5], space, space2, vec, zero[5];
        uint64_t mods[PTX_MOD_WORDS];
    } key;
    memset(&key, 0, sizeof key);
    key.op = i->op;
    key.ntype = i->ntype;
    memcpy(key.type, i->type, sizeof key.type);
    key.space = i->space;
    key.space2 = i->space2;
    key.vec = i->vec;
    memcpy(key.mods, i->mods, sizeof key.mods);
    return hash64(&key, sizeof key) | 1;
}

const struct verify_opcode *
verify_forms(struct verifier *v, const struct ptx_inst *i)
{
    uint64_t hash = opcode_hash(i);
    struct verify_opcode *o = &v->cache[hash >> 32 & (VERIFY_CACHE - 1)];
    if (o->hash == hash)
        return o;
    const struct ptx_op_info *info = &ptx_op_infos[i->op];
    *o = (struct verify_opcode){.hash = hash, .best = info->form};
    for (unsigned k = 0; k < info->nform; k++) {
        enum verify_stage s = stage_of(v, i, &ptx_forms[info->form + k]);
        if (s == FITS)
            o->forms |= (uint64_t)1 << k;
        if (s > o->stage || !k) {
            o->stage = (uint8_t)s;
            o->best = (uint16_t)(info->form + k);
        }
    }
    return o;
}

// ---- messages ----------------------------------------------------------------------------------
static bool
in_set(unsigned set, unsigned mod)
{
    return ptx_mod_sets[set][mod / 64] >> (mod % 64) & 1;
}

static bool
mods_error(struct verifier *v, const struct ptx_inst *i, const struct ptx_form *f)
{
    for (unsigned k = 0; k < i->nmod; k++)
        if (!in_set(f->allowed, i->mod[k]))
            return verify_error(v, i, "modifier '%s' is not allowed", ptx_mod_name(i->mod[k]));
    for (unsigned k = 0; k < f->ngroup; k++) {
        const struct ptx_form_group *g = &ptx_form_groups[f->group + k];
        unsigned n = 0, first = 0;
        for (unsigned m = 0; m < PTX_MODS; m++)
            if (in_set(g->set, m)) {
                first = first ? first : m;
                n += ptx_has(i, m);
            }
        if (n < g->least)
            return verify_error(v, i, "a modifier such as '%s' is missing", ptx_mod_name(first));
        if (n > g->most)
            return verify_error(v, i, "contradicting modifiers");
    }
    return verify_error(v, i, "modifiers are not allowed together");
}

static bool
types_error(struct verifier *v, const struct ptx_inst *i, const struct ptx_form *f)
{
    if (i->ntype < f->ntype)
        return verify_error(v, i, "a type is missing");
    for (unsigned k = 0; k < i->ntype; k++)
        if (k >= f->ntype || !(ptx_form_types[f->type + k].set >> i->type[k] & 1))
            return verify_error(v, i, "type '%s' is not allowed", ptx_type_name(i->type[k]));
    return verify_error(v, i, "types are not allowed together");
}

bool
verify_form_error(struct verifier *v, const struct ptx_inst *i, const struct verify_opcode *o)
{
    const struct ptx_form *f = &ptx_forms[o->best];
    switch (o->stage) {
    case FAIL_TYPES:
        return types_error(v, i, f);
    case FAIL_SPACE:
        return verify_error(v, i, "state space is not allowed or missing");
    case FAIL_MODS:
        return mods_error(v, i, f);
    case FAIL_ISA:
        return verify_error(v, i, "needs PTX ISA version %d.%d, the module says .version %d.%d",
                            f->isa / 10, f->isa % 10, v->m->version / 10, v->m->version % 10);
    default:
        return verify_error(v, i, "needs target sm_%d, the module says sm_%d", f->sm, v->m->target);
    }
}
