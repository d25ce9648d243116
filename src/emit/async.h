// SPDX-License-Identifier: MIT
// What async.c and tensor.c share: copies of many bytes at once.
#ifndef EMIT_ASYNC_H
#define EMIT_ASYNC_H

#include "emit/core.h"

struct bulk {
    enum ptx_space to, from;
    bool to_cluster, from_cluster; // shared::cluster
    bool on_barrier, multicast;
};

bool em_describe_bulk(struct emitter *e, const struct ptx_inst *i, struct bulk *b);
// Generic address of operand k; `cluster`: it is one in shared::cluster.
LLVMValueRef em_bulk_operand(struct emitter *e, const struct ptx_inst *i, unsigned k, enum ptx_space space,
                             bool cluster);
unsigned em_reduction(const struct ptx_inst *i); // enum emit_red; EMIT_REDS: none is named
bool em_tensor_copy(struct emitter *e, const struct ptx_inst *i); // tensor.c

#endif
