// A view of a tensor in any memory.
#pragma once

#include "runtime/Device.h"

#include <array>
#include <span>

namespace nereid::runtime {

/// Shape and strides over memory of a device. Copying one copies no elements and allocates nothing.
class Tensor {
public:
  static constexpr unsigned maxRank = 8;

  Tensor() = default;
  /// A view of memory that somebody else owns; row-major without `strides` (in elements).
  static Result<Tensor> wrap(Device &device, void *data, DType type, std::span<const int64_t> shape,
                             std::span<const int64_t> strides = {},
                             std::shared_ptr<const void> owner = nullptr);
  /// What a descriptor says of memory: a size bounds a coordinate, and strides may cancel each
  /// other modulo 2^64. How many bytes there are is not known.
  static Result<Tensor> bounds(Device &device, void *data, DType type,
                               std::span<const int64_t> shape, std::span<const int64_t> strides);
  /// New row-major memory with undefined contents.
  static Result<Tensor> empty(Device &device, DType type, std::span<const int64_t> shape,
                              Stream *stream = nullptr);

  void *data() const { return memory.data(); }
  Device *device() const { return memory.device(); }
  DType type() const { return elementType; }
  unsigned rank() const { return dimensions; }
  std::span<const int64_t> shape() const { return {sizes.data(), dimensions}; }
  std::span<const int64_t> strides() const { return {steps.data(), dimensions}; }
  uint32_t elementBytes() const { return nereid::info(elementType).bytes; }

  /// Elements; bytes from the first to the last one, gaps included, 0 if there is none.
  int64_t numel() const;
  int64_t spanBytes() const;
  bool isContiguous() const;

private:
  static Result<Tensor> make(DType type, std::span<const int64_t> shape,
                             std::span<const int64_t> strides);

  Buffer memory;
  DType elementType = DType::Float32;
  unsigned dimensions = 0;
  std::array<int64_t, maxRank> sizes = {}, steps = {};
};

} // namespace nereid::runtime
