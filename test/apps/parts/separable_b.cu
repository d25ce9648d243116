// Second half of separable_a.cu.
#include <cuda_runtime.h>
__device__ int shared_counter = 100;
__constant__ int shared_table[4] = {1, 2, 3, 4};
static __device__ int local_only(int x) { return x * 2; }
__device__ int helper(int x) { return local_only(x) + 7; }
__device__ int mod5(int x) { return x % 5; }
__device__ int (*indirect)(int) = mod5;
int read_counter()
{
    int v = -1;
    cudaMemcpyFromSymbol(&v, shared_counter, sizeof v);
    return v;
}
