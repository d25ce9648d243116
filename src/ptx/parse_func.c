// SPDX-License-Identifier: MIT
// Parser: functions, their parameters and directives, call prototypes.
#include "ptx/parser.h"

#include <string.h>

// ---- parameter lists ---------------------------------------------------------------------------
static bool
parse_params(struct parser *ps, struct ptx_var **out, uint32_t *n, bool named, bool *variadic)
{
    struct ptx_var *list = NULL;
    bool right = true;
    if (!lex_take(&ps->lx, ')')) {
        do {
            struct ptx_var v;
            right = parse_param(ps, &v, named);
            if (!right)
                break;
            *variadic |= v.unsized;
            vec_push(list, v);
        } while (lex_take(&ps->lx, ','));
        right = right && parse_expect(ps, ')');
    }
    *n = (uint32_t)vec_len(list);
    *out = arena_array(ps->a, struct ptx_var, *n + 1);
    for (uint32_t i = 0; i < *n; i++) {
        (*out)[i] = list[i];
        if (list[i].sym)
            list[i].sym->var = &(*out)[i];
    }
    vec_free(list);
    return right;
}

// Lays parameters out one behind the other, each at its own alignment.
static uint64_t
lay_out(struct ptx_var *v, uint32_t n)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (v[i].space != PTX_SPACE_PARAM)
            continue;
        at = (at + v[i].align - 1) & ~(uint64_t)(v[i].align - 1);
        v[i].offset = at;
        at += v[i].size;
    }
    return at;
}

// {(results)} name {(parameters)}
bool
parse_proto(struct parser *ps, struct ptx_proto *proto, bool named, const char **name,
            size_t *name_len)
{
    if (lex_take(&ps->lx, '(') &&
        !parse_params(ps, &proto->ret, &proto->nret, named, &proto->variadic))
        return false;
    lex_space(&ps->lx);
    *name = ps->lx.p;
    *name_len = lex_ident(ps->lx.p);
    if (!*name_len)
        return parse_error(ps, "expected a function's name");
    ps->lx.p += *name_len;
    if (lex_take(&ps->lx, '(') &&
        !parse_params(ps, &proto->param, &proto->nparam, named, &proto->variadic))
        return false;
    lay_out(proto->ret, proto->nret);
    for (uint32_t i = 0; i < proto->nret + proto->nparam; i++) {
        const struct ptx_var *v = i < proto->nret ? &proto->ret[i] : &proto->param[i - proto->nret];
        if (v->size > UINT32_MAX)
            return parse_error(ps, "parameter too large");
    }
    return true;
}

// ---- directives --------------------------------------------------------------------------------
static bool
parse_triple(struct parser *ps, uint32_t out[3])
{
    out[0] = out[1] = out[2] = 1;
    for (int i = 0; i < 3; i++) {
        int64_t v;
        if (!parse_constant_int(ps, &v))
            return false;
        if (v < 0 || v > UINT32_MAX)
            return parse_error(ps, "number out of range");
        out[i] = (uint32_t)v;
        if (i == 2 || !lex_take(&ps->lx, ','))
            return true;
    }
    return true;
}

static bool
parse_one(struct parser *ps, uint32_t *out)
{
    uint32_t v[3];
    if (!parse_triple(ps, v))
        return false;
    *out = v[0];
    return true;
}

static bool
parse_function_directive(struct parser *ps, struct ptx_func *f, int d)
{
    uint32_t ignored;
    ps->lx.p += 1 + lex_word(ps->lx.p + 1);
    switch (d) {
    case PTX_D_MAXNTID:
        return parse_triple(ps, f->maxntid);
    case PTX_D_REQNTID:
        return parse_triple(ps, f->reqntid);
    case PTX_D_MINNCTAPERSM:
        return parse_one(ps, &f->minnctapersm);
    case PTX_D_MAXNCTAPERSM:
        return parse_one(ps, &f->maxnctapersm);
    case PTX_D_MAXNREG:
        return parse_one(ps, &f->maxnreg);
    case PTX_D_REQNCTAPERCLUSTER:
        return parse_triple(ps, f->reqnctapercluster);
    case PTX_D_MAXCLUSTERRANK:
        return parse_one(ps, &f->maxclusterrank);
    case PTX_D_EXPLICITCLUSTER:
        f->explicit_cluster = true;
        return true;
    case PTX_D_BLOCKSARECLUSTERS:
        f->unique_cta = true;
        return true;
    case PTX_D_NORETURN:
        f->proto.noreturn = true;
        return true;
    case PTX_D_ABI_PRESERVE:
    case PTX_D_ABI_PRESERVE_CONTROL:
        return parse_one(ps, &ignored);
    default:
        return parse_error(ps, "directive is not allowed on a function");
    }
}

static bool
parse_directives(struct parser *ps, struct ptx_func *f)
{
    for (;;) {
        int d = parse_peek_directive(ps);
        bool done, right;
        lex_space(&ps->lx);
        if (*ps->lx.p != '.')
            return true;
        right = parse_common_directive(ps, d, &done);
        if (!done)
            right = parse_function_directive(ps, f, d);
        if (!right)
            return false;
    }
}

// ---- functions ---------------------------------------------------------------------------------
static void
begin_function(struct parser *ps, struct ptx_func *f)
{
    ps->f = f;
    ps->depth = 0;
    ps->single_digits = false;
    names_cut(&ps->names, 0);
    vec_clear(ps->inst);
    vec_clear(ps->reg);
    vec_clear(ps->range);
    vec_clear(ps->fvar);
    vec_clear(ps->label);
    vec_clear(ps->refs);
    vec_clear(ps->scopes);
}

#define KEEP(array, count, vec, type)                                                              \
    ((count) = (uint32_t)vec_len(vec),                                                             \
     (array) = arena_alloc(ps->a, ((size_t)(count) + 1) * sizeof(type)),                           \
     (count) ? memcpy((array), (vec), (count) * sizeof(type)) : NULL)

static void
keep_body(struct parser *ps, struct ptx_func *f)
{
    KEEP(f->inst, f->ninst, ps->inst, struct ptx_inst);
    KEEP(f->reg, f->nreg, ps->reg, struct ptx_reg);
    KEEP(f->range, f->nrange, ps->range, struct ptx_reg_range);
    KEEP(f->var, f->nvar, ps->fvar, struct ptx_var *);
    KEEP(f->label, f->nlabel, ps->label, struct ptx_sym *);
}

// The symbol that an earlier declaration made, or a new one. NULL after an error.
static struct ptx_sym *
function_symbol(struct parser *ps, const char *s, size_t n, enum ptx_linkage linkage, bool has_body)
{
    struct ptx_sym *old = strmap_getn(&ps->m->sym, s, n);
    if (old && (old->kind != PTX_SYM_FUNC || (has_body && old->func->has_body))) {
        parse_error(ps, "redefinition of '%s'", old->name);
        return NULL;
    }
    if (!old) {
        old = parse_new_sym(ps, PTX_SYM_FUNC, s, n);
        old->linkage = linkage;
        strmap_putn(&ps->m->sym, old->name, n, old);
    } else if (has_body || linkage != PTX_EXTERN) {
        old->linkage = linkage != PTX_STATIC || old->linkage == PTX_EXTERN ? linkage : old->linkage;
        old->line = (int)ps->lx.line;
    }
    return old;
}

// Binds what was parsed to its name: a new function, or the earlier declaration's node, which
// callers point to.
static bool
bind_function(struct parser *ps, struct ptx_func *f, enum ptx_linkage linkage, const char *s,
              size_t n)
{
    struct ptx_sym *sym = function_symbol(ps, s, n, linkage, f->has_body);
    if (!sym)
        return false;
    f->sym = sym;
    if (sym->func && !f->has_body)
        return true; // a repeated declaration adds nothing
    if (!sym->func) {
        sym->func = arena_new(ps->a, struct ptx_func);
        vec_push(ps->func, sym->func);
    }
    *sym->func = *f;
    return true;
}

bool
parse_function(struct parser *ps, enum ptx_linkage linkage, bool entry)
{
    struct ptx_func f = {.is_entry = entry, .line = (int)ps->lx.line};
    const char *name;
    size_t n;
    begin_function(ps, &f);
    if (parse_peek_directive(ps) == PTX_D_ATTRIBUTE) {
        ps->lx.p += 10;
        while (ps->lx.p < ps->lx.end && !lex_take(&ps->lx, '.') && *ps->lx.p != ')')
            ps->lx.p++;
    }
    bool right = parse_proto(ps, &f.proto, true, &name, &n);
    if (right && entry) {
        f.param_size = lay_out(f.proto.param, f.proto.nparam);
        if (f.proto.nret)
            right = parse_error(ps, "a kernel has no result");
    }
    right = right && parse_directives(ps, &f);
    if (right) {
        f.has_body = lex_take(&ps->lx, '{');
        // Bound before its body: a function may call itself and take its own address.
        right = (f.has_body || parse_expect(ps, ';')) && bind_function(ps, &f, linkage, name, n);
    }
    if (right && f.has_body) {
        struct ptx_func *node = f.sym->func;
        ps->f = node;
        right = parse_body(ps);
        keep_body(ps, node);
    }
    ps->f = NULL;
    return right;
}
