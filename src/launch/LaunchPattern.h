// The short way of a launch that is like an earlier one. Most launches of a kernel differ from the
// one before in addresses and numbers alone, so its key is not made again: each argument's head is
// compared, and the bits of its value that decide its class; what is left of it goes into the
// block.
#pragma once

#include "launch/Argument.h"
#include "launch/Signature.h"

#include <cstring>
#include <span>
#include <vector>

namespace nereid::launch {

/// Where a kernel takes one leaf of its arguments.
struct LeafSlot {
  enum Kind : uint8_t {
    None,    ///< compiled in
    Bits,    ///< the value's low bytes
    Float32, ///< a number, rounded
    Float64,
    Other, ///< anything else
  };
  Kind kind = None;
  uint16_t offset = 0;
};

/// Arguments as they are read here.
inline uint32_t headOf(const Argument &argument) {
  return uint32_t(argument.kind) | uint32_t(argument.type) << 8 |
         uint32_t(argument.isConstexpr) << 16 | uint32_t(argument.isConst) << 17;
}
inline uint64_t bitsOf(const Argument &argument) { return argument.bits; }
/// Not zero if a caller's argument is given in a way that only the key knows.
inline uint64_t isUnusual(const Argument &) { return 0; }

/// Calls that have one key. A call may have the key and still not be known here: the key decides.
class LaunchPattern {
public:
  /// Behind the block, `pack` writes up to so many bytes.
  static constexpr size_t slack = 16;

  LaunchPattern() = default;
  /// The calls like this one, whose arguments were classified and packed without an error; none if
  /// it has an argument that is more than a word (tuple, descriptor, text). `slots` has one element
  /// a leaf.
  static LaunchPattern make(const Signature &signature, std::span<const Argument> arguments,
                            std::span<const LeafSlot> slots, uint32_t blockBytes);

  /// True if a call with these arguments is known, and the block is packed; `headOf`, `bitsOf` and
  /// `isUnusual` read them. Else the block's content is undefined.
  template <typename From>
  bool pack(std::span<const From> arguments, const runtime::Device *device, void *block) const {
    if (arguments.size() != words.size() || words.empty())
      return false;
    uint64_t differ = 0;
    const From *argument = arguments.data();
    for (const Word &word : words) {
      if (headOf(*argument) != word.head)
        return false;
      uint64_t bits = bitsOf(*argument);
      if (word.check != Plain && !look(word.check, device, bits))
        return false;
      differ |= isUnusual(*argument) | ((bits ^ word.value) & word.mask);
      // Slots ascend, so what this writes beyond a narrow one is written over.
      std::memcpy(static_cast<uint8_t *>(block) + word.offset, &bits, sizeof bits);
      ++argument;
    }
    return !differ;
  }

private:
  enum Check : uint8_t {
    Plain,
    Tensor,    ///< its address is the value
    Float32,   ///< a double, passed as a float
    Unaligned, ///< neither 1 nor a multiple of 4
  };
  struct Word {
    uint32_t head;
    uint16_t offset;
    Check check;
    uint64_t value, mask; ///< the bits of `mask` are those of `value`
  };

  /// Makes of an argument's bits what is passed; false if the key must decide.
  static bool look(Check check, const runtime::Device *device, uint64_t &bits);

  std::vector<Word> words;
};

} // namespace nereid::launch
