# SPDX-License-Identifier: MIT
"""Kernels for matrix instructions of a warp: the registers of the fragments are the inputs, those of the result the outputs.
Floating-point inputs are moderate (roles m_...), so that sums tell something."""
from conformance_kernel import Kernel, mangle

CASES = (0, 1024)
ROLE = {"f16": "m_f16x2", "bf16": "m_bf16x2", "tf32": "m_f32", "f32": "m_f32", "f64": "m_f64", "e4m3": "m_e4m3x4", "e5m2": "m_e5m2x4"}
BITS = {"f16": 16, "bf16": 16, "tf32": 32, "f32": 32, "f64": 64, "s32": 32, "s8": 8, "u8": 8, "s4": 4, "u4": 4, "b1": 1, "e4m3": 8, "e5m2": 8}
FLOAT_SHAPES = [("f16", ["m16n8k8", "m16n8k16"], ["f16", "f32"]), ("bf16", ["m16n8k8", "m16n8k16"], ["f32"]), ("tf32", ["m16n8k4", "m16n8k8"], ["f32"]),
                ("f64", ["m8n8k4", "m16n8k4", "m16n8k8", "m16n8k16"], ["f64"])]
INT_SHAPES = [(("s8", "u8"), ["m8n8k16", "m16n8k16", "m16n8k32"]), (("s4", "u4"), ["m8n8k32", "m16n8k32", "m16n8k64"])]


def registers(rows, columns, type_):
    """(number, role) of the registers in which a thread holds its part of a matrix."""
    total = rows * columns * BITS[type_] // 32  # bits of a thread
    width = 64 if type_ == "f64" else 32
    return total // width, ROLE.get(type_, "b32")


def dimensions(shape):
    m, rest = shape[1:].split("n")
    n, k = rest.split("k")
    return int(m), int(n), int(k)


def mma(shape, d, a, b, c, modifiers="", layout="row.col", tail=""):
    m, n, k = dimensions(shape)
    inst = f"mma.sync.aligned.{shape}.{layout}{modifiers}.{d}.{a}.{b}.{c}{tail}"
    names, inputs = [], []
    for count, role in (registers(m, k, a), registers(k, n, b), registers(m, n, c)):
        names.append("{" + ", ".join(f"%a{len(inputs) + j}" for j in range(count)) + "}")
        inputs += [role] * count
    count, _ = registers(m, n, d)
    out = "{" + ", ".join(f"%d{j}" for j in range(count)) + "}"
    type_ = {"f16": "f16x2", "s32": "s32"}.get(d, d)
    return Kernel(mangle(inst), [f"{inst} {out}, {', '.join(names)};"], inputs, [type_] * count, cases=CASES)


def multiplications():
    for a, shapes, accumulators in FLOAT_SHAPES:
        for shape in shapes:
            for c in accumulators:
                yield mma(shape, c, a, a, c)
    for modifiers in (".rn", ".rz", ".rm", ".rp"):
        yield rounded("m8n8k4", modifiers)
    for types, shapes in INT_SHAPES:
        for shape in shapes:
            for a in types:
                for b in types:
                    yield mma(shape, "s32", a, b, "s32")
                    yield mma(shape, "s32", a, b, "s32", ".satfinite")
    for shape in ("m8n8k128", "m16n8k128", "m16n8k256"):
        for op in ("xor", "and"):
            yield mma(shape, "s32", "b1", "b1", "s32", tail=f".{op}.popc")
    for a in ("e4m3", "e5m2"):
        for b in ("e4m3", "e5m2"):
            for c in ("f32", "f16"):
                yield mma("m16n8k32", c, a, b, c)


def rounded(shape, rounding):
    k = mma(shape, "f64", "f64", "f64", "f64")
    plain = "mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64"
    inst = plain + rounding
    k.body = [k.body[0].replace(plain, inst)]
    k.name = mangle(inst)
    return k


def moves():
    yield Kernel("movmatrix_trans", ["movmatrix.sync.aligned.m8n8.trans.b16 %d0, %a0;"], ["b32"], ["b32"], cases=CASES)
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            yield ldmatrix(count, trans)
            yield stmatrix(count, trans)


WARP_SLOT = ["mov.u32 %s, s_NAME;", "shr.u32 %x, %thread, 5;", "mad.lo.u32 %s, %x, 512, %s;", "mov.u32 %lane, %laneid;"]
REGS = [".reg .b32 %s, %x, %lane, %own;"]


def ldmatrix(count, trans):
    """A warp's 32 rows of 16 bytes are its own inputs; lane i gives the address of row (i * 5 + 3) % 32."""
    inst = f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
    name = mangle(inst)
    names = ", ".join(f"%d{j}" for j in range(count))
    body = [w.replace("NAME", name) for w in WARP_SLOT] + [
        "mad.lo.u32 %own, %lane, 16, %s;", "st.shared.v2.b64 [%own], {%a0, %a1};", "bar.warp.sync -1;", "mad.lo.u32 %x, %lane, 5, 3;",
        "and.b32 %x, %x, 31;", "mad.lo.u32 %x, %x, 16, %s;", f"{inst} {{{names}}}, [%x];"]
    return Kernel(name, body, ["b64", "b64"], ["b32"] * count, REGS, [f".shared .align 16 .b8 s_{name}[2048];"], CASES)


def stmatrix(count, trans):
    inst = f"stmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16"
    name = mangle(inst)
    names = ", ".join(f"%a{j}" for j in range(count))
    body = [w.replace("NAME", name) for w in WARP_SLOT] + [
        "mad.lo.u32 %own, %lane, 16, %s;", "st.shared.v2.b64 [%own], {0, 0};", "bar.warp.sync -1;", "mad.lo.u32 %x, %lane, 5, 3;",
        "and.b32 %x, %x, 31;", "mad.lo.u32 %x, %x, 16, %s;", f"{inst} [%x], {{{names}}};", "bar.warp.sync -1;",
        "ld.shared.v2.b64 {%d0, %d1}, [%own];"]
    return Kernel(name, body, ["b32"] * count, ["b64", "b64"], REGS, [f".shared .align 16 .b8 s_{name}[2048];"], CASES)


SPARSE = [("f16", "m_meta", ("m16n8k16", "m16n8k32"), ("f16", "f32")), ("bf16", "m_meta", ("m16n8k16", "m16n8k32"), ("f32",)),
          ("tf32", "m_meta2", ("m16n8k8", "m16n8k16"), ("f32",)), ("s8", "m_meta", ("m16n8k32", "m16n8k64"), ("s32",)),
          ("u8", "m_meta", ("m16n8k32", "m16n8k64"), ("s32",))]


def sparse(shape, d, a, meta, selector):
    """A holds half of its columns; `meta` says which."""
    m, n, k = dimensions(shape)
    inst = f"mma.sp::ordered_metadata.sync.aligned.{shape}.row.col.{d}.{a}.{a}.{d}"
    names, inputs = [], []
    for count, role in (registers(m, k // 2, a), registers(k, n, a), registers(m, n, d)):
        names.append("{" + ", ".join(f"%a{len(inputs) + j}" for j in range(count)) + "}")
        inputs += [role] * count
    names += [f"%a{len(inputs)}", f"{selector:#x}"]
    count, _ = registers(m, n, d)
    out = "{" + ", ".join(f"%d{j}" for j in range(count)) + "}"
    return Kernel(mangle(f"{inst}.{selector}"), [f"{inst} {out}, {', '.join(names)};"], inputs + [meta], [{"f16": "f16x2"}.get(d, d)] * count,
                  cases=CASES)


def sparse_multiplications():
    for a, meta, shapes, results in SPARSE:
        for index, shape in enumerate(shapes):
            for d in results:
                for selector in range(1 if a in ("s8", "u8") and index else 2):
                    yield sparse(shape, d, a, meta, selector)


# ---- wmma: matrices go through shared memory, since the fragments' layout is not said ----------------------------------------
WIDE = ("m16n16k16", "m8n32k16", "m32n8k16")
BOTH = ("row", "col")
# shapes, type of a and b, types of c and d, layouts of a and b (none: row and col)
WMMA = [(WIDE, "f16", ("f16", "f32"), BOTH), (WIDE, "bf16", ("f32",), BOTH), (("m16n16k8",), "tf32", ("f32",), BOTH),
        (("m8n8k4",), "f64", ("f64",), BOTH), (WIDE, "s8", ("s32",), BOTH), (WIDE, "u8", ("s32",), BOTH),
        (("m8n8k32",), "s4", ("s32",), ()), (("m8n8k32",), "u4", ("s32",), ()), (("m8n8k128",), "b1", ("s32",), ())]


def fragment(rows, columns, type_, part):
    """Registers of a wmma fragment: those of f16 and tf32 hold more than their share."""
    if type_ == "f16" and part in "ab":
        return 8
    return registers(rows, columns, type_)[0]


def wmma(shape, a, d, la, lb, ld, tail=""):
    m, n, k = dimensions(shape)
    sub = ".and.popc" if a == "b1" else tail
    if a in ("f16",):
        types = f"{d}.{d}"
    else:
        types = f"{d}.{a}.{a}.{d}"
    inst = f"wmma.mma{sub if a == 'b1' else ''}.sync.aligned.{la}.{lb}.{shape}.{types}{'' if a == 'b1' else sub}"
    name = mangle(f"{inst}.{ld}")
    body = [f"mov.u32 %s, s_{name};", "shr.u32 %x, %thread, 5;", "mad.lo.u32 %s, %x, 3072, %s;", "mov.u32 %lane, %laneid;"]
    inputs, regs = [], [".reg .b32 %s, %x, %lane, %own;"]
    for offset, part, rows, columns, type_, in ((0, "a", m, k, a), (1024, "b", k, n, a), (2048, "c", m, n, d)):
        count, role = registers(rows, columns, type_)
        width = 64 if type_ == "f64" else 32
        body.append(f"mad.lo.u32 %own, %lane, {count * width // 8}, %s;")
        body += [f"st.shared.b{width} [%own + {offset + j * width // 8}], %a{len(inputs) + j};" for j in range(count)]
        inputs += [role] * count
        regs.append(f".reg .b{width} %{part}<{fragment(rows, columns, type_, part)}>;".replace(f"%{part}<", f"%f{part}<"))
    body.append("bar.warp.sync -1;")
    strides = {"a": k if la == "row" else m, "b": n if lb == "row" else k, "c": n if ld == "row" else m}
    regs_of = {}
    for offset, part, rows, columns, type_, layout in ((0, "a", m, k, a, la), (1024, "b", k, n, a, lb), (2048, "c", m, n, d, ld)):
        regs_of[part] = "{" + ", ".join(f"%f{part}{j}" for j in range(fragment(rows, columns, type_, part))) + "}"
        body.append(f"add.u32 %own, %s, {offset};")
        body.append(f"wmma.load.{part}.sync.aligned.{layout}.{shape}.shared.{type_} {regs_of[part]}, [%own], {strides[part]};")
    body.append(f"{inst} {regs_of['c']}, {regs_of['a']}, {regs_of['b']}, {regs_of['c']};")
    body.append(f"wmma.store.d.sync.aligned.{ld}.{shape}.shared.{d} [%own], {regs_of['c']}, {strides['c']};")
    count, _ = registers(m, n, d)
    width = 64 if d == "f64" else 32
    body += ["bar.warp.sync -1;", f"mad.lo.u32 %own, %lane, {count * width // 8}, %own;"]
    body += [f"ld.shared.b{width} %d{j}, [%own + {j * width // 8}];" for j in range(count)]
    type_ = {"f16": "f16x2"}.get(d, d)
    return Kernel(name, body, inputs, [type_] * count, regs, [f".shared .align 32 .b8 s_{name}[12288];"], CASES)


def wmma_kernels():
    for shapes, a, results, layouts in WMMA:
        for shape in shapes:
            for d in results:
                for la in layouts or ("row",):
                    for lb in layouts or ("col",):
                        for ld in ("row", "col"):
                            yield wmma(shape, a, d, la, lb, ld)
                if a in ("s8", "u8", "s4", "u4"):
                    yield wmma(shape, a, d, "row", "col", "row", ".satfinite")


def matrix_kernels():
    for f in (multiplications, moves, sparse_multiplications, wmma_kernels):
        yield from f()
