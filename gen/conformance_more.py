#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Forms that the first recording left out, a suite of its own (SUITE=more): whole ranges of NaNs, the borders of flushing, further types of memory
instructions, fences, and instructions without a result of their own.

usage: conformance_more.py OUTPUT [--ptxas PTXAS]
"""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
from conformance import suite_main
from conformance_async import own
from conformance_kernel import Kernel, mangle
from conformance_memory import CASES, REGS, input_load, memory_kernel


# ---- arithmetic ------------------------------------------------------------------------------------------------------

def out_of_bounds():
    """fma.oob of every 16-bit pattern in each place; which NaN means `out of bounds` is not documented."""
    for t, one, half in (("f16", "0x3c00", "0x3800"), ("bf16", "0x3f80", "0x3f00")):
        body = [f"mov.b16 %one, {one};", f"mov.b16 %half, {half};"]
        for k, (relu, operands) in enumerate((("", "%a0, %one, %half"), ("", "%one, %a0, %half"), ("", "%one, %half, %a0"), (".relu", "%a0, %one, %half"),
                                              ("", "%a0, %a0, %half"))):
            body.append(f"fma.rn{relu}.oob.{t} %d{k}, {operands};")
        yield Kernel(f"fma_oob_each_{t}", body, [t], [t] * 5, [".reg .b16 %one, %half;"])


ROUNDINGS = ("rn", "rz", "rm", "rp")


def flushing():
    """Results that are just below the least normal number until they are rounded."""
    near_one = ["and.b32 %x, %a0, 31;", "add.u32 %x, %x, 0x3f7ffff0;"]
    least = ["and.b32 %y, %a1, 7;", "add.u32 %y, %y, 0x00800000;", "shl.b32 %s, %a1, 31;", "or.b32 %y, %y, %s;"]
    regs = [".reg .b32 %x, %y, %z, %s;", ".reg .b64 %wide;"]
    cases = (0, 512)

    def kernel(name, body, outputs=4, type_="f32"):
        return Kernel(mangle("ftz.border." + name), near_one + least + body, ["b32", "b32"], [type_] * outputs, regs, cases=cases)
    yield kernel("mul.f32", [f"mul.{r}.ftz.f32 %d{k}, %x, %y;" for k, r in enumerate(ROUNDINGS)])
    yield kernel("fma.f32", [f"fma.{r}.ftz.f32 %d{k}, %x, %y, 0f80000000;" for k, r in enumerate(ROUNDINGS)])
    yield kernel("fma.f32.sum", ["mul.rn.f32 %z, %y, 0fBF800000;"] + [f"fma.{r}.ftz.f32 %d{k}, %x, 0f01000000, %z;" for k, r in enumerate(ROUNDINGS)])
    yield kernel("div.f32", [f"div.{r}.ftz.f32 %d{k}, %y, %x;" for k, r in enumerate(ROUNDINGS)])
    yield kernel("rcp.f32", ["and.b32 %z, %a0, 31;", "add.u32 %z, %z, 0x7e7ffff0;", "or.b32 %z, %z, %s;"]
                 + [f"rcp.{r}.ftz.f32 %d{k}, %z;" for k, r in enumerate(ROUNDINGS)])
    yield kernel("cvt.f32.f64", ["cvt.f64.f32 %wide, %y;", "and.b32 %z, %a0, 0x3fffffff;", "cvt.u64.u32 %in, %z;", "sub.s64 %wide, %wide, %in;"]
                 + [f"cvt.{r}.ftz.f32.f64 %d{k}, %wide;" for k, r in enumerate(ROUNDINGS)])
    halves = ["and.b32 %x, %a0, 0x001f001f;", "add.u32 %x, %x, 0x3bf03bf0;", "and.b32 %y, %a1, 0x80078007;", "add.u32 %y, %y, 0x04000400;"]
    for op in ("mul.rn.ftz.f16x2 %d0, %x, %y;", "fma.rn.ftz.f16x2 %d0, %x, %y, 0x80008000;", "mul.rn.ftz.sat.f16x2 %d0, %x, %y;",
               "fma.rn.ftz.relu.f16x2 %d0, %x, %y, 0x80008000;"):
        name = "ftz.border." + op.split(" ")[0]
        body = halves + [op.replace("0x80008000", "%z")]
        yield Kernel(mangle(name), ["mov.b32 %z, 0x80008000;"] + body, ["b32", "b32"], ["f16x2"], regs, cases=cases)


def product(inst, d, c, factor):
    """A product with a sum of another type than what is added; `factor`: registers of each factor."""
    count = {"f16": 4, "f32": 8}
    inputs = ["m_f16x2"] * (2 * factor) + ["m_f16x2" if c == "f16" else "m_f32"] * count[c]
    names, at = ["{" + ", ".join(f"%d{k}" for k in range(count[d])) + "}"], 0
    for n in (factor, factor, count[c]):
        names.append("{" + ", ".join(f"%a{k}" for k in range(at, at + n)) + "}")
        at += n
    return Kernel(mangle(inst), [f"{inst} {', '.join(names)};"], inputs, ["f16x2" if d == "f16" else "f32"] * count[d], cases=(0, 1024))


def mixed_products():
    for layout in ("row.col", "col.row"):
        yield product(f"mma.sync.aligned.m8n8k4.{layout}.f32.f16.f16.f16", "f32", "f16", 2)
    for d, c in (("f16", "f32"), ("f32", "f16")):
        yield product(f"wmma.mma.sync.aligned.row.col.m16n16k16.{d}.{c}", d, c, 8)


# ---- memory ----------------------------------------------------------------------------------------------------------

def further_loads():
    for t in ("b8", "b16", "b32", "u8", "u64", "s32", "s64"):
        yield input_load(f"ldu.global.{t}", 1, t)
    wide = [".reg .b128 %w, %v;"]
    yield Kernel("ldu_global_b128", ["ldu.global.b128 %w, [%in];", "mov.b128 {%d0, %d1}, %w;"], ["b64", "b64"], ["b64", "b64"], wide, cases=CASES)
    for space in ("global", "shared", "local", ""):
        at = "." + space if space else ""
        body = ["mov.b128 %w, {%a0, %a1};", f"st{at}.b128 [%p], %w;", f"ld{at}.v2.b64 {{%d0, %d1}}, [%p];", f"ld{at}.b128 %v, [%p];",
                "mov.b128 {%d2, %d3}, %v;"]
        yield memory_kernel(f"ld.st{at}.b128" + ("" if space else ".generic"), space, body, ["b64", "b64"], ["b64"] * 4, wide)


def policies():
    makers = ["createpolicy.fractional.L2::evict_last.b64 %q, 1.0;", "createpolicy.fractional.L2::evict_normal.L2::evict_unchanged.b64 %q, 0.5;",
              "createpolicy.fractional.L2::evict_first.b64 %q;", "createpolicy.range.global.L2::evict_last.b64 %q, [%p], 64, 4096;",
              "createpolicy.range.L2::evict_first.L2::evict_unchanged.b64 %q, [%p], 128, 128;", "createpolicy.cvt.L2.b64 %q, 0x10F0000000000000;"]
    for k, maker in enumerate(makers):
        body = [maker, "st.global.L2::cache_hint.b64 [%p], %a0, %q;", "ld.global.L2::cache_hint.b64 %d0, [%p], %q;",
                "atom.global.add.L2::cache_hint.u64 %d1, [%p], %a1, %q;", "red.global.xor.L2::cache_hint.b64 [%p], %a1, %q;", "ld.global.b64 %d2, [%p];"]
        yield memory_kernel(f"createpolicy.{k}." + maker.split(" ")[0].partition(".")[2], "global", body, ["b64", "b64"], ["b64"] * 3)


def wide_atomics():
    wide = [".reg .b128 %w, %v, %c, %o;"]
    for space in ("global", "shared", ""):
        at, tail = ("." + space, "") if space else ("", ".generic")
        put = ["mov.b128 %w, {%a0, %a1};", "mov.b128 %v, {%a2, %a3};", f"st{at}.b128 [%p], %w;"]
        got = ["mov.b128 {%d0, %d1}, %o;", f"ld{at}.b128 %c, [%p];", "mov.b128 {%d2, %d3}, %c;"]
        for sem in ("", ".relaxed.cta", ".acquire.gpu", ".release.cluster", ".acq_rel.sys"):
            yield memory_kernel(f"atom{sem}{at}.exch.b128{tail}", space, put + [f"atom{sem}{at}.exch.b128 %o, [%p], %v;"] + got, ["b64"] * 4, ["b64"] * 4, wide)
            # The comparison holds for every other case.
            compare = ["and.b64 %q, %a4, 1;", "xor.b64 %q, %q, %a0;", "mov.b128 %c, {%q, %a1};", f"atom{sem}{at}.cas.b128 %o, [%p], %c, %v;"]
            yield memory_kernel(f"atom{sem}{at}.cas.b128{tail}", space, put + compare + got, ["b64"] * 5, ["b64"] * 4, wide)


FENCES = ["membar.proxy.alias", *(f"fence.{s}.{c}" for s in ("sc", "acq_rel", "acquire", "release") for c in ("cta", "cluster", "gpu", "sys")),
          *(f"fence.{c}" for c in ("cta", "cluster", "gpu", "sys")),
          "fence.acquire.sync_restrict::shared::cluster.cluster", "fence.release.sync_restrict::shared::cta.cluster", "fence.mbarrier_init.release.cluster",
          "fence.proxy.alias", "fence.proxy.async", "fence.proxy.async.global", "fence.proxy.async.shared::cta", "fence.proxy.async.shared::cluster",
          "fence.proxy.tensormap::generic.release.gpu", "fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster",
          "fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster", *(f"membar.{s}" for s in ("cta", "gl", "sys"))]


def fences():
    """A pair of threads of one warp hands a value on through memory, with a fence on either side."""
    for inst in FENCES:
        name = mangle(inst)
        body = [f"mov.u32 %s, s_{name};", "shl.b32 %x, %thread, 2;", "add.u32 %x, %s, %x;", "st.shared.b32 [%x], %a0;", inst + ";", "bar.warp.sync -1;",
                inst + ";", "xor.b32 %x, %x, 4;", "ld.shared.b32 %d0, [%x];"]
        yield Kernel(name, body, ["b32"], ["b32"], [".reg .b32 %s, %x;"], [f".shared .align 512 .b32 s_{name}[128];"], CASES)
    body = ["fence.proxy.tensormap::generic.acquire.gpu [%p], 128;", "ld.global.b64 %d0, [%in];"]
    yield memory_kernel("fence.proxy.tensormap.generic.acquire.gpu", "global", body, ["b64"], ["b64"])


def arrivals():
    start, globals_ = own("mbarrier_sink")
    body = ["mbarrier.init.shared.b64 [%s], 4;", "mbarrier.arrive.shared.b64 %p, [%s];", "mbarrier.arrive.release.cta.shared.b64 _, [%s], 2;",
            "mbarrier.test_wait.shared.b64 %d0, [%s], %p;", "mbarrier.arrive.expect_tx.release.cluster.shared::cluster.b64 _, [%s], 16;",
            "mbarrier.test_wait.shared.b64 %d1, [%s], %p;", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 16;",
            "mbarrier.test_wait.shared.b64 %d2, [%s], %p;"]
    yield Kernel("mbarrier_sink", start + body, ["b32"], ["pred"] * 3, [".reg .b32 %s, %x;", ".reg .b64 %p, %q;"], globals_, CASES)


# ---- without a result ------------------------------------------------------------------------------------------------

def silent():
    """Nothing that they do shows but that the rest goes on."""
    insts = ["prefetch.global.L1 [%in];", "prefetch.global.L2 [%in];", "prefetch.global.L2::evict_last [%in];", "prefetch.global.L2::evict_normal [%in];",
             "prefetch.L1 [%in];", "prefetch.local.L1 [%stack];", "prefetchu.L1 [%in];", "applypriority.global.L2::evict_normal [%line], 128;",
             "cp.async.bulk.prefetch.L2.global [%line], 64;", "pmevent 7;", "pmevent.mask 129;", "nanosleep.u32 %a0;", "griddepcontrol.launch_dependents;", "griddepcontrol.wait;", "bra.uni next; next:"]
    for inst in insts:
        body = ["mov.u64 %stack, room;", "and.b64 %line, %in, -128;", inst.replace("%a0", "%few"), "ld.global.b64 %d0, [%in];", "add.u64 %d0, %d0, 1;"]
        yield Kernel(mangle("silent." + inst.replace("%a0", "")), ["mov.u32 %few, 20;"] + body, ["b64"], ["b64"],
                     [".reg .b64 %stack, %line;", ".reg .b32 %few;", ".local .align 8 .b64 room;"], cases=CASES)
    # What is discarded may be anything until it is written again.
    body = ["mov.u64 %p, g_discard;", "mul.wide.u32 %q, %case, 128;", "add.u64 %p, %p, %q;", "st.global.b64 [%p], %a0;", "discard.global.L2 [%p], 128;",
            "st.global.b64 [%p], %a1;", "ld.global.b64 %d0, [%p];"]
    yield Kernel("discard_written_again", body, ["b64", "b64"], ["b64"], REGS, [".global .align 128 .b8 g_discard[65536];"], CASES)


def control():
    function = [".func (.reg .b32 %r) twice_and(.reg .b32 %x, .reg .b32 %y) { mad.lo.u32 %r, %x, 2, %y; ret; }"]
    yield Kernel("call_ret", ["call (%d0), twice_and, (%a0, %a1);", "call.uni (%d1), twice_and, (%d0, 5);"], ["u32", "u32"], ["b32", "b32"], [], function, CASES)
    body = ["st.global.b64 [%out], %a0;", "and.b64 %q, %a0, 1;", "setp.ne.u64 %odd, %q, 0;", "@%odd exit;", "mov.b64 %d0, 77;"]
    yield Kernel("exit_of_some", body, ["b64"], ["b64"], REGS + [".reg .pred %odd;"], [], CASES)
    for inst in ("trap", "brkpt"):  # last: the context is lost
        yield Kernel(inst, [inst + ";", "mov.b32 %d0, 1;"], ["b32"], ["b32"], cases=CASES)


def more_kernels():
    for f in (out_of_bounds, flushing, mixed_products, further_loads, policies, wide_atomics, fences, arrivals, silent, control):
        yield from f()


if __name__ == "__main__":
    sys.exit(suite_main(__doc__, more_kernels, "x"))
