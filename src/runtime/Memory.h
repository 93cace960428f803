// Counted memory: every allocation of a device goes through one counter.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace nereid::runtime {

struct MemoryStats {
  uint64_t currentBytes = 0;
  uint64_t peakBytes = 0;
  uint64_t allocations = 0; ///< ever made
};

/// Thread-safe.
class MemoryCounter {
public:
  void allocated(uint64_t bytes);
  void freed(uint64_t bytes) { current.fetch_sub(bytes, std::memory_order_relaxed); }
  MemoryStats stats() const;
  /// Starts a new peak at what is held now.
  void resetPeak();

private:
  std::atomic<uint64_t> current = 0, peak = 0, allocations = 0;
};

/// The counter of host memory: buffers of the CPU device, arenas, scratch.
MemoryCounter &hostMemory();

/// No host allocation is larger: half of a process's addresses.
inline constexpr uint64_t maxHostBytes = uint64_t(1) << 46;

/// Counted host memory at a multiple of `alignment` (a power of two, at least 64). Contents are
/// undefined.
class HostBlock {
public:
  HostBlock() = default;
  HostBlock(HostBlock &&other) noexcept { *this = static_cast<HostBlock &&>(other); }
  HostBlock &operator=(HostBlock &&other) noexcept;
  ~HostBlock() { release(); }

  /// False if there is no memory; then the block is empty.
  bool allocate(size_t bytes, size_t alignment = 64);
  void release();
  void *data() const { return pointer; }
  size_t size() const { return bytes; }

private:
  void *pointer = nullptr;
  size_t bytes = 0;
};

} // namespace nereid::runtime
