# SPDX-License-Identifier: MIT
"""cuda.tab -> linker version script: the driver exports its API and nothing else.

    mapfile.py api/cuda.tab OUT
"""
import sys

from tables import banner, load_calls


def generate(calls):
    out = banner(["api/cuda.tab"], "#") + "{\nglobal:\n"
    out += "".join(f"    {c.symbol};\n" for c in calls)
    return out + "local:\n    *;\n};\n"


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(generate(load_calls(sys.argv[1])))
