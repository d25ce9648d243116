// SPDX-License-Identifier: MIT
// emit/ gives PTX its meaning: a kernel of a linked program becomes one LLVM module in SIMT IR, scalar IR from the view
// of one thread. What only a target can do is a call to a pw.* function; emit/pw.md lists them: the whole contract of a backend.
#ifndef EMIT_EMIT_H
#define EMIT_EMIT_H

#include <llvm-c/Core.h>

#include "ptx/ptx.h"

// What emit needs to know of a target: data, never behaviour.
struct emit_target {
    const char *triple, *data_layout;
    // LLVM address space used for pointers into each space (index: enum ptx_space). On a CPU all are 0; on AMDGPU 0, -, 1, 3, 4, 5, 4.
    unsigned as[7];
    int sm;           // compute capability told to the program, 121 for 12.1: %nv targets, __CUDA_ARCH__ tests
    bool line_info;   // attach PTX lines as debug locations
};

// Emits the kernel `kernel` and all functions that it can reach (with indirect calls: all address-taken ones) into a new
// module in `ctx`. The kernel is `define void @<name>(ptr %pw, ptr addrspace(as[PARAM]) %params)`. Functions called are internal.
// Returns NULL with errors in `d` (an instruction that is refused is named with its line). Reentrant: contexts are private to
// a thread. The module has not been verified.
LLVMModuleRef emit_kernel(LLVMContextRef ctx, struct ptx_program *p, struct ptx_func *kernel,
                          const struct emit_target *t, struct ptx_diags *d);

// Moves the calls of pw.m.nan.f32 from results to the uses that can tell one NaN from another (nan.c). Optional; worth most after
// mem2reg and before the device library is linked in.
void emit_sink_nans(LLVMModuleRef m);

// ---- numbers in calls of pw.bulk.reduce, pw.tensor and pw.tensormap.replace (pw.md, Asynchronous copies)
enum emit_red {
    EMIT_RED_ADD,
    EMIT_RED_MIN,
    EMIT_RED_MAX,
    EMIT_RED_INC,
    EMIT_RED_DEC,
    EMIT_RED_AND,
    EMIT_RED_OR,
    EMIT_RED_XOR,
    EMIT_REDS
};
enum emit_number {
    EMIT_U32,
    EMIT_S32,
    EMIT_U64,
    EMIT_S64,
    EMIT_F16,
    EMIT_BF16,
    EMIT_F32,
    EMIT_F64
};
enum emit_tensor {
    EMIT_TENSOR_LOAD,
    EMIT_TENSOR_STORE,
    EMIT_TENSOR_REDUCE, // with an operation in bits 16..
    EMIT_TENSOR_DIRECTION = 3,
    EMIT_TENSOR_TILE = 0 << 4,
    EMIT_TENSOR_ROWS = 1 << 4, // four rows of a matrix: tile::gather4, tile::scatter4
    EMIT_TENSOR_IM2COL = 2 << 4,
    EMIT_TENSOR_MODE = 15 << 4,
    EMIT_TENSOR_RANK_SHIFT = 8, // bits 8..11: dimensions
    EMIT_TENSOR_RED_SHIFT = 16
};
enum emit_tensormap_field {
    EMIT_MAP_ADDRESS,
    EMIT_MAP_RANK,
    EMIT_MAP_BOX,
    EMIT_MAP_DIM,
    EMIT_MAP_STRIDE,
    EMIT_MAP_ELEMENT_STRIDE,
    EMIT_MAP_TYPE,
    EMIT_MAP_INTERLEAVE,
    EMIT_MAP_SWIZZLE,
    EMIT_MAP_ATOMICITY,
    EMIT_MAP_FILL
};

// Changes whenever emitted code changes in meaning: part of every cache key.
extern const unsigned emit_version;

#endif
