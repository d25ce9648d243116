# SPDX-License-Identifier: MIT
"""options.tab -> enum option, the table of options, the page of options.

    options.py enum|table|page api/options.tab OUT
"""
import sys

from tables import banner, c_string, load_options

SOURCE = ["api/options.tab"]


def enum(options):
    out = banner(SOURCE) + "#ifndef BASE_OPTIONS_ENUM_H\n#define BASE_OPTIONS_ENUM_H\n\n"
    out += "enum option {\n" + "".join(f"    OPT_{o.name},\n" for o in options)
    return out + "    OPTIONS\n};\n\n#endif\n"


def table(options):
    out = banner(SOURCE) + '#include "base/options.h"\n\n'
    out += "const struct option_info option_table[] = {\n"
    for o in options:
        out += (f"    [OPT_{o.name}] = {{{c_string(o.env)}, {c_string(o.values)},\n"
                f"        {c_string(o.default)}, {c_string(o.help)}}},\n")
    return out + "};\n"


def page(options):
    out = "<!-- " + banner(SOURCE, "").strip() + " -->\n# Options\n\n"
    out += "Environment variables that Polywarp reads, each once, at its first use.\n\n"
    out += "| Variable | Values | Default | Meaning |\n|---|---|---|---|\n"
    for o in options:
        default = f"`{o.default}`" if o.default else ""
        out += f"| `{o.env}` | {o.values} | {default} | {o.help} |\n"
    return out


if __name__ == "__main__":
    form = {"enum": enum, "table": table, "page": page}[sys.argv[1]]
    with open(sys.argv[3], "w", encoding="utf-8") as f:
        f.write(form(load_options(sys.argv[2])))
