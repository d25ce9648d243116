// Constant, shared, local and global variables, generic pointers to each, structures by value, narrow and vector accesses.
#include "app.h"
__constant__ int table[64];
__device__ int counter[8] = {10, 20, 30, 40};
__device__ int *self = counter + 2;
__constant__ float4 consts = {1.5f, 2.5f, 3.5f, 4.5f};
struct Big { int a[9]; char c; double d; short s[3]; };
__device__ __noinline__ int sum(const int *p, int n)
{
    int s = 0;
    for (int i = 0; i < n; i++)
        s += p[i];
    return s;
}
__device__ __noinline__ Big twist(Big b, int k)
{
    b.a[k] += 100, b.d *= 2, b.s[1] = k;
    return b;
}
__global__ void run(Big b, const uint8_t *bytes, int *o, double *od)
{
    __shared__ int sh[64];
    int loc[64], t = threadIdx.x;
    for (int i = 0; i < 64; i++)
        loc[(i * 5 + t) & 63] = i + t;
    sh[t] = table[t] * 2;
    __syncthreads();
    const int *p = t % 4 == 0 ? sh : t % 4 == 1 ? loc : t % 4 == 2 ? table : counter;
    o[t] = sum(p, t % 4 == 3 ? 4 : 64);
    o[64 + t] = *self + (int)(consts.x * 10 + consts.w) + loc[(t * 3) & 63];
    b = twist(b, t % 9);
    od[t] = b.d + b.a[t % 9] + b.c + b.s[1];
    short4 v = reinterpret_cast<const short4 *>(bytes)[t];
    uchar4 c = reinterpret_cast<const uchar4 *>(bytes)[t];
    o[128 + t] = v.x + 2 * v.y + 3 * v.z + 4 * v.w;
    o[192 + t] = c.x + 2 * c.y + 3 * c.z + 4 * c.w + (int8_t)bytes[t];
}
int main()
{
    int h[64], loc[64];
    for (int i = 0; i < 64; i++)
        h[i] = 3 * i - 20;
    CK(cudaMemcpyToSymbol(table, h, sizeof h));
    int extra = 77;
    CK(cudaMemcpyToSymbol(counter, &extra, 4, 12));
    std::vector<uint8_t> bytes(512);
    uint32_t s = 3;
    for (auto &x : bytes)
        x = rnd(s);
    Big b = {{1, 2, 3, 4, 5, 6, 7, 8, 9}, 'x', 2.25, {1, 2, 3}};
    int *o = device_new<int>(256);
    double *od = device_new<double>(64);
    run<<<1, 64>>>(b, to_device(bytes), o, od);
    auto r = to_host(o, 256);
    auto rd = to_host(od, 64);
    for (int t = 0; t < 64; t++) {
        int w = 0;
        for (int i = 0; i < 64; i++)
            loc[(i * 5 + t) & 63] = i + t;
        for (int i = 0; i < 64; i++)
            w += t % 4 == 0 ? 2 * h[i] : t % 4 == 1 ? loc[i] : t % 4 == 2 ? h[i] : 0;
        expect_eq("sum", t, r[t], t % 4 == 3 ? 10 + 20 + 30 + 77 : w);
        expect_eq("self", t, r[64 + t], 30 + 19 + loc[(t * 3) & 63]);
        expect_eq("big", t, rd[t], 4.5 + b.a[t % 9] + 100 + 'x' + t % 9);
        int16_t v[4];
        memcpy(v, &bytes[8 * t], 8);
        expect_eq("short4", t, r[128 + t], v[0] + 2 * v[1] + 3 * v[2] + 4 * v[3]);
        uint8_t *c = &bytes[4 * t];
        expect_eq("uchar4", t, r[192 + t], c[0] + 2 * c[1] + 3 * c[2] + 4 * c[3] + (int8_t)bytes[t]);
    }
    int back[8];
    CK(cudaMemcpyFromSymbol(back, counter, sizeof back));
    expect_eq("counter", 3, back[3], 77);
    expect_eq("counter", 7, back[7], 0);
    return app_end();
}
