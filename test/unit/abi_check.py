# SPDX-License-Identifier: MIT
"""Compares include/polywarp/cuda.h with the cuda.h of an installed CUDA 13.0 toolkit: sizes, field offsets,
enumerators, constants, prototypes and the mapping of plain names to versions. Prints `N ok, N failed`.
Exits 77 where no toolkit is found. CC names the compiler (default cc).
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
CC = os.environ.get("CC", "cc").split()
VERSION = 13000

# Types of other vendors' headers, given as what they are in the ABI.
FOREIGN = {
    "GL/gl.h": "typedef unsigned GLuint, GLenum;",
    "EGL/egl.h": "typedef int EGLint; typedef void *EGLImageKHR, *EGLStreamKHR, *EGLSyncKHR;",
    "EGL/eglext.h": "",
    "vdpau/vdpau.h": "#include <stdint.h>\ntypedef uint32_t VdpDevice, VdpVideoSurface, VdpOutputSurface;\n"
                     "typedef void VdpGetProcAddress;",
}
OURS = '#include "polywarp/cuda.h"\n'
THEIRS = ("#include <cuda.h>\n#include <cudaGL.h>\n#include <cudaEGL.h>\n#include <cudaProfiler.h>\n"
          "#include <vdpau/vdpau.h>\n#include <cudaVDPAU.h>\n")
INTERNAL = ["-D__CUDA_API_VERSION_INTERNAL", "-D__CUDA_API_VERSION_INTERNAL_ODR"]

# Exported by the driver, declared in no public header.
UNDOCUMENTED = {"cuEGLApiInit"}
# Public, but of other systems.
NOT_HERE = {"cuWGLGetDevice"}


def find_toolkit():
    """Include folder of the first toolkit found, or None."""
    nvcc = shutil.which("nvcc")
    roots = [os.environ.get("CUDA_HOME"), os.environ.get("CUDA_PATH"),
             nvcc and str(Path(nvcc).resolve().parents[1]), "/usr/local/cuda"]
    for root in filter(None, roots):
        for folder in (Path(root) / "include", Path(root) / "targets/x86_64-linux/include"):
            if (folder / "cuda.h").exists():
                return folder
    return None


class Side:
    """One of the two headers: how to include it, and what it declares."""

    def __init__(self, name, include, flags, work):
        self.name, self.include, self.flags, self.work = name, include, flags, work
        self.text = self.preprocess(include)
        self.enums, self.structs, self.functions, self.typedefs = parse(self.text)
        self.macros = self.find_macros()

    def preprocess(self, source, *flags):
        r = subprocess.run([*CC, "-E", "-P", *self.flags, *flags, "-x", "c", "-"], input=source,
                           capture_output=True, text=True, check=False)
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr}")
        return r.stdout

    def find_macros(self):
        """Constants CU..., without empty macros and header guards."""
        names = re.findall(r"^#define (CU[A-Z]*_\w+) \S", self.preprocess(self.include, "-dM"), re.M)
        return {n for n in names if not n.endswith("_H")}

    def run(self, body):
        """Output lines of a program made of this header and the body of main."""
        source = self.work / f"{self.name}.c"
        source.write_text(f"#include <stdio.h>\n#include <stddef.h>\n{self.include}"
                          f"int main(void) {{\n{body}return 0; }}\n")
        program = self.work / self.name
        r = subprocess.run([*CC, "-std=gnu17", "-w", *self.flags, "-o", str(program), str(source)],
                           capture_output=True, text=True, check=False)
        if r.returncode:
            sys.exit(f"{self.name}: {r.stderr[:3000]}")
        return subprocess.run([program], capture_output=True, text=True, check=True).stdout.splitlines()


def declarations(text):
    """Top-level declarations, as one line each."""
    depth, start = 0, 0
    for i, ch in enumerate(text):
        depth += (ch in "{(") - (ch in "})")
        if ch == ";" and depth == 0:
            yield " ".join(text[start:i].split())
            start = i + 1


def members(body, prefix=""):
    """Paths of all fields of a structure's body."""
    for d in declarations(body):
        m = re.fullmatch(r"(?:struct|union)(?: \w+)? ?\{(.*)\} ?(\w*)", d)
        if m:
            path = prefix + m[2] + "." if m[2] else prefix
            if m[2]:
                yield prefix + m[2]
            yield from members(m[1], path)
            continue
        for declarator in d.split(","):
            m = re.search(r"(\w+)(?: ?\[[^\]]*\])*$", declarator.strip())
            yield prefix + m[1]


def parse(text):
    """(enumerators, structure -> fields, function -> parameter types, other typedefs)."""
    enums, structs, functions, typedefs = set(), {}, {}, set()
    text = re.sub(r"__attribute__ ?\(\([^()]*\)\)|static inline.*?\n?\{.*?\n\}", "", text, flags=re.S)
    for d in declarations(text):
        if m := re.fullmatch(r"typedef enum(?: \w+)? ?\{(.*)\} ?(\w+)", d):
            enums |= set(re.findall(r"(?:^|,) ?(\w+)", m[1]))
            typedefs.add(m[2])
        elif m := re.fullmatch(r"typedef (?:struct|union)(?: \w+)? ?\{(.*)\} ?([\w, ]+)", d):
            for name in re.findall(r"\bCU\w+", m[2]):
                structs[name] = list(members(m[1]))
        elif m := re.fullmatch(r"(?:extern )?CUresult (cu\w+) ?\((.*)\)", d):
            functions[m[1]] = [parameter_type(p) for p in m[2].split(",")]
        elif m := re.fullmatch(r"extern __typeof__ ?\((\w+)\) (cu\w+)", d):
            functions[m[2]] = functions[m[1]]
        elif d.startswith("typedef") and (m := re.search(r"\( ?\*(CU\w+)\)", d)):
            typedefs.add(m[1])
        elif m := re.fullmatch(r"typedef .*?((?:\*? ?CU\w+(?:, ?)?)+)", d):
            typedefs |= {t for t in re.findall(r"CU\w+", m[1]) if not t.endswith("_st")}
    return enums, structs, functions, typedefs


def parameter_type(text):
    text = text.strip()
    return text if text == "void" else re.sub(r"\w+$", "", text).strip()


class Report:
    def __init__(self):
        self.ok = self.failed = 0

    def check(self, good, message):
        self.ok += good
        self.failed += not good
        if not good:
            print(f"failed: {message}")

    def names(self, what, ours, theirs):
        for name in sorted(theirs - ours):
            self.check(False, f"{what} {name} is missing in our header")
        for name in sorted(ours - theirs):
            self.check(False, f"{what} {name} is not in the toolkit's header")


def compare_layout(report, ours, theirs):
    """Names of all kinds, then values, sizes and offsets of what both have."""
    skip = UNDOCUMENTED | NOT_HERE
    report.names("enumerator", ours.enums, theirs.enums)
    report.names("constant", ours.macros, theirs.macros)
    report.names("function", set(ours.functions) - skip, set(theirs.functions) - skip)
    types = [side.typedefs | set(side.structs) for side in (ours, theirs)]
    report.names("type", *types)
    common = types[0] & types[1]
    body = ""
    for e in sorted(ours.enums & theirs.enums | ours.macros & theirs.macros):
        body += f'printf("{e} = %lld\\n", (long long)({e}));\n'
    for t in sorted(common):
        body += f'printf("sizeof({t}) = %zu, aligned %zu\\n", sizeof({t}), _Alignof({t}));\n'
    for t in sorted(common & set(ours.structs)):
        mine = set(ours.structs[t])
        other = set(theirs.structs.get(t, mine))  # an alias there has its fields checked by the first name
        report.names(f"field of {t}:", mine, other)
        for f in sorted(mine & other):
            body += (f'printf("{t}.{f} at %zu, %zu bytes\\n", offsetof({t}, {f}), '
                     f"sizeof((({t} *)0)->{f}));\n")
    for mine, other in zip(ours.run(body), theirs.run(body), strict=True):
        report.check(mine == other, f"ours: {mine}; toolkit's: {other}")


def compare_prototypes(report, ours, theirs):
    """Our parameter types, read with the toolkit's typedefs, against its declarations."""
    names = sorted(set(ours.functions) & set(theirs.functions))
    source = "".join(f"#undef {n}\n" for n in names)
    for n in names:
        proto = f"CUresult({', '.join(ours.functions[n])})"
        source += f'printf("%d {n}\\n", __builtin_types_compatible_p(__typeof__({n}), {proto}));\n'
    for line in theirs.run(source):
        good, name = line.split()
        report.check(good == "1", f"{name}({', '.join(ours.functions[name])}) differs in type from "
                     f"({', '.join(theirs.functions[name])})")


def compare_renames(report, ours, theirs):
    """What each plain name means to a program, with either kind of default stream."""
    names = sorted(set(ours.functions) & set(theirs.functions))
    text = "".join(f"marker_{i} {n}\n" for i, n in enumerate(names))
    for flags in ([], ["-DCUDA_API_PER_THREAD_DEFAULT_STREAM"]):
        got = []
        for side in (ours, theirs):
            saved, side.flags = side.flags, [f for f in side.flags
                                             if f not in INTERNAL + ["-DPOLYWARP_NO_RENAME"]]
            got.append(dict(re.findall(r"marker_(\d+) (\w+)", side.preprocess(side.include + text, *flags))))
            side.flags = saved
        for i, n in enumerate(names):
            a, b = got[0][str(i)], got[1][str(i)]
            report.check(a == b, f"{n} {' '.join(flags)}: ours is {a}, toolkit's is {b}")


def main():
    toolkit = find_toolkit()
    if not toolkit:
        print("skipped: no CUDA toolkit (CUDA_HOME, CUDA_PATH, nvcc, /usr/local/cuda)")
        return 77
    found = re.search(r"^#define CUDA_VERSION (\d+)", (toolkit / "cuda.h").read_text(), re.M)
    if not found or int(found[1]) != VERSION:
        print(f"skipped: {toolkit} is CUDA {found and found[1]}, the ABI described is {VERSION}")
        return 77
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        for name, text in FOREIGN.items():
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text(text)
        ours = Side("ours", OURS, [f"-I{ROOT}/include", "-DPOLYWARP_NO_RENAME"], work)
        theirs = Side("toolkit", THEIRS, [f"-I{work}", f"-I{toolkit}", *INTERNAL], work)
        report = Report()
        compare_layout(report, ours, theirs)
        compare_prototypes(report, ours, theirs)
        compare_renames(report, ours, theirs)
    print(f"abi_check: {report.ok} ok, {report.failed} failed")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
