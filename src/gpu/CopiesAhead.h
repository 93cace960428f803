// How the copies of a later step are started, of this tile or the next.
#pragma once

#include "gpu/LoopPlan.h"
#include "gpu/StepsAhead.h"
#include "gpu/TilesAhead.h"

#include "mlir/IR/IRMapping.h"

#include <optional>

namespace nereid::gpu {

/// Writes what starts copies where `b` stands. `active` is whether the step runs that they are for.
class CopiesAhead : protected LoopPlan {
public:
  CopiesAhead(mlir::scf::ForOp loop, const target::GpuChip &chip, unsigned warps, uint64_t limit,
              bool bulk)
      : LoopPlan(loop, chip, warps, limit, bulk), b(loop.getContext()) {}

protected:
  void startCopies(mlir::IRMapping &mapping, mlir::Value slot, mlir::Value active);
  /// Copies of whole blocks by a warp alone: the others pass them by. With `phase` they wait until
  /// the slot is free. With `isLater` only those of which that is so.
  void startTransfersByOneWarp(mlir::IRMapping &mapping, mlir::Value slot, mlir::Value phase,
                               mlir::Value active, std::optional<bool> isLater = {});

  /// Loads that addresses come from, whose own addresses need the variable alone: they start one
  /// step before the copies that wait for them.
  void findEarlyLoads();
  llvm::SmallVector<mlir::Value> startEarly(mlir::Value variable, mlir::Value active);

  /// Lets copies run on into the next tile, where they may.
  void findTiles();
  /// Starts the copies at `at` to a slot, and gives where the next ones stand. With `phase` they
  /// wait until the slot is free.
  llvm::SmallVector<mlir::Value> startNext(mlir::ValueRange at, mlir::Value slot,
                                           mlir::Value phase);
  /// The first copies of all tiles.
  llvm::SmallVector<mlir::Value> startFirst();

  mlir::OpBuilder b;
  StepsAhead later{loop, b};
  llvm::SmallVector<tile::LoadOp> early;
  std::optional<TilesAhead> tiles;
  mlir::Value arrivals, laterArrivals;

private:
  void cloneSlice(mlir::IRMapping &mapping, mlir::Value active);
  void startTransfers(mlir::IRMapping &mapping, mlir::Value slot, mlir::Value active,
                      std::optional<bool> isLater = {});

  llvm::SmallPtrSet<mlir::Operation *, 16> earlySlice;
};

} // namespace nereid::gpu
