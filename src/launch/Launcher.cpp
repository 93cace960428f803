#include "launch/Launcher.h"

#include "support/Specialization.h"

#include <algorithm>
#include <charconv>

namespace nereid::launch {

using support::Constant;
using support::HostValue;

namespace {
// What a host expression sees of compiled-in text.
HostValue hostValueOf(std::string_view text) {
  auto constant = Constant::parse(text);
  if (!constant)
    return HostValue::none();
  switch (constant->kind) {
  case Constant::Kind::Bool:
    return HostValue::boolean(constant->flag);
  case Constant::Kind::Float:
    return HostValue::of(constant->number);
  case Constant::Kind::Int: {
    int64_t value = 0;
    const char *end = constant->text.data() + constant->text.size();
    if (std::from_chars(constant->text.data(), end, value).ptr != end)
      return HostValue::none();
    return HostValue::of(value);
  }
  case Constant::Kind::None:
    return HostValue::none();
  default:
    return HostValue::other();
  }
}
} // namespace

Result<std::unique_ptr<PreparedKernel>> PreparedKernel::make(const support::Artifact &artifact,
                                                             runtime::Device &device) {
  auto prepared = std::make_unique<PreparedKernel>();
  auto plan = PackPlan::make(artifact, device);
  if (!plan)
    return plan.takeError();
  prepared->plan = *std::move(plan);
  auto kernel = device.load(artifact);
  if (!kernel)
    return kernel.takeError();
  prepared->kernel = *std::move(kernel);

  auto parameters = artifact.parameters();
  prepared->isCompiledIn = std::make_unique<bool[]>(parameters.size());
  for (size_t i = 0; i < parameters.size(); ++i) {
    bool passed = support::ParameterKind(parameters[i].kind) == support::ParameterKind::Slots;
    prepared->isCompiledIn[i] = !passed;
    prepared->constants.push_back(support::ParameterKind(parameters[i].kind) ==
                                          support::ParameterKind::One
                                      ? HostValue::of(int64_t(1))
                                  : passed ? HostValue::none()
                                           : hostValueOf(artifact.text(parameters[i].value)));
  }
  for (const support::OptionRecord &option : artifact.options())
    prepared->options.push_back(hostValueOf(artifact.text(option.value)));
  for (const support::ExpressionRecord &expression : artifact.expressions())
    if (support::ExpressionRole(expression.role) == support::ExpressionRole::Grid &&
        expression.index < 3)
      if (auto opened = support::HostExpression::open(artifact.blob(expression.code)))
        prepared->grid[expression.index] = *opened;
  return prepared;
}

Result<std::array<uint32_t, 3>>
PreparedKernel::gridFor(std::span<const Argument *const> leaves) const {
  std::string_view name = kernel->artifact().name();
  if (!grid[0])
    return Error{"cannot launch `" + std::string(name) +
                     "`: no grid is given, and the code brings none "
                     "along (`nereid compile --grid`)",
                 {}};
  ExpressionArguments arguments(leaves, constants, {isCompiledIn.get(), leaves.size()}, options);
  std::array<uint32_t, 3> result = {1, 1, 1};
  for (int axis = 0; axis < 3; ++axis) {
    if (!grid[axis])
      continue;
    support::HostResult value = grid[axis]->evaluate(arguments);
    bool isWhole = value.ok() && value.value.isNumber() && !value.value.isFloat();
    if (isWhole && value.value.integer >= 0 && value.value.integer <= UINT32_MAX) {
      result[size_t(axis)] = uint32_t(value.value.integer);
      continue;
    }
    support::HostNames names;
    for (const support::ParameterRecord &parameter : kernel->artifact().parameters())
      names.leaves.emplace_back(kernel->artifact().text(parameter.name));
    return Error{"cannot launch `" + std::string(name) + "`: axis " + std::to_string(axis) +
                     " of its grid, `" + grid[axis]->toPython(names) + "`: " +
                     (!value.ok() ? value.error
                      : isWhole   ? "it is " + std::to_string(value.value.integer)
                                  : "it is no integer"),
                 {}};
  }
  return result;
}

Result<const PreparedKernel *> Launcher::launchPrepared(runtime::Stream &stream,
                                                        std::span<const Argument> arguments,
                                                        std::optional<Grid> grid,
                                                        uint32_t variant) {
  Block block;
  if (grid)
    if (const PreparedKernel *last = packAgain(arguments, variant, block)) {
      Status status = stream.launch(*last->kernel, {block.bytes, last->plan.bytes(), *grid});
      if (!status)
        return status.takeError();
      return last;
    }
  LaunchKey key;
  if (Status status = keys.make(arguments, variant, key); !status)
    return status.takeError();
  PreparedKernel *prepared = cache.find(key);
  if (!prepared) [[unlikely]] {
    auto loaded = miss(key, arguments, variant, Need::Launch);
    if (!loaded)
      return loaded.takeError();
    prepared = *loaded;
  } else if (Later *better = prepared->better.load(std::memory_order_acquire);
             better && better->isDone.load(std::memory_order_acquire)) [[unlikely]] {
    prepared = improve(*prepared, key, arguments);
  }
  runtime::LaunchArguments packed;
  packed.packed = block.bytes;
  packed.packedBytes = prepared->plan.bytes();
  if (grid && !prepared->hasTuple) [[likely]] {
    if (Status status = prepared->plan.pack(arguments, block.bytes); !status)
      return status.takeError();
    packed.grid = *grid;
  } else {
    Leaves leaves;
    if (!flatten(arguments, [&](size_t i) { return signature.parameters[i].isConstexpr; }, leaves))
      return Error{"cannot launch `" + signature.name + "`: over " + std::to_string(maxLeaves) +
                       " values in its arguments",
                   {}};
    if (Status status = prepared->plan.pack(leaves.all(), block.bytes); !status)
      return status.takeError();
    auto computed = grid ? Result<Grid>(*grid) : prepared->gridFor(leaves.all());
    if (!computed)
      return computed.takeError();
    packed.grid = *computed;
  }
  if (Status status = stream.launch(*prepared->kernel, packed); !status)
    return status.takeError();
  return static_cast<const PreparedKernel *>(prepared);
}

Result<const PreparedKernel *> Launcher::prepare(std::span<const Argument> arguments,
                                                 uint32_t variant) {
  LaunchKey key;
  if (Status status = keys.make(arguments, variant, key); !status)
    return status.takeError();
  if (PreparedKernel *prepared = cache.find(key)) {
    if (Later *better = prepared->better.load(std::memory_order_acquire)) {
      better->isDone.wait(false, std::memory_order_acquire);
      prepared = improve(*prepared, key, arguments);
    }
    return static_cast<const PreparedKernel *>(prepared);
  }
  auto loaded = miss(key, arguments, variant, Need::Best);
  if (!loaded)
    return loaded.takeError();
  return static_cast<const PreparedKernel *>(*loaded);
}

Result<std::unique_ptr<PreparedKernel>> Launcher::make(const support::Artifact &artifact,
                                                       std::span<const Argument> arguments,
                                                       uint32_t variant) {
  auto prepared = PreparedKernel::make(artifact, device);
  if (!prepared)
    return prepared;
  (*prepared)->variant = variant;
  (*prepared)->pattern = LaunchPattern::make(signature, arguments, (*prepared)->plan.leafSlots(),
                                             (*prepared)->plan.bytes());
  (*prepared)->hasTuple =
      std::any_of(arguments.begin(), arguments.end(), [](auto &one) { return one.isTuple(); });
  return prepared;
}

// What this launch takes, now that the code for its arguments is made. If that cannot be loaded,
// the one that stands in for it goes on.
PreparedKernel *Launcher::improve(PreparedKernel &standIn, const LaunchKey &key,
                                  std::span<const Argument> arguments) {
  Later *done = standIn.better.exchange(nullptr);
  if (!done || !done->artifact) // another thread is about it, or there is none
    return &standIn;
  auto better = make(*done->artifact, arguments, standIn.variant);
  return better ? &cache.replace(key, *std::move(better)) : &standIn;
}

Result<PreparedKernel *> Launcher::miss(const LaunchKey &key, std::span<const Argument> arguments,
                                        uint32_t variant, Need need) {
  {
    std::unique_lock lock(missMutex);
    auto isPending = [&] {
      return std::find(pending.begin(), pending.end(), key) != pending.end();
    };
    missDone.wait(lock, [&] { return !isPending(); });
    if (PreparedKernel *prepared = cache.find(key))
      return prepared;
    pending.push_back(key);
  }
  // Also when a callback of the program throws: who waits goes on and makes it.
  struct Done {
    Launcher &launcher;
    const LaunchKey &key;
    ~Done() {
      {
        std::lock_guard lock(launcher.missMutex);
        launcher.pending.erase(std::find(launcher.pending.begin(), launcher.pending.end(), key));
      }
      launcher.missDone.notify_all();
    }
  } done{*this, key};
  auto compile = [&]() -> Result<PreparedKernel *> {
    // Tensors say where they lie; of bare addresses the driver is asked, which is too slow for each
    // launch.
    for (size_t i = 0; i < arguments.size(); ++i)
      if (arguments[i].kind == Argument::Kind::Pointer)
        if (Status status = device.checkAddress(reinterpret_cast<const void *>(arguments[i].bits));
            !status)
          return Error{"cannot launch `" + signature.name + "` on " + device.name() + ": `" +
                           signature.parameters[i].name + "`: " + status.error().what,
                       {}};
    std::vector<uint32_t> defaulted;
    auto specialization = specialize(signature, arguments, &defaulted);
    if (!specialization)
      return specialization.takeError();
    std::optional<StandIn> standIn;
    if (need == Need::Launch)
      standIn = source.standInFor(*specialization, defaulted);
    if (!standIn) {
      auto artifact = source.kernelFor(*specialization, defaulted, variant);
      if (!artifact)
        return artifact.takeError();
      standIn.emplace(*std::move(artifact));
    }
    auto prepared = make(standIn->artifact, arguments, variant);
    if (!prepared)
      return prepared.takeError();
    if (standIn->better) {
      PreparedKernel &kernel = **prepared;
      kernel.pattern = LaunchPattern(); // each launch looks whether it is done
      kernel.better = standIn->better.get();
      kernel.betterOwner = std::move(standIn->better);
    }
    return &cache.insert(key, *std::move(prepared));
  };
  return compile();
}

} // namespace nereid::launch
