// SPDX-License-Identifier: MIT
// Lexer: a cursor over the module's text. The text ends with at least LEX_PAD zero bytes, so that
// no scan needs a length.
#ifndef PTX_LEXER_H
#define PTX_LEXER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { LEX_PAD = 16 };

struct lexer {
    const char *p, *end; // *end is the first padding byte
    const char *bol;     // start of the line that p is in
    uint32_t line;       // 1-based
};

enum {
    LEX_START = 1,  // may start an identifier
    LEX_FOLLOW = 2, // may follow in one
    LEX_DIGIT = 4,
    LEX_WORD = 8, // part of a dotted suffix, colons included
    LEX_HEX = 16
};
extern const uint8_t lex_class[256];

static inline bool
lex_is(char c, uint8_t classes)
{
    return lex_class[(unsigned char)c] & classes;
}

// Skips blanks, comments, lines of the C preprocessor and @@DWARF lines.
void lex_space_slow(struct lexer *lx);

static inline void
lex_space(struct lexer *lx)
{
    if (*lx->p == ' ')
        lx->p++;
    if ((unsigned char)*lx->p <= ' ' || *lx->p == '/' || *lx->p == '#')
        lex_space_slow(lx);
}

static inline uint32_t
lex_col(const struct lexer *lx, const char *at)
{
    return at >= lx->bol ? (uint32_t)(at - lx->bol) + 1 : 1;
}

// Takes the character if it comes next, blanks before it skipped.
static inline bool
lex_take(struct lexer *lx, char c)
{
    lex_space(lx);
    if (*lx->p != c)
        return false;
    lx->p++;
    return true;
}

// Length of the identifier at p, 0 if there is none. `_` is one.
static inline size_t
lex_ident(const char *p)
{
    if (!lex_is(*p, LEX_START))
        return 0;
    const char *q = p + 1;
    while (lex_is(*q, LEX_FOLLOW))
        q++;
    return (size_t)(q - p);
}

// Length of the word at p: [A-Za-z0-9_:]*, without a single trailing colon.
static inline size_t
lex_word(const char *p)
{
    const char *q = p;
    while (lex_is(*q, LEX_WORD))
        q++;
    if (q > p && q[-1] == ':')
        q--;
    return (size_t)(q - p);
}

void lex_skip_line(struct lexer *lx);
// Skips a "string"; its contents go to *s and *n. False if none comes next.
bool lex_string(struct lexer *lx, const char **s, size_t *n);

// A literal number. Integers are 64-bit two's complement.
struct lex_number {
    bool is_float;
    bool is_unsigned; // suffix U, or too large for .s64
    bool f32_bits;    // 0fXXXXXXXX
    uint64_t i;
    double f;
};

// Reads the literal at p, which must start with a digit. False: malformed or out of range; the
// cursor is behind it.
bool lex_number(struct lexer *lx, struct lex_number *out);

// The most frequent number: short, decimal, with the end of an operand right behind it. Otherwise
// nothing is taken.
static inline bool
lex_short_decimal(struct lexer *lx, uint64_t *out)
{
    const char *p = lx->p;
    uint64_t v = 0;
    if (*p == '0' && lex_is(p[1], LEX_FOLLOW))
        return false;
    while (lex_is(*p, LEX_DIGIT) && p - lx->p < 18)
        v = 10 * v + (uint64_t)(*p++ - '0');
    if (p == lx->p || (*p != ',' && *p != ';' && *p != ']' && *p != '}' && *p != ')'))
        return false;
    lx->p = p;
    *out = v;
    return true;
}

// The double of the same value, NaN payloads kept.
double lex_float_of_bits(uint32_t bits);

#endif
