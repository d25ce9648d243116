#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The `polywarp` command, from outside: running programs, the audit library, info, doctor, help. tools_check.py BUILD"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

if os.environ.get("SANITIZER_RUNTIME"):
    print("a sanitizer's runtime cannot be loaded with an audit library")
    sys.exit(77)
BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
TOOL = BUILD / "bin/polywarp"
good = bad = 0

# Opens libcuda by the path given, as programs with a wired-in path do, and prints where cuInit came from.
OPENER = r"""
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
int main(int argc, char **argv)
{
    void *lib = dlopen(argv[argc - 1], RTLD_NOW);
    int (*init)(unsigned) = lib ? (int (*)(unsigned))dlsym(lib, "cuInit") : 0;
    Dl_info where = {0};
    if (!init || !dladdr((void *)init, &where))
        return printf("no cuInit: %s\n", dlerror()), 1;
    printf("cuInit %d from %s\n", init(0), where.dli_fname);
    return 0;
}
"""


def check(what, condition, text=""):
    global good, bad
    good, bad = good + bool(condition), bad + (not condition)
    if not condition:
        print(f"not so: {what}\n{text}")


def run(*args, **more):
    done = subprocess.run([str(a) for a in args], capture_output=True, text=True, timeout=60, **more)
    return done.returncode, done.stdout + done.stderr


def programs(folder):
    source = folder / "open.c"
    source.write_text(OPENER)
    program = folder / "open"
    subprocess.run(["cc", "-o", program, source, "-ldl"], check=True)
    code, text = run(TOOL, "--", program, "libcuda.so.1")
    check("libcuda.so.1 is ours", code == 0 and f"cuInit 0 from {BUILD}/lib/libcuda.so.1" in text, text)
    elsewhere = folder / "elsewhere/libcuda.so.1"
    elsewhere.parent.mkdir()
    shutil.copy(BUILD / "lib/libpolywarp-audit.so", elsewhere)  # a library without cuInit in the wired-in place
    code, text = run(TOOL, "--", program, elsewhere)
    check("an absolute path is redirected", code == 0 and f"from {BUILD}/lib/libcuda.so.1" in text, text)
    code, text = run(TOOL, "--", folder / "missing")
    check("a missing program ends with 127", code == 127 and "missing" in text, text)
    code, text = run(TOOL, "--log=api", "--", program, "libcuda.so.1")
    check("options reach the driver", "cuInit" in text.replace("cuInit 0 from", ""), text)
    code, text = run(TOOL, "--", "/bin/sh", "-c", "exit 7")
    check("the program's status comes back", code == 7, text)


def subcommands():
    code, text = run(TOOL, "info")
    check("info lists a device", code == 0 and "Polywarp CPU" in text and "12.1" in text, text)
    code, text = run(TOOL, "help")
    check("help names the commands", code == 0 and all(w in text for w in ("info", "doctor", "help")), text)
    code, text = run(TOOL, "help", "options")
    check("help options", code == 0 and "POLYWARP_CACHE_SIZE" in text, text)
    code, text = run(TOOL, "nonsense")
    check("an unknown command is refused", code != 0 and "nonsense" in text, text)
    code, text = run(TOOL, "doctor")
    check("doctor", "libcuda.so.1" in text, text)
    code, text = run(TOOL, "doctor", "/bin/true")
    check("doctor of a program without CUDA", "no" in text.lower(), text)


with tempfile.TemporaryDirectory() as folder:
    programs(pathlib.Path(folder))
subcommands()
print(f"tools_check: {good} ok, {bad} failed")
sys.exit(bad != 0)
