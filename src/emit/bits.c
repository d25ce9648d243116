// SPDX-License-Identifier: MIT
// Logic, shifts, and operations on bits, fields and bytes.
#include "emit/arith.h"

// ---- logic --------------------------------------------------------------------------------------
static bool
logic(struct emitter *e, const struct ptx_inst *i, LLVMOpcode op)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    em_dst(e, i, 0, t, LLVMBuildBinOp(e->b, op, a, b, ""));
    return true;
}

bool
emit_and(struct emitter *e, const struct ptx_inst *i)
{
    return logic(e, i, LLVMAnd);
}

bool
emit_or(struct emitter *e, const struct ptx_inst *i)
{
    return logic(e, i, LLVMOr);
}

bool
emit_xor(struct emitter *e, const struct ptx_inst *i)
{
    return logic(e, i, LLVMXor);
}

bool
emit_not(struct emitter *e, const struct ptx_inst *i)
{
    em_dst(e, i, 0, ar_type(i), ir_not(e, em_src(e, i, 1, ar_type(i))));
    return true;
}

bool
emit_cnot(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    LLVMTypeRef ty = em_type(e, t);
    LLVMValueRef zero = ir_icmp(e, LLVMIntEQ, em_src(e, i, 1, t), em_int(e, ty, 0));
    em_dst(e, i, 0, t, ir_zext(e, zero, ty));
    return true;
}

// ---- shifts: amounts of the width and above give 0 or the sign ----------------------------------
static LLVMValueRef
fit(struct emitter *e, LLVMValueRef v, LLVMTypeRef to)
{
    return LLVMBuildIntCast2(e->b, v, to, false, "");
}

// LLVM's shift by an oversize amount is poison, which the select does not pick.
static LLVMValueRef
shift_left(struct emitter *e, LLVMValueRef v, LLVMValueRef amount)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    LLVMValueRef width = em_int(e, LLVMTypeOf(amount), LLVMGetIntTypeWidth(t));
    LLVMValueRef in_range = ir_icmp(e, LLVMIntULT, amount, width);
    return ir_select(e, in_range, ir_shl(e, v, fit(e, amount, t)), em_int(e, t, 0));
}

static LLVMValueRef
shift_right(struct emitter *e, LLVMValueRef v, LLVMValueRef amount, bool is_signed)
{
    LLVMTypeRef t = LLVMTypeOf(v), at = LLVMTypeOf(amount);
    unsigned bits = LLVMGetIntTypeWidth(t);
    if (is_signed) {
        amount = ir_call2(e, "llvm.umin", amount, em_int(e, at, bits - 1));
        return ir_ashr(e, v, fit(e, amount, t));
    }
    LLVMValueRef in_range = ir_icmp(e, LLVMIntULT, amount, em_int(e, at, bits));
    return ir_select(e, in_range, ir_lshr(e, v, fit(e, amount, t)), em_int(e, t, 0));
}

bool
emit_shl(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef v = em_src(e, i, 1, ar_type(i)), n = em_src(e, i, 2, PTX_U32);
    em_dst(e, i, 0, ar_type(i), shift_left(e, v, n));
    return true;
}

bool
emit_shr(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef v = em_src(e, i, 1, ar_type(i)), n = em_src(e, i, 2, PTX_U32);
    em_dst(e, i, 0, ar_type(i), shift_right(e, v, n, ptx_type_signed(ar_type(i))));
    return true;
}

// Funnel shift of the 64-bit value b:a: .l delivers the upper half, .r the lower one.
bool
emit_shf(struct emitter *e, const struct ptx_inst *i)
{
    bool left = ptx_has(i, PTX_MOD_L);
    LLVMValueRef a = em_src(e, i, 1, PTX_B32), b = em_src(e, i, 2, PTX_B32);
    LLVMValueRef n = em_src(e, i, 3, PTX_U32);
    LLVMValueRef r = ir_call3(e, left ? "llvm.fshl" : "llvm.fshr", b, a, n); // n modulo 32
    if (ptx_has(i, PTX_MOD_CLAMP)) {
        LLVMValueRef full = ir_icmp(e, LLVMIntUGE, n, em_int(e, e->i32, 32));
        r = ir_select(e, full, left ? a : b, r);
    }
    em_dst(e, i, 0, PTX_B32, r);
    return true;
}

// ---- lop3 ---------------------------------------------------------------------------------------
// The function of two variables whose value at (b, c) is bit 2b + c of `table`.
static LLVMValueRef
logic2(struct emitter *e, unsigned table, LLVMValueRef b, LLVMValueRef c)
{
    LLVMTypeRef t = LLVMTypeOf(b);
    if (table > 7)
        return ir_not(e, logic2(e, 15 - table, b, c));
    switch (table) {
    case 0:
        return em_int(e, t, 0);
    case 1:
        return ir_not(e, ir_or(e, b, c));
    case 2:
        return ir_and(e, ir_not(e, b), c);
    case 3:
        return ir_not(e, b);
    case 4:
        return ir_and(e, b, ir_not(e, c));
    case 5:
        return ir_not(e, c);
    case 6:
        return ir_xor(e, b, c);
    default:
        return ir_not(e, ir_and(e, b, c));
    }
}

// Expansion by a: bits 4-7 of the table hold for a = 1, bits 0-3 for a = 0.
static LLVMValueRef
logic3(struct emitter *e, unsigned table, LLVMValueRef a, LLVMValueRef b, LLVMValueRef c)
{
    unsigned one = table >> 4 & 15, zero = table & 15;
    LLVMValueRef at0 = logic2(e, zero, b, c);
    if (one == zero)
        return at0;
    if (one == 15 - zero)
        return ir_xor(e, a, at0);
    LLVMValueRef at1 = logic2(e, one, b, c);
    if (zero == 0)
        return ir_and(e, a, at1);
    if (one == 0)
        return ir_and(e, ir_not(e, a), at0);
    if (one == 15)
        return ir_or(e, a, at0);
    if (zero == 15)
        return ir_or(e, ir_not(e, a), at1);
    return ir_or(e, ir_and(e, a, at1), ir_and(e, ir_not(e, a), at0));
}

bool
emit_lop3(struct emitter *e, const struct ptx_inst *i)
{
    uint64_t table;
    LLVMValueRef a = em_src(e, i, 1, PTX_B32), b = em_src(e, i, 2, PTX_B32);
    LLVMValueRef c = em_src(e, i, 3, PTX_B32);
    if (!ir_constant(em_src(e, i, 4, PTX_B32), &table) || table > 255)
        return em_refuse(e, i, "needs a constant table in 0..255");
    LLVMValueRef r = logic3(e, table, a, b, c);
    const struct ptx_operand *d = &i->operand[0];
    if (d->kind != PTX_O_PAIR || d->n != 2) {
        em_dst(e, i, 0, PTX_B32, r);
        return true;
    }
    LLVMValueRef nonzero = ir_icmp(e, LLVMIntNE, r, em_int(e, e->i32, 0));
    LLVMValueRef q = em_src(e, i, 5, PTX_PRED);
    bool both = ptx_has(i, PTX_MOD_AND);
    em_write(e, i, &d->elem[0], PTX_B32, r);
    em_write(e, i, &d->elem[1], PTX_PRED, both ? ir_and(e, nonzero, q) : ir_or(e, nonzero, q));
    return true;
}

// ---- prmt ---------------------------------------------------------------------------------------
// The four selector nibbles of each mode for control values 0 to 3, 16 bits each, value 0 lowest.
static bool
prmt_table(const struct ptx_inst *i, uint64_t *table)
{
    static const struct {
        enum ptx_mod mod;
        uint64_t selectors;
    } modes[] = {
        {PTX_MOD_F4E, 0x6543543243213210}, {PTX_MOD_B4E, 0x0123701267015670},
        {PTX_MOD_RC8, 0x3333222211110000}, {PTX_MOD_ECL, 0x3333322232113210},
        {PTX_MOD_ECR, 0x3210221011100000}, {PTX_MOD_RC16, 0x3232101032321010},
    };
    for (size_t k = 0; k < sizeof modes / sizeof *modes; k++)
        if (ptx_has(i, modes[k].mod)) {
            *table = modes[k].selectors;
            return true;
        }
    return false;
}

// Byte number `nibble` & 7 of the pair; with bit 3 its sign in all eight bits.
static LLVMValueRef
prmt_byte(struct emitter *e, LLVMValueRef pair, LLVMValueRef nibble)
{
    LLVMValueRef at = ir_shl(e, ir_and(e, nibble, em_int(e, e->i32, 7)), em_int(e, e->i32, 3));
    LLVMValueRef byte = ir_trunc(e, ir_lshr(e, pair, ir_zext(e, at, e->i64)), e->i8);
    LLVMValueRef sign = ir_ashr(e, byte, em_int(e, e->i8, 7));
    LLVMValueRef replicate = ir_and(e, nibble, em_int(e, e->i32, 8));
    return ir_select(e, ir_icmp(e, LLVMIntNE, replicate, em_int(e, e->i32, 0)), sign, byte);
}

bool
emit_prmt(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef a = ir_zext(e, em_src(e, i, 1, PTX_B32), e->i64);
    LLVMValueRef b = ir_zext(e, em_src(e, i, 2, PTX_B32), e->i64);
    LLVMValueRef pair = ir_or(e, a, ir_shl(e, b, em_int(e, e->i64, 32)));
    LLVMValueRef sel = em_src(e, i, 3, PTX_B32), r = em_int(e, e->i32, 0);
    uint64_t table;
    if (prmt_table(i, &table)) {
        LLVMValueRef at = ir_shl(e, ir_and(e, sel, em_int(e, e->i32, 3)), em_int(e, e->i32, 4));
        LLVMValueRef row = ir_lshr(e, em_int(e, e->i64, table), ir_zext(e, at, e->i64));
        sel = ir_trunc(e, row, e->i32);
    }
    for (unsigned k = 0; k < 4; k++) {
        LLVMValueRef nibble = ir_lshr(e, sel, em_int(e, e->i32, 4 * k));
        LLVMValueRef byte = ir_zext(e, prmt_byte(e, pair, nibble), e->i32);
        r = ir_or(e, r, ir_shl(e, byte, em_int(e, e->i32, 8 * k)));
    }
    em_dst(e, i, 0, PTX_B32, r);
    return true;
}

// ---- counting and finding bits ------------------------------------------------------------------
static LLVMValueRef
leading_zeros(struct emitter *e, LLVMValueRef v)
{
    LLVMValueRef arg[] = {v, em_int(e, e->i1, 0)}; // 0 is no poison
    return fit(e, em_intrinsic(e, "llvm.ctlz", LLVMTypeOf(v), arg, 2), e->i32);
}

bool
emit_popc(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef n = ir_call1(e, "llvm.ctpop", em_src(e, i, 1, ar_type(i)));
    em_dst(e, i, 0, PTX_U32, fit(e, n, e->i32));
    return true;
}

bool
emit_clz(struct emitter *e, const struct ptx_inst *i)
{
    em_dst(e, i, 0, PTX_U32, leading_zeros(e, em_src(e, i, 1, ar_type(i))));
    return true;
}

bool
emit_brev(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    em_dst(e, i, 0, t, ir_call1(e, "llvm.bitreverse", em_src(e, i, 1, t)));
    return true;
}

// Position of the highest bit that differs from the sign (unsigned: that is set), or its distance
// from the top.
bool
emit_bfind(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    unsigned bits = ptx_type_bits(t);
    LLVMTypeRef ty = em_type(e, t);
    LLVMValueRef v = em_src(e, i, 1, t);
    if (ptx_type_signed(t))
        v = ir_xor(e, v, ir_ashr(e, v, em_int(e, ty, bits - 1)));
    LLVMValueRef n = leading_zeros(e, v);
    if (!ptx_has(i, PTX_MOD_SHIFTAMT))
        n = ir_sub(e, em_int(e, e->i32, bits - 1), n);
    LLVMValueRef none = ir_icmp(e, LLVMIntEQ, v, em_int(e, ty, 0));
    em_dst(e, i, 0, PTX_U32, ir_select(e, none, em_int(e, e->i32, ~0u), n));
    return true;
}

bool
emit_fns(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef arg[] = {em_src(e, i, 1, PTX_B32), em_src(e, i, 2, PTX_B32),
                          em_src(e, i, 3, PTX_S32)};
    em_dst(e, i, 0, PTX_B32, em_math(e, "pw.m.fns.b32", e->i32, arg, 3));
    return true;
}

// ---- fields -------------------------------------------------------------------------------------
// Positions and lengths of bfe and bfi: the operand's low byte, as the ISA says. The 64-bit forms
// are no instructions of the hardware and look at all of it.
static LLVMValueRef
byte_operand(struct emitter *e, const struct ptx_inst *i, unsigned k)
{
    LLVMValueRef v = em_src(e, i, k, PTX_U32);
    return ptx_type_bits(ar_type(i)) == 64 ? v : ir_and(e, v, em_int(e, e->i32, 0xff));
}

// The lowest `len` bits set; all of them from the width on.
static LLVMValueRef
low_mask(struct emitter *e, LLVMTypeRef t, LLVMValueRef len)
{
    return ir_not(e, shift_left(e, em_int(e, t, ~0ull), len));
}

// The low `len` bits of v, 1 <= len, with their sign extended.
static LLVMValueRef
sign_field(struct emitter *e, LLVMValueRef v, LLVMValueRef len)
{
    LLVMTypeRef t = LLVMTypeOf(v);
    unsigned bits = LLVMGetIntTypeWidth(t);
    LLVMValueRef room = ir_call2(e, "llvm.usub.sat", em_int(e, e->i32, bits), len);
    room = ir_call2(e, "llvm.umin", room, em_int(e, e->i32, bits - 1));
    room = fit(e, room, t);
    return ir_ashr(e, ir_shl(e, v, room), room);
}

bool
emit_bfe(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    LLVMTypeRef ty = em_type(e, t);
    bool s = ptx_type_signed(t);
    LLVMValueRef pos = byte_operand(e, i, 2), len = byte_operand(e, i, 3);
    LLVMValueRef v = shift_right(e, em_src(e, i, 1, t), pos, s);
    if (s) {
        LLVMValueRef empty = ir_icmp(e, LLVMIntEQ, len, em_int(e, e->i32, 0));
        v = ir_select(e, empty, em_int(e, ty, 0), sign_field(e, v, len));
    } else {
        v = ir_and(e, v, low_mask(e, ty, len));
    }
    em_dst(e, i, 0, t, v);
    return true;
}

bool
emit_bfi(struct emitter *e, const struct ptx_inst *i)
{
    enum ptx_type t = ar_type(i);
    LLVMValueRef a = em_src(e, i, 1, t), b = em_src(e, i, 2, t);
    LLVMValueRef pos = byte_operand(e, i, 3), len = byte_operand(e, i, 4);
    LLVMValueRef mask = shift_left(e, low_mask(e, em_type(e, t), len), pos);
    LLVMValueRef in = ir_and(e, shift_left(e, a, pos), mask);
    em_dst(e, i, 0, t, ir_or(e, in, ir_and(e, b, ir_not(e, mask))));
    return true;
}

// All ones shifted left by n modulo 32.
static LLVMValueRef
ones_from(struct emitter *e, LLVMValueRef n)
{
    return ir_shl(e, em_int(e, e->i32, ~0u), ir_and(e, n, em_int(e, e->i32, 31)));
}

bool
emit_bmsk(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef a = em_src(e, i, 1, PTX_U32), b = em_src(e, i, 2, PTX_U32);
    LLVMValueRef m31 = em_int(e, e->i32, 31), n32 = em_int(e, e->i32, 32);
    LLVMValueRef zero = em_int(e, e->i32, 0);
    LLVMValueRef end = ir_add(e, ir_and(e, a, m31), ir_and(e, b, m31));
    LLVMValueRef from = ones_from(e, a), beyond = shift_left(e, em_int(e, e->i32, ~0u), end);
    if (ptx_has(i, PTX_MOD_CLAMP)) {
        from = ir_select(e, ir_icmp(e, LLVMIntUGE, a, n32), zero, from);
        beyond = ir_select(e, ir_icmp(e, LLVMIntUGE, b, n32), zero, beyond);
    }
    em_dst(e, i, 0, PTX_B32, ir_and(e, from, ir_not(e, beyond)));
    return true;
}

bool
emit_szext(struct emitter *e, const struct ptx_inst *i)
{
    LLVMValueRef a = em_src(e, i, 1, PTX_U32), len = em_src(e, i, 2, PTX_U32), r;
    LLVMValueRef n = ir_and(e, len, em_int(e, e->i32, 31)), zero = em_int(e, e->i32, 0);
    if (ptx_type_signed(ar_type(i)))
        r = ir_select(e, ir_icmp(e, LLVMIntEQ, n, zero), zero, sign_field(e, a, n));
    else
        r = ir_and(e, a, low_mask(e, e->i32, n));
    if (ptx_has(i, PTX_MOD_CLAMP))
        r = ir_select(e, ir_icmp(e, LLVMIntUGE, len, em_int(e, e->i32, 32)), a, r);
    em_dst(e, i, 0, ar_type(i), r);
    return true;
}

// ---- dot products -------------------------------------------------------------------------------
// Bits [at, at + bits) of v, extended to i32.
static LLVMValueRef
field(struct emitter *e, LLVMValueRef v, unsigned at, unsigned bits, bool is_signed)
{
    LLVMTypeRef t = bits == 8 ? e->i8 : e->i16;
    v = ir_trunc(e, ir_lshr(e, v, em_int(e, e->i32, at)), t);
    return ir_ext(e, v, e->i32, is_signed);
}

// sum of n products of a's fields of a_bits with b's bytes from byte `first` on, added to c.
static bool
dot(struct emitter *e, const struct ptx_inst *i, unsigned n, unsigned a_bits, unsigned first)
{
    bool sa = ptx_type_signed(i->type[0]), sb = ptx_type_signed(i->type[1]);
    LLVMValueRef a = em_src(e, i, 1, PTX_B32), b = em_src(e, i, 2, PTX_B32);
    LLVMValueRef r = em_src(e, i, 3, PTX_B32);
    for (unsigned k = 0; k < n; k++) {
        LLVMValueRef x = field(e, a, a_bits * k, a_bits, sa);
        LLVMValueRef y = field(e, b, 8 * (first + k), 8, sb);
        r = ir_add(e, r, ir_mul(e, x, y));
    }
    em_dst(e, i, 0, sa || sb ? PTX_S32 : PTX_U32, r);
    return true;
}

bool
emit_dp4a(struct emitter *e, const struct ptx_inst *i)
{
    return dot(e, i, 4, 8, 0);
}

bool
emit_dp2a(struct emitter *e, const struct ptx_inst *i)
{
    return dot(e, i, 2, 16, ptx_has(i, PTX_MOD_HI) ? 2 : 0);
}
