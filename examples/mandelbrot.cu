// SPDX-License-Identifier: MIT
// The Mandelbrot set as a picture: mandelbrot [WIDTH [FILE.ppm]]
#include <cstdio>
#include <cstdlib>
#include <vector>
#include <cuda_runtime.h>

__global__ void draw(uchar3 *pixel, int w, int h, int limit)
{
    int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= w || y >= h)
        return;
    float cx = -2.2f + 3.0f * x / w, cy = 1.125f - 2.25f * y / h, a = 0, b = 0;
    int k = 0;
    while (k < limit && a * a + b * b < 64) {
        float t = a * a - b * b + cx;
        b = 2 * a * b + cy;
        a = t;
        k++;
    }
    float s = k == limit ? 0 : k + 1 - log2f(0.5f * log2f(a * a + b * b)), t = k == limit ? 0 : 0.5f - 0.5f * cosf(0.12f * s);
    pixel[y * w + x] = make_uchar3(255 * t * t, 255 * t * (0.4f + 0.6f * t), 255 * sqrtf(t));
}

int main(int argc, char **argv)
{
    int w = argc > 1 ? atoi(argv[1]) : 960, h = w * 3 / 4;
    const char *file = argc > 2 ? argv[2] : "mandelbrot.ppm";
    if (w < 16 || w > 16384) {
        fprintf(stderr, "width must be 16 to 16384\n");
        return 2;
    }
    std::vector<uchar3> picture((size_t)w * h);
    uchar3 *d;
    cudaEvent_t start, stop;
    float ms = 0;
    cudaEventCreate(&start), cudaEventCreate(&stop);
    if (cudaMalloc(&d, picture.size() * sizeof *d) != cudaSuccess) {
        fprintf(stderr, "no memory: %s\n", cudaGetErrorString(cudaGetLastError()));
        return 1;
    }
    cudaEventRecord(start);
    draw<<<dim3((w + 31) / 32, (h + 7) / 8), dim3(32, 8)>>>(d, w, h, 400);
    cudaEventRecord(stop);
    cudaError_t e = cudaMemcpy(picture.data(), d, picture.size() * sizeof *d, cudaMemcpyDeviceToHost);
    cudaEventElapsedTime(&ms, start, stop);
    FILE *f = e == cudaSuccess ? fopen(file, "wb") : NULL;
    if (!f) {
        fprintf(stderr, "%s: %s\n", file, e != cudaSuccess ? cudaGetErrorString(e) : "cannot be written");
        return 1;
    }
    fprintf(f, "P6\n%d %d\n255\n", w, h);
    fwrite(picture.data(), sizeof(uchar3), picture.size(), f);
    fclose(f);
    printf("%s: %d x %d pixels in %.1f ms\n", file, w, h, ms);
}
