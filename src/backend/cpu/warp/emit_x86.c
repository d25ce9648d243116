// SPDX-License-Identifier: MIT
// What x86 has instructions for and LLVM no portable form (AVX-512): arithmetic with a rounding direction of its own, scaling
// by a power of two, a first guess of 1 / sqrt(x).
#include "backend/cpu/lower.h"
#include "backend/cpu/warp/warp.h"

#include <stdio.h>
#include <string.h>

static const struct {
    const char *name, *ps, *pd;
    unsigned operands;
} operations[] = {
    {"add", "llvm.x86.avx512.add.ps.512", "llvm.x86.avx512.add.pd.512", 2},
    {"mul", "llvm.x86.avx512.mul.ps.512", "llvm.x86.avx512.mul.pd.512", 2},
    {"div", "llvm.x86.avx512.div.ps.512", "llvm.x86.avx512.div.pd.512", 2},
    {"rcp", "llvm.x86.avx512.div.ps.512", "llvm.x86.avx512.div.pd.512", 1}, // of 1
    {"fma", "llvm.x86.avx512.vfmadd.ps.512", "llvm.x86.avx512.vfmadd.pd.512", 3},
    {"sqrt", "llvm.x86.avx512.sqrt.ps.512", "llvm.x86.avx512.sqrt.pd.512", 1},
};

// The instruction's immediate: direction, no exceptions.
static const struct {
    const char *name;
    unsigned immediate;
} directions[] = {{"rm", 9}, {"rp", 10}, {"rz", 11}};

struct rounded {
    unsigned op, direction;
    bool wide; // f64
};

static bool
parse(const char *name, struct rounded *r)
{
    char op[8], direction[8], type[8];
    if (sscanf(name, "pw_m_%7[a-z]_%7[a-z]_%7[a-z0-9]", op, direction, type) != 3)
        return false;
    unsigned nop = sizeof operations / sizeof *operations, ndir = sizeof directions / sizeof *directions;
    for (r->op = 0; r->op < nop && strcmp(op, operations[r->op].name); r->op++)
        ;
    for (r->direction = 0; r->direction < ndir && strcmp(direction, directions[r->direction].name); r->direction++)
        ;
    r->wide = !strcmp(type, "f64");
    return r->op < nop && r->direction < ndir && (r->wide || !strcmp(type, "f32"));
}

static const char scale[] = "pw_m_scale_f32", rsqrt_seed[] = "pw_m_rsqrt_seed_f32";

bool
has_instruction(const struct warp_build *w, const char *name)
{
    struct rounded r;
    return w->registers.lanes >= 16 && (parse(name, &r) || !strcmp(name, scale) || !strcmp(name, rsqrt_seed));
}

static LLVMValueRef
part(struct warp_build *w, LLVMValueRef v, unsigned first, unsigned n)
{
    LLVMValueRef e[16];
    for (unsigned i = 0; i < n; i++)
        e[i] = LLVMConstInt(w->i32, first + i, 0);
    return LLVMBuildShuffleVector(w->b, v, LLVMGetPoison(LLVMTypeOf(v)), LLVMConstVector(e, n), "");
}

static LLVMValueRef
join(struct warp_build *w, LLVMValueRef *p, unsigned n, unsigned size)
{
    LLVMValueRef e[MAX_LANES];
    for (; n > 1; n /= 2, size *= 2)
        for (unsigned k = 0; k < n / 2; k++) {
            for (unsigned i = 0; i < 2 * size; i++)
                e[i] = LLVMConstInt(w->i32, i, 0);
            p[k] = LLVMBuildShuffleVector(w->b, p[2 * k], p[2 * k + 1], LLVMConstVector(e, 2 * size), "");
        }
    return p[0];
}

static LLVMValueRef
instruction(struct warp_build *w, const struct rounded *r, LLVMValueRef *arg)
{
    const char *name = r->wide ? operations[r->op].pd : operations[r->op].ps;
    unsigned n = operations[r->op].operands;
    if (!strcmp(operations[r->op].name, "rcp")) {
        LLVMTypeRef t = LLVMTypeOf(arg[0]), e = LLVMGetElementType(t);
        LLVMValueRef one[16];
        for (unsigned i = 0; i < LLVMGetVectorSize(t); i++)
            one[i] = LLVMConstReal(e, 1.0);
        arg[n++] = arg[0];
        arg[0] = LLVMConstVector(one, LLVMGetVectorSize(t));
    }
    arg[n] = LLVMConstInt(w->i32, directions[r->direction].immediate, 0);
    return call_intrinsic(w, name, NULL, 0, arg, n + 1);
}

static LLVMValueRef
scaled(struct warp_build *w, LLVMValueRef *arg)
{
    enum { NEAREST = 4 }; // the rounding mode that is set
    LLVMTypeRef mask = LLVMIntTypeInContext(w->ctx, 16);
    LLVMValueRef all[] = {arg[0], arg[1], LLVMGetPoison(LLVMTypeOf(arg[0])), LLVMConstAllOnes(mask), LLVMConstInt(w->i32, NEAREST, 0)};
    return call_intrinsic(w, "llvm.x86.avx512.mask.scalef.ps.512", NULL, 0, all, 5);
}

static LLVMValueRef
reciprocal_root(struct warp_build *w, LLVMValueRef x)
{
    LLVMValueRef arg[] = {x, LLVMGetPoison(LLVMTypeOf(x)), LLVMConstAllOnes(LLVMIntTypeInContext(w->ctx, 16))};
    return call_intrinsic(w, "llvm.x86.avx512.rsqrt14.ps.512", NULL, 0, arg, 3);
}

// Thread mode must give the same bits: its seed is the same instruction.
void
lower_for_processor(LLVMModuleRef m)
{
    LLVMValueRef f = LLVMGetNamedFunction(m, rsqrt_seed);
    if (target_registers().lanes < 16 || !f || LLVMIsDeclaration(f))
        return;
    LLVMContextRef ctx = LLVMGetModuleContext(m);
    LLVMBasicBlockRef old = LLVMGetFirstBasicBlock(f);
    if (LLVMGetNextBasicBlock(old))
        return;
    LLVMDeleteBasicBlock(old);
    LLVMTypeRef t = LLVMVectorType(LLVMFloatTypeInContext(ctx), 4), i32 = LLVMInt32TypeInContext(ctx);
    LLVMBuilderRef b = LLVMCreateBuilderInContext(ctx);
    LLVMPositionBuilderAtEnd(b, LLVMAppendBasicBlockInContext(ctx, f, ""));
    LLVMValueRef zero = LLVMConstInt(i32, 0, 0), x = LLVMBuildInsertElement(b, LLVMConstNull(t), LLVMGetParam(f, 0), zero, "");
    LLVMValueRef arg[] = {x, x, LLVMConstNull(t), LLVMConstAllOnes(LLVMInt8TypeInContext(ctx))};
    unsigned id = LLVMLookupIntrinsicID("llvm.x86.avx512.rsqrt14.ss", 26);
    LLVMValueRef y = LLVMBuildCall2(b, LLVMIntrinsicGetType(ctx, id, NULL, 0), LLVMGetIntrinsicDeclaration(m, id, NULL, 0), arg, 4, "");
    LLVMBuildRet(b, LLVMBuildExtractElement(b, y, zero, ""));
    LLVMDisposeBuilder(b);
}

bool
emit_by_instruction(struct warp_build *w, LLVMValueRef call)
{
    struct rounded r = {0};
    const char *name = warp_name(called_function(call));
    if (!has_instruction(w, name))
        return false;
    bool scales = !strcmp(name, scale), root = !strcmp(name, rsqrt_seed);
    unsigned operands = scales ? 2 : root ? 1 : parse(name, &r) ? operations[r.op].operands : 0;
    unsigned size = r.wide ? 8 : 16, n = (unsigned)w->lanes / size;
    LLVMValueRef v[3], out[MAX_LANES / 8];
    for (unsigned k = 0; k < operands; k++)
        v[k] = vector_of(w, LLVMGetOperand(call, k));
    for (unsigned p = 0; p < n; p++) {
        LLVMValueRef arg[4];
        for (unsigned k = 0; k < operands; k++)
            arg[k] = part(w, v[k], p * size, size);
        out[p] = scales ? scaled(w, arg) : root ? reciprocal_root(w, arg[0]) : instruction(w, &r, arg);
    }
    define_vector(w, call, join(w, out, n, size));
    return true;
}
