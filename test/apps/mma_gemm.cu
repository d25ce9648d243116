// SPDX-License-Identifier: MIT
// Matrix products on tensor cores, by the wmma API and by inline mma.sync with ldmatrix. The numbers are multiples of 1/8 and
// small, so every sum is exact whatever its order: the results must equal a calculation on the CPU.
// nvcc: -arch=compute_80 -code=compute_80
#include "app.h"
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>
using namespace nvcuda;
enum { M = 64, N = 96, K = 80 };

static int small(int i, int salt) // -16 .. 16
{
    unsigned x = (unsigned)i * 2654435761u + salt * 40503u;
    return (int)((x >> 16) % 33) - 16;
}

// ---- wmma: one warp a tile of d
template <int TM, int TN, int TK, class T, class Acc, class LA, class LB, class Frag>
__global__ void by_wmma(const T *a, const T *b, Acc *d)
{
    int lda = std::is_same<LA, wmma::row_major>::value ? K : M, ldb = std::is_same<LB, wmma::row_major>::value ? N : K;
    int m = blockIdx.y * TM, n = (blockIdx.x * blockDim.y + threadIdx.y) * TN;
    if (n >= N)
        return;
    wmma::fragment<wmma::matrix_a, TM, TN, TK, Frag, LA> fa;
    wmma::fragment<wmma::matrix_b, TM, TN, TK, Frag, LB> fb;
    wmma::fragment<wmma::accumulator, TM, TN, TK, Acc> acc;
    wmma::fill_fragment(acc, Acc(1));
    for (int k = 0; k < K; k += TK) {
        wmma::load_matrix_sync(fa, a + (std::is_same<LA, wmma::row_major>::value ? m * K + k : k * M + m), lda);
        wmma::load_matrix_sync(fb, b + (std::is_same<LB, wmma::row_major>::value ? k * N + n : n * K + k), ldb);
        wmma::mma_sync(acc, fa, fb, acc);
    }
    for (int i = 0; i < acc.num_elements; i++)
        acc.x[i] = acc.x[i] + acc.x[i];
    wmma::store_matrix_sync(d + m * N + n, acc, N, wmma::mem_row_major);
}

template <int TM, int TN, int TK, class T, class Acc, class LA, class LB, class Frag = T>
void check_wmma(const char *name, double unit)
{
    std::vector<T> a(M * K), b(K * N);
    std::vector<double> x(M * K), y(K * N);
    for (int i = 0; i < M * K; i++)
        x[i] = small(i, 1) * unit;
    for (int i = 0; i < K * N; i++)
        y[i] = small(i, 2) * unit;
    for (int m = 0; m < M; m++)
        for (int k = 0; k < K; k++)
            a[std::is_same<LA, wmma::row_major>::value ? m * K + k : k * M + m] = T((float)x[m * K + k]);
    for (int k = 0; k < K; k++)
        for (int n = 0; n < N; n++)
            b[std::is_same<LB, wmma::row_major>::value ? k * N + n : n * K + k] = T((float)y[k * N + n]);
    Acc *d = device_new<Acc>(M * N);
    dim3 block(32, 3), grid((N / TN + 2) / 3, M / TM);
    by_wmma<TM, TN, TK, T, Acc, LA, LB, Frag><<<grid, block>>>(to_device(a), to_device(b), d);
    auto r = to_host(d, M * N);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 1;
            for (int k = 0; k < K; k++)
                sum += x[m * K + k] * y[k * N + n];
            expect_near(name, m * N + n, (double)(float)r[m * N + n], 2 * sum, 0);
        }
}

// ---- mma.sync: a block of two warps computes 16 x 16 of d, from shared memory by ldmatrix
__device__ unsigned shared_address(const void *p)
{
    return (unsigned)__cvta_generic_to_shared(p);
}

__global__ void by_mma(const half *a, const half *b, float *d) // a row by row, b row by row
{
    __shared__ __align__(16) half ta[16][24], tb[16][24];
    int lane = threadIdx.x % 32, warp = threadIdx.x / 32, m = blockIdx.y * 16, n = blockIdx.x * 16;
    float c[4] = {0, 0, 0, 0};
    for (int k = 0; k < K; k += 16) {
        for (int i = threadIdx.x; i < 256; i += 64) {
            ta[i / 16][i % 16] = a[(m + i / 16) * K + k + i % 16];
            tb[i / 16][i % 16] = b[(k + i / 16) * N + n + i % 16];
        }
        __syncthreads();
        unsigned fa[4], fb[2];
        asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
                     : "=r"(fa[0]), "=r"(fa[1]), "=r"(fa[2]), "=r"(fa[3])
                     : "r"(shared_address(&ta[lane % 16][lane / 16 * 8])));
        asm volatile("ldmatrix.sync.aligned.m8n8.x2.trans.shared.b16 {%0, %1}, [%2];"
                     : "=r"(fb[0]), "=r"(fb[1])
                     : "r"(shared_address(&tb[lane % 16][warp * 8])));
        asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
                     : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
                     : "r"(fa[0]), "r"(fa[1]), "r"(fa[2]), "r"(fa[3]), "r"(fb[0]), "r"(fb[1]));
        __syncthreads();
    }
    for (int i = 0; i < 4; i++)
        d[(m + lane / 4 + i / 2 * 8) * N + n + warp * 8 + lane % 4 * 2 + i % 2] = c[i];
}

__global__ void transpose(const unsigned *in, unsigned *out)
{
    unsigned r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(in[threadIdx.x]));
    out[threadIdx.x] = r;
}

void check_mma()
{
    std::vector<half> a(M * K), b(K * N);
    for (int i = 0; i < M * K; i++)
        a[i] = __float2half(small(i, 3) / 8.0f);
    for (int i = 0; i < K * N; i++)
        b[i] = __float2half(small(i, 4) / 8.0f);
    float *d = device_new<float>(M * N);
    by_mma<<<dim3(N / 16, M / 16), 64>>>(to_device(a), to_device(b), d);
    auto r = to_host(d, M * N);
    for (int m = 0; m < M; m++)
        for (int n = 0; n < N; n++) {
            double sum = 0;
            for (int k = 0; k < K; k++)
                sum += small(m * K + k, 3) / 8.0 * (small(k * N + n, 4) / 8.0);
            expect_near("mma.sync", m * N + n, r[m * N + n], sum, 0);
        }
    std::vector<unsigned> in(32);
    for (int i = 0; i < 32; i++)
        in[i] = (unsigned)(2 * i) | (unsigned)(2 * i + 1) << 16; // element (row, column) is 8 * row + column
    unsigned *out = device_new<unsigned>(32);
    transpose<<<1, 32>>>(to_device(in), out);
    auto t = to_host(out, 32);
    for (int i = 0; i < 64; i++)
        expect_near("movmatrix", i, t[i / 2] >> i % 2 * 16 & 0xffff, i % 8 * 8 + i / 8, 0);
}

int main()
{
    using wmma::col_major;
    using wmma::row_major;
    check_wmma<16, 16, 16, half, float, row_major, row_major>("half 16 16 16", 0.125);
    check_wmma<16, 16, 16, half, float, col_major, row_major>("half, turned", 0.125);
    check_wmma<32, 8, 16, half, float, row_major, col_major>("half 32 8 16", 0.125);
    check_wmma<8, 32, 16, half, half, row_major, col_major>("half to half", 0.125);
    check_wmma<16, 16, 16, __nv_bfloat16, float, row_major, col_major>("bfloat16", 0.125);
    check_wmma<16, 16, 8, float, float, row_major, row_major, wmma::precision::tf32>("tf32", 0.125);
    check_wmma<16, 16, 16, signed char, int, row_major, col_major>("signed char", 1);
    check_wmma<32, 8, 16, unsigned char, int, col_major, row_major>("unsigned char", 0);
    check_wmma<8, 8, 4, double, double, row_major, col_major>("double", 0.125);
    check_mma();
    return app_end();
}
