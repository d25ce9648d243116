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

// Changes whenever emitted code changes in meaning: part of every cache key.
extern const unsigned emit_version;

#endif
