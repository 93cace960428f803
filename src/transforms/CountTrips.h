// Loops that may end near the greatest integer count their trips.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// `scf.for` adds its step before it compares, so the variable of a loop that ends within a step of
/// the greatest integer wraps around and the loop never ends. Such a loop counts its trips in i64
/// instead, and its variable becomes `lower + trip * step`. Loops that can't wrap stay as they are.
/// With `narrow` steps of three or more are counted in the type of the bounds, in which they fit:
/// on a GPU a number of 64 bits takes two registers, and each sum of them two instructions and a
/// carry in a predicate, of which there are seven. Requires: nothing; runs before the back ends,
/// which take `scf.for` as it is.
std::unique_ptr<mlir::Pass> createCountTripsPass(bool narrow = false);

} // namespace nereid::transforms
