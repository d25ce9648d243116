// SPDX-License-Identifier: MIT
// ld and st in all spaces, and the hints about memory.
#include "emit/core.h"

// Type of one element in memory. Types narrower than a byte do not occur.
static LLVMTypeRef
memory_type(struct emitter *e, enum ptx_type t)
{
    return em_type(e, t);
}

struct access {
    enum ptx_type type;
    LLVMTypeRef elem;
    unsigned n, bytes; // elements, bytes of one
    enum em_order order;
    const char *scope;
    bool is_volatile, constant;
};

// Without an order ld, st are weak; .volatile needs no scope.
static bool
describe(struct emitter *e, const struct ptx_inst *i, struct access *a)
{
    if (!i->ntype || !ptx_type_bits(i->type[0]) || i->type[0] == PTX_PRED)
        return em_refuse(e, i, "has no type that memory can hold");
    a->type = i->type[0];
    a->elem = memory_type(e, a->type);
    a->n = i->vec ? i->vec : 1;
    a->bytes = ptx_type_bits(a->type) / 8;
    a->order = em_order(i, EM_WEAK);
    a->scope = em_scope(i, "sys");
    a->is_volatile = a->order == EM_VOLATILE;
    return true;
}

static bool
is_weak(const struct access *a)
{
    return a->order == EM_WEAK;
}

static LLVMValueRef
element_pointer(struct emitter *e, LLVMValueRef p, const struct access *a, unsigned k)
{
    LLVMValueRef off = em_int(e, e->i64, (uint64_t)k * a->bytes);
    return k ? LLVMBuildGEP2(e->b, e->i8, p, &off, 1, "") : p;
}

// An alloca of an integer of the access's width is used as that integer, which keeps it promotable.
static LLVMTypeRef
access_type(struct emitter *e, LLVMValueRef p, const struct access *a)
{
    if (a->n > 1)
        return is_weak(a) ? LLVMVectorType(a->elem, a->n) : a->elem;
    LLVMTypeRef bits = em_int_type(e, a->bytes * 8);
    return LLVMIsAAllocaInst(p) && LLVMGetAllocatedType(p) == bits ? bits : a->elem;
}

static void
mark_constant(struct emitter *e, LLVMValueRef load)
{
    unsigned kind = LLVMGetMDKindIDInContext(e->ctx, "invariant.load", 14);
    LLVMSetMetadata(load, kind, LLVMMetadataAsValue(e->ctx, LLVMMDNodeInContext2(e->ctx, NULL, 0)));
}

static LLVMValueRef
load(struct emitter *e, LLVMValueRef p, LLVMTypeRef t, const struct access *a, unsigned bytes)
{
    LLVMValueRef v = LLVMBuildLoad2(e->b, t, p, "");
    LLVMSetAlignment(v, em_align_of(bytes));
    LLVMSetVolatile(v, a->is_volatile);
    if (!is_weak(a))
        LLVMSetOrdering(v, LLVMAtomicOrderingMonotonic);
    if (a->constant)
        mark_constant(e, v);
    return v;
}

static void
store(struct emitter *e, LLVMValueRef v, LLVMValueRef p, const struct access *a, unsigned bytes)
{
    LLVMValueRef s = LLVMBuildStore(e->b, v, p);
    LLVMSetAlignment(s, em_align_of(bytes));
    LLVMSetVolatile(s, a->is_volatile);
    if (!is_weak(a))
        LLVMSetOrdering(s, LLVMAtomicOrderingMonotonic);
}

// ---- ld -----------------------------------------------------------------------------------------
static void
load_vector(struct emitter *e, const struct ptx_inst *i, LLVMValueRef p, const struct access *a,
            const struct ptx_operand *part)
{
    LLVMValueRef all = load(e, p, access_type(e, p, a), a, a->n * a->bytes);
    for (unsigned k = 0; k < a->n; k++)
        em_write(e, i, &part[k], a->type,
                 LLVMBuildExtractElement(e->b, all, em_int(e, e->i32, k), ""));
}

static void
load_each(struct emitter *e, const struct ptx_inst *i, LLVMValueRef p, const struct access *a,
          const struct ptx_operand *part)
{
    LLVMValueRef v[EM_REG_PARTS_MAX];
    for (unsigned k = 0; k < a->n; k++)
        v[k] = load(e, element_pointer(e, p, a, k), access_type(e, p, a), a, a->bytes);
    for (unsigned k = 0; k < a->n; k++)
        em_write(e, i, &part[k], a->type, em_bits(e, v[k], a->elem));
}

static bool
get_parts(struct emitter *e, const struct ptx_inst *i, unsigned operand, unsigned n,
          struct ptx_operand *part)
{
    if (operand >= i->noperand || em_parts(e, &i->operand[operand], part) != n)
        return em_refuse(e, i, "needs %u registers", n);
    return true;
}

bool
emit_ld(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_operand part[EM_REG_PARTS_MAX];
    struct access a = {0};
    enum ptx_space space;
    if (!describe(e, i, &a) || !get_parts(e, i, 0, a.n, part))
        return false;
    LLVMValueRef p = em_pointer(e, i, &i->operand[1], &space);
    a.constant = is_weak(&a) && em_is_kernel_parameter(e, i, &i->operand[1], space);
    if (a.n > 1 && is_weak(&a))
        load_vector(e, i, p, &a, part);
    else
        load_each(e, i, p, &a, part);
    em_fence_after(e, a.order, a.scope);
    return true;
}

// ---- st -----------------------------------------------------------------------------------------
static LLVMValueRef
build_vector(struct emitter *e, LLVMValueRef *v, const struct access *a)
{
    LLVMValueRef all = LLVMGetPoison(LLVMVectorType(a->elem, a->n));
    for (unsigned k = 0; k < a->n; k++)
        all = LLVMBuildInsertElement(e->b, all, v[k], em_int(e, e->i32, k), "");
    return all;
}

static void
store_parts(struct emitter *e, LLVMValueRef *v, LLVMValueRef p, const struct access *a)
{
    if (a->n > 1 && is_weak(a)) {
        store(e, build_vector(e, v, a), p, a, a->n * a->bytes);
        return;
    }
    for (unsigned k = 0; k < a->n; k++) {
        LLVMValueRef at = element_pointer(e, p, a, k);
        store(e, em_bits(e, v[k], access_type(e, at, a)), at, a, a->bytes);
    }
}

bool
emit_st(struct emitter *e, const struct ptx_inst *i)
{
    struct ptx_operand part[EM_REG_PARTS_MAX];
    LLVMValueRef v[EM_REG_PARTS_MAX];
    struct access a = {0};
    if (!describe(e, i, &a) || !get_parts(e, i, 1, a.n, part))
        return false;
    for (unsigned k = 0; k < a.n; k++)
        v[k] = em_operand(e, i, &part[k], a.type);
    LLVMValueRef p = em_pointer(e, i, &i->operand[0], NULL);
    em_fence_before(e, a.order, a.scope);
    store_parts(e, v, p, &a);
    return true;
}

// ---- addresses ----------------------------------------------------------------------------------
static LLVMValueRef
cluster_cvta(struct emitter *e, const struct ptx_inst *i, LLVMValueRef a)
{
    if (ptx_has(i, PTX_MOD_TO))
        return em_resize(e, em_pw(e, "cluster.from_generic", e->i32, &a, 1), e->i64, false);
    a = em_resize(e, a, e->i32, false);
    return em_pw(e, "cluster.to_generic", e->i64, &a, 1);
}

bool
emit_cvta(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = em_address_type(i);
    LLVMValueRef a = em_src(e, i, 1, PTX_B64);
    if (em_names_cluster(i, 0))
        a = cluster_cvta(e, i, a);
    else
        a = ptx_has(i, PTX_MOD_TO) ? em_from_generic(e, a, i->space)
                                   : em_to_generic(e, a, i->space);
    em_dst(e, i, 0, t, em_resize(e, a, em_type(e, t), false));
    return true;
}

static bool
has_constants(const struct ptx_program *p)
{
    for (uint32_t k = 0; k < p->nmodule; k++)
        for (uint32_t v = 0; v < p->module[k]->nvar; v++)
            if (p->module[k]->var[v]->space == PTX_SPACE_CONST && !p->module[k]->var[v]->opaque)
                return true;
    return false;
}

// Address of a symbol that the loader makes (pw.md, Shape), as a number.
static LLVMValueRef
loader_symbol(struct emitter *e, const char *name)
{
    LLVMValueRef g = LLVMGetNamedGlobal(e->mod, name);
    if (!g)
        g = LLVMAddGlobalInAddressSpace(e->mod, e->i8, name, e->target->as[PTX_SPACE_CONST]);
    return LLVMBuildPtrToInt(e->b, g, e->i64, "");
}

// Is generic address `a` one of the program's constant variables?
static LLVMValueRef
in_constants(struct emitter *e, LLVMValueRef a)
{
    if (!has_constants(e->prog))
        return em_int(e, e->i1, 0);
    LLVMValueRef begin = loader_symbol(e, "const.begin"), end = loader_symbol(e, "const.end");
    return ir_icmp(e, LLVMIntULT, ir_sub(e, a, begin), ir_sub(e, end, begin));
}

bool
emit_isspacep(struct emitter *e, const struct ptx_inst *i)
{
    static const char *const name[] = {
        [PTX_SPACE_GLOBAL] = "isspacep.global",
        [PTX_SPACE_SHARED] = "isspacep.shared",
        [PTX_SPACE_LOCAL] = "isspacep.local",
        [PTX_SPACE_PARAM] = "isspacep.param",
    };
    const char *fn = i->space < sizeof name / sizeof *name ? name[i->space] : NULL;
    if (em_names_cluster(i, 0))
        fn = "isspacep.cluster";
    if (!fn && i->space != PTX_SPACE_CONST)
        return em_refuse(e, i, "names no state space");
    LLVMValueRef a = em_src(e, i, 1, PTX_B64);
    LLVMValueRef p = fn ? em_truth(e, em_pw(e, fn, e->i32, &a, 1)) : in_constants(e, a);
    if (i->space == PTX_SPACE_GLOBAL)
        p = ir_and(e, p, ir_not(e, in_constants(e, a)));
    em_dst(e, i, 0, PTX_PRED, p);
    return true;
}

// ---- hints --------------------------------------------------------------------------------------
bool
emit_prefetch(struct emitter *e, const struct ptx_inst *i)
{
    if (ptx_has(i, PTX_MOD_TENSORMAP)) // a hint about 128 bytes that are read once
        return true;
    enum ptx_space space = i->space;
    LLVMValueRef a = em_address(e, i, &i->operand[0], space);
    a = em_to_generic(e, a, space);
    em_pw(e, "prefetch", e->void_, &a, 1);
    return true;
}

// discard and applypriority permit what need not be done; a grid starts when the one before it has
// ended, which is all that griddepcontrol waits for.
bool
emit_nothing(struct emitter *e, const struct ptx_inst *i)
{
    (void)e;
    (void)i;
    return true;
}

// A cache policy is a number that only cache hints read.
bool
emit_createpolicy(struct emitter *e, const struct ptx_inst *i)
{
    em_dst(e, i, 0, PTX_B64, em_int(e, e->i64, 0));
    return true;
}
