// SPDX-License-Identifier: MIT
// Tables generated from ops.tab: words of the language and the forms of each instruction.
#ifndef PTX_TABLES_H
#define PTX_TABLES_H

#include <string.h>

#include "ptx/ptx.h"

// ---- words -------------------------------------------------------------------------------------
enum ptx_word_kind {
    PTX_W_NONE,
    PTX_W_MOD,   // value: enum ptx_mod
    PTX_W_EXT,   // only part of a dotted opcode
    PTX_W_TYPE,  // value: enum ptx_type; extra: the modifier of that spelling, if any
    PTX_W_SPACE, // value: enum ptx_space; extra: the modifier (shared::cta), if any
    PTX_W_VEC,   // value: 2, 4, 8
    PTX_W_OP,    // value: index in ptx_op_nodes
    PTX_W_SREG,  // value: enum ptx_sreg; extra: 4 if it has components
    PTX_W_DIRECTIVE
};

struct ptx_word {
    char text[31];
    uint8_t len;
    uint8_t kind;
    uint16_t value, extra;
};

struct ptx_words {
    const struct ptx_word *slot;
    uint64_t mult;
    unsigned shift;
};

extern const struct ptx_words ptx_suffixes, ptx_op_words, ptx_sreg_words, ptx_directive_words;

// First and last eight bytes and the length of a word, mixed. Eight bytes at `s` must be readable.
static inline uint64_t
ptx_word_key(const char *s, size_t n)
{
    uint64_t first, last = 0;
    memcpy(&first, s, 8);
    if (n < 8)
        first &= ((uint64_t)1 << 8 * n) - 1;
    else if (n > 8)
        memcpy(&last, s + n - 8, 8);
    return first ^ last * 31 ^ n;
}

static inline const struct ptx_word *
ptx_word_find(const struct ptx_words *t, const char *s, size_t n)
{
    if (n == 0 || n >= sizeof t->slot->text)
        return NULL;
    const struct ptx_word *w = t->slot + (ptx_word_key(s, n) * t->mult >> t->shift);
    for (int i = 0; i < 4; i++, w++)
        if (w->len == n && !memcmp(w->text, s, n))
            return w;
    return NULL;
}

// Tree of dotted opcode names: cp -> async -> bulk.
struct ptx_op_node {
    char text[32];
    uint8_t len;
    uint16_t op; // 0: only a prefix of others
    uint16_t child, nchild;
};
extern const struct ptx_op_node ptx_op_nodes[];

enum ptx_directive {
#define D(name) PTX_D_##name
    D(VERSION),
    D(TARGET),
    D(ADDRESS_SIZE),
    D(ENTRY),
    D(FUNC),
    D(VISIBLE),
    D(EXTERN),
    D(WEAK),
    D(COMMON),
    D(GLOBAL),
    D(SHARED),
    D(CONST),
    D(LOCAL),
    D(PARAM),
    D(REG),
    D(TEX),
    D(ALIGN),
    D(PRAGMA),
    D(FILE),
    D(LOC),
    D(SECTION),
    D(ALIAS),
    D(ATTRIBUTE),
    D(CALLPROTOTYPE),
    D(CALLTARGETS),
    D(BRANCHTARGETS),
    D(MAXNTID),
    D(REQNTID),
    D(MINNCTAPERSM),
    D(MAXNCTAPERSM),
    D(MAXNREG),
    D(NORETURN),
    D(ABI_PRESERVE),
    D(ABI_PRESERVE_CONTROL),
    D(EXPLICITCLUSTER),
    D(REQNCTAPERCLUSTER),
    D(MAXCLUSTERRANK),
    D(BLOCKSARECLUSTERS),
    D(PTR),
    D(SREG),
    D(UNIFIED),
    D(MANAGED),
    D(SURF),
    D(SAMPLER),
    D(IDENT),
    PTX_DIRECTIVES
#undef D
};

// ---- forms -------------------------------------------------------------------------------------
// Type of an operand in a form: 0..3 the type written at that place, or one of these. PTX_T_WIDER
// + k: type k or a wider register.
enum { PTX_T_WIDER = 4, PTX_T_WIDE = 8, PTX_T_ANY = 9, PTX_T_FIXED = 16 /* + enum ptx_type */ };

enum {
    PTX_F_END = 1,  // ends a basic block
    PTX_F_MEM = 2,  // touches memory or orders accesses to it
    PTX_F_VEC = 4,  // takes .v2 .v4 .v8
    PTX_F_MASK = 8, // .b1 and .b32 are lane masks
    PTX_F_NOGUARD = 16,
    PTX_F_FREE = 32 // operands unchecked
};

struct ptx_form_operand {
    char kind;  // d D s S i p q m t l f x, see ops.tab
    char kind2; // of the second half of a pair, else 0
    uint8_t optional;
    uint8_t type;
};

struct ptx_form_type {
    uint64_t set; // bit per enum ptx_type
    uint8_t optional;
};

// At least `least` and at most `most` modifiers of a set.
struct ptx_form_group {
    uint16_t set;
    uint8_t least, most;
};

struct ptx_form {
    uint16_t operand;
    uint8_t noperand;
    uint16_t type;
    uint8_t ntype;
    uint16_t group;
    uint8_t ngroup;
    uint16_t allowed; // union of its groups, in ptx_mod_sets
    uint8_t spaces;   // bit per enum ptx_space; bit 0: may be missing
    uint8_t isa;
    uint8_t sm;
    uint8_t flags;
};

struct ptx_op_info {
    uint16_t form, nform;
    uint8_t isa, sm; // least over its forms
    uint8_t flags;   // union over its forms
};

struct ptx_sreg_info {
    uint8_t type, vec, isa;
};

extern const uint64_t ptx_mod_sets[][PTX_MOD_WORDS];
extern const struct ptx_form_operand ptx_form_operands[];
extern const struct ptx_form_type ptx_form_types[];
extern const struct ptx_form_group ptx_form_groups[];
extern const struct ptx_form ptx_forms[];
extern const struct ptx_op_info ptx_op_infos[PTX_OPS];
extern const struct ptx_sreg_info ptx_sreg_infos[PTX_SREGS];

#endif
