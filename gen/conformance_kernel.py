# SPDX-License-Identifier: MIT
"""A kernel of the conformance suite: reads its operands from a row of 64-bit words, writes a row of 64-bit words."""
import re
from dataclasses import dataclass, field

# Bits of a type in a register; the 8-bit ones live in 32-bit registers, with rubbish above.
WIDTH = {"pred": 1, "vote": 1, "b8": 8}
WIDTH.update(dict.fromkeys("b16 u16 s16 f16 bf16 e4m3x2 e5m2x2 ue8m0x2".split(), 16))
WIDTH.update(dict.fromkeys("b64 u64 s64 f64 few64 same64 m_f64".split(), 64))
BLOCK = 128  # threads of a block; the runner pads all case counts to a multiple of 256


def width(type_):
    return WIDTH.get(type_, 32)


def mangle(text):
    return re.sub(r"_+", "_", re.sub(r"[^A-Za-z0-9]+", "_", text)).strip("_")


@dataclass
class Kernel:
    """`inputs`: types (or roles: shift, lane, small, sel, vote, few, same, m_; test/ptx/inputs.c has them) of the operands, one word each, in
    registers %a0...; `outputs`: types of the results, in registers %d0... of the same width. `cases`: (edge cases at most, random cases).
    `approx`: key into bounds.tab, or none."""
    name: str
    body: list
    inputs: list
    outputs: list
    regs: list = field(default_factory=list)  # further declarations
    globals: list = field(default_factory=list)  # module-scope declarations, named after the kernel
    cases: tuple = (4096, 1024)
    approx: str = "-"
    origin: int = 0  # line of ops.tab

    def manifest(self, module):
        return " ".join([self.name, module, str(self.cases[0]), str(self.cases[1]), self.approx,
                         ",".join(self.inputs) or "-", ",".join(self.outputs)])

    def load(self, k):
        w = width(self.inputs[k])
        if w == 1:
            return [f"ld.global.b32 %t, [%in + {8 * k}];", f"setp.ne.s32 %a{k}, %t, 0;"]
        return [f"ld.global.b{w} %a{k}, [%in + {8 * k}];"]

    def store(self, k):
        w = width(self.outputs[k])
        if w == 1:
            return [f"selp.b32 %t, 1, 0, %d{k};", f"st.global.b32 [%out + {8 * k}], %t;"]
        return [f"st.global.b{w} [%out + {8 * k}], %d{k};"]

    def text(self):
        lines = list(self.globals)
        lines += [f".visible .entry {self.name}(.param .u64 p_in, .param .u64 p_out)", "{"]
        lines += [".reg .b32 %t, %case, %thread;", ".reg .b64 %in, %out, %step;"]
        for letter, types in (("a", self.inputs), ("d", self.outputs)):
            for k, t in enumerate(types):
                w = width(t)
                lines.append(f".reg .{'pred' if w == 1 else f'b{w}'} %{letter}{k};")
        lines += self.regs
        lines += ["ld.param.u64 %in, [p_in];", "ld.param.u64 %out, [p_out];", "cvta.to.global.u64 %in, %in;",
                  "cvta.to.global.u64 %out, %out;", "mov.u32 %thread, %tid.x;", "mov.u32 %case, %ctaid.x;",
                  f"mad.lo.u32 %case, %case, {BLOCK}, %thread;",
                  f"mul.wide.u32 %step, %case, {8 * len(self.inputs)};", "add.u64 %in, %in, %step;",
                  f"mul.wide.u32 %step, %case, {8 * len(self.outputs)};", "add.u64 %out, %out, %step;"]
        for k in range(len(self.inputs)):
            lines += self.load(k)
        lines += self.body
        for k in range(len(self.outputs)):
            lines += self.store(k)
        return "\n".join(lines + ["ret;", "}", ""])
