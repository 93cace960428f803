// Comparisons of a loop's counter that always give the same.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Folds comparisons of a loop's variable with a number beyond which its bounds keep it. Sources
/// have such conditions around products to get by a fault of a compiler; loads that feed a product
/// in a branch start no step ahead.
///
///   for i in range(0, n):           for i in range(0, n):
///     if i >= 0: s += dot(a, b)  =>   s += dot(a, b)
///
/// Branches whose conditions are known then give way to what they do: passes in front of the
/// canonicalizer look at the products of a step. Runs in front of `CountTrips`, behind which a
/// variable may be computed.
std::unique_ptr<mlir::Pass> createFoldCountersPass();

} // namespace nereid::transforms
