// SPDX-License-Identifier: MIT
// cp.async, done at once: its groups are complete when they are made. mapa and getctarank of a
// cluster of one block.
#include "emit/core.h"

// cp.async [dst], [src], size {, src-size} {, policy}: what lies beyond src-size is zero. A
// predicate instead of src-size says that the source is ignored.
static LLVMValueRef
bytes_to_read(struct emitter *e, const struct ptx_inst *i, uint64_t size)
{
    const struct ptx_operand *o = i->noperand > 3 ? &i->operand[3] : NULL;
    LLVMValueRef all = em_int(e, e->i32, size);
    if (!o || (o->kind == PTX_O_REG && e->func->reg[o->reg].type == PTX_B64))
        return all;
    bool predicate = o->kind == PTX_O_REG && e->func->reg[o->reg].type == PTX_PRED;
    if (predicate)
        return ir_select(e, em_operand(e, i, o, PTX_PRED), em_int(e, e->i32, 0), all);
    return ir_call2(e, "llvm.umin", em_operand(e, i, o, PTX_B32), all);
}

static LLVMValueRef
pointer_in(struct emitter *e, const struct ptx_inst *i, unsigned operand, enum ptx_space space)
{
    struct ptx_inst access = *i;
    access.space = (uint8_t)space;
    return em_pointer(e, &access, &i->operand[operand], NULL);
}

static bool
copy(struct emitter *e, const struct ptx_inst *i)
{
    uint64_t size = i->operand[2].kind == PTX_O_INT ? i->operand[2].ival : 0;
    if (size != 4 && size != 8 && size != 16)
        return em_refuse(e, i, "copies %llu bytes", (unsigned long long)size);
    LLVMValueRef to = pointer_in(e, i, 0, PTX_SPACE_SHARED),
                 from = pointer_in(e, i, 1, PTX_SPACE_GLOBAL);
    LLVMValueRef n = bytes_to_read(e, i, size);
    uint64_t known;
    if (ir_constant(n, &known) && known == size) {
        LLVMBuildMemCpy(e->b, to, (unsigned)size, from, (unsigned)size, em_int(e, e->i64, size));
        return true;
    }
    LLVMBuildMemSet(e->b, to, em_int(e, e->i8, 0), em_int(e, e->i64, size), (unsigned)size);
    LLVMBuildMemCpy(e->b, to, (unsigned)size, from, 1, em_resize(e, n, e->i64, false));
    return true;
}

bool
emit_cp_async(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_MBARRIER))
        return em_refuse(e, i, "on an mbarrier is not supported");
    if (ptx_has(i, PTX_MOD_COMMIT_GROUP) || ptx_has(i, PTX_MOD_WAIT_GROUP) ||
        ptx_has(i, PTX_MOD_WAIT_ALL))
        return true;
    return i->noperand >= 3 ? copy(e, i) : em_refuse(e, i, "is malformed");
}

// The address in block 0 of the cluster, which is this one.
bool
emit_mapa(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = em_address_type(i);
    em_dst(e, i, 0, t, em_src(e, i, 1, t));
    return true;
}

bool
emit_getctarank(struct emitter *e, const struct ptx_inst *i)
{
    em_dst(e, i, 0, PTX_U32, em_int(e, e->i32, 0));
    return true;
}
