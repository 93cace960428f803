#include "engine/Runner.h"

#include "engine/Runners.h"
#include "launch/LaunchKey.h"
#include "runtime/Device.h"
#include "target/Gpu.h"

#include <algorithm>

namespace nereid::engine {

using launch::Argument;
using support::HostTensor;

namespace {

Result<Argument> bindOne(const HostArgument &from, runtime::Device &device,
                         const AddressOf &addressOf, BoundArguments &into) {
  auto wrap = [&](const HostTensor &tensor) -> Result<runtime::Tensor *> {
    auto address = addressOf(tensor, from.name);
    if (!address)
      return address.takeError();
    auto wrapped =
        runtime::Tensor::wrap(device, *address, tensor.dtype(), tensor.shape(), tensor.strides());
    if (!wrapped)
      return wrapped.takeError();
    into.tensors.push_back(std::move(*wrapped));
    return &into.tensors.back();
  };
  if (from.isTuple) {
    std::vector<Argument> elements;
    for (const HostArgument &element : from.elements) {
      auto bound = bindOne(element, device, addressOf, into);
      if (!bound)
        return bound.takeError();
      elements.push_back(*bound);
    }
    into.tuples.push_back(std::move(elements));
    return Argument::tuple(into.tuples.back());
  }
  if (from.descriptor) {
    auto tensor = wrap(*from.descriptor->tensor);
    if (!tensor)
      return tensor.takeError();
    launch::DescriptorArgument descriptor;
    descriptor.tensor = **tensor;
    if (from.descriptor->block.size() > descriptor.block.size())
      return Error{"a descriptor block of rank " + std::to_string(from.descriptor->block.size()),
                   {}};
    std::copy(from.descriptor->block.begin(), from.descriptor->block.end(),
              descriptor.block.begin());
    descriptor.padNan = from.descriptor->padNan;
    into.descriptors.push_back(descriptor);
    return Argument::descriptor(into.descriptors.back());
  }
  if (from.tensor) {
    auto tensor = wrap(*from.tensor);
    if (!tensor)
      return tensor.takeError();
    return Argument::tensor(**tensor);
  }
  if (from.value.kind == Argument::Kind::String)
    return Argument::string(from.text);
  return from.value;
}

} // namespace

Result<BoundArguments> bindAll(const std::vector<HostArgument> &arguments, runtime::Device &device,
                               const AddressOf &addressOf) {
  BoundArguments bound;
  for (const HostArgument &argument : arguments) {
    auto one = bindOne(argument, device, addressOf, bound);
    if (!one)
      return one.takeError();
    bound.arguments.push_back(*one);
  }
  return bound;
}

Result<support::Specialization> specializeHost(const launch::Signature &signature,
                                               const std::vector<HostArgument> &arguments,
                                               std::vector<uint32_t> &defaulted) {
  auto bound = bindAll(arguments, **runtime::device("cpu"),
                       [](const HostTensor &tensor, const std::string &) -> Result<void *> {
                         return tensor.data();
                       });
  if (!bound)
    return bound.takeError();
  return launch::specialize(signature, bound->arguments, &defaulted);
}

Result<Timing> Runner::timePass(const std::function<Status(runtime::Stream &)> &,
                                const TimeOptions &) {
  return Error{name + " has no streams", {}};
}

Result<std::unique_ptr<Runner>> Runner::create(std::string_view device, RunnerOptions options) {
  if (device == "ref")
    return makeReferenceRunner(std::move(options));
  if (target::gpuChip(device))
    return makeChipRunner(device, options.describe);
  auto found = runtime::device(device);
  if (!found) {
    Error error = found.takeError();
    if (!device.starts_with("cuda"))
      error.what += "; `ref` is the interpreter";
    return error;
  }
  return makeDeviceRunner(**found);
}

} // namespace nereid::engine
