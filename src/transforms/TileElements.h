// Elements of tiles as numbers.
#pragma once

#include "mlir/IR/Builders.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/SmallVector.h"

#include <functional>

namespace nereid::transforms {

/// Computes elements of tiles anew where a builder stands, by ops on numbers, each made once.
class TileElements {
public:
  /// `index` along a row, or 0 of any tile. `isGiven` tells which numbers are there already.
  TileElements(mlir::OpBuilder &b, int64_t index, std::function<bool(mlir::Value)> isGiven)
      : b(b), index(index), isGiven(std::move(isGiven)) {}

  /// The element of a tile, or the number itself; null if that takes more than ops on numbers.
  mlir::Value of(mlir::Value value);

  llvm::DenseMap<mlir::Value, mlir::Value> known; ///< of values, the element or another number
  /// Ops that give their operand as it is, besides repeats.
  std::function<bool(mlir::Operation *)> isCopy = [](mlir::Operation *) { return false; };
  llvm::SmallVector<mlir::Operation *> made;

private:
  mlir::Value constant(mlir::Location loc, mlir::TypedAttr value);

  mlir::OpBuilder &b;
  int64_t index;
  std::function<bool(mlir::Value)> isGiven;
};

} // namespace nereid::transforms
