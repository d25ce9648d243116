// SPDX-License-Identifier: MIT
// Kernels compare thread numbers with a size: if (i < n), for (c = i; c < n; c += step). Where the sizes are multiples of
// `lanes`, lanes agree on all such comparisons and no masks are needed. A kernel's parameters are known when it is compiled for
// a launch: if they are such multiples it is made for that, and another one for launches where they are not.
#include "backend/cpu/warp/warp.h"

static bool
is_integer(LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    return LLVMGetTypeKind(t) == LLVMIntegerTypeKind && (LLVMGetIntTypeWidth(t) == 32 || LLVMGetIntTypeWidth(t) == 64);
}

// An integer parameter: its offset in the parameter block.
bool
param_load(struct warp_build *w, LLVMValueRef v, uint32_t *offset)
{
    if (!LLVMIsALoadInst(v) || !is_integer(v) || !is_plain(v))
        return false;
    LLVMValueRef p = LLVMGetOperand(v, 0);
    int64_t at = 0;
    if (LLVMIsAGetElementPtrInst(p)) {
        if (LLVMGetNumOperands(p) != 2 || !LLVMIsAConstantInt(LLVMGetOperand(p, 1)))
            return false;
        at = (int64_t)LLVMABISizeOfType(w->data, LLVMGetGEPSourceElementType(p)) *
             LLVMConstIntGetSExtValue(LLVMGetOperand(p, 1));
        p = LLVMGetOperand(p, 0);
    }
    *offset = (uint32_t)at;
    return p == LLVMGetParam(w->old, 1) && at >= 0 && at < 4096;
}

bool
is_border(const struct warp_build *w, uint32_t offset)
{
    for (uint32_t i = 0; i < w->nborders; i++)
        if (w->border[i].offset == offset)
            return true;
    return false;
}

static void
add_border(struct warp_build *w, LLVMValueRef load, uint32_t offset)
{
    if (is_border(w, offset))
        return;
    if (w->nborders < MAX_BORDERS)
        w->border[w->nborders] = (struct border){offset, LLVMGetIntTypeWidth(LLVMTypeOf(load)) / 8};
    w->nborders++;
}

// The parameters that v is made of by steps that keep multiples what they are.
static void
find_params(struct warp_build *w, LLVMValueRef v, int depth)
{
    uint32_t offset;
    if (param_load(w, v, &offset)) {
        add_border(w, v, offset);
        return;
    }
    if (!depth || !LLVMIsAInstruction(v))
        return;
    switch (LLVMGetInstructionOpcode(v)) {
    case LLVMAdd:
    case LLVMSub:
    case LLVMZExt:
    case LLVMSExt:
    case LLVMTrunc:
    case LLVMFreeze:
        for (int k = 0; k < LLVMGetNumOperands(v); k++)
            find_params(w, LLVMGetOperand(v, (unsigned)k), depth - 1);
        return;
    default:
        return;
    }
}

static bool
is_ordered(LLVMIntPredicate p)
{
    return p != LLVMIntEQ && p != LLVMIntNE;
}

void
find_borders(struct warp_build *w)
{
    enum { DEPTH = 6 };
    w->nborders = 0;
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i)) {
            if (!LLVMIsAICmpInst(i) || !is_ordered(LLVMGetICmpPredicate(i)) || is_uniform(shape_of(w, i)))
                continue;
            for (unsigned k = 0; k < 2; k++)
                find_params(w, LLVMGetOperand(i, k), DEPTH);
        }
    if (w->nborders > MAX_BORDERS)
        w->nborders = 0;
}

bool
on_borders(const struct border *b, uint32_t n, uint32_t lanes, const void *params, size_t size)
{
    for (uint32_t i = 0; i < n; i++) {
        uint64_t v = 0;
        if (b[i].offset + b[i].size > size)
            return false;
        __builtin_memcpy(&v, (const char *)params + b[i].offset, b[i].size);
        if (v & (lanes - 1))
            return false;
    }
    return true;
}
