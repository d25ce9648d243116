// SPDX-License-Identifier: MIT
// Which mul and add (or sub) become one fma. docs/emit.md gives the rule and how it was found. A
// product is the result of a mul without rounding modifier; it is contracted into the additions of
// its basic block, if nothing else ever reads it. A register that a mov or neg of the block makes
// of it stands for it.
#include <stdlib.h>

#include "emit/contract.h"
#include "emit/core.h"

enum { NO_PRODUCT = -1 };

struct product {
    const struct ptx_inst *mul;
    uint32_t at, uses; // statement; additions that read it
    bool spoiled;      // something that is no addition reads it, or the next block may
};

// An addition with a product among its operands.
struct addition {
    uint32_t at;
    int32_t product[2];
    bool negated[2], done;
};

// What a register holds while a block is walked.
struct holder {
    int32_t product;
    bool negated, touched;
    uint32_t reads; // since it was written
};

struct block {
    uint32_t from, to; // statements
    bool seen;         // by the search at hand
};

struct plan {
    struct emitter *e;
    const struct ptx_func *f;
    uint32_t *branches; // ninst + 1: to the label before the statement
    uint32_t *block_at; // ninst + 1: block that begins at or holds the statement
    uint32_t *reads;    // by register, in all of the function
    struct holder *holder;
    struct block *block; // vec
    size_t budget;       // statements that searches may still look at
    // of the block at hand
    uint32_t *touched; // vec of registers
    struct product *product;
    struct addition *addition;
};

// ---- which instructions -------------------------------------------------------------------------
static enum ptx_type
type_of(const struct ptx_inst *i)
{
    return i->ntype == 1 ? (enum ptx_type)i->type[0] : PTX_NONE;
}

static bool
has_fma(enum ptx_type t)
{
    return t == PTX_F32 || t == PTX_F64 || t == PTX_F16 || t == PTX_BF16 || t == PTX_F16X2 ||
           t == PTX_BF16X2 || t == PTX_F32X2;
}

static bool
contractable(const struct ptx_inst *i)
{
    return has_fma(type_of(i)) && !ptx_has(i, PTX_MOD_RN) && !ptx_has(i, PTX_MOD_RZ) &&
           !ptx_has(i, PTX_MOD_RM) && !ptx_has(i, PTX_MOD_RP);
}

static bool
is_product(const struct ptx_inst *i)
{
    return i->op == PTX_OP_MUL && contractable(i) && !i->guarded && !ptx_has(i, PTX_MOD_SAT);
}

static bool
is_addition(const struct ptx_inst *i)
{
    return (i->op == PTX_OP_ADD || i->op == PTX_OP_SUB) && contractable(i);
}

static bool
same_kind(const struct ptx_inst *add, const struct ptx_inst *mul)
{
    return type_of(add) == type_of(mul) &&
           ptx_has(add, PTX_MOD_FTZ) == ptx_has(mul, PTX_MOD_FTZ);
}

static bool
whole_register(const struct ptx_operand *o)
{
    return o->kind == PTX_O_REG && !o->comp && !o->neg;
}

// A copy, or the negation, of a product. Pairs of bf16 have no operand modifier for it in hardware.
static bool
passes_on(const struct ptx_inst *i, const struct ptx_inst *mul)
{
    enum ptx_type t = type_of(mul);
    if (i->guarded || i->noperand != 2 || !whole_register(&i->operand[0]))
        return false;
    if (i->op == PTX_OP_MOV)
        return ptx_type_bits(type_of(i)) == ptx_type_bits(t);
    return i->op == PTX_OP_NEG && type_of(i) == t && t != PTX_BF16X2 &&
           (!ptx_has(i, PTX_MOD_FTZ) || ptx_has(mul, PTX_MOD_FTZ));
}

// ---- what an instruction reads and writes -------------------------------------------------------
typedef void register_fn(struct plan *p, uint32_t reg);

static void
each_register(struct plan *p, const struct ptx_operand *o, register_fn *fn)
{
    switch (o->kind) {
    case PTX_O_REG:
        fn(p, o->reg);
        break;
    case PTX_O_ADDR:
        if (o->reg != PTX_NO_REG)
            fn(p, o->reg);
        break;
    case PTX_O_VEC:
    case PTX_O_PAIR:
    case PTX_O_TEX:
        for (unsigned k = 0; k < o->n; k++)
            each_register(p, &o->elem[k], fn);
        break;
    default:
        break;
    }
}

static bool
is_destination(const struct ptx_operand *o)
{
    return o->kind == PTX_O_REG || o->kind == PTX_O_VEC || o->kind == PTX_O_PAIR;
}

// Registers that are no destination, as far as floats go: what begins with an integer source
// (nanosleep) is taken for one that writes it.
static void
each_read(struct plan *p, const struct ptx_inst *i, register_fn *fn)
{
    for (unsigned k = 0; k < i->noperand; k++)
        if (k > 0 || !is_destination(&i->operand[0]))
            each_register(p, &i->operand[k], fn);
    for (unsigned k = 0; i->call && k < i->call->narg; k++)
        each_register(p, &i->call->arg[k], fn);
}

static void
each_written(struct plan *p, const struct ptx_inst *i, register_fn *fn)
{
    if (i->noperand && is_destination(&i->operand[0]))
        each_register(p, &i->operand[0], fn);
    for (unsigned k = 0; i->call && k < i->call->nret; k++)
        each_register(p, &i->call->ret[k], fn);
}

// ---- blocks -------------------------------------------------------------------------------------
static const struct ptx_targets *
targets_of(const struct ptx_inst *i)
{
    const struct ptx_operand *o = i->op == PTX_OP_BRX && i->noperand == 2 ? &i->operand[1] : NULL;
    return o && o->kind == PTX_O_SYM && o->sym->kind == PTX_SYM_TARGETS ? o->sym->targets : NULL;
}

static const struct ptx_sym *
label_of(const struct ptx_inst *i)
{
    const struct ptx_operand *o = i->op == PTX_OP_BRA && i->noperand ? &i->operand[0] : NULL;
    return o && o->kind == PTX_O_SYM && o->sym->kind == PTX_SYM_LABEL ? o->sym : NULL;
}

static void
count_branch(struct plan *p, const struct ptx_sym *label)
{
    if (label && label->kind == PTX_SYM_LABEL && label->label <= p->f->ninst)
        p->branches[label->label]++;
}

static void
count_branches(struct plan *p)
{
    for (uint32_t k = 0; k < p->f->ninst; k++) {
        const struct ptx_targets *t = targets_of(&p->f->inst[k]);
        count_branch(p, label_of(&p->f->inst[k]));
        for (uint32_t n = 0; t && n < t->n; n++)
            count_branch(p, t->sym[n]);
    }
}

// A branch to the next statement that alone leads there is none.
static bool
leads_on(const struct plan *p, uint32_t at)
{
    const struct ptx_inst *i = &p->f->inst[at];
    const struct ptx_sym *l = label_of(i);
    return l && !i->guarded && l->label == at + 1 && p->branches[at + 1] == 1;
}

static bool
ends_block(const struct plan *p, uint32_t at)
{
    switch (p->f->inst[at].op) {
    case PTX_OP_BRA:
        return !leads_on(p, at);
    case PTX_OP_BRX:
    case PTX_OP_CALL:
    case PTX_OP_RET:
    case PTX_OP_EXIT:
    case PTX_OP_TRAP:
        return true;
    default:
        return false;
    }
}

static void
find_blocks(struct plan *p)
{
    struct block b = {0};
    for (uint32_t k = 0; k < p->f->ninst; k++) {
        bool entered = k > b.from && p->branches[k] && !leads_on(p, k - 1);
        if (entered) {
            b.to = k;
            vec_push(p->block, b);
            b.from = k;
        }
        p->block_at[k] = (uint32_t)vec_len(p->block);
        if (!ends_block(p, k))
            continue;
        b.to = k + 1;
        vec_push(p->block, b);
        b.from = k + 1;
    }
    b.to = p->f->ninst;
    p->block_at[b.to] = (uint32_t)vec_len(p->block);
    vec_push(p->block, b);
}

// ---- is a register read behind a block? ---------------------------------------------------------
enum fate { UNTOUCHED, READ, OVERWRITTEN };

static bool
names(const struct ptx_operand *o, uint32_t reg)
{
    if (o->kind == PTX_O_REG || o->kind == PTX_O_ADDR)
        return o->reg == reg;
    if (o->kind != PTX_O_VEC && o->kind != PTX_O_PAIR && o->kind != PTX_O_TEX)
        return false;
    for (unsigned k = 0; k < o->n; k++)
        if (names(&o->elem[k], reg))
            return true;
    return false;
}

static enum fate
fate_in(const struct ptx_inst *i, uint32_t reg)
{
    bool writes = i->noperand && is_destination(&i->operand[0]) && names(&i->operand[0], reg);
    for (unsigned k = 0; k < i->noperand; k++)
        if ((k > 0 || !is_destination(&i->operand[0])) && names(&i->operand[k], reg))
            return READ;
    for (unsigned k = 0; i->call && k < i->call->narg; k++)
        if (names(&i->call->arg[k], reg))
            return READ;
    return writes && !i->guarded && i->operand[0].kind == PTX_O_REG && !i->operand[0].comp
               ? OVERWRITTEN
               : UNTOUCHED;
}

// `stack`: blocks to look at.
static void
visit(struct plan *p, uint32_t **stack, uint32_t at)
{
    struct block *b = &p->block[p->block_at[at]];
    if (b->seen)
        return;
    b->seen = true;
    vec_push(*stack, (uint32_t)(b - p->block));
}

static void
visit_successors(struct plan *p, uint32_t **stack, const struct block *b)
{
    const struct ptx_inst *last = b->to > b->from ? &p->f->inst[b->to - 1] : NULL;
    const struct ptx_targets *t = last ? targets_of(last) : NULL;
    const struct ptx_sym *l = last ? label_of(last) : NULL;
    bool leaves = last && (l || t || last->op == PTX_OP_RET || last->op == PTX_OP_EXIT) &&
                  !last->guarded;
    if (l && l->label <= p->f->ninst)
        visit(p, stack, l->label);
    for (uint32_t n = 0; t && n < t->n; n++)
        if (t->sym[n]->kind == PTX_SYM_LABEL && t->sym[n]->label <= p->f->ninst)
            visit(p, stack, t->sym[n]->label);
    if (!leaves && b->to < p->f->ninst)
        visit(p, stack, b->to);
}

static enum fate
fate_in_block(struct plan *p, const struct block *b, uint32_t reg)
{
    enum fate fate = UNTOUCHED;
    for (uint32_t k = b->from; k < b->to && fate == UNTOUCHED; k++)
        fate = fate_in(&p->f->inst[k], reg);
    uint32_t n = b->to - b->from;
    p->budget -= n < p->budget ? n : p->budget;
    return p->budget ? fate : READ;
}

static bool
read_behind(struct plan *p, const struct block *b, uint32_t reg)
{
    uint32_t *stack = NULL; // vec
    bool found = false;
    for (size_t k = 0; k < vec_len(p->block); k++)
        p->block[k].seen = false;
    visit_successors(p, &stack, b);
    while (!found && vec_len(stack)) {
        const struct block *next = &p->block[vec_pop(stack)];
        enum fate fate = fate_in_block(p, next, reg);
        found = fate == READ;
        if (fate == UNTOUCHED)
            visit_successors(p, &stack, next);
    }
    vec_free(stack);
    return found;
}

// ---- walking a block ----------------------------------------------------------------------------
static void
spoil(struct plan *p, int32_t product)
{
    if (product != NO_PRODUCT)
        p->product[product].spoiled = true;
}

static void
spoil_read(struct plan *p, uint32_t reg)
{
    p->holder[reg].reads++;
    spoil(p, p->holder[reg].product);
}

static void
count_read(struct plan *p, uint32_t reg)
{
    p->reads[reg]++;
}

static void
hold(struct plan *p, uint32_t reg, int32_t product, bool negated)
{
    struct holder *h = &p->holder[reg];
    if (!h->touched)
        vec_push(p->touched, reg);
    *h = (struct holder){.product = product, .negated = negated, .touched = true};
}

static void
forget_written(struct plan *p, uint32_t reg)
{
    hold(p, reg, NO_PRODUCT, false);
}

// A write that may not happen, or of a part, leaves the old value to later readers.
static void
spoil_written(struct plan *p, uint32_t reg)
{
    spoil(p, p->holder[reg].product);
    hold(p, reg, NO_PRODUCT, false);
}

static void
walk_addition(struct plan *p, uint32_t at, const struct ptx_inst *i)
{
    struct addition a = {.at = at, .product = {NO_PRODUCT, NO_PRODUCT}};
    for (unsigned k = 0; k < 2; k++) {
        const struct ptx_operand *o = &i->operand[k + 1];
        struct holder *h = o->kind == PTX_O_REG ? &p->holder[o->reg] : NULL;
        if (!h || h->product == NO_PRODUCT || !whole_register(o) ||
            !same_kind(i, p->product[h->product].mul)) {
            each_register(p, o, spoil_read);
            continue;
        }
        h->reads++;
        p->product[h->product].uses++;
        a.product[k] = h->product;
        a.negated[k] = h->negated;
    }
    if (a.product[0] == a.product[1])
        spoil(p, a.product[0]);
    else
        vec_push(p->addition, a);
}

// The product that `i`, a mov or neg, hands on, or NO_PRODUCT.
static int32_t
handed_on(const struct plan *p, const struct ptx_inst *i)
{
    if ((i->op != PTX_OP_MOV && i->op != PTX_OP_NEG) || i->noperand != 2 ||
        !whole_register(&i->operand[1]))
        return NO_PRODUCT;
    int32_t m = p->holder[i->operand[1].reg].product;
    return m != NO_PRODUCT && passes_on(i, p->product[m].mul) ? m : NO_PRODUCT;
}

static void
walk_statement(struct plan *p, uint32_t at)
{
    const struct ptx_inst *i = &p->f->inst[at];
    int32_t product = handed_on(p, i);
    bool negated = false;
    if (product != NO_PRODUCT) {
        struct holder *h = &p->holder[i->operand[1].reg];
        negated = h->negated != (i->op == PTX_OP_NEG);
        h->reads++;
    } else if (is_addition(i) && i->noperand == 3) {
        walk_addition(p, at, i);
    } else {
        each_read(p, i, spoil_read);
    }
    each_written(p, i, i->guarded || (i->noperand && i->operand[0].comp) ? spoil_written
                                                                          : forget_written);
    if (is_product(i) && i->noperand == 3 && whole_register(&i->operand[0])) {
        struct product m = {.mul = i, .at = at};
        product = (int32_t)vec_len(p->product);
        vec_push(p->product, m);
    }
    if (product != NO_PRODUCT)
        hold(p, i->operand[0].reg, product, negated);
}

static void
walk_block(struct plan *p, const struct block *b)
{
    for (uint32_t k = b->from; k < b->to; k++)
        walk_statement(p, k);
    for (size_t k = 0; k < vec_len(p->touched); k++) {
        uint32_t reg = p->touched[k];
        struct holder *h = &p->holder[reg];
        bool elsewhere = h->product != NO_PRODUCT && p->reads[reg] > h->reads;
        if (elsewhere && read_behind(p, b, reg))
            spoil(p, h->product);
    }
    for (size_t k = 0; k < vec_len(p->touched); k++)
        p->holder[p->touched[k]] = (struct holder){.product = NO_PRODUCT};
    vec_clear(p->touched);
}

// ---- choosing -----------------------------------------------------------------------------------
static bool
available(const struct plan *p, int32_t product)
{
    return product != NO_PRODUCT && !p->product[product].spoiled;
}

// The other operand becomes the addend: a product that stays one.
static void
fuse(struct plan *p, struct addition *a, unsigned k)
{
    const struct product *m = &p->product[a->product[k]];
    struct emit_func *s = p->e->fs;
    if (!s->contract)
        s->contract = calloc(p->f->ninst, sizeof *s->contract);
    s->contract[a->at] = (struct em_contract){
        .product = m->at + 1, .operand = (uint8_t)k, .negated = a->negated[k]};
    s->contract[m->at].is_factor = true;
    spoil(p, a->product[1 - k]);
    a->done = true;
}

static bool
is_pair(enum ptx_type t)
{
    return t == PTX_F16X2 || t == PTX_BF16X2;
}

// Products that are read once come first, but for pairs.
static void
fuse_single(struct plan *p)
{
    for (size_t n = 0; n < vec_len(p->addition); n++) {
        struct addition *a = &p->addition[n];
        for (unsigned k = 0; k < 2 && !a->done; k++)
            if (available(p, a->product[k]) && p->product[a->product[k]].uses == 1 &&
                !is_pair(type_of(p->product[a->product[k]].mul)))
                fuse(p, a, k);
    }
}

static void
fuse_rest(struct plan *p)
{
    for (size_t n = 0; n < vec_len(p->addition); n++) {
        struct addition *a = &p->addition[n];
        bool first = available(p, a->product[0]), second = available(p, a->product[1]);
        if (a->done || (!first && !second))
            continue;
        if (first && second)
            second = p->product[a->product[1]].uses < p->product[a->product[0]].uses;
        fuse(p, a, second);
    }
}

// ---- a function ---------------------------------------------------------------------------------
static bool
has_both(const struct ptx_func *f)
{
    bool mul = false, add = false;
    for (uint32_t k = 0; k < f->ninst && !(mul && add); k++) {
        mul |= is_product(&f->inst[k]);
        add |= is_addition(&f->inst[k]);
    }
    return mul && add;
}

static void
open_plan(struct plan *p)
{
    p->branches = calloc(p->f->ninst + 1, sizeof *p->branches);
    p->block_at = calloc(p->f->ninst + 1, sizeof *p->block_at);
    p->reads = calloc(p->f->nreg + 1, sizeof *p->reads);
    p->holder = calloc(p->f->nreg + 1, sizeof *p->holder);
    p->budget = 1000000 + 64 * (size_t)p->f->ninst;
    for (uint32_t k = 0; k < p->f->nreg; k++)
        p->holder[k].product = NO_PRODUCT;
    for (uint32_t k = 0; k < p->f->ninst; k++)
        each_read(p, &p->f->inst[k], count_read);
}

static void
close_plan(struct plan *p)
{
    free(p->branches);
    free(p->block_at);
    free(p->reads);
    free(p->holder);
    vec_free(p->block);
    vec_free(p->touched);
    vec_free(p->product);
    vec_free(p->addition);
}

void
em_plan_contraction(struct emitter *e)
{
    struct plan p = {.e = e, .f = e->func};
    if (e->ptx->no_fmad || !has_both(e->func))
        return;
    open_plan(&p);
    count_branches(&p);
    find_blocks(&p);
    for (size_t k = 0; k < vec_len(p.block); k++) {
        walk_block(&p, &p.block[k]);
        fuse_single(&p);
        fuse_rest(&p);
        vec_clear(p.product);
        vec_clear(p.addition);
    }
    close_plan(&p);
}

// ---- emission -----------------------------------------------------------------------------------
enum arith_op
em_contract(struct emitter *e, enum arith_op op, unsigned lane, LLVMValueRef *a)
{
    struct em_contract *all = e->fs->contract, *c = all ? &all[e->fs->at] : NULL;
    if (c && op == AR_MUL && c->is_factor) {
        c->factor[lane][0] = a[0];
        c->factor[lane][1] = a[1];
    }
    if (!c || !c->product || (op != AR_ADD && op != AR_SUB))
        return op;
    const struct em_contract *m = &all[c->product - 1];
    LLVMValueRef addend = a[1 - c->operand];
    bool subtracts = op == AR_SUB && c->operand == 1;
    if (op == AR_SUB && c->operand == 0)
        addend = LLVMBuildFNeg(e->b, addend, "");
    a[0] = m->factor[lane][0];
    a[1] = m->factor[lane][1];
    a[2] = addend;
    if (subtracts != c->negated)
        a[0] = LLVMBuildFNeg(e->b, a[0], "");
    return AR_FMA;
}
