// SPDX-License-Identifier: MIT
// Accesses of a variant for narrow blocks, whose lanes stand in rows: each row is one access, a vector where its lanes are
// neighbours, a scalar where they read the same place.
#include "backend/cpu/warp/warp.h"

static LLVMValueRef
row_address(struct warp_build *w, LLVMValueRef p, struct shape s, int y)
{
    if (s.kind == SHAPE_ROWS)
        return LLVMBuildExtractElement(w->b, rows_of(w, p), LLVMConstInt(w->i64, (uint64_t)y, 0), "");
    LLVMValueRef off = LLVMConstInt(w->i64, (uint64_t)(s.rise * y), 1);
    return LLVMBuildGEP2(w->b, w->i8, scalar_of(w, p), &off, 1, "");
}

static LLVMValueRef
shuffle(struct warp_build *w, LLVMValueRef a, LLVMValueRef b, int first, int n)
{
    LLVMValueRef e[MAX_LANES];
    for (int i = 0; i < n; i++)
        e[i] = LLVMConstInt(w->i32, (uint64_t)(first + i), 0);
    return LLVMBuildShuffleVector(w->b, a, b, LLVMConstVector(e, (unsigned)n), "");
}

static LLVMValueRef
take_row(struct warp_build *w, LLVMValueRef v, int y)
{
    return shuffle(w, v, LLVMGetPoison(LLVMTypeOf(v)), y * w->row, w->row);
}

static LLVMValueRef
join_rows(struct warp_build *w, LLVMValueRef *part)
{
    int n = w->lanes / w->row;
    for (int size = w->row; n > 1; n /= 2, size *= 2)
        for (int k = 0; k < n / 2; k++)
            part[k] = shuffle(w, part[2 * k], part[2 * k + 1], 0, 2 * size);
    return part[0];
}

static LLVMValueRef
splat_row(struct warp_build *w, LLVMValueRef x)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(x), (unsigned)w->row);
    LLVMValueRef one = LLVMBuildInsertElement(w->b, LLVMGetPoison(t), x, LLVMConstInt(w->i64, 0, 0), "");
    LLVMTypeRef index = LLVMVectorType(w->i32, (unsigned)w->row);
    return LLVMBuildShuffleVector(w->b, one, LLVMGetPoison(t), LLVMConstNull(index), "");
}

static LLVMValueRef
load_row(struct warp_build *w, LLVMValueRef i, LLVMValueRef p, bool same, LLVMValueRef mask)
{
    LLVMTypeRef t = LLVMTypeOf(i), row = LLVMVectorType(t, (unsigned)w->row);
    LLVMValueRef v;
    if (!mask_is_full(mask)) {
        LLVMTypeRef over[] = {row, w->ptr};
        LLVMValueRef arg[] = {p, LLVMConstInt(w->i32, LLVMGetAlignment(i), 0), mask, LLVMGetPoison(row)};
        return call_intrinsic(w, "llvm.masked.load", over, 2, arg, 4);
    }
    v = LLVMBuildLoad2(w->b, same ? t : row, p, "");
    LLVMSetAlignment(v, LLVMGetAlignment(i));
    return same ? splat_row(w, v) : v;
}

bool
emit_row_load(struct warp_build *w, LLVMValueRef i, int64_t size)
{
    LLVMValueRef p = LLVMGetOperand(i, 0), mask = block_mask(w), part[MAX_LANES];
    struct shape s = shape_of(w, p);
    bool full = mask_is_full(mask), same = s.stride == 0;
    if (w->row == w->lanes || s.kind == SHAPE_VARYING || (s.stride != size && !(same && full)))
        return false;
    for (int y = 0; y < w->lanes / w->row; y++) {
        if (y && full && s.kind == SHAPE_LINEAR && !s.rise)
            part[y] = part[0];
        else
            part[y] = load_row(w, i, row_address(w, p, s, y), same, full ? mask : take_row(w, mask, y));
    }
    define_vector(w, i, join_rows(w, part));
    return true;
}

bool
emit_row_store(struct warp_build *w, LLVMValueRef i, int64_t size)
{
    LLVMValueRef p = LLVMGetOperand(i, 1), mask = block_mask(w);
    struct shape s = shape_of(w, p);
    if (w->row == w->lanes || s.kind == SHAPE_VARYING || s.stride != size)
        return false;
    LLVMValueRef value = vector_of(w, LLVMGetOperand(i, 0));
    for (int y = 0; y < w->lanes / w->row; y++) {
        LLVMValueRef row = take_row(w, value, y);
        LLVMTypeRef over[] = {LLVMTypeOf(row), w->ptr};
        LLVMValueRef arg[] = {row, row_address(w, p, s, y), LLVMConstInt(w->i32, LLVMGetAlignment(i), 0), take_row(w, mask, y)};
        call_intrinsic(w, "llvm.masked.store", over, 2, arg, 4);
    }
    return true;
}
