// Cache operators, prefetch, non-coherent loads, streaming stores: all are ordinary accesses in effect.
#include "app.h"
__global__ void run(const float4 *in, float4 *out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n)
        return;
    asm volatile("prefetch.global.L2 [%0];" ::"l"(in + i));
    float4 a = __ldg(in + i), b = __ldcs(in + i), c = __ldcg(in + i), d = __ldca(in + i), e = __ldlu(in + i), f = __ldcv(in + i);
    float4 r = make_float4(a.x + b.x, c.y + d.y, e.z + f.z, a.w);
    if (i % 3 == 0)
        __stcs(out + i, r);
    else if (i % 3 == 1)
        __stcg(out + i, r);
    else
        __stwt(out + i, r);
}
int main()
{
    int n = 1000;
    std::vector<float4> in(n);
    for (int i = 0; i < n; i++)
        in[i] = make_float4(i, i + 1, i + 2, i + 3);
    float4 *o = device_new<float4>(n);
    run<<<8, 128>>>(to_device(in), o, n);
    auto r = to_host(o, n);
    for (int i = 0; i < n; i++) {
        expect_eq("x", i, r[i].x, 2 * i), expect_eq("y", i, r[i].y, 2 * i + 2);
        expect_eq("z", i, r[i].z, 2 * i + 4), expect_eq("w", i, r[i].w, i + 3);
    }
    return app_end();
}
