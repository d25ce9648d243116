// A graph built node by node: kernel, copy, set, host, child; parameters changed in the executable graph; a clone.
#include "app.h"
__global__ void mul(int *p, int k) { p[threadIdx.x] *= k; }
static int calls;
static void CUDART_CB count(void *) { calls++; }
int main()
{
    int *d = device_new<int>(8), h[8], k = 3;
    cudaGraph_t g, child, clone;
    CK(cudaGraphCreate(&g, 0)), CK(cudaGraphCreate(&child, 0));
    cudaGraphNode_t set, kern, copy, host, sub, empty;
    cudaMemsetParams ms = {};
    ms.dst = d, ms.value = 0x01010101, ms.elementSize = 4, ms.width = 8, ms.height = 1;
    CK(cudaGraphAddMemsetNode(&set, g, nullptr, 0, &ms));
    void *args[] = {&d, &k};
    cudaKernelNodeParams kp = {};
    kp.func = (void *)mul, kp.gridDim = dim3(1), kp.blockDim = dim3(8), kp.kernelParams = args;
    CK(cudaGraphAddKernelNode(&kern, g, &set, 1, &kp));
    cudaHostNodeParams hp = {count, nullptr};
    cudaGraphNode_t ch;
    CK(cudaGraphAddHostNode(&ch, child, nullptr, 0, &hp));
    CK(cudaGraphAddChildGraphNode(&sub, g, &kern, 1, child));
    CK(cudaGraphAddMemcpyNode1D(&copy, g, &kern, 1, h, d, sizeof h, cudaMemcpyDeviceToHost));
    cudaGraphNode_t both[2] = {sub, copy};
    CK(cudaGraphAddEmptyNode(&empty, g, both, 2));
    CK(cudaGraphAddHostNode(&host, g, &empty, 1, &hp));
    CK(cudaGraphAddDependencies(g, &host, &set, nullptr, 1)); // a cycle: refused at instantiation
    cudaGraphExec_t cyclic;
    EXPECT(cudaGraphInstantiate(&cyclic, g, 0) == cudaErrorInvalidValue);
    CK(cudaGraphRemoveDependencies(g, &host, &set, nullptr, 1));
    cudaGetLastError();
    CK(cudaGraphClone(&clone, g));
    cudaGraphExec_t x;
    CK(cudaGraphInstantiate(&x, clone, 0));
    CK(cudaGraphLaunch(x, 0)), CK(cudaDeviceSynchronize());
    expect_eq("value", 0, h[7], 3 * 0x01010101), expect_eq("host", 0, calls, 2);
    cudaGraphNode_t inClone;
    CK(cudaGraphNodeFindInClone(&inClone, kern, clone));
    k = 5;
    CK(cudaGraphExecKernelNodeSetParams(x, inClone, &kp));
    CK(cudaGraphLaunch(x, 0)), CK(cudaDeviceSynchronize());
    expect_eq("value", 1, h[0], 5 * 0x01010101), expect_eq("host", 1, calls, 4);
    cudaGraphNodeType type;
    CK(cudaGraphNodeGetType(copy, &type));
    EXPECT(type == cudaGraphNodeTypeMemcpy);
    size_t edges = 0;
    CK(cudaGraphGetEdges(g, nullptr, nullptr, nullptr, &edges));
    expect_eq("edges", 0, edges, 6);
    CK(cudaGraphExecDestroy(x)), CK(cudaGraphDestroy(clone)), CK(cudaGraphDestroy(g));
    return app_end();
}
