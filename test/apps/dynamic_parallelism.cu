// Launches by kernels: order within streams, tails, recursion, data passed on, errors, questions.
// nvcc: -rdc=true -lcudadevrt
#include "app.h"

// ---- children see what the parent wrote, and their grids are whole ----
__global__ void fill(int *p, int n, int add)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = p[i] * 2 + add;
}
__global__ void parent(int *p, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n)
        p[i] = i;
    __syncthreads();
    __threadfence();
    if (threadIdx.x == 0) { // the null stream of a block keeps order
        int *mine = p + blockIdx.x * blockDim.x, m = min((int)blockDim.x, n - (int)(blockIdx.x * blockDim.x));
        fill<<<(m + 31) / 32, 32>>>(mine, m, 1);
        fill<<<(m + 63) / 64, 64>>>(mine, m, 2);
    }
}

// ---- parameters of all sizes ----
struct big {
    double d[5];
    char c;
};
__global__ void many(char a, short b, int c, float d, double e, big f, long long *out)
{
    out[0] = a, out[1] = b, out[2] = c, out[3] = (long long)(d * 4), out[4] = (long long)(e * 8), out[5] = (long long)(f.d[4] * 2), out[6] = f.c;
}
__global__ void pass_many(long long *out)
{
    big f = {{1, 2, 3, 4, 5.5}, 'z'};
    many<<<1, 1>>>('a', -300, 70000, 2.25f, -3.125, f, out);
}

// ---- recursion: a tree of grids counts its leaves ----
__global__ void tree(int depth, unsigned *leaves)
{
    if (depth == 0) {
        atomicAdd(leaves, 1);
        return;
    }
    tree<<<1, 3>>>(depth - 1, leaves);
}

// ---- named streams, order in each ----
__global__ void digit(int *p, int d)
{
    *p = *p * 10 + d;
}
__global__ void streams(int *p)
{
    cudaStream_t a, b;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    for (int d = 1; d <= 5; d++) {
        digit<<<1, 1, 0, a>>>(p, d);
        digit<<<1, 1, 0, b>>>(p + 1, 6 - d);
    }
    digit<<<1, 1, 0, cudaStreamFireAndForget>>>(p + 2, 7);
    cudaStreamDestroy(a);
    cudaStreamDestroy(b);
}

// ---- tails: after the grid and all its other children; in order; tails of tails before the next ----
__global__ void tail_step(int *p, int d, int more)
{
    *p = *p * 10 + d;
    if (more)
        tail_step<<<1, 1, 0, cudaStreamTailLaunch>>>(p, d + 1, more - 1);
}
__global__ void tails(int *p)
{
    tail_step<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 2, 2);
    tail_step<<<1, 1, 0, cudaStreamTailLaunch>>>(p, 5, 0);
    digit<<<1, 1>>>(p, 1);
}

// ---- a long chain of tails: more than any stack would hold ----
__global__ void chain(int *p, int left)
{
    *p += left;
    if (left)
        chain<<<1, 1, 0, cudaStreamTailLaunch>>>(p, left - 1);
}

// ---- events between streams ----
__global__ void events(int *p)
{
    cudaStream_t a, b;
    cudaEvent_t e;
    cudaStreamCreateWithFlags(&a, cudaStreamNonBlocking);
    cudaStreamCreateWithFlags(&b, cudaStreamNonBlocking);
    cudaEventCreateWithFlags(&e, cudaEventDisableTiming);
    digit<<<1, 1, 0, a>>>(p, 1);
    digit<<<1, 1, 0, a>>>(p, 2);
    cudaEventRecord(e, a);
    cudaStreamWaitEvent(b, e, 0);
    digit<<<1, 1, 0, b>>>(p, 3);
    cudaEventDestroy(e);
}

// ---- copies and fills of the device runtime; it fills with zeros only ----
__global__ void copies(char *p)
{
    cudaMemsetAsync(p + 500, 0, 1000, 0);
    cudaMemcpyAsync(p + 2000, p, 1000, cudaMemcpyDeviceToDevice, 0);
    cudaMemset2DAsync(p + 4000, 16, 0, 5, 4, 0);
}

// ---- shared memory and blocks of children ----
extern __shared__ int room[];
__global__ void reverse(int *p)
{
    room[threadIdx.x] = p[threadIdx.x];
    __syncthreads();
    p[threadIdx.x] = room[blockDim.x - 1 - threadIdx.x];
}
__global__ void reverser(int *p, int n)
{
    for (int i = threadIdx.x; i < n; i += blockDim.x)
        p[i] = i * 3;
    __syncthreads();
    if (threadIdx.x == 0)
        reverse<<<1, n, n * sizeof(int)>>>(p);
}

// ---- every thread launches ----
__global__ void add_one(unsigned *p)
{
    atomicAdd(p, 1);
}
__global__ void crowd(unsigned *p)
{
    add_one<<<2, 4>>>(p + threadIdx.x % 4);
}

// ---- errors and questions ----
__global__ void asks(int *out)
{
    int v = -1;
    out[0] = cudaGetDeviceCount(&v) == cudaSuccess && v >= 1;
    out[1] = cudaGetDevice(&v) == cudaSuccess && v == 0;
    out[2] = cudaDeviceGetAttribute(&v, cudaDevAttrMaxThreadsPerBlock, 0) == cudaSuccess ? v : -1;
    cudaFuncAttributes a;
    out[3] = cudaFuncGetAttributes(&a, fill) == cudaSuccess ? a.maxThreadsPerBlock : -1;
    out[4] = cudaGetLastError();
    size_t limit = 0;
    out[5] = cudaDeviceGetLimit(&limit, cudaLimitMallocHeapSize) == cudaSuccess && limit > 0;
    void *m = NULL;
    out[6] = cudaMalloc(&m, 100) == cudaSuccess && m;
    out[7] = cudaFree(m);
    out[8] = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&v, fill, 128, 0) == cudaSuccess && v > 0;
    out[9] = cudaStreamDestroy((cudaStream_t)0) != cudaSuccess;
    out[10] = cudaPeekAtLastError() != cudaSuccess;
    out[11] = cudaGetLastError() != cudaSuccess;
    out[12] = cudaGetLastError();
    cudaStream_t s;
    out[13] = cudaStreamCreateWithFlags(&s, cudaStreamDefault) != cudaSuccess; // taken all the same
}

template <class T> static T *zeroed(size_t n)
{
    T *p = device_new<T>(n);
    CK(cudaMemset(p, 0, n * sizeof(T)));
    return p;
}

int main()
{
    int n = 1000;
    int *p = zeroed<int>(4096);
    parent<<<4, 256>>>(p, n);
    auto r = to_host(p, n);
    for (int i = 0; i < n; i++)
        expect_eq("parent", i, r[i], (i * 2 + 1) * 2 + 2);

    long long *w = zeroed<long long>(8);
    pass_many<<<1, 1>>>(w);
    auto m = to_host(w, 7);
    long long want[] = {'a', -300, 70000, 9, -25, 11, 'z'};
    for (int i = 0; i < 7; i++)
        expect_eq("many", i, m[i], want[i]);

    unsigned *u = zeroed<unsigned>(8);
    tree<<<1, 3>>>(5, u);
    expect_eq("leaves", 0, to_host(u, 1)[0], 729u);

    CK(cudaMemset(p, 0, 64));
    streams<<<1, 1>>>(p);
    r = to_host(p, 3);
    expect_eq("stream", 0, r[0], 12345);
    expect_eq("stream", 1, r[1], 54321);
    expect_eq("stream", 2, r[2], 7);

    CK(cudaMemset(p, 0, 64));
    tails<<<1, 1>>>(p);
    expect_eq("tails", 0, to_host(p, 1)[0], 12345);

    CK(cudaMemset(p, 0, 64));
    chain<<<1, 1>>>(p, 1000);
    expect_eq("chain", 0, to_host(p, 1)[0], 1000 * 1001 / 2);

    CK(cudaMemset(p, 0, 64));
    events<<<1, 1>>>(p);
    expect_eq("events", 0, to_host(p, 1)[0], 123);

    char *c = device_new<char>(8192);
    CK(cudaMemset(c, 7, 8192));
    copies<<<1, 1>>>(c);
    auto b = to_host(c, 8192);
    for (int i = 0; i < 2000; i++)
        expect_eq("memset", i, (int)b[i], i >= 500 && i < 1500 ? 0 : 7);
    for (int i = 0; i < 2000; i++)
        expect_eq("memcpy", i, (int)b[2000 + i], i >= 500 && i < 1000 ? 0 : 7);
    for (int i = 0; i < 64; i++)
        expect_eq("memset2d", i, (int)b[4000 + i], i % 16 < 5 ? 0 : 7);

    reverser<<<1, 64>>>(p, 200);
    r = to_host(p, 200);
    for (int i = 0; i < 200; i++)
        expect_eq("reverse", i, r[i], (199 - i) * 3);

    CK(cudaMemset(u, 0, 32));
    crowd<<<3, 100>>>(u);
    auto v = to_host(u, 4);
    for (int i = 0; i < 4; i++)
        expect_eq("crowd", i, v[i], 3u * 25 * 8);

    CK(cudaMemset(p, 0xff, 256));
    asks<<<1, 1>>>(p);
    r = to_host(p, 14);
    int answers[] = {1, 1, 1024, 1024, 0, 1, 1, 0, 1, 1, 1, 1, 0, 0};
    for (int i = 0; i < 14; i++)
        expect_eq("asks", i, r[i], answers[i]);

    // The parent's completion is its children's: an event behind it and the host see all.
    cudaStream_t s;
    CK(cudaStreamCreate(&s));
    for (int round = 0; round < 5; round++) {
        CK(cudaMemsetAsync(u, 0, 4, s));
        tree<<<1, 3, 0, s>>>(4, u);
        unsigned got = 0;
        CK(cudaMemcpyAsync(&got, u, 4, cudaMemcpyDeviceToHost, s));
        CK(cudaStreamSynchronize(s));
        expect_eq("round", round, got, 243u);
    }
    CK(cudaDeviceSynchronize());
    return app_end();
}
