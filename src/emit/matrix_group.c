// SPDX-License-Identifier: MIT
// wgmma: multiplication by a warpgroup. Its results are there at once, so fences and waits have
// nothing to do.
#include "emit/matrix.h"

static bool
immediate(struct emitter *e, const struct ptx_inst *i, unsigned k, int64_t *out)
{
    if (k >= i->noperand || i->operand[k].kind != PTX_O_INT)
        return em_refuse(e, i, "needs a constant as operand %u", k + 1);
    *out = (int64_t)i->operand[k].ival;
    return true;
}

// imm-scale-a, imm-scale-b, and of 16-bit types imm-trans-a (not of registers), imm-trans-b
static bool
read_immediates(struct emitter *e, const struct ptx_inst *i, unsigned k, struct matrix_form *f)
{
    int64_t v[4] = {1, 1, 0, 0};
    bool halves = f->a == MT_F16 || f->a == MT_BF16;
    if (f->d == MT_S32)
        return true;
    for (unsigned n = 0; n < (halves ? 4u : 2u); n++)
        if (!(n == 2 && f->a_registers) && !immediate(e, i, k++, &v[n]))
            return false;
    f->a_negated = v[0] == -1;
    f->b_negated = v[1] == -1;
    f->a_turned = v[2] == 1;
    f->b_turned = v[3] == 1;
    return true;
}

// k of a dense multiplication; 0: no such type of a
static unsigned
depth(enum matrix_type t)
{
    switch (t) {
    case MT_F16:
    case MT_BF16:
        return 16;
    case MT_TF32:
        return 8;
    case MT_E4M3:
    case MT_E5M2:
    case MT_S8:
    case MT_U8:
        return 32;
    case MT_B1:
        return 256;
    default:
        return 0;
    }
}

static bool
is_known(struct matrix_form f, struct matrix_shape s)
{
    bool f8 = f.a == MT_E4M3 || f.a == MT_E5M2,
         integers = f.a == MT_S8 || f.a == MT_U8 || f.a == MT_B1;
    if (s.m != 64 || !s.n || s.n > 256 || s.n % 8 || s.k != depth(f.a) << f.sparse ||
        s.k != depth(f.b) << f.sparse)
        return false;
    if (!f8 && !(f.a == MT_S8 || f.a == MT_U8) && f.a != f.b)
        return false;
    return integers ? f.d == MT_S32 : f.d == MT_F32 || (f.d == MT_F16 && (f8 || f.a == MT_F16));
}

bool
emit_wgmma(struct emitter *e, const struct ptx_inst *i)
{
    if (i->ntype < 3 || i->noperand < 4)
        return em_refuse(e, i, "is malformed");
    struct matrix_shape s = em_matrix_shape(i);
    struct matrix_form f = {
        .op = MATRIX_WGMMA,
        .a = em_matrix_type(i->type[1]),
        .b = em_matrix_type(i->type[2]),
        .c = em_matrix_type(i->type[0]),
        .d = em_matrix_type(i->type[0]),
        .saturate = ptx_has(i, PTX_MOD_SATFINITE),
        .sparse = ptx_has(i, PTX_MOD_SP),
        .a_registers = i->operand[1].kind == PTX_O_VEC,
    };
    struct matrix_words w = {.n = 0};
    unsigned count = s.n / 8 * (f.d == MT_F16 ? 2 : 4), k = 3;
    uint64_t one = 1;
    if (!is_known(f, s))
        return em_refuse(e, i, "has no such combination of shape and types");
    em_matrix_set_shape(&f, s);
    em_push_registers(e, i, 0, count, 32, &w);
    em_push_registers(e, i, 1, f.a_registers ? 4 : 1, f.a_registers ? 32 : 64, &w);
    em_push_registers(e, i, 2, 1, 64, &w);
    if (f.sparse) {
        int64_t selector = 0;
        em_push_registers(e, i, k, 1, 32, &w);
        if (!immediate(e, i, k + 1, &selector))
            return false;
        f.selector = (uint64_t)selector & 3;
        k += 2;
    }
    bool constant = k < i->noperand && i->operand[k].kind == PTX_O_INT;
    if (k >= i->noperand || (constant && (one = i->operand[k].ival) > 1))
        return em_refuse(e, i, "needs scale-d as operand %u", k + 1);
    em_push_word(&w,
                 constant ? em_int(e, e->i32, one) : em_from_bool(e, em_src(e, i, k, PTX_PRED)));
    return read_immediates(e, i, k + 1, &f) && em_matrix_call(e, i, "matrix", f, &w, 0, count, 32);
}
