# SPDX-License-Identifier: MIT
"""Sets the status column of api/cuda.tab from what the driver's objects define.

    nm -A --defined-only *.o | python3 gen/status.py api/cuda.tab [-]
    python3 gen/status.py api/cuda.tab LISTING [--check]

A row is `done` where pw_<plain symbol> is defined, else `stub`. With --check nothing is written and
a difference is an error.
"""
import re
import sys

from tables import load_calls


def defined(listing):
    """Names cu... for which the nm listing has a global pw_cu... definition."""
    return set(re.findall(r"\b[TtWw] pw_(cu\w+)$", listing, re.M))


def update(text, calls, have):
    """The table's text with new states, and the list of (symbol, state) that changed."""
    want = {c.symbol: "done" if c.plain.symbol in have else "stub" for c in calls}
    lines, changed = [], []
    for line in text.splitlines(keepends=True):
        cells = line.split(" | ")
        symbol = cells[0]
        if symbol in want and cells[4] != want[symbol]:
            cells[4] = want[symbol]
            changed.append((symbol, cells[4]))
        lines.append(" | ".join(cells))
    return "".join(lines), changed


def main(argv):
    check = "--check" in argv
    args = [a for a in argv if a != "--check"]
    table, source = args[0], args[1] if len(args) > 1 else "-"
    listing = sys.stdin.read() if source == "-" else open(source, encoding="utf-8").read()
    calls = load_calls(table)
    have = defined(listing)
    unknown = have - {c.symbol for c in calls if c.form == "plain"}
    for name in sorted(unknown):
        print(f"warning: pw_{name} implements no plain row of {table}", file=sys.stderr)
    with open(table, encoding="utf-8") as f:
        text, changed = update(f.read(), calls, have)
    for symbol, state in changed:
        print(f"{symbol}: {state}")
    if check:
        return 1 if changed else 0
    if changed:
        with open(table, "w", encoding="utf-8") as f:
            f.write(text)
    done = sum(c.plain.symbol in have for c in calls)
    print(f"{done} of {len(calls)} symbols done, {len(changed)} changed")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
