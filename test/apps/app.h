// SPDX-License-Identifier: MIT
// For whole-program tests: error check, comparison and the closing line. Include from .cu files.
#pragma once
#include <cstdio>
#include <cstdlib>
#include <cstdint>
#include <cstring>
#include <cmath>
#include <vector>
#include <cuda_runtime.h>

static int app_bad;

static inline void app_check(cudaError_t e, const char *what, int line)
{
    if (e == cudaSuccess)
        return;
    printf("line %d: %s: %s\n", line, what, cudaGetErrorString(e));
    exit(2);
}
static inline void app_expect(bool so, const char *what, int line)
{
    if (!so && ++app_bad <= 20)
        printf("line %d: not so: %s\n", line, what);
}
#define CK(x)        app_check((x), #x, __LINE__)
#define EXPECT(cond) app_expect((cond), #cond, __LINE__)

// NVIDIA's driver leaves the device unavailable to a process whose context had a fatal error, also after a reset; we do better.
static inline bool app_on_nvidia()
{
    cudaDeviceProp p;
    return cudaGetDeviceProperties(&p, 0) == cudaSuccess && !strncmp(p.name, "NVIDIA", 6);
}
// Resets the device after a fatal error. On NVIDIA's driver the test ends here.
static inline void app_reset()
{
    bool nvidia = app_on_nvidia();
    CK(cudaDeviceReset());
    if (!nvidia)
        return;
    printf(app_bad ? "FAIL (%d)\n" : "PASS\n", app_bad);
    exit(app_bad != 0);
}

template <class A, class B> static void expect_eq(const char *what, long i, A got, B want)
{
    if (!(got == (A)want) && ++app_bad <= 20)
        printf("%s[%ld]: got %.17g, want %.17g\n", what, i, (double)got, (double)want);
}
static inline void expect_near(const char *what, long i, double got, double want, double tol)
{
    if (!(fabs(got - want) <= tol) && ++app_bad <= 20)
        printf("%s[%ld]: got %.17g, want %.17g\n", what, i, got, want);
}
static inline void expect_bits(const char *what, long i, uint64_t got, uint64_t want)
{
    if (got != want && ++app_bad <= 20)
        printf("%s[%ld]: got 0x%llx, want 0x%llx\n", what, i, (unsigned long long)got,
               (unsigned long long)want);
}
static inline int app_end(void)
{
    printf(app_bad ? "FAIL (%d)\n" : "PASS\n", app_bad);
    return app_bad != 0;
}
template <class T> static T *to_device(const std::vector<T> &v)
{
    T *d;
    CK(cudaMalloc((void **)&d, v.size() * sizeof(T)));
    CK(cudaMemcpy(d, v.data(), v.size() * sizeof(T), cudaMemcpyHostToDevice));
    return d;
}
template <class T> static T *device_new(size_t n)
{
    T *d;
    CK(cudaMalloc((void **)&d, n * sizeof(T)));
    CK(cudaMemset(d, 0, n * sizeof(T)));
    return d;
}
template <class T> static std::vector<T> to_host(const T *d, size_t n)
{
    std::vector<T> v(n);
    CK(cudaDeviceSynchronize());
    CK(cudaMemcpy(v.data(), d, n * sizeof(T), cudaMemcpyDeviceToHost));
    return v;
}
static inline uint32_t rnd(uint32_t &s)
{
    s ^= s << 13, s ^= s >> 17, s ^= s << 5;
    return s;
}
