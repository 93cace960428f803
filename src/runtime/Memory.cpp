#include "runtime/Memory.h"

#include "support/HostMemory.h"

#include <cstdlib>
#include <utility>

namespace nereid::runtime {

void MemoryCounter::allocated(uint64_t bytes) {
  uint64_t now = current.fetch_add(bytes, std::memory_order_relaxed) + bytes;
  allocations.fetch_add(1, std::memory_order_relaxed);
  uint64_t seen = peak.load(std::memory_order_relaxed);
  while (now > seen && !peak.compare_exchange_weak(seen, now, std::memory_order_relaxed))
    ;
}

MemoryStats MemoryCounter::stats() const {
  return {current.load(std::memory_order_relaxed), peak.load(std::memory_order_relaxed),
          allocations.load(std::memory_order_relaxed)};
}

void MemoryCounter::resetPeak() {
  peak.store(current.load(std::memory_order_relaxed), std::memory_order_relaxed);
}

MemoryCounter &hostMemory() {
  static MemoryCounter counter;
  return counter;
}

HostBlock &HostBlock::operator=(HostBlock &&other) noexcept {
  std::swap(pointer, other.pointer);
  std::swap(bytes, other.bytes);
  return *this;
}

bool HostBlock::allocate(size_t wanted, size_t alignment) {
  release();
  if (wanted == 0)
    return true;
  if (wanted > maxHostBytes)
    return false;
  void *memory = support::allocateHost(wanted, alignment);
  if (!memory)
    return false;
  pointer = memory;
  bytes = wanted;
  hostMemory().allocated(bytes);
  return true;
}

void HostBlock::release() {
  if (!pointer)
    return;
  std::free(pointer);
  hostMemory().freed(bytes);
  pointer = nullptr;
  bytes = 0;
}

} // namespace nereid::runtime
