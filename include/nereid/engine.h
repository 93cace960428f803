// Kernels of the Triton language from C++: load a file, get a kernel, launch it.
//
//   auto engine = must(nereid::Engine::create());
//   auto program = must(engine.load("vector_add.py"));
//   auto add = must(program.kernel("add"));
//   add(device.stream(), {(n + 1023) / 1024}, x, y, out, n, named("BLOCK", 1024));
//
// Every call that can fail gives a Result; `must` turns a failure into an Exception. Only `std` is
// needed, and nothing of the compiler shows. Handles are cheap to copy and keep what they need.
//
// Thread-safety: everything here may be used by several threads.
#pragma once

#include "nereid/launch.h"

#include <functional>

namespace nereid {

namespace tl {
class Module; // nereid/tl.h
}

/// Options of a compilation, as `triton.Config` names them. Those of the GPU mean nothing on a CPU.
struct CompileOptions {
  int numWarps = 4;                    ///< warps of a program
  int numStages = 3;                   ///< stages of pipelined loops
  int numCtas = 1;                     ///< taken for Triton's sake: a program stays one block
  int maxRegisters = 0;                ///< of a thread; 0: the compiler's choice
  bool debug = false;                  ///< keep `tl.device_assert`
  bool fpFusion = true;                ///< `a * b + c` may be rounded once (`enable_fp_fusion`)
  bool reflectFtz = true;              ///< `exp2` is zero below the least normal number
  std::string inputPrecision = "tf32"; ///< of `tl.dot` on float32: "tf32", "tf32x3" or "ieee"
  /// A launch starts before the one ahead of it in the stream has ended, if the kernel waits for
  /// that by itself with `gdc_wait` (`launch_pdl`).
  bool launchPdl = false;
  /// All programs of a launch run at once, or it fails (`launch_cooperative_grid`).
  bool launchCooperative = false;
  /// Names and files of LLVM bitcode whose functions the kernel calls (`extern_libs`).
  std::vector<std::pair<std::string, std::string>> externLibs;
};

/// One of the configurations that `triton.autotune` lists above a kernel.
struct Configuration {
  std::vector<std::pair<std::string, std::string>> constants; ///< NAME, value as Python source
  CompileOptions options;
  /// The value of a constant that is an integer; 0 if there is none of that name.
  NEREID_API int64_t integer(std::string_view name) const;
  NEREID_API std::string text() const; ///< "BLOCK=1024 num_warps=4 num_stages=3"
};

/// A compilation or a load from the cache, as the engine's callback sees it.
struct CompileEvent {
  std::string kernel, signature, target;
  double seconds = 0;
  bool fromDisk = false;
  bool frozen = false;       ///< it came after `freeze(Freeze::Warn)`
  bool inBackground = false; ///< `Freeze::Background`: no launch waited for it
};

/// A part of a compilation that has ended: a pass, LLVM's optimiser, the assembler.
struct CompileStep {
  std::string kernel, name;
  double seconds = 0;
  unsigned depth = 0; ///< of the steps it is part of
};

/// A launch that was queued.
struct LaunchEvent {
  std::string kernel, device;
  uint32_t grid[3] = {};
  /// Of the whole grid, as the source says it; -1 if that depends on values of the launch.
  int64_t bytes = -1, operations = -1;
};

/// What a launch does that needs code which is not built yet.
enum class Freeze : uint8_t {
  Off,  ///< compiles it
  Warn, ///< compiles it and tells the callback
  /// Takes the variant without assumptions on sizes and alignment, which is compiled if need be,
  /// until a thread of the process has compiled the one for these classes of arguments. Both are
  /// right, but may add in another order. `Kernel::prepare` and `tune` wait for the latter.
  Background,
  Generic, ///< takes that variant if it is built, else fails
  Refuse,  ///< fails
};

struct EngineOptions {
  /// Where built kernels are kept; empty: $NEREID_CACHE_DIR, else the user's cache directory. Of
  /// several, separated by ':', the last is written and the others, as an image brings them, are
  /// only read. $NEREID_CACHE_MEGABYTES bounds what is kept.
  std::string cacheDirectory = {};
  bool cacheOnDisk = true;
  /// How much of what was built this process keeps beside the kernels that it holds: above, it
  /// forgets what was used longest ago.
  uint64_t memoryBytes = uint64_t(256) << 20;
  /// Where `Kernel::tune` keeps what it found and `Kernel::configuration` finds it; empty: nothing
  /// is kept, and the `tuned.json` beside a program's file is read.
  std::string tuningFile = {};
  /// "NAME=VALUE" for names of module-level code, or for what it asks that only a Python process
  /// could know, by the text that messages show: "torch.version.hip=True". What hints call
  /// `--define`.
  std::vector<std::string> definitions = {};
  // Called on the launching thread, or on the one that compiles under `Freeze::Background`. What
  // they throw leaves the call that they are part of, which may be repeated; on a thread of ours it
  // is dropped.
  std::function<void(const CompileEvent &)> onCompile = {};
  std::function<void(const CompileStep &)> onStep = {};
  std::function<void(const LaunchEvent &)> onLaunch = {};
  /// What the compiler says of a kernel that it compiles, or said of one whose code comes from a
  /// cache, each note once: old spellings, options that change nothing, what `tl.static_print`
  /// prints (code "StaticPrint").
  std::function<void(const std::string &kernel, const Diagnostic &)> onNote = {};
};

/// How often code was found and made since the engine was created.
struct EngineStatistics {
  uint64_t compiled = 0;   ///< by the compiler
  uint64_t fromMemory = 0; ///< built before in this process
  uint64_t fromDisk = 0;   ///< built by this or another process
  uint64_t repaired = 0;   ///< damaged files that were found and removed
  uint64_t notStored = 0;  ///< could not be written: read-only directory, full disk
};

/// How `Kernel::tune` times.
struct TuneOptions {
  /// For each configuration, at least one launch. A quarter is enough for twenty samples, or to see
  /// that it takes over 1.2 times as long as the fastest so far; up to four that came within a
  /// tenth of the fastest are measured again, in turns. On a GPU measured by events, each sample
  /// with an empty second-level cache.
  double seconds = 0.05;
  /// Contiguous tensors that a launch writes: brought back to what they hold now before each
  /// configuration and at the end, and compared between configurations. Those that `restore_value`
  /// of `triton.autotune` names are added; those of `reset_to_zero` too, and hold zeros then.
  std::vector<Tensor> outputs = {};
};

/// What a configuration did.
struct TuneRow {
  Configuration configuration;
  double seconds = 0;  ///< of one launch, median
  std::string failure; ///< why it cannot be taken: it does not compile, its result differs, ...
};

struct KernelState;
struct ProgramState;
struct EngineState;

namespace engine {
struct BindingAccess; // what bindings of other languages and nereid/kernels.h reach inside
}

/// A kernel function with its options. Compiled for a device and for classes of arguments when
/// first launched so.
class NEREID_API Kernel {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return state != nullptr; }
  const std::string &name() const;
  std::span<const KernelParameter> parameters() const;

  /// Queues a launch: arguments by position, then by name; parameters left out take what
  /// `triton.heuristics` computes from the others, else their defaults. A launch whose classes of
  /// arguments were seen before compiles nothing, and allocates nothing unless a heuristic is more
  /// than arithmetic.
  Status launch(const Stream &stream, Grid grid, std::span<const Argument> arguments) const;
  Status launch(const Stream &stream, Grid grid, std::initializer_list<Argument> arguments) const {
    return launch(stream, grid, std::span(arguments.begin(), arguments.size()));
  }
  /// The same; throws.
  template <typename... Values>
  void operator()(const Stream &stream, Grid grid, Values &&...values) const {
    must(launch(stream, grid, {Argument(std::forward<Values>(values))...}));
  }
  /// Compiles and loads what such a launch needs, and launches nothing.
  Status prepare(const Device &device, std::span<const Argument> arguments) const;
  Status prepare(const Device &device, std::initializer_list<Argument> arguments) const {
    return prepare(device, std::span(arguments.begin(), arguments.size()));
  }

  /// What `tl.device_print` and failed assertions wrote since this was last asked, in launches that
  /// are done.
  Result<std::vector<KernelMessage>> takeMessages() const;

  /// The configurations of `triton.autotune`, none without it.
  Result<std::vector<Configuration>> configurations() const;
  /// Those that `prune_configs_by` leaves for a launch with these arguments, with the constants
  /// that `triton.heuristics` adds; one with these alone for a kernel without
  /// `triton.autotune`. Decorators see numbers, flags and text, and of tensors what they are:
  /// shape, strides, type; of pointers the type. Arguments that a configuration chooses are left
  /// out.
  Result<std::vector<Configuration>> configurations(std::span<const Argument> arguments) const;
  /// Which of these to take on a device: the one that the tuning file has for such a launch, else
  /// the first. Fails if there are none.
  Result<Configuration> configuration(const Device &device,
                                      std::span<const Argument> arguments) const;
  /// This kernel with the constants and options of a configuration; launches then leave its
  /// constants out. Those of heuristics are computed at each launch. A `pre_hook` of the
  /// configuration is called before each launch; it sees tensors as `shape`, `dtype`, `numel()`,
  /// `zero_()` and `fill_(x)`, and sets the `block_shape` of descriptors.
  Result<Kernel> with(const Configuration &configuration) const;
  /// Compiles all configurations in parallel, then times them one by one on `stream`. Gives the
  /// fastest first and those that cannot be taken last; fails if there is none that can. The
  /// fastest is kept in the engine's tuning file, if it has one.
  /// A configuration that faults on a GPU takes the device from the process: tuning then fails and
  /// says which one it was. It is kept as refused in the engine's tuning file, and the next process
  /// passes over it (`nereid tune` goes on by itself).
  /// `arguments` leave the configurations' constants out, `grid` says how many programs one needs.
  Result<std::vector<TuneRow>> tune(const Stream &stream,
                                    const std::function<Grid(const Configuration &)> &grid,
                                    std::span<const Argument> arguments,
                                    const TuneOptions &options = {}) const;

private:
  friend class Program;
  friend struct engine::BindingAccess;
  struct Tuned;
  Result<Tuned> tunedParts(const Stream &stream, std::span<const Argument> arguments) const;
  Status callHook(const Stream &stream, std::span<const Argument> arguments, bool isAfter) const;
  Status keepTuned(const Device &device, std::span<const Argument> arguments, size_t configuration,
                   double seconds, const std::string &failure = {}) const;
  std::shared_ptr<KernelState> state;
};

/// How Program::pack writes.
struct PackOptions {
  bool add = false; ///< keeps what the file has
  /// Kernels, and the grid of their launches that name none: "cdiv(n, BLOCK), heads", or as
  /// programs hold it, "lambda meta: (triton.cdiv(n, meta['BLOCK']),)".
  std::vector<std::pair<std::string, std::string>> grids = {};
};

/// A source file: its module-level code has run in a closed evaluator.
class NEREID_API Program {
public:
  /// Of one that is default-constructed or moved from all calls fail.
  explicit operator bool() const { return state != nullptr; }
  /// Names of all kernels, in order of lines.
  std::vector<std::string> kernels() const;
  /// Fails if there is none of that name, or if its definition cannot be evaluated.
  Result<Kernel> kernel(std::string_view name, const CompileOptions &options = {}) const;

  /// What this process compiled or loaded of the program, one line each: to be kept and built ahead
  /// by the next one.
  std::vector<std::string> recordedKeys() const;
  /// Builds such keys and their generic variants, on all processors, for the devices they name.
  /// Gives how many are built now; keys that no longer compile are left out.
  Result<size_t> buildAhead(std::span<const std::string> keys) const;
  /// Builds such keys into a pack (nereid/pack.h), which programs launch without a compiler. What
  /// launches leave open goes with them: `triton.heuristics`, and configurations by the tuning
  /// file. The file at `path` is replaced at once or not at all.
  Status pack(const std::string &path, std::span<const std::string> keys,
              const PackOptions &options = {}) const;

private:
  friend class Engine;
  friend class Kernel;
  friend struct engine::BindingAccess;
  std::shared_ptr<ProgramState> state;
};

/// Owns the caches and policies. A process usually has one.
class NEREID_API Engine {
public:
  /// Fails if the program was compiled with the headers of another version.
  static Result<Engine> create(EngineOptions options = {}) {
    if (const char *problem = abiMismatch(Abi()))
      return Error{problem, {}};
    return make(std::move(options));
  }

  /// Reads a Python file; its imports are found beside it. Fails with diagnostics if it does not
  /// parse; a kernel whose definition fails is reported when asked for.
  Result<Program> load(const std::string &path) const;
  /// The same for text; `name` is what messages call it. It imports nothing from files.
  Result<Program> loadText(std::string_view text, std::string_view name = "<text>") const;
  /// The same for kernels written in C++ (nereid/tl.h). Fails with what is wrong in how they were
  /// recorded; messages name the lines of the C++ source.
  Result<Program> load(const tl::Module &module) const;

  /// What launches do from now on; at first what NEREID_FREEZE names.
  void freeze(Freeze mode) const;
  EngineStatistics statistics() const;

private:
  friend struct engine::BindingAccess;
  static Result<Engine> make(EngineOptions options);
  std::shared_ptr<EngineState> state;
};

} // namespace nereid
