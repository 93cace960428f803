#include "Driver.h"

#include "PtxMachine.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>

Code sticky = Ok;

namespace {
constexpr Code Refuted = Code(1), InvalidPtx = Code(218);

// A word of FAKE_CUDA: nodevice, noinit, old, oom, trap, misaligned, hang, resources, sm75; `runs`:
// it is an sm_80 whose kernels run, on a model (PtxMachine.h).
bool has(const char *word) {
  const char *scenario = std::getenv("FAKE_CUDA");
  return scenario && (" " + std::string(scenario) + " ").find(" " + std::string(word) + " ") !=
                         std::string::npos;
}

bool hangs = false; // a kernel was launched that never ends
// What would wait for it ends the process instead: the runtime must not get here.
void waits(const char *where) {
  if (!hangs)
    return;
  std::fprintf(stderr, "%s waits for ever\n", where);
  std::abort();
}

constexpr int deviceCount = 2;
char contexts[deviceCount];
thread_local Context stack[8];
thread_local int depth = 0;

Code started() {
  if (has("trap"))
    sticky = 719;
  if (has("misaligned"))
    sticky = 716;
  hangs = has("hang");
  return has("resources") ? OutOfResources : Ok;
}

std::mutex allocationsLock;
std::map<DevicePointer, size_t> allocations;

bool isAllocated(uint64_t address, unsigned bytes) {
  std::lock_guard lock(allocationsLock);
  auto after = allocations.upper_bound(DevicePointer(address));
  return after != allocations.begin() &&
         address + bytes <= std::prev(after)->first + std::prev(after)->second;
}

// Code is PTX, and what is called a cubin (test/fake_cuda/ptxas.sh) too.
struct Loaded {
  std::shared_ptr<const ptx::Kernel> kernel;
};

Code launch(const LaunchConfig &config, Function function, void **arguments) {
  ptx::Launch how{{config.gridX, config.gridY, config.gridZ},
                  {config.blockX, config.blockY, config.blockZ},
                  config.sharedBytes,
                  arguments,
                  isAllocated};
  if (const char *seed = std::getenv("FAKE_CUDA_SEED"))
    how.seed = unsigned(std::atoi(seed));
  std::string fault = ptx::run(*reinterpret_cast<const Loaded *>(function)->kernel, how);
  if (fault.empty())
    return Ok;
  std::fprintf(stderr, "the model of a GPU: %s\n", fault.c_str());
  // Not as a GPU, which would be lost: what comes behind may run.
  return Refuted;
}

Code allocate(DevicePointer *to, size_t bytes) {
  if (sticky)
    return sticky;
  if (has("oom") && bytes > 1 << 20)
    return NoMemory;
  *to = reinterpret_cast<DevicePointer>(std::aligned_alloc(256, (bytes + 255) / 256 * 256));
  std::lock_guard lock(allocationsLock);
  allocations[*to] = bytes;
  return Ok;
}
Code release(DevicePointer pointer) {
  {
    std::lock_guard lock(allocationsLock);
    allocations.erase(pointer);
  }
  std::free(reinterpret_cast<void *>(pointer));
  return sticky;
}
} // namespace

#pragma GCC visibility push(default)
extern "C" {
Code cuInit(unsigned) { return has("noinit") ? NoDevice : Ok; }
Code cuDriverGetVersion(int *version) { return *version = has("old") ? 10020 : 12080, Ok; }
Code cuGetErrorName(Code code, const char **text) {
  *text = code == NoMemory         ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == NoDevice       ? "CUDA_ERROR_NO_DEVICE"
          : code == OutOfResources ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
          : code == 716            ? "CUDA_ERROR_MISALIGNED_ADDRESS"
          : code == 719            ? "CUDA_ERROR_LAUNCH_FAILED"
          : code == InvalidPtx     ? "CUDA_ERROR_INVALID_PTX"
          : code == Refuted        ? "CUDA_ERROR_INVALID_VALUE"
                                   : "CUDA_ERROR_UNKNOWN";
  return Ok;
}
Code cuGetErrorString(Code code, const char **text) {
  *text = code == NoDevice     ? "no CUDA-capable device is detected"
          : code == 716        ? "misaligned address"
          : code == 719        ? "unspecified launch failure"
          : code == InvalidPtx ? "the model of a GPU does not know an instruction"
          : code == Refuted    ? "the model of a GPU refutes the kernel"
                               : "an error";
  return Ok;
}
Code cuDeviceGetCount(int *count) { return *count = has("nodevice") ? 0 : deviceCount, Ok; }
Code cuDeviceGet(DeviceHandle *device, int ordinal) { return *device = ordinal, Ok; }
Code cuDeviceGetName(char *name, int, DeviceHandle) { return std::strcpy(name, "Fake GPU"), Ok; }
Code cuDeviceGetAttribute(int *value, int which, DeviceHandle) {
  bool old = has("sm75"), runs = has("runs");
  *value = which == CapabilityMajor            ? (old    ? 7
                                                  : runs ? 8
                                                         : 9)
           : which == CapabilityMinor          ? (old ? 5 : 0)
           : which == SharedBytesPerBlockOptin ? (runs ? 166912 : 232448)
           : which == 36                       ? 3201000 // memory clock, kHz
           : which == 37                       ? 6144    // bits of the memory bus
                                               : 1;
  return Ok;
}
Code cuDeviceTotalMem_v2(size_t *bytes, DeviceHandle) { return *bytes = size_t(80) << 30, Ok; }
Code cuDevicePrimaryCtxRetain(Context *context, DeviceHandle device) {
  return *context = reinterpret_cast<Context>(&contexts[device]), Ok;
}
Code cuCtxGetCurrent(Context *context) { return *context = depth ? stack[depth - 1] : nullptr, Ok; }
Code cuCtxPushCurrent_v2(Context context) { return stack[depth++] = context, Ok; }
Code cuCtxPopCurrent_v2(Context *context) { return *context = stack[--depth], Ok; }
Code cuCtxSynchronize() { return waits("cuCtxSynchronize"), sticky; }

Code cuMemAlloc_v2(DevicePointer *to, size_t bytes) { return allocate(to, bytes); }
Code cuMemAllocAsync(DevicePointer *to, size_t bytes, StreamHandle) { return allocate(to, bytes); }
Code cuMemFree_v2(DevicePointer pointer) { return waits("cuMemFree"), release(pointer); }
Code cuMemFreeAsync(DevicePointer pointer, StreamHandle) { return release(pointer); }
Code cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle) {
  waits("cuMemcpyAsync");
  std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
  return sticky;
}
Code cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return sticky;
}
Code cuMemAllocHost_v2(void **to, size_t bytes) { return *to = std::malloc(bytes), sticky; }
Code cuMemFreeHost(void *pointer) { return std::free(pointer), sticky; }
Code cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes) {
  waits("cuMemcpyDtoH");
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return sticky;
}
Code cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, StreamHandle) {
  if (count <= 64 << 20)
    std::memset(reinterpret_cast<void *>(to), value, count);
  return sticky;
}
Code cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, StreamHandle) {
  for (size_t i = 0; i < count && count <= 32 << 20; ++i)
    reinterpret_cast<unsigned short *>(to)[i] = value;
  return sticky;
}
Code cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, StreamHandle) {
  if (count > 16 << 20) // what empties caches between samples is never read
    return sticky;
  for (size_t i = 0; i < count; ++i)
    reinterpret_cast<unsigned *>(to)[i] = value;
  return sticky;
}

Code cuStreamCreate(StreamHandle *stream, unsigned) {
  static size_t made = 0;
  return *stream = reinterpret_cast<StreamHandle>(++made), sticky;
}
Code cuStreamDestroy_v2(StreamHandle) { return waits("cuStreamDestroy"), sticky; }
Code cuStreamSynchronize(StreamHandle) { return waits("cuStreamSynchronize"), sticky; }
Code cuStreamQuery(StreamHandle) { return hangs ? Code(NotReady) : sticky; }
Code cuEventSynchronize(EventHandle) { return waits("cuEventSynchronize"), sticky; }
Code cuEventQuery(EventHandle) { return hangs ? Code(NotReady) : sticky; }
Code cuEventElapsedTime(float *milliseconds, EventHandle, EventHandle) {
  return *milliseconds = 1, sticky;
}
Code cuLibraryUnload(Library) { return waits("cuLibraryUnload"), sticky; }

Code cuFuncGetAttribute(int *value, int which, Function) {
  return *value = which == MaxThreadsPerBlock ? 512 : which == NumRegs ? 128 : 0, sticky;
}
Code cuLibraryLoadData(Library *library, const void *code, int *, void **, unsigned, int *, void **,
                       unsigned) {
  if (!has("runs"))
    return sticky;
  std::string problem;
  auto kernel = ptx::parse(static_cast<const char *>(code), problem);
  if (!kernel) {
    std::fprintf(stderr, "the model of a GPU: %s\n", problem.c_str());
    return InvalidPtx;
  }
  return *library = reinterpret_cast<Library>(new Loaded{kernel}), sticky;
}
Code cuLibraryGetKernel(Kernel *kernel, Library library, const char *) {
  return *kernel = reinterpret_cast<Kernel>(library), sticky;
}
Code cuKernelGetFunction(Function *function, Kernel kernel) {
  return *function = reinterpret_cast<Function>(kernel), sticky;
}
Code cuLaunchKernelEx(const LaunchConfig *config, Function function, void **arguments, void **) {
  if (sticky || !has("runs"))
    return sticky ? sticky : started();
  return launch(*config, function, arguments);
}
}
#pragma GCC visibility pop
