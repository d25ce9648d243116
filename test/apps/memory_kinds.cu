// Device, pinned, registered and managed memory; what pointer attributes say of each; freeing errors.
#include "app.h"
__global__ void twice(int *p, int n) { int i = threadIdx.x; if (i < n) p[i] *= 2; }
__device__ __managed__ int managed_var[4] = {1, 2, 3, 4};
int main()
{
    int n = 64;
    int *dev, *pin, *man, *map;
    CK(cudaMalloc(&dev, n * 4)), CK(cudaMallocHost(&pin, n * 4)), CK(cudaMallocManaged(&man, n * 4));
    CK(cudaHostAlloc(&map, n * 4, cudaHostAllocMapped));
    std::vector<int> plain(4096);
    CK(cudaHostRegister(plain.data(), plain.size() * 4, cudaHostRegisterMapped));
    for (int i = 0; i < n; i++)
        pin[i] = i, man[i] = 100 + i, map[i] = 200 + i, plain[i] = 300 + i;
    CK(cudaMemcpy(dev, pin, n * 4, cudaMemcpyHostToDevice));
    int *dmap, *dreg;
    CK(cudaHostGetDevicePointer(&dmap, map, 0)), CK(cudaHostGetDevicePointer(&dreg, plain.data(), 0));
    twice<<<1, n>>>(dev, n), twice<<<1, n>>>(man, n), twice<<<1, n>>>(dmap, n), twice<<<1, n>>>(dreg, n);
    twice<<<1, 4>>>(managed_var, 4);
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(pin, dev, n * 4, cudaMemcpyDefault));
    for (int i = 0; i < n; i++) {
        expect_eq("device", i, pin[i], 2 * i), expect_eq("managed", i, man[i], 200 + 2 * i);
        expect_eq("mapped", i, map[i], 400 + 2 * i), expect_eq("registered", i, plain[i], 600 + 2 * i);
    }
    expect_eq("managed variable", 3, managed_var[3], 8);
    cudaPointerAttributes a;
    CK(cudaPointerGetAttributes(&a, dev + 5));
    EXPECT(a.type == cudaMemoryTypeDevice && a.devicePointer == dev + 5 && a.device == 0);
    CK(cudaPointerGetAttributes(&a, pin));
    EXPECT(a.type == cudaMemoryTypeHost && a.hostPointer == pin);
    CK(cudaPointerGetAttributes(&a, man));
    EXPECT(a.type == cudaMemoryTypeManaged);
    CK(cudaPointerGetAttributes(&a, &n));
    EXPECT(a.type == cudaMemoryTypeUnregistered);
    CK(cudaMemPrefetchAsync(man, n * 4, cudaMemLocation{cudaMemLocationTypeDevice, 0}, 0, 0));
    CK(cudaHostUnregister(plain.data()));
    CK(cudaFree(dev)), CK(cudaFree(man)), CK(cudaFreeHost(pin)), CK(cudaFreeHost(map)), CK(cudaFree(nullptr));
    EXPECT(cudaFree((void *)0x1234560) == cudaErrorInvalidValue);
    EXPECT(cudaMalloc(&dev, (size_t)1 << 60) == cudaErrorMemoryAllocation);
    return app_end();
}
