// SPDX-License-Identifier: MIT
// Memory operations in stream order: wait until a word has a value, write a word.
#include "driver/memory.h"
#include "driver/graph.h"
#include "api_impl.h"

enum { BATCH_LIMIT = 256 };

static CUresult
check_address(CUdeviceptr p, unsigned bytes)
{
    if (!p || p % bytes || !mem_covers((void *)(uintptr_t)p, bytes))
        return fail(CUDA_ERROR_INVALID_VALUE,
                    "0x%llx: no aligned word of %u bytes in an allocation", (unsigned long long)p,
                    bytes);
    return CUDA_SUCCESS;
}

static CUresult
value_command(enum command_kind kind, CUdeviceptr p, uint64_t value, unsigned bytes, unsigned flags,
              struct command **out)
{
    unsigned known = kind == CMD_VALUE_WAIT ? 3u | CU_STREAM_WAIT_VALUE_FLUSH
                                            : CU_STREAM_WRITE_VALUE_NO_MEMORY_BARRIER;
    if (flags & ~known)
        return fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    CUresult r = check_address(p, bytes);
    if (r)
        return r;
    struct command *c = command_new(kind, 0);
    c->value.addr = (void *)(uintptr_t)p;
    c->value.value = value;
    c->value.bytes = bytes;
    c->value.op = kind == CMD_VALUE_WAIT ? flags & 3
                                         : 0; // CUstreamWaitValue_flags and command.value.op agree
    *out = c;
    return CUDA_SUCCESS;
}

// *out is NULL for operations that need no command: our queues are ordered and write through.
static CUresult
batch_command(const CUstreamBatchMemOpParams *p, struct command **out)
{
    *out = NULL;
    switch (p->operation) {
    case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        return value_command(CMD_VALUE_WAIT, p->waitValue.address, p->waitValue.value, 4,
                             p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        return value_command(CMD_VALUE_WAIT, p->waitValue.address, p->waitValue.value64, 8,
                             p->waitValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        return value_command(CMD_VALUE_WRITE, p->writeValue.address, p->writeValue.value, 4,
                             p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        return value_command(CMD_VALUE_WRITE, p->writeValue.address, p->writeValue.value64, 8,
                             p->writeValue.flags, out);
    case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES:
    case CU_STREAM_MEM_OP_BARRIER:
        return CUDA_SUCCESS;
    default:
        return fail(CUDA_ERROR_INVALID_VALUE, "memory operation %d", (int)p->operation);
    }
}

CUresult
value_commands(unsigned count, const CUstreamBatchMemOpParams *ops, unsigned flags,
               struct command ***out)
{
    if (!count || count > BATCH_LIMIT || !ops || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "%u operations, flags 0x%x", count, flags);
    struct command **list = NULL;
    CUresult r = CUDA_SUCCESS;
    for (unsigned i = 0; !r && i < count; i++) {
        struct command *c;
        r = batch_command(&ops[i], &c);
        if (!r && c)
            vec_push(list, c);
    }
    for (size_t i = 0; r && i < vec_len(list); i++)
        command_free(list[i]);
    if (r)
        vec_free(list);
    else
        *out = list;
    return r;
}

static CUresult
capture_batch(struct stream *s, unsigned count, CUstreamBatchMemOpParams *ops)
{
    CUgraphNodeParams p = {.type = CU_GRAPH_NODE_TYPE_BATCH_MEM_OP};
    struct work w;
    p.memOp = (CUDA_BATCH_MEM_OP_NODE_PARAMS_v2){(CUcontext)s->ctx, count, ops, 0};
    CUresult r = work_make(&p, &w);
    return r ? r : capture_add(s, &w, NULL);
}

// All operations are checked before the first goes into the stream.
CUresult
pw_cuStreamBatchMemOp_v2(CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops,
                         unsigned flags)
{
    struct stream *s;
    struct command **c = NULL;
    CUresult r = stream_resolve(stream, &s);
    if (!r && flags)
        r = fail(CUDA_ERROR_INVALID_VALUE, "flags 0x%x", flags);
    if (!r && !count)
        return CUDA_SUCCESS;
    if (!r && stream_capturing(s))
        return capture_batch(s, count, ops);
    if (!r)
        r = value_commands(count, ops, flags, &c);
    for (size_t i = 0; i < vec_len(c); i++) {
        if (r)
            command_free(c[i]);
        else
            r = stream_submit(s, c[i]);
    }
    vec_free(c);
    return r;
}

static CUresult
one_wait(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr p, cuuint64_t value,
         unsigned flags)
{
    CUstreamBatchMemOpParams op = {.operation = type};
    op.waitValue.address = p;
    op.waitValue.value64 = value;
    op.waitValue.flags = flags;
    return pw_cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

static CUresult
one_write(CUstream stream, CUstreamBatchMemOpType type, CUdeviceptr p, cuuint64_t value,
          unsigned flags)
{
    CUstreamBatchMemOpParams op = {.operation = type};
    op.writeValue.address = p;
    op.writeValue.value64 = value;
    op.writeValue.flags = flags;
    return pw_cuStreamBatchMemOp_v2(stream, 1, &op, 0);
}

CUresult
pw_cuStreamWaitValue32_v2(CUstream stream, CUdeviceptr p, cuuint32_t value, unsigned flags)
{
    return one_wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_32, p, value, flags);
}

CUresult
pw_cuStreamWaitValue64_v2(CUstream stream, CUdeviceptr p, cuuint64_t value, unsigned flags)
{
    return one_wait(stream, CU_STREAM_MEM_OP_WAIT_VALUE_64, p, value, flags);
}

CUresult
pw_cuStreamWriteValue32_v2(CUstream stream, CUdeviceptr p, cuuint32_t value, unsigned flags)
{
    return one_write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_32, p, value, flags);
}

CUresult
pw_cuStreamWriteValue64_v2(CUstream stream, CUdeviceptr p, cuuint64_t value, unsigned flags)
{
    return one_write(stream, CU_STREAM_MEM_OP_WRITE_VALUE_64, p, value, flags);
}

// ---- first versions: the same arguments -----------------------------------
CUresult
pw_cuStreamWaitValue32(CUstream stream, CUdeviceptr p, cuuint32_t value, unsigned flags)
{
    return pw_cuStreamWaitValue32_v2(stream, p, value, flags);
}

CUresult
pw_cuStreamWaitValue64(CUstream stream, CUdeviceptr p, cuuint64_t value, unsigned flags)
{
    return pw_cuStreamWaitValue64_v2(stream, p, value, flags);
}

CUresult
pw_cuStreamWriteValue32(CUstream stream, CUdeviceptr p, cuuint32_t value, unsigned flags)
{
    return pw_cuStreamWriteValue32_v2(stream, p, value, flags);
}

CUresult
pw_cuStreamWriteValue64(CUstream stream, CUdeviceptr p, cuuint64_t value, unsigned flags)
{
    return pw_cuStreamWriteValue64_v2(stream, p, value, flags);
}

CUresult
pw_cuStreamBatchMemOp(CUstream stream, unsigned count, CUstreamBatchMemOpParams *ops,
                      unsigned flags)
{
    return pw_cuStreamBatchMemOp_v2(stream, count, ops, flags);
}
