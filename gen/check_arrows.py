#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks that each folder of src/ includes only along the arrows of docs/architecture.md: check_arrows.py SRC [STAMP].

A generated header belongs to the room that ARROWS gives it."""
import pathlib
import re
import sys

# room -> rooms it may include besides itself
ARROWS = {
    "base": set(),
    "image": {"base"},
    "ptx": {"base"},
    "emit": {"ptx", "base", "llvm"},
    "devlib": {"backend/cpu/rt.h", "devlib"},
    "backend": {"base"},
    "backend/cpu": {"backend", "emit/emit.h", "emit/matrix_form.h", "ptx/ptx.h", "base", "llvm"},
    "driver": {"image", "ptx", "emit", "backend", "base", "polywarp"},
    "driver/dark": {"driver", "backend", "ptx", "base", "polywarp"},
}
GENERATED = {"options_enum.h": "base", "ptx_enums.h": "ptx", "ptx_tables.h": "ptx", "api_impl.h": "driver"}


def room_of(path):
    parts = path.parts[:-1]
    two = "/".join(parts[:2])
    return two if two in ARROWS else parts[0]


def target_room(src, source, name):
    """The room of an included file, or None for system headers."""
    if name in GENERATED:
        return GENERATED[name]
    if name.startswith("llvm-c/"):
        return "llvm"
    if name.startswith("polywarp/"):
        return "polywarp"
    for base in (source.parent, src):
        if (base / name).exists():
            return room_of((base / name).resolve().relative_to(src.resolve()))
    return None


def main():
    src = pathlib.Path(sys.argv[1])
    wrong = []
    for source in sorted([*src.rglob("*.c"), *src.rglob("*.h")]):
        room = room_of(source.relative_to(src))
        if room not in ARROWS:
            wrong.append(f"{source}: no room '{room}' in ARROWS")
            continue
        for name in re.findall(r'^\s*#\s*include\s*["<]([^">]+)[">]', source.read_text(), re.M):
            target = target_room(src, source, name)
            if target and target != room and target not in ARROWS[room] and name not in ARROWS[room]:
                wrong.append(f"{source}: {room} may not include {name} ({target})")
    print("\n".join(wrong) or "arrows: all includes follow docs/architecture.md", file=sys.stderr if wrong else sys.stdout)
    if not wrong and len(sys.argv) > 2:
        pathlib.Path(sys.argv[2]).touch()
    return bool(wrong)


sys.exit(main())
