// From arguments to what a kernel is specialised on: as a key for this process (fixed size, made
// without allocation, compared byte by byte) and in words for the compiler. Both come from one
// classification, so two calls have equal keys exactly if they have equal specialisations.
#pragma once

#include "launch/Argument.h"
#include "launch/Signature.h"
#include "support/Specialization.h"

namespace nereid::launch {

/// The classes of a call's arguments. Of a call with so many classes that they do not fit, the
/// front is kept as a 128-bit hash.
///
/// Behind the driver's own call the processor's stores are still on their way, and reading a word
/// that was just written in pieces waits for all of them: so bytes are gathered in a register, and
/// memory is written and read in the same words.
class LaunchKey {
public:
  static constexpr size_t capacity = 30; ///< words

  /// The bytes that are no full word yet, for loops that keep them in registers.
  struct Tail {
    uint64_t word = 0;
    unsigned bits = 0; ///< of `word` that are in use, below 64
  };

  LaunchKey() = default;
  /// Adds the low `size` bytes of `value`, 8 at most; the others must be zero.
  void add(uint64_t value, unsigned size) { add(tail, value, size); }
  void add(Tail &to, uint64_t value, unsigned size) {
    unsigned bits = to.bits + 8 * size;
    to.word |= value << to.bits;
    if (bits < 64) {
      to.bits = bits;
      return;
    }
    put(to.word);
    to.word = to.bits ? value >> (64 - to.bits) : 0;
    to.bits = bits - 64;
  }
  Tail takeTail() const { return tail; }
  void setTail(Tail to) { tail = to; }
  /// To be called once, behind the last class.
  void finish() {
    if (tail.bits)
      put(tail.word);
    tail = {};
  }

  uint64_t hash() const {
    uint64_t mixed = count;
    for (uint32_t i = 0; i < count; ++i) {
      mixed = (mixed ^ words[i]) * 0x9e3779b97f4a7c15; // the golden ratio, as Fibonacci hashing
      mixed ^= mixed >> 32;
    }
    return mixed;
  }
  std::span<const uint64_t> data() const { return {words, count}; }
  bool operator==(const LaunchKey &other) const {
    uint64_t differ = count ^ other.count;
    for (uint32_t i = 0; i < count && !differ; ++i)
      differ |= words[i] ^ other.words[i];
    return !differ;
  }

private:
  void put(uint64_t word) {
    if (count == capacity) [[unlikely]]
      foldFront();
    words[count++] = word;
  }
  void foldFront();

  uint32_t count = 0;
  Tail tail;
  uint64_t words[capacity]; // beyond `count` never read
};

/// Makes the keys of a function's launches.
class KeyMaker {
public:
  /// `signature` must outlive it.
  explicit KeyMaker(const Signature &signature);

  /// `variant` stands for everything of a call beside its arguments (options, target): equal
  /// numbers, equal rest. Fails on arguments that cannot be passed: too many or too few, a value
  /// out of the annotated type's range, a tuple nested too deep.
  Status make(std::span<const Argument> arguments, uint32_t variant, LaunchKey &key) const;

private:
  const Signature &signature;
  /// What pointers and integers need of each parameter, in few cache lines: the driver leaves
  /// little of the caches to a launch.
  std::vector<uint8_t> traits;
};

/// The same in words, for the compiler. Arguments left to defaults become `constexpr` None-classes
/// whose parameter the compiler fills in; `defaulted` lists their positions.
Result<support::Specialization> specialize(const Signature &signature,
                                           std::span<const Argument> arguments,
                                           std::vector<uint32_t> *defaulted = nullptr);

} // namespace nereid::launch
