#include "engine/ProgramState.h"

#include "engine/BuildId.h"
#include "engine/Compile.h"
#include "ir/TileOps.h"
#include "launch/LaunchKey.h"
#include "runtime/Recorder.h"
#include "support/Background.h"
#include "support/Steps.h"
#include "target/Cpu.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/raw_ostream.h"

#include <chrono>
#include <exception>

namespace nereid {

using support::Artifact;
using support::Hash128;

static bool buildsNothing(Freeze policy) {
  return policy == Freeze::Refuse || policy == Freeze::Generic;
}

Result<Artifact> ProgramState::artifact(engine::CompileRequest request, Freeze policy,
                                        bool inBackground) {
  request = request.forTarget();
  auto made = exactly(request, policy, inBackground);
  if (made || !buildsNothing(policy))
    return made;
  if (auto found = exactly(request.coarsened(), policy, inBackground))
    return found;
  if (policy == Freeze::Generic)
    if (auto found = exactly(request.generalized(), policy, inBackground))
      return found;
  return made;
}

Result<Artifact> ProgramState::exactly(const engine::CompileRequest &request, Freeze policy,
                                       bool inBackground) {
  auto key = keyOf(request);
  if (!key)
    return key.takeError();
  auto start = std::chrono::steady_clock::now();
  bool onDisk = false;
  auto found = engine->find(*key, onDisk);
  if (!found && buildsNothing(policy))
    return Error{"`" + request.kernel + "` is not built for (" + request.specialization.text() +
                     ") on " + request.target + ", and the engine is frozen",
                 {}};
  auto record = [&] {
    std::lock_guard lock(mutex);
    recorded.insert(request.line());
    recorded.insert(request.coarsened().line()); // another run may meet any number in its place
  };
  // Kernels that several threads take of a program have launch paths of their own, and one code.
  std::optional<EngineState::Building> building;
  if (!found) {
    building.emplace(*engine, *key);
    if (building->hasWaited)
      found = engine->find(*key, onDisk);
  }
  if (!found) {
    std::optional<support::StepListener> listener;
    std::exception_ptr thrown; // steps end in destructors, which let nothing out
    if (engine->options.onStep)
      listener.emplace([&](const support::StepEvent &step) {
        try {
          engine->options.onStep({request.kernel, step.name, step.seconds, unsigned(step.depth)});
        } catch (...) {
          thrown = std::current_exception();
        }
      });
    auto made = compile(request, *key);
    listener.reset();
    if (thrown)
      std::rethrow_exception(thrown);
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
  building.reset();
  if (engine->options.onCompile) {
    CompileEvent event;
    event.kernel = request.kernel;
    event.signature = request.specialization.text();
    event.target = request.target;
    event.fromDisk = onDisk;
    event.frozen = policy == Freeze::Warn;
    event.inBackground = inBackground;
    event.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    engine->options.onCompile(event);
  }
  return *std::move(found);
}

std::optional<launch::StandIn> ProgramState::standIn(engine::CompileRequest request) {
  request = request.forTarget();
  if (auto built = exactly(request, Freeze::Refuse, false))
    return launch::StandIn{*std::move(built), nullptr};
  engine::CompileRequest generic = request.generalized();
  if (generic.specialization == request.specialization)
    return std::nullopt;
  auto standIn = artifact(std::move(generic), Freeze::Off);
  if (!standIn) // a kernel may need what it knows of its arguments
    return std::nullopt;
  auto later = std::make_shared<launch::Later>();
  // A program that nobody has any more needs no code.
  support::inBackground([later, request = std::move(request), weak = weak_from_this()] {
    if (auto self = weak.lock()) {
      try {
        if (auto made = self->artifact(request, Freeze::Off, true))
          later->artifact = *std::move(made);
      } catch (...) { // of a callback: there is no launch to tell, and the stand-in goes on
      }
    }
    later->isDone = true;
    later->isDone.notify_all();
  });
  return launch::StandIn{*std::move(standIn), std::move(later)};
}

void ProgramState::tellNotes(const std::string &kernel, std::vector<Diagnostic> notes) {
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

Result<Hash128> ProgramState::keyOf(const engine::CompileRequest &request) {
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

namespace {

// A CPU's code has no warps, stages or limit of registers: kernels that differ in nothing else, as
// the configurations of a tuned one do, are one code. What they are called is in their IR only
// where the kernel asks for it.
engine::CompileRequest withoutGpuOptions(engine::CompileRequest request) {
  const engine::CodeOptions plain;
  request.options.numWarps = plain.numWarps;
  request.options.numStages = plain.numStages;
  request.options.maxnreg = plain.maxnreg;
  return request;
}

Hash128 hashForCpu(mlir::ModuleOp module, const Hash128 &rest) {
  mlir::OwningOpRef<mlir::ModuleOp> plain(module.clone());
  for (llvm::StringRef name : {tile::numWarpsAttr, tile::numStagesAttr, tile::maxRegistersAttr})
    (*plain)->removeAttr(name);
  std::string text;
  llvm::raw_string_ostream out(text);
  plain->print(out, mlir::OpPrintingFlags().enableDebugInfo()); // code has the lines, too
  return support::Hasher().add(rest).add(text).finish();
}

Result<Artifact> renamed(const Artifact &artifact, const Hash128 &key) {
  support::ArtifactBuilder copy(artifact);
  copy.kernel.key = key;
  return copy.finish();
}

// Gives it to the engine's memory, too. `code` names what a CPU's code depends on.
Result<Artifact> built(EngineState &engine, engine::EmittedKernel &emitted,
                       const engine::CompileRequest &request, const Hash128 &key,
                       const std::optional<Hash128> &code) {
  std::optional<EngineState::Building> building;
  std::optional<Artifact> known;
  if (code) {
    building.emplace(engine, *code); // another configuration may be at it
    if (auto first = engine.firstKeyOf(*code))
      known = engine.memory.find(*first);
  }
  auto artifact =
      known ? renamed(*known, key) : engine::buildArtifact(emitted, request.target, key);
  if (!artifact)
    return artifact;
  engine.memory.keep(key, *artifact);
  if (!known)
    ++engine.compiled;
  if (code && !known)
    engine.setFirstKey(*code, key);
  return artifact;
}

} // namespace

Result<Artifact> ProgramState::compile(const engine::CompileRequest &request, const Hash128 &key) {
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
  std::optional<Hash128> code;
  if (request.target == "cpu") {
    auto rest = keyOf(withoutGpuOptions(request));
    if (!rest)
      return rest.takeError();
    code = hashForCpu(*emitted->module, *rest);
  }
  auto artifact = built(*engine, *emitted, request, key, code);
  if (artifact && !emitted->readsOtherFiles)
    engine->disk.store(key, artifact->bytes());
  tellNotes(request.kernel, std::move(emitted->diagnostics));
  return artifact;
}

} // namespace nereid
