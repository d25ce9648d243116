#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A file's bytes as a C array: embed.py SYMBOL FILE OUT defines `const unsigned char SYMBOL[]` and `const unsigned long SYMBOL_size`."""
import sys


def main(symbol, source, target):
    data = open(source, "rb").read()
    with open(target, "w", encoding="ascii") as out:
        out.write(f"// Made by gen/embed.py of {source.rsplit('/', 1)[-1]}.\n")
        out.write(f"extern const unsigned char {symbol}[];\nextern const unsigned long {symbol}_size;\n")
        out.write(f"const unsigned long {symbol}_size = {len(data)};\n")
        out.write(f"__attribute__((aligned(16))) const unsigned char {symbol}[] = {{\n")
        for i in range(0, len(data), 24):
            out.write(",".join(str(b) for b in data[i:i + 24]) + ",\n")
        out.write("};\n")


main(*sys.argv[1:])
