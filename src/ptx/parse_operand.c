// SPDX-License-Identifier: MIT
// Parser: operands.
#include "ptx/parser.h"

#include <string.h>

static bool
push(struct parser *ps, const struct ptx_operand *o)
{
    if (ps->top == PARSE_MAX_OPERANDS)
        return parse_error(ps, "too many operands");
    ps->stack[ps->top++] = *o;
    return true;
}

// Copies what lies above `base` to the arena.
static struct ptx_operand *
pop(struct parser *ps, unsigned base)
{
    size_t size = (ps->top - base) * sizeof(struct ptx_operand);
    ps->top = base;
    return memcpy(arena_alloc(ps->a, size), &ps->stack[base], size);
}

// ---- registers ---------------------------------------------------------------------------------
// Register `s` as a member of a range whose prefix has `len` characters, or PTX_NO_REG. *depth: of
// its block.
static uint32_t
in_range(struct parser *ps, const char *s, size_t n, size_t len, uint32_t *depth)
{
    uint32_t number = 0;
    if (n - len > 9 || (s[len] == '0' && n - len > 1))
        return PTX_NO_REG;
    for (size_t i = len; i < n; i++)
        number = 10 * number + (uint32_t)(s[i] - '0');
    for (struct name *e = names_find(&ps->names, s, len, true); e; e = names_older(&ps->names, e))
        if (number < e->count) {
            *depth = e->depth;
            return e->reg + number;
        }
    return PTX_NO_REG;
}

// The innermost register or symbol of that name. Most names are a range's prefix and a number.
static uint32_t
find_reg(struct parser *ps, const char *s, size_t n, struct ptx_sym **sym)
{
    size_t len = n;
    uint32_t depth = 0, reg = PTX_NO_REG;
    *sym = NULL;
    while (len > 1 && lex_is(s[len - 1], LEX_DIGIT))
        len--;
    if (len < n)
        reg = in_range(ps, s, n, len, &depth);
    if (reg != PTX_NO_REG && !ps->single_digits)
        return reg;
    struct name *e = names_find(&ps->names, s, n, false);
    if (e && (reg == PTX_NO_REG || e->depth > depth)) {
        *sym = e->sym;
        return e->kind == NAME_REG ? e->reg : PTX_NO_REG;
    }
    for (size_t k = len + 1; reg == PTX_NO_REG && ps->single_digits && k < n; k++)
        reg = in_range(ps, s, n, k, &depth);
    return reg;
}

// .x .y .z .w (or .r .g .b .a), .b0 .h1, and SIMD selectors .h10 .b7654, behind the dot.
static bool
parse_component(struct parser *ps, struct ptx_operand *o)
{
    const char *s = ++ps->lx.p;
    size_t n = lex_word(s);
    static const char letters[] = "xyzwrgba";
    const char *letter = n == 1 ? strchr(letters, *s) : NULL;
    ps->lx.p += n;
    if (letter && *letter) {
        o->comp = (uint8_t)((letter - letters) % 4 + 1);
        return true;
    }
    bool half = *s == 'h', right = (half || *s == 'b') && n >= 2 && n <= (half ? 3 : 5);
    unsigned sel = 0;
    for (size_t i = 1; right && i < n; i++) {
        right = s[i] >= '0' && s[i] <= (n == 2 ? half ? '1' : '3' : half ? '3' : '7');
        sel = sel << 4 | (unsigned)(s[i] - '0');
    }
    if (!right)
        return parse_error_at(ps, s, "unknown component '.%.*s'", n > 16 ? 16 : (int)n, s);
    if (n == 2)
        o->comp = (uint8_t)((half ? 9 : 5) + sel);
    else
        o->comp = PTX_COMP_LANES, o->sel = (uint16_t)sel, o->n = (uint16_t)(n - 1);
    return true;
}

// ---- numbers -----------------------------------------------------------------------------------
static bool
parse_immediate(struct parser *ps, struct ptx_operand *o)
{
    struct lex_number v;
    if (lex_short_decimal(&ps->lx, &o->ival)) {
        o->kind = PTX_O_INT;
        return true;
    }
    if (!parse_constant(ps, &v))
        return false;
    o->kind = v.is_float ? PTX_O_FLT : PTX_O_INT;
    o->f32_bits = v.f32_bits;
    if (v.is_float)
        o->fval = v.f;
    else
        o->ival = v.i;
    return true;
}

// + or - and a constant behind a base.
static bool
parse_offset(struct parser *ps, int64_t *off)
{
    lex_space(&ps->lx);
    if (*ps->lx.p != '+' && *ps->lx.p != '-')
        return true;
    if (*ps->lx.p == '+') {
        ps->lx.p++;
        lex_space(&ps->lx);
        struct ptx_operand o;
        if (!lex_is(*ps->lx.p, LEX_DIGIT))
            return parse_constant_int(ps, off);
        if (!parse_immediate(ps, &o))
            return false;
        if (o.kind != PTX_O_INT)
            return parse_error(ps, "offset must be an integer");
        *off = (int64_t)o.ival;
        return true;
    }
    return parse_constant_int(ps, off);
}

// ---- names -------------------------------------------------------------------------------------
static bool
parse_sreg(struct parser *ps, struct ptx_operand *o, const char *s, size_t n)
{
    const struct ptx_word *w = ptx_word_find(&ptx_sreg_words, s + 1, n - 1);
    if (!w)
        return parse_error_at(ps, s, "unknown register '%.*s'", n > 100 ? 100 : (int)n, s);
    o->kind = PTX_O_SREG;
    o->sreg = w->value;
    if (*ps->lx.p == '.' && w->extra == 4)
        return parse_component(ps, o);
    return true;
}

// A register or symbol.
static bool
parse_name(struct parser *ps, struct ptx_operand *o)
{
    const char *s = ps->lx.p;
    size_t n = lex_ident(s);
    if (!n)
        return parse_error(ps, "expected an operand");
    ps->lx.p += n;
    if (n == 1 && *s == '_') {
        o->kind = PTX_O_SINK;
        return true;
    }
    struct ptx_sym *sym;
    o->reg = find_reg(ps, s, n, &sym);
    if (o->reg != PTX_NO_REG) {
        o->kind = PTX_O_REG;
        return *ps->lx.p == '.' ? parse_component(ps, o) : true;
    }
    if (!sym && *s == '%')
        return parse_sreg(ps, o, s, n);
    o->kind = PTX_O_SYM;
    o->sym = sym ? sym : strmap_getn(&ps->m->sym, s, n);
    return o->sym || parse_error_at(ps, s, "unknown symbol '%.*s'", n > 100 ? 100 : (int)n, s);
}

// ---- addresses and vectors ---------------------------------------------------------------------
static const struct ptx_operand none = {.reg = PTX_NO_REG};

static bool
parse_elements(struct parser *ps, char close, unsigned *n)
{
    unsigned base = ps->top;
    do {
        struct ptx_operand e = none;
        if (!parse_operand(ps, &e) || !push(ps, &e))
            return false;
    } while (lex_take(&ps->lx, ','));
    *n = ps->top - base;
    return parse_expect(ps, close);
}

static bool
parse_vector(struct parser *ps, struct ptx_operand *o)
{
    unsigned base = ps->top, n;
    ps->lx.p++;
    if (!parse_elements(ps, '}', &n))
        return false;
    o->kind = PTX_O_VEC;
    o->n = (uint16_t)n;
    o->elem = pop(ps, base);
    return true;
}

// [texture, sampler, coordinates]: the first element is read already.
static bool
parse_texture(struct parser *ps, struct ptx_operand *o)
{
    unsigned base = ps->top, n;
    struct ptx_operand first = *o;
    if (first.kind == PTX_O_ADDR && first.off)
        return parse_error(ps, "offset on a texture or tensor");
    first.kind = first.sym ? PTX_O_SYM : PTX_O_REG;
    if (!push(ps, &first) || !parse_elements(ps, ']', &n))
        return false;
    *o = none;
    o->kind = PTX_O_TEX;
    o->n = (uint16_t)(n + 1);
    o->elem = pop(ps, base);
    return true;
}

static bool
parse_address(struct parser *ps, struct ptx_operand *o)
{
    ps->lx.p++;
    lex_space(&ps->lx);
    if (lex_is(*ps->lx.p, LEX_START)) {
        if (!parse_name(ps, o))
            return false;
        if (o->kind != PTX_O_REG && o->kind != PTX_O_SYM)
            return parse_error(ps, "expected an address");
        if (!parse_offset(ps, &o->off))
            return false;
    } else if (!parse_constant_int(ps, &o->off)) {
        return false;
    }
    o->kind = PTX_O_ADDR;
    lex_space(&ps->lx);
    if (*ps->lx.p == ',' && (o->sym || o->reg != PTX_NO_REG)) {
        ps->lx.p++;
        return parse_texture(ps, o);
    }
    if (!parse_expect(ps, ']'))
        return false;
    // [a].unified: a promise on the caller's side that changes no meaning.
    const char *s;
    if (*ps->lx.p == '.' && (parse_dotted(ps, &s) != 7 || memcmp(s, "unified", 7)))
        return parse_error(ps, "only .unified may follow an address");
    return true;
}

// ---- operands ----------------------------------------------------------------------------------
static bool
parse_plain(struct parser *ps, struct ptx_operand *o)
{
    lex_space(&ps->lx);
    const char *p = ps->lx.p;
    if (lex_is(*p, LEX_START) && !(*p == 'W' && lex_ident(p) == 7 && !memcmp(p, "WARP_SZ", 7))) {
        if (!parse_name(ps, o))
            return false;
        return o->kind != PTX_O_SYM || parse_offset(ps, &o->off);
    }
    switch (*p) {
    case '{':
        return parse_vector(ps, o);
    case '[':
        return parse_address(ps, o);
    case '!':
    case '-':
        while (*++p == ' ')
            ;
        if (!lex_is(*p, LEX_START) || *p == 'W')
            return parse_immediate(ps, o);
        ps->lx.p = p;
        o->neg = true;
        return parse_name(ps, o) &&
               (o->kind == PTX_O_REG || parse_error(ps, "expected a register"));
    default:
        return parse_immediate(ps, o);
    }
}

bool
parse_operand(struct parser *ps, struct ptx_operand *o)
{
    unsigned depth = ps->nested++;
    bool right =
        depth < PARSE_MAX_DEPTH ? parse_plain(ps, o) : parse_error(ps, "operand too deeply nested");
    ps->nested = depth;
    if (!right)
        return false;
    lex_space(&ps->lx);
    if (*ps->lx.p != '|')
        return true;
    unsigned base = ps->top;
    struct ptx_operand second = none;
    ps->lx.p++;
    if (!parse_plain(ps, &second) || !push(ps, o) || !push(ps, &second))
        return false;
    *o = none;
    o->kind = PTX_O_PAIR;
    o->n = 2;
    o->elem = pop(ps, base);
    return true;
}

bool
parse_operands(struct parser *ps, char close, struct ptx_operand **out, uint32_t *n)
{
    *n = 0;
    *out = NULL;
    lex_space(&ps->lx);
    if (*ps->lx.p == close)
        return true;
    unsigned base = ps->top;
    do {
        struct ptx_operand o = none;
        if (!parse_operand(ps, &o) || !push(ps, &o))
            return false;
    } while (lex_take(&ps->lx, ','));
    *n = ps->top - base;
    *out = pop(ps, base);
    return true;
}
