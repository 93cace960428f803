// Masks of rows meet before they become masks of tiles.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Brings together the operands of `and` that are broadcast from one shape:
///
///   rows[:, None] & columns[None, :] & more[:, None]
///   ==>  (rows[:, None] & more[:, None]) & columns[None, :]
///
/// so that what is the same along a dimension is computed once for it.
std::unique_ptr<mlir::Pass> createJoinMasksPass();

} // namespace nereid::transforms
