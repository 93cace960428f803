// Operations that choose, join and order elements.
#include "support/ArrayShapes.h"

#include <numeric>

namespace nereid::support {

using Kind = Array::Kind;
using Shape = Array::Shape;

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
