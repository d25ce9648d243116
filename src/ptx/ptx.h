// SPDX-License-Identifier: MIT
// PTX as a typed tree: what the parser makes of a module's text and what emit/ and the driver read.
// All of a module's nodes live in its arena and are immutable once parsed, but for ptx_sym.def,
// which ptx_link sets. No LLVM here.
#ifndef PTX_PTX_H
#define PTX_PTX_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/map.h"

#include "ptx_enums.h" // generated from ptx/ops.tab: enum ptx_op, enum ptx_mod, enum ptx_sreg

// ---- types ------------------------------------------------------------------------------------
enum ptx_type {
    PTX_NONE,
    PTX_PRED,
    PTX_B8, PTX_B16, PTX_B32, PTX_B64, PTX_B128,
    PTX_U8, PTX_U16, PTX_U32, PTX_U64,
    PTX_S8, PTX_S16, PTX_S32, PTX_S64,
    PTX_F16, PTX_F16X2, PTX_BF16, PTX_BF16X2, PTX_TF32, PTX_F32, PTX_F32X2, PTX_F64,
    PTX_U16X2, PTX_S16X2,
    PTX_U8X4, PTX_S8X4, PTX_U4X8, PTX_S4X8, // operand formats of video and mma instructions
    PTX_U4, PTX_S4, PTX_U2, PTX_S2, PTX_B1, PTX_B4, PTX_B6, PTX_B4X16, PTX_B8X16, PTX_B6X16_P32,
    PTX_B4X16_P64, PTX_E4M3, PTX_E5M2, PTX_E3M2, PTX_E2M3, PTX_E2M1, PTX_UE8M0, PTX_UE4M3,
    PTX_E4M3X2, PTX_E5M2X2, PTX_E3M2X2, PTX_E2M3X2, PTX_E2M1X2, PTX_UE8M0X2,
    PTX_E4M3X4, PTX_E5M2X4, PTX_E3M2X4, PTX_E2M3X4, PTX_E2M1X4,
    PTX_TEXREF, PTX_SAMPLERREF, PTX_SURFREF,
    PTX_TYPES
};

// Size in bits of a value of the type in a register; 1 for PTX_PRED, 0 for opaque types.
unsigned ptx_type_bits(enum ptx_type t);
const char *ptx_type_name(enum ptx_type t); // with the leading dot: ".u32"
bool ptx_type_signed(enum ptx_type t);      // .sN
bool ptx_type_float(enum ptx_type t);       // .f16 .f16x2 .bf16 .bf16x2 .tf32 .f32 .f32x2 .f64 and the small formats

enum ptx_space {
    PTX_SPACE_GENERIC, // none written
    PTX_SPACE_REG,
    PTX_SPACE_GLOBAL,
    PTX_SPACE_SHARED,
    PTX_SPACE_CONST,
    PTX_SPACE_LOCAL,
    PTX_SPACE_PARAM
};

// ---- symbols -----------------------------------------------------------------------------------
enum ptx_linkage {
    PTX_STATIC, // none written: private to the module
    PTX_EXTERN,
    PTX_VISIBLE,
    PTX_WEAK,
    PTX_COMMON
};

enum ptx_sym_kind { PTX_SYM_VAR, PTX_SYM_FUNC, PTX_SYM_PARAM, PTX_SYM_LABEL, PTX_SYM_PROTO, PTX_SYM_TARGETS };

struct ptx_func;
struct ptx_module;

// A module's or function's name other than a register.
struct ptx_sym {
    const char *name; // NUL-terminated, unique within its scope
    enum ptx_sym_kind kind;
    enum ptx_linkage linkage;
    struct ptx_module *module;
    int line;
    // What this symbol stands for after ptx_link: itself for a definition, another module's
    // definition for a resolved .extern; NULL while unresolved. Use ptx_def(sym).
    struct ptx_sym *def;
    union {
        struct ptx_var *var;         // VAR, PARAM
        struct ptx_func *func;       // FUNC
        struct ptx_proto *proto;     // PROTO (.callprototype)
        struct ptx_targets *targets; // TARGETS (.calltargets, .branchtargets)
        uint32_t label;              // LABEL: index of the statement that it precedes
    };
    void *user; // free for the one reader that runs at a time (emit)
};

static inline struct ptx_sym *
ptx_def(struct ptx_sym *s)
{
    return s->def ? s->def : s;
}

// One address inside an initialiser: `size` bytes at `offset` get (address of sym + addend) >> shift.
struct ptx_reloc {
    uint64_t offset;
    struct ptx_sym *sym;
    int64_t addend;
    uint8_t size;    // 1, 2, 4, 8
    uint8_t shift;   // bits: mask operators 0xFF(sym), 0xFF00(sym), ...
    bool generic;    // generic(sym): the generic address, else the address in sym's own space
};

// .global .const .shared .local variable, or a .param of a function.
struct ptx_var {
    struct ptx_sym *sym;
    enum ptx_space space;
    enum ptx_type type;   // element type
    uint8_t vec;          // 1, 2, 4 elements of a vector type
    uint32_t align;       // bytes, a power of two; never 0
    uint64_t size;        // bytes in all; 0 for an unsized array (extern .shared x[])
    bool is_array;
    bool unsized;         // declared with []
    bool managed;         // .attribute(.managed)
    bool opaque;          // .texref .samplerref .surfref
    int bank;             // .const[bank], else 0
    uint8_t *init;        // `init_size` bytes, rest zero; NULL: all zero
    uint64_t init_size;
    struct ptx_reloc *reloc;
    uint32_t nreloc;
    // parameters only
    uint64_t offset;      // bytes from the start of the kernel's parameter block; .reg parameter: its register's number
    enum ptx_space ptr_space; // .ptr .global ...: SPACE_GENERIC when not said
    uint32_t ptr_align;   // 0 when not said
};

// ---- registers ---------------------------------------------------------------------------------
// Registers are numbered within their function from 0, block scopes flattened (each declaration has own numbers).
struct ptx_reg {
    const char *name; // "%r12" or a single name; built on demand by ptx_reg_name, else NULL
    enum ptx_type type;
    uint8_t vec; // .v2 .v4 registers: element count, else 1
};

// Registers prefix0 .. prefix<count-1>, numbered from `first`.
struct ptx_reg_range {
    const char *prefix;
    uint32_t first, count;
};

// ---- operands ----------------------------------------------------------------------------------
enum ptx_operand_kind {
    PTX_O_NONE,
    PTX_O_REG,    // reg; with `neg` a negated predicate operand (!p)
    PTX_O_INT,    // ival (two's complement in 64 bits)
    PTX_O_FLT,    // fval; `f32_bits` says that it was written 0fXXXXXXXX (fval holds it exactly)
    PTX_O_SYM,    // sym + off as a value: variable, function, label, parameter
    PTX_O_SREG,   // sreg, comp: %tid.x
    PTX_O_ADDR,   // [base + off]; base: reg, sym or none (absolute)
    PTX_O_VEC,    // {a, b, ...}: n elements
    PTX_O_PAIR,   // d|p: n = 2 elements (destination and predicate)
    PTX_O_SINK,   // _
    PTX_O_TEX     // [tex, coord] or [tex, sampler, coord] or [map, {coords}]: n elements
};

enum { PTX_COMP_LANES = 11 };

struct ptx_operand {
    uint8_t kind;
    bool neg;      // !p on a predicate, or unary minus in front of a register where the ISA has it
    bool f32_bits; // PTX_O_FLT from 0f...
    uint8_t comp;  // 1..4 for .x .y .z .w of a vector register or special register, 0 for none; with PTX_O_REG 5..8: .b0-.b3, 9..10: .h0 .h1, or
                   // PTX_COMP_LANES
    uint16_t n;    // VEC, PAIR, TEX; with PTX_COMP_LANES the digits of `sel`
    uint16_t sreg; // enum ptx_sreg
    uint32_t reg;  // REG; ADDR with base register (else UINT32_MAX)
    uint16_t sel;  // with PTX_COMP_LANES: lanes of a SIMD video operand, 4 bits each, the last one written lowest: .h10, .b3210
    union {
        uint64_t ival;
        double fval;
        int64_t off; // SYM, ADDR: bytes
    };
    struct ptx_sym *sym;      // SYM, ADDR (else NULL)
    struct ptx_operand *elem; // VEC, PAIR, TEX
};

#define PTX_NO_REG UINT32_MAX

// ---- instructions ------------------------------------------------------------------------------
enum { PTX_MOD_WORDS = 9 };

struct ptx_call; // operands of call, else NULL

struct ptx_inst {
    uint16_t op;         // enum ptx_op
    uint8_t ntype;
    uint8_t type[5];     // enum ptx_type in the order written: cvt.rn.f32.s32 -> F32, S32
    uint8_t space;       // enum ptx_space of ld/st/atom/cvta..., first one written
    uint8_t space2;      // second one (cp.async.bulk.shared.global)
    uint8_t vec;         // 1, 2, 4, 8 from .v2 ...
    bool guarded;        // @p / @!p in front
    bool guard_neg;
    uint8_t noperand;
    uint16_t nmod;
    uint32_t guard;      // register
    uint32_t line, col;  // 1-based, in the module's text
    uint64_t mods[PTX_MOD_WORDS]; // bit set over enum ptx_mod
    const uint16_t *mod; // nmod modifiers in the order written (types, spaces and .vN excluded)
    struct ptx_operand *operand; // destination first, as written
    struct ptx_call *call;
};

struct ptx_call {
    struct ptx_operand *ret;  // 0 or more parameters (symbols of .param space or registers)
    struct ptx_operand *arg;
    uint16_t nret, narg;
    struct ptx_operand target; // SYM of a function, or REG: indirect
    struct ptx_sym *proto;     // indirect: PROTO or TARGETS symbol; else NULL
};

static inline bool
ptx_has(const struct ptx_inst *i, enum ptx_mod m)
{
    return i->mods[m / 64] >> (m % 64) & 1;
}

// ---- functions ---------------------------------------------------------------------------------
struct ptx_proto {
    struct ptx_var *ret, *param; // arrays; sym may be NULL for unnamed ones
    uint32_t nret, nparam;
    bool noreturn, variadic;
};

struct ptx_targets {
    struct ptx_sym **sym; // functions or labels
    uint32_t n;
};

struct ptx_func {
    struct ptx_sym *sym;
    struct ptx_proto proto;
    bool is_entry;
    bool has_body;
    bool unique_cta;         // .blocksareclusters
    uint32_t maxntid[3], reqntid[3]; // 0,0,0: not said
    uint32_t minnctapersm, maxnctapersm, maxnreg;
    uint32_t reqnctapercluster[3], maxclusterrank;
    bool explicit_cluster;
    uint64_t param_size;     // bytes of the kernel's parameter block
    struct ptx_inst *inst;   // the body, scopes flattened
    uint32_t ninst;
    struct ptx_reg *reg;
    uint32_t nreg;
    struct ptx_reg_range *range; // declarations like %r<100>, by ascending first register
    uint32_t nrange;
    struct ptx_var **var;    // .local .shared .const .global .param declared in the body
    uint32_t nvar;
    struct ptx_sym **label;  // LABEL symbols by ascending statement index
    uint32_t nlabel;
    int line;
};

struct ptx_module {
    struct arena arena;
    const char *name;       // for messages
    const char *text;       // the module's own copy
    size_t size;
    int version;            // 90 for .version 9.0
    int target;             // 75 for sm_75
    char target_suffix;     // 'a', 'f' or 0
    bool debug, texmode_independent;
    bool no_fmad;           // set by who loads it: mul and add are not contracted (ptxas' --fmad=false)
    int address_size;       // 32 or 64
    struct ptx_var **var;
    uint32_t nvar;
    struct ptx_func **func; // definitions and declarations
    uint32_t nfunc;
    struct strmap sym;      // module scope: name -> struct ptx_sym
};

// ---- diagnostics -------------------------------------------------------------------------------
struct ptx_diag {
    int line, col;
    bool error; // else a warning
    const char *text;
};

// Collects messages; zero it first. Messages live in its own arena.
struct ptx_diags {
    struct arena arena;
    struct ptx_diag *list; // vec
    unsigned errors;
};

void ptx_diag_add(struct ptx_diags *d, bool error, int line, int col, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
// "name:line:col: error: text" lines, as ptxas prints them; into the arena.
const char *ptx_diags_text(struct ptx_diags *d, struct arena *a, const char *name);
void ptx_diags_free(struct ptx_diags *d);

// ---- entry points ------------------------------------------------------------------------------
// Parses and verifies `size` bytes of text (no terminating NUL needed; one trailing NUL is allowed). The text is
// copied. Returns NULL with at least one error in `d`. Any bytes are safe to pass. At most 20 errors are collected.
struct ptx_module *ptx_parse(const char *text, size_t size, const char *name, struct ptx_diags *d);
// Checks types, operand counts, spaces, ISA and sm versions of what ptx_parse read; called by it.
bool ptx_verify(struct ptx_module *m, struct ptx_diags *d);
void ptx_module_free(struct ptx_module *m);

// A set of modules that see each other's .visible, .weak and .common symbols: what becomes one CUmodule.
struct ptx_program {
    struct ptx_module **module;
    uint32_t nmodule;
    struct strmap sym; // linked names -> defining struct ptx_sym
};

// Links n >= 1 modules (owned by the program afterwards, also on failure). Sets ptx_sym.def. An .extern that nobody
// defines is an error unless `allow_undefined` or it is one of the functions that every device has (vprintf, malloc, free,
// __assertfail, __nvvm..., cudadevrt's __cuda_syscall_*: ptx_is_builtin). Returns NULL with errors in `d`.
struct ptx_program *ptx_link(struct ptx_module **m, uint32_t n, bool allow_undefined, struct ptx_diags *d);
void ptx_program_free(struct ptx_program *p);
bool ptx_is_builtin(const char *name);

// Kernel of that name that has a body, or NULL.
struct ptx_func *ptx_find_kernel(const struct ptx_program *p, const char *name);
// Variable of .global or .const space, or NULL.
struct ptx_var *ptx_find_var(const struct ptx_program *p, const char *name);

// What a kernel needs over its whole call graph.
struct ptx_kernel_info {
    uint32_t static_shared; // bytes
    uint32_t local_bytes;   // per thread, along the deepest non-recursive path
    uint32_t const_bytes;   // of the program
    uint32_t num_regs;      // an estimate in 1..255: NVIDIA's meaning does not apply
    bool recursive, indirect_calls, uses_cooperative; // %envreg1/2 read
};
void ptx_kernel_info(const struct ptx_program *p, const struct ptx_func *kernel, struct ptx_kernel_info *out);

// Functions whose address is taken anywhere in the program, in a fixed order. A function's address as PTX code sees it is
// PTX_FUNC_HANDLE_BASE + 16 * its index here, the same in all kernels of the program. vec; caller frees.
#define PTX_FUNC_HANDLE_BASE 0x1000u
struct ptx_func **ptx_address_taken(const struct ptx_program *p);

const char *ptx_op_name(enum ptx_op op);
const char *ptx_mod_name(enum ptx_mod m); // with the leading dot
const char *ptx_sreg_name(enum ptx_sreg r); // "tid", "laneid", "envreg1", ... without %
const char *ptx_reg_name(struct ptx_func *f, uint32_t reg);

#endif
