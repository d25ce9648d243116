// nvcc: -arch=compute_90 -code=compute_90 -Xptxas --fmad=false
// The option travels with the PTX in the program, and the driver must honour it: nothing is contracted.
#include "app.h"
#include <cuda_fp16.h>
__global__ void k(const float *a, const float *b, const float *c, float *f, __half *h)
{
    int i = threadIdx.x;
    float r;
    asm volatile("{ .reg .f32 p; mul.f32 p, %1, %2; add.f32 %0, p, %3; }" : "=f"(r) : "f"(a[i]), "f"(b[i]), "f"(c[i]));
    f[i] = r;
    h[i] = __hadd(__hmul(__float2half(a[i]), __float2half(b[i])), __float2half(c[i]));
}
int main(void)
{
    const int n = 32;
    std::vector<float> a(n), b(n), c(n);
    for (int i = 0; i < n; i++) // in f32 and, for odd i, f16: the product's last bit is lost when it is rounded
        a[i] = b[i] = i & 1 ? 1 + ldexpf(1, -6) : 1 + ldexpf(1, -12), c[i] = i & 1 ? -(1 + ldexpf(1, -5)) : -(1 + ldexpf(1, -11));
    float *da = to_device(a), *db = to_device(b), *dc = to_device(c), *df = device_new<float>(n);
    __half *dh = device_new<__half>(n);
    k<<<1, n>>>(da, db, dc, df, dh);
    std::vector<float> f = to_host(df, n);
    std::vector<__half> h = to_host(dh, n);
    for (int i = 0; i < n; i++) {
        volatile float product = a[i] * b[i]; // (1 + 2^-12)^2 is halfway: to even; (1 + 2^-6)^2 fits
        expect_eq("f32", i, f[i], product + c[i]);
        // (1 + 2^-6)^2 = 1 + 2^-5 + 2^-12 loses its end in f16; 1 + 2^-12 is 1, and 1 + 2^-11 halfway to even: 1
        expect_eq("f16", i, __half2float(h[i]), 0.0f);
    }
    return app_end();
}
