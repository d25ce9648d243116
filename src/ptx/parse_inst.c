// SPDX-License-Identifier: MIT
// Parser: instructions. A module uses few different opcodes with their suffixes: each is decoded
// once and then found in a cache.
#include "ptx/parser.h"

#include <string.h>

// ---- opcodes -----------------------------------------------------------------------------------
// Length of the opcode with its dotted suffixes at s.
static size_t
opcode_length(const char *s)
{
    const char *p = s + lex_ident(s);
    while (*p == '.' && lex_is(p[1], LEX_WORD)) {
        p++;
        p += lex_word(p);
    }
    return (size_t)(p - s);
}

static const struct ptx_op_node *
child_of(const struct ptx_op_node *node, const char *s, size_t n)
{
    for (unsigned i = 0; i < node->nchild; i++) {
        const struct ptx_op_node *c = &ptx_op_nodes[node->child + i];
        if (c->len == n && !memcmp(c->text, s, n))
            return c;
    }
    return NULL;
}

struct decoder {
    struct parser *ps;
    struct ptx_inst *in;
    const char *p, *end;
    uint16_t mods[PARSE_MAX_MODS];
};

// The next suffix, without its dot; 0 at the end.
static size_t
next_suffix(struct decoder *d, const char **s)
{
    if (d->p >= d->end)
        return 0;
    *s = d->p + 1;
    size_t n = lex_word(*s);
    d->p = *s + n;
    return n;
}

static bool
decode_op(struct decoder *d, const char *s)
{
    size_t n = lex_ident(s), m;
    const struct ptx_word *w = ptx_word_find(&ptx_op_words, s, n);
    const struct ptx_op_node *node = w ? &ptx_op_nodes[w->value] : NULL;
    d->p = s + n;
    while (node && node->nchild) {
        const char *before = d->p, *suffix;
        m = next_suffix(d, &suffix);
        const struct ptx_op_node *c = m ? child_of(node, suffix, m) : NULL;
        if (!c) {
            d->p = before;
            break;
        }
        node = c;
    }
    if (!node || !node->op) {
        n = (size_t)(d->end - s);
        return parse_error_at(d->ps, s, "unknown instruction '%.*s'", n > 64 ? 64 : (int)n, s);
    }
    d->in->op = node->op;
    return true;
}

static bool
add_mod(struct decoder *d, unsigned mod)
{
    if (d->in->nmod == PARSE_MAX_MODS)
        return parse_error(d->ps, "too many modifiers");
    d->mods[d->in->nmod++] = (uint16_t)mod;
    d->in->mods[mod / 64] |= (uint64_t)1 << mod % 64;
    return true;
}

static void
add_space(struct ptx_inst *in, unsigned space)
{
    if (in->space == PTX_SPACE_GENERIC)
        in->space = (uint8_t)space;
    else if (in->space2 == PTX_SPACE_GENERIC)
        in->space2 = (uint8_t)space;
}

static bool
decode_suffix(struct decoder *d, const char *s, size_t n)
{
    struct ptx_inst *in = d->in;
    const struct ptx_word *w = ptx_word_find(&ptx_suffixes, s, n);
    switch (w ? w->kind : PTX_W_NONE) {
    case PTX_W_MOD:
        return add_mod(d, w->value);
    case PTX_W_VEC:
        in->vec = (uint8_t)w->value;
        return true;
    case PTX_W_SPACE:
        add_space(in, w->value);
        return !w->extra || add_mod(d, w->extra);
    case PTX_W_TYPE:
        if (w->extra && ptx_op_infos[in->op].flags & PTX_F_MASK)
            return add_mod(d, w->extra);
        if (in->ntype == sizeof in->type)
            return parse_error_at(d->ps, s, "too many types");
        in->type[in->ntype++] = (uint8_t)w->value;
        return true;
    default:
        return parse_error_at(d->ps, s, "unknown modifier '.%.*s' of '%s'", n > 64 ? 64 : (int)n, s,
                              ptx_op_name(in->op));
    }
}

static bool
decode(struct parser *ps, const char *s, size_t n, struct ptx_inst *in)
{
    struct decoder d = {.ps = ps, .in = in, .end = s + n};
    *in = (struct ptx_inst){.vec = 1, .guard = PTX_NO_REG};
    if (!decode_op(&d, s))
        return false;
    const char *suffix;
    for (size_t m; (m = next_suffix(&d, &suffix));)
        if (!decode_suffix(&d, suffix, m))
            return false;
    if (in->nmod)
        in->mod = memcpy(arena_alloc(ps->a, in->nmod * sizeof *d.mods), d.mods,
                         in->nmod * sizeof *d.mods);
    return true;
}

// Suffixes set apart by blanks: joined in the arena.
static bool
decode_spaced(struct parser *ps, const char *s, size_t n, struct ptx_inst *in)
{
    char text[256];
    if (n > sizeof text / 2)
        return parse_error_at(ps, s, "opcode too long");
    memcpy(text, s, n);
    while (*ps->lx.p == '.') {
        size_t m = 1 + lex_word(ps->lx.p + 1);
        if (m == 1 || n + m > sizeof text - LEX_PAD)
            return parse_error(ps, "malformed opcode");
        memcpy(text + n, ps->lx.p, m);
        n += m;
        ps->lx.p += m;
        lex_space(&ps->lx);
    }
    memset(text + n, 0, LEX_PAD);
    return decode(ps, arena_strndup(ps->a, text, n + LEX_PAD), n, in);
}

static bool
parse_opcode(struct parser *ps, struct ptx_inst *in)
{
    const char *s = ps->lx.p;
    size_t n = opcode_length(s);
    uint64_t h = ptx_word_key(s, n) * 0x9e3779b97f4a7c15u;
    struct opcode_entry *e = &ps->cache[h >> 32 & (PARSE_CACHE - 1)];
    uint32_t line = ps->lx.line, col = lex_col(&ps->lx, s);
    ps->lx.p += n;
    if (e->len == n && !memcmp(e->s, s, n)) {
        *in = e->inst;
    } else {
        const char *after = ps->lx.p;
        lex_space(&ps->lx);
        bool spaced = *ps->lx.p == '.';
        if (!spaced)
            ps->lx.p = after;
        if (spaced ? !decode_spaced(ps, s, n, in) : !decode(ps, s, n, in))
            return false;
        if (!spaced)
            *e = (struct opcode_entry){s, (uint32_t)n, *in};
    }
    in->line = line;
    in->col = col;
    return true;
}

// ---- instructions ------------------------------------------------------------------------------
bool
parse_guard(struct parser *ps, bool *neg, uint32_t *reg)
{
    struct ptx_operand o = {.reg = PTX_NO_REG};
    ps->lx.p++; // @
    const char *at = ps->lx.p;
    if (!parse_operand(ps, &o))
        return false;
    if (o.kind != PTX_O_REG || ps->reg[o.reg].type != PTX_PRED)
        return parse_error_at(ps, at, "guard is not a predicate register");
    *neg = o.neg;
    *reg = o.reg;
    return true;
}

// bra label: the label may follow later.
static bool
parse_branch(struct parser *ps, struct ptx_inst *in)
{
    lex_space(&ps->lx);
    size_t n = lex_ident(ps->lx.p);
    if (!n)
        return parse_error(ps, "expected a label");
    in->noperand = 1;
    in->operand = arena_new(ps->a, struct ptx_operand);
    in->operand->kind = PTX_O_SYM;
    in->operand->reg = PTX_NO_REG;
    parse_label_ref(ps, &in->operand->sym, ps->lx.p, n);
    ps->lx.p += n;
    return true;
}

bool
parse_instruction(struct parser *ps, bool guarded, bool guard_neg, uint32_t guard)
{
    struct ptx_inst in;
    if (!lex_is(*ps->lx.p, LEX_START))
        return parse_error(ps, "expected an instruction");
    if (!parse_opcode(ps, &in))
        return false;
    in.guarded = guarded;
    in.guard_neg = guard_neg;
    in.guard = guard;
    if (in.op == PTX_OP_CALL) {
        if (!parse_call(ps, &in))
            return false;
    } else if (in.op == PTX_OP_BRA) {
        if (!parse_branch(ps, &in))
            return false;
    } else {
        uint32_t n;
        if (!parse_operands(ps, ';', &in.operand, &n))
            return false;
        if (n > UINT8_MAX)
            return parse_error(ps, "too many operands");
        in.noperand = (uint8_t)n;
    }
    if (!parse_expect(ps, ';'))
        return false;
    vec_push(ps->inst, in);
    return true;
}
