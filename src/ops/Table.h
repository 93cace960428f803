// The vocabulary: one row for each name of the Triton language.
//
// A row is all that the rest of the engine knows of an op: the emitter binds arguments by
// `signature`, docs and C++ authoring are generated from it, the coverage test walks it.
#pragma once

#include "ops/Value.h"

#include "mlir/IR/Builders.h"

#include <span>
#include <string_view>

namespace nereid::ops {

/// A file of LLVM bitcode, or LLVM's text, whose functions kernels may call.
struct ExternLibrary {
  std::string name, path;
  bool operator==(const ExternLibrary &) const = default;
};

/// What a builder may depend on besides its arguments. All of it is part of the specialisation key.
struct CompileOptions {
  bool debug = false; ///< keep device_assert
  bool sanitizeOverflow = false;
  std::string defaultInputPrecision = "tf32";
  int numWarps = 4, numStages = 3, numCtas = 1;
  int maxnreg = 0; ///< 0: the compiler's choice
  bool launchPdl = false;
  std::vector<ExternLibrary> externLibs; ///< in which functions are looked for, in this order
  std::string targetBackend = "cuda";    ///< what `tl.target_info` answers: "cuda" or "cpu"
  int targetArch = 90;                   ///< compute capability x 10
};

/// Thrown by builders and typing rules: the user's fault, without a place; the emitter adds it.
struct OpError {
  std::string code; ///< from the registry of diagnostics
  std::string message;
  std::string hint;
};

/// Where and under which options to build.
struct OpContext {
  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CompileOptions &options;
  /// Reports an old spelling, what `tl.static_print` prints or another remark; never stops the
  /// build.
  std::function<void(std::string code, std::string message, std::string hint)> note;
};

/// The arguments of a call, bound to the row's parameters in order; `*args` arrives as one tuple.
using Args = std::span<Value>;

struct Row {
  enum class Status : uint8_t { Supported, Partial, Unsupported };

  /// Under `tl`: "load", "math.exp", "extra.cuda.globaltimer"; "libdevice.tanh". Methods that are
  /// no functions are "tensor.to", "tensor_descriptor.load", "block_ptr.load".
  std::string_view name;
  std::string_view family;    ///< "memory", "reduction", ...: the heading in docs/language.md
  std::string_view signature; ///< as Python writes it: "pointer, mask=None, *, volatile=False";
                              ///< defaults are literals; empty for constants
  /// Null for what is unsupported, a prelude function, a constant or the emitter's own.
  Value (*build)(OpContext &context, Args args);
  std::string_view summary; ///< one line: what it does
  bool method = false;      ///< also a method of tensors, with the tensor as first argument
  Status status = Status::Supported;
  /// A difference from Triton, the reason of Unsupported, or today's spelling.
  std::string_view remark = {};
  /// Other names, separated by spaces; "old:" marks spellings that get a note.
  std::string_view aliases = {};
  bool prelude = false; ///< defined in prelude.py under the same name
  /// For names that are values, not functions: `tl.float32`, `tl.PropagateNan.ALL`.
  Value (*constant)() = nullptr;
  /// Needs the syntax around it, so the emitter has its own code for it by name: `tl.constexpr` as
  /// an annotation, `isinstance(x, tl.tensor)`, `tl.aggregate_replace`.
  bool emitter = false;
};

/// Every row, in the order of families.
std::span<const Row> table();
/// The row that `tl.<name>` reaches, by name or alias; null if there is none. Sets `oldSpelling`
/// for aliases marked "old:".
const Row *find(std::string_view name, bool *oldSpelling = nullptr);
/// The row behind the tensor method `name`; null if there is none.
const Row *findMethod(std::string_view name);
/// The row behind the method `name` of a tile, descriptor, block pointer or number; null if there
/// is none. The object is the first argument.
const Row *findMethod(const Value &self, std::string_view name);

/// "did you mean `name`?" for a name that the module `path` ("", "math.", ...; "tensor." for
/// methods of tiles) lacks; empty if none is close.
std::string suggestion(std::string_view path, std::string_view name);
/// What a kernel writes for something of another library: "use `tl.maximum(x, 0)`" for `relu`; or
/// empty.
std::string elsewhere(std::string_view name);

/// How a user writes the name: "tl.load", "libdevice.tanh", "x.to", "desc.load".
std::string spelling(const Row &row);
/// The same with the signature: "tl.exp(x)", "x.to(dtype, ...)".
std::string callSpelling(const Row &row);

/// A parameter of a row, parsed from its signature once.
struct Parameter {
  std::string_view name;
  bool hasDefault = false, keywordOnly = false, variadic = false;
  Value defaultValue;
};
std::span<const Parameter> parameters(const Row &row);

/// Binds a call to the row's parameters. Throws OpError for unknown, missing and repeated
/// arguments.
std::vector<Value> bind(const Row &row, std::vector<Value> positional,
                        std::vector<std::pair<std::string, Value>> keywords);

enum class BinaryOperator : uint8_t {
  Add,
  Sub,
  Mul,
  TrueDiv,
  FloorDiv,
  Mod,
  Pow,
  LShift,
  RShift,
  And,
  Or,
  Xor,
  MatMul,
  Lt,
  LtE,
  Gt,
  GtE,
  Eq,
  NotEq,
  LogicalAnd,
  LogicalOr
};
enum class UnaryOperator : uint8_t { Neg, Pos, Invert, Not };

/// Operators of which at least one side is a tile; the other may be any number.
Value binary(OpContext &context, BinaryOperator op, const Value &lhs, const Value &rhs);
Value unary(OpContext &context, UnaryOperator op, const Value &operand);
/// `x[:, None]`, `x[None]`, `x[...]`: `index` is what stands in the brackets, a tuple if there are
/// commas.
Value subscript(OpContext &context, const Value &tile, const Value &index);
/// Attributes of tiles, types and descriptors that are not methods: `.dtype`, `.shape`, `.T`,
/// `.element_ty`,
/// `.primitive_bitwidth`, `.numel`, ...; empty if there is no such attribute.
std::optional<Value> attribute(OpContext &context, const Value &object, std::string_view name);
/// Calls of methods on types: `x.dtype.is_fp16()`; empty if there is no such method.
std::optional<Value> typeMethod(OpContext &context, Type type, std::string_view name, Args args);

// Conversions that the emitter needs itself.

/// A number as a scalar tile with the literal's type (rule: 2**31 is u32, 2**32 i64, 2**63 u64,
/// 1e-40 f64); tiles pass.
Tile toTile(OpContext &context, const Value &value);
/// A scalar or tile converted to `type`'s element type (tl.cast).
Tile cast(OpContext &context, const Tile &value, Type element);
/// A scalar tile as i1, as a run-time condition reads it.
mlir::Value toCondition(OpContext &context, const Value &value);
/// `x` broadcast to `shape` (splat for scalars).
Tile broadcastTo(OpContext &context, const Tile &value, std::span<const int64_t> shape);

/// The generated part of docs/language.md: every name with its status.
std::string languageTable();

/// The text of prelude.py: composites written in the language itself.
std::string_view preludeSource();

} // namespace nereid::ops
