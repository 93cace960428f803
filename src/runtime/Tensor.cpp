#include "runtime/Tensor.h"

#include <algorithm>

namespace nereid::runtime {

namespace {
std::string shapeText(std::span<const int64_t> shape) {
  std::string text = "(";
  for (size_t i = 0; i < shape.size(); ++i)
    text += (i ? ", " : "") + std::to_string(shape[i]);
  return text + ")";
}

// Bytes that elements of this shape and strides reach beyond the first; false on overflow.
bool reach(std::span<const int64_t> shape, std::span<const int64_t> strides, int64_t elementBytes,
           int64_t &below, int64_t &above) {
  below = above = 0;
  for (size_t i = 0; i < shape.size(); ++i) {
    int64_t step;
    if (__builtin_mul_overflow(shape[i] - 1, strides[i], &step) ||
        __builtin_mul_overflow(step, elementBytes, &step))
      return false;
    int64_t &side = step < 0 ? below : above;
    if (__builtin_add_overflow(side, step, &side))
      return false;
  }
  return !__builtin_add_overflow(above, elementBytes, &above);
}
} // namespace

Result<Tensor> Tensor::make(DType type, std::span<const int64_t> shape,
                            std::span<const int64_t> strides) {
  if (type > DType::Float8E4B15) // the last one
    return Error{"data type " + std::to_string(unsigned(type)) + " is not known", {}};
  if (shape.size() > maxRank)
    return Error{"a tensor of " + std::to_string(shape.size()) + " dimensions, at most " +
                     std::to_string(maxRank) + " are supported",
                 {}};
  if (!strides.empty() && strides.size() != shape.size())
    return Error{std::to_string(strides.size()) + " strides for shape " + shapeText(shape), {}};
  if (std::any_of(shape.begin(), shape.end(), [](int64_t size) { return size < 0; }))
    return Error{"a negative size in shape " + shapeText(shape), {}};
  Tensor tensor;
  tensor.elementType = type;
  tensor.dimensions = unsigned(shape.size());
  std::copy(shape.begin(), shape.end(), tensor.sizes.begin());
  std::copy(strides.begin(), strides.end(), tensor.steps.begin());
  return tensor;
}

Result<Tensor> Tensor::bounds(Device &device, void *data, DType type,
                              std::span<const int64_t> shape, std::span<const int64_t> strides) {
  auto tensor = make(type, shape, strides);
  if (tensor)
    tensor->memory = Buffer::wrap(device, data, 0, nullptr);
  return tensor;
}

Result<Tensor> Tensor::wrap(Device &device, void *data, DType type, std::span<const int64_t> shape,
                            std::span<const int64_t> strides, std::shared_ptr<const void> owner) {
  auto tensor = make(type, shape, strides);
  if (!tensor)
    return tensor;
  bool fits = true;
  if (strides.empty()) {
    int64_t step = 1;
    for (size_t i = shape.size(); i-- > 0;) {
      tensor->steps[i] = step;
      fits &= !__builtin_mul_overflow(step, std::max<int64_t>(shape[i], 1), &step);
    }
  }
  bool isEmpty = std::find(shape.begin(), shape.end(), 0) != shape.end();
  int64_t below = 0, above = 0;
  if (!isEmpty)
    fits = fits && reach(tensor->shape(), tensor->strides(), tensor->elementBytes(), below, above);
  if (!fits)
    return Error{"shape " + shapeText(shape) + " does not fit 64 bits", {}};
  if (!data && !isEmpty)
    return Error{"no memory for shape " + shapeText(shape) + ": the pointer is null", {}};
  tensor->memory = Buffer::wrap(device, data, size_t(above), std::move(owner));
  return tensor;
}

Result<Tensor> Tensor::empty(Device &device, DType type, std::span<const int64_t> shape,
                             Stream *stream) {
  // Any non-null address serves to check the shape.
  static char anywhere;
  auto tensor = wrap(device, &anywhere, type, shape);
  if (!tensor)
    return tensor;
  auto memory = device.allocate(tensor->memory.bytes(), stream);
  if (!memory)
    return memory.takeError();
  tensor->memory = *std::move(memory);
  return tensor;
}

int64_t Tensor::numel() const {
  int64_t count = 1;
  for (int64_t size : shape())
    if (__builtin_mul_overflow(count, size, &count))
      return INT64_MAX; // strides of 0 can claim more elements than there are addresses
  return count;
}

int64_t Tensor::spanBytes() const {
  if (numel() == 0)
    return 0;
  int64_t below, above;
  reach(shape(), strides(), elementBytes(), below, above);
  return above - below;
}

bool Tensor::isContiguous() const {
  int64_t step = 1;
  for (unsigned i = dimensions; i-- > 0;) {
    if (sizes[i] != 1 && steps[i] != step)
      return false;
    step *= sizes[i];
  }
  return true;
}

} // namespace nereid::runtime
