// Device functions with a variable number of arguments.
#include "app.h"
#include <cstdarg>
__device__ __noinline__ double total(const char *kinds, ...)
{
    va_list ap;
    double s = 0;
    va_start(ap, kinds);
    for (; *kinds; kinds++)
        s += *kinds == 'i' ? va_arg(ap, int) : *kinds == 'l' ? (double)va_arg(ap, long long) : va_arg(ap, double);
    va_end(ap);
    return s;
}
__global__ void run(double *o)
{
    int t = threadIdx.x;
    o[t * 3] = total("iid", t, 7, 0.5 * t);
    o[t * 3 + 1] = total("lidil", 1ll << 40, t, 2.25, -3, (long long)t * 1000);
    o[t * 3 + 2] = total("");
}
int main()
{
    double *o = device_new<double>(96);
    run<<<1, 32>>>(o);
    auto r = to_host(o, 96);
    for (int t = 0; t < 32; t++) {
        expect_eq("iid", t, r[t * 3], t + 7 + 0.5 * t);
        expect_eq("lidil", t, r[t * 3 + 1], 1099511627776.0 + t + 2.25 - 3 + t * 1000.0);
        expect_eq("none", t, r[t * 3 + 2], 0.0);
    }
    return app_end();
}
