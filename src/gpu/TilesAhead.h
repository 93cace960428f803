// Copies of a loop of steps that run on into the next tile.
#pragma once

#include "ir/TileOps.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace nereid::gpu {

/// On a loop over tiles: copies of its steps do run on from one tile to the next. True if the copy
/// engine makes all of them.
inline constexpr llvm::StringLiteral runsOnAttr = "tile.runs_on";

/// Where the copies of a loop of steps stand that is the only one in a loop over tiles. They go
/// through the steps of all tiles without a gap, as if the two loops were one, while the steps
/// behind them stay two loops:
///
///   for tile:                              at = (first tile, first step)
///     start copies of steps 0, 1     =>    start copies at `at`, move on; twice
///     for step:                            for tile:
///       ... slot of step ...                 for step:
///       start copies of step + 2               ... slot of step ...
///     store(tile)                              start copies at `at`, move on
///                                            store(tile)
///
/// The source allows it by `flatten`: what one tile writes the next does not read. Tiles have as
/// many steps each, or `max(n, 1)` with an n of their own. Where they
/// stand goes through the loops as a list of values: whether there is such a step, the tile's
/// number and what the source carries from tile to tile, what the copies need of a tile, the
/// step's number and what is carried from step to step.
class TilesAhead {
public:
  TilesAhead(mlir::scf::ForOp steps, mlir::OpBuilder &b) : steps(steps), b(b) {}

  /// True if all that `ops` (of the steps' body) and the values of number `carried` from step to
  /// step need of a tile can be computed for a later one.
  bool follow(llvm::ArrayRef<mlir::Operation *> ops, llvm::ArrayRef<unsigned> carried);

  /// True if each tile has a step; how many, may then depend on the tile.
  bool neverEmpty() const { return isNeverEmpty; }

  mlir::scf::ForOp loop() const { return tiles; }
  void setLoop(mlir::scf::ForOp loop) { tiles = loop; }

  /// The first step of the first tile, computed where `b` stands, before the loop over tiles.
  llvm::SmallVector<mlir::Value> first();
  /// Values of the step at `at` for those of the loops' bodies.
  mlir::IRMapping valuesAt(mlir::ValueRange at);
  static mlir::Value exists(mlir::ValueRange at) { return at[0]; }
  /// One step on. `values` are those at `at`, with what gives the next carried ones.
  llvm::SmallVector<mlir::Value> next(mlir::ValueRange at, const mlir::IRMapping &values);

private:
  using OpSet = llvm::SmallPtrSet<mlir::Operation *, 16>;

  bool need(mlir::Value value);
  bool collect(mlir::Value value, OpSet &ops);
  void clone(const OpSet &ops, mlir::IRMapping &mapping, mlir::Value exists);
  /// The values of a tile of which the number and the carried values are mapped.
  llvm::SmallVector<mlir::Value> tileValues(mlir::IRMapping &mapping, mlir::Value exists);
  /// The first `count` values of a list, and the rest.
  static mlir::ValueRange take(mlir::ValueRange &list, size_t count);

  mlir::scf::ForOp steps, tiles;
  mlir::OpBuilder &b;
  llvm::SmallVector<unsigned> carried;
  llvm::SetVector<unsigned> arguments; ///< carried from tile to tile
  llvm::SetVector<mlir::Value> kept;   ///< what the steps need of a tile
  OpSet ofTile, ofNextTile, repeats;   ///< ops that give those, and that the steps repeat
  bool isNeverEmpty = false;
};

} // namespace nereid::gpu
