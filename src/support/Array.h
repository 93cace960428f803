// Dense arrays for reference formulas: the part of NumPy that `reference.py` may use, in f64.
//
// Arrays are of three kinds, f64, i64 and bool, and combine as NumPy's float64, int64 and bool_ do.
// Data is always contiguous in row-major order and shared between copies; no operation changes an
// operand. A misuse (shapes that do not broadcast, an axis out of range) throws `ArrayError` with
// the shapes seen.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace nereid::support {

struct ArrayError {
  std::string message; ///< lower case, no period
};

class Array {
public:
  enum class Kind : uint8_t { Bool, Int, Float };
  using Shape = std::vector<int64_t>;

  Array() : Array(Kind::Float, {}) {}
  /// Zeros.
  Array(Kind kind, Shape shape);
  static Array scalar(double value);
  static Array scalar(int64_t value);
  static Array scalar(bool value);

  Kind kind() const { return kind_; }
  const Shape &shape() const { return shape_; }
  int64_t rank() const { return static_cast<int64_t>(shape_.size()); }
  int64_t size() const { return size_; }

  // Views of the data; the kind must fit. The mutable ones are for the maker of an array only.
  std::span<double> floats();
  std::span<const double> floats() const;
  std::span<int64_t> ints();
  std::span<const int64_t> ints() const;
  std::span<uint8_t> bools();
  std::span<const uint8_t> bools() const;

  /// Element `index` of the flat data, converted.
  double floatAt(int64_t index) const;
  int64_t intAt(int64_t index) const;
  bool boolAt(int64_t index) const;

  /// Floats become ints by truncation (NaN gives 0), numbers become bools by `!= 0`.
  Array astype(Kind kind) const;
  Array reshape(Shape shape) const;                  ///< one extent may be -1
  Array transpose(std::vector<int64_t> order) const; ///< empty: reverse all
  Array swapaxes(int64_t a, int64_t b) const;
  Array broadcastTo(const Shape &shape) const;
  Array expandDims(int64_t axis) const;

private:
  Kind kind_ = Kind::Float;
  Shape shape_;
  int64_t size_ = 0;
  std::shared_ptr<std::vector<double>> floats_;
  std::shared_ptr<std::vector<int64_t>> ints_;
  std::shared_ptr<std::vector<uint8_t>> bools_;
};

std::string shapeText(const Array::Shape &shape); ///< "(3, 4)"

enum class ArrayUnary : uint8_t {
  Neg,
  Invert,
  Exp,
  Exp2,
  Log,
  Log2,
  Sqrt,
  Tanh,
  Sin,
  Cos,
  Abs,
  Floor,
  Ceil,
  Sign,
  Square,
  IsNan,
  IsInf,
  Erf
};
enum class ArrayBinary : uint8_t {
  Add,
  Sub,
  Mul,
  TrueDiv,
  FloorDiv,
  Mod,
  Pow,
  Maximum,
  Minimum,
  And,
  Or,
  Xor,
  Lt,
  LtE,
  Gt,
  GtE,
  Eq,
  NotEq
};
enum class ArrayReduction : uint8_t { Sum, Max, Min, Mean, Prod, Any, All, ArgMax };

Array unary(ArrayUnary op, const Array &a);
Array binary(ArrayBinary op, const Array &a, const Array &b);
Array where(const Array &condition, const Array &a, const Array &b);
/// Over all elements without an axis.
Array reduce(ArrayReduction op, const Array &a, std::optional<int64_t> axis, bool keepDims);
Array cumsum(const Array &a, int64_t axis);
Array cumprod(const Array &a, int64_t axis);
/// As NumPy's `@`: leading dimensions broadcast, vectors are rows on the left and columns on the
/// right.
Array matmul(const Array &a, const Array &b);
Array concatenate(std::span<const Array> arrays, int64_t axis);
Array stack(std::span<const Array> arrays, int64_t axis);
Array repeat(const Array &a, int64_t count, int64_t axis);
Array take(const Array &a, const Array &index, std::optional<int64_t> axis);
Array sort(const Array &a, int64_t axis);
Array triangle(const Array &a, int64_t diagonal, bool lower); ///< tril, triu
Array arange(int64_t start, int64_t stop, int64_t step);

/// One item of an index expression: an int removes a dimension, a slice keeps it, None inserts one.
struct ArraySlice {
  std::optional<int64_t> start, stop, step;
};
struct NewAxis {};
struct EllipsisIndex {};
using ArrayIndex = std::variant<int64_t, ArraySlice, NewAxis, EllipsisIndex>;
Array index(const Array &a, std::span<const ArrayIndex> items);

} // namespace nereid::support
