// Loops of products whose steps branch on what no step changes.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Gives a loop a second version without its branches, where a branch on a condition that the loop
/// does not change holds loads for products. Loads in a branch wait for one another, branch after
/// branch, and none starts a step ahead.
///
///   for i:                                 if n > 16 and n > 32:
///     a = load(p)                            for i: load all three, then multiply
///     if n > 16:                      =>   else:
///       b = load(q); s += dot(b, a)          for i: as it was
///       if n > 32:
///         c = load(r); t += dot(c, b)
///
/// Runs in front of the canonicalizer, which folds the branches on what is known.
std::unique_ptr<mlir::Pass> createUnswitchProductsPass();

} // namespace nereid::transforms
