#include "runtime/CpuDevice.h"

#include "runtime/CpuKernel.h"
#include "runtime/Recorder.h"
#include "runtime/ThreadPool.h"
#include "support/Forks.h"
#include "support/HostMemory.h"
#include "support/Knobs.h"
#include "target/Cpu.h"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <unistd.h>

namespace nereid::runtime {

namespace {
using Clock = std::chrono::steady_clock;
using Operation = std::function<Status()>;

// --- events ---

// Shared between the event and the operations that mark it.
struct EventState {
  std::mutex mutex;
  std::condition_variable reached;
  uint64_t wanted = 0, done = 0; // marks queued, marks passed
  Clock::time_point time;

  void pass(uint64_t mark) {
    {
      std::lock_guard lock(mutex);
      done = std::max(done, mark);
      time = Clock::now();
    }
    reached.notify_all();
  }
  void await(uint64_t mark) {
    std::unique_lock lock(mutex);
    reached.wait(lock, [&] { return done >= mark; });
  }
};

class CpuEvent final : public Event {
public:
  Status synchronize() override {
    std::unique_lock lock(state->mutex);
    uint64_t mark = state->wanted;
    lock.unlock();
    state->await(mark);
    return Success{};
  }
  Result<bool> query() override {
    std::lock_guard lock(state->mutex);
    return state->done >= state->wanted;
  }
  Result<double> secondsSince(const Event &start) const override {
    auto *other = dynamic_cast<const CpuEvent *>(&start);
    if (!other)
      return Error{"cannot take the time between events of two devices", {}};
    std::scoped_lock lock(state->mutex);
    Clock::time_point end = state->time;
    bool ready = state->wanted && state->done >= state->wanted;
    if (other != this) {
      std::scoped_lock otherLock(other->state->mutex);
      ready = ready && other->state->wanted && other->state->done >= other->state->wanted;
      if (ready)
        return std::chrono::duration<double>(end - other->state->time).count();
    }
    if (!ready)
      return Error{"cannot take the time between events that were not both reached", {}};
    return 0.0;
  }

  std::shared_ptr<EventState> state = std::make_shared<EventState>();
};

// --- graphs and streams ---

class CpuGraph final : public Graph {
public:
  size_t nodeCount() const override { return operations.size(); }
  Status run() const {
    for (const Operation &operation : operations)
      if (Status status = operation(); !status)
        return status;
    return Success{};
  }
  std::vector<Operation> operations;
};

} // namespace

namespace {
class CpuStream;
}

// Which streams a device waits for. Memory may outlive its device, and the roll lives as long.
struct StreamRoll {
  std::mutex mutex; // a stream cannot go while it is waited for
  std::vector<CpuStream *> streams;

  void enter(CpuStream &stream) {
    std::lock_guard lock(mutex);
    streams.push_back(&stream);
  }
  void leave(CpuStream &stream) {
    std::lock_guard lock(mutex);
    std::erase(streams, &stream);
  }
  /// Until nothing is queued.
  void await();
};

namespace {

// As `cuMemFree`: memory that queued work may still use goes once that work is done.
class HostAllocator final : public Allocator {
public:
  explicit HostAllocator(std::shared_ptr<StreamRoll> roll) : roll(std::move(roll)) {}
  void *allocate(size_t bytes, void *) override {
    if (bytes > maxHostBytes)
      return nullptr;
    return support::allocateHost(bytes, 64);
  }
  void free(void *pointer, size_t, void *) override {
    roll->await();
    std::free(pointer);
  }

private:
  std::shared_ptr<StreamRoll> roll;
};

// Work of a stream that lets go of memory can't wait for itself.
thread_local bool runsQueuedWork = false;

// An argument block that outlives the call that passed it.
struct ArgumentCopy {
  alignas(support::packedAlignment) uint8_t bytes[support::packedLimit];
};

class CpuStream final : public Stream {
public:
  CpuStream(CpuDevice &owner, bool isInline) : owner(owner), isInline(isInline) {
    if (!isInline)
      owner.roll->enter(*this);
  }
  ~CpuStream() override {
    if (isParents()) { // nobody is there to be joined, and no lock is safe to take
      if (thread.joinable())
        thread.detach();
      [[maybe_unused]] auto *forgotten = changed.release();
      return;
    }
    {
      std::lock_guard lock(mutex);
      stopping = true;
    }
    changed->notify_all();
    if (thread.joinable())
      thread.join();
    if (!isInline)
      owner.roll->leave(*this);
  }

  Device &device() const override { return owner; }
  void *native() const override { return nullptr; }
  std::shared_ptr<const void> hold() const override { return nullptr; }

  Status launch(LoadedKernel &kernel, const LaunchArguments &arguments) override {
    auto *cpuKernel = dynamic_cast<CpuKernel *>(&kernel);
    if (!cpuKernel)
      return Error{"cannot launch `" + std::string(kernel.artifact().name()) +
                       "` on cpu: it was loaded for another device",
                   {}};
    if (isInline)
      return cpuKernel->launch(arguments, *owner.executor(), owner.fibers);
    if (arguments.packedBytes > support::packedLimit)
      return Error{"cannot launch `" + std::string(kernel.artifact().name()) +
                       "`: " + std::to_string(arguments.packedBytes) + " bytes of arguments",
                   {}};
    // Now, so that the caller learns of it where it happens.
    if (auto programs = countPrograms(kernel.artifact().name(), arguments.grid); !programs)
      return programs.takeError();
    auto copy = std::make_shared<ArgumentCopy>();
    std::memcpy(copy->bytes, arguments.packed, arguments.packedBytes);
    return submit([this, cpuKernel, copy, bytes = arguments.packedBytes, grid = arguments.grid] {
      return cpuKernel->launch({copy->bytes, bytes, grid}, *owner.executor(), owner.fibers);
    });
  }

  Status launch(Graph &graph) override {
    auto *cpuGraph = dynamic_cast<CpuGraph *>(&graph);
    if (!cpuGraph)
      return Error{"cannot run on cpu a graph of another device", {}};
    return submit([cpuGraph] { return cpuGraph->run(); });
  }

  Status copy(void *to, const void *from, size_t bytes) override {
    return submit([=]() -> Status {
      TraceScope trace(TraceKind::Copy, "copy", "cpu");
      if (trace)
        trace->bytes = int64_t(bytes) * 2; // read and written
      std::memmove(to, from, bytes);
      return Success{};
    });
  }

  Status fill(void *to, uint32_t pattern, unsigned width, size_t count) override {
    if (width != 1 && width != 2 && width != 4)
      return Error{"cannot fill elements of " + std::to_string(width) + " bytes", {}};
    return submit([=]() -> Status {
      TraceScope trace(TraceKind::Fill, "fill", "cpu");
      if (trace)
        trace->bytes = int64_t(count * width);
      if (width == 1)
        std::memset(to, int(pattern & 0xff), count);
      else if (width == 2)
        std::fill_n(static_cast<uint16_t *>(to), count, uint16_t(pattern));
      else
        std::fill_n(static_cast<uint32_t *>(to), count, pattern);
      return Success{};
    });
  }

  Status record(Event &event) override {
    auto *cpuEvent = dynamic_cast<CpuEvent *>(&event);
    if (!cpuEvent)
      return Error{"cannot record on cpu an event of another device", {}};
    uint64_t mark;
    {
      std::lock_guard lock(cpuEvent->state->mutex);
      mark = ++cpuEvent->state->wanted;
    }
    return submit([state = cpuEvent->state, mark]() -> Status {
      state->pass(mark);
      return Success{};
    });
  }

  Status wait(Event &event) override {
    auto *cpuEvent = dynamic_cast<CpuEvent *>(&event);
    if (!cpuEvent)
      return Error{"cannot wait on cpu for an event of another device", {}};
    uint64_t mark;
    {
      std::lock_guard lock(cpuEvent->state->mutex);
      mark = cpuEvent->state->wanted;
    }
    return submit([state = cpuEvent->state, mark]() -> Status {
      state->await(mark);
      return Success{};
    });
  }

  Status synchronize() override {
    if (isInline)
      return Success{};
    if (capture)
      return Error{"cannot synchronize a stream while it captures", {}};
    TraceScope trace(TraceKind::Sync, "synchronize", "cpu");
    return drain();
  }
  /// Waits for what is queued, also while the stream captures.
  Status drain() {
    if (isParents())
      return parents();
    std::unique_lock lock(mutex);
    changed->wait(lock, [&] { return isIdle(); });
    if (failures.empty())
      return Success{};
    Error first = std::move(failures.front());
    failures.clear();
    return first;
  }

  /// The same, and leaves errors to a later call.
  void await() {
    if (isParents())
      return;
    std::unique_lock lock(mutex);
    changed->wait(lock, [&] { return isIdle(); });
  }

  Status beginCapture() override {
    if (isInline)
      return Error{"the default stream cannot capture: create a stream for it", {}};
    if (capture)
      return Error{"the stream captures already", {}};
    capture = std::make_unique<CpuGraph>();
    return Success{};
  }

  Result<std::unique_ptr<Graph>> endCapture() override {
    if (!capture)
      return Error{"the stream does not capture", {}};
    return std::unique_ptr<Graph>(std::move(capture));
  }
  bool isCapturing() const override { return capture != nullptr; }
  /// The thread of a stream that was made before a fork is in the parent.
  bool isParents() const { return !isInline && support::forkCount() != madeAfter; }

private:
  bool isIdle() const { return queue.empty() && !busy; }

  static Error parents() {
    return Error{"this stream was created before a fork, and its thread is in the parent: create "
                 "one in the child",
                 {}};
  }

  Status submit(Operation operation) {
    if (isInline)
      return operation();
    if (capture) {
      capture->operations.push_back(std::move(operation));
      return Success{};
    }
    if (isParents())
      return parents();
    {
      std::lock_guard lock(mutex);
      queue.push_back(std::move(operation));
      if (!thread.joinable())
        thread = std::thread([this] { work(); });
    }
    changed->notify_all();
    return Success{};
  }

  // What an executor or an allocator of the program throws has no caller here.
  static Status outcome(const Operation &operation) try {
    return operation();
  } catch (const std::exception &thrown) {
    return Error{std::string("queued work ended with an exception: ") + thrown.what(), {}};
  } catch (...) {
    return Error{"queued work ended with an exception", {}};
  }

  void work() {
    runsQueuedWork = true;
    std::unique_lock lock(mutex);
    for (;;) {
      changed->wait(lock, [&] { return !queue.empty() || stopping; });
      if (queue.empty())
        return;
      Operation operation = std::move(queue.front());
      queue.pop_front();
      busy = true;
      lock.unlock();
      Status status = outcome(operation);
      operation = nullptr;
      lock.lock();
      busy = false;
      // Work behind a failure still runs, as it would on a GPU after a failed launch.
      if (!status)
        failures.push_back(status.takeError());
      changed->notify_all();
    }
  }

  CpuDevice &owner;
  const bool isInline;
  std::unique_ptr<CpuGraph> capture;
  std::mutex mutex;
  std::unique_ptr<std::condition_variable> changed = std::make_unique<std::condition_variable>();
  std::deque<Operation> queue;
  std::vector<Error> failures;
  bool busy = false, stopping = false;
  const unsigned madeAfter = support::forkCount(); ///< forks
  std::thread thread;                              // starts with the first operation
};

// Made when first needed and never torn down: threads may outlive static destruction order.
const std::shared_ptr<Executor> &ownExecutor() {
  static auto *pool = new std::shared_ptr<Executor>(std::make_shared<ThreadPool>(
      unsigned(std::clamp<int64_t>(support::knobs().cpuThreads, 0, 4096))));
  return *pool;
}
} // namespace

void StreamRoll::await() {
  if (runsQueuedWork)
    return;
  std::lock_guard lock(mutex);
  for (CpuStream *stream : streams)
    stream->await();
}

CpuDevice::CpuDevice()
    : Device(&hostMemory()), roll(std::make_shared<StreamRoll>()),
      hostAllocator(std::make_shared<HostAllocator>(roll)) {
  description.name = "cpu";
  description.description = target::hostCpuName();
  description.arch = "x86-64";
  description.features = target::hostCpuFeatures().text();
  description.units = availableProcessors();
  long pages = ::sysconf(_SC_PHYS_PAGES), page = ::sysconf(_SC_PAGESIZE);
  if (pages > 0 && page > 0)
    description.memoryBytes = uint64_t(pages) * uint64_t(page);
  description.cacheBytes = target::hostCacheBytes();
  const support::Knobs &knobs = support::knobs();
  fibers.seed = uint64_t(knobs.fiberSeed);
  fibers.stallSeconds = knobs.fiberStallSeconds;
  if (knobs.perfMap)
    enablePerfMap(true);
  inlineStream = std::make_unique<CpuStream>(*this, true);
}

CpuDevice::~CpuDevice() = default;

Status CpuDevice::synchronize() {
  std::lock_guard lock(roll->mutex);
  Status first = Success{};
  for (CpuStream *stream : roll->streams)
    if (Status status = stream->isParents() ? Status(Success{}) : stream->drain(); !status && first)
      first = std::move(status);
  return first;
}

Result<std::unique_ptr<Stream>> CpuDevice::createStream() {
  return std::unique_ptr<Stream>(std::make_unique<CpuStream>(*this, false));
}

Result<std::unique_ptr<Stream>> CpuDevice::wrapStream(void *) {
  return Error{"a CPU has no streams of a host program to wrap", {}};
}

Result<std::unique_ptr<Event>> CpuDevice::createEvent() {
  return std::unique_ptr<Event>(std::make_unique<CpuEvent>());
}

Result<std::shared_ptr<LoadedKernel>> CpuDevice::load(const support::Artifact &artifact) {
  TraceScope trace(TraceKind::Load, artifact.name(), "cpu");
  auto kernel = CpuKernel::load(artifact);
  if (!kernel)
    return kernel.takeError();
  return std::shared_ptr<LoadedKernel>(std::move(*kernel));
}

void CpuDevice::setExecutor(std::shared_ptr<Executor> executor) {
  std::atomic_store(&chosen, std::move(executor));
}

std::shared_ptr<Executor> CpuDevice::executor() {
  std::shared_ptr<Executor> executor = std::atomic_load(&chosen);
  return executor ? executor : ownExecutor();
}

std::shared_ptr<Allocator> CpuDevice::ownAllocator() { return hostAllocator; }

CpuDevice &cpuDevice() {
  static auto *device = new CpuDevice();
  return *device;
}

} // namespace nereid::runtime
