// The class Library: embedded programs, workspaces, and the way of a call from arguments to
// launches.
#include "kernels/Choose.h"
#include "kernels/Folders.h"

#include "api/Empty.h"
#include "emit/SourceUnit.h"
#include "engine/BindingAccess.h"
#include "runtime/Device.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <map>
#include <mutex>
#include <shared_mutex>
#include <unordered_map>

namespace nereid::kernels {

namespace {

// ---- Kernels

/// The embedded kernels, loaded when first asked for. Any number of threads.
class Kernels {
public:
  explicit Kernels(Engine engine) : engine(std::move(engine)) {}

  Result<const Kernel *> find(const KernelSource &source, const CompileOptions &options) {
    Key key{&source, options.numWarps, options.numStages, options.numCtas, options.maxRegisters};
    {
      std::shared_lock lock(mutex);
      if (auto found = kernels.find(key); found != kernels.end())
        return &found->second;
    }
    std::unique_lock lock(mutex);
    auto program = programAt(std::string(source.folder) + "/" + std::string(source.file));
    if (!program)
      return program.takeError();
    auto kernel = program->kernel(source.kernel, options);
    if (!kernel)
      return kernel.takeError();
    return &kernels.emplace(key, *std::move(kernel)).first->second;
  }

  void freeze(Freeze to) {
    std::unique_lock lock(mutex);
    mode = to;
    for (const auto &[path, program] : programs)
      engine::BindingAccess::freeze(program, mode);
  }

  // A key is the program's, behind the program's path.
  std::vector<std::string> recordedKeys() {
    std::shared_lock lock(mutex);
    std::vector<std::string> all;
    for (const auto &[path, program] : programs)
      for (const std::string &key : program.recordedKeys())
        all.push_back(path + "\t" + key);
    std::ranges::sort(all);
    return all;
  }
  Result<size_t> buildAhead(std::span<const std::string> keys) {
    std::map<std::string, std::vector<std::string>> byPath;
    for (const std::string &key : keys) {
      const size_t end = key.find('\t');
      if (end == key.npos)
        return Error{"`" + key + "` is no recorded key of the library", {}};
      byPath[key.substr(0, end)].push_back(key.substr(end + 1));
    }
    size_t built = 0;
    for (const auto &[path, own] : byPath) {
      std::unique_lock lock(mutex);
      auto program = programAt(path);
      lock.unlock();
      if (!program)
        return program.takeError();
      auto some = program->buildAhead(own);
      if (!some)
        return some;
      built += *some;
    }
    return built;
  }

private:
  struct Key {
    const KernelSource *source;
    int warps, stages, ctas, registers;
    bool operator==(const Key &) const = default;
  };
  struct Hash {
    size_t operator()(const Key &key) const {
      size_t options = size_t(key.warps) | size_t(key.stages) << 8 | size_t(key.ctas) << 16 |
                       size_t(key.registers) << 24;
      return std::hash<const void *>()(key.source) ^ options * 0x9E3779B97F4A7C15u;
    }
  };

  static std::shared_ptr<emit::SourceUnit> unitOf(const std::string &path) {
    const FolderFile *file = folderFile(path);
    if (!file)
      return nullptr;
    auto unit = std::make_shared<emit::SourceUnit>();
    unit->text = file->text;
    unit->file = "kernels/" + path;
    return unit;
  }

  // With the mutex held.
  Result<Program> programAt(const std::string &path) {
    if (auto found = programs.find(path); found != programs.end())
      return found->second;
    auto loaded = load(path);
    if (loaded) {
      engine::BindingAccess::freeze(*loaded, mode);
      programs.emplace(path, *loaded);
    }
    return loaded;
  }

  Result<Program> load(const std::string &path) {
    auto unit = unitOf(path);
    if (!unit)
      return Error{"no kernels `" + path + "` in the library", {}};
    // Files of a folder import each other.
    unit->resolver = [folder = path.substr(0, path.find('/') + 1)](
                         const std::string &module) -> std::shared_ptr<const emit::SourceUnit> {
      auto found = unitOf(folder + module + ".py");
      if (found)
        found->module = module;
      return found;
    };
    return engine::BindingAccess::load(engine, *unit);
  }

  Engine engine;
  std::shared_mutex mutex;
  std::unordered_map<std::string, Program> programs;
  std::unordered_map<Key, Kernel, Hash> kernels;
  Freeze mode = Freeze::Off;
};

// ---- Workspaces

/// Memory of a stream for calls that bring none. What grows leaves the smaller piece in place: a
/// graph may hold it. Pieces at least double, so that all together are at most twice the largest.
class Workspaces {
public:
  Workspaces(std::shared_ptr<Allocator> allocator, bool isZeroed)
      : allocator(std::move(allocator)), isZeroed(isZeroed) {}
  ~Workspaces() {
    for (auto &[key, own] : streams)
      for (const Piece &piece : own.foreign)
        allocator->free(piece.data, piece.bytes, own.stream.native());
  }

  Result<char *> take(const Stream &stream, size_t bytes) {
    std::lock_guard lock(mutex);
    auto [found, isNew] = streams.try_emplace(&stream.internal(), Own{.stream = stream});
    Own &own = found->second;
    if (own.current.bytes >= bytes)
      return own.current.data;
    if (stream.internal().isCapturing())
      return Error{
          "it needs " + std::to_string(bytes) +
              " bytes of workspace, and no memory is made while a stream captures: prepare "
              "the call before, or give it a workspace",
          {}};
    size_t larger = std::max(bytes, 2 * own.current.bytes);
    if (allocator) {
      void *data = allocator->allocate(larger, stream.native());
      if (!data)
        return Error{"the allocator has no " + std::to_string(larger) + " bytes for a workspace",
                     {}};
      own.current = {static_cast<char *>(data), larger};
      own.foreign.push_back(own.current);
    } else {
      auto made = Tensor::empty(stream.device(), DType::Int8, {int64_t(larger)});
      if (!made)
        return made.takeError();
      own.current = {made->data<char>(), larger};
      own.pieces.push_back(*std::move(made));
    }
    if (isZeroed)
      if (Status status = stream.internal().fill(own.current.data, 0, 1, larger); !status) {
        own.current = {};
        return status.takeError();
      }
    return own.current.data;
  }

private:
  struct Piece {
    char *data = nullptr;
    size_t bytes = 0;
  };
  struct Own {
    Stream stream; ///< kept, so that its address stays its name
    Piece current;
    std::vector<Tensor> pieces;
    std::vector<Piece> foreign; ///< of the allocator
  };
  std::shared_ptr<Allocator> allocator;
  bool isZeroed;
  std::mutex mutex;
  std::unordered_map<const runtime::Stream *, Own> streams;
};

// ---- Launches

/// Counts what a plan needs.
class Sizing final : public Launches {
public:
  Status launch(const KernelSource &, const CompileOptions &, Programs,
                std::span<const Argument>) override {
    return Success{};
  }
};

/// Runs a plan, or only compiles what it launches.
class Running final : public Launches {
public:
  Running(Kernels &kernels, const Stream &stream, char *memory, char *zeroed, bool onlyPrepare)
      : kernels(kernels), stream(stream), onlyPrepare(onlyPrepare) {
    workspace = memory;
    zeros = zeroed;
  }

  Status launch(const KernelSource &source, const CompileOptions &options, Programs programs,
                std::span<const Argument> arguments) override {
    auto kernel = kernels.find(source, options);
    if (!kernel)
      return kernel.takeError();
    if (onlyPrepare)
      return (*kernel)->prepare(stream.device(), arguments);
    if (programs.x == 0 || programs.y == 0 || programs.z == 0)
      return Success{};
    constexpr int64_t most = std::numeric_limits<int32_t>::max();
    if (programs.x > most || programs.y > most || programs.z > most)
      return Error{"it needs more than 2^31 programs along one axis", {}};
    return (*kernel)->launch(
        stream, {uint32_t(programs.x), uint32_t(programs.y), uint32_t(programs.z)}, arguments);
  }

private:
  Status clear(void *memory, size_t bytes) override {
    return onlyPrepare ? Status(Success{}) : stream.internal().fill(memory, 0, 1, bytes);
  }

  Kernels &kernels;
  const Stream &stream;
  bool onlyPrepare;
};

std::span<const OperationRow> (*const tables[])() = {
    elementwiseRows, rowwiseRows, productRows, groupedProductRows, scaledProductRows,
    attentionRows,   pagedRows,   expertRows,  orderRows,          trainingRows};

} // namespace

uintptr_t Launches::take(size_t bytes) {
  used = (used + 255) / 256 * 256;
  // Pointers may not be counted from null, numbers may.
  uintptr_t place = reinterpret_cast<uintptr_t>(workspace) + used;
  used += bytes;
  return place;
}
Argument Launches::scratch(DType type, int64_t elements) {
  return {reinterpret_cast<void *>(take(size_t(elements) * info(type).bytes)), type};
}
Result<Tensor> Launches::scratchTensor(const Device &device, DType type, Shape shape) {
  int64_t elements = 1;
  for (int64_t size : shape.sizes)
    elements *= size;
  uintptr_t place = take(size_t(elements) * info(type).bytes);
  // Null is no tensor's place: where nothing runs, another one does.
  return Tensor::wrap(device, reinterpret_cast<void *>(place ? place : 256), type, shape);
}

Result<Argument> Launches::counters(int64_t count) {
  const size_t bytes = size_t(count) * 4;
  if (zeros) {
    Argument argument(zeros + counted, DType::Int32);
    counted += bytes;
    return argument;
  }
  counted += bytes;
  void *place = reinterpret_cast<void *>(take(bytes));
  if (Status status = clear(static_cast<char *>(place), bytes); !status)
    return status.takeError();
  return Argument(place, DType::Int32);
}

const OperationRow &rowOf(Operation operation) {
  static const auto all = [] {
    std::array<const OperationRow *, operationCount> rows = {};
    for (auto table : tables)
      for (const OperationRow &row : table())
        rows[size_t(row.operation)] = &row;
    return rows;
  }();
  return *all[size_t(operation)];
}

Result<std::vector<int64_t>> numbersOf(const Tensor &tensor, const Stream &stream) {
  std::vector<int64_t> numbers;
  if (tensor.size() == 0)
    return numbers;
  std::vector<char> copied;
  const char *data = tensor.data<char>();
  if (!tensor.device().isCpu()) {
    copied.resize(tensor.bytes());
    if (Status status = stream.copy(copied.data(), data, copied.size()); !status)
      return status.takeError();
    data = copied.data();
  }
  if (Status status = stream.synchronize(); !status)
    return status.takeError();
  numbers.reserve(size_t(tensor.size()));
  auto shape = tensor.shape(), strides = tensor.strides();
  const size_t width = info(tensor.type()).bytes;
  std::array<int64_t, Tensor::maxRank> index = {};
  for (int64_t left = tensor.size(); left-- > 0;) {
    int64_t at = 0;
    for (size_t i = 0; i < shape.size(); ++i)
      at += index[i] * strides[i];
    int64_t number = 0;
    if (width == 4) {
      int32_t narrow;
      std::memcpy(&narrow, data + at * 4, 4);
      number = narrow;
    } else {
      std::memcpy(&number, data + at * 8, 8);
    }
    numbers.push_back(number);
    for (size_t i = shape.size(); i-- > 0 && ++index[i] == shape[i];)
      index[i] = 0;
  }
  return numbers;
}

// ---- The library

struct LibraryState {
  LibraryState(const Engine &engine, LibraryOptions options)
      : options(options), kernels(engine), workspaces(options.allocator, false),
        counters(std::move(options.allocator), true) {}

  LibraryOptions options;
  Tables tables;
  Kernels kernels;
  Workspaces workspaces, counters;

  Result<size_t> workspaceBytes(const Bound &bound, const Chosen &chosen) {
    Sizing sizing;
    if (Status status = chosen.variant->plan(bound, chosen.config, sizing); !status)
      return status.takeError();
    return sizing.workspaceUsed();
  }

  struct Memory {
    char *workspace = nullptr, *zeros = nullptr;
  };
  /// The workspace of a call, its own or the stream's. Counters of its own are cleared before each
  /// launch; those of the stream are 0 already.
  Result<Memory> memoryFor(const Bound &bound, const Chosen &chosen, const Stream &stream) {
    if (!bound.operation.workspace)
      return Memory{};
    Sizing sizing;
    if (Status status = chosen.variant->plan(bound, chosen.config, sizing); !status)
      return status.takeError();
    const size_t bytes = sizing.workspaceUsed();
    const Tensor &given = bound.operation.workspace(bound.call);
    if (!given) {
      Memory memory;
      for (auto [place, from, size] : {std::tuple(&memory.workspace, &workspaces, bytes),
                                       std::tuple(&memory.zeros, &counters, sizing.countersUsed())})
        if (size) {
          auto taken = from->take(stream, size);
          if (!taken)
            return taken.takeError();
          *place = *taken;
        }
      return memory;
    }
    if (!(given.device() == stream.device()))
      return Error{"`workspace` lies on " + given.device().name() + ", the stream on " +
                       stream.device().name(),
                   {}};
    if (!given.isContiguous())
      return Error{"`workspace` is " + textOf(given) + ", and must be without gaps", {}};
    // Its start need not be aligned, but pieces of it are.
    size_t skipped = size_t(-reinterpret_cast<intptr_t>(given.data())) % 256;
    if (given.bytes() < bytes + (bytes ? skipped : 0))
      return Error{"`workspace` has " + std::to_string(given.bytes()) +
                       " bytes, and the call needs " + std::to_string(bytes + skipped) +
                       (skipped ? ", of which " + std::to_string(skipped) +
                                      " are lost because it does not start at a multiple of 256"
                                : ""),
                   {}};
    return Memory{given.data<char>() + skipped, nullptr};
  }

  static bool hasNothingToDo(const Bound &bound) {
    for (char letter : bound.operation.nothingWithout)
      if (bound[letter] == 0)
        return true;
    return false;
  }

  /// A failure behind the checks, with the call that it came from.
  static Error inCall(const Bound &bound, Error error) {
    std::string text;
    for (size_t i = 0; i < bound.operation.arguments.size(); ++i)
      if (bound.tensors[i])
        text += (text.empty() ? "" : ", ") + std::string(bound.operation.arguments[i].name) + " " +
                textOf(*bound.tensors[i]);
    error.what = "`" + std::string(bound.operation.name) + "` of " + text + ": " + error.what;
    return error;
  }

  Status run(const Stream &stream, Operation operation, const void *call, bool onlyPrepare) {
    if (!stream)
      return Error{"`" + std::string(rowOf(operation).name) +
                       "`: " + emptyHandle("Stream", "Device::stream").what,
                   {}};
    Device device = stream.device();
    auto bound = bind(rowOf(operation), call, &device);
    if (!bound)
      return bound.takeError();
    if (hasNothingToDo(*bound))
      return Success{};
    if (bound->operation.verify && options.values == Values::Verify && !onlyPrepare &&
        !stream.internal().isCapturing()) {
      auto problem = bound->operation.verify(*bound, stream);
      if (!problem)
        return inCall(*bound, problem.takeError());
      if (!problem->empty())
        return wrong(bound->operation, *problem);
    }
    auto chosen = tables.choose(*bound, device);
    if (!chosen)
      return chosen.takeError();
    auto memory = memoryFor(*bound, *chosen, stream);
    if (!memory)
      return inCall(*bound, memory.takeError());
    Running running(kernels, stream, memory->workspace, memory->zeros, onlyPrepare);
    if (Status status = chosen->variant->plan(*bound, chosen->config, running); !status)
      return inCall(*bound, status.takeError());
    return Success{};
  }
};

Result<Library> Library::create(const Engine &engine, LibraryOptions options) {
  auto state = std::make_shared<LibraryState>(engine, options);
  constexpr std::string_view ending = "/tuned.json";
  for (const FolderFile &file : folderFiles()) {
    if (!file.path.ends_with(ending))
      continue;
    std::string_view folder = file.path.substr(0, file.path.size() - ending.size());
    std::filesystem::path own =
        std::filesystem::path(options.tuned) / std::string(folder) / "tuned.json";
    std::error_code failed;
    auto table = !options.tuned.empty() && std::filesystem::exists(own, failed)
                     ? engine::TuningFile::read(own)
                     : engine::TuningFile::parse(file.text, std::string(file.path));
    if (!table)
      return table.takeError();
    state->tables.add(folder, *table);
  }
  Library library;
  library.state = std::move(state);
  return library;
}

Status Library::run(const Stream &stream, Operation operation, const void *call) const {
  if (!state)
    return emptyHandle("Library", "Library::create");
  return state->run(stream, operation, call, false);
}

Status Library::prepare(const Stream &stream, Operation operation, const void *call) const {
  if (!state)
    return emptyHandle("Library", "Library::create");
  return state->run(stream, operation, call, true);
}

Result<Choice> Library::choose(Operation operation, const void *call) const {
  if (!state)
    return emptyHandle("Library", "Library::create");
  auto bound = bind(rowOf(operation), call, nullptr);
  if (!bound)
    return bound.takeError();
  Device device = bound->tensors[0]->device();
  auto chosen = state->tables.choose(*bound, device);
  if (!chosen)
    return chosen.takeError();
  auto bytes = state->workspaceBytes(*bound, *chosen);
  if (!bytes)
    return bytes.takeError();
  Choice choice;
  std::string_view name = chosen->variant->name;
  choice.kernel =
      std::string(bound->operation.folder) + ": " + std::string(name.substr(0, name.find(' ')));
  choice.configuration = chosen->config.text();
  choice.workspaceBytes = *bytes;
  if (!chosen->measured) {
    choice.reason =
        "a rule: nothing within a factor of 8 in each size was measured on " + device.description();
  } else {
    const Measured &row = *chosen->measured;
    choice.reason = "measured " + std::string(chosen->distance == 0 ? "for " : "near, for ") +
                    row.text + ", on " + (row.device.empty() ? row.target : row.device);
  }
  return choice;
}

void Library::freeze(bool frozen) const {
  if (state)
    state->kernels.freeze(frozen ? Freeze::Refuse : Freeze::Off);
}

std::vector<std::string> Library::recordedKeys() const {
  return state ? state->kernels.recordedKeys() : std::vector<std::string>();
}

Result<size_t> Library::buildAhead(std::span<const std::string> keys) const {
  if (!state)
    return emptyHandle("Library", "Library::create");
  return state->kernels.buildAhead(keys);
}

} // namespace nereid::kernels
