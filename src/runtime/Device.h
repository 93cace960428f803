// Devices and what they own: memory, streams, events, graphs, loaded kernels. `cpu` and `cuda:N`
// implement the same interfaces, so everything above this room is written once.
//
// Thread-safety: a Device and a LoadedKernel may be used by several threads; a Stream, an Event and
// a Graph by one at a time. Objects keep what they need alive; devices live as long as the process.
#pragma once

#include "nereid/base.h"
#include "runtime/Executor.h"
#include "runtime/Memory.h"
#include "support/Artifact.h"
#include "support/LaunchAbi.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::runtime {

class Device;
class Stream;

enum class DeviceKind : uint8_t { Cpu, Cuda };

/// What a device is.
struct DeviceInfo {
  std::string name;        ///< "cpu", "cuda:0"
  std::string description; ///< "NVIDIA H200", "AMD EPYC ..."
  std::string arch;        ///< "sm_90a"; "x86-64" for a CPU
  std::string features;    ///< CPU features as target/Cpu.h spells them
  unsigned units = 1;      ///< multiprocessors; processors this process may use
  uint64_t memoryBytes = 0;
  uint64_t cacheBytes = 0;          ///< last level
  uint32_t sharedBytesPerBlock = 0; ///< with opt-in; 0 on a CPU
  uint32_t clockKHz = 0;
};

/// Where a host program's own memory management comes in. All calls are made with the device's
/// context current; `stream` is the native handle (CUstream), null on a CPU and for memory of no
/// stream: it is there at once, and freed when what is queued on the device no longer uses it.
class Allocator {
public:
  virtual ~Allocator() = default;
  /// Null if there is no memory. At a multiple of 256 at least on a GPU, 64 on a CPU.
  virtual void *allocate(size_t bytes, void *stream) = 0;
  virtual void free(void *pointer, size_t bytes, void *stream) = 0;
};

/// Memory of a device, freed when the last copy goes. Wrapped foreign memory is never freed.
class Buffer {
public:
  Buffer() = default;
  /// Memory that somebody else owns; `owner` is kept alive.
  static Buffer wrap(Device &device, void *data, size_t bytes,
                     std::shared_ptr<const void> owner = nullptr);

  void *data() const { return pointer; }
  size_t bytes() const { return size; }
  Device *device() const { return where; }
  explicit operator bool() const { return where != nullptr; }

private:
  friend class Device;
  void *pointer = nullptr;
  size_t size = 0;
  Device *where = nullptr;
  std::shared_ptr<const void> owner;
};

/// Marks a point in a stream.
class Event {
public:
  virtual ~Event() = default;
  /// Waits until the point is reached.
  virtual Status synchronize() = 0;
  /// Whether it is reached.
  virtual Result<bool> query() = 0;
  /// From `start` to this; both must have been recorded and reached.
  virtual Result<double> secondsSince(const Event &start) const = 0;
};

/// Work recorded from a stream, to be run again.
class Graph {
public:
  virtual ~Graph() = default;
  virtual size_t nodeCount() const = 0;
};

/// Loaded code as its driver knows it: CUmodule and CUfunction. They live as long as the kernel.
struct NativeCode {
  void *module = nullptr, *function = nullptr;
};

/// A kernel on a device.
class LoadedKernel {
public:
  virtual ~LoadedKernel() = default;
  virtual const support::Artifact &artifact() const = 0;
  /// The code section that was loaded.
  virtual const support::CodeRecord &code() const = 0;
  /// Null on a CPU. A host program reaches global variables by the module.
  virtual Result<NativeCode> native() { return NativeCode{}; }
  /// Whether there may be records to take: of kernels on GPUs a look at the host's memory, from any
  /// thread, in which the driver may be waiting for it.
  virtual bool hasRecords() const { return true; }
  /// Takes the records that finished launches have written so far and empties the buffer. `lost`
  /// counts those for which there was no room.
  virtual Result<std::vector<support::Record>> takeRecords(uint64_t &lost) = 0;
};

/// What one launch passes.
struct LaunchArguments {
  const void *packed = nullptr; ///< the packed argument block, at a multiple of packedAlignment
  uint32_t packedBytes = 0;
  std::array<uint32_t, 3> grid = {1, 1, 1};
};

/// An in-order queue of work. Errors of work that has not begun yet may come from a later call.
class Stream {
public:
  virtual ~Stream() = default;
  virtual Device &device() const = 0;
  /// CUstream; null on a CPU and for CUDA's default stream.
  virtual void *native() const = 0;
  /// Holds the native stream: memory from `Device::allocate` is freed in its order, perhaps later
  /// than this object.
  virtual std::shared_ptr<const void> hold() const = 0;

  /// Queues a launch. The argument block is copied; a grid with a zero in it does nothing.
  virtual Status launch(LoadedKernel &kernel, const LaunchArguments &arguments) = 0;
  virtual Status launch(Graph &graph) = 0;
  /// Queues a copy between memory of this device and, on a GPU, host memory too. Host memory must
  /// stay as it is until the copy is done.
  virtual Status copy(void *to, const void *from, size_t bytes) = 0;
  /// Fills `count` elements with the low `width` (1, 2 or 4) bytes of `pattern`.
  virtual Status fill(void *to, uint32_t pattern, unsigned width, size_t count) = 0;
  virtual Status record(Event &event) = 0;
  virtual Status wait(Event &event) = 0;
  virtual Status synchronize() = 0;

  /// From here on work is recorded and not run.
  virtual Status beginCapture() = 0;
  virtual Result<std::unique_ptr<Graph>> endCapture() = 0;
  /// Also of a capture that others began on the native stream.
  virtual bool isCapturing() const = 0;
};

class Device {
public:
  virtual ~Device() = default;
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  virtual DeviceKind kind() const = 0;
  virtual const DeviceInfo &info() const = 0;
  const std::string &name() const { return info().name; }

  /// Memory with undefined contents, counted.
  Result<Buffer> allocate(size_t bytes, Stream *stream = nullptr);
  MemoryCounter &memory() { return *counter; }
  /// Null goes back to the device's own. Memory in use is freed by who gave it.
  void setAllocator(std::shared_ptr<Allocator> allocator);

  /// The stream that is used where none is named. On a CPU its work runs at once, on the caller.
  virtual Stream &defaultStream() = 0;
  virtual Result<std::unique_ptr<Stream>> createStream() = 0;
  /// A stream that belongs to the host program.
  virtual Result<std::unique_ptr<Stream>> wrapStream(void *native) = 0;
  virtual Result<std::unique_ptr<Event>> createEvent() = 0;
  virtual Status synchronize() = 0;
  /// Fails if the device was lost to a fault.
  virtual Status usable() const;
  /// Fails for an address that is known to lie in the memory of another device.
  virtual Status checkAddress(const void *address) const;

  /// Whether kernels of this device take tensor maps.
  virtual bool hasTensorMaps() const { return false; }
  /// Encodes a tensor map (support::tensorMapBytes at a multiple of 64) for memory of this device.
  /// Fails where there are none, and on layouts that hardware cannot walk: it says which rule of
  /// alignment or size is broken.
  virtual Status encodeTensorMap(const support::DescriptorRecord &descriptor, const void *base,
                                 std::span<const int64_t> shape, std::span<const int64_t> strides,
                                 void *map);

  /// Loads the first code section that this device can run.
  virtual Result<std::shared_ptr<LoadedKernel>> load(const support::Artifact &artifact) = 0;

protected:
  explicit Device(MemoryCounter *counter) : counter(counter) {}
  virtual std::shared_ptr<Allocator> ownAllocator() = 0;
  /// `hold` lives as long as the memory, which is freed in the order of stream `native`.
  Result<Buffer> allocate(size_t bytes, void *native, std::shared_ptr<const void> hold);

private:
  MemoryCounter *counter;
  std::shared_ptr<Allocator> custom; // accessed atomically
};

/// The host's processors.
class CpuDevice;
CpuDevice &cpuDevice();

/// The device that `name` means: "cpu", "cuda" (the first one), "cuda:1". The error says what was
/// tried: no driver, too old a driver, no such device.
Result<Device *> device(std::string_view name);
/// All devices that can be used now, the CPU first.
std::vector<Device *> devices();

/// Whether the watchdog gave a device up while it worked. The driver would wait for that work when
/// the process ends in the usual way: end it with `_Exit`.
bool deviceIsStuck();

/// Room for the records of a kernel between two calls of `takeRecords`.
inline constexpr uint64_t recordCapacity = 65536;

/// Whether a grid is within the limits of every device.
inline bool isGrid(const std::array<uint32_t, 3> &grid) {
  return grid[0] <= support::maxGridX && grid[1] <= support::maxGridYZ &&
         grid[2] <= support::maxGridYZ;
}
/// Checks a grid against the limits of every device and counts its programs.
Result<uint64_t> countPrograms(std::string_view kernel, const std::array<uint32_t, 3> &grid);

} // namespace nereid::runtime
