# SPDX-License-Identifier: MIT
"""errors.tab and our headers -> names and texts of results, names of enumerators.

    names.py api/errors.tab HEADER... OUT
"""
import sys

from tables import banner, c_string, load_errors, load_types


def unique(entries):
    """First name of each value, by value: later names of a value are aliases."""
    seen = {}
    for name, value in entries:
        seen.setdefault(value, name)
    return sorted(seen.items())


def generate(errors, types):
    out = banner(["api/errors.tab", "include/polywarp/cuda_enums.h"])
    out += '#include "driver/names.h"\n\n'
    out += "const struct error_info error_table[] = {\n"
    for name, value, text in errors:
        out += f"    {{{value}, {c_string(name)}, {c_string(text)}}},\n"
    out += f"}};\nconst unsigned error_count = {len(errors)};\n"
    for enum, entries in sorted(types.enums.items()):
        out += f"\nstatic const struct enum_name names_of_{enum}[] = {{\n"
        for value, name in unique(entries):
            out += f"    {{{value}, {c_string(name)}}},\n"
        out += f"}};\nconst struct enum_info enum_{enum} = {{\n"
        out += f"    {c_string(enum)}, names_of_{enum},\n"
        out += f"    sizeof names_of_{enum} / sizeof *names_of_{enum}}};\n"
    return out


if __name__ == "__main__":
    header_types = load_types(sys.argv[2:-1])
    with open(sys.argv[-1], "w", encoding="utf-8") as f:
        f.write(generate(load_errors(sys.argv[1], header_types), header_types))
