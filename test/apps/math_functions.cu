// The math library in single precision, fast intrinsics included, against double-precision references.
#include "app.h"
enum { F = 22 };
__global__ void run(const float *a, int n, float *o)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    float x = a[i], p = fabsf(x) + 0.01f, *r = o + i * F;
    r[0] = sinf(x), r[1] = cosf(x), r[2] = tanf(x), r[3] = expf(x), r[4] = logf(p), r[5] = powf(p, 1.3f);
    r[6] = sqrtf(p), r[7] = rsqrtf(p), r[8] = cbrtf(x), r[9] = atan2f(x, p), r[10] = tanhf(x), r[11] = erff(x);
    r[12] = lgammaf(p), r[13] = floorf(x), r[14] = fmodf(x, 0.7f), r[15] = log2f(p), r[16] = exp2f(x), r[17] = hypotf(x, 3);
    r[18] = __sinf(x), r[19] = __expf(x), r[20] = __logf(p), r[21] = __fdividef(x, p);
}
int main()
{
    std::vector<float> a;
    for (int i = -400; i <= 400; i++)
        a.push_back(i * 0.0173f);
    int n = a.size();
    float *o = device_new<float>(n * F);
    run<<<(n + 127) / 128, 128>>>(to_device(a), n, o);
    auto r = to_host(o, n * F);
    for (int i = 0; i < n; i++) {
        double x = a[i], p = fabsf(a[i]) + 0.01f;
        double w[F] = {sin(x), cos(x), tan(x), exp(x), log(p), pow(p, (double)1.3f), sqrt(p), 1 / sqrt(p), cbrt(x), atan2(x, p), tanh(x),
                       erf(x), lgamma(p), floor(x), fmod(x, (double)0.7f), log2(p), exp2(x), hypot(x, 3), sin(x), exp(x), log(p), x / p};
        for (int k = 0; k < F; k++) {
            double ulp = fmax(fabs(w[k]), 1.2e-38) * 1.2e-7;
            double tol = k == 18 ? 2e-6 : k == 19 ? 8 * ulp : k == 20 ? 2e-6 + 4 * ulp : k == 12 ? 8 * ulp + 1e-6 : 5 * ulp;
            expect_near("f", i * 100 + k, r[i * F + k], w[k], tol);
        }
    }
    return app_end();
}
