// What a loop needs to begin work of later steps.
#pragma once

#include "ir/TileOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace nereid::gpu {

/// Numbers of later steps of `loop`, built where `b` stands.
struct StepsAhead {
  mlir::scf::ForOp loop;
  mlir::OpBuilder &b;

  mlir::Value number(mlir::Type type, int64_t value);
  mlir::Value steps(unsigned count);
  /// How many steps the loop has. Its bounds may be farther apart than a number with a sign tells.
  mlir::Value countSteps();
  /// The loop's variable `ahead` steps behind `variable`.
  mlir::Value variableAt(mlir::Value variable, unsigned ahead);
  /// Whether that step runs. The distance to the end has no sign: it can't wrap around where there
  /// is a step at all.
  mlir::Value runs(mlir::Value variable, unsigned ahead);
  /// Makes an access touch nothing where `active` is false.
  void addMask(tile::LoadOp load, mlir::Value active);
  void addMask(tile::StoreOp store, mlir::Value active);
  /// Makes `branch` go the other way where `active` is false: what stands behind its condition may
  /// divide by what only steps that run make other than zero.
  void addCondition(mlir::scf::IfOp branch, mlir::Value active);
};

/// The ops of a loop's step that give some values, so that they can be computed for a later step.
struct StepSlice {
  llvm::SmallPtrSet<mlir::Operation *, 16> ops;
  llvm::SmallDenseSet<unsigned> carried; ///< numbers of the carried values that they start from

  /// Adds what gives `values`, or nothing if that is more than ops without effects. Without
  /// `mayLoad` they may take nothing but the number of the step; with it also what steps carry,
  /// and the loads that it allows. With `mayBranch` whole branches are among the ops, which get a
  /// condition (`StepsAhead::addCondition`) where they are computed for a step that may not run.
  bool add(mlir::scf::ForOp loop, mlir::ValueRange values,
           llvm::function_ref<bool(tile::LoadOp)> mayLoad = nullptr, bool mayBranch = false);
};

/// How many steps a loop has, where that is known.
std::optional<int64_t> stepsOf(mlir::scf::ForOp loop);

/// True if both loops count from, to and by the same numbers.
bool takeSameSteps(mlir::scf::ForOp a, mlir::scf::ForOp b);

/// True if there is no loop inside.
bool isInnermost(mlir::scf::ForOp loop);

/// How many stages a loop with products has: its own word, else the module's, else 3.
unsigned numStagesOf(mlir::scf::ForOp loop);

/// Bytes that a thread's `cp.async` takes at least: 4, 8 or 16 (PTX ISA, "cp.async").
constexpr int64_t leastCopied = 4;
/// True if a product of the same step takes what `load` gives, or what comes of it.
bool feedsProduct(mlir::Operation *load);

/// True if an op writes memory that a load may read; records of prints and asserts are nobody's
/// input. False for ops of which the regions decide.
bool writesMemory(mlir::Operation *op);

/// The argument of the kernel to whose memory an op stores; null for other ops, and where that is
/// not known.
mlir::BlockArgument storedTo(mlir::Operation *op);

} // namespace nereid::gpu
