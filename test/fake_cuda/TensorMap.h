// What the model's driver and its copy engine know of a tensor, in the 128 bytes of a CUtensorMap.
#pragma once

#include <cstdint>
#include <string>

namespace ptx {

struct TensorMap {
  uint64_t address = 0;
  uint64_t strides[4] = {}; ///< in bytes, of all dimensions but the innermost one
  uint32_t sizes[5] = {}, box[5] = {}, elementStrides[5] = {};
  uint8_t lastDimension = 0; ///< the number of dimensions less one
  uint8_t type = 0;          ///< as `tensormap.replace` numbers them (PTX ISA)
  uint8_t interleave = 0, swizzle = 0, fill = 0;

  unsigned rank() const { return lastDimension + 1u; }
  unsigned elementBytes() const {
    constexpr uint8_t bytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 4, 8, 2, 4, 4};
    return type < sizeof bytes ? bytes[type] : 0;
  }
  /// What rule of a driver it breaks; empty if none.
  std::string problem() const {
    if (rank() > 5 || !elementBytes())
      return "its rank or type";
    if (address % 16)
      return "its address, no multiple of 16";
    if (interleave || swizzle > 3)
      return "its interleaving or swizzling";
    for (unsigned d = 0; d < rank(); ++d) {
      if (!box[d] || box[d] > 256 || !sizes[d] || elementStrides[d] != 1)
        return "dimension " + std::to_string(d);
      if (d && (strides[d - 1] % 16 || strides[d - 1] >> 40))
        return "the stride of dimension " + std::to_string(d);
    }
    unsigned row = box[0] * elementBytes();
    if (row % 16 || (swizzle && row > 16u << swizzle))
      return "rows of " + std::to_string(row) + " bytes";
    return {};
  }
};
static_assert(sizeof(TensorMap) <= 128);

} // namespace ptx
