#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark kernels side by side: CUDA through our driver, the same kernels in OpenCL through PoCL, and hand-written C.

    compare.py BUILD [--rounds N] [--kernels NAME ...] [--json FILE] [--write] [--threads N ...]

A round runs everything once, so that what else the machine does hits all alike; figures are medians over the rounds, in milliseconds of
wall clock from the submit to the end of a blocking wait, after a warm-up that holds any JIT. Every program checks its results. PoCL runs in
three configurations (default, fast maths, continuation-based synchronisation); its best one counts. --write puts table and plot into docs/.
--threads measures our scaling over numbers of cores instead. Best under `chrt -f 1`."""
import argparse
import collections
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
PROGRAMS = "saxpy blackscholes nbody sgemm reduction mandelbrot histogram stencil transpose bitonic spmv softmax".split()
KERNELS = ("saxpy blackscholes nbody sgemm16 sgemm32 reduction mandelbrot histogram stencil transpose bitonic spmv_scalar spmv_warp "
           "softmax").split()
NATIVE = {"sgemm16": ["sgemm"], "sgemm32": ["sgemm"], "spmv_scalar": ["spmv"], "spmv_warp": ["spmv"],
          "reduction": ["reduction", "reduction_ompsimd"], "stencil": ["stencil", "stencil_ompsimd", "stencil_nt"],
          "bitonic": ["bitonic", "bitonic_210passes"]}
POCL = {"default": {}, "fast": {"BENCH_CLOPT": "-cl-fast-relaxed-math"}, "cbs": {"POCL_WORK_GROUP_METHOD": "cbs"}}
REPETITIONS = "3"


def run(command, env):
    """Kernel -> median milliseconds; a failed check is an error."""
    done = subprocess.run([str(c) for c in command], capture_output=True, text=True, timeout=900, env={**os.environ, "BENCH_REPS": REPETITIONS, **env},
                          cwd=pathlib.Path(command[0]).parent)
    found = {}
    for line in done.stdout.splitlines():
        m = re.match(r"RESULT .*kernel=(\S+) .*wall_med_ms=(\S+) .*check=(\S+)", line)
        if m and m[3] != "PASS":
            sys.exit(f"{command[0]}: {line}")
        if m:
            found[m[1]] = float(m[2])
    if not found:
        sys.exit(f"{command}: no result\n{done.stdout}{done.stderr}")
    return found


def build_peers(build):
    folder = build / "compare"
    folder.mkdir(parents=True, exist_ok=True)
    for part in ("common", "native", "opencl"):
        shutil.copytree(ROOT / "bench" / part, folder / part, dirs_exist_ok=True)
    for part in ("native", "opencl"):
        done = subprocess.run(["make", "-C", str(folder / part)], capture_output=True, text=True)
        if done.returncode:
            print(f"{part}: not built: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return folder


def ours(build, program, env):
    home = os.environ.get("CUDA_HOME", "/usr/local/cuda")
    return run([build / f"bench/{program}-static"], {"LD_LIBRARY_PATH": f"{build}/lib:{home}/lib64", "POLYWARP_LOG": "nofile", **env})


def one_round(build, folder, wanted, times):
    for program in PROGRAMS:
        if any(k.startswith(program) for k in wanted):
            for kernel, ms in ours(build, program, {}).items():
                times["ours"][kernel].append(ms)
    for name in ("precise", "fast"):
        if (folder / "native" / name).exists():
            for kernel, ms in run([folder / "native" / name], {"OMP_PROC_BIND": "true"}).items():
                times["native"][kernel].append(ms)
    if (folder / "opencl/host").exists():
        for config, env in POCL.items():
            for kernel, ms in run([folder / "opencl/host"], {**env}).items():
                times["pocl " + config][kernel].append(ms)


def medians(times):
    return {who: {k: statistics.median(v) for k, v in kernels.items()} for who, kernels in times.items()}


def rows_of(result, wanted):
    rows = []
    for k in wanted:
        if k not in result["ours"]:
            continue
        native = min((result["native"][n] for n in NATIVE.get(k, [k]) if n in result.get("native", {})), default=None)
        pocl = min((result[w][k] for w in result if w.startswith("pocl") and k in result[w]), default=None)
        rows.append((k, result["ours"][k], native, pocl))
    return rows


def geometric(values):
    values = [v for v in values if v]
    return math.exp(sum(map(math.log, values)) / len(values)) if values else float("nan")


def ratio(other, mine):
    return other / mine if other else None


def table(rows):
    lines = ["| kernel | ours, ms | native, ms | best PoCL, ms | speed / native | speed / PoCL |", "|---|---:|---:|---:|---:|---:|"]
    for k, mine, native, pocl in rows:
        cells = [f"{mine:.2f}"] + [f"{v:.2f}" if v else "-" for v in (native, pocl)]
        cells += [f"{r:.2f}" if r else "-" for r in (ratio(native, mine), ratio(pocl, mine))]
        lines.append(f"| {k} | " + " | ".join(cells) + " |")
    means = [geometric([ratio(r[i], r[1]) for r in rows]) for i in (2, 3)]
    lines.append(f"| geometric mean | | | | **{means[0]:.2f}** | **{means[1]:.2f}** |")
    return "\n".join(lines)


def plot(rows):
    """Bars of both ratios on a logarithmic scale, as SVG."""
    left, width, step, low, high = 110, 520, 34, 0.1, 64
    x = lambda r: left + width * (math.log(max(low, min(high, r))) - math.log(low)) / (math.log(high) - math.log(low))
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{left + width + 60}" height="{len(rows) * step + 60}" font-family="sans-serif" font-size="12">',
           '<rect width="100%" height="100%" fill="white"/>']
    for tick in (0.125, 0.25, 0.5, 1, 2, 4, 8, 16, 32):
        out.append(f'<line x1="{x(tick):.1f}" x2="{x(tick):.1f}" y1="24" y2="{len(rows) * step + 30}" stroke="{"#000" if tick == 1 else "#ddd"}"/>')
        out.append(f'<text x="{x(tick):.1f}" y="18" text-anchor="middle">{tick:g}</text>')
    for i, (k, mine, native, pocl) in enumerate(rows):
        y = 30 + i * step
        out.append(f'<text x="{left - 8}" y="{y + 17}" text-anchor="end">{k}</text>')
        for n, (r, colour) in enumerate(((ratio(native, mine), "#4477aa"), (ratio(pocl, mine), "#cc8844"))):
            if r:
                a, b = sorted((x(1), x(r)))
                out.append(f'<rect x="{a:.1f}" y="{y + 4 + 12 * n}" width="{max(1, b - a):.1f}" height="10" fill="{colour}"/>')
    y = len(rows) * step + 48
    out.append(f'<text x="{left}" y="{y}" fill="#4477aa">speed relative to hand-written C</text>')
    out.append(f'<text x="{left + 260}" y="{y}" fill="#cc8844">relative to the best PoCL</text></svg>')
    return "\n".join(out) + "\n"


def machine():
    model = next((l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name")), platform.machine())
    return f"{datetime.date.today()}, {model}, {os.cpu_count()} cores, load average {os.getloadavg()[0]:.1f} (with ours)"


def write_page(text, rows):
    page = ROOT / "docs/performance.md"
    begin, end = "<!-- table -->", "<!-- end -->"
    old = page.read_text()
    head, rest = old.split(begin)
    page.write_text(head + begin + "\n" + text + "\n" + end + rest.split(end)[1])
    (ROOT / "docs/performance.svg").write_text(plot(rows))


def scaling(build, counts):
    times = {n: {} for n in counts}
    for n in counts:
        for program in PROGRAMS:
            times[n].update(ours(build, program, {"POLYWARP_THREADS": str(n)}))
    print("| kernel | " + " | ".join(f"{n} threads, ms" for n in counts) + " | gain |\n|---|" + "---:|" * (len(counts) + 1))
    for k in times[counts[0]]:
        print(f"| {k} | " + " | ".join(f"{times[n][k]:.2f}" for n in counts) + f" | {times[counts[0]][k] / times[counts[-1]][k]:.2f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--kernels", nargs="*", default=KERNELS)
    parser.add_argument("--json", type=pathlib.Path)
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--threads", type=int, nargs="*")
    args = parser.parse_args()
    build = args.build.resolve()
    if args.threads:
        return scaling(build, args.threads)
    folder = build_peers(build)
    times = collections.defaultdict(lambda: collections.defaultdict(list))
    for _ in range(args.rounds):
        one_round(build, folder, args.kernels, times)
    result = medians(times)
    rows = rows_of(result, args.kernels)
    text = f"{machine()}; medians of {args.rounds} rounds\n\n{table(rows)}"
    print(text)
    if args.json:
        args.json.write_text(json.dumps(result, indent=1))
    if args.write:
        write_page(text, rows)


main()
