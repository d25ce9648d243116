#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asynchronous copies and clusters, a suite of its own: bulk copies and reductions in all directions, stores, reductions and arrivals in
the other block of a cluster of two, its addresses, and mbarriers driven by counts from the inputs.

usage: conformance_bulk.py OUTPUT [--ptxas PTXAS]
Writes modules and `manifest`, which test/ptx/runner.c reads.
"""
import argparse
import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from conformance import HEADER, MARK, PER_MODULE, refused_by
from conformance_kernel import BLOCK, Kernel, mangle, width

SLOT = 64  # bytes of shared memory of a thread: 0 what it sends, 16 what it receives, 48 an mbarrier, 56 another one
CASES = (0, 512)
EDGES = (1024, 512)
REGS = [".reg .b32 %s, %t1, %t2, %rank, %other, %peer;", ".reg .b64 %p, %q, %g, %pol;", ".reg .pred %z;"]


class ClusterKernel(Kernel):
    """Of clusters of two blocks; cases k and k + 128 are partners."""

    def text(self):
        return super().text().replace(")\n{", ")\n.explicitcluster\n.reqnctapercluster 2, 1, 1\n{", 1)


def kernel(name, body, inputs, outputs, cluster=False, cases=CASES):
    name = mangle(name)
    start = [f"mov.u32 %s, s_{name};", f"mad.lo.u32 %s, %thread, {SLOT}, %s;"]
    if cluster:
        start += ["mov.u32 %rank, %cluster_ctarank;", "xor.b32 %other, %rank, 1;", "mapa.shared::cluster.u32 %peer, %s, %other;"]
        body = body + SYNC
    kind = ClusterKernel if cluster else Kernel
    return kind(name, start + body, inputs, outputs, REGS, [f".shared .align 128 .b8 s_{name}[{SLOT * BLOCK}];"], cases)


SYNC = ["barrier.cluster.arrive;", "barrier.cluster.wait;"]
PROXY = ["fence.proxy.async;"]
TAKE = ["ld.shared.v2.b64 {%d0, %d1}, [%s + 16];"]


def expect(bytes_):
    """An mbarrier that waits for so many bytes."""
    return ["mbarrier.init.shared.b64 [%s + 48], 1;", "fence.mbarrier_init.release.cluster;", f"mbarrier.arrive.expect_tx.shared.b64 _, [%s + 48], {bytes_};"]


def wait(label="again"):
    return [f"{label}:", "mbarrier.try_wait.parity.shared.b64 %z, [%s + 48], 0;", f"@!%z bra {label};"]


def put(regs, address, space="shared"):
    """Stores 16 bytes: 2 registers of 64 bits or 4 of 32."""
    return [f"st.{space}.v{len(regs)}.b{128 // len(regs)} [{address}], {{{', '.join(regs)}}};"]


def copies():
    inst = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes"
    for form, hint in ((inst, ""), (inst + ".L2::cache_hint", ", %pol"), (inst.replace("cluster", "cta"), "")):
        policy = ["createpolicy.fractional.L2::evict_first.b64 %pol, 1.0;"] if hint else []
        yield kernel(form, policy + expect(16) + PROXY + [f"{form} [%s + 16], [%in], 16, [%s + 48]{hint};"] + wait() + TAKE, ["b64"] * 2, ["b64"] * 2)
    yield kernel(inst + ".32", expect(32) + PROXY + [f"{inst} [%s], [%in], 32, [%s + 48];"] + wait() +
                 ["ld.shared.v2.b64 {%d0, %d1}, [%s];", "ld.shared.v2.b64 {%d2, %d3}, [%s + 16];"], ["b64"] * 4, ["b64"] * 4)
    out = "cp.async.bulk.global.shared::cta.bulk_group"
    for end in ("wait_group 0", "wait_group.read 0"):
        body = put(["%a0", "%a1"], "%s") + PROXY + [f"{out} [%out], [%s], 16;", "cp.async.bulk.commit_group;", f"cp.async.bulk.{end};"]
        if "read" in end:  # the source may change, the target is complete later
            body += ["st.shared.b64 [%s], 0;", "cp.async.bulk.wait_group 0;"]
        yield kernel(f"{out}.{end}", body + ["ld.global.v2.b64 {%d0, %d1}, [%out];"], ["b64"] * 2, ["b64"] * 2)
    inst = "cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes"
    body = put(["%a0", "%a1"], "%s") + expect(16) + PROXY + SYNC + [f"{inst} [%t1], [%s], 16, [%t2];"] + wait() + TAKE
    yield kernel(inst, ["add.u32 %t1, %peer, 16;", "add.u32 %t2, %peer, 48;"] + body, ["b64"] * 2, ["b64"] * 2, True)
    inst = "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
    body = ["mad.lo.u32 %t1, %rank, 16, %s;", "add.u32 %t2, %s, 48;"] + expect(32) + PROXY + SYNC + [f"{inst} [%t1], [%in], 16, [%t2], 3;"] + wait()
    body += ["ld.shared.v2.b64 {%d0, %d1}, [%s];", "ld.shared.v2.b64 {%d2, %d3}, [%s + 16];"]
    yield kernel(inst, body, ["b64"] * 2, ["b64"] * 4, True)


GLOBAL_REDUCTIONS = [*((op, "u32") for op in ("add", "min", "max", "inc", "dec")), ("add", "s32"), ("min", "s32"), ("max", "s32"), ("add", "u64"),
                     ("min", "u64"), ("max", "u64"), ("min", "s64"), ("max", "s64"), *((op, t) for op in ("and", "or", "xor") for t in ("b32", "b64")),
                     *((op, t) for op in ("add.noftz", "min", "max") for t in ("f16", "bf16")), ("add", "f32"), ("add", "f64")]
CLUSTER_REDUCTIONS = [("add", "u32"), ("add", "s32"), ("add", "u64"), ("min", "u32"), ("max", "u32"), ("min", "s32"), ("max", "s32"), ("inc", "u32"),
                      ("dec", "u32"), ("and", "b32"), ("or", "b32"), ("xor", "b32")]


def operands(type_):
    """Input types and registers for 16 bytes that are sent and 16 bytes that are there."""
    input_ = type_ + "x2" if width(type_) == 16 else type_
    n = 128 // width(input_)
    return [input_] * (2 * n), [f"%a{k}" for k in range(n)], [f"%a{k}" for k in range(n, 2 * n)]


def reductions():
    for op, type_ in GLOBAL_REDUCTIONS:
        inputs, sent, there = operands(type_)
        inst = f"cp.reduce.async.bulk.global.shared::cta.bulk_group.{op}.{type_}"
        body = put(sent, "%s") + put(there, "%out", "global") + PROXY + [f"{inst} [%out], [%s], 16;", "cp.async.bulk.commit_group;",
                                                                        "cp.async.bulk.wait_group 0;", "ld.global.v2.b64 {%d0, %d1}, [%out];"]
        yield kernel(inst, body, inputs, ["b64"] * 2, cases=EDGES)
    for op, type_ in CLUSTER_REDUCTIONS:
        inputs, sent, there = operands(type_)
        inst = f"cp.reduce.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes.{op}.{type_}"
        body = ["add.u32 %t1, %peer, 16;", "add.u32 %t2, %peer, 48;"] + put(sent, "%s") + put(there, "%s + 16") + expect(16) + PROXY + SYNC
        yield kernel(inst, body + [f"{inst} [%t1], [%s], 16, [%t2];"] + wait() + TAKE, inputs, ["b64"] * 2, True, EDGES)


def remote_accesses():
    """st.async and red.async, plain and atomic accesses in the other block."""
    at = ["add.u32 %t1, %peer, 16;", "add.u32 %t2, %peer, 48;", "st.shared.v2.b64 [%s + 16], {0, 0};"]
    for vec, type_, regs in (("", "b32", ["%a0"]), ("", "u64", ["%a0"]), (".v2", "f32", ["%a0", "%a1"]), (".v4", "s32", ["%a0", "%a1", "%a2", "%a3"]),
                             (".v2", "b64", ["%a0", "%a1"]), ("", "u32", ["%a0"]), ("", "s64", ["%a0"]), (".v2", "f64", ["%a0", "%a1"])):
        inst = f"st.async.weak.shared::cluster.mbarrier::complete_tx::bytes{vec}.{type_}"
        value = regs[0] if not vec else "{" + ", ".join(regs) + "}"
        yield kernel(inst, at + expect(len(regs) * width(type_) // 8) + SYNC + [f"{inst} [%t1], {value}, [%t2];"] + wait() + TAKE, [type_] * len(regs), ["b64"] * 2, True)
    for op, type_ in [*((op, "u32") for op in ("inc", "dec", "min", "max", "add")), ("min", "s32"), ("max", "s32"), ("add", "s32"),
                      ("and", "b32"), ("or", "b32"), ("xor", "b32"), ("add", "u64"), ("add", "s64")]:
        bits = width(type_)
        inst = f"red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.{op}.{type_}"
        body = at + [f"st.shared.b{bits} [%s + 16], %a1;"] + expect(bits // 8) + SYNC + [f"{inst} [%t1], %a0, [%t2];"] + wait()
        yield kernel(inst, body + [f"ld.shared.b{bits} %d0, [%s + 16];"], [type_] * 2, [type_], True, EDGES)
    for op, type_ in [("add", "u32"), ("exch", "b64"), ("max", "s32"), ("xor", "b32"), ("add", "u64")]:
        bits = width(type_)
        body = at + [f"st.shared.b{bits} [%s + 16], %a1;"] + SYNC + [f"atom.shared::cluster.{op}.{type_} %d0, [%t1], %a0;"] + SYNC
        yield kernel(f"atom.shared::cluster.{op}.{type_}", body + [f"ld.shared.b{bits} %d1, [%s + 16];"], [type_] * 2, [type_] * 2, True)
    for type_ in ("b8", "b16", "b32", "b64", "f32", "f64"):
        bits = type_[1:]
        body = at + SYNC + [f"st.shared::cluster.{type_} [%t1], %a0;"] + SYNC + [f"ld.shared::cluster.{type_} %d0, [%t1];", f"ld.shared.b{bits} %d1, [%s + 16];"]
        yield kernel(f"ld.st.shared::cluster.{type_}", body, [type_], [type_] * 2, True)
    body = at + SYNC + ["st.shared::cluster.v4.b32 [%t1], {%a0, %a1, %a2, %a3};"] + SYNC + TAKE
    yield kernel("st.shared::cluster.v4.b32", body, ["b32"] * 4, ["b64"] * 2, True)
    # The same by generic addresses.
    body = ["cvt.u64.u32 %p, %s;", "cvta.shared.u64 %p, %p;", "mapa.u64 %q, %p, %other;"] + at + SYNC + ["st.b64 [%q + 16], %a0;"] + SYNC
    body += ["ld.b64 %d0, [%q + 16];", "ld.shared.b64 %d1, [%s + 16];", "getctarank.u64 %t1, %q;", "xor.b32 %d2, %t1, %other;",
             "isspacep.shared::cta %d3, %q;", "isspacep.shared::cluster %d4, %q;", "isspacep.global %d5, %q;", "isspacep.shared::cluster %d6, %p;",
             "cvta.to.shared::cluster.u64 %g, %q;", "cvt.u64.u32 %p, %peer;", "setp.eq.u64 %d7, %g, %p;"]
    yield kernel("generic.cluster.addresses", body, ["b64"], ["b64", "b64", "b32", "pred", "pred", "pred", "pred", "pred"], True)


def places():
    body = ["getctarank.shared::cluster.u32 %t1, %peer;", "xor.b32 %d0, %t1, %other;", "getctarank.shared::cluster.u32 %t1, %s;", "xor.b32 %d1, %t1, %rank;",
            "mov.u32 %d2, %cluster_ctarank;", "mov.u32 %d3, %cluster_nctarank;", "mov.u32 %d4, %cluster_ctaid.x;", "mov.u32 %d5, %cluster_nctaid.x;",
            "mov.u32 %d6, %clusterid.x;", "mov.u32 %d7, %cluster_nctaid.y;", "mov.pred %d8, %is_explicit_cluster;", "st.shared.b32 [%s], %a0;"]
    body += ["barrier.cluster.arrive.release;", "barrier.cluster.wait.acquire;", "ld.shared::cluster.b32 %d9, [%peer];", "barrier.cluster.arrive.relaxed.aligned;",
             "barrier.cluster.wait.aligned;"]
    yield kernel("cluster.places", body, ["b32"], ["b32"] * 8 + ["pred", "b32"], True)
    yield kernel("no.cluster", ["mov.u32 %d0, %cluster_ctarank;", "mov.u32 %d1, %cluster_nctarank;", "mov.u32 %d2, %cluster_nctaid.x;",
                                "mov.pred %d3, %is_explicit_cluster;", "mov.u32 %d4, %clusterid.x;"], ["b32"], ["b32"] * 3 + ["pred", "b32"])


def mbarriers():
    """Counts from the inputs: x in 1 .. 1000 arrivals, of which some come at once."""
    count = ["rem.u32 %t1, %a0, 1000;", "add.u32 %t1, %t1, 3;", "rem.u32 %t2, %a1, %t1;", "max.u32 %t2, %t2, 1;", "mbarrier.init.shared.b64 [%s + 48], %t1;"]
    test = ["mbarrier.test_wait.shared.b64 %d{}, [%s + 48], %p;", "mbarrier.test_wait.parity.shared.b64 %d{}, [%s + 48], 0;"]

    def tests(k):
        return [test[0].format(k), test[1].format(k + 1)]
    for sem in ("", ".release.cta", ".relaxed.cluster", ".release.cluster"):
        for kind in ("arrive", "arrive_drop"):
            form = f"mbarrier.{kind}{sem}.shared::cta.b64" if sem else f"mbarrier.{kind}.shared.b64"
            body = count + [f"{form} %p, [%s + 48], %t2;", "mbarrier.pending_count.b64 %d0, %p;"] + tests(1)
            body += ["sub.u32 %t1, %t1, %t2;", "sub.u32 %t1, %t1, 1;", "max.u32 %t1, %t1, 1;", f"{form} %q, [%s + 48], %t1;", "mbarrier.pending_count.b64 %d3, %q;"]
            body += tests(4) + [f"{form} %q, [%s + 48];", "mbarrier.pending_count.b64 %d6, %q;"] + tests(7)
            yield kernel(form + ".counts", body, ["u32", "u32"], ["b32", "pred", "pred"] * 3)
    body = ["mbarrier.init.shared.b64 [%s + 48], 2;", "and.b32 %t1, %a0, 0xffff0;", "max.u32 %t1, %t1, 16;",
            "mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s + 48], %t1;", "mbarrier.arrive.shared.b64 %p, [%s + 48];"] + tests(0)
    body += ["mbarrier.arrive_drop.expect_tx.release.cta.shared::cta.b64 %q, [%s + 48], %t1;", "mbarrier.pending_count.b64 %d2, %q;"] + tests(3)
    body += ["mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%s + 48], %t1;", "mbarrier.arrive.shared.b64 %p, [%s + 48];", "mbarrier.pending_count.b64 %d5, %p;"]
    body += tests(6) + ["mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [%s + 48], %t1;"] + tests(8)
    yield kernel("mbarrier.bytes.first", body, ["u32"], ["pred", "pred", "b32", "pred", "pred", "b32"] + ["pred"] * 4)
    body = ["mbarrier.init.shared.b64 [%s + 48], 5;", "add.u32 %t1, %peer, 48;"] + SYNC + ["mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%t1], 3;",
            "mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.b64 _, [%t1], 32;"] + SYNC
    body += ["mbarrier.test_wait.parity.acquire.cluster.shared::cta.b64 %d0, [%s + 48], 0;", "mbarrier.arrive.shared.b64 %p, [%s + 48];",
             "mbarrier.pending_count.b64 %d1, %p;", "mbarrier.test_wait.parity.shared.b64 %d2, [%s + 48], 0;"] + SYNC
    body += ["mbarrier.complete_tx.relaxed.cluster.shared::cluster.b64 [%t1], 32;"] + SYNC
    body += ["mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 %d3, [%s + 48], 0, 1000;", "mbarrier.try_wait.shared.b64 %d4, [%s + 48], %p;"]
    yield kernel("mbarrier.remote", body, ["b32"], ["pred", "b32", "pred", "pred", "pred"], True)


def bulk_kernels():
    for f in (copies, reductions, remote_accesses, places, mbarriers):
        yield from f()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--ptxas")
    args = parser.parse_args()
    args.output.mkdir(parents=True, exist_ok=True)
    kernels = [*bulk_kernels()]
    assert len({k.name for k in kernels}) == len(kernels), "two kernels of one name"
    bad = {}
    with open(args.output / "manifest", "w", encoding="ascii") as manifest:
        for first in range(0, len(kernels), PER_MODULE):
            part = kernels[first:first + PER_MODULE]
            path = args.output / f"b{first // PER_MODULE:03}.ptx"
            path.write_text(HEADER + "".join(f"{MARK}{k.name}\n{k.text()}" for k in part), encoding="ascii")
            manifest.writelines(k.manifest(path.name) + "\n" for k in part)
            if args.ptxas:
                bad.update(refused_by(args.ptxas, path))
    print(f"{len(kernels)} kernels in {-(-len(kernels) // PER_MODULE)} modules")
    for name, why in bad.items():
        print(f"refused by ptxas: {name}: {why}")
    return bool(bad)


if __name__ == "__main__":
    sys.exit(main())
