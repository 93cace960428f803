// Along which dimensions the lanes of a tile lie side by side where they come from.
//
//   load x + r[:, None] * n + c[None, :]     wants 1, opposes 0
//   load x + r[:, None] + c[None, :] * n     wants 0, opposes 1
//   load x + r[:, None]                      wants 0
//
// A vector along a dimension that is wanted is one access, along one that is opposed a gather.
#pragma once

#include "analysis/AxisAnalysis.h"

#include "llvm/ADT/DenseMap.h"

#include <functional>

namespace nereid::cpu {

/// The last dimension of more than one element, along which buffers have vectors.
unsigned preferredDim(llvm::ArrayRef<int64_t> shape);

/// A bit a dimension.
struct Directions {
  uint32_t wanted = 0, opposed = 0;

  Directions operator|(Directions other) const {
    return {wanted | other.wanted, opposed | other.opposed};
  }
};

class DirectionAnalysis {
public:
  /// `isStored`: the tile is read from a buffer, row by row. What it says may change before
  /// `forget`.
  DirectionAnalysis(const analysis::AxisAnalysis &axes, std::function<bool(mlir::Value)> isStored)
      : axes(axes), isStored(std::move(isStored)) {}

  /// Of lanes as their users ask for them.
  Directions of(mlir::Value tile) const;
  /// Of lanes as they are computed, whether or not the result is stored.
  Directions ofComputed(mlir::Value tile) const;
  /// Of the elements that pointers to them tell.
  Directions ofAccess(mlir::Value pointers) const;
  void forget() { known.clear(); }

  /// The dimension that vectors over such lanes run along: the last of more than one element, but
  /// where that is opposed and there is another one that nobody opposes.
  static unsigned choose(Directions directions, llvm::ArrayRef<int64_t> shape);
  /// Where lanes of an op's result stand in an operand of it: the dimension there, if there is one.
  static std::optional<unsigned> inOperand(mlir::Operation *op, mlir::Value operand, unsigned dim);
  /// Fewer rows or columns are not turned over.
  static constexpr int64_t leastSide = 8;

private:
  const analysis::AxisAnalysis &axes;
  std::function<bool(mlir::Value)> isStored;
  mutable llvm::DenseMap<mlir::Value, Directions> known;
};

} // namespace nereid::cpu
