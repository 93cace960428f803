// From arguments to the packed block of a loaded kernel, by a plan made once.
#pragma once

#include "launch/Argument.h"
#include "launch/LaunchPattern.h"
#include "runtime/Device.h"
#include "support/HostExpression.h"

#include <memory>
#include <mutex>
#include <vector>

namespace nereid::launch {

inline constexpr size_t maxLeaves = 512;

/// The leaves of a call: tuples flattened in order, but for those that are `tl.constexpr`. A view
/// of the caller's arguments in a fixed array.
struct Leaves {
  size_t count = 0;
  const Argument *at[maxLeaves];

  std::span<const Argument *const> all() const { return {at, count}; }
};

/// Flattens; false if there are over `maxLeaves`. `isConstexpr(i)` is asked of the i-th argument.
template <typename IsConstexpr>
bool flatten(std::span<const Argument> arguments, IsConstexpr &&isConstexpr, Leaves &leaves);

/// How a kernel's argument block is filled. Made from an artifact, used by many threads.
class PackPlan {
public:
  static Result<PackPlan> make(const support::Artifact &artifact, runtime::Device &device);

  uint32_t bytes() const { return blockBytes; }
  size_t leafCount() const { return leaves; }
  /// Where each leaf goes.
  std::vector<LeafSlot> leafSlots() const;
  /// Fills `block`, which has `bytes()` bytes at a multiple of packedAlignment. Allocates only to
  /// encode a tensor map that it has not seen lately.
  Status pack(std::span<const Argument *const> leaves, void *block) const;
  /// The same of arguments none of which is a tuple.
  Status pack(std::span<const Argument> arguments, void *block) const;

private:
  /// Slots of one kind side by side, of leaves in order.
  struct Step {
    support::SlotKind kind;
    DType type;
    uint16_t width, leaf, offset, count;
    uint16_t slot;       // the first one's index in `names`
    uint16_t descriptor; // index in `descriptors`
  };
  // Tensor maps that were encoded lately, by what they describe.
  struct EncodedMap {
    const void *base = nullptr;
    uint32_t descriptor = UINT32_MAX;
    std::array<int64_t, 5> shape, strides;
    alignas(64) uint8_t map[support::tensorMapBytes];
  };
  struct MapCache {
    static constexpr size_t size = 48; // some sets of the nine that attention's gradients take
    std::mutex mutex;
    EncodedMap entries[size];
    size_t next = 0;
  };

  Error wrongArgument(size_t slot, const std::string &what) const;
  template <typename At> Status packFrom(size_t count, At &&at, void *block) const;
  Status packTensor(size_t slot, const Argument &argument, void *to) const;
  Status packDescriptor(const Step &step, const Argument &argument, void *to) const;

  std::vector<Step> steps;
  runtime::Device *device = nullptr;
  uint32_t blockBytes = 0;
  uint32_t leaves = 0;
  std::vector<support::DescriptorRecord> descriptors;
  std::vector<std::string> names; // of the slots, for messages
  std::string kernel;
  std::shared_ptr<MapCache> maps;
};

/// An argument as host expressions see it.
support::HostValue hostValueOf(const Argument &argument);
/// What they may ask of it if it is a tensor, a descriptor or a pointer; false for anything else.
bool hostFactsOf(const Argument &argument, support::HostTensorFacts &facts);

/// What host expressions of an artifact may ask: arguments of the call, compiled-in values,
/// options.
class ExpressionArguments final : public support::HostArguments {
public:
  /// `constants` has one value a parameter record, `options` one an option record.
  ExpressionArguments(std::span<const Argument *const> leaves,
                      std::span<const support::HostValue> constants,
                      std::span<const bool> isCompiledIn,
                      std::span<const support::HostValue> options)
      : leaves(leaves), constants(constants), isCompiledIn(isCompiledIn), options(options) {}

  support::HostValue argument(uint32_t leaf) const override;
  support::HostValue meta(uint32_t number) const override;
  const support::HostTensorFacts *tensor(uint32_t leaf) const override;

private:
  std::span<const Argument *const> leaves;
  std::span<const support::HostValue> constants;
  std::span<const bool> isCompiledIn;
  std::span<const support::HostValue> options;
  mutable support::HostTensorFacts facts;
};

// --- implementation of the template ---

namespace detail {
inline bool flattenInto(const Argument &argument, Leaves &leaves, int depth) {
  if (!argument.isTuple()) {
    if (leaves.count == maxLeaves)
      return false;
    leaves.at[leaves.count++] = &argument;
    return true;
  }
  if (depth == 16)
    return false;
  for (const Argument &element : argument.elements())
    if (!flattenInto(element, leaves, depth + 1))
      return false;
  return true;
}
} // namespace detail

template <typename IsConstexpr>
bool flatten(std::span<const Argument> arguments, IsConstexpr &&isConstexpr, Leaves &leaves) {
  leaves.count = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    if (arguments[i].isTuple() && !isConstexpr(i)) [[unlikely]] {
      if (!detail::flattenInto(arguments[i], leaves, 0))
        return false;
    } else if (leaves.count < maxLeaves) {
      leaves.at[leaves.count++] = &arguments[i];
    } else {
      return false;
    }
  }
  return true;
}

} // namespace nereid::launch
