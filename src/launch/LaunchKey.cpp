#include "launch/LaunchKey.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace nereid::launch {

using support::ArgumentClass;
using support::Constant;
using Kind = Argument::Kind;

// --- the key ---

void LaunchKey::foldFront() {
  support::Hash128 front = support::hash128(words, count * sizeof(uint64_t));
  static_assert(sizeof front.bytes == 2 * sizeof(uint64_t));
  std::memcpy(words, front.bytes.data(), sizeof front.bytes);
  count = 2;
}

namespace {
constexpr int maxDepth = 16;

// Text constants by number: the same text always has the same one. Allocates when it meets a text
// for the first time.
uint32_t intern(std::string_view text) {
  struct Hash {
    using is_transparent = void;
    size_t operator()(std::string_view text) const {
      return support::hash64(text.data(), text.size());
    }
  };
  static auto *table = new std::unordered_map<std::string, uint32_t, Hash, std::equal_to<>>();
  static auto *mutex = new std::shared_mutex();
  {
    std::shared_lock lock(*mutex);
    if (auto found = table->find(text); found != table->end())
      return found->second;
  }
  std::unique_lock lock(*mutex);
  return table->emplace(text, uint32_t(table->size())).first->second;
}

Error cannotPass(const Signature &signature, const Parameter &parameter, const std::string &what) {
  return Error{"cannot launch `" + signature.name + "`: argument `" + parameter.name + "` " + what,
               {}};
}

// --- one classification ---

// The class of a number or pointer that is passed at run time.
struct Scalar {
  DType type;
  bool isOne = false;
  uint32_t divisor = 0; // 16, of integers also 8 or 4
  bool isPointer = false;
};

DType typeOfPythonInt(const Argument &argument) {
  if (argument.type == DType::UInt64)
    return DType::UInt64;
  auto value = int64_t(argument.bits);
  return value == int32_t(value) ? DType::Int32 : DType::Int64;
}

bool fitsType(const Argument &argument, DType type) {
  const DTypeInfo &facts = info(type);
  bool isLarge = argument.type == DType::UInt64; // an unsigned value, perhaps from 2**63 up
  auto value = int64_t(argument.bits);
  if (type == DType::Int1)
    return argument.bits <= 1;
  if (facts.bits == 64)
    return facts.isSigned ? !(isLarge && value < 0) : isLarge || value >= 0;
  if (isLarge && value < 0)
    return false;
  int64_t limit = int64_t(1) << (facts.isSigned ? facts.bits - 1 : facts.bits);
  return value < limit && value >= (facts.isSigned ? -limit : 0);
}

// The largest of 16, 8 and 4 that divides it, or 0.
uint32_t divisorOf(uint64_t value) {
  uint64_t upTo16 = value | 16;
  return uint32_t(upTo16 & (0 - upTo16) & (16 | 8 | 4));
}

bool seesAlignment(const Parameter &parameter) {
  return !parameter.doNotSpecialize && !parameter.doNotSpecializeOnAlignment;
}

Scalar pointerClass(const Argument &argument, bool seesAlignment) {
  uint64_t address = argument.kind == Kind::Tensor
                         ? reinterpret_cast<uint64_t>(argument.asTensor().data())
                         : argument.bits;
  return {.type = argument.type,
          .divisor = seesAlignment && address % 16 == 0 ? 16u : 0u,
          .isPointer = true};
}

Status classifyScalar(const Signature &signature, const Parameter &parameter,
                      const Argument &argument, Scalar &scalar) {
  bool specialize = !parameter.doNotSpecialize;
  bool align = seesAlignment(parameter);
  scalar = {argument.type};
  switch (argument.kind) {
  case Kind::Pointer:
  case Kind::Tensor:
    scalar = pointerClass(argument, align);
    return Success{};
  case Kind::Bool:
  case Kind::Int:
  case Kind::TypedInt: {
    if (argument.kind == Kind::Int)
      scalar.type = typeOfPythonInt(argument);
    if (parameter.annotated) {
      scalar.type = *parameter.annotated;
      if (info(scalar.type).isFloat)
        return Success{};
      if (!fitsType(argument, scalar.type))
        return cannotPass(signature, parameter,
                          "is " +
                              (argument.type == DType::UInt64
                                   ? std::to_string(argument.bits)
                                   : std::to_string(int64_t(argument.bits))) +
                              ", which does not fit " + std::string(info(scalar.type).name));
    }
    if (scalar.type == DType::Int1)
      return Success{};
    // An annotation asks for a value of that type, so 1 is not compiled in.
    scalar.isOne = specialize && !parameter.annotated && argument.bits == 1;
    if (align && !scalar.isOne)
      scalar.divisor = divisorOf(argument.bits);
    return Success{};
  }
  case Kind::Float:
  case Kind::TypedFloat:
    if (parameter.annotated) {
      if (!info(*parameter.annotated).isFloat)
        return cannotPass(signature, parameter,
                          "is a float, annotated " + std::string(info(*parameter.annotated).name));
      scalar.type = *parameter.annotated;
    }
    return Success{};
  default:
    return cannotPass(signature, parameter,
                      "is a value that only a `tl.constexpr` parameter can take");
  }
}

// --- as a key ---

// First byte of each class. Fields of fixed size follow, so no class is a prefix of two.
enum Tag : uint8_t {
  TagDefault = 1,
  TagNone,
  TagBool,
  TagInt,
  TagLargeInt,
  TagFloat,
  TagText,
  TagFunction,
  TagType,
  TagTuple,
  TagDescriptor,
  TagNames,
  TagScalar = 0x40, // with the bits below
};
// A divisor is its own bit.
enum ScalarBit : uint8_t { One = 1, IsPointer = 2, Divisors = 4 | 8 | 16, IsConst = 32 };

void addScalar(const Scalar &scalar, LaunchKey &key, bool isConst) {
  uint32_t bits = (scalar.isOne ? One : 0) | scalar.divisor | (scalar.isPointer ? IsPointer : 0) |
                  (scalar.isPointer && isConst ? IsConst : 0);
  key.add(uint64_t(TagScalar | bits) | uint64_t(scalar.type) << 8, 2);
}

Status addClass(const Signature &signature, const Parameter &parameter, const Argument &argument,
                LaunchKey &key, int depth) {
  auto addTagged = [&](uint8_t tag, uint64_t value, unsigned size) {
    key.add(tag, 1);
    key.add(value, size);
  };
  switch (argument.kind) {
  case Kind::Default:
    key.add(TagDefault, 1);
    return Success{};
  case Kind::None:
    key.add(TagNone, 1);
    return Success{};
  case Kind::Tuple:
  case Kind::NamedTuple: {
    if (depth == maxDepth)
      return cannotPass(signature, parameter, "is a tuple nested too deep");
    addTagged(TagTuple, uint32_t(argument.elements().size()), 4);
    if (argument.kind == Kind::NamedTuple)
      addTagged(TagNames, intern(argument.names()), 4);
    for (const Argument &element : argument.elements())
      if (Status status = addClass(signature, parameter, element, key, depth + 1); !status)
        return status;
    return Success{};
  }
  case Kind::Descriptor: {
    const DescriptorArgument &descriptor = argument.asDescriptor();
    if (descriptor.tensor.rank() > descriptor.block.size())
      return cannotPass(signature, parameter, "is a descriptor of over 5 dimensions");
    unsigned rank = descriptor.tensor.rank();
    key.add(uint64_t(TagDescriptor) | uint64_t(argument.type) << 8 | uint64_t(rank) << 16 |
                uint64_t(descriptor.padNan) << 24,
            4);
    for (unsigned i = 0; i < rank; ++i)
      key.add(uint64_t(descriptor.block[i]), 8);
    return Success{};
  }
  case Kind::String:
    addTagged(TagText, intern(argument.text()), 4);
    return Success{};
  case Kind::Function:
    addTagged(TagFunction, intern(argument.text()), 4);
    return Success{};
  case Kind::Type:
    addTagged(TagType, uint8_t(argument.type), 1);
    return Success{};
  default:
    break;
  }
  if (parameter.isConstexpr || argument.isConstexpr) {
    switch (argument.kind) {
    case Kind::Bool:
      addTagged(TagBool, uint8_t(argument.bits), 1);
      return Success{};
    case Kind::Int:
    case Kind::TypedInt:
      addTagged(argument.type == DType::UInt64 ? TagLargeInt : TagInt, argument.bits, 8);
      return Success{};
    case Kind::Float:
    case Kind::TypedFloat:
      addTagged(TagFloat, std::bit_cast<uint64_t>(argument.number), 8);
      return Success{};
    default:
      return cannotPass(signature, parameter, "is a tensor, and the parameter is `tl.constexpr`");
    }
  }
  Scalar scalar;
  if (Status status = classifyScalar(signature, parameter, argument, scalar); !status)
    return status;
  addScalar(scalar, key, parameter.isConst || argument.isConst);
  return Success{};
}

Status checkCount(const Signature &signature, size_t count) {
  if (count == signature.parameters.size())
    return Success{};
  return Error{"cannot launch `" + signature.name + "`: " + std::to_string(count) +
                   " arguments for " + std::to_string(signature.parameters.size()) + " parameters",
               {}};
}

// --- in words ---

Result<ArgumentClass> classOf(const Signature &signature, const Parameter &parameter,
                              const Argument &argument, int depth) {
  switch (argument.kind) {
  case Kind::Default:
  case Kind::None:
    return ArgumentClass::compiledIn(Constant::none());
  case Kind::Tuple:
  case Kind::NamedTuple: {
    if (depth == maxDepth)
      return cannotPass(signature, parameter, "is a tuple nested too deep");
    std::vector<ArgumentClass> elements;
    for (const Argument &element : argument.elements()) {
      auto result = classOf(signature, parameter, element, depth + 1);
      if (!result)
        return result;
      elements.push_back(*std::move(result));
    }
    std::vector<std::string> names;
    for (std::string_view rest = argument.names(); !rest.empty();) {
      size_t comma = std::min(rest.find(','), rest.size());
      names.emplace_back(rest.substr(0, comma));
      rest.remove_prefix(std::min(comma + 1, rest.size()));
    }
    return ArgumentClass::tuple(std::move(elements), std::move(names));
  }
  case Kind::Descriptor: {
    const DescriptorArgument &descriptor = argument.asDescriptor();
    if (descriptor.tensor.rank() > descriptor.block.size())
      return cannotPass(signature, parameter, "is a descriptor of over 5 dimensions");
    return ArgumentClass::descriptor(
        argument.type,
        {descriptor.block.begin(), descriptor.block.begin() + descriptor.tensor.rank()},
        descriptor.padNan);
  }
  case Kind::String:
    return ArgumentClass::compiledIn(Constant::string(std::string(argument.text())));
  case Kind::Function:
    return ArgumentClass::compiledIn(Constant::function(std::string(argument.text())));
  case Kind::Type:
    return ArgumentClass::compiledIn(Constant::dtype(argument.type));
  default:
    break;
  }
  if (parameter.isConstexpr || argument.isConstexpr) {
    switch (argument.kind) {
    case Kind::Bool:
      return ArgumentClass::compiledIn(Constant::boolean(argument.bits != 0));
    case Kind::Int:
    case Kind::TypedInt:
      return ArgumentClass::compiledIn(argument.type == DType::UInt64
                                           ? Constant::integer(std::to_string(argument.bits))
                                           : Constant::integer(int64_t(argument.bits)));
    case Kind::Float:
    case Kind::TypedFloat:
      return ArgumentClass::compiledIn(Constant::floating(argument.number));
    default:
      return cannotPass(signature, parameter, "is a tensor, and the parameter is `tl.constexpr`");
    }
  }
  Scalar scalar;
  if (Status status = classifyScalar(signature, parameter, argument, scalar); !status)
    return status.takeError();
  if (scalar.isPointer)
    return ArgumentClass::pointer(scalar.type, std::max(scalar.divisor, 1u),
                                  parameter.isConst || argument.isConst);
  if (scalar.isOne)
    return ArgumentClass::one(scalar.type);
  return ArgumentClass::scalar(scalar.type, std::max(scalar.divisor, 1u));
}
} // namespace

namespace {
// The bits of facts are those of ScalarBit, so that a class is a few logical operations.
enum Trait : uint8_t {
  SeesOne = One,
  SeesAlignment = Divisors,
  PointsToConst = IsConst,
  TakesPointers = 0x40,
  TakesIntegers = 0x80, // typed by their value
};
} // namespace

KeyMaker::KeyMaker(const Signature &signature) : signature(signature) {
  for (const Parameter &parameter : signature.parameters)
    traits.push_back(uint8_t((parameter.isConstexpr ? 0 : TakesPointers) |
                             (parameter.isConstexpr || parameter.annotated ? 0 : TakesIntegers) |
                             (parameter.doNotSpecialize ? 0 : SeesOne) |
                             (seesAlignment(parameter) ? SeesAlignment : 0) |
                             (parameter.isConst ? PointsToConst : 0)));
}

Status KeyMaker::make(std::span<const Argument> arguments, uint32_t variant, LaunchKey &key) const {
  if (arguments.size() != signature.parameters.size()) [[unlikely]]
    return checkCount(signature, arguments.size());
  LaunchKey::Tail tail;
  key.add(tail, variant, sizeof variant);
  const uint8_t *trait = traits.data();
  for (const Argument &argument : arguments) {
    uint8_t sees = *trait++;
    // What most arguments are, without a call.
    if (!argument.isConstexpr) [[likely]] {
      bool isTensor = argument.kind == Kind::Tensor;
      if ((argument.kind == Kind::Pointer || isTensor) && (sees & TakesPointers)) [[likely]] {
        uint64_t address = argument.bits;
        if (isTensor)
          address = reinterpret_cast<uint64_t>(argument.asTensor().data());
        uint64_t facts =
            (address % 16 ? 0 : sees & 16) | ((sees | (argument.isConst ? IsConst : 0)) & IsConst);
        key.add(tail, uint64_t(TagScalar) | IsPointer | facts | uint64_t(argument.type) << 8, 2);
        continue;
      }
      if (argument.kind == Kind::Int && (sees & TakesIntegers)) {
        uint64_t facts = sees & (argument.bits == 1 ? One : divisorOf(argument.bits));
        key.add(tail, TagScalar | facts | uint64_t(typeOfPythonInt(argument)) << 8, 2);
        continue;
      }
    }
    key.setTail(tail);
    const Parameter &parameter = signature.parameters[size_t(&argument - arguments.data())];
    if (Status status = addClass(signature, parameter, argument, key, 0); !status)
      return status;
    tail = key.takeTail();
  }
  key.setTail(tail);
  key.finish();
  return Success{};
}

Result<support::Specialization> specialize(const Signature &signature,
                                           std::span<const Argument> arguments,
                                           std::vector<uint32_t> *defaulted) {
  if (Status status = checkCount(signature, arguments.size()); !status)
    return status.takeError();
  support::Specialization result;
  for (size_t i = 0; i < arguments.size(); ++i) {
    auto argument = classOf(signature, signature.parameters[i], arguments[i], 0);
    if (!argument)
      return argument.takeError();
    if (defaulted && arguments[i].kind == Kind::Default)
      defaulted->push_back(uint32_t(i));
    result.arguments.push_back(*std::move(argument));
  }
  return result;
}

} // namespace nereid::launch
