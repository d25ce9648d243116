// Compiled with per-thread default streams: each host thread's stream 0 is its own.
// nvcc: -default-stream per-thread
#include "app.h"
#include <thread>
__global__ void hold(volatile int *flag, int *out) { while (!*flag) ; *out = 1; }
__global__ void set(int *p, int v) { *p = v; }
int main()
{
    setenv("CUDA_MODULE_LOADING", "EAGER", 1); // lazy loading may wait for running kernels
    int *flag, *out = device_new<int>(2);
    CK(cudaMallocHost(&flag, 4));
    *flag = 0;
    hold<<<1, 1>>>(flag, out);
    int seen = 0;
    std::thread other([&] {
        set<<<1, 1>>>(out + 1, 42); // not behind the other thread's kernel
        CK(cudaStreamSynchronize(0));
        CK(cudaMemcpyAsync(&seen, out + 1, 4, cudaMemcpyDeviceToHost, 0));
        CK(cudaStreamSynchronize(0));
    });
    other.join();
    expect_eq("other thread", 0, seen, 42);
    EXPECT(cudaStreamQuery(0) == cudaErrorNotReady);
    *(volatile int *)flag = 1;
    CK(cudaStreamSynchronize(0));
    int v;
    CK(cudaMemcpy(&v, out, 4, cudaMemcpyDeviceToHost));
    expect_eq("mine", 0, v, 1);
    return app_end();
}
