// Reductions that warps exchange parts for share one exchange.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Makes one reduction of two whose sources have one layout, where warps hold parts of the axis and
/// neither needs the other's result: their parts go through shared memory behind the same barriers.
///
///   a = reduce(x) { + }             a, b = reduce(x, y) { +, max }
///   c = a / n                  =>   c = a / n
///   b = reduce(y) { max }
///
/// What is computed from the first one moves behind the second, so nothing between them may touch
/// memory. Requires level 2 and regions of one op that commutes for each result.
void mergeReductions(mlir::FunctionOpInterface kernel);

} // namespace nereid::gpu
