// SPDX-License-Identifier: MIT
// cuGetProcAddress: versions, flags, status; the pointers work.
#include "drv.h"

int
main(void)
{
    void *f = NULL;
    CUdriverProcAddressQueryResult st;
    CK(cuGetProcAddress("cuInit", &f, 2000, CU_GET_PROC_ADDRESS_DEFAULT, &st));
    IS_TRUE(f != NULL);
    EXPECT(st, CU_GET_PROC_ADDRESS_SUCCESS);
    CK(((CUresult(*)(unsigned))f)(0));
    int version = 0;
    CK(cuDriverGetVersion(&version));
    IS_TRUE(version >= 12000);
    CK(cuGetProcAddress("cuNoSuchCall", &f, 12000, 0, &st)); // the status tells
    IS_TRUE(f == NULL);
    EXPECT(st, CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND);
    CK(cuGetProcAddress("cuLibraryLoadData", &f, 11000, 0, &st));
    IS_TRUE(f == NULL);
    EXPECT(st, CU_GET_PROC_ADDRESS_VERSION_NOT_SUFFICIENT);
    void *old, *fresh, *ptsz;
    CK(cuGetProcAddress("cuMemAlloc", &old, 2000, 0, &st));
    CK(cuGetProcAddress("cuMemAlloc", &fresh, 12000, 0, &st));
    IS_TRUE(old != fresh);
    CK(cuGetProcAddress("cuLaunchKernel", &fresh, 12000, 0, &st));
    CK(cuGetProcAddress("cuLaunchKernel", &ptsz, 12000, CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &st));
    IS_TRUE(ptsz != fresh);
    return app_end();
}
