// Loops whose first or last step is another one than the rest.
#pragma once

#include "mlir/Pass/Pass.h"

#include <memory>

namespace nereid::transforms {

/// Takes the first step out of a loop that branches on whether it is the first. In the loop that
/// is left nothing asks any more, and what both sides of the branch gave needs no register of its
/// own; a running mean that PyTorch's compiler writes starts so.
///
///   for i in range(0, 4096, 512):          x = load(p)
///     x = load(p + i)                      mean, count = x, 1
///     if i == 0: mean, count = x, 1   =>   for i in range(512, 4096, 512):
///     else: ...                              x = load(p + i)
///                                            ...
///
/// Only where the loop's bounds are known and it makes a step, has no product and no loop inside.
///
/// Takes the last step out of a loop whose branches load in all steps but that one what is there
/// in full: loads that stand in no branch go ahead.
///
///   for i in range(n):                         for i in range(n - 1):
///     if i == n - 1: k = load(p, mask)    =>     k = load(p)
///     else:          k = load(p)                 ...
///     ...                                      if n > 0: k = load(p, mask) ...
///
/// Only where the loop has no other one inside. Runs in front of the canonicalizer, which folds the
/// branches on what is known.
std::unique_ptr<mlir::Pass> createPeelStepsPass();

} // namespace nereid::transforms
