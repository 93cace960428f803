// Devices, memory and streams. Handles are cheap to copy; devices live as long as the process.
//
// Thread-safety: a Device may be used by several threads, a Stream, Event or Graph by one at a
// time.
//
// A forked child may go on with a CPU, on one thread or an executor of its own and in streams that
// it creates, if no other thread was inside a call that compiles when it was forked. A GPU it can't
// use: CUDA says so.
#pragma once

#include "nereid/api.h"
#include "nereid/base.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nereid {

namespace runtime {
class Device;
class Event;
class Graph;
class Stream;
} // namespace runtime

class Device;

/// Where a program's own memory management comes in. `stream` is the native handle (CUstream), null
/// on a CPU and for memory of no stream in particular, which is there at once and freed when what
/// is queued no longer uses it. Called by several threads, on a GPU with its context current.
class NEREID_API Allocator {
public:
  virtual ~Allocator();
  /// Null, or std::bad_alloc, if there is no memory. At a multiple of 256 on a GPU, of 64 on a CPU.
  virtual void *allocate(size_t bytes, void *stream) = 0;
  virtual void free(void *pointer, size_t bytes, void *stream) = 0;
};

/// Where a program's own thread pool comes in: who runs the pieces of a CPU launch.
class NEREID_API Executor {
public:
  using Body = void (*)(void *data, unsigned worker);
  virtual ~Executor();
  /// The most bodies that make sense at a time, at least 1.
  virtual unsigned concurrency() const = 0;
  /// Calls `body(data, w)` for w = 0 and any further distinct w below `workers`, possibly at the
  /// same time, and returns when all these calls have. `body` does not throw. What is left when
  /// this returns is done by who launches.
  virtual void run(unsigned workers, Body body, void *data) = 0;
};

/// Bytes of a device that Nereid holds now and held at most, and how often it asked for some.
struct MemoryUse {
  uint64_t current = 0, peak = 0, allocations = 0;
};

/// A point in a stream.
class NEREID_API Event {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return impl != nullptr; }
  /// Waits until the point is reached.
  Status synchronize() const;
  /// Whether it is reached.
  Result<bool> query() const;
  /// Seconds from `start` to this; both were recorded and reached.
  Result<double> secondsSince(const Event &start) const;

private:
  friend class Device;
  friend class Stream;
  std::shared_ptr<runtime::Event> impl;
};

/// Launches recorded from a stream, to be run again with the same arguments.
class NEREID_API Graph {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return impl != nullptr; }
  size_t nodeCount() const;

private:
  friend class Stream;
  std::shared_ptr<runtime::Graph> impl;
};

/// An in-order queue of work. On a CPU the default stream runs work at once, on the caller and the
/// pool. An error of queued work may come from a later call.
class NEREID_API Stream {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return impl != nullptr; }
  Device device() const;
  /// CUstream; null on a CPU.
  void *native() const;
  /// Waits for everything queued.
  Status synchronize() const;
  Status record(const Event &event) const;
  /// The event may be of another GPU.
  Status wait(const Event &event) const;
  /// Copies between memory of the device and, on a GPU, of the host and of other GPUs, which must
  /// stay until it is done.
  Status copy(void *to, const void *from, size_t bytes) const;
  /// From here on launches are recorded and not run.
  Status beginCapture() const;
  Result<Graph> endCapture() const;
  Status launch(const Graph &graph) const;

  runtime::Stream &internal() const { return *impl; }

private:
  friend class Device;
  std::shared_ptr<runtime::Stream> impl;
};

/// A processor that runs kernels: "cpu", "cuda:0", ...
class NEREID_API Device {
public:
  /// "cpu", "cuda" (the first GPU) or "cuda:N". The error says what was tried: no driver, too old a
  /// driver, no such device.
  static Result<Device> open(std::string_view name);
  /// A GPU in a context of the program (CUcontext): kernels, memory and streams of this device are
  /// that context's, which must stay while they are used. Without it a device is in its primary
  /// context, which the CUDA runtime and PyTorch use; given that one, this is `open`.
  static Result<Device> inContext(void *native);
  /// All devices that can be used now, the CPU first.
  static std::vector<Device> all();

  const std::string &name() const;         ///< "cuda:0"
  const std::string &description() const;  ///< "NVIDIA H200"
  const std::string &architecture() const; ///< "sm_90a", "x86-64"
  bool isCpu() const;
  unsigned units() const; ///< multiprocessors, or processors that this process may use

  MemoryUse memory() const;
  void resetPeakMemory() const;
  /// Null goes back to Nereid's own. Memory in use is freed by who gave it.
  void setAllocator(std::shared_ptr<Allocator> allocator) const;
  /// Of the CPU; null goes back to Nereid's own pool. Fails on a GPU.
  Status setExecutor(std::shared_ptr<Executor> executor) const;

  /// The stream that the device has anyway.
  Stream stream() const;
  Result<Stream> createStream() const;
  /// A stream of the program (CUstream), which must stay as long. Fails for one of another context.
  Result<Stream> wrapStream(void *native) const;
  Result<Event> createEvent() const;
  /// Waits for everything queued on any stream.
  Status synchronize() const;

  bool operator==(const Device &) const = default;
  runtime::Device &internal() const { return *impl; }

private:
  friend class Stream;
  friend class Tensor;
  explicit Device(runtime::Device *device) : impl(device) {}
  runtime::Device *impl;
};

} // namespace nereid
