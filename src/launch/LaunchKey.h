// From arguments to what a kernel is specialised on: as a key for this process (fixed size, made
// without allocation, compared byte by byte) and in words for the compiler. Both come from one
// classification, so two calls have equal keys exactly if they have equal specialisations.
#pragma once

#include "launch/Argument.h"
#include "launch/Signature.h"
#include "support/Specialization.h"

#include <cstring>

namespace nereid::launch {

/// The classes of a call's arguments. Of a call with so many classes that they do not fit, the
/// front is kept as a 128-bit hash.
class LaunchKey {
public:
  static constexpr size_t capacity = 240;

  LaunchKey() = default;
  void add(uint8_t byte) { add(&byte, 1); }
  void add(const void *data, size_t size) {
    if (length + size > capacity) [[unlikely]]
      foldFront();
    std::memcpy(bytes + length, data, size);
    length += uint32_t(size);
  }
  /// To be called once, behind the last class.
  void finish();

  uint64_t hash() const { return hashed; }
  std::span<const uint8_t> data() const { return {bytes, length}; }
  bool operator==(const LaunchKey &other) const {
    return hashed == other.hashed && length == other.length &&
           std::memcmp(bytes, other.bytes, length) == 0;
  }

private:
  void foldFront();

  uint64_t hashed = 0;
  uint32_t length = 0;
  uint8_t bytes[capacity]; // beyond `length` never read
};

/// Makes the key. `variant` stands for everything of a call beside its arguments (options, target):
/// equal numbers, equal rest. Fails on arguments that cannot be passed: too many or too few, a
/// value out of the annotated type's range, a tuple nested too deep.
Status makeKey(const Signature &signature, std::span<const Argument> arguments, uint32_t variant,
               LaunchKey &key);

/// The same in words, for the compiler. Arguments left to defaults become `constexpr` None-classes
/// whose parameter the compiler fills in; `defaulted` lists their positions.
Result<support::Specialization> specialize(const Signature &signature,
                                           std::span<const Argument> arguments,
                                           std::vector<uint32_t> *defaulted = nullptr);

} // namespace nereid::launch
