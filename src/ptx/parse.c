// SPDX-License-Identifier: MIT
// Parser: the module's level and what all of its files use.
#include "ptx/parser.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// ---- errors and recovery -----------------------------------------------------------------------
static bool
report(struct parser *ps, const char *at, const char *fmt, va_list ap)
{
    if (ps->stop)
        return false;
    char text[256];
    vsnprintf(text, sizeof text, fmt, ap);
    ptx_diag_add(ps->d, true, (int)ps->lx.line, (int)lex_col(&ps->lx, at), "%s", text);
    if (ps->d->errors >= PARSE_MAX_ERRORS) {
        ps->stop = true;
        ps->lx.p = ps->lx.end;
    }
    return false;
}

bool
parse_error(struct parser *ps, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(ps, ps->lx.p, fmt, ap);
    va_end(ap);
    return false;
}

bool
parse_error_at(struct parser *ps, const char *at, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    report(ps, at, fmt, ap);
    va_end(ap);
    return false;
}

bool
parse_expect(struct parser *ps, char c)
{
    if (lex_take(&ps->lx, c))
        return true;
    char found[32];
    size_t n = lex_ident(ps->lx.p);
    if (ps->lx.p >= ps->lx.end)
        snprintf(found, sizeof found, "the end");
    else if ((unsigned char)*ps->lx.p < ' ' || (unsigned char)*ps->lx.p > '~')
        snprintf(found, sizeof found, "byte 0x%02x", (unsigned char)*ps->lx.p);
    else
        snprintf(found, sizeof found, "'%.*s'", n ? n > 24 ? 24 : (int)n : 1, ps->lx.p);
    return parse_error(ps, "expected '%c' before %s", c, found);
}

void
parse_recover(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    while (lx->p < lx->end) {
        lex_space_slow(lx);
        if (*lx->p == '}')
            return;
        if (lx->p < lx->end && *lx->p++ == ';')
            return;
    }
}

// At module level a body may follow what was wrong.
static void
recover_module(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    unsigned depth = 0;
    while (lx->p < lx->end) {
        lex_space_slow(lx);
        if (lx->p >= lx->end)
            return;
        char c = *lx->p++;
        if (c == '{')
            depth++;
        else if ((c == ';' && !depth) || (c == '}' && (depth < 2)))
            return;
        else if (c == '}')
            depth--;
    }
}

bool
parse_skip_braces(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    unsigned depth = 0;
    if (!parse_expect(ps, '{'))
        return false;
    for (;;) {
        lex_space_slow(lx);
        if (lx->p >= lx->end)
            return parse_error(ps, "missing '}'");
        char c = *lx->p++;
        if (c == '{')
            depth++;
        else if (c == '}' && depth-- == 0)
            return true;
    }
}

// ---- words -------------------------------------------------------------------------------------
size_t
parse_dotted(struct parser *ps, const char **s)
{
    lex_space(&ps->lx);
    if (*ps->lx.p != '.')
        return 0;
    size_t n = lex_word(ps->lx.p + 1);
    *s = ps->lx.p + 1;
    if (n)
        ps->lx.p += 1 + n;
    return n;
}

int
parse_peek_directive(struct parser *ps)
{
    lex_space(&ps->lx);
    if (*ps->lx.p != '.')
        return -1;
    const struct ptx_word *w =
        ptx_word_find(&ptx_directive_words, ps->lx.p + 1, lex_word(ps->lx.p + 1));
    return w ? (int)w->value : -1;
}

static void
take_directive(struct parser *ps)
{
    ps->lx.p += 1 + lex_word(ps->lx.p + 1);
}

bool
parse_unsigned(struct parser *ps, uint64_t max, uint64_t *out)
{
    struct lex_number n;
    lex_space(&ps->lx);
    const char *at = ps->lx.p;
    if (!lex_is(*at, LEX_DIGIT))
        return parse_error(ps, "expected a number");
    if (!lex_number(&ps->lx, &n) || n.is_float || n.i > max)
        return parse_error_at(ps, at, "number out of range");
    *out = n.i;
    return true;
}

// ---- directives that may stand anywhere --------------------------------------------------------
static bool
skip_string(struct parser *ps)
{
    const char *s;
    size_t n;
    return lex_string(&ps->lx, &s, &n) || parse_error(ps, "expected a string");
}

// .file index "name" {, time, size}
static bool
skip_file(struct parser *ps)
{
    uint64_t v;
    if (!parse_unsigned(ps, UINT64_MAX, &v) || !skip_string(ps))
        return false;
    while (lex_take(&ps->lx, ','))
        if (!parse_unsigned(ps, UINT64_MAX, &v))
            return false;
    return true;
}

static bool
skip_numbers(struct parser *ps, int n)
{
    uint64_t v;
    while (n--)
        if (!parse_unsigned(ps, UINT64_MAX, &v))
            return false;
    return true;
}

// .loc file line column {, function_name label {+ n}} {, inlined_at file line column}
static bool
skip_loc(struct parser *ps)
{
    if (!skip_numbers(ps, 3))
        return false;
    while (lex_take(&ps->lx, ',')) {
        lex_space(&ps->lx);
        size_t n = lex_ident(ps->lx.p);
        bool inlined = n == 10 && !memcmp(ps->lx.p, "inlined_at", 10);
        if (!inlined && !(n == 13 && !memcmp(ps->lx.p, "function_name", 13)))
            return parse_error(ps, "malformed .loc");
        ps->lx.p += n;
        if (inlined) {
            if (!skip_numbers(ps, 3))
                return false;
            continue;
        }
        lex_space(&ps->lx);
        ps->lx.p += lex_ident(ps->lx.p);
        if (lex_take(&ps->lx, '+') && !skip_numbers(ps, 1))
            return false;
    }
    return true;
}

// .pragma "a", "b";
static bool
skip_strings(struct parser *ps)
{
    do {
        if (!skip_string(ps))
            return false;
    } while (lex_take(&ps->lx, ','));
    return parse_expect(ps, ';');
}

static bool
skip_section(struct parser *ps)
{
    lex_space(&ps->lx);
    if (*ps->lx.p == '.')
        ps->lx.p++;
    ps->lx.p += lex_ident(ps->lx.p);
    return parse_skip_braces(ps);
}

bool
parse_common_directive(struct parser *ps, int directive, bool *done)
{
    bool (*fn)(struct parser *) = directive == PTX_D_FILE      ? skip_file
                                  : directive == PTX_D_LOC     ? skip_loc
                                  : directive == PTX_D_SECTION ? skip_section
                                  : directive == PTX_D_PRAGMA  ? skip_strings
                                  : directive == PTX_D_IDENT   ? skip_strings
                                                               : NULL;
    *done = fn != NULL;
    if (!fn)
        return true;
    take_directive(ps);
    return fn(ps);
}

// ---- module level ------------------------------------------------------------------------------
static bool
parse_version(struct parser *ps)
{
    uint64_t major, minor = 0;
    lex_space(&ps->lx);
    const char *p = ps->lx.p;
    for (major = 0; lex_is(*p, LEX_DIGIT) && major < 100; p++)
        major = 10 * major + (uint64_t)(*p - '0');
    if (*p++ != '.')
        return parse_error(ps, "malformed .version");
    ps->lx.p = p;
    if (!parse_unsigned(ps, 9, &minor))
        return false;
    ps->m->version = (int)(10 * major + minor);
    ps->have_version = true;
    return true;
}

static bool
target_word(struct parser *ps, const char *s, size_t n)
{
    static const char *const ignored[] = {"texmode_unified", "map_f64_to_f32"};
    for (size_t i = 0; i < sizeof ignored / sizeof *ignored; i++)
        if (n == strlen(ignored[i]) && !memcmp(s, ignored[i], n))
            return true;
    if (n == 5 && !memcmp(s, "debug", 5)) {
        ps->m->debug = true;
        return true;
    }
    if (n == 19 && !memcmp(s, "texmode_independent", 19)) {
        ps->m->texmode_independent = true;
        return true;
    }
    int sm = 0;
    size_t i = n > 3 && !memcmp(s, "sm_", 3) ? 3 : n > 8 && !memcmp(s, "compute_", 8) ? 8 : n;
    for (; i < n && lex_is(s[i], LEX_DIGIT) && sm < 1000; i++)
        sm = 10 * sm + s[i] - '0';
    char suffix = i + 1 == n ? s[i] : 0;
    if (!sm || (i != n && suffix != 'a' && suffix != 'f'))
        return parse_error(ps, "unknown target '%.*s'", n > 64 ? 64 : (int)n, s);
    ps->m->target = sm;
    ps->m->target_suffix = suffix;
    return true;
}

static bool
parse_target(struct parser *ps)
{
    do {
        lex_space(&ps->lx);
        size_t n = lex_ident(ps->lx.p);
        if (!n)
            return parse_error(ps, "expected a target");
        if (!target_word(ps, ps->lx.p, n))
            return false;
        ps->lx.p += n;
    } while (lex_take(&ps->lx, ','));
    ps->have_target = true;
    return true;
}

static bool
parse_address_size(struct parser *ps)
{
    uint64_t v;
    if (!parse_unsigned(ps, 64, &v))
        return false;
    if (v != 32 && v != 64)
        return parse_error(ps, "address size must be 32 or 64");
    ps->m->address_size = (int)v;
    return true;
}

// .alias name, target; resolved at the end, as the target may come later.
static bool
parse_alias(struct parser *ps)
{
    for (int i = 0; i < 2; i++) {
        lex_space(&ps->lx);
        size_t n = lex_ident(ps->lx.p);
        if (!n)
            return parse_error(ps, "expected a name");
        vec_push(ps->alias_name, ps->lx.p);
        vec_push(ps->alias_len, (uint32_t)n);
        ps->lx.p += n;
        if (!parse_expect(ps, i ? ';' : ','))
            return false;
    }
    return true;
}

static bool
resolve_aliases(struct parser *ps)
{
    for (size_t i = 0; i + 1 < vec_len(ps->alias_name); i += 2) {
        struct ptx_sym *alias = strmap_getn(&ps->m->sym, ps->alias_name[i], ps->alias_len[i]);
        struct ptx_sym *target =
            strmap_getn(&ps->m->sym, ps->alias_name[i + 1], ps->alias_len[i + 1]);
        if (!alias || !target || alias->kind != PTX_SYM_FUNC || target->kind != PTX_SYM_FUNC ||
            !target->func->has_body)
            return parse_error(ps, ".alias needs two functions, the second one with a body");
        if (alias->func != target->func && !alias->func->has_body)
            alias->func = target->func;
    }
    return true;
}

static int
linkage_of(int directive)
{
    switch (directive) {
    case PTX_D_EXTERN:
        return PTX_EXTERN;
    case PTX_D_VISIBLE:
        return PTX_VISIBLE;
    case PTX_D_WEAK:
        return PTX_WEAK;
    case PTX_D_COMMON:
        return PTX_COMMON;
    default:
        return -1;
    }
}

static bool
parse_symbol(struct parser *ps, enum ptx_linkage linkage)
{
    switch (parse_peek_directive(ps)) {
    case PTX_D_ENTRY:
        take_directive(ps);
        return parse_function(ps, linkage, true);
    case PTX_D_FUNC:
        take_directive(ps);
        return parse_function(ps, linkage, false);
    case PTX_D_GLOBAL:
    case PTX_D_CONST:
    case PTX_D_SHARED:
    case PTX_D_LOCAL:
    case PTX_D_TEX:
    case PTX_D_SURF:
    case PTX_D_SAMPLER:
    case PTX_D_PARAM:
        return parse_variable(ps, linkage);
    default:
        return parse_error(ps, "expected a function or variable");
    }
}

static bool
parse_statement(struct parser *ps)
{
    bool done;
    int d = parse_peek_directive(ps);
    bool right = parse_common_directive(ps, d, &done);
    if (done)
        return right;
    switch (d) {
    case PTX_D_VERSION:
        take_directive(ps);
        return parse_version(ps);
    case PTX_D_TARGET:
        take_directive(ps);
        return parse_target(ps);
    case PTX_D_ADDRESS_SIZE:
        take_directive(ps);
        return parse_address_size(ps);
    case PTX_D_ALIAS:
        take_directive(ps);
        return parse_alias(ps);
    case PTX_D_EXTERN:
    case PTX_D_VISIBLE:
    case PTX_D_WEAK:
    case PTX_D_COMMON:
        take_directive(ps);
        return parse_symbol(ps, (enum ptx_linkage)linkage_of(d));
    case -1:
        return parse_error(ps, "expected a directive");
    default:
        return parse_symbol(ps, PTX_STATIC);
    }
}

static void
parse_module(struct parser *ps)
{
    struct lexer *lx = &ps->lx;
    for (;;) {
        lex_space_slow(lx);
        if (lx->p >= lx->end)
            return;
        if (*lx->p == ';')
            lx->p++;
        else if (lx->p[0] == '@' && lx->p[1] == '@')
            lex_skip_line(lx);
        else if (!ps->have_version && parse_peek_directive(ps) != PTX_D_VERSION) {
            parse_error(ps, "module does not start with .version");
            return;
        } else if (!parse_statement(ps))
            recover_module(ps);
    }
}

// ---- entry point -------------------------------------------------------------------------------
static void
finish(struct parser *ps)
{
    struct ptx_module *m = ps->m;
    if (!ps->have_version && !ps->d->errors)
        parse_error(ps, "empty module");
    else if (!ps->have_target && !ps->d->errors)
        parse_error(ps, "missing .target");
    resolve_aliases(ps);
    parse_late_relocs(ps);
    m->nvar = (uint32_t)vec_len(ps->var);
    m->var = arena_array(ps->a, struct ptx_var *, m->nvar + 1);
    for (uint32_t i = 0; i < m->nvar; i++)
        m->var[i] = ps->var[i];
    m->nfunc = (uint32_t)vec_len(ps->func);
    m->func = arena_array(ps->a, struct ptx_func *, m->nfunc + 1);
    for (uint32_t i = 0; i < m->nfunc; i++)
        m->func[i] = ps->func[i];
}

static void
dispose(struct parser *ps)
{
    vec_free(ps->var);
    vec_free(ps->func);
    vec_free(ps->late);
    vec_free(ps->alias_name);
    vec_free(ps->alias_len);
    vec_free(ps->inst);
    vec_free(ps->reg);
    vec_free(ps->range);
    vec_free(ps->fvar);
    vec_free(ps->label);
    vec_free(ps->refs);
    vec_free(ps->scopes);
    names_free(&ps->names);
    free(ps->stack);
    free(ps->cache);
}

static struct ptx_module *
new_module(const char *text, size_t size, const char *name)
{
    struct ptx_module *m = calloc(1, sizeof *m);
    if (!m)
        abort();
    char *copy = arena_alloc(&m->arena, size + LEX_PAD);
    memcpy(copy, text, size);
    memset(copy + size, 0, LEX_PAD);
    m->text = copy;
    m->size = size;
    m->name = arena_strndup(&m->arena, name, strlen(name));
    m->address_size = 32;
    return m;
}

struct ptx_module *
ptx_parse(const char *text, size_t size, const char *name, struct ptx_diags *d)
{
    if (size && !text[size - 1])
        size--;
    if (size > UINT32_MAX / 2) {
        ptx_diag_add(d, true, 0, 0, "module of %zu bytes is too large", size);
        return NULL;
    }
    unsigned before = d->errors;
    struct ptx_module *m = new_module(text, size, name ? name : "ptx");
    struct parser ps = {.m = m, .a = &m->arena, .d = d};
    ps.lx = (struct lexer){.p = m->text, .end = m->text + size, .bol = m->text, .line = 1};
    ps.stack = malloc(PARSE_MAX_OPERANDS * sizeof *ps.stack);
    ps.cache = calloc(PARSE_CACHE, sizeof *ps.cache);
    if (!ps.stack || !ps.cache)
        abort();
    parse_module(&ps);
    finish(&ps);
    dispose(&ps);
    if (d->errors == before && ptx_verify(m, d))
        return m;
    ptx_module_free(m);
    return NULL;
}

void
ptx_module_free(struct ptx_module *m)
{
    if (!m)
        return;
    struct arena a = m->arena; // the module itself lives outside of its arena
    strmap_free(&m->sym);
    free(m);
    arena_free(&a);
}
