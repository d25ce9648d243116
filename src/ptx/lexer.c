// SPDX-License-Identifier: MIT
// Lexer: blanks, comments, strings and numbers.
#include "ptx/lexer.h"

#include <locale.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define ALPHA (LEX_START | LEX_FOLLOW | LEX_WORD)
#define HEX   (ALPHA | LEX_HEX)
#define DIGIT (LEX_FOLLOW | LEX_DIGIT | LEX_WORD | LEX_HEX)

const uint8_t lex_class[256] = {
    ['0' ... '9'] = DIGIT, ['a' ... 'f'] = HEX, ['g' ... 'z'] = ALPHA,          ['A' ... 'F'] = HEX,
    ['G' ... 'Z'] = ALPHA, ['_'] = ALPHA,       ['$'] = LEX_START | LEX_FOLLOW, ['%'] = LEX_START,
    [':'] = LEX_WORD,
};

void
lex_skip_line(struct lexer *lx)
{
    const char *nl = memchr(lx->p, '\n', (size_t)(lx->end - lx->p));
    lx->p = nl ? nl : lx->end;
}

static void
skip_block_comment(struct lexer *lx)
{
    const char *p = lx->p + 2;
    for (; p < lx->end && !(p[0] == '*' && p[1] == '/'); p++)
        if (*p == '\n') {
            lx->line++;
            lx->bol = p + 1;
        }
    lx->p = p < lx->end ? p + 2 : lx->end;
}

void
lex_space_slow(struct lexer *lx)
{
    for (;;) {
        switch (*lx->p) {
        case '\n':
            lx->line++;
            lx->bol = ++lx->p;
            break;
        case ' ':
        case '\t':
        case '\r':
        case '\v':
        case '\f':
            lx->p++;
            break;
        case '#':
            lex_skip_line(lx);
            break;
        case '/':
            if (lx->p[1] == '/') {
                lex_skip_line(lx);
                break;
            }
            if (lx->p[1] != '*')
                return;
            skip_block_comment(lx);
            break;
        default:
            return;
        }
    }
}

bool
lex_string(struct lexer *lx, const char **s, size_t *n)
{
    if (!lex_take(lx, '"'))
        return false;
    const char *p = lx->p;
    while (p < lx->end && *p != '"' && *p != '\n')
        p += *p == '\\' && p + 1 < lx->end && p[1] != '\n' ? 2 : 1;
    *s = lx->p;
    *n = (size_t)(p - lx->p);
    lx->p = *p == '"' ? p + 1 : p;
    return *p == '"';
}

double
lex_float_of_bits(uint32_t bits)
{
    uint64_t wide;
    if ((bits & 0x7fffffff) > 0x7f800000) {
        wide =
            (uint64_t)(bits >> 31) << 63 | 0x7ff0000000000000u | (uint64_t)(bits & 0x7fffff) << 29;
        double d;
        memcpy(&d, &wide, sizeof d);
        return d;
    }
    float f;
    memcpy(&f, &bits, sizeof f);
    return f;
}

static unsigned
digit_value(char c)
{
    return c <= '9' ? (unsigned)(c - '0') : (unsigned)((c | 32) - 'a') + 10;
}

// 0fXXXXXXXX and 0dXXXXXXXXXXXXXXXX, from the digits on.
static bool
float_bits(struct lexer *lx, unsigned digits, struct lex_number *out)
{
    uint64_t bits = 0;
    const char *p = lx->p;
    for (; lex_is(*p, LEX_HEX) && (unsigned)(p - lx->p) < digits; p++)
        bits = bits << 4 | digit_value(*p);
    bool right = (unsigned)(p - lx->p) == digits && !lex_is(*p, LEX_FOLLOW);
    lx->p = p;
    out->is_float = true;
    if (digits == 8) {
        out->f32_bits = true;
        out->f = lex_float_of_bits((uint32_t)bits);
    } else {
        memcpy(&out->f, &bits, sizeof bits);
    }
    return right;
}

static locale_t c_locale;

static void
make_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

// Decimal floats: the host program's locale must not change the decimal point.
static bool
decimal_float(struct lexer *lx, struct lex_number *out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_locale);
    char *end;
    out->is_float = true;
    out->f = strtod_l(lx->p, &end, c_locale);
    lx->p = end;
    return !lex_is(*end, LEX_FOLLOW);
}

static bool
integer(struct lexer *lx, unsigned base, struct lex_number *out)
{
    const char *p = lx->p;
    uint64_t v = 0;
    bool right = lex_is(*p, LEX_HEX);
    for (; lex_is(*p, base == 16 ? LEX_HEX : LEX_DIGIT); p++) {
        unsigned d = digit_value(*p);
        right &=
            d < base && !__builtin_mul_overflow(v, base, &v) && !__builtin_add_overflow(v, d, &v);
    }
    out->is_unsigned = *p == 'U' || *p == 'u' || v > INT64_MAX;
    if (*p == 'U' || *p == 'u')
        p++;
    out->i = v;
    right &= !lex_is(*p, LEX_FOLLOW);
    while (lex_is(*p, LEX_FOLLOW))
        p++;
    lx->p = p;
    return right;
}

bool
lex_number(struct lexer *lx, struct lex_number *out)
{
    *out = (struct lex_number){0};
    const char *p = lx->p;
    if (*p == '0') {
        char c = p[1] | 32;
        if (c == 'x' || c == 'b') {
            lx->p += 2;
            return integer(lx, c == 'x' ? 16 : 2, out);
        }
        if (c == 'f' || c == 'd') {
            lx->p += 2;
            return float_bits(lx, c == 'f' ? 8 : 16, out);
        }
    }
    while (lex_is(*p, LEX_DIGIT))
        p++;
    if (*p == '.' || *p == 'e' || *p == 'E')
        return decimal_float(lx, out);
    return integer(lx, *lx->p == '0' && p > lx->p + 1 ? 8 : 10, out);
}
