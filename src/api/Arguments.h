// The public arguments of a launch as the launch path takes them.
#pragma once

#include "launch/Launcher.h"
#include "nereid/launch.h"

#include <memory>
#include <span>
#include <vector>

namespace nereid {

/// A public argument as the launch path takes it.
struct ArgumentReader {
  /// Elements of tuples.
  using Storage = std::vector<std::unique_ptr<launch::Argument[]>>;

  static launch::Argument read(const Argument &from, Storage &storage) {
    return from.kind == Argument::Tuple ? readTuple(from, storage) : readOne(from);
  }

private:
  static launch::Argument readOne(const Argument &from) {
    using To = launch::Argument;
    switch (from.kind) {
    case Argument::Default:
    case Argument::Tuple:
      return {};
    case Argument::None:
      return To::none();
    case Argument::Bool:
      return To::boolean(from.bits != 0);
    case Argument::Int:
      return To::integer(int64_t(from.bits));
    case Argument::Unsigned:
      return To::unsignedInteger(from.bits);
    case Argument::Float:
      return To::floating(from.number);
    case Argument::Pointer:
      return To::pointer(from.object, from.type);
    case Argument::TensorView:
      return To::tensor(*static_cast<const runtime::Tensor *>(from.object));
    case Argument::Descriptor:
      return To::descriptor(*static_cast<const launch::DescriptorArgument *>(from.object));
    case Argument::Text:
      return To::string({static_cast<const char *>(from.object), from.count});
    case Argument::Type:
      return To::dtype(from.type);
    }
    return {};
  }

  static launch::Argument readTuple(const Argument &from, Storage &storage) {
    auto elements = std::make_unique<launch::Argument[]>(from.count);
    auto *given = static_cast<const Argument *>(from.object);
    for (size_t i = 0; i < from.count; ++i)
      elements[i] = read(given[i], storage);
    storage.push_back(std::move(elements));
    return launch::Argument::tuple({storage.back().get(), from.count});
  }
};

/// Arguments by parameter, on the stack unless there are many.
class BoundArguments {
public:
  static constexpr size_t few = 48;
  explicit BoundArguments(size_t count) : count(count) {
    if (count > few)
      many = std::make_unique<launch::Argument[]>(count);
    at = count > few ? many.get() : reinterpret_cast<launch::Argument *>(room);
    if (count <= few)
      std::uninitialized_default_construct_n(at, count);
  }
  launch::Argument *at;
  size_t count;
  ArgumentReader::Storage tuples;
  std::span<const launch::Argument> all() const { return {at, count}; }

  /// Takes what a caller gave: by position, then by name. What is there already may be given anew
  /// where `isFree` says so.
  template <typename IsFree>
  Status bind(const launch::Signature &signature, std::span<const Argument> given,
              IsFree &&isFree) {
    for (size_t i = 0; i < given.size(); ++i) {
      size_t parameter = i;
      if (!given[i].name.empty()) {
        for (parameter = 0; parameter < count; ++parameter)
          if (signature.parameters[parameter].name == given[i].name)
            break;
        if (parameter == count) [[unlikely]]
          return cannotLaunch(signature,
                              "it has no parameter `" + std::string(given[i].name) + "`");
        if (at[parameter].kind != launch::Argument::Kind::Default && !isFree(parameter))
            [[unlikely]]
          return cannotLaunch(signature, "`" + std::string(given[i].name) + "` is given twice");
      } else if (i >= count) [[unlikely]] {
        return cannotLaunch(signature, std::to_string(given.size()) + " arguments, it has " +
                                           std::to_string(count) + " parameters");
      } else if (i && !given[i - 1].name.empty()) [[unlikely]] {
        return cannotLaunch(signature, "argument " + std::to_string(i) +
                                           " is given by position behind one by name");
      }
      at[parameter] = ArgumentReader::read(given[i], tuples);
    }
    return Success{};
  }

private:
  static Error cannotLaunch(const launch::Signature &signature, const std::string &why) {
    return Error{"cannot launch `" + signature.name + "`: " + why, {}};
  }

  static_assert(std::is_trivially_destructible_v<launch::Argument>);
  alignas(launch::Argument) unsigned char room[few * sizeof(launch::Argument)];
  std::unique_ptr<launch::Argument[]> many;
};

/// Appends what kernels wrote in launches that are done.
Status takeMessagesOf(const launch::Launcher &launcher, std::vector<KernelMessage> &messages);

} // namespace nereid
