// SPDX-License-Identifier: MIT
// What the files of the emitter's core share beyond internal.h: state of a module and of a
// function, addresses, calls.
#ifndef EMIT_CORE_H
#define EMIT_CORE_H

#include <llvm-c/DebugInfo.h>

#include "base/map.h"
#include "base/vec.h"
#include "emit/handlers.h"
#include "emit/ir.h"

enum { EM_REG_PARTS_MAX = 8, EM_MAX_ERRORS = 20 };

// An internal table of the functions of one type, for indirect calls (calls.c).
struct emit_table {
    LLVMTypeRef type;   // of the functions
    LLVMValueRef table; // [ntaken + 1 x ptr]; what has another type, and the last one, is a call of
                        // pw.bad_call
};

struct emit_unit {
    struct arena arena;   // names
    struct intmap global; // struct ptx_sym * -> LLVMValueRef: variables of module scope, shared
                          // variables, functions
    struct intmap handle; // struct ptx_func * -> 1 + index in `taken`
    struct ptx_func **pending; // vec: declared functions whose bodies are still to be emitted
    struct ptx_func **taken;   // vec: ptx_address_taken, once taken_known
    bool taken_known;
    struct emit_table *tables; // vec
    uint32_t sites;            // numbers given to instructions over the active lanes
    LLVMDIBuilderRef di;       // NULL without line info
    struct intmap di_file;     // struct ptx_module * -> LLVMMetadataRef
};

struct emit_func {
    LLVMValueRef fn;
    LLVMBasicBlockRef start;  // where the statements begin: the entry block branches here
    LLVMBuilderRef entry;     // at the end of the entry block: allocas and their first values
    LLVMBasicBlockRef *block; // ninst + 1, by statement; NULL where no label stands
    uint32_t *spins;          // ninst + 1: statements before this one whose loops must yield
    uint32_t at;              // the statement being emitted
    uint32_t *first;          // by register: its first slot
    LLVMValueRef
        *slot; // alloca of a register or of a component of a vector register; NULL: not used yet
    LLVMTypeRef *slot_type; // type of a register's alloca
    struct intmap local;    // struct ptx_sym * -> pointer: parameters, .param and .local variables
    LLVMValueRef ret;       // memory of the first result when it is returned by value
    LLVMValueRef carry;
    struct em_contract *contract; // ninst, by statement; NULL: nothing to contract (contract.c)
    LLVMMetadataRef scope; // DISubprogram or NULL
};

// ---- function.c ---------------------------------------------------------------------------------
bool em_function(struct emitter *e, struct ptx_func *f);
// An alloca in the entry block, not initialised.
LLVMValueRef em_alloca(struct emitter *e, LLVMTypeRef t, unsigned align);
// Memory of part `part` (0 but for vector registers) of a register; zero at function entry.
LLVMValueRef em_slot(struct emitter *e, uint32_t reg, unsigned part);
LLVMBasicBlockRef em_block(struct emitter *e, const char *name);
bool em_terminated(struct emitter *e);
// Block of the statement that a label stands before. When that is a loop's back edge, a block that
// yields first.
LLVMBasicBlockRef em_target(struct emitter *e, const struct ptx_sym *label);

// ---- params.c -----------------------------------------------------------------------------------
bool em_bind_parameters(struct emitter *e);
// Leaves the function being emitted, with its results.
void em_return(struct emitter *e);

// ---- slots.c ------------------------------------------------------------------------------------
// Fills first, slot_type and slot: untyped registers that mostly hold floats get float slots.
void em_make_slots(struct emitter *e);
void em_free_slots(struct emitter *e);

// ---- symbols.c ----------------------------------------------------------------------------------
// Pointer to a global, constant, local or parameter variable, in its address space.
LLVMValueRef em_var_pointer(struct emitter *e, struct ptx_sym *sym);
// Offset of a shared variable in the block's window (i32 constant).
LLVMValueRef em_shared_offset(struct emitter *e, struct ptx_sym *sym);
// The LLVM function for a definition; enters it into `pending` when first asked for.
LLVMValueRef em_declare(struct emitter *e, struct ptx_func *f);
// PTX address of a function (i64 constant), or NULL if it is nobody's address.
LLVMValueRef em_handle(struct emitter *e, struct ptx_func *f);
void em_know_taken(struct emitter *e);
// Name of a symbol in the LLVM module: name, or name$k for what is private to module k.
const char *em_symbol_name(struct emitter *e, const struct ptx_sym *sym, char *buf, size_t size);

// ---- abi.c --------------------------------------------------------------------------------------
// How a function's parameters and results travel: pw.md, Shape.
bool em_by_value(const struct ptx_var *v);
LLVMTypeRef em_value_type(struct emitter *e, const struct ptx_var *v);
LLVMTypeRef em_function_type(struct emitter *e, const struct ptx_proto *p);
LLVMTypeRef em_kernel_type(struct emitter *e);
// The first result, if it is returned by value, else NULL.
const struct ptx_var *em_value_result(const struct ptx_proto *p);

// ---- address.c ----------------------------------------------------------------------------------
// Pointer for an access to [o] in the instruction's space. *space (may be NULL) gets the space
// found.
LLVMValueRef em_pointer(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
                        enum ptx_space *space);
// Address as a number in its own space: i32 for shared, else i64.
LLVMValueRef em_address(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
                        enum ptx_space space);
// sym + off as a value: i64, in the symbol's own space.
LLVMValueRef em_symbol_value(struct emitter *e, const struct ptx_inst *i, struct ptx_sym *sym,
                             int64_t off);
enum ptx_space em_symbol_space(const struct ptx_sym *sym);
LLVMValueRef em_to_generic(struct emitter *e, LLVMValueRef address, enum ptx_space space);
LLVMValueRef em_from_generic(struct emitter *e, LLVMValueRef address,
                             enum ptx_space space); // i64 for all spaces
// Address of operand k as a number that is good in every space (i64), and as one in shared::cluster (i32).
LLVMValueRef em_generic_operand(struct emitter *e, const struct ptx_inst *i, unsigned k,
                                enum ptx_space space);
LLVMValueRef em_cluster_operand(struct emitter *e, const struct ptx_inst *i, unsigned k);
// Is the n-th of the shared spaces that the instruction names shared::cluster?
bool em_names_cluster(const struct ptx_inst *i, unsigned n);
// Does an access to [o] read the kernel's parameter block, which nobody writes?
bool em_is_kernel_parameter(struct emitter *e, const struct ptx_inst *i,
                            const struct ptx_operand *o, enum ptx_space space);
LLVMTypeRef em_pointer_type(struct emitter *e, enum ptx_space space);

// ---- value.c ------------------------------------------------------------------------------------
// The n scalar operands that a vector operand stands for: elements of a VEC, parts of a vector
// register. A single operand is itself. Returns n, or 0 when there are more than EM_REG_PARTS_MAX.
unsigned em_parts(struct emitter *e, const struct ptx_operand *o, struct ptx_operand *out);
// An integer made as wide as `to`: truncated or extended.
LLVMValueRef em_resize(struct emitter *e, LLVMValueRef v, LLVMTypeRef to, bool is_signed);
// Bits of any scalar as an integer.
LLVMValueRef em_as_int(struct emitter *e, LLVMValueRef v);
LLVMTypeRef em_int_type(struct emitter *e, unsigned bits);
enum ptx_type em_bits_type(unsigned bytes); // .bN
// Type of an instruction on addresses: .u32 or .u64.
enum ptx_type em_address_type(const struct ptx_inst *i);
unsigned em_bits_of(struct emitter *e, LLVMTypeRef t);
// A pw.* boolean (i32) as i1, and back.
LLVMValueRef em_truth(struct emitter *e, LLVMValueRef v);
LLVMValueRef em_from_bool(struct emitter *e, LLVMValueRef v);
// Splits a packed pw.* result: value in the low 32 bits, predicate in bit 32.
LLVMValueRef em_packed_value(struct emitter *e, LLVMValueRef packed);
LLVMValueRef em_packed_predicate(struct emitter *e, LLVMValueRef packed);
// Writes a packed result to d or d|p.
void em_write_packed(struct emitter *e, const struct ptx_inst *i, enum ptx_type t,
                     LLVMValueRef packed);
unsigned em_align_of(unsigned bytes); // greatest power of two not above, at most 32

// ---- sreg.c -------------------------------------------------------------------------------------
LLVMValueRef em_sreg(struct emitter *e, const struct ptx_inst *i, unsigned sreg,
                     unsigned comp); // i32 or i64

// ---- fence.c ------------------------------------------------------------------------------------
enum em_order { EM_WEAK, EM_RELAXED, EM_ACQUIRE, EM_RELEASE, EM_ACQ_REL, EM_VOLATILE };
enum em_order em_order(const struct ptx_inst *i, enum em_order dflt);
const char *em_scope(const struct ptx_inst *i, const char *dflt); // "cta", "cluster", "gpu", "sys"
void em_fence(struct emitter *e, const char *order, const char *scope);
// The fences that make acquire and release of a relaxed operation between them.
void em_fence_before(struct emitter *e, enum em_order o, const char *scope);
void em_fence_after(struct emitter *e, enum em_order o, const char *scope);

// ---- mbarrier.c ---------------------------------------------------------------------------------
// Generic address of the mbarrier object that operand k names; `cluster`: in shared::cluster.
LLVMValueRef em_generic_barrier(struct emitter *e, const struct ptx_inst *i, unsigned k, bool cluster);
// So many bytes have come that the object's phase waits for.
void em_complete_tx(struct emitter *e, LLVMValueRef barrier, LLVMValueRef bytes);

// ---- attributes.c -------------------------------------------------------------------------------
// Attributes of a pw.* declaration, by its name.
void em_pw_attributes(struct emitter *e, LLVMValueRef fn, const char *name);
void em_add_attribute(struct emitter *e, LLVMValueRef fn, unsigned index, const char *name,
                      uint64_t value);
void em_function_attributes(struct emitter *e, LLVMValueRef fn);

// ---- call.c -------------------------------------------------------------------------------------
// Ends the current block after a call that does not return.
void em_unreachable(struct emitter *e);

// ---- builtins.c ---------------------------------------------------------------------------------
// Calls a function that every device has (vprintf, malloc, ...), else refuses the call, naming the
// function.
bool em_call_builtin(struct emitter *e, const struct ptx_inst *i, const char *name);
// Argument k of the call as an integer of type t; result 0 from the value v.
LLVMValueRef em_call_arg(struct emitter *e, const struct ptx_inst *i, unsigned k, LLVMTypeRef t);
void em_call_result(struct emitter *e, const struct ptx_inst *i, unsigned k, LLVMValueRef v);

// ---- debuginfo.c --------------------------------------------------------------------------------
void em_debug_begin(struct emitter *e);
void em_debug_end(struct emitter *e);
void em_debug_function(struct emitter *e, struct ptx_func *f);
void em_debug_line(struct emitter *e, unsigned line, unsigned col);

#endif
