// What stands behind a Device, Stream, Event, Graph and LoadedKernel of an NVIDIA GPU.
#pragma once

#include "runtime/CudaDriver.h"
#include "runtime/Device.h"
#include "runtime/Recorder.h"
#include "support/Knobs.h"
#include "target/Gpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace nereid::runtime::cuda {

using support::CodeKind;
using support::CodeRecord;
using support::Record;
using support::RecordBuffer;

inline Status done() { return nereid::Success{}; }

class CudaDevice;
class CudaKernel;

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

inline constexpr size_t maxSlots = 512;

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
  Result<NativeCode> native() override;
  bool hasRecords() const override;
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
  // In the host's memory, which kernels write to across the bus: it is looked at without the
  // driver, and most kernels that may fail an assertion never write.
  RecordBuffer *records = nullptr;
  static constexpr size_t recordBytes = sizeof(RecordBuffer) + recordCapacity * sizeof(Record);

  // Launches on one stream run one after the other and share a block; those that are captured by
  // the host program keep theirs to the end.
  std::mutex blockMutex;
  std::map<StreamHandle, ContextBlock> blocks;
  std::vector<ContextBlock> capturedBlocks;
};

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
    if (!other || &other->device != &device)
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

} // namespace nereid::runtime::cuda
