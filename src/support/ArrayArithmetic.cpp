// Operations on each element, one or several arrays at a time.
#include "support/ArrayShapes.h"

#include <cmath>
#include <limits>

namespace nereid::support {

using Kind = Array::Kind;
using Shape = Array::Shape;

namespace {

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

} // namespace nereid::support
