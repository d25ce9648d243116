// Direct, recursive and indirect calls, virtual functions, function-pointer tables set on host and device.
#include "app.h"
typedef int (*Fn)(int, int);
__device__ int add(int a, int b) { return a + b; }
__device__ int mul(int a, int b) { return a * b; }
__device__ int sub(int a, int b) { return a - b; }
__device__ Fn table[3] = {add, mul, sub};
__device__ Fn chosen = mul;
__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }
__device__ __noinline__ int ack(int m, int n) { return m == 0 ? n + 1 : n == 0 ? ack(m - 1, 1) : ack(m - 1, ack(m, n - 1)); }
struct Shape { __device__ virtual float area() const = 0; };
struct Square : Shape { float s; __device__ Square(float s) : s(s) {} __device__ float area() const override { return s * s; } };
struct Disc : Shape { float r; __device__ Disc(float r) : r(r) {} __device__ float area() const override { return 3 * r * r; } };
__device__ __noinline__ float area(const Shape *s) { return s->area(); }
__global__ void take(Fn *f) { *f = sub; }
__global__ void run(int *o, float *a, Fn given)
{
    int t = threadIdx.x;
    o[t] = table[t % 3](t, 5) + 1000 * given(t, 1);
    o[32 + t] = fib(t % 12) + ack(2, t % 4);
    o[64 + t] = chosen(t, 3);
    Square s(t);
    Disc d(t);
    a[t] = area(t % 2 ? (Shape *)&s : (Shape *)&d);
}
int main()
{
    int *o = device_new<int>(96);
    float *a = device_new<float>(32);
    Fn *f = device_new<Fn>(1), h;
    take<<<1, 1>>>(f);
    CK(cudaMemcpy(&h, f, sizeof h, cudaMemcpyDeviceToHost));
    run<<<1, 32>>>(o, a, h);
    auto r = to_host(o, 96);
    auto ra = to_host(a, 32);
    int fibs[12] = {0, 1, 1, 2, 3, 5, 8, 13, 21, 34, 55, 89};
    for (int t = 0; t < 32; t++) {
        int w = t % 3 == 0 ? t + 5 : t % 3 == 1 ? t * 5 : t - 5;
        expect_eq("table", t, r[t], w + 1000 * (t - 1));
        expect_eq("fib", t, r[32 + t], fibs[t % 12] + 2 * (t % 4) + 3);
        expect_eq("chosen", t, r[64 + t], t * 3);
        expect_eq("area", t, ra[t], t % 2 ? t * t : 3 * t * t);
    }
    return app_end();
}
