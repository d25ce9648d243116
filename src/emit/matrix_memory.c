// SPDX-License-Identifier: MIT
// Matrices between memory and a warp's registers: ldmatrix, stmatrix, wmma.load, wmma.store.
#include "emit/matrix.h"

// ---- ldmatrix, stmatrix
static unsigned
log_count(const struct ptx_inst *i)
{
    return ptx_has(i, PTX_MOD_X4) ? 2 : ptx_has(i, PTX_MOD_X2) ? 1 : 0;
}

static enum matrix_type
stored_type(const struct ptx_inst *i)
{
    if (i->ntype == 2)
        return i->type[1] == PTX_B6X16_P32 ? MT_B8_B6 : MT_B8_B4;
    return i->ntype ? em_matrix_type(i->type[0]) : MT_NONE;
}

static struct matrix_form
describe(const struct ptx_inst *i, enum matrix_op op)
{
    struct matrix_form f = {.op = op, .a = stored_type(i), .a_turned = ptx_has(i, PTX_MOD_TRANS)};
    em_matrix_set_shape(&f, em_matrix_shape(i));
    f.log_k = log_count(i);
    return f;
}

bool
emit_ldmatrix(struct emitter *e, const struct ptx_inst *i)
{
    struct matrix_form f = describe(i, MATRIX_LDMATRIX);
    bool square = f.m8 == 2 && f.n8 == 2, packed = f.a == MT_B8_B6 || f.a == MT_B8_B4;
    bool known = (f.m8 == 1 && f.n8 == 1 && f.a == MT_B16) ||
                 (square && f.a_turned && (f.a == MT_B8 || packed) && f.log_k < 2) ||
                 (f.m8 == 1 && f.n8 == 2 && packed && !f.a_turned);
    if (!known)
        return em_refuse(e, i, "has no such combination of shape and type");
    struct matrix_words w = {.n = 0};
    em_push_address(e, i, 1, &w);
    return em_matrix_call(e, i, "matrix", f, &w, 0, (1u << f.log_k) * (square ? 2 : 1), 32);
}

bool
emit_stmatrix(struct emitter *e, const struct ptx_inst *i)
{
    struct matrix_form f = describe(i, MATRIX_STMATRIX);
    if (!(f.m8 == 1 && f.n8 == 1 && f.a == MT_B16) && !(f.m8 == 2 && f.n8 == 1 && f.a == MT_B8))
        return em_refuse(e, i, "has no such combination of shape and type");
    struct matrix_words w = {.n = 0};
    em_push_address(e, i, 0, &w);
    em_push_registers(e, i, 1, 1u << f.log_k, 32, &w);
    return em_matrix_call(e, i, "matrix", f, &w, 0, 0, 32);
}

// ---- wmma.load, wmma.store
bool
em_wmma_shape(struct matrix_shape s, enum matrix_type t)
{
    unsigned mn = s.m * 100 + s.n;
    switch (t) {
    case MT_F16:
    case MT_BF16:
    case MT_S8:
    case MT_U8:
        return s.k == 16 && (mn == 1616 || mn == 832 || mn == 3208);
    case MT_TF32:
        return s.k == 8 && mn == 1616;
    case MT_F64:
        return s.k == 4 && mn == 808;
    case MT_S4:
    case MT_U4:
        return s.k == 32 && mn == 808;
    case MT_B1:
        return s.k == 128 && mn == 808;
    default:
        return false;
    }
}

// Are there multiplications of this shape with such accumulators?
static bool
accumulator_shape(struct matrix_shape s, enum matrix_type t)
{
    switch (t) {
    case MT_F16:
        return em_wmma_shape(s, MT_F16);
    case MT_F32:
        return em_wmma_shape(s, MT_F16) || em_wmma_shape(s, MT_TF32);
    case MT_F64:
        return em_wmma_shape(s, MT_F64);
    case MT_S32:
        return em_wmma_shape(s, MT_S8) || em_wmma_shape(s, MT_S4) || em_wmma_shape(s, MT_B1);
    default:
        return false;
    }
}

static enum matrix_part
part_of(const struct ptx_inst *i)
{
    return ptx_has(i, PTX_MOD_A) ? MATRIX_A : ptx_has(i, PTX_MOD_B) ? MATRIX_B : MATRIX_C;
}

static bool
fragment_form(struct emitter *e, const struct ptx_inst *i, struct matrix_form *f)
{
    struct matrix_shape s = em_matrix_shape(i);
    f->a = i->ntype ? em_matrix_type(i->type[0]) : MT_NONE;
    f->part = f->op == MATRIX_STORE ? MATRIX_C : part_of(i);
    f->a_turned = em_matrix_turned(i, 0);
    em_matrix_set_shape(f, s);
    if (f->part == MATRIX_C ? !accumulator_shape(s, f->a) : !em_wmma_shape(s, f->a))
        return em_refuse(e, i, "has no such combination of shape and type");
    return true;
}

// The address and the distance of rows (columns, if turned): the matrix's own width where it is not
// given.
static void
push_place(struct emitter *e, const struct ptx_inst *i, struct matrix_form f, unsigned k,
           unsigned stride, struct matrix_words *w)
{
    struct matrix_shape s = em_matrix_shape(i);
    unsigned rows = f.part == MATRIX_B ? s.k : s.m, columns = f.part == MATRIX_A ? s.k : s.n;
    em_push_address(e, i, k, w);
    em_push_word(w, stride < i->noperand ? em_src(e, i, stride, PTX_B32)
                                         : em_int(e, e->i32, f.a_turned ? rows : columns));
}

static unsigned
fragment_registers(const struct ptx_inst *i, struct matrix_form f)
{
    struct matrix_shape s = em_matrix_shape(i);
    unsigned rows = f.part == MATRIX_B ? s.k : s.m, columns = f.part == MATRIX_A ? s.k : s.n;
    unsigned bits = em_matrix_bits(f.a);
    if (f.a == MT_F16 && f.part != MATRIX_C)
        return 8;
    return rows * columns * bits / 32 / (bits == 64 ? 64 : 32);
}

bool
emit_wmma_load(struct emitter *e, const struct ptx_inst *i)
{
    struct matrix_form f = {.op = MATRIX_LOAD};
    struct matrix_words w = {.n = 0};
    if (!fragment_form(e, i, &f))
        return false;
    push_place(e, i, f, 1, 2, &w);
    return em_matrix_call(e, i, "matrix", f, &w, 0, fragment_registers(i, f),
                          f.a == MT_F64 ? 64 : 32);
}

bool
emit_wmma_store(struct emitter *e, const struct ptx_inst *i)
{
    struct matrix_form f = {.op = MATRIX_STORE};
    struct matrix_words w = {.n = 0};
    if (!fragment_form(e, i, &f))
        return false;
    push_place(e, i, f, 0, 2, &w);
    em_push_registers(e, i, 1, fragment_registers(i, f), f.a == MT_F64 ? 64 : 32, &w);
    return em_matrix_call(e, i, "matrix", f, &w, 0, 0, 32);
}
