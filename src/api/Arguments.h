// The public arguments of a launch as the launch path takes them.
#pragma once

#include "launch/Launcher.h"
#include "nereid/launch.h"
#include "support/Spelling.h"

#include <algorithm>
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
  /// As a LaunchPattern reads it.
  static uint32_t head(const Argument &from) {
    return uint32_t(from.kind) | uint32_t(from.type) << 8;
  }
  static uint64_t bits(const Argument &from) { return from.bits; }
  static bool isTuple(const Argument &from) { return from.kind == Argument::Tuple; }
  /// Of one that is no tuple.
  static launch::Argument readOne(const Argument &from) {
    using Kind = launch::Argument::Kind;
    static_assert(
        int(Argument::Default) == int(Kind::Default) && int(Argument::None) == int(Kind::None) &&
        int(Argument::Bool) == int(Kind::Bool) && int(Argument::Int) == int(Kind::Int) &&
        int(Argument::Float) == int(Kind::Float) && int(Argument::Pointer) == int(Kind::Pointer) &&
        int(Argument::TensorView) == int(Kind::Tensor) &&
        int(Argument::Descriptor) == int(Kind::Descriptor) &&
        int(Argument::Tuple) == int(Kind::Tuple) && int(Argument::Text) == int(Kind::String) &&
        int(Argument::Type) == int(Kind::Type));
    launch::Argument to;
    to.kind = Kind(from.kind);
    to.type = from.type;
    to.size = uint32_t(from.count);
    to.bits = from.bits;
    return to;
  }

private:
  static launch::Argument readTuple(const Argument &from, Storage &storage) {
    auto elements = std::make_unique<launch::Argument[]>(from.count);
    auto *given = static_cast<const Argument *>(from.object);
    for (size_t i = 0; i < from.count; ++i)
      elements[i] = read(given[i], storage);
    storage.push_back(std::move(elements));
    return launch::Argument::tuple({storage.back().get(), from.count});
  }
};

inline uint32_t headOf(const Argument &argument) { return ArgumentReader::head(argument); }
inline uint64_t bitsOf(const Argument &argument) { return ArgumentReader::bits(argument); }
inline uint64_t isUnusual(const Argument &argument) { return argument.name.size(); }

/// Arguments by parameter, on the stack unless there are many.
class BoundArguments {
public:
  static constexpr size_t few = 48;
  explicit BoundArguments(size_t count) : count(count) {
    if (count > few)
      many = std::make_unique<launch::Argument[]>(count);
    at = count > few ? many.get() : reinterpret_cast<launch::Argument *>(room);
  }
  launch::Argument *at; ///< from `bind` or `clear` on
  size_t count;
  ArgumentReader::Storage tuples;
  std::span<const launch::Argument> all() const { return {at, count}; }

  /// Leaves each argument to its default, for who puts some there before `bind`.
  void clear() {
    std::uninitialized_default_construct_n(at, count);
    isCleared = true;
  }

  /// Takes what a caller gave: by position, then by name. What is there already may be given anew
  /// where `isFree` says so.
  template <typename IsFree>
  Status bind(const launch::Signature &signature, std::span<const Argument> given,
              IsFree &&isFree) {
    size_t i = 0;
    if (!isCleared) {
      // What most calls are: by position, and no tuple.
      size_t plain = std::min(given.size(), count);
      for (; i < plain && given[i].name.empty() && !ArgumentReader::isTuple(given[i]); ++i)
        std::construct_at(at + i, ArgumentReader::readOne(given[i]));
      std::uninitialized_default_construct_n(at + i, count - i);
    }
    for (; i < given.size(); ++i) {
      size_t parameter = i;
      if (!given[i].name.empty()) {
        for (parameter = 0; parameter < count; ++parameter)
          if (signature.parameters[parameter].name == given[i].name)
            break;
        if (parameter == count) [[unlikely]]
          return noParameter(signature, given[i].name);
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
  static Error noParameter(const launch::Signature &signature, std::string_view name) {
    support::Spelling spelling{std::string(name)};
    for (const launch::Parameter &parameter : signature.parameters)
      spelling.consider(parameter.name);
    return cannotLaunch(signature, "it has no parameter `" + std::string(name) + "`" +
                                       (spelling.best().empty() ? "" : "; " + spelling.hint()));
  }
  static Error cannotLaunch(const launch::Signature &signature, const std::string &why) {
    return Error{"cannot launch `" + signature.name + "`: " + why, {}};
  }

  static_assert(std::is_trivially_destructible_v<launch::Argument>);
  alignas(launch::Argument) unsigned char room[few * sizeof(launch::Argument)];
  std::unique_ptr<launch::Argument[]> many;
  bool isCleared = false;
};

/// Appends what kernels wrote in launches that are done.
Status takeMessagesOf(const launch::Launcher &launcher, std::vector<KernelMessage> &messages);

} // namespace nereid
