// Unsigned numbers wrap around at zero, and what is wider does not: `pointer + (i - 1)` of 32 bits
// leads 2^32 - 1 elements ahead where i is 0, and the next lane to the first element.
#pragma once

#include "mlir/IR/Operation.h"

namespace nereid::analysis {

/// True if `op` widens unsigned numbers, as an offset of a pointer for instance, that may have
/// wrapped around: neighbours among them need not be neighbours behind it.
bool widensWrapped(mlir::Operation *op);

} // namespace nereid::analysis
