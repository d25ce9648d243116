# SPDX-License-Identifier: MIT
"""cuda.tab -> exports.c: the exported functions, their descriptions for the tracer and their addresses;
and api_impl.h: prototypes of the implementations.

    exports.py source api/cuda.tab HEADER... OUT
    exports.py header api/cuda.tab OUT
"""
import sys

from proc import ordered
from tables import TableError, banner, c_string, load_calls, load_types

# How the tracer reads a value, by type.
SCALARS = {
    "int": "I32", "unsigned": "U32", "unsigned char": "U8", "unsigned short": "U16",
    "uint32_t": "U32", "cuuint32_t": "U32", "size_t": "U64", "uint64_t": "U64",
    "cuuint64_t": "U64", "unsigned long long": "U64", "float": "F32",
    "CUdeviceptr": "ADDRESS", "CUdeviceptr_v1": "ADDRESS32", "CUdevice": "I32",
    "CUtexObject": "ADDRESS", "CUsurfObject": "ADDRESS",
    "CUmemGenericAllocationHandle": "ADDRESS", "CUgraphConditionalHandle": "ADDRESS",
    "CUlogIterator": "U32", "CUuuid": "UUID",
}


def value_type(name, types):
    """(TRACE_ constant, enum name or None) of a value of that C type."""
    name = name.removeprefix("const ")
    alias = types.aliases.get(name)
    if name in SCALARS:
        return SCALARS[name], None
    if name in types.enums:
        return "ENUM", name
    if alias in types.enums:
        return "ENUM", alias
    if name in types.handles or name.endswith("*"):
        return ("STRING" if name == "const char *" or name == "char *" else "POINTER"), None
    raise TableError(f"the tracer cannot show a value of type {name}")


def param_entry(p, types):
    kind, enum = "POINTER", None
    if p.kind in ("val", "flags"):
        kind, enum = value_type(p.type, types)
    elif p.kind in ("out", "inout"):
        kind, enum = value_type(p.pointee, types)
        if kind == "STRING" and p.type != "const char **":
            raise TableError(f"{p.name}: text must be written through const char **")
    elif p.kind in ("str", "buf"):
        kind = "STRING"
    elif p.kind == "struct" and p.type not in types.structs:
        raise TableError(f"{p.name}: {p.type} is not a structure")
    ref = f"&enum_{enum}" if enum else "NULL"
    return f"{{{c_string(p.name)}, ROLE_{p.kind.upper()}, TRACE_{kind}, {ref}}}", enum


def describe(calls, types):
    """Tables for the tracer: parameters of each plain row, then one entry a symbol."""
    enums, out = set(), ""
    for c in calls:
        if c.form != "plain" or not c.params:
            continue
        out += f"static const struct trace_param params_{c.symbol}[] = {{\n"
        for p in c.params:
            entry, enum = param_entry(p, types)
            enums |= {enum} - {None}
            out += f"    {entry},\n"
        out += "};\n"
    out += "\nstatic const struct trace_call trace_calls[] = {\n"
    for c in calls:
        params = f"params_{c.plain.symbol}" if c.params else "NULL"
        out += f"    {{{c_string(c.symbol)}, {params}, {len(c.params)}}},\n"
    out += "};\n"
    head = "".join(f"extern const struct enum_info enum_{e};\n" for e in sorted(enums))
    return head + "\n" + out


def header(calls):
    """Every plain row's prototype, so that a definition that differs does not compile."""
    out = banner(["api/cuda.tab"]) + "#ifndef API_IMPL_H\n#define API_IMPL_H\n\n"
    out += '#include "polywarp/cuda.h"\n\n'
    for c in calls:
        if c.form == "plain":
            out += f"CUresult pw_{c.symbol}({', '.join(p.decl for p in c.params) or 'void'});\n"
    return out + "\n#endif\n"


def implementation(c):
    """The static function that makes the common checks and calls pw_X or stub()."""
    decl = ", ".join(p.decl for p in c.params) or "void"
    args = ", ".join(p.name for p in c.params)
    out = "\n"
    body = f"pw_{c.symbol}({args})"
    if c.status == "stub":
        decl, body = "void", f'stub("{c.symbol}")'
    out += f"static inline CUresult\ndo_{c.symbol}({decl})\n{{\n"
    if c.needs != "none":
        out += "    CUresult r = api_check();\n    if (r != CUDA_SUCCESS)\n        return r;\n"
    return out + f"    return {body};\n}}\n"


def export(index, c):
    decl = ", ".join(p.decl for p in c.params) or "void"
    args = ", ".join(p.name for p in c.params)
    call = f"do_{c.plain.symbol}({args if c.status == 'done' else ''})"
    pointers = ", ".join("&" + p.name for p in c.params)
    out = f"\nEXPORT CUresult CUDAAPI\n{c.symbol}({decl})\n{{\n"
    if c.form != "plain":
        out += "    bool outer = tls.per_thread_stream;\n    tls.per_thread_stream = true;\n"
    if c.needs == "caller":
        out += "    tls.caller = __builtin_return_address(0);\n"
    out += "    CUresult r;\n    if (log_on(LOG_API)) {\n        struct trace t;\n"
    if c.params:
        out += f"        const void *values[] = {{{pointers}}};\n"
    out += f"        trace_begin(&t, &trace_calls[{index}], {'values' if c.params else 'NULL'});\n"
    out += f"        r = trace_end(&t, {call});\n    }} else {{\n        r = {call};\n    }}\n"
    if c.form != "plain":
        out += "    tls.per_thread_stream = outer;\n"
    if c.needs == "caller":
        out += "    tls.caller = NULL;\n"
    return out + "    return r;\n}\n"


def generate(calls, types):
    out = banner(["api/cuda.tab"]) + '#include "driver/driver.h"\n#include "driver/export.h"\n'
    out += '#include "driver/proc.h"\n#include "api_impl.h"\n\n' + describe(calls, types)
    for c in calls:
        if c.form == "plain":
            out += implementation(c)
    for i, c in enumerate(calls):
        out += export(i, c)
    out += "\n// In the order of proc_table.\nvoid *const proc_address[] = {\n"
    out += "".join(f"    (void *){c.symbol},\n" for c in ordered(calls))
    return out + "};\n"


if __name__ == "__main__":
    table = load_calls(sys.argv[2])
    if sys.argv[1] == "header":
        text = header(table)
    else:
        text = generate(table, load_types(sys.argv[3:-1]))
    with open(sys.argv[-1], "w", encoding="utf-8") as f:
        f.write(text)
