// SPDX-License-Identifier: MIT
// CUDA's device functions as nvcc compiles them (functions.inc), over deterministic inputs, on whatever driver is there.
//   functions record FILE [COUNT]           writes the answers (COUNT inputs of each; 2^20)
//   functions check FILE APPROX [COUNT]     compares; APPROX: names of functions whose PTX has an approximate instruction, one a line
// FILE: a text line (device, date), then for each function: its name and NUL, bytes of a result (u8), inputs (u32), the first RAW results, a
// hash (u32) of each CHUNK results. Functions with an approximate instruction are compared by their raw results, the others bit for bit.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <string>
#include <vector>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

enum { CHUNK = 4096, RAW = 1024, DEFAULT_COUNT = 1 << 20 };

static void check(cudaError_t e, const char *what)
{
    if (e == cudaSuccess)
        return;
    printf("%s: %s\n", what, cudaGetErrorString(e));
    exit(2);
}
#define CK(x) check((x), #x)

// ---- inputs: integer operations only, so they are the same everywhere ---------------------------
__host__ __device__ static inline uint64_t mix(uint64_t z)
{
    z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ z >> 27) * 0x94d049bb133111ebull;
    return z ^ z >> 31;
}

// Styles of a floating-point input: any pattern, near 1, medium, quarters of small integers, next to 1, special.
__host__ __device__ static inline uint32_t float_bits(uint64_t h)
{
    uint32_t v = (uint32_t)(h >> 32), style = h & 7, r = (uint32_t)h >> 3;
    switch (style) {
    case 1:
    case 2:
        return (v & 0x807fffff) | (123 + r % 9) << 23;
    case 3:
    case 4:
        return (v & 0x807fffff) | (107 + r % 41) << 23;
    case 5: { // (r % 1023 + 1) / 4
        uint32_t n = r % 1023 + 1, e = 0;
        while (n >> e > 1)
            e++;
        return (v & 0x80000000) | (125 + e) << 23 | (n << (23 - e) & 0x7fffff);
    }
    case 6:
        return (v & 0x80000000) | (0x3f800000 + r % 4001 - 2000);
    case 7: {
        const uint32_t special[8] = {0, 0x7f800000, 0x7fc00000, 1, 0x007fffff, 0x00800000, 0x7f7fffff, 0x3f000000};
        return (v & 0x80000000) | special[r & 7];
    }
    default:
        return v;
    }
}

__host__ __device__ static inline uint64_t double_bits(uint64_t h, uint64_t low)
{
    uint32_t f = float_bits(h);
    uint64_t sign = (uint64_t)(f >> 31) << 63, e = f >> 23 & 255, m = (uint64_t)(f & 0x7fffff) << 29;
    if ((h & 7) == 0)
        return (uint64_t)f << 32 | (low & 0xffffffff);
    if (e == 255)
        return sign | 0x7ff0000000000000ull | m;
    if (e == 0)
        return sign | m >> 3 | (m ? low & 0xffff : 0);
    if ((h & 7) != 5 && (h & 7) != 7)
        m |= low & 0x1fffffff;
    return sign | (e + 896) << 52 | m;
}

template <class T> struct input; // input<T>::at(hash, another hash)
template <> struct input<float> {
    __device__ static float at(uint64_t h, uint64_t) { return __uint_as_float(float_bits(h)); }
};
template <> struct input<double> {
    __device__ static double at(uint64_t h, uint64_t low) { return __longlong_as_double((long long)double_bits(h, low)); }
};
// Integers of every length.
template <> struct input<unsigned long long> {
    __device__ static unsigned long long at(uint64_t h, uint64_t low) { return low >> (h & 63); }
};
template <> struct input<long long> {
    __device__ static long long at(uint64_t h, uint64_t low) { return (long long)low >> (h & 63); }
};
template <> struct input<unsigned> {
    __device__ static unsigned at(uint64_t h, uint64_t low) { return (unsigned)(low >> 32) >> (h & 31); }
};
template <> struct input<int> {
    __device__ static int at(uint64_t h, uint64_t low) { return (int)(low >> 32) >> (h & 31); }
};
template <> struct input<short> {
    __device__ static short at(uint64_t h, uint64_t low) { return (short)((short)(low >> 32) >> (h & 15)); }
};
template <> struct input<__half> {
    __device__ static __half at(uint64_t h, uint64_t) { return __ushort_as_half((unsigned short)(h >> 32)); }
};
template <> struct input<__nv_bfloat16> {
    __device__ static __nv_bfloat16 at(uint64_t h, uint64_t) { return __ushort_as_bfloat16((unsigned short)(h >> 32)); }
};

template <class T> __device__ static inline T input_at(unsigned i, unsigned k)
{
    return input<T>::at(mix((i * 4ull + k + 1) * 0x9e3779b97f4a7c15ull), mix((i * 4ull + k + 1) * 0xd1342543de82ef95ull));
}

// Into [-3.14, 3.14], where the fast intrinsics have a documented error; the rest to 0.
__device__ static inline float reduced(float x)
{
    return fabsf(x) <= 3.14f ? x : 0.0f;
}

// ---- kernels ------------------------------------------------------------------------------------
#define FN(name, R, A, allowed, expression) FA(name, R, A, allowed, expression, 0)
#define FA(name, R, A, allowed, expression, absolute)                                                                                      \
    extern "C" __global__ void f_##name(R *out, unsigned count)                                                                            \
    {                                                                                                                                      \
        unsigned i = blockIdx.x * blockDim.x + threadIdx.x;                                                                                \
        if (i >= count)                                                                                                                    \
            return;                                                                                                                        \
        A x = input_at<A>(i, 0), y = input_at<A>(i, 1), z = input_at<A>(i, 2);                                                             \
        int n = 0;                                                                                                                         \
        out[i] = expression;                                                                                                               \
        (void)y, (void)z, (void)n;                                                                                                         \
    }
#include "functions.inc"
#undef FA

enum kind { INTEGER, FLOAT, DOUBLE, HALF, BFLOAT };
template <class T> struct kind_of {
    static const kind value = INTEGER;
};
template <> struct kind_of<float> {
    static const kind value = FLOAT;
};
template <> struct kind_of<double> {
    static const kind value = DOUBLE;
};
template <> struct kind_of<__half> {
    static const kind value = HALF;
};
template <> struct kind_of<__nv_bfloat16> {
    static const kind value = BFLOAT;
};

struct function {
    const char *name;
    const void *kernel;
    kind result;
    unsigned bytes;
    double allowed, absolute;
};
#define FA(name, R, A, allowed, expression, absolute) {#name, (const void *)f_##name, kind_of<R>::value, sizeof(R), allowed, absolute},
static const function functions[] = {
#include "functions.inc"
};
static const unsigned nfunctions = sizeof functions / sizeof *functions;

// ---- answers ------------------------------------------------------------------------------------
struct answer {
    std::string name;
    unsigned bytes, count;
    std::vector<uint8_t> raw;
    std::vector<uint32_t> hash;
};

static uint32_t hash_of(const uint8_t *p, size_t n)
{
    uint64_t h = 0xcbf29ce484222325ull;
    for (size_t i = 0; i < n; i += 8) {
        uint64_t w = 0;
        memcpy(&w, p + i, n - i < 8 ? n - i : 8);
        h = mix((h ^ w) * 0x9e3779b97f4a7c15ull + 1);
    }
    return (uint32_t)(h ^ h >> 32);
}

static answer ask(const function &f, unsigned count)
{
    static void *dev;
    if (!dev)
        CK(cudaMalloc(&dev, 8 * DEFAULT_COUNT));
    std::vector<uint8_t> all((size_t)count * f.bytes);
    void *args[] = {&dev, &count};
    CK(cudaLaunchKernel(f.kernel, dim3((count + 127) / 128), dim3(128), args, 0, NULL));
    CK(cudaMemcpy(all.data(), dev, all.size(), cudaMemcpyDeviceToHost));
    answer a = {f.name, f.bytes, count};
    for (unsigned i = 0; i < count; i += CHUNK) {
        unsigned n = count - i < CHUNK ? count - i : CHUNK;
        a.hash.push_back(hash_of(&all[(size_t)i * f.bytes], (size_t)n * f.bytes));
    }
    all.resize(all.size() < RAW * f.bytes ? all.size() : RAW * f.bytes);
    a.raw = all;
    return a;
}

static int record(const char *path, unsigned count)
{
    FILE *out = fopen(path, "wb");
    cudaDeviceProp p;
    char date[32];
    time_t now = time(NULL);
    int driver;
    if (!out)
        return perror(path), 2;
    CK(cudaGetDeviceProperties(&p, 0));
    CK(cudaDriverGetVersion(&driver));
    strftime(date, sizeof date, "%Y-%m-%d", gmtime(&now));
    fprintf(out, "%s, driver %d.%d, %s\n", p.name, driver / 1000, driver % 1000 / 10, date);
    for (unsigned k = 0; k < nfunctions; k++) {
        answer a = ask(functions[k], count);
        uint8_t bytes = (uint8_t)a.bytes;
        fwrite(a.name.c_str(), 1, a.name.size() + 1, out);
        fwrite(&bytes, 1, 1, out);
        fwrite(&a.count, 4, 1, out);
        fwrite(a.raw.data(), 1, a.raw.size(), out);
        fwrite(a.hash.data(), 4, a.hash.size(), out);
    }
    printf("%u functions, %u inputs each\n", nfunctions, count);
    return fclose(out) ? 2 : 0;
}

static bool read_answer(FILE *in, answer &a)
{
    uint8_t bytes;
    a.name.clear();
    for (int c; (c = getc(in)) != 0; a.name.push_back((char)c))
        if (c == EOF || a.name.size() > 200)
            return false;
    if (fread(&bytes, 1, 1, in) != 1 || fread(&a.count, 4, 1, in) != 1 || bytes < 1 || bytes > 8 || a.count > DEFAULT_COUNT)
        return false;
    a.bytes = bytes;
    a.raw.resize((a.count < RAW ? a.count : RAW) * a.bytes);
    a.hash.resize((a.count + CHUNK - 1) / CHUNK);
    return fread(a.raw.data(), 1, a.raw.size(), in) == a.raw.size() && fread(a.hash.data(), 4, a.hash.size(), in) == a.hash.size();
}

// ---- comparison ---------------------------------------------------------------------------------
static uint64_t word(const answer &a, unsigned i)
{
    uint64_t v = 0;
    memcpy(&v, &a.raw[(size_t)i * a.bytes], a.bytes);
    return v;
}

static double value(kind k, uint64_t v)
{
    uint32_t u = k == BFLOAT ? (uint32_t)v << 16 : (uint32_t)v;
    float f;
    double d;
    memcpy(&f, &u, 4);
    memcpy(&d, &v, 8);
    if (k == HALF)
        return __half2float(__ushort_as_half((unsigned short)v));
    return k == INTEGER ? (double)(int64_t)v : k == DOUBLE ? d : f;
}

// Numbers of a format in order, so that neighbours differ by 1.
static int64_t rank(unsigned bytes, uint64_t v)
{
    uint64_t sign = 1ull << (bytes * 8 - 1);
    return v & sign ? -(int64_t)(v & (sign - 1)) : (int64_t)v;
}

static bool near_enough(const function &f, uint64_t ours, uint64_t theirs)
{
    double a = value(f.result, ours), b = value(f.result, theirs);
    if (ours == theirs || (a != a && b != b))
        return true;
    if (f.result == INTEGER || a != a || b != b)
        return false;
    int64_t ulps = rank(f.bytes, ours) - rank(f.bytes, theirs);
    return (double)(ulps < 0 ? -ulps : ulps) <= f.allowed || std::fabs(a - b) <= f.absolute;
}

struct tally {
    unsigned same, near, bad;
};

static void report(const function &f, const answer &ours, const answer &theirs, unsigned i)
{
    uint64_t a = word(ours, i), b = word(theirs, i);
    printf("FAIL %s: input %u: got %#llx (%.9g), want %#llx (%.9g)\n", f.name, i, (unsigned long long)a, value(f.result, a),
           (unsigned long long)b, value(f.result, b));
}

static void compare(const function &f, const answer &ours, const answer &theirs, bool approx, tally &t)
{
    unsigned raw = (unsigned)(ours.raw.size() < theirs.raw.size() ? ours.raw.size() : theirs.raw.size()) / f.bytes, chunks = 0, differ = 0, first = 0;
    bool equal = true;
    for (unsigned i = 0; i < raw; i++) {
        uint64_t a = word(ours, i), b = word(theirs, i);
        equal &= a == b;
        if (a != b && !(approx && near_enough(f, a, b))) {
            report(f, ours, theirs, i);
            t.bad++;
            return;
        }
    }
    while (chunks < ours.hash.size() && chunks < theirs.hash.size() && (chunks + 1) * CHUNK <= ours.count && (chunks + 1) * CHUNK <= theirs.count) {
        if (ours.hash[chunks] != theirs.hash[chunks] && differ++ == 0)
            first = chunks;
        chunks++;
    }
    if (differ && !approx) {
        printf("FAIL %s: %u of %u chunks differ, the first from input %u\n", f.name, differ, chunks, first * CHUNK);
        t.bad++;
    } else if (!equal || differ) {
        t.near++;
    } else {
        t.same++;
    }
}

static std::vector<std::string> read_lines(const char *path)
{
    std::vector<std::string> all;
    char line[256];
    FILE *in = fopen(path, "r");
    while (in && fgets(line, sizeof line, in))
        all.push_back(std::string(line, strcspn(line, "\n")));
    if (in)
        fclose(in);
    return all;
}

static bool contains(const std::vector<std::string> &all, const char *name)
{
    for (const std::string &s : all)
        if (s == name)
            return true;
    return false;
}

static int check_all(const char *path, const char *approx_path, unsigned count)
{
    FILE *in = fopen(path, "rb");
    char line[256];
    tally t = {0, 0, 0};
    unsigned k = 0;
    if (!in || !fgets(line, sizeof line, in))
        return perror(path), 2;
    printf("answers of %s", line);
    std::vector<std::string> approx = read_lines(approx_path);
    for (answer theirs; k < nfunctions && read_answer(in, theirs); k++) {
        const function &f = functions[k];
        if (theirs.name != f.name || theirs.bytes != f.bytes) {
            printf("FAIL %s: the file has %s here; record anew\n", f.name, theirs.name.c_str());
            return 2;
        }
        compare(f, ask(f, count < theirs.count ? count : theirs.count), theirs, contains(approx, f.name), t);
        fflush(stdout);
    }
    fclose(in);
    printf("%u functions: %u bit for bit, %u within the bound, %u not, %u without an answer\n", nfunctions, t.same, t.near, t.bad, nfunctions - k);
    printf(t.bad || k < nfunctions ? "FAIL\n" : "PASS\n");
    return t.bad || k < nfunctions;
}

int main(int argc, char **argv)
{
    unsigned at = argc > 2 && !strcmp(argv[1], "check") ? 4 : 3;
    unsigned count = argc > (int)at ? (unsigned)strtoul(argv[at], NULL, 0) : DEFAULT_COUNT;
    count = count > DEFAULT_COUNT ? DEFAULT_COUNT : count;
    if (argc >= 3 && !strcmp(argv[1], "record"))
        return record(argv[2], count);
    if (argc >= 4 && !strcmp(argv[1], "check"))
        return check_all(argv[2], argv[3], count);
    printf("usage: functions record FILE [COUNT] | functions check FILE APPROX [COUNT]\n");
    return 2;
}
