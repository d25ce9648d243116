// SPDX-License-Identifier: MIT
// Linking: modules that see each other's .visible, .weak and .common names. Sets ptx_sym.def.
//
// A strong definition (.visible) wins over .weak and .common; of several .weak ones the first is
// taken, of several .common ones the largest; two strong ones are an error. An .extern .shared
// array stands for itself: it is dynamic shared memory.
#include "ptx/ptx.h"

#include <stdlib.h>
#include <string.h>

static bool
defines(const struct ptx_sym *s)
{
    if (s->kind == PTX_SYM_FUNC)
        return s->func->has_body;
    return s->kind == PTX_SYM_VAR && s->linkage != PTX_EXTERN;
}

static bool
linkable(const struct ptx_sym *s)
{
    if (s->kind == PTX_SYM_FUNC && s->func->is_entry)
        return s->func->has_body;
    return s->linkage != PTX_STATIC && defines(s);
}

static int
strength(const struct ptx_sym *s)
{
    return s->linkage == PTX_COMMON ? 0 : s->linkage == PTX_WEAK ? 1 : 2;
}

static void
add_definition(struct ptx_program *p, struct ptx_sym *s, struct ptx_diags *d)
{
    struct ptx_sym *old = strmap_get(&p->sym, s->name);
    if (old == s || !linkable(s))
        return;
    if (!old) {
        strmap_put(&p->sym, s->name, s);
        return;
    }
    int was = strength(old), is = strength(s);
    if (old->kind != s->kind || (was == 2 && is == 2))
        ptx_diag_add(d, true, s->line, 1, "multiple definition of '%s' (first in %s, line %d)",
                     s->name, old->module->name, old->line);
    else if (is > was || (is == 0 && was == 0 && s->var->size > old->var->size))
        strmap_put(&p->sym, s->name, s);
}

// A name that this module uses but does not define, or whose definition gave way to another
// module's.
static void
resolve(struct ptx_program *p, struct ptx_sym *s, bool allow_undefined, struct ptx_diags *d)
{
    s->def = s;
    if (s->linkage == PTX_STATIC && defines(s))
        return;
    struct ptx_sym *found = strmap_get(&p->sym, s->name);
    if (found && found->kind == s->kind) {
        s->def = found;
        return;
    }
    if (defines(s) || (s->kind == PTX_SYM_VAR && s->var->space == PTX_SPACE_SHARED))
        return;
    s->def = NULL;
    if (!allow_undefined && !ptx_is_builtin(s->name))
        ptx_diag_add(d, true, s->line, 1, "undefined reference to '%s'", s->name);
}

static void
each_symbol(struct ptx_module *m, struct ptx_program *p, bool resolving, bool allow_undefined,
            struct ptx_diags *d)
{
    for (uint32_t i = 0; i < m->nfunc + m->nvar; i++) {
        struct ptx_sym *s = i < m->nfunc ? m->func[i]->sym : m->var[i - m->nfunc]->sym;
        if (resolving)
            resolve(p, s, allow_undefined, d);
        else
            add_definition(p, s, d);
    }
}

struct ptx_program *
ptx_link(struct ptx_module **m, uint32_t n, bool allow_undefined, struct ptx_diags *d)
{
    struct ptx_program *p = calloc(1, sizeof *p);
    struct ptx_module **list = calloc(n ? n : 1, sizeof(struct ptx_module *));
    if (!p || !list)
        abort();
    p->module = memcpy(list, m, n * sizeof *list);
    p->nmodule = n;
    unsigned before = d->errors;
    for (uint32_t i = 0; i < n; i++)
        each_symbol(m[i], p, false, allow_undefined, d);
    for (uint32_t i = 0; i < n; i++)
        each_symbol(m[i], p, true, allow_undefined, d);
    if (d->errors == before)
        return p;
    ptx_program_free(p);
    return NULL;
}

void
ptx_program_free(struct ptx_program *p)
{
    if (!p)
        return;
    for (uint32_t i = 0; i < p->nmodule; i++)
        ptx_module_free(p->module[i]);
    strmap_free(&p->sym);
    free(p->module);
    free(p);
}

bool
ptx_is_builtin(const char *name)
{
    static const char *const whole[] = {"vprintf",       "malloc", "free",  "__assertfail",
                                        "__assert_fail", "memcpy", "memset"};
    for (size_t i = 0; i < sizeof whole / sizeof *whole; i++)
        if (!strcmp(name, whole[i]))
            return true;
    return !strncmp(name, "__cuda_syscall_", 15) || !strncmp(name, "cnp", 3) ||
           !strncmp(name, "__nvvm_", 7) || !strncmp(name, "cudaCDP", 7) ||
           !strncmp(name, "cudaGraph", 9) ||
           !strncmp(name, "__cudaCDP", 9) || !strncmp(name, "__nv_", 5);
}

struct ptx_func *
ptx_find_kernel(const struct ptx_program *p, const char *name)
{
    struct ptx_sym *s = strmap_get(&p->sym, name);
    return s && s->kind == PTX_SYM_FUNC && s->func->is_entry ? s->func : NULL;
}

struct ptx_var *
ptx_find_var(const struct ptx_program *p, const char *name)
{
    struct ptx_sym *s = strmap_get(&p->sym, name);
    if (!s || s->kind != PTX_SYM_VAR)
        return NULL;
    return s->var->space == PTX_SPACE_GLOBAL || s->var->space == PTX_SPACE_CONST ? s->var : NULL;
}
