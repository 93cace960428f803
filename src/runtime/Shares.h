// Work in numbered pieces, of which each worker first takes those near the ones it had: one launch
// after the other, a worker comes by the same part of a grid and finds it in its own cache. Who is
// done with its share takes pieces from the ends of others.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace nereid::runtime {

class Shares {
public:
  /// Splits `pieces` (below 2^32) evenly.
  void split(uint64_t pieces, unsigned workers) {
    count = std::min(workers, most);
    for (uint64_t i = 0; i < count; ++i)
      parts[i].range.store((pieces * i / count) << 32 | pieces * (i + 1) / count,
                           std::memory_order_relaxed);
  }

  /// Gives a piece that nobody has had; false if there is none.
  bool take(unsigned worker, uint64_t &piece) {
    unsigned home = worker % count;
    if (takeFrom(parts[home].range, /*atEnd=*/false, piece))
      return true;
    for (unsigned i = 1; i < count; ++i)
      if (takeFrom(parts[(home + i) % count].range, /*atEnd=*/true, piece))
        return true;
    return false;
  }

private:
  static bool takeFrom(std::atomic<uint64_t> &range, bool atEnd, uint64_t &piece) {
    uint64_t seen = range.load(std::memory_order_relaxed);
    for (;;) {
      uint64_t begin = seen >> 32, end = uint32_t(seen);
      if (begin == end)
        return false;
      uint64_t rest = atEnd ? seen - 1 : seen + (uint64_t(1) << 32);
      if (range.compare_exchange_weak(seen, rest, std::memory_order_relaxed)) {
        piece = atEnd ? end - 1 : begin;
        return true;
      }
    }
  }

  // On larger machines some workers share their part.
  static constexpr unsigned most = 64;
  // From the upper half to the lower half.
  struct alignas(64) Part {
    std::atomic<uint64_t> range;
  };
  unsigned count = 1;
  Part parts[most];
};

} // namespace nereid::runtime
