// SPDX-License-Identifier: MIT
// Fills of every width, flat and pitched, in a stream; copies between them.
#include "drv.h"

int
main(void)
{
    drv_start();
    CUdeviceptr d, e;
    size_t pitch;
    CUstream s;
    unsigned char b[4096];
    CK(cuStreamCreate(&s, CU_STREAM_NON_BLOCKING));
    CK(cuMemAlloc(&d, sizeof b));
    CK(cuMemsetD8(d, 0x11, sizeof b));
    CK(cuMemsetD16(d + 2, 0x2233, 5));
    CK(cuMemsetD32Async(d + 64, 0xdeadbeef, 3, s));
    CK(cuStreamSynchronize(s));
    CK(cuMemcpyDtoH(b, d, sizeof b));
    EXPECT(b[0], 0x11);
    EXPECT(b[2], 0x33);
    EXPECT(b[11], 0x22);
    EXPECT(b[12], 0x11);
    EXPECT(b[67], 0xde);
    EXPECT(b[75], 0xde);
    EXPECT(b[76], 0x11);
    EXPECT(cuMemsetD32(d + 1, 0, 1), CUDA_ERROR_INVALID_VALUE);
    EXPECT(cuMemsetD8(d, 0, sizeof b + 1), CUDA_ERROR_INVALID_VALUE);
    CK(cuMemAllocPitch(&e, &pitch, 40, 8, 4));
    CK(cuMemsetD2D32(e, pitch, 0x01020304, 10, 8));
    CK(cuMemsetD2D8(e + pitch, pitch, 9, 3, 2));
    CUDA_MEMCPY2D c = {.srcMemoryType = CU_MEMORYTYPE_DEVICE, .srcDevice = e, .srcPitch = pitch, .dstMemoryType = CU_MEMORYTYPE_HOST,
                       .dstHost = b, .dstPitch = 64, .WidthInBytes = 40, .Height = 8};
    CK(cuMemcpy2D(&c));
    EXPECT(b[0], 4);
    EXPECT(b[64], 9);
    EXPECT(b[67], 1);
    EXPECT(b[128 + 2], 9);
    EXPECT(b[192], 4);
    EXPECT(b[7 * 64 + 39], 1);
    return app_end();
}
