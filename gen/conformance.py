#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the conformance suite of PTX instructions: modules of kernels and `manifest`, which test/ptx/runner.c reads.

usage: conformance.py OUTPUT [--ops OPS.TAB] [--ptxas PTXAS]
       conformance.py --coverage [--ops OPS.TAB]
--ptxas assembles every module for sm_90 and prints the kernels that are refused; the exit status says if there are any.
--coverage prints which rows of OPS.TAB the kernels of all suites execute; the exit status says if too few.
"""
import argparse
import collections
import pathlib
import re
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import ptx_ops
from conformance_async import async_kernels
from conformance_forms import register_kernels
from conformance_matrix import matrix_kernels
from conformance_memory import memory_kernels
from conformance_warp import warp_kernels

HEADER = ".version 9.0\n.target sm_90\n.address_size 64\n"
PER_MODULE = 100
MARK = "// kernel "  # a line before each kernel: the runner splits a refused module there


def write_module(path, kernels, header=HEADER):
    with open(path, "w", encoding="ascii") as f:
        f.write(header)
        for k in kernels:
            f.write(f"{MARK}{k.name}\n{k.text()}")


def refused_by(ptxas, path, arch="sm_90"):
    """Kernels of a module that ptxas refuses: name -> first message."""
    p = subprocess.run([ptxas, f"-arch={arch}", "-O1", "-o", "/dev/null", path], capture_output=True, text=True)
    lines = path.read_text().split("\n")
    owner, name = [], ""
    for text in lines:
        name = text[len(MARK):] if text.startswith(MARK) else name
        owner.append(name)
    bad = {}
    for m in re.finditer(r"line (\d+); (?:error|fatal)\s*: (.*)", p.stderr):
        bad.setdefault(owner[int(m[1]) - 1], m[2] + "   | " + lines[int(m[1]) - 1])
    if p.returncode and not bad:
        bad["?"] = p.stderr[:300]
    return bad


def all_kernels(table):
    """Those of all suites."""
    from conformance_bulk import bulk_kernels
    from conformance_more import more_kernels
    from conformance_tensor import tensor_kernels
    return [*main_kernels(table), *bulk_kernels(), *tensor_kernels(), *more_kernels()]


def coverage(table):
    from conformance_coverage import LEAST, report
    return report(table, all_kernels(table)) < LEAST


def write_suite(output, kernels, letter="m", header=HEADER, ptxas=None, arch="sm_90"):
    """Modules and the manifest of some kernels; kernels that ptxas refuses."""
    output.mkdir(parents=True, exist_ok=True)
    assert len({k.name for k in kernels}) == len(kernels), "two kernels of one name"
    bad = {}
    with open(output / "manifest", "w", encoding="ascii") as manifest:
        for first in range(0, len(kernels), PER_MODULE):
            part = kernels[first:first + PER_MODULE]
            name = f"{letter}{first // PER_MODULE:03}.ptx"
            write_module(output / name, part, header)
            for k in part:
                manifest.write(k.manifest(name) + "\n")
            if ptxas:
                bad.update(refused_by(ptxas, output / name, arch))
    print(f"{len(kernels)} kernels in {-(-len(kernels) // PER_MODULE)} modules")
    for name, why in bad.items():
        print(f"refused by ptxas: {name}: {why}")
    if ptxas:
        print(f"{len(bad)} refused by ptxas")
    return bool(bad)


def suite_main(doc, kernels, letter, header=HEADER, arch="sm_90"):
    """The program of a suite beside this one: OUTPUT [--ptxas PTXAS]."""
    parser = argparse.ArgumentParser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path)
    parser.add_argument("--ptxas")
    args = parser.parse_args()
    return write_suite(args.output, [*kernels()], letter, header, args.ptxas, arch)


def main_kernels(table):
    return [*register_kernels(table), *warp_kernels(), *memory_kernels(), *matrix_kernels(), *async_kernels()]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=pathlib.Path, nargs="?")
    parser.add_argument("--ops", default=str(pathlib.Path(__file__).parent.parent / "src/ptx/ops.tab"))
    parser.add_argument("--ptxas")
    parser.add_argument("--coverage", action="store_true")
    args = parser.parse_args()
    table = ptx_ops.read(args.ops)
    if args.coverage:
        return coverage(table)
    if not args.output:
        parser.error("OUTPUT is missing")
    return write_suite(args.output, main_kernels(table), ptxas=args.ptxas)


if __name__ == "__main__":
    sys.exit(main())
