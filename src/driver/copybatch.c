// SPDX-License-Identifier: MIT
// Batches of copies: each is an ordinary asynchronous copy; they go into the stream one after the
// other.
#include "driver/memory.h"
#include "api_impl.h"

static CUresult
batch_stream(CUstream handle)
{
    struct stream *s;
    CUresult r = stream_resolve(handle, &s);
    if (!r && s->legacy)
        return fail(CUDA_ERROR_INVALID_VALUE, "batches do not go into the legacy stream");
    return r;
}

// Attributes i apply from copy index[i] up to the next index.
static CUresult
check_attributes(size_t count, const CUmemcpyAttributes *a, const size_t *index, size_t n)
{
    if (!n || n > count || !a || !index || index[0])
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu attributes for %zu copies", n, count);
    for (size_t i = 0; i < n; i++) {
        if ((i && index[i] <= index[i - 1]) || index[i] >= count)
            return fail(CUDA_ERROR_INVALID_VALUE, "attribute %zu begins at %zu", i, index[i]);
        if (a[i].srcAccessOrder < CU_MEMCPY_SRC_ACCESS_ORDER_STREAM ||
            a[i].srcAccessOrder > CU_MEMCPY_SRC_ACCESS_ORDER_ANY)
            return fail(CUDA_ERROR_INVALID_VALUE, "srcAccessOrder %d", (int)a[i].srcAccessOrder);
    }
    return CUDA_SUCCESS;
}

static CUresult
batch_one(CUdeviceptr dst, CUdeviceptr src, size_t size, CUmemcpySrcAccessOrder order,
          CUstream stream)
{
    if (order != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL)
        return pw_cuMemcpyAsync(dst, src, size, stream);
    CUDA_MEMCPY3D p = {.srcMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .srcDevice = src,
                       .dstMemoryType = CU_MEMORYTYPE_UNIFIED,
                       .dstDevice = dst,
                       .WidthInBytes = size,
                       .Height = 1,
                       .Depth = 1};
    struct command *c;
    CUresult r = copy3d_command(&p, &c);
    return r ? r : copy_submit(stream, c, SUBMIT_READ_SOURCE);
}

CUresult
pw_cuMemcpyBatchAsync(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                      CUmemcpyAttributes *attrs, size_t *index, size_t nattrs, size_t *failed,
                      CUstream stream)
{
    size_t none;
    if (!failed)
        failed = &none;
    *failed = SIZE_MAX;
    if (!dsts || !srcs || !sizes || !count)
        return fail(CUDA_ERROR_INVALID_VALUE, "an array is NULL or empty");
    CUresult r = check_attributes(count, attrs, index, nattrs);
    if (!r)
        r = batch_stream(stream);
    size_t a = 0;
    for (size_t i = 0; !r && i < count; i++) {
        if (a + 1 < nattrs && index[a + 1] == i)
            a++;
        r = sizes[i] ? batch_one(dsts[i], srcs[i], sizes[i], attrs[a].srcAccessOrder, stream)
                     : fail(CUDA_ERROR_INVALID_VALUE, "copy %zu has no bytes", i);
        if (r)
            *failed = i;
    }
    return r;
}

CUresult
pw_cuMemcpyBatchAsync_v2(CUdeviceptr *dsts, CUdeviceptr *srcs, size_t *sizes, size_t count,
                         CUmemcpyAttributes *attrs, size_t *index, size_t nattrs, CUstream stream)
{
    return pw_cuMemcpyBatchAsync(dsts, srcs, sizes, count, attrs, index, nattrs, NULL, stream);
}

// ---- 3D -------------------------------------------------------------------
// One end of a 3D copy; *element gets the bytes of an array's texel.
static CUresult
operand(const CUmemcpy3DOperand *o, CUmemorytype *type, CUdeviceptr *device, CUarray *array,
        size_t *pitch, size_t *height, CUoffset3D *offset, size_t *element)
{
    if (o->type == CU_MEMCPY_OPERAND_TYPE_POINTER) {
        *type = CU_MEMORYTYPE_UNIFIED;
        *device = o->op.ptr.ptr;
        *pitch = o->op.ptr.rowLength;
        *height = o->op.ptr.layerHeight;
        return CUDA_SUCCESS;
    }
    struct array *a;
    if (o->type != CU_MEMCPY_OPERAND_TYPE_ARRAY)
        return fail(CUDA_ERROR_INVALID_VALUE, "operand of type %d", (int)o->type);
    CUresult r = array_get(o->op.array.array, &a);
    if (r)
        return r;
    *type = CU_MEMORYTYPE_ARRAY;
    *array = o->op.array.array;
    *offset = o->op.array.offset;
    offset->x *= a->element;
    *element = a->element;
    return CUDA_SUCCESS;
}

static CUresult
batch_3d(const CUDA_MEMCPY3D_BATCH_OP *op, CUstream stream)
{
    CUDA_MEMCPY3D p = {0};
    CUoffset3D from = {0}, to = {0};
    size_t element = 1;
    CUresult r = operand(&op->src, &p.srcMemoryType, &p.srcDevice, &p.srcArray, &p.srcPitch,
                         &p.srcHeight, &from, &element);
    if (!r)
        r = operand(&op->dst, &p.dstMemoryType, &p.dstDevice, &p.dstArray, &p.dstPitch,
                    &p.dstHeight, &to, &element);
    if (r)
        return r;
    p.srcXInBytes = from.x, p.srcY = from.y, p.srcZ = from.z;
    p.dstXInBytes = to.x, p.dstY = to.y, p.dstZ = to.z;
    // With an array the extent counts its elements, and so do the lengths of rows.
    p.WidthInBytes = op->extent.width * element;
    p.srcPitch *= element;
    p.dstPitch *= element;
    p.Height = op->extent.height;
    p.Depth = op->extent.depth;
    struct command *c;
    r = copy3d_command(&p, &c);
    if (r)
        return r;
    bool now = op->srcAccessOrder == CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
    return copy_submit(stream, c, now ? SUBMIT_READ_SOURCE : SUBMIT_ASYNC);
}

CUresult
pw_cuMemcpy3DBatchAsync(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, size_t *failed,
                        unsigned long long flags, CUstream stream)
{
    size_t none;
    if (!failed)
        failed = &none;
    *failed = SIZE_MAX;
    if (!n || !ops || flags)
        return fail(CUDA_ERROR_INVALID_VALUE, "%zu copies at %p, flags %llu", n, (void *)ops,
                    flags);
    CUresult r = batch_stream(stream);
    for (size_t i = 0; !r && i < n; i++) {
        r = batch_3d(&ops[i], stream);
        if (r)
            *failed = i;
    }
    return r;
}

CUresult
pw_cuMemcpy3DBatchAsync_v2(size_t n, CUDA_MEMCPY3D_BATCH_OP *ops, unsigned long long flags,
                           CUstream stream)
{
    return pw_cuMemcpy3DBatchAsync(n, ops, NULL, flags, stream);
}
