// What is known about the integers and addresses of every value of a kernel: a walk in program
// order over the transfer functions of AxisFactsOpInterface, to a fixpoint around loops.
//
//   %o = arange 0 to 8        contiguity 8, divisibility 2^30, constancy 1
//   %s = splat %n (%n % 16)   contiguity 1, divisibility 16,   constancy 8
//   %o + %s                   contiguity 8, divisibility 16,   constancy 1
//   %o < %s                   constancy 8: a mask that is uniform over aligned runs of 8
#pragma once

#include "ir/TileOps.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/DenseMap.h"

namespace nereid::analysis {

/// Facts hold as long as the function does not change.
class AxisAnalysis {
public:
  explicit AxisAnalysis(mlir::FunctionOpInterface function) : AxisAnalysis(function, false) {}
  /// What likely holds, for choices of speed alone: memory begins at multiples of 256 bytes, where
  /// allocators let it begin, and numbers that are multiples of 16 are multiples of 32.
  static AxisAnalysis likely(mlir::FunctionOpInterface function) {
    return AxisAnalysis(function, true);
  }

  /// Facts about a value of the function; nothing known about foreign values.
  tile::AxisFacts facts(mlir::Value value) const;

private:
  AxisAnalysis(mlir::FunctionOpInterface function, bool isLikely);
  void visit(mlir::Block &block);
  void visit(mlir::Operation *op);
  void visitLoop(mlir::Operation *op);
  bool join(mlir::Value into, const tile::AxisFacts &facts);

  llvm::DenseMap<mlir::Value, tile::AxisFacts> known;
};

/// How many consecutive elements a memory access may move at once along `dim`: lanes whose
/// addresses are consecutive, whose first address is a multiple of the moved bytes, and whose mask
/// is uniform. At most `limitBytes` of `elementBytes` elements.
int64_t accessWidth(const tile::AxisFacts &pointer, const tile::AxisFacts *mask, unsigned dim,
                    unsigned elementBytes, unsigned limitBytes);

/// Gives upstream and tile ops their transfer functions.
void registerAxisModels(mlir::DialectRegistry &registry);

} // namespace nereid::analysis
