// SPDX-License-Identifier: MIT
// Parser: statements of a function's body, blocks, labels and the declarations that labels carry.
#include "ptx/parser.h"

#include <string.h>

// ---- labels ------------------------------------------------------------------------------------
void
parse_label_ref(struct parser *ps, struct ptx_sym **slot, const char *s, size_t n)
{
    struct label_ref r = {slot, s, (uint32_t)n, ps->lx.line, lex_col(&ps->lx, s)};
    *slot = NULL;
    vec_push(ps->refs, r);
}

// Resolves what was used since the block began against the names visible at its end. What stays
// open belongs to the block around it.
static void
resolve_labels(struct parser *ps, size_t from, bool last)
{
    size_t kept = from;
    for (size_t i = from; i < vec_len(ps->refs); i++) {
        struct label_ref *r = &ps->refs[i];
        struct name *e = names_find(&ps->names, r->s, r->len, false);
        bool here = e && e->kind == NAME_SYM && (last || e->depth == ps->depth);
        if (here)
            *r->slot = e->sym;
        else if (!last)
            ps->refs[kept++] = *r;
        else if (!(*r->slot = strmap_getn(&ps->m->sym, r->s, r->len)))
            ptx_diag_add(ps->d, true, (int)r->line, (int)r->col, "undefined label '%.*s'",
                         r->len > 100 ? 100 : (int)r->len, r->s);
    }
    if (ps->refs)
        vec_hdr_(ps->refs)->len = kept;
}

static bool
open_block(struct parser *ps)
{
    if (ps->depth >= PARSE_MAX_SCOPES)
        return parse_error(ps, "blocks too deeply nested");
    struct scope s = {vec_len(ps->names.list), vec_len(ps->refs)};
    vec_push(ps->scopes, s);
    ps->depth++;
    return true;
}

static void
close_block(struct parser *ps)
{
    struct scope s = vec_pop(ps->scopes);
    resolve_labels(ps, s.refs, false);
    names_cut(&ps->names, s.names);
    ps->depth--;
}

static bool
define_label(struct parser *ps, const char *s, size_t n)
{
    struct ptx_sym *sym = parse_new_sym(ps, PTX_SYM_LABEL, s, n);
    sym->label = (uint32_t)vec_len(ps->inst);
    if (!parse_declare(ps, sym, s))
        return false;
    vec_push(ps->label, sym);
    return true;
}

// ---- what a label may name ---------------------------------------------------------------------
static bool
parse_callprototype(struct parser *ps, const char *label, size_t n)
{
    struct ptx_sym *sym = parse_new_sym(ps, PTX_SYM_PROTO, label, n);
    const char *name;
    size_t name_len;
    sym->proto = arena_new(ps->a, struct ptx_proto);
    if (!parse_proto(ps, sym->proto, false, &name, &name_len))
        return false;
    for (int d; (d = parse_peek_directive(ps)) >= 0;) {
        ps->lx.p += 1 + lex_word(ps->lx.p + 1);
        uint64_t ignored;
        if (d == PTX_D_NORETURN)
            sym->proto->noreturn = true;
        else if ((d != PTX_D_ABI_PRESERVE && d != PTX_D_ABI_PRESERVE_CONTROL) ||
                 !parse_unsigned(ps, UINT32_MAX, &ignored))
            return parse_error(ps, "directive is not allowed on a prototype");
    }
    return parse_declare(ps, sym, label) && parse_expect(ps, ';');
}

struct target_name {
    const char *s;
    size_t n;
};

// name, name<3>, ...; appended to *list.
static bool
parse_target_names(struct parser *ps, struct target_name **list)
{
    do {
        lex_space(&ps->lx);
        struct target_name t = {ps->lx.p, lex_ident(ps->lx.p)};
        if (!t.n)
            return parse_error(ps, "expected a name");
        ps->lx.p += t.n;
        uint64_t count;
        if (!lex_take(&ps->lx, '<')) {
            vec_push(*list, t);
            continue;
        }
        if (!parse_unsigned(ps, 65536, &count) || !parse_expect(ps, '>'))
            return false;
        for (uint64_t i = 0; i < count; i++) {
            char *name = arena_alloc(ps->a, t.n + 8 + LEX_PAD);
            memcpy(name, t.s, t.n);
            size_t digits = 0;
            for (uint64_t v = i; digits == 0 || v; v /= 10)
                digits++;
            for (uint64_t v = i, k = digits; k; v /= 10)
                name[t.n + --k] = (char)('0' + v % 10);
            struct target_name numbered = {name, t.n + digits};
            vec_push(*list, numbered);
        }
    } while (lex_take(&ps->lx, ','));
    return true;
}

static bool
parse_targets(struct parser *ps, const char *label, size_t n, bool calls)
{
    struct target_name *list = NULL;
    bool right = parse_target_names(ps, &list);
    struct ptx_sym *sym = parse_new_sym(ps, PTX_SYM_TARGETS, label, n);
    sym->targets = arena_new(ps->a, struct ptx_targets);
    sym->targets->n = (uint32_t)vec_len(list);
    sym->targets->sym = arena_array(ps->a, struct ptx_sym *, vec_len(list) + 1);
    for (uint32_t i = 0; right && i < sym->targets->n; i++) {
        struct ptx_sym **slot = &sym->targets->sym[i];
        if (!calls)
            parse_label_ref(ps, slot, list[i].s, list[i].n);
        else if (!(*slot = parse_find_sym(ps, list[i].s, list[i].n)))
            right = parse_error(ps, "unknown function '%.*s'",
                                list[i].n > 100 ? 100 : (int)list[i].n, list[i].s);
    }
    vec_free(list);
    return right && parse_declare(ps, sym, label) && parse_expect(ps, ';');
}

static bool
parse_labelled(struct parser *ps, const char *s, size_t n)
{
    struct lexer before = ps->lx;
    int d = parse_peek_directive(ps);
    if (d != PTX_D_CALLPROTOTYPE && d != PTX_D_CALLTARGETS && d != PTX_D_BRANCHTARGETS) {
        ps->lx = before; // messages name the label's line
        return define_label(ps, s, n);
    }
    ps->lx.p += 1 + lex_word(ps->lx.p + 1);
    if (d == PTX_D_CALLPROTOTYPE)
        return parse_callprototype(ps, s, n);
    return parse_targets(ps, s, n, d == PTX_D_CALLTARGETS);
}

// ---- statements --------------------------------------------------------------------------------
static bool
parse_body_directive(struct parser *ps)
{
    int d = parse_peek_directive(ps);
    bool done;
    switch (d) {
    case PTX_D_REG:
        ps->lx.p += 4;
        return parse_registers(ps);
    case PTX_D_LOCAL:
    case PTX_D_SHARED:
    case PTX_D_GLOBAL:
    case PTX_D_CONST:
    case PTX_D_PARAM:
    case PTX_D_TEX:
        return parse_variable(ps, PTX_STATIC);
    case PTX_D_EXTERN:
        ps->lx.p += 7;
        return parse_variable(ps, PTX_EXTERN);
    default: {
        bool right = parse_common_directive(ps, d, &done);
        return done ? right : parse_error(ps, "directive is not allowed in a body");
    }
    }
}

// An instruction, or a label with its colon.
static bool
parse_named(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    size_t n = lex_ident(lx->p);
    if (lx->p[n] == '.') // no label
        return parse_instruction(ps, false, false, PTX_NO_REG);
    const char *s = lx->p, *p = s + n;
    while (*p == ' ' || *p == '\t')
        p++;
    if (*p != ':')
        return parse_instruction(ps, false, false, PTX_NO_REG);
    lx->p = p + 1;
    return parse_labelled(ps, s, n);
}

static bool
parse_guarded(struct parser *ps)
{
    bool neg;
    uint32_t reg;
    if (ps->lx.p[1] == '@') {
        lex_skip_line(&ps->lx);
        return true;
    }
    if (!parse_guard(ps, &neg, &reg))
        return false;
    lex_space(&ps->lx);
    return parse_instruction(ps, true, neg, reg);
}

static bool
parse_body_statement(struct parser *ps)
{
    switch (*ps->lx.p) {
    case '@':
        return parse_guarded(ps);
    case '.':
        return parse_body_directive(ps);
    case ';':
        ps->lx.p++;
        return true;
    case '{':
        ps->lx.p++;
        return open_block(ps);
    default:
        if (lex_is(*ps->lx.p, LEX_START))
            return parse_named(ps);
        if (ps->lx.p >= ps->lx.end)
            return parse_error(ps, "missing '}'");
        return parse_error(ps, "expected an instruction");
    }
}

bool
parse_body(struct parser *ps)
{
    for (;;) {
        lex_space(&ps->lx);
        if (*ps->lx.p == '}') {
            ps->lx.p++;
            if (!ps->depth)
                break;
            close_block(ps);
        } else if (!parse_body_statement(ps)) {
            ps->top = 0;
            parse_recover(ps);
            if (ps->lx.p >= ps->lx.end)
                return false;
        }
    }
    resolve_labels(ps, 0, true);
    return true;
}
