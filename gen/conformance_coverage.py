# SPDX-License-Identifier: MIT
"""Which rows of ops.tab the conformance kernels execute. A row here is an instruction with one choice of its types: a line of ops.tab counts once
for each combination of types that sm_90 has. conformance.py --coverage prints what is missing."""
import collections
import functools
import itertools
import re

from conformance_forms import PURE, TARGET_ISA, TARGET_SM, combinations

VECTORS = {"v2", "v4", "v8"}
F8 = ["e4m3", "e5m2"]
SMALL = [("u8", "s8"), ("u4", "s4")]


def matrix_types(separate):
    """(d, a, b, c) of mma; wmma writes the types of f16 products as d, c alone."""
    for d, c in itertools.product(("f16", "f32"), repeat=2):
        if separate or (d, c) != ("f16", "f32"):
            yield (d, c) if separate else (d, "f16", "f16", c)
    yield from (("f32", t, t, "f32") for t in ("bf16", "tf32"))
    yield ("f64",) * 4
    for pair in SMALL:
        for a, b in itertools.product(pair, repeat=2):
            if not separate or a == b:
                yield "s32", a, b, "s32"
    yield "s32", "b1", "b1", "s32"
    if not separate:
        for d in ("f16", "f32"):
            yield from ((d, a, b, d) for a, b in itertools.product(F8, repeat=2))


def wgmma_types():
    for d in ("f16", "f32"):
        yield d, "f16", "f16"
        yield from ((d, a, b) for a, b in itertools.product(F8, repeat=2))
    yield from (("f32", t, t) for t in ("bf16", "tf32"))
    yield from (("s32", a, b) for a, b in itertools.product(("u8", "s8"), repeat=2))
    yield "s32", "b1", "b1"


# Types that the ISA has where a line of the table allows more.
EXACT = {"mma": list(matrix_types(False)), "wmma.mma": list(matrix_types(True)), "wgmma.mma_async": list(wgmma_types())}
# What the table allows and ptxas refuses for sm_90: instruction, kinds of operands and words, types.
NOT_HAD = [
    (r"mov|ld|ldu|st", "", r"b?f16(x2)?"),
    (r"vote|shfl", "(?!.*sync)", ""),
    (r"cvta|alloca|stacksave|stackrestore", "", "u32"),  # with 64-bit addresses
    (r"atom", "cas", r"[us]\d+"),
    (r"atom|red", "(?!.*cas)", "b16"),
    (r"stmatrix", "", "b8"),
    (r"red.async", "", "b64"),
    (r"mbarrier", "(ms arrive)", ""),  # without its first operand
    (r"multimem\..*", "", ""),  # nor has a single GPU multicast objects
]
# Rows left out, and why.
LEFT_OUT = [
    (r"(tex|tld4|txq|suld|sust|sured|suq|istypep)\b", "needs texture or surface objects, which the runner's kernels have not"),
    (r"setmaxnreg", "of sm_90a alone, and without an effect that a program can see"),
    (r"(cp.async.bulk|cp.reduce.async.bulk) .line|tensormap|prefetch", "needs a tensor map, which the host makes (test/apps)"),
]
LEAST = 95  # percent


class Matcher:
    """Finds the row of a written instruction: the first line of the table that has all its words."""

    def __init__(self, table):
        self.forms = collections.defaultdict(list)
        for f in table.forms:
            self.forms[f.op].append(f)

    def split(self, text):
        """The longest name that is an instruction, and the words behind it."""
        words = text.split(".")
        for n in range(len(words), 0, -1):
            if ".".join(words[:n]) in self.forms:
                return ".".join(words[:n]), words[n:]
        return None, []

    @staticmethod
    def types_in(form, words):
        """The types among the words if the line has them all, else None."""
        mods = collections.Counter()
        groups = [set(tokens) for tokens, _, _ in form.groups]
        types, position = [], 0
        for w in words:
            at = next((k for k in range(position, len(form.types)) if w in form.types[k][0]), None)
            group = next((k for k, g in enumerate(groups) if w in g and mods[k] < form.groups[k][2]), None)
            if at is not None and all(form.types[k][1] for k in range(position, at)) and (group is None or form.groups[group][1] == 0):
                types.append(w)
                position = at + 1
            elif group is not None:
                mods[group] += 1
            elif w not in VECTORS and w not in form.spaces:
                return None
        if any(not optional for _, optional in form.types[position:]) or any(mods[k] < g[1] for k, g in enumerate(form.groups)):
            return None
        return tuple(types)

    def row(self, text, operands):
        op, words = self.split(text)
        for f in self.forms.get(op, ()):
            if not f.operands or sum(not o[3] for o in f.operands) <= operands <= len(f.operands):
                types = self.types_in(f, words)
                if types is not None:
                    return f.line, types
        return None


def operand_count(text):
    depth = count = 0
    for c in text:
        depth += (c in "[{(") - (c in "]})")
        count += c == "," and depth == 0
    return count + bool(text.strip())


INSTRUCTION = re.compile(r"(?:@!?%\w+\s+)?([a-z][a-z0-9_.:A-Z]*)\s*([^;]*);")


def executed(matcher, kernels):
    """Rows in the bodies of the kernels: row -> names of the kernels."""
    seen, row_of = collections.defaultdict(list), functools.lru_cache(None)(matcher.row)
    for k in kernels:
        written = {(m[1], operand_count(m[2])) for line in k.text().split("\n") for m in INSTRUCTION.finditer(line)}
        for row in {row_of(*w) for w in written} - {None}:
            seen[row].append(k.name)
    return seen


def is_had(form, types):
    words = "".join(o[0] for o in form.operands) + " " + " ".join(w for tokens, _, _ in form.groups for w in tokens)
    return not any(re.fullmatch(op, form.op) and re.match(mod if mod[:1] == "(" else f".*{mod}", words) and re.fullmatch(t or ".*", ".".join(types))
                   for op, mod, t in NOT_HAD)


def all_rows(table):
    """Rows that sm_90 has: (line, types) -> what to call it."""
    rows = {}
    for f in table.forms:
        if f.sm > TARGET_SM or f.isa > TARGET_ISA:
            continue
        if f.op in PURE:
            choices = dict.fromkeys(tuple(types) for types, _ in combinations(f))
        elif f.op in EXACT:
            choices = [t for t in EXACT[f.op] if all(any(x in names for names, _ in f.types) for x in t)]
        else:
            sets = [names + ([None] if optional else []) for names, optional in f.types]
            choices = [tuple(t for t in types if t) for types in itertools.product(*sets)]
            choices = [t for t in choices if is_had(f, t)]
        for types in choices:
            rows[f.line, tuple(types)] = ".".join([f.op, *types]) + f" (line {f.line})"
    return rows


def report(table, kernels):
    """Prints the coverage; returns its percentage."""
    rows, seen = all_rows(table), executed(Matcher(table), kernels)
    missing = [name for row, name in rows.items() if row not in seen]
    print(f"{len(rows) - len(missing)} of {len(rows)} rows of instruction and types that sm_90 has are executed: "
          f"{100 * (len(rows) - len(missing)) / len(rows):.1f} %")
    unexplained = list(missing)
    for pattern, why in LEFT_OUT:
        of_kind = [n for n in unexplained if re.match(pattern, n)]
        unexplained = [n for n in unexplained if n not in of_kind]
        if of_kind:
            print(f"left out, {why}:\n    " + ", ".join(of_kind))
    if unexplained:
        print("missing:\n    " + "\n    ".join(unexplained))
    return 100 * (len(rows) - len(missing)) / len(rows)
