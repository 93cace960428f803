// How a call of nereid/kernels.h is described: its arguments as rows, the variants that can serve
// it, and the launches of each. One table an operation; checking, choosing and running are the same
// code for all (Bind.cpp, Choose.cpp, Library.cpp).
#pragma once

#include "nereid/kernels.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {
struct Constant;
}

namespace nereid::kernels {

// ---- Arguments

/// A set of element types.
class Types {
public:
  constexpr Types(std::initializer_list<DType> types) {
    for (DType type : types)
      bits |= 1u << unsigned(type);
  }
  constexpr bool has(DType type) const { return bits >> unsigned(type) & 1; }
  constexpr Types operator|(Types other) const {
    other.bits |= bits;
    return other;
  }
  std::string text() const; ///< "float16, bfloat16 or float32"

private:
  uint32_t bits = 0;
};

inline constexpr Types floats{DType::Float16, DType::BFloat16, DType::Float32};
inline constexpr Types narrowFloats{DType::Float8E4NV, DType::Float8E5};
inline constexpr Types eightBits = narrowFloats | Types{DType::Int8};
/// The largest number of a type of 8 bits; int8 leaves -128 out.
inline double largestOf(DType type) {
  return type == DType::Float8E4NV ? 448 : type == DType::Float8E5 ? 57344 : 127;
}
inline constexpr Types float32{DType::Float32};
inline constexpr Types int32{DType::Int32};
inline constexpr Types indices{DType::Int32, DType::Int64};

/// How an argument may lie in memory.
enum class Layout : uint8_t {
  Dense,   ///< row-major without gaps
  Rows,    ///< the last dimension contiguous, those before it evenly spaced rows
  Pages,   ///< row-major without gaps behind the first dimension
  Last,    ///< the last dimension contiguous, the others anyhow
  Strided, ///< anyhow
};

enum class Role : uint8_t { In, Out };

/// One argument of an operation.
struct ArgumentRow {
  std::string_view name;
  const Tensor &(*of)(const void *call);
  Role role;
  /// Its dimensions, apart by spaces. A letter is a size, which the first argument that names it
  /// binds; "E+1" also binds E, "T*K" needs both, "K/128" is
  /// rounded up; a number is itself. "..." is any number of
  /// leading dimensions, the same in all arguments, folded into the size M; "*" alone is any shape,
  /// the same in all arguments, folded into n.
  std::string_view shape;
  Types types;
  int sameTypeAs = -1; ///< the argument, by number, whose type it has
  Layout layout = Layout::Dense;
  bool optional = false;
  /// Arguments, by bit of their numbers, whose place a result may take.
  uint32_t mayBe = 0;
};

/// The member of a call struct that an argument is.
template <auto member> const Tensor &argument(const void *call) {
  return []<typename Call>(Tensor Call::*where, const void *of) -> const Tensor & {
    return static_cast<const Call *>(of)->*where;
  }(member, call);
}

// ---- A call that was checked

struct OperationRow;

/// Arguments, sizes and strides of a call, all of which agree.
class Bound {
public:
  static constexpr size_t maxArguments = 16;

  const OperationRow &operation;
  const void *call;
  std::array<const Tensor *, maxArguments> tensors = {};
  std::array<int64_t, maxArguments> rowStride = {}; ///< of Layout::Rows, in elements
  bool isCpu = false;
  unsigned units = 1; ///< of the device

  Bound(const OperationRow &operation, const void *call) : operation(operation), call(call) {
    sizes.fill(unbound);
  }
  template <typename Call> const Call &as() const { return *static_cast<const Call *>(call); }
  /// A size by its letter.
  int64_t operator[](char letter) const { return sizes[size_t(letter - 'A')]; }
  void bind(char letter, int64_t size) { sizes[size_t(letter - 'A')] = size; }
  bool isBound(char letter) const { return (*this)[letter] != unbound; }
  /// The element type that rows of tuning files call `dtype`.
  DType type() const;

private:
  static constexpr int64_t unbound = -1;
  std::array<int64_t, 'z' - 'A' + 1> sizes;
};

/// Arguments against their rows and each other. The device is that of the first argument; with a
/// stream it must be the stream's.
Result<Bound> bind(const OperationRow &operation, const void *call, const Device *device);

/// "`softmax`: " and what is wrong.
Error wrong(const OperationRow &operation, const std::string &what);
/// "float32 [4, 781]", with the strides if they are not those of a dense tensor.
std::string textOf(const Tensor &tensor);
/// "1e-09", "0.5": as many digits as tell it from what is allowed.
std::string textOf(float number);

// ---- Variants

/// Constants and options of a kernel. Names are literals.
class Config {
public:
  Config() = default;
  Config(std::initializer_list<std::pair<std::string_view, int64_t>> values) {
    for (const auto &[name, value] : values)
      set(name, value);
  }
  /// A constant, or an option as tuning files call it ("num_warps", ...).
  void set(std::string_view name, int64_t value);
  /// The value of a constant that every configuration of the variant has.
  int64_t operator[](std::string_view name) const;
  std::string text() const;

  CompileOptions options() const;

private:
  static constexpr size_t most = 10;
  std::array<std::pair<std::string_view, int64_t>, most> constants;
  size_t count = 0;
  int warps = 4, stages = 3, ctas = 1, registers = 0;
};

/// A kernel of the embedded folders. Rows of these are constants: their addresses are their names.
struct KernelSource {
  std::string_view folder, file, kernel;
};

struct Programs {
  int64_t x = 1, y = 1, z = 1;
};

/// Arguments of a launch, put together of pieces that launches share.
class Arguments {
public:
  Arguments(std::initializer_list<Argument> first) { add(first); }
  Arguments &add(std::span<const Argument> more) {
    assert(count + more.size() <= most);
    std::copy(more.begin(), more.end(), all.begin() + count);
    count += more.size();
    return *this;
  }
  Arguments &add(std::initializer_list<Argument> more) {
    return add(std::span(more.begin(), more.size()));
  }
  operator std::span<const Argument>() const { return {all.data(), count}; }

private:
  static constexpr size_t most = 48;
  std::array<Argument, most> all;
  size_t count = 0;
};

/// What a variant's plan writes its launches to: sized, compiled or run, as the call asks.
class Launches {
public:
  virtual ~Launches() = default;
  /// Room in the workspace, at a multiple of 256 bytes.
  Argument scratch(DType type, int64_t elements);
  /// The same as a row-major tensor, which descriptors are made of.
  Result<Tensor> scratchTensor(const Device &device, DType type, Shape shape);
  /// So many int32 that are 0 when the plan's launches begin, and that they leave 0.
  Result<Argument> counters(int64_t count);
  virtual Status launch(const KernelSource &kernel, const CompileOptions &options,
                        Programs programs, std::span<const Argument> arguments) = 0;
  Status launch(const KernelSource &kernel, const CompileOptions &options, Programs programs,
                std::initializer_list<Argument> arguments) {
    return launch(kernel, options, programs, std::span(arguments.begin(), arguments.size()));
  }

  size_t workspaceUsed() const { return used; }
  size_t countersUsed() const { return counted; }

protected:
  /// Clears counters that lie in a workspace.
  virtual Status clear(void *, size_t) { return Success{}; }

  char *workspace = nullptr;
  char *zeros = nullptr; ///< for counters; null: they lie in the workspace
  size_t used = 0, counted = 0;

private:
  /// A place of so many bytes, counted from null while there is no workspace yet.
  uintptr_t take(size_t bytes);
};

/// One way to compute an operation.
struct Variant {
  /// As rows of tuning files call it, "forward.online"; several names apart by spaces.
  std::string_view name;
  std::string_view constants; ///< that a row must have, apart by spaces
  /// Why it can't serve the call, or null if it can.
  const char *(*unfit)(const Bound &);
  /// The configuration where nothing like the call was measured, and what rows leave open.
  Config (*rule)(const Bound &);
  Status (*plan)(const Bound &, const Config &, Launches &);
  /// Whether, where nothing was measured, a later variant is to be taken instead.
  bool (*standsBack)(const Bound &) = nullptr;
};

/// A size of a call under the name that cases of the folder's spec use, or a list of them there.
struct SizeName {
  enum Of : uint8_t { Number, Count, Largest, Sum };
  std::string_view name;
  char letter;
  Of of = Number;
};

struct OperationRow {
  Operation operation;
  std::string_view name, folder;
  std::span<const ArgumentRow> arguments;
  std::span<const Variant>
      variants;                    ///< the first that is fit and does not stand back is the rule's
  std::span<const SizeName> sizes; ///< by which measured cases are near or far
  /// Sizes of which one of 0 leaves nothing to do.
  std::string_view nothingWithout;
  /// What rows cannot say: numbers, arguments that belong together. Text of what is wrong, or
  /// empty. May bind sizes that `sizes` names.
  std::string (*check)(Bound &) = nullptr;
  /// The same of numbers that lie in tensors and say where the kernel reads.
  Result<std::string> (*verify)(const Bound &, const Stream &) = nullptr;
  /// Whether a binding of a measured case that is neither a size nor `dtype` is so in the call.
  bool (*agrees)(const Bound &, std::string_view name, const support::Constant &value) = nullptr;
  const Tensor &(*workspace)(const void *call) = nullptr;
  size_t typeOf = 0; ///< the argument whose type `dtype` is
};

inline DType Bound::type() const { return tensors[operation.typeOf]->type(); }

inline constexpr unsigned operationCount = unsigned(Operation::UpdateFp8Scales) + 1;
/// The row of an operation.
const OperationRow &rowOf(Operation operation);

// The tables, by the file that has them.
std::span<const OperationRow> elementwiseRows();
std::span<const OperationRow> rowwiseRows();
std::span<const OperationRow> productRows();
std::span<const OperationRow> groupedProductRows();
std::span<const OperationRow> scaledProductRows();
std::span<const OperationRow> attentionRows();
std::span<const OperationRow> pagedRows();
std::span<const OperationRow> expertRows();
std::span<const OperationRow> orderRows();
std::span<const OperationRow> trainingRows();

// ---- For checks and plans

/// What kernels call a function: "none", "relu", "silu", "gelu" or "sigmoid"; null for
/// what is none of the enumeration.
const char *activationName(Activation activation);
/// What kernels call a precision of products of this type.
const char *precisionName(DType type, Precision precision);
/// A descriptor needs a last stride of 1 and others of a multiple of 16 bytes, an aligned start,
/// and elements: the driver makes no tensor map of nothing. Null if all of the tensors have them.
const char *whyNotDescribed(std::initializer_list<const Tensor *> tensors);
/// What is wrong with offsets that run from 0 to `total` and never fall; `most`, if it is not 0, is
/// the largest step.
Result<std::string> verifyOffsets(std::string_view name, const Tensor &offsets, int64_t total,
                                  int64_t most, const Stream &stream);
/// What is wrong with numbers that must be in [0, end).
Result<std::string> verifyBelow(std::string_view name, const Tensor &numbers, int64_t end,
                                const Stream &stream);

/// The integers of a tensor, row by row, once the work queued before is done.
Result<std::vector<int64_t>> numbersOf(const Tensor &tensor, const Stream &stream);

inline int64_t blocks(int64_t size, int64_t block) { return (size + block - 1) / block; }
inline int64_t powerOfTwo(int64_t size) {
  return int64_t(std::bit_ceil(uint64_t(size < 1 ? 1 : size)));
}

// ---- For attention, paged or not

/// The rows of a head as a tile holds them: a power of two that a matrix unit takes.
inline int64_t blockD(const Bound &bound) { return std::max<int64_t>(powerOfTwo(bound['D']), 16); }

/// What attention's scores are multiplied by; a call's 0 stands for 1 / sqrt(D).
template <typename Call> double scaleOf(const Bound &bound) {
  float given = bound.as<Call>().scale;
  return given != 0 ? given : 1 / std::sqrt(double(std::max<int64_t>(bound['D'], 1)));
}

} // namespace nereid::kernels
