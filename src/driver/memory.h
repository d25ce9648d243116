// SPDX-License-Identifier: MIT
// Memory, copies, fills and pools: what their files share and others need not know.
#ifndef DRIVER_MEMORY_H
#define DRIVER_MEMORY_H

#include "driver/driver.h"

// ---- table (memtable.c) ---------------------------------------------------
// Takes out any one allocation of the context.
bool mem_remove_context(const struct context *c, struct mem *out);
bool mem_overlaps(const void *p, size_t size); // any byte of it is in the table

// ---- commands -------------------------------------------------------------
enum submit_mode {
    SUBMIT_SYNC, // a synchronous call: waits where CUDA does
    SUBMIT_ASYNC,
    SUBMIT_READ_SOURCE // asynchronous, but the source is read before the call returns
};
// The calls' common ends. They own the command; NULL means that there is nothing to do but to check
// the stream.
CUresult copy_submit(CUstream stream, struct command *c, enum submit_mode mode);
CUresult fill_submit(CUstream stream, struct command *c, enum submit_mode mode);

// What a pointer argument may be: memory that the driver knows, host memory, or any. `write`: it is the destination.
enum side { SIDE_DEVICE, SIDE_HOST };
CUresult side_check(const void *p, size_t size, enum side side, bool write);

// Check and build: *out is NULL with success when there is nothing to copy or fill.
CUresult copy3d_command(const CUDA_MEMCPY3D *p, struct command **out);
CUresult fill_command(const CUDA_MEMSET_NODE_PARAMS *p, struct command **out);

CUresult array_get(CUarray handle, struct array **out);

// Advice for ranges of managed memory ends with the allocation (managed.c).
void managed_forget(uintptr_t addr, size_t size);

// ---- memory of other processes (ipc.c) ------------------------------------
// Where an allocation lies, for another process of this machine; as many bytes as CUDA's handles have.
struct ipc_place {
    uint32_t magic;
    int32_t pid, fd;  // the file is open there under that number
    uint32_t unused;
    uint64_t inode;   // of the file, to notice that the numbers mean something else by now
    uint64_t offset, size; // bytes, of the allocation in the file
    uint64_t reserved[3];
};
_Static_assert(sizeof(struct ipc_place) == CU_IPC_HANDLE_SIZE, "");

// Fills in the place of [p, p + size), memory that the backend allocated in the context.
CUresult ipc_export(struct context *c, void *p, size_t size, struct ipc_place *out);
// Maps it: again the same address when it is mapped already. `pool`: for the table of allocations.
CUresult ipc_import(struct context *c, const struct ipc_place *place, struct pool *pool, void **out);
// Ends one import of the memory at its address.
CUresult ipc_close(void *p);
void ipc_forget_context(const struct context *c);
// The file that `place` names, opened here, or -1.
int ipc_open_file(int pid, int fd, uint64_t inode);

// ---- pools ----------------------------------------------------------------
struct pool_chunk;
struct pool_block;

struct pool {
    struct object obj;
    struct device *dev;
    CUmemPoolProps props;
    bool is_default;
    int imported; // id of the process whose pool it is; 0: of this one
    CUmemAccess_flags access[MAX_DEVICES];
    pthread_mutex_t lock;                              // guards all below
    bool destroyed;                                    // freed once nothing of it is used
    struct pool_chunk **chunks;                        // vec
    struct pool_block **idle;                          // vec: blocks that are not in use
    struct intmap used_blocks;                         // address -> struct pool_block
    uint64_t threshold;                                // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, bytes
    int reuse[4];                                      // by CU_MEMPOOL_ATTR_REUSE_*
    uint64_t reserved, reserved_high, used, used_high; // bytes
};

// pool_alloc.c. A block of `size` bytes for use in stream s from now on, entered into the table of
// allocations.
CUresult pool_take(struct pool *p, struct stream *s, size_t size, void **out);
// Gives it back (it is out of the table): reusable in s at once, elsewhere when s has got that far.
// s NULL: nothing uses it any more.
void pool_give(struct pool *p, struct stream *s, void *base);
// Frees chunks without used or pending blocks until at most `keep` bytes are reserved. Holds
// p->lock.
void pool_trim(struct pool *p, uint64_t keep);
// Frees the chunks allocated in the context, none of which is used any more. Holds p->lock.
void pool_drop_context(struct pool *p, const struct context *c);

// The chunk that holds p, and the context that it was allocated in; false if the pool has none such.
bool pool_chunk_at(struct pool *p, const void *at, struct context **c, void **base, size_t *size);

// pool.c
CUresult pool_get(CUmemoryPool handle, struct pool **out);
struct pool *pool_new(struct device *d, const CUmemPoolProps *props);
void pool_forget_context(struct context *c);

#endif
