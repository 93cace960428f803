// Views of tensors in any memory: pointer, shape and strides. Nothing here copies elements but
// `upload` and `download`.
#pragma once

#include "nereid/device.h"

#include <initializer_list>
#include <span>
#include <type_traits>

struct DLManagedTensor; // of dlpack.h, which is not needed to use this header

namespace nereid {

namespace runtime {
class Tensor;
}
namespace launch {
struct DescriptorArgument;
}

/// The data type of a C++ type. Specialise it for half and brain floats of your own.
template <typename T> struct DTypeOf;
#define NEREID_DTYPE_OF(type, dtype)                                                               \
  template <> struct DTypeOf<type> {                                                               \
    static constexpr DType value = DType::dtype;                                                   \
  };
NEREID_DTYPE_OF(bool, Int1)
NEREID_DTYPE_OF(int8_t, Int8)
NEREID_DTYPE_OF(int16_t, Int16)
NEREID_DTYPE_OF(int32_t, Int32)
NEREID_DTYPE_OF(int64_t, Int64)
NEREID_DTYPE_OF(uint8_t, UInt8)
NEREID_DTYPE_OF(uint16_t, UInt16)
NEREID_DTYPE_OF(uint32_t, UInt32)
NEREID_DTYPE_OF(uint64_t, UInt64)
NEREID_DTYPE_OF(float, Float32)
NEREID_DTYPE_OF(double, Float64)
#undef NEREID_DTYPE_OF

/// A shape, as a list or a span.
class Shape {
public:
  Shape(std::initializer_list<int64_t> list) : sizes(list.begin(), list.size()) {}
  Shape(std::span<const int64_t> view) : sizes(view) {}
  Shape(const std::vector<int64_t> &list) : sizes(list) {}
  std::span<const int64_t> sizes;
};

/// Shape and strides (in elements) over memory of a device. Copies share the view and keep the
/// memory alive.
class NEREID_API Tensor {
public:
  static constexpr unsigned maxRank = 8;

  /// No tensor: only to be assigned to, tested, or passed to a kernel, which sees `None`.
  Tensor() = default;
  explicit operator bool() const { return impl != nullptr; }

  /// Memory that somebody else owns; row-major without `strides`. `owner`, if any, is kept alive.
  /// Memory of another GPU is refused, unless the program has enabled access between the two
  /// (`cuCtxEnablePeerAccess`).
  static Result<Tensor> wrap(const Device &device, void *data, DType type, Shape shape,
                             Shape strides = {}, std::shared_ptr<const void> owner = nullptr);
  /// Elements of the host, row-major. The sizes must multiply to at most the span's.
  template <typename T, size_t N>
  static Result<Tensor> wrap(std::span<T, N> elements, Shape shape) {
    return wrapHost(const_cast<std::remove_const_t<T> *>(elements.data()), elements.size(),
                    DTypeOf<std::remove_const_t<T>>::value, shape);
  }
  /// New row-major memory with undefined contents.
  static Result<Tensor> empty(const Device &device, DType type, Shape shape);
  /// Elements of this tensor in another shape, the first one `first` behind its first in memory;
  /// row-major without `strides`, which are not negative. Keeps the memory alive. Fails where an
  /// element lies outside.
  Result<Tensor> view(Shape shape, Shape strides = {}, int64_t first = 0) const;
  /// Takes `tensor` over: its deleter is called when the last copy goes. On failure it still
  /// belongs to the caller.
  static Result<Tensor> fromDLPack(DLManagedTensor *tensor);
  /// A new DLPack tensor that keeps this memory alive; to be deleted by its deleter. Fails on types
  /// that DLPack has not.
  Result<DLManagedTensor *> toDLPack() const;

  void *data() const;
  template <typename T> T *data() const { return static_cast<T *>(data()); }
  Device device() const;
  DType type() const;
  std::span<const int64_t> shape() const;
  std::span<const int64_t> strides() const; ///< in elements
  int64_t size() const;                     ///< elements
  size_t bytes() const;                     ///< from the first element to behind the last one
  bool isContiguous() const;                ///< row-major without gaps

  /// Copies `size()` elements between host memory and this contiguous tensor, and waits.
  Status upload(const void *host) const;
  Status download(void *host) const;

  const runtime::Tensor &internal() const { return *impl; }

private:
  static Result<Tensor> wrapHost(void *data, size_t elements, DType type, Shape shape);
  explicit Tensor(std::shared_ptr<const runtime::Tensor> tensor) : impl(std::move(tensor)) {}
  std::shared_ptr<const runtime::Tensor> impl;
};

/// `TensorDescriptor(base, shape, strides, block_shape)` of Triton: a tensor that a kernel reads
/// and writes by blocks.
class NEREID_API TensorDescriptor {
public:
  /// Of 1 to 5 dimensions. Elements out of bounds read as zero, or as NaN if `padNan`.
  static Result<TensorDescriptor> make(const Tensor &tensor, Shape block, bool padNan = false);
  explicit operator bool() const { return impl != nullptr; }
  const launch::DescriptorArgument &internal() const { return *impl; }

private:
  std::shared_ptr<const launch::DescriptorArgument> impl;
};

} // namespace nereid
