#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The benchmark programs of bench/cuda through our libcuda.so.1.

    benchmarks.py check BUILD    every program at full size, one repetition, static and shared cudart; PASS by its own check of the results
    benchmarks.py time BUILD     five repetitions, static cudart; prints the RESULT lines

Ends with `N passed, N failed, N skipped`."""
import concurrent.futures
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test/apps"))
import run as apps  # noqa: E402

NAMES = "saxpy blackscholes nbody sgemm reduction mandelbrot histogram stencil transpose bitonic spmv softmax".split()


def compile_one(name, cudart, folder, nvcc):
    target = folder / f"{name}-{cudart}"
    source = ROOT / "bench/cuda" / (name + ".cu")
    if target.exists() and target.stat().st_mtime > source.stat().st_mtime:
        return target
    done = subprocess.run([nvcc, "-O3", "-arch=compute_75", "-code=compute_75", "-cudart", cudart, "-Wno-deprecated-gpu-targets",
                           "-o", str(target), str(source)], capture_output=True, text=True)
    return target if done.returncode == 0 else done.stdout + done.stderr


def execute(binary, env):
    try:
        done = subprocess.run([str(binary)], capture_output=True, text=True, timeout=600, env=env)
    except subprocess.TimeoutExpired:
        return False, ["no end after 600 s"]
    lines = [l for l in done.stdout.splitlines() if l.startswith("RESULT")]
    good = done.returncode == 0 and lines and all("check=PASS" in l for l in lines)
    return good, lines if good else (done.stdout + done.stderr).splitlines()[-20:]


def main():
    mode, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    nvcc = apps.find_nvcc()
    kinds = ["static", "shared"] if mode == "check" else ["static"]
    if not nvcc:
        print("SKIP benchmarks: no nvcc found (set CUDA_HOME or put nvcc on PATH)")
        print(f"0 passed, 0 failed, {len(NAMES) * len(kinds)} skipped")
        return 0
    folder = build / "bench"
    folder.mkdir(exist_ok=True)
    jobs = [(n, k) for k in kinds for n in NAMES]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        built = list(pool.map(lambda j: compile_one(*j, folder, nvcc), jobs))
    home = pathlib.Path(nvcc).resolve().parents[1]
    env = dict(os.environ, LD_LIBRARY_PATH=f"{build}/lib:{home}/lib64:{home}/lib")
    env["BENCH_REPS"] = os.environ.get("BENCH_REPS", "1" if mode == "check" else "5")
    passed = failed = 0
    for (name, kind), binary in zip(jobs, built):
        good, lines = execute(binary, env) if isinstance(binary, pathlib.Path) else (False, [binary])
        passed, failed = passed + bool(good), failed + (not good)
        print("PASS" if good else "FAIL", f"{name} ({kind} cudart)", flush=True)
        if not good or mode == "time":
            print("\n".join(re.sub(r"^RESULT ", "  ", l) for l in lines), flush=True)
    print(f"{passed} passed, {failed} failed, 0 skipped")
    return failed != 0


sys.exit(main())
