#include "runtime/CudaDevice.h"

#include "runtime/CudaDriver.h"
#include "runtime/Recorder.h"
#include "support/Knobs.h"
#include "target/Gpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <thread>

namespace nereid::runtime {

namespace {
using namespace cuda;
using support::CodeKind;
using support::CodeRecord;
using support::Record;
using support::RecordBuffer;

Status done() { return nereid::Success{}; }

class CudaDevice;
class CudaKernel;

// Whether a watchdog has given up waiting for a kernel.
std::atomic<bool> isStuck = false;

// A native stream, in the list of its device while something uses it; one of ours is destroyed with
// its last user.
struct StreamOwner {
  StreamOwner(CudaDevice &device, StreamHandle handle, bool foreign);
  ~StreamOwner();
  StreamOwner(const StreamOwner &) = delete;

  CudaDevice &device;
  StreamHandle handle;
  bool foreign;
  // What was launched last, for the message after a fault; a name that the device keeps for ever.
  std::atomic<const std::string *> lastKernel = nullptr;
};

// Makes a device's context current while it lives, if it is not.
class Current {
public:
  explicit Current(const CudaDevice &device);
  ~Current();
  Current(const Current &) = delete;

private:
  const Driver *pushed = nullptr;
};

class CudaDevice final : public Device {
public:
  /// In a context of the host program, or without one in the primary context.
  CudaDevice(const Driver &driver, unsigned ordinal, Context theirs)
      : Device(&counter), driver(driver), context(theirs), isPrimary(!theirs) {
    description.name =
        "cuda:" + std::to_string(ordinal) + (isPrimary ? "" : " (the program's context)");
  }
  Status start(unsigned ordinal);

  DeviceKind kind() const override { return DeviceKind::Cuda; }
  const DeviceInfo &info() const override { return description; }
  Stream &defaultStream() override { return *legacyStream; }
  Result<std::unique_ptr<Stream>> createStream() override;
  Result<std::unique_ptr<Stream>> wrapStream(void *native) override;
  Result<std::unique_ptr<Event>> createEvent() override;
  Status synchronize() override;
  Result<std::shared_ptr<LoadedKernel>> load(const support::Artifact &artifact) override;
  bool hasTensorMaps() const override {
    return target::gpuChip(description.arch)->can(target::Tma);
  }
  Status encodeTensorMap(const support::DescriptorRecord &descriptor, const void *base,
                         std::span<const int64_t> shape, std::span<const int64_t> strides,
                         void *map) override;
  Status checkAddress(const void *address) const override;
  using Device::allocate;

  /// Success, or what went wrong. After a fault in a kernel the driver answers every call with an
  /// error: the first time says so with the kernel's name, later calls fail without asking it.
  Status check(Code code, std::string_view what, std::string_view kernel = {}) {
    if (code == Ok) [[likely]]
      return done();
    return failed(code, what, kernel);
  }
  Status usable() const override {
    if (!isLost()) [[likely]]
      return done();
    return lostEarlier();
  }
  /// What was made in a context that is lost goes with the process: giving it back could wait for a
  /// kernel that never ends.
  bool isLost() const { return lost.load(std::memory_order_relaxed); }

  /// Waits as the driver does with `wait`. With a watchdog it asks `query` instead, and when that
  /// takes too long the device counts as lost.
  template <typename Wait, typename Query>
  Status await(Wait wait, Query query, std::string_view what, const StreamOwner *stream) {
    Code code = watchdogSeconds > 0 ? poll(query) : wait();
    if (code == Ok) [[likely]]
      return done();
    return code == NotReady ? stuck(what, stream) : check(code, what, lastKernel(stream));
  }
  /// With a watchdog, waits for what is queued before a driver call that would wait without end.
  Status settle(const StreamOwner &stream, std::string_view what);
  Status settleDefault(std::string_view what);
  /// A failure of a call that can only say "no memory": kept for who asks whether the device is
  /// usable.
  void failedQuietly(Code code, std::string_view what);

  /// The name, kept as long as the process lives.
  const std::string *keepName(std::string_view text) {
    std::lock_guard lock(streamMutex);
    return &*names.emplace(text).first;
  }
  void add(StreamOwner *stream) {
    std::lock_guard lock(streamMutex);
    streams.insert(stream);
  }
  void remove(StreamOwner *stream) {
    std::lock_guard lock(streamMutex);
    streams.erase(stream);
  }
  void add(CudaKernel *kernel) {
    std::lock_guard lock(kernelMutex);
    kernels.insert(kernel);
  }
  /// Gives back what kernels keep for a stream that is about to go.
  void freeBlocksOf(StreamHandle stream);

  /// What was launched last on the stream; without one, on each stream.
  std::string lastKernel(const StreamOwner *stream) const;
  /// Writes words without a host copy that would have to outlive the call: at once, or in the order
  /// of a stream.
  Status writeWords(DevicePointer to, std::initializer_list<uint64_t> words,
                    std::optional<StreamHandle> stream = {});

  /// Makes the base event of traces, once. With the context current.
  bool startTracing() {
    std::lock_guard lock(sideMutex);
    if (traceBase)
      return true;
    EventHandle event = nullptr;
    if (driver.cuEventCreate(&event, 0) != Ok || driver.cuEventRecord(event, side) != Ok ||
        driver.cuEventSynchronize(event) != Ok)
      return false;
    traceBaseTime = Recorder::now();
    traceBase = event;
    return true;
  }
  EventHandle traceBase = nullptr;
  int64_t traceBaseTime = 0;

  const Driver &driver;
  DeviceHandle handle = 0;
  Context context;
  const bool isPrimary;
  int major = 0, minor = 0;
  bool hasPools = false;

  /// Held while a kernel or a stream goes, which both know the other's blocks.
  std::mutex kernelMutex;
  std::set<CudaKernel *> kernels;

protected:
  std::shared_ptr<Allocator> ownAllocator() override { return allocator; }

private:
  Status failed(Code code, std::string_view what, std::string_view kernel);
  Status stuck(std::string_view what, const StreamOwner *stream);
  Status lostEarlier() const;
  /// Asks until the answer is not NotReady or the watchdog's time is over.
  template <typename Query> Code poll(Query query) const {
    auto start = std::chrono::steady_clock::now();
    for (auto pause = std::chrono::microseconds(1);;) {
      Code code = query();
      std::chrono::duration<double> spent = std::chrono::steady_clock::now() - start;
      if (code != NotReady || spent.count() > watchdogSeconds)
        return code;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(200));
    }
  }

  const double watchdogSeconds = support::knobs().watchdogSeconds;
  mutable std::mutex streamMutex;
  std::set<StreamOwner *> streams;
  std::set<std::string, std::less<>> names;
  DeviceInfo description;
  MemoryCounter counter;
  std::unique_ptr<Stream> legacyStream;
  std::shared_ptr<Allocator> allocator;
  std::atomic<bool> lost = false;
  mutable std::mutex lossMutex;
  mutable std::string untold; // how it was lost, until somebody is told
  std::mutex sideMutex;
  StreamHandle side = nullptr; // for the runtime's own small writes, ordered with nothing
};

Current::Current(const CudaDevice &device) {
  Context now = nullptr;
  device.driver.cuCtxGetCurrent(&now);
  if (now != device.context && device.driver.cuCtxPushCurrent(device.context) == Ok)
    pushed = &device.driver;
}

Current::~Current() {
  Context popped;
  if (pushed)
    pushed->cuCtxPopCurrent(&popped);
}

// Memory on a stream comes and goes in the stream's order; memory on no stream is there at once,
// and freeing it waits for the device.
class CudaAllocator final : public Allocator {
public:
  explicit CudaAllocator(CudaDevice &device) : device(device) {}
  void *allocate(size_t bytes, void *stream) override {
    Current current(device);
    DevicePointer pointer = 0;
    Code code =
        stream && device.hasPools
            ? device.driver.cuMemAllocAsync(&pointer, bytes, static_cast<StreamHandle>(stream))
            : device.driver.cuMemAlloc(&pointer, bytes);
    if (code != Ok && code != NoMemory)
      device.failedQuietly(code, "cannot allocate memory");
    return code == Ok ? reinterpret_cast<void *>(pointer) : nullptr;
  }
  void free(void *pointer, size_t, void *stream) override {
    if (device.isLost())
      return;
    Current current(device);
    auto address = reinterpret_cast<DevicePointer>(pointer);
    if (stream && device.hasPools)
      device.driver.cuMemFreeAsync(address, static_cast<StreamHandle>(stream));
    else
      device.driver.cuMemFree(address);
  }

private:
  CudaDevice &device;
};

// ---- Kernels
// -------------------------------------------------------------------------------------

constexpr size_t maxSlots = 512;

// What this thread calls meanwhile is allowed while a stream is captured.
class AllowedInCapture {
public:
  explicit AllowedInCapture(const Driver &driver) : driver(driver) {
    driver.cuThreadExchangeStreamCaptureMode(&mode);
  }
  ~AllowedInCapture() { driver.cuThreadExchangeStreamCaptureMode(&mode); }
  AllowedInCapture(const AllowedInCapture &) = delete;

private:
  const Driver &driver;
  int mode = 2; // CU_STREAM_CAPTURE_MODE_RELAXED, then what it was before
};

// A GpuContext, followed by scratch memory.
struct ContextBlock {
  Buffer memory;
  std::weak_ptr<StreamOwner> stream; // whose order the memory comes and goes in, if any

  DevicePointer address() const { return reinterpret_cast<DevicePointer>(memory.data()); }
  static constexpr size_t scratchOffset = 256;
};

class CudaKernel final : public LoadedKernel {
public:
  CudaKernel(CudaDevice &device, const support::Artifact &artifact, const CodeRecord &code)
      : device(device), name(device.keepName(artifact.name())), record(&code), source(artifact) {
    for (const support::SlotRecord &slot : source.slots())
      (support::SlotKind(slot.kind) == support::SlotKind::TensorMap ? mapSlots : plainSlots)
          .push_back(slot.offset);
    if (code.cluster[0] * code.cluster[1] * code.cluster[2] > 1) {
      LaunchAttribute &cluster = attributes[facts.attributeCount++];
      cluster.id = ClusterDimension;
      std::copy_n(code.cluster, 3, cluster.value.dim);
    }
    // Launches that share scratch must not overlap.
    if ((code.flags & support::CodePdl) && !code.scratchBytes)
      addFlag(ProgrammaticStreamSerialization);
    if (code.flags & support::CodeCooperative)
      addFlag(Cooperative);
    facts.packedBytes = source.kernel().packedBytes;
    facts.blocksPerProgram = code.blocksPerProgram;
    facts.threads = code.numWarps * 32;
    facts.sharedBytes = code.sharedBytes;
    if (code.flags & support::CodeLoopsOverPrograms)
      facts.loopAxes = source.kernel().gridRank;
    facts.needsContext = code.scratchBytes || (code.flags & support::CodeRecords);
  }
  ~CudaKernel() override;

  const support::Artifact &artifact() const override { return source; }
  const CodeRecord &code() const override { return *record; }
  Result<std::vector<Record>> takeRecords(uint64_t &lost) override;

  /// Gives the code to the driver. `refused` is set if another code of the artifact may do.
  Status load(bool &refused);
  /// Makes a block with room for `programs` and fills in its head, in the stream's order or,
  /// without one, at once.
  Result<ContextBlock> makeBlock(uint64_t programs, const std::shared_ptr<StreamOwner> &stream);

  void addFlag(LaunchAttributeId id) {
    attributes[facts.attributeCount].id = id;
    attributes[facts.attributeCount++].value.flag = 1;
  }

  struct LaunchFacts {
    uint32_t packedBytes, blocksPerProgram, threads, sharedBytes;
    uint32_t attributeCount = 0;
    bool needsContext;
    // Of code that loops over programs (support::CodeLoopsOverPrograms): the axes of the grid that
    // a block walks through, and how many blocks run at once, 0 if that is not known.
    uint32_t loopAxes = 0, residentBlocks = 0;
  };
  /// The blocks that run a grid of programs, for code that loops over those.
  Result<std::array<uint32_t, 3>> blocksFor(const std::array<uint32_t, 3> &grid) const;

  // What each launch reads comes first.
  CudaDevice &device;
  LaunchFacts facts;
  const std::string *name;
  Function function = nullptr;
  // Where the parameters lie in the packed block. Tensor maps come last, behind the pointer to the
  // context: code for other chips takes none.
  std::vector<uint32_t> plainSlots, mapSlots;
  std::array<LaunchAttribute, 3> attributes;
  const CodeRecord *record;
  support::Artifact source;
  Library library = nullptr;
  Module module = nullptr;
  Buffer recordMemory;
  DevicePointer records = 0; // its address
  static constexpr size_t recordBytes = sizeof(RecordBuffer) + recordCapacity * sizeof(Record);

  // Launches on one stream run one after the other and share a block; those that are captured by
  // the host program keep theirs to the end.
  std::mutex blockMutex;
  std::map<StreamHandle, ContextBlock> blocks;
  std::vector<ContextBlock> capturedBlocks;
};

CudaKernel::~CudaKernel() {
  std::vector<std::shared_ptr<StreamOwner>> held; // streams outlive what is freed in their order
  std::map<StreamHandle, ContextBlock> freed;
  {
    std::lock_guard lock(device.kernelMutex);
    device.kernels.erase(this);
    freed.swap(blocks);
    for (auto &[stream, block] : freed)
      held.push_back(block.stream.lock());
  }
  if (device.isLost())
    return;
  Current current(device);
  // Memory of no stream is not waited for by who gave it.
  if (records || !capturedBlocks.empty())
    (void)device.synchronize();
  if (library)
    device.driver.cuLibraryUnload(library);
  if (module)
    device.driver.cuModuleUnload(module);
}

Status CudaKernel::load(bool &refused) {
  const Driver &driver = device.driver;
  auto bytes = source.blob(record->code);
  std::string name(source.name()), entry(source.text(record->entry));
  if (source.slots().size() > maxSlots)
    return Error{"cannot load kernel `" + name + "`: " + std::to_string(source.slots().size()) +
                     " arguments, at most " + std::to_string(maxSlots) + " can be passed",
                 {}};
  uint32_t limit = device.info().sharedBytesPerBlock;
  if (record->sharedBytes > limit)
    return Error{"cannot load kernel `" + name + "` on " + device.name() + ": it needs " +
                     std::to_string(record->sharedBytes) + " bytes of shared memory, " +
                     device.info().description + " has " + std::to_string(limit),
                 {}};

  char log[4096] = {};
  enum : int { ErrorLogBuffer = 5, ErrorLogBytes = 6 };
  int options[] = {ErrorLogBuffer, ErrorLogBytes};
  void *values[] = {log, reinterpret_cast<void *>(sizeof log)};
  Current current(device);
  Code result;
  if (driver.cuLibraryLoadData && driver.cuLibraryGetKernel && driver.cuKernelGetFunction) {
    result =
        driver.cuLibraryLoadData(&library, bytes.data(), options, values, 2, nullptr, nullptr, 0);
    Kernel kernel = nullptr;
    if (result == Ok)
      result = driver.cuLibraryGetKernel(&kernel, library, entry.c_str());
    if (result == Ok)
      result = driver.cuKernelGetFunction(&function, kernel);
  } else {
    result = driver.cuModuleLoadDataEx(&module, bytes.data(), 2, options, values);
    if (result == Ok)
      result = driver.cuModuleGetFunction(&function, module, entry.c_str());
  }
  if (result != Ok) {
    std::string what = "cannot load kernel `" + name + "` on " + device.name() + " (" +
                       (CodeKind(record->kind) == CodeKind::Ptx ? "PTX for " : "cubin for ") +
                       std::string(source.text(record->arch)) + ")";
    if (log[0])
      what += ": " + std::string(log, ::strnlen(log, sizeof log));
    refused = result == InvalidImage || result == NoBinaryForGpu || result == InvalidPtx ||
              result == NoJitCompiler || result == UnsupportedPtxVersion;
    return device.check(result, what);
  }
  if (record->sharedBytes > 48 * 1024)
    if (Status status =
            device.check(driver.cuFuncSetAttribute(function, MaxDynamicSharedSizeBytes,
                                                   int(record->sharedBytes)),
                         "cannot give `" + name + "` " + std::to_string(record->sharedBytes) +
                             " bytes of shared memory");
        !status)
      return status;
  if (facts.loopAxes) {
    int resident = 0;
    if (driver.cuOccupancyMaxActiveBlocksPerMultiprocessor &&
        driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(&resident, function, int(facts.threads),
                                                           facts.sharedBytes) == Ok)
      facts.residentBlocks = uint32_t(resident) * device.info().units;
  }
  const uint32_t *cluster = record->cluster;
  if (uint64_t(cluster[0]) * cluster[1] * cluster[2] > 8)
    if (Status status =
            device.check(driver.cuFuncSetAttribute(function, NonPortableClusterSizeAllowed, 1),
                         "cannot give `" + name + "` clusters of over 8 blocks");
        !status)
      return status;
  if (record->flags & support::CodeRecords) {
    auto memory = device.allocate(recordBytes);
    if (!memory)
      return memory.takeError();
    recordMemory = *std::move(memory);
    records = reinterpret_cast<DevicePointer>(recordMemory.data());
    if (Status status = device.writeWords(records, {0, recordCapacity, 0, 0}); !status)
      return status;
  }
  return done();
}

Result<std::array<uint32_t, 3>> CudaKernel::blocksFor(const std::array<uint32_t, 3> &grid) const {
  std::array<uint32_t, 3> blocks = {1, 1, 1};
  uint64_t programs = 1, others = 1;
  for (uint32_t axis = 0; axis < 3; ++axis)
    if (axis < facts.loopAxes)
      programs *= grid[axis];
    else
      others *= blocks[axis] = grid[axis];
  // Blocks count on by as many as there are.
  constexpr uint64_t most = INT32_MAX / 2;
  if (programs > most)
    return Error{"cannot launch `" + *name + "`: " + std::to_string(programs) +
                     " programs, its code counts up to " + std::to_string(most) +
                     "; compile it with NEREID_PROGRAM_LOOPS=off",
                 {}};
  uint64_t resident = std::max<uint64_t>(facts.residentBlocks / others, 1);
  blocks[0] = uint32_t(facts.residentBlocks ? std::min(programs, resident) : programs);
  return blocks;
}

Result<ContextBlock> CudaKernel::makeBlock(uint64_t programs,
                                           const std::shared_ptr<StreamOwner> &stream) {
  auto failed = [&](const std::string &why) {
    return Error{"cannot launch `" + std::string(source.name()) + "`: " +
                     std::to_string(record->scratchBytes) + " bytes of scratch for each of " +
                     std::to_string(programs) + " programs" + why,
                 {}};
  };
  uint64_t bytes = 0;
  if (__builtin_mul_overflow(record->scratchBytes, programs, &bytes) ||
      __builtin_add_overflow(bytes, ContextBlock::scratchOffset, &bytes))
    return failed("");
  // A program may capture in a mode that forbids allocations, which are no part of the graph.
  AllowedInCapture allowed(device.driver);
  auto memory = device.allocate(bytes, stream ? stream->handle : nullptr, nullptr);
  if (!memory)
    return device.isLost() ? memory.takeError() : failed(": " + memory.error().what);
  ContextBlock block{*std::move(memory), stream};
  if (Status status = device.writeWords(block.address(),
                                        {block.address() + ContextBlock::scratchOffset, records},
                                        stream ? std::optional(stream->handle) : std::nullopt);
      !status)
    return status.takeError();
  return block;
}

Result<std::vector<Record>> CudaKernel::takeRecords(uint64_t &lost) {
  lost = 0;
  std::vector<Record> taken;
  if (!records)
    return taken;
  if (Status status = device.usable(); !status)
    return status.takeError();
  Current current(device);
  if (Status status = device.settleDefault("cannot read records"); !status)
    return status.takeError();
  RecordBuffer head = {};
  if (Status status = device.check(device.driver.cuMemcpyDtoH(&head, records, sizeof head),
                                   "cannot read records", source.name());
      !status)
    return status.takeError();
  uint64_t count = std::min(head.claimed, recordCapacity);
  lost = head.claimed - count;
  if (count == 0)
    return taken;
  taken.resize(count);
  if (Status status = device.check(
          device.driver.cuMemcpyDtoH(taken.data(), records + sizeof head, count * sizeof(Record)),
          "cannot read records", source.name());
      !status)
    return status.takeError();
  if (Status status = device.writeWords(records, {0, recordCapacity, 0, 0}); !status)
    return status.takeError();
  return taken;
}

// ---- Events, graphs, streams
// ---------------------------------------------------------------------

class CudaEvent final : public Event {
public:
  CudaEvent(CudaDevice &device, EventHandle handle) : device(device), handle(handle) {}
  ~CudaEvent() override {
    if (device.isLost())
      return;
    Current current(device);
    device.driver.cuEventDestroy(handle);
  }
  Status synchronize() override {
    if (Status status = device.usable(); !status)
      return status;
    Current current(device);
    return device.await([&] { return device.driver.cuEventSynchronize(handle); },
                        [&] { return device.driver.cuEventQuery(handle); },
                        "cannot wait for an event", stream.lock().get());
  }
  Result<bool> query() override {
    if (Status status = device.usable(); !status)
      return status.takeError();
    Current current(device);
    Code code = device.driver.cuEventQuery(handle);
    if (code == NotReady)
      return false;
    if (code != Ok)
      return device.check(code, "cannot query an event", before()).takeError();
    return true;
  }
  Result<double> secondsSince(const Event &start) const override {
    auto *other = dynamic_cast<const CudaEvent *>(&start);
    if (!other)
      return Error{"cannot take the time between events of two devices", {}};
    Current current(device);
    float milliseconds = 0;
    if (Code code = device.driver.cuEventElapsedTime(&milliseconds, other->handle, handle);
        code != Ok)
      return device.check(code, "cannot take the time between events", before()).takeError();
    return double(milliseconds) * 1e-3;
  }

  CudaDevice &device;
  EventHandle handle;
  std::weak_ptr<StreamOwner> stream; // that it was last recorded on

private:
  // What a fault is blamed on; takes a while.
  std::string before() const { return device.lastKernel(stream.lock().get()); }
};

class CudaGraph final : public Graph {
public:
  explicit CudaGraph(CudaDevice &device) : device(device) {}
  ~CudaGraph() override {
    if (device.isLost())
      return;
    Current current(device);
    if (!blocks.empty()) // memory of no stream, which runs of the graph may still use
      (void)device.synchronize();
    if (exec)
      device.driver.cuGraphExecDestroy(exec);
    if (graph)
      device.driver.cuGraphDestroy(graph);
  }
  size_t nodeCount() const override {
    size_t count = 0;
    device.driver.cuGraphGetNodes(graph, nullptr, &count);
    return count;
  }
  void add(const std::string *kernel) {
    if (std::ranges::find(kernels, kernel) == kernels.end())
      kernels.push_back(kernel);
  }
  /// What a message calls the graph after its kernels, each once.
  void setName() {
    std::string text;
    for (const std::string *kernel : kernels)
      text += (text.empty() ? "" : "`, `") + *kernel;
    name = device.keepName(text.empty() ? "a graph" : text);
  }

  CudaDevice &device;
  const std::string *name = nullptr;
  std::vector<const std::string *> kernels;
  GraphHandle graph = nullptr;
  GraphExec exec = nullptr;
  std::vector<ContextBlock> blocks; // of the kernels in it
};

// Two events around queued work. Their distance to a base event, whose time on the host is known,
// places them on the recorder's clock.
class CudaTimer final : public DeviceTimer {
public:
  explicit CudaTimer(CudaDevice &device) : device(device) {
    device.driver.cuEventCreate(&begin, 0);
    device.driver.cuEventCreate(&end, 0);
  }
  ~CudaTimer() override {
    if (device.isLost())
      return;
    Current current(device);
    if (begin)
      device.driver.cuEventDestroy(begin);
    if (end)
      device.driver.cuEventDestroy(end);
  }
  bool times(int64_t &beginTime, int64_t &endTime) override {
    Current current(device);
    float toBegin = 0, toEnd = 0;
    auto wait = [&] { return device.driver.cuEventSynchronize(end); };
    auto query = [&] { return device.driver.cuEventQuery(end); };
    if (!device.usable() || !device.await(wait, query, "cannot time a launch", nullptr) ||
        device.driver.cuEventElapsedTime(&toBegin, device.traceBase, begin) != Ok ||
        device.driver.cuEventElapsedTime(&toEnd, device.traceBase, end) != Ok)
      return false;
    beginTime = device.traceBaseTime + int64_t(double(toBegin) * 1e6);
    endTime = device.traceBaseTime + int64_t(double(toEnd) * 1e6);
    return true;
  }

  CudaDevice &device;
  EventHandle begin = nullptr, end = nullptr;
};

// A trace scope for work on a stream, timed on the device too.
class StreamTrace {
public:
  StreamTrace(TraceKind kind, std::string_view name, CudaDevice &device, StreamHandle stream)
      : scope(kind, name, device.name()), stream(stream) {
    if (!scope) [[likely]]
      return;
    scope->stream = reinterpret_cast<uintptr_t>(stream);
    Current current(device);
    int capturing = 0;
    if (device.driver.cuStreamIsCapturing(stream, &capturing) != Ok || capturing ||
        !device.startTracing())
      return;
    timer = std::make_shared<CudaTimer>(device);
    if (timer->begin && timer->end && device.driver.cuEventRecord(timer->begin, stream) == Ok)
      scope->timer = timer;
  }
  ~StreamTrace() {
    if (!timer) [[likely]]
      return;
    Current current(timer->device);
    if (timer->device.driver.cuEventRecord(timer->end, stream) != Ok)
      scope->timer = nullptr;
  }
  explicit operator bool() const { return bool(scope); }
  TraceEvent *operator->() { return scope.operator->(); }

private:
  TraceScope scope;
  StreamHandle stream;
  std::shared_ptr<CudaTimer> timer;
};

StreamOwner::StreamOwner(CudaDevice &device, StreamHandle handle, bool foreign)
    : device(device), handle(handle), foreign(foreign) {
  device.add(this);
}

StreamOwner::~StreamOwner() {
  device.remove(this);
  device.freeBlocksOf(handle);
  if (foreign || !handle || device.isLost())
    return;
  Current current(device);
  device.driver.cuStreamDestroy(handle);
}

class CudaStream final : public Stream {
public:
  CudaStream(CudaDevice &owner, StreamHandle handle, bool foreign)
      : owner(owner), handle(handle),
        ownership(std::make_shared<StreamOwner>(owner, handle, foreign)) {}

  Device &device() const override { return owner; }
  void *native() const override { return handle; }
  std::shared_ptr<const void> hold() const override { return ownership; }

  Status launch(LoadedKernel &kernel, const LaunchArguments &arguments) override;
  Status launch(Graph &graph) override;
  Status copy(void *to, const void *from, size_t bytes) override;
  Status fill(void *to, uint32_t pattern, unsigned width, size_t count) override;
  Status record(Event &event) override;
  Status wait(Event &event) override;
  Status synchronize() override;
  Status beginCapture() override;
  Result<std::unique_ptr<Graph>> endCapture() override;
  bool isCapturing() const override;

private:
  Result<DevicePointer> contextFor(CudaKernel &kernel, uint64_t programs);

  CudaDevice &owner;
  StreamHandle handle;

public:
  const std::shared_ptr<StreamOwner> ownership;

private:
  // The failure of a call behind launches may be theirs.
  Status check(Code code, std::string_view what) {
    if (code == Ok) [[likely]]
      return done();
    const std::string *last = ownership->lastKernel.load(std::memory_order_relaxed);
    return owner.check(code, what, last ? std::string_view(*last) : std::string_view());
  }

  std::unique_ptr<CudaGraph> capture;
};

bool CudaStream::isCapturing() const {
  int capturing = 0;
  Current current(owner);
  owner.driver.cuStreamIsCapturing(handle, &capturing);
  return capturing != 0;
}

Result<DevicePointer> CudaStream::contextFor(CudaKernel &kernel, uint64_t programs) {
  Current current(owner);
  if (isCapturing()) {
    auto block = kernel.makeBlock(programs, nullptr);
    if (!block)
      return block.takeError();
    DevicePointer memory = block->address();
    if (capture) {
      capture->blocks.push_back(std::move(*block));
    } else {
      std::lock_guard lock(kernel.blockMutex);
      kernel.capturedBlocks.push_back(std::move(*block));
    }
    return memory;
  }
  std::lock_guard lock(kernel.blockMutex);
  ContextBlock &block = kernel.blocks[handle];
  const bool isEnough =
      block.memory && (block.memory.bytes() - ContextBlock::scratchOffset) /
                              std::max<uint64_t>(kernel.record->scratchBytes, 1) >=
                          programs;
  if (!isEnough && (kernel.record->scratchBytes || !block.memory)) {
    auto larger = kernel.makeBlock(programs, ownership);
    if (!larger)
      return larger.takeError();
    block = *std::move(larger); // the old one is freed behind the launches that use it
  }
  return block.address();
}

Status CudaStream::launch(LoadedKernel &loaded, const LaunchArguments &arguments) {
  auto *kernel = dynamic_cast<CudaKernel *>(&loaded);
  if (!kernel || &kernel->device != &owner) [[unlikely]]
    return Error{"cannot launch `" + std::string(loaded.artifact().name()) + "` on " +
                     owner.name() + ": it was loaded for another device",
                 {}};
  if (owner.isLost()) [[unlikely]]
    return owner.usable();
  // All that a launch asks of the kernel, in a few cache lines: the driver leaves little of the
  // caches to a launch.
  const CudaKernel::LaunchFacts &facts = kernel->facts;
  const std::string &name = *kernel->name;
  const std::array<uint32_t, 3> &grid = arguments.grid;
  if (arguments.packedBytes != facts.packedBytes) [[unlikely]]
    return Error{"cannot launch `" + name + "`: " + std::to_string(arguments.packedBytes) +
                     " bytes of arguments, it takes " + std::to_string(facts.packedBytes),
                 {}};
  if (!isGrid(grid)) [[unlikely]]
    return countPrograms(name, grid).takeError();
  uint64_t programs = uint64_t(grid[0]) * grid[1] * grid[2];
  if (programs == 0)
    return done();
  uint64_t blocks = uint64_t(grid[0]) * facts.blocksPerProgram;
  if (blocks > support::maxGridX) [[unlikely]]
    return Error{"cannot launch `" + name + "`: " + std::to_string(grid[0]) + " programs of " +
                     std::to_string(facts.blocksPerProgram) + " blocks along x",
                 {}};

  DevicePointer hidden = 0;
  if (facts.needsContext) {
    auto block = contextFor(*kernel, programs);
    if (!block)
      return block.takeError();
    hidden = *block;
  }
  std::array<uint32_t, 3> launched = {uint32_t(blocks), grid[1], grid[2]};
  if (facts.loopAxes) {
    auto looped = kernel->blocksFor(grid);
    if (!looped)
      return looped.takeError();
    launched = *looped;
  }
  void *parameters[maxSlots + 4]; // extents, the context
  auto *packed = const_cast<char *>(static_cast<const char *>(arguments.packed));
  void **next = parameters;
  for (uint32_t offset : kernel->plainSlots)
    *next++ = packed + offset;
  for (uint32_t axis = 0; axis < facts.loopAxes; ++axis)
    *next++ = const_cast<uint32_t *>(&grid[axis]);
  *next++ = &hidden;
  for (uint32_t offset : kernel->mapSlots)
    *next++ = packed + offset;

  if (capture) [[unlikely]]
    capture->add(kernel->name);
  else
    ownership->lastKernel.store(kernel->name, std::memory_order_relaxed);

  std::optional<StreamTrace> trace;
  if (recorder().enabled()) [[unlikely]] {
    trace.emplace(TraceKind::Launch, name, owner, handle);
    if (*trace) {
      (*trace)->grid = grid;
      describeWork(kernel->source, programs, *trace->operator->());
    }
  }
  Current current(owner);
  Code result;
  if (owner.driver.cuLaunchKernelEx) {
    LaunchConfig config = {launched[0],         launched[1], launched[2],
                           facts.threads,       1,           1,
                           facts.sharedBytes,   handle,      kernel->attributes.data(),
                           facts.attributeCount};
    result = owner.driver.cuLaunchKernelEx(&config, kernel->function, parameters, nullptr);
  } else if (facts.attributeCount) {
    return Error{"cannot launch `" + name +
                     "`: clusters and dependent launches need a driver for CUDA 11.8",
                 {}};
  } else {
    result = owner.driver.cuLaunchKernel(kernel->function, launched[0], launched[1], launched[2],
                                         facts.threads, 1, 1, facts.sharedBytes, handle, parameters,
                                         nullptr);
  }
  if (result == Ok) [[likely]]
    return done();
  if (result == OutOfResources) {
    int most = 0, registers = 0;
    owner.driver.cuFuncGetAttribute(&most, MaxThreadsPerBlock, kernel->function);
    owner.driver.cuFuncGetAttribute(&registers, NumRegs, kernel->function);
    return Error{"cannot launch `" + name + "` on " + owner.name() + ": " +
                     std::to_string(facts.threads) + " threads a program, and with " +
                     std::to_string(registers) + " registers a thread at most " +
                     std::to_string(most) + " fit; take fewer warps or smaller tiles",
                 {}};
  }
  return owner.check(result, "cannot launch `" + name + "`", name);
}

Status CudaStream::launch(Graph &graph) {
  auto *cudaGraph = dynamic_cast<CudaGraph *>(&graph);
  if (!cudaGraph || &cudaGraph->device != &owner)
    return Error{"cannot run on " + owner.name() + " a graph of another device", {}};
  if (Status status = owner.usable(); !status)
    return status;
  ownership->lastKernel.store(cudaGraph->name, std::memory_order_relaxed);
  StreamTrace trace(TraceKind::Graph, "graph", owner, handle);
  Current current(owner);
  return owner.check(owner.driver.cuGraphLaunch(cudaGraph->exec, handle), "cannot launch a graph",
                     *cudaGraph->name);
}

Status CudaStream::copy(void *to, const void *from, size_t bytes) {
  if (bytes == 0)
    return done();
  if (Status status = owner.usable(); !status)
    return status;
  StreamTrace trace(TraceKind::Copy, "copy", owner, handle);
  if (trace)
    trace->bytes = int64_t(bytes) * 2; // read and written
  Current current(owner);
  // The driver itself waits for copies of memory that is not pinned.
  if (Status status = owner.settle(*ownership, "cannot copy"); !status)
    return status;
  return check(owner.driver.cuMemcpyAsync(reinterpret_cast<DevicePointer>(to),
                                          reinterpret_cast<DevicePointer>(from), bytes, handle),
               "cannot copy " + std::to_string(bytes) + " bytes");
}

Status CudaStream::fill(void *to, uint32_t pattern, unsigned width, size_t count) {
  if (width != 1 && width != 2 && width != 4)
    return Error{"cannot fill elements of " + std::to_string(width) + " bytes", {}};
  if (count == 0)
    return done();
  if (Status status = owner.usable(); !status)
    return status;
  StreamTrace trace(TraceKind::Fill, "fill", owner, handle);
  if (trace)
    trace->bytes = int64_t(count * width);
  Current current(owner);
  auto address = reinterpret_cast<DevicePointer>(to);
  const Driver &driver = owner.driver;
  Code result = width == 1   ? driver.cuMemsetD8Async(address, uint8_t(pattern), count, handle)
                : width == 2 ? driver.cuMemsetD16Async(address, uint16_t(pattern), count, handle)
                             : driver.cuMemsetD32Async(address, pattern, count, handle);
  return check(result, "cannot fill " + std::to_string(count * width) + " bytes");
}

Status CudaStream::record(Event &event) {
  auto *cudaEvent = dynamic_cast<CudaEvent *>(&event);
  if (!cudaEvent || &cudaEvent->device != &owner)
    return Error{"cannot record on " + owner.name() + " an event of another device", {}};
  if (Status status = owner.usable(); !status)
    return status;
  Current current(owner);
  cudaEvent->stream = ownership;
  return check(owner.driver.cuEventRecord(cudaEvent->handle, handle), "cannot record an event");
}

Status CudaStream::wait(Event &event) {
  auto *cudaEvent = dynamic_cast<CudaEvent *>(&event);
  if (!cudaEvent)
    return Error{"cannot wait on " + owner.name() + " for an event of another kind of device", {}};
  if (Status status = owner.usable(); !status)
    return status;
  Current current(owner);
  return check(owner.driver.cuStreamWaitEvent(handle, cudaEvent->handle, 0),
               "cannot wait for an event");
}

Status CudaStream::synchronize() {
  if (Status status = owner.usable(); !status)
    return status;
  TraceScope trace(TraceKind::Sync, "synchronize", owner.name());
  Current current(owner);
  return owner.await([&] { return owner.driver.cuStreamSynchronize(handle); },
                     [&] { return owner.driver.cuStreamQuery(handle); },
                     "cannot synchronize a stream", ownership.get());
}

Status CudaStream::beginCapture() {
  if (!handle)
    return Error{"the default stream cannot capture: create a stream for it", {}};
  if (capture)
    return Error{"the stream captures already", {}};
  if (Status status = owner.usable(); !status)
    return status;
  Current current(owner);
  // Relaxed: making a context block allocates while capturing.
  constexpr int relaxed = 2;
  if (Status status =
          owner.check(owner.driver.cuStreamBeginCapture(handle, relaxed), "cannot begin a capture");
      !status)
    return status;
  capture = std::make_unique<CudaGraph>(owner);
  return done();
}

Result<std::unique_ptr<Graph>> CudaStream::endCapture() {
  if (!capture)
    return Error{"the stream does not capture", {}};
  std::unique_ptr<CudaGraph> graph = std::move(capture);
  Current current(owner);
  if (Status status = owner.check(owner.driver.cuStreamEndCapture(handle, &graph->graph),
                                  "cannot end a capture");
      !status)
    return status.takeError();
  if (Status status =
          owner.check(owner.driver.cuGraphInstantiateWithFlags(&graph->exec, graph->graph, 0),
                      "cannot instantiate a graph");
      !status)
    return status.takeError();
  graph->setName();
  return std::unique_ptr<Graph>(std::move(graph));
}

// ---- The device
// ----------------------------------------------------------------------------------

Status CudaDevice::start(unsigned ordinal) {
  if (Status status = check(driver.cuDeviceGet(&handle, int(ordinal)), "cannot open " + name());
      !status)
    return status;
  auto attribute = [&](int which) {
    int value = 0;
    driver.cuDeviceGetAttribute(&value, which, handle);
    return value;
  };
  char text[256] = {};
  driver.cuDeviceGetName(text, sizeof text - 1, handle);
  description.description = text;
  major = attribute(CapabilityMajor);
  minor = attribute(CapabilityMinor);
  const target::GpuChip *chip = target::gpuChipForDevice(unsigned(major), unsigned(minor));
  if (!chip)
    return Error{name() + " (" + description.description + ") has compute capability " +
                     std::to_string(major) + "." + std::to_string(minor) +
                     ", at least 8.0 is needed",
                 {}};
  description.arch = std::string(chip->name);
  description.units = unsigned(attribute(MultiprocessorCount));
  description.cacheBytes = uint64_t(attribute(L2CacheBytes));
  description.sharedBytesPerBlock = uint32_t(attribute(SharedBytesPerBlockOptin));
  description.clockKHz = uint32_t(attribute(ClockRate));
  size_t bytes = 0;
  driver.cuDeviceTotalMem(&bytes, handle);
  description.memoryBytes = bytes;
  hasPools = attribute(MemoryPoolsSupported) != 0;
  if (isPrimary)
    if (Status status = check(driver.cuDevicePrimaryCtxRetain(&context, handle),
                              "cannot open the primary context of " + name());
        !status)
      return status;
  Current current(*this);
  constexpr unsigned nonBlocking = 1;
  if (Status status = check(driver.cuStreamCreate(&side, nonBlocking), "cannot create a stream");
      !status)
    return status;
  legacyStream = std::make_unique<CudaStream>(*this, nullptr, true);
  allocator = std::make_shared<CudaAllocator>(*this);
  return done();
}

Status CudaDevice::failed(Code code, std::string_view what, std::string_view kernel) {
  std::string text = std::string(what) + ": " + driver.explain(code);
  // Errors that a kernel causes end the context: illegal address, instruction, program counter,
  // misalignment, assertion, trap, time-out, hardware stack error, uncorrectable memory.
  bool fatal =
      code == 700 || code == 702 || code == 710 || (code >= 714 && code <= 719) || code == 214;
  if (fatal && !lost.exchange(true)) {
    text += "; " +
            (kernel.empty() ? std::string("a kernel")
                            : "`" + std::string(kernel) + "` or a kernel before it") +
            " faulted, and " + name() + " is lost to this process";
  }
  return Error{std::move(text), {}};
}

Status CudaDevice::stuck(std::string_view what, const StreamOwner *stream) {
  isStuck = true;
  if (lost.exchange(true))
    return lostEarlier();
  std::string kernel = lastKernel(stream);
  char seconds[32];
  std::snprintf(seconds, sizeof seconds, "%g", watchdogSeconds);
  return Error{
      std::string(what) + ": " +
          (kernel.empty() ? std::string("its work") : "`" + kernel + "` or a kernel before it") +
          " has not ended within " + seconds + " seconds, the limit of NEREID_WATCHDOG_SECONDS; " +
          name() + " is lost to this process",
      {}};
}

Status CudaDevice::lostEarlier() const {
  std::lock_guard lock(lossMutex);
  if (!untold.empty())
    return Error{std::exchange(untold, {}), {}};
  return Error{name() + " was lost to an earlier fault: start a new process to use it again", {}};
}

void CudaDevice::failedQuietly(Code code, std::string_view what) {
  bool before = isLost();
  Status status = failed(code, what, lastKernel(nullptr));
  std::lock_guard lock(lossMutex);
  if (!before && isLost())
    untold = status.error().what;
}

Status CudaDevice::settle(const StreamOwner &stream, std::string_view what) {
  int capturing = 0;
  if (watchdogSeconds <= 0 || driver.cuStreamIsCapturing(stream.handle, &capturing) != Ok ||
      capturing) [[likely]]
    return done();
  auto query = [&] { return driver.cuStreamQuery(stream.handle); };
  return await(query, query, what, &stream);
}

Status CudaDevice::settleDefault(std::string_view what) {
  return settle(*static_cast<CudaStream &>(*legacyStream).ownership, what);
}

std::string CudaDevice::lastKernel(const StreamOwner *stream) const {
  auto nameOf = [](const StreamOwner &of) {
    const std::string *name = of.lastKernel.load(std::memory_order_relaxed);
    return name ? *name : std::string();
  };
  if (stream)
    return nameOf(*stream);
  std::set<std::string> all;
  std::lock_guard lock(streamMutex);
  for (const StreamOwner *each : streams)
    all.insert(nameOf(*each));
  std::string text;
  for (const std::string &name : all)
    if (!name.empty())
      text += (text.empty() ? "" : "`, `") + name;
  return text;
}

void CudaDevice::freeBlocksOf(StreamHandle stream) {
  std::vector<ContextBlock> freed;
  std::lock_guard lock(kernelMutex);
  for (CudaKernel *kernel : kernels) {
    std::lock_guard blockLock(kernel->blockMutex);
    if (auto found = kernel->blocks.find(stream); found != kernel->blocks.end()) {
      freed.push_back(std::move(found->second));
      kernel->blocks.erase(found);
    }
  }
}

Status CudaDevice::writeWords(DevicePointer to, std::initializer_list<uint64_t> words,
                              std::optional<StreamHandle> stream) {
  std::unique_lock lock(sideMutex, std::defer_lock);
  if (!stream)
    lock.lock();
  Current current(*this);
  for (uint64_t word : words)
    for (unsigned half = 0; half < 2; ++half, to += 4)
      if (Status status = check(driver.cuMemsetD32Async(to, uint32_t(word >> (32 * half)), 1,
                                                        stream ? *stream : side),
                                "cannot write to " + name());
          !status)
        return status;
  if (stream)
    return done();
  return check(driver.cuStreamSynchronize(side), "cannot write to " + name());
}

Status CudaDevice::checkAddress(const void *address) const {
  constexpr unsigned ofADevice = 2;
  auto pointer = reinterpret_cast<DevicePointer>(address);
  unsigned type = 0, managed = 0;
  int ordinal = -1;
  // What the driver does not know may be the host's memory that this GPU can reach.
  if (!address || driver.cuPointerGetAttribute(&type, PointerMemoryType, pointer) != Ok ||
      type != ofADevice ||
      driver.cuPointerGetAttribute(&managed, PointerIsManaged, pointer) != Ok || managed ||
      driver.cuPointerGetAttribute(&ordinal, PointerDeviceOrdinal, pointer) != Ok ||
      ordinal == handle)
    return done();
  return Error{"the memory is cuda:" + std::to_string(ordinal) + "'s, not " + name() + "'s", {}};
}

Result<std::unique_ptr<Stream>> CudaDevice::createStream() {
  if (Status status = usable(); !status)
    return status.takeError();
  Current current(*this);
  StreamHandle stream = nullptr;
  constexpr unsigned nonBlocking = 1;
  if (Status status = check(driver.cuStreamCreate(&stream, nonBlocking), "cannot create a stream");
      !status)
    return status.takeError();
  return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, stream, false));
}

// Functions, events and memory belong to a context, and a kernel reaches no memory of another one:
// a launch on a stream of a context that is not ours would fail or fault in the host program's.
Result<std::unique_ptr<Stream>> CudaDevice::wrapStream(void *native) {
  auto handle = static_cast<StreamHandle>(native);
  auto wrapped = [&] {
    return std::unique_ptr<Stream>(std::make_unique<CudaStream>(*this, handle, true));
  };
  auto refuse = [&](const std::string &why) {
    return Error{"cannot use a stream of the program on " + name() + ": " + why, {}};
  };
  if (Status status = usable(); !status)
    return status.takeError();
  // The default streams of a thread and of a process are those of whichever context is current.
  constexpr uintptr_t lastOfDefault = 2;
  if (reinterpret_cast<uintptr_t>(native) <= lastOfDefault)
    return wrapped();
  Current current(*this);
  Context theirs = nullptr;
  // What is no answer, as from drivers that cannot tell while the stream captures, is no refusal.
  Code code = driver.cuStreamGetCtx(handle, &theirs);
  if (code == InvalidHandle || code == InvalidContext || code == ContextIsDestroyed)
    return refuse("the driver knows no such stream, or its context was destroyed: " +
                  driver.explain(code));
  if (code != Ok || !theirs || theirs == context)
    return wrapped();
  DeviceHandle device = -1;
  if (driver.cuCtxPushCurrent(theirs) == Ok) {
    Context popped = nullptr;
    driver.cuCtxGetDevice(&device);
    driver.cuCtxPopCurrent(&popped);
  }
  if (device >= 0 && device != this->handle)
    return refuse("it is a stream of cuda:" + std::to_string(device));
  return refuse("it is of another context, whose kernels do not reach memory of this one; open the "
                "device in it (`Device::inContext`)");
}

Result<std::unique_ptr<Event>> CudaDevice::createEvent() {
  if (Status status = usable(); !status)
    return status.takeError();
  Current current(*this);
  EventHandle event = nullptr;
  if (Status status = check(driver.cuEventCreate(&event, 0), "cannot create an event"); !status)
    return status.takeError();
  return std::unique_ptr<Event>(std::make_unique<CudaEvent>(*this, event));
}

Status CudaDevice::synchronize() {
  if (Status status = usable(); !status)
    return status;
  Current current(*this);
  return await([&] { return driver.cuCtxSynchronize(); },
               [&] {
                 std::lock_guard lock(streamMutex);
                 for (const StreamOwner *stream : streams)
                   if (Code code = driver.cuStreamQuery(stream->handle); code != Ok)
                     return code;
                 return Code(Ok);
               },
               "cannot synchronize " + name(), nullptr);
}

// CUtensorMapDataType; 8-bit floats travel as bytes.
int tensorMapType(DType type) {
  switch (type) {
  case DType::Int16:
  case DType::UInt16:
    return 1;
  case DType::UInt32:
    return 2;
  case DType::Int32:
    return 3;
  case DType::UInt64:
    return 4;
  case DType::Int64:
    return 5;
  case DType::Float16:
    return 6;
  case DType::Float32:
    return 7;
  case DType::Float64:
    return 8;
  case DType::BFloat16:
    return 9;
  default:
    return 0;
  }
}

Status CudaDevice::encodeTensorMap(const support::DescriptorRecord &descriptor, const void *base,
                                   std::span<const int64_t> shape, std::span<const int64_t> strides,
                                   void *map) {
  auto refuse = [](const std::string &why) {
    return Error{"cannot describe a tensor to the copy engine: " + why, {}};
  };
  if (!driver.cuTensorMapEncodeTiled)
    return refuse("the driver knows no tensor maps, CUDA 12.0 does");
  uint32_t rank = descriptor.rank;
  if (shape.size() != rank || strides.size() != rank)
    return refuse("it has " + std::to_string(shape.size()) + " dimensions, the kernel expects " +
                  std::to_string(rank));
  int64_t itemBytes = nereid::info(DType(descriptor.type)).bytes;
  if (reinterpret_cast<uintptr_t>(base) % 16)
    return refuse("its address is no multiple of 16");
  if (strides[rank - 1] != 1)
    return refuse("its last dimension has stride " + std::to_string(strides[rank - 1]) +
                  ", it must be 1");
  // The hardware counts dimensions from the innermost one.
  uint64_t sizes[support::maxRank], steps[support::maxRank];
  uint32_t box[support::maxRank], traversal[support::maxRank];
  for (uint32_t i = 0; i < rank; ++i) {
    uint32_t from = rank - 1 - i;
    if (shape[from] < 1 || shape[from] > int64_t(1) << 32)
      return refuse("dimension " + std::to_string(from) + " has size " +
                    std::to_string(shape[from]));
    sizes[i] = uint64_t(shape[from]);
    box[i] = descriptor.box[from];
    traversal[i] = descriptor.elementStride[from];
    if (i == 0)
      continue;
    int64_t step;
    if (__builtin_mul_overflow(strides[from], itemBytes, &step) || step <= 0 || step % 16 ||
        step >= int64_t(1) << 40)
      return refuse("the stride of dimension " + std::to_string(from) + " is " +
                    std::to_string(strides[from]) + " elements of " + std::to_string(itemBytes) +
                    " bytes, no multiple of 16 bytes below 2^40");
    steps[i - 1] = uint64_t(step);
  }
  Current current(*this);
  return check(driver.cuTensorMapEncodeTiled(
                   static_cast<TensorMap *>(map), tensorMapType(DType(descriptor.type)), rank,
                   const_cast<void *>(base), sizes, steps, box, traversal, descriptor.interleave,
                   descriptor.swizzle, descriptor.l2Promotion, descriptor.padding),
               "cannot describe a tensor to the copy engine");
}

Result<std::shared_ptr<LoadedKernel>> CudaDevice::load(const support::Artifact &artifact) {
  if (Status status = usable(); !status)
    return status.takeError();
  std::string has;
  std::optional<Error> refusal; // of the code that came first
  std::string_view ptx;
  for (const CodeRecord &code : artifact.codes()) {
    std::string_view arch = artifact.text(code.arch);
    has += (has.empty() ? "" : ", ") + std::string(arch);
    const target::GpuChip *chip = target::gpuChip(arch);
    bool isPtx = CodeKind(code.kind) == CodeKind::Ptx;
    bool runs = chip && ((CodeKind(code.kind) == CodeKind::Cubin &&
                          target::cubinRunsOn(*chip, unsigned(major), unsigned(minor))) ||
                         (isPtx && target::ptxRunsOn(*chip, unsigned(major), unsigned(minor))));
    if (!runs)
      continue;
    TraceScope trace(TraceKind::Load, artifact.name(), name());
    auto kernel = std::make_shared<CudaKernel>(*this, artifact, code);
    add(kernel.get());
    bool refused = false;
    Status status = kernel->load(refused);
    if (status)
      return std::shared_ptr<LoadedKernel>(std::move(kernel));
    if (!refused)
      return status.takeError();
    if (isPtx) {
      auto bytes = artifact.blob(code.code);
      ptx = std::string_view(reinterpret_cast<const char *>(bytes.data()), bytes.size());
    }
    if (!refusal)
      refusal = status.takeError();
  }
  if (refusal) {
    constexpr std::string_view word = ".version ";
    std::string version;
    if (size_t at = ptx.find(word); at != ptx.npos)
      version = ptx.substr(at + word.size(), ptx.find('\n', at) - at - word.size());
    refusal->what += "; the driver is for CUDA " + std::to_string(driver.version / 1000) + "." +
                     std::to_string(driver.version % 1000 / 10) +
                     (version.empty() ? "" : " and the code's PTX of version " + version) +
                     ", which a newer driver takes";
    return *std::move(refusal);
  }
  return Error{"kernel `" + std::string(artifact.name()) + "` has no code for " + name() + " (" +
                   description.description + ", " + description.arch + "); it has code for " +
                   (has.empty() ? "nothing" : has),
               {}};
}

std::mutex registryMutex;
} // namespace

CurrentContext::CurrentContext(Device *device) {
  auto *cuda = dynamic_cast<CudaDevice *>(device);
  isPushed = cuda && cuda->driver.cuCtxPushCurrent(cuda->context) == Ok;
}

CurrentContext::~CurrentContext() {
  Context popped;
  if (isPushed)
    (*cuda::driver())->cuCtxPopCurrent(&popped);
}

bool deviceIsStuck() { return isStuck; }

unsigned cudaDeviceCount() {
  auto opened = cuda::driver();
  int count = 0;
  if (!opened || (*opened)->cuDeviceGetCount(&count) != Ok)
    return 0;
  return unsigned(std::max(count, 0));
}

// In a context of the host program, or in the primary one.
static Result<Device *> cudaDevice(unsigned ordinal, cuda::Context theirs) {
  auto opened = cuda::driver();
  if (!opened)
    return Error{"cannot open cuda:" + std::to_string(ordinal) + ": " + opened.error().what, {}};
  // Never torn down: the driver may be gone before our static objects are.
  using Key = std::pair<unsigned, cuda::Context>;
  static auto *registry = new std::map<Key, std::unique_ptr<CudaDevice>>();
  std::lock_guard lock(registryMutex);
  auto found = registry->find({ordinal, theirs});
  if (found != registry->end())
    return static_cast<Device *>(found->second.get());
  if (unsigned count = cudaDeviceCount(); ordinal >= count)
    return Error{"there is no cuda:" + std::to_string(ordinal) + ": the driver sees " +
                     std::to_string(count) + " devices",
                 {}};
  auto device = std::make_unique<CudaDevice>(**opened, ordinal, theirs);
  if (Status status = device->start(ordinal); !status)
    return status.takeError();
  auto [place, isNew] = registry->emplace(Key{ordinal, theirs}, std::move(device));
  return static_cast<Device *>(place->second.get());
}

Result<Device *> cudaDevice(unsigned ordinal) { return cudaDevice(ordinal, nullptr); }

Result<Device *> cudaDeviceIn(void *context) {
  auto opened = cuda::driver();
  if (!opened)
    return Error{"cannot use a context of the program: " + opened.error().what, {}};
  const cuda::Driver &driver = **opened;
  auto theirs = static_cast<cuda::Context>(context);
  cuda::DeviceHandle handle = -1;
  cuda::Code code = theirs ? driver.cuCtxPushCurrent(theirs) : Code(InvalidContext);
  if (code == cuda::Ok) {
    cuda::Context popped = nullptr;
    code = driver.cuCtxGetDevice(&handle);
    driver.cuCtxPopCurrent(&popped);
  }
  if (code != cuda::Ok)
    return Error{"cannot use a context of the program: " + driver.explain(code), {}};
  // Whether it is the primary one, asked without making that.
  unsigned flags = 0;
  int isActive = 0;
  if (driver.cuDevicePrimaryCtxGetState(handle, &flags, &isActive) == cuda::Ok && isActive) {
    auto primary = cudaDevice(unsigned(handle));
    if (!primary || static_cast<CudaDevice *>(*primary)->context == theirs)
      return primary;
  }
  return cudaDevice(unsigned(handle), theirs);
}

} // namespace nereid::runtime
