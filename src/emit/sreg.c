// SPDX-License-Identifier: MIT
// Special registers.
#include <stdio.h>
#include <string.h>

#include "emit/core.h"

static const char *const wide[] = {"gridid", "clock64", "globaltimer", "current_graph_exec"};
// Performance counters: nothing here counts what they count.
static const char *const refused[] = {"pm"};

static bool
listed(const char *const *list, size_t n, const char *name, bool prefix)
{
    for (size_t k = 0; k < n; k++)
        if (prefix ? !strncmp(name, list[k], strlen(list[k])) : !strcmp(name, list[k]))
            return true;
    return false;
}

LLVMValueRef
em_sreg(struct emitter *e, const struct ptx_inst *i, unsigned sreg, unsigned comp)
{
    const char *name = ptx_sreg_name(sreg);
    char full[64];
    if (!strcmp(name, "warpsz"))
        return em_int(e, e->i32, 32);
    if (comp == 4) // the fourth component is always 0
        return em_int(e, e->i32, 0);
    if (listed(refused, sizeof refused / sizeof *refused, name, true)) {
        em_refuse(e, i, "reads %%%s, which is not supported", name);
        return em_int(e, e->i32, 0);
    }
    LLVMTypeRef t = listed(wide, sizeof wide / sizeof *wide, name, false) ? e->i64 : e->i32;
    if (comp)
        snprintf(full, sizeof full, "sreg.%s.%c", name, "xyzw"[comp - 1]);
    else
        snprintf(full, sizeof full, "sreg.%s", name);
    return em_pw(e, full, t, NULL, 0);
}
