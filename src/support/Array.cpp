#include "support/Array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

namespace nereid::support {

namespace {

using Kind = Array::Kind;
using Shape = Array::Shape;

// A reference formula of a test never needs more; the bound keeps a wrong shape from taking the
// machine's memory.
constexpr int64_t maxElements = int64_t(1) << 31;

[[noreturn]] void fail(std::string message) { throw ArrayError{std::move(message)}; }

int64_t countOf(const Shape &shape) {
  int64_t count = 1;
  for (int64_t extent : shape) {
    if (extent < 0)
      fail("negative extent in shape " + shapeText(shape));
    if (extent != 0 && count > maxElements / extent)
      fail("an array of shape " + shapeText(shape) + " is too large");
    count *= extent;
  }
  return count;
}

int64_t normalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) +
         " dimensions");
  return axis < 0 ? axis + rank : axis;
}

Shape rowMajorStrides(const Shape &shape) {
  Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

Shape broadcastShapes(const Shape &a, const Shape &b) {
  Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail("shapes " + shapeText(a) + " and " + shapeText(b) + " do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

// Strides with which `shape` is read as if it were `target`: 0 where it repeats.
Shape broadcastStrides(const Shape &shape, const Shape &target) {
  Shape own = rowMajorStrides(shape), strides(target.size(), 0);
  size_t shift = target.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    strides[shift + d] = shape[d] == 1 ? 0 : own[d];
  return strides;
}

// Calls visit(flat, offsets...) for each element of `shape` in row-major order.
template <size_t N, typename F>
void walk(const Shape &shape, const std::array<Shape, N> &strides, F visit) {
  int64_t count = countOf(shape);
  if (count == 0)
    return;
  std::array<int64_t, N> offset{};
  Shape position(shape.size(), 0);
  for (int64_t flat = 0; flat < count; ++flat) {
    visit(flat, offset);
    for (size_t d = shape.size(); d-- > 0;) {
      for (size_t n = 0; n < N; ++n)
        offset[n] += strides[n][d];
      if (++position[d] < shape[d])
        break;
      for (size_t n = 0; n < N; ++n)
        offset[n] -= strides[n][d] * shape[d];
      position[d] = 0;
    }
  }
}

// out[flat] = a[offset], the array read with other strides and from an offset.
Array gatherStrided(const Array &a, const Shape &shape, const Shape &strides, int64_t base = 0) {
  Array out(a.kind(), shape);
  std::array<Shape, 1> s = {strides};
  switch (a.kind()) {
  case Kind::Float:
    walk(shape, s, [&, to = out.floats(), from = a.floats()](int64_t i, auto &o) {
      to[i] = from[base + o[0]];
    });
    break;
  case Kind::Int:
    walk(shape, s,
         [&, to = out.ints(), from = a.ints()](int64_t i, auto &o) { to[i] = from[base + o[0]]; });
    break;
  case Kind::Bool:
    walk(shape, s, [&, to = out.bools(), from = a.bools()](int64_t i, auto &o) {
      to[i] = from[base + o[0]];
    });
    break;
  }
  return out;
}

Kind joined(Kind a, Kind b) { return std::max(a, b); }

int64_t floorDivide(int64_t a, int64_t b) {
  if (b == 0)
    return 0; // as NumPy
  if (b == -1)
    return static_cast<int64_t>(0 - static_cast<uint64_t>(a));
  int64_t q = a / b;
  return q - ((a % b != 0) && ((a < 0) != (b < 0)));
}
int64_t floorModulo(int64_t a, int64_t b) {
  if (b == 0 || b == -1)
    return 0;
  int64_t r = a % b;
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
double floorModulo(double a, double b) {
  double r = std::fmod(a, b);
  return r != 0 && ((r < 0) != (b < 0)) ? r + b : r;
}
int64_t power(int64_t base, int64_t exponent) {
  if (exponent < 0)
    fail("an integer array to a negative power");
  uint64_t result = 1, factor = static_cast<uint64_t>(base);
  for (; exponent; exponent >>= 1, factor *= factor)
    if (exponent & 1)
      result *= factor;
  return static_cast<int64_t>(result);
}
// NaN wins, as in NumPy.
double nanMax(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b); }
double nanMin(double a, double b) { return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b); }

template <typename F> Array mapFloat(const Array &a, F f) {
  Array out(Kind::Float, a.shape());
  auto to = out.floats();
  for (int64_t i = 0; i < a.size(); ++i)
    to[i] = f(a.floatAt(i));
  return out;
}
template <typename F> Array mapBool(const Array &a, F f) {
  Array out(Kind::Bool, a.shape());
  auto to = out.bools();
  for (int64_t i = 0; i < a.size(); ++i)
    to[i] = f(a.floatAt(i));
  return out;
}

template <typename F> Array zipFloat(const Array &a, const Array &b, const Shape &shape, F f) {
  Array x = a.astype(Kind::Float), y = b.astype(Kind::Float), out(Kind::Float, shape);
  std::array<Shape, 2> s = {broadcastStrides(a.shape(), shape), broadcastStrides(b.shape(), shape)};
  walk(shape, s,
       [&, to = out.floats(), l = std::as_const(x).floats(),
        r = std::as_const(y).floats()](int64_t i, auto &o) { to[i] = f(l[o[0]], r[o[1]]); });
  return out;
}
template <typename F> Array zipInt(const Array &a, const Array &b, const Shape &shape, F f) {
  Array x = a.astype(Kind::Int), y = b.astype(Kind::Int), out(Kind::Int, shape);
  std::array<Shape, 2> s = {broadcastStrides(a.shape(), shape), broadcastStrides(b.shape(), shape)};
  walk(shape, s,
       [&, to = out.ints(), l = std::as_const(x).ints(),
        r = std::as_const(y).ints()](int64_t i, auto &o) { to[i] = f(l[o[0]], r[o[1]]); });
  return out;
}
template <typename F> Array compare(const Array &a, const Array &b, const Shape &shape, F f) {
  Array out(Kind::Bool, shape);
  std::array<Shape, 2> s = {broadcastStrides(a.shape(), shape), broadcastStrides(b.shape(), shape)};
  auto to = out.bools();
  // Integers are compared as integers: f64 cannot tell 2**53 from 2**53 + 1.
  if (joined(a.kind(), b.kind()) == Kind::Float)
    walk(shape, s, [&](int64_t i, auto &o) { to[i] = f(a.floatAt(o[0]), b.floatAt(o[1])); });
  else
    walk(shape, s, [&](int64_t i, auto &o) { to[i] = f(a.intAt(o[0]), b.intAt(o[1])); });
  return out;
}

} // namespace

std::string shapeText(const Shape &shape) {
  std::string text = "(";
  for (size_t d = 0; d < shape.size(); ++d)
    text += (d ? ", " : "") + std::to_string(shape[d]);
  return text + (shape.size() == 1 ? ",)" : ")");
}

Array::Array(Kind kind, Shape shape)
    : kind_(kind), shape_(std::move(shape)), size_(countOf(shape_)) {
  switch (kind_) {
  case Kind::Float:
    floats_ = std::make_shared<std::vector<double>>(size_);
    break;
  case Kind::Int:
    ints_ = std::make_shared<std::vector<int64_t>>(size_);
    break;
  case Kind::Bool:
    bools_ = std::make_shared<std::vector<uint8_t>>(size_);
    break;
  }
}
Array Array::scalar(double value) {
  Array a(Kind::Float, {});
  a.floats()[0] = value;
  return a;
}
Array Array::scalar(int64_t value) {
  Array a(Kind::Int, {});
  a.ints()[0] = value;
  return a;
}
Array Array::scalar(bool value) {
  Array a(Kind::Bool, {});
  a.bools()[0] = value;
  return a;
}

std::span<double> Array::floats() { return *floats_; }
std::span<const double> Array::floats() const { return *floats_; }
std::span<int64_t> Array::ints() { return *ints_; }
std::span<const int64_t> Array::ints() const { return *ints_; }
std::span<uint8_t> Array::bools() { return *bools_; }
std::span<const uint8_t> Array::bools() const { return *bools_; }

double Array::floatAt(int64_t i) const {
  return kind_ == Kind::Float ? (*floats_)[i]
         : kind_ == Kind::Int ? double((*ints_)[i])
                              : double((*bools_)[i]);
}
int64_t Array::intAt(int64_t i) const {
  if (kind_ == Kind::Int)
    return (*ints_)[i];
  if (kind_ == Kind::Bool)
    return (*bools_)[i];
  double value = (*floats_)[i];
  if (std::isnan(value))
    return 0;
  if (value >= 0x1p63)
    return std::numeric_limits<int64_t>::max();
  return value < -0x1p63 ? std::numeric_limits<int64_t>::min() : static_cast<int64_t>(value);
}
bool Array::boolAt(int64_t i) const {
  return kind_ == Kind::Bool  ? (*bools_)[i]
         : kind_ == Kind::Int ? (*ints_)[i] != 0
                              : (*floats_)[i] != 0;
}

Array Array::astype(Kind kind) const {
  if (kind == kind_)
    return *this;
  Array out(kind, shape_);
  for (int64_t i = 0; i < size_; ++i)
    switch (kind) {
    case Kind::Float:
      (*out.floats_)[i] = floatAt(i);
      break;
    case Kind::Int:
      (*out.ints_)[i] = intAt(i);
      break;
    case Kind::Bool:
      (*out.bools_)[i] = boolAt(i);
      break;
    }
  return out;
}

Array Array::reshape(Shape shape) const {
  int64_t known = 1, open = -1;
  for (size_t d = 0; d < shape.size(); ++d) {
    if (shape[d] == -1 && open < 0)
      open = static_cast<int64_t>(d);
    else
      known *= shape[d];
  }
  if (open >= 0 && known > 0 && size_ % known == 0)
    shape[open] = size_ / known;
  if (std::any_of(shape.begin(), shape.end(), [](int64_t e) { return e < 0; }) ||
      countOf(shape) != size_)
    fail("cannot reshape " + shapeText(shape_) + " to " + shapeText(shape));
  Array out = *this;
  out.shape_ = std::move(shape);
  return out;
}

Array Array::transpose(std::vector<int64_t> order) const {
  if (order.empty()) {
    order.resize(shape_.size());
    std::iota(order.rbegin(), order.rend(), 0);
  }
  Shape own = rowMajorStrides(shape_), shape, strides;
  std::vector<bool> seen(shape_.size());
  if (order.size() != shape_.size())
    fail("transpose of " + shapeText(shape_) + " needs " + std::to_string(shape_.size()) + " axes");
  for (int64_t axis : order) {
    axis = normalAxis(axis, rank());
    if (seen[axis])
      fail("transpose names axis " + std::to_string(axis) + " twice");
    seen[axis] = true;
    shape.push_back(shape_[axis]);
    strides.push_back(own[axis]);
  }
  return gatherStrided(*this, shape, strides);
}

Array Array::swapaxes(int64_t a, int64_t b) const {
  std::vector<int64_t> order(shape_.size());
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[normalAxis(a, rank())], order[normalAxis(b, rank())]);
  return transpose(std::move(order));
}

Array Array::broadcastTo(const Shape &shape) const {
  if (shape == shape_)
    return *this;
  if (shape.size() < shape_.size() || broadcastShapes(shape_, shape) != shape)
    fail("cannot broadcast " + shapeText(shape_) + " to " + shapeText(shape));
  return gatherStrided(*this, shape, broadcastStrides(shape_, shape));
}

Array Array::expandDims(int64_t axis) const {
  Shape shape = shape_;
  shape.insert(shape.begin() + normalAxis(axis, rank() + 1), 1);
  return reshape(std::move(shape));
}

Array unary(ArrayUnary op, const Array &a) {
  using U = ArrayUnary;
  switch (op) {
  case U::Neg:
    if (a.kind() == Kind::Float)
      return mapFloat(a, [](double x) { return -x; });
    return binary(ArrayBinary::Sub, Array::scalar(int64_t(0)), a);
  case U::Invert: {
    if (a.kind() == Kind::Float)
      fail("`~` of a float array");
    Array out(a.kind(), a.shape());
    for (int64_t i = 0; i < a.size(); ++i)
      if (a.kind() == Kind::Bool)
        out.bools()[i] = !a.bools()[i];
      else
        out.ints()[i] = ~a.ints()[i];
    return out;
  }
  case U::Abs:
    if (a.kind() == Kind::Float)
      return mapFloat(a, [](double x) { return std::fabs(x); });
    return binary(ArrayBinary::Maximum, a, unary(U::Neg, a));
  case U::Square:
    return binary(ArrayBinary::Mul, a, a);
  case U::Sign: {
    Array signs =
        mapFloat(a, [](double x) { return std::isnan(x) ? x : double((x > 0) - (x < 0)); });
    return a.kind() == Kind::Float ? signs : signs.astype(Kind::Int);
  }
  case U::Floor:
    return a.kind() == Kind::Float ? mapFloat(a, [](double x) { return std::floor(x); }) : a;
  case U::Ceil:
    return a.kind() == Kind::Float ? mapFloat(a, [](double x) { return std::ceil(x); }) : a;
  case U::Exp:
    return mapFloat(a, [](double x) { return std::exp(x); });
  case U::Exp2:
    return mapFloat(a, [](double x) { return std::exp2(x); });
  case U::Log:
    return mapFloat(a, [](double x) { return std::log(x); });
  case U::Log2:
    return mapFloat(a, [](double x) { return std::log2(x); });
  case U::Sqrt:
    return mapFloat(a, [](double x) { return std::sqrt(x); });
  case U::Tanh:
    return mapFloat(a, [](double x) { return std::tanh(x); });
  case U::Sin:
    return mapFloat(a, [](double x) { return std::sin(x); });
  case U::Cos:
    return mapFloat(a, [](double x) { return std::cos(x); });
  case U::Erf:
    return mapFloat(a, [](double x) { return std::erf(x); });
  case U::IsNan:
    return mapBool(a, [](double x) { return std::isnan(x); });
  case U::IsInf:
    return mapBool(a, [](double x) { return std::isinf(x); });
  }
  fail("unknown function");
}

Array binary(ArrayBinary op, const Array &a, const Array &b) {
  using B = ArrayBinary;
  Shape shape = broadcastShapes(a.shape(), b.shape());
  bool isFloat = joined(a.kind(), b.kind()) == Kind::Float;
  switch (op) {
  case B::Lt:
    return compare(a, b, shape, [](auto x, auto y) { return x < y; });
  case B::LtE:
    return compare(a, b, shape, [](auto x, auto y) { return x <= y; });
  case B::Gt:
    return compare(a, b, shape, [](auto x, auto y) { return x > y; });
  case B::GtE:
    return compare(a, b, shape, [](auto x, auto y) { return x >= y; });
  case B::Eq:
    return compare(a, b, shape, [](auto x, auto y) { return x == y; });
  case B::NotEq:
    return compare(a, b, shape, [](auto x, auto y) { return x != y; });
  case B::And:
  case B::Or:
  case B::Xor: {
    if (isFloat)
      fail("a bitwise operator on a float array");
    Array out = zipInt(a, b, shape, [&](int64_t x, int64_t y) {
      return op == B::And ? (x & y) : op == B::Or ? (x | y) : (x ^ y);
    });
    return joined(a.kind(), b.kind()) == Kind::Bool ? out.astype(Kind::Bool) : out;
  }
  case B::TrueDiv:
    return zipFloat(a, b, shape, [](double x, double y) { return x / y; });
  default:
    break;
  }
  if (isFloat)
    switch (op) {
    case B::Add:
      return zipFloat(a, b, shape, [](double x, double y) { return x + y; });
    case B::Sub:
      return zipFloat(a, b, shape, [](double x, double y) { return x - y; });
    case B::Mul:
      return zipFloat(a, b, shape, [](double x, double y) { return x * y; });
    case B::FloorDiv:
      return zipFloat(a, b, shape, [](double x, double y) { return std::floor(x / y); });
    case B::Mod:
      return zipFloat(a, b, shape, [](double x, double y) { return floorModulo(x, y); });
    case B::Pow:
      return zipFloat(a, b, shape, [](double x, double y) { return std::pow(x, y); });
    case B::Maximum:
      return zipFloat(a, b, shape, nanMax);
    case B::Minimum:
      return zipFloat(a, b, shape, nanMin);
    default:
      break;
    }
  // Integers wrap, as NumPy's do.
  auto wrap = [](uint64_t x) { return static_cast<int64_t>(x); };
  switch (op) {
  case B::Add:
    return zipInt(a, b, shape,
                  [&](int64_t x, int64_t y) { return wrap(uint64_t(x) + uint64_t(y)); });
  case B::Sub:
    return zipInt(a, b, shape,
                  [&](int64_t x, int64_t y) { return wrap(uint64_t(x) - uint64_t(y)); });
  case B::Mul:
    return zipInt(a, b, shape,
                  [&](int64_t x, int64_t y) { return wrap(uint64_t(x) * uint64_t(y)); });
  case B::FloorDiv:
    return zipInt(a, b, shape, floorDivide);
  case B::Mod:
    return zipInt(a, b, shape, [](int64_t x, int64_t y) { return floorModulo(x, y); });
  case B::Pow:
    return zipInt(a, b, shape, power);
  case B::Maximum:
    return zipInt(a, b, shape, [](int64_t x, int64_t y) { return std::max(x, y); });
  case B::Minimum:
    return zipInt(a, b, shape, [](int64_t x, int64_t y) { return std::min(x, y); });
  default:
    fail("unknown operator");
  }
}

Array where(const Array &condition, const Array &a, const Array &b) {
  Shape shape = broadcastShapes(condition.shape(), broadcastShapes(a.shape(), b.shape()));
  Kind kind = joined(a.kind(), b.kind());
  Array x = a.astype(kind), y = b.astype(kind), out(kind, shape);
  std::array<Shape, 3> s = {broadcastStrides(condition.shape(), shape),
                            broadcastStrides(a.shape(), shape), broadcastStrides(b.shape(), shape)};
  walk(shape, s, [&](int64_t i, auto &o) {
    bool first = condition.boolAt(o[0]);
    const Array &from = first ? x : y;
    int64_t at = first ? o[1] : o[2];
    switch (kind) {
    case Kind::Float:
      out.floats()[i] = from.floats()[at];
      break;
    case Kind::Int:
      out.ints()[i] = from.ints()[at];
      break;
    case Kind::Bool:
      out.bools()[i] = from.bools()[at];
      break;
    }
  });
  return out;
}

// The array as outer x extent x inner around an axis.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
  AxisView(const Shape &shape, int64_t axis) : extent(shape[axis]) {
    for (int64_t d = 0; d < axis; ++d)
      outer *= shape[d];
    for (size_t d = axis + 1; d < shape.size(); ++d)
      inner *= shape[d];
  }
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * extent + k) * inner + i; }
};

Array reduce(ArrayReduction op, const Array &a, std::optional<int64_t> axis, bool keepDims) {
  using R = ArrayReduction;
  if (!axis) {
    Array flat = reduce(op, a.reshape({a.size()}), 0, false);
    return keepDims ? flat.reshape(Shape(a.shape().size(), 1)) : flat;
  }
  int64_t d = normalAxis(*axis, a.rank());
  AxisView view(a.shape(), d);
  Shape shape = a.shape();
  if (keepDims)
    shape[d] = 1;
  else
    shape.erase(shape.begin() + d);
  if (view.extent == 0 && (op == R::Max || op == R::Min || op == R::ArgMax) &&
      view.outer * view.inner > 0)
    fail("the maximum of no elements");

  bool isFloat = a.kind() == Kind::Float || op == R::Mean;
  Kind kind = op == R::Any || op == R::All     ? Kind::Bool
              : op == R::ArgMax                ? Kind::Int
              : isFloat                        ? Kind::Float
              : (op == R::Max || op == R::Min) ? a.kind()
                                               : Kind::Int;
  Array out(kind, shape);
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < view.inner; ++i) {
      int64_t to = o * view.inner + i;
      auto f = [&](int64_t k) { return a.floatAt(view.at(o, k, i)); };
      auto n = [&](int64_t k) { return a.intAt(view.at(o, k, i)); };
      if (op == R::Any || op == R::All) {
        bool result = op == R::All;
        for (int64_t k = 0; k < view.extent; ++k)
          if (a.boolAt(view.at(o, k, i)) != (op == R::All))
            result = op != R::All;
        out.bools()[to] = result;
      } else if (op == R::ArgMax) {
        int64_t best = 0;
        for (int64_t k = 1; k < view.extent; ++k) {
          bool better = a.kind() == Kind::Float
                            ? (f(k) > f(best) || (std::isnan(f(k)) && !std::isnan(f(best))))
                            : n(k) > n(best);
          if (better)
            best = k;
        }
        out.ints()[to] = best;
      } else if (isFloat) {
        double result = op == R::Prod ? 1 : op == R::Max ? -INFINITY : op == R::Min ? INFINITY : 0;
        double lost = 0; // Kahan: a reference should not carry the error of a long sum
        for (int64_t k = 0; k < view.extent; ++k) {
          double x = f(k);
          if (op == R::Prod)
            result *= x;
          else if (op == R::Max)
            result = nanMax(result, x);
          else if (op == R::Min)
            result = nanMin(result, x);
          else if (!std::isfinite(x) || !std::isfinite(result))
            result += x;
          else {
            double y = x - lost, next = result + y;
            lost = (next - result) - y;
            result = next;
          }
        }
        out.floats()[to] = op == R::Mean ? result / double(view.extent) : result;
      } else {
        int64_t result = op == R::Prod ? 1 : (op == R::Max || op == R::Min) ? n(0) : 0;
        for (int64_t k = 0; k < view.extent; ++k)
          result = op == R::Prod  ? int64_t(uint64_t(result) * uint64_t(n(k)))
                   : op == R::Max ? std::max(result, n(k))
                   : op == R::Min ? std::min(result, n(k))
                                  : int64_t(uint64_t(result) + uint64_t(n(k)));
        if (kind == Kind::Bool)
          out.bools()[to] = result != 0;
        else
          out.ints()[to] = result;
      }
    }
  return out;
}

template <typename F, typename G>
static Array accumulate(const Array &a, int64_t axis, F onFloat, G onInt) {
  int64_t d = normalAxis(axis, a.rank());
  AxisView view(a.shape(), d);
  Array out = a.kind() == Kind::Float ? Array(Kind::Float, a.shape()) : Array(Kind::Int, a.shape());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < view.inner; ++i)
      for (int64_t k = 0; k < view.extent; ++k) {
        int64_t at = view.at(o, k, i), before = view.at(o, k - 1, i);
        if (out.kind() == Kind::Float)
          out.floats()[at] = k ? onFloat(out.floats()[before], a.floatAt(at)) : a.floatAt(at);
        else
          out.ints()[at] = k ? onInt(out.ints()[before], a.intAt(at)) : a.intAt(at);
      }
  return out;
}
Array cumsum(const Array &a, int64_t axis) {
  return accumulate(
      a, axis, [](double x, double y) { return x + y; },
      [](int64_t x, int64_t y) { return int64_t(uint64_t(x) + uint64_t(y)); });
}
Array cumprod(const Array &a, int64_t axis) {
  return accumulate(
      a, axis, [](double x, double y) { return x * y; },
      [](int64_t x, int64_t y) { return int64_t(uint64_t(x) * uint64_t(y)); });
}

Array matmul(const Array &a, const Array &b) {
  if (a.rank() == 0 || b.rank() == 0)
    fail("`@` of a scalar");
  if (a.rank() == 1 || b.rank() == 1) {
    Array left = a.rank() == 1 ? a.expandDims(0) : a, right = b.rank() == 1 ? b.expandDims(1) : b;
    Array product = matmul(left, right);
    Shape shape = product.shape();
    if (b.rank() == 1)
      shape.pop_back();
    if (a.rank() == 1)
      shape.erase(shape.end() - (b.rank() == 1 ? 1 : 2));
    return product.reshape(shape);
  }
  int64_t m = a.shape()[a.rank() - 2], k = a.shape().back(), n = b.shape().back();
  if (b.shape()[b.rank() - 2] != k)
    fail("`@` of shapes " + shapeText(a.shape()) + " and " + shapeText(b.shape()));
  Shape batch = broadcastShapes(Shape(a.shape().begin(), a.shape().end() - 2),
                                Shape(b.shape().begin(), b.shape().end() - 2));
  Shape left = batch, right = batch, result = batch;
  left.insert(left.end(), {m, k});
  right.insert(right.end(), {k, n});
  result.insert(result.end(), {m, n});
  bool isFloat = joined(a.kind(), b.kind()) == Kind::Float;
  Array x = a.astype(Kind::Float).broadcastTo(left), y = b.astype(Kind::Float).broadcastTo(right);
  Array out(Kind::Float, result);
  const double *p = std::as_const(x).floats().data(), *q = std::as_const(y).floats().data();
  double *r = out.floats().data();
  for (int64_t t = countOf(batch); t-- > 0; p += m * k, q += k * n, r += m * n)
    for (int64_t i = 0; i < m; ++i)
      for (int64_t l = 0; l < k; ++l)
        for (int64_t j = 0; j < n; ++j)
          r[i * n + j] += p[i * k + l] * q[l * n + j];
  // Products of int8 and the like stay far below 2^53, where f64 is exact.
  return isFloat ? out : out.astype(Kind::Int);
}

Array concatenate(std::span<const Array> arrays, int64_t axis) {
  if (arrays.empty())
    fail("nothing to concatenate");
  int64_t d = normalAxis(axis, arrays[0].rank());
  Shape shape = arrays[0].shape();
  Kind kind = arrays[0].kind();
  for (const Array &a : arrays.subspan(1)) {
    Shape other = a.shape();
    if (other.size() != shape.size())
      fail("concatenate of " + shapeText(shape) + " and " + shapeText(other));
    shape[d] += other[d];
    other[d] = shape[d];
    if (other != shape)
      fail("concatenate of " + shapeText(arrays[0].shape()) + " and " + shapeText(a.shape()));
    kind = joined(kind, a.kind());
  }
  Array out(kind, shape);
  AxisView whole(shape, d);
  int64_t start = 0;
  for (const Array &a : arrays) {
    AxisView view(a.shape(), d);
    for (int64_t o = 0; o < view.outer; ++o)
      for (int64_t k = 0; k < view.extent; ++k)
        for (int64_t i = 0; i < view.inner; ++i) {
          int64_t to = whole.at(o, start + k, i), from = view.at(o, k, i);
          if (kind == Kind::Float)
            out.floats()[to] = a.floatAt(from);
          else if (kind == Kind::Int)
            out.ints()[to] = a.intAt(from);
          else
            out.bools()[to] = a.boolAt(from);
        }
    start += view.extent;
  }
  return out;
}

Array stack(std::span<const Array> arrays, int64_t axis) {
  std::vector<Array> expanded;
  for (const Array &a : arrays) {
    if (a.shape() != arrays[0].shape())
      fail("arrays of shapes " + shapeText(arrays[0].shape()) + " and " + shapeText(a.shape()) +
           " cannot be stacked");
    expanded.push_back(a.expandDims(axis));
  }
  return concatenate(expanded, axis);
}

Array repeat(const Array &a, int64_t count, int64_t axis) {
  int64_t d = normalAxis(axis, a.rank());
  if (count < 0)
    fail("repeat " + std::to_string(count) + " times");
  // x[.., k, ..] -> x[.., k, c, ..] -> x[.., k * count + c, ..]
  Shape shape = a.shape(), merged = a.shape();
  shape.insert(shape.begin() + d + 1, count);
  merged[d] *= count;
  return a.expandDims(d + 1).broadcastTo(shape).reshape(merged);
}

Array take(const Array &a, const Array &index, std::optional<int64_t> axis) {
  if (!axis)
    return take(a.reshape({a.size()}), index, 0);
  if (index.kind() != Kind::Int)
    fail("take by an array that is not of integers");
  int64_t d = normalAxis(*axis, a.rank());
  AxisView view(a.shape(), d);
  Shape shape(a.shape().begin(), a.shape().begin() + d);
  shape.insert(shape.end(), index.shape().begin(), index.shape().end());
  shape.insert(shape.end(), a.shape().begin() + d + 1, a.shape().end());
  Array out(a.kind(), shape);
  int64_t to = 0;
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t j = 0; j < index.size(); ++j) {
      int64_t k = index.ints()[j];
      if (k < -view.extent || k >= view.extent)
        fail("index " + std::to_string(k) + " is out of range for " + std::to_string(view.extent) +
             " elements");
      k += k < 0 ? view.extent : 0;
      for (int64_t i = 0; i < view.inner; ++i, ++to)
        switch (a.kind()) {
        case Kind::Float:
          out.floats()[to] = a.floats()[view.at(o, k, i)];
          break;
        case Kind::Int:
          out.ints()[to] = a.ints()[view.at(o, k, i)];
          break;
        case Kind::Bool:
          out.bools()[to] = a.bools()[view.at(o, k, i)];
          break;
        }
    }
  return out;
}

Array sort(const Array &a, int64_t axis) {
  int64_t d = normalAxis(axis, a.rank());
  AxisView view(a.shape(), d);
  std::vector<int64_t> order(view.extent);
  Array out(a.kind(), a.shape());
  for (int64_t o = 0; o < view.outer; ++o)
    for (int64_t i = 0; i < view.inner; ++i) {
      std::iota(order.begin(), order.end(), 0);
      std::stable_sort(order.begin(), order.end(), [&](int64_t x, int64_t y) {
        if (a.kind() != Kind::Float)
          return a.intAt(view.at(o, x, i)) < a.intAt(view.at(o, y, i));
        double l = a.floats()[view.at(o, x, i)], r = a.floats()[view.at(o, y, i)];
        return l < r || (std::isnan(r) && !std::isnan(l)); // NaN last
      });
      for (int64_t k = 0; k < view.extent; ++k) {
        int64_t to = view.at(o, k, i), from = view.at(o, order[k], i);
        switch (a.kind()) {
        case Kind::Float:
          out.floats()[to] = a.floats()[from];
          break;
        case Kind::Int:
          out.ints()[to] = a.ints()[from];
          break;
        case Kind::Bool:
          out.bools()[to] = a.bools()[from];
          break;
        }
      }
    }
  return out;
}

Array triangle(const Array &a, int64_t diagonal, bool lower) {
  if (a.rank() < 2)
    fail("a triangle of shape " + shapeText(a.shape()));
  int64_t rows = a.shape()[a.rank() - 2], columns = a.shape().back();
  Array keep(Kind::Bool, {rows, columns});
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < columns; ++c)
      keep.bools()[r * columns + c] = lower ? c - r <= diagonal : c - r >= diagonal;
  return where(keep, a, Array(a.kind(), {}));
}

Array arange(int64_t start, int64_t stop, int64_t step) {
  if (step == 0)
    fail("arange with step 0");
  __int128 span = __int128(stop) - start;
  __int128 count = step > 0 ? (span + step - 1) / step : (-span - step - 1) / -__int128(step);
  if (count > maxElements)
    fail("arange of too many elements");
  Array out(Kind::Int, {count < 0 ? 0 : int64_t(count)});
  for (int64_t i = 0; i < out.size(); ++i)
    out.ints()[i] = start + i * step;
  return out;
}

Array index(const Array &a, std::span<const ArrayIndex> items) {
  int64_t used = 0, ellipses = 0;
  for (const ArrayIndex &item : items) {
    used += std::holds_alternative<int64_t>(item) || std::holds_alternative<ArraySlice>(item);
    ellipses += std::holds_alternative<EllipsisIndex>(item);
  }
  if (used > a.rank() || ellipses > 1)
    fail("too many indices for shape " + shapeText(a.shape()));
  Shape own = rowMajorStrides(a.shape()), shape, strides;
  int64_t base = 0, d = 0;
  auto keepWhole = [&](int64_t count) {
    for (; count > 0; --count, ++d) {
      shape.push_back(a.shape()[d]);
      strides.push_back(own[d]);
    }
  };
  for (const ArrayIndex &item : items) {
    if (std::holds_alternative<EllipsisIndex>(item)) {
      keepWhole(a.rank() - used);
    } else if (std::holds_alternative<NewAxis>(item)) {
      shape.push_back(1);
      strides.push_back(0);
    } else if (auto *at = std::get_if<int64_t>(&item)) {
      int64_t extent = a.shape()[d];
      if (*at < -extent || *at >= extent)
        fail("index " + std::to_string(*at) + " is out of range for " + std::to_string(extent) +
             " elements");
      base += own[d] * (*at < 0 ? *at + extent : *at);
      ++d;
    } else {
      const ArraySlice &slice = std::get<ArraySlice>(item);
      int64_t extent = a.shape()[d], step = slice.step.value_or(1);
      if (step == 0)
        fail("slice with step 0");
      // Python's slice.indices().
      auto clamp = [&](int64_t x) {
        x += x < 0 ? extent : 0;
        return step > 0 ? std::clamp<int64_t>(x, 0, extent)
                        : std::clamp<int64_t>(x, -1, extent - 1);
      };
      int64_t start = slice.start ? clamp(*slice.start) : step > 0 ? 0 : extent - 1;
      int64_t stop = slice.stop ? clamp(*slice.stop) : step > 0 ? extent : -1;
      // Only the distance is ever divided, so that no step, however large, overflows.
      int64_t distance = step > 0 ? stop - start : start - stop;
      uint64_t stride = step > 0 ? uint64_t(step) : 0 - uint64_t(step);
      int64_t count = distance <= 0 ? 0 : int64_t((uint64_t(distance) - 1) / stride) + 1;
      if (count > 0)
        base += start * own[d];
      shape.push_back(count);
      strides.push_back(count > 1 ? own[d] * step : 0);
      ++d;
    }
  }
  keepWhole(a.rank() - d);
  return gatherStrided(a, shape, strides, base);
}

} // namespace nereid::support
