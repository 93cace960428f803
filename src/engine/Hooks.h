// Hooks of `@triton.autotune` and `triton.Config`: functions of Python that see the arguments of a
// launch and may change what they are made of.
#pragma once

#include "emit/Program.h"
#include "launch/Argument.h"
#include "launch/Signature.h"
#include "runtime/Device.h"

#include <memory>
#include <span>
#include <vector>

namespace nereid::engine {

/// The arguments of one launch as a hook sees them: numbers and text as they are, tensors with
/// `shape`, `dtype`, `numel()`, `zero_()`, `fill_(x)`, descriptors with a `block_shape` to set.
class HookedLaunch {
public:
  /// `arguments` are one a parameter; those that a hook changes are replaced in place, and what
  /// they then refer to lives as long as this.
  HookedLaunch(emit::Interp &interp, const launch::Signature &signature,
               std::span<launch::Argument> arguments, runtime::Stream &stream);
  ~HookedLaunch();

  /// Calls `hook(arguments, **words)`. The evaluator is the caller's.
  Status call(const ops::Value &hook, emit::Keywords words = {});

private:
  struct Tensor;
  struct Descriptor;
  emit::Interp &interp;
  std::span<launch::Argument> arguments;
  ops::Value named; // a dict of them
  std::vector<std::pair<size_t, std::shared_ptr<Descriptor>>> descriptors;
};

/// The argument as the evaluator has it; nothing for tensors, pointers and the like.
std::optional<ops::Value> hostValue(emit::Interp &interp, const launch::Argument &argument);

/// The same as decorators see it: of tensors they see `shape`, `dtype`, `stride(i)`, `numel()` and
/// `element_size()`, of pointers `dtype` and `element_size()`. What else they ask is unknown.
ops::Value decoratorValue(emit::Interp &interp, const std::string &name,
                          const launch::Argument &argument);

} // namespace nereid::engine
