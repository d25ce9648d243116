// SPDX-License-Identifier: MIT
// The host as a target of LLVM.
#ifndef CPU_TARGET_H
#define CPU_TARGET_H

#include <llvm-c/TargetMachine.h>

#include "base/hash.h"
#include "emit/emit.h"

// Initialises LLVM for the host; once. False with the reason logged.
bool target_init(void);
const struct emit_target *target_emit(void); // after target_init
const char *target_cpu(void);
const char *target_features(void);
LLVMTargetMachineRef target_machine_new(int optimize); // for one thread
// Vector registers: how many, and 32-bit lanes in each.
struct registers {
    unsigned count, lanes;
};
struct registers target_registers(void);
// Hash of all that makes code of the same IR differ: CPU, features, LLVM, our build.
struct hash128 target_hash(void);

#endif
