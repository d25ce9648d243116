#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Builds and runs whole programs: test/apps/*.cu (nvcc) and *.c (driver API, no toolkit needed).

    run.py --build DIR [--lib DIR] [--cudart static|shared|static12|shared12] [--only NAME ...] [--build-only] [--timeout S]

A program passes if it exits 0 and its last line is PASS. A line `// nvcc: OPTIONS` in a .cu file adds options (file names in
it are relative to this folder). Without --lib the program runs on whatever libcuda.so.1 the loader finds, so the same
binaries run on NVIDIA's driver. Ends with `N passed, N failed, N skipped`.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# CUDA 12's runtime (headers, libcudart_static.a, libcudart.so.12) as its wheel unpacks: scripts/setup.sh puts it there.
CUDA12 = ROOT / "build/cuda12/nvidia/cuda_runtime"


def find_nvcc():
    """Path of nvcc: $NVCC, CUDA_HOME, CUDA_PATH, PATH, /usr/local/cuda, or the toolkit that setup put into build/toolkit."""
    places = [os.environ.get("NVCC")]
    places += [os.path.join(os.environ[v], "bin/nvcc") for v in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(v)]
    places += [shutil.which("nvcc"), "/usr/local/cuda/bin/nvcc", str(ROOT / "build/toolkit/bin/nvcc")]
    return next((p for p in places if p and os.access(p, os.X_OK)), None)


def options(source):
    found = re.search(r"^// nvcc: (.*)$", source.read_text(), re.M)
    return [str(HERE / w) if w.endswith(".cu") else w for w in found.group(1).split()] if found else []


def command(source, target, args, nvcc):
    if source.suffix == ".c":
        return [os.environ.get("CC", "cc"), "-O1", "-g", "-std=gnu17", "-Wall", "-Wextra", f"-I{ROOT}/include", f"-I{HERE}",
                "-o", target, source, f"-L{args.lib}", "-l:libcuda.so.1", "-lm", "-lpthread"]
    more = options(source)
    if args.cudart.endswith("12"):
        runtime = ["-cudart", "none", f"-I{CUDA12}/include"]
        more = more + ([f"{CUDA12}/lib/libcudart_static.a"] if args.cudart == "static12" else ["-Xlinker", f"{CUDA12}/lib/libcudart.so.12"])
        more += ["-ldl", "-lrt", "-lpthread"]
    else:
        runtime = ["-cudart", args.cudart]
    arch = [] if any(o.startswith("-arch") for o in more) else ["-arch=" + args.arch, "-code=" + args.arch]
    return [nvcc, "-O2", *arch, *runtime, "-std=c++17", "-Wno-deprecated-gpu-targets", "-I", HERE, "-o", target,
            source, *more]


def newest(source):
    files = [source, HERE / "app.h", HERE / "drv.h", HERE / "tensor.h", *(HERE / "parts").glob("*")]
    return max(f.stat().st_mtime for f in files if f.exists())


def build(source, args, nvcc):
    """Returns (binary or None, message)."""
    target = args.build / (source.stem if args.cudart == "static" else f"{source.stem}-{args.cudart}")
    if target.exists() and target.stat().st_mtime > newest(source):
        return target, ""
    done = subprocess.run([str(x) for x in command(source, target, args, nvcc)], capture_output=True, text=True)
    return (target, "") if done.returncode == 0 else (None, done.stdout + done.stderr)


def environment(args, nvcc):
    env = dict(os.environ)
    paths = [str(args.lib)] if args.lib else []
    if args.cudart == "shared" and nvcc:
        home = pathlib.Path(nvcc).resolve().parents[1]
        paths += [str(home / d) for d in ("lib64", "lib") if (home / d).is_dir()]
    if args.preload:
        env["LD_PRELOAD"] = args.preload
    if args.cudart == "shared12":
        paths.append(str(CUDA12 / "lib"))
    if paths:
        env["LD_LIBRARY_PATH"] = ":".join(paths + [p for p in [env.get("LD_LIBRARY_PATH")] if p])
    return env


def run(binary, args, env):
    try:
        done = subprocess.run([binary], capture_output=True, text=True, errors="replace", timeout=args.timeout, env=env,
                              cwd=args.build)
    except subprocess.TimeoutExpired as e:
        return "FAIL", f"no end after {args.timeout} s\n" + str(e.stdout or "")[-2000:]
    lines = done.stdout.strip().splitlines()
    last = lines[-1] if lines else ""
    if last.startswith("SKIP"):
        return "SKIP", last
    good = done.returncode == 0 and last == "PASS"
    return ("PASS", "") if good else ("FAIL", f"exit {done.returncode}\n" + (done.stdout + done.stderr)[-3000:])


def one(source, args, nvcc, env):
    if source.suffix == ".cu" and not nvcc:
        return source.stem, "SKIP", "no nvcc found (set CUDA_HOME or put nvcc on PATH)"
    if args.cudart.endswith("12") and not CUDA12.is_dir():
        return source.stem, "SKIP", "no CUDA 12 runtime in build/cuda12 (make setup fetches it from PyPI)"
    binary, message = build(source, args, nvcc)
    if not binary:
        return source.stem, "FAIL", "does not compile:\n" + message[-3000:]
    if args.build_only:
        return source.stem, "PASS", "built"
    status, message = run(binary, args, env)
    return source.stem, status, message


def main():
    p = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    p.add_argument("--nvcc", action="store_true", help="print the nvcc that would be used and end")
    p.add_argument("--build", type=pathlib.Path, default=ROOT / "build/apps")
    p.add_argument("--lib", type=pathlib.Path)
    p.add_argument("--cudart", choices=["static", "shared", "static12", "shared12"], default="static")
    p.add_argument("--arch", default="compute_75")
    p.add_argument("--only", nargs="*")
    p.add_argument("--kind", choices=["cu", "c", "all"], default="all")
    p.add_argument("--build-only", action="store_true")
    p.add_argument("--timeout", type=float, default=120)
    p.add_argument("--preload", help="LD_PRELOAD for the programs (a sanitizer's runtime)")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--sources", type=pathlib.Path, default=HERE)
    args = p.parse_args()
    if args.nvcc:
        print(find_nvcc() or "")
        return 0
    args.build = args.build.resolve()
    args.build.mkdir(parents=True, exist_ok=True)
    args.lib = args.lib.resolve() if args.lib else None
    nvcc = find_nvcc()
    env = environment(args, nvcc)
    kinds = {"cu": [".cu"], "c": [".c"], "all": [".cu", ".c"]}[args.kind]
    sources = sorted(s for s in args.sources.iterdir() if s.suffix in kinds and (not args.only or s.stem in args.only))
    count = {"PASS": 0, "FAIL": 0, "SKIP": 0}
    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        for name, status, message in pool.map(lambda s: one(s, args, nvcc, env), sources):
            count[status] += 1
            print(status, name + (": " + message if message else ""), flush=True)
    print(f"{count['PASS']} passed, {count['FAIL']} failed, {count['SKIP']} skipped")
    return count["FAIL"] != 0


if __name__ == "__main__":
    sys.exit(main())
