// What all matrix products share: tiles by shape.
#pragma once

#include "kernels/Call.h"

namespace nereid::kernels {

/// The configuration for so many rows and columns. `b`: the right operands, [..., K, N], or
/// [..., N, K] of bytes.
Config tilesFor(int64_t m, int64_t n, int64_t batches, const Tensor &b, const Bound &bound);

template <typename Call> Config productRule(const Bound &bound) {
  return tilesFor(bound['M'], bound['N'], 1, bound.as<Call>().b, bound);
}

/// A result of 8 bits and a scale for it belong together.
std::string checkScale(const Tensor &result, const Tensor &scale, const char *name);

inline constexpr SizeName productSizes[] = {{"M", 'M'}, {"N", 'N'}, {"K", 'K'}};

} // namespace nereid::kernels
