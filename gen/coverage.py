# SPDX-License-Identifier: MIT
"""cuda.tab -> page that says which calls of the driver API are there.

    coverage.py api/cuda.tab OUT
"""
import sys

from tables import banner, load_calls


def bases(calls):
    """base name -> its plain rows."""
    groups = {}
    for c in calls:
        if c.form == "plain":
            groups.setdefault(c.base, []).append(c)
    return groups


def version(since):
    return f"{since // 1000}.{since % 1000 // 10}" if since else "-"


def generate(calls):
    groups = bases(calls)
    done = sum(c.status == "done" for c in calls)
    whole = sum(all(c.status == "done" for c in g) for g in groups.values())
    out = "<!-- " + banner(["api/cuda.tab"], "").strip() + " -->\n# Coverage of the CUDA driver API\n\n"
    out += (f"{done} of {len(calls)} exported symbols are implemented ({100 * done // len(calls)} %); "
            f"{whole} of {len(groups)} calls in every version. A call that is not there names itself "
            "once in the log and returns CUDA_ERROR_NOT_SUPPORTED.\n\n")
    out += "| Call | Forms (CUDA version) | State |\n|---|---|---|\n"
    for base, group in sorted(groups.items()):
        forms = ", ".join(f"{c.symbol[len(base):].lstrip('_') or 'v1'} ({version(c.since)})"
                          for c in group)
        have = [c for c in group if c.status == "done"]
        state = "done" if len(have) == len(group) else "stub" if not have else "in part: " + ", ".join(
            c.symbol for c in have)
        out += f"| {base} | {forms} | {state} |\n"
    return out


if __name__ == "__main__":
    with open(sys.argv[2], "w", encoding="utf-8") as f:
        f.write(generate(load_calls(sys.argv[1])))
