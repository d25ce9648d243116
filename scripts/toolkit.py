#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a CUDA toolkit folder of what NVIDIA's wheels unpack to: toolkit.py FROM TO.

nvcc looks for lib64 and for libcudart.so, which wheels leave out; programs get marked executable."""
import os
import pathlib
import sys


def main(source, target):
    source, target = pathlib.Path(source).resolve(), pathlib.Path(target)
    if target.is_symlink() or target.exists():
        target.unlink()
    target.symlink_to(source)
    lib = source / "lib"
    if not (source / "lib64").exists():
        (source / "lib64").symlink_to("lib")
    for so in lib.glob("lib*.so.*"):
        plain = lib / (so.name.split(".so.")[0] + ".so")
        if not plain.exists():
            plain.symlink_to(so.name)
    for folder in ("bin", "nvvm/bin"):
        for f in (source / folder).iterdir():
            if f.is_file():
                os.chmod(f, 0o755)


main(*sys.argv[1:])
