// Runs kernels by the interpreter.
#include "engine/Runners.h"
#include "launch/LaunchKey.h"
#include "runtime/Device.h"

#include <map>

namespace nereid::engine {

using launch::Argument;
using support::HostTensor;

namespace {

class ReferenceRunner final : public Runner {
public:
  explicit ReferenceRunner(RunnerOptions options) : options(std::move(options)) { name = "ref"; }

  Status bind(HostTensor &tensor, std::string tensorName, bool initialized) override {
    ref::MemoryRange range;
    range.base = reinterpret_cast<uint64_t>(tensor.allocation());
    range.bytes = tensor.allocationBytes();
    range.name = std::move(tensorName);
    range.dtype = tensor.dtype();
    range.shape = tensor.shape();
    range.strides = tensor.strides();
    range.initialized = initialized;
    memory.push_back(std::move(range));
    return Success{};
  }
  Status fetch(HostTensor &) override { return Success{}; }
  void unbind(HostTensor &tensor) override {
    std::erase_if(memory, [&](const ref::MemoryRange &range) {
      return range.base == reinterpret_cast<uint64_t>(tensor.allocation());
    });
  }
  void unbindAll() override { memory.clear(); }

  Result<Timing> time(std::span<const RunRequest> requests, const TimeOptions &options) override {
    return sampled(options, [&]() -> Result<double> {
      double seconds = 0;
      for (const RunRequest &request : requests) {
        auto outcome = run(request);
        if (!outcome)
          return outcome.takeError();
        seconds += outcome->seconds;
      }
      return seconds;
    });
  }
  Result<double> copyRate() override { return 0.0; }

  Result<RunOutcome> run(const RunRequest &request) override {
    RunOutcome outcome;
    auto bound = bindAll(request.arguments, **runtime::device("cpu"),
                         [](const HostTensor &tensor, const std::string &) -> Result<void *> {
                           return tensor.data();
                         });
    if (!bound)
      return bound.takeError();
    auto compiled = prepare(request, bound->arguments, outcome);
    if (!compiled)
      return compiled.takeError();
    ref::Launch launch;
    launch.grid = request.grid;
    launch.memory = memory;
    addReferenceArguments(bound->arguments, (*compiled)->specialization.arguments,
                          launch.arguments);
    launch.onPrint = [&](const ref::Printed &printed) { outcome.prints.push_back(printed.text); };
    launch.onFinding = [&](const ref::Finding &finding) { outcome.findings.push_back(finding); };
    launch.onProgress = options.onProgress;
    auto start = Clock::now();
    auto statistics = (*compiled)->interpreter->launch(launch);
    outcome.seconds = secondsSince(start);
    if (!statistics)
      return statistics.takeError();
    outcome.statistics = *statistics;
    return outcome;
  }

private:
  struct Compiled {
    EmittedKernel emitted;
    support::Specialization specialization;
    std::optional<ref::Interpreter> interpreter;
  };

  Result<Compiled *> prepare(const RunRequest &request, std::span<const Argument> arguments,
                             RunOutcome &outcome) {
    auto signature = signatureOf(*request.program, request.kernel);
    if (!signature)
      return signature.takeError();
    std::vector<uint32_t> defaulted;
    auto specialization = launch::specialize(*signature, arguments, &defaulted);
    if (!specialization)
      return specialization.takeError();
    auto key = std::make_tuple(request.program, request.kernel,
                               specialization->text() + optionsText(request.options));
    auto &slot = compiled[key];
    if (!slot) {
      auto start = Clock::now();
      auto emitted =
          emitKernel(*request.program, request.kernel, *specialization, defaulted, request.options);
      if (!emitted)
        return emitted.takeError();
      auto fresh = std::make_unique<Compiled>();
      fresh->emitted = std::move(*emitted);
      fresh->specialization = fresh->emitted.specialization;
      auto interpreter = ref::Interpreter::prepare(fresh->emitted.kernel(), options.reference);
      if (!interpreter)
        return interpreter.takeError();
      fresh->interpreter.emplace(std::move(*interpreter));
      outcome.compileSeconds = secondsSince(start);
      outcome.notes = fresh->emitted.diagnostics;
      slot = std::move(fresh);
    }
    return slot.get();
  }

  RunnerOptions options;
  std::vector<ref::MemoryRange> memory;
  std::map<std::tuple<emit::Program *, std::string, std::string>, std::unique_ptr<Compiled>>
      compiled;
};

} // namespace

void addReferenceArguments(std::span<const launch::Argument> arguments,
                           std::span<const support::ArgumentClass> classes,
                           std::vector<ref::Argument> &out) {
  using Kind = support::ArgumentClass::Kind;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const Argument &argument = arguments[i];
    const support::ArgumentClass &kind = classes[i];
    if (kind.kind == Kind::Constant || (kind.kind == Kind::Int && kind.isOne))
      continue;
    switch (argument.kind) {
    case Argument::Kind::Tuple:
    case Argument::Kind::NamedTuple:
      addReferenceArguments(argument.elements(), kind.elements, out);
      break;
    case Argument::Kind::Tensor:
      out.push_back(int64_t(reinterpret_cast<uint64_t>(argument.asTensor().data())));
      break;
    case Argument::Kind::Descriptor: {
      const runtime::Tensor &tensor = argument.asDescriptor().tensor;
      out.push_back(ref::DescriptorArgument{reinterpret_cast<uint64_t>(tensor.data()),
                                            {tensor.shape().begin(), tensor.shape().end()},
                                            {tensor.strides().begin(), tensor.strides().end()}});
      break;
    }
    case Argument::Kind::Float:
    case Argument::Kind::TypedFloat:
      out.push_back(argument.number);
      break;
    default:
      if (kind.kind == Kind::Float) // an int for a parameter annotated as float
        out.push_back(double(int64_t(argument.bits)));
      else
        out.push_back(int64_t(argument.bits));
    }
  }
}

std::unique_ptr<Runner> makeReferenceRunner(RunnerOptions options) {
  return std::make_unique<ReferenceRunner>(std::move(options));
}

} // namespace nereid::engine
