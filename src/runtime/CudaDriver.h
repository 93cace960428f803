// The CUDA driver API, opened at run time. Our own declarations of the part we use: nothing here
// needs a CUDA toolkit to build or a driver to load.
#pragma once

#include "nereid/base.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace nereid::runtime::cuda {

// Handles and plain types, as the driver defines them.
using Code = int; ///< CUresult
using DeviceHandle = int;
using DevicePointer = unsigned long long;
using Context = struct ContextTag *;
using Module = struct ModuleTag *;
using Function = struct FunctionTag *;
using Library = struct LibraryTag *;
using Kernel = struct KernelTag *;
using StreamHandle = struct StreamTag *;
using EventHandle = struct EventTag *;
using GraphHandle = struct GraphTag *;
using GraphExec = struct GraphExecTag *;
using GraphNode = struct GraphNodeTag *;

enum : Code {
  Ok = 0,
  NoMemory = 2,
  NoDevice = 100,
  InvalidImage = 200,
  InvalidContext = 201,
  NoBinaryForGpu = 209,
  InvalidPtx = 218,
  NoJitCompiler = 221,
  UnsupportedPtxVersion = 222,
  InvalidHandle = 400,
  NotReady = 600,
  OutOfResources = 701,
  ContextIsDestroyed = 709,
};

enum DeviceAttribute : int {
  ClockRate = 13,
  MultiprocessorCount = 16,
  L2CacheBytes = 38,
  CapabilityMajor = 75,
  CapabilityMinor = 76,
  SharedBytesPerBlockOptin = 97,
  MemoryPoolsSupported = 115,
};

enum PointerAttribute : int {
  PointerMemoryType = 2,    ///< 2: of a device
  PointerDeviceAddress = 3, ///< fails where kernels of the context that is current do not reach it
  PointerIsManaged = 8,
  PointerDeviceOrdinal = 9,
};

enum FunctionAttribute : int {
  MaxThreadsPerBlock = 0,
  SharedSizeBytes = 1,
  LocalSizeBytes = 3,
  NumRegs = 4,
  MaxDynamicSharedSizeBytes = 8,
  NonPortableClusterSizeAllowed = 14,
};

enum LaunchAttributeId : int {
  Cooperative = 2,
  ClusterDimension = 4,
  ProgrammaticStreamSerialization = 6,
};

struct LaunchAttribute {
  LaunchAttributeId id;
  uint32_t pad = 0;
  union Value {
    char bytes[64];
    uint32_t dim[3];
    int flag;
  } value = {};
};
static_assert(sizeof(LaunchAttribute) == 72);

struct LaunchConfig {
  uint32_t gridX, gridY, gridZ;
  uint32_t blockX, blockY, blockZ;
  uint32_t sharedBytes;
  StreamHandle stream;
  LaunchAttribute *attributes;
  uint32_t attributeCount;
};
static_assert(sizeof(LaunchConfig) == 56);

struct alignas(64) TensorMap {
  uint64_t opaque[16];
};

// name, first driver version with this signature, symbol that libcuda exports, signature.
// REQUIRED functions exist in every driver that we accept (11.4); OPTIONAL ones are null if
// missing.
#define NEREID_CUDA_FUNCTIONS(REQUIRED, OPTIONAL)                                                  \
  REQUIRED(cuInit, 2000, cuInit, (unsigned))                                                       \
  REQUIRED(cuDriverGetVersion, 2020, cuDriverGetVersion, (int *))                                  \
  REQUIRED(cuGetErrorName, 6000, cuGetErrorName, (Code, const char **))                            \
  REQUIRED(cuGetErrorString, 6000, cuGetErrorString, (Code, const char **))                        \
  REQUIRED(cuDeviceGetCount, 2000, cuDeviceGetCount, (int *))                                      \
  REQUIRED(cuDeviceGet, 2000, cuDeviceGet, (DeviceHandle *, int))                                  \
  REQUIRED(cuDeviceGetName, 2000, cuDeviceGetName, (char *, int, DeviceHandle))                    \
  REQUIRED(cuDeviceGetAttribute, 2000, cuDeviceGetAttribute, (int *, int, DeviceHandle))           \
  REQUIRED(cuDeviceTotalMem, 3020, cuDeviceTotalMem_v2, (size_t *, DeviceHandle))                  \
  REQUIRED(cuDevicePrimaryCtxGetState, 7000, cuDevicePrimaryCtxGetState,                           \
           (DeviceHandle, unsigned *, int *))                                                      \
  REQUIRED(cuDevicePrimaryCtxRetain, 7000, cuDevicePrimaryCtxRetain, (Context *, DeviceHandle))    \
  REQUIRED(cuCtxGetCurrent, 4000, cuCtxGetCurrent, (Context *))                                    \
  REQUIRED(cuCtxPushCurrent, 4000, cuCtxPushCurrent_v2, (Context))                                 \
  REQUIRED(cuCtxPopCurrent, 4000, cuCtxPopCurrent_v2, (Context *))                                 \
  REQUIRED(cuCtxGetDevice, 2000, cuCtxGetDevice, (DeviceHandle *))                                 \
  REQUIRED(cuCtxSynchronize, 2000, cuCtxSynchronize, ())                                           \
  REQUIRED(cuMemAlloc, 3020, cuMemAlloc_v2, (DevicePointer *, size_t))                             \
  REQUIRED(cuMemFree, 3020, cuMemFree_v2, (DevicePointer))                                         \
  REQUIRED(cuMemAllocAsync, 11020, cuMemAllocAsync, (DevicePointer *, size_t, StreamHandle))       \
  REQUIRED(cuMemFreeAsync, 11020, cuMemFreeAsync, (DevicePointer, StreamHandle))                   \
  REQUIRED(cuMemAllocHost, 3020, cuMemAllocHost_v2, (void **, size_t))                             \
  REQUIRED(cuMemFreeHost, 2000, cuMemFreeHost, (void *))                                           \
  REQUIRED(cuMemcpyAsync, 4000, cuMemcpyAsync,                                                     \
           (DevicePointer, DevicePointer, size_t, StreamHandle))                                   \
  REQUIRED(cuMemcpyHtoD, 3020, cuMemcpyHtoD_v2, (DevicePointer, const void *, size_t))             \
  REQUIRED(cuMemcpyDtoH, 3020, cuMemcpyDtoH_v2, (void *, DevicePointer, size_t))                   \
  REQUIRED(cuMemsetD8Async, 3020, cuMemsetD8Async,                                                 \
           (DevicePointer, unsigned char, size_t, StreamHandle))                                   \
  REQUIRED(cuMemsetD16Async, 3020, cuMemsetD16Async,                                               \
           (DevicePointer, unsigned short, size_t, StreamHandle))                                  \
  REQUIRED(cuMemsetD32Async, 3020, cuMemsetD32Async,                                               \
           (DevicePointer, unsigned, size_t, StreamHandle))                                        \
  REQUIRED(cuPointerGetAttribute, 4000, cuPointerGetAttribute, (void *, int, DevicePointer))       \
  REQUIRED(cuMemGetInfo, 3020, cuMemGetInfo_v2, (size_t *, size_t *))                              \
  REQUIRED(cuStreamCreate, 2000, cuStreamCreate, (StreamHandle *, unsigned))                       \
  REQUIRED(cuStreamDestroy, 4000, cuStreamDestroy_v2, (StreamHandle))                              \
  REQUIRED(cuStreamGetCtx, 9020, cuStreamGetCtx, (StreamHandle, Context *))                        \
  REQUIRED(cuStreamSynchronize, 2000, cuStreamSynchronize, (StreamHandle))                         \
  REQUIRED(cuStreamQuery, 2000, cuStreamQuery, (StreamHandle))                                     \
  REQUIRED(cuStreamWaitEvent, 3020, cuStreamWaitEvent, (StreamHandle, EventHandle, unsigned))      \
  REQUIRED(cuStreamBeginCapture, 10010, cuStreamBeginCapture_v2, (StreamHandle, int))              \
  REQUIRED(cuStreamEndCapture, 10000, cuStreamEndCapture, (StreamHandle, GraphHandle *))           \
  REQUIRED(cuStreamIsCapturing, 10000, cuStreamIsCapturing, (StreamHandle, int *))                 \
  REQUIRED(cuThreadExchangeStreamCaptureMode, 10010, cuThreadExchangeStreamCaptureMode, (int *))   \
  REQUIRED(cuEventCreate, 2000, cuEventCreate, (EventHandle *, unsigned))                          \
  REQUIRED(cuEventDestroy, 4000, cuEventDestroy_v2, (EventHandle))                                 \
  REQUIRED(cuEventRecord, 2000, cuEventRecord, (EventHandle, StreamHandle))                        \
  REQUIRED(cuEventSynchronize, 2000, cuEventSynchronize, (EventHandle))                            \
  REQUIRED(cuEventQuery, 2000, cuEventQuery, (EventHandle))                                        \
  REQUIRED(cuEventElapsedTime, 2000, cuEventElapsedTime, (float *, EventHandle, EventHandle))      \
  REQUIRED(cuGraphInstantiateWithFlags, 11040, cuGraphInstantiateWithFlags,                        \
           (GraphExec *, GraphHandle, unsigned long long))                                         \
  REQUIRED(cuGraphGetNodes, 10000, cuGraphGetNodes, (GraphHandle, GraphNode *, size_t *))          \
  REQUIRED(cuGraphLaunch, 10000, cuGraphLaunch, (GraphExec, StreamHandle))                         \
  REQUIRED(cuGraphExecDestroy, 10000, cuGraphExecDestroy, (GraphExec))                             \
  REQUIRED(cuGraphDestroy, 10000, cuGraphDestroy, (GraphHandle))                                   \
  REQUIRED(cuModuleLoadDataEx, 2010, cuModuleLoadDataEx,                                           \
           (Module *, const void *, unsigned, int *, void **))                                     \
  REQUIRED(cuModuleUnload, 2000, cuModuleUnload, (Module))                                         \
  REQUIRED(cuModuleGetFunction, 2000, cuModuleGetFunction, (Function *, Module, const char *))     \
  REQUIRED(cuFuncSetAttribute, 9000, cuFuncSetAttribute, (Function, int, int))                     \
  REQUIRED(cuFuncGetAttribute, 2020, cuFuncGetAttribute, (int *, int, Function))                   \
  REQUIRED(cuLaunchKernel, 4000, cuLaunchKernel,                                                   \
           (Function, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,        \
            StreamHandle, void **, void **))                                                       \
  OPTIONAL(cuLaunchKernelEx, 11060, cuLaunchKernelEx,                                              \
           (const LaunchConfig *, Function, void **, void **))                                     \
  OPTIONAL(cuLibraryLoadData, 12000, cuLibraryLoadData,                                            \
           (Library *, const void *, int *, void **, unsigned, int *, void **, unsigned))          \
  OPTIONAL(cuLibraryUnload, 12000, cuLibraryUnload, (Library))                                     \
  OPTIONAL(cuLibraryGetKernel, 12000, cuLibraryGetKernel, (Kernel *, Library, const char *))       \
  OPTIONAL(cuLibraryGetModule, 12000, cuLibraryGetModule, (Module *, Library))                     \
  OPTIONAL(cuKernelGetFunction, 12000, cuKernelGetFunction, (Function *, Kernel))                  \
  OPTIONAL(cuOccupancyMaxActiveBlocksPerMultiprocessor, 6050,                                      \
           cuOccupancyMaxActiveBlocksPerMultiprocessor, (int *, Function, int, size_t))            \
  OPTIONAL(cuOccupancyMaxActiveClusters, 11070, cuOccupancyMaxActiveClusters,                      \
           (int *, Function, const LaunchConfig *))                                                \
  OPTIONAL(cuTensorMapEncodeTiled, 12000, cuTensorMapEncodeTiled,                                  \
           (TensorMap *, int, uint32_t, void *, const uint64_t *, const uint64_t *,                \
            const uint32_t *, const uint32_t *, int, int, int, int))

/// The table of functions.
struct Driver {
#define NEREID_DECLARE(name, version, symbol, signature) Code(*name) signature = nullptr;
  NEREID_CUDA_FUNCTIONS(NEREID_DECLARE, NEREID_DECLARE)
#undef NEREID_DECLARE

  int version = 0; ///< 13000 is CUDA 13.0

  /// "out of memory (CUDA_ERROR_OUT_OF_MEMORY)".
  std::string explain(Code code) const;
};

/// The driver, opened and initialised once; or why there is none: no library, a library that is too
/// old, no usable device.
Result<const Driver *> driver();

/// Opens `library` as a driver; `driver()` without its memory, for tests.
Result<std::unique_ptr<Driver>> openDriver(const char *library);

} // namespace nereid::runtime::cuda
