// Loops over the steps of all tiles become loops over tiles.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Takes apart a loop that goes through the steps of all tiles at once and counts those of a tile
/// itself, as persistent products were written before `tl.range(flatten=True)`:
///
///   for _ in range(K * tiles):                for tile in range(tiles if K > 0 else 0):
///     k = where(k == K - 1, 0, k + 1)           next tile
///     if k == 0: next tile               =>     for k in range(K):
///     acc = dot(a, b, acc)                        acc = dot(a, b, acc)
///     if k == K - 1:                            store, acc = 0
///       store, acc = 0
///
/// So no branch stands between a product's sum and its next step, nor between a step and its
/// addresses. The loop over tiles is one that may be flattened where nothing that is loaded is
/// reached through an argument that is stored to.
///
/// Only where nothing behind the loop reads what it carries, steps write no memory outside of
/// their last branch, and what the first branch gives stays until the next tile.
std::unique_ptr<mlir::Pass> createNestTilesPass();

} // namespace nereid::transforms
