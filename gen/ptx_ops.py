# SPDX-License-Identifier: MIT
"""Reads src/ptx/ops.tab and writes ptx_enums.h (enumerators) or ptx_tables.c (names, look-up tables, forms).

usage: ptx_ops.py OPS.TAB enums|tables OUTPUT
"""
import re
import sys
from dataclasses import dataclass, field

# Same order as enum ptx_type in ptx.h; the written form is the lower-case name.
TYPES = """NONE PRED B8 B16 B32 B64 B128 U8 U16 U32 U64 S8 S16 S32 S64 F16 F16X2 BF16 BF16X2 TF32 F32
F32X2 F64 U16X2 S16X2 U8X4 S8X4 U4X8 S4X8 U4 S4 U2 S2 B1 B4 B6 B4X16 B8X16 B6X16_P32 B4X16_P64 E4M3
E5M2 E3M2 E2M3 E2M1 UE8M0 UE4M3 E4M3X2 E5M2X2 E3M2X2 E2M3X2 E2M1X2 UE8M0X2 E4M3X4 E5M2X4 E3M2X4
E2M3X4 E2M1X4 TEXREF SAMPLERREF SURFREF""".split()
TYPE_OF = {t.lower(): t for t in TYPES[1:]}
SPACES = {"global": "GLOBAL", "shared": "SHARED", "const": "CONST", "local": "LOCAL", "param": "PARAM"}
# Tokens that name a state space and are modifiers as well.
SUBSPACES = {"shared::cta": "SHARED", "shared::cluster": "SHARED", "param::entry": "PARAM",
             "param::func": "PARAM"}
FLAGS = ("end", "mem", "vec", "mask", "noguard", "free")
KINDS = "dDsSipqmtlfx"
DIRECTIVES = """version target address_size entry func visible extern weak common global shared const local
param reg tex align pragma file loc section alias attribute callprototype calltargets branchtargets
maxntid reqntid minnctapersm maxnctapersm maxnreg noreturn abi_preserve abi_preserve_control
explicitcluster reqnctapercluster maxclusterrank blocksareclusters ptr sreg unified managed surf sampler
ident""".split()
# wgmma shapes come last: rarely used, and there are many of them.
WGSHAPES = [f"m64n{n}k{k}" for k in (16, 8, 32, 64, 256) for n in range(8, 257, 8)]


MOD_WORDS = 9  # PTX_MOD_WORDS of ptx.h; the generated file asserts it


class TableError(Exception):
    pass


@dataclass
class Form:
    op: str
    operands: list  # (kind, second kind of a pair, type, optional)
    types: list  # (set of names, optional)
    spaces: list
    space_optional: bool
    groups: list  # (set of tokens, least, most)
    isa: int
    sm: int
    flags: set
    line: int


@dataclass
class Table:
    macros: dict = field(default_factory=dict)
    sregs: list = field(default_factory=list)  # (name, type, vec, isa)
    forms: list = field(default_factory=list)

    def ops(self):
        return list(dict.fromkeys(f.op for f in self.forms))

    def mods(self):
        """Tokens of all modifiers, by first appearance."""
        seen = {}
        for f in self.forms:
            for tokens, _, _ in f.groups:
                seen.update(dict.fromkeys(t for t in tokens))
        ordinary = [t for t in seen if t not in set(WGSHAPES)]
        return ordinary + [t for t in WGSHAPES if t in seen]


def version(text):
    major, minor = text.split(".")
    return int(major) * 10 + int(minor)


def expand(macros, text):
    out = []
    for word in text.split(","):
        out += macros[word] if word in macros else [word]
    return list(dict.fromkeys(out))


def parse_operand(text, fail):
    optional = text.endswith("?")
    first, _, second = text.rstrip("?").partition("|")
    kind, kind2 = first[0], second[:1]
    type_ = first[1:] or "x"
    if kind not in KINDS or (second and second not in ("q", "d")):
        fail(f"operand {text!r}")
    if not (type_ in "0123wx" or type_ in (">0", ">1") or type_ in TYPE_OF):
        fail(f"type of operand {text!r}")
    return kind, kind2, type_, optional


def parse_form(macros, fields, number, fail):
    name, operands, types, space, mods, isa, sm, flags = fields
    f = Form(name, [], [], [], False, [], version(isa), int(sm), set(flags.split()), number)
    for word in f.flags - set(FLAGS):
        fail(f"flag {word!r}")
    if operands == "free":
        f.flags.add("free")
    elif operands != "-":
        f.operands = [parse_operand(o.strip(), fail) for o in operands.split(",")]
    for word in types.split() if types != "-" else []:
        names = expand(macros, word.rstrip("?"))
        for n in names:
            if n not in TYPE_OF:
                fail(f"type {n!r}")
        f.types.append((names, word.endswith("?")))
    if space != "-":
        f.space_optional = space.endswith("?")
        f.spaces = space.rstrip("?").split(",")
        for s in f.spaces:
            if s not in SPACES:
                fail(f"space {s!r}")
    for word in mods.split() if mods != "-" else []:
        bare = word.rstrip("?*")
        least, most = {"?": (0, 1), "*": (0, 99)}.get(word[len(bare):], (1, 1))
        tokens = expand(macros, bare)
        for t in tokens:
            if t in TYPE_OF and t not in ("b1", "b32") or t in SPACES or not re.fullmatch(r"[\w:]+", t):
                fail(f"modifier {t!r}")
        f.groups.append((tokens, least, most))
    return f


def parse_sreg(words, fail):
    name, type_, vec, isa = words
    if type_ not in TYPE_OF:
        fail(f"type {type_!r}")
    m = re.fullmatch(r"%([a-z]+)(\d+)((?:_\d+)?)\.\.(\d+)\3", name)
    names = [name[1:]]
    if m:
        names = [f"{m[1]}{i}{m[3]}" for i in range(int(m[2]), int(m[4]) + 1)]
    return [(n, type_, int(vec), version(isa)) for n in names]


def read(path):
    t = Table()
    t.macros["WGSHAPE"] = WGSHAPES
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.strip()

            def fail(message):
                raise TableError(f"{path}:{number}: {message}")

            if not line or line.startswith("#"):
                continue
            if line.startswith("$"):
                name, *words = line[1:].split()
                t.macros[name] = [x for w in words for x in expand(t.macros, w)]
            elif line.startswith("%"):
                t.sregs += parse_sreg(line.split(), fail)
            else:
                fields = re.split(r"\s+\|\s*", line)  # `d|q` has no blank before its bar
                if len(fields) != 8:
                    fail(f"{len(fields)} columns, 8 expected")
                t.forms.append(parse_form(t.macros, fields, number, fail))
    order = {op: i for i, op in enumerate(t.ops())}
    t.forms.sort(key=lambda x: order[x.op])
    return t


def ident(token):
    return re.sub(r"[^A-Z0-9]+", "_", token.upper())


def enumerators(prefix, tokens):
    """Enumerator of each token; spellings that differ in case only share one."""
    return {t: f"{prefix}_{ident(t)}" for t in tokens}


HEADER = "// Generated by gen/ptx_ops.py from src/ptx/ops.tab. Do not edit.\n"


def write_enums(t, out):
    out.write(HEADER + "#ifndef PTX_ENUMS_H\n#define PTX_ENUMS_H\n\n")
    for name, prefix, tokens, last in (("op", "PTX_OP", t.ops(), "PTX_OPS"),
                                       ("mod", "PTX_MOD", t.mods(), "PTX_MODS"),
                                       ("sreg", "PTX_SREG", [s[0] for s in t.sregs], "PTX_SREGS")):
        out.write(f"enum ptx_{name} {{\n    {prefix}_NONE,\n")
        for e in dict.fromkeys(enumerators(prefix, tokens).values()):
            out.write(f"    {e},\n")
        out.write(f"    {last}\n}};\n\n")
    out.write("#endif\n")


# ---- look-up tables ---------------------------------------------------------------------------------

def key8(word):
    b = word.encode()
    first = int.from_bytes(b[:8], "little")
    last = int.from_bytes(b[-8:], "little") if len(b) > 8 else 0
    return first, last


def slot_of(word, mult, shift):
    first, last = key8(word)
    h = ((first ^ (last * 31) ^ len(word)) * mult) & (2**64 - 1)
    return h >> shift


def hash_table(words):
    """Places the words so that look-up takes at most two probes: multiplier, shift, slots."""
    bits = max(4, (len(words) * 3).bit_length())
    mult = 0x9E3779B97F4A7C15
    for attempt in range(20000):
        shift = 64 - bits
        slots = [None] * (2**bits + 4)
        worst = 0
        for w in words:
            s = h = slot_of(w, mult, shift)
            while slots[s] is not None and s - h < 3:
                s += 1
            if slots[s] is not None:
                worst = 99
                break
            slots[s] = w
        if worst == 0:
            return mult, shift, slots
        mult = (mult * 6364136223846793005 + 1442695040888963407) & (2**64 - 1) | 1
        if attempt % 100 == 99:
            bits += 1
    raise TableError("no hash found")


def write_words(out, name, entries):
    """entries: word -> (kind, value, extra)"""
    mult, shift, slots = hash_table(list(entries))
    out.write(f"static const struct ptx_word {name}_slot[{len(slots)}] = {{\n")
    for i, w in enumerate(slots):
        if w is not None:
            kind, value, extra = entries[w]
            out.write(f'    [{i}] = {{"{w}", {len(w)}, {kind}, {value}, {extra}}},\n')
    out.write("};\n")
    out.write(f"const struct ptx_words {name} = {{{name}_slot, 0x{mult:x}u, {shift}}};\n\n")


def op_trie(ops):
    """Nodes of the tree of dotted names: (name so far, is an op, children)."""
    nodes = {}
    for op in ops:
        parts = op.split(".")
        for i in range(1, len(parts) + 1):
            nodes.setdefault(".".join(parts[:i]), [])
        for i in range(1, len(parts)):
            child = ".".join(parts[:i + 1])
            parent = nodes[".".join(parts[:i])]
            if child not in parent:
                parent.append(child)
    return nodes


def bitset(enums_of, tokens, words):
    masks = [0] * words
    for t in tokens:
        v = enums_of[t]
        masks[v // 64] |= 1 << (v % 64)
    return masks


def write_names(out, fn, arg, tokens, limit, dot):
    out.write(f"static const char *const {fn}_table[{limit}] = {{\n")
    done = set()
    for token, e in tokens.items():
        if e not in done:
            out.write(f'    [{e}] = "{dot}{token}",\n')
        done.add(e)
    out.write("};\n\n")
    out.write(f"const char *\n{fn}({arg} v)\n{{\n")
    out.write(f'    const char *s = (unsigned)v < {limit} ? {fn}_table[v] : NULL;\n')
    out.write('    return s ? s : "?";\n}\n\n')


def write_look_up(t, out):
    mods = enumerators("PTX_MOD", t.mods())
    ops = enumerators("PTX_OP", t.ops())
    nodes = op_trie(t.ops())
    suffix = {}
    for token in t.mods():
        suffix[token] = ("PTX_W_MOD", mods[token], 0)
    for name in nodes:
        for part in name.split(".")[1:]:
            suffix.setdefault(part, ("PTX_W_EXT", 0, 0))
    for token, e in TYPE_OF.items():
        suffix[token] = ("PTX_W_TYPE", "PTX_" + e, mods.get(token, 0))
    for token, e in SPACES.items():
        suffix[token] = ("PTX_W_SPACE", "PTX_SPACE_" + e, 0)
    for token, e in SUBSPACES.items():
        suffix[token] = ("PTX_W_SPACE", "PTX_SPACE_" + e, mods[token])
    for n in (2, 4, 8):
        suffix[f"v{n}"] = ("PTX_W_VEC", n, 0)
    write_words(out, "ptx_suffixes", suffix)

    roots = [n for n in nodes if "." not in n]
    order = roots + [c for n in nodes for c in nodes[n]]
    index = {n: i + 1 for i, n in enumerate(order)}
    write_words(out, "ptx_op_words", {n: ("PTX_W_OP", index[n], 0) for n in roots})
    out.write(f"const struct ptx_op_node ptx_op_nodes[{len(order) + 1}] = {{\n")
    for n in order:
        first = index[nodes[n][0]] if nodes[n] else 0
        part = n.split(".")[-1]
        out.write(f'    [{index[n]}] = {{"{part}", {len(part)}, {ops.get(n, 0)}, {first}, '
                  f"{len(nodes[n])}}},\n")
    out.write("};\n\n")
    write_words(out, "ptx_sreg_words",
                {s[0]: ("PTX_W_SREG", "PTX_SREG_" + ident(s[0]), s[2]) for s in t.sregs})
    write_words(out, "ptx_directive_words",
                {d: ("PTX_W_DIRECTIVE", "PTX_D_" + ident(d), 0) for d in DIRECTIVES})


def pool(items, values):
    """Index of the run `values` in the list, added if it is new."""
    for i in range(len(items) - len(values) + 1):
        if items[i:i + len(values)] == values:
            return i
    items += values
    return len(items) - len(values)


def write_forms(t, out):
    mods = enumerators("PTX_MOD", t.mods())
    number = {e: i + 1 for i, e in enumerate(dict.fromkeys(mods.values()))}
    value = {token: number[e] for token, e in mods.items()}
    words = MOD_WORDS
    sets, operands, types, groups, forms = [], [], [], [], []
    for f in t.forms:
        ops = [f"{{'{k}', '{k2 or 0}', {int(o)}, {operand_type(ty)}}}".replace("'0'", "0")
               for k, k2, ty, o in f.operands]
        tys = [(sum(1 << TYPES.index(TYPE_OF[n]) for n in names), int(opt))
               for names, opt in f.types]
        grp = [(pool(sets, [bitset(value, tokens, words)]), least, most)
               for tokens, least, most in f.groups]
        allowed = pool(sets, [bitset(value, [x for g in f.groups for x in g[0]], words)])
        space = sum(1 << ["", "", "global", "shared", "const", "local", "param"].index(s)
                    for s in f.spaces)
        if f.space_optional or not f.spaces:
            space |= 1
        flags = " | ".join("PTX_F_" + x.upper() for x in FLAGS if x in f.flags) or "0"
        forms.append((f.op, f"{{{pool(operands, ops) if ops else 0}, {len(ops)}, "
                      f"{pool(types, tys) if tys else 0}, {len(tys)}, "
                      f"{pool(groups, grp) if grp else 0}, {len(grp)}, {allowed}, 0x{space:x}, "
                      f"{f.isa}, {f.sm}, {flags}}}"))
    out.write(f"_Static_assert(PTX_MODS <= 64 * PTX_MOD_WORDS, \"enlarge PTX_MOD_WORDS\");\n")
    out.write(f"_Static_assert(PTX_MOD_WORDS == {MOD_WORDS}, \"MOD_WORDS differs\");\n")
    out.write(f"_Static_assert(PTX_TYPES == {len(TYPES)} && PTX_TYPES <= 64, \"types differ\");\n\n")
    out.write("const uint64_t ptx_mod_sets[][PTX_MOD_WORDS] = {\n")
    for s in sets:
        out.write("    {" + ", ".join(f"0x{w:x}u" for w in s) + "},\n")
    out.write("};\n\nconst struct ptx_form_operand ptx_form_operands[] = {\n")
    for o in operands:
        out.write(f"    {o},\n")
    out.write("};\n\nconst struct ptx_form_type ptx_form_types[] = {\n")
    for s, opt in types:
        out.write(f"    {{0x{s:x}u, {opt}}},\n")
    out.write("};\n\nconst struct ptx_form_group ptx_form_groups[] = {\n")
    for g in groups:
        out.write("    {%d, %d, %d},\n" % g)
    out.write("};\n\nconst struct ptx_form ptx_forms[] = {\n")
    for op, row in forms:
        out.write(f"    {row}, // {op}\n")
    out.write("};\n\n")
    write_infos(t, forms, out)


def operand_type(text):
    if text in "0123":
        return text
    if text[0] == ">":
        return f"PTX_T_WIDER + {text[1]}"
    return {"w": "PTX_T_WIDE", "x": "PTX_T_ANY"}.get(text) or f"PTX_T_FIXED + PTX_{TYPE_OF[text]}"


def write_infos(t, forms, out):
    out.write("const struct ptx_op_info ptx_op_infos[PTX_OPS] = {\n")
    for op in t.ops():
        at = [i for i, f in enumerate(forms) if f[0] == op]
        mine = [f for f in t.forms if f.op == op]
        flags = sorted(set().union(*(f.flags for f in mine)) - {"free"})
        text = " | ".join("PTX_F_" + x.upper() for x in flags) or "0"
        out.write(f"    [PTX_OP_{ident(op)}] = {{{at[0]}, {len(at)}, {min(f.isa for f in mine)}, "
                  f"{min(f.sm for f in mine)}, {text}}},\n")
    out.write("};\n\nconst struct ptx_sreg_info ptx_sreg_infos[PTX_SREGS] = {\n")
    for name, type_, vec, isa in t.sregs:
        out.write(f"    [PTX_SREG_{ident(name)}] = {{PTX_{TYPE_OF[type_]}, {vec}, {isa}}},\n")
    out.write("};\n")


def write_tables(t, out):
    out.write(HEADER + '#include "ptx/tables.h"\n\n')
    write_names(out, "ptx_op_name", "enum ptx_op", enumerators("PTX_OP", t.ops()), "PTX_OPS", "")
    write_names(out, "ptx_mod_name", "enum ptx_mod", enumerators("PTX_MOD", t.mods()), "PTX_MODS",
                ".")
    write_names(out, "ptx_sreg_name", "enum ptx_sreg",
                enumerators("PTX_SREG", [s[0] for s in t.sregs]), "PTX_SREGS", "")
    write_look_up(t, out)
    write_forms(t, out)


def main(argv):
    if len(argv) != 4 or argv[2] not in ("enums", "tables"):
        sys.exit(__doc__)
    try:
        table = read(argv[1])
        with open(argv[3], "w", encoding="utf-8") as out:
            (write_enums if argv[2] == "enums" else write_tables)(table, out)
    except TableError as e:
        sys.exit(f"ptx_ops.py: {e}")


if __name__ == "__main__":
    main(sys.argv)
