// SPDX-License-Identifier: MIT
// Physical memory as an object (cuMemCreate and imports), shared by the files of virtual memory management.
#ifndef DRIVER_VMM_H
#define DRIVER_VMM_H

#include "driver/driver.h"

struct physical {
    struct object obj;
    struct device *dev;
    CUmemAllocationProp props;
    struct backend_chunk *chunk;
    size_t size;
    // Guarded by vmm_lock; at 0 and 0 it is freed:
    unsigned handles; // cuMemCreate, cuMemImport..., cuMemRetain... less cuMemRelease
    unsigned mappings;
};

extern pthread_mutex_t vmm_lock;

// The object of a handle that was not released; vmm_lock is held.
struct physical *physical_get(CUmemGenericAllocationHandle handle);
// A new object with one handle. Takes the chunk.
struct physical *physical_new(struct device *d, const CUmemAllocationProp *props, struct backend_chunk *chunk);
// Ends a handle or a mapping, whichever `count` (a field of p) counts; vmm_lock is held.
void physical_drop(struct physical *p, unsigned *count);
CUmemGenericAllocationHandle physical_handle(const struct physical *p);
// The physical memory mapped at the address, or NULL; vmm_lock is held.
struct physical *mapped_at(uintptr_t addr);

#endif
