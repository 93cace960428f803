// The reference interpreter: runs a kernel in tile IR over a grid, on memory of the host.
//
// It is the oracle of every test and the engine of `check`. Slow and plain where that costs little;
// all programs share one OS thread. Every access is verified against the memory that the caller
// names, so a wrong kernel ends in a diagnostic and never in a crash.
#pragma once

#include "nereid/base.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <array>
#include <functional>
#include <memory>
#include <variant>

namespace nereid::ref {

/// Memory that a kernel may touch: one tensor. Ranges do not overlap.
struct MemoryRange {
  uint64_t base = 0; ///< address of the lowest byte, as pointer arguments hold it
  uint64_t bytes = 0;
  std::string name;                              ///< for messages: "x"
  std::optional<DType> dtype = {};               ///< of the elements
  std::vector<int64_t> shape = {}, strides = {}; ///< in elements; empty when not known
  bool initialized = true; ///< false: reading a byte that the launch has not written is a finding
  /// With Precision::Wide, the elements as f64, `bytes / sizeof(dtype)` of them, read and written
  /// in place of the memory itself; null: made from the memory when the launch starts.
  double *wide = nullptr;
};

/// What a parameter of type `!tile.desc` takes; strides in elements.
struct DescriptorArgument {
  uint64_t base = 0;
  std::vector<int64_t> shape, strides;
};

/// One value a parameter of the function: integers and addresses, floats, descriptors.
using Argument = std::variant<int64_t, double, DescriptorArgument>;

enum class Precision : uint8_t {
  Exact, ///< every value in its own type
  Wide,  ///< floats are f64 and never rounded; memory is rounded when stored, see MemoryRange::wide
};

struct Options {
  Precision precision = Precision::Exact;
  bool emulateTf32 = false; ///< round f32 operands of a tf32 `dot` as the GPU does
  bool check = false; ///< report every finding and go on, instead of stopping at the first fault
  /// Switches between programs at memory operations, in an order drawn from the seed. Without it
  /// programs run to their end in ascending order, and leave only loops that wait for another
  /// program.
  std::optional<uint64_t> seed = {};
  uint64_t maxOperations = 0; ///< stop after so many tile operations; 0: no limit
  unsigned maxFindings = 100; ///< stop `check` after so many
};

/// One element printed by `device_print`.
struct Printed {
  std::array<uint32_t, 3> program;
  std::vector<int64_t> index; ///< of the element in its tile; empty for scalars
  unsigned operand = 0;
  std::string text; ///< the whole line, as Triton prints it
};

/// Something that `check` found, a failed `device_assert`, or the fault that stopped a launch.
struct Finding {
  Diagnostic diagnostic; ///< code, message, place; notes are the calls that were inlined
  std::array<uint32_t, 3> program{};
  std::vector<int64_t> index; ///< of the element in its tile; empty for scalars
  std::string tensor;         ///< the tensor touched, or empty
  uint64_t count = 1;         ///< how often; the rest speaks of the first time
};

/// How far a launch is.
struct Progress {
  uint64_t programs = 0, allPrograms = 0; ///< those that have begun, and those of the grid
  uint64_t operations = 0;                ///< tile operations executed
};

struct Launch {
  std::array<uint32_t, 3> grid{1, 1, 1};
  std::vector<Argument> arguments;
  std::vector<MemoryRange> memory;
  std::function<void(const Printed &)> onPrint;
  std::function<void(const Finding &)> onFinding;
  std::function<void(const Progress &)> onProgress; ///< called every few hundred operations
};

/// A tensor that is no input, of which some elements or all were never stored.
struct NeverStored {
  std::string tensor;
  std::string first; ///< "element (5, 0)"
  uint64_t count = 0, elements = 0;
};

struct Statistics {
  uint64_t programs = 0;
  uint64_t operations = 0; ///< tile operations executed
  uint64_t bytesLoaded = 0, bytesStored = 0;
  uint64_t peakBytes = 0; ///< tiles and stacks of all programs alive at one time
  uint64_t findings = 0;  ///< distinct ones, each reported once
  uint64_t failedAsserts = 0;
  std::vector<NeverStored> neverStored; ///< with Options::check, of a launch without a fault
};

class Program;

/// A kernel made ready to run. Launches are independent of each other.
class Interpreter {
public:
  /// Fails for an op that the interpreter does not know, with its place. The context of `kernel`
  /// must have been made with `registerReferenceModels` (ref/Reference.h).
  static Result<Interpreter> prepare(mlir::func::FuncOp kernel, const Options &options);

  /// Fails when the kernel cannot go on: an access outside of `launch.memory`, a deadlock, the
  /// limit of operations, arguments that do not fit. The error's diagnostic has the place. With
  /// Options::check what stops the kernel is its last finding, and only the world's failures are
  /// errors.
  Result<Statistics> launch(const Launch &launch) const;

  Interpreter(Interpreter &&);
  Interpreter &operator=(Interpreter &&);
  ~Interpreter();

private:
  explicit Interpreter(std::unique_ptr<const Program> program);
  std::unique_ptr<const Program> program;
};

} // namespace nereid::ref
