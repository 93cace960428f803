// What the public Engine and Program hold: caches, and a program whose kernels are compiled on a
// miss.
#pragma once

#include "emit/Program.h"
#include "engine/CompileRequest.h"
#include "engine/Recording.h"
#include "engine/TuningFile.h"
#include "launch/DiskCache.h"
#include "launch/Launcher.h"
#include "launch/MemoryCache.h"
#include "nereid/engine.h"
#include "support/Artifact.h"
#include "support/Hash.h"
#include "support/ShownDiagnostics.h"

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace nereid {

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
  std::optional<support::Artifact> find(const support::Hash128 &key, bool &onDisk) {
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

  /// A key that this thread builds, once no other does.
  class Building {
  public:
    Building(EngineState &engine, const support::Hash128 &key) : engine(engine), key(key) {
      std::unique_lock lock(engine.buildMutex);
      while (!engine.building.insert(key).second) {
        hasWaited = true;
        engine.buildDone.wait(lock);
      }
    }
    ~Building() {
      std::lock_guard lock(engine.buildMutex);
      engine.building.erase(key);
      engine.buildDone.notify_all();
    }
    Building(const Building &) = delete;
    bool hasWaited = false; ///< for another, which has built it or failed

  private:
    EngineState &engine;
    const support::Hash128 key;
  };

  /// Several keys may mean one code: that under which it was built first, or nothing.
  std::optional<support::Hash128> firstKeyOf(const support::Hash128 &code) {
    std::lock_guard lock(buildMutex);
    auto found = firstKeys.find(code);
    return found == firstKeys.end() ? std::nullopt : std::optional(found->second);
  }
  void setFirstKey(const support::Hash128 &code, const support::Hash128 &key) {
    constexpr size_t most = 4096; // without one the code is built again
    std::lock_guard lock(buildMutex);
    if (firstKeys.size() >= most)
      firstKeys.clear();
    firstKeys.insert_or_assign(code, key);
  }

private:
  std::mutex buildMutex;
  std::condition_variable buildDone;
  std::set<support::Hash128> building;
  std::map<support::Hash128, support::Hash128> firstKeys;
};

struct ProgramState : std::enable_shared_from_this<ProgramState> {
  std::shared_ptr<EngineState> engine;
  std::unique_ptr<emit::Program> program;
  std::mutex mutex; // of `program`: its evaluator is one thread's at a time
  std::map<std::string, support::Hash128> sources;
  std::set<std::string> recorded;
  std::set<std::string> told;       ///< notes that the engine's callback has had
  std::filesystem::path tuningFile; ///< empty if there is none
  std::atomic<Freeze> freeze = Freeze::Off;
  std::shared_ptr<const support::ShownText> shown; ///< of a text that is no file
  /// Of kernels written in C++; else empty.
  std::optional<engine::Recording> recording;

  /// A failure as one of the source that the user wrote.
  Error explained(Error error) const {
    return recording ? recording->translate(std::move(error)) : std::move(error);
  }

  Result<engine::TuningFile> tuned() const {
    return tuningFile.empty() ? engine::TuningFile() : engine::TuningFile::read(tuningFile);
  }

  /// Takes the artifact from the caches or the compiler. `policy` says what a miss does; where that
  /// builds nothing, code that assumes less is taken.
  Result<support::Artifact> artifact(engine::CompileRequest request, Freeze policy,
                                     bool inBackground = false);
  /// The artifact if it is built; else one without assumptions, while a thread makes it.
  std::optional<launch::StandIn> standIn(engine::CompileRequest request);

  support::Hash128 facts; ///< of what module-level code read of the world

private:
  /// For this class of arguments and no other.
  Result<support::Artifact> exactly(const engine::CompileRequest &request, Freeze policy,
                                    bool inBackground);
  /// Each note once a kernel, whatever it is compiled for.
  void tellNotes(const std::string &kernel, std::vector<Diagnostic> notes);
  Result<support::Hash128> keyOf(const engine::CompileRequest &request);
  Result<support::Artifact> compile(const engine::CompileRequest &request,
                                    const support::Hash128 &key);
};

} // namespace nereid
