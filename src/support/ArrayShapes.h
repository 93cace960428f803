// What the operations on arrays share: extents, strides, broadcasting, walks over elements.
#pragma once

#include "support/Array.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

namespace nereid::support {

/// A reference formula of a test never needs more; the bound keeps a wrong shape from taking the
/// machine's memory.
inline constexpr int64_t maxElements = int64_t(1) << 31;

[[noreturn]] inline void fail(std::string message) { throw ArrayError{std::move(message)}; }

inline int64_t countOf(const Array::Shape &shape) {
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

inline int64_t normalAxis(int64_t axis, int64_t rank) {
  if (axis < -rank || axis >= rank)
    fail("axis " + std::to_string(axis) + " is out of range for " + std::to_string(rank) +
         " dimensions");
  return axis < 0 ? axis + rank : axis;
}

inline Array::Shape rowMajorStrides(const Array::Shape &shape) {
  Array::Shape strides(shape.size());
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    strides[d] = stride;
    stride *= shape[d];
  }
  return strides;
}

inline Array::Shape broadcastShapes(const Array::Shape &a, const Array::Shape &b) {
  Array::Shape out(std::max(a.size(), b.size()));
  for (size_t i = 0; i < out.size(); ++i) {
    int64_t x = i < a.size() ? a[a.size() - 1 - i] : 1;
    int64_t y = i < b.size() ? b[b.size() - 1 - i] : 1;
    if (x != y && x != 1 && y != 1)
      fail("shapes " + shapeText(a) + " and " + shapeText(b) + " do not broadcast");
    out[out.size() - 1 - i] = x == 1 ? y : x;
  }
  return out;
}

/// Strides with which `shape` is read as if it were `target`: 0 where it repeats.
inline Array::Shape broadcastStrides(const Array::Shape &shape, const Array::Shape &target) {
  Array::Shape own = rowMajorStrides(shape), strides(target.size(), 0);
  size_t shift = target.size() - shape.size();
  for (size_t d = 0; d < shape.size(); ++d)
    strides[shift + d] = shape[d] == 1 ? 0 : own[d];
  return strides;
}

/// Calls visit(flat, offsets...) for each element of `shape` in row-major order.
template <size_t N, typename F>
void walk(const Array::Shape &shape, const std::array<Array::Shape, N> &strides, F visit) {
  int64_t count = countOf(shape);
  if (count == 0)
    return;
  std::array<int64_t, N> offset{};
  Array::Shape position(shape.size(), 0);
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

/// out[flat] = a[offset], the array read with other strides and from an offset.
Array gatherStrided(const Array &a, const Array::Shape &shape, const Array::Shape &strides,
                    int64_t base = 0);

/// The kind in which two are combined.
inline Array::Kind joined(Array::Kind a, Array::Kind b) { return std::max(a, b); }

/// NaN wins, as in NumPy.
inline double nanMax(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::max(a, b);
}
inline double nanMin(double a, double b) {
  return std::isnan(a) ? a : std::isnan(b) ? b : std::min(a, b);
}

/// The array as outer x extent x inner around an axis.
struct AxisView {
  int64_t outer = 1, extent = 1, inner = 1;
  AxisView(const Array::Shape &shape, int64_t axis) : extent(shape[axis]) {
    for (int64_t d = 0; d < axis; ++d)
      outer *= shape[d];
    for (size_t d = axis + 1; d < shape.size(); ++d)
      inner *= shape[d];
  }
  int64_t at(int64_t o, int64_t k, int64_t i) const { return (o * extent + k) * inner + i; }
};

} // namespace nereid::support
