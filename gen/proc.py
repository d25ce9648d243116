# SPDX-License-Identifier: MIT
"""cuda.tab -> table of forms for cuGetProcAddress, by base name, form and version.

    proc.py api/cuda.tab OUT
"""
import sys

from tables import FORMS, banner, c_string, load_calls


def ordered(calls):
    """Rows that cuGetProcAddress can give, in the table's order (byte order of the base name)."""
    return sorted((c for c in calls if c.since), key=lambda c: (c.base, FORMS.index(c.form), c.since))


def generate(calls):
    forms = ordered(calls)
    out = banner(["api/cuda.tab"]) + '#include "driver/proc.h"\n\n'
    out += "const struct proc_form proc_table[] = {\n"
    for c in forms:
        out += (f"    {{{c_string(c.base)}, {c_string(c.symbol)}, {c.since}, "
                f"{'false' if c.form == 'plain' else 'true'}}},\n")
    return out + f"}};\nconst unsigned proc_count = {len(forms)};\n"


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(generate(load_calls(sys.argv[1])))
