#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Matrix instructions beyond conformance_matrix.py, a suite of its own: operands with any exponent, infinities and NaNs (names any_...), sparse
forms of all types, the fragments that wmma.load gives, and wgmma, which needs sm_90a.

usage: conformance_tensor.py OUTPUT [--ptxas PTXAS]
Writes modules and `manifest`, which test/ptx/runner.c reads.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance import MARK, PER_MODULE, refused_by
from conformance_kernel import Kernel, mangle, width
from conformance_matrix import BITS, CASES, FLOAT_SHAPES, dimensions, fragment, mma, registers

HEADER = ".version 9.0\n.target sm_90a\n.address_size 64\n"
ANY = {"m_f16x2": "f16x2", "m_bf16x2": "bf16x2", "m_f32": "f32", "m_f64": "f64", "m_e4m3x4": "b32", "m_e5m2x4": "b32"}
ANY_CASES = (0, 2048)


def any_values(k):
    k.name = "any_" + k.name
    k.inputs = [ANY.get(t, t) for t in k.inputs]
    k.cases = ANY_CASES
    return k


def dense():
    for a, shapes, accumulators in FLOAT_SHAPES:
        for shape in shapes:
            for c in accumulators:
                yield any_values(mma(shape, c, a, a, c))
    for shape in ("m16n8k16", "m16n8k32"):
        for a in ("e4m3", "e5m2"):
            for b in ("e4m3", "e5m2"):
                for c in ("f32", "f16"):
                    yield any_values(mma(shape, c, a, b, c))
                    if shape == "m16n8k16":
                        yield mma(shape, c, a, b, c)
    for d, c in (("f16", "f16"), ("f32", "f16"), ("f32", "f32")):
        for layout in ("row.col", "row.row", "col.col", "col.row"):
            yield quad(d, c, layout)


def quad(d, c, layout):
    """m8n8k4 on f16: four multiplications, each on eight lanes."""
    inst = f"mma.sync.aligned.m8n8k4.{layout}.{d}.f16.f16.{c}"
    counts = {"f16": 4, "f32": 8}
    names = ["{%a0, %a1}", "{%a2, %a3}", "{" + ", ".join(f"%a{4 + j}" for j in range(counts[c])) + "}"]
    out = "{" + ", ".join(f"%d{j}" for j in range(counts[d])) + "}"
    role = {"f16": "m_f16x2", "f32": "m_f32"}[c]
    return Kernel(mangle(inst), [f"{inst} {out}, {', '.join(names)};"], ["m_f16x2"] * 4 + [role] * counts[c],
                  [{"f16": "f16x2"}.get(d, d)] * counts[d], cases=CASES)


# ---- sparse: type of a, types of b, metadata, shapes with their numbers of selectors, results ---------------------------------
SPARSE = [("f16", ("f16",), "m_meta", (("m16n8k16", 4), ("m16n8k32", 2)), ("f16", "f32")),
          ("bf16", ("bf16",), "m_meta", (("m16n8k16", 4), ("m16n8k32", 2)), ("f32",)),
          ("tf32", ("tf32",), "m_meta2", (("m16n8k8", 4), ("m16n8k16", 2)), ("f32",)),
          ("e4m3", ("e4m3", "e5m2"), "m_meta", (("m16n8k64", 1),), ("f32",)),
          ("e5m2", ("e4m3", "e5m2"), "m_meta", (("m16n8k64", 1),), ("f32",)),
          ("s8", ("s8", "u8"), "m_meta", (("m16n8k32", 2), ("m16n8k64", 1)), ("s32",)),
          ("u8", ("s8", "u8"), "m_meta", (("m16n8k32", 2), ("m16n8k64", 1)), ("s32",)),
          ("s4", ("s4", "u4"), "m_meta", (("m16n8k64", 2), ("m16n8k128", 1)), ("s32",)),
          ("u4", ("s4", "u4"), "m_meta", (("m16n8k64", 2), ("m16n8k128", 1)), ("s32",))]


def sparse(shape, d, a, b, meta, selector, ordered, saturate=""):
    m, n, k = dimensions(shape)
    inst = f"mma.sp{ordered}.sync.aligned.{shape}.row.col{saturate}.{d}.{a}.{b}.{d}"
    names, inputs = [], []
    for count, role in (registers(m, k // 2, a), registers(k, n, b), registers(m, n, d)):
        names.append("{" + ", ".join(f"%a{len(inputs) + j}" for j in range(count)) + "}")
        inputs += [role] * count
    names += [f"%a{len(inputs)}", f"{selector:#x}"]
    count, _ = registers(m, n, d)
    out = "{" + ", ".join(f"%d{j}" for j in range(count)) + "}"
    prefix = "" if ordered else "plain_"
    return Kernel(prefix + mangle(f"{inst}.{selector}"), [f"{inst} {out}, {', '.join(names)};"], inputs + [meta],
                  [{"f16": "f16x2"}.get(d, d)] * count, cases=CASES)


def sparse_forms():
    for a, types, meta, shapes, results in SPARSE:
        for b in types:
            for shape, selectors in shapes:
                for d in results:
                    for selector in range(selectors):
                        yield sparse(shape, d, a, b, meta, selector, "::ordered_metadata")
                    yield sparse(shape, d, a, b, meta, 0, "")
                    if d == "s32":
                        yield sparse(shape, d, a, b, meta, 0, "::ordered_metadata", ".satfinite")
                    else:
                        yield any_values(sparse(shape, d, a, b, meta, 0, "::ordered_metadata"))


# ---- wmma: which element of the matrix is where in the fragment ----------------------------------------------------------------
LOADS = [("m16n16k16", "abc", ("f16", "bf16", "s8", "u8")), ("m8n32k16", "abc", ("f16", "bf16", "s8", "u8")),
         ("m32n8k16", "abc", ("f16", "bf16", "s8", "u8")), ("m16n16k8", "abc", ("tf32",)), ("m8n8k4", "abc", ("f64",)),
         ("m8n8k32", "abc", ("s4", "u4")), ("m8n8k128", "abc", ("b1",))]
ACCUMULATOR = {"f16": ("f16", "f32"), "bf16": ("f32",), "tf32": ("f32",), "f64": ("f64",)}


def wmma_load(shape, part, type_, layout):
    m, n, k = dimensions(shape)
    rows, columns = {"a": (m, k), "b": (k, n), "c": (m, n)}[part]
    inst = f"wmma.load.{part}.sync.aligned.{layout}.{shape}.shared.{type_}"
    name = mangle(inst)
    words = rows * columns * BITS[type_] // 1024
    count = fragment(rows, columns, type_, part)
    out = "b64" if type_ == "f64" else "b32"
    body = [f"mov.u32 %s, s_{name};", "shr.u32 %x, %thread, 5;", "mad.lo.u32 %s, %x, 2048, %s;", "mov.u32 %lane, %laneid;",
            f"mad.lo.u32 %own, %lane, {words * 4}, %s;"]
    body += [f"st.shared.b32 [%own + {4 * j}], %a{j};" for j in range(words)]
    stride = columns if layout == "row" else rows
    body += ["bar.warp.sync -1;", f"{inst} {{{', '.join(f'%d{j}' for j in range(count))}}}, [%s], {stride};"]
    return Kernel(name, body, ["b32"] * words, [out] * count, [".reg .b32 %s, %x, %lane, %own;"],
                  [f".shared .align 32 .b8 s_{name}[8192];"], (0, 256))


def wmma_loads():
    seen = set()
    for shape, parts, types in LOADS:
        for type_ in types:
            for part in parts:
                layouts = {"a": ("row",), "b": ("col",)}.get(part, ("row", "col")) if BITS[type_] < 8 else ("row", "col")
                for t in ACCUMULATOR.get(type_, ("s32",)) if part == "c" else (type_,):
                    for layout in layouts:
                        k = wmma_load(shape, part, t, layout)
                        if k.name not in seen:
                            seen.add(k.name)
                            yield k


# ---- wgmma ---------------------------------------------------------------------------------------------------------------------
# Each thread writes 16 bytes of A and B four times, turned by a word each time: 8 KiB each, of which descriptors pick what they want.
K_OF = {"f16": 16, "bf16": 16, "tf32": 8, "e4m3": 32, "e5m2": 32, "s8": 32, "u8": 32, "b1": 256}
ROLE = {"f16": "m_f16x2", "bf16": "m_bf16x2", "tf32": "m_f32", "e4m3": "m_e4m3x4", "e5m2": "m_e5m2x4"}
SWIZZLES = {0: (384, 896), 3: (16, 1024), 2: (16, 1024), 1: (16, 1024)}  # bits 62-63 of a descriptor: leading and stride bytes, K first
SWIZZLES_MN = {0: (384, 896), 1: (2048, 1024), 2: (2048, 1024), 3: (2048, 512)}


def descriptor(reg, address, swizzle, transposed):
    lead, stride = (SWIZZLES_MN if transposed else SWIZZLES)[swizzle]
    high = swizzle << 62 | stride // 16 << 32 | lead // 16 << 16
    return [f"cvt.u64.u32 {reg}, {address};", f"shr.u64 {reg}, {reg}, 4;", f"or.b64 {reg}, {reg}, {high:#x};"]


def wgmma(n, d, a, b, *, registers_a=False, swizzle=(0, 0), trans=(0, 0), scale_d=1, scale=(1, 1), any_=False, tail="", sparse_=False):
    k = K_OF[a] * (2 if sparse_ else 1)
    inst = f"wgmma.mma_async{'.sp' if sparse_ else ''}.sync.aligned.m64n{n}k{k}{'.satfinite' if tail == 'satfinite' else ''}.{d}.{a}.{b}"
    inst += ".and.popc" if a == "b1" else ""
    name = mangle(".".join(map(str, (inst, tail, "reg" if registers_a else "mem", *swizzle, *trans, scale_d, *scale))).replace("-", "m")).replace("wgmma_mma_async", "wgmma")
    name = ("any_" if any_ else "") + name
    count = n // 8 * (2 if d == "f16" else 4)
    role_a, role_b = ROLE.get(a, "b32"), ROLE.get(b, "b32")
    role_d = {"f32": "m_f32", "f16": "m_f16x2"}.get(d, "b32")
    inputs = [role_a] * 4 + [role_b] * 4 + [role_d] * count
    if any_:
        inputs = [ANY.get(t, t) for t in inputs]
    body = [f"mov.u32 %s, s_{name};", "mad.lo.u32 %x, %thread, 16, %s;"]
    for turn in range(4):
        for matrix in range(2):
            words = ", ".join(f"%a{4 * matrix + (j + turn) % 4}" for j in range(4))
            body.append(f"st.shared.v4.b32 [%x + {8192 * matrix + 2048 * turn}], {{{words}}};")
    body += ["fence.proxy.async.shared::cta;", "bar.sync 0;", *descriptor("%p", "%s", swizzle[0], trans[0]), "add.u32 %x, %s, 8192;",
             *descriptor("%q", "%x", swizzle[1], trans[1])]
    body += [f"mov.b32 %d{j}, %a{8 + j};" for j in range(count)]
    body += [f"setp.ne.s32 %z, {scale_d}, 0;", "wgmma.fence.sync.aligned;"]
    accumulators = "{" + ", ".join(f"%d{j}" for j in range(count)) + "}"
    operand = "{%a0, %a1, %a2, %a3}" if registers_a else "%p"
    more = ["%z"]
    if a not in ("s8", "u8", "b1"):
        more += [str(scale[0]), str(scale[1])]
    if a in ("f16", "bf16"):
        more += [str(t) for t in (trans[1:] if registers_a else trans)]
    meta = []
    if sparse_:
        inputs.append("m_meta2" if a == "tf32" else "m_meta")
        meta = [f"%a{8 + count}", "0"]
    body += [f"{inst} {accumulators}, {', '.join([operand, '%q', *meta, *more])};", "wgmma.commit_group.sync.aligned;",
             "wgmma.wait_group.sync.aligned 0;"]
    out = {"f16": "f16x2", "f32": "f32"}.get(d, "s32")
    return Kernel(name, body, inputs, [out] * count, [".reg .b32 %s, %x;", ".reg .b64 %p, %q;", ".reg .pred %z;"],
                  [f".shared .align 1024 .b8 s_{name}[16384];"], ANY_CASES if any_ else CASES)


def wgmma_forms():
    pairs = [("f16", "f16", "f16"), ("f32", "f16", "f16"), ("f32", "bf16", "bf16"), ("f32", "tf32", "tf32"), ("s32", "b1", "b1")]
    pairs += [(d, a, b) for a in ("e4m3", "e5m2") for b in ("e4m3", "e5m2") for d in ("f16", "f32")]
    pairs += [("s32", a, b) for a in ("s8", "u8") for b in ("s8", "u8")]
    for d, a, b in pairs:
        for registers_a in (False, True):
            yield wgmma(16, d, a, b, registers_a=registers_a)
        yield wgmma(8, d, a, b, swizzle=(3, 2))
        yield wgmma(64, d, a, b, swizzle=(1, 3))
        yield wgmma(16, d, a, b, scale_d=0)
        if d == "s32" and a != "b1":
            yield wgmma(16, d, a, b, tail="satfinite")
        elif d != "s32":
            yield wgmma(16, d, a, b, scale=(-1, 1))
            yield wgmma(16, d, a, b, scale=(1, -1))
            yield wgmma(16, d, a, b, any_=True)
            yield wgmma(16, d, a, b, any_=True, registers_a=True)
        if a != "b1":
            yield wgmma(16, d, a, b, sparse_=True)
            yield wgmma(16, d, a, b, sparse_=True, registers_a=True)
    for s in range(4):
        for trans in ((0, 1), (1, 0), (1, 1)):
            yield wgmma(64, "f16", "f16", "f16", swizzle=(s, 3 - s), trans=trans)
            yield wgmma(16, "f32", "bf16", "bf16", swizzle=(s, s), trans=trans)
        yield wgmma(16, "f32", "f16", "f16", registers_a=True, swizzle=(s, s), trans=(0, 1))


def tensor_kernels():
    for f in (dense, sparse_forms, wmma_loads, wgmma_forms):
        yield from f()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--ptxas")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    kernels = [*tensor_kernels()]
    assert len({k.name for k in kernels}) == len(kernels), "two kernels of one name"
    bad = {}
    with open(args.output / "manifest", "w", encoding="ascii") as manifest:
        for first in range(0, len(kernels), PER_MODULE):
            part = kernels[first:first + PER_MODULE]
            path = args.output / f"t{first // PER_MODULE:03}.ptx"
            path.write_text(HEADER + "".join(f"{MARK}{k.name}\n{k.text()}" for k in part), encoding="ascii")
            manifest.writelines(k.manifest(path.name) + "\n" for k in part)
            if args.ptxas:
                bad.update(refused_by(args.ptxas, path, "sm_90a"))
    print(f"{len(kernels)} kernels in {-(-len(kernels) // PER_MODULE)} modules")
    for name, why in bad.items():
        print(f"refused by ptxas: {name}: {why}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
