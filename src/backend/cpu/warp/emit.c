// SPDX-License-Identifier: MIT
// Writes the warp's function: blocks in order, edges, masks. Values that cross blocks, phis, masks and waiting lanes live in
// stack slots here; the optimiser turns them into SSA form.
#include "backend/cpu/warp/warp.h"
#include "backend/cpu/rt.h"

#include <llvm-c/DebugInfo.h>
#include <stdlib.h>
#include <string.h>

// ---- small builders
LLVMTypeRef
vector_type(struct warp_build *w, LLVMTypeRef t)
{
    if (LLVMGetTypeKind(t) == LLVMStructTypeKind) {
        LLVMTypeRef e[MAX_FIELDS];
        unsigned n = LLVMCountStructElementTypes(t);
        for (unsigned i = 0; i < n && i < MAX_FIELDS; i++)
            e[i] = vector_type(w, LLVMStructGetTypeAtIndex(t, i));
        return LLVMStructTypeInContext(w->ctx, e, n, 0);
    }
    return LLVMVectorType(t, (unsigned)w->lanes);
}

LLVMValueRef
entry_alloca(struct warp_build *w, LLVMTypeRef t)
{
    return LLVMBuildAlloca(w->entry, t, "");
}

LLVMValueRef
splat(struct warp_build *w, LLVMValueRef scalar)
{
    LLVMTypeRef t = LLVMVectorType(LLVMTypeOf(scalar), (unsigned)w->lanes);
    if (LLVMIsAConstant(scalar)) {
        LLVMValueRef e[MAX_LANES];
        for (int i = 0; i < w->lanes; i++)
            e[i] = scalar;
        return LLVMConstVector(e, (unsigned)w->lanes);
    }
    LLVMValueRef one = LLVMBuildInsertElement(w->b, LLVMGetPoison(t), scalar, LLVMConstInt(w->i64, 0, 0), "");
    return LLVMBuildShuffleVector(w->b, one, LLVMGetPoison(t), LLVMConstNull(LLVMVectorType(w->i32, (unsigned)w->lanes)), "");
}

LLVMValueRef
const_vector(struct warp_build *w, LLVMTypeRef element, int64_t first, int64_t step)
{
    LLVMValueRef e[MAX_LANES];
    for (int i = 0; i < w->lanes; i++)
        e[i] = LLVMConstInt(element, (uint64_t)(first + step * i), 1);
    return LLVMConstVector(e, (unsigned)w->lanes);
}

LLVMValueRef
call_intrinsic(struct warp_build *w, const char *name, LLVMTypeRef *over, unsigned nover, LLVMValueRef *arg, unsigned narg)
{
    unsigned id = LLVMLookupIntrinsicID(name, strlen(name));
    LLVMValueRef f = LLVMGetIntrinsicDeclaration(w->m, id, over, nover);
    return LLVMBuildCall2(w->b, LLVMIntrinsicGetType(w->ctx, id, over, nover), f, arg, narg, "");
}

LLVMValueRef
call_runtime(struct warp_build *w, const char *name, LLVMTypeRef result, LLVMValueRef *arg, unsigned narg)
{
    LLVMTypeRef type[16];
    for (unsigned i = 0; i < narg; i++)
        type[i] = LLVMTypeOf(arg[i]);
    LLVMTypeRef ft = LLVMFunctionType(result, type, narg, 0);
    LLVMValueRef f = LLVMGetNamedFunction(w->m, name);
    if (!f)
        f = LLVMAddFunction(w->m, name, ft);
    return LLVMBuildCall2(w->b, ft, f, arg, narg, "");
}

bool
mask_is_full(LLVMValueRef mask)
{
    if (!LLVMIsAConstant(mask))
        return false;
    for (unsigned i = 0; i < LLVMGetVectorSize(LLVMTypeOf(mask)); i++) {
        LLVMValueRef e = LLVMGetAggregateElement(mask, i);
        if (!e || !LLVMIsAConstantInt(e) || !LLVMConstIntGetZExtValue(e))
            return false;
    }
    return true;
}

LLVMValueRef
mask_bits(struct warp_build *w, LLVMValueRef mask)
{
    return LLVMBuildBitCast(w->b, mask, w->bits_type, "");
}

static LLVMValueRef
as_i32(struct warp_build *w, LLVMValueRef bits)
{
    if (w->lanes < 32)
        return LLVMBuildZExt(w->b, bits, w->i32, "");
    return w->lanes > 32 ? LLVMBuildTrunc(w->b, bits, w->i32, "") : bits;
}

LLVMValueRef
count_lanes(struct warp_build *w, LLVMValueRef bits)
{
    return as_i32(w, call_intrinsic(w, "llvm.ctpop", &w->bits_type, 1, &bits, 1));
}

LLVMValueRef
first_lane(struct warp_build *w, LLVMValueRef bits)
{
    LLVMValueRef arg[2] = {bits, LLVMConstInt(w->i1, 0, 0)};
    return as_i32(w, call_intrinsic(w, "llvm.cttz", &w->bits_type, 1, arg, 2));
}

static LLVMValueRef
any(struct warp_build *w, LLVMValueRef mask)
{
    return LLVMBuildICmp(w->b, LLVMIntNE, mask_bits(w, mask), LLVMConstNull(w->bits_type), "");
}

static LLVMValueRef
load_slot(struct warp_build *w, LLVMValueRef slot)
{
    return LLVMBuildLoad2(w->b, LLVMGetAllocatedType(slot), slot, "");
}

// ---- values
LLVMValueRef
lane_steps(struct warp_build *w, LLVMTypeRef element, struct shape s)
{
    LLVMValueRef e[MAX_LANES];
    for (int i = 0; i < w->lanes; i++)
        e[i] = LLVMConstInt(element, (uint64_t)(s.stride * (i % w->row) + s.rise * (i / w->row)), 1);
    return LLVMConstVector(e, (unsigned)w->lanes);
}

static LLVMValueRef
add_lanes(struct warp_build *w, LLVMValueRef scalar, struct shape s)
{
    LLVMTypeRef t = LLVMTypeOf(scalar);
    if (LLVMGetTypeKind(t) == LLVMPointerTypeKind) {
        LLVMValueRef step = lane_steps(w, w->i64, s);
        return LLVMBuildGEP2(w->b, w->i8, scalar, &step, 1, "");
    }
    return LLVMBuildAdd(w->b, splat(w, scalar), lane_steps(w, t, s), "");
}

LLVMValueRef
scalar_of(struct warp_build *w, LLVMValueRef v)
{
    if (v == LLVMGetParam(w->old, 0))
        return w->thread;
    if (v == LLVMGetParam(w->old, 1))
        return w->params;
    struct value *x = value_of(w, v);
    if (!x)
        return v;
    if (x->scalar && x->block == w->at)
        return x->scalar;
    if (x->scalar_slot)
        return load_slot(w, x->scalar_slot);
    w->broken = true;
    return LLVMGetPoison(LLVMTypeOf(v));
}

static LLVMValueRef
splat_any(struct warp_build *w, LLVMValueRef v)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    if (LLVMGetTypeKind(t) != LLVMStructTypeKind)
        return splat(w, v);
    LLVMValueRef all = LLVMGetPoison(vector_type(w, t));
    for (unsigned i = 0; i < LLVMCountStructElementTypes(t); i++)
        all = LLVMBuildInsertValue(w->b, all, splat(w, LLVMBuildExtractValue(w->b, v, i, "")), i, "");
    return all;
}

LLVMTypeRef
rows_type(struct warp_build *w, LLVMTypeRef t)
{
    return LLVMVectorType(t, (unsigned)(w->lanes / w->row));
}

static LLVMValueRef
add_steps(struct warp_build *w, LLVMValueRef v, LLVMValueRef steps)
{
    if (LLVMGetTypeKind(LLVMGetElementType(LLVMTypeOf(v))) == LLVMPointerTypeKind)
        return LLVMBuildGEP2(w->b, w->i8, v, &steps, 1, "");
    return LLVMBuildAdd(w->b, v, steps, "");
}

LLVMValueRef
rows_of(struct warp_build *w, LLVMValueRef v)
{
    struct shape s = shape_of(w, v);
    LLVMValueRef base = scalar_of(w, v), e[MAX_LANES];
    if (s.kind == SHAPE_ROWS)
        return base;
    LLVMTypeRef t = LLVMTypeOf(base), step = LLVMGetTypeKind(t) == LLVMPointerTypeKind ? w->i64 : t;
    LLVMTypeRef index = LLVMVectorType(w->i32, (unsigned)(w->lanes / w->row));
    LLVMValueRef one = LLVMBuildInsertElement(w->b, LLVMGetPoison(rows_type(w, t)), base, LLVMConstInt(w->i64, 0, 0), "");
    one = LLVMBuildShuffleVector(w->b, one, LLVMGetPoison(LLVMTypeOf(one)), LLVMConstNull(index), "");
    if (!s.rise)
        return one;
    for (int y = 0; y < w->lanes / w->row; y++)
        e[y] = LLVMConstInt(step, (uint64_t)(s.rise * y), 1);
    return add_steps(w, one, LLVMConstVector(e, (unsigned)(w->lanes / w->row)));
}

static LLVMValueRef
expand_rows(struct warp_build *w, LLVMValueRef rows, struct shape s)
{
    LLVMValueRef e[MAX_LANES];
    LLVMTypeRef t = LLVMGetElementType(LLVMTypeOf(rows));
    for (int i = 0; i < w->lanes; i++)
        e[i] = LLVMConstInt(w->i32, (uint64_t)(i / w->row), 0);
    LLVMValueRef v = LLVMBuildShuffleVector(w->b, rows, LLVMGetPoison(LLVMTypeOf(rows)), LLVMConstVector(e, (unsigned)w->lanes), "");
    if (!s.stride)
        return v;
    s.rise = 0;
    return add_steps(w, v, lane_steps(w, LLVMGetTypeKind(t) == LLVMPointerTypeKind ? w->i64 : t, s));
}

LLVMValueRef
vector_of(struct warp_build *w, LLVMValueRef v)
{
    struct shape s = shape_of(w, v);
    struct value *x = value_of(w, v);
    if (s.kind == SHAPE_ROWS && !s.guess)
        return expand_rows(w, scalar_of(w, v), s);
    if (is_uniform(s))
        return splat_any(w, scalar_of(w, v));
    if (s.kind == SHAPE_LINEAR && !s.guess)
        return add_lanes(w, scalar_of(w, v), s);
    if (x->vector && x->block == w->at)
        return x->vector;
    if (x->vector_slot)
        return load_slot(w, x->vector_slot);
    w->broken = true;
    return LLVMGetPoison(vector_type(w, LLVMTypeOf(v)));
}

void
define_scalar(struct warp_build *w, LLVMValueRef v, LLVMValueRef scalar)
{
    struct value *x = value_of(w, v);
    x->scalar = scalar;
    if (!x->crosses)
        return;
    if (!x->scalar_slot)
        x->scalar_slot = entry_alloca(w, LLVMTypeOf(scalar));
    LLVMBuildStore(w->b, scalar, x->scalar_slot);
}

void
define_vector(struct warp_build *w, LLVMValueRef v, LLVMValueRef vector)
{
    struct value *x = value_of(w, v);
    x->vector = vector;
    if (!x->crosses)
        return;
    if (!x->vector_slot)
        x->vector_slot = entry_alloca(w, LLVMTypeOf(vector));
    LLVMBuildStore(w->b, vector, x->vector_slot);
}

LLVMValueRef
block_mask(struct warp_build *w)
{
    return w->block[w->at].mask;
}

LLVMValueRef
first_active(struct warp_build *w, LLVMValueRef v)
{
    if (is_uniform(shape_of(w, v)))
        return scalar_of(w, v);
    LLVMValueRef lane = first_lane(w, mask_bits(w, block_mask(w)));
    return LLVMBuildExtractElement(w->b, vector_of(w, v), lane, "");
}

// ---- phis
static bool
keeps_vector(struct shape s)
{
    return s.kind == SHAPE_VARYING || s.guess;
}

static void
make_phi_slots(struct warp_build *w)
{
    for (int b = 0; b < w->nblocks; b++)
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i && LLVMIsAPHINode(i);
             i = LLVMGetNextInstruction(i)) {
            struct value *v = value_of(w, i);
            if (v->shape.kind == SHAPE_LINEAR)
                v->in_scalar = entry_alloca(w, LLVMTypeOf(i));
            if (v->shape.kind == SHAPE_ROWS)
                v->in_scalar = entry_alloca(w, rows_type(w, LLVMTypeOf(i)));
            if (keeps_vector(v->shape))
                v->in_vector = entry_alloca(w, vector_type(w, LLVMTypeOf(i)));
        }
}

static LLVMValueRef
incoming_from(LLVMValueRef phi, LLVMBasicBlockRef from)
{
    for (unsigned i = 0; i < LLVMCountIncoming(phi); i++)
        if (LLVMGetIncomingBlock(phi, i) == from)
            return LLVMGetIncomingValue(phi, i);
    return LLVMGetPoison(LLVMTypeOf(phi));
}

struct copy {
    LLVMValueRef value, slot;
};

static void
add_copies(struct warp_build *w, LLVMValueRef phi, LLVMValueRef v, LLVMValueRef edge, struct copy *c, int *n)
{
    struct value *x = value_of(w, phi);
    if (x->in_scalar)
        c[(*n)++] = (struct copy){x->shape.kind == SHAPE_ROWS ? rows_of(w, v) : scalar_of(w, v), x->in_scalar};
    if (!x->in_vector)
        return;
    LLVMValueRef in = vector_of(w, v);
    if (x->blends)
        in = LLVMBuildSelect(w->b, edge, in, load_slot(w, x->in_vector), "");
    c[(*n)++] = (struct copy){in, x->in_vector};
}

// All phis of the target take their values at once.
static void
write_phis(struct warp_build *w, int from, int to, LLVMValueRef edge)
{
    struct copy *c = NULL;
    int n = 0, max = 0;
    LLVMValueRef i;
    for (i = LLVMGetFirstInstruction(w->block[to].bb); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i))
        max += 2;
    c = arena_array(&w->arena, struct copy, max + 1);
    for (i = LLVMGetFirstInstruction(w->block[to].bb); i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
        LLVMValueRef v = incoming_from(i, w->block[from].bb);
        if (!LLVMIsUndef(v))
            add_copies(w, i, v, edge, c, &n);
    }
    for (int k = 0; k < n; k++)
        LLVMBuildStore(w->b, c[k].value, c[k].slot);
}

// What a blended phi held in an earlier round is dead where its block's dominator ends: say so.
static void
forget_phis(struct warp_build *w, int at)
{
    for (int b = at + 1; b < w->nblocks; b++) {
        int d = w->block[b].idom;
        while (d != NONE && w->block[d].loop != NONE && !loop_contains(w, w->block[d].loop, b))
            d = w->block[d].idom;
        if (d != at)
            continue;
        for (LLVMValueRef i = LLVMGetFirstInstruction(w->block[b].bb); i && LLVMIsAPHINode(i);
             i = LLVMGetNextInstruction(i)) {
            struct value *v = value_of(w, i);
            if (v->blends && v->in_vector)
                LLVMBuildStore(w->b, LLVMGetPoison(LLVMGetAllocatedType(v->in_vector)), v->in_vector);
        }
    }
}

// ---- edges
static void
send(struct warp_build *w, int from, int to, LLVMValueRef edge)
{
    write_phis(w, from, to, edge);
    struct wblock *t = &w->block[to];
    if (!t->need_pending)
        return;
    if (to > from)
        edge = LLVMBuildOr(w->b, load_slot(w, t->pending), edge, "");
    LLVMBuildStore(w->b, edge, t->pending);
}

static LLVMBasicBlockRef
new_block(struct warp_build *w)
{
    return LLVMAppendBasicBlockInContext(w->ctx, w->fn, "");
}

static void
jump(struct warp_build *w, int to)
{
    if (to == NONE)
        LLVMBuildUnreachable(w->b);
    else
        LLVMBuildBr(w->b, w->block[to].visit);
}

static void
emit_divergent_branch(struct warp_build *w, struct wblock *b, int at)
{
    LLVMValueRef m = block_mask(w), c = LLVMBuildFreeze(w->b, vector_of(w, b->cond), ""), edge[2], back = NULL;
    edge[0] = LLVMBuildAnd(w->b, m, c, "");
    edge[1] = LLVMBuildAnd(w->b, m, LLVMBuildNot(w->b, c, ""), "");
    for (int k = 0; k < 2; k++) {
        send(w, at, b->succ[k], edge[k]);
        if (b->succ[k] <= at)
            back = edge[k];
    }
    if (!back) {
        jump(w, b->next[0]);
        return;
    }
    LLVMBasicBlockRef leave = new_block(w);
    int header = b->succ[b->succ[0] <= at ? 0 : 1];
    LLVMBuildCondBr(w->b, any(w, back), w->block[header].visit, leave);
    LLVMPositionBuilderAtEnd(w->b, leave);
    jump(w, b->next[0]);
}

static void
emit_terminator(struct warp_build *w, int at)
{
    struct wblock *b = &w->block[at];
    if (!b->nsucc) {
        LLVMBuildRetVoid(w->b);
        return;
    }
    if (b->divergent) {
        emit_divergent_branch(w, b, at);
        return;
    }
    LLVMBasicBlockRef side[2] = {NULL, NULL};
    if (b->nsucc == 2) {
        side[0] = new_block(w);
        side[1] = new_block(w);
        LLVMBuildCondBr(w->b, scalar_of(w, b->cond), side[0], side[1]);
    }
    for (int k = 0; k < b->nsucc; k++) {
        if (side[k])
            LLVMPositionBuilderAtEnd(w->b, side[k]);
        send(w, at, b->succ[k], block_mask(w));
        jump(w, b->next[k]);
    }
}

// ---- blocks
static void
take_mask(struct warp_build *w, int at)
{
    struct wblock *b = &w->block[at], *o = &w->block[b->mask_of];
    if (b != o) {
        b->mask = o->mask_slot ? load_slot(w, o->mask_slot) : o->mask;
    } else if (at) {
        b->mask = load_slot(w, b->pending);
        LLVMBuildStore(w->b, b->mask, b->mask_slot);
    }
}

static void
set_line(struct warp_build *w, LLVMValueRef i)
{
    LLVMMetadataRef at = w->scope ? LLVMInstructionGetDebugLoc(i) : NULL;
    if (at)
        LLVMSetCurrentDebugLocation2(w->b, LLVMDIBuilderCreateDebugLocation(w->ctx, LLVMDILocationGetLine(at),
                                                                            LLVMDILocationGetColumn(at), w->scope, NULL));
}

static void
enter_block(struct warp_build *w, int at)
{
    struct wblock *b = &w->block[at];
    LLVMPositionBuilderAtEnd(w->b, b->visit);
    if (b->guard) {
        LLVMBasicBlockRef here = new_block(w), over = new_block(w);
        LLVMBuildCondBr(w->b, any(w, load_slot(w, b->pending)), here, over);
        LLVMPositionBuilderAtEnd(w->b, over);
        jump(w, b->skip);
        LLVMPositionBuilderAtEnd(w->b, here);
    }
    take_mask(w, at);
    if (b->need_pending)
        LLVMBuildStore(w->b, LLVMConstNull(w->mask_type), b->pending);
}

static void
emit_block(struct warp_build *w, int at)
{
    struct wblock *b = &w->block[at];
    w->at = at;
    enter_block(w, at);
    LLVMValueRef i = LLVMGetFirstInstruction(b->bb);
    for (; i && LLVMIsAPHINode(i); i = LLVMGetNextInstruction(i)) {
        struct value *v = value_of(w, i);
        if (v->in_scalar)
            define_scalar(w, i, load_slot(w, v->in_scalar));
        if (v->in_vector)
            define_vector(w, i, load_slot(w, v->in_vector));
    }
    LLVMValueRef end = LLVMGetBasicBlockTerminator(b->bb);
    for (; i && i != end; i = LLVMGetNextInstruction(i)) {
        set_line(w, i);
        emit_instruction(w, i);
    }
    set_line(w, end);
    forget_phis(w, at);
    emit_terminator(w, at);
}

// ---- the function
static void
begin_scope(struct warp_build *w, const char *name)
{
    LLVMMetadataRef old = LLVMGetSubprogram(w->old);
    w->scope = NULL;
    if (!old)
        return;
    LLVMDIBuilderRef di = LLVMCreateDIBuilderDisallowUnresolved(w->m);
    LLVMMetadataRef file = LLVMDIScopeGetFile(old);
    LLVMMetadataRef type = LLVMDIBuilderCreateSubroutineType(di, file, NULL, 0, LLVMDIFlagZero);
    unsigned line = LLVMDISubprogramGetLine(old);
    w->scope = LLVMDIBuilderCreateFunction(di, file, name, strlen(name), name, strlen(name), file, line, type, 1, 1, line,
                                           LLVMDIFlagZero, 1);
    enum { UNIT = 5 }; // operand of a DISubprogram; the C API has no way to name it
    LLVMValueRef unit[16];
    if (LLVMGetMDNodeNumOperands(LLVMMetadataAsValue(w->ctx, old)) <= 16) {
        LLVMGetMDNodeOperands(LLVMMetadataAsValue(w->ctx, old), unit);
        LLVMReplaceMDNodeOperandWith(LLVMMetadataAsValue(w->ctx, w->scope), UNIT, LLVMValueAsMetadata(unit[UNIT]));
    }
    LLVMSetSubprogram(w->fn, w->scope);
    LLVMDIBuilderFinalize(di);
    LLVMDisposeDIBuilder(di);
    LLVMMetadataRef at = LLVMDIBuilderCreateDebugLocation(w->ctx, line, 0, w->scope, NULL);
    LLVMSetCurrentDebugLocation2(w->b, at);
    LLVMSetCurrentDebugLocation2(w->entry, at);
}

static void
copy_attributes(struct warp_build *w)
{
    LLVMAttributeRef all[64];
    LLVMAttributeIndex at = (unsigned)LLVMAttributeFunctionIndex;
    static const char *const keep[] = {"probe-stack", "target-cpu", "target-features"};
    for (size_t i = 0; i < sizeof keep / sizeof *keep; i++)
        if ((all[0] = LLVMGetStringAttributeAtIndex(w->old, at, keep[i], (unsigned)strlen(keep[i]))))
            LLVMAddAttributeAtIndex(w->fn, at, all[0]);
    unsigned nounwind = LLVMGetEnumAttributeKindForName("nounwind", 8);
    LLVMAddAttributeAtIndex(w->fn, at, LLVMCreateEnumAttribute(w->ctx, nounwind, 0));
    unsigned n = LLVMGetAttributeCountAtIndex(w->old, 2);
    if (n <= 64) { // of the parameter block
        LLVMGetAttributesAtIndex(w->old, 2, all);
        for (unsigned i = 0; i < n; i++)
            LLVMAddAttributeAtIndex(w->fn, 2, all[i]);
    }
}

static void
reset(struct warp_build *w)
{
    for (int b = 0; b < w->nblocks; b++) {
        struct wblock *bl = &w->block[b];
        bl->pending = bl->mask_slot = bl->mask = NULL;
        bl->visit = new_block(w);
        if (bl->need_pending)
            bl->pending = entry_alloca(w, w->mask_type);
        if (b && bl->mask_of == b)
            bl->mask_slot = entry_alloca(w, w->mask_type);
    }
}

void
begin_function(struct warp_build *w, const char *name)
{
    LLVMTypeRef arg[] = {w->ptr, w->ptr, w->i32};
    w->fn = LLVMAddFunction(w->m, name, LLVMFunctionType(LLVMVoidTypeInContext(w->ctx), arg, 3, 0));
    copy_attributes(w);
    w->thread = LLVMGetParam(w->fn, 0);
    w->params = LLVMGetParam(w->fn, 1);
}

LLVMValueRef
warp_emit(struct warp_build *w, const char *name)
{
    begin_function(w, name);
    LLVMBasicBlockRef allocas = new_block(w), first = new_block(w);
    w->b = LLVMCreateBuilderInContext(w->ctx);
    w->entry = LLVMCreateBuilderInContext(w->ctx);
    begin_scope(w, name);
    LLVMPositionBuilderAtEnd(w->entry, allocas);
    LLVMPositionBuilderAtEnd(w->b, first);
    reset(w);
    make_phi_slots(w);
    for (int b = 0; b < w->nblocks; b++)
        if (w->block[b].pending)
            LLVMBuildStore(w->b, LLVMConstNull(w->mask_type), w->block[b].pending);
    // Dominates everything: no slot.
    LLVMValueRef present = splat(w, LLVMGetParam(w->fn, 2));
    w->block[0].mask = w->variant.full ? LLVMConstAllOnes(w->mask_type)
                               : LLVMBuildICmp(w->b, LLVMIntULT, const_vector(w, w->i32, 0, 1), present, "");
    LLVMBuildBr(w->b, w->block[0].visit);
    for (int b = 0; b < w->nblocks; b++)
        emit_block(w, b);
    LLVMBuildBr(w->entry, first);
    LLVMDisposeBuilder(w->b);
    LLVMDisposeBuilder(w->entry);
    return w->fn;
}
