// SPDX-License-Identifier: MIT
// User objects: counts, graphs that hold them, when the destructor runs.
#include "work.h"

static atomic_int destroyed;

static void
destroy(void *user)
{
    atomic_fetch_add(&destroyed, *(int *)user);
}

// The destructor may run on another thread, a little later.
static int
settled(int want)
{
    for (int i = 0; i < 2000 && atomic_load(&destroyed) != want; i++)
        usleep(1000);
    return atomic_load(&destroyed);
}

static int one = 1;

static CUuserObject
object(unsigned count)
{
    CUuserObject o = NULL;
    succeed(cuUserObjectCreate, &o, &one, destroy, count, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    return o;
}

static void
counts(void)
{
    CUuserObject o = object(1);
    succeed(cuUserObjectRetain, o, 2);
    succeed(cuUserObjectRelease, o, 1);
    succeed(cuUserObjectRelease, o, 1);
    usleep(10000);
    eq(atomic_load(&destroyed), 0);
    succeed(cuUserObjectRelease, o, 1);
    eq(settled(1), 1);
    o = object(5);
    succeed(cuUserObjectRelease, o, 5);
    eq(settled(2), 2);
}

static void
misuse(void)
{
    CUuserObject o = NULL;
    CUgraph g = NULL;
    succeed(cuGraphCreate, &g, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, NULL, &one, destroy, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &o, &one, NULL, 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &o, &one, destroy, 0, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &o, &one, destroy, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &o, &one, destroy, 1, 2);
    broken("takes it") expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectCreate, &o, &one, destroy, 0x80000000u, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain, NULL, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease, NULL, 1);
    o = object(1);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectRetain, o, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuUserObjectRelease, o, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject, g, o, 0, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject, NULL, o, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject, g, NULL, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphRetainUserObject, g, o, 1, 2);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject, g, NULL, 1);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject, NULL, o, 1);
    eq(atomic_load(&destroyed), 0);
}

static void
too_many_released(void)
{
    CUuserObject o = object(1);
    CUgraph g = NULL;
    succeed(cuGraphCreate, &g, 0);
    if (on_nvidia()) // which does not check
        return;
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject, g, o, 1); // the graph has none
    succeed(cuGraphRetainUserObject, g, o, 1, 0);
    expect(CUDA_ERROR_INVALID_VALUE, cuGraphReleaseUserObject, g, o, 2);
    eq(atomic_load(&destroyed), 0);
}

static void
graphs(void)
{
    CUuserObject o = object(1);
    CUgraph g = NULL, c = NULL;
    CUgraphExec e = NULL;
    succeed(cuGraphCreate, &g, 0);
    succeed(cuGraphRetainUserObject, g, o, 1, CU_GRAPH_USER_OBJECT_MOVE); // takes ours
    succeed(cuGraphClone, &c, g);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphDestroy, g);
    succeed(cuGraphDestroy, c);
    usleep(10000);
    eq(atomic_load(&destroyed), 0); // the executable has it
    succeed(cuGraphLaunch, e, NULL);
    succeed(cuGraphExecDestroy, e);
    succeed(cuCtxSynchronize, );
    eq(settled(1), 1);
}

static void
released(void)
{
    CUuserObject o = object(1);
    CUgraph g = NULL;
    succeed(cuGraphCreate, &g, 0);
    succeed(cuGraphRetainUserObject, g, o, 3, 0);
    succeed(cuUserObjectRelease, o, 1);
    succeed(cuGraphReleaseUserObject, g, o, 2);
    usleep(10000);
    eq(atomic_load(&destroyed), 0);
    succeed(cuGraphReleaseUserObject, g, o, 1);
    eq(settled(1), 1);
    succeed(cuGraphDestroy, g);
}

static void
in_flight(void)
{
    struct gate gate;
    CUuserObject o = object(1);
    CUgraph g = NULL;
    CUgraphExec e = NULL;
    CUstream s = NULL;
    CUgraphNode n = NULL;
    CUdeviceptr p = work_begin();
    succeed(cuStreamCreate, &s, CU_STREAM_NON_BLOCKING);
    succeed(cuGraphCreate, &g, 0);
    n = add_step(g, NULL, 0, p, 10, 1);
    (void)n;
    succeed(cuGraphRetainUserObject, g, o, 1, CU_GRAPH_USER_OBJECT_MOVE);
    succeed(cuGraphInstantiateWithFlags, &e, g, 0);
    succeed(cuGraphDestroy, g);
    hold(s, &gate);
    succeed(cuGraphLaunch, e, s);
    succeed(cuGraphExecDestroy, e);
    usleep(20000);
    eq(atomic_load(&destroyed), 0); // the launch still needs it
    release(&gate);
    succeed(cuStreamSynchronize, s);
    eq(settled(1), 1);
    eq(word(p), 1);
}

API_MAIN(CASE(counts), CASE(misuse), CASE(too_many_released), CASE(graphs), CASE(released), CASE(in_flight))
