// The kinds of runners, and what they share.
#pragma once

#include "engine/Runner.h"

#include <chrono>
#include <list>

namespace nereid::engine {

std::unique_ptr<Runner> makeReferenceRunner(RunnerOptions options);
std::unique_ptr<Runner> makeDeviceRunner(runtime::Device &device);
std::unique_ptr<Runner> makeChipRunner(std::string_view chip, bool describe);

using Clock = std::chrono::steady_clock;
inline double secondsSince(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// The launch arguments of a request; objects that they point at live here.
struct BoundArguments {
  std::vector<launch::Argument> arguments;
  std::list<runtime::Tensor> tensors;
  std::list<launch::DescriptorArgument> descriptors;
  std::list<std::vector<launch::Argument>> tuples;
};

/// Where a tensor's first element lies on the device.
using AddressOf =
    std::function<Result<void *>(const support::HostTensor &, const std::string &name)>;

/// What the interpreter takes for `arguments`, one a parameter of the function: leaves that were
/// compiled in have none.
void addReferenceArguments(std::span<const launch::Argument> arguments,
                           std::span<const support::ArgumentClass> classes,
                           std::vector<ref::Argument> &out);

Result<BoundArguments> bindAll(const std::vector<HostArgument> &arguments, runtime::Device &device,
                               const AddressOf &addressOf);

} // namespace nereid::engine
