// Streams run beside the host and each other, in order within themselves; events join and time them.
#include "app.h"
__global__ void wait_flag(volatile int *flag, int *out) { while (*flag == 0) ; *out = 1; }
__global__ void step(int *p, int mul, int add) { *p = *p * mul + add; }
int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // lazy loading may wait for running kernels
    int *flag, *out, *val;
    CK(cudaMallocHost(&flag, 8)), CK(cudaMalloc(&out, 4)), CK(cudaMalloc(&val, 4));
    *flag = 0;
    CK(cudaMemset(out, 0, 4)), CK(cudaMemset(val, 0, 4));
    cudaStream_t a, b, c;
    CK(cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking)), CK(cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking));
    CK(cudaStreamCreateWithPriority(&c, cudaStreamNonBlocking, -1));
    cudaEvent_t e, f, t0, t1;
    CK(cudaEventCreateWithFlags(&e, cudaEventDisableTiming)), CK(cudaEventCreate(&f)), CK(cudaEventCreate(&t0)), CK(cudaEventCreate(&t1));
    wait_flag<<<1, 1, 0, a>>>(flag, out); // runs until the host lets it go
    CK(cudaEventRecord(e, a));
    EXPECT(cudaStreamQuery(a) == cudaErrorNotReady);
    EXPECT(cudaEventQuery(e) == cudaErrorNotReady);
    CK(cudaStreamWaitEvent(c, e, 0));
    step<<<1, 1, 0, c>>>(val, 1, 1000); // waits for a
    CK(cudaEventRecord(t0, b));
    step<<<1, 1, 0, b>>>(val, 1, 3), step<<<1, 1, 0, b>>>(val, 5, 1); // beside a
    CK(cudaEventRecord(t1, b));
    CK(cudaStreamSynchronize(b));
    int v;
    CK(cudaMemcpyAsync(&v, val, 4, cudaMemcpyDeviceToHost, b));
    CK(cudaStreamSynchronize(b));
    expect_eq("b done, c waiting", 0, v, 16);
    EXPECT(cudaStreamQuery(c) == cudaErrorNotReady);
    *(volatile int *)flag = 1;
    CK(cudaStreamSynchronize(c));
    CK(cudaMemcpy(&v, val, 4, cudaMemcpyDeviceToHost));
    expect_eq("all done", 0, v, 1016);
    EXPECT(cudaStreamQuery(a) == cudaSuccess && cudaEventQuery(e) == cudaSuccess);
    float ms = -1;
    CK(cudaEventElapsedTime(&ms, t0, t1));
    EXPECT(ms >= 0 && ms < 60000);
    EXPECT(cudaEventElapsedTime(&ms, e, t1) == cudaErrorInvalidResourceHandle);
    EXPECT(cudaEventElapsedTime(&ms, f, t1) == cudaErrorInvalidResourceHandle);
    int lo, hi, pr;
    CK(cudaDeviceGetStreamPriorityRange(&lo, &hi)), CK(cudaStreamGetPriority(c, &pr));
    EXPECT(hi <= lo && pr <= lo && pr >= hi);
    CK(cudaStreamDestroy(a)), CK(cudaStreamDestroy(b)), CK(cudaStreamDestroy(c)), CK(cudaEventDestroy(e));
    return app_end();
}
