// 32- and 64-bit integer arithmetic, division, shifts, high products, carries, bit operations.
#include "app.h"
struct R { int32_t s[8]; uint32_t u[12]; int64_t l[6]; uint64_t m[6]; };
__host__ __device__ static void common(R &r, int32_t a, int32_t b, int64_t x, int64_t y)
{
    r.s[0] = (int32_t)((uint32_t)a + (uint32_t)b);
    r.s[1] = (int32_t)((uint32_t)a * (uint32_t)b);
    r.s[2] = b && !(a == INT32_MIN && b == -1) ? a / b : 0;
    r.s[3] = b && !(a == INT32_MIN && b == -1) ? a % b : 0;
    r.s[4] = a >> (b & 31);
    r.s[5] = a < b ? a : b;
    r.u[0] = (uint32_t)a << (b & 31);
    r.u[1] = b ? (uint32_t)a / (uint32_t)b : 0;
    r.u[2] = b ? (uint32_t)a % (uint32_t)b : 0;
    r.u[3] = (a & b) ^ (~a | b);
    r.l[0] = (int64_t)a * b;
    r.l[1] = (int64_t)((uint64_t)x * (uint64_t)y);
    r.l[2] = y && !(x == INT64_MIN && y == -1) ? x / y : 0;
    r.l[3] = y && !(x == INT64_MIN && y == -1) ? x % y : 0;
    r.l[4] = x >> (b & 63);
    r.m[0] = (uint64_t)x + (uint64_t)y;
    r.m[1] = y ? (uint64_t)x / (uint64_t)y : 0;
    r.m[2] = (uint64_t)x << (b & 63);
}
__device__ static uint32_t asm_addc(uint64_t x, uint64_t y)
{
    uint32_t lo, hi;
    asm("add.cc.u32 %0, %2, %4;\n\taddc.u32 %1, %3, %5;" : "=r"(lo), "=r"(hi)
        : "r"((uint32_t)x), "r"((uint32_t)(x >> 32)), "r"((uint32_t)y), "r"((uint32_t)(y >> 32)));
    return hi;
}
__global__ void run(R *r, const int32_t *a, const int64_t *x, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n * n)
        return;
    int p = i / n, q = i % n;
    R &o = r[i];
    common(o, a[p], a[q], x[p], x[q]);
    o.u[4] = __umulhi(a[p], a[q]);
    o.s[6] = __mulhi(a[p], a[q]);
    o.u[5] = __popc(a[p]);
    o.u[6] = __clz(a[p]);
    o.u[7] = __brev(a[p]);
    o.u[8] = __ffs(a[p]);
    o.u[9] = __byte_perm(a[p], a[q], 0x6531);
    o.u[10] = __funnelshift_l(a[p], a[q], a[q]);
    o.u[11] = asm_addc(x[p], x[q]);
    o.s[7] = __sad(a[p], a[q], 7u);
    o.l[5] = __mul64hi(x[p], x[q]);
    o.m[3] = __umul64hi(x[p], x[q]);
    o.m[4] = __popcll(x[p]) * 100 + __clzll(x[p]);
    o.m[5] = __brevll(x[p]);
}
static uint64_t brev(uint64_t v, int n)
{
    uint64_t r = 0;
    for (int i = 0; i < n; i++)
        r |= (v >> i & 1) << (n - 1 - i);
    return r;
}
int main()
{
    std::vector<int32_t> a = {0, 1, -1, 2, 7, -13, 100, 65535, 65536, INT32_MAX, INT32_MIN, 12345678, -987654321, 31, 33};
    std::vector<int64_t> x = {0, 1, -1, 3, -7, 1000, 0xffffffffLL, 0x100000000LL, INT64_MAX, INT64_MIN, 123456789012345LL, -998877665544332211LL, 63, 17, -64};
    int n = a.size();
    R *d = device_new<R>(n * n);
    run<<<(n * n + 63) / 64, 64>>>(d, to_device(a), to_device(x), n);
    auto r = to_host(d, n * n);
    for (int i = 0; i < n * n; i++) {
        int32_t p = a[i / n], q = a[i % n];
        int64_t u = x[i / n], v = x[i % n];
        R w;
        memset(&w, 0, sizeof w);
        common(w, p, q, u, v);
        w.u[4] = (uint64_t)(uint32_t)p * (uint32_t)q >> 32;
        w.s[6] = (int64_t)p * q >> 32;
        w.u[5] = __builtin_popcount(p);
        w.u[6] = p ? __builtin_clz(p) : 32;
        w.u[7] = brev((uint32_t)p, 32);
        w.u[8] = __builtin_ffs(p);
        uint64_t pair = (uint64_t)(uint32_t)q << 32 | (uint32_t)p;
        for (int k = 0; k < 4; k++)
            w.u[9] |= (uint32_t)(pair >> 8 * (0x6531 >> 4 * k & 7) & 255) << 8 * k;
        int s = q & 31;
        w.u[10] = s ? (uint32_t)q << s | (uint32_t)p >> (32 - s) : (uint32_t)q;
        w.u[11] = ((uint64_t)u + (uint64_t)v) >> 32;
        w.s[7] = (uint32_t)(p > q ? (int64_t)p - q : (int64_t)q - p) + 7u;
        w.l[5] = (int64_t)((__int128)u * v >> 64);
        w.m[3] = (uint64_t)((unsigned __int128)(uint64_t)u * (uint64_t)v >> 64);
        w.m[4] = __builtin_popcountll(u) * 100 + (u ? __builtin_clzll(u) : 64);
        w.m[5] = brev(u, 64);
        for (size_t k = 0; k < 8; k++)
            expect_bits("s", i * 100 + k, (uint32_t)r[i].s[k], (uint32_t)w.s[k]);
        for (size_t k = 0; k < 12; k++)
            expect_bits("u", i * 100 + k, r[i].u[k], w.u[k]);
        for (size_t k = 0; k < 6; k++)
            expect_bits("l", i * 100 + k, r[i].l[k], w.l[k]), expect_bits("m", i * 100 + k, r[i].m[k], w.m[k]);
    }
    return app_end();
}
