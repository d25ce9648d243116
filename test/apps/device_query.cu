// Device properties and attributes agree with each other and are plausible.
#include "app.h"
int main()
{
    int n = 0, v, major;
    CK(cudaGetDeviceCount(&n));
    EXPECT(n >= 1);
    cudaDeviceProp p;
    CK(cudaGetDeviceProperties(&p, 0));
    printf("device 0: %s, compute capability %d.%d, %d multiprocessors, %zu MiB\n", p.name, p.major, p.minor, p.multiProcessorCount, p.totalGlobalMem >> 20);
    EXPECT(strlen(p.name) > 3 && p.warpSize == 32 && p.maxThreadsPerBlock == 1024 && p.totalGlobalMem > (64u << 20));
    EXPECT(p.maxGridSize[0] == 2147483647 && p.maxGridSize[1] == 65535 && p.maxThreadsDim[2] == 64);
    CK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, 0));
    expect_eq("major", 0, major, p.major);
    CK(cudaDeviceGetAttribute(&v, cudaDevAttrMultiProcessorCount, 0));
    expect_eq("sm", 0, v, p.multiProcessorCount);
    CK(cudaDeviceGetAttribute(&v, cudaDevAttrUnifiedAddressing, 0));
    expect_eq("uva", 0, v, 1);
    int driver, runtime;
    CK(cudaDriverGetVersion(&driver)), CK(cudaRuntimeGetVersion(&runtime));
    EXPECT(driver >= runtime / 10 * 10);
    size_t fr, total;
    CK(cudaMemGetInfo(&fr, &total));
    EXPECT(fr <= total && total == p.totalGlobalMem);
    char bus[32];
    CK(cudaDeviceGetPCIBusId(bus, sizeof bus, 0));
    int d = -1;
    CK(cudaDeviceGetByPCIBusId(&d, bus));
    expect_eq("bus", 0, d, 0);
    EXPECT(cudaSetDevice(n) == cudaErrorInvalidDevice);
    cudaGetLastError();
    EXPECT(!strcmp(cudaGetErrorName(cudaErrorInvalidValue), "cudaErrorInvalidValue"));
    return app_end();
}
