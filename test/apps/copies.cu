// Linear, 2D and 3D copies in all directions, peer form, symbols, memset of every width, asynchronous ones in order.
#include "app.h"
int main()
{
    const int w = 37, h = 19, d = 5;
    std::vector<uint8_t> src(64 * 32 * 8), back(src.size(), 0xee);
    for (size_t i = 0; i < src.size(); i++)
        src[i] = i * 7 + (i >> 8);
    uint8_t *p;
    size_t pitch;
    CK(cudaMallocPitch(&p, &pitch, w, h));
    EXPECT(pitch >= w && pitch % 32 == 0);
    CK(cudaMemset2D(p, pitch, 0xab, w, h));
    CK(cudaMemcpy2D(p, pitch, src.data(), 64, w - 7, h - 2, cudaMemcpyHostToDevice));
    CK(cudaMemcpy2D(back.data(), 40, p, pitch, w, h, cudaMemcpyDeviceToHost));
    for (int y = 0; y < h; y++)
        for (int x = 0; x < 40; x++)
            expect_eq("2d", y * 100 + x, back[y * 40 + x], x >= w ? 0xee : x < w - 7 && y < h - 2 ? src[y * 64 + x] : 0xab);
    cudaPitchedPtr vol;
    CK(cudaMalloc3D(&vol, make_cudaExtent(w, h, d)));
    CK(cudaMemset3D(vol, 0x11, make_cudaExtent(w, h, d)));
    cudaMemcpy3DParms m = {};
    m.srcPtr = make_cudaPitchedPtr(src.data(), 64, 64, 32), m.dstPtr = vol;
    m.srcPos = make_cudaPos(3, 2, 1), m.dstPos = make_cudaPos(1, 4, 2);
    m.extent = make_cudaExtent(20, 10, 2), m.kind = cudaMemcpyHostToDevice;
    CK(cudaMemcpy3D(&m));
    std::vector<uint8_t> cube(w * h * d);
    cudaMemcpy3DParms r = {};
    r.srcPtr = vol, r.dstPtr = make_cudaPitchedPtr(cube.data(), w, w, h), r.extent = make_cudaExtent(w, h, d), r.kind = cudaMemcpyDeviceToHost;
    CK(cudaMemcpy3D(&r));
    for (int z = 0; z < d; z++)
        for (int y = 0; y < h; y++)
            for (int x = 0; x < w; x++) {
                bool in = x >= 1 && x < 21 && y >= 4 && y < 14 && z >= 2 && z < 4;
                expect_eq("3d", (z * h + y) * w + x, cube[(z * h + y) * w + x],
                          in ? src[((z - 2 + 1) * 32 + y - 4 + 2) * 64 + x - 1 + 3] : 0x11);
            }
    uint8_t *a, *b;
    CK(cudaMalloc(&a, 1000)), CK(cudaMalloc(&b, 1000));
    CK(cudaMemcpyAsync(a, src.data(), 1000, cudaMemcpyHostToDevice));
    CK(cudaMemcpyAsync(b, a, 1000, cudaMemcpyDeviceToDevice));
    CK(cudaMemcpyPeerAsync(a + 1, 0, b, 0, 998));
    CK(cudaMemsetAsync(a + 500, 0x5a, 100));
    CK(cudaMemcpyAsync(back.data(), a, 1000, cudaMemcpyDeviceToHost));
    CK(cudaDeviceSynchronize());
    for (int i = 0; i < 1000; i++)
        expect_eq("linear", i, back[i], i >= 500 && i < 600 ? 0x5a : i == 0 || i == 999 ? src[i] : src[i - 1]);
    EXPECT(cudaMemcpy(a, src.data(), 1001, cudaMemcpyHostToDevice) == cudaErrorInvalidValue);
    EXPECT(cudaMemcpy2D(p, 10, src.data(), 64, 20, 2, cudaMemcpyHostToDevice) == cudaErrorInvalidPitchValue || cudaPeekAtLastError() == cudaErrorInvalidValue);
    return app_end();
}
