// SPDX-License-Identifier: MIT
// Functions that every device has and no PTX defines.
#include <string.h>

#include "emit/core.h"

// arg and ret: l i64, i i32, v void.
static const struct builtin {
    const char *name, *pw;
    char ret;
    const char *arg;
    bool noreturn;
} builtins[] = {
    {"vprintf", "vprintf", 'i', "ll", false},
    {"malloc", "malloc", 'l', "l", false},
    {"free", "free", 'v', "l", false},
    {"__assertfail", "assertfail", 'v', "llill", true},
};

static LLVMTypeRef
letter_type(struct emitter *e, char c)
{
    return c == 'l' ? e->i64 : c == 'i' ? e->i32 : e->void_;
}

static bool
call_one(struct emitter *e, const struct ptx_inst *i, const struct builtin *b)
{
    LLVMValueRef arg[8];
    unsigned n = (unsigned)strlen(b->arg);
    if (i->call->narg != n)
        return em_refuse(e, i, "passes %u arguments to '%s', which takes %u", i->call->narg,
                         b->name, n);
    for (unsigned k = 0; k < n; k++)
        arg[k] = em_call_arg(e, i, k, letter_type(e, b->arg[k]));
    LLVMValueRef v = em_pw(e, b->pw, letter_type(e, b->ret), arg, n);
    if (b->noreturn)
        em_unreachable(e);
    else if (b->ret != 'v')
        em_call_result(e, i, 0, v);
    return true;
}

bool
em_call_builtin(struct emitter *e, const struct ptx_inst *i, const char *name)
{
    for (size_t k = 0; k < sizeof builtins / sizeof *builtins; k++)
        if (!strcmp(builtins[k].name, name))
            return call_one(e, i, &builtins[k]);
    return em_refuse(e, i, "of '%s', which is not defined", name);
}
