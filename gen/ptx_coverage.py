# SPDX-License-Identifier: MIT
"""Writes the page of PTX instructions that the table knows, and which of them have a handler in emit/.

usage: ptx_coverage.py OPS.TAB DISPATCH.C OUTPUT
DISPATCH.C is the file with emit_table: an entry `[PTX_OP_X] = ...` says that X is translated.
"""
import re
import sys

import ptx_ops

HEAD = """# PTX instructions

Made from `src/ptx/ops.tab` at every build. *Translated* means that `src/emit/` has a handler; a handler may still refuse
single types or modifiers, by name. All others parse and are refused when a kernel that uses them is compiled.

"""


def version(isa):
    return f"{isa // 10}.{isa % 10}"


def types_of(forms):
    names = {}
    for f in forms:
        for s, _ in f.types:
            names.update(dict.fromkeys(s))
    return " ".join(names) or "-"


def page(table, handled):
    ops = table.ops()
    done = [op for op in ops if ptx_ops.ident(op) in handled]
    out = [HEAD, f"{len(done)} of {len(ops)} instructions are translated.\n\n",
           "| instruction | translated | forms | PTX | sm | types |\n|---|---|---|---|---|---|\n"]
    for op in ops:
        forms = [f for f in table.forms if f.op == op]
        out.append(f"| `{op}` | {'yes' if op in done else 'no'} | {len(forms)} | {version(min(f.isa for f in forms))} | "
                   f"{min(f.sm for f in forms)} | {types_of(forms)} |\n")
    return "".join(out)


def main(argv):
    if len(argv) != 4:
        sys.exit(__doc__)
    try:
        table = ptx_ops.read(argv[1])
    except ptx_ops.TableError as e:
        sys.exit(f"ptx_coverage.py: {e}")
    with open(argv[2], encoding="utf-8") as f:
        handled = set(re.findall(r"\[PTX_OP_(\w+)\]\s*=", f.read()))
    with open(argv[3], "w", encoding="utf-8") as out:
        out.write(page(table, handled))


if __name__ == "__main__":
    main(sys.argv)
