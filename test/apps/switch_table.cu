// Dense switches (brx.idx) and irreducible control flow by goto.
#include "app.h"
__device__ __noinline__ int pick(int k, int x)
{
    switch (k) {
    case 0: return x + 1;
    case 1: return x * 3;
    case 2: return x ^ 0x55;
    case 3: return -x;
    case 4: return x << 2;
    case 5: x += 7;
    case 6: return x / 3;
    case 7: return x % 5;
    case 8: return 9 * x - 1;
    case 9: return x & 12;
    default: return 12345;
    }
}
__global__ void run(int *o, int *g, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x, x = i, steps = 0;
    if (i >= n)
        return;
    o[i] = pick(i % 12, i);
    if (i & 1)
        goto odd;
even:
    if (x <= 0 || steps > 50)
        goto end;
    x -= 3, steps++;
    if (x & 2)
        goto even;
odd:
    x -= 1, steps += 2;
    if (x > 4)
        goto even;
end:
    g[i] = x * 100 + steps;
}
static int pick_host(int k, int x)
{
    int v[12] = {x + 1, x * 3, x ^ 0x55, -x, x << 2, (x + 7) / 3, x / 3, x % 5, 9 * x - 1, x & 12, 12345, 12345};
    return v[k];
}
static int walk(int i)
{
    int x = i, steps = 0;
    bool odd = i & 1;
    for (;;) {
        if (!odd) {
            if (x <= 0 || steps > 50)
                break;
            x -= 3, steps++;
            if (x & 2)
                continue;
        }
        odd = false;
        x -= 1, steps += 2;
        if (!(x > 4))
            break;
    }
    return x * 100 + steps;
}
int main()
{
    int n = 500, *o = device_new<int>(n), *g = device_new<int>(n);
    run<<<8, 64>>>(o, g, n);
    auto r = to_host(o, n), w = to_host(g, n);
    for (int i = 0; i < n; i++)
        expect_eq("pick", i, r[i], pick_host(i % 12, i)), expect_eq("walk", i, w[i], walk(i));
    return app_end();
}
