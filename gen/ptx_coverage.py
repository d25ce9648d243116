# SPDX-License-Identifier: MIT
"""Writes the page of PTX instructions and how sure it is that each does what NVIDIA's hardware does.

usage: ptx_coverage.py OPS.TAB DISPATCH.C TESTS OUTPUT
DISPATCH.C is the file with emit_table: an entry `[PTX_OP_X] = ...` says that X is translated. TESTS: the folder of the recorded answers
(answers*.xz), todo.tab and bounds.tab.
"""
import collections
import fnmatch
import lzma
import pathlib
import re
import struct
import sys

import ptx_ops
from conformance import all_kernels
from conformance_coverage import Matcher, executed
from conformance_forms import APPROX_OPS, PURE, combinations

HEAD = """# PTX instructions

Made at every build from `src/ptx/ops.tab`, from what `src/emit/` has handlers for, and from the conformance suites (conformance.md): a row is an
instruction with one choice of its types.

- *bit-exact*: a form with it was recorded on NVIDIA's hardware, and `make test` finds all answers equal.
- *within bound*: likewise, of an approximate instruction: no answer is further from the exact result than the ISA allows.
- *failing*: recorded, and listed in `test/ptx/todo.tab`.
- *text only*: done as the ISA's text says; nothing was recorded. Rows of newer hardware than sm_90 are among these.
- *refused*: has no handler; a kernel that uses it is refused, with its line. A handler, too, may refuse single modifiers.

"""
STATES = ["bit-exact", "within bound", "failing", "text only", "refused"]
ANSWERED = 0
CHUNK = 256


def recorded_forms(path):
    """Names of the forms in a file of answers that a device answered (docs/conformance.md, The file of answers)."""
    data = lzma.open(path).read()
    at = data.index(b"\n\n") + 2
    (count,) = struct.unpack_from("<I", data, at)
    at += 4
    for _ in range(count):
        length = data[at]
        name = data[at + 1:at + 1 + length].decode()
        state, words, cases, _inputs = struct.unpack_from("<BBII", data, at + 1 + length)
        at += 11 + length
        if state != ANSWERED:
            continue
        yield name
        if data[at]:
            values = data[at + 1]
            bits = 0 if values == 1 else 1 if values == 2 else 2 if values <= 4 else 4
            at += 2 + 8 * values + (cases * words * bits + 7) // 8
        else:
            raw, size = struct.unpack_from("<IB", data, at + 1)
            at += 6 + raw * words * size + cases // CHUNK * 4


def recorded_states(tests, kernels):
    """Form -> its state, of the forms that were recorded."""
    with open(tests / "todo.tab", encoding="utf-8") as f:
        todo = [line.split("|")[0].strip() for line in f if line.strip() and line[0] != "#"]
    approximate = {k.name for k in kernels if k.approx != "-"}
    states = {}
    for path in sorted(tests.glob("answers*.xz")):
        for name in recorded_forms(path):
            failing = any(fnmatch.fnmatchcase(name, t) for t in todo)
            states[name] = "failing" if failing else "within bound" if name in approximate else "bit-exact"
    return states


def rows_of(form):
    """Choices of types of a line; of many, those of the first position stand for all."""
    if form.op in PURE:
        return [tuple(t) for t in dict.fromkeys(tuple(types) for types, _ in combinations(form))]
    count = 1
    for names, optional in form.types:
        count *= len(names) + optional
    sets = form.types if count <= 150 else form.types[:1]
    rows = [()]
    for names, optional in sets:
        rows = [r + t for r in rows for t in [*((n,) for n in names), *([()] if optional else [])]]
    return rows


def state_of(form, types, handled, seen, states):
    """Of the forms that execute the row the worst state counts. An exact instruction beside an approximate one is exact."""
    names = [n for had, kernels in seen[form.line] if had[:len(types)] == types for n in kernels]
    found = {states[n] for n in names if n in states}
    if not found:
        return "text only" if ptx_ops.ident(form.op) in handled else "refused"
    if "failing" in found:
        return "failing"
    return "within bound" if "within bound" in found and form.op in APPROX_OPS else "bit-exact"


def version(isa):
    return f"{isa // 10}.{isa % 10}"


def page(table, handled, seen, states):
    total, lines = collections.Counter(), []
    for op in table.ops():
        forms = [f for f in table.forms if f.op == op]
        types = collections.defaultdict(dict)
        for f in forms:
            for row in rows_of(f):
                state = state_of(f, row, handled, seen, states)
                total[state] += 1
                types[state][".".join(row) or "all"] = None
        cells = " | ".join(" ".join(types[s]) for s in STATES)
        lines.append(f"| `{op}` | {version(min(f.isa for f in forms))} | {min(f.sm for f in forms)} | {cells} |\n")
    out = [HEAD, "| " + " | ".join(STATES) + " |\n", "|---" * len(STATES) + "|\n", "| " + " | ".join(str(total[s]) for s in STATES) + " |\n\n"]
    out += [f"| instruction | PTX | sm | {' | '.join(STATES)} |\n", "|---" * (3 + len(STATES)) + "|\n", *lines]
    return "".join(out)


def main(argv):
    if len(argv) != 5:
        sys.exit(__doc__)
    try:
        table = ptx_ops.read(argv[1])
    except ptx_ops.TableError as e:
        sys.exit(f"ptx_coverage.py: {e}")
    with open(argv[2], encoding="utf-8") as f:
        handled = set(re.findall(r"\[PTX_OP_(\w+)\]\s*=", f.read()))
    kernels = all_kernels(table)
    states = recorded_states(pathlib.Path(argv[3]), kernels)
    by_line = collections.defaultdict(list)
    for (line, types), names in executed(Matcher(table), kernels).items():
        by_line[line].append((types, names))
    with open(argv[4], "w", encoding="utf-8") as out:
        out.write(page(table, handled, by_line, states))


if __name__ == "__main__":
    main(sys.argv)
