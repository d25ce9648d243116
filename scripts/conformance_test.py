#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares a build's answers to PTX instructions with the recorded ones, in thread mode and in warp mode, spread over the cores:
conformance_test.py BUILD [--mode MODE] [--suite SUITE] [FORM]

A suite is the forms of gen/conformance.py or gen/conformance_SUITE.py with test/ptx/answers.xz or answers_SUITE.xz. FORM: only forms whose name
begins so. test/ptx/todo.tab lists what is known not to pass. Ends with `N passed, N failed, N skipped`, counting suites in each mode."""
import argparse
import concurrent.futures
import fnmatch
import lzma
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
MODES = ("thread", "warp")
PARTS = 4 * (os.cpu_count() or 1)  # of a suite: many, so that the cores end together
VERDICT = re.compile(r"(\w+): (.*(?:differ|refused|failed|recorded|record anew).*)")
UNKNOWN = ("not recorded", "the recorded answers are to other inputs", "answered here, but")
SHOWN = 20


class Suite:
    def __init__(self, build, name):
        self.name = name or "main"
        self.folder = build / "test" / ("conformance" + (f"_{name}" if name else ""))
        self.recorded = ROOT / "test/ptx" / (f"answers_{name}.xz" if name else "answers.xz")
        self.generator = ROOT / "gen" / (f"conformance_{name}.py" if name else "conformance.py")
        self.answers = self.folder / "answers.bin"

    def prepare(self):
        if self.name != "main" or not (self.folder / "manifest").exists():
            subprocess.run([sys.executable, "-B", self.generator, self.folder], check=True, stdout=subprocess.DEVNULL)
        self.answers.write_bytes(lzma.open(self.recorded).read())
        self.forms = [line.split()[0] for line in open(self.folder / "manifest", encoding="ascii")]


def suites(build, only):
    names = [p.stem.partition("_")[2] for p in sorted((ROOT / "test/ptx").glob("answers*.xz"))]
    return [Suite(build, n) for n in names if only is None or only == (n or "main")]


def read_todo(path):
    rows = [[c.strip() for c in line.split("|")] for line in open(path, encoding="utf-8") if line.strip() and line[0] != "#"]
    for row in rows:
        if len(row) != 3 or row[1] not in (*MODES, "all") or not row[2]:
            sys.exit(f"{path}: bad line: {' | '.join(row)}")
    return rows


def run_part(build, suite, mode, part, form):
    """The runner's output, and its exit status if that is none of a comparison."""
    env = dict(os.environ, POLYWARP_CPU_MODE=mode, POLYWARP_CACHE="off", POLYWARP_LOG="none", LD_LIBRARY_PATH=str(build / "lib"),
               CONFORMANCE_PART=f"{part}/{PARTS}")
    command = [build / "test/conformance_runner", "check", suite.folder, suite.answers] + ([form] if form else [])
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, errors="replace")
    return done.stdout, "" if done.returncode in (0, 1) else f"exit status {done.returncode}: {done.stderr.strip()[-300:]}"


def judge(suite, mode, outputs, todo, form):
    """Prints what is wrong with a suite in a mode; returns true if nothing is."""
    said, wrong = {}, [trouble for _, trouble in outputs if trouble]
    for text, _ in outputs:
        for line in text.split("\n"):
            m = VERDICT.fullmatch(line)
            if m:
                said.setdefault(m[1], m[2])
    forms = [f for f in suite.forms if not form or f.startswith(form)]
    unknown = {f for f in said if said[f].startswith(UNKNOWN)}
    listed = {f: reason for name, where, reason in todo if where in (mode, "all") for f in fnmatch.filter(forms, name)}
    for f in forms:
        if f in unknown:
            continue
        if f in said and f not in listed:
            wrong.append(f"{f}: {said[f]}")
        elif f in listed and f not in said and not any(t for _, t in outputs):
            wrong.append(f"{f}: passes, but is in todo.tab ({listed[f]})")
    equal = len([f for f in forms if f not in said])
    print(f"{'FAIL' if wrong else 'PASS'} conformance of PTX instructions, {suite.name} suite, {mode} mode: {equal} of {len(forms)} forms equal, "
          f"{len(listed)} to do, {len(unknown)} without a recorded answer", flush=True)
    for line in wrong[:SHOWN]:
        print("    " + line)
    if len(wrong) > SHOWN:
        print(f"    and {len(wrong) - SHOWN} more")
    return not wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("--mode", choices=MODES)
    parser.add_argument("--suite")
    parser.add_argument("form", nargs="?", default="")
    args = parser.parse_intermixed_args()
    build, todo = args.build.resolve(), read_todo(ROOT / "test/ptx/todo.tab")
    modes = [args.mode] if args.mode else list(MODES)
    chosen = suites(build, args.suite)
    for s in chosen:
        s.prepare()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        work = {(s, m): [pool.submit(run_part, build, s, m, k, args.form) for k in range(PARTS)] for m in reversed(modes) for s in chosen}
        results = [judge(s, m, [f.result() for f in futures], todo, args.form) for (s, m), futures in work.items()]
    print(f"{sum(results)} passed, {len(results) - sum(results)} failed, 0 skipped")
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
