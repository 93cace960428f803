// What a loop needs to begin work of later steps.
#pragma once

#include "ir/TileOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace nereid::gpu {

/// Numbers of later steps of `loop`, built where `b` stands.
struct StepsAhead {
  mlir::scf::ForOp loop;
  mlir::OpBuilder &b;

  mlir::Value number(mlir::Type type, int64_t value);
  mlir::Value steps(unsigned count);
  /// The loop's variable `ahead` steps behind `variable`.
  mlir::Value variableAt(mlir::Value variable, unsigned ahead);
  /// Whether that step runs. The distance to the end has no sign: it can't wrap around where there
  /// is a step at all.
  mlir::Value runs(mlir::Value variable, unsigned ahead);
  /// Makes `load` touch nothing where `active` is false.
  void addMask(tile::LoadOp load, mlir::Value active);
};

/// True if an op writes memory that a load may read; records of prints and asserts are nobody's
/// input. False for ops of which the regions decide.
bool writesMemory(mlir::Operation *op);

} // namespace nereid::gpu
