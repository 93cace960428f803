#include "engine/SpecRequests.h"

#include "emit/Interp.h"
#include "engine/Compile.h"
#include "engine/Files.h"

namespace nereid::engine {

using ops::Value;

Result<HostArgument> toHostArgument(const Value &value) {
  HostArgument argument;
  if (auto *tensor = value.as<SpecTensor>()) {
    argument.tensor = &tensor->memory;
    argument.name = tensor->name;
  } else if (auto *descriptor = value.as<SpecDescriptor>()) {
    argument.descriptor =
        HostDescriptor{&descriptor->tensor->memory, descriptor->block, descriptor->paddingIsNan};
    argument.name = descriptor->tensor->name;
  } else if (value.isNone()) {
    argument.value = launch::Argument::none();
  } else if (value.isBool()) {
    argument.value = launch::Argument::boolean(value.asBool());
  } else if (value.isInt()) {
    if (auto small = value.asInteger().toInt64())
      argument.value = launch::Argument::integer(*small);
    else if (auto large = value.asInteger().toUInt64())
      argument.value = launch::Argument::unsignedInteger(*large);
    else
      return Error{value.asInteger().toString() + " has more than 64 bits", {}};
  } else if (value.isFloat()) {
    argument.value = launch::Argument::floating(value.asFloat());
  } else if (value.isStr()) {
    argument.text = value.asStr();
    argument.value.kind = launch::Argument::Kind::String;
  } else if (value.isType() && value.asType().isScalarKind()) {
    argument.value = launch::Argument::dtype(value.asType().dtype());
  } else if (value.isTuple() || value.isList()) {
    argument.isTuple = true;
    for (const Value &item : value.items()) {
      auto element = toHostArgument(item);
      if (!element)
        return element.takeError();
      argument.elements.push_back(std::move(*element));
    }
  } else {
    return Error{"`" + value.typeName() + "` cannot be passed to a kernel", {}};
  }
  return argument;
}

namespace {

bool setOption(ops::CompileOptions &options, const std::string &key, const Value &value) {
  if (!value.isInt() || !value.asInteger().toInt64())
    return false;
  int number = int(*value.asInteger().toInt64());
  if (key == "num_warps")
    options.numWarps = number;
  else if (key == "num_stages")
    options.numStages = number;
  else if (key == "num_ctas")
    options.numCtas = number;
  else if (key == "maxnreg")
    options.maxnreg = number;
  else
    return false;
  return true;
}

} // namespace

Result<RunRequest> SpecRequests::make(const SpecLaunch &launch) {
  auto program = programFor(launch.file);
  if (!program)
    return program.takeError();
  RunRequest request;
  request.program = *program;
  request.kernel = launch.kernel;
  for (int axis = 0; axis < 3; ++axis) {
    if (launch.grid[axis] < 0 || launch.grid[axis] > INT32_MAX)
      return Error{"grid of `" + launch.kernel + "` has the extent " +
                       std::to_string(launch.grid[axis]),
                   {}};
    request.grid[axis] = uint32_t(launch.grid[axis]);
  }
  auto signature = signatureOf(**program, launch.kernel);
  if (!signature)
    return signature.takeError();
  if (launch.args.size() > signature->parameters.size())
    return Error{"`" + launch.kernel + "` takes " + std::to_string(signature->parameters.size()) +
                     (signature->parameters.size() == 1 ? " argument, " : " arguments, ") +
                     std::to_string(launch.args.size()) + " were given",
                 {}};
  request.arguments.resize(signature->parameters.size());
  for (size_t i = 0; i < launch.args.size(); ++i) {
    auto argument = toHostArgument(launch.args[i]);
    if (!argument)
      return argument.takeError();
    request.arguments[i] = std::move(*argument);
  }
  for (const auto &[key, value] : launch.keywords) {
    size_t i = 0;
    while (i < signature->parameters.size() && signature->parameters[i].name != key)
      ++i;
    if (i == signature->parameters.size()) {
      if (setOption(request.options, key, value))
        continue;
      return Error{"`" + launch.kernel + "` has no parameter `" + key + "`", {}};
    }
    auto argument = toHostArgument(value);
    if (!argument)
      return argument.takeError();
    request.arguments[i] = std::move(*argument);
  }
  return request;
}

Result<emit::Program *> SpecRequests::programFor(const std::string &file) {
  auto &slot = programs[file];
  if (!slot) {
    bool isReplaced = file == "kernel.py" && !kernelFile.empty();
    auto loaded = loadProgram(isReplaced ? kernelFile : folder / file);
    if (!loaded)
      return loaded.takeError();
    slot = std::move(*loaded);
  }
  return slot.get();
}

} // namespace nereid::engine
