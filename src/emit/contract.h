// SPDX-License-Identifier: MIT
// Contraction of mul and add to fma: the plan of a function, and its use by the arithmetic.
#ifndef EMIT_CONTRACT_H
#define EMIT_CONTRACT_H

#include "emit/arith.h"

// By statement of the function.
struct em_contract {
    uint32_t product;  // of an addition: 1 + statement of the mul that it takes in; 0: none
    uint8_t operand;   // which source (0 or 1) the product is
    bool negated;      // the product's negation is
    bool is_factor;    // of a mul: some addition takes it in
    LLVMValueRef factor[2][2]; // its operands, by lane, once it has been emitted
};

// Fills e->fs->contract for the function being emitted; NULL where there is nothing to contract.
void em_plan_contraction(struct emitter *e);

// To be called with the operands a[0], a[1] of a lane before the operation is emitted; a[2] is
// free. Returns the operation to emit: AR_FMA, with its operands, for a planned addition.
enum arith_op em_contract(struct emitter *e, enum arith_op op, unsigned lane, LLVMValueRef *a);

#endif
