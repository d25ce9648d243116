// A failing device assert: cudaErrorAssert, its text on stderr in CUDA's form, and life after a reset.
#include "app.h"
#include <cassert>
#include <unistd.h>
__global__ void check(int n) { assert(threadIdx.x < n && "small enough"); }
int main()
{
    int fd[2];
    if (pipe(fd))
        return 2;
    int err = dup(2);
    dup2(fd[1], 2);
    check<<<1, 8>>>(100);
    CK(cudaDeviceSynchronize());
    check<<<2, 8>>>(5);
    cudaError_t e = cudaDeviceSynchronize();
    fflush(stderr);
    dup2(err, 2);
    close(fd[1]);
    std::vector<char> text(1 << 16);
    size_t n = 0;
    for (ssize_t k; (k = read(fd[0], &text[n], text.size() - n - 1)) > 0;)
        n += k;
    expect_eq("code", 0, (int)e, (int)cudaErrorAssert);
    EXPECT(strstr(text.data(), "thread: [5,0,0] Assertion `threadIdx.x < n && \"small enough\"` failed."));
    EXPECT(strstr(text.data(), "check(int): block: [") || strstr(text.data(), "check: block: ["));
    if (app_bad)
        printf("got: %s\n", text.data());
    app_reset();
    check<<<1, 8>>>(100);
    CK(cudaDeviceSynchronize());
    return app_end();
}
