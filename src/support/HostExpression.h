// Host expressions (contract 7): what a program computes beside a launch - grids, heuristics,
// tuning keys, bytes moved - as a tree in a flat array of nodes. The compiler builds it from Python
// expressions, the artifact carries it, the launch path evaluates it without allocating, and `toC`
// prints it for an ahead-of-time header.
//
// Values are Python's: int (here 64 bits; a result that does not fit is an error, never a wrap),
// float, bool and None; `//` and `%` floor; `and`, `or` and the conditional evaluate only what they
// need. Errors (division by zero, overflow, an argument that is None) are returned.
#pragma once

#include "nereid/base.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {

struct HostValue {
  enum class Kind : uint8_t {
    None,
    Bool,
    Int,
    Float,
    Other,   ///< no number, as a tensor or a text: all it tells is that it is not None
    Missing, ///< not given, or too large: whatever asks for it fails
  };
  Kind kind = Kind::None;
  union {
    int64_t integer = 0; ///< Bool and Int
    double number;       ///< Float
  };

  static HostValue none() { return {}; }
  static HostValue boolean(bool value);
  static HostValue of(int64_t value);
  static HostValue of(double value);
  static HostValue other() { return {.kind = Kind::Other}; }
  static HostValue missing() { return {.kind = Kind::Missing}; }

  bool isNumber() const { return kind >= Kind::Bool && kind <= Kind::Float; }
  bool isNone() const { return kind == Kind::None; }
  bool isFloat() const { return kind == Kind::Float; }
  double asDouble() const { return isFloat() ? number : double(integer); }
  bool truth() const { return isFloat() ? number != 0 : integer != 0; }
};

enum class HostOp : uint8_t {
  // Leaves.
  None,
  Bool,     ///< immediate
  Int,      ///< immediate
  Float,    ///< immediate: bits
  Argument, ///< a = leaf number of the argument: its value
  Meta,     ///< a = number of the meta-parameter
  Numel,    ///< a = leaf number of a tensor
  Rank,
  ElementBytes,
  Shape,  ///< a = leaf number, immediate = dimension, negative from the end
  Stride, ///< in elements
  Address,
  TypeIn, ///< immediate = set of DTypes, a bit each: whether the elements are of one of them
  // One operand.
  Negate,
  Invert,
  Not,
  Abs,
  IsNone,
  ToInt, ///< truncates
  ToFloat,
  ToBool,
  Floor,
  Ceil,
  Sqrt,
  Log2,
  Exp2,
  NextPowerOf2, ///< triton.next_power_of_2: of 0 it is 0
  // Two operands.
  Add,
  Subtract,
  Multiply,
  Divide, ///< `/`: a float
  FloorDivide,
  Modulo,
  Power,
  BitAnd,
  BitOr,
  BitXor,
  ShiftLeft,
  ShiftRight,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Equal,
  NotEqual,
  Min,
  Max,
  Cdiv, ///< triton.cdiv: (x + y - 1) // y
  And,  ///< Python's: the value that decided
  Or,
  // Three operands.
  Select, ///< a if c else b: operands condition, a, b
  Count,
};

/// How many operands an operation has, 0 for leaves.
unsigned operandCount(HostOp op);

/// A node. Operands stand before it, and every node but the last is the operand of exactly one.
struct HostNode {
  uint8_t op = 0;
  uint8_t reserved[3] = {};
  uint32_t a = 0, b = 0, c = 0; ///< operands, or the leaf's number in `a`
  int64_t immediate = 0;
};
static_assert(sizeof(HostNode) == 24);

/// What of a tensor an expression sees.
struct HostTensorFacts {
  std::span<const int64_t> shape;
  std::span<const int64_t> strides; ///< in elements
  uint32_t elementBytes = 0;
  DType type = DType::Float32;
  const void *address = nullptr;
  bool hasShape = true; ///< false for a bare pointer
};

/// What an expression may ask about. Implementations do not allocate.
class HostArguments {
public:
  virtual ~HostArguments() = default;
  /// The value of an argument.
  virtual HostValue argument(uint32_t leaf) const = 0;
  virtual HostValue meta(uint32_t number) const = 0;
  /// Null if the leaf is no tensor and no pointer.
  virtual const HostTensorFacts *tensor(uint32_t leaf) const = 0;
};

/// Why an evaluation failed; null is success.
struct HostResult {
  HostValue value;
  const char *error = nullptr;
  bool ok() const { return !error; }
};

/// What leaves and meta-parameters are called when an expression is printed. Shape and strides of
/// `x` are `x_shape[i]`, `x_strides[i]` in C. Kinds matter to C only; missing ones are Int.
struct HostNames {
  std::vector<std::string> leaves, metas;
  std::vector<HostValue::Kind> leafKinds, metaKinds;
};

/// A checked expression, read in place.
class HostExpression {
public:
  static constexpr uint32_t maxNodes = 4096;
  static constexpr uint32_t maxDepth = 128;

  /// Checks untrusted bytes, which start at a multiple of 8 and stay as they are.
  static Result<HostExpression> open(std::span<const uint8_t> bytes);

  HostResult evaluate(const HostArguments &arguments) const;
  /// As a C expression: integers are `int64_t`, floats `double`. It calls the `nereid_` functions
  /// of `hostExpressionHelpersC` and does not check for errors, as C does not.
  std::string toC(const HostNames &names) const;
  /// As Python.
  std::string toPython(const HostNames &names) const;

  std::span<const HostNode> nodes() const { return tree; }

private:
  std::span<const HostNode> tree;
};

/// C definitions that the output of `toC` needs; printed once into a header.
std::string_view hostExpressionHelpersC();

/// Builds an expression bottom up. Each node may be used once; `copy` duplicates a tree.
class HostExpressionBuilder {
public:
  using Node = uint32_t;

  Node none();
  Node boolean(bool value);
  Node integer(int64_t value);
  Node floating(double value);
  Node argument(uint32_t leaf);
  Node meta(uint32_t number);
  Node numel(uint32_t leaf);
  Node rank(uint32_t leaf);
  Node elementBytes(uint32_t leaf);
  Node shape(uint32_t leaf, int64_t dimension);
  Node stride(uint32_t leaf, int64_t dimension);
  Node address(uint32_t leaf);
  Node typeIn(uint32_t leaf, std::span<const DType> types);
  Node unary(HostOp op, Node operand);
  Node binary(HostOp op, Node left, Node right);
  Node select(Node condition, Node whenTrue, Node whenFalse);
  Node copy(Node tree);

  /// The bytes of the expression whose root is `root`: only what it reaches.
  Result<std::vector<uint8_t>> finish(Node root) const;

private:
  Node leaf(HostOp op, uint32_t number, int64_t immediate = 0);
  std::vector<HostNode> nodes;
};

} // namespace nereid::support
