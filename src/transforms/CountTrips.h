// Loops that may end near the greatest integer count their trips.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// `scf.for` adds its step before it compares, so the variable of a loop that ends within a step of
/// the greatest integer wraps around and the loop never ends. Such a loop counts its trips in i64
/// instead, and its variable becomes `lower + trip * step`. Loops that can't wrap stay as they are.
/// Requires: nothing; runs before the back ends, which take `scf.for` as it is.
std::unique_ptr<mlir::Pass> createCountTripsPass();

void registerCountTripsPass();

} // namespace nereid::transforms
