// Templates, device lambdas, constexpr tables, structures with operators: many entry points in one module.
// nvcc: --extended-lambda
#include "app.h"
template <class T, class F> __global__ void map(const T *in, T *out, int n, F f)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        out[i] = f(in[i]);
}
struct Complex {
    float re, im;
    __host__ __device__ Complex operator*(Complex b) const { return {re * b.re - im * b.im, re * b.im + im * b.re}; }
    __host__ __device__ Complex operator+(Complex b) const { return {re + b.re, im + b.im}; }
};
template <class T> static void test(std::vector<T> v, T k)
{
    T *in = to_device(v), *out = device_new<T>(v.size());
    auto f = [k] __host__ __device__(T x) { return x * k + x; };
    map<<<(v.size() + 31) / 32, 32>>>(in, out, (int)v.size(), f);
    auto r = to_host(out, v.size());
    for (size_t i = 0; i < v.size(); i++) {
        T w = f(v[i]);
        expect_eq("map", i, memcmp(&r[i], &w, sizeof w), 0);
    }
}
int main()
{
    test<int>({1, 2, 3, -4, 5000}, 7);
    test<double>({1.5, 2.25, -3}, 4);
    test<float>({1.5f, 2.25f, -3}, 0.5f);
    test<short>({1, 2, -300}, 9);
    test<unsigned long long>({1ull << 40, 12345}, 1000003ull);
    test<Complex>({{1, 2}, {-3, 0.5f}, {0, 1}}, Complex{2, -1});
    return app_end();
}
