// SPDX-License-Identifier: MIT
// Matrix multiplication of a warp: mma, mma.sp, wmma.mma, movmatrix. What the instruction is
// becomes a constant (matrix_form.h); its registers become the words of one call.
#include "emit/matrix.h"

#include <stdio.h>

// ---- what all matrix instructions share
// -----------------------------------------------------------
static const struct {
    enum ptx_type ptx;
    enum matrix_type type;
    uint8_t bits;
} types[] = {
    {PTX_F16, MT_F16, 16},  {PTX_BF16, MT_BF16, 16},  {PTX_TF32, MT_TF32, 32},
    {PTX_F32, MT_F32, 32},  {PTX_F64, MT_F64, 64},    {PTX_E4M3, MT_E4M3, 8},
    {PTX_E5M2, MT_E5M2, 8}, {PTX_E3M2, MT_E3M2, 6},   {PTX_E2M3, MT_E2M3, 6},
    {PTX_E2M1, MT_E2M1, 4}, {PTX_S32, MT_S32, 32},    {PTX_S8, MT_S8, 8},
    {PTX_U8, MT_U8, 8},     {PTX_S4, MT_S4, 4},       {PTX_U4, MT_U4, 4},
    {PTX_B1, MT_B1, 1},     {PTX_UE8M0, MT_UE8M0, 8}, {PTX_UE4M3, MT_UE4M3, 8},
    {PTX_B16, MT_B16, 16},  {PTX_B8, MT_B8, 8},
};

enum matrix_type
em_matrix_type(enum ptx_type t)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (types[k].ptx == t)
            return types[k].type;
    return MT_NONE;
}

unsigned
em_matrix_bits(enum matrix_type t)
{
    for (size_t k = 0; k < sizeof types / sizeof *types; k++)
        if (types[k].type == t)
            return types[k].bits;
    return 0;
}

struct matrix_shape
em_matrix_shape(const struct ptx_inst *i)
{
    struct matrix_shape s = {0};
    for (unsigned k = 0; k < i->nmod; k++)
        if (sscanf(ptx_mod_name(i->mod[k]), ".m%un%uk%u", &s.m, &s.n, &s.k) >= 2)
            break;
    return s;
}

bool
em_matrix_turned(const struct ptx_inst *i, unsigned n)
{
    for (unsigned k = 0; k < i->nmod; k++)
        if (i->mod[k] == PTX_MOD_ROW || i->mod[k] == PTX_MOD_COL) {
            if (!n--)
                return i->mod[k] == PTX_MOD_COL;
        }
    return false;
}

void
em_matrix_set_shape(struct matrix_form *f, struct matrix_shape s)
{
    f->m8 = s.m / 8;
    f->n8 = s.n / 8;
    f->log_k = s.k ? (unsigned)__builtin_ctz(s.k) : 0;
}

void
em_push_word(struct matrix_words *w, LLVMValueRef v)
{
    if (w->n < EM_MATRIX_WORDS)
        w->v[w->n++] = v;
}

static void
push_value(struct emitter *e, struct matrix_words *w, LLVMValueRef v, unsigned bits)
{
    em_push_word(w, em_resize(e, v, e->i32, false));
    if (bits == 64)
        em_push_word(w, LLVMBuildTrunc(e->b, ir_lshr(e, v, em_int(e, e->i64, 32)), e->i32, ""));
}

static unsigned
register_count(const struct ptx_operand *o)
{
    return o->kind == PTX_O_VEC ? o->n : 1;
}

static bool
has_registers(struct emitter *e, const struct ptx_inst *i, unsigned k, unsigned count)
{
    if (k < i->noperand && register_count(&i->operand[k]) == count)
        return true;
    return em_refuse(e, i, "needs %u registers as operand %u", count, k + 1);
}

void
em_push_registers(struct emitter *e, const struct ptx_inst *i, unsigned k, unsigned count,
                  unsigned bits, struct matrix_words *w)
{
    if (w->bad || !has_registers(e, i, k, count)) {
        w->bad = true;
        return;
    }
    const struct ptx_operand *o = &i->operand[k];
    for (unsigned j = 0; j < count; j++)
        push_value(e, w,
                   em_operand(e, i, o->kind == PTX_O_VEC ? &o->elem[j] : o,
                              bits == 64 ? PTX_B64 : PTX_B32),
                   bits);
}

void
em_push_address(struct emitter *e, const struct ptx_inst *i, unsigned k, struct matrix_words *w)
{
    push_value(e, w, em_generic_operand(e, i, k, i->space), 64);
}

static void
write_results(struct emitter *e, const struct ptx_inst *i, LLVMValueRef all, unsigned k,
              unsigned count, unsigned bits)
{
    const struct ptx_operand *o = &i->operand[k];
    for (unsigned j = 0; j < count; j++) {
        const struct ptx_operand *to = o->kind == PTX_O_VEC ? &o->elem[j] : o;
        if (bits == 32) {
            em_write(e, i, to, PTX_B32, LLVMBuildExtractValue(e->b, all, j, ""));
            continue;
        }
        LLVMValueRef low = ir_zext(e, LLVMBuildExtractValue(e->b, all, 2 * j, ""), e->i64);
        LLVMValueRef high = ir_zext(e, LLVMBuildExtractValue(e->b, all, 2 * j + 1, ""), e->i64);
        em_write(e, i, to, PTX_B64, ir_or(e, low, ir_shl(e, high, em_int(e, e->i64, 32))));
    }
}

bool
em_matrix_call(struct emitter *e, const struct ptx_inst *i, const char *name, struct matrix_form f,
               struct matrix_words *w, unsigned k, unsigned count, unsigned bits)
{
    LLVMTypeRef field[EM_MATRIX_WORDS], result = e->void_;
    LLVMValueRef arg[EM_MATRIX_WORDS + 1] = {em_int(e, e->i64, matrix_pack(f))};
    unsigned words = count * bits / 32;
    char full[64];
    if (w->bad || (count && !has_registers(e, i, k, count)))
        return false;
    for (unsigned j = 0; j < words; j++)
        field[j] = e->i32;
    if (words)
        result = LLVMStructTypeInContext(e->ctx, field, words, 0);
    for (unsigned j = 0; j < w->n; j++)
        arg[j + 1] = w->v[j];
    snprintf(full, sizeof full, "%s.%u.%u", name, w->n, words);
    LLVMValueRef all = em_pw(e, full, result, arg, w->n + 1);
    if (words)
        write_results(e, i, all, k, count, bits);
    return true;
}

// ---- mma
// ------------------------------------------------------------------------------------------ Shapes
// by what a and b are made of: bits of an element in a register, and kinds of numbers.
enum numbers {
    HALVES = 1,
    TF32 = 2,
    DOUBLES = 4,
    BYTES = 8,
    FLOAT_BYTES = 16,
    NIBBLES = 32,
    FLOAT_NIBBLES = 64,
    BITS = 128
};

static const struct {
    struct matrix_shape s;
    unsigned dense, sparse; // sets of enum numbers
} shapes[] = {
    {{8, 8, 4}, HALVES | DOUBLES, 0},
    {{8, 8, 16}, BYTES, 0},
    {{8, 8, 32}, NIBBLES, 0},
    {{8, 8, 128}, BITS, 0},
    {{16, 8, 4}, TF32 | DOUBLES, 0},
    {{16, 8, 8}, HALVES | TF32 | DOUBLES, TF32},
    {{16, 8, 16}, HALVES | DOUBLES | BYTES | FLOAT_BYTES, HALVES | TF32},
    {{16, 8, 32}, BYTES | FLOAT_BYTES | NIBBLES, HALVES | BYTES},
    {{16, 8, 64}, NIBBLES | FLOAT_NIBBLES, BYTES | FLOAT_BYTES | NIBBLES},
    {{16, 8, 128}, BITS, NIBBLES | FLOAT_NIBBLES},
    {{16, 8, 256}, BITS, 0},
};

static unsigned
numbers_of(enum matrix_type t, bool bytes)
{
    switch (t) {
    case MT_F16:
    case MT_BF16:
        return HALVES;
    case MT_TF32:
        return TF32;
    case MT_F64:
        return DOUBLES;
    case MT_S8:
    case MT_U8:
        return BYTES;
    case MT_S4:
    case MT_U4:
        return NIBBLES;
    case MT_B1:
        return BITS;
    case MT_E4M3:
    case MT_E5M2:
        return FLOAT_BYTES;
    case MT_E3M2:
    case MT_E2M3:
        return bytes ? FLOAT_BYTES : 0;
    case MT_E2M1:
        return bytes ? FLOAT_BYTES : FLOAT_NIBBLES;
    default:
        return 0;
    }
}

static bool
has_shape(struct matrix_shape s, unsigned numbers, bool sparse)
{
    for (size_t k = 0; k < sizeof shapes / sizeof *shapes; k++)
        if (shapes[k].s.m == s.m && shapes[k].s.n == s.n && shapes[k].s.k == s.k)
            return (sparse ? shapes[k].sparse : shapes[k].dense) & numbers;
    return false;
}

// Are d and c what sums of such products go into?
static bool
has_accumulators(struct matrix_form f, unsigned numbers, bool mixed)
{
    bool half = (f.d == MT_F16 || f.c == MT_F16) &&
                (f.a == MT_F16 || numbers & (FLOAT_BYTES | FLOAT_NIBBLES));
    if (numbers & (BYTES | NIBBLES | BITS))
        return f.d == MT_S32 && f.c == MT_S32;
    if (numbers & DOUBLES)
        return f.d == MT_F64 && f.c == MT_F64;
    return (f.d == MT_F32 || (f.d == MT_F16 && half)) &&
           (f.c == MT_F32 || (f.c == MT_F16 && half)) && (mixed || f.d == f.c);
}

static unsigned
rounding(const struct ptx_inst *i)
{
    return ptx_has(i, PTX_MOD_RZ) ? 1 : ptx_has(i, PTX_MOD_RM) ? 2 : ptx_has(i, PTX_MOD_RP) ? 3 : 0;
}

static unsigned
scales(const struct ptx_inst *i)
{
    if (!ptx_has(i, PTX_MOD_BLOCK_SCALE))
        return 0;
    if (ptx_has(i, PTX_MOD_SCALE_VEC_1X) || ptx_has(i, PTX_MOD_KIND_MXF8F6F4))
        return 1;
    return ptx_has(i, PTX_MOD_SCALE_VEC_4X) || ptx_has(i, PTX_MOD_BLOCK16) ? 4 : 2;
}

static struct matrix_form
describe(const struct ptx_inst *i, enum matrix_op op)
{
    bool short_form = i->ntype == 2; // wmma.mma of f16: .d.c
    enum ptx_type d = i->type[0], a = short_form ? PTX_F16 : i->type[1],
                  b = short_form ? PTX_F16 : i->type[2], c = i->type[short_form ? 1 : 3];
    struct matrix_form f = {
        .op = op,
        .a = em_matrix_type(a),
        .b = em_matrix_type(b),
        .c = em_matrix_type(c),
        .d = em_matrix_type(d),
        .a_turned = em_matrix_turned(i, 0),
        .b_turned = !em_matrix_turned(i, 1), // row
        .saturate = ptx_has(i, PTX_MOD_SATFINITE),
        .xor_ = ptx_has(i, PTX_MOD_XOR),
        .sparse = ptx_has(i, PTX_MOD_SP) || ptx_has(i, PTX_MOD_SP_ORDERED_METADATA),
        .rounding = rounding(i),
        .scales = scales(i),
        .scale_e4m3 = i->ntype > 4 && i->type[4] == PTX_UE4M3,
        .bytes = ptx_has(i, PTX_MOD_KIND_F8F6F4) || ptx_has(i, PTX_MOD_KIND_MXF8F6F4),
    };
    em_matrix_set_shape(&f, em_matrix_shape(i));
    return f;
}

static unsigned
register_bits(struct matrix_form f)
{
    return f.a == MT_F64 ? 64 : 32;
}

// Registers in which a lane holds its part of so many elements.
static unsigned
registers(unsigned elements, unsigned bits)
{
    return elements * bits / 32 / (bits == 64 ? 64 : 32);
}

static unsigned
element_bits(enum matrix_type t, bool bytes)
{
    return bytes && em_matrix_bits(t) < 8 ? 8 : em_matrix_bits(t);
}

// Block scaling: factors, {byte, thread}, once for each of a and b.
static void
push_scales(struct emitter *e, const struct ptx_inst *i, unsigned k, struct matrix_words *w)
{
    for (unsigned side = 0; side < 2 && !w->bad; side++) {
        em_push_registers(e, i, k + 2 * side, 1, 32, w);
        em_push_registers(e, i, k + 2 * side + 1, 2, 32, w);
    }
}

static bool
push_selector(struct emitter *e, const struct ptx_inst *i, unsigned k, struct matrix_form *f)
{
    uint64_t selector;
    if (k >= i->noperand || i->operand[k].kind != PTX_O_INT || (selector = i->operand[k].ival) > 3)
        return em_refuse(e, i, "needs a sparsity selector of 0 to 3 as operand %u", k + 1);
    f->selector = selector;
    return true;
}

bool
emit_mma(struct emitter *e, const struct ptx_inst *i)
{
    if (i->ntype < 4)
        return em_refuse(e, i, "is malformed");
    struct matrix_form f = describe(i, MATRIX_MMA);
    struct matrix_shape s = em_matrix_shape(i);
    unsigned numbers = numbers_of(f.a, f.bytes), bits = register_bits(f), at = 4;
    bool quads = s.k == 4 && f.a == MT_F16;
    if (numbers != numbers_of(f.b, f.bytes) || !has_shape(s, numbers, f.sparse) ||
        !has_accumulators(f, numbers, quads) ||
        (numbers == HALVES && (f.a != f.b || (s.k == 4 && !quads))) ||
        (!quads && (f.a_turned || f.b_turned)))
        return em_refuse(e, i, "has no such combination of shape and types");
    unsigned wide = quads ? 4 : 1; // matrices
    struct matrix_words w = {.n = 0};
    em_push_registers(e, i, 1,
                      registers(wide * s.m * s.k / (f.sparse ? 2 : 1), element_bits(f.a, f.bytes)),
                      bits, &w);
    em_push_registers(e, i, 2, registers(wide * s.n * s.k, element_bits(f.b, f.bytes)), bits, &w);
    em_push_registers(e, i, 3, registers(wide * s.m * s.n, em_matrix_bits(f.c)), bits, &w);
    if (f.sparse) {
        em_push_registers(e, i, 4, 1, 32, &w);
        if (!push_selector(e, i, 5, &f))
            return false;
        at = 6;
    }
    if (f.scales)
        push_scales(e, i, at, &w);
    return em_matrix_call(e, i, "mma", f, &w, 0, registers(wide * s.m * s.n, em_matrix_bits(f.d)),
                          bits);
}

// ---- wmma.mma
// ------------------------------------------------------------------------------------- f16's
// fragments of a and b have eight registers whatever the shape.
static unsigned
fragment(unsigned elements, enum matrix_type t, bool accumulator)
{
    return t == MT_F16 && !accumulator ? 8 : registers(elements, em_matrix_bits(t));
}

bool
emit_wmma_mma(struct emitter *e, const struct ptx_inst *i)
{
    if (i->ntype != 2 && i->ntype != 4)
        return em_refuse(e, i, "is malformed");
    struct matrix_form f = describe(i, MATRIX_WMMA);
    struct matrix_shape s = em_matrix_shape(i);
    unsigned numbers = numbers_of(f.a, false), bits = register_bits(f);
    if (!numbers || f.a != f.b || !em_wmma_shape(s, f.a) || !has_accumulators(f, numbers, true))
        return em_refuse(e, i, "has no such combination of shape and types");
    struct matrix_words w = {.n = 0};
    em_push_registers(e, i, 1, fragment(s.m * s.k, f.a, false), bits, &w);
    em_push_registers(e, i, 2, fragment(s.n * s.k, f.b, false), bits, &w);
    em_push_registers(e, i, 3, fragment(s.m * s.n, f.c, true), bits, &w);
    return em_matrix_call(e, i, "mma", f, &w, 0, fragment(s.m * s.n, f.d, true), bits);
}

bool
emit_movmatrix(struct emitter *e, const struct ptx_inst *i)
{
    struct matrix_form f = {.op = MATRIX_TRANSPOSE, .a = MT_B16, .m8 = 1, .n8 = 1};
    struct matrix_words w = {.n = 0};
    em_push_registers(e, i, 1, 1, 32, &w);
    return em_matrix_call(e, i, "mma", f, &w, 0, 1, 32);
}
