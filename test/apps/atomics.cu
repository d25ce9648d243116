// Every atomic of the runtime on global and shared memory, of all scopes.
#include "app.h"
struct G { int add, sub, mn, mx; unsigned umn, umx, inc, dec, an, orr, xo, exch; unsigned long long ladd, lmx; float f; double d; int cas; };
__global__ void run(G *g, G *copy)
{
    __shared__ G s;
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) {
        memset(&s, 0, sizeof s);
        s.umn = s.an = ~0u, s.mn = 1 << 30;
    }
    __syncthreads();
    for (int k = 0; k < 2; k++) {
        G *p = k ? &s : g;
        atomicAdd(&p->add, t), atomicSub(&p->sub, 2), atomicMin(&p->mn, 5 - t), atomicMax(&p->mx, t * 3);
        atomicMin(&p->umn, 1000u - t), atomicMax(&p->umx, t * 7u), atomicInc(&p->inc, 9), atomicDec(&p->dec, 6);
        atomicAnd(&p->an, ~(1u << t % 32)), atomicOr(&p->orr, 1u << t % 31), atomicXor(&p->xo, t);
        atomicExch(&p->exch, t + 1), atomicAdd(&p->ladd, 0x100000001ULL), atomicMax(&p->lmx, (unsigned long long)t << 33);
        atomicAdd(&p->f, 0.5f), atomicAdd(&p->d, 0.25);
        int old = p->cas, seen;
        do
            seen = old, old = atomicCAS(&p->cas, seen, seen + 3);
        while (old != seen);
    }
    atomicAdd_block(&s.add, 0), atomicAdd_system(&g->add, 0);
    __syncthreads();
    if (threadIdx.x == 0)
        copy[blockIdx.x] = s;
}
static void check(const char *what, const G &g, int first, int n)
{
    long sum = 0;
    unsigned x = 0, o = 0, a = ~0u;
    for (int t = first; t < first + n; t++)
        sum += t, x ^= t, o |= 1u << t % 31, a &= ~(1u << t % 32);
    int last = first + n - 1;
    expect_eq(what, 0, g.add, sum), expect_eq(what, 1, g.sub, -2 * n), expect_eq(what, 2, g.mn, 5 - last);
    expect_eq(what, 3, g.mx, last * 3), expect_eq(what, 4, g.umn, 1000u - last), expect_eq(what, 5, g.umx, last * 7u);
    unsigned inc = 0, dec = 0;
    for (int i = 0; i < n; i++)
        inc = inc >= 9 ? 0 : inc + 1, dec = dec == 0 || dec > 6 ? 6 : dec - 1;
    expect_eq(what, 6, g.inc, inc), expect_eq(what, 7, g.dec, dec), expect_eq(what, 8, g.an, a), expect_eq(what, 9, g.orr, o);
    expect_eq(what, 10, g.xo, x), EXPECT(g.exch > (unsigned)first && g.exch <= (unsigned)first + n);
    expect_eq(what, 11, g.ladd, 0x100000001ULL * n), expect_eq(what, 12, g.lmx, (unsigned long long)last << 33);
    expect_eq(what, 13, g.f, 0.5f * n), expect_eq(what, 14, g.d, 0.25 * n), expect_eq(what, 15, g.cas, 3 * n);
}
int main()
{
    G init;
    memset(&init, 0, sizeof init);
    init.umn = init.an = ~0u, init.mn = 1 << 30;
    G *g = to_device(std::vector<G>{init}), *c = device_new<G>(5);
    run<<<5, 96>>>(g, c);
    check("global", to_host(g, 1)[0], 0, 480);
    auto s = to_host(c, 5);
    for (int b = 0; b < 5; b++)
        check("shared", s[b], b * 96, 96);
    return app_end();
}
