// SPDX-License-Identifier: MIT
// The device library's bitcode, embedded at build time.
#ifndef CPU_DEVLIB_H
#define CPU_DEVLIB_H

#include <stddef.h>

extern const unsigned char devlib_cpu_bc[];
extern const size_t devlib_cpu_bc_size;

#endif
