// SPDX-License-Identifier: MIT
// What the files of the offline compiler share.
#ifndef TOOLS_PWC_H
#define TOOLS_PWC_H

#include "emit/emit.h"

// What the CPU backend asks for on x86-64; emit needs no more of a target.
extern const struct emit_target pwc_target;

// *error, malloc'ed, when the module is not valid.
bool pwc_verify(LLVMModuleRef m, char **error);

// Prints how much of the PTX in a host library compiles; `sample` entries of it, or all with 0.
bool pwc_library(const char *path, unsigned sample);

#endif
