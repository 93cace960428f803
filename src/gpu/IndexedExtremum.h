// Reductions to the greatest or least element and to where it is.
#pragma once

#include "ir/TileOps.h"

#include <optional>

namespace nereid::gpu {

/// What the region of such a reduction says, in one of two ways:
///
///   better = a > b                                         as `tl.max` with indices: an element
///          | a == b && at_a < at_b                         or, of equal ones, the left one (if it
///          says so) | b != b                                        and NaN is none
///
///   better = a > b | a != a && !(b != b)                   as PyTorch's compiler: NaN is the
///   greatest
///          | (a == b | a != a && b != b) && at_a < at_b
///
/// The first depends on the order of its operands where both are NaN, or equal without a rule for
/// that; the second on nothing where no two places are the same.
struct IndexedExtremum {
  mlir::Operation *better; ///< the comparison of `a` with `b`
  bool isFloat;
  bool isLeft;  ///< of equal elements the left one, else the right one
  bool isTotal; ///< the second way

  /// None for another region, and where places come from no range and so may be the same.
  static std::optional<IndexedExtremum> of(tile::ReduceOp reduce);
};

} // namespace nereid::gpu
