// SPDX-License-Identifier: MIT
// emit_kernel: from a kernel of a linked program to one LLVM module.
#include "emit/core.h"

const unsigned emit_version = 3;

static void
cache_types(struct emitter *e)
{
    e->i1 = LLVMInt1TypeInContext(e->ctx);
    e->i8 = LLVMInt8TypeInContext(e->ctx);
    e->i16 = LLVMInt16TypeInContext(e->ctx);
    e->i32 = LLVMInt32TypeInContext(e->ctx);
    e->i64 = LLVMInt64TypeInContext(e->ctx);
    e->i128 = LLVMInt128TypeInContext(e->ctx);
    e->f16 = LLVMHalfTypeInContext(e->ctx);
    e->f32 = LLVMFloatTypeInContext(e->ctx);
    e->f64 = LLVMDoubleTypeInContext(e->ctx);
    e->ptr = LLVMPointerTypeInContext(e->ctx, 0);
    e->void_ = LLVMVoidTypeInContext(e->ctx);
}

static void
open_module(struct emitter *e, const struct ptx_func *kernel)
{
    e->mod = LLVMModuleCreateWithNameInContext(kernel->sym->name, e->ctx);
    LLVMSetTarget(e->mod, e->target->triple);
    LLVMSetDataLayout(e->mod, e->target->data_layout);
    e->b = LLVMCreateBuilderInContext(e->ctx);
    cache_types(e);
}

// Emitting a function may declare further ones.
static bool
emit_pending(struct emitter *e)
{
    while (vec_len(e->unit->pending)) {
        struct ptx_func *f = vec_pop(e->unit->pending);
        if (!em_function(e, f) && e->diags->errors >= EM_MAX_ERRORS)
            break;
    }
    return true;
}

static void
close_unit(struct emit_unit *u)
{
    intmap_free(&u->global);
    intmap_free(&u->handle);
    intmap_free(&u->di_file);
    vec_free(u->pending);
    vec_free(u->taken);
    vec_free(u->tables);
    arena_free(&u->arena);
}

LLVMModuleRef
emit_kernel(LLVMContextRef ctx, struct ptx_program *p, struct ptx_func *kernel,
            const struct emit_target *t, struct ptx_diags *d)
{
    struct emit_unit unit = {0};
    struct emitter e = {.ctx = ctx, .target = t, .prog = p, .diags = d, .unit = &unit};
    unsigned errors = d->errors;
    open_module(&e, kernel);
    em_debug_begin(&e);
    em_declare(&e, kernel);
    emit_pending(&e);
    em_debug_end(&e);
    LLVMDisposeBuilder(e.b);
    close_unit(&unit);
    if (d->errors == errors)
        return e.mod;
    LLVMDisposeModule(e.mod);
    return NULL;
}
