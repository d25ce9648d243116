#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs every unit test of a build folder (BUILD/test/*_test and *.py checks): unit.py BUILD [NAME ...].

Exit status 77 of a test is a skip, with its last line as the reason. Ends with `N passed, N failed, N skipped`."""
import concurrent.futures
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "test/apps"))
import run as apps  # noqa: E402


def run(command, env):
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=300, env=env)
    except subprocess.TimeoutExpired:
        return 1, "no end after 300 s"
    return done.returncode, (done.stdout + done.stderr).strip()


def main():
    build = pathlib.Path(sys.argv[1]).resolve()
    only = sys.argv[2:]
    env = dict(os.environ, LD_LIBRARY_PATH=str(build / "lib"), POLYWARP_TEST_DATA=str(ROOT / "test"))
    nvcc = apps.find_nvcc()
    if nvcc:
        env["CUDA_HOME"] = str(pathlib.Path(nvcc).parents[1])
    tests = [[str(t)] for t in sorted((build / "test").glob("*_test"))]
    tests += [[sys.executable, "-B", str(t)] + ([str(build)] if t.stem.endswith("_check") else []) for t in sorted([*(ROOT / "test/unit").glob("*_check.py"), *(ROOT / "test/unit").glob("*_test.py")])]
    tests = [t for t in tests if not only or pathlib.Path(t[2] if len(t) > 1 else t[0]).stem in only]
    count = {0: 0, 1: 0, 77: 0}
    word = {0: "PASS", 1: "FAIL", 77: "SKIP"}
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for test, (code, text) in zip(tests, pool.map(lambda t: run(t, env), tests)):
            code = code if code in count else 1
            count[code] += 1
            last = next((l for l in reversed(text.splitlines()) if "ok," in l or l.startswith("Ran ")), "") or (text.splitlines() or [""])[-1]
            print(word[code], pathlib.Path(test[2] if len(test) > 1 else test[0]).name, ":", text if code == 1 else last, flush=True)
    print(f"{count[0]} passed, {count[1]} failed, {count[77]} skipped")


main()
