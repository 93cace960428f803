// How far apart neighbouring elements of an address lie, but for places where it jumps.
#pragma once

#include "analysis/AxisAnalysis.h"

#include <optional>

namespace nereid::analysis {

/// From an element to the next one along a dimension.
struct UsualStep {
  enum Kind { Known, Multiple, Anything } kind = Anything;
  int64_t factor = 1; ///< what it is, or what divides a stride that nobody knows

  bool is(int64_t step) const { return kind == Known && factor == step; }
};

/// AxisAnalysis says what holds for each run, so it knows nothing of `i % width` where `width` is
/// no power of two: such numbers go up by one from element to element, until they jump at a place
/// that nobody knows. This says so; it is good for choosing where threads lie, never for how much
/// one of them moves at once.
///
///   %r = %i % splat(%width)       1 where %i goes up by one
///   %q = %i / splat(%width)       0
///   %r * splat(%stride)           unknown, but divided by what divides %stride
class UsualSteps {
public:
  explicit UsualSteps(const AxisAnalysis &axes) : axes(axes) {}

  /// In numbers; of pointers, in elements.
  UsualStep along(mlir::Value tile, unsigned dim) { return along(tile, dim, 0); }

  /// The dimension along which neighbours are nearest, but not the same; null where nothing tells
  /// two apart.
  std::optional<unsigned> nearest(mlir::Value pointers);

private:
  UsualStep along(mlir::Value tile, unsigned dim, unsigned depth);
  UsualStep compute(mlir::Operation *op, unsigned dim, unsigned depth);
  UsualStep scaled(mlir::Value tile, mlir::Value by, unsigned dim, unsigned depth);

  const AxisAnalysis &axes;
  llvm::DenseMap<std::pair<mlir::Value, unsigned>, UsualStep> known;
};

} // namespace nereid::analysis
