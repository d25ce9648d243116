// SPDX-License-Identifier: MIT
// The CUDA 13.0 driver API, declared by its documented names and values. A client program may use
// it in place of <cuda.h>. The driver's own sources define POLYWARP_NO_RENAME: there a name means
// exactly the exported symbol of that name.
#ifndef POLYWARP_CUDA_H
#define POLYWARP_CUDA_H

#include "polywarp/cuda_types.h"
#include "polywarp/cuda_api.h"
#include "polywarp/cuda_interop.h"

#ifndef POLYWARP_NO_RENAME
#include "polywarp/cuda_rename.h"
#endif

#endif
