// SPDX-License-Identifier: MIT
// User objects: reference-counted things of the program that graphs keep alive.
#include "driver/graph.h"
#include "api_impl.h"

#include <limits.h>

struct user_object {
    struct object obj;
    void *ptr;
    CUhostFn destroy;
    unsigned long long refs; // guarded by graph_lock
};

static struct user_object *
user_get(CUuserObject o)
{
    return object_get(o, OBJ_USER);
}

void
user_ref_add(struct user_ref **vec, struct user_object *o, unsigned count)
{
    for (size_t i = 0; i < vec_len(*vec); i++) {
        if ((*vec)[i].object == o) {
            (*vec)[i].count += count;
            return;
        }
    }
    vec_push(*vec, ((struct user_ref){o, count}));
}

void
user_retain_all(struct user_ref **to, struct user_ref *from)
{
    for (size_t i = 0; i < vec_len(from); i++) {
        from[i].object->refs++;
        user_ref_add(to, from[i].object, 1);
    }
}

// Takes `count` references away; the object when they were the last ones, for the caller to destroy
// without the lock.
static struct user_object *
release(struct user_object *o, unsigned count)
{
    o->refs -= count;
    if (o->refs)
        return NULL;
    object_retire(o);
    return o;
}

static void
destroy(struct user_object *o)
{
    if (!o)
        return;
    o->destroy(o->ptr);
    object_free(o);
}

void
user_drop(struct user_ref *vec)
{
    for (size_t i = 0; i < vec_len(vec); i++) {
        pthread_mutex_lock(&graph_lock);
        struct user_object *dead = release(vec[i].object, vec[i].count);
        pthread_mutex_unlock(&graph_lock);
        destroy(dead);
    }
    vec_free(vec);
}

// ---- calls ----------------------------------------------------------------
CUresult
pw_cuUserObjectCreate(CUuserObject *out, void *ptr, CUhostFn fn, unsigned refs, unsigned flags)
{
    if (!out || !fn || !refs || refs > INT_MAX || flags != CU_USER_OBJECT_NO_DESTRUCTOR_SYNC)
        return fail(CUDA_ERROR_INVALID_VALUE, "destructor %p, %u references, flags %u",
                    (void *)(uintptr_t)fn, refs, flags);
    struct user_object *o = object_new(OBJ_USER, sizeof *o);
    o->ptr = ptr;
    o->destroy = fn;
    o->refs = refs;
    *out = (CUuserObject)o;
    return CUDA_SUCCESS;
}

CUresult
pw_cuUserObjectRetain(CUuserObject handle, unsigned count)
{
    GRAPH_LOCKED();
    struct user_object *o = user_get(handle);
    if (!o || !count || count > INT_MAX)
        return fail(CUDA_ERROR_INVALID_VALUE, "object %p, %u references", (void *)handle, count);
    o->refs += count;
    return CUDA_SUCCESS;
}

CUresult
pw_cuUserObjectRelease(CUuserObject handle, unsigned count)
{
    pthread_mutex_lock(&graph_lock);
    struct user_object *o = user_get(handle), *dead = NULL;
    bool ok = o && count && count <= o->refs;
    if (ok)
        dead = release(o, count);
    pthread_mutex_unlock(&graph_lock);
    destroy(dead);
    return ok ? CUDA_SUCCESS
              : fail(CUDA_ERROR_INVALID_VALUE, "object %p, %u references", (void *)handle, count);
}

CUresult
pw_cuGraphRetainUserObject(CUgraph graph, CUuserObject handle, unsigned count, unsigned flags)
{
    GRAPH_LOCKED();
    struct graph *g = graph_get(graph);
    struct user_object *o = user_get(handle);
    if (!g || !o || !count || count > INT_MAX || flags & ~(unsigned)CU_GRAPH_USER_OBJECT_MOVE)
        return fail(CUDA_ERROR_INVALID_VALUE, "graph %p, object %p, %u references, flags %u",
                    (void *)graph, (void *)handle, count, flags);
    if (!(flags & CU_GRAPH_USER_OBJECT_MOVE))
        o->refs += count;
    user_ref_add(&g->users, o, count);
    return CUDA_SUCCESS;
}

CUresult
pw_cuGraphReleaseUserObject(CUgraph graph, CUuserObject handle, unsigned count)
{
    struct user_object *dead = NULL;
    bool ok = false;
    pthread_mutex_lock(&graph_lock);
    struct graph *g = graph_get(graph);
    struct user_object *o = user_get(handle);
    for (size_t i = 0; g && o && i < vec_len(g->users); i++) {
        if (g->users[i].object != o || !count || count > g->users[i].count)
            continue;
        ok = true;
        g->users[i].count -= count;
        if (!g->users[i].count)
            vec_swap_remove(g->users, i);
        dead = release(o, count);
        break;
    }
    pthread_mutex_unlock(&graph_lock);
    destroy(dead);
    return ok ? CUDA_SUCCESS
              : fail(CUDA_ERROR_INVALID_VALUE, "graph %p, object %p, %u references", (void *)graph,
                     (void *)handle, count);
}
