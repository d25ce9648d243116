// SPDX-License-Identifier: MIT
// Lexer: numbers, words, blanks.
#include "check.h"

#include "ptx/half.h"
#include "ptx/lexer.h"
#include "ptx/tables.h"

static char padded[256];

static struct lexer
lexer_of(const char *text)
{
    memset(padded, 0, sizeof padded);
    size_t n = strlen(text);
    memcpy(padded, text, n);
    return (struct lexer){.p = padded, .end = padded + n, .bol = padded, .line = 1};
}

static uint64_t
integer(const char *text, bool *right, bool *is_unsigned)
{
    struct lex_number n;
    struct lexer lx = lexer_of(text);
    *right = lex_number(&lx, &n) && !n.is_float && lx.p == lx.end;
    *is_unsigned = n.is_unsigned;
    return n.i;
}

static void
integers(void)
{
    static const struct {
        const char *text;
        uint64_t value;
        bool is_unsigned, right;
    } cases[] = {
        {"0", 0, false, true},
        {"42", 42, false, true},
        {"42U", 42, true, true},
        {"0x1F", 31, false, true},
        {"0XffffffffffffffffU", UINT64_MAX, true, true},
        {"0xffffffffffffffff", UINT64_MAX, true, true},
        {"017", 15, false, true},
        {"0b101", 5, false, true},
        {"9223372036854775807", INT64_MAX, false, true},
        {"18446744073709551615", UINT64_MAX, true, true},
        {"18446744073709551616", 0, false, false},
        {"0x10000000000000000", 0, false, false},
        {"089", 0, false, false},
        {"12ab", 0, false, false},
        {"0x", 0, false, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        bool right, is_unsigned;
        uint64_t v = integer(cases[i].text, &right, &is_unsigned);
        ok(right == cases[i].right, "%s: accepted %d", cases[i].text, right);
        if (!right)
            continue;
        ok(v == cases[i].value, "%s: got %" PRIu64, cases[i].text, v);
        ok(is_unsigned == cases[i].is_unsigned, "%s: unsigned %d", cases[i].text, is_unsigned);
    }
}

static double
real(const char *text, bool *right, bool *f32)
{
    struct lex_number n;
    struct lexer lx = lexer_of(text);
    *right = lex_number(&lx, &n) && n.is_float && lx.p == lx.end;
    *f32 = n.f32_bits;
    return n.f;
}

static void
floats(void)
{
    bool right, f32;
    CHECK_FLT(real("0f3F800000", &right, &f32), 1.0, 0);
    CHECK(right && f32);
    CHECK_FLT(real("0FBF000000", &right, &f32), -0.5, 0);
    CHECK(right && f32);
    CHECK_FLT(real("0d400921FB54442D18", &right, &f32), M_PI, 0);
    CHECK(right && !f32);
    CHECK_FLT(real("1.5", &right, &f32), 1.5, 0);
    CHECK(right && !f32);
    CHECK_FLT(real("25e-2", &right, &f32), 0.25, 0);
    CHECK(right);
    CHECK(isinf(real("0f7F800000", &right, &f32)) && right);
    real("0f3F80", &right, &f32);
    CHECK(!right);
    real("0f3F8000000", &right, &f32);
    CHECK(!right);
    // NaN payloads survive.
    double nan = real("0f7FC01234", &right, &f32);
    uint64_t bits;
    memcpy(&bits, &nan, 8);
    CHECK_INT(bits, 0x7ff8024680000000);
}

static void
blanks(void)
{
    struct lexer lx = lexer_of("  // one\n/* two\n three */ # 1 \"x\"\n\t .entry");
    lex_space(&lx);
    CHECK_INT(lx.line, 4);
    CHECK_STR(lx.p, ".entry");
    CHECK_INT(lex_col(&lx, lx.p), 3);
    lx = lexer_of("/* open");
    lex_space(&lx);
    CHECK(lx.p == lx.end);
    lx = lexer_of("/ 2");
    lex_space(&lx);
    CHECK_STR(lx.p, "/ 2");
}

static void
identifiers(void)
{
    CHECK_INT(lex_ident("%r12,"), 4);
    CHECK_INT(lex_ident("$L__BB0_1:"), 9);
    CHECK_INT(lex_ident("_ZN3fooEv;"), 9);
    CHECK_INT(lex_ident("_,"), 1);
    CHECK_INT(lex_ident("a%b"), 1);
    CHECK_INT(lex_ident("1a"), 0);
    CHECK_INT(lex_word("L2::cache_hint.u32"), 14);
    CHECK_INT(lex_word("1d.v4"), 2);
}

static void
strings(void)
{
    const char *s;
    size_t n;
    struct lexer lx = lexer_of(" \"a\\\"b\" x");
    CHECK(lex_string(&lx, &s, &n));
    CHECK_INT(n, 4);
    lx = lexer_of("\"open\n\"");
    CHECK(!lex_string(&lx, &s, &n));
    lx = lexer_of("x");
    CHECK(!lex_string(&lx, &s, &n));
}

static const struct ptx_word *
find(const struct ptx_words *t, const char *text)
{
    struct lexer lx = lexer_of(text);
    return ptx_word_find(t, lx.p, strlen(text));
}

// Every name in the tables is found under its spelling.
static void
words(void)
{
    for (unsigned m = 1; m < PTX_MODS; m++) {
        const struct ptx_word *w = find(&ptx_suffixes, ptx_mod_name(m) + 1);
        ok(w && (w->value == m || w->extra == m), "%s", ptx_mod_name(m));
    }
    for (unsigned t = 1; t < PTX_TYPES; t++) {
        const struct ptx_word *w = find(&ptx_suffixes, ptx_type_name(t) + 1);
        ok(w && w->kind == PTX_W_TYPE && w->value == t, "%s", ptx_type_name(t));
    }
    for (unsigned r = 1; r < PTX_SREGS; r++) {
        const struct ptx_word *w = find(&ptx_sreg_words, ptx_sreg_name(r));
        ok(w && w->value == r, "%s", ptx_sreg_name(r));
    }
    CHECK_INT(find(&ptx_suffixes, "nan")->value, PTX_MOD_NAN);
    CHECK_INT(find(&ptx_suffixes, "NaN")->value, PTX_MOD_NAN);
    CHECK_INT(find(&ptx_directive_words, "callprototype")->value, PTX_D_CALLPROTOTYPE);
    CHECK(!find(&ptx_suffixes, "nonesuch"));
    CHECK(!find(&ptx_suffixes, "a_word_that_is_longer_than_any_in_the_table"));
}

static void
halves(void)
{
    CHECK_INT(half_of_double(1.0, 5, 10), 0x3c00);
    CHECK_INT(half_of_double(-2.0, 5, 10), 0xc000);
    CHECK_INT(half_of_double(0.0, 5, 10), 0);
    CHECK_INT(half_of_double(-0.0, 5, 10), 0x8000);
    CHECK_INT(half_of_double(65504.0, 5, 10), 0x7bff);
    CHECK_INT(half_of_double(65520.0, 5, 10), 0x7c00);
    CHECK_INT(half_of_double(0x1p-24, 5, 10), 1);
    CHECK_INT(half_of_double(0x1p-25, 5, 10), 0);
    CHECK_INT(half_of_double(0x1.8p-25, 5, 10), 1);
    CHECK_INT(half_of_double(0x1.ff8p-15, 5, 10), 0x3ff);
    CHECK_INT(half_of_double(0x1.ffcp-15, 5, 10), 0x400);
    CHECK_INT(half_of_double(1.0, 8, 7), 0x3f80);
    CHECK_INT(half_of_double(1.00390625, 8, 7), 0x3f80);
    CHECK_INT(half_of_double(1.01171875, 8, 7), 0x3f82);
}

CHECK_MAIN(T(integers), T(floats), T(blanks), T(identifiers), T(strings), T(words), T(halves))
