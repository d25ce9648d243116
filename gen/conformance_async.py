# SPDX-License-Identifier: MIT
"""Kernels for asynchronous copies, mbarriers, clusters and stack allocation; each thread works on shared memory of its own."""
from conformance_kernel import Kernel, mangle

CASES = (0, 512)
REGS = [".reg .b32 %s, %x;", ".reg .b64 %p, %q;", ".reg .pred %z;"]


def own(name):
    """%s: this thread's 16 bytes of shared memory, which hold a pattern."""
    return ([f"mov.u32 %s, s_{name};", "mad.lo.u32 %s, %thread, 16, %s;", "mov.b64 %q, 0x1122334455667788;", "st.shared.v2.b64 [%s], {%q, %q};"],
            [f".shared .align 16 .b8 s_{name}[2048];"])


def kernel(name, body, inputs, outputs):
    name = mangle(name)
    start, globals_ = own(name)
    return Kernel(name, start + body, inputs, outputs, REGS, globals_, CASES)


def copies():
    ends = {"group": ["cp.async.commit_group;", "cp.async.wait_group 0;"], "all": ["cp.async.wait_all;"]}
    take = ["ld.shared.v2.b64 {%d0, %d1}, [%s];"]
    forms = [("ca", 4), ("ca", 8), ("ca", 16), ("cg", 16), ("ca.shared::cta", 16), ("cg.L2::128B", 16)]
    for cache, size in forms:
        head = cache.split(".")[0]
        space = "shared::cta.global" if "cta" in cache else "shared.global"
        hint = ".L2::128B" if "L2" in cache else ""
        inst = f"cp.async.{head}.{space}{hint}"
        for end, code in ends.items():
            yield kernel(f"{inst}.{size}.{end}", [f"{inst} [%s], [%in], {size};"] + code + take, ["b64"] * 4, ["b64"] * 2)
        # A source shorter than the copy: the rest is zero. The length is the third input, 0 to `size`.
        length = [f"rem.u32 %x, %a2, {size + 1};", f"{inst} [%s], [%in], {size}, %x;"]
        yield kernel(f"{inst}.{size}.length", length + ends["all"] + take, ["b64", "b64", "u32", "b64"], ["b64"] * 2)
        yield kernel(f"{inst}.{size}.ignore", [f"{inst} [%s], [%in], {size}, %a2;"] + ends["all"] + take, ["b64", "b64", "pred", "b64"], ["b64"] * 2)


def mbarriers():
    body = ["mbarrier.init.shared.b64 [%s], 3;", "mbarrier.arrive.shared.b64 %p, [%s];", "mbarrier.pending_count.b64 %d0, %p;",
            "mbarrier.test_wait.shared.b64 %d1, [%s], %p;", "mbarrier.arrive.shared.b64 %q, [%s];", "mbarrier.pending_count.b64 %d2, %q;",
            "mbarrier.test_wait.parity.shared.b64 %d3, [%s], 0;", "mbarrier.arrive_drop.shared.b64 %q, [%s];", "mbarrier.pending_count.b64 %d4, %q;",
            "mbarrier.test_wait.shared.b64 %d5, [%s], %p;", "mbarrier.test_wait.parity.shared.b64 %d6, [%s], 0;",
            "mbarrier.test_wait.parity.shared.b64 %d7, [%s], 1;",
            # the second phase expects one arrival less
            "mbarrier.arrive.release.cta.shared.b64 %p, [%s], 2;", "mbarrier.pending_count.b64 %d8, %p;",
            "mbarrier.test_wait.parity.shared.b64 %d9, [%s], 1;", "mbarrier.try_wait.shared.b64 %d10, [%s], %p;", "mbarrier.inval.shared.b64 [%s];"]
    outputs = ["b32" if k in (0, 2, 4, 8) else "pred" for k in range(11)]
    yield kernel("mbarrier.phases", body, ["b32"], outputs)
    body = ["mbarrier.init.shared.b64 [%s], 5;", "mbarrier.arrive.noComplete.shared.b64 %p, [%s], 2;", "mbarrier.pending_count.b64 %d0, %p;",
            "mbarrier.arrive_drop.noComplete.shared.b64 %q, [%s], 2;", "mbarrier.pending_count.b64 %d1, %q;",
            "mbarrier.test_wait.shared.b64 %d2, [%s], %p;", "mbarrier.arrive.shared.b64 _, [%s];", "mbarrier.test_wait.shared.b64 %d3, [%s], %p;"]
    yield kernel("mbarrier.nocomplete", body, ["b32"], ["b32", "b32", "pred", "pred"])
    body = ["mbarrier.init.shared.b64 [%s], 1;", "mbarrier.arrive.expect_tx.shared.b64 %p, [%s], 48;", "mbarrier.test_wait.shared.b64 %d0, [%s], %p;",
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 16;", "mbarrier.test_wait.shared.b64 %d1, [%s], %p;",
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 32;", "mbarrier.try_wait.shared.b64 %d2, [%s], %p;",
            "mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s], 8;", "mbarrier.arrive.shared.b64 %p, [%s];",
            "mbarrier.test_wait.shared.b64 %d3, [%s], %p;", "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s], 8;",
            "mbarrier.test_wait.acquire.cta.shared.b64 %d4, [%s], %p;"]
    yield kernel("mbarrier.transactions", body, ["b32"], ["pred"] * 5)
    body = ["add.u32 %x, %s, 8;", "mbarrier.init.shared.b64 [%x], 1;", "cp.async.ca.shared.global [%s], [%in], 8;",
            "cp.async.mbarrier.arrive.noinc.shared.b64 [%x];", "wait:", "mbarrier.test_wait.parity.shared.b64 %z, [%x], 0;", "@!%z bra wait;",
            "ld.shared.b64 %d0, [%s];"]
    yield kernel("cp.async.mbarrier.arrive.noinc", body, ["b64", "b64"], ["b64"])


def clusters():
    body = ["mapa.shared::cluster.u32 %d0, %s, 0;", "sub.u32 %d0, %d0, %s;", "getctarank.shared::cluster.u32 %d1, %s;",
            "cvt.u64.u32 %p, %s;", "cvta.shared.u64 %p, %p;", "mapa.u64 %q, %p, 0;", "sub.u64 %d2, %q, %p;", "getctarank.u64 %d3, %p;",
            "st.shared.b32 [%s], %a0;", "mapa.shared::cluster.u32 %x, %s, 0;", "ld.shared::cluster.b32 %d4, [%x];",
            "barrier.cluster.arrive;", "barrier.cluster.wait;"]
    yield kernel("cluster.of.one", body, ["b32"], ["b32", "b32", "b64", "b32", "b32"])


def stack():
    body = ["stacksave.u64 %p;", "alloca.u64 %q, 32, 16;", "st.local.b32 [%q + 4], %a0;", "ld.local.b32 %d0, [%q + 4];", "stackrestore.u64 %p;",
            "and.b64 %q, %q, 15;", "cvt.u32.u64 %d1, %q;"]
    yield kernel("alloca.u64", body, ["b32"], ["b32", "b32"])


def async_kernels():
    for f in (copies, mbarriers, clusters, stack):
        yield from f()
