// What bindings of other languages (python/) and the library of kernels (kernels/) reach of the
// public classes, beyond the public headers: sources that are no files, arguments as the launch
// path takes them, what a launch launched, and programs that are frozen by themselves.
#pragma once

#include "nereid/engine.h"

#include <span>

namespace nereid::emit {
struct SourceUnit;
}
namespace nereid::support {
class Artifact;
}
namespace nereid::launch {
class Argument;
struct PreparedKernel;
} // namespace nereid::launch

namespace nereid::engine {

struct EmittedKernel;

struct BindingAccess {
  static Result<Program> load(const Engine &engine, const emit::SourceUnit &unit);
  /// What a miss of this program's kernels does, if the engine itself allows more.
  static void freeze(const Program &program, Freeze mode);

  // One argument a parameter, in order.
  static Result<const launch::PreparedKernel *> launch(const Kernel &kernel, const Stream &stream,
                                                       Grid grid,
                                                       std::span<const launch::Argument> arguments);
  static Result<const launch::PreparedKernel *>
  prepare(const Kernel &kernel, const Device &device, std::span<const launch::Argument> arguments);
  /// The code for a target ("cpu", "sm_90a"), which need not be here.
  static Result<support::Artifact> compile(const Kernel &kernel, const std::string &target,
                                           std::span<const launch::Argument> arguments);
  /// Tile IR for such arguments.
  static Result<EmittedKernel> emit(const Kernel &kernel,
                                    std::span<const launch::Argument> arguments);
};

} // namespace nereid::engine
