# SPDX-License-Identifier: MIT
"""Kernels for instructions in which the threads of a warp or block work together. Each case is one thread; the runner keeps the order
of cases, so a warp is 32 cases in a row. Divergent kernels split a warp at lane 16, and no lane reads one of the other half."""
from conformance_kernel import Kernel, mangle

WARP = ["mov.u32 %lane, %laneid;", "setp.lt.u32 %low, %lane, 16;"]
REGS = [".reg .b32 %lane, %mask, %x, %y;", ".reg .pred %low, %q;"]
CASES = (0, 2048)


def kernel(name, body, inputs, outputs, regs=()):
    return Kernel(mangle(name), WARP + body, inputs, outputs, REGS + list(regs), cases=CASES)


def halves(body):
    """`body` with MASK by both halves of the warp in turn, on either side of a branch."""
    out = ["@!%low bra high;"]
    for label, mask in (("low", "0x0000ffff"), ("high", "0xffff0000")):
        out += ([f"{label}:"] if label == "high" else []) + [b.replace("MASK", mask) for b in body]
        out += ["bra.uni join;"] if label == "low" else []
    return out + ["join:", "bar.warp.sync 0xffffffff;"]


def both(name, body, inputs, outputs, regs=()):
    """The same converged and divergent."""
    yield kernel(name, [b.replace("MASK", "0xffffffff") for b in body], inputs, outputs, regs)
    yield kernel(name + "_divergent", halves(body), inputs, outputs, regs)


def shuffles():
    for mode in ("up", "down", "bfly", "idx"):
        inst = f"shfl.sync.{mode}.b32"
        # Lane and clamp/segment mask of each thread its own: all 32 bits of both are random.
        yield kernel(inst + ".any", [f"{inst} %d0|%d1, %a0, %a1, %a2, -1;"], ["b32", "u32", "u32"], ["b32", "pred"])
        for width in (32, 16, 8, 4, 2, 1):
            c = (32 - width) << 8 | (0 if mode == "up" else 31)
            yield kernel(f"{inst}.width{width}", [f"{inst} %d0|%d1, %a0, %a1, {c:#x}, -1;"], ["b32", "lane"], ["b32", "pred"])
        for clamp in (0, 5, 15, 31):
            yield kernel(f"{inst}.clamp{clamp}", [f"{inst} %d0|%d1, %a0, %a1, {clamp:#x}, -1;"], ["b32", "lane"], ["b32", "pred"])
        body = ["and.b32 %y, %a2, 0xfff;", "or.b32 %y, %y, 0x1000;", f"{inst} %d0|%d1, %a0, %a1, %y, MASK;"]
        yield kernel(inst + ".divergent", halves(body), ["b32", "lane", "u32"], ["b32", "pred"])


def votes():
    for mode in ("all", "any", "uni"):
        body = [f"vote.sync.{mode}.pred %d0, %a0, MASK;", f"vote.sync.{mode}.pred %d1, !%a0, MASK;",
                f"vote.sync.{mode}.pred %d2, %a1, MASK;"]
        yield from both(f"vote.sync.{mode}.pred", body, ["pred", "vote"], ["pred"] * 3)
    body = ["vote.sync.ballot.b32 %d0, %a0, MASK;", "vote.sync.ballot.b32 %d1, !%a0, MASK;", "vote.sync.ballot.b32 %d2, %a1, MASK;"]
    yield from both("vote.sync.ballot.b32", body, ["pred", "vote"], ["b32"] * 3)
    for t in ("b32", "b64"):
        yield from both(f"match.any.sync.{t}", [f"match.any.sync.{t} %d0, %a0, MASK;", f"match.any.sync.{t} %d1, %a1, MASK;"],
                        ["few" + t[1:], "same" + t[1:]], ["b32", "b32"])
        yield from both(f"match.all.sync.{t}", [f"match.all.sync.{t} %d0|%d1, %a0, MASK;", f"match.all.sync.{t} %d2|%d3, %a1, MASK;"],
                        ["few" + t[1:], "same" + t[1:]], ["b32", "pred", "b32", "pred"])


def reductions():
    for ops, types in ((("add", "min", "max"), ("u32", "s32")), (("and", "or", "xor"), ("b32",))):
        for op in ops:
            for t in types:
                yield from both(f"redux.sync.{op}.{t}", [f"redux.sync.{op}.{t} %d0, %a0, MASK;"], [t], ["b32"])


def participants():
    yield kernel("activemask", ["activemask.b32 %d0;"], ["b32"], ["b32"])
    yield kernel("activemask.divergent", ["mov.b32 %d0, 0;", "@!%low bra skip;", "activemask.b32 %d0;", "skip:"], ["b32"], ["b32"])
    yield from both("elect.sync", ["elect.sync %d0|%d1, MASK;"], ["b32"], ["b32", "pred"])


def block_wide():
    """bar.red and barrier.red by all threads and by halves of a block on barriers of their own; arrive and sync in pairs."""
    for family, tail in (("bar", ""), ("barrier", ".aligned"), ("barrier", "")):
        cta = ".cta" if family == "barrier" else ""
        for op, t in (("popc", "u32"), ("and", "pred"), ("or", "pred")):
            inst = f"{family}{cta}.red.{op}{tail}.{t}"
            body = [f"{inst} %d0, 0, %a0;", f"{inst} %d1, 0, !%a0;", f"{inst} %d2, 0, %a1;", "shr.u32 %x, %thread, 6;",
                    "add.u32 %x, %x, 1;", f"{inst} %d3, %x, 64, %a0;"]
            yield kernel(inst, body, ["pred", "vote"], ["b32" if t == "u32" else "pred"] * 4)
    for family, tail in (("bar", ""), ("barrier", ".aligned"), ("barrier", "")):
        cta = ".cta" if family == "barrier" else ""
        name = f"{family}{cta}.arrive{tail}"
        shared = f".shared .align 8 .b32 s_{mangle(name)}[128];"
        body = [f"mov.u32 %y, s_{mangle(name)};", "shl.b32 %x, %thread, 2;", "add.u32 %y, %y, %x;", "mov.b32 %d0, %a0;",
                "setp.lt.u32 %q, %thread, 64;", "@%q bra first;", f"{family}{cta}.sync{tail} 3, 128;", "ld.shared.b32 %d0, [%y + -256];",
                "bra.uni done;", "first:", "st.shared.b32 [%y], %a0;", "membar.cta;", f"{family}{cta}.arrive{tail} 3, 128;", "done:"]
        k = kernel(name, body, ["b32"], ["b32"])
        k.globals = [shared]
        yield k
    name = "bar_warp_sync"
    body = [f"mov.u32 %y, s_{name};", "shl.b32 %x, %thread, 2;", "add.u32 %x, %y, %x;", "st.shared.b32 [%x], %a0;", "bar.warp.sync -1;",
            "xor.b32 %x, %x, 124;", "ld.shared.b32 %d0, [%x];"]
    k = kernel(name, body, ["b32"], ["b32"])
    k.globals = [f".shared .align 512 .b32 s_{name}[128];"]
    yield k


SREGS = ["tid.x", "tid.y", "tid.z", "ntid.x", "ntid.y", "ntid.z", "ctaid.x", "ctaid.y", "ctaid.z", "nctaid.x", "nctaid.y", "nctaid.z", "laneid",
         "lanemask_eq", "lanemask_le", "lanemask_lt", "lanemask_ge", "lanemask_gt", "clusterid.x", "nclusterid.x", "cluster_ctaid.x",
         "cluster_nctaid.x", "cluster_ctarank", "cluster_nctarank", "dynamic_smem_size"]


def special_registers():
    for name in SREGS:
        yield kernel("sreg." + name, [f"mov.u32 %d0, %{name};"], ["b32"], ["b32"])
    yield kernel("sreg.is_explicit_cluster", ["mov.pred %d0, %is_explicit_cluster;"], ["b32"], ["pred"])


def indirect_branches():
    body = ["mov.b32 %d0, 99;", "and.b32 %x, %a0, 7;", "brx.idx %x, table;"]
    for k in range(8):
        body += [f"L{k}:", f"add.u32 %d0, %a0, {k * 1000 + 1};", "bra.uni end;" if k < 7 else ""]
    k = kernel("brx.idx", body + ["end:"], ["u32"], ["b32"])
    k.body.insert(0, "table: .branchtargets L0, L1, L2, L3, L4, L5, L6, L7;")
    yield k


def warp_kernels():
    for f in (shuffles, votes, reductions, participants, block_wide, special_registers, indirect_branches):
        yield from f()
