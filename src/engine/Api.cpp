// The public classes Engine, Program and Kernel.
#include "api/Empty.h"
#include "engine/BindingAccess.h"
#include "engine/Files.h"
#include "engine/GridExpression.h"
#include "engine/Heuristics.h"
#include "engine/KernelState.h"
#include "engine/PackFile.h"
#include "support/EveryCore.h"
#include "support/Knobs.h"

#include <algorithm>
#include <atomic>
#include <map>

namespace nereid {

// ---- Engine

Result<Engine> Engine::make(EngineOptions options) {
  std::string directories;
  if (options.cacheOnDisk)
    directories = options.cacheDirectory.empty() ? launch::DiskCache::defaultDirectories()
                                                 : options.cacheDirectory;
  Freeze freeze = Freeze::Off;
  if (const std::string &word = support::knobs().freeze; !word.empty()) {
    constexpr std::string_view words[] = {"off", "warn", "background", "generic", "refuse"};
    auto found = std::find(std::begin(words), std::end(words), word);
    if (found == std::end(words))
      return Error{"NEREID_FREEZE is \"" + word +
                       "\"; it can be \"off\", \"warn\", \"background\", \"generic\" or \"refuse\"",
                   {}};
    freeze = Freeze(found - std::begin(words));
  }
  Engine engine;
  engine.state = std::make_shared<EngineState>(std::move(options), directories);
  engine.state->freeze = freeze;
  return engine;
}

void Engine::freeze(Freeze mode) const {
  if (state)
    state->freeze = mode;
}

EngineStatistics Engine::statistics() const {
  if (!state)
    return {};
  return {state->compiled, state->fromMemory, state->fromDisk, state->disk.damaged(),
          state->disk.notStored()};
}

// ---- Program

namespace {
std::shared_ptr<ProgramState> openProgram(std::shared_ptr<EngineState> engine,
                                          std::unique_ptr<emit::Program> program) {
  auto state = std::make_shared<ProgramState>();
  state->engine = std::move(engine);
  support::Hasher hasher;
  for (const emit::Fact &fact : program->interp().facts())
    hasher.add(fact.kind).add(fact.name).add(fact.value);
  state->facts = hasher.finish();
  state->tuningFile = state->engine->options.tuningFile;
  state->program = std::move(program);
  return state;
}

Error noEngine() { return emptyHandle("Engine", "Engine::create"); }

Result<Program> loadUnit(const Engine &engine, const std::string &text, const std::string &name) {
  emit::SourceUnit unit;
  unit.text = text;
  unit.file = name;
  return engine::BindingAccess::load(engine, unit);
}
} // namespace

Result<Program> Engine::load(const std::string &path) const {
  if (!state)
    return noEngine();
  auto loaded = engine::loadProgram(path, state->options.definitions);
  if (!loaded)
    return loaded.takeError();
  Program program;
  program.state = openProgram(state, *std::move(loaded));
  if (program.state->tuningFile.empty())
    program.state->tuningFile = std::filesystem::path(path).parent_path() / "tuned.json";
  return program;
}

Result<Program> Engine::loadText(std::string_view text, std::string_view name) const {
  if (!state)
    return noEngine();
  auto shown = std::make_shared<const support::ShownText>(std::string(name), std::string(text));
  auto program = loadUnit(*this, shown->text, shown->name);
  // What is refused has no program to keep its text: it is shown until this thread is refused the
  // next one, or loads another of that name.
  static thread_local std::shared_ptr<const support::ShownText> refused;
  if (!program)
    refused = std::move(shown);
  else if (refused && refused->name == shown->name)
    refused = nullptr;
  if (program)
    program->state->shown = std::move(shown);
  return program;
}

Result<Program> engine::BindingAccess::load(const Engine &engine, const emit::SourceUnit &unit) {
  auto options = engine::hostOptions(engine.state->options.definitions);
  if (!options)
    return options.takeError();
  emit::LoadedProgram loaded = emit::Program::load(unit, *std::move(options));
  if (!loaded.program)
    return Error{"`" + unit.file + "` cannot be read as Python", std::move(loaded.diagnostics)};
  Program program;
  program.state = openProgram(engine.state, std::move(loaded.program));
  return program;
}

void engine::BindingAccess::freeze(const Program &program, Freeze mode) {
  program.state->freeze = mode;
}

Result<Program> Engine::load(const tl::Module &module) const {
  if (!state)
    return noEngine();
  const engine::Recording &recording = engine::recordingOf(module);
  if (!recording.diagnostics.empty())
    return Error{"kernels of `" + recording.name + "` cannot be recorded", recording.diagnostics};
  auto program = loadUnit(*this, recording.text, recording.name);
  if (!program)
    return recording.translate(program.takeError());
  program->state->recording = recording;
  return program;
}

namespace {
Error noProgram() { return emptyHandle("Program", "Engine::load"); }
Error noStream() { return emptyHandle("Stream", "Device::stream"); }

// What no compiler of a device would take, said where the options are given.
Status areOptions(const CompileOptions &options) {
  auto wrong = [](const char *name, int value, const char *range) {
    return Error{std::string("`") + name + "` of the compile options is " + std::to_string(value) +
                     "; it is " + range,
                 {}};
  };
  // A block of a GPU has 32 at most, which its compiler says; on a CPU they change nothing.
  if (options.numWarps < 1 || options.numWarps > 1024 ||
      (options.numWarps & (options.numWarps - 1)))
    return wrong("numWarps", options.numWarps, "a power of two up to 1024, and up to 32 on a GPU");
  if (options.numStages < 1)
    return wrong("numStages", options.numStages, "1 or more");
  if (options.numCtas < 1)
    return wrong("numCtas", options.numCtas, "1 or more");
  constexpr std::string_view precisions[] = {"tf32", "tf32x3", "ieee", "bf16x3", "bf16x6"};
  if (std::find(std::begin(precisions), std::end(precisions), options.inputPrecision) ==
      std::end(precisions))
    return Error{"`inputPrecision` of the compile options is \"" + options.inputPrecision +
                     "\"; it can be \"tf32\", \"tf32x3\", \"ieee\", \"bf16x3\" or \"bf16x6\"",
                 {}};
  if (options.maxRegisters < 0)
    return wrong("maxRegisters", options.maxRegisters,
                 "0 or more, and 0 leaves it to the compiler");
  return Success{};
}
} // namespace

std::vector<std::string> Program::kernels() const {
  if (!state)
    return {};
  std::lock_guard lock(state->mutex);
  std::vector<std::string> names;
  for (const emit::KernelSummary &kernel : state->program->kernels())
    names.push_back(kernel.name);
  return names;
}

std::vector<std::string> Program::recordedKeys() const {
  if (!state)
    return {};
  std::lock_guard lock(state->mutex);
  return {state->recorded.begin(), state->recorded.end()};
}

Result<size_t> Program::buildAhead(std::span<const std::string> keys) const {
  if (!state)
    return noProgram();
  std::vector<engine::CompileRequest> requests;
  for (const std::string &line : keys) {
    auto request = engine::CompileRequest::parse(line);
    if (!request)
      return Error{"`" + line + "` is no recorded key", {}};
    engine::CompileRequest generic = request->generalized();
    bool differs = generic.specialization != request->specialization;
    requests.push_back(*std::move(request));
    if (differs)
      requests.push_back(std::move(generic));
  }
  std::atomic<size_t> built = 0;
  support::onEveryCore(requests.size(),
                       [&](size_t i) { built += state->artifact(requests[i], Freeze::Off).ok(); });
  return built.load();
}

Status Program::pack(const std::string &path, std::span<const std::string> keys,
                     const PackOptions &options) const {
  if (!state)
    return noProgram();
  engine::PackFile file(path);
  if (options.add)
    if (Status status = file.read(); !status)
      return status;
  std::map<std::string, launch::Signature> kernels;
  for (const std::string &line : keys) {
    auto request = engine::CompileRequest::parse(line);
    if (!request)
      return Error{"`" + line + "` is no recorded key", {}};
    auto [kernel, isNew] = kernels.try_emplace(request->kernel);
    if (isNew) {
      std::lock_guard lock(state->mutex);
      auto signature = engine::signatureOf(*state->program, request->kernel);
      if (!signature)
        return state->explained(signature.takeError());
      kernel->second = *std::move(signature);
    }
    auto artifact = state->artifact(*request, Freeze::Off);
    for (const auto &[name, grid] : options.grids)
      if (artifact && name == request->kernel)
        artifact = engine::withGrid(*artifact, grid);
    if (!artifact)
      return artifact.takeError();
    if (Status status = file.add(kernel->second, *request, *artifact); !status)
      return status;
  }
  for (const auto &[name, grid] : options.grids)
    if (!kernels.contains(name))
      return Error{"a grid is given for `" + name + "`, of which there is no key", {}};
  auto tuned = state->tuned();
  if (!tuned)
    return tuned.takeError();
  for (const auto &[name, signature] : kernels) {
    std::lock_guard lock(state->mutex);
    if (Status status = file.addDecisions(*state->program, signature, *tuned); !status)
      return state->explained(status.takeError());
  }
  return file.write();
}

// ---- Kernel

Result<Kernel> Program::kernel(std::string_view name, const CompileOptions &options) const {
  if (!state)
    return noProgram();
  if (Status status = areOptions(options); !status)
    return status.takeError();
  auto [signature, heuristics] = [&] {
    std::lock_guard lock(state->mutex);
    auto known = engine::signatureOf(*state->program, std::string(name));
    auto rules = known ? engine::heuristicsOf(*state->program, *known)
                       : Result<launch::Heuristics>(launch::Heuristics());
    return std::pair(std::move(known), std::move(rules));
  }();
  if (!signature || !heuristics)
    return state->explained(signature ? heuristics.takeError() : signature.takeError());
  Kernel kernel;
  kernel.state = std::make_shared<KernelState>();
  kernel.state->program = state;
  if (const auto &tell = state->engine->options.onLaunch) {
    kernel.state->onLaunch = &tell;
    kernel.state->isPlain = false;
  }
  kernel.state->heuristics = *std::move(heuristics);
  kernel.state->isPlain &= kernel.state->heuristics.empty();
  kernel.state->signature = *std::move(signature);
  for (const launch::Parameter &parameter : kernel.state->signature.parameters)
    kernel.state->parameters.push_back({parameter.name, parameter.isConstexpr});
  engine::CodeOptions &to = kernel.state->options;
  to.numWarps = options.numWarps;
  to.numStages = options.numStages;
  to.numCtas = options.numCtas;
  // More than a thread can have is no limit.
  to.maxnreg = options.maxRegisters > 255 ? 0 : options.maxRegisters;
  to.debug = options.debug;
  to.fpFusion = options.fpFusion;
  to.reflectFtz = options.reflectFtz;
  to.launchPdl = options.launchPdl;
  to.launchCooperative = options.launchCooperative;
  for (const auto &[name, path] : options.externLibs)
    to.externLibs.push_back({name, path});
  to.defaultInputPrecision = options.inputPrecision;
  return kernel;
}

const std::string &Kernel::name() const { return state ? state->signature.name : emptyName; }
std::span<const KernelParameter> Kernel::parameters() const {
  return state ? std::span<const KernelParameter>(state->parameters)
               : std::span<const KernelParameter>();
}

Status Kernel::launch(const Stream &stream, Grid grid, std::span<const Argument> arguments) const {
  if (!state || !stream) [[unlikely]]
    return state ? noStream() : noKernel();
  runtime::Stream &on = stream.internal();
  launch::Launcher &launcher = state->on(on.device()).launcher;
  launch::Launcher::Grid size = {grid.x, grid.y, grid.z};
  if (state->isPlain) [[likely]] {
    launch::Launcher::Block block;
    if (auto *known = launcher.packAgain(arguments, 0, block))
      return on.launch(*known->kernel, {block.bytes, known->plan.bytes(), size});
  }
  return state->launchBound(launcher, on, size, arguments);
}

Status Kernel::prepare(const Device &device, std::span<const Argument> arguments) const {
  if (!state)
    return noKernel();
  BoundArguments bound(state->signature.parameters.size());
  if (Status status = state->bind(arguments, bound); !status)
    return status;
  std::shared_ptr<const std::vector<KernelState::Chosen>> kept;
  if (!state->heuristics.empty())
    if (Status status = state->decide(bound, kept); !status)
      return status;
  if (auto prepared = state->on(device.internal()).launcher.prepare(bound.all()); !prepared)
    return state->argumentsMissing(prepared.takeError());
  return Success{};
}

Result<const launch::PreparedKernel *>
engine::BindingAccess::launch(const Kernel &kernel, const Stream &stream, Grid grid,
                              std::span<const launch::Argument> arguments) {
  runtime::Stream &on = stream.internal();
  return kernel.state->on(on.device())
      .launcher.launchPrepared(on, arguments, launch::Launcher::Grid{grid.x, grid.y, grid.z});
}

Result<const launch::PreparedKernel *>
engine::BindingAccess::prepare(const Kernel &kernel, const Device &device,
                               std::span<const launch::Argument> arguments) {
  return kernel.state->on(device.internal()).launcher.prepare(arguments);
}

Result<support::Artifact>
engine::BindingAccess::compile(const Kernel &kernel, const std::string &target,
                               std::span<const launch::Argument> arguments) {
  KernelState *state = kernel.state.get();
  std::vector<uint32_t> defaulted;
  auto specialization = launch::specialize(state->signature, arguments, &defaulted);
  if (!specialization)
    return specialization.takeError();
  engine::CompileRequest request{state->signature.name, state->options, target,
                                 *std::move(specialization), std::move(defaulted)};
  return state->program->artifact(std::move(request), state->program->engine->freeze);
}

Result<engine::EmittedKernel>
engine::BindingAccess::emit(const Kernel &kernel, std::span<const launch::Argument> arguments) {
  KernelState *state = kernel.state.get();
  std::vector<uint32_t> defaulted;
  auto specialization = launch::specialize(state->signature, arguments, &defaulted);
  if (!specialization)
    return specialization.takeError();
  std::lock_guard lock(state->program->mutex);
  return engine::emitKernel(*state->program->program, state->signature.name, *specialization,
                            defaulted, state->options);
}

Result<std::vector<KernelMessage>> Kernel::takeMessages() const {
  if (!state)
    return noKernel();
  return nereid::takeMessages(state->devices);
}

} // namespace nereid
