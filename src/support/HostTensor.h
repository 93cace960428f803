// A tensor in host memory, filled by a recipe: what the command line (`x=randn(1823x781,f32)`) and
// kernel folders build as arguments, and how results are compared with a reference.
//
// Random values depend on the seed text and the element's index alone, so they are the same on
// every device, in every order, for every layout. Memory starts at a multiple of 64 bytes.
#pragma once

#include "nereid/base.h"
#include "support/Array.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace nereid::support {

class HostTensor {
public:
  enum class Content : uint8_t { Poison, Untouched };

  HostTensor() = default;
  /// Row-major without `strides`. `offset` elements lie before the first one. Throws ArrayError if
  /// the sizes are absurd. The memory holds `poisonByte` everywhere; untouched memory costs none.
  HostTensor(DType dtype, std::vector<int64_t> shape, std::vector<int64_t> strides = {},
             int64_t offset = 0, Content content = Content::Poison);

  DType dtype() const { return dtype_; }
  const std::vector<int64_t> &shape() const { return shape_; }
  const std::vector<int64_t> &strides() const { return strides_; } ///< in elements
  int64_t numel() const;
  size_t elementBytes() const { return info(dtype_).bytes; }
  /// Row-major without gaps, so that each element has a place of its own.
  bool isDense() const { return dense_; }

  /// Tensors made from here on end in front of a page that no access passes: what a kernel does
  /// behind them ends the process there, and leaves the memory of others alone.
  static void fence(bool wanted);

  /// The first element.
  void *data() const { return memory_ ? memory_.get() + offset_ * elementBytes() : nullptr; }
  /// All of the allocation, gaps and offset included.
  void *allocation() const { return memory_.get(); }
  size_t allocationBytes() const { return bytes_; }

  /// Element `index` in row-major order of the shape, as the language converts: integers wrap,
  /// floats round to nearest even, f8 saturates.
  void set(int64_t index, double value);
  void setInt(int64_t index, int64_t value);
  double get(int64_t index) const;
  int64_t getInt(int64_t index) const;
  /// Elements `begin` to `end` (not included) as `get` gives them.
  void read(int64_t begin, int64_t end, double *out) const;

  /// All elements as f64, i64 or bool, exactly.
  Array toArray() const;
  void fromArray(const Array &array); ///< same number of elements
  /// Contiguous row-major bytes of the elements.
  std::vector<uint8_t> packed() const;
  void unpack(const uint8_t *bytes);

  /// Fills memory, gaps included, with what a kernel must not leave behind: NaN in floats, the
  /// greatest integer.
  void poison();

private:
  size_t addressOf(int64_t index) const; // in bytes from the allocation's start

  DType dtype_ = DType::Float32;
  std::vector<int64_t> shape_, strides_;
  int64_t offset_ = 0;
  size_t bytes_ = 0;
  bool dense_ = true;
  std::shared_ptr<std::byte> memory_;
};

// Recipes. `seed` is text: the same text and shape give the same values.
void fillNormal(HostTensor &tensor, std::string_view seed, double mean = 0, double deviation = 1);
void fillUniform(HostTensor &tensor, std::string_view seed, double low = 0, double high = 1);
void fillInteger(HostTensor &tensor, std::string_view seed, int64_t low,
                 int64_t high); ///< low <= x < high
void fillPermutation(HostTensor &tensor, std::string_view seed);
void fillRange(HostTensor &tensor, int64_t start = 0, int64_t step = 1);
void fillValue(HostTensor &tensor, double value);
/// 0, -0, infinities, NaN, denormals and extremes in turn; integers get their extremes.
void fillSpecial(HostTensor &tensor);
/// Puts such values among those of a tensor of floats, but no extremes: into five rows of six
/// (zeros of both signs and denormals, a NaN, an infinity, -inf, both); without rows into every
/// other place.
void plantSpecial(HostTensor &tensor);

struct Tolerance {
  double relative = 0, absolute = 0;
};
/// How a tensor differs from what it should be. An element passes when |got - want| <= absolute +
/// relative * |want|, both are NaN, or both are the same infinity; integers must be equal.
struct Comparison {
  bool passed = true;
  int64_t worstIndex = -1; ///< element with the largest error over its tolerance
  double error = 0, tolerance = 0, got = 0, want = 0;
  int64_t failures = 0;
};
Comparison compare(const HostTensor &got, const Array &want, Tolerance tolerance);

} // namespace nereid::support
