// Stores through bad pointers: cudaErrorIllegalAddress from the next synchronise, sticky, cured by a reset.
#include "app.h"
__global__ void store(int *p, long long i) { p[i] = 5; }
__global__ void shared_out(int *o, int i) { extern __shared__ int s[]; s[i] = 1; o[0] = s[0]; }
int main()
{
    for (int round = 0; round < 3; round++) {
        int *p = device_new<int>(16), v;
        if (round == 0)
            store<<<1, 1>>>(nullptr, 4);
        else if (round == 1)
            store<<<4, 64>>>(p, 1ll << 44);
        else
            shared_out<<<1, 32, 128>>>(p, 1 << 28);
        cudaError_t e = cudaDeviceSynchronize();
        expect_eq("code", round, (int)e, (int)cudaErrorIllegalAddress);
        EXPECT(cudaMemcpy(&v, p, 4, cudaMemcpyDeviceToHost) == cudaErrorIllegalAddress);
        EXPECT(cudaGetLastError() == cudaErrorIllegalAddress);
        app_reset();
        p = device_new<int>(16);
        store<<<1, 1>>>(p, 3);
        CK(cudaMemcpy(&v, p + 3, 4, cudaMemcpyDeviceToHost));
        expect_eq("works again", round, v, 5);
    }
    return app_end();
}
