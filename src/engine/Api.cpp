// The public classes Engine, Program and Kernel.
#include "api/Empty.h"
#include "api/PerDevice.h"
#include "engine/BindingAccess.h"
#include "engine/BuildId.h"
#include "engine/Compile.h"
#include "engine/Configurations.h"
#include "engine/Files.h"
#include "engine/Hooks.h"
#include "engine/KernelParts.h"
#include "engine/PackFile.h"
#include "engine/Recording.h"
#include "launch/DiskCache.h"
#include "launch/LaunchKey.h"
#include "launch/Launcher.h"
#include "launch/MemoryCache.h"
#include "nereid/engine.h"
#include "runtime/Device.h"
#include "runtime/Recorder.h"
#include "support/Background.h"
#include "support/EveryCore.h"
#include "support/Knobs.h"
#include "support/Steps.h"
#include "target/Cpu.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <map>
#include <mutex>
#include <set>

namespace nereid {

using support::ArgumentClass;
using support::Artifact;
using support::Hash128;
using support::Specialization;

// ---- Engine

struct EngineState {
  EngineState(EngineOptions options, std::string_view directories)
      : options(std::move(options)), disk(directories, launch::DiskCache::defaultBound()),
        memory(this->options.memoryBytes) {}

  EngineOptions options;
  launch::DiskCache disk;
  launch::MemoryCache memory;
  std::atomic<Freeze> freeze = Freeze::Off;
  std::atomic<uint64_t> compiled = 0, fromMemory = 0, fromDisk = 0;

  /// What was built or read before, or nothing.
  std::optional<Artifact> find(const Hash128 &key, bool &onDisk) {
    onDisk = false;
    if (auto found = memory.find(key)) {
      ++fromMemory;
      return found;
    }
    auto found = disk.find(key);
    if (!found)
      return std::nullopt;
    onDisk = true;
    ++fromDisk;
    memory.keep(key, *found);
    return found;
  }
};

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

/// What a compilation starts from.
struct Request {
  std::string kernel;
  engine::CodeOptions options;
  std::string target; ///< "cpu" or a chip
  Specialization specialization;
  std::vector<uint32_t> defaulted;

  /// One line that `parse` reads back.
  std::string line() const {
    const engine::CodeOptions &o = options;
    std::string text = kernel + "\t" + target + "\t" + std::to_string(o.numWarps) + " " +
                       std::to_string(o.numStages) + " " + std::to_string(o.numCtas) + " " +
                       std::to_string(o.maxnreg) + " " + (o.debug ? "1 " : "0 ") +
                       (o.fpFusion ? "1 " : "0 ") + (o.reflectFtz ? "1 " : "0 ") +
                       o.defaultInputPrecision + (o.launchPdl ? " pdl" : "") +
                       (o.launchCooperative ? " cooperative" : "") + "\t";
    for (uint32_t index : defaulted)
      text += std::to_string(index) + " ";
    return text + "\t" + specialization.text();
  }
  static std::optional<Request> parse(const std::string &line) {
    Request request;
    size_t at = 0;
    auto field = [&](char until) {
      size_t end = std::min(line.find(until, at), line.size());
      std::string text = line.substr(at, end - at);
      at = std::min(end + 1, line.size());
      return text;
    };
    auto number = [](const std::string &text) -> int {
      return text.empty() || text.size() > 9 ||
                     text.find_first_not_of("0123456789") != std::string::npos
                 ? -1
                 : std::stoi(text);
    };
    engine::CodeOptions &o = request.options;
    request.kernel = field('\t');
    request.target = field('\t');
    for (int *to : {&o.numWarps, &o.numStages, &o.numCtas, &o.maxnreg})
      if ((*to = number(field(' '))) < 0)
        return std::nullopt;
    for (bool *to : {&o.debug, &o.fpFusion, &o.reflectFtz})
      *to = field(' ') == "1";
    std::string words = field('\t') + " ";
    o.launchPdl = words.find(" pdl ") != std::string::npos;
    o.launchCooperative = words.find(" cooperative ") != std::string::npos;
    o.defaultInputPrecision = words.substr(0, words.find(' '));
    while (at < line.size() && line[at] != '\t') {
      int index = number(field(' '));
      if (index < 0)
        return std::nullopt;
      request.defaulted.push_back(uint32_t(index));
    }
    ++at;
    auto parsed = Specialization::parse(at < line.size() ? line.substr(at) : "");
    if (!parsed)
      return std::nullopt;
    request.specialization = *std::move(parsed);
    return request;
  }
};

// Without assumptions on sizes and alignment. What is ==1 is passed like any other integer.
void generalize(ArgumentClass &argument) {
  argument.isOne = false;
  argument.divisibility = 1;
  for (ArgumentClass &element : argument.elements)
    generalize(element);
}
void generalize(Request &request) {
  for (ArgumentClass &argument : request.specialization.arguments)
    generalize(argument);
}

std::string targetOf(const runtime::Device &device) {
  return device.kind() == runtime::DeviceKind::Cpu ? "cpu" : device.info().arch;
}

} // namespace

struct ProgramState : std::enable_shared_from_this<ProgramState> {
  std::shared_ptr<EngineState> engine;
  std::unique_ptr<emit::Program> program;
  std::mutex mutex; // of `program`: its evaluator is one thread's at a time
  std::map<std::string, Hash128> sources;
  std::set<std::string> recorded;
  std::set<std::string> told;       ///< notes that the engine's callback has had
  std::filesystem::path tuningFile; ///< empty if there is none
  std::atomic<Freeze> freeze = Freeze::Off;
  /// Of kernels written in C++; else empty.
  std::optional<engine::Recording> recording;

  /// A failure as one of the source that the user wrote.
  Error explained(Error error) const {
    return recording ? recording->translate(std::move(error)) : std::move(error);
  }

  Result<engine::TuningFile> tuned() const {
    return tuningFile.empty() ? engine::TuningFile() : engine::TuningFile::read(tuningFile);
  }

  /// Takes the artifact from the caches or the compiler. `policy` says what a miss does.
  Result<Artifact> artifact(Request request, Freeze policy, bool inBackground = false) {
    auto key = keyOf(request);
    if (!key)
      return key.takeError();
    auto start = std::chrono::steady_clock::now();
    bool onDisk = false;
    auto found = engine->find(*key, onDisk);
    if (!found && policy == Freeze::Generic) {
      generalize(request);
      key = keyOf(request);
      if (!key)
        return key.takeError();
      found = engine->find(*key, onDisk);
    }
    if (!found && (policy == Freeze::Refuse || policy == Freeze::Generic))
      return Error{"`" + request.kernel + "` is not built for (" + request.specialization.text() +
                       ") on " + request.target + ", and the engine is frozen",
                   {}};
    auto record = [&] {
      std::lock_guard lock(mutex);
      recorded.insert(request.line());
    };
    if (!found) {
      std::optional<support::StepListener> listener;
      if (engine->options.onStep)
        listener.emplace([&](const support::StepEvent &step) {
          engine->options.onStep({request.kernel, step.name, step.seconds, unsigned(step.depth)});
        });
      auto made = compile(request, *key);
      if (!made)
        return made.takeError();
      found = *std::move(made);
      record();
    } else {
      record();
      tellNotes(request.kernel, found->notes());
      if (!onDisk)
        return *std::move(found);
    }
    if (engine->options.onCompile) {
      CompileEvent event;
      event.kernel = request.kernel;
      event.signature = request.specialization.text();
      event.target = request.target;
      event.fromDisk = onDisk;
      event.frozen = policy == Freeze::Warn;
      event.inBackground = inBackground;
      event.seconds =
          std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
      engine->options.onCompile(event);
    }
    return *std::move(found);
  }

  /// The artifact if it is built; else one without assumptions, while a thread makes it.
  std::optional<launch::StandIn> standIn(Request request) {
    if (auto built = artifact(request, Freeze::Refuse))
      return launch::StandIn{*std::move(built), nullptr};
    Request generic = request;
    generalize(generic);
    if (generic.specialization == request.specialization)
      return std::nullopt;
    auto standIn = artifact(std::move(generic), Freeze::Off);
    if (!standIn) // a kernel may need what it knows of its arguments
      return std::nullopt;
    auto later = std::make_shared<launch::Later>();
    // A program that nobody has any more needs no code.
    support::inBackground([later, request = std::move(request), weak = weak_from_this()] {
      if (auto self = weak.lock())
        if (auto made = self->artifact(request, Freeze::Off, true))
          later->artifact = *std::move(made);
      later->isDone = true;
      later->isDone.notify_all();
    });
    return launch::StandIn{*std::move(standIn), std::move(later)};
  }

private:
  // Each note once a kernel, whatever it is compiled for.
  void tellNotes(const std::string &kernel, std::vector<Diagnostic> notes) {
    if (!engine->options.onNote || notes.empty())
      return;
    for (const Diagnostic &note : explained(Error{"", std::move(notes)}).diagnostics) {
      {
        std::lock_guard lock(mutex);
        std::string key = kernel + "\n" + note.code + "\n" + note.message + "\n" + note.where.file +
                          ":" + std::to_string(note.where.begin.line);
        if (!told.insert(std::move(key)).second)
          continue;
      }
      engine->options.onNote(kernel, note);
    }
  }

  Result<Hash128> keyOf(const Request &request) {
    support::CompileKey key;
    {
      std::lock_guard lock(mutex);
      auto [source, isNew] = sources.try_emplace(request.kernel);
      if (isNew) {
        auto hash = program->sourceHash(request.kernel);
        if (!hash) {
          sources.erase(source);
          return explained(hash.takeError());
        }
        source->second = *hash;
        if (recording) // artifacts hold the lines of C++
          source->second = support::Hasher().add(*hash).add(recording->placesText()).finish();
      }
      key.source = source->second;
    }
    key.facts = facts;
    key.arguments = request.specialization.text();
    for (uint32_t index : request.defaulted)
      key.arguments += " default " + std::to_string(index);
    key.options = engine::optionsText(request.options);
    key.target =
        request.target == "cpu" ? "x86-64 " + target::hostCpuFeatures().text() : request.target;
    key.build = engine::buildId();
    return key.hash();
  }

  Result<Artifact> compile(const Request &request, const Hash128 &key) {
    runtime::TraceScope trace(runtime::TraceKind::Compile, request.kernel);
    // Only the emitter uses the program; code is generated beside other threads.
    auto emitted = [&] {
      std::lock_guard lock(mutex);
      return engine::emitKernel(*program, request.kernel, request.specialization, request.defaulted,
                                request.options);
    }();
    if (!emitted)
      return explained(emitted.takeError());
    if (recording)
      recording->relocate(*emitted->module);
    auto artifact = engine::buildArtifact(*emitted, request.target, key);
    tellNotes(request.kernel, std::move(emitted->diagnostics));
    if (!artifact)
      return artifact;
    ++engine->compiled;
    engine->disk.store(key, artifact->bytes());
    engine->memory.keep(key, *artifact);
    return artifact;
  }

public:
  Hash128 facts; ///< of what module-level code read of the world
};

namespace {
Result<std::shared_ptr<ProgramState>> openProgram(std::shared_ptr<EngineState> engine,
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
} // namespace

namespace {
Error noEngine() { return emptyHandle("Engine", "Engine::create"); }
} // namespace

Result<Program> Engine::load(const std::string &path) const {
  if (!state)
    return noEngine();
  auto loaded = engine::loadProgram(path);
  if (!loaded)
    return loaded.takeError();
  auto opened = openProgram(state, *std::move(loaded));
  if (!opened)
    return opened.takeError();
  Program program;
  program.state = *std::move(opened);
  if (program.state->tuningFile.empty())
    program.state->tuningFile = std::filesystem::path(path).parent_path() / "tuned.json";
  return program;
}

Result<Program> Engine::loadText(std::string_view text, std::string_view name) const {
  if (!state)
    return noEngine();
  emit::SourceUnit unit;
  unit.text = text;
  unit.file = name;
  return engine::BindingAccess::load(*this, unit);
}

Result<Program> engine::BindingAccess::load(const Engine &engine, const emit::SourceUnit &unit) {
  emit::LoadedProgram loaded = emit::Program::load(unit);
  if (!loaded.program)
    return Error{"`" + unit.file + "` cannot be read as Python", std::move(loaded.diagnostics)};
  auto opened = openProgram(engine.state, std::move(loaded.program));
  if (!opened)
    return opened.takeError();
  Program program;
  program.state = *std::move(opened);
  return program;
}

void engine::BindingAccess::freeze(const Program &program, Freeze mode) {
  program.state->freeze = mode;
}

Result<Program> Engine::load(const tl::Module &module) const {
  const engine::Recording &recording = engine::recordingOf(module);
  if (!recording.diagnostics.empty())
    return Error{"kernels of `" + recording.name + "` cannot be recorded", recording.diagnostics};
  auto program = loadText(recording.text, recording.name);
  if (!program)
    return recording.translate(program.takeError());
  program->state->recording = recording;
  return program;
}

namespace {
Error noProgram() { return emptyHandle("Program", "Engine::load"); }
Error noKernel() { return emptyHandle("Kernel", "Program::kernel"); }
Error noStream() { return emptyHandle("Stream", "Device::stream"); }

// What no compiler of a device would take, said where the options are given.
Status areOptions(const CompileOptions &options) {
  auto wrong = [](const char *name, int value, const char *range) {
    return Error{std::string("`") + name + "` of the compile options is " + std::to_string(value) +
                     "; it is " + range,
                 {}};
  };
  if (options.numWarps < 1 || options.numWarps > 32 || (options.numWarps & (options.numWarps - 1)))
    return wrong("numWarps", options.numWarps, "a power of two up to 32");
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
  std::vector<Request> requests;
  for (const std::string &line : keys) {
    auto request = Request::parse(line);
    if (!request)
      return Error{"`" + line + "` is no recorded key", {}};
    Request generic = *request;
    generalize(generic);
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

Status Program::pack(const std::string &path, std::span<const std::string> keys, bool add) const {
  if (!state)
    return noProgram();
  engine::PackFile file(path);
  if (add)
    if (Status status = file.read(); !status)
      return status;
  for (const std::string &line : keys) {
    auto request = Request::parse(line);
    if (!request)
      return Error{"`" + line + "` is no recorded key", {}};
    auto signature = [&] {
      std::lock_guard lock(state->mutex);
      return engine::signatureOf(*state->program, request->kernel);
    }();
    if (!signature)
      return state->explained(signature.takeError());
    auto artifact = state->artifact(*request, Freeze::Off);
    if (!artifact)
      return artifact.takeError();
    if (Status status = file.add(*signature, request->target, engine::optionsText(request->options),
                                 request->specialization, request->defaulted, *artifact);
        !status)
      return status;
  }
  return file.write();
}

// ---- Kernel

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
  ops::Value preHook; ///< of a configuration; None without
  /// Whether a launch is no more than its arguments: no configuration, and nobody is told of it.
  bool isPlain = true;
  /// The engine's, or null.
  const std::function<void(const LaunchEvent &)> *onLaunch = nullptr;

  /// Runs a hook over the arguments, which may change.
  Status callHook(const ops::Value &hook, runtime::Stream &stream, BoundArguments &bound,
                  std::optional<engine::HookedLaunch> &hooked, emit::Keywords words = {}) const {
    std::lock_guard lock(program->mutex);
    hooked.emplace(program->program->interp(), signature, std::span(bound.at, bound.count), stream);
    Status status = hooked->call(hook, std::move(words));
    return status ? std::move(status) : Status(program->explained(status.takeError()));
  }

  /// The launch path of one device.
  struct PerDevice final : launch::KernelSource {
    PerDevice(KernelState &kernel, runtime::Device &device)
        : kernel(kernel), device(device), launcher(kernel.signature, device, *this) {}
    Result<Artifact> kernelFor(const Specialization &specialization,
                               std::span<const uint32_t> defaulted, uint32_t) override {
      return kernel.program->artifact(request(specialization, defaulted), policy());
    }
    std::optional<launch::StandIn> standInFor(const Specialization &specialization,
                                              std::span<const uint32_t> defaulted) override {
      if (policy() != Freeze::Background)
        return std::nullopt;
      return kernel.program->standIn(request(specialization, defaulted));
    }
    Request request(const Specialization &specialization,
                    std::span<const uint32_t> defaulted) const {
      return {kernel.signature.name,
              kernel.options,
              targetOf(device),
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
      bound.at[one.parameter] = argumentOf(one.constant);
    return bound.bind(signature, given, [this](size_t parameter) { return isChosen(parameter); });
  }

  /// The hook of the configuration in the source with these constants and options.
  ops::Value preHookOf(const Configuration &wanted) const {
    std::lock_guard lock(program->mutex);
    auto all = program->program->configurations(signature.name);
    if (!all)
      return {};
    for (const emit::Configuration &one : *all) {
      bool same =
          one.numWarps == wanted.options.numWarps && one.numStages == wanted.options.numStages &&
          one.numCtas == wanted.options.numCtas && one.maxnreg == wanted.options.maxRegisters;
      for (const auto &[name, value] : one.values)
        same &= std::find(wanted.constants.begin(), wanted.constants.end(),
                          std::pair(name, emit::unboxed(value).repr())) != wanted.constants.end();
      if (same)
        return one.preHook;
    }
    return {};
  }

  Error cannotTune(const std::string &why) const {
    return Error{"cannot tune `" + signature.name + "`: " + why, {}};
  }

  /// The launch as decorators see it; the program's evaluator is the caller's.
  Result<engine::TunedLaunch> tunedLaunch(std::string device,
                                          std::span<const Argument> arguments) const {
    BoundArguments bound(signature.parameters.size());
    if (Status status = bind(arguments, bound); !status)
      return status.takeError();
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
      auto known = engine::hostValue(interp, argument);
      launch.given.emplace_back(name,
                                known ? *known : interp.makeUnknown("the argument `" + name + "`"));
    }
    return launch;
  }

  /// Whoever launches an autotuned kernel as it is learns where its constants come from.
  Error withoutConfiguration(Error error) const {
    if (!chosen.empty())
      return error;
    for (Diagnostic &diagnostic : error.diagnostics) {
      if (diagnostic.code != "SignatureMismatch")
        continue;
      std::lock_guard lock(program->mutex);
      auto all = program->program->configurations(signature.name);
      if (all && !all->empty())
        diagnostic.hint = "`@triton.autotune` leaves that to a configuration: launch "
                          "`kernel.with(c)`, where `c` is of `Kernel::configuration` or `tune`";
    }
    return error;
  }

  /// A launch whose arguments are bound by name and looked at one by one.
  Status launchBound(launch::Launcher &launcher, runtime::Stream &stream,
                     launch::Launcher::Grid grid, std::span<const Argument> arguments) const {
    BoundArguments bound(signature.parameters.size());
    if (Status status = bind(arguments, bound); !status)
      return status;
    std::optional<engine::HookedLaunch> hooked; // owns what the hook changes
    if (!preHook.isNone()) [[unlikely]]
      if (Status status = callHook(preHook, stream, bound, hooked); !status)
        return status;
    auto launched = launcher.launchPrepared(stream, bound.all(), grid);
    if (!launched)
      return withoutConfiguration(launched.takeError());
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

  PerDevice &on(runtime::Device &device) {
    return devices.on(device, [&] { return std::make_unique<PerDevice>(*this, device); });
  }

  PerDeviceTable<PerDevice> devices;

private:
  bool isChosen(size_t parameter) const {
    return std::any_of(chosen.begin(), chosen.end(),
                       [&](const Chosen &one) { return one.parameter == parameter; });
  }

  static launch::Argument argumentOf(const support::Constant &constant) {
    using Kind = support::Constant::Kind;
    switch (constant.kind) {
    case Kind::Bool:
      return launch::Argument::boolean(constant.flag);
    case Kind::Int:
      return launch::Argument::integer(std::strtoll(constant.text.c_str(), nullptr, 10));
    case Kind::Float:
      return launch::Argument::floating(constant.number);
    case Kind::String:
      return launch::Argument::string(constant.text);
    case Kind::Type:
      return launch::Argument::dtype(constant.type);
    case Kind::Function:
      return launch::Argument::function(constant.text);
    case Kind::None:
      break;
    }
    return launch::Argument::none();
  }
};

Result<Kernel> Program::kernel(std::string_view name, const CompileOptions &options) const {
  if (!state)
    return noProgram();
  if (Status status = areOptions(options); !status)
    return status.takeError();
  auto signature = [&] {
    std::lock_guard lock(state->mutex);
    return engine::signatureOf(*state->program, std::string(name));
  }();
  if (!signature)
    return state->explained(signature.takeError());
  Kernel kernel;
  kernel.state = std::make_shared<KernelState>();
  kernel.state->program = state;
  if (const auto &tell = state->engine->options.onLaunch) {
    kernel.state->onLaunch = &tell;
    kernel.state->isPlain = false;
  }
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
  if (auto prepared = state->on(device.internal()).launcher.prepare(bound.all()); !prepared)
    return state->withoutConfiguration(prepared.takeError());
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
  Request request{state->signature.name, state->options, target, *std::move(specialization),
                  std::move(defaulted)};
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

// ---- Configurations

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
    auto parsed = Specialization::parse(value);
    if (parameter == state->parameters.size())
      return Error{"`" + name() + "` has no parameter `" + constant + "`", {}};
    if (!parsed || parsed->arguments.size() != 1 ||
        parsed->arguments[0].kind != ArgumentClass::Kind::Constant)
      return Error{"`" + value + "` is no value of the constant `" + constant + "`", {}};
    kernel->state->chosen.push_back({parameter, parsed->arguments[0].constant});
  }
  return kernel;
}

} // namespace nereid
