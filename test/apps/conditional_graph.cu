// Conditional graph nodes: a loop that converges, a branch, a switch, loops in loops, launched again and again.
#include "app.h"

// Newton's iteration for a square root; goes on while it has not settled. Thread 0 decides.
__global__ void newton(double *x, double a, int *rounds, cudaGraphConditionalHandle again)
{
    double next = 0.5 * (*x + a / *x);
    bool more = fabs(next - *x) > 1e-12 * next;
    *x = next;
    ++*rounds;
    cudaGraphSetConditional(again, more);
}
__global__ void set_value(double *x, double v)
{
    *x = v;
}
__global__ void choose(int value, cudaGraphConditionalHandle h)
{
    cudaGraphSetConditional(h, value);
}
__global__ void add(int *p, int v)
{
    *p = *p * 10 + v;
}
__global__ void count_down(int *p, int from, cudaGraphConditionalHandle h, bool reset)
{
    if (reset)
        *p = from;
    cudaGraphSetConditional(h, (*p)-- > 0);
}
__global__ void bump(unsigned *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] += 1;
}

template <class... A> static cudaGraphNode_t kernel(cudaGraph_t g, cudaGraphNode_t dep, dim3 grid, dim3 block, void (*f)(A...), A... a)
{
    void *args[] = {&a...};
    cudaKernelNodeParams p = {};
    p.func = (void *)f;
    p.gridDim = grid;
    p.blockDim = block;
    p.kernelParams = args;
    cudaGraphNode_t n;
    CK(cudaGraphAddKernelNode(&n, g, dep ? &dep : nullptr, dep != nullptr, &p));
    return n;
}
static cudaGraphNode_t conditional(cudaGraph_t g, cudaGraphNode_t dep, cudaGraphConditionalHandle h, cudaGraphConditionalNodeType type, int size,
                                   cudaGraph_t *body)
{
    cudaGraphNodeParams p = {};
    p.type = cudaGraphNodeTypeConditional;
    p.conditional.handle = h;
    p.conditional.type = type;
    p.conditional.size = size;
    cudaGraphNode_t n;
#if CUDART_VERSION >= 13000
    CK(cudaGraphAddNode(&n, g, dep ? &dep : nullptr, nullptr, dep != nullptr, &p));
#else
    CK(cudaGraphAddNode(&n, g, dep ? &dep : nullptr, dep != nullptr, &p));
#endif
    for (int i = 0; i < size; i++)
        body[i] = p.conditional.phGraph_out[i];
    return n;
}
static void run(cudaGraph_t g, int times, cudaStream_t s)
{
    cudaGraphExec_t e;
    CK(cudaGraphInstantiate(&e, g, 0));
    for (int i = 0; i < times; i++)
        CK(cudaGraphLaunch(e, s));
    CK(cudaStreamSynchronize(s));
    CK(cudaGraphExecDestroy(e));
    CK(cudaGraphDestroy(g));
}
template <class T> static T *zeroed(size_t n)
{
    T *p = device_new<T>(n);
    CK(cudaMemset(p, 0, n * sizeof(T)));
    return p;
}
static cudaGraphConditionalHandle handle(cudaGraph_t g, unsigned value)
{
    cudaGraphConditionalHandle h;
    CK(cudaGraphConditionalHandleCreate(&h, g, value, cudaGraphCondAssignDefault));
    return h;
}

static void converges(cudaStream_t s)
{
    cudaGraph_t g, body;
    CK(cudaGraphCreate(&g, 0));
    double *x = zeroed<double>(1);
    int *rounds = zeroed<int>(1);
    cudaGraphConditionalHandle h = handle(g, 1);
    cudaGraphNode_t n = kernel(g, nullptr, 1, 1, set_value, x, 1.0);
    conditional(g, n, h, cudaGraphCondTypeWhile, 1, &body);
    kernel(body, nullptr, 1, 1, newton, x, 2e6, rounds, h);
    run(g, 3, s);
    double want = 1;
    int steps = 0;
    for (bool more = true; more; steps++) {
        double next = 0.5 * (want + 2e6 / want);
        more = fabs(next - want) > 1e-12 * next;
        want = next;
    }
    expect_near("root", 0, to_host(x, 1)[0], want, 1e-9);
    expect_eq("rounds", 0, to_host(rounds, 1)[0], 3 * steps);
}

static void branches(cudaStream_t s)
{
    for (int value = 0; value < 5; value++) {
        cudaGraph_t g, body[3], yes;
        CK(cudaGraphCreate(&g, 0));
        int *p = zeroed<int>(1);
        cudaGraphConditionalHandle h = handle(g, 9), k = handle(g, 0);
        cudaGraphNode_t n = kernel(g, nullptr, 1, 1, choose, value, h);
        n = conditional(g, n, h, cudaGraphCondTypeSwitch, 3, body);
        for (int i = 0; i < 3; i++)
            kernel(body[i], nullptr, 1, 1, add, p, i + 1);
        n = kernel(g, n, 1, 1, choose, value & 1, k);
        n = conditional(g, n, k, cudaGraphCondTypeIf, 1, &yes);
        kernel(yes, nullptr, 1, 1, add, p, 8);
        kernel(g, n, 1, 1, add, p, 9);
        run(g, 1, s);
        int want = value < 3 ? value + 1 : 0;
        if (value & 1)
            want = want * 10 + 8;
        expect_eq("branch", value, to_host(p, 1)[0], want * 10 + 9);
    }
}

// for i in 4: for j in 3: 500 elements + 1
static void loops(cudaStream_t s)
{
    cudaGraph_t g, outer, inner;
    CK(cudaGraphCreate(&g, 0));
    const int n = 500;
    unsigned *p = zeroed<unsigned>(n);
    int *i = zeroed<int>(2), *j = i + 1;
    cudaGraphConditionalHandle a = handle(g, 0), b = handle(g, 0);
    cudaGraphNode_t at = kernel(g, nullptr, 1, 1, count_down, i, 4, a, true);
    conditional(g, at, a, cudaGraphCondTypeWhile, 1, &outer);
    at = kernel(outer, nullptr, 1, 1, count_down, j, 3, b, true);
    at = conditional(outer, at, b, cudaGraphCondTypeWhile, 1, &inner);
    kernel(outer, at, 1, 1, count_down, i, 4, a, false);
    at = kernel(inner, nullptr, dim3(4), dim3(128), bump, p, n);
    kernel(inner, at, 1, 1, count_down, j, 3, b, false);
    run(g, 2, s);
    auto r = to_host(p, n);
    for (int k = 0; k < n; k++)
        expect_eq("loops", k, r[k], 24u);
}

int main()
{
    cudaStream_t s;
    CK(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking));
    converges(s);
    branches(s);
    loops(s);
    return app_end();
}
