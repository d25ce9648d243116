// nvcc: -arch=compute_80 -code=compute_80
// shfl in all forms and widths, vote, match, redux, activemask, partial member masks, divergent halves, last partial warp.
#include "app.h"
__global__ void run(int *o)
{
    int l = threadIdx.x, *r = o + l * 16;
    const unsigned all = 0xffffffffu;
    int v = l * l + 1;
    r[0] = __shfl_sync(all, v, 5);
    r[1] = __shfl_up_sync(all, v, 3);
    r[2] = __shfl_down_sync(all, v, 7);
    r[3] = __shfl_xor_sync(all, v, 9);
    r[4] = __shfl_sync(all, v, l + 3, 8);
    r[5] = __shfl_down_sync(all, v, 2, 16);
    r[6] = __ballot_sync(all, l % 3 == 1);
    r[7] = __any_sync(all, l == 31) + 2 * __all_sync(all, l < 32) + 4 * __all_sync(all, l < 31);
    r[8] = __match_any_sync(all, l % 5);
    int pred;
    r[9] = __match_all_sync(all, 7, &pred) + pred;
    r[10] = __reduce_add_sync(all, v);
    r[11] = __reduce_max_sync(all, -v);
    if (l & 1) // two halves at different places, each with its own mask
        r[12] = __shfl_sync(0xaaaaaaaau, v, 31 - (l & 30));
    else
        r[12] = __shfl_sync(0x55555555u, v * 2, 30 - l);
    if (l < 20)
        r[13] = __popc(__activemask());
    unsigned long long big = (unsigned long long)v << 35 | l;
    r[14] = (int)(__shfl_xor_sync(all, big, 1) >> 35);
    r[15] = __reduce_xor_sync(all, v) ^ __reduce_or_sync(all, 1 << l);
}
__global__ void partial(int *o) // 45 threads: the second warp has 13 lanes
{
    unsigned m = __ballot_sync(__activemask(), 1);
    int s = threadIdx.x;
    for (int k = 16; k; k >>= 1)
        s += __shfl_down_sync(m, s, k);
    o[threadIdx.x] = threadIdx.x < 32 ? s : __popc(m);
}
int main()
{
    int *d = device_new<int>(32 * 16), *p = device_new<int>(45);
    run<<<1, 32>>>(d);
    auto r = to_host(d, 512);
    auto v = [](int l) { return l * l + 1; };
    int sum = 0, x = 0;
    unsigned ball = 0;
    for (int l = 0; l < 32; l++)
        sum += v(l), x ^= v(l), ball |= (l % 3 == 1) << l;
    for (int l = 0; l < 32; l++) {
        unsigned match = 0;
        for (int k = 0; k < 32; k++)
            match |= (unsigned)(k % 5 == l % 5) << k;
        int w[16] = {v(5), l >= 3 ? v(l - 3) : v(l), l + 7 < 32 ? v(l + 7) : v(l), v(l ^ 9), v((l & 24) | ((l + 3) & 7)),
                     (l & 15) + 2 < 16 ? v(l + 2) : v(l), (int)ball, 3, (int)match, 0, sum, -1,
                     l & 1 ? v(31 - (l & 30)) : 2 * v(30 - l), l < 20 ? 20 : 0, v(l ^ 1), x ^ -1};
        for (int k = 0; k < 16; k++)
            expect_eq("op", l * 100 + k, r[l * 16 + k], w[k]);
    }
    partial<<<1, 45>>>(p);
    auto q = to_host(p, 45);
    expect_eq("warp 0", 0, q[0], 496);
    for (int i = 32; i < 45; i++)
        expect_eq("warp 1", i, q[i], 13);
    return app_end();
}
