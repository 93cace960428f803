// Reading and writing `.npy` files (NumPy format 1.0 to 3.0), from memory and to memory.
#pragma once

#include "nereid/base.h"

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace nereid::support {

/// The header of a `.npy` file and where its data starts.
struct NpyHeader {
  DType dtype = DType::Float32; ///< bool arrays are Int1, one byte an element
  bool isBFloat16Bits = false; ///< '<V2': two opaque bytes an element, as ml_dtypes writes bfloat16
  std::vector<int64_t> shape;
  bool fortranOrder = false;
  size_t dataOffset = 0;
};

/// Reads the header and checks that `bytes` holds all of the data.
Result<NpyHeader> readNpyHeader(std::span<const uint8_t> bytes);

/// The bytes of a version 1.0 file with row-major data. Types that NumPy lacks are written as
/// opaque bytes (bf16 as `<V2`, f8 as `|V1`).
std::vector<uint8_t> writeNpy(DType dtype, std::span<const int64_t> shape,
                              std::span<const uint8_t> data);

} // namespace nereid::support
