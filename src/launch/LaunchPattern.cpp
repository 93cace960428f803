#include "launch/LaunchPattern.h"

#include <bit>

namespace nereid::launch {

using Kind = Argument::Kind;

bool LaunchPattern::look(Check check, const runtime::Device *device, uint64_t &bits) {
  switch (check) {
  case Plain:
    return true;
  case Tensor: {
    const auto &tensor = *reinterpret_cast<const runtime::Tensor *>(bits);
    bits = reinterpret_cast<uint64_t>(tensor.data());
    return tensor.device() == device || !tensor.device();
  }
  case Float32:
    bits = std::bit_cast<uint32_t>(float(std::bit_cast<double>(bits)));
    return true;
  case Unaligned:
    return (bits & 15) > 1 && (bits & 3); // 17 is left to the key
  }
  return false;
}

LaunchPattern LaunchPattern::make(const Signature &signature, std::span<const Argument> arguments,
                                  std::span<const LeafSlot> slots, uint32_t blockBytes) {
  constexpr uint64_t all = ~uint64_t(0), low = 15;
  // Numbers below 2**31 are of one type whether it is taken from the value or annotated, if that
  // has 32 bits.
  constexpr uint64_t high = all << 31;
  LaunchPattern pattern;
  if (slots.size() != arguments.size())
    return pattern;
  auto sink = uint16_t((blockBytes + 7) / 8 * 8);
  uint32_t end = 0;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    const Parameter &parameter = signature.parameters[i];
    const LeafSlot &slot = slots[i];
    bool isPassed = slot.kind != LeafSlot::None;
    Word word = {headOf(argument), isPassed ? slot.offset : sink, Plain, 0, 0};
    if (slot.kind == LeafSlot::Other || (isPassed && slot.offset < end))
      return {};
    if (isPassed)
      end = slot.offset + 1u;
    uint64_t bits = argument.bits;
    bool seesOne = !parameter.doNotSpecialize && !parameter.annotated;
    bool seesAlignment = !parameter.doNotSpecialize && !parameter.doNotSpecializeOnAlignment;
    bool isConstexpr = parameter.isConstexpr || argument.isConstexpr;
    switch (argument.kind) {
    case Kind::Default:
    case Kind::None:
    case Kind::Type:
      break;
    case Kind::Bool:
      word.mask = isConstexpr || parameter.annotated ? all : 0;
      break;
    case Kind::Int:
    case Kind::TypedInt: {
      bool wide = parameter.annotated && info(*parameter.annotated).bits >= 32 &&
                  !info(*parameter.annotated).isFloat;
      word.mask = all;
      if (isConstexpr || (bits & high) || (parameter.annotated && !wide))
        break;
      if ((seesOne || seesAlignment) && (bits & low) == 1)
        break;
      word.mask = high;
      if (!seesOne && !seesAlignment)
        break;
      if (bits & 3)
        word.check = Unaligned;
      else
        word.mask |= bits & 7 ? 7 : low; // 4 and 12 are of one class
      break;
    }
    case Kind::Float:
    case Kind::TypedFloat:
      word.mask = isConstexpr ? all : 0;
      if (slot.kind == LeafSlot::Float32)
        word.check = Float32;
      break;
    case Kind::Tensor:
      word.check = Tensor;
      bits = reinterpret_cast<uint64_t>(argument.asTensor().data());
      [[fallthrough]];
    case Kind::Pointer:
      word.mask = seesAlignment ? low : 0;
      break;
    case Kind::Descriptor:
    case Kind::Tuple:
    case Kind::NamedTuple:
    case Kind::String:
    case Kind::Function:
      return {};
    }
    // An integer that is passed as a float is converted.
    bool toFloat = slot.kind == LeafSlot::Float32 || slot.kind == LeafSlot::Float64;
    if (toFloat && argument.kind != Kind::Float && argument.kind != Kind::TypedFloat)
      return {};
    word.value = bits & word.mask;
    pattern.words.push_back(word);
  }
  return pattern;
}

} // namespace nereid::launch
