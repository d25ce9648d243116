# SPDX-License-Identifier: MIT
"""Kernels for the instructions that work on registers only, derived from the rows of ops.tab. `legal` says which of a row's
combinations the ISA has where the table is wider: ptxas's verdict agrees with it (conformance.py --ptxas)."""
import itertools

from conformance_kernel import Kernel, mangle, width

TARGET_SM, TARGET_ISA = 90, 90
PURE = set("""add sub mul mad fma mul24 mad24 sad div rem abs neg min max popc clz bfind fns brev bfe bfi bmsk szext dp4a dp2a addc subc madc
testp copysign rcp sqrt rsqrt sin cos lg2 ex2 tanh set setp selp slct and or xor not cnot lop3 shf shl shr prmt cvt cvt.pack
vadd vsub vabsdiff vmin vmax vshl vshr vmad vset vadd2 vsub2 vavrg2 vabsdiff2 vmin2 vmax2 vset2
vadd4 vsub4 vavrg4 vabsdiff4 vmin4 vmax4 vset4""".split())
ROUND = {"rn", "rz", "rm", "rp"}
IROUND = {"rni", "rzi", "rmi", "rpi"}
FLOATS = {"f16": 16, "bf16": 16, "f32": 32, "f64": 64}
UNSIGNED_CMP = {"lo", "ls", "hi", "hs"}
FLOAT_CMP = {"equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan"}
# Operands with a meaning narrower than their type: (op, operand) -> role of the input generator.
ROLES = {("shl", 2): "shift", ("shr", 2): "shift", ("shf", 3): "shift", ("bfe", 2): "shift", ("bfe", 3): "shift", ("bfi", 3): "shift",
         ("bfi", 4): "shift", ("bmsk", 1): "shift", ("bmsk", 2): "shift", ("szext", 2): "shift", ("prmt", 3): "sel",
         ("fns", 2): "lane", ("fns", 3): "small"}
APPROX_OPS = {"sin", "cos", "lg2", "ex2", "tanh", "rcp", "sqrt", "rsqrt", "div"}


def bits(type_):
    return 8 if type_ in ("u8", "s8") else width(type_)


# ---- which combinations the ISA has --------------------------------------------------------------------------------

def legal_compare(types, mods):
    operand = types[-1]
    cmp_ = next(m for m in mods if m not in ("and", "or", "xor", "ftz"))
    if operand in ("f32", "f64", "f16", "f16x2", "bf16", "bf16x2"):
        return cmp_ not in UNSIGNED_CMP and ("ftz" not in mods or operand in ("f32", "f16", "f16x2"))
    if cmp_ in FLOAT_CMP or "ftz" in mods:
        return False
    return cmp_ in ("eq", "ne") if operand[0] == "b" else cmp_ not in UNSIGNED_CMP or operand[0] == "u"


def value_range(type_):
    n = int(type_[1:])
    return (0, 2**n - 1) if type_[0] == "u" else (-2**(n - 1), 2**(n - 1) - 1)


def legal_cvt(types, mods):
    """cvt of one value. `plain`: what is left of the modifiers beside the rounding."""
    d, s = types
    rounds = [m for m in mods if m in ROUND | IROUND | {"rna"}]
    plain = set(mods) - set(rounds)
    up, integral = bool(rounds) and rounds[0] in ROUND, bool(rounds) and rounds[0] in IROUND
    allowed = {"sat"} | ({"ftz"} if "f32" in types else set())
    if plain & {"relu", "satfinite"}:
        return d in ("f16", "bf16") and s == "f32" and rounds and rounds[0] in ("rn", "rz") and plain <= {"relu", "satfinite"}
    if "bf16" in types:
        return legal_cvt_bf16(d, s, plain, rounds)
    if d not in FLOATS and s not in FLOATS:
        (lo, hi), (slo, shi) = value_range(d), value_range(s)
        return not rounds and (not plain or plain == {"sat"} and (slo < lo or shi > hi))
    if not plain <= allowed:
        return False
    if d not in FLOATS:
        return integral
    if s not in FLOATS or FLOATS[d] < FLOATS[s]:
        return up
    return not rounds or d == s and integral


def legal_cvt_bf16(d, s, plain, rounds):
    """bf16 saturates nowhere, and flushes only from and to f32."""
    up, integral = bool(rounds) and rounds[0] in ROUND, bool(rounds) and rounds[0] in IROUND
    if not plain <= ({"ftz"} if "f32" in (d, s) else set()):
        return False
    if d == s:
        return not rounds or integral
    if d not in FLOATS:
        return integral
    if s in ("f32", "f64") or s not in FLOATS:
        return up
    return not rounds or up


def legal_cvt_packed(types, mods):
    d, s = types[0], types[-1]
    if d == "tf32":
        return mods[0] == "rna" and "relu" not in mods or mods[0] != "rna" and "satfinite" not in mods
    if s in ("e4m3x2", "e5m2x2"):
        return d == "f16x2" and "satfinite" not in mods
    if d in ("e4m3x2", "e5m2x2"):
        return s in ("f32", "f16x2") and mods[0] == "rn" and "satfinite" in mods
    return d in ("f16x2", "bf16x2") and s == "f32" and mods[0] in ("rn", "rz")


def legal(form, types, mods):
    op, has = form.op, set(mods)
    if op in ("set", "setp"):
        return legal_compare(types, mods)
    if op == "cvt":
        return (legal_cvt if form.isa == 10 else legal_cvt_packed)(types, mods)
    if op in ("min", "max"):
        return ("xorsign" in has) == ("abs" in has)
    if op == "slct":
        return "ftz" not in has or types[1] == "f32"
    # Forms without rounding or .approx are those of PTX before 1.4, and mad without rounding of sm_1x.
    if op in ("div", "rcp", "sqrt") and types[0] in FLOATS:
        return len(has & (ROUND | {"approx", "full"})) == 1 and "sat" not in has
    if op in ("rsqrt", "sin", "cos", "lg2", "ex2"):
        return "approx" in has
    if op == "mad" and types[0] in FLOATS:
        return bool(has & ROUND)
    if op == "cvt.pack":
        return (len(types) == 3) == (types[0] not in ("u16", "s16"))
    return True


# ---- expansion -------------------------------------------------------------------------------------------------------

def choices(group):
    tokens, least, _ = group
    return ([()] if least == 0 else []) + [(t,) for t in tokens]


def combinations(form):
    """(types, modifiers) of a row, in the order in which they are written."""
    sets = [names + ([None] if optional else []) for names, optional in form.types]
    for types in itertools.product(*sets):
        types = [t for t in types if t]
        for parts in itertools.product(*(choices(g) for g in form.groups)):
            mods = [m for part in parts for m in part]
            if legal(form, types, mods):
                yield types, mods


def operand_type(text, types):
    """`text` as ops.tab has it: a digit, w, or a type; > in front allows wider registers."""
    text = text.lstrip(">")
    if text in "0123":
        return types[int(text)]
    if text == "w":
        return {"u16": "u32", "s16": "s32", "u32": "u64", "s32": "s64"}[types[0]]
    return text


def spelled(op, types, mods):
    """Modifiers stand before the types, but in prmt behind them."""
    words = types + mods if op == "prmt" else mods + types
    return ".".join([op] + words)


def cases_for(op, inputs):
    if op in ("set", "setp"):
        return 1024, 256
    return (4096, 1024) if len(inputs) > 1 else (4096, 4096)


def bound_key(op, types, mods):
    if op not in APPROX_OPS or types[0][0] not in "fb" or ROUND & set(mods):
        return "-"
    if op in ("rcp", "sqrt", "div") and "approx" not in mods and "full" not in mods:
        return "-"
    key = ".".join([op] + [m for m in mods if m != "ftz"] + types)
    return "rcp.approx.ftz.f64" if key == "rcp.approx.f64" else "rsqrt.approx.ftz.f64" if types == ["f64"] and "ftz" in mods else key


def plain(form, types, mods):
    """One instruction, each operand from its input."""
    op, inst = form.op, spelled(form.op, types, mods)
    operands = [o for o in form.operands if not o[3] or op == "cvt.pack" and len(types) == 3]
    inputs, names, outputs = [], [], []
    if form.isa < 90 and op in ("min", "max") and len(form.operands) == 4:
        operands = form.operands[:3]
    for k, (kind, second, type_, _) in enumerate(operands):
        if kind in "dq" and k == 0:
            t = "pred" if kind == "q" else destination_type(op, types) if type_ == "x" else operand_type(type_, types)
            outputs = [t] + (["pred"] if second else [])
            names.append("|".join(f"%d{j}" for j in range(len(outputs))))
        else:
            t = "pred" if kind == "p" else source_type(types, k) if type_ == "x" else operand_type(type_, types)
            names.append(f"%a{len(inputs)}")
            inputs.append("b8" if op == "cvt" and types[0] == "bf16" and bits(t) == 8 else ROLES.get((op, k), t))
    return Kernel(mangle(inst), [f"{inst} {', '.join(names)};"], inputs, outputs, cases=cases_for(op, inputs),
                  approx=bound_key(op, types, mods), origin=form.line)


def destination_type(op, types):
    return "b32" if types[0].endswith("x2") and width(types[0]) == 32 else types[0]


def source_type(types, k):
    return types[min(1, len(types) - 1)]


# ---- forms with more to them -----------------------------------------------------------------------------------------

def compares(form, types, mods):
    """setp with both destinations where it has two; with a Boolean operator also the third source, plain and negated."""
    inst = spelled(form.op, types, mods)
    boolean = bool({"and", "or", "xor"} & set(mods))
    inputs = [types[-1], types[-1]] + (["pred"] if boolean else [])
    two = form.op == "setp" and types[0] not in ("f16", "bf16")
    outputs = ["pred", "pred"] if two else ["pred"] if form.op == "setp" else [types[0]]
    dst = "%d0|%d1" if two else "%d0"
    body = [f"{inst} {dst}, %a0, %a1{', %a2' if boolean else ''};"]
    if boolean:
        n = len(outputs)
        dst = "|".join(f"%d{n + j}" for j in range(n))
        body.append(f"{inst} {dst}, %a0, %a1, !%a2;")
        outputs = outputs * 2
    yield Kernel(mangle(inst), body, inputs, outputs, cases=cases_for(form.op, inputs), origin=form.line)


def lop3(form, types, mods):
    """All 256 tables, sixteen a kernel."""
    inst = spelled("lop3", types, mods)
    for high in range(16):
        body, inputs, outputs = [], ["b32"] * 3 + (["pred"] if mods else []), []
        for low in range(16):
            k = len(outputs)
            outputs += ["b32", "pred"] if mods else ["b32"]
            dst, last = (f"%d{k}|%d{k + 1}", ", %a3") if mods else (f"%d{k}", "")
            body.append(f"{inst} {dst}, %a0, %a1, %a2, {high * 16 + low:#x}{last};")
        yield Kernel(f"{mangle(inst)}_{high:x}x", body, inputs, outputs, cases=(512, 256), origin=form.line)


def integer_cvt(form, types, mods):
    """cvt to an integer, into the narrowest register and into the wider ones."""
    inst = spelled("cvt", types, mods)
    widths = [w for w in (16, 32, 64) if w >= bits(types[0])]
    if types[1] == "bf16":  # takes no wider register
        widths = [bits(types[0])]
    body = [f"{inst} %d{k}, %a0;" for k in range(len(widths))]
    yield Kernel(mangle(inst), body, [types[1]], [f"b{w}" for w in widths], cases=cases_for("cvt", [0]), origin=form.line)


def carry(form, types, mods):
    """The carry comes from a first instruction on two inputs, and is read back by a last one with zeros."""
    op, t = form.op, types[0]
    inst = spelled(op, types, mods)
    subtract = op in ("sub", "subc")
    first, last = ("sub", "subc") if subtract else ("add", "addc")
    takes, gives = op.endswith("c"), "cc" in mods
    sources = ["%a0", "%a1"] + (["%a2"] if op.startswith("mad") else [])
    inputs, body, outputs = [t] * len(sources), [], ["b" + t[1:]]
    if takes:
        k = len(inputs)
        inputs += ["u32", "u32"]
        body.append(f"{first}.cc.u32 %t, %a{k}, %a{k + 1};")
    body.append(f"{inst} %d0, {', '.join(sources)};")
    if gives:
        body.append(f"{last}.u32 %d1, 0, 0;")
        outputs.append("b32")
    yield Kernel(mangle(inst), body, inputs, outputs, origin=form.line)


SELECTORS = [("", ""), (".b0", ".b3"), (".b1", ".h1"), (".b2", ".b0"), (".b3", ""), (".h0", ".b2"), (".h1", ".h0"), ("", ".b1")]
SIMD2 = [("", ""), (".h10", ".h32"), (".h31", ".h02"), (".h20", ".h13")]
SIMD4 = [("", ""), (".b3210", ".b7654"), (".b0123", ".b7531"), (".b6420", ".b1111")]
MASKS2, MASKS4 = ["h0", "h1", "h10"], ["b0", "b1", "b21", "b310", "b320", "b3210"]


def video_text(op, types, mods):
    """vshl.dtype.atype.btype.sat.mode.op2; vset.atype.btype.cmp.op2."""
    order = lambda m: ("po", "sat", "clamp", "wrap", "shr7", "shr15").index(m) if m in ("po", "sat", "clamp", "wrap", "shr7", "shr15") else 9
    return ".".join([op] + types + sorted(mods, key=order))


def scalar_video(form, types, mods):
    """All source selectors of one scalar video form in one kernel; forms that merge into d: one kernel for all parts."""
    if set(mods) & {"b0", "b1", "b2", "b3", "h0", "h1"}:
        return
    op = form.op
    second = bool(set(mods) & {"add", "min", "max"}) or op == "vmad"
    inst = video_text(op, types, mods)
    body = [f"{inst} %d{k}, %a0{a}, %a1{b}{', %a2' if second else ''};" for k, (a, b) in enumerate(SELECTORS)]
    yield Kernel(mangle(inst), body, ["b32"] * (3 if second else 2), ["b32"] * len(SELECTORS), cases=(1024, 512), origin=form.line)
    if op != "vmad" and not second:
        parts = ["b0", "b1", "b2", "b3", "h0", "h1"]
        body = [f"{inst} %d{k}.{p}, %a0{SELECTORS[k + 1][0]}, %a1{SELECTORS[k + 1][1]}, %a2;" for k, p in enumerate(parts)]
        yield Kernel(mangle(inst) + "_merge", body, ["b32"] * 3, ["b32"] * len(parts), cases=(1024, 512), origin=form.line)


def simd_video(form, types, mods):
    """All masks and a few lane selections of one SIMD video form."""
    four = form.op.endswith("4")
    if set(mods) & set(next(g[0] for g in form.groups if "h0" in g[0] or "b0" in g[0])):
        return
    inst = ".".join([form.op] + types + mods)
    masks, picks = (MASKS4, SIMD4) if four else (MASKS2, SIMD2)
    body = []
    for k, mask in enumerate([""] + ["." + m for m in masks]):
        if "add" in mods:
            mask = mask if not mask else ""
        a, b = picks[k % len(picks)]
        body.append(f"{inst} %d{k}{mask}, %a0{a}, %a1{b}, %a2;")
    yield Kernel(mangle(inst), body, ["b32"] * 3, ["b32"] * len(body), cases=(1024, 512), origin=form.line)


def kernels_of(form, types, mods):
    op = form.op
    if op in ("set", "setp"):
        return compares(form, types, mods)
    if op == "lop3":
        return lop3(form, types, mods)
    if "cc" in mods or op in ("addc", "subc", "madc"):
        return carry(form, types, mods)
    if op == "cvt" and len(types) == 2 and types[0] not in FLOATS and types[0][0] in "us" and types[0] != "ue8m0x2":
        return integer_cvt(form, types, mods)
    if op[0] == "v":
        return (simd_video if op[-1] in "24" else scalar_video)(form, types, mods)
    return [plain(form, types, mods)]


def register_kernels(table):
    seen = set()
    for form in table.forms:
        if form.op not in PURE or form.sm > TARGET_SM or form.isa > TARGET_ISA:
            continue
        for types, mods in combinations(form):
            for k in kernels_of(form, types, mods):
                if k.name not in seen:
                    seen.add(k.name)
                    yield k
