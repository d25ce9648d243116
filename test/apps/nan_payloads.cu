// SPDX-License-Identifier: MIT
// f64 NaNs through loops and branches: of several NaN operands an operation delivers the second, else the third, quiet; stores on the way show
// what was computed before. The host computes the same by these rules.
#include "app.h"

#include <cstring>

enum { THREADS = 256, VALUES = 24, RESULTS = 4 };
typedef unsigned long long bits64;

__host__ __device__ static inline bits64
next(bits64 *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return *state >> 33;
}

// A NaN of some payload and sign, signalling or quiet, for one value in eight.
__host__ __device__ static inline bits64
pattern(bits64 *state)
{
    bits64 r = next(state), one = 0x3ff0000000000000ull;
    if (r % 8)
        return one + (r << 30);
    return 0x7ff0000000000000ull | (r & 1) << 63 | (r & 0xf00000) << 28 | (r >> 3 | 1);
}

static bool
is_nan(bits64 v)
{
    return (v & ~(1ull << 63)) > 0x7ff0000000000000ull;
}

static bits64
quiet(bits64 v)
{
    return v | 1ull << 51;
}

static double
value(bits64 v)
{
    double d;
    memcpy(&d, &v, sizeof d);
    return d;
}

static bits64
bits(double d)
{
    bits64 v;
    memcpy(&v, &d, sizeof v);
    return v;
}

// The rules; infinity times zero and the like do not come up.
static bits64
add(bits64 a, bits64 b)
{
    return is_nan(b) ? quiet(b) : is_nan(a) ? quiet(a) : bits(value(a) + value(b));
}

static bits64
mul(bits64 a, bits64 b)
{
    return is_nan(b) ? quiet(b) : is_nan(a) ? quiet(a) : bits(value(a) * value(b));
}

static bits64
fma3(bits64 a, bits64 b, bits64 c)
{
    bits64 nan = is_nan(b) ? b : is_nan(c) ? c : is_nan(a) ? a : 0;
    return nan ? quiet(nan) : bits(fma(value(a), value(b), value(c)));
}

static __device__ double
d_add(double a, double b)
{
    double r;
    asm("add.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    return r;
}

static __device__ double
d_mul(double a, double b)
{
    double r;
    asm("mul.rn.f64 %0, %1, %2;" : "=d"(r) : "d"(a), "d"(b));
    return r;
}

static __device__ double
d_fma(double a, double b, double c)
{
    double r;
    asm("fma.rn.f64 %0, %1, %2, %3;" : "=d"(r) : "d"(a), "d"(b), "d"(c));
    return r;
}

// out[0]: a sum; [1]: a dot product that starts with a NaN or not; [2]: half of it by another way; [3]: changed in memory step by step.
__global__ void
kernel(const double *in, double *out, int n)
{
    int t = blockIdx.x * blockDim.x + threadIdx.x;
    const double *v = in + t * VALUES;
    double *r = out + t * RESULTS, sum = 0, dot = v[0], other = 1;
    for (int k = 0; k < n; k++)
        sum = d_add(sum, v[k]);
    for (int k = 1; k < n - 1; k++) {
        dot = d_fma(v[k], v[k + 1], dot);
        if (k % 3 == t % 3)
            other = d_mul(d_add(v[k], other), v[k + 1]);
        else
            other = d_fma(other, v[k], v[k - 1]);
    }
    r[0] = sum;
    r[1] = dot;
    r[2] = other;
    r[3] = v[1];
    for (int k = 2; k < n; k++) {
        r[3] = d_add(v[k], r[3]);
        if (k == t % n)
            r[0] = r[3];
    }
}

static void
expect(const bits64 *v, bits64 *r, int t, int n)
{
    bits64 sum = 0, dot = v[0], other = bits(1), x = v[1];
    for (int k = 0; k < n; k++)
        sum = add(sum, v[k]);
    for (int k = 1; k < n - 1; k++) {
        dot = fma3(v[k], v[k + 1], dot);
        other = k % 3 == t % 3 ? mul(add(v[k], other), v[k + 1]) : fma3(other, v[k], v[k - 1]);
    }
    for (int k = 2; k < n; k++) {
        x = add(v[k], x);
        if (k == t % n)
            sum = x;
    }
    r[0] = sum, r[1] = dot, r[2] = other, r[3] = x;
}

int
main()
{
    static bits64 in[THREADS * VALUES], out[THREADS * RESULTS], want[RESULTS];
    bits64 state = 12345;
    double *d_in, *d_out;
    for (bits64 &v : in)
        v = pattern(&state);
    CK(cudaMalloc(&d_in, sizeof in));
    CK(cudaMalloc(&d_out, sizeof out));
    CK(cudaMemcpy(d_in, in, sizeof in, cudaMemcpyHostToDevice));
    for (int n = 3; n <= VALUES; n += 7) {
        kernel<<<2, THREADS / 2>>>(d_in, d_out, n);
        CK(cudaMemcpy(out, d_out, sizeof out, cudaMemcpyDeviceToHost));
        int wrong = 0;
        for (int t = 0; t < THREADS; t++) {
            expect(in + t * VALUES, want, t, n);
            for (int k = 0; k < RESULTS; k++)
                wrong += out[t * RESULTS + k] != want[k];
        }
        EXPECT(wrong == 0);
    }
    return app_end();
}
