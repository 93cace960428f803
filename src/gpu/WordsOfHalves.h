// Operands of products on words that are computed of tiles of 16 bits in shared memory.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Computes operands of products of tf32 in the fragments of their product, where both come of
/// slots of 16-bit elements, element by element and with rows or columns that are repeated.
/// `ldmatrix` reads fragments of 16 bits from a slot, whichever way it lies; of words they are
/// those of a product that is permuted along K.
///
///   q = read_slot : blocked                     q = read_slot : fragments
///   s = extf(q) * broadcast(row)          =>    s = extf(q) * broadcast(row) : fragments
///   dot(s, ...)                                 dot(s, ...) {neighbours}
///
/// Otherwise each word is written to shared memory by itself, where the slot lies along rows or
/// columns, and read again behind a barrier. Runs behind `pipelineLoads`.
void computeWordsInFragments(mlir::FunctionOpInterface kernel, unsigned warps);

} // namespace nereid::gpu
