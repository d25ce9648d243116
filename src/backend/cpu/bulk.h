// SPDX-License-Identifier: MIT
// What bulk.c and tensor.c share.
#ifndef CPU_BULK_H
#define CPU_BULK_H

#include "backend/cpu/cpu.h"

// Rank of the block that a shared::cluster address names, and the same offset in a block of the cluster as a pointer. A
// rank that the cluster has not ends the launch.
uint32_t address_rank(const struct thread *t, uint32_t address);
char *cluster_address(struct thread *t, uint32_t address, uint32_t rank);

// dst[i] = op(dst[i], src[i]), each atomically; op and number as in emit/emit.h.
unsigned number_bytes(uint32_t number);
void reduce_elements(uint32_t op, uint32_t number, void *dst, const void *src, uint32_t bytes);

#endif
