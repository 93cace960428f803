// Sums of integers over the rounds of a loop and then along an axis.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::cpu {

/// Sums along the axis in each round, so that the loop carries what is left of a tile:
///
///   for ... iter_args(all = 0)         for ... iter_args(n = 0)
///     yield all + x                      yield n + sum(x)
///   n = sum(all)
///
/// Integers alone, whose sums are one in any order, and tiles that do not stay in the first cache.
/// And truths are counted in 32 bits: an axis has fewer elements.
void countInLoops(mlir::FunctionOpInterface kernel);

} // namespace nereid::cpu
