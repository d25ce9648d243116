// SPDX-License-Identifier: MIT
// Which NaN an f64 operation delivers, decided off the straight path.
#ifndef CPU_COLD_NANS_H
#define CPU_COLD_NANS_H

#include <llvm-c/Types.h>

// On an optimised module, right before code is generated.
void cold_nans(LLVMModuleRef m);

#endif
