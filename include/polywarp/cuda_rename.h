// SPDX-License-Identifier: MIT
// Maps the plain names of calls to their newest form, as CUDA 13.0 does at compile time. With
// CUDA_API_PER_THREAD_DEFAULT_STREAM, calls that take or imply a stream become the per-thread form.
#ifndef POLYWARP_CUDA_RENAME_H
#define POLYWARP_CUDA_RENAME_H

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define POLYWARP_PTDS_(call) call##_ptds
#define POLYWARP_PTSZ_(call) call##_ptsz
#else
#define POLYWARP_PTDS_(call) call
#define POLYWARP_PTSZ_(call) call
#endif

#define cuArray3DCreate cuArray3DCreate_v2
#define cuArray3DGetDescriptor cuArray3DGetDescriptor_v2
#define cuArrayCreate cuArrayCreate_v2
#define cuArrayGetDescriptor cuArrayGetDescriptor_v2
#define cuCtxCreate cuCtxCreate_v4
#define cuCtxDestroy cuCtxDestroy_v2
#define cuCtxPopCurrent cuCtxPopCurrent_v2
#define cuCtxPushCurrent cuCtxPushCurrent_v2
#define cuDeviceGetUuid cuDeviceGetUuid_v2
#define cuDevicePrimaryCtxRelease cuDevicePrimaryCtxRelease_v2
#define cuDevicePrimaryCtxReset cuDevicePrimaryCtxReset_v2
#define cuDevicePrimaryCtxSetFlags cuDevicePrimaryCtxSetFlags_v2
#define cuDeviceTotalMem cuDeviceTotalMem_v2
#define cuEventDestroy cuEventDestroy_v2
#define cuEventElapsedTime cuEventElapsedTime_v2
#define cuGLCtxCreate cuGLCtxCreate_v2
#define cuGLGetDevices cuGLGetDevices_v2
#define cuGLMapBufferObject POLYWARP_PTDS_(cuGLMapBufferObject_v2)
#define cuGLMapBufferObjectAsync POLYWARP_PTSZ_(cuGLMapBufferObjectAsync_v2)
#define cuGetProcAddress cuGetProcAddress_v2
#define cuGraphAddDependencies cuGraphAddDependencies_v2
#define cuGraphAddKernelNode cuGraphAddKernelNode_v2
#define cuGraphAddNode cuGraphAddNode_v2
#define cuGraphExecKernelNodeSetParams cuGraphExecKernelNodeSetParams_v2
#define cuGraphExecUpdate cuGraphExecUpdate_v2
#define cuGraphGetEdges cuGraphGetEdges_v2
#define cuGraphInstantiate cuGraphInstantiateWithFlags
#define cuGraphKernelNodeGetParams cuGraphKernelNodeGetParams_v2
#define cuGraphKernelNodeSetParams cuGraphKernelNodeSetParams_v2
#define cuGraphNodeGetDependencies cuGraphNodeGetDependencies_v2
#define cuGraphNodeGetDependentNodes cuGraphNodeGetDependentNodes_v2
#define cuGraphRemoveDependencies cuGraphRemoveDependencies_v2
#define cuGraphicsResourceGetMappedPointer cuGraphicsResourceGetMappedPointer_v2
#define cuGraphicsResourceSetMapFlags cuGraphicsResourceSetMapFlags_v2
#define cuIpcOpenMemHandle cuIpcOpenMemHandle_v2
#define cuLinkAddData cuLinkAddData_v2
#define cuLinkAddFile cuLinkAddFile_v2
#define cuLinkCreate cuLinkCreate_v2
#define cuMemAdvise cuMemAdvise_v2
#define cuMemAlloc cuMemAlloc_v2
#define cuMemAllocHost cuMemAllocHost_v2
#define cuMemAllocPitch cuMemAllocPitch_v2
#define cuMemBatchDecompressAsync POLYWARP_PTSZ_(cuMemBatchDecompressAsync)
#define cuMemDiscardAndPrefetchBatchAsync POLYWARP_PTSZ_(cuMemDiscardAndPrefetchBatchAsync)
#define cuMemDiscardBatchAsync POLYWARP_PTSZ_(cuMemDiscardBatchAsync)
#define cuMemFree cuMemFree_v2
#define cuMemGetAddressRange cuMemGetAddressRange_v2
#define cuMemGetInfo cuMemGetInfo_v2
#define cuMemHostGetDevicePointer cuMemHostGetDevicePointer_v2
#define cuMemHostRegister cuMemHostRegister_v2
#define cuMemPrefetchAsync POLYWARP_PTSZ_(cuMemPrefetchAsync_v2)
#define cuMemPrefetchBatchAsync POLYWARP_PTSZ_(cuMemPrefetchBatchAsync)
#define cuMemcpy2D POLYWARP_PTDS_(cuMemcpy2D_v2)
#define cuMemcpy2DAsync POLYWARP_PTSZ_(cuMemcpy2DAsync_v2)
#define cuMemcpy2DUnaligned POLYWARP_PTDS_(cuMemcpy2DUnaligned_v2)
#define cuMemcpy3D POLYWARP_PTDS_(cuMemcpy3D_v2)
#define cuMemcpy3DAsync POLYWARP_PTSZ_(cuMemcpy3DAsync_v2)
#define cuMemcpy3DBatchAsync POLYWARP_PTSZ_(cuMemcpy3DBatchAsync_v2)
#define cuMemcpyAtoA POLYWARP_PTDS_(cuMemcpyAtoA_v2)
#define cuMemcpyAtoD POLYWARP_PTDS_(cuMemcpyAtoD_v2)
#define cuMemcpyAtoH POLYWARP_PTDS_(cuMemcpyAtoH_v2)
#define cuMemcpyAtoHAsync POLYWARP_PTSZ_(cuMemcpyAtoHAsync_v2)
#define cuMemcpyBatchAsync POLYWARP_PTSZ_(cuMemcpyBatchAsync_v2)
#define cuMemcpyDtoA POLYWARP_PTDS_(cuMemcpyDtoA_v2)
#define cuMemcpyDtoD POLYWARP_PTDS_(cuMemcpyDtoD_v2)
#define cuMemcpyDtoDAsync POLYWARP_PTSZ_(cuMemcpyDtoDAsync_v2)
#define cuMemcpyDtoH POLYWARP_PTDS_(cuMemcpyDtoH_v2)
#define cuMemcpyDtoHAsync POLYWARP_PTSZ_(cuMemcpyDtoHAsync_v2)
#define cuMemcpyHtoA POLYWARP_PTDS_(cuMemcpyHtoA_v2)
#define cuMemcpyHtoAAsync POLYWARP_PTSZ_(cuMemcpyHtoAAsync_v2)
#define cuMemcpyHtoD POLYWARP_PTDS_(cuMemcpyHtoD_v2)
#define cuMemcpyHtoDAsync POLYWARP_PTSZ_(cuMemcpyHtoDAsync_v2)
#define cuMemsetD16 POLYWARP_PTDS_(cuMemsetD16_v2)
#define cuMemsetD2D16 POLYWARP_PTDS_(cuMemsetD2D16_v2)
#define cuMemsetD2D32 POLYWARP_PTDS_(cuMemsetD2D32_v2)
#define cuMemsetD2D8 POLYWARP_PTDS_(cuMemsetD2D8_v2)
#define cuMemsetD32 POLYWARP_PTDS_(cuMemsetD32_v2)
#define cuMemsetD8 POLYWARP_PTDS_(cuMemsetD8_v2)
#define cuModuleGetGlobal cuModuleGetGlobal_v2
#define cuStreamBatchMemOp POLYWARP_PTSZ_(cuStreamBatchMemOp_v2)
#define cuStreamBeginCapture POLYWARP_PTSZ_(cuStreamBeginCapture_v2)
#define cuStreamDestroy cuStreamDestroy_v2
#define cuStreamGetCaptureInfo POLYWARP_PTSZ_(cuStreamGetCaptureInfo_v3)
#define cuStreamUpdateCaptureDependencies POLYWARP_PTSZ_(cuStreamUpdateCaptureDependencies_v2)
#define cuStreamWaitValue32 POLYWARP_PTSZ_(cuStreamWaitValue32_v2)
#define cuStreamWaitValue64 POLYWARP_PTSZ_(cuStreamWaitValue64_v2)
#define cuStreamWriteValue32 POLYWARP_PTSZ_(cuStreamWriteValue32_v2)
#define cuStreamWriteValue64 POLYWARP_PTSZ_(cuStreamWriteValue64_v2)
#define cuTexRefGetAddress cuTexRefGetAddress_v2
#define cuTexRefSetAddress cuTexRefSetAddress_v2
#define cuTexRefSetAddress2D cuTexRefSetAddress2D_v3
#define cuVDPAUCtxCreate cuVDPAUCtxCreate_v2

#ifdef CUDA_API_PER_THREAD_DEFAULT_STREAM
#define cuEventRecord POLYWARP_PTSZ_(cuEventRecord)
#define cuEventRecordWithFlags POLYWARP_PTSZ_(cuEventRecordWithFlags)
#define cuGraphInstantiateWithParams POLYWARP_PTSZ_(cuGraphInstantiateWithParams)
#define cuGraphLaunch POLYWARP_PTSZ_(cuGraphLaunch)
#define cuGraphUpload POLYWARP_PTSZ_(cuGraphUpload)
#define cuGraphicsMapResources POLYWARP_PTSZ_(cuGraphicsMapResources)
#define cuGraphicsUnmapResources POLYWARP_PTSZ_(cuGraphicsUnmapResources)
#define cuLaunchCooperativeKernel POLYWARP_PTSZ_(cuLaunchCooperativeKernel)
#define cuLaunchHostFunc POLYWARP_PTSZ_(cuLaunchHostFunc)
#define cuLaunchKernel POLYWARP_PTSZ_(cuLaunchKernel)
#define cuLaunchKernelEx POLYWARP_PTSZ_(cuLaunchKernelEx)
#define cuMemAllocAsync POLYWARP_PTSZ_(cuMemAllocAsync)
#define cuMemAllocFromPoolAsync POLYWARP_PTSZ_(cuMemAllocFromPoolAsync)
#define cuMemFreeAsync POLYWARP_PTSZ_(cuMemFreeAsync)
#define cuMemMapArrayAsync POLYWARP_PTSZ_(cuMemMapArrayAsync)
#define cuMemcpy POLYWARP_PTDS_(cuMemcpy)
#define cuMemcpy3DPeer POLYWARP_PTDS_(cuMemcpy3DPeer)
#define cuMemcpy3DPeerAsync POLYWARP_PTSZ_(cuMemcpy3DPeerAsync)
#define cuMemcpyAsync POLYWARP_PTSZ_(cuMemcpyAsync)
#define cuMemcpyPeer POLYWARP_PTDS_(cuMemcpyPeer)
#define cuMemcpyPeerAsync POLYWARP_PTSZ_(cuMemcpyPeerAsync)
#define cuMemsetD16Async POLYWARP_PTSZ_(cuMemsetD16Async)
#define cuMemsetD2D16Async POLYWARP_PTSZ_(cuMemsetD2D16Async)
#define cuMemsetD2D32Async POLYWARP_PTSZ_(cuMemsetD2D32Async)
#define cuMemsetD2D8Async POLYWARP_PTSZ_(cuMemsetD2D8Async)
#define cuMemsetD32Async POLYWARP_PTSZ_(cuMemsetD32Async)
#define cuMemsetD8Async POLYWARP_PTSZ_(cuMemsetD8Async)
#define cuSignalExternalSemaphoresAsync POLYWARP_PTSZ_(cuSignalExternalSemaphoresAsync)
#define cuStreamAddCallback POLYWARP_PTSZ_(cuStreamAddCallback)
#define cuStreamAttachMemAsync POLYWARP_PTSZ_(cuStreamAttachMemAsync)
#define cuStreamBeginCaptureToGraph POLYWARP_PTSZ_(cuStreamBeginCaptureToGraph)
#define cuStreamCopyAttributes POLYWARP_PTSZ_(cuStreamCopyAttributes)
#define cuStreamEndCapture POLYWARP_PTSZ_(cuStreamEndCapture)
#define cuStreamGetAttribute POLYWARP_PTSZ_(cuStreamGetAttribute)
#define cuStreamGetCtx POLYWARP_PTSZ_(cuStreamGetCtx)
#define cuStreamGetCtx_v2 POLYWARP_PTSZ_(cuStreamGetCtx_v2)
#define cuStreamGetDevice POLYWARP_PTSZ_(cuStreamGetDevice)
#define cuStreamGetFlags POLYWARP_PTSZ_(cuStreamGetFlags)
#define cuStreamGetId POLYWARP_PTSZ_(cuStreamGetId)
#define cuStreamGetPriority POLYWARP_PTSZ_(cuStreamGetPriority)
#define cuStreamIsCapturing POLYWARP_PTSZ_(cuStreamIsCapturing)
#define cuStreamQuery POLYWARP_PTSZ_(cuStreamQuery)
#define cuStreamSetAttribute POLYWARP_PTSZ_(cuStreamSetAttribute)
#define cuStreamSynchronize POLYWARP_PTSZ_(cuStreamSynchronize)
#define cuStreamWaitEvent POLYWARP_PTSZ_(cuStreamWaitEvent)
#define cuWaitExternalSemaphoresAsync POLYWARP_PTSZ_(cuWaitExternalSemaphoresAsync)

// Asks for per-thread forms unless the caller says which it wants.
static inline CUresult
cuGetProcAddress_v2_ptsz(const char *symbol, void **pfn, int version, cuuint64_t flags,
                         CUdriverProcAddressQueryResult *status)
{
    if (!(flags & 3)) // neither legacy nor per-thread
        flags |= CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM;
    return cuGetProcAddress_v2(symbol, pfn, version, flags, status);
}
#define cuGetProcAddress_v2 cuGetProcAddress_v2_ptsz
#endif

#endif
