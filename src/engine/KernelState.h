// What the public Kernel holds: its signature, what a configuration chose, a launch path a device.
#pragma once

#include "api/Arguments.h"
#include "api/Empty.h"
#include "api/PerDevice.h"
#include "emit/Program.h"
#include "engine/Configurations.h"
#include "engine/Hooks.h"
#include "engine/ProgramState.h"
#include "launch/Heuristics.h"
#include "launch/Launcher.h"
#include "runtime/Device.h"

#include <algorithm>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace nereid {

inline Error noKernel() { return emptyHandle("Kernel", "Program::kernel"); }

struct KernelState {
  std::shared_ptr<ProgramState> program;
  engine::CodeOptions options;
  launch::Signature signature;
  std::vector<KernelParameter> parameters;

  /// A constexpr that a configuration chose.
  struct Chosen {
    size_t parameter;
    support::Constant constant; ///< owns the text
  };
  std::vector<Chosen> chosen;
  launch::Heuristics heuristics;
  ops::Value preHook; ///< of a configuration; None without
  /// Whether a launch is no more than its arguments: no configuration, no heuristics, and nobody is
  /// told of it.
  bool isPlain = true;
  /// The engine's, or null.
  const std::function<void(const LaunchEvent &)> *onLaunch = nullptr;

  /// Runs a hook over the arguments, which may change.
  Status callHook(const ops::Value &hook, runtime::Stream &stream, BoundArguments &bound,
                  std::optional<engine::HookedLaunch> &hooked, emit::Keywords words = {}) const;

  /// The launch path of one device.
  struct PerDevice final : launch::KernelSource {
    PerDevice(KernelState &kernel, runtime::Device &device)
        : kernel(kernel), device(device), launcher(kernel.signature, device, *this) {}
    Result<support::Artifact> kernelFor(const support::Specialization &specialization,
                                        std::span<const uint32_t> defaulted, uint32_t) override {
      return kernel.program->artifact(request(specialization, defaulted), policy());
    }
    std::optional<launch::StandIn> standInFor(const support::Specialization &specialization,
                                              std::span<const uint32_t> defaulted) override {
      if (policy() != Freeze::Background)
        return std::nullopt;
      return kernel.program->standIn(request(specialization, defaulted));
    }
    engine::CompileRequest request(const support::Specialization &specialization,
                                   std::span<const uint32_t> defaulted) const {
      return {kernel.signature.name,
              kernel.options,
              device.kind() == runtime::DeviceKind::Cpu ? "cpu" : device.info().arch,
              specialization,
              {defaulted.begin(), defaulted.end()}};
    }
    Freeze policy() const {
      return std::max<Freeze>(kernel.program->freeze, kernel.program->engine->freeze);
    }
    KernelState &kernel;
    runtime::Device &device;
    launch::Launcher launcher;
  };

  Status bind(std::span<const Argument> given, BoundArguments &bound) const {
    if (!chosen.empty())
      bound.clear();
    for (const Chosen &one : chosen)
      bound.at[one.parameter] = launch::Argument::constant(one.constant);
    return bound.bind(signature, given, [this](size_t parameter) { return isChosen(parameter); });
  }

  /// Gives arguments that are open the values that `@triton.heuristics` computes from the others.
  /// `kept` owns what they point to.
  Status decide(BoundArguments &bound, std::shared_ptr<const std::vector<Chosen>> &kept) const;

  /// The hook of the configuration in the source with these constants and options.
  ops::Value preHookOf(const Configuration &wanted) const;

  Error cannotTune(const std::string &why) const {
    return Error{"cannot tune `" + signature.name + "`: " + why, {}};
  }

  /// The launch as decorators see it; the program's evaluator is the caller's.
  Result<engine::TunedLaunch> tunedLaunch(std::string device,
                                          std::span<const Argument> arguments) const;
  engine::TunedLaunch tunedLaunch(std::string device, const BoundArguments &bound) const;

  /// Whoever launches without all arguments learns how a program gives them, or, for constants of
  /// an autotuned kernel, where they come from.
  Error argumentsMissing(Error error) const;

  /// A launch whose arguments are bound by name and looked at one by one.
  Status launchBound(launch::Launcher &launcher, runtime::Stream &stream,
                     launch::Launcher::Grid grid, std::span<const Argument> arguments) const;

  PerDevice &on(runtime::Device &device) {
    return devices.on(device, [&] { return std::make_unique<PerDevice>(*this, device); });
  }

  PerDeviceTable<PerDevice> devices;

private:
  /// What the evaluator decided last, and for which arguments.
  struct Decided {
    std::mutex mutex;
    std::vector<uint64_t> arguments;
    std::shared_ptr<const std::vector<Chosen>> values;
  };
  mutable Decided decided;

  bool isChosen(size_t parameter) const {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](const Chosen &one) { return one.parameter == parameter; });
  }
};

} // namespace nereid
