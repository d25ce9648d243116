// SPDX-License-Identifier: MIT
// Constant expressions: C's operators on 64-bit integers and doubles, casts (.s64) and (.u64),
// WARP_SZ.
#include "ptx/parser.h"

#include <string.h>

typedef struct lex_number number;

static bool parse_ternary(struct parser *ps, number *v, unsigned depth);

static double
as_double(const number *v)
{
    return v->is_float ? v->f : v->is_unsigned ? (double)v->i : (double)(int64_t)v->i;
}

static bool
truth(const number *v)
{
    return v->is_float ? v->f != 0 : v->i != 0;
}

static number
of_int(uint64_t i, bool is_unsigned)
{
    return (number){.i = i, .is_unsigned = is_unsigned};
}

static number
of_double(double f)
{
    return (number){.is_float = true, .f = f};
}

// ---- primaries ---------------------------------------------------------------------------------
// (.s64) or (.u64) behind the parenthesis.
static bool parse_cast(struct parser *ps, number *v, unsigned depth);

static bool
parse_primary(struct parser *ps, number *v, unsigned depth)
{
    struct lexer *lx = &ps->lx;
    lex_space(lx);
    if (lex_is(*lx->p, LEX_DIGIT)) {
        const char *at = lx->p;
        return lex_number(lx, v) || parse_error_at(ps, at, "malformed number");
    }
    if (*lx->p == '(') {
        lx->p++;
        lex_space(lx);
        if (*lx->p == '.')
            return parse_cast(ps, v, depth);
        return parse_ternary(ps, v, depth + 1) && parse_expect(ps, ')');
    }
    if (lex_ident(lx->p) == 7 && !memcmp(lx->p, "WARP_SZ", 7)) {
        lx->p += 7;
        *v = of_int(32, false);
        return true;
    }
    return parse_error(ps, "expected a constant");
}

static bool
parse_unary(struct parser *ps, number *v, unsigned depth)
{
    if (depth > PARSE_MAX_DEPTH)
        return parse_error(ps, "expression too deeply nested");
    lex_space(&ps->lx);
    char op = *ps->lx.p;
    if (op != '-' && op != '+' && op != '!' && op != '~')
        return parse_primary(ps, v, depth);
    ps->lx.p++;
    if (!parse_unary(ps, v, depth + 1))
        return false;
    v->f32_bits &= op == '-' || op == '+';
    if (op == '!')
        *v = of_int(!truth(v), false);
    else if (op == '-' && v->is_float)
        v->f = -v->f;
    else if (op == '-')
        v->i = -v->i;
    else if (op == '~' && v->is_float)
        return parse_error(ps, "~ of a floating-point constant");
    else if (op == '~')
        v->i = ~v->i;
    return true;
}

static bool
parse_cast(struct parser *ps, number *v, unsigned depth)
{
    const char *s;
    size_t n = parse_dotted(ps, &s);
    bool to_signed = n == 3 && !memcmp(s, "s64", 3);
    if (!to_signed && !(n == 3 && !memcmp(s, "u64", 3)))
        return parse_error(ps, "only .s64 and .u64 can be cast to");
    if (!parse_expect(ps, ')') || !parse_unary(ps, v, depth + 1))
        return false;
    if (v->is_float)
        return parse_error(ps, "cast of a floating-point constant");
    v->is_unsigned = !to_signed;
    return true;
}

// ---- binary operators --------------------------------------------------------------------------
enum binary {
    NONE,
    MUL,
    DIV,
    REM,
    ADD,
    SUB,
    SHL,
    SHR,
    LT,
    LE,
    GT,
    GE,
    EQ,
    NE,
    AND,
    XOR,
    OR,
    LAND,
    LOR
};

static const struct {
    char text[3];
    uint8_t op, level;
} binaries[] = {
    {"<<", SHL, 8},  {">>", SHR, 8}, {"<=", LE, 7},  {">=", GE, 7},  {"==", EQ, 6},  {"!=", NE, 6},
    {"&&", LAND, 2}, {"||", LOR, 1}, {"*", MUL, 10}, {"/", DIV, 10}, {"%", REM, 10}, {"+", ADD, 9},
    {"-", SUB, 9},   {"<", LT, 7},   {">", GT, 7},   {"&", AND, 5},  {"^", XOR, 4},  {"|", OR, 3},
};

// Index of the operator at p, or -1.
static int
binary_at(const char *p)
{
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (p[0] == binaries[i].text[0] && (!binaries[i].text[1] || p[1] == binaries[i].text[1]))
            return (int)i;
    return -1;
}

static bool
apply_float(struct parser *ps, enum binary op, number *a, const number *b)
{
    double x = as_double(a), y = as_double(b);
    switch (op) {
    case MUL:
        *a = of_double(x * y);
        return true;
    case DIV:
        *a = of_double(x / y);
        return true;
    case ADD:
        *a = of_double(x + y);
        return true;
    case SUB:
        *a = of_double(x - y);
        return true;
    case LT:
        *a = of_int(x < y, false);
        return true;
    case LE:
        *a = of_int(x <= y, false);
        return true;
    case GT:
        *a = of_int(x > y, false);
        return true;
    case GE:
        *a = of_int(x >= y, false);
        return true;
    case EQ:
        *a = of_int(x == y, false);
        return true;
    case NE:
        *a = of_int(x != y, false);
        return true;
    default:
        return parse_error(ps, "operator needs integers");
    }
}

static bool
apply_div(struct parser *ps, enum binary op, number *a, const number *b, bool u)
{
    if (!b->i)
        return parse_error(ps, "division by zero");
    if (u)
        a->i = op == DIV ? a->i / b->i : a->i % b->i;
    else if (b->i == UINT64_MAX)
        a->i = op == DIV ? -a->i : 0;
    else
        a->i =
            (uint64_t)(op == DIV ? (int64_t)a->i / (int64_t)b->i : (int64_t)a->i % (int64_t)b->i);
    a->is_unsigned = u;
    return true;
}

static bool
apply(struct parser *ps, enum binary op, number *a, const number *b)
{
    if (op == LAND || op == LOR) {
        *a = of_int(op == LAND ? truth(a) && truth(b) : truth(a) || truth(b), false);
        return true;
    }
    if (a->is_float || b->is_float)
        return apply_float(ps, op, a, b);
    bool u = a->is_unsigned || b->is_unsigned;
    uint64_t x = a->i, y = b->i;
    bool less = u ? x < y : (int64_t)x < (int64_t)y;
    switch (op) {
    case MUL:
        *a = of_int(x * y, u);
        break;
    case DIV:
    case REM:
        return apply_div(ps, op, a, b, u);
    case ADD:
        *a = of_int(x + y, u);
        break;
    case SUB:
        *a = of_int(x - y, u);
        break;
    case SHL:
        a->i = y < 64 ? x << y : 0;
        break;
    case SHR:
        if (a->is_unsigned)
            a->i = y < 64 ? x >> y : 0;
        else
            a->i = (uint64_t)((int64_t)x >> (y < 64 ? y : 63));
        break;
    case LT:
        *a = of_int(less, false);
        break;
    case LE:
        *a = of_int(less || x == y, false);
        break;
    case GT:
        *a = of_int(!less && x != y, false);
        break;
    case GE:
        *a = of_int(!less, false);
        break;
    case EQ:
        *a = of_int(x == y, false);
        break;
    case NE:
        *a = of_int(x != y, false);
        break;
    case AND:
        *a = of_int(x & y, u);
        break;
    case XOR:
        *a = of_int(x ^ y, u);
        break;
    case OR:
        *a = of_int(x | y, u);
        break;
    default:
        break;
    }
    return true;
}

static bool
parse_binary(struct parser *ps, number *v, unsigned least, unsigned depth)
{
    if (!parse_unary(ps, v, depth))
        return false;
    for (;;) {
        lex_space(&ps->lx);
        int i = binary_at(ps->lx.p);
        if (i < 0 || binaries[i].level < least)
            return true;
        ps->lx.p += binaries[i].text[1] ? 2 : 1;
        number rhs;
        if (!parse_binary(ps, &rhs, binaries[i].level + 1u, depth + 1) ||
            !apply(ps, binaries[i].op, v, &rhs))
            return false;
    }
}

static bool
parse_ternary(struct parser *ps, number *v, unsigned depth)
{
    if (!parse_binary(ps, v, 1, depth))
        return false;
    if (!lex_take(&ps->lx, '?'))
        return true;
    number yes, no;
    if (!parse_ternary(ps, &yes, depth + 1) || !parse_expect(ps, ':') ||
        !parse_ternary(ps, &no, depth + 1))
        return false;
    *v = truth(v) ? yes : no;
    return true;
}

bool
parse_constant(struct parser *ps, struct lex_number *out)
{
    return parse_ternary(ps, out, 0);
}

bool
parse_constant_int(struct parser *ps, int64_t *out)
{
    struct lex_number n;
    if (!parse_constant(ps, &n))
        return false;
    if (n.is_float)
        return parse_error(ps, "expected an integer");
    *out = (int64_t)n.i;
    return true;
}
