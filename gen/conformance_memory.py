# SPDX-License-Identifier: MIT
"""Kernels for memory instructions: each thread works on bytes of its own, or all of a block contend where the order cannot be seen."""
from conformance_kernel import Kernel, mangle, width

SCALARS = ["b8", "u8", "s8", "b16", "u16", "s16", "b32", "u32", "s32", "b64", "u64", "s64", "f32", "f64"]
FLOATS = ("f32", "f64")
SPACES = ["global", "shared", "local", ""]  # "": generic addresses of global memory
REGS = [".reg .b32 %x, %y;", ".reg .b64 %p, %q;"]
CASES = (256, 256)


def size(type_):
    return int(type_[1:]) // 8


def slot(space, name):
    """Code that makes %p the address of 16 bytes of this thread's own, and the declarations it needs."""
    if space == "shared":
        return [f"mov.u32 %y, s_{name};", "shl.b32 %x, %thread, 4;", "add.u32 %y, %y, %x;", "cvt.u64.u32 %p, %y;"], [
            f".shared .align 16 .b8 s_{name}[2048];"], []
    if space == "local":
        return ["mov.u64 %p, own;"], [], [".local .align 16 .b8 own[16];"]
    code = [f"mov.u64 %p, g_{name};", "mul.wide.u32 %q, %case, 16;", "add.u64 %p, %p, %q;"]
    if not space:
        code.insert(1, "cvta.global.u64 %p, %p;")
    return code, [f".global .align 16 .b8 g_{name}[65536];"], []


def dotted(*words):
    return ".".join(w for w in words if w)


def memory_kernel(name, space, body, inputs, outputs, regs=(), cases=CASES):
    name = mangle(name)
    address, globals_, local = slot(space, name)
    return Kernel(name, address + body, inputs, outputs, REGS + list(regs) + local, globals_, cases)


def fill(space):
    """The slot gets the first two inputs."""
    at = "." + space if space else ""
    return [f"st{at}.b64 [%p], %a0;", f"st{at}.b64 [%p + 8], %a1;"]


def load(space, type_, vec, modifiers=""):
    """ld of a type into registers as wide and, for integers, into 64-bit ones."""
    at = dotted("ld", modifiers, space, f"v{vec}" if vec > 1 else "", type_)
    widths = [max(16, width_of(type_))] + ([64] if type_ not in FLOATS and width_of(type_) < 64 else [])
    body, outputs = fill(space), []
    for w in widths:
        names = [f"%d{len(outputs) + j}" for j in range(vec)]
        outputs += [f"b{w}"] * vec
        body.append(f"{at} {'{' + ', '.join(names) + '}' if vec > 1 else names[0]}, [%p];")
    return memory_kernel(dotted(at, "" if space else "generic"), space, body, ["b64", "b64"], outputs)


def width_of(type_):
    return 8 * size(type_)


def loads():
    for space in SPACES:
        for t in SCALARS:
            for vec in (1, 2, 4):
                if vec * size(t) <= 16:
                    yield load(space, t, vec)
    orders = [dotted(s, c) for s in ("relaxed", "acquire") for c in ("cta", "cluster", "gpu", "sys")] + ["volatile", "weak"]
    for space in ("global", "shared", ""):
        for m in orders:
            for t in ("b8", "s16", "b32", "f32", "b64"):
                yield load(space, t, 1, m)
            yield load(space, "b32", 4, m)
    yield load("global", "u32", 1, "mmio.relaxed.sys")
    for hint in ("ca", "cg", "cs", "lu", "cv"):
        for t in ("u8", "s32", "b64"):
            yield memory_kernel(
                f"ld.global.{hint}.{t}", "global", fill("global") + [f"ld.global.{hint}.{t} %d0, [%p];"], ["b64", "b64"], ["b64"])
    # Data that no one writes: the inputs themselves.
    for what in ("ld.global.nc", "ld.global.ca.nc", "ld.global.cg.nc", "ldu.global", "ld.global.nc.L1::no_allocate", "ld.global.L1::evict_last",
                 "ld.global.nc.L1::evict_first.L2::128B", "ld.global.L2::64B", "ld.global.L2::256B"):
        for vec, t in ((1, "s8"), (1, "u16"), (1, "f32"), (1, "b64"), (2, "f32"), (4, "u32"), (2, "f64"), (4, "s16")):
            yield input_load(f"{what}.v{vec}.{t}" if vec > 1 else f"{what}.{t}", vec, t)
    yield input_load("ld.global.b64", 1, "b64", "ld.global.input")
    for space in ("const", "param"):
        for t in SCALARS:
            yield constant_load(space, t)


def input_load(inst, vec, t, name=""):
    w = 64 if vec == 1 and t not in FLOATS else max(16, width_of(t))
    names = [f"%d{j}" for j in range(vec)]
    body = [f"{inst} {'{' + ', '.join(names) + '}' if vec > 1 else names[0]}, [%in];"]
    return Kernel(mangle(name or inst), body, ["b64", "b64"], [f"b{w}"] * vec, cases=CASES)


def constant_load(space, t):
    """const: a table indexed by the input. param: of the kernel's second parameter nothing is known but that two loads agree."""
    name, out = mangle(f"ld.{space}.{t}"), f"b{t[1:]}" if t in FLOATS else "b64"
    if space == "param":
        body = [f"ld.param.{t} %d{k}, [p_out];" for k in (0, 1)] + [f"xor.{out} %d0, %d0, %d1;", f"mov.{out} %d1, 0;"]
        return Kernel(name, body, ["b32"], [out, out], REGS, cases=CASES)
    words = ", ".join(f"{(i * 0x9E3779B97F4A7C15 + 0x8081828384858687) % 2**64:#x}" for i in range(32))
    body = [f"mov.u64 %p, c_{name};", "and.b32 %x, %a0, 31;", "mul.wide.u32 %q, %x, 8;", "add.u64 %p, %p, %q;", f"ld.const.{t} %d0, [%p];"]
    return Kernel(name, body, ["b32"], [out], REGS, [f".const .align 8 .b64 c_{name}[32] = {{{words}}};"], CASES)


def store(space, type_, vec, modifiers="", cache=""):
    """st of a type into a slot that holds a pattern; the slot's 16 bytes are the result."""
    at = dotted("st", modifiers, space, cache, f"v{vec}" if vec > 1 else "", type_)
    plain = "." + space if space else ""
    t = type_ if type_ in FLOATS or type_[1:] == "64" else "u32" if size(type_) != 2 else "u16"
    names = [f"%a{j}" for j in range(vec)]
    body = ["mov.b64 %q, 0x0123456789abcdef;", f"st{plain}.b64 [%p], %q;", f"st{plain}.b64 [%p + 8], %q;",
            f"{at} [%p], {'{' + ', '.join(names) + '}' if vec > 1 else names[0]};",
            f"ld{plain}.b64 %d0, [%p];", f"ld{plain}.b64 %d1, [%p + 8];"]
    return memory_kernel(dotted(at, "" if space else "generic"), space, body, [t] * vec, ["b64", "b64"])


def stores():
    for space in SPACES:
        for t in SCALARS:
            for vec in (1, 2, 4):
                if vec * size(t) <= 16:
                    yield store(space, t, vec)
    orders = [dotted(s, c) for s in ("relaxed", "release") for c in ("cta", "cluster", "gpu", "sys")] + ["volatile", "weak"]
    for space in ("global", "shared", ""):
        for m in orders:
            for t in ("b8", "s16", "b32", "f32", "b64"):
                yield store(space, t, 1, m)
            yield store(space, "b32", 4, m)
    for cache in ("wb", "cg", "cs", "wt", "L1::no_allocate"):
        for t in ("u8", "s32", "b64"):
            yield store("global", t, 1, "", cache)


ATOMICS = {"add": ["u32", "s32", "u64", "f32", "f64", "f16", "f16x2", "bf16", "bf16x2"], "min": ["u32", "s32", "u64", "s64"],
           "max": ["u32", "s32", "u64", "s64"], "inc": ["u32"], "dec": ["u32"],
           "and": ["b32", "b64"], "or": ["b32", "b64"], "xor": ["b32", "b64"], "exch": ["b32", "b64"], "cas": ["b16", "b32", "b64"]}
ATOMIC_SPACES = ["global", "shared", ""]


def atomic(op, t, space, modifiers="", kind="atom"):
    """On a location of the thread's own: what it held, and what it holds then."""
    noftz = "noftz" if op == "add" and "16" in t else ""
    inst = dotted(kind, modifiers, space, op, noftz, t)
    w = f"b{width(t)}"
    plain = "." + space if space else ""
    body = [f"st{plain}.{w} [%p], %a0;"]
    operands = ", ".join(["%a1", "%a2"] if op == "cas" else ["%a1"])
    body.append(f"{inst} {'%d1, ' if kind == 'atom' else ''}[%p], {operands};")
    body.append(f"ld{plain}.{w} %d0, [%p];")
    return memory_kernel(dotted(inst, "" if space else "generic"), space, body, [t] * (3 if op == "cas" else 2),
                         [w] * (2 if kind == "atom" else 1), cases=(2048, 512))


def own_atomics():
    for kind in ("atom", "red"):
        for op, types in ATOMICS.items():
            if kind == "red" and op in ("exch", "cas"):
                continue
            for t in types:
                for space in ATOMIC_SPACES:
                    yield atomic(op, t, space, "", kind)
        sems = ("relaxed", "acquire", "release", "acq_rel") if kind == "atom" else ("relaxed", "release")
        for sem in sems:
            for scope in ("cta", "cluster", "gpu", "sys"):
                for op, t in (("add", "u32"), ("max", "s64"), ("add", "f32"), ("cas", "b32"), ("exch", "b64")):
                    if kind == "atom" or op not in ("cas", "exch"):
                        for space in ATOMIC_SPACES:
                            yield atomic(op, t, space, f"{sem}.{scope}", kind)
    for op, t, vec in (("add", "f32", 2), ("add", "f32", 4), ("add", "f16x2", 2), ("add", "f16x2", 4), ("add", "bf16x2", 4), ("min", "f16", 4), ("max", "f16", 2),
                       ("max", "bf16", 8), ("add", "f16", 8), ("add", "bf16", 2), ("min", "f16x2", 2), ("max", "bf16x2", 4), ("min", "bf16x2", 2)):
        for kind in ("atom", "red"):
            yield vector_atomic(kind, op, t, vec)


def vector_atomic(kind, op, t, vec):
    noftz = "noftz" if t != "f32" else ""
    inst = dotted(kind, "global", op, noftz, f"v{vec}", t)
    w = width(t)
    n = vec
    body = ["st.global.b64 [%p], 0;", "st.global.b64 [%p + 8], 0;"]
    body += [f"st.global.b{w} [%p + {k * w // 8}], %a{k};" for k in range(n)]
    dst = "{" + ", ".join(f"%d{2 + k}" for k in range(n)) + "}, " if kind == "atom" else ""
    src = "{" + ", ".join(f"%a{n + k}" for k in range(n)) + "}"
    body += [f"{inst} {dst}[%p], {src};", "ld.global.b64 %d0, [%p];", "ld.global.b64 %d1, [%p + 8];"]
    outputs = ["b64", "b64"] + ([f"b{w}"] * n if kind == "atom" else [])
    return memory_kernel(inst, "global", body, [t] * (2 * n), outputs)


def contended(kind, op, t, space):
    """All threads of a block on one location; what it holds in the end does not depend on their order."""
    inst = dotted(kind, space, op, t)
    name = mangle(dotted(inst, "contended", "" if space else "generic"))
    w = t[1:]
    operand = "%a0"
    setup = []
    if op in ("inc", "dec"):  # one bound for all
        operand, setup = "%y", ["mov.u32 %y, 37;"]
    if space == "shared":
        address, globals_ = [f"mov.u64 %p, s_{name};"], [f".shared .align 8 .b64 s_{name};"]
    else:
        address = [f"mov.u64 %p, g_{name};", "mov.u32 %x, %ctaid.x;", "mul.wide.u32 %q, %x, 8;", "add.u64 %p, %p, %q;"]
        address += [] if space else ["cvta.global.u64 %p, %p;"]
        globals_ = [f".global .align 8 .b64 g_{name}[1024];"]
    at = "." + space if space else ""
    start = "0x00f0f0f0f0f0f0f0" if op in ("and", "or", "xor") else "5"
    body = address + [f"mov.u64 %q, {start};", "setp.ne.u32 %z, %thread, 0;", f"@!%z st{at}.b64 [%p], %q;", "bar.sync 0;"] + setup
    body += [f"{inst} {'%d0, ' if kind == 'atom' else ''}[%p], {operand};", "bar.sync 0;", f"ld{at}.b64 %q, [%p];"]
    body += ["mov.b64 %d1, %q;", f"mov.b{w} %d0, 0;"]
    return Kernel(name, body, [t], [f"b{w}", "b64"], REGS + [".reg .pred %z;"], globals_, (512, 512))


def tickets():
    """atom.add and atom.inc hand every thread of a block another number: the sum of all is known."""
    name = "tickets_shared"
    body = [f"mov.u64 %p, t_{name};", "setp.ne.u32 %z, %thread, 0;", "@!%z st.shared.b64 [%p], 0;", "bar.sync 0;",
            "atom.shared.add.u32 %x, [%p], 1;", "atom.shared.add.u32 %y, [%p + 4], %x;", "bar.sync 0;", "ld.shared.b64 %d0, [%p];",
            "bar.sync 0;", "@!%z st.shared.b64 [%p], 0;", "bar.sync 0;",
            "atom.shared.inc.u32 %x, [%p], 16;", "red.shared.add.u32 [%p + 4], %x;", "bar.sync 0;", "ld.shared.b64 %d1, [%p];"]
    return Kernel(name, body, ["b32"], ["b64", "b64"], REGS + [".reg .pred %z;"], [f".shared .align 8 .b64 t_{name};"], CASES)


def contention():
    for kind in ("atom", "red"):
        for op, types in ATOMICS.items():
            if op in ("exch", "cas"):
                continue
            for t in types:
                if t[0] in "usb" and not t.startswith("bf"):
                    for space in ATOMIC_SPACES:
                        yield contended(kind, op, t, space)
    yield tickets()


def windows():
    """isspacep of a generic address of each space; cvta there and back."""
    for space in ("global", "shared", "local", "const"):
        name = mangle(f"isspacep.of.{space}")
        declaration = f".{space} .align 8 .b64 v_{name};"
        globals_, regs = ([], [".local .align 8 .b64 v_" + name + ";"]) if space == "local" else ([declaration], [])
        body = [f"mov.u64 %p, v_{name};", f"cvta.{space}.u64 %p, %p;"]
        tests = ["global", "shared", "local", "const", "param", "param::entry", "shared::cta", "shared::cluster"]
        body += [f"isspacep.{s} %d{k}, %p;" for k, s in enumerate(tests)]
        n = len(tests)
        body += [f"cvta.to.{space}.u64 %q, %p;", f"mov.u64 %p, v_{name};", f"setp.eq.u64 %d{n}, %q, %p;"]
        yield Kernel(name, body, ["b32"], ["pred"] * (n + 1), REGS + regs, globals_, CASES)
    body = ["mov.u64 %p, 0;"] + [f"isspacep.{s} %d{k}, %p;" for k, s in enumerate(("global", "shared", "local", "const"))]
    yield Kernel("isspacep_of_null", body, ["b32"], ["pred"] * 4, REGS, cases=CASES)


def moves():
    for t in ("pred", "b16", "b32", "b64", "u16", "u32", "u64", "s16", "s32", "s64", "f32", "f64"):
        yield Kernel(f"mov_{t}", [f"mov.{t} %d0, %a0;"], [t], ["pred" if t == "pred" else f"b{t[1:]}"], cases=CASES)
    for whole, part, n in (("b32", "b16", 2), ("b64", "b32", 2), ("b64", "b16", 4), ("b16", "b8", 2), ("b32", "b8", 4)):
        parts = ", ".join(f"%a{k}" for k in range(n))
        yield Kernel(f"mov_{whole}_pack{n}", [f"mov.{whole} %d0, {{{parts}}};"], [part] * n, [whole], cases=CASES)
        parts = ", ".join(f"%d{k}" for k in range(n))
        yield Kernel(f"mov_{whole}_unpack{n}", [f"mov.{whole} {{{parts}}}, %a0;"], [whole], [part] * n, cases=CASES)
        parts = ", ".join(f"%d{k // 2}" if k % 2 else "_" for k in range(n))
        yield Kernel(f"mov_{whole}_sink{n}", [f"mov.{whole} {{{parts}}}, %a0;"], [whole], [part] * (n // 2), cases=CASES)
    yield Kernel("mov_b128", ["mov.b128 %w, {%a0, %a1};", "mov.b128 {%d1, %d0}, %w;"], ["b64", "b64"], ["b64", "b64"], [".reg .b128 %w;"], cases=CASES)
    chain = ["add.cc.u32 %d0, %a0, %a4;", "addc.cc.u32 %d1, %a1, %a5;", "addc.cc.u32 %d2, %a2, %a6;", "addc.u32 %d3, %a3, %a7;"]
    yield Kernel("chain_add_u32", chain, ["u32"] * 8, ["b32"] * 4)
    yield Kernel("chain_sub_u32", [c.replace("add", "sub") for c in chain], ["u32"] * 8, ["b32"] * 4)
    wide = ["mul.lo.u32 %d0, %a0, %a2;", "mul.hi.u32 %d1, %a0, %a2;", "mad.lo.cc.u32 %d1, %a1, %a2, %d1;", "madc.hi.u32 %d2, %a1, %a2, 0;",
            "mad.lo.cc.u32 %d1, %a0, %a3, %d1;", "madc.hi.cc.u32 %d2, %a0, %a3, %d2;", "addc.u32 %d3, 0, 0;", "mad.lo.cc.u32 %d2, %a1, %a3, %d2;",
            "madc.hi.u32 %d3, %a1, %a3, %d3;"]
    yield Kernel("chain_mul_u64_wide", wide, ["u32"] * 4, ["b32"] * 4)


def memory_kernels():
    for f in (loads, stores, own_atomics, contention, windows, moves):
        yield from f()
