// SPDX-License-Identifier: MIT
// What the files of the matrix instructions share.
#ifndef EMIT_MATRIX_H
#define EMIT_MATRIX_H

#include "emit/core.h"
#include "emit/matrix_form.h"

// wgmma has most: 128 accumulators, four registers or two words of a, ...
enum { EM_MATRIX_WORDS = 148 };

struct matrix_shape {
    unsigned m, n, k;
};

// Words of a call: registers in order, those of 64 bits as two, the low one first.
struct matrix_words {
    LLVMValueRef v[EM_MATRIX_WORDS];
    unsigned n;
    bool bad; // refused
};

enum matrix_type em_matrix_type(enum ptx_type t); // MT_NONE: no matrix has it
unsigned em_matrix_bits(enum matrix_type t);
bool em_wmma_shape(struct matrix_shape s,
                   enum matrix_type t); // is there a wmma.mma of such a and b?
// The shape that a modifier names; zeros if none does. m8n8 and the like have k = 0.
struct matrix_shape em_matrix_shape(const struct ptx_inst *i);
// The n-th .row or .col: is it .col?
bool em_matrix_turned(const struct ptx_inst *i, unsigned n);
void em_matrix_set_shape(struct matrix_form *f, struct matrix_shape s);

// Appends operand k, of as many registers as it must have, each of `bits` (32 or 64).
void em_push_registers(struct emitter *e, const struct ptx_inst *i, unsigned k, unsigned count,
                       unsigned bits, struct matrix_words *w);
void em_push_word(struct matrix_words *w, LLVMValueRef v);
void em_push_address(struct emitter *e, const struct ptx_inst *i, unsigned k,
                     struct matrix_words *w);
// Calls pw.<name>.<words>.<results> and writes the results to operand k, `count` registers of
// `bits`. False if w->bad.
bool em_matrix_call(struct emitter *e, const struct ptx_inst *i, const char *name,
                    struct matrix_form f, struct matrix_words *w, unsigned k, unsigned count,
                    unsigned bits);

#endif
