// Device printf with every kind of argument. The text is compared through a pipe.
#include "app.h"
#include <unistd.h>
__global__ void say(const char *s, int n)
{
    if (threadIdx.x == 0)
        printf("int %d neg %i unsigned %u hex %#x oct %o char %c str %s pct %%\n", n, -n, 3000000000u, 255, 8, 'Z', s);
    if (threadIdx.x == 0)
        printf("float %.3f exp %e g %g ll %lld llu %llu width %6d|%-6d|%06d ptr %s\n", 1.5f, 12345.678, 0.0001, -5000000000LL, 1ull << 63, 42, 42, 42, "ok");
    printf("thread %d of block %d\n", threadIdx.x, blockIdx.x);
}
int main()
{
    int fd[2];
    if (pipe(fd))
        return 2;
    int out = dup(1);
    fflush(stdout);
    dup2(fd[1], 1);
    char *s;
    CK(cudaMalloc(&s, 16));
    CK(cudaMemcpy(s, "hello", 6, cudaMemcpyHostToDevice));
    say<<<1, 3>>>(s, 42);
    CK(cudaDeviceSynchronize());
    fflush(stdout);
    dup2(out, 1);
    close(fd[1]);
    std::vector<char> text(65536);
    size_t n = 0;
    for (ssize_t k; (k = read(fd[0], &text[n], text.size() - n - 1)) > 0;)
        n += k;
    const char *want[] = {"int 42 neg -42 unsigned 3000000000 hex 0xff oct 10 char Z str hello pct %\n",
                          "float 1.500 exp 1.234568e+04 g 0.0001 ll -5000000000 llu 9223372036854775808 width     42|42    |000042 ptr ok\n",
                          "thread 0 of block 0\n", "thread 1 of block 0\n", "thread 2 of block 0\n"};
    size_t total = 0;
    for (const char *w : want) {
        EXPECT(strstr(text.data(), w) != nullptr);
        total += strlen(w);
    }
    expect_eq("length", 0, n, total);
    if (app_bad)
        printf("got: %s", text.data());
    return app_end();
}
