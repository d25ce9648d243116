// SPDX-License-Identifier: MIT
// What the verifier's files share.
#ifndef PTX_VERIFY_H
#define PTX_VERIFY_H

#include "ptx/ptx.h"
#include "ptx/tables.h"

enum { VERIFY_CACHE = 256 };

// How far an instruction got in a form; the form that got furthest names the error.
enum verify_stage { FAIL_TYPES, FAIL_SPACE, FAIL_MODS, FAIL_ISA, FAIL_SM, FITS };

// Forms that fit an opcode with its suffixes, operands aside.
struct verify_opcode {
    uint64_t hash;  // 0: free
    uint64_t forms; // bit per form of the op
    uint16_t best;  // index in ptx_forms of the form that got furthest
    uint8_t stage;  // of `best`
};

struct verifier {
    struct ptx_module *m;
    struct ptx_diags *d;
    struct ptx_func *f;
    struct verify_opcode cache[VERIFY_CACHE];
};

// Reports "<op>: text" at the instruction; returns false.
bool verify_error(struct verifier *v, const struct ptx_inst *i, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

// verify_form.c
const struct verify_opcode *verify_forms(struct verifier *v, const struct ptx_inst *i);
bool verify_form_error(struct verifier *v, const struct ptx_inst *i, const struct verify_opcode *o);

// verify_operand.c: do the operands fit the form? If not, why[] says so and *at which operand.
bool verify_operands(const struct verifier *v, const struct ptx_inst *i,
                     const struct ptx_form *form, char why[120]);

#endif
