// What addresses that a kernel computes have to do with one another.
#pragma once

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseMap.h"

namespace nereid::gpu {

/// The value of an integer constant.
std::optional<int64_t> constantOf(mlir::Value value);

/// Whether two values are the same where one loop is in the step in which the other one is; without
/// loops, where nothing was computed in between. Sums are compared by what they add up, as
/// `(p + start) + columns` and `p + (start + columns)`; those of 32 bits are taken not to wrap
/// around, as wherever addresses are looked at (analysis/AxisAnalysis.h).
class SameStep {
public:
  SameStep() = default;
  SameStep(mlir::scf::ForOp first, mlir::scf::ForOp second)
      : first(first.getInductionVar()), second(second.getInductionVar()) {}

  bool operator()(mlir::Value a, mlir::Value b);
  /// b - a in elements, where that is the same for all elements and known.
  std::optional<int64_t> distance(mlir::Value a, mlir::Value b);

private:
  // constant + sum of factor * value; of a tile whose elements are the same the value is one of
  // them.
  struct Sum {
    llvm::SmallVector<std::pair<mlir::Value, int64_t>> terms;
    int64_t constant = 0;
  };
  bool isSameOp(mlir::Value a, mlir::Value b);
  void addTo(Sum &sum, mlir::Value value, int64_t factor, unsigned depth = 8);

  mlir::Value first, second;
  llvm::DenseMap<std::pair<mlir::Value, mlir::Value>, bool> seen;
};

/// How much an integer or address of a loop (in elements) grows with each step's number; nothing if
/// that is not the same in all of them.
std::optional<int64_t> slopeOf(mlir::Value value, mlir::scf::ForOp loop);

/// What all differences between the elements of a tile are multiples of, by how it is made; 0 if
/// they are the same.
///
///   p + 11 * arange(0, 64) + 3      11
int64_t gapOf(mlir::Value tile, unsigned depth = 16);

} // namespace nereid::gpu
