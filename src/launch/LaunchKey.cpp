#include "launch/LaunchKey.h"

#include <algorithm>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace nereid::launch {

using support::ArgumentClass;
using support::Constant;
using Kind = Argument::Kind;

// ---- The key
// -------------------------------------------------------------------------------------

void LaunchKey::foldFront() {
  support::Hash128 front = support::hash128(bytes, length);
  std::memcpy(bytes, front.bytes.data(), sizeof front.bytes);
  length = sizeof front.bytes;
}

void LaunchKey::finish() { hashed = support::hash64(bytes, length); }

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

// ---- One classification
// --------------------------------------------------------------------------

// The class of a number or pointer that is passed at run time.
struct Scalar {
  DType type;
  bool isOne = false;
  bool divisible = false; // by 16
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

Scalar pointerClass(const Parameter &parameter, const Argument &argument) {
  uint64_t address = argument.kind == Kind::Tensor
                         ? reinterpret_cast<uint64_t>(argument.asTensor().data())
                         : argument.bits;
  bool align = !parameter.doNotSpecialize && !parameter.doNotSpecializeOnAlignment;
  return {.type = argument.type, .divisible = align && address % 16 == 0, .isPointer = true};
}

Status classifyScalar(const Signature &signature, const Parameter &parameter,
                      const Argument &argument, Scalar &scalar) {
  bool specialize = !parameter.doNotSpecialize;
  bool align = specialize && !parameter.doNotSpecializeOnAlignment;
  scalar = {argument.type};
  switch (argument.kind) {
  case Kind::Pointer:
  case Kind::Tensor:
    scalar = pointerClass(parameter, argument);
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
    scalar.divisible = align && !scalar.isOne && argument.bits % 16 == 0;
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

// ---- As a key
// ------------------------------------------------------------------------------------

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
enum ScalarBit : uint8_t { One = 1, Divisible = 2, IsPointer = 4, IsConst = 8 };

void addScalar(const Parameter &parameter, const Argument &argument, const Scalar &scalar,
               LaunchKey &key) {
  uint8_t bits = (scalar.isOne ? One : 0) | (scalar.divisible ? Divisible : 0) |
                 (scalar.isPointer ? IsPointer : 0) |
                 (scalar.isPointer && (parameter.isConst || argument.isConst) ? IsConst : 0);
  uint8_t head[] = {uint8_t(TagScalar | bits), uint8_t(scalar.type)};
  key.add(head, sizeof head);
}

Status addClass(const Signature &signature, const Parameter &parameter, const Argument &argument,
                LaunchKey &key, int depth) {
  auto addWord = [&](uint8_t tag, const auto &word) {
    key.add(tag);
    key.add(&word, sizeof word);
  };
  switch (argument.kind) {
  case Kind::Default:
    key.add(TagDefault);
    return Success{};
  case Kind::None:
    key.add(TagNone);
    return Success{};
  case Kind::Tuple:
  case Kind::NamedTuple: {
    if (depth == maxDepth)
      return cannotPass(signature, parameter, "is a tuple nested too deep");
    addWord(TagTuple, uint32_t(argument.elements().size()));
    if (argument.kind == Kind::NamedTuple)
      addWord(TagNames, intern(argument.names()));
    for (const Argument &element : argument.elements())
      if (Status status = addClass(signature, parameter, element, key, depth + 1); !status)
        return status;
    return Success{};
  }
  case Kind::Descriptor: {
    const DescriptorArgument &descriptor = argument.asDescriptor();
    if (descriptor.tensor.rank() > descriptor.block.size())
      return cannotPass(signature, parameter, "is a descriptor of over 5 dimensions");
    uint8_t head[] = {TagDescriptor, uint8_t(argument.type), uint8_t(descriptor.tensor.rank()),
                      descriptor.padNan};
    key.add(head, sizeof head);
    key.add(descriptor.block.data(), descriptor.tensor.rank() * sizeof(int64_t));
    return Success{};
  }
  case Kind::String:
    addWord(TagText, intern(argument.text()));
    return Success{};
  case Kind::Function:
    addWord(TagFunction, intern(argument.text()));
    return Success{};
  case Kind::Type:
    addWord(TagType, uint8_t(argument.type));
    return Success{};
  default:
    break;
  }
  if (parameter.isConstexpr || argument.isConstexpr) {
    switch (argument.kind) {
    case Kind::Bool:
      addWord(TagBool, uint8_t(argument.bits));
      return Success{};
    case Kind::Int:
    case Kind::TypedInt:
      addWord(argument.type == DType::UInt64 ? TagLargeInt : TagInt, argument.bits);
      return Success{};
    case Kind::Float:
    case Kind::TypedFloat:
      addWord(TagFloat, argument.number);
      return Success{};
    default:
      return cannotPass(signature, parameter, "is a tensor, and the parameter is `tl.constexpr`");
    }
  }
  Scalar scalar;
  if (Status status = classifyScalar(signature, parameter, argument, scalar); !status)
    return status;
  addScalar(parameter, argument, scalar, key);
  return Success{};
}

Status checkCount(const Signature &signature, size_t count) {
  if (count == signature.parameters.size())
    return Success{};
  return Error{"cannot launch `" + signature.name + "`: " + std::to_string(count) +
                   " arguments for " + std::to_string(signature.parameters.size()) + " parameters",
               {}};
}

// ---- In words
// ------------------------------------------------------------------------------------

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
    return ArgumentClass::pointer(scalar.type, scalar.divisible ? 16 : 1,
                                  parameter.isConst || argument.isConst);
  if (scalar.isOne)
    return ArgumentClass::one(scalar.type);
  return ArgumentClass::scalar(scalar.type, scalar.divisible ? 16 : 1);
}
} // namespace

Status makeKey(const Signature &signature, std::span<const Argument> arguments, uint32_t variant,
               LaunchKey &key) {
  if (Status status = checkCount(signature, arguments.size()); !status)
    return status;
  key.add(&variant, sizeof variant);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Parameter &parameter = signature.parameters[i];
    const Argument &argument = arguments[i];
    // What most arguments are, without a call.
    bool isPointer = argument.kind == Kind::Pointer || argument.kind == Kind::Tensor;
    if (isPointer && !parameter.isConstexpr && !argument.isConstexpr) [[likely]]
      addScalar(parameter, argument, pointerClass(parameter, argument), key);
    else if (Status status = addClass(signature, parameter, argument, key, 0); !status)
      return status;
  }
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
