// The part of the public Kernel that is about configurations of `@triton.autotune`.
#include "engine/KernelParts.h"
#include "engine/KernelState.h"

#include <algorithm>

namespace nereid {

std::string Configuration::text() const {
  std::string text;
  for (const auto &[name, value] : constants)
    text += name + "=" + value + " ";
  text += "num_warps=" + std::to_string(options.numWarps) +
          " num_stages=" + std::to_string(options.numStages);
  if (options.numCtas != 1)
    text += " num_ctas=" + std::to_string(options.numCtas);
  if (options.maxRegisters)
    text += " maxnreg=" + std::to_string(options.maxRegisters);
  return text;
}

int64_t Configuration::integer(std::string_view name) const {
  for (const auto &[constant, value] : constants)
    if (constant == name)
      return std::strtoll(value.c_str(), nullptr, 10);
  return 0;
}

namespace {

CompileOptions optionsOf(const emit::Configuration &from) {
  CompileOptions to;
  to.numWarps = from.numWarps;
  to.numStages = from.numStages;
  to.numCtas = from.numCtas;
  to.maxRegisters = from.maxnreg;
  return to;
}

// What the decorators chose. The constants are those of the kernel's parameters.
Configuration configurationOf(const KernelState &kernel, const emit::LaunchChoices &choices) {
  Configuration to;
  if (!choices.configurations.empty())
    to.options = optionsOf(choices.configurations[choices.chosen]);
  for (const auto &[name, value] : choices.added)
    if (std::any_of(kernel.parameters.begin(), kernel.parameters.end(),
                    [&](const KernelParameter &parameter) { return parameter.name == name; }))
      to.constants.emplace_back(name, value.repr());
  return to;
}

} // namespace

Result<std::vector<Configuration>> Kernel::configurations() const {
  if (!state)
    return noKernel();
  ProgramState &program = *state->program;
  std::lock_guard lock(program.mutex);
  auto known = program.program->configurations(name());
  if (!known)
    return known.takeError();
  std::vector<Configuration> all;
  for (const emit::Configuration &from : *known) {
    Configuration to;
    for (const auto &[constant, value] : from.values)
      to.constants.emplace_back(constant, emit::unboxed(value).repr());
    to.options = optionsOf(from);
    all.push_back(std::move(to));
  }
  return all;
}

Result<std::vector<Configuration>>
Kernel::configurations(std::span<const Argument> arguments) const {
  if (!state)
    return noKernel();
  std::lock_guard lock(state->program->mutex);
  auto launch = state->tunedLaunch("", arguments);
  if (!launch)
    return launch.takeError();
  std::vector<Configuration> all;
  size_t count = 1;
  for (size_t i = 0; i < count; ++i) {
    auto choices =
        engine::chooseConfiguration(*launch, nullptr, i == 0 ? std::nullopt : std::optional(i));
    if (!choices)
      return choices.takeError();
    count = choices->configurations.size();
    if (count != 0 || !choices->added.empty())
      all.push_back(configurationOf(*state, *choices));
  }
  return all;
}

Result<Configuration> Kernel::configuration(const Device &device,
                                            std::span<const Argument> arguments) const {
  if (!state)
    return noKernel();
  std::lock_guard lock(state->program->mutex);
  auto launch = state->tunedLaunch(device.name(), arguments);
  if (!launch)
    return launch.takeError();
  auto file = state->program->tuned();
  if (!file)
    return file.takeError();
  auto choices = engine::chooseConfiguration(*launch, &*file);
  if (!choices)
    return choices.takeError();
  if (choices->configurations.empty() && choices->added.empty())
    return Error{"`" + name() + "` has no configurations to choose from", {}};
  return configurationOf(*state, *choices);
}

Status Kernel::keepTuned(const Device &device, std::span<const Argument> arguments,
                         size_t configuration, double seconds, const std::string &failure) const {
  const std::string &path = state->program->engine->options.tuningFile;
  if (path.empty())
    return Success{};
  std::lock_guard lock(state->program->mutex);
  auto launch = state->tunedLaunch(device.name(), arguments);
  if (!launch)
    return launch.takeError();
  auto choices = engine::chooseConfiguration(*launch, nullptr, configuration);
  if (!choices)
    return choices.takeError();
  if (choices->configurations.empty())
    return Success{}; // heuristics alone leave no choice
  auto row = engine::tuningRow(*launch, *choices);
  if (!row)
    return row.takeError();
  row->config = engine::toBindings(choices->configurations[configuration]);
  row->seconds = seconds;
  row->failure = failure;
  engine::TuningRow kept = engine::stamped(*std::move(row));
  return engine::TuningFile::merge(path, {&kept, 1});
}

Result<Kernel::Tuned> Kernel::tunedParts(const Stream &stream,
                                         std::span<const Argument> arguments) const {
  Tuned parts;
  parts.tuningFile = state->program->engine->options.tuningFile;
  BoundArguments bound(state->signature.parameters.size());
  if (Status status = state->bind(arguments, bound); !status)
    return status.takeError();
  auto choices = [&]() -> Result<emit::LaunchChoices> {
    std::lock_guard lock(state->program->mutex);
    auto launch = state->tunedLaunch(stream.device().name(), arguments);
    if (!launch)
      return launch.takeError();
    auto found = engine::chooseConfiguration(*launch, nullptr);
    if (!found)
      return found;
    auto file = state->program->tuned();
    auto row = engine::tuningRow(*launch, *found);
    if (!file || !row)
      return !file ? file.takeError() : row.takeError();
    for (const emit::Configuration &one : found->configurations) {
      const engine::TuningRow *refusal = file->refusal(*row, engine::toBindings(one));
      parts.refused.push_back(refusal ? engine::refusedBefore(*refusal, state->program->tuningFile)
                                      : "");
    }
    return found;
  }();
  if (!choices)
    return choices.takeError();
  parts.hasHooks = !choices->preHook.isNone() || !choices->postHook.isNone();
  for (auto [names, isZero] :
       {std::pair(&choices->resetToZero, true), {&choices->restoreValue, false}})
    for (const std::string &name : *names)
      for (size_t i = 0; i < bound.count; ++i) {
        if (state->signature.parameters[i].name != name ||
            bound.at[i].kind == launch::Argument::Kind::None)
          continue;
        if (bound.at[i].kind != launch::Argument::Kind::Tensor)
          return state->cannotTune("`" + name +
                                   "`, which `@triton.autotune` resets or restores, is no tensor");
        const runtime::Tensor &from = bound.at[i].asTensor();
        auto tensor =
            Tensor::wrap(stream.device(), from.data(), from.type(), from.shape(), from.strides());
        if (!tensor)
          return tensor.takeError();
        if (!tensor->isContiguous())
          return state->cannotTune(
              "`" + name + "`, which `@triton.autotune` resets or restores, is not contiguous");
        parts.tensors.emplace_back(*std::move(tensor), isZero);
      }
  return parts;
}

Status Kernel::callHook(const Stream &stream, std::span<const Argument> arguments,
                        bool isAfter) const {
  BoundArguments bound(state->signature.parameters.size());
  if (Status status = state->bind(arguments, bound); !status)
    return status;
  ops::Value hook;
  {
    std::lock_guard lock(state->program->mutex);
    auto launch = state->tunedLaunch(stream.device().name(), arguments);
    if (!launch)
      return launch.takeError();
    auto choices = engine::chooseConfiguration(*launch, nullptr);
    if (!choices)
      return choices.takeError();
    hook = isAfter ? choices->postHook : choices->preHook;
  }
  if (hook.isNone())
    return Success{};
  std::optional<engine::HookedLaunch> hooked;
  emit::Keywords words;
  words.emplace_back(isAfter ? "exception" : "reset_only",
                     isAfter ? ops::Value() : ops::Value(false));
  return state->callHook(hook, stream.internal(), bound, hooked, std::move(words));
}

Result<Kernel> Kernel::with(const Configuration &configuration) const {
  if (!state)
    return noKernel();
  CompileOptions options = configuration.options;
  options.debug = state->options.debug;
  options.inputPrecision = state->options.defaultInputPrecision;
  options.fpFusion = state->options.fpFusion;
  options.reflectFtz = state->options.reflectFtz;
  options.launchPdl = state->options.launchPdl;
  options.launchCooperative = state->options.launchCooperative;
  for (const ops::ExternLibrary &library : state->options.externLibs)
    options.externLibs.emplace_back(library.name, library.path);
  Program program;
  program.state = state->program;
  auto kernel = program.kernel(name(), options);
  if (!kernel)
    return kernel;
  kernel->state->isPlain = false;
  kernel->state->preHook = state->preHookOf(configuration);
  for (const auto &[constant, value] : configuration.constants) {
    size_t parameter = 0;
    while (parameter < state->parameters.size() && state->parameters[parameter].name != constant)
      ++parameter;
    auto parsed = support::Constant::parse(value);
    if (parameter == state->parameters.size())
      return Error{"`" + name() + "` has no parameter `" + constant + "`", {}};
    if (!parsed)
      return Error{"`" + value + "` is no value of the constant `" + constant + "`", {}};
    // What heuristics compute belongs to a launch: each computes it anew.
    if (!state->heuristics.decides(parameter))
      kernel->state->chosen.push_back({parameter, *std::move(parsed)});
  }
  return kernel;
}

} // namespace nereid
