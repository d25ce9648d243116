// SPDX-License-Identifier: MIT
// Parser: symbols, variables, parameters and registers.
#include "ptx/parser.h"

#include <stdio.h>
#include <string.h>

// ---- symbols -----------------------------------------------------------------------------------
struct ptx_sym *
parse_find_sym(struct parser *ps, const char *s, size_t n)
{
    if (ps->f) {
        struct name *e = names_find(&ps->names, s, n, false);
        if (e)
            return e->kind == NAME_SYM ? e->sym : NULL;
    }
    return strmap_getn(&ps->m->sym, s, n);
}

struct ptx_sym *
parse_new_sym(struct parser *ps, enum ptx_sym_kind kind, const char *s, size_t n)
{
    struct ptx_sym *sym = arena_new(ps->a, struct ptx_sym);
    sym->name = arena_strndup(ps->a, s, n);
    sym->kind = kind;
    sym->module = ps->m;
    sym->line = (int)ps->lx.line;
    return sym;
}

bool
parse_declare(struct parser *ps, struct ptx_sym *sym, const char *at)
{
    size_t n = strlen(sym->name);
    if (!ps->f) {
        strmap_putn(&ps->m->sym, sym->name, n, sym);
        return true;
    }
    // Keys point into the text, whose padding the hash may read.
    struct name *e = names_add(&ps->names, at, n, false, ps->depth);
    if (!e)
        return parse_error_at(ps, at, "redefinition of '%s'", sym->name);
    e->sym = sym;
    return true;
}

// ---- types -------------------------------------------------------------------------------------
bool
parse_type_word(struct parser *ps, enum ptx_type *type, uint8_t *vec)
{
    const char *s, *at = ps->lx.p;
    size_t n;
    *vec = 1;
    while ((n = parse_dotted(ps, &s))) {
        const struct ptx_word *w = ptx_word_find(&ptx_suffixes, s, n);
        if (w && w->kind == PTX_W_TYPE) {
            *type = (enum ptx_type)w->value;
            return true;
        }
        if (!w || w->kind != PTX_W_VEC)
            return parse_error_at(ps, s, "unknown type '.%.*s'", n > 32 ? 32 : (int)n, s);
        *vec = (uint8_t)w->value;
    }
    return parse_error_at(ps, at, "expected a type");
}

static uint32_t
type_size(enum ptx_type t)
{
    // Opaque handles are 64-bit values in memory.
    unsigned bits = ptx_type_bits(t);
    return bits ? (bits + 7) / 8 : 8;
}

static bool
is_opaque(enum ptx_type t)
{
    return t == PTX_TEXREF || t == PTX_SAMPLERREF || t == PTX_SURFREF;
}

static bool
parse_align(struct parser *ps, uint32_t *align)
{
    uint64_t v;
    if (!parse_unsigned(ps, 1u << 30, &v))
        return false;
    if (!v || (v & (v - 1)))
        return parse_error(ps, "alignment must be a power of two");
    *align = (uint32_t)v;
    return true;
}

// .attribute(.managed), .attribute(.unified(a, b))
static bool
parse_attribute(struct parser *ps, struct ptx_var *v)
{
    if (!parse_expect(ps, '('))
        return false;
    do {
        const char *s;
        size_t n = parse_dotted(ps, &s);
        if (!n)
            return parse_error(ps, "expected an attribute");
        if (n == 7 && !memcmp(s, "managed", 7))
            v->managed = true;
        if (lex_take(&ps->lx, '(')) {
            struct lex_number ignored;
            do {
                if (!parse_constant(ps, &ignored))
                    return false;
            } while (lex_take(&ps->lx, ','));
            if (!parse_expect(ps, ')'))
                return false;
        }
    } while (lex_take(&ps->lx, ','));
    return parse_expect(ps, ')');
}

// [2][], each an expression.
static bool
parse_dims(struct parser *ps, struct parse_shape *shape)
{
    while (lex_take(&ps->lx, '[')) {
        if (shape->n == PARSE_MAX_DIMS - 1)
            return parse_error(ps, "too many dimensions");
        int64_t v = 0;
        if (!lex_take(&ps->lx, ']')) {
            if (!parse_constant_int(ps, &v) || !parse_expect(ps, ']'))
                return false;
            if (v < 0)
                return parse_error(ps, "negative array size");
            if (!v && shape->n)
                return parse_error(ps, "only the first dimension may be empty");
        } else if (shape->n) {
            return parse_error(ps, "only the first dimension may be empty");
        }
        shape->dim[shape->n++] = (uint64_t)v;
    }
    return true;
}

// Sets size from the shape; 0 for an unsized array.
static bool
set_size(struct parser *ps, struct ptx_var *v, const struct parse_shape *shape)
{
    uint64_t size = (uint64_t)type_size(v->type) * v->vec;
    if (!v->align)
        v->align = size & (size - 1) ? type_size(v->type) : (uint32_t)size;
    v->is_array = shape->n > 0;
    v->unsized = shape->n && !shape->dim[0];
    for (unsigned i = 0; i < shape->n; i++)
        if (__builtin_mul_overflow(size, shape->dim[i], &size) || size > (uint64_t)1 << 46)
            return parse_error(ps, "array too large");
    v->size = size;
    return true;
}

// ---- variables ---------------------------------------------------------------------------------
static struct ptx_sym *
old_declaration(struct parser *ps, const char *s, size_t n)
{
    return ps->f ? NULL : strmap_getn(&ps->m->sym, s, n);
}

// A second declaration of a module's variable: the definition fills what .extern announced.
static bool
merge_variable(struct parser *ps, struct ptx_sym *old, const struct ptx_var *v,
               enum ptx_linkage linkage, const char *at)
{
    bool repeats = linkage == PTX_EXTERN || old->linkage == PTX_EXTERN || linkage == PTX_COMMON;
    if (old->kind != PTX_SYM_VAR || !repeats)
        return parse_error_at(ps, at, "redefinition of '%s'", old->name);
    if (old->var->space != v->space)
        return parse_error_at(ps, at, "'%s' was declared in another state space", old->name);
    if (linkage == PTX_EXTERN)
        return true;
    *old->var = *v;
    old->var->sym = old;
    old->linkage = linkage;
    old->line = (int)ps->lx.line;
    return true;
}

static struct ptx_var *
add_variable(struct parser *ps, const struct ptx_var *proto, enum ptx_linkage linkage,
             const char *s, size_t n)
{
    struct ptx_sym *old = old_declaration(ps, s, n);
    if (old)
        return merge_variable(ps, old, proto, linkage, s) ? old->var : NULL;
    struct ptx_var *v = arena_new(ps->a, struct ptx_var);
    *v = *proto;
    v->sym = parse_new_sym(ps, PTX_SYM_VAR, s, n);
    v->sym->linkage = linkage;
    v->sym->var = v;
    if (!parse_declare(ps, v->sym, s))
        return NULL;
    if (ps->f)
        vec_push(ps->fvar, v);
    else
        vec_push(ps->var, v);
    return v;
}

// One name of a declaration: name, dimensions, initialiser.
static bool
parse_declarator(struct parser *ps, struct ptx_var base, enum ptx_linkage linkage)
{
    struct parse_shape shape = {.n = 0};
    lex_space(&ps->lx);
    const char *s = ps->lx.p;
    size_t n = lex_ident(s);
    if (!n)
        return parse_error(ps, "expected a name");
    ps->lx.p += n;
    uint64_t count = 0;
    bool ranged = lex_take(&ps->lx, '<');
    if (ranged && (!parse_unsigned(ps, 4096, &count) || !parse_expect(ps, '>')))
        return false;
    if (!parse_dims(ps, &shape) || !set_size(ps, &base, &shape))
        return false;
    if (ranged) { // .param .b32 p<3>
        for (uint64_t i = 0; i < count; i++) {
            char *name = arena_alloc(ps->a, n + 5 + LEX_PAD);
            int len = sprintf(memcpy(name, s, n) + n, "%u", (unsigned)i);
            if (!add_variable(ps, &base, linkage, name, n + (size_t)len))
                return false;
        }
        return true;
    }
    struct ptx_var *v = add_variable(ps, &base, linkage, s, n);
    if (!v)
        return false;
    if (lex_take(&ps->lx, '='))
        return parse_initialiser(ps, v, &shape);
    if (v->unsized && linkage != PTX_EXTERN && v->space != PTX_SPACE_SHARED &&
        v->space != PTX_SPACE_PARAM)
        return parse_error_at(ps, s, "size of '%s' is missing", v->sym->name);
    return true;
}

static bool
parse_space(struct parser *ps, struct ptx_var *v)
{
    const char *s;
    size_t n = parse_dotted(ps, &s);
    const struct ptx_word *w = ptx_word_find(&ptx_suffixes, s, n);
    const struct ptx_word *d = ptx_word_find(&ptx_directive_words, s, n);
    v->space = w && w->kind == PTX_W_SPACE ? (enum ptx_space)w->value : PTX_SPACE_GLOBAL;
    if (d && (d->value == PTX_D_TEX || d->value == PTX_D_SURF || d->value == PTX_D_SAMPLER)) {
        v->opaque = true; // the form before .texref: .tex .u32 name
        v->type = d->value == PTX_D_TEX    ? PTX_TEXREF
                  : d->value == PTX_D_SURF ? PTX_SURFREF
                                           : PTX_SAMPLERREF;
    }
    uint64_t bank;
    if (lex_take(&ps->lx, '[')) { // .const[2]
        if (!parse_unsigned(ps, 10, &bank) || !parse_expect(ps, ']'))
            return false;
        v->bank = (int)bank;
    }
    return true;
}

bool
parse_variable(struct parser *ps, enum ptx_linkage linkage)
{
    struct ptx_var v = {.vec = 1};
    if (!parse_space(ps, &v))
        return false;
    enum ptx_type opaque = v.type;
    for (int d; (d = parse_peek_directive(ps)) == PTX_D_ALIGN || d == PTX_D_ATTRIBUTE;) {
        ps->lx.p += d == PTX_D_ALIGN ? 6 : 10;
        if (d == PTX_D_ALIGN ? !parse_align(ps, &v.align) : !parse_attribute(ps, &v))
            return false;
    }
    if (!parse_type_word(ps, &v.type, &v.vec))
        return false;
    if (v.opaque)
        v.type = opaque;
    v.opaque = is_opaque(v.type);
    if (v.type == PTX_PRED)
        return parse_error(ps, "a variable cannot be .pred");
    do {
        if (!parse_declarator(ps, v, linkage))
            return false;
    } while (lex_take(&ps->lx, ','));
    return parse_expect(ps, ';');
}

// ---- parameters --------------------------------------------------------------------------------
// .ptr {.space} {.align n}
static bool
parse_ptr(struct parser *ps, struct ptx_var *v)
{
    ps->lx.p += 4;
    v->ptr_space = PTX_SPACE_GENERIC;
    for (;;) {
        switch (parse_peek_directive(ps)) {
        case PTX_D_GLOBAL:
            ps->lx.p += 7;
            v->ptr_space = PTX_SPACE_GLOBAL;
            break;
        case PTX_D_SHARED:
            ps->lx.p += 7;
            v->ptr_space = PTX_SPACE_SHARED;
            break;
        case PTX_D_CONST:
            ps->lx.p += 6;
            v->ptr_space = PTX_SPACE_CONST;
            break;
        case PTX_D_LOCAL:
            ps->lx.p += 6;
            v->ptr_space = PTX_SPACE_LOCAL;
            break;
        case PTX_D_ALIGN:
            ps->lx.p += 6;
            return parse_align(ps, &v->ptr_align);
        default:
            return true;
        }
    }
}

bool
parse_param(struct parser *ps, struct ptx_var *v, bool named)
{
    *v = (struct ptx_var){.vec = 1};
    int d = parse_peek_directive(ps);
    if (d != PTX_D_PARAM && d != PTX_D_REG)
        return parse_error(ps, "expected .param");
    v->space = d == PTX_D_REG ? PTX_SPACE_REG : PTX_SPACE_PARAM;
    ps->lx.p += d == PTX_D_REG ? 4 : 6;
    for (bool typed = false; !typed;) {
        d = parse_peek_directive(ps);
        if (d == PTX_D_ALIGN) {
            ps->lx.p += 6;
            if (!parse_align(ps, &v->align))
                return false;
        } else {
            if (!parse_type_word(ps, &v->type, &v->vec))
                return false;
            typed = true;
        }
    }
    if (parse_peek_directive(ps) == PTX_D_PTR && !parse_ptr(ps, v))
        return false;
    if (parse_peek_directive(ps) ==
        PTX_D_ALIGN) { // .param .u64 .align 8 x, as some compilers write it
        ps->lx.p += 6;
        if (!parse_align(ps, &v->align))
            return false;
    }
    v->opaque = is_opaque(v->type);
    lex_space(&ps->lx);
    const char *s = ps->lx.p;
    size_t n = lex_ident(s);
    ps->lx.p += n;
    if (!n && named)
        return parse_error(ps, "expected a name");
    struct parse_shape shape = {.n = 0};
    if (!parse_dims(ps, &shape) || !set_size(ps, v, &shape))
        return false;
    if (!n || (n == 1 && *s == '_'))
        return true;
    v->sym = parse_new_sym(ps, PTX_SYM_PARAM, s, n);
    if (ps->f && named) {
        if (v->space == PTX_SPACE_REG) {
            uint32_t r = parse_new_reg(ps, s, n, v->type, v->vec);
            v->offset = r;
            return r != PTX_NO_REG;
        }
        return parse_declare(ps, v->sym, s);
    }
    return true;
}

// ---- registers ---------------------------------------------------------------------------------
static bool
add_registers(struct parser *ps, uint64_t count, enum ptx_type t, uint8_t vec, const char *name)
{
    if (vec_len(ps->reg) + count > PARSE_MAX_REGS)
        return parse_error(ps, "too many registers");
    size_t first = vec_len(ps->reg);
    vec_extend(ps->reg, count);
    for (size_t i = first; i < vec_len(ps->reg); i++)
        ps->reg[i] = (struct ptx_reg){.name = name, .type = t, .vec = vec};
    return true;
}

uint32_t
parse_new_reg(struct parser *ps, const char *s, size_t n, enum ptx_type t, uint8_t vec)
{
    struct name *e = names_add(&ps->names, s, n, false, ps->depth);
    uint32_t reg = (uint32_t)vec_len(ps->reg);
    if (!e) {
        parse_error_at(ps, s, "redefinition of '%.*s'", n > 64 ? 64 : (int)n, s);
        return PTX_NO_REG;
    }
    if (!add_registers(ps, 1, t, vec, arena_strndup(ps->a, s, n)))
        return PTX_NO_REG;
    e->kind = NAME_REG;
    e->reg = reg;
    e->count = 1;
    ps->single_digits |= lex_is(s[n - 1], LEX_DIGIT);
    return reg;
}

static bool
parse_range(struct parser *ps, const char *s, size_t n, enum ptx_type t, uint8_t vec)
{
    uint64_t count;
    if (!parse_unsigned(ps, PARSE_MAX_REGS, &count) || !parse_expect(ps, '>'))
        return false;
    struct name *e = names_add(&ps->names, s, n, true, ps->depth);
    if (!e)
        return parse_error_at(ps, s, "redefinition of '%.*s'", n > 64 ? 64 : (int)n, s);
    e->reg = (uint32_t)vec_len(ps->reg);
    e->count = (uint32_t)count;
    ps->single_digits |= lex_is(s[n - 1], LEX_DIGIT);
    struct ptx_reg_range r = {arena_strndup(ps->a, s, n), e->reg, e->count};
    if (count)
        vec_push(ps->range, r);
    return add_registers(ps, count, t, vec, NULL);
}

// .reg .v2 .f32 a, %r<10>;
bool
parse_registers(struct parser *ps)
{
    enum ptx_type t;
    uint8_t vec;
    if (!parse_type_word(ps, &t, &vec))
        return false;
    if (is_opaque(t))
        return parse_error(ps, "a register cannot be %s", ptx_type_name(t));
    do {
        lex_space(&ps->lx);
        const char *s = ps->lx.p;
        size_t n = lex_ident(s);
        if (!n)
            return parse_error(ps, "expected a register's name");
        ps->lx.p += n;
        if (lex_take(&ps->lx, '<') ? !parse_range(ps, s, n, t, vec)
                                   : parse_new_reg(ps, s, n, t, vec) == PTX_NO_REG)
            return false;
    } while (lex_take(&ps->lx, ','));
    return parse_expect(ps, ';');
}
