// SPDX-License-Identifier: MIT
// How many threads run as one, and how they stand: from the block's shape and from the registers that a kernel needs. Where
// nothing acts across the lanes of a warp, more lanes share uniform work and give the processor independent chains; fewer
// spare it spills.
#include "backend/cpu/warp/warp.h"
#include "base/log.h"

#include <string.h>

// ---- shapes of blocks
enum { MAX_LOG = 7, CLASS_FLAT = 1 << 12, CLASS_TABLE = 1 << 13 };

static unsigned
log_divisor(uint32_t n)
{
    unsigned z = n ? (unsigned)__builtin_ctz(n) : MAX_LOG;
    return z < MAX_LOG ? z : MAX_LOG;
}

// Powers of two that divide the threads of a block, its width and its height; whether it is one row.
uint32_t
warp_shape(const uint32_t block[3])
{
    uint32_t x = block[0], rows = block[1] * block[2];
    bool power = (x & (x - 1)) == 0;
    if (rows == 1)
        return CLASS_FLAT | log_divisor(x) | log_divisor(x) << 4;
    return log_divisor(x * rows) | log_divisor(x) << 4 | log_divisor(block[1]) << 8 | (power ? 0 : (uint32_t)CLASS_TABLE);
}

// May groups of 2^log threads of such a block be full, and in rows of what length?
static bool
row_for(uint32_t shape, unsigned log, int *row)
{
    unsigned threads = shape & 15, x = shape >> 4 & 15, y = shape >> 8 & 15;
    *row = 1 << log;
    if (threads < log)
        return false;
    if ((shape & CLASS_FLAT) || x >= log)
        return true;
    *row = 1 << x;
    return !(shape & CLASS_TABLE) && x >= 2 && y >= log - x;
}

// ---- registers
// The code generator reads these where they are used.
static bool
is_folded_load(struct warp_build *w, LLVMValueRef v)
{
    LLVMUseRef u = LLVMIsALoadInst(v) ? LLVMGetFirstUse(v) : NULL;
    return u && !LLVMGetNextUse(u) && is_plain(v) && shape_of(w, LLVMGetOperand(v, 0)).kind != SHAPE_VARYING &&
           value_of(w, v)->block == value_of(w, LLVMGetUser(u))->block;
}

static unsigned
units(struct warp_build *w, LLVMValueRef v)
{
    struct shape s = shape_of(w, v);
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMTypeKind k = LLVMGetTypeKind(t);
    if (s.kind == SHAPE_LINEAR || s.kind == SHAPE_ROWS || k == LLVMVoidTypeKind || k == LLVMStructTypeKind)
        return 0;
    if (k == LLVMIntegerTypeKind && LLVMGetIntTypeWidth(t) == 1)
        return 0;
    return is_folded_load(w, v) ? 0 : LLVMABISizeOfType(w->data, t) > 4 ? 2 : 1;
}

static int
last_use(struct warp_build *w, LLVMValueRef v, int block)
{
    int end = block;
    for (LLVMUseRef u = LLVMGetFirstUse(v); u; u = LLVMGetNextUse(u)) {
        struct value *x = value_of(w, LLVMGetUser(u));
        int at = x ? x->block : block;
        for (int l = w->block[at].loop; l != NONE && !loop_contains(w, l, block); l = w->loop[l].parent)
            at = w->loop[l].latch > at ? w->loop[l].latch : at;
        end = at > end ? at : end;
    }
    return end;
}

static unsigned
depth(const struct warp_build *w, int b)
{
    unsigned n = 0;
    for (int l = w->block[b].loop; l != NONE; l = w->loop[l].parent)
        n++;
    return n;
}

// Most units alive at once within a block, given what is alive behind it.
static unsigned
peak(struct warp_build *w, int b, unsigned behind, struct intmap *alive)
{
    unsigned now = behind, most = behind;
    for (LLVMValueRef i = LLVMGetLastInstruction(w->block[b].bb); i; i = LLVMGetPreviousInstruction(i)) {
        if (intmap_get(alive, (uint64_t)(uintptr_t)i))
            now -= units(w, i);
        for (int k = 0; !LLVMIsAPHINode(i) && k < LLVMGetNumOperands(i); k++) {
            LLVMValueRef v = LLVMGetOperand(i, (unsigned)k);
            if (!value_of(w, v) || !units(w, v) || intmap_get(alive, (uint64_t)(uintptr_t)v))
                continue;
            intmap_put(alive, (uint64_t)(uintptr_t)v, v);
            now += units(w, v);
            most = now > most ? now : most;
        }
    }
    return most;
}

// Over the innermost loops, or all of a kernel without loops: vector registers of one 32-bit lane each.
static unsigned
pressure(struct warp_build *w)
{
    unsigned deepest = 0, most = 0;
    for (int b = 0; b < w->nblocks; b++) {
        deepest = depth(w, b) > deepest ? depth(w, b) : deepest;
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i; i = LLVMGetNextInstruction(i))
            value_of(w, i)->end = last_use(w, i, b);
    }
    for (int b = 0; b < w->nblocks; b++) {
        if (depth(w, b) != deepest)
            continue;
        struct intmap alive = {0};
        unsigned behind = 0;
        for (int d = 0; d < w->nblocks; d++)
            for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[d].bb); d <= b && i; i = LLVMGetNextInstruction(i))
                if (units(w, i) && value_of(w, i)->end > b) {
                    intmap_put(&alive, (uint64_t)(uintptr_t)i, i);
                    behind += units(w, i);
                }
        unsigned p = peak(w, b, behind, &alive);
        most = p > most ? p : most;
        intmap_free(&alive);
    }
    return most;
}

// Four vector registers for each value pay even where they are spilled; more only while they fit.
static unsigned
wish(struct warp_build *w)
{
    enum { MANY_BLOCKS = 200 };
    const struct registers r = w->registers;
    if (!w->any_width || w->nblocks > MANY_BLOCKS)
        return 5;
    unsigned p = pressure(w), room = r.lanes * (r.count - r.count / 4), log = r.lanes >= 16 ? 6 : 5;
    LOG(LOG_COMPILE, "kernel %s: %u vector registers a lane group", w->kernel, p);
    while (log < MAX_LOG && (2u << log) * (p ? p : 1) <= room)
        log++;
    return log;
}

struct variant
choose_variant(struct warp_build *w, uint32_t shape)
{
    struct variant v = {.full = true};
    w->log_block[0] = shape >> 4 & 15;
    w->log_block[1] = shape >> 8 & 15;
    if (!row_for(shape, 5, &v.row))
        return (struct variant){.lanes = WARP, .row = WARP, .rows = w->reads_rows && !(shape & CLASS_FLAT)};
    w->rows = false;
    diverge(w);
    for (unsigned log = wish(w); log >= 5; log--)
        if (row_for(shape, log, &v.row)) {
            v.lanes = 1 << log;
            return v;
        }
    return (struct variant){.lanes = WARP, .row = WARP, .rows = w->reads_rows && !(shape & CLASS_FLAT)};
}
