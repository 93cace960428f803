// Products of words of which wgmma would want an operand along another dimension than it lies.
#pragma once

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "target/Gpu.h"

namespace nereid::gpu {

/// Lets products of 32-bit words read their operands where copies put them. wgmma takes words from
/// shared memory along K only, but its left operand from registers, where it does not matter how it
/// lay before. So where the right operand lies along N, the product is turned over:
///
///   for acc = zeros                        for acc = zeros
///     acc = dot(a, b, acc)            =>     acc = dot(trans(b), trans(a), acc) {rows_together}
///   c = acc                                c = trans(acc)
///
/// A left operand that lies along M, turned over or not, is marked, and for mma.sync a right one
/// along N: fragments are laid out so that a thread reads neighbours in memory (`orderTogether`).
///
/// Runs on level 1, in front of `assignLayouts`.
void turnProducts(mlir::FunctionOpInterface kernel, const target::GpuChip &chip, unsigned warps);

} // namespace nereid::gpu
