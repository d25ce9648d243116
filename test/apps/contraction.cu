// nvcc: -arch=compute_90 -code=compute_90
// mul and add without a rounding modifier become fma where ptxas contracts them, and nowhere else; intrinsics of f16.
#include "app.h"
#include <cuda_fp16.h>
#include "parts/contraction_cases.h"

enum { N = 64 };

// One case a statement: results r and s of thread i go to out[2 * case], out[2 * case + 1].
#define BODY(T, R, L, body)                                                                                                                \
    asm volatile("{ .reg .pred g, h; .reg ." R " a, b, c, d, e, p, q, t, u, v, w, r, s; setp.ne.s32 g, %7, 0; setp.eq.s32 h, %7, 0;"        \
                 "mov.b" L " a, %2; mov.b" L " b, %3; mov.b" L " c, %4; mov.b" L " d, %5; mov.b" L " e, %6; mov.b" L " s, e;" body           \
                 " mov.b" L " %0, r; mov.b" L " %1, s; }"
#define KERNEL(name, type, R, L, constraint)                                                                                               \
    __global__ void k_##name(const type *in, type *out, int yes)                                                                           \
    {                                                                                                                                      \
        int i = threadIdx.x, n = 0;                                                                                                        \
        type a = in[i], b = in[N + i], c = in[2 * N + i], d = in[3 * N + i], e = in[4 * N + i], r, s;                                      \
        CONTRACTION_##name(CASE_##L)                                                                                                       \
    }
#define OUTPUTS(out_c, in_c)                                                                                                               \
    : out_c(r), out_c(s) : in_c(a), in_c(b), in_c(c), in_c(d), in_c(e), "r"(yes));                                                         \
    out[2 * n * N + i] = r, out[(2 * n + 1) * N + i] = s, n++;
#define CASE_16(T, B, body, want_r, want_s) BODY(T, "b16", "16", body) OUTPUTS("=h", "h")
#define CASE_32(T, B, body, want_r, want_s) BODY(T, "b32", "32", body) OUTPUTS("=r", "r")
#define CASE_64(T, B, body, want_r, want_s) BODY(T, "b64", "64", body) OUTPUTS("=l", "l")
KERNEL(f32, uint32_t, "b32", 32, "r")
KERNEL(f64, uint64_t, "b64", 64, "l")
KERNEL(f16, uint16_t, "b16", 16, "h")
KERNEL(bf16, uint16_t, "b16", 16, "h")
KERNEL(f16x2, uint32_t, "b32", 32, "r")
KERNEL(bf16x2, uint32_t, "b32", 32, "r")

template <class T>
static void check(const char *name, int bits, bool pair, void (*kernel)(const T *, T *, int), unsigned (*want)(int, unsigned, double *, double *))
{
    std::vector<T> in(5 * N);
    static double r[CONTRACTION_CASES_MAX], s[CONTRACTION_CASES_MAX];
    for (unsigned i = 0; i < N; i++)
        for (unsigned k = 0; k < 5; k++) {
            uint64_t v = contraction_pattern(bits, contraction_input(bits, i, k));
            in[k * N + i] = (T)(pair ? v | v << 16 : v);
        }
    T *di = to_device(in), *dev = device_new<T>(2 * N * CONTRACTION_CASES_MAX);
    kernel<<<1, N>>>(di, dev, 1);
    CK(cudaGetLastError());
    std::vector<T> out = to_host(dev, 2 * N * CONTRACTION_CASES_MAX);
    for (unsigned i = 0; i < N; i++) {
        unsigned cases = want(bits, i, r, s);
        for (unsigned n = 0; n < 2 * cases; n++) {
            uint64_t v = contraction_pattern(bits, n & 1 ? s[n / 2] : r[n / 2]), got = out[n * N + i];
            char what[64];
            snprintf(what, sizeof what, "%s case %u %c, input", name, n / 2, n & 1 ? 's' : 'r');
            expect_bits(what, i, got, pair ? v | v << 16 : v);
        }
    }
}

// The operators of cuda_fp16.h may be contracted, the _rn forms never.
__global__ void halves(const __half *in, __half *out)
{
    int i = threadIdx.x;
    __half a = in[i], b = in[N + i], c = in[2 * N + i];
    out[i] = __hadd(__hmul(a, b), c);
    out[N + i] = __hadd_rn(__hmul_rn(a, b), c);
    out[2 * N + i] = a * b - c;
}

static void check_halves(void)
{
    std::vector<__half> in(3 * N);
    for (unsigned i = 0; i < 3 * N; i++)
        in[i] = __ushort_as_half((unsigned short)contraction_pattern(11, contraction_input(11, i % N, i / N)));
    __half *di = to_device(in), *dev = device_new<__half>(3 * N);
    halves<<<1, N>>>(di, dev);
    std::vector<__half> out = to_host(dev, 3 * N);
    for (unsigned i = 0; i < N; i++) {
        double a = contraction_input(11, i, 0), b = contraction_input(11, i, 1), c = contraction_input(11, i, 2);
        double product = contraction_round(a * b, 11), want[3] = {contraction_round(a * b + c, 11), contraction_round(product + c, 11), contraction_round(a * b - c, 11)};
        for (unsigned k = 0; k < 3; k++)
            expect_bits("half", k * N + i, __half_as_ushort(out[k * N + i]), contraction_pattern(11, want[k]));
    }
}

int main(void)
{
    check<uint32_t>("f32", 24, false, k_f32, contraction_want_f32);
    check<uint64_t>("f64", 53, false, k_f64, contraction_want_f64);
    check<uint16_t>("f16", 11, false, k_f16, contraction_want_f16);
    check<uint16_t>("bf16", 8, false, k_bf16, contraction_want_bf16);
    check<uint32_t>("f16x2", 11, true, k_f16x2, contraction_want_f16x2);
    check<uint32_t>("bf16x2", 8, true, k_bf16x2, contraction_want_bf16x2);
    check_halves();
    return app_end();
}
