// SPDX-License-Identifier: MIT
// Messages of the parser, verifier and linker.
#include "ptx/ptx.h"

#include <stdio.h>
#include <string.h>

#include "base/vec.h"

// More errors than this are counted but not kept.
enum { MAX_ERRORS = 20, MAX_MESSAGES = 60 };

void
ptx_diag_add(struct ptx_diags *d, bool error, int line, int col, const char *fmt, ...)
{
    d->errors += error;
    if (vec_len(d->list) >= MAX_MESSAGES || (error && d->errors > MAX_ERRORS))
        return;
    va_list ap;
    va_start(ap, fmt);
    struct ptx_diag m = {.line = line, .col = col, .error = error};
    m.text = arena_vprintf(&d->arena, fmt, ap);
    va_end(ap);
    vec_push(d->list, m);
}

const char *
ptx_diags_text(struct ptx_diags *d, struct arena *a, const char *name)
{
    char *text = arena_strndup(a, "", 0);
    for (size_t i = 0; i < vec_len(d->list); i++) {
        const struct ptx_diag *m = &d->list[i];
        const char *kind = m->error ? "error" : "warning";
        text = m->line ? arena_printf(a, "%s%s:%d:%d: %s: %s\n", text, name, m->line, m->col, kind,
                                      m->text)
                       : arena_printf(a, "%s%s: %s: %s\n", text, name, kind, m->text);
    }
    if (d->errors > MAX_ERRORS)
        text = arena_printf(a, "%s%s: %u errors in all\n", text, name, d->errors);
    return text;
}

void
ptx_diags_free(struct ptx_diags *d)
{
    vec_free(d->list);
    arena_free(&d->arena);
    d->errors = 0;
}
