// SPDX-License-Identifier: MIT
// call: direct, indirect through tables of functions, recursive; arguments and results by the rules
// of abi.c.
#include <stdlib.h>

#include "emit/core.h"

void
em_unreachable(struct emitter *e)
{
    LLVMBuildUnreachable(e->b);
}

// ---- arguments ----------------------------------------------------------------------------------
static bool
is_variable(const struct ptx_operand *o)
{
    return o->kind == PTX_O_SYM && (o->sym->kind == PTX_SYM_VAR || o->sym->kind == PTX_SYM_PARAM);
}

static unsigned
bytes_of(LLVMTypeRef t)
{
    return LLVMGetIntTypeWidth(t) / 8;
}

LLVMValueRef
em_call_arg(struct emitter *e, const struct ptx_inst *i, unsigned k, LLVMTypeRef t)
{
    const struct ptx_operand *o = &i->call->arg[k];
    if (!is_variable(o))
        return em_operand(e, i, o, em_bits_type(bytes_of(t)));
    const struct ptx_var *v = o->sym->var;
    LLVMTypeRef own = !em_by_value(v) || v->size * 8 > LLVMGetIntTypeWidth(t)
                          ? t
                          : em_int_type(e, (unsigned)v->size * 8);
    LLVMValueRef got = LLVMBuildLoad2(e->b, own, em_var_pointer(e, o->sym), "");
    LLVMSetAlignment(got, v->align);
    return em_resize(e, got, t, false);
}

static LLVMValueRef
argument_memory(struct emitter *e, const struct ptx_inst *i, const struct ptx_operand *o,
                const struct ptx_var *want)
{
    if (is_variable(o))
        return em_var_pointer(e, o->sym);
    LLVMTypeRef t = em_int_type(e, want->size && want->size <= 16 ? (unsigned)want->size * 8 : 64);
    LLVMValueRef p = em_alloca(e, t, want->align);
    LLVMValueRef v = em_operand(e, i, o, em_bits_type(bytes_of(t)));
    LLVMBuildStore(e->b, em_resize(e, em_as_int(e, v), t, false), p);
    return p;
}

void
em_call_result(struct emitter *e, const struct ptx_inst *i, unsigned k, LLVMValueRef v)
{
    if (k >= i->call->nret)
        return;
    const struct ptx_operand *o = &i->call->ret[k];
    if (!is_variable(o)) {
        em_write(e, i, o, em_bits_type(bytes_of(LLVMTypeOf(v))), v);
        return;
    }
    const struct ptx_var *var = o->sym->var;
    if (em_by_value(var))
        v = em_resize(e, v, em_int_type(e, (unsigned)var->size * 8), false);
    LLVMValueRef s = LLVMBuildStore(e->b, v, em_var_pointer(e, o->sym));
    LLVMSetAlignment(s, var->align);
}

// Memory for a result that does not travel by value: the caller's variable, or for a register a
// place to load it from.
static LLVMValueRef
result_memory(struct emitter *e, const struct ptx_inst *i, unsigned k, const struct ptx_var *want)
{
    if (k < i->call->nret && is_variable(&i->call->ret[k]))
        return em_var_pointer(e, i->call->ret[k].sym);
    return em_alloca(e, LLVMArrayType2(e->i8, want->size ? want->size : 1), want->align);
}

// ---- the call -----------------------------------------------------------------------------------
static LLVMValueRef *
arguments(struct emitter *e, const struct ptx_inst *i, const struct ptx_proto *p)
{
    LLVMValueRef *arg = NULL; // vec
    vec_push(arg, e->pw);
    for (uint32_t k = em_value_result(p) ? 1 : 0; k < p->nret; k++)
        vec_push(arg, result_memory(e, i, k, &p->ret[k]));
    for (uint32_t k = 0; k < p->nparam; k++) {
        const struct ptx_var *v = &p->param[k];
        if (k >= i->call->narg) // the block of variable arguments, of which there are none
            vec_push(arg, LLVMConstNull(em_pointer_type(e, PTX_SPACE_LOCAL)));
        else
            vec_push(arg, em_by_value(v) ? em_call_arg(e, i, k, em_value_type(e, v))
                                     : argument_memory(e, i, &i->call->arg[k], v));
    }
    return arg;
}

static void
take_results(struct emitter *e, const struct ptx_inst *i, const struct ptx_proto *p, LLVMValueRef v,
             LLVMValueRef *arg)
{
    bool value = em_value_result(p) != NULL;
    if (value)
        em_call_result(e, i, 0, v);
    for (uint32_t k = value; k < i->call->nret; k++) {
        if (is_variable(&i->call->ret[k]) || !em_by_value(&p->ret[k]))
            continue;
        LLVMTypeRef t = em_int_type(e, (unsigned)p->ret[k].size * 8);
        em_call_result(e, i, k, LLVMBuildLoad2(e->b, t, arg[k + !value], ""));
    }
}

static bool
call_through(struct emitter *e, const struct ptx_inst *i, LLVMValueRef fn,
             const struct ptx_proto *p)
{
    uint32_t least = p->nparam - (p->variadic && p->nparam);
    if (i->call->narg < least || i->call->narg > p->nparam || i->call->nret > p->nret)
        return em_refuse(e, i, "passes %u arguments where %u are declared", i->call->narg,
                         p->nparam);
    LLVMValueRef *arg = arguments(e, i, p);
    LLVMValueRef v =
        LLVMBuildCall2(e->b, em_function_type(e, p), fn, arg, (unsigned)vec_len(arg), "");
    if (p->noreturn)
        em_unreachable(e);
    else
        take_results(e, i, p, v, arg);
    vec_free(arg);
    return true;
}

static bool
call_direct(struct emitter *e, const struct ptx_inst *i, struct ptx_sym *sym)
{
    if (sym->kind != PTX_SYM_FUNC)
        return em_refuse(e, i, "calls '%s', which is no function", sym->name);
    struct ptx_func *f = ptx_def(sym)->func;
    if (!f->has_body)
        return em_call_builtin(e, i, sym->name);
    if (f->is_entry)
        return em_refuse(e, i, "calls the kernel '%s'", sym->name);
    return call_through(e, i, em_declare(e, f), &f->proto);
}

// ---- indirect calls -----------------------------------------------------------------------------
// A function of that type which only reports the wrong call.
static LLVMValueRef
make_bad_callee(struct emitter *e, LLVMTypeRef type)
{
    LLVMValueRef fn = LLVMAddFunction(e->mod, "bad_callee", type), pw = LLVMGetParam(fn, 0);
    LLVMSetLinkage(fn, LLVMInternalLinkage);
    em_function_attributes(e, fn);
    LLVMBuilderRef b = e->b;
    LLVMValueRef outer = e->pw;
    e->b = LLVMCreateBuilderInContext(e->ctx);
    e->pw = pw;
    LLVMPositionBuilderAtEnd(e->b, LLVMAppendBasicBlockInContext(e->ctx, fn, "entry"));
    em_pw(e, "bad_call", e->void_, NULL, 0);
    em_unreachable(e);
    LLVMDisposeBuilder(e->b);
    e->b = b;
    e->pw = outer;
    return fn;
}

static LLVMValueRef
make_table(struct emitter *e, LLVMTypeRef type)
{
    size_t n = vec_len(e->unit->taken);
    LLVMValueRef bad = make_bad_callee(e, type);
    LLVMValueRef *fn = calloc(n + 1, sizeof *fn);
    for (size_t k = 0; k <= n; k++) {
        struct ptx_func *f = k < n ? e->unit->taken[k] : NULL;
        bool fits = f && f->has_body && !f->is_entry && em_function_type(e, &f->proto) == type;
        fn[k] = fits ? em_declare(e, f) : bad;
    }
    LLVMTypeRef elem = LLVMTypeOf(bad);
    LLVMValueRef t = LLVMAddGlobal(e->mod, LLVMArrayType2(elem, n + 1), "pw.callees");
    LLVMSetInitializer(t, LLVMConstArray2(elem, fn, n + 1));
    LLVMSetLinkage(t, LLVMInternalLinkage);
    LLVMSetGlobalConstant(t, 1);
    free(fn);
    return t;
}

static LLVMValueRef
table_of(struct emitter *e, LLVMTypeRef type)
{
    for (size_t k = 0; k < vec_len(e->unit->tables); k++)
        if (e->unit->tables[k].type == type)
            return e->unit->tables[k].table;
    em_know_taken(e);
    struct emit_table t = {type, make_table(e, type)};
    vec_push(e->unit->tables, t);
    return t.table;
}

// Handles are 16 apart: rotating the distance from the first one right by 4 makes an index of it,
// and a huge number of anything that is no handle.
static LLVMValueRef
callee_of_handle(struct emitter *e, LLVMValueRef handle, LLVMTypeRef type)
{
    LLVMValueRef table = table_of(e, type);
    LLVMValueRef n = em_int(e, e->i64, vec_len(e->unit->taken));
    LLVMValueRef d = ir_sub(e, handle, em_int(e, e->i64, PTX_FUNC_HANDLE_BASE));
    LLVMValueRef index = ir_call3(e, "llvm.fshr", d, d, em_int(e, e->i64, 4));
    index = ir_call2(e, "llvm.umin", index, n);
    LLVMTypeRef array = LLVMGlobalGetValueType(table), elem = LLVMGetElementType(array);
    LLVMValueRef at[] = {em_int(e, e->i64, 0), index};
    return LLVMBuildLoad2(e->b, elem, LLVMBuildInBoundsGEP2(e->b, array, table, at, 2, ""), "");
}

static const struct ptx_proto *
prototype_of(const struct ptx_sym *sym)
{
    if (sym && sym->kind == PTX_SYM_PROTO)
        return sym->proto;
    if (sym && sym->kind == PTX_SYM_TARGETS && sym->targets->n &&
        sym->targets->sym[0]->kind == PTX_SYM_FUNC)
        return &sym->targets->sym[0]->func->proto;
    return NULL;
}

static bool
call_indirect(struct emitter *e, const struct ptx_inst *i)
{
    const struct ptx_proto *p = prototype_of(i->call->proto);
    if (!p)
        return em_refuse(e, i, "through a register needs a prototype");
    LLVMValueRef handle = em_operand(e, i, &i->call->target, PTX_U64);
    return call_through(e, i, callee_of_handle(e, handle, em_function_type(e, p)), p);
}

bool
emit_call(struct emitter *e, const struct ptx_inst *i)
{
    if (!i->call)
        return em_refuse(e, i, "is malformed");
    if (i->call->target.kind == PTX_O_SYM)
        return call_direct(e, i, i->call->target.sym);
    return call_indirect(e, i);
}
