// SPDX-License-Identifier: MIT
// SIMT IR -> IR for the host. lower() before the optimiser, lower_facts() after it.
#ifndef CPU_LOWER_H
#define CPU_LOWER_H

#include <llvm-c/Core.h>

#include "backend/cpu/cpu.h"

// Shared-memory layout that lower() found.
struct shared_layout {
    uint32_t bytes, dynamic_offset;
};

// Renames the kernel to KERNEL_SYMBOL, lays out shared memory, links the device library in. False
// after logging what is refused.
bool lower(LLVMModuleRef m, const char *kernel, struct shared_layout *shared);
// Gives the calls of pw.mma and pw.matrix their bodies.
void lower_matrix_calls(LLVMModuleRef m);
// warp/emit_x86.c: functions of the device library for which the processor has an instruction.
void lower_for_processor(LLVMModuleRef m);
// Computes the facts and adds them as the constant FACTS_SYMBOL.
// `known`: what is not seen in the module.
void lower_facts(LLVMModuleRef m, const struct shared_layout *shared, const struct kernel_facts *known);

#endif
