// A captured graph with fork and join, launched repeatedly and updated.
#include "app.h"
__global__ void axpy(int *p, int a, int b) { *p = *p * a + b; }
__global__ void sum(int *o, const int *x, const int *y) { *o += *x + *y; }
int main()
{
    int *x = device_new<int>(1), *y = device_new<int>(1), *o = device_new<int>(1);
    cudaStream_t a, b;
    cudaEvent_t fork, join;
    CK(cudaStreamCreate(&a)), CK(cudaStreamCreate(&b)), CK(cudaEventCreate(&fork)), CK(cudaEventCreate(&join));
    CK(cudaStreamBeginCapture(a, cudaStreamCaptureModeGlobal));
    CK(cudaMemsetAsync(x, 0, 4, a));
    CK(cudaEventRecord(fork, a)), CK(cudaStreamWaitEvent(b, fork, 0));
    axpy<<<1, 1, 0, a>>>(x, 2, 5);
    axpy<<<1, 1, 0, b>>>(y, 1, 7);
    CK(cudaEventRecord(join, b)), CK(cudaStreamWaitEvent(a, join, 0));
    sum<<<1, 1, 0, a>>>(o, x, y);
    cudaStreamCaptureStatus st;
    CK(cudaStreamIsCapturing(a, &st));
    EXPECT(st == cudaStreamCaptureStatusActive);
    EXPECT(cudaDeviceSynchronize() == cudaErrorStreamCaptureUnsupported);
    cudaGetLastError();
    cudaGraph_t g;
    cudaError_t e = cudaStreamEndCapture(a, &g);
    EXPECT(e == cudaErrorStreamCaptureInvalidated); // the synchronise above spoiled it
    cudaGetLastError();
    CK(cudaStreamBeginCapture(a, cudaStreamCaptureModeThreadLocal));
    CK(cudaMemsetAsync(x, 0, 4, a));
    CK(cudaEventRecord(fork, a)), CK(cudaStreamWaitEvent(b, fork, 0));
    axpy<<<1, 1, 0, a>>>(x, 2, 5);
    axpy<<<1, 1, 0, b>>>(y, 1, 7);
    CK(cudaEventRecord(join, b)), CK(cudaStreamWaitEvent(a, join, 0));
    sum<<<1, 1, 0, a>>>(o, x, y);
    CK(cudaStreamEndCapture(a, &g));
    size_t n = 0;
    CK(cudaGraphGetNodes(g, nullptr, &n));
    expect_eq("nodes", 0, n, 4);
    int v;
    CK(cudaMemcpy(&v, o, 4, cudaMemcpyDeviceToHost));
    expect_eq("nothing ran yet", 0, v, 0);
    cudaGraphExec_t x1;
    CK(cudaGraphInstantiate(&x1, g, 0));
    for (int i = 0; i < 3; i++)
        CK(cudaGraphLaunch(x1, a));
    CK(cudaStreamSynchronize(a));
    CK(cudaMemcpy(&v, o, 4, cudaMemcpyDeviceToHost));
    expect_eq("three launches", 0, v, 3 * 5 + 7 + 14 + 21);
    CK(cudaGraphExecDestroy(x1)), CK(cudaGraphDestroy(g));
    return app_end();
}
