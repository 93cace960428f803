// Streams of a GPU: launches, copies, graphs captured from them.
#include "runtime/CudaObjects.h"

#include <cstring>

namespace nereid::runtime::cuda {

namespace {

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

// A trace scope for work on a stream, timed on the device too: by who watches that, else by events.
class StreamTrace {
public:
  StreamTrace(TraceKind kind, std::string_view name, CudaDevice &device, StreamHandle stream)
      : scope(kind, name, device.name()), stream(stream) {
    if (!scope) [[likely]]
      return;
    scope->stream = reinterpret_cast<uintptr_t>(stream);
    if ((watcher = recorder().watcher())) {
      static std::atomic<uint64_t> calls = 0;
      scope->call = ++calls;
      watcher->enter(scope->call);
      return;
    }
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
    if (watcher) [[unlikely]]
      watcher->leave();
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
  DeviceWatcher *watcher = nullptr; // that was entered
  std::shared_ptr<CudaTimer> timer;
};

} // namespace

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

} // namespace nereid::runtime::cuda
