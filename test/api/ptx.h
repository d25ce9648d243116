// SPDX-License-Identifier: MIT
// PTX text that several API tests load.
#ifndef TEST_API_PTX_H
#define TEST_API_PTX_H

// fill(u32 *p, u32 v, u64 n), nothing(), a variable and a constant.
#define PTX_HEAD ".version 7.0\n.target sm_52\n.address_size 64\n"
#define PTX_NOTHING ".visible .entry nothing()\n{\n\tret;\n}\n"
#define PTX_FILL                                                                                                                                               \
    ".visible .entry fill(.param .u64 p, .param .u32 v, .param .u64 n)\n{\n"                                                                                   \
    "\t.reg .pred %q;\n\t.reg .b32 %r<5>;\n\t.reg .b64 %rd<5>;\n"                                                                                               \
    "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tld.param.u64 %rd2, [n];\n"                                                                          \
    "\tmov.u32 %r2, %ctaid.x;\n\tmov.u32 %r3, %ntid.x;\n\tmov.u32 %r4, %tid.x;\n\tmad.lo.u32 %r2, %r2, %r3, %r4;\n"                                             \
    "\tcvt.u64.u32 %rd3, %r2;\n\tsetp.ge.u64 %q, %rd3, %rd2;\n\t@%q bra done;\n"                                                                                \
    "\tcvta.to.global.u64 %rd1, %rd1;\n\tshl.b64 %rd4, %rd3, 2;\n\tadd.u64 %rd1, %rd1, %rd4;\n\tst.global.u32 [%rd1], %r1;\ndone:\n\tret;\n}\n"
// Reads numbers[0] plus the constant into *p.
#define PTX_READ                                                                                                                                               \
    ".visible .global .align 4 .u32 numbers[4] = {11, 22, 33, 44};\n.visible .const .align 4 .u32 offset = 1000;\n"                                              \
    ".visible .entry read(.param .u64 p)\n{\n"                                                                                                                 \
    "\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<3>;\n\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n"                                                    \
    "\tld.global.u32 %r1, [numbers];\n\tld.const.u32 %r2, [offset];\n\tadd.u32 %r3, %r1, %r2;\n\tst.global.u32 [%rd1], %r3;\n\tret;\n}\n"

#endif
