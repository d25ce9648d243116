// SPDX-License-Identifier: MIT
// CUDA 13.0 driver ABI: OpenGL, EGL and VDPAU interoperation. Foreign types are given as what they
// are in the ABI, so that neither GL, EGL nor VDPAU headers are needed.
#ifndef POLYWARP_CUDA_INTEROP_H
#define POLYWARP_CUDA_INTEROP_H

#include "polywarp/cuda_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define CUDA_EGL_INFINITE_TIMEOUT 0xFFFFFFFF

typedef struct CUeglStreamConnection_st *CUeglStreamConnection;

typedef enum CUGLDeviceList_enum {
    CU_GL_DEVICE_LIST_ALL = 1,
    CU_GL_DEVICE_LIST_CURRENT_FRAME = 2,
    CU_GL_DEVICE_LIST_NEXT_FRAME = 3,
} CUGLDeviceList;

typedef enum CUGLmap_flags_enum {
    CU_GL_MAP_RESOURCE_FLAGS_NONE = 0,
    CU_GL_MAP_RESOURCE_FLAGS_READ_ONLY = 1,
    CU_GL_MAP_RESOURCE_FLAGS_WRITE_DISCARD = 2,
} CUGLmap_flags;

typedef enum CUeglFrameType_enum {
    CU_EGL_FRAME_TYPE_ARRAY = 0,
    CU_EGL_FRAME_TYPE_PITCH = 1,
} CUeglFrameType;

typedef enum CUeglResourceLocationFlags_enum {
    CU_EGL_RESOURCE_LOCATION_SYSMEM = 0,
    CU_EGL_RESOURCE_LOCATION_VIDMEM = 1,
} CUeglResourceLocationFlags;

typedef enum CUeglColorFormat_enum {
    CU_EGL_COLOR_FORMAT_YUV420_PLANAR = 0,
    CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR = 1,
    CU_EGL_COLOR_FORMAT_YUV422_PLANAR = 2,
    CU_EGL_COLOR_FORMAT_YUV422_SEMIPLANAR = 3,
    CU_EGL_COLOR_FORMAT_RGB = 4,
    CU_EGL_COLOR_FORMAT_BGR = 5,
    CU_EGL_COLOR_FORMAT_ARGB = 6,
    CU_EGL_COLOR_FORMAT_RGBA = 7,
    CU_EGL_COLOR_FORMAT_L = 8,
    CU_EGL_COLOR_FORMAT_R = 9,
    CU_EGL_COLOR_FORMAT_YUV444_PLANAR = 0xa,
    CU_EGL_COLOR_FORMAT_YUV444_SEMIPLANAR = 0xb,
    CU_EGL_COLOR_FORMAT_YUYV_422 = 0xc,
    CU_EGL_COLOR_FORMAT_UYVY_422 = 0xd,
    CU_EGL_COLOR_FORMAT_ABGR = 0xe,
    CU_EGL_COLOR_FORMAT_BGRA = 0xf,
    CU_EGL_COLOR_FORMAT_A = 0x10,
    CU_EGL_COLOR_FORMAT_RG = 0x11,
    CU_EGL_COLOR_FORMAT_AYUV = 0x12,
    CU_EGL_COLOR_FORMAT_YVU444_SEMIPLANAR = 0x13,
    CU_EGL_COLOR_FORMAT_YVU422_SEMIPLANAR = 0x14,
    CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR = 0x15,
    CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR = 0x16,
    CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR = 0x17,
    CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR = 0x18,
    CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR = 0x19,
    CU_EGL_COLOR_FORMAT_VYUY_ER = 0x1a,
    CU_EGL_COLOR_FORMAT_UYVY_ER = 0x1b,
    CU_EGL_COLOR_FORMAT_YUYV_ER = 0x1c,
    CU_EGL_COLOR_FORMAT_YVYU_ER = 0x1d,
    CU_EGL_COLOR_FORMAT_YUV_ER = 0x1e,
    CU_EGL_COLOR_FORMAT_YUVA_ER = 0x1f,
    CU_EGL_COLOR_FORMAT_AYUV_ER = 0x20,
    CU_EGL_COLOR_FORMAT_YUV444_PLANAR_ER = 0x21,
    CU_EGL_COLOR_FORMAT_YUV422_PLANAR_ER = 0x22,
    CU_EGL_COLOR_FORMAT_YUV420_PLANAR_ER = 0x23,
    CU_EGL_COLOR_FORMAT_YUV444_SEMIPLANAR_ER = 0x24,
    CU_EGL_COLOR_FORMAT_YUV422_SEMIPLANAR_ER = 0x25,
    CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_ER = 0x26,
    CU_EGL_COLOR_FORMAT_YVU444_PLANAR_ER = 0x27,
    CU_EGL_COLOR_FORMAT_YVU422_PLANAR_ER = 0x28,
    CU_EGL_COLOR_FORMAT_YVU420_PLANAR_ER = 0x29,
    CU_EGL_COLOR_FORMAT_YVU444_SEMIPLANAR_ER = 0x2a,
    CU_EGL_COLOR_FORMAT_YVU422_SEMIPLANAR_ER = 0x2b,
    CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_ER = 0x2c,
    CU_EGL_COLOR_FORMAT_BAYER_RGGB = 0x2d,
    CU_EGL_COLOR_FORMAT_BAYER_BGGR = 0x2e,
    CU_EGL_COLOR_FORMAT_BAYER_GRBG = 0x2f,
    CU_EGL_COLOR_FORMAT_BAYER_GBRG = 0x30,
    CU_EGL_COLOR_FORMAT_BAYER10_RGGB = 0x31,
    CU_EGL_COLOR_FORMAT_BAYER10_BGGR = 0x32,
    CU_EGL_COLOR_FORMAT_BAYER10_GRBG = 0x33,
    CU_EGL_COLOR_FORMAT_BAYER10_GBRG = 0x34,
    CU_EGL_COLOR_FORMAT_BAYER12_RGGB = 0x35,
    CU_EGL_COLOR_FORMAT_BAYER12_BGGR = 0x36,
    CU_EGL_COLOR_FORMAT_BAYER12_GRBG = 0x37,
    CU_EGL_COLOR_FORMAT_BAYER12_GBRG = 0x38,
    CU_EGL_COLOR_FORMAT_BAYER14_RGGB = 0x39,
    CU_EGL_COLOR_FORMAT_BAYER14_BGGR = 0x3a,
    CU_EGL_COLOR_FORMAT_BAYER14_GRBG = 0x3b,
    CU_EGL_COLOR_FORMAT_BAYER14_GBRG = 0x3c,
    CU_EGL_COLOR_FORMAT_BAYER20_RGGB = 0x3d,
    CU_EGL_COLOR_FORMAT_BAYER20_BGGR = 0x3e,
    CU_EGL_COLOR_FORMAT_BAYER20_GRBG = 0x3f,
    CU_EGL_COLOR_FORMAT_BAYER20_GBRG = 0x40,
    CU_EGL_COLOR_FORMAT_YVU444_PLANAR = 0x41,
    CU_EGL_COLOR_FORMAT_YVU422_PLANAR = 0x42,
    CU_EGL_COLOR_FORMAT_YVU420_PLANAR = 0x43,
    CU_EGL_COLOR_FORMAT_BAYER_ISP_RGGB = 0x44,
    CU_EGL_COLOR_FORMAT_BAYER_ISP_BGGR = 0x45,
    CU_EGL_COLOR_FORMAT_BAYER_ISP_GRBG = 0x46,
    CU_EGL_COLOR_FORMAT_BAYER_ISP_GBRG = 0x47,
    CU_EGL_COLOR_FORMAT_BAYER_BCCR = 0x48,
    CU_EGL_COLOR_FORMAT_BAYER_RCCB = 0x49,
    CU_EGL_COLOR_FORMAT_BAYER_CRBC = 0x4a,
    CU_EGL_COLOR_FORMAT_BAYER_CBRC = 0x4b,
    CU_EGL_COLOR_FORMAT_BAYER10_CCCC = 0x4c,
    CU_EGL_COLOR_FORMAT_BAYER12_BCCR = 0x4d,
    CU_EGL_COLOR_FORMAT_BAYER12_RCCB = 0x4e,
    CU_EGL_COLOR_FORMAT_BAYER12_CRBC = 0x4f,
    CU_EGL_COLOR_FORMAT_BAYER12_CBRC = 0x50,
    CU_EGL_COLOR_FORMAT_BAYER12_CCCC = 0x51,
    CU_EGL_COLOR_FORMAT_Y = 0x52,
    CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_2020 = 0x53,
    CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_2020 = 0x54,
    CU_EGL_COLOR_FORMAT_YUV420_PLANAR_2020 = 0x55,
    CU_EGL_COLOR_FORMAT_YVU420_PLANAR_2020 = 0x56,
    CU_EGL_COLOR_FORMAT_YUV420_SEMIPLANAR_709 = 0x57,
    CU_EGL_COLOR_FORMAT_YVU420_SEMIPLANAR_709 = 0x58,
    CU_EGL_COLOR_FORMAT_YUV420_PLANAR_709 = 0x59,
    CU_EGL_COLOR_FORMAT_YVU420_PLANAR_709 = 0x5a,
    CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_709 = 0x5b,
    CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_2020 = 0x5c,
    CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR_2020 = 0x5d,
    CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR = 0x5e,
    CU_EGL_COLOR_FORMAT_Y10V10U10_422_SEMIPLANAR_709 = 0x5f,
    CU_EGL_COLOR_FORMAT_Y_ER = 0x60,
    CU_EGL_COLOR_FORMAT_Y_709_ER = 0x61,
    CU_EGL_COLOR_FORMAT_Y10_ER = 0x62,
    CU_EGL_COLOR_FORMAT_Y10_709_ER = 0x63,
    CU_EGL_COLOR_FORMAT_Y12_ER = 0x64,
    CU_EGL_COLOR_FORMAT_Y12_709_ER = 0x65,
    CU_EGL_COLOR_FORMAT_YUVA = 0x66,
    CU_EGL_COLOR_FORMAT_YUV = 0x67,
    CU_EGL_COLOR_FORMAT_YVYU = 0x68,
    CU_EGL_COLOR_FORMAT_VYUY = 0x69,
    CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_ER = 0x6a,
    CU_EGL_COLOR_FORMAT_Y10V10U10_420_SEMIPLANAR_709_ER = 0x6b,
    CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR_ER = 0x6c,
    CU_EGL_COLOR_FORMAT_Y10V10U10_444_SEMIPLANAR_709_ER = 0x6d,
    CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR_ER = 0x6e,
    CU_EGL_COLOR_FORMAT_Y12V12U12_420_SEMIPLANAR_709_ER = 0x6f,
    CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR_ER = 0x70,
    CU_EGL_COLOR_FORMAT_Y12V12U12_444_SEMIPLANAR_709_ER = 0x71,
    CU_EGL_COLOR_FORMAT_UYVY_709 = 0x72,
    CU_EGL_COLOR_FORMAT_UYVY_709_ER = 0x73,
    CU_EGL_COLOR_FORMAT_UYVY_2020 = 0x74,
    CU_EGL_COLOR_FORMAT_MAX = 117,
} CUeglColorFormat;

typedef struct CUeglFrame_st {
    union {
        CUarray pArray[3];
        void *pPitch[3];
    } frame;
    unsigned width, height, depth, pitch, planeCount, numChannels;
    CUeglFrameType frameType;
    CUeglColorFormat eglColorFormat;
    CUarray_format cuFormat;
} CUeglFrame_v1, CUeglFrame;

CUresult CUDAAPI cuEGLApiInit(void);
CUresult CUDAAPI cuEGLStreamConsumerAcquireFrame(CUeglStreamConnection *conn,
    CUgraphicsResource *pCudaResource, CUstream *pStream, unsigned timeout);
CUresult CUDAAPI cuEGLStreamConsumerConnect(CUeglStreamConnection *conn, void *stream);
CUresult CUDAAPI cuEGLStreamConsumerConnectWithFlags(CUeglStreamConnection *conn, void *stream,
    unsigned flags);
CUresult CUDAAPI cuEGLStreamConsumerDisconnect(CUeglStreamConnection *conn);
CUresult CUDAAPI cuEGLStreamConsumerReleaseFrame(CUeglStreamConnection *conn,
    CUgraphicsResource pCudaResource, CUstream *pStream);
CUresult CUDAAPI cuEGLStreamProducerConnect(CUeglStreamConnection *conn, void *stream, int width,
    int height);
CUresult CUDAAPI cuEGLStreamProducerDisconnect(CUeglStreamConnection *conn);
CUresult CUDAAPI cuEGLStreamProducerPresentFrame(CUeglStreamConnection *conn, CUeglFrame eglframe,
    CUstream *pStream);
CUresult CUDAAPI cuEGLStreamProducerReturnFrame(CUeglStreamConnection *conn, CUeglFrame *eglframe,
    CUstream *pStream);
CUresult CUDAAPI cuEventCreateFromEGLSync(CUevent *phEvent, void *eglSync, unsigned flags);
CUresult CUDAAPI cuGLCtxCreate(CUcontext *pCtx, unsigned Flags, CUdevice device);
CUresult CUDAAPI cuGLCtxCreate_v2(CUcontext *pCtx, unsigned Flags, CUdevice device);
CUresult CUDAAPI cuGLGetDevices(unsigned *pCudaDeviceCount, CUdevice *pCudaDevices,
    unsigned cudaDeviceCount, CUGLDeviceList deviceList);
CUresult CUDAAPI cuGLGetDevices_v2(unsigned *pCudaDeviceCount, CUdevice *pCudaDevices,
    unsigned cudaDeviceCount, CUGLDeviceList deviceList);
CUresult CUDAAPI cuGLInit(void);
CUresult CUDAAPI cuGLMapBufferObject(CUdeviceptr_v1 *dptr, unsigned *size, unsigned buffer);
CUresult CUDAAPI cuGLMapBufferObjectAsync(CUdeviceptr_v1 *dptr, unsigned *size, unsigned buffer,
    CUstream hStream);
CUresult CUDAAPI cuGLMapBufferObjectAsync_v2(CUdeviceptr *dptr, size_t *size, unsigned buffer,
    CUstream hStream);
CUresult CUDAAPI cuGLMapBufferObject_v2(CUdeviceptr *dptr, size_t *size, unsigned buffer);
CUresult CUDAAPI cuGLRegisterBufferObject(unsigned buffer);
CUresult CUDAAPI cuGLSetBufferObjectMapFlags(unsigned buffer, unsigned Flags);
CUresult CUDAAPI cuGLUnmapBufferObject(unsigned buffer);
CUresult CUDAAPI cuGLUnmapBufferObjectAsync(unsigned buffer, CUstream hStream);
CUresult CUDAAPI cuGLUnregisterBufferObject(unsigned buffer);
CUresult CUDAAPI cuGraphicsEGLRegisterImage(CUgraphicsResource *pCudaResource, void *image,
    unsigned flags);
CUresult CUDAAPI cuGraphicsGLRegisterBuffer(CUgraphicsResource *pCudaResource, unsigned buffer,
    unsigned Flags);
CUresult CUDAAPI cuGraphicsGLRegisterImage(CUgraphicsResource *pCudaResource, unsigned image,
    unsigned target, unsigned Flags);
CUresult CUDAAPI cuGraphicsResourceGetMappedEglFrame(CUeglFrame *eglFrame,
    CUgraphicsResource resource, unsigned index, unsigned mipLevel);
CUresult CUDAAPI cuGraphicsVDPAURegisterOutputSurface(CUgraphicsResource *pCudaResource,
    uint32_t vdpSurface, unsigned flags);
CUresult CUDAAPI cuGraphicsVDPAURegisterVideoSurface(CUgraphicsResource *pCudaResource,
    uint32_t vdpSurface, unsigned flags);
CUresult CUDAAPI cuVDPAUCtxCreate(CUcontext *pCtx, unsigned flags, CUdevice device,
    uint32_t vdpDevice, void *vdpGetProcAddress);
CUresult CUDAAPI cuVDPAUCtxCreate_v2(CUcontext *pCtx, unsigned flags, CUdevice device,
    uint32_t vdpDevice, void *vdpGetProcAddress);
CUresult CUDAAPI cuVDPAUGetDevice(CUdevice *pDevice, uint32_t vdpDevice, void *vdpGetProcAddress);
extern __typeof__(cuGLMapBufferObjectAsync_v2) cuGLMapBufferObjectAsync_v2_ptsz;
extern __typeof__(cuGLMapBufferObject_v2) cuGLMapBufferObject_v2_ptds;

#ifdef __cplusplus
}
#endif

#endif
