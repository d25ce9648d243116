// SPDX-License-Identifier: MIT
// libFuzzer target: any bytes as PTX text: parse, verify, link, facts of every kernel.
#include <stdint.h>
#include <stdlib.h>

#include "base/vec.h"
#include "ptx/ptx.h"

static void
inspect(struct ptx_program *p)
{
    struct ptx_func **taken = ptx_address_taken(p);
    vec_free(taken);
    for (uint32_t m = 0; m < p->nmodule; m++)
        for (uint32_t i = 0; i < p->module[m]->nfunc; i++) {
            struct ptx_func *f = p->module[m]->func[i];
            struct ptx_kernel_info info;
            if (f->is_entry && f->has_body)
                ptx_kernel_info(p, f, &info);
            for (uint32_t r = 0; r < f->nreg && r < 4; r++)
                ptx_reg_name(f, r);
        }
}

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ptx_diags d = {0};
    struct ptx_module *m = ptx_parse((const char *)data, size, "fuzz", &d);
    if (m) {
        struct ptx_program *p = ptx_link(&m, 1, true, &d);
        if (p)
            inspect(p);
        ptx_program_free(p);
    }
    ptx_diags_text(&d, &d.arena, "fuzz");
    ptx_diags_free(&d);
    return 0;
}
