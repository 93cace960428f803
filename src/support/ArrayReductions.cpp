// Operations along axes: reductions, running sums, matrix products.
#include "support/ArrayShapes.h"

#include <cmath>

namespace nereid::support {

using Kind = Array::Kind;
using Shape = Array::Shape;

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

} // namespace nereid::support
