// SPDX-License-Identifier: MIT
// Parser: initialisers of variables.
#include "ptx/parser.h"

#include <string.h>

#include "ptx/half.h"

// Bytes are gathered in a vec that grows with the elements read, never with the size that the
// variable claims.
struct init {
    struct parser *ps;
    struct ptx_var *v;
    const struct parse_shape *shape; // a vector type's elements are the last dimension
    unsigned element;                // bytes
    uint64_t limit;                  // elements; UINT64_MAX if unsized
    uint8_t *bytes;                  // vec
    struct ptx_reloc *reloc;         // vec
};

static bool
reserve(struct init *in, uint64_t index)
{
    if (index >= in->limit || index > (uint64_t)1 << 31)
        return parse_error(in->ps, "too many initialisers for '%s'", in->v->sym->name);
    size_t need = (size_t)(index + 1) * in->element;
    if (need > vec_len(in->bytes))
        vec_extend(in->bytes, need - vec_len(in->bytes));
    return true;
}

static uint64_t
float_bits(double f, enum ptx_type t)
{
    uint64_t bits = 0;
    if (t == PTX_F64) {
        memcpy(&bits, &f, 8);
        return bits;
    }
    if (t == PTX_F16)
        return half_of_double(f, 5, 10);
    if (t == PTX_BF16)
        return half_of_double(f, 8, 7);
    float s = (float)f;
    memcpy(&bits, &s, 4);
    return bits;
}

static void
store(struct init *in, uint64_t index, const struct lex_number *n)
{
    uint64_t bits = n->i;
    bool wants_float = in->v->type == PTX_F64 || in->v->type == PTX_F32 || in->v->type == PTX_F16 ||
                       in->v->type == PTX_BF16;
    if (wants_float)
        bits = float_bits(n->is_float      ? n->f
                          : n->is_unsigned ? (double)n->i
                                           : (double)(int64_t)n->i,
                          in->v->type);
    else if (n->is_float)
        bits = n->f32_bits ? float_bits(n->f, PTX_F32) : float_bits(n->f, PTX_F64);
    memcpy(in->bytes + index * in->element, &bits, in->element < 8 ? in->element : 8);
}

// ---- addresses ---------------------------------------------------------------------------------
static bool
parse_addend(struct parser *ps, int64_t *addend)
{
    lex_space(&ps->lx);
    if (*ps->lx.p != '+' && *ps->lx.p != '-')
        return true;
    bool minus = *ps->lx.p++ == '-';
    int64_t v;
    if (!parse_constant_int(ps, &v))
        return false;
    *addend = (int64_t)(minus ? (uint64_t)*addend - (uint64_t)v : (uint64_t)*addend + (uint64_t)v);
    return true;
}

static bool
parse_symbol_address(struct init *in, struct ptx_reloc *r, bool may_wrap)
{
    struct parser *ps = in->ps;
    lex_space(&ps->lx);
    const char *s = ps->lx.p;
    size_t n = lex_ident(s);
    if (!n)
        return parse_error(ps, "expected a symbol");
    ps->lx.p += n;
    if (may_wrap && n == 7 && !memcmp(s, "generic", 7) && lex_take(&ps->lx, '(')) {
        r->generic = true;
        return parse_symbol_address(in, r, false) && parse_expect(ps, ')') &&
               parse_addend(ps, &r->addend);
    }
    r->sym = parse_find_sym(ps, s, n);
    if (!r->sym) {
        struct late_reloc late = {in->v,       (uint32_t)vec_len(in->reloc), s, (uint32_t)n,
                                  ps->lx.line, lex_col(&ps->lx, s)};
        vec_push(ps->late, late);
    }
    return parse_addend(ps, &r->addend);
}

// mask(address): one byte of it.
static bool
parse_masked(struct init *in, uint64_t mask, struct ptx_reloc *r)
{
    unsigned shift = mask ? (unsigned)__builtin_ctzll(mask) : 0;
    if (shift % 8 || mask >> shift != 0xff)
        return parse_error(in->ps, "mask must be one byte");
    r->shift = (uint8_t)shift;
    r->size = 1;
    return parse_symbol_address(in, r, true) && parse_expect(in->ps, ')');
}

static bool
parse_element(struct init *in, uint64_t index)
{
    struct parser *ps = in->ps;
    struct lexer *lx = &ps->lx;
    struct lex_number n;
    if (!reserve(in, index))
        return false;
    lex_space(lx);
    n = (struct lex_number){0};
    if (lex_short_decimal(lx, &n.i)) {
        store(in, index, &n);
        return true;
    }
    struct ptx_reloc r = {.offset = index * in->element,
                          .size = (uint8_t)(in->element < 8 ? in->element : 8)};
    bool symbol =
        lex_is(*lx->p, LEX_START) && !(lex_ident(lx->p) == 7 && !memcmp(lx->p, "WARP_SZ", 7));
    if (symbol) {
        if (!parse_symbol_address(in, &r, true))
            return false;
    } else {
        if (!parse_constant(ps, &n))
            return false;
        if (!lex_take(lx, '(')) {
            store(in, index, &n);
            return true;
        }
        if (!parse_masked(in, n.i, &r))
            return false;
    }
    vec_push(in->reloc, r);
    return true;
}

// ---- braces ------------------------------------------------------------------------------------
// Elements below one index of dimension `level`.
static uint64_t
stride_of(const struct init *in, unsigned level)
{
    uint64_t n = in->v->vec;
    for (unsigned i = level + 1; i < in->shape->n; i++)
        n *= in->shape->dim[i];
    return n;
}

// The contents of braces whose elements have index `base` on; nested braces begin at a multiple of
// the stride of theirs.
static bool
parse_braces(struct init *in, unsigned level, uint64_t base)
{
    struct parser *ps = in->ps;
    uint64_t at = base;
    if (level > PARSE_MAX_DIMS)
        return parse_error(ps, "braces too deeply nested");
    uint64_t stride = level < in->shape->n ? stride_of(in, level) : 1;
    while (!lex_take(&ps->lx, '}')) {
        if (lex_take(&ps->lx, '{')) {
            at = base + (at - base + stride - 1) / stride * stride;
            if (!parse_braces(in, level + 1, at))
                return false;
            at += stride;
        } else if (!parse_element(in, at++)) {
            return false;
        }
        lex_space(&ps->lx);
        if (*ps->lx.p != '}' && !parse_expect(ps, ','))
            return false;
    }
    return true;
}

static bool
finish(struct init *in)
{
    struct ptx_var *v = in->v;
    struct arena *a = in->ps->a;
    v->init_size = vec_len(in->bytes);
    if (v->init_size)
        v->init = memcpy(arena_alloc(a, v->init_size), in->bytes, v->init_size);
    v->nreloc = (uint32_t)vec_len(in->reloc);
    if (v->nreloc)
        v->reloc = memcpy(arena_alloc(a, v->nreloc * sizeof *v->reloc), in->reloc,
                          v->nreloc * sizeof *v->reloc);
    if (v->unsized) {
        uint64_t row = stride_of(in, 0) * in->element;
        v->size = (v->init_size + row - 1) / row * row;
        v->unsized = false;
    }
    return true;
}

bool
parse_initialiser(struct parser *ps, struct ptx_var *v, const struct parse_shape *shape)
{
    lex_space(&ps->lx);
    if (v->opaque) // sampler state: read by the driver's texture objects, not from here
        return *ps->lx.p == '{' ? parse_skip_braces(ps) : parse_error(ps, "expected '{'");
    if (v->space != PTX_SPACE_GLOBAL && v->space != PTX_SPACE_CONST)
        return parse_error(ps, "only .global and .const variables can be initialised");
    struct init in = {
        .ps = ps, .v = v, .shape = shape, .element = (ptx_type_bits(v->type) + 7) / 8};
    in.limit = v->unsized ? UINT64_MAX : v->size / in.element;
    bool right = lex_take(&ps->lx, '{') ? parse_braces(&in, 0, 0) : parse_element(&in, 0);
    if (right)
        right = finish(&in);
    vec_free(in.bytes);
    vec_free(in.reloc);
    return right;
}

bool
parse_late_relocs(struct parser *ps)
{
    for (size_t i = 0; i < vec_len(ps->late) && !ps->stop; i++) {
        struct late_reloc *l = &ps->late[i];
        struct ptx_sym *s = strmap_getn(&ps->m->sym, l->s, l->len);
        if (!s)
            ptx_diag_add(ps->d, true, (int)l->line, (int)l->col, "unknown symbol '%.*s'",
                         l->len > 100 ? 100 : (int)l->len, l->s);
        else if (l->index < l->var->nreloc)
            l->var->reloc[l->index].sym = s;
    }
    return true;
}
