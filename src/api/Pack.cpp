// The public classes of packs.
#include "launch/Pack.h"

#include "api/Empty.h"
#include "api/PerDevice.h"
#include "nereid/pack.h"

#include <algorithm>
#include <optional>
#include <set>

namespace nereid {

struct PackState {
  launch::Pack pack;
};

struct PackedKernelState {
  std::shared_ptr<PackState> pack;
  const launch::PackedKernelRow *row = nullptr;
  std::vector<KernelParameter> parameters;
  /// What choices set beside constants; a launch under the first is of variant 1. Variant 0 takes
  /// any code.
  std::vector<launch::CodeChoice> options;

  bool isPlain() const { return row->heuristics.empty() && row->choices.empty(); }

  /// Gives arguments that are open the values of a configuration and of heuristics; the variant.
  Result<uint32_t> decide(const runtime::Device &device, BoundArguments &bound) const {
    std::span<launch::Argument> arguments(bound.at, bound.count);
    const launch::PackedChoice *choice =
        row->choose({device.info().arch, device.info().description}, arguments);
    uint32_t variant = 0;
    if (choice) {
      variant = 1 + uint32_t(std::ranges::find(options, choice->options) - options.begin());
      for (const auto &[parameter, constant] : choice->constants)
        if (arguments[parameter].kind == launch::Argument::Kind::Default)
          arguments[parameter] = launch::Argument::constant(constant);
    }
    if (const auto *open = row->heuristics.fill(arguments))
      return Error{"cannot launch `" + row->signature.name +
                       "`: " + row->heuristics.whyOpen(*open, row->signature, arguments),
                   {}};
    return choice ? Result<uint32_t>(variant) : noChoice(arguments);
  }

  /// Without a choice it is the caller who names all constants.
  Result<uint32_t> noChoice(std::span<const launch::Argument> arguments) const {
    for (const launch::PackedChoice &one : row->choices)
      for (const auto &[parameter, constant] : one.constants)
        if (arguments[parameter].kind == launch::Argument::Kind::Default)
          return Error{"cannot launch `" + row->signature.name + "`: `" +
                           row->signature.parameters[parameter].name +
                           "` is left open, and none of the pack's " +
                           std::to_string(row->choices.size()) +
                           " configurations is for these arguments on this device",
                       {}};
    return uint32_t(0);
  }

  /// The launch path of one device.
  struct PerDevice final : launch::KernelSource {
    PerDevice(PackedKernelState &kernel, runtime::Device &device)
        : kernel(kernel), device(device), launcher(kernel.row->signature, device, *this) {}
    Result<support::Artifact> kernelFor(const support::Specialization &specialization,
                                        std::span<const uint32_t> defaulted,
                                        uint32_t variant) override {
      std::string target =
          device.kind() == runtime::DeviceKind::Cpu ? "cpu" : std::string(device.info().arch);
      const launch::CodeChoice *wanted = variant ? &kernel.options[variant - 1] : nullptr;
      if (const launch::PackEntry *entry =
              kernel.row->find(target, specialization, defaulted, wanted))
        return kernel.pack->pack.artifact(*entry);
      if (std::string missing = lacking(defaulted); !missing.empty())
        return Error{"cannot launch `" + kernel.row->signature.name + "`: nothing is given for " +
                         missing,
                     {}};
      return Error{"the pack has no code of `" + kernel.row->signature.name + "` for (" +
                       specialization.text() + ") on " + target + what(target),
                   {}};
    }
    // What a launch left out that no code of the pack was built without.
    std::string lacking(std::span<const uint32_t> defaulted) const {
      std::string names;
      for (uint32_t parameter : defaulted)
        if (std::ranges::none_of(kernel.row->entries, [&](const launch::PackEntry &entry) {
              return std::ranges::find(entry.defaulted, parameter) != entry.defaulted.end();
            }))
          names += (names.empty() ? "`" : ", `") +
                   kernel.row->signature.parameters[parameter].name + "`";
      return names;
    }
    // The signatures that it has for the target, or the targets.
    std::string what(const std::string &target) const {
      std::set<std::string> signatures, targets;
      for (const launch::PackEntry &entry : kernel.row->entries) {
        targets.insert(entry.target);
        if (entry.target == target)
          signatures.insert("(" + entry.specialization.text() + ")");
      }
      constexpr size_t most = 8;
      const std::set<std::string> &there = signatures.empty() ? targets : signatures;
      std::string text;
      size_t count = 0;
      for (const std::string &one : there)
        if (count++ < most)
          text += (text.empty() ? "" : ", ") + one;
      if (count > most)
        text += " and " + std::to_string(count - most) + " more";
      return (signatures.empty() ? "; it is built for " : "; it has ") + text;
    }
    PackedKernelState &kernel;
    runtime::Device &device;
    launch::Launcher launcher;
  };

  PerDevice &on(runtime::Device &device) {
    return devices.on(device, [&] { return std::make_unique<PerDevice>(*this, device); });
  }

  PerDeviceTable<PerDevice> devices;
};

namespace {
constexpr auto never = [](size_t) { return false; };
} // namespace

Result<Pack> Pack::map(const std::string &path) {
  auto mapped = launch::Pack::map(path);
  if (!mapped)
    return mapped.takeError();
  Pack pack;
  pack.state = std::make_shared<PackState>(PackState{*std::move(mapped)});
  return pack;
}

std::vector<std::string> Pack::kernels() const {
  std::vector<std::string> names;
  if (!state)
    return names;
  for (const launch::PackedKernelRow &row : state->pack.kernels())
    names.push_back(row.signature.name);
  return names;
}

Result<PackedKernel> Pack::kernel(std::string_view name) const {
  if (!state)
    return emptyHandle("Pack", "Pack::open");
  const launch::PackedKernelRow *row = state->pack.find(name);
  if (!row) {
    std::string there;
    for (const std::string &one : kernels())
      there += (there.empty() ? "; there are `" : ", `") + one + "`";
    return Error{"the pack has no kernel `" + std::string(name) + "`" + there, {}};
  }
  PackedKernel kernel;
  kernel.state = std::make_shared<PackedKernelState>();
  kernel.state->pack = state;
  kernel.state->row = row;
  for (const launch::PackedChoice &choice : row->choices)
    if (std::ranges::find(kernel.state->options, choice.options) == kernel.state->options.end())
      kernel.state->options.push_back(choice.options);
  for (const launch::Parameter &parameter : row->signature.parameters)
    kernel.state->parameters.push_back({parameter.name, parameter.isConstexpr});
  return kernel;
}

namespace {
Error noKernel() { return emptyHandle("PackedKernel", "Pack::kernel"); }

// Without a grid it is the pack's.
Status bindAndLaunch(PackedKernelState &state, runtime::Stream &on,
                     std::span<const Argument> arguments,
                     std::optional<launch::Launcher::Grid> grid) {
  BoundArguments bound(state.parameters.size());
  if (Status status = bound.bind(state.row->signature, arguments, never); !status)
    return status;
  auto variant = state.decide(on.device(), bound);
  if (!variant)
    return variant.takeError();
  return state.on(on.device()).launcher.launch(on, bound.all(), grid, *variant);
}
} // namespace

const std::string &PackedKernel::name() const {
  return state ? state->row->signature.name : emptyName;
}
std::span<const KernelParameter> PackedKernel::parameters() const {
  return state ? std::span<const KernelParameter>(state->parameters)
               : std::span<const KernelParameter>();
}

Status PackedKernel::launch(const Stream &stream, Grid grid,
                            std::span<const Argument> arguments) const {
  if (!state || !stream) [[unlikely]]
    return state ? emptyHandle("Stream", "Device::stream") : noKernel();
  runtime::Stream &on = stream.internal();
  launch::Launcher &launcher = state->on(on.device()).launcher;
  launch::Launcher::Grid size = {grid.x, grid.y, grid.z};
  if (state->isPlain()) [[likely]] {
    launch::Launcher::Block block;
    if (auto *known = launcher.packAgain(arguments, 0, block))
      return on.launch(*known->kernel, {block.bytes, known->plan.bytes(), size});
  }
  return bindAndLaunch(*state, on, arguments, size);
}

Status PackedKernel::launch(const Stream &stream, std::span<const Argument> arguments) const {
  if (!state || !stream)
    return state ? emptyHandle("Stream", "Device::stream") : noKernel();
  return bindAndLaunch(*state, stream.internal(), arguments, std::nullopt);
}

Status PackedKernel::prepare(const Device &device, std::span<const Argument> arguments) const {
  if (!state)
    return noKernel();
  BoundArguments bound(state->parameters.size());
  if (Status status = bound.bind(state->row->signature, arguments, never); !status)
    return status;
  auto variant = state->decide(device.internal(), bound);
  if (!variant)
    return variant.takeError();
  auto prepared = state->on(device.internal()).launcher.prepare(bound.all(), *variant);
  if (!prepared)
    return prepared.takeError();
  return Success{};
}

Result<std::vector<KernelMessage>> PackedKernel::takeMessages() const {
  if (!state)
    return noKernel();
  return nereid::takeMessages(state->devices);
}

} // namespace nereid
