// Threadfence reduction: the last block to finish sums the partial results of all.
#include "app.h"
__device__ unsigned done;
__global__ void sum(const float *x, int n, volatile float *part, float *out)
{
    __shared__ float s[128];
    __shared__ bool last;
    float a = 0;
    for (int i = blockIdx.x * 128 + threadIdx.x; i < n; i += gridDim.x * 128)
        a += x[i];
    s[threadIdx.x] = a;
    __syncthreads();
    for (int o = 64; o; o >>= 1) {
        if (threadIdx.x < o)
            s[threadIdx.x] += s[threadIdx.x + o];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = s[0];
        __threadfence();
        last = atomicInc(&done, gridDim.x - 1) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        float t = 0;
        for (unsigned i = 0; i < gridDim.x; i++)
            t += part[i];
        *out = t;
    }
}
int main()
{
    std::vector<float> x(40000);
    for (size_t i = 0; i < x.size(); i++)
        x[i] = i % 17;
    double w = 0;
    for (float v : x)
        w += v;
    float *p = device_new<float>(50), *o = device_new<float>(1), *d = to_device(x);
    for (int r = 0; r < 3; r++) {
        sum<<<50, 128>>>(d, x.size(), p, o);
        expect_eq("sum", r, to_host(o, 1)[0], (float)w);
    }
    return app_end();
}
