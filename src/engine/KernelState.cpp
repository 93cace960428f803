#include "engine/KernelState.h"

#include "runtime/Recorder.h"

namespace nereid {

Status KernelState::callHook(const ops::Value &hook, runtime::Stream &stream, BoundArguments &bound,
                             std::optional<engine::HookedLaunch> &hooked,
                             emit::Keywords words) const {
  std::lock_guard lock(program->mutex);
  hooked.emplace(program->program->interp(), signature, std::span(bound.at, bound.count), stream);
  Status status = hooked->call(hook, std::move(words));
  return status ? std::move(status) : Status(program->explained(status.takeError()));
}

ops::Value KernelState::preHookOf(const Configuration &wanted) const {
  std::lock_guard lock(program->mutex);
  auto all = program->program->configurations(signature.name);
  if (!all)
    return {};
  for (const emit::Configuration &one : *all) {
    bool same = one.numWarps == wanted.options.numWarps &&
                one.numStages == wanted.options.numStages &&
                one.numCtas == wanted.options.numCtas && one.maxnreg == wanted.options.maxRegisters;
    for (const auto &[name, value] : one.values)
      same &= std::find(wanted.constants.begin(), wanted.constants.end(),
                        std::pair(name, emit::unboxed(value).repr())) != wanted.constants.end();
    if (same)
      return one.preHook;
  }
  return {};
}

Result<engine::TunedLaunch> KernelState::tunedLaunch(std::string device,
                                                     std::span<const Argument> arguments) const {
  BoundArguments bound(signature.parameters.size());
  if (Status status = bind(arguments, bound); !status)
    return status.takeError();
  return tunedLaunch(std::move(device), bound);
}

engine::TunedLaunch KernelState::tunedLaunch(std::string device,
                                             const BoundArguments &bound) const {
  engine::TunedLaunch launch;
  launch.program = program->program.get();
  launch.kernel = signature.name;
  launch.device = std::move(device);
  emit::Interp &interp = launch.program->interp();
  using Kind = launch::Argument::Kind;
  for (size_t i = 0; i < bound.count; ++i) {
    const launch::Argument &argument = bound.at[i];
    const std::string &name = signature.parameters[i].name;
    if (argument.kind == Kind::Default)
      continue;
    if (argument.kind == Kind::Pointer || argument.kind == Kind::Tensor ||
        argument.kind == Kind::Descriptor)
      launch.tensors.emplace_back(name, argument.type);
    launch.given.emplace_back(name, engine::decoratorValue(interp, name, argument));
  }
  return launch;
}

namespace {
// What the evaluator sees of the arguments (engine::decoratorValue), or nothing for what it may see
// in other ways.
std::optional<std::vector<uint64_t>> seenByEvaluator(std::span<const launch::Argument> arguments) {
  using Kind = launch::Argument::Kind;
  std::vector<uint64_t> seen;
  for (const launch::Argument &argument : arguments) {
    bool isNumber = argument.kind == Kind::Bool || argument.kind == Kind::Int ||
                    argument.kind == Kind::TypedInt || argument.kind == Kind::Float ||
                    argument.kind == Kind::TypedFloat;
    bool isTensor = argument.kind == Kind::Pointer || argument.kind == Kind::Tensor ||
                    argument.kind == Kind::Descriptor;
    if (!isNumber && !isTensor && argument.kind != Kind::None && argument.kind != Kind::Default)
      return std::nullopt;
    seen.push_back(uint64_t(argument.kind) | uint64_t(argument.type) << 8);
    seen.push_back(isNumber ? argument.bits : 0);
    if (argument.kind != Kind::Tensor)
      continue;
    const runtime::Tensor &tensor = argument.asTensor();
    seen.push_back(tensor.rank());
    for (std::span<const int64_t> sizes : {tensor.shape(), tensor.strides()})
      seen.insert(seen.end(), sizes.begin(), sizes.end());
  }
  return seen;
}
} // namespace

Status KernelState::decide(BoundArguments &bound,
                           std::shared_ptr<const std::vector<Chosen>> &kept) const {
  std::span<launch::Argument> arguments(bound.at, bound.count);
  if (!heuristics.fill(arguments))
    return Success{};
  auto seen = seenByEvaluator(arguments);
  if (seen) {
    std::lock_guard lock(decided.mutex);
    if (decided.values && decided.arguments == *seen)
      kept = decided.values;
  }
  if (!kept) {
    std::lock_guard lock(program->mutex);
    auto choices = program->program->choose(signature.name, tunedLaunch("", bound).given);
    if (!choices) {
      // Constants of a configuration that nobody chose are not there: the launch says so.
      auto all = program->program->configurations(signature.name);
      if (chosen.empty() && all && !all->empty())
        return Success{};
      return program->explained(choices.takeError());
    }
    auto values = std::make_shared<std::vector<Chosen>>();
    for (const auto &[name, value] : choices->added)
      for (size_t i = 0; i < signature.parameters.size(); ++i)
        if (signature.parameters[i].name == name && heuristics.decides(i))
          values->push_back({i, engine::toBindings({{name, value}})[0].second});
    kept = std::move(values);
    if (seen) {
      std::lock_guard last(decided.mutex);
      decided.arguments = *std::move(seen);
      decided.values = kept;
    }
  }
  for (const Chosen &one : *kept)
    if (bound.at[one.parameter].kind == launch::Argument::Kind::Default)
      bound.at[one.parameter] = launch::Argument::constant(one.constant);
  return Success{};
}

Error KernelState::argumentsMissing(Error error) const {
  for (Diagnostic &diagnostic : error.diagnostics) {
    if (diagnostic.code != "SignatureMismatch")
      continue;
    std::lock_guard lock(program->mutex);
    auto all = program->program->configurations(signature.name);
    bool isAutotuned = chosen.empty() && all && !all->empty();
    diagnostic.hint = isAutotuned
                          ? "`@triton.autotune` leaves that to a configuration: launch "
                            "`kernel.with(c)`, where `c` is of `Kernel::configuration` or `tune`; "
                            "in C nereid_kernel_with"
                          : "a launch gives arguments by position, then by name: in C++ "
                            "`named(\"BLOCK\", 1024)`, in C `name` of the argument";
  }
  return error;
}

Status KernelState::launchBound(launch::Launcher &launcher, runtime::Stream &stream,
                                launch::Launcher::Grid grid,
                                std::span<const Argument> arguments) const {
  BoundArguments bound(signature.parameters.size());
  if (Status status = bind(arguments, bound); !status)
    return status;
  std::shared_ptr<const std::vector<Chosen>> kept;
  if (!heuristics.empty())
    if (Status status = decide(bound, kept); !status)
      return status;
  std::optional<engine::HookedLaunch> hooked; // owns what the hook changes
  if (!preHook.isNone()) [[unlikely]]
    if (Status status = callHook(preHook, stream, bound, hooked); !status)
      return status;
  auto launched = launcher.launchPrepared(stream, bound.all(), grid);
  if (!launched)
    return argumentsMissing(launched.takeError());
  if (onLaunch) [[unlikely]] {
    runtime::TraceEvent work;
    runtime::describeWork((*launched)->kernel->artifact(), uint64_t(grid[0]) * grid[1] * grid[2],
                          work);
    (*onLaunch)({signature.name,
                 stream.device().name(),
                 {grid[0], grid[1], grid[2]},
                 work.bytes,
                 work.operations});
  }
  return Success{};
}

} // namespace nereid
