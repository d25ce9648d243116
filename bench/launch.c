// SPDX-License-Identifier: MIT
// Start-up (cuInit to the end of the first launch) and the cost of launching an empty kernel. Driver API, PTX text.
// launch [N]: N launches for each figure (default 20000); prints one line a figure.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "polywarp/cuda.h"

static const char ptx[] = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry nop() { ret; }\n";

static double
now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return t.tv_sec * 1e6 + t.tv_nsec * 1e-3;
}

static void
ck(CUresult r, const char *what)
{
    if (r == CUDA_SUCCESS)
        return;
    fprintf(stderr, "launch: %s: error %d\n", what, r);
    exit(1);
}
#define CK(x) ck((x), #x)

static void
launch(CUfunction f, unsigned blocks, unsigned threads)
{
    CK(cuLaunchKernel(f, blocks, 1, 1, threads, 1, 1, 0, 0, 0, 0));
}

// Microseconds a launch: n queued back to back and waited for at the end, or waited for one by one.
static double
time_launches(CUfunction f, int n, unsigned blocks, unsigned threads, int wait_each)
{
    launch(f, blocks, threads); // compiles for this shape of block
    CK(cuCtxSynchronize());
    double t = now_us();
    for (int i = 0; i < n; i++) {
        launch(f, blocks, threads);
        if (wait_each)
            CK(cuCtxSynchronize());
    }
    CK(cuCtxSynchronize());
    return (now_us() - t) / n;
}

int
main(int argc, char **argv)
{
    int n = argc > 1 ? atoi(argv[1]) : 20000;
    CUdevice d;
    CUcontext c;
    CUmodule m;
    CUfunction f;
    double t = now_us();
    CK(cuInit(0));
    CK(cuDeviceGet(&d, 0));
    CK(cuDevicePrimaryCtxRetain(&c, d));
    CK(cuCtxSetCurrent(c));
    double context = now_us();
    CK(cuModuleLoadData(&m, ptx));
    CK(cuModuleGetFunction(&f, m, "nop"));
    launch(f, 1, 1);
    CK(cuCtxSynchronize());
    double first = now_us();
    printf("cuInit to context %.0f us, to the end of the first launch %.0f us\n", context - t, first - t);
    if (n <= 0)
        return 0;
    printf("empty kernel, 1 block of 1 thread, queued: %.2f us a launch\n", time_launches(f, n, 1, 1, 0));
    printf("empty kernel, 1 block of 1 thread, waited for: %.2f us a launch\n", time_launches(f, n, 1, 1, 1));
    printf("empty kernel, 1024 blocks of 256 threads: %.1f ns a block\n", time_launches(f, n / 200 + 1, 1024, 256, 0) * 1000 / 1024);
    return 0;
}
