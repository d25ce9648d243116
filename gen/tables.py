# SPDX-License-Identifier: MIT
"""Readers of the data under api/ and of our CUDA headers. Each row is checked; an error names file and line."""
import re
from dataclasses import dataclass, field

KINDS = ("val", "flags", "str", "buf", "in", "out", "inout", "ptr", "fn", "struct")
FORMS = ("plain", "ptds", "ptsz")


class TableError(Exception):
    pass


def rows(path, columns):
    """Yields (line number, fields) of a table with `|` between columns and # comments."""
    with open(path, encoding="utf-8") as f:
        for number, line in enumerate(f, 1):
            line = line.rstrip("\n")
            if not line.strip() or line.startswith("#"):
                continue
            fields = [c.strip() for c in line.split("|")]
            require(len(fields) == columns, path, number,
                    f"{len(fields)} columns, {columns} expected")
            yield number, fields


def require(condition, path, number, message):
    if not condition:
        raise TableError(f"{path}:{number}: {message}")


@dataclass
class Param:
    kind: str
    type: str
    name: str

    @property
    def decl(self):
        return self.type + ("" if self.type.endswith("*") else " ") + self.name

    @property
    def pointee(self):
        """Type that the parameter points to, without const."""
        return re.sub(r"^const ", "", self.type.rsplit("*", 1)[0].strip())


@dataclass
class Call:
    symbol: str
    base: str
    since: int
    form: str
    status: str
    needs: str
    params: list = field(default_factory=list)
    plain: "Call" = None  # the row whose implementation this one shares; itself for a plain row

    @property
    def version(self):
        """Number in the symbol's _vN suffix, 1 without one."""
        m = re.search(r"_v(\d+)$", self.plain.symbol)
        return int(m[1]) if m and self.plain.symbol != self.base else 1


def parse_param(text):
    """One parameter of cuda.tab, or None."""
    words = text.split(None, 1)
    kind = words[0] if len(words) == 2 and words[0] in KINDS else "val"
    rest = words[1] if kind != "val" else text
    m = re.fullmatch(r"((?:const )?[A-Za-z_][A-Za-z0-9_ ]*?(?: ?\*+)?)\s?\b([A-Za-z_]\w*)", rest)
    if not m:
        return None
    p = Param(kind, m[1].strip(), m[2])
    pointer = p.type.endswith("*")
    if kind in ("str", "buf", "in", "out", "inout", "ptr") and not pointer:
        return None
    if kind in ("val", "flags", "fn", "struct") and pointer:
        return None
    return p


def load_calls(path):
    calls, by_symbol = [], {}
    for n, (symbol, base, since, form, status, needs, params) in rows(path, 7):
        require(re.fullmatch(r"cu[A-Z]\w*", symbol), path, n, f"bad symbol {symbol}")
        require(symbol not in by_symbol, path, n, f"{symbol} given twice")
        require(since.isdigit(), path, n, f"bad version {since}")
        require(form in FORMS, path, n, f"bad form {form}")
        require(status in ("done", "stub"), path, n, f"bad status {status}")
        require(needs in ("none", "init", "caller"), path, n, f"bad needs {needs}")
        suffix = "" if form == "plain" else "_" + form
        require(re.fullmatch(re.escape(base) + r"(_v\d+)?" + suffix, symbol), path, n,
                f"{symbol} is not a {form} form of {base}")
        call = Call(symbol, base, int(since), form, status, needs)
        if form == "plain":
            call.plain = call
            for text in params.split(",") if params else []:
                p = parse_param(text.strip())
                require(p, path, n, f"bad parameter `{text.strip()}`")
                call.params.append(p)
        else:
            require(params == "=", path, n, "parameters of a per-thread form must be `=`")
            plain = by_symbol.get(symbol[:-5])
            require(plain, path, n, f"{symbol[:-5]} must come before {symbol}")
            require((plain.status, plain.needs) == (status, needs), path, n,
                    f"status or needs differ from {plain.symbol}")
            call.plain, call.params = plain, plain.params
        by_symbol[symbol] = call
        calls.append(call)
    check_versions(path, calls)
    return calls


def check_versions(path, calls):
    """A later form of a call must come with a later CUDA version."""
    groups = {}
    for c in calls:
        if c.since:
            groups.setdefault((c.base, c.form), []).append(c)
    for (base, form), group in groups.items():
        group.sort(key=lambda c: c.version)
        since = [c.since for c in group]
        require(since == sorted(set(since)), path, 0, f"versions of {base} {form}: {since}")


@dataclass
class Option:
    name: str
    env: str
    values: str
    default: str
    help: str


def load_options(path):
    options = []
    for n, fields in rows(path, 5):
        o = Option(*fields)
        require(re.fullmatch(r"[A-Z][A-Z0-9_]*", o.name), path, n, f"bad name {o.name}")
        require(o.env == "POLYWARP_" + o.name, path, n, f"{o.env} should be POLYWARP_{o.name}")
        require(o.help, path, n, "no help")
        require(o.name not in [p.name for p in options], path, n, f"{o.name} given twice")
        options.append(o)
    return options


def strip_comments(text):
    return re.sub(r"//[^\n]*|/\*.*?\*/", "", text, flags=re.S)


@dataclass
class Types:
    enums: dict    # name -> list of (enumerator, value)
    handles: set   # opaque pointers
    aliases: dict  # typedef name -> type that it stands for
    structs: set


def load_types(paths):
    """Typedefs of our own headers: only the plain style in which they are written is understood."""
    t = Types({}, set(), {}, set())
    for path in paths:
        with open(path, encoding="utf-8") as f:
            text = strip_comments(f.read())
        for m in re.finditer(r"typedef enum(?: \w+)? \{(.*?)\} (\w+);", text, re.S):
            t.enums[m[2]] = [parse_enumerator(path, e) for e in m[1].split(",") if e.strip()]
        for m in re.finditer(r"typedef struct \w+ \*(\w+);", text):
            t.handles.add(m[1])
        for m in re.finditer(r"^\} ?(CU[\w,\s]*);", text, re.M):
            t.structs.update(n.strip() for n in m[1].split(","))
        for m in re.finditer(r"^typedef ((?:unsigned |long )*\w+) ([\w, ]+);", text, re.M):
            for name in m[2].split(","):
                t.aliases[name.strip()] = m[1]
    t.structs -= set(t.enums)
    return t


def parse_enumerator(path, text):
    m = re.fullmatch(r"\s*(\w+) = (-?(?:0x)?[0-9a-f]+)\s*", text)
    require(m, path, 0, f"enumerator `{text.strip()}` needs a plain value")
    return m[1], int(m[2], 0)


def load_errors(path, types):
    """(name, value, text) of each result, by value; covers CUresult exactly."""
    values = dict(types.enums["CUresult"])
    errors = []
    for n, (name, text) in rows(path, 2):
        require(name in values, path, n, f"{name} is not a CUresult")
        require(text, path, n, "no text")
        errors.append((name, values.pop(name), text))
    require(not values, path, 0, f"missing: {', '.join(values)}")
    return sorted(errors, key=lambda e: e[1])


def c_string(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def banner(sources, comment="//"):
    return f"{comment} Generated from {', '.join(sources)}. Do not edit.\n"
