// SPDX-License-Identifier: MIT
// Commands: allocation, copies for graphs, release.
#include "backend/backend.h"

#include <stdlib.h>
#include <string.h>

// Parameters may be aligned up to this in PTX; vector loads of them rely on it.
enum { PARAM_ALIGN = 128 };

static size_t
round_up(size_t n, size_t to)
{
    return (n + to - 1) / to * to;
}

struct command *
command_new(enum command_kind kind, size_t extra)
{
    size_t head = round_up(sizeof(struct command), PARAM_ALIGN);
    size_t size = extra ? round_up(head + extra, PARAM_ALIGN) : sizeof(struct command);
    struct command *c = extra ? aligned_alloc(PARAM_ALIGN, size) : malloc(size);
    if (!c)
        abort();
    memset(c, 0, size);
    c->kind = kind;
    if (kind == CMD_LAUNCH) {
        c->launch.param_size = extra;
        c->launch.params = extra ? (char *)c + head : NULL;
    }
    return c;
}

struct command *
command_clone(const struct command *c)
{
    size_t extra = c->kind == CMD_LAUNCH ? c->launch.param_size : 0;
    struct command *n = command_new(c->kind, extra);
    void *params = n->kind == CMD_LAUNCH ? n->launch.params : NULL;
    *n = *c;
    n->next = NULL;
    if (n->kind == CMD_LAUNCH) {
        n->launch.params = params;
        if (extra)
            memcpy(params, c->launch.params, extra);
    }
    if (n->kind == CMD_SIGNAL || n->kind == CMD_WAIT)
        signal_ref(n->signal);
    if (n->kind == CMD_EXPAND)
        n->expand.keep(n->expand.user, true);
    return n;
}

void
command_free(struct command *c)
{
    if (!c)
        return;
    if (c->kind == CMD_SIGNAL || c->kind == CMD_WAIT)
        signal_unref(c->signal);
    if (c->kind == CMD_EXPAND)
        c->expand.keep(c->expand.user, false);
    free(c);
}
