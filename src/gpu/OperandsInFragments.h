// Operands of products that are computed where their product wants them.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"

namespace nereid::gpu {

/// Computes operands of products of tf32 by `mma.sync` in the fragments of their product, where
/// both come, element by element and with rows or columns that are repeated, of slots of rings or
/// of what lies so. A slot is read in any layout that has a few neighbours of a row, one of 16-bit
/// elements by `ldmatrix` whichever way it lies; and the order along K is free (`withNeighbours`).
///
///   q = read_slot : blocked                     q = read_slot : fragments
///   s = extf(q) * broadcast(row)          =>    s = extf(q) * broadcast(row) : fragments
///   dot(s, ...)                                 dot(s, ...) {neighbours}
///
/// Otherwise each word is written to shared memory for each product that reads it, and read again
/// behind a barrier. Where one operand alone comes so, the other one (sums of a product that other
/// warps have) still goes that way, and arrives in the same order. Of `wgmma` the left operand, of
/// words or of halves, is computed in fragments in the same way, in order along K. The right one of
/// words is, where it comes of slots of halves that lie along N, computed as it is written, four
/// words at once. What else is computed of slots and only moves to another layout is computed in
/// that one. Runs behind `pipelineLoads`.
void computeOperandsInFragments(mlir::FunctionOpInterface kernel, unsigned warps);

} // namespace nereid::gpu
