// SPDX-License-Identifier: MIT
// Prints what the CUDA runtime says of the first device.
#include <cstdio>
#include <cuda_runtime.h>

int main()
{
    cudaDeviceProp p;
    int driver = 0, runtime = 0;
    cudaError_t e = cudaGetDeviceProperties(&p, 0);
    if (e != cudaSuccess) {
        fprintf(stderr, "no CUDA device: %s\n", cudaGetErrorString(e));
        return 1;
    }
    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    printf("%s\n  compute capability %d.%d, %d multiprocessors, %.1f GiB of memory\n", p.name, p.major, p.minor,
           p.multiProcessorCount, p.totalGlobalMem / 1073741824.0);
    printf("  driver %d.%d, runtime %d.%d\n", driver / 1000, driver % 1000 / 10, runtime / 1000, runtime % 1000 / 10);
}
