// SPDX-License-Identifier: MIT
// What the compiler's files share.
#ifndef CPU_JIT_H
#define CPU_JIT_H

#include <llvm-c/TargetMachine.h>

#include "backend/cpu/cpu.h"

// dump.c: writes a stage under POLYWARP_DUMP_DIR if POLYWARP_DUMP asks for it.
bool dump_wanted(const char *stage);
void dump_module(const struct compile_request *r, const char *stage, const char *suffix,
                 LLVMModuleRef m);
void dump_assembly(const struct compile_request *r, LLVMTargetMachineRef tm, LLVMModuleRef m);
void dump_object(const struct compile_request *r, const void *object, size_t size);

#endif
