// SPDX-License-Identifier: MIT
// How parameters and results of device functions travel (pw.md, Shape). A scalar narrower than 32
// bits travels as i32, so that a call through a prototype fits whatever width either side declared.
#include "emit/core.h"

bool
em_by_value(const struct ptx_var *v)
{
    return !v->is_array && v->vec <= 1 && v->size >= 1 && v->size <= 16;
}

LLVMTypeRef
em_value_type(struct emitter *e, const struct ptx_var *v)
{
    return v->size <= 4 ? e->i32 : em_int_type(e, (unsigned)v->size * 8);
}

const struct ptx_var *
em_value_result(const struct ptx_proto *p)
{
    return p->nret && em_by_value(&p->ret[0]) ? &p->ret[0] : NULL;
}

LLVMTypeRef
em_function_type(struct emitter *e, const struct ptx_proto *p)
{
    const struct ptx_var *result = em_value_result(p);
    LLVMTypeRef memory = em_pointer_type(e, PTX_SPACE_LOCAL);
    LLVMTypeRef *type = NULL; // vec
    vec_push(type, e->ptr);
    for (uint32_t k = result ? 1 : 0; k < p->nret; k++)
        vec_push(type, memory);
    for (uint32_t k = 0; k < p->nparam; k++) {
        const struct ptx_var *v = &p->param[k];
        vec_push(type, em_by_value(v) ? em_value_type(e, v) : memory);
    }
    LLVMTypeRef ret = result ? em_value_type(e, result) : e->void_;
    LLVMTypeRef fn = LLVMFunctionType(ret, type, (unsigned)vec_len(type), 0);
    vec_free(type);
    return fn;
}

LLVMTypeRef
em_kernel_type(struct emitter *e)
{
    LLVMTypeRef type[] = {e->ptr, em_pointer_type(e, PTX_SPACE_PARAM)};
    return LLVMFunctionType(e->void_, type, 2, 0);
}
