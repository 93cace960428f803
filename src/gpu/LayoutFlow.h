// How layouts pass through single ops, and which tiles lie alike because they are computed of one
// another element by element.
#pragma once

#include "ir/LinearLayout.h"
#include "ir/TileOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace nereid::gpu {

/// Elementwise, of one operand.
bool isCast(mlir::Operation *op);
/// True if all tiles of the op lie alike, as in elementwise ops and accesses.
bool keepsLayout(mlir::Operation *op);

/// True if a value is only stored, element by element, and by threads whose warp has none of
/// `warpBits`: those of other warps hold copies of it that nobody reads.
bool isOnlyStored(mlir::Value value, int64_t warpBits);

/// How `operand` of `op` lies if `result` lies in `layout`; null if the op can't say.
std::optional<tile::LinearLayout> backward(mlir::Operation *op, unsigned result,
                                           const tile::LinearLayout &layout, unsigned operand);
/// How `result` of `op` lies if `operand` lies in `layout`. A tile that most of `warps` warps'
/// threads have all of does not say where its many copies lie: each thread would hold all of them.
std::optional<tile::LinearLayout> forward(mlir::Operation *op, unsigned operand,
                                          const tile::LinearLayout &layout, unsigned result,
                                          unsigned warps);

/// For each tile that is computed of what `isOrigin` names, element by element and through loops,
/// the nearest of those ops.
llvm::DenseMap<mlir::Value, mlir::Operation *>
nearestOrigins(mlir::FunctionOpInterface kernel,
               llvm::function_ref<bool(mlir::Operation *)> isOrigin);

} // namespace nereid::gpu
