// What an array is: its shape, its elements, other views of them.
#include "support/ArrayShapes.h"

#include <numeric>

namespace nereid::support {

using Kind = Array::Kind;
using Shape = Array::Shape;

Array gatherStrided(const Array &a, const Shape &shape, const Shape &strides, int64_t base) {
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

} // namespace nereid::support
