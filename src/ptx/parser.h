// SPDX-License-Identifier: MIT
// What the parser's files share. A parse_* function leaves the cursor behind what it read and
// returns false after it has reported an error; the statement's loop then resumes behind the next
// semicolon.
#ifndef PTX_PARSER_H
#define PTX_PARSER_H

#include "base/vec.h"
#include "ptx/lexer.h"
#include "ptx/ptx.h"
#include "ptx/tables.h"

enum {
    PARSE_MAX_ERRORS = 20,
    PARSE_MAX_DEPTH = 100,     // brackets in an expression, braces in an initialiser
    PARSE_MAX_SCOPES = 200,    // nested blocks
    PARSE_MAX_REGS = 1 << 21,  // registers of a function
    PARSE_MAX_OPERANDS = 1024, // operands of an instruction, vector elements included
    PARSE_MAX_MODS = 24,
    PARSE_CACHE = 512 // slots of the opcode cache
};

// ---- names of a function (scope.c) -------------------------------------------------------------
// Scoped names: an inner declaration hides an outer one and goes with its block.
enum name_kind { NAME_SYM = 1, NAME_REG, NAME_RANGE };

struct name {
    const char *s;
    uint32_t len, hash;
    uint32_t next; // older entry of the bucket + 1
    uint32_t depth;
    uint8_t kind;
    uint32_t reg, count; // REG, RANGE: first register and how many
    struct ptx_sym *sym;
};

struct names {
    struct name *list; // vec
    uint32_t *bucket;  // entry + 1, 0: empty
    uint32_t nbucket;  // a power of two
};

// Also for the next older entry of that name: names_older.
struct name *names_find(const struct names *t, const char *s, size_t n, bool range);
struct name *names_older(const struct names *t, const struct name *e);
// NULL if the scope at `depth` has the name already.
struct name *names_add(struct names *t, const char *s, size_t n, bool range, uint32_t depth);
void names_cut(struct names *t, size_t length); // forgets the newest entries
void names_free(struct names *t);

// ---- state -------------------------------------------------------------------------------------
// A label used before its definition may be known: filled in when the block ends that defines it.
struct label_ref {
    struct ptx_sym **slot;
    const char *s;
    uint32_t len, line, col;
};

// A symbol named in an initialiser before its declaration.
struct late_reloc {
    struct ptx_var *var;
    uint32_t index;
    const char *s;
    uint32_t len, line, col;
};

struct scope {
    size_t names, refs; // lengths at its start
};

struct opcode_entry {
    const char *s;
    uint32_t len;
    struct ptx_inst inst; // decoded, without operands
};

struct parser {
    struct lexer lx;
    struct ptx_module *m;
    struct ptx_diags *d;
    struct arena *a;
    bool have_version, have_target, stop;

    // module
    struct ptx_var **var; // vecs
    struct ptx_func **func;
    struct late_reloc *late;
    const char **alias_name; // pairs: alias, target; as positions in the text
    uint32_t *alias_len;

    // function being parsed, else NULL
    struct ptx_func *f;
    struct names names;
    uint32_t depth;        // of blocks
    bool single_digits;    // a single register or a prefix whose name ends in a digit was declared
    struct ptx_inst *inst; // vecs
    struct ptx_reg *reg;
    struct ptx_reg_range *range;
    struct ptx_var **fvar;
    struct ptx_sym **label;
    struct label_ref *refs;
    struct scope *scopes;

    struct ptx_operand *stack; // PARSE_MAX_OPERANDS
    unsigned top;
    unsigned nested;            // operands being parsed
    struct opcode_entry *cache; // PARSE_CACHE
};

// ---- parse.c -----------------------------------------------------------------------------------
// Reports at the cursor, or at `at`, which must be on the current line; returns false.
bool parse_error(struct parser *ps, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
bool parse_error_at(struct parser *ps, const char *at, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
bool parse_expect(struct parser *ps, char c);
// Goes behind the next semicolon; stops in front of a closing brace.
void parse_recover(struct parser *ps);
// The word behind a dot at the cursor: its length, *s its start; 0 if there is none. Takes it.
size_t parse_dotted(struct parser *ps, const char **s);
// Looks at the directive at the cursor without taking it; -1: no directive there.
int parse_peek_directive(struct parser *ps);
bool parse_skip_braces(struct parser *ps);
// .file .loc .section .pragma ... that may stand anywhere. *done: it was one.
bool parse_common_directive(struct parser *ps, int directive, bool *done);
bool parse_unsigned(struct parser *ps, uint64_t max, uint64_t *out);

// ---- symbols (parse_decl.c) --------------------------------------------------------------------
struct ptx_sym *parse_find_sym(struct parser *ps, const char *s, size_t n);
struct ptx_sym *parse_new_sym(struct parser *ps, enum ptx_sym_kind kind, const char *s, size_t n);
// Adds a name to the innermost block of the function, or to the module.
bool parse_declare(struct parser *ps, struct ptx_sym *sym, const char *at);
// A variable's declaration behind its linkage: .global .align 4 .u32 a, b[2] = {1, 2};
bool parse_variable(struct parser *ps, enum ptx_linkage linkage);
// One parameter of a list, without the comma.
bool parse_param(struct parser *ps, struct ptx_var *v, bool named);
bool parse_type_word(struct parser *ps, enum ptx_type *type, uint8_t *vec);
bool parse_registers(struct parser *ps); // behind .reg
// Declares one register; returns its number or PTX_NO_REG.
uint32_t parse_new_reg(struct parser *ps, const char *s, size_t n, enum ptx_type t, uint8_t vec);

// ---- initialisers (parse_init.c) ---------------------------------------------------------------
enum { PARSE_MAX_DIMS = 16 };
struct parse_shape {
    uint64_t dim[PARSE_MAX_DIMS]; // 0 in front: unsized
    unsigned n;
};
// Behind the `=`. Sets init, reloc and, for an unsized array, size.
bool parse_initialiser(struct parser *ps, struct ptx_var *v, const struct parse_shape *shape);
bool parse_late_relocs(struct parser *ps);

// ---- constant expressions (parse_expr.c) -------------------------------------------------------
bool parse_constant(struct parser *ps, struct lex_number *out);
bool parse_constant_int(struct parser *ps, int64_t *out);

// ---- functions (parse_func.c, parse_body.c) ----------------------------------------------------
bool parse_function(struct parser *ps, enum ptx_linkage linkage, bool entry);
bool parse_proto(struct parser *ps, struct ptx_proto *proto, bool named, const char **name,
                 size_t *name_len);
bool parse_body(struct parser *ps);

// ---- instructions (parse_inst.c, parse_operand.c, parse_call.c) --------------------------------
bool parse_instruction(struct parser *ps, bool guarded, bool guard_neg, uint32_t guard);
bool parse_guard(struct parser *ps, bool *neg, uint32_t *reg);
bool parse_operand(struct parser *ps, struct ptx_operand *o);
// Operands with commas between, until `close` (not taken). *out: in the arena.
bool parse_operands(struct parser *ps, char close, struct ptx_operand **out, uint32_t *n);
void parse_label_ref(struct parser *ps, struct ptx_sym **slot, const char *s, size_t n);
bool parse_call(struct parser *ps, struct ptx_inst *in);

#endif
