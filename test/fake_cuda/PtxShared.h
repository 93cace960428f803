// A block's shared memory, and who may touch which of its bytes when.
//
// Agents touch it: warps, and copies, which go under the name of the mbarrier that counts them. An
// agent's steps are counted; barriers tell others which of them have been. Two agents touch one
// byte, one of them writing, only if one of them has been told of the other's step.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace ptx {

/// Up to which step of each agent something is known.
struct Steps {
  static constexpr unsigned most = 96; // agents
  std::array<uint32_t, most> of{};
  void join(const Steps &other) {
    for (unsigned i = 0; i < most; ++i)
      of[i] = std::max(of[i], other.of[i]);
  }
};

struct Knowledge {
  Steps seen;
  /// What a fence showed to the async proxy, that is to tensor cores and the copy engine (PTX ISA,
  /// "Async proxy"), of shared and of global memory.
  Steps fenced, fencedGlobal;
  void join(const Knowledge &other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    fencedGlobal.join(other.fencedGlobal);
  }
};

/// Who touches memory: a warp, or something asynchronous in its name.
struct Toucher {
  unsigned warp;
  const Knowledge &knows;
  bool isAsync = false;
};

struct Range {
  uint64_t at;
  unsigned bytes;
};

class SharedMemory {
public:
  SharedMemory(size_t bytes, unsigned warps);
  /// For another block: any bytes, which nobody touches.
  void begin();

  /// Bytes as they are, for what has been noted.
  uint8_t *at(uint64_t place) { return &data[place]; }
  size_t bytes() const { return data.size(); }
  void check(Range range) const; ///< is inside and aligned

  void noteRead(Range range, const Toucher &by);
  /// `values` as what is written, if it is known: several may write one value.
  void noteWrite(Range range, const Toucher &by, const uint8_t *values);
  /// An async copy fills it from now on, until `filled` by an agent in a step.
  void beginFilling(Range range, const Toucher &by);
  void filled(Range range, unsigned agent, uint32_t step, bool isGeneric);
  /// Something asynchronous reads it from now on, until a warp has waited for that.
  void beginReading(Range range, const Toucher &by);
  void wasRead(Range range, unsigned warp, uint32_t step);
  void setBarrier(uint64_t place, bool isOne); ///< of 8 bytes

  std::string agentText(unsigned agent) const;
  unsigned agentOf(uint64_t mbarrier);

private:
  struct Stamp {
    uint32_t step = 0;
    uint8_t agent = 0;
    bool isGeneric = false;
    bool operator==(const Stamp &) const = default;
  };
  void checkFree(Range range, bool writes) const;
  static std::string textOf(Range range);

  unsigned warps;
  std::vector<uint8_t> data;
  std::vector<Stamp> written;
  std::vector<uint32_t> reads; // a warp's last reads of all bytes, then the next one's
  std::vector<uint16_t> filling, reading;
  std::vector<uint8_t> isBarrier;
  std::vector<uint64_t> barriers; // places of the mbarriers that agents stand for
};

} // namespace ptx
