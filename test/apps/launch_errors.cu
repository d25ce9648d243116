// Errors of launches and the runtime's last-error rules.
#include "app.h"
__global__ void nop() {}
__global__ void args(int *o, char a, double b, short c, float3 d, long long e) { o[0] = a + (int)b + c + (int)(d.x + d.y + d.z) + (int)e; }
int main()
{
    nop<<<0, 32>>>();
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaSuccess);
    nop<<<1, dim3(1024, 2)>>>();
    EXPECT(cudaPeekAtLastError() == cudaErrorInvalidValue);
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    nop<<<1, 32, 1 << 26>>>();
    EXPECT(cudaGetLastError() == cudaErrorInvalidValue);
    for (int i = 0; i < 1000; i++)
        nop<<<2, 32>>>();
    CK(cudaDeviceSynchronize());
    int *o = device_new<int>(1);
    args<<<1, 1>>>(o, 'a', 2.5, -3, make_float3(10, 20, 30), 1000);
    expect_eq("args", 0, to_host(o, 1)[0], 97 + 2 - 3 + 60 + 1000);
    return app_end();
}
