// SPDX-License-Identifier: MIT
// Parameters of the typed node calls as those of the generic ones.
#ifndef DRIVER_GRAPH_PARAMS_H
#define DRIVER_GRAPH_PARAMS_H

#include "polywarp/cuda.h"

void params_kernel(const CUDA_KERNEL_NODE_PARAMS *p, CUgraphNodeParams *q);
void params_kernel_v1(const CUDA_KERNEL_NODE_PARAMS_v1 *p, CUgraphNodeParams *q);
void params_memcpy(const CUDA_MEMCPY3D *p, CUcontext ctx, CUgraphNodeParams *q);
void params_memset(const CUDA_MEMSET_NODE_PARAMS *p, CUcontext ctx, CUgraphNodeParams *q);
void params_host(const CUDA_HOST_NODE_PARAMS *p, CUgraphNodeParams *q);
void params_memops(const CUDA_BATCH_MEM_OP_NODE_PARAMS *p, CUgraphNodeParams *q);
void params_event(CUgraphNodeType type, CUevent event, CUgraphNodeParams *q);

#endif
