#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the log says of a bad access: kernel, PTX line, block and thread, on stderr and in the log file. faults_check.py BUILD"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

BUILD = pathlib.Path(sys.argv[1]).resolve()
ROOT = pathlib.Path(__file__).resolve().parents[2]
# In test/apps/drv.h the kernel `add` updates *p in line 14 of its text (one x86 instruction reads and writes); drv_errors passes p = 64.
WANT = re.compile(r"kernel add, PTX line 14, block \(0,0,0\), thread \(0,0,0\): illegal address: (read|write) at 0x40")

subprocess.run([sys.executable, ROOT / "test/apps/run.py", "--lib", BUILD / "lib", "--build", BUILD / "apps", "--build-only", "--only",
                "drv_errors"], check=True, stdout=subprocess.DEVNULL)
bad = 0
with tempfile.TemporaryDirectory() as folder:
    env = dict(os.environ, LD_LIBRARY_PATH=str(BUILD / "lib"), POLYWARP_LOG_DIR=folder, LD_PRELOAD=os.environ.get("SANITIZER_RUNTIME", ""))
    done = subprocess.run([BUILD / "apps/drv_errors"], capture_output=True, text=True, env=env)
    logs = "".join(f.read_text() for f in pathlib.Path(folder).iterdir())
    for what, text in (("stderr", done.stderr), ("the log file", logs)):
        if not WANT.search(text):
            bad += 1
            print(f"{what} does not name the access:\n{text}")
print(f"faults_check: {2 - bad} ok, {bad} failed")
sys.exit(bad != 0)
