// SPDX-License-Identifier: MIT
// What the tests of streams, graphs and launches share: kernels, a gate that holds a stream, one word of device memory.
#ifndef TEST_API_WORK_H
#define TEST_API_WORK_H

#include <pthread.h>
#include <stdatomic.h>

#include "api.h"

// nothing(); store(u32 *p, u32 v); step(u32 *p, u32 m, u32 a): *p = *p * m + a by one thread, so that the order of steps shows;
// count(u32 *p): every thread adds 1; mixed(u8, u64, f32, struct of 24 bytes, u64 *out); at_most_64, exactly_32: of limited block size;
// block_of_64: dynamic shared memory of the size that %dynamic_smem_size says into *p; broken: ends by a trap.
#define WORK_PTX                                                                                                                                               \
    ".version 7.0\n.target sm_52\n.address_size 64\n"                                                                                                          \
    ".visible .entry nothing()\n{\n\tret;\n}\n"                                                                                                                \
    ".visible .entry store(.param .u64 p, .param .u32 v)\n{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n"                                                         \
    "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [v];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tst.global.u32 [%rd1], %r1;\n\tret;\n}\n"                          \
    ".visible .entry step(.param .u64 p, .param .u32 m, .param .u32 a)\n{\n\t.reg .b32 %r<4>;\n\t.reg .b64 %rd<2>;\n"                                           \
    "\tld.param.u64 %rd1, [p];\n\tld.param.u32 %r1, [m];\n\tld.param.u32 %r2, [a];\n\tcvta.to.global.u64 %rd1, %rd1;\n"                                         \
    "\tld.global.u32 %r3, [%rd1];\n\tmad.lo.u32 %r3, %r3, %r1, %r2;\n\tst.global.u32 [%rd1], %r3;\n\tret;\n}\n"                                                 \
    ".visible .entry count(.param .u64 p)\n{\n\t.reg .b32 %r<2>;\n\t.reg .b64 %rd<2>;\n"                                                                        \
    "\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tatom.global.add.u32 %r1, [%rd1], 1;\n\tret;\n}\n"                                           \
    ".visible .entry mixed(.param .u8 a, .param .u64 b, .param .f32 c, .param .align 8 .b8 d[24], .param .u64 out)\n{\n"                                        \
    "\t.reg .b32 %r<4>;\n\t.reg .f32 %f<2>;\n\t.reg .b64 %rd<8>;\n\tld.param.u64 %rd1, [out];\n\tcvta.to.global.u64 %rd1, %rd1;\n"                              \
    "\tld.param.u8 %r1, [a];\n\tst.global.u32 [%rd1], %r1;\n\tld.param.u64 %rd2, [b];\n\tst.global.u64 [%rd1+8], %rd2;\n"                                       \
    "\tld.param.f32 %f1, [c];\n\tst.global.f32 [%rd1+16], %f1;\n\tld.param.u64 %rd3, [d];\n\tst.global.u64 [%rd1+24], %rd3;\n"                                  \
    "\tld.param.u64 %rd4, [d+16];\n\tst.global.u64 [%rd1+32], %rd4;\n\tret;\n}\n"                                                                              \
    ".visible .entry at_most_64() .maxntid 64, 1, 1\n{\n\tret;\n}\n"                                                                                           \
    ".visible .entry exactly_32() .reqntid 32, 1, 1\n{\n\tret;\n}\n"                                                                                           \
    ".extern .shared .align 4 .b8 room[];\n"                                                                                                                   \
    ".visible .entry with_shared(.param .u64 p)\n{\n\t.reg .b32 %r<3>;\n\t.reg .b64 %rd<2>;\n\t.shared .align 4 .b8 fixed[1024];\n"                             \
    "\tld.param.u64 %rd1, [p];\n\tcvta.to.global.u64 %rd1, %rd1;\n\tmov.u32 %r1, %dynamic_smem_size;\n\tst.shared.u32 [fixed], %r1;\n"                          \
    "\tld.shared.u32 %r2, [fixed];\n\tst.global.u32 [%rd1], %r2;\n\tret;\n}\n"                                                                                 \
    ".visible .entry broken()\n{\n\ttrap;\n}\n"

static CUmodule work_module;
static CUfunction nothing, store, step, count;

// The module and a word of device memory with 0 in it.
static inline CUdeviceptr
work_begin(void)
{
    CUdeviceptr p = 0;
    work_module = api_module(WORK_PTX);
    nothing = api_function(work_module, "nothing");
    store = api_function(work_module, "store");
    step = api_function(work_module, "step");
    count = api_function(work_module, "count");
    succeed(cuMemAlloc_v2, &p, 64);
    succeed(cuMemsetD32_v2, p, 0, 16);
    return p;
}

static inline unsigned
word(CUdeviceptr p)
{
    unsigned v = 0xdeadbeef;
    return CALL(cuMemcpyDtoH_v2, &v, p, 4) ? 0xdeadbeef : v;
}

// Launches step(p, m, a) with one thread.
static inline CUresult
launch_step(CUstream s, CUdeviceptr p, unsigned m, unsigned a)
{
    void *args[] = {&p, &m, &a};
    return CALL(cuLaunchKernel, step, 1, 1, 1, 1, 1, 1, 0, s, args, NULL);
}
#define STEP(s, p, m, a) ok(launch_step(s, p, m, a) == CUDA_SUCCESS, "step")

// A stream is held by a host function until the gate opens.
struct gate {
    atomic_int open, entered;
};

static void
gate_wait(void *user)
{
    struct gate *g = user;
    atomic_store(&g->entered, 1);
    for (int i = 0; i < 20000 && !atomic_load(&g->open); i++)
        usleep(1000);
}

static inline void
hold(CUstream s, struct gate *g)
{
    atomic_store(&g->open, 0);
    atomic_store(&g->entered, 0);
    succeed(cuLaunchHostFunc, s, gate_wait, g);
}

static inline void
release(struct gate *g)
{
    atomic_store(&g->open, 1);
}

// A captured or hand-made graph of three steps: ((0 * 10 + 1) * 10 + 2) * 10 + 3.
static inline CUDA_KERNEL_NODE_PARAMS
step_params(CUdeviceptr *p, unsigned *m, unsigned *a, void **args)
{
    CUDA_KERNEL_NODE_PARAMS k;
    memset(&k, 0, sizeof k);
    args[0] = p;
    args[1] = m;
    args[2] = a;
    k.func = step;
    k.gridDimX = k.gridDimY = k.gridDimZ = k.blockDimX = k.blockDimY = k.blockDimZ = 1;
    k.kernelParams = args;
    return k;
}

static inline CUgraphNode
add_step(CUgraph g, const CUgraphNode *deps, size_t n, CUdeviceptr p, unsigned m, unsigned a)
{
    CUgraphNode node = NULL;
    void *args[3];
    CUDA_KERNEL_NODE_PARAMS k = step_params(&p, &m, &a, args);
    succeed(cuGraphAddKernelNode_v2, &node, g, deps, n, &k);
    return node;
}

#endif
