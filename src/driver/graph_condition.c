// SPDX-License-Identifier: MIT
// Conditional nodes. A handle is the address of the condition's value, a word that kernels set. When
// a queue comes to the node, the commands of the body that the value chooses are put in its place.
#include "driver/graph.h"
#include "api_impl.h"

#include <stdlib.h>
#include <string.h>

struct condition {
    atomic_uint refs;
    uint32_t *value; // in memory that kernels reach
    uint32_t first;  // value at the start of each launch
    bool assign;     // if this is set
    bool claimed;    // by a node; guarded by graph_lock
    struct context *ctx;
    uint64_t graph_id; // of the graph that it was made for
};

// Handles that are alive -> struct condition; guarded by graph_lock.
static struct intmap handles;

static CUgraphConditionalHandle
handle_of(const struct condition *c)
{
    return (CUgraphConditionalHandle)(uintptr_t)c->value;
}

struct condition *
condition_ref(struct condition *c)
{
    atomic_fetch_add(&c->refs, 1);
    return c;
}

// The word goes with its context's scope, if that is gone already.
void
condition_unref(struct condition *c)
{
    if (!c || atomic_fetch_sub(&c->refs, 1) != 1)
        return;
    if (c->ctx->alive)
        c->ctx->dev->be->free(c->ctx->scope, MEM_HOST, c->value, sizeof *c->value);
    ctx_unref(c->ctx);
    free(c);
}

void
condition_retire(struct condition *c)
{
    intmap_del(&handles, (uintptr_t)c->value);
    condition_unref(c);
}

CUresult
pw_cuGraphConditionalHandleCreate(CUgraphConditionalHandle *out, CUgraph graph, CUcontext ctx,
                                  unsigned first, unsigned flags)
{
    struct context *c;
    CUresult r = ctx ? ctx_from_handle(ctx, &c) : fail(CUDA_ERROR_INVALID_CONTEXT, "ctx is NULL");
    if (r)
        return r;
    if (!out || flags & ~(unsigned)CU_GRAPH_COND_ASSIGN_DEFAULT)
        return fail(CUDA_ERROR_INVALID_VALUE, "pHandle_out %p, flags 0x%x", (void *)out, flags);
    GRAPH_LOCKED();
    struct graph *g = graph_get(graph);
    if (!g)
        return fail(CUDA_ERROR_INVALID_VALUE, "%p is not a graph", (void *)graph);
    void *word;
    int e = c->dev->be->alloc(c->scope, MEM_HOST, sizeof(uint32_t), &word);
    struct condition *n = e ? NULL : calloc(1, sizeof *n);
    if (!n)
        return fail(e ? (CUresult)e : CUDA_ERROR_OUT_OF_MEMORY, "no memory for a condition");
    atomic_init(&n->refs, 1);
    n->value = word;
    *n->value = n->first = first;
    n->assign = flags & CU_GRAPH_COND_ASSIGN_DEFAULT;
    n->ctx = c;
    ctx_ref(c);
    n->graph_id = g->obj.id;
    vec_push(g->conditions, n);
    intmap_put(&handles, (uintptr_t)word, n);
    *out = handle_of(n);
    return CUDA_SUCCESS;
}

// ---- nodes ----------------------------------------------------------------
static unsigned
most_bodies(CUgraphConditionalNodeType type)
{
    switch (type) {
    case CU_GRAPH_COND_TYPE_IF:
        return 2;
    case CU_GRAPH_COND_TYPE_WHILE:
        return 1;
    case CU_GRAPH_COND_TYPE_SWITCH:
        return UINT_MAX;
    }
    return 0;
}

CUresult
condition_node(CUDA_CONDITIONAL_NODE_PARAMS *p, struct work *w)
{
    if (!p->size || p->size > most_bodies(p->type))
        return fail(CUDA_ERROR_INVALID_VALUE, "condition of type %d with %u bodies", (int)p->type,
                    p->size);
    GRAPH_LOCKED();
    struct condition *c = intmap_get(&handles, (uintptr_t)p->handle);
    if (!c)
        return fail(CUDA_ERROR_INVALID_VALUE, "0x%llx is not the handle of a condition",
                    (unsigned long long)p->handle);
    w->ctx = c->ctx;
    w->condition = condition_ref(c);
    for (unsigned i = 0; i < p->size; i++)
        vec_push(w->children, graph_new());
    p->phGraph_out = (CUgraph *)w->children;
    w->params.conditional.phGraph_out = p->phGraph_out;
    return CUDA_SUCCESS;
}

CUresult
condition_claim(struct graph *g, struct work *w)
{
    struct condition *c = w->condition;
    const struct graph *at = g;
    while (at->obj.id != c->graph_id && at->owner)
        at = at->owner->graph;
    if (at->obj.id != c->graph_id || c->claimed)
        return fail(CUDA_ERROR_INVALID_VALUE, "the handle is %s",
                    c->claimed ? "of another node" : "of another graph");
    c->claimed = true;
    return CUDA_SUCCESS;
}

bool
condition_forbids(CUgraphNodeType t)
{
    switch (t) {
    case CU_GRAPH_NODE_TYPE_KERNEL:
    case CU_GRAPH_NODE_TYPE_EMPTY:
    case CU_GRAPH_NODE_TYPE_GRAPH:
    case CU_GRAPH_NODE_TYPE_MEMSET:
    case CU_GRAPH_NODE_TYPE_MEMCPY:
    case CU_GRAPH_NODE_TYPE_CONDITIONAL:
        return false;
    default:
        return true;
    }
}

// ---- launches -------------------------------------------------------------
struct command *
condition_reset(const struct condition *c)
{
    if (!c->assign)
        return NULL;
    struct command *w = command_new(CMD_VALUE_WRITE, 0);
    w->value.addr = c->value;
    w->value.value = c->first;
    w->value.bytes = sizeof *c->value;
    return w;
}

// A node of one launch. Shared by the command and its copies, unchanged once made.
struct choice {
    atomic_uint refs;
    struct condition *condition;
    CUgraphConditionalNodeType type;
    struct command ***body; // nbody vecs
    unsigned nbody;
};

static void
choice_keep(void *user, bool more)
{
    struct choice *n = user;
    if (more) {
        atomic_fetch_add(&n->refs, 1);
        return;
    }
    if (atomic_fetch_sub(&n->refs, 1) != 1)
        return;
    for (unsigned i = 0; i < n->nbody; i++) {
        for (size_t k = 0; k < vec_len(n->body[i]); k++)
            command_free(n->body[i][k]);
        vec_free(n->body[i]);
    }
    free(n->body);
    condition_unref(n->condition);
    free(n);
}

static unsigned
chosen(const struct choice *n)
{
    uint32_t v = __atomic_load_n(n->condition->value, __ATOMIC_ACQUIRE);
    return n->type == CU_GRAPH_COND_TYPE_SWITCH ? v : !v;
}

static struct command *expand_command(struct choice *n);

static struct command *
expand(void *user)
{
    struct choice *n = user;
    unsigned i = chosen(n);
    struct command *list = NULL, **tail = &list;
    if (i >= n->nbody)
        return NULL;
    for (size_t k = 0; k < vec_len(n->body[i]); k++) {
        *tail = command_clone(n->body[i][k]);
        tail = &(*tail)->next;
    }
    if (n->type == CU_GRAPH_COND_TYPE_WHILE) {
        choice_keep(n, true);
        *tail = expand_command(n);
    }
    return list;
}

// Takes over a reference.
static struct command *
expand_command(struct choice *n)
{
    struct command *c = command_new(CMD_EXPAND, 0);
    c->expand.fn = expand;
    c->expand.keep = choice_keep;
    c->expand.user = n;
    return c;
}

struct command *
condition_command(struct condition *c, CUgraphConditionalNodeType type, struct command ***body,
                  unsigned nbody)
{
    struct choice *n = calloc(1, sizeof *n);
    if (!n)
        abort();
    atomic_init(&n->refs, 1);
    n->condition = condition_ref(c);
    n->type = type;
    n->body = body;
    n->nbody = nbody;
    return expand_command(n);
}
