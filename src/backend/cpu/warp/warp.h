// SPDX-License-Identifier: MIT
// Warp mode: a kernel's SIMT IR becomes one function that runs the 32 threads of a warp as SIMD lanes.
//
// prepare.c inlines everything and gives the function one exit; cfg.c numbers its blocks in an order in which control only
// goes forward but for back edges of loops; diverge.c finds what is the same in all lanes; plan.c decides where control
// may branch and where masks and guards are needed; emit.c and its neighbours write the new function.
#ifndef CPU_WARP_WARP_H
#define CPU_WARP_WARP_H

#include <llvm-c/Core.h>
#include <llvm-c/DebugInfo.h>
#include <llvm-c/Target.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "backend/cpu/cpu.h"
#include "backend/cpu/target.h"
#include "backend/cpu/warp/known.h"
#include "base/map.h"

enum { MAX_FIELDS = 160 }; // of a structure: results of a matrix instruction
enum { WARP = 32, MAX_LANES = 128, MAX_BLOCKS = 3000, MAX_INSTRUCTIONS = 30000, NONE = -1 };

typedef uint64_t bitset;

// What is known of a value's lanes. They stand in rows of w->row lanes each, one row unless the variant is for narrow blocks.
// LINEAR: lane x of row y holds base + x * stride + y * rise (both 0: uniform). ROWS: lane x of row y holds the row's own base
// + x * stride; the rows' bases are kept. VARYING: anything; the lanes' values are kept.
enum shape_kind { SHAPE_UNKNOWN, SHAPE_LINEAR, SHAPE_ROWS, SHAPE_VARYING };

struct shape {
    uint8_t kind;
    // The base went through an extension that is exact only where no lane wraps: good for addresses, and the lanes'
    // values are kept beside it.
    bool guess;
    struct known base;
    int64_t stride, rise;
};

struct value {
    struct shape shape;
    int block;    // that defines it
    int end;      // last block that uses it (width.c)
    bool crosses; // is used in another block
    LLVMValueRef scalar, vector;           // while its block is emitted; scalar of ROWS: a vector of the rows' bases
    LLVMValueRef scalar_slot, vector_slot; // across blocks
    LLVMValueRef in_scalar, in_vector;     // of a phi: what its edges write
    bool blends;                           // of a phi: edges come from different lanes
};

struct wblock {
    LLVMBasicBlockRef bb;
    int succ[2], nsucc;
    int *pred, npred;
    int idom, ipdom, loop;
    LLVMValueRef cond; // of a branch with two successors
    // diverge.c
    bool divergent; // its branch
    bool join;      // lanes come together here from different edges
    bitset *influence; // divergent branches that this block lies behind, before their lanes meet again
    // plan.c
    bitset *deferred; // blocks that may have lanes waiting while this one runs
    int next[2];      // where control goes after the edge; of a divergent branch the first
    int skip;         // where it goes if no lane is here
    bool wants_guard, guard, need_pending;
    bool reaches_barrier; // a barrier is in it or behind it
    int mask_of; // the block that has the same mask; itself if it has one of its own
    // emit.c
    LLVMBasicBlockRef visit;
    LLVMValueRef pending, mask_slot, mask;
};

struct wloop {
    int header, latch, parent;
    bool divergent;
    bitset *blocks;
    int *exits, nexits;
};

// What the function is made for.
struct variant {
    int lanes, row; // threads that run as one, lanes in a row
    bool rows;      // they may span rows of the block in any way
    bool full;      // all of them are there
};

struct warp_build {
    struct border border[MAX_BORDERS]; // border.c
    uint32_t nborders;
    bool on_borders; // they are assumed to be multiples of `lanes`
    LLVMModuleRef m;
    LLVMContextRef ctx;
    LLVMTargetDataRef data;
    const char *kernel;
    LLVMValueRef old; // the thread's view
    struct arena arena;
    struct wblock *block; // in order
    struct wloop *loop;
    int nblocks, nloops;
    int lanes, log_lanes, row; // of the variant
    unsigned log_block[2];     // 2 to these divides the block's width and height
    struct intmap values;   // LLVMValueRef -> struct value
    struct intmap block_at; // LLVMBasicBlockRef -> index + 1
    const char *refused;    // why the kernel stays in thread mode
    struct variant variant;
    bool broken;            // a value was used where it does not exist: an error in here
    bool rows; // while lanes are analysed: tids are any
    bool reads_rows, has_barrier, needs_threads;
    bool plain_barriers; // all of the whole block, without votes
    bool any_width;      // nothing acts across the lanes of a warp
    struct registers registers;
    // emit.c
    LLVMBuilderRef b, entry;
    LLVMValueRef fn, thread, params;
    LLVMMetadataRef scope;
    int at; // block being emitted
    LLVMTypeRef i1, i8, i32, i64, ptr, mask_type, bits_type; // a mask: <lanes x i1>, i<lanes>
};

// ---- cfg.c
bool cfg_build(struct warp_build *w); // false with w->refused
bool loop_contains(const struct warp_build *w, int loop, int block);
static inline bool
bit(const bitset *s, int i)
{
    return s[i >> 6] >> (i & 63) & 1;
}
static inline void
bit_set(bitset *s, int i)
{
    s[i >> 6] |= (bitset)1 << (i & 63);
}
static inline void
bit_clear(bitset *s, int i)
{
    s[i >> 6] &= ~((bitset)1 << (i & 63));
}
static inline int
bit_words(const struct warp_build *w)
{
    return (w->nblocks + 63) / 64;
}
int bit_first(const struct warp_build *w, const bitset *s); // NONE if empty
bool dominates(const struct warp_build *w, int a, int b);

// ---- prepare.c
bool warp_prepare(struct warp_build *w, void *target_machine);
const char *warp_name(LLVMValueRef v);
// The function that a call names, or NULL.
LLVMValueRef called_function(LLVMValueRef call);

// ---- diverge.c
void diverge(struct warp_build *w);
// ---- shapes.c
struct shape shape_after(struct warp_build *w, LLVMValueRef i, int at); // of an instruction in block `at`
// Once fallen, a value never rises: the iteration ends. Returns whether it fell.
bool lower_shape(struct warp_build *w, struct value *x, struct shape s);
struct value *value_of(struct warp_build *w, LLVMValueRef v); // NULL: constant, uniform
struct shape shape_of(struct warp_build *w, LLVMValueRef v);
static inline bool
is_uniform(struct shape s)
{
    return s.kind == SHAPE_LINEAR && s.stride == 0 && s.rise == 0;
}
// lane * stride throughout?
static inline bool
is_straight(const struct warp_build *w, struct shape s)
{
    return s.kind == SHAPE_LINEAR && (w->row == w->lanes || s.rise == s.stride * w->row);
}

// Fields of struct thread behind a pointer that is %pw plus a constant.
enum pw_field { PW_NONE, PW_TID_X, PW_TID_Y, PW_TID_Z, PW_INDEX, PW_LANE, PW_WARP, PW_SHARED_BY_WARP };
enum pw_field pw_field(struct warp_build *w, LLVMValueRef pointer);
bool is_shared_pointer(struct warp_build *w, LLVMValueRef pointer); // into the block's shared window

// Functions of the runtime that mean something for a warp.
enum warp_call {
    CALL_OTHER,
    CALL_UNIFORM, // once, with the first lane's context
    CALL_WARP,
    CALL_WARP_ACTIVE,
    CALL_BARRIER,
    CALL_BARRIER_RED,
    CALL_BARRIER_ARRIVE,
    CALL_CLUSTER_ARRIVE,
    CALL_CLUSTER_WAIT,
    CALL_MATRIX,
    CALL_IGNORE
};
enum warp_call classify_call(LLVMValueRef call);
bool is_elementwise(LLVMValueRef call); // an intrinsic that exists for vectors
bool constant_operand(LLVMValueRef call, unsigned i, uint64_t *out);

bool is_plain(LLVMValueRef access); // neither volatile nor atomic

// ---- border.c
void find_borders(struct warp_build *w);
bool is_border(const struct warp_build *w, uint32_t offset);
bool param_load(struct warp_build *w, LLVMValueRef v, uint32_t *offset);

// ---- width.c
struct variant choose_variant(struct warp_build *w, uint32_t shape);

// ---- walk.c
bool prefers_walk(struct warp_build *w);
void emit_walk(struct warp_build *w);

// ---- plan.c
void plan(struct warp_build *w);

// ---- emit.c
void begin_function(struct warp_build *w, const char *name); // w->fn: warp_fn (cpu.h)
LLVMValueRef warp_emit(struct warp_build *w, const char *name);
LLVMValueRef scalar_of(struct warp_build *w, LLVMValueRef v); // lane 0's value
LLVMValueRef vector_of(struct warp_build *w, LLVMValueRef v);
LLVMValueRef rows_of(struct warp_build *w, LLVMValueRef v); // LINEAR or ROWS: the rows' bases
LLVMValueRef lane_value(struct warp_build *w, LLVMValueRef v, LLVMValueRef lane, LLVMValueRef spilled);
LLVMValueRef block_mask(struct warp_build *w);
bool mask_is_full(LLVMValueRef mask);
LLVMValueRef mask_bits(struct warp_build *w, LLVMValueRef mask); // as an integer of `lanes` bits
LLVMValueRef count_lanes(struct warp_build *w, LLVMValueRef bits); // i32
LLVMValueRef first_lane(struct warp_build *w, LLVMValueRef bits);  // i32
LLVMValueRef splat(struct warp_build *w, LLVMValueRef scalar);
LLVMValueRef const_vector(struct warp_build *w, LLVMTypeRef element, int64_t first, int64_t step);
LLVMValueRef lane_steps(struct warp_build *w, LLVMTypeRef element, struct shape s); // what lanes add to the base
LLVMTypeRef vector_type(struct warp_build *w, LLVMTypeRef t);
LLVMTypeRef rows_type(struct warp_build *w, LLVMTypeRef t);
LLVMValueRef entry_alloca(struct warp_build *w, LLVMTypeRef t);
LLVMValueRef call_intrinsic(struct warp_build *w, const char *name, LLVMTypeRef *over, unsigned nover, LLVMValueRef *arg,
                            unsigned narg);
LLVMValueRef call_runtime(struct warp_build *w, const char *name, LLVMTypeRef result, LLVMValueRef *arg, unsigned narg);
void define_scalar(struct warp_build *w, LLVMValueRef v, LLVMValueRef scalar);
void define_vector(struct warp_build *w, LLVMValueRef v, LLVMValueRef vector);
LLVMValueRef first_active(struct warp_build *w, LLVMValueRef v); // value of the first lane that is here

// ---- emit_value.c: one instruction
void emit_instruction(struct warp_build *w, LLVMValueRef i);
// ---- emit_memory.c
void emit_load(struct warp_build *w, LLVMValueRef i);
void emit_store(struct warp_build *w, LLVMValueRef i);
bool emit_atomic(struct warp_build *w, LLVMValueRef call);
// ---- emit_rows.c: false if the address has no rows that serve; `size`: bytes of an element
bool emit_row_load(struct warp_build *w, LLVMValueRef i, int64_t size);
bool emit_row_store(struct warp_build *w, LLVMValueRef i, int64_t size);
// ---- emit_x86.c: false if there is no instruction for it
bool has_instruction(const struct warp_build *w, const char *name);
bool emit_by_instruction(struct warp_build *w, LLVMValueRef call);
// ---- emit_lanes.c: lane after lane
void emit_by_lane(struct warp_build *w, LLVMValueRef i);
LLVMValueRef spill(struct warp_build *w, LLVMValueRef vector);
LLVMValueRef reload(struct warp_build *w, LLVMValueRef slot, LLVMTypeRef vector);
struct lane_loop {
    LLVMBasicBlockRef body, after;
    LLVMValueRef left, lane;
};
struct lane_loop lane_loop_begin(struct warp_build *w, LLVMValueRef mask);
void lane_loop_end(struct warp_build *w, struct lane_loop *l);
// ---- emit_matrix.c
void emit_matrix(struct warp_build *w, LLVMValueRef call);
// ---- emit_cross.c
void emit_cross(struct warp_build *w, LLVMValueRef call, enum warp_call kind);
LLVMValueRef ended_lanes(struct warp_build *w);

// ---- warp.c (module)
struct warp_request {
    uint32_t shape; // warp_shape() of the blocks
    void *target_machine;
    struct registers registers;
    const void *params; // of the launch that it is for, or NULL
    size_t param_size;
};

struct warp_result {
    uint32_t lanes; // 0: the kernel stays in thread mode
    bool rows;      // needs grid.tids
    bool threads;   // needs the struct thread of every lane
    struct border border[MAX_BORDERS];
    uint32_t nborders;
    bool on_borders; // serves launches whose borders are multiples of `lanes`, or those where one is not
};

// Blocks of one shape can run the same function.
uint32_t warp_shape(const uint32_t block[3]);
// Are all of these parameters multiples of `lanes`?
bool on_borders(const struct border *b, uint32_t n, uint32_t lanes, const void *params, size_t size);
// Replaces the kernel by its warp form, or leaves it (inlined) with the reason logged.
struct warp_result warp_vectorise(LLVMModuleRef m, const char *kernel, const struct warp_request *r);

#endif
