#include "Driver.h"

#include "Hooks.h"
#include "PtxCode.h"
#include "PtxMachine.h"
#include "TensorMap.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

Code sticky = Ok;

namespace {
constexpr Code Refuted = Code(1);

// A word of FAKE_CUDA: nodevice, noinit, old, cuda118, oom, trap, misaligned, hang, resources,
// sm75, nocubin, noptx; `runs`: it is an sm_80 whose kernels run, on a model (PtxMachine.h), or
// with `sm90` an sm_90, with `ordered` accesses of a block to global memory need an order, and with
// `lost` a fault of one costs the context as on a GPU; report says how often some functions were
// called when the process ends.
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

// What the host program could ask a driver about its calls.
std::mutex mutex;
std::map<std::string, long> calls;
void count(const char *what) {
  std::lock_guard lock(mutex);
  ++calls[what];
}

// Who watches the calls, if anybody does.
const FakeHooks *hooks = nullptr;
thread_local bool runsGraph = false;
struct WatchedCall {
  WatchedCall() : told(hooks) {
    if (told)
      told->call(true);
  }
  ~WatchedCall() {
    if (told)
      told->call(false);
  }
  const FakeHooks *told;
};
void watch(FakeWork work) {
  work.isOfGraph = runsGraph;
  if (hooks)
    hooks->work(work);
}
void watchKernel(const LaunchConfig &config, const std::string &name) {
  watch({FakeWork::Kernel,
         name.c_str(),
         {config.gridX, config.gridY, config.gridZ},
         {config.blockX, config.blockY, config.blockZ},
         config.sharedBytes,
         0,
         config.stream});
}
// The kernel that was taken from a library last.
std::string entryName;
void setEntry(const char *name) {
  std::lock_guard lock(mutex);
  entryName = name;
}
std::string lastEntry() {
  std::lock_guard lock(mutex);
  return entryName;
}

struct Report {
  ~Report() {
    for (const auto &[what, times] : calls)
      if (has("report"))
        std::fprintf(stderr, "%s: %ld\n", what.c_str(), times);
  }
} report;

// Time passes with launches, a millisecond for each four warps.
float now = 0;
struct FakeEvent {
  float at = 0;
};

constexpr int deviceCount = 2;
struct FakeContext {
  int device;
} contexts[deviceCount] = {{0}, {1}};
bool retained[deviceCount] = {};
bool isPeer[deviceCount][deviceCount] =
    {}; // whether kernels of the first reach the second's memory
using FakeGraph = std::vector<std::function<Code()>>;
struct FakeStream {
  Context context;
  bool isAlive = true, isCapturing = false;
  FakeGraph captured;
};
StreamHandle lastStream = nullptr;
unsigned lastGrid[3];
constexpr int host = -1;
struct FakeBlock {
  size_t bytes;
  int device;
};
std::map<DevicePointer, FakeBlock> memory; // by where it begins
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

Context current() { return depth ? stack[depth - 1] : nullptr; }
FakeContext *contextOf(Context context) { return reinterpret_cast<FakeContext *>(context); }
int deviceOf(Context context) { return context ? contextOf(context)->device : 0; }
FakeStream *streamOf(StreamHandle stream) {
  // The default streams are those of the context that is current.
  thread_local FakeStream byDefault;
  if (reinterpret_cast<uintptr_t>(stream) <= 2)
    return byDefault = {.context = current()}, &byDefault;
  return reinterpret_cast<FakeStream *>(stream);
}

// A module is loaded, or refused as a driver does that is older than its code.
Code load(const char *how, const void *code) {
  count(how);
  if (hooks)
    hooks->module(code);
  bool isCubin = std::memcmp(code,
                             "\x7f"
                             "ELF",
                             4) == 0;
  return has("nocubin") && isCubin  ? Code(NoBinaryForGpu)
         : has("noptx") && !isCubin ? Code(UnsupportedPtxVersion)
                                    : sticky;
}
// A function is of the context that is current, which is all that it is here.
Code giveFunction(Function *function) {
  return *function = reinterpret_cast<Function>(current()), sticky;
}

// At once, or whenever the graph is launched that the stream captures.
Code queue(StreamHandle stream, std::function<Code()> work) {
  FakeStream *to = streamOf(stream);
  if (!to->isCapturing)
    return work();
  to->captured.push_back(std::move(work));
  return Ok;
}

// The block that `bytes` from `address` on lie in; null if there is none. With `mutex` held.
const FakeBlock *blockAt(uint64_t address, size_t bytes) {
  auto after = memory.upper_bound(DevicePointer(address));
  if (after == memory.begin())
    return nullptr;
  const auto &[begin, block] = *std::prev(after);
  return address + bytes <= begin + block.bytes ? &block : nullptr;
}
bool reaches(int device, const FakeBlock &block) {
  return block.device == host || block.device == device || isPeer[device][block.device];
}

// Code is PTX, and what is called a cubin (test/fake_cuda/ptxas.sh) too.
struct Loaded {
  std::shared_ptr<const ptx::Kernel> kernel;
};

Code launch(const LaunchConfig &config, int device, const ptx::Kernel &kernel, void **arguments) {
  ptx::Launch how{{config.gridX, config.gridY, config.gridZ},
                  {config.blockX, config.blockY, config.blockZ},
                  config.sharedBytes,
                  arguments,
                  [device](uint64_t address, unsigned bytes) {
                    std::lock_guard lock(mutex);
                    const FakeBlock *block = blockAt(address, bytes);
                    return block && reaches(device, *block);
                  }};
  if (const char *seed = std::getenv("FAKE_CUDA_SEED"))
    how.seed = unsigned(std::atoi(seed));
  how.ordersGlobal = has("ordered");
  std::string fault = ptx::run(kernel, how);
  if (fault.empty())
    return Ok;
  std::fprintf(stderr, "the model of a GPU: %s\n", fault.c_str());
  if (has("lost")) // as a GPU: the launch is queued, and whatever comes behind it fails
    return sticky = 700, Ok;
  return Refuted;
}

// With copies of the arguments, as a driver takes them.
Code queueLaunch(const LaunchConfig &config, Function function, void **arguments) {
  auto kernel = reinterpret_cast<const Loaded *>(function)->kernel;
  std::vector<std::vector<char>> values;
  for (size_t i = 0; i < kernel->parameters.size(); ++i) {
    auto *from = static_cast<const char *>(arguments[i]);
    values.emplace_back(from, from + kernel->parameters[i].bytes);
  }
  int device = deviceOf(config.stream ? streamOf(config.stream)->context : current());
  return queue(config.stream, [config, device, kernel, values, name = lastEntry()]() mutable {
    watchKernel(config, name);
    std::vector<void *> places;
    for (std::vector<char> &value : values)
      places.push_back(value.data());
    return launch(config, device, *kernel, places.data());
  });
}

Code allocate(DevicePointer *to, size_t bytes, int device) {
  if (sticky)
    return sticky;
  if (has("oom") && bytes > 1 << 20)
    return NoMemory;
  void *block = std::aligned_alloc(256, (bytes + 255) / 256 * 256);
  if (block && bytes < size_t(64) << 20) // larger blocks are the system's, which clears them
    std::memset(block, 0, bytes);
  *to = reinterpret_cast<DevicePointer>(block);
  std::lock_guard lock(mutex);
  memory[*to] = {bytes, device};
  return Ok;
}
template <typename T> Code fill(DevicePointer to, T value, size_t count, StreamHandle stream) {
  if (count * sizeof(T) > 64 << 20) // what empties caches between samples is never read
    return sticky;
  WatchedCall call;
  return queue(stream, [=] {
    watch({FakeWork::Fill, "", {}, {}, 0, count * sizeof(T), stream});
    std::fill_n(reinterpret_cast<T *>(to), count, value);
    return sticky;
  });
}
Code release(DevicePointer pointer) {
  {
    std::lock_guard lock(mutex);
    memory.erase(pointer);
  }
  std::free(reinterpret_cast<void *>(pointer));
  return sticky;
}
} // namespace

#pragma GCC visibility push(default)
extern "C" {
Code cuInit(unsigned) { return has("noinit") ? NoDevice : Ok; }
Code cuDriverGetVersion(int *version) {
  return *version = has("old") ? 10020 : has("cuda118") ? 11080 : 12080, Ok;
}
Code cuGetErrorName(Code code, const char **text) {
  *text = code == NoMemory                ? "CUDA_ERROR_OUT_OF_MEMORY"
          : code == NoDevice              ? "CUDA_ERROR_NO_DEVICE"
          : code == OutOfResources        ? "CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES"
          : code == NoBinaryForGpu        ? "CUDA_ERROR_NO_BINARY_FOR_GPU"
          : code == UnsupportedPtxVersion ? "CUDA_ERROR_UNSUPPORTED_PTX_VERSION"
          : code == InvalidHandle         ? "CUDA_ERROR_INVALID_HANDLE"
          : code == 716                   ? "CUDA_ERROR_MISALIGNED_ADDRESS"
          : code == InvalidPtx            ? "CUDA_ERROR_INVALID_PTX"
          : code == Refuted               ? "CUDA_ERROR_INVALID_VALUE"
          : code == 700                   ? "CUDA_ERROR_ILLEGAL_ADDRESS"
          : code == 719                   ? "CUDA_ERROR_LAUNCH_FAILED"
                                          : "CUDA_ERROR_UNKNOWN";
  return Ok;
}
Code cuGetErrorString(Code code, const char **text) {
  *text = code == NoDevice     ? "no CUDA-capable device is detected"
          : code == 716        ? "misaligned address"
          : code == 700        ? "an illegal memory access was encountered"
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
  bool old = has("sm75"), runs = has("runs") && !has("sm90");
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
  retained[device] = true;
  return *context = reinterpret_cast<Context>(&contexts[device]), Ok;
}
Code cuCtxCreate_v2(Context *context, unsigned, DeviceHandle device) {
  *context = stack[depth++] = reinterpret_cast<Context>(new FakeContext{device});
  return Ok;
}
Code cuDevicePrimaryCtxGetState(DeviceHandle device, unsigned *flags, int *isActive) {
  return *flags = 0, *isActive = retained[device], Ok;
}
Code cuCtxGetDevice(DeviceHandle *device) {
  return current() ? (*device = contextOf(current())->device, Ok) : Code(InvalidContext);
}
Code cuCtxGetCurrent(Context *context) { return *context = current(), Ok; }
Code cuCtxPushCurrent_v2(Context context) { return stack[depth++] = context, Ok; }
Code cuCtxPopCurrent_v2(Context *context) { return *context = stack[--depth], Ok; }
Code cuCtxSynchronize() { return waits("cuCtxSynchronize"), sticky; }

Code cuDeviceCanAccessPeer(int *can, DeviceHandle, DeviceHandle) { return *can = 1, Ok; }
Code cuCtxEnablePeerAccess(Context peer, unsigned) {
  std::lock_guard lock(mutex);
  return isPeer[deviceOf(current())][deviceOf(peer)] = true, Ok;
}
Code cuCtxDisablePeerAccess(Context peer) {
  std::lock_guard lock(mutex);
  return isPeer[deviceOf(current())][deviceOf(peer)] = false, Ok;
}

Code cuMemAlloc_v2(DevicePointer *to, size_t bytes) {
  return allocate(to, bytes, deviceOf(current()));
}
Code cuMemAllocAsync(DevicePointer *to, size_t bytes, StreamHandle) {
  count("cuMemAllocAsync");
  return allocate(to, bytes, deviceOf(current()));
}
Code cuMemFree_v2(DevicePointer pointer) { return waits("cuMemFree"), release(pointer); }
Code cuMemFreeAsync(DevicePointer pointer, StreamHandle stream) {
  count("cuMemFreeAsync");
  return streamOf(stream)->isAlive ? release(pointer) : Code(InvalidHandle);
}
Code cuMemcpyAsync(DevicePointer to, DevicePointer from, size_t bytes, StreamHandle stream) {
  waits("cuMemcpyAsync");
  WatchedCall call;
  return queue(stream, [=] {
    watch({FakeWork::Copy, "", {}, {}, 0, bytes, stream});
    std::memmove(reinterpret_cast<void *>(to), reinterpret_cast<void *>(from), bytes);
    return sticky;
  });
}
Code cuMemcpyHtoD_v2(DevicePointer to, const void *from, size_t bytes) {
  std::memcpy(reinterpret_cast<void *>(to), from, bytes);
  return sticky;
}
Code cuMemAllocHost_v2(void **to, size_t bytes) {
  return allocate(reinterpret_cast<DevicePointer *>(to), bytes, host);
}
Code cuMemFreeHost(void *pointer) { return release(reinterpret_cast<DevicePointer>(pointer)); }
Code cuMemcpyDtoH_v2(void *to, DevicePointer from, size_t bytes) {
  waits("cuMemcpyDtoH");
  std::memcpy(to, reinterpret_cast<void *>(from), bytes);
  return sticky;
}
Code cuMemsetD8Async(DevicePointer to, unsigned char value, size_t count, StreamHandle stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD16Async(DevicePointer to, unsigned short value, size_t count, StreamHandle stream) {
  return fill(to, value, count, stream);
}
Code cuMemsetD32Async(DevicePointer to, unsigned value, size_t count, StreamHandle stream) {
  return fill(to, value, count, stream);
}

Code cuPointerGetAttribute(void *to, int which, DevicePointer pointer) {
  std::lock_guard lock(mutex);
  const FakeBlock *block = blockAt(pointer, 1);
  if (!block)
    return Refuted;
  if (which == PointerDeviceAddress) {
    *static_cast<DevicePointer *>(to) = pointer;
    return reaches(deviceOf(current()), *block) ? Ok : Refuted;
  }
  *static_cast<int *>(to) = which == PointerMemoryType  ? (block->device == host ? 1 : 2)
                            : which == PointerIsManaged ? 0
                                                        : block->device;
  return Ok;
}

Code cuStreamCreate(StreamHandle *stream, unsigned) { // handles are not used again
  return *stream = reinterpret_cast<StreamHandle>(new FakeStream{.context = current()}), sticky;
}
Code cuStreamDestroy_v2(StreamHandle stream) {
  count("cuStreamDestroy");
  waits("cuStreamDestroy");
  if (!streamOf(stream)->isAlive)
    return InvalidHandle;
  streamOf(stream)->isAlive = false;
  return sticky;
}
Code cuStreamBeginCapture_v2(StreamHandle stream, int) {
  return streamOf(stream)->isCapturing = true, sticky;
}
Code cuStreamEndCapture(StreamHandle stream, GraphHandle *graph) {
  FakeStream *from = streamOf(stream);
  from->isCapturing = false;
  *graph = reinterpret_cast<GraphHandle>(new FakeGraph(std::exchange(from->captured, {})));
  return sticky;
}
Code cuGraphGetNodes(GraphHandle graph, GraphNode *, size_t *count) {
  return *count = reinterpret_cast<FakeGraph *>(graph)->size(), sticky;
}
Code cuGraphDestroy(GraphHandle graph) {
  return delete reinterpret_cast<FakeGraph *>(graph), sticky;
}
Code cuGraphInstantiateWithFlags(GraphExec *exec, GraphHandle graph, unsigned long long) {
  *exec = reinterpret_cast<GraphExec>(new FakeGraph(*reinterpret_cast<FakeGraph *>(graph)));
  return sticky;
}
Code cuGraphExecDestroy(GraphExec exec) {
  return delete reinterpret_cast<FakeGraph *>(exec), sticky;
}
Code cuStreamIsCapturing(StreamHandle stream, int *capturing) {
  return *capturing = stream && streamOf(stream)->isCapturing, sticky;
}
Code cuStreamGetCtx(StreamHandle stream, Context *context) {
  *context = stream ? streamOf(stream)->context : current();
  return !stream || streamOf(stream)->isAlive ? sticky : Code(InvalidHandle);
}
Code cuStreamSynchronize(StreamHandle) { return waits("cuStreamSynchronize"), sticky; }
Code cuStreamQuery(StreamHandle) { return hangs ? Code(NotReady) : sticky; }
Code cuEventSynchronize(EventHandle) { return waits("cuEventSynchronize"), sticky; }
Code cuEventQuery(EventHandle) { return hangs ? Code(NotReady) : sticky; }
Code cuEventCreate(EventHandle *event, unsigned) {
  return *event = reinterpret_cast<EventHandle>(new FakeEvent()), sticky;
}
Code cuEventDestroy_v2(EventHandle event) {
  return delete reinterpret_cast<FakeEvent *>(event), sticky;
}
Code cuEventRecord(EventHandle event, StreamHandle) {
  return reinterpret_cast<FakeEvent *>(event)->at = now, sticky;
}
Code cuEventElapsedTime(float *milliseconds, EventHandle start, EventHandle end) {
  count("cuEventElapsedTime");
  float passed = reinterpret_cast<FakeEvent *>(end)->at - reinterpret_cast<FakeEvent *>(start)->at;
  *milliseconds = passed > 0 ? passed : 1;
  return sticky;
}
Code cuTensorMapEncodeTiled(TensorMap *to, int type, uint32_t rank, void *address,
                            const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                            const uint32_t *elementStrides, int interleave, int swizzle, int,
                            int fill) {
  ptx::TensorMap map;
  // In the order of `tensormap.replace`, which has f32.ftz before f64.
  static const uint8_t types[] = {0, 1, 2, 3, 4, 5, 6, 7, 9, 10, 8, 11, 12};
  if (size_t(type) >= sizeof types || !rank || rank > 5)
    return Refuted;
  map.address = reinterpret_cast<uint64_t>(address);
  map.type = types[type];
  map.lastDimension = uint8_t(rank - 1);
  for (uint32_t d = 0; d < rank; ++d) {
    map.sizes[d] = uint32_t(sizes[d]);
    map.box[d] = box[d];
    map.elementStrides[d] = elementStrides[d];
    if (d)
      map.strides[d - 1] = strides[d - 1];
  }
  map.interleave = uint8_t(interleave);
  map.swizzle = uint8_t(swizzle);
  map.fill = uint8_t(fill);
  if (has("runs") && !map.problem().empty())
    return Refuted;
  std::memset(to, 0, sizeof *to);
  std::memcpy(to, &map, sizeof map);
  return sticky;
}
Code cuLibraryUnload(Library) { return waits("cuLibraryUnload"), sticky; }

Code cuFuncGetAttribute(int *value, int which, Function) {
  return *value = which == MaxThreadsPerBlock ? 512 : which == NumRegs ? 128 : 0, sticky;
}
// Few, so that small grids have more programs.
Code cuOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks, Function, int, size_t) {
  return *blocks = 3, sticky;
}
Code cuLibraryLoadData(Library *library, const void *code, int *, void **, unsigned, int *, void **,
                       unsigned) {
  if (!has("runs"))
    return load("cuLibraryLoadData", code);
  std::string problem;
  auto kernel = ptx::parse(static_cast<const char *>(code), problem);
  if (!kernel) {
    std::fprintf(stderr, "the model of a GPU: %s\n", problem.c_str());
    return InvalidPtx;
  }
  // The driver's own: launches may still be queued when a program lets go of it.
  static auto &libraries = *new std::vector<std::unique_ptr<Loaded>>;
  // Compiling threads load side by side.
  std::lock_guard lock(mutex);
  libraries.push_back(std::make_unique<Loaded>(kernel));
  for (const auto &[name, variable] : kernel->globals)
    memory[DevicePointer(reinterpret_cast<uintptr_t>(variable.memory.get()))] = {
        variable.bytes, deviceOf(current())};
  return *library = reinterpret_cast<Library>(libraries.back().get()), sticky;
}
Code cuLibraryGetKernel(Kernel *kernel, Library library, const char *name) {
  setEntry(name);
  return *kernel = reinterpret_cast<Kernel>(library), sticky;
}
Code cuLibraryGetModule(Module *module, Library library) {
  return *module = reinterpret_cast<Module>(library), sticky;
}
// For programs: the engine itself asks for no variable.
Code cuModuleGetGlobal_v2(DevicePointer *address, size_t *bytes, Module module, const char *name) {
  if (!has("runs") || !module)
    return InvalidHandle;
  const auto &variables = reinterpret_cast<Loaded *>(module)->kernel->globals;
  auto found = variables.find(name);
  if (found == variables.end())
    return Code(500); // CUDA_ERROR_NOT_FOUND
  *address = DevicePointer(reinterpret_cast<uintptr_t>(found->second.memory.get()));
  return *bytes = found->second.bytes, sticky;
}
Code cuModuleLoadDataEx(Module *, const void *code, unsigned, int *, void **) {
  return load("cuModuleLoadDataEx", code);
}
Code cuKernelGetFunction(Function *function, Kernel kernel) {
  if (has("runs"))
    return *function = reinterpret_cast<Function>(kernel), sticky;
  return giveFunction(function);
}
Code cuModuleGetFunction(Function *function, Module, const char *name) {
  setEntry(name);
  return giveFunction(function);
}
Code cuLaunchKernelEx(const LaunchConfig *config, Function function, void **arguments, void **) {
  if (sticky)
    return sticky;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].value.flag)
      count(("attribute " + std::to_string(config->attributes[i].id)).c_str());
  lastGrid[0] = config->gridX, lastGrid[1] = config->gridY, lastGrid[2] = config->gridZ;
  WatchedCall call;
  if (has("runs")) {
    now += float(config->blockX) / 128;
    return queueLaunch(*config, function, arguments);
  }
  Context where = config->stream ? streamOf(config->stream)->context : current();
  if (reinterpret_cast<Context>(function) != where)
    return InvalidHandle;
  lastStream = config->stream;
  now += float(config->blockX) / 128;
  return queue(lastStream, [launched = *config, name = lastEntry()] {
    watchKernel(launched, name);
    return started();
  });
}
Code cuGraphLaunch(GraphExec exec, StreamHandle) {
  WatchedCall call;
  runsGraph = true;
  Code code = sticky;
  for (const auto &work : *reinterpret_cast<FakeGraph *>(exec))
    if (!code)
      code = work();
  runsGraph = false;
  return code;
}

void fake_cuda_watch(const FakeHooks *watcher) { hooks = watcher; }

/// How often a function was called, or "attribute 6" was set for a launch; the stream of the last
/// launch.
long fake_cuda_calls(const char *what) {
  std::lock_guard lock(mutex);
  return calls[what];
}
StreamHandle fake_cuda_last_stream() { return lastStream; }
/// The blocks of the last launch along x, y, z.
const unsigned *fake_cuda_last_grid() { return lastGrid; }
}
#pragma GCC visibility pop
