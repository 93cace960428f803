// Reductions to the greatest or least element and to where it is, in any order.
#pragma once

#include "gpu/Combination.h"

#include <optional>

namespace nereid::gpu {

/// What the region of such a reduction says, where it is as that of `tl.max` with indices: of equal
/// elements the left one (or the right one, without the rule for them), and NaN is none.
///
///   better = a > b | a == b && at_a < at_b | b != b
///
/// Two elements that are NaN, or equal without the rule, are told from each other by their order
/// alone. Where places are numbers of a range these have that order, so parts can be combined in
/// any: a thread gives its part a key, parts are combined, and their place is taken from the key.
/// Regions that keep the same element anyway need none of this (analysis/CombineOrder.h).
struct IndexedExtremum {
  mlir::Operation *better; ///< the comparison of `a` with `b`
  bool isFloat;
  bool isLeft; ///< of equal elements the left one, else the right one

  /// None for another region, and where places come from no range and so may be the same.
  static std::optional<IndexedExtremum> of(tile::ReduceOp reduce);

  /// Marks the place of a NaN: it comes behind all elements, and of several the one with the lowest
  /// place first, as they are found in order.
  void key(RegisterEmitter &emitter, Tuple &tuple) const;
  void place(RegisterEmitter &emitter, Tuple &tuple) const;
  /// Of two with keys, in any order.
  Tuple combine(RegisterEmitter &emitter, llvm::ArrayRef<mlir::Value> x,
                llvm::ArrayRef<mlir::Value> y) const;
};

} // namespace nereid::gpu
